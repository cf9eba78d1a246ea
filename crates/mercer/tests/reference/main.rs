//! Numbers from an independent implementation; see `testdata/reference/README.md`.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

mod case;
mod gram;
