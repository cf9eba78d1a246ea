//! What is decided before the first update: memory, the engine, the batch size; and the plan that tells it.

use super::engine::{Engine, TileEngine};
use super::learner::HebbianLearner;
use super::rows::makes_again;
use super::run::ERROR_UP_TO;
use super::settings::{KernelHebbianPca, RecordError, Start};
use super::state::{CHUNK, most_pending};
use super::tune::trial_updates;
use crate::choices::{Center, GramChoice, Refresh};
use crate::data::Points;
use crate::eigen::tall::parts_of_inner;
use crate::error::{Error, Result, bytes};
use crate::gram::{Basis, Element, PackedCopy, StoreFormat, block_size};
use crate::kernel::Kernel;
use crate::model::{Prepared, SpeedsFrom, out_of_range};
use crate::plan::{Plan, Speeds};
use crate::record::{KernelRecord, PlanRecord, RECORD_VERSION};
use crate::scalar::Precision;
use crate::simd::Isa;
use crate::watch::Watch;

/// Samples of a batch: enough that what is done once per batch is lost in the kernel rows, few enough that the tile of a block of
/// columns stays in the second-level cache.
const BATCH: usize = 480;
/// The same for few points: the kernel between the samples of a batch costs in proportion to its square, and must be small beside
/// their kernel with all points.
const BATCH_SHARE: usize = 10;
const LEAST_BATCH: usize = 48;
/// Samples of a batch if eigenvalues are followed: inner products of all pairs of rows are computed then, which cost in
/// proportion to the batch.
const FOLLOWED_BATCH: usize = 96;
/// Below this many features, computing a row again is as fast as reading it back.
const STORE_FROM_FEATURES: usize = 12;

/// How a run is set up.
pub(super) struct Setup {
    pub(super) engine: Box<dyn Engine>,
    /// Bytes for rows that are kept.
    pub(super) store_bytes: u64,
    /// Bytes in all, beyond the data.
    pub(super) memory_bytes: u64,
}

/// What a run has in memory beside what its points and components need.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside {
    /// Bytes of the budget that the caller has taken.
    pub(super) taken: u64,
    /// Bytes from its beginning to its end.
    pub(super) always: u64,
    /// Bytes until the points are packed.
    pub(super) while_packing: u64,
}

/// What of points decides how much memory they need.
#[derive(Clone, Copy)]
struct Shape {
    n_samples: usize,
    n_features: usize,
    is_bytes: bool,
}

impl From<&Points> for Shape {
    fn from(points: &Points) -> Self {
        let is_bytes = points.tile_bytes().is_some();
        Self { n_samples: points.n_samples(), n_features: points.n_features(), is_bytes }
    }
}

/// Bytes beyond the data.
struct Room {
    /// Without rows that are kept.
    needed: u64,
    /// For rows that are kept.
    store_bytes: u64,
    /// What all rows would take.
    whole: u64,
}

impl Room {
    /// Why rows are kept or computed again, unless that was asked for.
    fn reason(&self, gram: GramChoice, n_features: usize) -> Option<String> {
        let share = 100.0 * self.store_bytes as f64 / self.whole as f64;
        match gram {
            GramChoice::Auto if self.store_bytes == self.whole => {
                Some(format!("all kernel rows are kept, because {} fit the memory budget", bytes(self.whole)))
            }
            GramChoice::Auto if self.store_bytes > 0 => Some(format!(
                "{share:.0} % of the kernel rows are kept, the others computed in every pass: all of them take {}",
                bytes(self.whole)
            )),
            GramChoice::Auto if n_features < STORE_FROM_FEATURES => Some(format!(
                "kernel rows are computed in every pass, because with {n_features} features that is as fast as reading them"
            )),
            _ => None,
        }
    }
}

