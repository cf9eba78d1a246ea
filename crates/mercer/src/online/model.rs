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
    /// one another, but for signs, once components have settled. Components that depend on others, or have not begun, give no direction of their own: the
    /// model then has fewer, and a [warning](Self::warnings) says so. Its basis points are the rows in memory. Eigenvalues are the
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
    /// If no row has been seen, or no component has a length in feature space.
    pub fn model(&self) -> Result<Model> {
        let (memory, directions) = self.directions()?;
        let mut coefficients = directions.coefficients(memory);
        fix_signs(&mut coefficients);
        let centering = if self.is_centered() { Some(centering(memory)?) } else { None };
        let m = memory.len();
        let rows: Vec<f64> = (0..m).flat_map(|slot| memory.rows.row(slot)).collect();
        let model = Model::new(Parts {
            kernel: self.settings.kernel.clone(),
            basis: Points::from_f64(rows, m, memory.rows.n_features())?,
            basis_kind: BasisKind::Representatives,
            precision: Precision::F64,
            coefficients,
            centering,
            record: self.record(memory, &directions.captured),
        });
        self.scaling.clone().into_iter().try_fold(model, Model::with_scaling)
    }

    fn record(&self, memory: &Memory, captured: &Captured) -> RunRecord {
        let n = self.n_counted() as f64;
        let settings = &self.settings;
        RunRecord {
            record_version: RECORD_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            n_samples: self.n_counted(),
            n_features: memory.rows.n_features(),
            n_components: captured.variances.len(),
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
        let begun = self.origin.as_ref().map(|origin| {
            let n = origin.n_samples;
            format!("components began as those of a model of {n} points, which count as rows that were learned")
        });
        Plan {
            gram: GRAM.to_owned(),
            method: None,
            n_landmarks: None,
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
            reasons: [format!("the rule {}, as asked for", settings.rule), remembered]
                .into_iter()
                .chain(begun)
                .collect(),
        }
    }
}

/// How a record says that there is no matrix.
const GRAM: &str = "rows";

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
