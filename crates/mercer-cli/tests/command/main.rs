//! Runs the real binary in fresh directories and looks at files, streams and exit codes.

#![expect(clippy::unwrap_used, reason = "a test that meets a surprise should stop there and say where")]

mod support;

mod bad_input;
mod batches;
mod checkpoint;
mod classify;
mod cluster;
mod cluster_model;
mod columns;
mod compare;
mod demo;
mod denoise;
mod errors;
mod files;
mod fit;
mod formats;
mod guide;
mod hebbian;
mod help;
mod info;
mod interrupt;
mod landmarks;
mod memory;
mod nystrom;
mod plan;
mod reconstruct;
mod records;
mod report;
mod reproduce;
mod score;
mod stream;
mod stream_model;
mod stream_said;
mod stream_state;
mod streams;
mod transform;
mod tune;
mod upscale;
