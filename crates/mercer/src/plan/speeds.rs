//! How fast this machine is at what a fit does, by a short measurement.

use faer::Mat;

use super::choose::Kept;
use super::{Task, memory_need};
use crate::data::Points;
use crate::error::Result;
use crate::gram::{KernelGram, SymmetricOperator};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Stopwatch, Threads, Watch};

/// Speeds of one machine for one kind of data.
///
/// ```
/// use mercer::plan::Speeds;
/// use mercer::watch::Threads;
/// use mercer::{Kernel, Points, Precision};
///
/// let points = Points::from_f32((0..1000).map(|i| (i % 17) as f32).collect::<Vec<_>>(), 100, 10)?;
/// let speeds = Speeds::measure(&points, &Kernel::gaussian(0.1)?, Precision::F32, &Threads::new(1)?)?;
/// assert!(speeds.entries > 0.0 && speeds.multiply_adds > 0.0);
///
/// // A pass that reads all tiles back makes no entries, so it takes less time; twice the points have four times the pairs.
/// let pass = |n, recomputed| speeds.pass_seconds(n, 16, recomputed);
/// assert!(pass(1000, 0.0) < pass(1000, 1.0));
/// assert!((pass(2000, 1.0) / pass(1000, 1.0) - 4.0).abs() < 0.1);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speeds {
    /// Kernel entries per second, all threads together, recomputed from packed points.
    pub entries: f64,
    /// Multiply-adds per second, all threads together, in products of tiles with vectors.
    pub multiply_adds: f64,
    /// Multiply-adds per second of double-precision linear algebra, all threads together; typical, not measured.
    pub algebra: f64,
    /// Bytes per second at which new memory is first written; typical, not measured.
    pub first_touch: f64,
}

/// Points of the measurement: large enough to be typical, small enough to take a few milliseconds.
const PROBE_POINTS: usize = 960;
/// A product with one vector that is over sooner has mostly been waiting for threads: then there are twice the points.
const PROBE_SECONDS: f64 = 2e-3;
/// The same for the wide product, where there are as many more points as that takes: the four blocks of rows that [`PROBE_POINTS`] have leave threads
/// without work between rounds.
const WIDE_PROBE_SECONDS: f64 = 6e-3;
/// It is to take so many times that: times differ.
const PROBE_MARGIN: f64 = 1.25;
/// Points come in whole blocks of rows.
const PROBE_STEP: usize = PROBE_POINTS / 4;
/// Columns of the wide product of the measurement.
const PROBE_COLUMNS: usize = 64;
/// Memory that has never been used is slower than memory that was freed a moment ago; the estimate takes the middle.
const FIRST_TOUCH: f64 = 3e9;

/// Numbers that one thread packs in a second; typical, not measured.
const PACKED_NUMBERS: f64 = 5e8;

impl Speeds {
    /// Measures tiles and products on the first of the points: a few milliseconds, longer for custom kernels and many features.
    ///
    /// # Errors
    ///
    /// If a custom kernel fails.
    pub fn measure(points: &Points, kernel: &Kernel, precision: Precision, threads: &Threads) -> Result<Self> {
        if matches!(kernel, Kernel::Precomputed) {
            return Ok(Self::typical(points.n_features(), threads.count()));
        }
        let seconds = |n: usize, columns: &[usize]| -> Result<Vec<f64>> {
            let probe = points.slice(0..n);
            match precision {
                Precision::F32 => {
                    measure_products(&threads.run(|| KernelGram::<f32>::new(&probe, kernel, None))?, columns, threads)
                }
                Precision::F64 => {
                    measure_products(&threads.run(|| KernelGram::<f64>::new(&probe, kernel, None))?, columns, threads)
                }
            }
        };
        let most = points.n_samples();
        let mut n = most.min(PROBE_POINTS);
        let mut measured = seconds(n, &[1, PROBE_COLUMNS])?;
        while measured[1] < WIDE_PROBE_SECONDS && n < most {
            n = longer_probe(n, measured[1]).min(most);
            measured = seconds(n, &[1, PROBE_COLUMNS])?;
        }
        let (mut narrow, wide) = (measured[0], measured[1]);
        let per_column = ((wide - narrow) / (PROBE_COLUMNS as f64 - 1.0)).max(1e-9);
        let multiply_adds = (n * n) as f64 / per_column;
        while narrow < PROBE_SECONDS && 2 * n <= most {
            n *= 2;
            narrow = seconds(n, &[1])?[0];
        }
        let pairs = (n * n) as f64;
        Ok(Self {
            entries: 0.5 * pairs / (narrow - pairs / multiply_adds).max(1e-7),
            multiply_adds,
            ..Self::typical(points.n_features(), threads.count())
        })
    }

    /// Speeds of a two-core machine of 2023, scaled by the number of threads: for plans without points.
    pub fn typical(n_features: usize, threads: usize) -> Self {
        let threads = threads as f64;
        let multiply_adds = 3.5e10 * threads;
        Self {
            entries: multiply_adds / (n_features as f64 + 16.0),
            multiply_adds,
            algebra: 1.5e10 * threads,
            first_touch: FIRST_TOUCH,
        }
    }

