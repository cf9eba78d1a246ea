//! `mercer denoise-rows`: rows that follow one another in time, without noise.

use std::path::Path;

use faer::Mat;
use mercer::Points;
use mercer::denoise::DenoiseRecord;
use serde::Serialize;

use super::denoise::{Comparison, denoiser, sentence, status};
use super::learn::watched;
use super::session::Session;
use crate::args::{DenoiseRowsArgs, Format};
use crate::failure::{ExitStatus, Failure, InputError, Result};
use crate::input::Data;
use crate::output::summary::counted;
use crate::output::{self, OutputFile, ScoreWriter, Words};
use crate::records::Common;

/// What the record of denoised rows has of its own.
#[derive(Serialize)]
struct DenoiseRowsBody {
    #[serde(flatten)]
    common: Common,
    data: String,
    output: String,
    n_samples: usize,
    window: usize,
    #[serde(flatten)]
    record: DenoiseRecord,
    /// How good they are; absent without a reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Comparison>,
}

/// Runs the command.
pub(super) fn run(args: &DenoiseRowsArgs) -> Result<ExitStatus> {
    let session = Session::start("denoise-rows", &args.report, args.progress.progress)?;
    let mut session = session.on_threads(args.filter.threads);
    session.check_standard_output(&args.output)?;
    let format = output::score_format(&args.output)?;
    if args.data.sample.is_some() {
        return Err(Failure::usage("--sample is not for denoise-rows: rows must follow one another"));
    }
    let inputs = [Some(("data", args.points.as_path())), args.reference.as_deref().map(|path| ("reference", path))];
    session.check_outputs([args.output.as_path()], &inputs.into_iter().flatten().collect::<Vec<_>>())?;
    let data = session.read(&args.points, &args.data, args.filter.seed)?;
    let reference = match &args.reference {
        Some(path) => Some(like(&data, session.read_reference(path, args, &data)?)?),
        None => None,
    };
    let names = data.column_names(&[]);
    session.check_columns(&args.output, format, &names, &data)?;

    let settings = denoiser(&args.filter);
    let found = session.timed("denoise", |session| {
        Ok(watched(session, &data, None, |watch| settings.rows(&data.points, args.window, watch))?.0)
    })?;
    let (n, d) = (found.rows.nrows(), found.rows.ncols());
    let clean = Points::from_f64((0..n * d).map(|at| found.rows[(at / d, at % d)]).collect::<Vec<_>>(), n, d)?;
    let clean = unscaled(&data, &clean)?;
    let compared = match reference {
        None => None,
        Some(reference) => {
            let values = |data: &Data| Ok::<_, Failure>(all(&unscaled(data, &data.points)?));
            Some(Comparison::new(reference.name.clone(), &values(&reference)?, &values(&data)?, &all(&clean))?)
        }
    };
    session.timed("write", |_| write(&args.output, format, &clean, names, &data))?;
    session.wrote(&args.output);

    let written =
        if args.output == Path::new("-") { String::new() } else { format!(", written to {}", args.output.display()) };
    session.console.note(&format!("{}, {}{written}", counted(n, "row"), sentence(&found.record)));
    if let Some(compared) = &compared {
        session.console.note(&compared.sentence());
    }
    let status = status(&found.record, &mut session);
    let body = DenoiseRowsBody {
        common: session.common(),
        data: data.name.clone(),
        output: args.output.display().to_string(),
        n_samples: n,
        window: args.window,
        record: found.record,
        reference: compared,
    };
    session.finish(status, &body, None)
}

/// Writes rows under the names of the columns that they came from.
fn write(output: &Path, format: Format, rows: &Points, names: Vec<String>, data: &Data) -> Result<()> {
    let (n, d) = (rows.n_samples(), rows.n_features());
    let mut writer = ScoreWriter::new(OutputFile::create(output)?, format, names, Some(n), data)?;
    let values = all(rows);
    writer.write(Mat::from_fn(n, d, |i, k| values[i * d + k]).as_ref(), Words::of(data, 0..n))?;
    writer.finish()
}

/// Points in the units of the file that they came from.
fn unscaled(data: &Data, points: &Points) -> Result<Points> {
    Ok(match &data.scaling {
        Some(scaling) => scaling.undo(points)?,
        None => points.clone(),
    })
}

/// All numbers, row by row.
fn all(points: &Points) -> Vec<f64> {
    points.rows(0..points.n_samples()).to_f64()
}

/// The reference, if it has as many rows and columns as the data.
fn like(data: &Data, reference: Data) -> Result<Data> {
    let shape = |data: &Data| (data.points.n_samples(), data.points.n_features());
    let ((n, d), (rows, columns)) = (shape(data), shape(&reference));
    if (rows, columns) == (n, d) {
        return Ok(reference);
    }
    let problem = format!("the reference has {rows} rows of {columns} columns, but {} has {n} of {d}", data.name);
    Err(InputError::new(&reference.name, problem).into())
}
