//! From eigenpairs to a model: what is kept, what is said about it.

use std::collections::BTreeMap;

use faer::Mat;

use super::checkpoint::Totals;
use super::prepared::Prepared;
use super::spectrum::{CutShort, Spectrum};
use super::{BasisKind, KernelPca, Model, Parts, novelty};
use crate::choices::{Center, Negative, NegativeScope, SolverChoice, ZeroComponents};
use crate::data::Points;
use crate::eigen::{EigenPairs, Outcome};
use crate::error::{Error, Result};
use crate::gram::StoreFormat;
use crate::kernel::{Kernel, Pairing};
use crate::memory;
use crate::plan::Plan;
use crate::record::{ExpansionRecord, KernelRecord, RECORD_VERSION, RunRecord};
use crate::scalar::Precision;

/// Neighbours closer than this share of their size are as good as equal: which of them is kept is chance.
const EQUAL_AT_CUT: f64 = 1e-3;

/// Everything that a finished run leaves behind.
pub(crate) struct Finish<'a> {
    pub(crate) settings: &'a KernelPca,
    pub(crate) prepared: Prepared,
    pub(crate) plan: Plan,
    pub(crate) points: &'a Points,
    pub(crate) spectrum: Spectrum,
    /// Components that were asked for, if a number was.
    pub(crate) requested: Option<usize>,
    pub(crate) totals: Totals,
    pub(crate) expansion: Option<ExpansionRecord>,
    pub(crate) resumed_after_passes: Option<usize>,
}

