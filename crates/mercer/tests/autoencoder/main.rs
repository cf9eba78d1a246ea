//! Autoencoder kernel PCA against stored cases, a slow reference, and its own promises.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

mod bad_input;
mod cases;
mod files;
mod promises;
mod steps;
mod support;
