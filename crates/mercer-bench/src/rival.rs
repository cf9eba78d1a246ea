//! scikit-learn, pandas and polars, run by small scripts on the same files with the same number of threads.

use std::process::Command;

use serde::de::DeserializeOwned;

use crate::child::read_json;
use crate::failure::{Failure, Result};
use crate::points_file::PointsFile;
use crate::setup::Setup;

/// A script of the folder of rivals with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Rival {
    script: &'static str,
    arguments: Vec<String>,
}

/// Environment variables by which numerical libraries are told how many threads to use.
const THREAD_VARIABLES: [&str; 4] =
    ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"];

/// The AVX-512 routines of `OpenBLAS` crash on some sizes with some processors; those for older processors do not.
const OLDER_ROUTINES: (&str, &str) = ("OPENBLAS_CORETYPE", "Haswell");

impl Rival {
    /// A script that reads these points.
    pub(crate) fn new(script: &'static str, points: &PointsFile) -> Self {
        Self { script, arguments: points.flags() }
    }

    /// A script that reads no points.
    pub(crate) fn bare(script: &'static str) -> Self {
        Self { script, arguments: Vec::new() }
    }

    /// Adds an argument.
    pub(crate) fn argument(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.arguments.extend([format!("--{name}"), format!("{value}")]);
        self
    }

    /// Runs the script and reads its answer. A script that crashes is run once more with the routines of `OpenBLAS` for
    /// older processors, so that there is something to compare with; then a note says so.
    pub(crate) fn run<A: DeserializeOwned>(&self, setup: &Setup) -> Result<(A, Option<String>)> {
        match read_json(self.script, &mut self.command(setup)) {
            Ok(answer) => Ok((answer, None)),
            Err(Failure::Process { problem, .. }) if problem.starts_with("signal") => {
                let answer = read_json(self.script, self.command(setup).env(OLDER_ROUTINES.0, OLDER_ROUTINES.1))?;
                Ok((answer, Some(crash_note(self.script, &problem))))
            }
            Err(failure) => Err(failure),
        }
    }

    fn command(&self, setup: &Setup) -> Command {
        let mut command = Command::new(&setup.options.python);
        command.arg(setup.options.rivals.join(self.script)).args(&self.arguments);
        for variable in THREAD_VARIABLES {
            command.env(variable, setup.options.threads.to_string());
        }
        command
    }
}

/// What a reader must know about a rival that crashed.
fn crash_note(script: &str, problem: &str) -> String {
    let end = problem.lines().next().unwrap_or_default();
    format!("{script} crashed ({end}) and was run with {}={} instead", OLDER_ROUTINES.0, OLDER_ROUTINES.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_told_in_one_line() {
        assert_eq!(
            crash_note("rbf_kernel.py", "signal: 11 (SIGSEGV)\nFatal Python error"),
            "rbf_kernel.py crashed (signal: 11 (SIGSEGV)) and was run with OPENBLAS_CORETYPE=Haswell instead"
        );
    }
}
