//! What every kernel, every Gram operator and every solver must do, run over all of them.

#![allow(clippy::float_cmp, reason = "these numbers are exact")]
#![allow(clippy::unwrap_used, reason = "what fails to be made fails the test")]

mod centering;
mod errors;
mod gram;
mod kernels;
mod slab;
mod solvers;
mod stopping;
mod store;

use mercer::Precision;
use mercer_testkit::Format;

/// The formats of points and the precisions of tiles that meet.
const SETUPS: [(Format, Precision); 5] = [
    (Format::F32, Precision::F32),
    (Format::F64, Precision::F64),
    (Format::U8, Precision::F32),
    (Format::U8, Precision::F64),
    (Format::F64, Precision::F32),
];
