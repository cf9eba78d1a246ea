//! `mercer demo`.

use std::fs;

use super::support::{Directory, mercer, numbers};

#[test]
fn the_demo_goes_from_nothing_to_pictures() {
    let directory = Directory::new();
    let outcome = directory.run("demo").done();
    assert_eq!(directory.files(), ["mercer-demo"]);
    let read = |name: &str| fs::read_to_string(directory.path("mercer-demo").join(name)).unwrap();
    let mut names: Vec<String> = fs::read_dir(directory.path("mercer-demo"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["digits.mercer", "record.json", "scatter.svg", "scores.csv", "scree.svg"]);

    let scores = read("scores.csv");
    assert!(scores.starts_with("pc1,pc2,pc3,pc4,pc5,pc6,pc7,pc8,pc9,pc10,digit\n"));
    assert_eq!(numbers(&scores).len(), 1797);
    assert_eq!(read("scatter.svg").matches("<circle").count(), 1797 + 10 + 10, "points, names, legend");
    assert!(read("scree.svg").contains("10 components explain 46.8 percent of the variance."));
    let record: serde_json::Value = serde_json::from_str(&read("record.json")).unwrap();
    assert_eq!(record["converged"], true);

    assert!(outcome.stdout.contains("10 components explain 46.8 %"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("By its 10 scores alone, 97.3 % of the digits"), "{}", outcome.stdout);
    for name in names {
        assert!(outcome.stdout.contains(&name), "{name} is not mentioned");
    }
}

#[test]
fn the_demo_writes_where_it_is_told_and_can_be_quiet() {
    let directory = Directory::new();
    let outcome = directory.run("demo --quiet --out a/b").done();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    assert!(directory.path("a/b/scatter.svg").exists());
    // The model can be used with the same data from the file.
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/digits/digits.csv");
    let words =
        ["transform", "a/b/digits.mercer", digits, "--label", "digit", "--scale", "1/16", "-o", "again.csv", "-q"];
    assert!(mercer().args(words).current_dir(directory.root()).status().unwrap().success());
    let (first, again) = (numbers(&directory.read("a/b/scores.csv")), numbers(&directory.read("again.csv")));
    for (a, b) in first.concat().iter().zip(again.concat()) {
        // Residuals of 1e-9 relative to the first eigenvalue (107) change a score by that times about 1/sqrt(26).
        assert!((a - b).abs() < 1e-7, "{a} and {b}");
    }
}

#[test]
fn a_demo_that_ends_early_leaves_no_empty_folder() {
    let directory = Directory::new();
    let outcome = directory.run("demo --record missing/run.json");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(directory.files().is_empty(), "{:?}", directory.files());
    #[cfg(unix)]
    {
        let (code, stderr) = directory.run_with_small_disk(1, "demo --out a/b --quiet");
        assert_eq!((code, stderr.as_str()), (Some(2), "error: writing a/b/digits.mercer: file too large\n"));
        assert!(directory.files().is_empty(), "{:?}", directory.files());
    }
    directory.write("file", "");
    let outcome = directory.run("demo --out file/sub --progress none");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), "error: making file/sub: not a directory\n"));
    // The record may go into the folder that the demo makes.
    directory.run("demo --out here --record ./here/run.json").done();
    assert!(directory.path("here/run.json").exists());
}
