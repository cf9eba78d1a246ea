//! The kernel Hebbian algorithm against stored cases, a slow reference, and its own promises.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

mod anytime;
mod bad_input;
mod case;
mod cases;
mod checkpoints;
mod forged;
mod gains;
mod iterates;
mod measures;
mod promises;
mod stopped;
mod support;
mod warm;
