//! The state of a stream, with real processes: checkpoints, kills, and going on.

use std::io::Write;
use std::time::{Duration, Instant};

use mercer::Model;

use super::stream::{LEARN, Running, rows};
use super::support::{Directory, mercer};

#[test]
fn a_stream_in_parts_is_the_stream_as_a_whole() {
    let directory = Directory::new();
    let words = format!("{LEARN} --emit scores,novelty");
    let whole = directory.stream(&format!("{words} --checkpoint whole"), &rows(0..500)).done().stdout;
    let words = format!("{words} --checkpoint state --resume");
    let first = directory.stream(&words, &rows(0..180)).done();
    let second = directory.stream(&words, &rows(180..500)).done();
    assert!(second.stderr.contains("going on after 180 rows\n"), "{}", second.stderr);
    let rest = second.stdout.split_once('\n').unwrap().1;
    assert_eq!(format!("{}{rest}", first.stdout), whole);
    assert_eq!(directory.read("state"), directory.read("whole"), "the learner is the same, to the bit");
    // The same rows from the beginning, of which the first ones are left out; and a learner by its file.
    directory.stream(&words.replace("state", "again"), &rows(0..180)).done();
    let replayed = directory.stream(&format!("{} --replay", words.replace("state", "again")), &rows(0..500)).done();
    assert_eq!(replayed.stdout.split_once('\n').unwrap().1, rest);
    directory.stream(&words.replace("state", "third"), &rows(0..180)).done();
    let named = directory.stream("stream third --emit scores,novelty --checkpoint third", &rows(180..500)).done();
    assert_eq!(named.stdout.split_once('\n').unwrap().1, rest);
    assert_eq!(directory.read("third"), directory.read("whole"));
}

#[test]
fn a_stream_goes_on_with_defaults_that_are_given_by_name() {
    let directory = Directory::new();
    directory.stream(&format!("{LEARN} --checkpoint state"), &rows(0..60)).done();
    let words = format!("{LEARN} --policy project --beta 1 --schedule constant --checkpoint state --resume");
    assert!(directory.stream(&words, &rows(60..90)).done().stderr.contains("going on after 60 rows\n"));
    let outcome = directory.stream(&format!("{LEARN} --beta 2 --checkpoint state --resume"), &rows(90..99));
    assert_eq!(outcome.stderr, "error: state: the checkpoint belongs to another stream (beta: 1 there, 2 here)\n");
}

#[test]
fn what_a_stream_cannot_go_on_from_is_refused() {
    let directory = Directory::new();
    directory.stream(&format!("{LEARN} --checkpoint state -o rows.mercer"), &rows(0..60)).done();
    let say = |words: &str| {
        let outcome = directory.stream(words, &rows(60..70));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        outcome.stderr.lines().find(|line| line.starts_with("error")).unwrap_or_default().to_owned()
    };
    assert_eq!(
        say("stream -n 3 --gamma 8 --budget 50 --checkpoint state --resume"),
        "error: state: the checkpoint belongs to another stream (budget: 40 there, 50 here)"
    );
    assert_eq!(
        say("stream -n 3 --budget 40 --checkpoint state --resume"),
        "error: state: the checkpoint belongs to another stream (kernel: gaussian 8 there, gaussian 0.3333333333333333 here)"
    );
    assert_eq!(say("stream state --budget 40"), "error: state is a learner with its own settings: leave --budget out");
    assert_eq!(
        say("stream state --checkpoint state --resume"),
        "error: state is a learner, and goes on by itself: leave --resume out, or name it with --checkpoint only"
    );
    assert_eq!(
        say("stream -n 3 --gamma 8 --budget 40 --checkpoint rows.mercer --resume"),
        "error: rows.mercer: this is a model and not the state of a learner: name it as MODEL"
    );
    let whole = directory.read("state");
    directory.write("half", &whole[..whole.len() / 2]);
    assert_eq!(
        say("stream half"),
        "error: half: this state of a learner is not readable (it has been altered or ends too early: its contents do not match its \
         digest)"
    );
    let told: serde_json::Value =
        serde_json::from_str(&directory.stream("stream half --json", "1,2,3\n").stdout).expect("a document");
    assert_eq!(told["error"]["kind"], "input", "{told}");
    directory.write("notes", "remember the milk\n");
    assert_eq!(
        say("stream -n 3 --gamma 8 --budget 40 --checkpoint notes --resume"),
        "error: notes: this is not the state of a learner: not readable (it does not begin as one does)"
    );
    let narrow = directory.stream("stream state", "1,2\n");
    assert_eq!(
        (narrow.code, narrow.stderr.lines().last()),
        (Some(2), Some("error: standard input, line 1: the row has 2 columns, but rows of this stream have 3"))
    );
}

