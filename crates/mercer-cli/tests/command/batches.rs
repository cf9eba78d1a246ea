//! New points in parts: files that are larger than what is in memory at once.

use std::fmt::Write as _;

use super::support::{Directory, numbers};

/// More than a block of text, which is 8 MiB.
const ROWS: usize = 400_000;

fn row(i: usize) -> [f64; 2] {
    let t = (i % 1009) as f64 / 1009.0;
    [t, (7.0 * t).sin()]
}

fn with_points() -> Directory {
    let directory = Directory::new();
    let mut text = "x,y,kind\n".to_owned();
    for i in 0..ROWS {
        let [x, y] = row(i);
        let _ = writeln!(text, "{x:.12},{y:.12},{}", if i % 2 == 0 { "even" } else { "odd" });
    }
    assert!(text.len() > 9 << 20);
    directory.write("few.csv", text.lines().take(200).map(|line| line.to_owned() + "\n").collect::<String>());
    directory.write("many.csv", text);
    directory.run("fit few.csv --label kind --gamma 2 -n 2 -o points.mercer --quiet").done();
    directory
}

#[test]
fn scores_of_a_file_in_parts_are_those_of_the_file() {
    let directory = with_points();
    // A choice of rows takes the file as a whole.
    directory.run(&format!("transform points.mercer many.csv --label kind --rows 0:{ROWS} -o whole.csv -q")).done();
    let whole = directory.read("whole.csv");
    directory.run("transform points.mercer many.csv --label kind -o parts.csv -q").done();
    assert!(directory.read("parts.csv") == whole, "the same bytes");
    let piped =
        directory.run_with_input("transform points.mercer - --label kind -q", directory.read("many.csv").as_bytes());
    assert!(piped.done().stdout == whole, "from a pipe to a pipe");
    directory.run("transform points.mercer many.csv --label kind -o parts.npy -q").done();
    directory.run(&format!("transform points.mercer many.csv --label kind --rows 0:{ROWS} -o whole.npy -q")).done();
    let bytes = |name: &str| std::fs::read(directory.path(name)).unwrap();
    assert!(bytes("parts.npy") == bytes("whole.npy"), "the length of the array is known at the end");
    directory.run("transform points.mercer many.csv --label kind -o parts.npz -q").done();
    directory.run("score points.mercer many.csv --label kind -o parts.parquet -q").done();
    assert_eq!(numbers(&whole).len(), ROWS);
}

#[test]
fn what_is_wrong_near_the_end_leaves_nothing_behind_and_nothing_on_standard_output() {
    let directory = with_points();
    directory.write("wrong.csv", directory.read("many.csv") + "0.5,none,odd\n");
    let before = directory.files();
    let message = format!("wrong.csv, line {}, column 2 (y): \"none\" is not a number", ROWS + 2);
    for output in ["scores.csv", "scores.npy", "scores.parquet", "-"] {
        let outcome = directory.run(&format!("transform points.mercer wrong.csv --label kind -o {output} -q"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(outcome.stderr.contains(&message), "{}", outcome.stderr);
        assert_eq!(directory.files(), before, "{output}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_is_never_in_memory_as_a_whole() {
    let directory = Directory::new();
    // Labels are most of it, and would be in memory if the file were.
    let label = "x".repeat(1000);
    let line = |i: usize| format!("{},{},{label}\n", row(i)[0], row(i)[1]);
    let rows = |n: usize| (0..n).map(line).collect::<Vec<_>>().concat();
    directory.write("few.csv", format!("x,y,kind\n{}", rows(100)));
    directory.run("fit few.csv --label kind --gamma 2 -n 2 -o points.mercer --quiet").done();
    let body = rows(20_000);
    directory.write("one.csv", format!("x,y,kind\n{body}"));
    directory.write("four.csv", format!("x,y,kind\n{}", body.repeat(4)));
    let peak = |file: &str| -> u64 {
        let words =
            format!("transform points.mercer {file} --label kind -o scores.csv -q --threads 2 --record run.json");
        directory.run(&words).done();
        let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
        record["peak_memory_bytes"].as_u64().unwrap()
    };
    let (one, four) = (peak("one.csv"), peak("four.csv"));
    // As one part, the labels of four times the rows took 135 MB more. What is left is what the allocator does not use again at once, some 40 MB.
    assert!(four < one + (64 << 20), "{one} and {four} bytes");
}
