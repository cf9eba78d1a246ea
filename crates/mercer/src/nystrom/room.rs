//! What landmarks take of the memory.

use super::limits::LIMIT_ROWS;
use super::pool::pool_size;
use super::settings::{Landmarks, Nystrom};
use crate::choices::MemoryBudget;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::scalar::Precision;

/// Bytes of a row: as it came, and packed for tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowSize {
    pub(super) given: u64,
    pub(super) packed: u64,
}

/// What a row of these points takes.
pub(super) fn row_size(points: &Points, kernel: &Kernel, precision: Precision) -> RowSize {
    let packed = match kernel {
        // Its entries are read where they are.
        Kernel::Precomputed => 0,
        _ => points.n_features() as u64 * precision.size() as u64,
    };
    RowSize { given: points.size() / points.n_samples().max(1) as u64, packed }
}

/// Bytes that `m` landmarks among `n` rows take: five matrices of their order, features of some rows, what choosing them holds, and the
/// coordinates of all of these.
pub(super) fn needed(landmarks: &Landmarks, n: usize, m: usize, row: RowSize) -> u64 {
    let size = pool_size(n, m);
    let (m, pool) = (m as u64, size as u64);
    // A pool of all rows is no copy of them.
    let copied = if size < n { pool.saturating_mul(row.given) } else { 0 };
    let rows = copied.saturating_add(pool.saturating_mul(row.packed));
    let choosing = match landmarks {
        // Its factor, in double precision at most, and a block of columns.
        Landmarks::RpCholesky => rows.saturating_add(8 * pool * (m + 256)),
        Landmarks::Leverage => rows.saturating_add(24 * pool * m),
        Landmarks::KMeans => rows.saturating_add(8 * (1024 * m + 256 * pool)),
        Landmarks::Uniform | Landmarks::Given(_) | Landmarks::Rows(_) => 0,
    };
    let features = 8 * m * LIMIT_ROWS.min(n) as u64;
    let chosen = m.saturating_mul(row.given.saturating_add(row.packed));
    chosen.saturating_add((40 * m * m + features).max(choosing.saturating_add(8 * m * m)))
}

/// Refuses more landmarks than there is memory for.
pub(super) fn check(settings: &Nystrom, n: usize, m: usize, row: RowSize) -> Result<()> {
    let needed = |m: usize| needed(&settings.landmarks, n, m, row);
    let budget = settings.memory.bytes();
    if needed(m) <= budget {
        return Ok(());
    }
    let mut most = m;
    while most > 0 && needed(most) > budget {
        most /= 2;
    }
    Err(Error::OverBudget {
        what: format!("{m} landmarks by {}", settings.landmarks),
        needed: needed(m),
        budget,
        advice: if most > 0 { format!("{most} would fit") } else { "give it more".to_owned() },
    })
}

/// Refuses a matrix of features that would take more memory than a run takes by default.
pub(super) fn check_features(what: String, rows: usize, columns: usize) -> Result<()> {
    let needed = (size_of::<f64>() as u64).saturating_mul(rows as u64).saturating_mul(columns as u64);
    let budget = MemoryBudget::Auto.bytes();
    if needed <= budget {
        return Ok(());
    }
    Err(Error::OverBudget { what, needed, budget, advice: "take fewer features, or fewer rows at a time".to_owned() })
}
