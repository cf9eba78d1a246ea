//! How long does the command take to start, and to start working?

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::failure::{Failure, Result};
use crate::harness::{Contender, alternate};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    `mercer --version` from the start of the process to its end, beside `mercer help kernels`, which also builds the \
    whole table of commands and flags, and beside the same version printed by a shell's `echo`, which is about the least that \
    starting any process takes. Every round takes the best of ten starts. And a fit of 60 000 x 784 single-precision numbers in a .npy \
    file, which is in the system's cache: from the start of the process until it says that it starts from a sample, \
    which it does when the first tile is about to be made, which is one of the sample's; by then the numbers have been \
    mapped and checked, the method planned, and the points packed.";

/// What starting may take, in seconds.
const BAR_SECONDS: f64 = 0.020;
const STARTS: usize = 10;
/// What the way to the first tile may take, in seconds.
const FIRST_TILE_BAR_SECONDS: f64 = 0.3;
/// What the command says when the first tile is about to be made: of the kernel matrix of a sample, or of all points if there is no sample.
const FIRST_TILE: [&str; 2] = ["starting from a sample", "pass 1 of about "];
/// Columns of the file.
const COLUMNS: usize = 784;

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
    first_tile(setup, findings, &program)
}

/// The way from the start of a fit to its first tile.
fn first_tile(setup: &Setup, findings: &mut Findings, program: &Path) -> Result<()> {
    let (path, rows) = (setup.scratch_file("points.npy"), setup.size(60_000, 3000));
    write_points(&path, rows).map_err(Failure::file(&path))?;
    findings.setting("rows of the .npy file", rows);
    let fit = || until_first_tile(program, &path, setup.options.threads);
    let finished = alternate(vec![Contender::new("fit to its first tile", fit)], setup.rounds(10))?;
    std::fs::remove_file(&path).map_err(Failure::file(&path))?;
    findings.timings(&finished);
    let silent = finished[0].answers.iter().filter(|said| said.is_empty()).count();
    findings.check("fits that ended before their first tile", silent as f64, 0.0)?;
    let allowed = Quantity::new("what the way to the first tile may take", FIRST_TILE_BAR_SECONDS, "s");
    findings.ratio("fit to its first tile to 0.3 s", &finished[0], allowed, Some(Bar::AtMost(1.0)));
    Ok(())
}

/// A `.npy` file of random single-precision numbers.
fn write_points(path: &Path, rows: usize) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {COLUMNS}), }}");
    let header = format!("{header:<117}\n");
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&(header.len() as u16).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    let mut random = ChaCha8Rng::seed_from_u64(0);
    for _ in 0..rows * COLUMNS {
        file.write_all(&(random.next_u32() as f32 * (0.5_f32).powi(32)).to_le_bytes())?;
    }
    file.flush()
}

/// Starts a fit and ends it when it says that its first tile is about to be made: the time until then, and what it said.
fn until_first_tile(program: &Path, points: &Path, threads: usize) -> Result<(f64, String)> {
    let failure = |error: std::io::Error| Failure::Process { process: "mercer".to_owned(), problem: error.to_string() };
    let began = Instant::now();
    let mut child = Command::new(program)
        .arg("fit")
        .arg(points)
        .args(["-n", "10", "--bandwidth", "8", "--progress", "plain", "--threads", &threads.to_string(), "-o"])
        .arg(points.with_extension("mercer"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failure)?;
    let said = child.stderr.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
    let first =
        said.map_while(std::result::Result::ok).find(|line| FIRST_TILE.iter().any(|words| line.contains(words)));
    let seconds = began.elapsed().as_secs_f64();
    child.kill().and_then(|()| child.wait()).map_err(failure)?;
    Ok((seconds, first.unwrap_or_default()))
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