impl Finish<'_> {
    /// The model, or why there is none.
    pub(crate) fn model(self) -> Result<Model> {
        self.model_with(None)
    }

    /// As [`model`](Self::model), of directions that need not have converged: `scores` are those of the points along them, with the signs
    /// that [`fix_signs`] gives the vectors.
    pub(crate) fn model_with_scores(self, scores: &Mat<f64>) -> Result<Model> {
        self.model_with(Some(scores))
    }

    fn model_with(mut self, scores: Option<&Mat<f64>>) -> Result<Model> {
        let precision = self.prepared.precision;
        if self.spectrum.pairs.values.iter().all(|value| value.abs() <= self.noise()) {
            if self.settings.zero == ZeroComponents::Drop {
                return Err(self.no_variance());
            }
            // Relative to a first eigenvalue of zero a residual means nothing.
            self.spectrum.pairs.residuals.fill(0.0);
            self.spectrum.pairs.converged = self.spectrum.pairs.values.len();
        }
        self.judge_negative()?;
        let complete = self.is_complete() && self.lost() <= self.prepared.tolerance;
        match self.settings.zero {
            ZeroComponents::Drop | ZeroComponents::DropAll => self.drop_rounding(),
            ZeroComponents::Keep => self.keep_rounding_as_zero(),
        }
        self.count_rounding();
        self.warn(complete);
        fix_signs(&mut self.spectrum.pairs.vectors);
        let mut record = self.record(complete);
        let scores = scores.map(|scores| scores_of(scores, &self.spectrum.pairs.values));
        record.control_limits = novelty::control_limits(
            &self.prepared.kernel,
            self.points,
            &self.spectrum.pairs,
            scores.as_ref().map(Mat::as_ref),
            self.spectrum.centering.as_ref(),
        )?;
        // A precomputed matrix is not needed again: new points bring their own kernel values.
        let basis = match self.prepared.kernel {
            Kernel::Precomputed => self.points.slice(0..0),
            _ => self.points.clone(),
        };
        let coefficients = dual_coefficients(&self.spectrum.pairs);
        let mut model = Model::new(Parts {
            kernel: self.prepared.kernel,
            basis,
            basis_kind: BasisKind::TrainingSet,
            precision,
            coefficients,
            centering: self.spectrum.centering,
            record,
        });
        if let Some(scores) = scores {
            model.set_training_scores(scores);
        }
        Ok(model)
    }

    /// Why nothing but rounding is left.
    fn no_variance(&self) -> Error {
        let (n_samples, precision) = (self.points.n_samples(), self.prepared.precision);
        let first = self.points.row(0);
        if (1..n_samples).all(|row| self.points.row(row) == first) {
            return Error::NoVariance { n_samples };
        }
        let advice = match (precision, self.settings.center, self.prepared.kernel.pairing()) {
            (Precision::F32, _, _) if self.prepared.rounding > 0.0 => "precision f64 may tell it",
            (_, Center::Yes, Some(Pairing::InnerProduct)) => "subtract the mean of each column first",
            (_, _, Some(_)) => "a narrower kernel may tell them apart",
            (_, _, None) => "another kernel may tell them apart",
        };
        Error::VarianceInRounding { n_samples, precision, advice }
    }

    /// Eigenvalues below this are rounding.
    fn noise(&self) -> f64 {
        self.spectrum.noise(self.prepared.precision, self.plan.store_format)
    }

    /// What the matrix that was multiplied with differs from the kernel's by, relative to the first eigenvalue: by its precision, and by
    /// what was kept of its tiles.
    fn lost(&self) -> f64 {
        self.prepared.rounding + self.spectrum.lost_by_keeping(self.plan.store_format, self.prepared.fixed_point)
    }

    /// Residuals are of the matrix that was multiplied with, by sums that are rounded: none is known below what that leaves.
    fn count_rounding(&mut self) {
        let epsilon = self.prepared.precision.epsilon();
        let lost = self.lost();
        let floor = match self.prepared.precision {
            Precision::F32 => lost.max(epsilon),
            // The dense solver multiplies its pairs with the matrix again.
            Precision::F64 if self.plan.solver == SolverChoice::Dense.name() => return,
            Precision::F64 => lost + 4.0 * epsilon,
        };
        let pairs = &mut self.spectrum.pairs;
        for (residual, value) in pairs.residuals.iter_mut().zip(&pairs.values) {
            if *value != 0.0 {
                *residual = residual.max(floor);
            }
        }
        if lost > self.prepared.tolerance {
            pairs.converged = 0;
        }
    }

    fn judge_negative(&mut self) -> Result<()> {
        // Kernels that are positive semi-definite by theory have negative eigenvalues by rounding only.
        if self.prepared.kernel.is_positive_definite() {
            return Ok(());
        }
        let pairs = &self.spectrum.pairs;
        let lowest = match self.settings.negative_scope {
            NegativeScope::Seen => pairs.most_negative,
            NegativeScope::Asked | NegativeScope::AskedByModulus => {
                pairs.values.iter().copied().filter(|&value| value < 0.0).min_by(f64::total_cmp)
            }
        };
        let Some(lowest) = lowest else { return Ok(()) };
        let (precision, change) = (self.prepared.precision, self.prepared.fixed_point);
        let share = self.spectrum.negative_share(lowest, precision, self.plan.store_format, change);
        let Some(ratio) = share else { return Ok(()) };
        match self.settings.negative {
            Negative::Error => return Err(Error::NegativeEigenvalues { ratio, can_flip: true }),
            Negative::Clip => self
                .prepared
                .warnings
                .push(format!("the kernel has negative eigenvalues, down to {lowest:.3e}; they count as zero")),
            Negative::Flip => self.prepared.warnings.push(format!(
                "the kernel has negative eigenvalues, down to {lowest:.3e}; components are ordered by absolute value"
            )),
        }
        Ok(())
    }

    /// Leading pairs whose eigenvalue is not rounding, nor negative where those are not wanted.
    fn n_real(&self) -> usize {
        let noise = self.noise();
        let real = |value: &f64| match self.settings.negative {
            Negative::Flip => value.abs() > noise,
            Negative::Error | Negative::Clip => *value > noise,
        };
        self.spectrum.pairs.values.iter().take_while(|value| real(value)).count()
    }

    /// What the matrix is made of.
    fn numbers(&self) -> String {
        match self.plan.store_format {
            StoreFormat::Full => self.prepared.precision.to_string(),
            StoreFormat::Fixed16 => "16-bit fixed point".to_owned(),
        }
    }

    /// Makes the other eigenvalues zero, and those zero that a solver did not return because there is nothing left.
    fn keep_rounding_as_zero(&mut self) {
        let kept = self.n_real();
        let numbers = self.numbers();
        let pairs = &mut self.spectrum.pairs;
        pairs.values[kept..].fill(0.0);
        let asked = self.requested.unwrap_or(0).min(self.points.n_samples());
        if pairs.outcome == Outcome::Converged && pairs.values.len() < asked {
            pairs.values.resize(asked, 0.0);
            pairs.residuals.resize(asked, 0.0);
            let (n, found) = (pairs.vectors.nrows(), pairs.vectors.ncols());
            pairs.vectors = Mat::from_fn(n, asked, |i, j| if j < found { pairs.vectors[(i, j)] } else { 0.0 });
        }
        let returned = pairs.values.len();
        if kept < returned {
            self.prepared.warnings.push(format!(
                "{kept} of {returned} components have a variance: the other eigenvalues cannot be told from rounding in {numbers} \
                 and are zero"
            ));
        }
    }

    /// Drops the other pairs.
    fn drop_rounding(&mut self) {
        let asked = self.spectrum.pairs.values.len();
        let kept = self.n_real();
        if kept < asked {
            let numbers = self.numbers();
            let why = match self.spectrum.pairs.outcome {
                Outcome::Converged => format!("the other eigenvalues cannot be told from rounding in {numbers}"),
                // There may be more than the passes have shown.
                _ => format!("the others, as far as they were found, cannot be told from rounding in {numbers}"),
            };
            self.prepared.warnings.push(format!("{kept} of {asked} components are returned: {why}"));
            let spectrum = std::mem::replace(&mut self.spectrum, Spectrum::nothing());
            self.spectrum = spectrum.truncated(kept);
        }
    }

    /// Whether the solver found all that was asked for, or all there is, each to the tolerance.
    fn is_complete(&self) -> bool {
        let pairs = &self.spectrum.pairs;
        let found = pairs.values.len();
        let asked = self.requested.map_or(found, |k| k.min(self.points.n_samples()));
        let is_whole = found == asked && self.spectrum.cut_short.is_none();
        pairs.outcome == Outcome::Converged && is_whole && pairs.converged == found
    }

    fn warn(&mut self, complete: bool) {
        let lost = self.lost();
        let pairs = &self.spectrum.pairs;
        let warnings = &mut self.prepared.warnings;
        if let (Some(&last), Some(next)) = (pairs.values.last(), pairs.next)
            && (last - next).abs() <= EQUAL_AT_CUT * last.abs()
        {
            warnings.push(format!(
                "the last component's eigenvalue {last:.6e} and the next one's {next:.6e} are nearly equal: which direction is \
                 kept is chance"
            ));
        }
        // Where all points are equal no eigenvalue is left, of which that would be a share.
        if let (Some(expansion), Some(&first)) = (&self.expansion, pairs.values.first())
            && first != 0.0
        {
            // The matrix differs from the kernel's by at most a row's sum of entry errors.
            let share = self.points.n_samples() as f64 * expansion.bound / first.abs();
            if share > self.prepared.tolerance {
                warnings.push(format!(
                    "residuals are those of the expansion's matrix, which may differ from the kernel's by {share:.1e} of the first \
                     eigenvalue"
                ));
            }
        }
        if !complete {
            let residual = pairs.residuals.iter().copied().fold(0.0, f64::max);
            let why = match (self.spectrum.cut_short, pairs.outcome) {
                (None, Outcome::Converged) if self.prepared.rounding > self.prepared.tolerance => {
                    "single precision leaves so much on these points, and double precision would not".to_owned()
                }
                (None, Outcome::Converged) if lost > self.prepared.tolerance => {
                    "tiles kept in 16-bit fixed point leave so much on these points, and tiles that are made anew in every pass (gram tiled) would not"
                        .to_owned()
                }
                (Some(CutShort::OverBudget { n_components }), _) => {
                    format!("{n_components} would not fit the memory budget")
                }
                (Some(CutShort::Stopped), _) | (_, Outcome::Stopped) => "the run was stopped".to_owned(),
                (_, Outcome::OutOfPasses) => "the allowed passes were used up".to_owned(),
                (_, Outcome::Converged) => "a direct method cannot do better in this precision".to_owned(),
            };
            warnings.push(format!(
                "{} of {} components converged; largest residual {residual:.1e}: {why}",
                pairs.converged.min(pairs.values.len()),
                self.requested.unwrap_or(pairs.values.len())
            ));
        }
    }

    fn record(&self, converged: bool) -> RunRecord {
        let (pairs, prepared) = (&self.spectrum.pairs, &self.prepared);
        RunRecord {
            record_version: RECORD_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            n_samples: self.points.n_samples(),
            n_features: self.points.n_features(),
            n_components: pairs.values.len(),
            kernel: KernelRecord::from(&prepared.kernel),
            centered: self.settings.center == Center::Yes,
            gram: self.plan.gram.clone(),
            expansion: self.expansion.clone(),
            solver: self.plan.solver.clone(),
            precision: prepared.precision,
            explained_variance_ratio: self.spectrum.shares(),
            eigenvalues: pairs.values.clone(),
            total_variance: self.spectrum.total,
            residuals: pairs.residuals.clone(),
            tolerance: prepared.tolerance,
            converged,
            passes: self.totals.passes,
            products: self.totals.products,
            kernel_entries: self.totals.kernel_entries,
            resumed_after_passes: self.resumed_after_passes,
            seconds: BTreeMap::new(),
            peak_memory_bytes: memory::peak(),
            memory_budget_bytes: prepared.budget,
            threads: prepared.threads.count(),
            seed: self.settings.seed,
            plan: self.plan.clone(),
            warnings: prepared.warnings.clone(),
            control_limits: None,
            nystrom: None,
        }
    }
}

