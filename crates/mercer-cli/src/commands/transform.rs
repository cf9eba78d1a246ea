//! `mercer transform`: scores of points under a model.

use std::path::Path;

use mercer::watch::{Progress, Threads};
use mercer::{Model, Points, Watch};

use crate::args::{Format, TransformArgs};
use crate::console::Console;
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::{self, ReadOptions};
use crate::interrupt::Interrupt;
use crate::output::{OutputFile, ScoreWriter};
use crate::progress::Meter;

/// Scores that are in memory at once: enough rows to keep all threads busy, whatever the number of components.
const SCORES_AT_ONCE: usize = 1 << 22;
const LEAST_ROWS_AT_ONCE: usize = 4096;

/// Runs the command.
pub(super) fn run(args: &TransformArgs) -> Result<ExitStatus> {
    let console = Console::new(args.quiet);
    let format = output_format(&args.output)?;
    let file = OutputFile::create(&args.output)?;
    let model = Model::load(&args.model)?;
    let data = input::read(&args.points, &ReadOptions::from(&args.data))?;
    if format == Format::Npy && data.labels.is_some() {
        console.note("labels are not written: a .npy array of scores has no place for them");
    }
    warn_of_scales(&model, &data.points, console);

    let interrupt = Interrupt::listen(console)?;
    let threads = Threads::all()?;
    let meter = Meter::new(console);
    let (n, k) = (data.points.n_samples(), model.n_components());
    let mut writer = ScoreWriter::new(file, format, (n, k), data.labels.as_ref())?;
    let rows_at_once = (SCORES_AT_ONCE / k.max(1)).max(LEAST_ROWS_AT_ONCE);
    for first in (0..n).step_by(rows_at_once) {
        let rows = first..n.min(first + rows_at_once);
        // Progress of the block becomes progress of the whole.
        let observer = |block: &Progress| {
            let fraction = (first as f64 + block.fraction * rows.len() as f64) / n as f64;
            meter.observe(&Progress { fraction, ..*block });
        };
        let watch = Watch::new().interrupt(interrupt.flag()).observer(&observer);
        let scores = model.transform_watched(&data.points.slice(rows.clone()), &threads, &watch);
        meter.clear();
        writer.write(scores.map_err(Failure::in_data(&data.name))?.as_ref())?;
    }
    writer.finish()?;
    if args.output != Path::new("-") {
        console.note(&format!("{n} rows of {k} scores written to {}", args.output.display()));
    }
    Ok(ExitStatus::Done)
}

/// Bytes remember what they are multiplied by, so a forgotten `--scale` can be noticed.
fn warn_of_scales(model: &Model, queries: &Points, console: Console) {
    if let (Some(fitted), Some(given)) = (model.basis().byte_scale(), queries.byte_scale())
        && (fitted - given).abs() > 1e-12 * fitted
    {
        console.warning(&format!(
            "the model was fitted on bytes times {fitted}, but these are taken times {given}: is --scale missing?"
        ));
    }
}

fn output_format(path: &Path) -> Result<Format> {
    if path == Path::new("-") { Ok(Format::Csv) } else { input::format_of(path, None) }
}