    /// Seconds of one pass with `columns` vectors, of which `recomputed` is the share of tiles that are not read back.
    pub fn pass_seconds(&self, n: usize, columns: usize, recomputed: f64) -> f64 {
        let n = n as f64;
        recomputed * 0.5 * n * n / self.entries + n * n * columns as f64 / self.multiply_adds
    }

    /// The same where the points of every tile are packed anew.
    pub(super) fn packing_per_tile(&self, task: &Task<'_>, threads: usize) -> Self {
        // Two blocks of points are packed for a tile, each number at a typical speed.
        let numbers = 2.0 * task.n_features as f64 / memory_need::tile_size(task).max(1) as f64;
        let seconds = numbers / (PACKED_NUMBERS * threads as f64);
        Self { entries: 1.0 / (1.0 / self.entries + seconds), ..*self }
    }

    pub(super) fn fit_seconds(
        &self,
        task: &Task<'_>,
        block: usize,
        passes: usize,
        kept: Kept,
        start_sample: usize,
    ) -> f64 {
        let (n, k) = (task.n_samples, task.n_components as f64);
        let columns = (block + 1).next_multiple_of(16);
        let first = self.pass_seconds(n, columns, 1.0);
        let later = self.pass_seconds(n, columns, 1.0 - kept.share);
        let fill = kept.bytes as f64 / self.first_touch;
        // Orthogonalising twice against a basis that grows to the passes' blocks, and three small steps per block.
        let basis = (block * passes) as f64;
        let algebra =
            n as f64 * block as f64 * passes as f64 * (2.0 * basis + 6.0 * block as f64) + n as f64 * basis * k;
        // The sample is solved from kept tiles, then extended to all points by half a pass of that size.
        let sample = start_sample as f64;
        let vectors = (block.max(task.n_components) + 1).next_multiple_of(16);
        let extended = sample * n as f64 * (1.0 / self.entries + vectors as f64 / self.multiply_adds);
        let start = extended + 8.0 * self.pass_seconds(start_sample, vectors, 0.3);
        first + later * passes.saturating_sub(1) as f64 + fill + algebra / self.algebra + start
    }

    pub(super) fn dense_seconds(&self, task: &Task<'_>) -> f64 {
        let n = task.n_samples as f64;
        // Tridiagonalisation and back-transformation, half of it limited by memory: of 2000 points they took as long as 6.7 n³ multiply-adds
        // at the typical speed on a machine with AVX2, as 3.4 on one with AVX-512, and as 2.2 on one where that is twice as wide. The middle of these is
        // within a factor of 1.7 of all of them.
        self.pass_seconds(task.n_samples, task.n_samples, 1.0) + 4.0 * n * n * n / self.algebra
    }
}

/// Points with which a product that is over after so many seconds with `n` of them lasts long enough: its time grows with their square. At most twice
/// as many, because a very short time tells little.
fn longer_probe(n: usize, seconds: f64) -> usize {
    let times = (PROBE_MARGIN * WIDE_PROBE_SECONDS / seconds).sqrt().min(2.0);
    ((n as f64 * times) as usize).next_multiple_of(PROBE_STEP)
}

/// Seconds of products with so many vectors, the better of two tries each.
fn measure_products(gram: &dyn SymmetricOperator, columns: &[usize], threads: &Threads) -> Result<Vec<f64>> {
    let watch = Watch::new();
    let context = Context::new(threads, &watch, Phase::Packing);
    let time = |&columns: &usize| -> Result<f64> {
        let x = Mat::full(gram.dim(), columns, 1.0);
        let mut y = Mat::zeros(gram.dim(), columns);
        let mut best = f64::INFINITY;
        for _ in 0..2 {
            let stopwatch = Stopwatch::start();
            gram.apply(x.as_ref(), y.as_mut(), &context)?;
            best = best.min(stopwatch.seconds());
        }
        Ok(best)
    };
    columns.iter().map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_is_nearly_long_enough_grows_by_what_is_missing() {
        // Four times as long as it has to be is a tenth of a second before the first tile of many points with many features.
        assert_eq!(longer_probe(960, 5.4e-3), 1200);
        for n in [960, 1200, 7680] {
            for share in [1e-9, 1e-3, 0.2, 0.5, 0.9, 0.999] {
                let seconds = share * WIDE_PROBE_SECONDS;
                let longer = longer_probe(n, seconds);
                assert!(longer > n && longer <= 2 * n, "{n} points, {seconds} s: {longer}");
                let expected = seconds * (longer as f64 / n as f64).powi(2);
                assert!(expected >= WIDE_PROBE_SECONDS || longer == 2 * n, "{n} points, {seconds} s: {expected} s");
            }
        }
        // A clock that has not moved.
        assert_eq!(longer_probe(960, 0.0), 1920);
    }
}
