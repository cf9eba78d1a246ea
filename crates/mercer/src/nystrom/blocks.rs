//! Rows that come block by block, more than once.

use super::random::Random;
use crate::data::{Points, RowsRef};
use crate::error::{Error, Result};
use crate::watch::Context;

/// Rows that need not be in memory all at once, and can be gone through several times.
///
/// Points are such rows themselves; a file that is larger than memory is read a block at a time.
///
/// ```
/// use mercer::nystrom::{Nystrom, NystromPca, RowBlocks};
/// use mercer::{Kernel, Points, Result};
///
/// /// Twenty thousand numbers, a thousand at a time.
/// struct Wave;
///
/// impl RowBlocks for Wave {
///     fn n_features(&self) -> usize {
///         1
///     }
///     fn visit(&mut self, visit: &mut dyn FnMut(&Points) -> Result<()>) -> Result<()> {
///         for block in 0..20 {
///             let values: Vec<f64> = (0..1000).map(|i| (f64::from(block * 1000 + i) * 0.01).sin()).collect();
///             visit(&Points::from_f64(values, 1000, 1)?)?;
///         }
///         Ok(())
///     }
/// }
///
/// let pca = NystromPca::new(Nystrom::new(Kernel::gaussian(1.0)?).n_landmarks(20)).n_components(2);
/// let model = pca.fit_blocks(&mut Wave)?;
/// assert_eq!(model.n_samples(), 20_000);
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait RowBlocks {
    /// Coordinates of a row.
    fn n_features(&self) -> usize;

    /// Calls `visit` with all rows, block after block: the same rows in the same order every time.
    ///
    /// # Errors
    ///
    /// If the rows cannot be had, or with what `visit` failed with.
    fn visit(&mut self, visit: &mut dyn FnMut(&Points) -> Result<()>) -> Result<()>;
}

/// Rows of points in memory, or mapped into it, that are visited at a time: whole blocks of the sums.
const ROWS: usize = 8 * super::sums::ROWS;

impl RowBlocks for Points {
    fn n_features(&self) -> usize {
        Points::n_features(self)
    }

    fn visit(&mut self, visit: &mut dyn FnMut(&Points) -> Result<()>) -> Result<()> {
        let n = self.n_samples();
        (0..n).step_by(ROWS).try_for_each(|first| visit(&self.slice(first..n.min(first + ROWS))))
    }
}

/// Rows that room is made for at a time.
const GROWTH: usize = 1024;

/// Rows in the format they came in.
enum Kept {
    Nothing,
    F32(Vec<f32>),
    F64(Vec<f64>),
    U8(Vec<u8>, f64),
}

/// A uniform sample of at most `size` rows, from one pass, and the number of all rows.
///
/// # Errors
///
/// If the sample would take more than `budget` bytes, if rows cannot be had or used, or if the run was stopped.
pub(super) fn reservoir(
    source: &mut dyn RowBlocks,
    size: usize,
    seed: u64,
    budget: u64,
    context: &Context<'_>,
) -> Result<(Points, usize)> {
    let d = source.n_features();
    let (mut kept, mut n_rows, mut random) = (Kept::Nothing, 0_usize, Random::new(seed));
    source.visit(&mut |block| {
        context.check()?;
        check_block(block, d, n_rows)?;
        let row = block.size() / block.n_samples().max(1) as u64;
        let count = size.min(n_rows + block.n_samples());
        let needed = row.saturating_mul(count as u64);
        if needed > budget {
            return Err(Error::OverBudget {
                what: format!("a sample of {count} rows, which landmarks are chosen from,"),
                needed,
                budget,
                advice: "give it more, or take fewer columns".to_owned(),
            });
        }
        for row in 0..block.n_samples() {
            let place = if n_rows < size { n_rows } else { random.below(n_rows + 1) };
            if place < size {
                keep(&mut kept, place, block.rows(row..row + 1))?;
            }
            n_rows += 1;
        }
        Ok(())
    })?;
    let n = n_rows.min(size);
    let sample = match kept {
        Kept::Nothing => Points::from_f64(Vec::new(), 0, d)?,
        Kept::F32(values) => Points::from_f32(values, n, d)?,
        Kept::F64(values) => Points::from_f64(values, n, d)?,
        Kept::U8(values, scale) => Points::from_u8(values, n, d, scale)?,
    };
    Ok((sample, n_rows))
}

/// Refuses a block of another width, or with a number that is not finite, which it names by its row among all.
pub(super) fn check_block(block: &Points, d: usize, before: usize) -> Result<()> {
    if block.n_features() != d {
        return Err(Error::FeatureMismatch { what: "a block of rows", expected: d, found: block.n_features() });
    }
    block.check_finite().map_err(|error| match error {
        Error::NotFinite { row, column, value } => Error::NotFinite { row: row + before, column, value },
        other => other,
    })
}