impl KernelHebbianPca {
    /// The samples of a batch.
    pub(super) fn batch(&self, n_samples: usize) -> usize {
        let most = if self.follows() { FOLLOWED_BATCH } else { BATCH };
        self.batch_size.unwrap_or((n_samples / BATCH_SHARE).clamp(LEAST_BATCH, most)).min(n_samples)
    }

    fn follows(&self) -> bool {
        self.rule.uses_eigenvalues() && self.refresh == Refresh::Iteration
    }

    /// Packs the points within the memory budget.
    pub(super) fn set_up(&self, prepared: &Prepared, points: &Points, beside: Beside) -> Result<Setup> {
        let Room { needed, store_bytes, .. } = self.room(prepared, points.into(), beside)?;
        let engine = engine_of(prepared, points, store_bytes)?;
        // Of such values no gain makes anything, however small it is.
        if let Some(error) = out_of_range(&prepared.kernel, prepared.precision, points) {
            return Err(error);
        }
        Ok(Setup { engine, store_bytes, memory_bytes: needed + store_bytes })
    }

    /// Whether there is room for old and new points together, before they are put together.
    pub(super) fn check_room(&self, prepared: &Prepared, (old, new): (&Points, &Points), beside: Beside) -> Result<()> {
        let (old, new) = (Shape::from(old), Shape::from(new));
        let joined = Shape { n_samples: old.n_samples + new.n_samples, is_bytes: old.is_bytes && new.is_bytes, ..old };
        self.room(prepared, joined, beside).map(|_| ())
    }

    /// What a fit would do with these points, and what it would cost.
    ///
    /// ```
    /// use mercer::{Kernel, KernelHebbianPca, Points};
    ///
    /// let points = Points::from_f64((0..300).map(f64::from).collect::<Vec<_>>(), 100, 3)?;
    /// let record = KernelHebbianPca::new(Kernel::gaussian(1e-3)?).passes(7).plan_record(&points)?;
    /// assert_eq!((record.plan.solver.as_str(), record.plan.expected_passes), ("hebbian", 7));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), as far as that can be told without fitting.
    pub fn plan_record(&self, points: &Points) -> Result<PlanRecord> {
        self.plan_record_from(points, &Start::default())
    }

    /// As [`plan_record`](Self::plan_record), for a fit with a start of its own.
    ///
    /// ```
    /// use mercer::hebbian::{KernelHebbianPca, Start};
    /// use mercer::{Kernel, Points};
    ///
    /// let points = Points::from_f64((0..80).map(|i| f64::from(i % 9)).collect::<Vec<_>>(), 40, 2)?;
    /// let pca = KernelHebbianPca::new(Kernel::gaussian(0.1)?).n_components(2);
    /// let order = [3, 1, 4, 1, 5];
    /// let plan = pca.plan_record_from(&points, &Start { order: Some(&order), ..Start::default() })?;
    /// assert_eq!(plan.plan.solver, "hebbian");
    /// // Five updates and not more: a row that there is not cannot be among them.
    /// assert!(pca.plan_record_from(&points, &Start { order: Some(&[40]), ..Start::default() }).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`fit_from`](Self::fit_from), as far as that can be told without fitting.
    pub fn plan_record_from(&self, points: &Points, start: &Start<'_>) -> Result<PlanRecord> {
        self.validate()?;
        let watch = Watch::new();
        let prepared = Prepared::new(&self.common, points, SpeedsFrom::Measurement, &watch)?;
        start.validate(self.n_components, points.n_samples())?;
        start.check_model(&prepared.kernel)?;
        let earlier = HebbianLearner::earlier(self, points, start, &watch)?;
        let room = self.room(&prepared, points.into(), Beside::default())?;
        let mut plan = self.plan_of(&prepared, points.n_samples(), room.store_bytes, room.needed + room.store_bytes);
        plan.stored_share = room.store_bytes as f64 / room.whole as f64;
        let makes_again = makes_again(&prepared.kernel, points.n_features());
        plan.expected_seconds =
            self.expected_seconds(prepared.speeds(), points.n_samples(), plan.stored_share, makes_again);
        plan.reasons.extend(room.reason(self.common.gram, points.n_features()));
        plan.reasons.extend(self.reason_of_errors(points.n_samples()));
        if self.tunes() {
            plan.reasons.push("gains are found by trying: a few short runs more".to_owned());
        }
        if let Some(earlier) = earlier {
            plan.reasons.push(format!(
                "goes on after {} updates of an earlier run, which are among those expected",
                earlier.n_updates()
            ));
        }
        Ok(PlanRecord {
            record_version: RECORD_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            n_samples: points.n_samples(),
            n_features: points.n_features(),
            n_components: Some(self.n_components),
            variance: None,
            kernel: KernelRecord::from(&prepared.kernel),
            centered: self.common.center == Center::Yes,
            tolerance: prepared.tolerance,
            data_bytes: points.size(),
            memory_budget_bytes: prepared.budget,
            threads: prepared.threads.count(),
            plan,
            warnings: prepared.warnings,
        })
    }

