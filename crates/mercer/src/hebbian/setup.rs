//! What is decided before the first update: memory, the engine, the batch size; and the plan that tells it.

use super::engine::{Engine, TileEngine};
use super::learner::HebbianLearner;
use super::settings::{KernelHebbianPca, Start};
use super::tune::trial_updates;
use crate::choices::{Center, GramChoice, Refresh};
use crate::data::Points;
use crate::error::{Error, Result, bytes};
use crate::gram::{Basis, Element, PackedCopy, StoreFormat, block_size};
use crate::kernel::Kernel;
use crate::model::{Prepared, SpeedsFrom, going_on};
use crate::plan::Plan;
use crate::record::{KernelRecord, PlanRecord, RECORD_VERSION};
use crate::scalar::Precision;
use crate::simd::Isa;
use crate::watch::Watch;

/// Samples of a batch: enough that what is done once per batch is lost in the kernel rows, few enough that the tile of a block of
/// columns stays in the second-level cache.
const BATCH: usize = 288;
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
    pub(super) fn set_up(&self, prepared: &Prepared, points: &Points) -> Result<Setup> {
        match prepared.precision {
            Precision::F32 => self.set_up_in::<f32>(prepared, points),
            Precision::F64 => self.set_up_in::<f64>(prepared, points),
        }
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
        let room = match prepared.precision {
            Precision::F32 => self.room::<f32>(&prepared, points)?,
            Precision::F64 => self.room::<f64>(&prepared, points)?,
        };
        let mut plan = self.plan_of(&prepared, points.n_samples(), room.store_bytes, room.needed + room.store_bytes);
        plan.stored_share = room.store_bytes as f64 / room.whole as f64;
        plan.expected_seconds = self.expected_seconds(&prepared, points.n_samples(), plan.stored_share);
        plan.reasons.extend(room.reason(self.common.gram, points.n_features()));
        if self.tunes() {
            plan.reasons.push("gains are found by trying: a few short runs more".to_owned());
        }
        if let Some(earlier) = earlier {
            plan.reasons.push(going_on(earlier.state.pass()));
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
            expected_passes: self.passes,
            expected_seconds: 0.0,
            expected_memory_bytes: memory_bytes,
            reasons: vec![format!("the kernel Hebbian algorithm with gain {}, as asked for", self.rule)],
        }
    }

    /// Vectors that follow every update: the components, and as many again if gains adapt.
    fn width(&self) -> usize {
        if self.rule.adapts() { 2 * self.n_components } else { self.n_components }
    }

    /// Seconds that a fit will probably take.
    fn expected_seconds(&self, prepared: &Prepared, n_samples: usize, stored_share: f64) -> f64 {
        /// Values that are tried before one does not diverge, mostly.
        const TRIALS: f64 = 8.0;
        let (speeds, n) = (prepared.speeds(), n_samples as f64);
        let entries = n * n / speeds.entries;
        let followed = if self.follows() { 0.5 * self.batch(n_samples) as f64 } else { 0.0 };
        let products = n * n * (self.width() as f64 + followed) / speeds.multiply_adds;
        let trying = if self.tunes() { TRIALS * (trial_updates(n_samples) as f64 / n).min(1.0) } else { 0.0 };
        let (passes, first) = (self.passes as f64 + trying, 0.5 * entries);
        // Rows that are kept are computed in the first pass.
        first + entries * (1.0 + (passes - 1.0).max(0.0) * (1.0 - stored_share)) + passes * products
    }

    fn set_up_in<T: Element>(&self, prepared: &Prepared, points: &Points) -> Result<Setup> {
        let Room { needed, store_bytes, .. } = self.room::<T>(prepared, points)?;
        let engine =
            prepared.threads.run(|| TileEngine::<T>::new(points, &prepared.kernel, store_bytes)).map(Box::new)?;
        Ok(Setup { engine, store_bytes, memory_bytes: needed + store_bytes })
    }

    /// How the memory budget is shared out.
    fn room<T: Element>(&self, prepared: &Prepared, points: &Points) -> Result<Room> {
        let needed = self.needed::<T>(prepared, points);
        if needed > prepared.budget {
            return Err(Error::OverBudget {
                what: format!("{} components of {} points", self.n_components, points.n_samples()),
                needed,
                budget: prepared.budget,
                advice: "ask for fewer components, smaller batches, or a larger budget".to_owned(),
            });
        }
        let wants_store = !matches!(prepared.kernel, Kernel::Precomputed)
            && match self.common.gram {
                GramChoice::Tiled => false,
                GramChoice::Stored => true,
                GramChoice::Auto => points.n_features() >= STORE_FROM_FEATURES,
                GramChoice::Expansion => {
                    let requirement = "auto, tiled or stored for the Hebbian algorithm, which needs rows of the matrix";
                    return Err(Error::invalid("gram", requirement, self.common.gram));
                }
            };
        let n = points.n_samples() as u64;
        let whole = n * (n + 64) * size_of::<T>() as u64;
        let store_bytes = if wants_store { whole.min(prepared.budget - needed) } else { 0 };
        Ok(Room { needed, store_bytes, whole })
    }

    /// Bytes beyond the data, without rows that are kept.
    fn needed<T: Element>(&self, prepared: &Prepared, points: &Points) -> u64 {
        let (n, d, isa) = (points.n_samples(), points.n_features(), Isa::detect());
        let geometry = crate::tile::Geometry::of::<T>(isa);
        let rows = self.width();
        let (n64, size) = (geometry.padded(n) as u64, size_of::<T>() as u64);
        let width = (rows + 1).next_multiple_of(geometry.lanes) as u64;
        let batch = (geometry.padded(self.batch(n)) + geometry.unit) as u64;
        let block = block_size::<T>(n, isa) as u64;
        let packed =
            Basis::<T>::size_of_shape(PackedCopy::Kept, n, d, points.tile_bytes().is_some(), &prepared.kernel, isa);
        // Coefficients and images, and a copy of both to come back to.
        let state = 4 * 8 * n64 * width;
        // The first product: vectors in the tiles' precision, sums, the centred copy and the result; coefficients as a matrix.
        let product = n64 * width * (size + 8 + 16) + 2 * 8 * n64 * self.n_components as u64;
        let kept = if self.follows() { batch * n64 * size } else { 0 };
        let scratch = prepared.threads.count() as u64 * block * (batch * size + width * 8 + (width + batch) * size);
        let small = 8 * batch * (batch * 3 + 4 * width) + batch * d as u64 * (size + 8);
        packed + state + product + kept + scratch + small
    }
}