/// The same error with the number among all `n` rows of one that is too large, which was counted in a sample of them.
pub(super) fn among_all(error: Error, sample: &Points, source: &mut dyn RowBlocks, n: usize) -> Error {
    let (Error::TooLarge { row, .. } | Error::TooFarApart { row, .. } | Error::KernelOverflow { row, .. }) = error
    else {
        return error;
    };
    let (wanted, mut before, mut place) = (sample.row(row), 0, None);
    let outcome = source.visit(&mut |block| {
        if place.is_none() {
            place = (0..block.n_samples()).find(|&row| block.row(row) == wanted).map(|row| before + row);
        }
        before += block.n_samples();
        Ok(())
    });
    let error = match (outcome, place) {
        (Ok(()), Some(place)) => error.with_row(|_| place),
        // Rows that cannot be had again are no reason to hide what is wrong.
        _ => error,
    };
    match error {
        Error::KernelOverflow { kernel, row, value, precision, .. } => {
            Error::KernelOverflow { kernel, row, value, precision, n_samples: n }
        }
        other => other,
    }
}

fn keep(kept: &mut Kept, place: usize, row: RowsRef<'_>) -> Result<()> {
    fn put<T: Copy>(values: &mut Vec<T>, place: usize, row: &[T]) {
        let start = place * row.len();
        if start == values.len() {
            // Not twice as many as there are, which would not be counted.
            if values.capacity() < start + row.len() {
                values.reserve_exact(GROWTH * row.len());
            }
            values.extend_from_slice(row);
        } else {
            values[start..start + row.len()].copy_from_slice(row);
        }
    }
    if matches!(kept, Kept::Nothing) {
        *kept = match row {
            RowsRef::F32(_) => Kept::F32(Vec::new()),
            RowsRef::F64(_) => Kept::F64(Vec::new()),
            RowsRef::U8 { scale, .. } => Kept::U8(Vec::new(), scale),
        };
    }
    match (kept, row) {
        (Kept::F32(values), RowsRef::F32(row)) => put(values, place, row),
        (Kept::F64(values), RowsRef::F64(row)) => put(values, place, row),
        (Kept::U8(values, scale), RowsRef::U8 { values: row, scale: other }) if scale.to_bits() == other.to_bits() => {
            put(values, place, row);
        }
        _ => return Err(Error::invalid("blocks", "of one format, that of the first", "another")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Phase, Threads, Watch};

    /// A sample of ten rows within so many bytes.
    fn with_room(points: &mut Points, seed: u64, budget: u64) -> Result<(Points, usize)> {
        let (threads, watch) = (Threads::new(1)?, Watch::new());
        reservoir(points, 10, seed, budget, &Context::new(&threads, &watch, Phase::Starting))
    }

    #[test]
    fn a_sample_that_does_not_fit_is_refused_before_it_is_held() {
        let mut points = Points::from_f64(vec![0.5; 60], 20, 3).expect("rows of three");
        assert!(with_room(&mut points, 0, 240).is_ok());
        let error = with_room(&mut points, 0, 239).expect_err("ten rows of 24 bytes");
        assert!(matches!(error, Error::OverBudget { needed: 240, budget: 239, .. }), "{error}");
    }

    #[test]
    fn every_row_has_the_same_chance_to_stay() {
        let n = 50;
        let mut points = Points::from_f64((0..n).map(f64::from).collect::<Vec<_>>(), n as usize, 1).expect("a column");
        let mut counts = vec![0; n as usize];
        for seed in 0..4000 {
            let (sample, n_rows) = with_room(&mut points, seed, u64::MAX).expect("finite");
            assert_eq!((sample.n_samples(), n_rows), (10, 50));
            (0..10).for_each(|i| counts[sample.row(i)[0] as usize] += 1);
        }
        // 4000 draws of a fifth: five standard deviations.
        let allowed = 5.0 * (4000.0_f64 * 0.2 * 0.8).sqrt();
        assert!(counts.iter().all(|&count| (f64::from(count) - 800.0).abs() < allowed), "{counts:?}");
    }

    #[test]
    fn a_bad_number_is_named_by_its_row_among_all() {
        let mut values = vec![0.0; 20_000];
        values[12_345] = f64::NAN;
        let mut points = Points::from_f64(values, 20_000, 1).expect("a column");
        let error = with_room(&mut points, 0, u64::MAX).expect_err("a number is not finite").to_string();
        assert_eq!(error, "row 12345, column 0 is NaN; kernels need finite numbers");
    }
}
