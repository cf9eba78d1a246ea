//! What was learned, as the model that all other methods end in.

use std::collections::BTreeMap;

use faer::Mat;
use faer::linalg::solvers::Llt;

use super::learner::{DEPENDENT, Learner};
use super::memory::Memory;
use super::passes;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::gram::{Centering, StoreFormat};
use crate::memory;
use crate::model::{BasisKind, Model, Parts};
use crate::plan::Plan;
use crate::record::{KernelRecord, RECORD_VERSION, RunRecord};
use crate::scalar::Precision;

impl Learner {
    /// The model of what has been learned so far: it transforms, scores and saves as any other.
    ///
    /// Its components are orthonormal: each is the learner's without what that still has in common with the ones before it, so scores
    /// and the learner's outputs differ by as much as the components are not orthonormal yet. Its basis points are the rows in memory.
    /// Eigenvalues are the mean squared outputs times the number of rows; there are no residuals, because rows are seen once.
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
    /// assert_eq!(model.transform(&rows)?.nrows(), 200);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If fewer rows than components have been seen, or components have become dependent on one another.
    pub fn model(&self) -> Result<Model> {
        let p = self.settings.n_components;
        let memory = match &self.memory {
            Some(memory) if self.started == p => memory,
            _ => return Err(Error::TooFewRows { needed: p, found: self.n_seen }),
        };
        let coefficients = self.orthonormal(memory)?;
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
            record: self.record(memory),
        }))
    }

    /// Coefficients of the orthonormal components, one column each: with `w·w = R Rᵀ` they are `R⁻¹ w`.
    fn orthonormal(&self, memory: &Memory) -> Result<Mat<f64>> {
        let p = self.settings.n_components;
        let dependent =
            || Error::invalid("n_components", "small enough for components that do not depend on one another", p);
        let factor = Llt::new(self.inner.as_ref(), faer::Side::Lower).map_err(|_| dependent())?;
        let r = factor.L();
        if (0..p).any(|i| r[(i, i)] * r[(i, i)] <= DEPENDENT * self.inner[(i, i)]) {
            return Err(dependent());
        }
        let mut columns = Mat::from_fn(memory.len(), p, |i, j| memory.components[j][i]);
        for j in 0..p {
            for before in 0..j {
                let common = r[(j, before)];
                for i in 0..memory.len() {
                    columns[(i, j)] -= common * columns[(i, before)];
                }
            }
            let length = r[(j, j)];
            columns.col_mut(j).iter_mut().for_each(|x| *x /= length);
        }
        Ok(columns)
    }

    fn record(&self, memory: &Memory) -> RunRecord {
        let n = self.n_seen as f64;
        let lost = self.budget_error.iter().fold(0.0_f64, |m, error| m.max(*error));
        let mut warnings = Vec::new();
        if self.n_shrunk > 0 {
            warnings.push(format!(
                "the learning rate was made smaller for {} of {} rows, which it would have overshot at",
                self.n_shrunk, self.n_seen
            ));
        }
        if lost > WORTH_SAYING {
            warnings.push(format!(
                "the budget has cost a component up to {lost:.2} of its length: a larger one would cost less"
            ));
        }
        let shortest =
            (0..self.inner.nrows()).map(|p| self.inner[(p, p)].max(0.0).sqrt()).fold(f64::INFINITY, f64::min);
        if self.drops_rows() && shortest < SHRUNK {
            warnings.push(format!(
                "a component has shrunk to {shortest:.1e} of unit length, because rows are dropped faster than it learns: a larger budget or \
                 the policy project would keep it"
            ));
        }
        let share = |variance: &f64| if self.total_variance > 0.0 { variance / self.total_variance } else { 0.0 };
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
            eigenvalues: self.variances.iter().map(|variance| n * variance).collect(),
            explained_variance_ratio: self.variances.iter().map(share).collect(),
            total_variance: n * self.total_variance,
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
            warnings,
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

/// A loss of this share of a component's length is worth a warning.
const WORTH_SAYING: f64 = 0.5;
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
