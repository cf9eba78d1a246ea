//! Work on the rows of a data file, block by block: what `transform` and `score` have in common.

use std::ops::Range;

use mercer::watch::Progress;
use mercer::{Model, Points, Watch};

use super::session::Session;
use crate::failure::Result;

/// Numbers that are in memory at once: enough rows to keep all threads busy, whatever the number of components.
const NUMBERS_AT_ONCE: usize = 1 << 22;
const LEAST_ROWS_AT_ONCE: usize = 4096;

/// Calls `work` for blocks of `n` rows, with progress over all of them.
pub(super) fn in_blocks(
    session: &Session<'_>,
    n: usize,
    columns: usize,
    mut work: impl FnMut(Range<usize>, &Watch<'_>) -> Result<()>,
) -> Result<()> {
    let rows_at_once = (NUMBERS_AT_ONCE / columns.max(1)).max(LEAST_ROWS_AT_ONCE);
    for first in (0..n).step_by(rows_at_once) {
        let rows = first..n.min(first + rows_at_once);
        // Progress of the block becomes progress of the whole.
        let observer = |block: &Progress| {
            let fraction = (first as f64 + block.fraction * rows.len() as f64) / n as f64;
            session.meter.observe(&Progress { fraction, ..*block });
        };
        let watch = Watch::new().interrupt(session.interrupt.flag()).observer(&observer);
        work(rows.clone(), &watch)?;
    }
    session.meter.clear();
    Ok(())
}

/// Bytes remember what they are multiplied by, so a forgotten `--scale` can be noticed where the model
/// does not scale by itself.
pub(super) fn warn_of_scales(model: &Model, queries: &Points, session: &mut Session<'_>) {
    if model.scaling().is_some() {
        return;
    }
    if let (Some(fitted), Some(given)) = (model.basis().byte_scale(), queries.byte_scale())
        && (fitted - given).abs() > 1e-12 * fitted
    {
        session.warn(format!(
            "the model was fitted on bytes times {fitted}, but these are taken times {given}: is --scale missing?"
        ));
    }
}
