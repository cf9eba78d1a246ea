//! A file of points that are new to a model, in parts that fit in memory, and a table of what was made of them: what `transform`, `score`
//! and `reconstruct` have in common.

use std::path::Path;
use std::time::Instant;

use faer::Mat;
use mercer::data::Scaling;
use mercer::watch::Progress;
use mercer::{Points, Watch};

use super::session::Session;
use crate::args::Format;
use crate::failure::Result;
use crate::input::{self, Data, ReadOptions};
use crate::output::{self, OutputFile, ScoreWriter, Words};

/// Numbers that are in memory at once: enough rows to keep all threads busy, whatever the number of columns.
const NUMBERS_AT_ONCE: usize = 1 << 22;
const LEAST_ROWS_AT_ONCE: usize = 4096;
/// Numbers that are read at once from a table of columns.
pub(super) const READ_AT_ONCE: usize = 1 << 20;

/// Where rows come from, and where a row for each of them goes.
pub(super) struct Rows<'a> {
    pub(super) points: &'a Path,
    pub(super) options: ReadOptions,
    pub(super) output: &'a Path,
    pub(super) format: Format,
    /// What the work is called among the seconds of the record.
    pub(super) phase: &'static str,
    /// What bytes that the model knows are multiplied by, if it does not see to that by itself.
    pub(super) byte_scale: Option<f64>,
}

/// What has been read and written.
pub(super) struct Written {
    /// The file of the points, as messages name it.
    pub(super) data: String,
    pub(super) n_samples: usize,
    pub(super) n_features: usize,
}

/// An output that has been begun.
struct Begun {
    writer: ScoreWriter,
    written: Written,
    /// Numbers in a row of it.
    columns: usize,
    /// The share of the file that is done.
    share: f64,
}

impl Rows<'_> {
    /// Writes what `work` makes of blocks of rows, in columns of the names that `names` gives.
    ///
    /// The output appears when the last row has been read and written; if anything is wrong before, there is none.
    pub(super) fn write(
        self,
        session: &mut Session<'_>,
        names: &dyn Fn(&Data) -> Vec<String>,
        mut work: impl FnMut(&Points, &Watch<'_>) -> mercer::Result<Mat<f64>>,
    ) -> Result<Written> {
        let started = Instant::now();
        let mut working = 0.0;
        let mut begun: Option<Begun> = None;
        session.begin_reading(self.points);
        let options = self.options.clone();
        let options = if output::is_open_ended(self.format) { options.in_batches(READ_AT_ONCE) } else { options };
        input::read_in_batches(self.points, &options, &mut |data| {
            let part_started = Instant::now();
            session.meter.clear();
            session.warn_of(&data);
            let begun = match &mut begun {
                Some(begun) => begun,
                None => begun.insert(self.begin(&data, names(&data), session)?),
            };
            let Begun { writer, written, columns, share } = begun;
            in_blocks(session, &data, *columns, *share..data.part.share, |rows, watch| {
                let block = work(&data.points.slice(rows.clone()), watch);
                session.meter.clear();
                let block = block.map_err(|error| data.refusal(error, rows.start))?;
                writer.write(block.as_ref(), Words::of(&data, rows))
            })?;
            written.n_samples += data.points.n_samples();
            *share = data.part.share;
            working += part_started.elapsed().as_secs_f64();
            Ok(())
        })?;
        let Begun { writer, written, .. } = begun.expect("a file without rows is refused");
        let finishing = Instant::now();
        writer.finish()?;
        session.wrote(self.output);
        working += finishing.elapsed().as_secs_f64();
        session.add_seconds("read", started.elapsed().as_secs_f64() - working);
        session.add_seconds(self.phase, working);
        Ok(written)
    }

    /// Says what there is to say about the first part, and opens the output.
    fn begin(&self, first: &Data, names: Vec<String>, session: &mut Session<'_>) -> Result<Begun> {
        session.check_columns(self.output, self.format, &names, first)?;
        warn_of_scales(self.byte_scale, self.options.factor(), &first.points, session);
        let (file, n_samples) = if first.part.is_last {
            // Nothing is left to be read, which could not be stopped in between.
            session.interrupt.wait_for_safe_points();
            (OutputFile::create(self.output)?, Some(first.points.n_samples()))
        } else {
            (OutputFile::create_uncertain(self.output)?, None)
        };
        let columns = names.len();
        let written = Written { data: first.name.clone(), n_samples: 0, n_features: first.points.n_features() };
        Ok(Begun {
            writer: ScoreWriter::new(file, self.format, names, n_samples, first)?,
            written,
            columns,
            share: 0.0,
        })
    }
}

/// Calls `work` for blocks of a part's rows, with progress over the share of the file that the part is.
fn in_blocks(
    session: &Session<'_>,
    data: &Data,
    columns: usize,
    share: std::ops::Range<f64>,
    mut work: impl FnMut(std::ops::Range<usize>, &Watch<'_>) -> Result<()>,
) -> Result<()> {
    let n = data.points.n_samples();
    let rows_at_once = (NUMBERS_AT_ONCE / columns.max(data.points.n_features())).max(LEAST_ROWS_AT_ONCE);
    for first in (0..n).step_by(rows_at_once) {
        let rows = first..n.min(first + rows_at_once);
        // Progress of the block becomes progress of the whole.
        let observer = |block: &Progress| {
            let within = (first as f64 + block.fraction * rows.len() as f64) / n as f64;
            let fraction = share.start + within * (share.end - share.start).max(0.0);
            session.meter.observe(&Progress { fraction, ..*block });
        };
        let watch = Watch::new().interrupt(session.interrupt.flag()).observer(&observer);
        work(rows.clone(), &watch)?;
    }
    session.meter.clear();
    Ok(())
}

/// What the bytes among a model's points are multiplied by, if there are any and the model does not scale new ones by itself.
pub(super) fn scale_of_bytes(basis: &Points, scaling: Option<&Scaling>) -> Option<f64> {
    if scaling.is_some() { None } else { basis.byte_scale() }
}

/// Bytes remember what they are multiplied by, so a forgotten `--scale` can be noticed where the model
/// does not scale by itself. Other numbers do not, so nobody knows whether a `factor` that is given there is right.
fn warn_of_scales(byte_scale: Option<f64>, factor: Option<f64>, queries: &Points, session: &mut Session<'_>) {
    if let (Some(fitted), Some(given)) = (byte_scale, queries.byte_scale())
        && (fitted - given).abs() > 1e-12 * fitted
    {
        session.warn(format!(
            "the model was fitted on bytes times {fitted}, but these are taken times {given}: is --scale missing?"
        ));
    }
    if let (None, Some(factor)) = (byte_scale, factor) {
        session.warn(format!(
            "the model was fitted without --scale, but these are taken times {factor}: that is right only if its data had been multiplied so before"
        ));
    }
}
