//! Runs the real binary in fresh directories and looks at files, streams and exit codes.

#![expect(clippy::unwrap_used, reason = "a test that meets a surprise should stop there and say where")]

mod support;

mod bad_input;
mod demo;
mod fit;
mod help;
mod records;
mod streams;
mod transform;
