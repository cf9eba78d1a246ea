//! The guide works: its commands are run as they stand there, in order, in an empty directory.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::support::Directory;

/// The code blocks of a page that a shell runs.
fn blocks(page: &str) -> Vec<&str> {
    page.split("\n```sh\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

#[test]
fn every_command_of_the_guide_runs() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(checkout.join("docs/guide.md")).unwrap();
    let blocks = blocks(&page);
    assert!(blocks.len() >= 6, "the search for blocks is broken, or the guide is");
    let directory = Directory::new();
    fs::copy(checkout.join("testdata/digits/digits.csv"), directory.path("digits.csv")).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_mercer")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    for block in &blocks {
        let output = Command::new("sh")
            .args(["-e", "-c", block])
            .current_dir(directory.root())
            .env("PATH", &path)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{block}\n{talk}");
    }
    for word in ["mercer plan", "mercer fit", "mercer transform", "mercer score", "mercer info", "mercer compare"] {
        assert!(blocks.iter().any(|block| block.contains(word)), "the guide does not show {word}");
    }
    assert!(directory.path("scores.csv").exists() && directory.path("digits.mercer").exists());
}