    /// What is done, in the words of a plan.
    pub(super) fn plan_of(&self, prepared: &Prepared, n_samples: usize, store_bytes: u64, memory_bytes: u64) -> Plan {
        let gram = match (&prepared.kernel, store_bytes > 0) {
            (Kernel::Precomputed, _) => "precomputed",
            (_, true) => "stored",
            (_, false) => "tiled",
        };
        Plan {
            gram: gram.to_owned(),
            method: None,
            n_landmarks: None,
            solver: "hebbian".to_owned(),
            precision: prepared.precision,
            tile: self.batch(n_samples),
            packs_per_tile: false,
            block: self.width(),
            max_subspace: self.n_components,
            store_bytes,
            stored_share: 0.0,
            store_format: StoreFormat::Full,
            start_sample: 0,
            expected_passes: self.total_updates(n_samples).div_ceil(n_samples),
            expected_seconds: 0.0,
            expected_memory_bytes: memory_bytes,
            reasons: vec![format!("the kernel Hebbian algorithm with gain {}, as asked for", self.rule)],
        }
    }

    /// Vectors that follow every update: the components, and as many again if gains adapt.
    fn width(&self) -> usize {
        if self.rule.adapts() { 2 * self.n_components } else { self.n_components }
    }

    /// Seconds that a fit will probably take; `makes_again` says whether entries between the samples of a batch are computed even where
    /// their rows are kept.
    fn expected_seconds(&self, speeds: &Speeds, n_samples: usize, stored_share: f64, makes_again: bool) -> f64 {
        /// Values that are tried before one does not diverge, mostly.
        const TRIALS: f64 = 8.0;
        let n = n_samples as f64;
        let (entries, among) = (n * n / speeds.entries, n * self.batch(n_samples) as f64 / speeds.entries);
        let followed = if self.follows() { 0.5 * self.batch(n_samples) as f64 } else { 0.0 };
        let products = n * n * (self.width() as f64 + followed) / speeds.multiply_adds;
        let trying = if self.tunes() { TRIALS * (trial_updates(n_samples) as f64 / n).min(1.0) } else { 0.0 };
        let (run, first) = (self.total_updates(n_samples) as f64 / n, 0.5 * entries);
        let passes = run + trying;
        // Rows that are kept are computed in the first pass.
        let computed = passes.min(1.0) + (passes - 1.0).max(0.0) * (1.0 - stored_share);
        let learning = entries * computed + among * if makes_again { passes } else { computed } + passes * products;
        let error = 0.5 * (entries + n * n * self.n_components as f64 / speeds.multiply_adds);
        first + learning + self.expected_errors(n_samples) * error
    }

