//! Products in time proportional to the number of points: reference cases, bounds, laws, bad input.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

mod bad_input;
mod cases;
mod fits;
mod laws;
mod support;