#[cfg(unix)]
#[test]
fn a_killed_stream_loses_only_what_came_after_its_checkpoint() {
    let directory = Directory::new();
    let words = format!("{LEARN} --emit novelty --checkpoint state --checkpoint-every 100");
    let mut running = Running::start(&directory, &words);
    running.say(&rows(0..250));
    // 250 answers have come, so the checkpoints after 100 and 200 rows have been written.
    for _ in 0..=250 {
        running.line();
    }
    // SIGKILL: the process has no say in it.
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    let resumed = directory.stream(&format!("{words} --resume --replay"), &rows(0..500)).done();
    assert!(resumed.stderr.contains("going on after 200 rows\n"), "{}", resumed.stderr);
    assert_eq!(resumed.stdout.lines().count(), 1 + 300);
    directory.stream(&words.replace("state", "whole"), &rows(0..500)).done();
    assert_eq!(directory.read("state"), directory.read("whole"), "as if nothing had happened, to the bit");
    assert_eq!(directory.files(), ["state", "whole"], "nothing half-written is left");
}

#[cfg(unix)]
#[test]
fn a_killed_stream_that_left_rows_out_goes_on_at_the_right_row() {
    let directory = Directory::new();
    // Bad rows before the checkpoint, after it, and where it is due.
    let mut lines: Vec<String> = rows(0..400).lines().map(str::to_owned).collect();
    for (place, bad) in
        [(3, "1,2"), (57, "x,1,2"), (99, "1,nan,3"), (130, ","), (230, "1,2,3,4"), (231, "7"), (350, "1,,3")]
    {
        lines.insert(place, bad.to_owned());
    }
    let all = lines.join("\n") + "\n";
    let words = format!("{LEARN} --emit line,novelty --bad-rows skip --checkpoint state --checkpoint-every 100");
    let mut running = Running::start(&directory, &words);
    running.say(&(lines[..250].join("\n") + "\n"));
    // The header, and 244 answers: there are checkpoints after 100 and 200 rows, good and bad.
    for _ in 0..=244 {
        running.line();
    }
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    let (_, note) = mercer::online::Learner::from_bytes_with_note(directory.read("state").as_bytes(), None).unwrap();
    assert!(note.contains("\"bad_rows\":4"), "those before the checkpoint: {note}");
    let resumed = directory.stream(&format!("{words} --resume --replay --record run.json"), &all).done();
    let whole = directory.stream(&words.replace("state", "whole"), &all).done();
    assert_eq!(directory.read("state"), directory.read("whole"), "as if nothing had happened, to the bit");
    let answers = |outcome: &str| outcome.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let (again, all_of_them) = (answers(&resumed.stdout), answers(&whole.stdout));
    assert!(all_of_them.ends_with(&again) && again.len() < 210, "{} answers again", again.len());
    let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!(
        (&record["rows_read"], &record["bad_rows"], &record["n_samples"]),
        (&407.into(), &7.into(), &400.into())
    );
}

#[cfg(unix)]
#[test]
fn a_stream_killed_at_any_moment_has_a_whole_checkpoint() {
    let directory = Directory::new();
    let words = format!("{LEARN} --checkpoint state --checkpoint-every 1");
    let all = rows(0..3000);
    for delay in [40, 90, 170] {
        let mut running = Running::start(&directory, &format!("{words} --resume --replay"));
        let writer = {
            let (mut stdin, all) = (running.stdin, all.clone());
            std::thread::spawn(move || drop(stdin.write_all(all.as_bytes())))
        };
        // There is something to be damaged, from the first checkpoint on.
        let from = Instant::now();
        while !directory.path("state").exists() {
            assert!(from.elapsed() < Duration::from_secs(20), "no checkpoint appears");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(delay));
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        writer.join().unwrap();
        let bytes = std::fs::read(directory.path("state")).unwrap();
        assert!(mercer::online::Learner::from_bytes(&bytes, None).is_ok(), "after {delay} ms");
    }
    directory.stream(&format!("{LEARN} --checkpoint state --resume --replay"), &all).done();
    directory.stream(&format!("{LEARN} --checkpoint whole"), &all).done();
    assert_eq!(directory.read("state"), directory.read("whole"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_and_a_request_to_terminate_save_and_end() {
    for signal in ["INT", "TERM"] {
        let directory = Directory::new();
        let mut running =
            Running::start(&directory, &format!("{LEARN} --emit novelty --checkpoint state -o rows.mercer"));
        running.say(&rows(0..90));
        for _ in 0..=90 {
            running.line();
        }
        let from = Instant::now();
        let (code, said) = running.signalled(signal);
        assert_eq!(code, Some(1), "{said}");
        assert!(from.elapsed() < Duration::from_secs(2), "{:?}", from.elapsed());
        assert!(said.contains("interrupted after 90 rows"), "{said}");
        assert_eq!(Model::load(&directory.path("rows.mercer")).unwrap().n_samples(), 90);
        directory.stream("stream state", &rows(90..95)).done();
    }
    // With nothing to save it is an interruption like any other.
    let directory = Directory::new();
    let mut running = Running::start(&directory, "stream --emit novelty");
    running.say("1,2\n");
    running.line();
    assert_eq!(running.signalled("INT").0, Some(130));
}

#[test]
fn a_new_stream_does_not_overwrite_the_state_of_another() {
    let directory = Directory::new();
    directory.stream(&format!("{LEARN} --checkpoint state"), &rows(0..60)).done();
    let before = directory.read("state");
    let outcome = directory.stream(&format!("{LEARN} --checkpoint state"), &rows(0..5));
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.starts_with("error: state is there already: go on from it with --resume"),
        "{}",
        outcome.stderr
    );
    assert_eq!(directory.read("state"), before);

    // Nor by a stream that goes on from a third one's; its own may be.
    directory.stream(&format!("{LEARN} --checkpoint own"), &rows(0..40)).done();
    let outcome = directory.stream("stream own --checkpoint state", &rows(40..50));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert_eq!(directory.read("state"), before);
    directory.stream("stream own --checkpoint ./own", &rows(40..50)).done();
}

#[test]
fn a_sensor_that_is_stuck_leaves_t_squared_finite() {
    let directory = Directory::new();
    let some = rows(0..100);
    let last = some.lines().last().unwrap();
    let stuck = format!("{some}{}", format!("{last}\n").repeat(600));
    directory.stream("stream -n 3 --gamma 8 --budget 50 -o model.mercer", &stuck).done();
    directory.write("rows.csv", &some);
    let scored = directory.run("score model.mercer rows.csv -o scored.csv").done();
    let text = directory.read("scored.csv");
    assert!(!text.contains("inf") && !text.contains("NaN") && text.lines().count() > 99, "{}: {text}", scored.stderr);
}

#[test]
fn a_reader_that_goes_away_ends_the_stream_and_what_was_learned_is_kept() {
    let directory = Directory::new();
    let mut running = Running::start(&directory, &format!("{LEARN} --emit scores --checkpoint state"));
    drop(running.stdout);
    // More than a pipe holds.
    let text = rows(0..20_000);
    let writer = std::thread::spawn(move || drop(running.stdin.write_all(text.as_bytes())));
    let output = running.child.wait_with_output().unwrap();
    writer.join().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.contains("error")), (Some(0), false), "{said}");
    assert!(directory.path("state").exists());
}