    /// How many errors (38) a run will record, about.
    fn expected_errors(&self, n_samples: usize) -> f64 {
        let (n, updates) = (n_samples as f64, self.total_updates(n_samples) as f64);
        let passes = (updates / n).ceil();
        match (self.record_error, self.record_every) {
            (RecordError::No, _) => 0.0,
            (RecordError::Auto, _) if n_samples > ERROR_UP_TO => 0.0,
            (_, None) => passes,
            (RecordError::Auto, Some(every)) => passes + (updates / (every as f64).max(0.5 * n)).floor(),
            (RecordError::Yes, Some(every)) => passes + (updates / every as f64).floor(),
        }
    }

    /// What recorded errors (38) cost, if they were asked for.
    fn reason_of_errors(&self, n_samples: usize) -> Option<String> {
        let errors = self.expected_errors(n_samples);
        let asked = self.record_error == RecordError::Yes;
        asked.then(|| {
            format!(
                "the reconstruction error is recorded {errors} times, as asked for: half a pass over the matrix each"
            )
        })
    }

    /// How the memory budget is shared out.
    fn room(&self, prepared: &Prepared, points: Shape, beside: Beside) -> Result<Room> {
        match prepared.precision {
            Precision::F32 => self.room_in::<f32>(prepared, points, beside),
            Precision::F64 => self.room_in::<f64>(prepared, points, beside),
        }
    }

    fn room_in<T: Element>(&self, prepared: &Prepared, points: Shape, beside: Beside) -> Result<Room> {
        let while_packing = packed::<T>(prepared, points) + beside.while_packing;
        let budget = prepared.budget.saturating_sub(beside.taken);
        let needed = beside.always + self.needed::<T>(prepared, points, beside.always > 0).max(while_packing);
        if needed > budget {
            let together = if beside.always > 0 { ", old and new ones," } else { "" };
            return Err(Error::OverBudget {
                what: format!("learning {} components of {} points{together}", self.n_components, points.n_samples),
                needed,
                budget,
                advice: "ask for fewer components, smaller batches, or a larger budget".to_owned(),
            });
        }
        let wants_store = !matches!(prepared.kernel, Kernel::Precomputed)
            && match self.common.gram {
                GramChoice::Tiled => false,
                GramChoice::Stored => true,
                GramChoice::Auto => points.n_features >= STORE_FROM_FEATURES,
                GramChoice::Expansion => {
                    let requirement = "auto, tiled or stored for the Hebbian algorithm, which needs rows of the matrix";
                    return Err(Error::invalid("gram", requirement, self.common.gram));
                }
            };
        let n = points.n_samples as u64;
        let whole = n * (n + 64) * size_of::<T>() as u64;
        let store_bytes = if wants_store { whole.min(budget - needed) } else { 0 };
        Ok(Room { needed, store_bytes, whole })
    }

    /// Bytes beyond the data, without rows that are kept.
    fn needed<T: Element>(&self, prepared: &Prepared, points: Shape, goes_on: bool) -> u64 {
        let Shape { n_samples: n, n_features: d, .. } = points;
        let isa = Isa::detect();
        let geometry = crate::tile::Geometry::of::<T>(isa);
        let rows = self.width();
        let (n64, size) = (geometry.padded(n) as u64, size_of::<T>() as u64);
        let width = (rows + 1).next_multiple_of(geometry.lanes) as u64;
        let batch = (geometry.padded(self.batch(n)) + geometry.unit) as u64;
        let block = block_size::<T>(n, isa) as u64;
        // Coefficients and images, and a copy of both to come back to; where a function may fail in the middle of a batch, one more of the
        // images. And the diagonal.
        let images = if matches!(prepared.kernel, Kernel::Custom(_)) { 3 } else { 2 };
        let state = (2 + images) * 8 * n64 * width + 8 * n64;
        // The first product: vectors in the tiles' precision, sums, the centred copy and the result; coefficients as a matrix.
        let vectors = if goes_on { rows } else { self.n_components } as u64;
        let product = n64 * width * (size + 8 + 16) + 2 * 8 * n64 * vectors;
        let kept = if self.follows() { batch * n64 * size } else { 0 };
        let scratch = prepared.threads.count() as u64 * block * (batch * size + width * 8 + (width + batch) * size);
        // Samples that are packed, and those of the next batch as they are and packed; the kernel between them.
        let samples = batch * (4 * 8 * batch + d as u64 * (2 * size + 8));
        let small = 8 * batch * 4 * width + samples;
        packed::<T>(prepared, points) + state + product + kept + scratch + small + self.small_matrices(n, prepared)
    }

