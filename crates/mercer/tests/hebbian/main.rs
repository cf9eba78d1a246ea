//! The kernel Hebbian algorithm against stored cases, a slow reference, and its own promises.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

mod case;
mod cases;
mod iterates;
mod support;