#[cfg(unix)]
#[test]
fn head_takes_what_it_wants_and_the_stream_keeps_what_it_has_learned() {
    let directory = Directory::new();
    directory.write("rows.csv", rows(0..20_000));
    // A real pipe, with the exit code of what stands before it.
    let pipe = |words: &str| {
        let program = mercer().get_program().to_string_lossy().into_owned();
        let script = format!("{{ '{program}' {words} < rows.csv; echo $? > code; }} | head -n 5");
        let output =
            std::process::Command::new("sh").args(["-c", &script]).current_dir(directory.root()).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(directory.read("code").trim(), "0", "{stderr}");
        assert_eq!(stdout.lines().count(), 5, "{stdout}");
        assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{stderr}");
        assert!(stderr.contains(" rows: nobody reads standard output any more\n"), "{stderr}");
        stderr
    };
    let said = pipe(&format!("{LEARN} --emit novelty --checkpoint state -o rows.mercer --record run.json"));
    let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    let n = record["n_samples"].as_u64().unwrap() as usize;
    assert!(n < 20_000, "it stops at once: {n}");
    assert!(said.contains(&format!("stopped after {n} rows: ")), "{said}");
    assert_eq!(Model::load(&directory.path("rows.mercer")).unwrap().n_samples(), n);
    let rest = directory.stream(&format!("{LEARN} --checkpoint state --resume --replay"), &rows(0..n + 5)).done();
    assert!(rest.stderr.contains(&format!("going on after {n} rows\n")), "{}", rest.stderr);
    // With nothing to save it is the end all the same.
    pipe("stream --emit scores");
}

#[test]
fn rows_that_are_replayed_have_to_reach_the_checkpoint() {
    let directory = Directory::new();
    let words = format!("{LEARN} --checkpoint state --resume --replay");
    directory.stream(&words, &rows(0..1)).done();
    let more = directory.stream(&words, &rows(0..60)).done();
    assert!(more.stderr.contains("going on after 1 row\n"), "{}", more.stderr);
    let before = directory.read("state");
    let short = directory.stream(&words, &rows(0..59)).done();
    assert!(
        short
            .stderr
            .contains("warning: the input ended before the row that the checkpoint stands at, which comes 1 row later"),
        "{}",
        short.stderr
    );
    assert_eq!(directory.read("state"), before, "nothing was learned");
    let whole = directory.stream(&words, &rows(0..60)).done();
    assert!(!whole.stderr.contains("warning: the input ended"), "{}", whole.stderr);
}

#[test]
fn checkpoints_come_with_time_even_if_nothing_else_does() {
    let directory = Directory::new();
    let mut running =
        Running::start(&directory, &format!("{LEARN} --emit novelty --checkpoint state --checkpoint-every 50ms"));
    running.say(&rows(0..3));
    for _ in 0..=3 {
        running.line();
    }
    let from = Instant::now();
    while !directory.path("state").exists() {
        assert!(from.elapsed() < Duration::from_secs(20), "no checkpoint appears");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(running.stdin);
    assert!(running.child.wait().unwrap().success());
}
