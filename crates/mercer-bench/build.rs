//! Remembers which compiler built the benchmarks: a record says so.

use std::process::Command;

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(compiler).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
    // "rustc 1.95.0 (59807616e 2026-04-14)": the word in the middle.
    let number = version.as_deref().and_then(|text| text.split_whitespace().nth(1)).unwrap_or("unknown");
    println!("cargo::rustc-env=MERCER_BENCH_RUSTC={number}");
    println!("cargo::rerun-if-changed=build.rs");
}
