//! Pre-images against a stored case, slow formulas, and their own promises.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

mod bad_input;
mod case;
mod methods;
mod promises;
mod restarts;
mod support;
