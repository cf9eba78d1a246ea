//! The width of a kernel from the spectrum.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod case;
mod extremes;
mod laws;
mod reference;
mod rounding;
mod sampled;
mod support;
mod verdict;
