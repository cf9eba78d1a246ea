//! The help of every command, word by word.
//!
//! After a change that is meant, write the new texts with `UPDATE_SNAPSHOTS=1 cargo test -p mercer-cli help`.

use std::fs;
use std::path::Path;

use super::support::{Directory, bent_line, mercer};

/// Every command, as `mercer --help` lists them.
const COMMANDS: [&str; 20] = [
    "fit",
    "plan",
    "transform",
    "reconstruct",
    "score",
    "cluster",
    "denoise",
    "denoise-rows",
    "upscale",
    "stream",
    "compare",
    "tune",
    "classify",
    "reproduce",
    "info",
    "report",
    "demo",
    "completions",
    "man",
    "help",
];

#[track_caller]
fn check_snapshot(name: &str, words: &[&str]) {
    let output = mercer().args(words).output().unwrap();
    assert!(output.status.success());
    let found = String::from_utf8(output.stdout).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &found).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert_eq!(found, expected, "the help of {words:?} is not what {name} says");
}

#[test]
fn help_says_what_it_said() {
    check_snapshot("mercer.txt", &["--help"]);
    for command in COMMANDS {
        check_snapshot(&format!("{command}.txt"), &[command, "--help"]);
    }
}

#[test]
fn prose_under_the_flags_is_not_broken_in_the_middle_of_a_narrow_terminal() {
    for command in ["cluster", "denoise", "denoise-rows", "reproduce", "upscale"] {
        let help = Directory::new().run(&format!("{command} --help")).done().stdout;
        let before = help.split_once("\n\nExample").unwrap().0;
        let prose = before.rsplit_once("\n\n").unwrap().1;
        assert!(prose.lines().all(|line| line.chars().count() <= 80), "{command}: {prose}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let outcome = Directory::new().run("--version").done();
    assert_eq!(outcome.stdout, format!("mercer {}\n", env!("CARGO_PKG_VERSION")));
}

/// What can be typed of the lines after `Example`: all that are indented; one that ends with a backslash goes on in the next.
fn examples(help: &str) -> Vec<String> {
    let after = help.split_once("\nExample").map(|(_, after)| after.to_owned()).unwrap_or_default();
    let mut examples: Vec<String> = Vec::new();
    for line in after.lines().skip(1).filter(|line| line.starts_with("  ")) {
        assert!(line.chars().count() <= 80, "narrow terminals wrap this, and then it cannot be typed: {line}");
        match examples.last_mut().filter(|example| example.ends_with('\\')) {
            Some(begun) => begun.extend(["\n", line]),
            None => examples.push(line.to_owned()),
        }
    }
    examples
}

/// Runs a line as bash does, with the command under test on the path; `None` if there is no such shell.
fn in_bash(directory: &Directory, line: &str) -> Option<std::process::Output> {
    let binary = Path::new(env!("CARGO_BIN_EXE_mercer")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let mut bash = std::process::Command::new("bash");
    bash.args(["-e", "-o", "pipefail", "-c", line]).current_dir(directory.root()).env("HOME", directory.root());
    bash.env("PATH", path).stdin(std::process::Stdio::null()).output().ok()
}

#[test]
fn the_examples_in_the_help_can_be_run() {
    let directory = Directory::new();
    let digits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/digits/digits.csv");
    fs::copy(digits, directory.path("digits.csv")).unwrap();
    fs::copy(directory.path("digits.csv"), directory.path("new.csv")).unwrap();
    directory.write("points.csv", bent_line().replace(",low", ",1").replace(",high", ",2"));
    let pixels: Vec<u8> = (0..30_u8 * 4).map(|i| i.wrapping_mul(37)).collect();
    directory.write("images.npy", super::support::npy("|u1", "(30, 2, 2)", &pixels));
    let picture = image::GrayImage::from_fn(24, 20, |x, y| image::Luma([(x * 7 + y * x * 31 % 40) as u8]));
    picture.save(directory.path("noisy.png")).unwrap();
    std::fs::create_dir(directory.path("known")).unwrap();
    for i in 0..8 {
        let known = image::GrayImage::from_fn(12, 12, |x, y| image::Luma([(x * (i + 3) + y * 5) as u8]));
        known.save(directory.path(&format!("known/{i}.png"))).unwrap();
    }
    image::GrayImage::from_fn(6, 6, |x, y| image::Luma([(x * 9 + y * 10) as u8]))
        .save(directory.path("small.png"))
        .unwrap();
    directory.write("sensors.csv", "a,b\n1,2\n2,3\n4,1\n3,3\n");
    // The demo's second example makes the model that others use.
    let mut commands = COMMANDS;
    commands.sort_by_key(|command| *command != "demo");
    for command in commands {
        let help = directory.run(&format!("{command} --help")).done().stdout;
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{command}: {help}");
        for example in examples {
            // What follows a file would not end.
            let line = example.replace("/tmp/", "").replace("tail -n +1 -f", "tail -n +1");
            let Some(output) = in_bash(&directory, &line) else { return };
            assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn every_command_is_listed_and_has_help() {
    let help = mercer().arg("--help").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let listed: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        // What a description goes on with is indented farther.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(listed, COMMANDS);
    let directory = Directory::new();
    for command in COMMANDS {
        let flag = directory.run(&format!("{command} --help")).done();
        let word = directory.run(&format!("help {command}")).done();
        assert_eq!(flag.stdout, word.stdout, "mercer help {command}");
    }
    assert_eq!(directory.run("help").done().stdout, help);
}

#[test]
fn topics_are_explained_and_wrong_ones_refused() {
    let directory = Directory::new();
    assert!(directory.run("help kernels").done().stdout.contains("exp(-gamma |x-y|^2)"));
    assert!(directory.run("help methods").done().stdout.contains("--solver"));
    let outcome = directory.run("help fitt");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    assert_eq!(outcome.stderr, "error: there is no such topic, but there is `mercer help fit`\n");
    for wrong in ["kernls", "kernal"] {
        let outcome = directory.run(&format!("help {wrong}"));
        assert_eq!(outcome.stderr, "error: there is no such topic, but there is `mercer help kernels`\n");
        assert_eq!(outcome.code, Some(2));
    }
    let outcome = directory.run("help weather");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    assert!(outcome.stderr.contains("unrecognized subcommand 'weather'"), "{}", outcome.stderr);
}

#[test]
fn completions_know_commands_and_flags_in_every_shell() {
    let directory = Directory::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = directory.run(&format!("completions {shell}")).done().stdout;
        for word in ["compare", "n-components", "time-limit"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn bash_accepts_its_completions() {
    let script = Directory::new().run("completions bash").done().stdout;
    let directory = Directory::new();
    directory.write("script", format!("{script}\ncomplete -p mercer\n"));
    let Ok(output) = std::process::Command::new("bash").arg(directory.path("script")).output() else {
        return; // no such shell here
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("_mercer"));
}

#[test]
fn examples_are_whole_commands_whatever_they_consist_of() {
    let help = "Usage\n\nExample, of lines:\n  a | \\\n    b\n\nAnother one:\n  c < d\n";
    assert_eq!(examples(help), ["  a | \\\n    b", "  c < d"]);
}

#[test]
fn the_example_for_completions_makes_them_work() {
    let directory = Directory::new();
    let help = directory.run("completions --help").done().stdout;
    let line = format!("{}\ncomplete -p mercer", examples(&help)[0]);
    let Some(output) = in_bash(&directory, &line) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("_mercer"));
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let directory = Directory::new();
    directory.run("man --out pages").done();
    for name in COMMANDS {
        let page = directory.read(&format!("pages/mercer-{name}.1"));
        let title = format!("mercer-{name}").replace('-', "\\-");
        assert!(page.contains(&title) && page.contains(".SH OPTIONS"), "{name}: {page}");
        assert!(page.contains("Example"), "{name} has no example");
    }
    assert!(directory.read("pages/mercer.1").contains("mercer\\-compare"));
}
