//! Online learners: the reference values, the laws, and what bad input gets.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

mod bad_input;
mod budget;
mod explained;
mod indefinite;
mod laws;
mod outputs;
mod recursion;
mod reference;
mod saved;
mod support;
mod textbook;
mod turns;
mod warm;