/// Scores along the directions that were kept; none along those whose eigenvalue is zero.
fn scores_of(scores: &Mat<f64>, values: &[f64]) -> Mat<f64> {
    let is_kept = |j: usize| j < scores.ncols() && values[j] != 0.0;
    Mat::from_fn(scores.nrows(), values.len(), |i, j| if is_kept(j) { scores[(i, j)] } else { 0.0 })
}

/// Eigenvectors are defined up to sign. Fixing it here, and only here, makes models and figures reproducible: the entry of
/// largest absolute value is positive.
///
/// Which were turned comes back.
pub(crate) fn fix_signs(vectors: &mut Mat<f64>) -> Vec<bool> {
    let mut turned = vec![false; vectors.ncols()];
    for (j, is_turned) in turned.iter_mut().enumerate() {
        let mut leading = 0.0_f64;
        for &x in vectors.col(j).iter() {
            if x.abs() > leading.abs() {
                leading = x;
            }
        }
        if leading < 0.0 {
            vectors.col_mut(j).iter_mut().for_each(|x| *x = -*x);
            *is_turned = true;
        }
    }
    turned
}

/// `v / √|λ|`, with the sign of `λ`: what kernel values of a point are multiplied with to give its scores.
fn dual_coefficients(pairs: &EigenPairs) -> Mat<f64> {
    Mat::from_fn(pairs.vectors.nrows(), pairs.values.len(), |i, j| {
        let lambda = pairs.values[j];
        if lambda == 0.0 { 0.0 } else { lambda.signum() * pairs.vectors[(i, j)] / lambda.abs().sqrt() }
    })
}
