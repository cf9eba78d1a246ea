//! How fast is delimited text read, against pandas and polars?

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::child::{ReadAnswer, ReadOnce};
use crate::failure::{Failure, Result};
use crate::harness::{Contender, Finished, alternate};
use crate::record::{Bar, Findings, Quantity};
use crate::rival::Rival;
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    CSV to a matrix of doubles in rows: one gigabyte of 25 columns of numbers with all their digits, and a file of 784 columns \
    of grey values. Ours is the reader of the command; pandas (`read_csv`) and polars (`read_csv`) read with their defaults \
    and hand over an array (`to_numpy`). Files are in the system's cache. The bar is held against the faster of the two.";

/// We may take twice the time of the fastest rival.
const SPEED_BAR: f64 = 2.0;
/// Sums of columns, relative to the sum of absolute values: the same numbers, added in another order.
const SUM_LIMIT: f64 = 1e-9;
const LIBRARIES: [&str; 2] = ["pandas", "polars"];

type Answered = (ReadAnswer, Option<String>);

/// What a file is made of.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    columns: usize,
    bytes: usize,
    write_field: fn(&mut ChaCha8Rng, &mut Vec<u8>),
}

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let cases = [
        Case { name: "doubles", columns: 25, bytes: setup.size(1_000_000_000, 200_000), write_field: write_double },
        Case { name: "grey values", columns: 784, bytes: setup.size(100_000_000, 200_000), write_field: write_byte },
    ];
    for case in cases {
        measure_case(setup, findings, case)?;
    }
    if setup.options.no_rival {
        findings.note("pandas and polars were left out");
    }
    Ok(())
}

fn measure_case(setup: &Setup, findings: &mut Findings, case: Case) -> Result<()> {
    let path = setup.scratch_file("points.csv");
    let rows = write_file(&path, case)?;
    let length = std::fs::metadata(&path).map_err(Failure::file(&path))?.len();
    findings.setting("points", rows);
    findings.setting(&format!("rows of {}", case.name), rows);
    findings.setting(&format!("bytes of {}", case.name), length);
    let mut contenders = vec![ours(setup, &path, case)];
    if !setup.options.no_rival {
        contenders.extend(LIBRARIES.map(|library| theirs(setup, &path, case, library)));
    }
    let finished = alternate(contenders, setup.rounds(4))?;
    std::fs::remove_file(&path).map_err(Failure::file(&path))?;
    findings.timings(&finished);
    let (ours, rivals) = (&finished[0], &finished[1..]);
    let shape = (&ours.answer().0, rows, case.columns);
    let wrong = f64::from(u8::from(shape.0.rows != rows || shape.0.sums.len() != case.columns));
    findings.check(format!("{}: rows and columns that are not there", case.name), wrong, 0.0)?;
    let growth = Quantity::new("peak growth of mercer", ours.answer().0.peak_growth_bytes as f64, "B");
    findings.quantities.push(growth.clone());
    let matrix = Quantity::new("the matrix", 8.0 * (rows * case.columns) as f64, "B");
    findings.ratio(format!("{}: memory of ours to the matrix", case.name), growth, matrix, None);
    compare(findings, case, ours, rivals)
}

fn ours<'a>(setup: &Setup, path: &Path, case: Case) -> Contender<'a, Answered> {
    let read = ReadOnce { file: path.to_owned(), threads: setup.options.threads };
    Contender::new(format!("mercer/{}", case.name), move || {
        let answer = read.spawn()?;
        Ok((answer.seconds, (answer, None)))
    })
}

fn theirs<'a>(setup: &'a Setup, path: &Path, case: Case, library: &str) -> Contender<'a, Answered> {
    let script = Rival::bare("read_csv.py").argument("file", path.display()).argument("library", library);
    Contender::new(format!("{library}/{}", case.name), move || {
        let (answer, note): Answered = script.run(setup)?;
        Ok((answer.seconds, (answer, note)))
    })
}

fn compare(
    findings: &mut Findings,
    case: Case,
    ours: &Finished<Answered>,
    rivals: &[Finished<Answered>],
) -> Result<()> {
    for rival in rivals {
        let (answer, note) = rival.answer();
        findings.note_if(note.as_deref());
        findings.rival_versions(&answer.versions);
        let mine = &ours.answer().0;
        let gap = |(j, sum): (usize, &f64)| (sum - mine.sums[j]).abs() / mine.absolute_sums[j];
        let difference = answer.sums.iter().enumerate().map(gap).fold(0.0, f64::max);
        let rows = if answer.rows == mine.rows { 0.0 } else { f64::NAN };
        findings.check(format!("{}: sums of columns", rival.timing.name), difference + rows, SUM_LIMIT)?;
    }
    let fastest = rivals.iter().min_by(|a, b| a.best().total_cmp(&b.best()));
    if let Some(fastest) = fastest {
        let bar = Some(Bar::AtMost(SPEED_BAR));
        findings.ratio(format!("{}: ours to the faster of pandas and polars", case.name), ours, fastest, bar);
    }
    Ok(())
}

/// Writes rows until the file is long enough; returns their number.
fn write_file(path: &PathBuf, case: Case) -> Result<usize> {
    let mut file = BufWriter::new(File::create(path).map_err(Failure::file(path))?);
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let (mut written, mut rows) = (0, 0);
    let names: Vec<String> = (0..case.columns).map(|column| format!("c{column}")).collect();
    let mut line = names.join(",").into_bytes();
    line.push(b'\n');
    loop {
        file.write_all(&line).map_err(Failure::file(path))?;
        written += line.len();
        if written >= case.bytes {
            break;
        }
        line.clear();
        for column in 0..case.columns {
            if column > 0 {
                line.push(b',');
            }
            (case.write_field)(&mut random, &mut line);
        }
        line.push(b'\n');
        rows += 1;
    }
    file.flush().map_err(Failure::file(path))?;
    Ok(rows)
}

/// A number between -1 and 1 with as many digits as it takes.
fn write_double(random: &mut ChaCha8Rng, line: &mut Vec<u8>) {
    let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
    // Into memory, which does not fail.
    let _ = write!(line, "{uniform}");
}

/// A grey value; four of five are 0, as in pictures of writing.
fn write_byte(random: &mut ChaCha8Rng, line: &mut Vec<u8>) {
    let bits = random.next_u32();
    let value = if bits.is_multiple_of(5) { bits >> 24 } else { 0 };
    let _ = write!(line, "{value}");
}