    /// Bytes of what has as many rows, and mostly as many columns, as there are components.
    fn small_matrices(&self, n: usize, prepared: &Prepared) -> u64 {
        let (b, r, w) = (self.batch(n) as u64, self.n_components as u64, self.width() as u64);
        let followed = if self.follows() { 2 } else { 0 };
        // Small products, and two copies to come back to: those of before the run, and of before the batch.
        let always = 3 * (w * r + followed * r * r);
        // The panel, a transposed copy of the products, `T` and `C`; then, on the way back through what was put off, a product of transforms
        // and the next, and the points that each thread has at hand.
        let panel = w * (w + (1 + followed) * b);
        let folded = (CHUNK * prepared.threads.count()) as u64 * w;
        // Where eigenvalues are followed, no batch waits for the next.
        let put_off = if self.follows() { w * (w + 2 * b) } else { most_pending(n, w as usize, b as usize) };
        let batch = panel + w * (r + w + b) + 2 * w * w + folded + put_off;
        // Where a pass begins nothing is put off, but products are summed from parts; so it is where a model is made.
        let parts = parts_of_inner(n) as u64 + 4;
        8 * (always + batch.max(parts * w * r + 4 * r * r))
    }
}

/// Bytes that points take when they are packed.
fn packed<T: Element>(prepared: &Prepared, points: Shape) -> u64 {
    let Shape { n_samples, n_features, is_bytes } = points;
    Basis::<T>::size_of_shape(PackedCopy::Kept, n_samples, n_features, is_bytes, &prepared.kernel, Isa::detect())
}

/// Bytes that the points take when they are packed.
pub(super) fn packed_size(prepared: &Prepared, points: &Points) -> u64 {
    match prepared.precision {
        Precision::F32 => packed::<f32>(prepared, points.into()),
        Precision::F64 => packed::<f64>(prepared, points.into()),
    }
}

/// Packs the points, with so much memory for rows.
pub(super) fn engine_of(prepared: &Prepared, points: &Points, store_bytes: u64) -> Result<Box<dyn Engine>> {
    let kernel = &prepared.kernel;
    prepared.threads.run(|| -> Result<Box<dyn Engine>> {
        Ok(match prepared.precision {
            Precision::F32 => Box::new(TileEngine::<f32>::new(points, kernel, store_bytes)?),
            Precision::F64 => Box::new(TileEngine::<f64>::new(points, kernel, store_bytes)?),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::GainRule;

    #[test]
    fn every_error_that_is_recorded_counts_half_a_pass() {
        // On one and the same machine: speeds that are measured differ from time to time.
        let speeds = Speeds::typical(5, 2);
        let seconds = |record_error: RecordError| {
            let kernel = Kernel::gaussian(0.3).expect("positive");
            let settings = KernelHebbianPca::new(kernel).n_components(3).gain(GainRule::EigenvalueStar).eta0(0.05);
            settings.passes(4).record_every(9).record_error(record_error).expected_seconds(&speeds, 90, 0.0, true)
        };
        let (n, r) = (90.0, 3.0);
        let half = 0.5 * n * n * (1.0 / speeds.entries + r / speeds.multiply_adds);
        let (yes, no) = (seconds(RecordError::Yes), seconds(RecordError::No));
        assert!(((yes - no) / half - 44.0).abs() < 1e-9, "{} halves of a pass", (yes - no) / half);
    }
}
