//! What was learned, as the model that all other methods end in.

use std::collections::BTreeMap;

use super::directions::Captured;
use super::learner::Learner;
use super::memory::Memory;
use super::passes;
use crate::data::Points;
use crate::error::Result;
use crate::gram::{Centering, StoreFormat};
use crate::memory;
use crate::model::{BasisKind, Model, Parts, fix_signs};
use crate::plan::Plan;
use crate::record::{KernelRecord, RECORD_VERSION, RunRecord};
use crate::scalar::Precision;

impl Learner {
    /// The model of what has been learned so far: it transforms, scores and saves as any other.
    ///
    /// Its components are orthonormal directions in the span of the learner's, in the order of the variance that the last rows have along
    /// them (Rayleigh and Ritz), and their signs are those of any model: scores and the learner's outputs are the same up to a rotation, and near
    /// one another, but for signs, once components have settled. Its basis points are the rows in memory. Eigenvalues are the
    /// [variances](super::Captured) of the last rows times the number of all; there are no residuals, because rows are seen once.
    ///
    /// ```
    /// use mercer::online::{OnlineKernelPca, OnlineLearner};
    /// use mercer::{Kernel, Points};
    ///
    /// let rows = Points::from_f64((0..400).map(|i| f64::from(i * i % 101) * 0.02).collect::<Vec<_>>(), 200, 2)?;
    /// let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5)?).budget(30).learner()?;
    /// learner.learn(&rows)?;
    /// let model = learner.model()?;
    /// assert_eq!((model.n_components(), model.basis().n_samples()), (2, 30));
    /// assert!(model.eigenvalues()[0] >= model.eigenvalues()[1]);
    /// assert_eq!(model.transform(&rows)?.nrows(), 200);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If fewer different rows than components have been seen, or components have become dependent on one another.
    pub fn model(&self) -> Result<Model> {
        let (memory, directions) = self.directions()?;
        let mut coefficients = directions.coefficients(memory);
        fix_signs(&mut coefficients);
        let centering = if self.is_centered() { Some(centering(memory)?) } else { None };
        let m = memory.len();
        let rows: Vec<f64> = (0..m).flat_map(|slot| memory.rows.row(slot)).collect();
        Ok(Model::new(Parts {
            kernel: self.settings.kernel.clone(),
            basis: Points::from_f64(rows, m, memory.rows.n_features())?,
            basis_kind: BasisKind::Representatives,
            precision: Precision::F64,
            coefficients,
            centering,
            record: self.record(memory, &directions.captured),
        }))
    }

    /// What the user should know about what was learned: rates that had to be made smaller, and what the budget has cost.
    ///
    /// ```
    /// use mercer::online::OnlineKernelPca;
    /// use mercer::{Center, Kernel};
    ///
    /// let settings = OnlineKernelPca::new(Kernel::linear()).n_components(1).center(Center::No);
    /// let mut learner = settings.learning_rate(10.0).learner()?;
    /// for row in 0..50 {
    ///     learner.learn_row(&[f64::from(row % 7), 1.0])?;
    /// }
    /// assert!(learner.warnings()[0].starts_with("the learning rate was made smaller for "));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.n_shrunk > 0 {
            warnings.push(format!(
                "the learning rate was made smaller for {} of {} rows, which it would have overshot at",
                self.n_shrunk, self.n_seen
            ));
        }
        let lost = self.budget_error.iter().fold(0.0_f64, |m, error| m.max(*error));
        if lost > WORTH_SAYING {
            warnings.push(format!(
                "the budget has moved a component by {lost:.2}, where one is its length: a larger one would cost less"
            ));
        }
        let shortest = (0..self.started).map(|p| self.inner[(p, p)].max(0.0).sqrt()).fold(f64::INFINITY, f64::min);
        if self.drops_rows() && shortest < SHRUNK {
            warnings.push(format!(
                "a component has shrunk to {shortest:.1e} of unit length, because rows are dropped faster than it learns: a larger budget or \
                 the policy project would keep it"
            ));
        }
        warnings
    }

    fn record(&self, memory: &Memory, captured: &Captured) -> RunRecord {
        let n = self.n_seen as f64;
        let settings = &self.settings;
        RunRecord {
            record_version: RECORD_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            n_samples: self.n_seen,
            n_features: memory.rows.n_features(),
            n_components: settings.n_components,
            kernel: KernelRecord::from(&settings.kernel),
            centered: self.is_centered(),
            gram: GRAM.to_owned(),
            solver: settings.rule.name().to_owned(),
            precision: Precision::F64,
            eigenvalues: captured.variances.iter().map(|variance| n * variance).collect(),
            explained_variance_ratio: captured.ratio(),
            total_variance: n * captured.total_variance,
            residuals: Vec::new(),
            tolerance: 0.0,
            converged: false,
            passes: 1,
            products: 0,
            kernel_entries: self.kernel_entries,
            resumed_after_passes: None,
            seconds: BTreeMap::new(),
            peak_memory_bytes: memory::peak(),
            memory_budget_bytes: 0,
            threads: 1,
            seed: 0,
            plan: self.described(memory),
            warnings: self.warnings(),
            control_limits: None,
            expansion: None,
            nystrom: None,
        }
    }

    /// What was done, in the words of a plan.
    fn described(&self, memory: &Memory) -> Plan {
        let settings = &self.settings;
        let remembered = match settings.budget {
            Some(budget) => {
                format!("{budget} rows are remembered, by the policy {}", settings.policy.unwrap_or_default())
            }
            None => "all rows are remembered".to_owned(),
        };
        Plan {
            gram: GRAM.to_owned(),
            method: None,
            solver: settings.rule.name().to_owned(),
            precision: Precision::F64,
            tile: memory.rows.lanes(),
            packs_per_tile: false,
            block: settings.n_components,
            max_subspace: settings.n_components,
            store_bytes: 0,
            stored_share: 0.0,
            store_format: StoreFormat::Full,
            start_sample: 0,
            expected_passes: 1,
            expected_seconds: 0.0,
            expected_memory_bytes: 0,
            reasons: vec![format!("the rule {}, as asked for", settings.rule), remembered],
        }
    }
}

/// How a record says that there is no matrix.
const GRAM: &str = "rows";

/// A component that has been moved by this share of its length is worth a warning: an angle of about 14 degrees.
const WORTH_SAYING: f64 = 0.25;
/// And a length of a component that should be near one.
const SHRUNK: f64 = 0.5;

/// What new points are centred with: the running mean.
fn centering(memory: &Memory) -> Result<Centering> {
    let m = memory.len();
    let mut column_means = Vec::with_capacity(m);
    for slot in 0..m {
        let k = memory.kernel_row(&memory.rows.row(slot))?;
        column_means.push(passes::product(memory.isa, &memory.mean, &k));
    }
    Ok(Centering::from_weights(memory.mean[..m].to_vec(), column_means))
}
