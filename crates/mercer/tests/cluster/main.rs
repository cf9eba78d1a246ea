//! Spectral clustering: a stored case, the slow reference, laws, landmarks, and what it refuses.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

mod bad_input;
mod cases;
mod landmarks;
mod laws;
mod support;
