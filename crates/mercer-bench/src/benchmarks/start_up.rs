//! How long does the command take to start?

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::failure::{Failure, Result};
use crate::harness::{Contender, alternate};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    `mercer --version` from the start of the process to its end, beside `mercer help kernels`, which also builds the \
    whole table of commands and flags, and beside the same version printed by a shell's `echo`, which is about the least that \
    starting any process takes. Every round takes the best of ten starts.";

/// What starting may take, in seconds.
const BAR_SECONDS: f64 = 0.020;
const STARTS: usize = 10;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let program = command_under_test()?;
    let version = format!("mercer {}\n", env!("CARGO_PKG_VERSION"));
    findings.setting("points", 0);
    findings.setting("starts in a round", STARTS);
    let mercer = |words: &'static [&'static str]| {
        let program = program.clone();
        move || fastest(|| Command::new(&program).args(words).output(), "mercer")
    };
    let echo = format!("echo 'mercer {}'", env!("CARGO_PKG_VERSION"));
    let finished = alternate(
        vec![
            Contender::new("mercer --version", mercer(&["--version"])),
            Contender::new("mercer help kernels", mercer(&["help", "kernels"])),
            Contender::new("sh -c echo", || fastest(|| Command::new("sh").args(["-c", &echo]).output(), "sh")),
        ],
        setup.rounds(20),
    )?;
    findings.timings(&finished);
    for (contender, expected) in [(0, version.as_str()), (2, version.as_str())] {
        let wrong = finished[contender].answers.iter().filter(|answer| answer.as_str() != expected).count();
        findings.check(format!("{}: answers that are wrong", finished[contender].timing.name), wrong as f64, 0.0)?;
    }
    let allowed = Quantity::new("what starting may take", BAR_SECONDS, "s");
    findings.ratio("mercer --version to 20 ms", &finished[0], allowed.clone(), Some(Bar::AtMost(1.0)));
    findings.ratio("mercer help kernels to 20 ms", &finished[1], allowed, None);
    findings.ratio("mercer --version to a shell's echo", &finished[0], &finished[2], None);
    Ok(())
}

/// The command that was built beside this program.
fn command_under_test() -> Result<PathBuf> {
    let this = std::env::current_exe().map_err(Failure::file("this program".as_ref()))?;
    let program = this.with_file_name(format!("mercer{}", std::env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(program);
    }
    let problem = "is not there; `cargo build -p mercer-cli` with the same profile makes it".to_owned();
    Err(Failure::Process { process: "mercer".to_owned(), problem })
}

/// The best time of some starts, and what the last of them printed.
fn fastest(start: impl Fn() -> std::io::Result<std::process::Output>, name: &str) -> Result<(f64, String)> {
    let failure = |problem: String| Failure::Process { process: name.to_owned(), problem };
    let (mut best, mut printed) = (f64::INFINITY, String::new());
    for _ in 0..STARTS {
        let began = Instant::now();
        let output = start().map_err(|error| failure(error.to_string()))?;
        best = best.min(began.elapsed().as_secs_f64());
        if !output.status.success() {
            return Err(failure(output.status.to_string()));
        }
        printed = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    Ok((best, printed))
}
