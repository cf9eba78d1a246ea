//! Fits over an expansion of the kernel matrix.
//!
//! # Method
//!
//! With explicit features `Z` the matrix is `Z Zᵀ`, and its eigenvectors are `Z w / √λ` for the eigenvectors `w` of `Zᵀ Z`, which has one
//! row per feature however many points there are. Both are centred by subtracting the mean of the features. The residual of
//! `v = Z w / √λ` is that of `w` seen through `Z`: `‖Z r‖ / √λ = √(rᵀ Zᵀ Z r / λ)` with `r = Zᵀ Z w − λ w`.

use faer::Mat;

use super::KernelPca;
use super::prepared::Prepared;
use crate::choices::{Center, ExpansionMethod, GramChoice, SolverChoice};
use crate::data::Points;
use crate::eigen::{EigenPairs, Outcome, Request, small_eigen};
use crate::error::{Error, Result};
use crate::expansion::{self, CHECKED_ROWS, Expansion, LEAST_TOLERANCE, LOOK_FROM_POINTS, Prediction, Targets, Wanted};
use crate::kernel::Kernel;
use crate::plan::{Plan, Task};
use crate::record::ExpansionRecord;
use crate::watch::{Context, Phase, Watch};

/// Up to this many features their own eigenproblem is the fastest way.
const MOST_FEATURES: usize = 1024;

/// The error of entries that a fit to some residual allows: eigenvectors feel at most the sum of a row's errors.
pub(super) fn entry_tolerance(tolerance: f64) -> f64 {
    (0.05 * tolerance).max(10.0 * LEAST_TOLERANCE)
}

/// What a fit asks of an expansion.
pub(super) fn wanted<'a>(tolerance: f64, columns: usize, memory: u64) -> Wanted<'a> {
    Wanted {
        method: ExpansionMethod::Auto,
        tolerance: entry_tolerance(tolerance),
        targets: Targets::Sources,
        columns,
        memory,
        // Whether it is worth while was decided before.
        may_be_tiled: false,
    }
}

/// Vectors that a fit multiplies with at a time.
pub(super) const COLUMNS: usize = 8;

impl Prepared {
    /// Decides whether the fit should use an expansion, and which: one that fits beside the solver's own blocks.
    pub(super) fn decide(&mut self, settings: &KernelPca, points: &Points, watch: &Watch<'_>) -> Result<()> {
        let asked = settings.gram == GramChoice::Expansion;
        if !asked && !may_be_expanded(settings, &self.kernel, points.n_samples(), points.n_features()) {
            return Ok(());
        }
        let threads = self.threads.clone();
        let context = Context::new(&threads, watch, Phase::Packing);
        context.report_fraction(0.0);
        let predict = |memory: u64| {
            let wanted = wanted(self.tolerance, COLUMNS, memory);
            threads.run(|| expansion::predict(&self.kernel, points, &wanted, &context))
        };
        let is_worth = |found: &Prediction| asked || found.is_worth_while();
        let best = match predict(u64::MAX)? {
            Ok(found) if is_worth(&found) => found,
            Ok(_) => return Ok(()),
            Err(reason) => {
                self.give_up(asked.then_some(reason), asked);
                return Ok(());
            }
        };
        let beside = self.bytes_beside(settings, points)?;
        let left = self.budget.saturating_sub(beside);
        let found = if best.bytes <= left { Ok(best) } else { predict(left)? };
        match found {
            Ok(found) if is_worth(&found) => {
                (self.gram, self.prediction, self.room) = (GramChoice::Expansion, Some(found), left);
            }
            _ => {
                let [needed, beside, budget] = [best.bytes, beside, self.budget].map(crate::error::bytes);
                let method = best.method;
                let reason = format!(
                    "by {method} it would take {needed} beside {beside} of vectors, and the budget is {budget}"
                );
                self.give_up(Some(reason), asked);
            }
        }
        Ok(())
    }

    /// Uses tiles. Whoever has asked for an expansion is told why; otherwise the plan has the reason.
    fn give_up(&mut self, reason: Option<String>, asked: bool) {
        if let (true, Some(reason)) = (asked, &reason) {
            self.warnings.push(format!("tiles are computed instead of an expansion: {reason}"));
            self.gram = GramChoice::Tiled;
        }
        self.without_expansion = reason;
    }

    /// Bytes that a fit by an expansion takes for everything else.
    fn bytes_beside(&self, settings: &KernelPca, points: &Points) -> Result<u64> {
        let task = self.task(settings, points, settings.first_components(points.n_samples()));
        let solver = if task.solver == SolverChoice::Dense { SolverChoice::Krylov } else { task.solver };
        match Plan::for_fit(&Task { gram: GramChoice::Expansion, solver, ..task }, self.speeds()) {
            Ok(plan) => Ok(plan.expected_memory_bytes),
            // Nothing is left for an expansion; whether tiles fit is the plan's to say.
            Err(Error::OverBudget { .. }) => Ok(self.budget),
            Err(error) => Err(error),
        }
    }

    /// Completes a plan with what is known of the expansion.
    pub(super) fn with_expansion(&self, settings: &KernelPca, mut plan: Plan, points: &Points) -> Plan {
        let Some(found) = self.prediction else {
            let reason = self.without_expansion.as_ref();
            return plan.because(reason.map(|reason| format!("no expansion, because {reason}")));
        };
        let (n, d) = (points.n_samples(), points.n_features());
        plan.method = Some(found.method.name().to_owned());
        plan.reasons.retain(|reason| !reason.starts_with("tiles are recomputed"));
        let (times, what) = (found.direct / found.cost, format!("{n} points with {d} features"));
        plan.reasons.push(
            format!("expansion by {} with {} terms, ", found.method, found.terms)
                + &if times >= 1.0 {
                    format!("because {what} cost {times:.1} times less than by tiles")
                } else {
                    format!("as asked for, though {what} cost {:.1} times more than by tiles", 1.0 / times)
                },
        );
        plan.expected_memory_bytes += found.bytes;
        if self.has_features(settings, n) {
            SolverChoice::Dense.name().clone_into(&mut plan.solver);
            plan.reasons.retain(|reason| !reason.contains("solver, because") && !reason.starts_with("starts from"));
            plan.reasons.push(format!("dense solver, because {} features are few", found.terms));
            plan.expected_memory_bytes += eigenproblem_bytes(found.terms);
            (plan.block, plan.max_subspace, plan.start_sample, plan.expected_passes) = (found.terms, found.terms, 0, 1);
        }
        let products = (plan.expected_passes * plan.block.max(1)) as f64;
        let per_product = 1e-9 * found.cost / COLUMNS as f64 / self.threads.count() as f64;
        let algebra = 4.0 * n as f64 * products * plan.max_subspace as f64 / (4e9 * self.threads.count() as f64);
        let certificate = 1e-9 * found.certificate_cost((n, d), COLUMNS) / self.threads.count() as f64;
        plan.expected_seconds = products * per_product + algebra + certificate;
        plan
    }

    /// Whether the fit is an eigenproblem of the features' order.
    pub(super) fn has_features(&self, settings: &KernelPca, n: usize) -> bool {
        let solver = matches!(settings.solver, SolverChoice::Auto | SolverChoice::Dense);
        self.prediction.is_some_and(|found| {
            let features = matches!(found.method, ExpansionMethod::Polynomial | ExpansionMethod::Series);
            // Some weights are negative if the constant is.
            let fits = found.bytes + eigenproblem_bytes(found.terms) <= self.room;
            features && solver && fits && found.terms <= MOST_FEATURES.min(n) && self.kernel.is_positive_definite()
        })
    }
}

/// Whether a plan looks for an expansion without being told to.
fn may_be_expanded(settings: &KernelPca, kernel: &Kernel, n: usize, d: usize) -> bool {
    let solver = matches!(settings.solver, SolverChoice::Auto | SolverChoice::Krylov | SolverChoice::Lanczos);
    settings.gram == GramChoice::Auto && solver && n >= LOOK_FROM_POINTS && expansion::knows(kernel, d)
}

/// What a plan for a shape alone leaves open: the terms of an expansion depend on how far the points reach.
pub(super) fn left_open(settings: &KernelPca, kernel: &Kernel, n: usize, d: usize) -> Option<String> {
    if settings.gram == GramChoice::Expansion {
        return Some(
            "which expansion, and what it takes, depends on where the points lie: plan with the points".to_owned(),
        );
    }
    may_be_expanded(settings, kernel, n, d).then(|| {
        format!(
            "no expansion is looked for, because its terms depend on where the points lie: plan with the points, of which {n} with {d} features \
             may cost less by one"
        )
    })
}

/// What the eigenproblem of some features takes.
fn eigenproblem_bytes(terms: usize) -> u64 {
    64 * (terms as u64 + 64) * terms as u64
}

/// The record of an expansion, with an error that was measured.
pub(super) fn record(
    expansion: &Expansion,
    tolerance: f64,
    seed: u64,
    context: &Context<'_>,
) -> Result<ExpansionRecord> {
    Ok(ExpansionRecord {
        method: expansion.method().to_owned(),
        terms: expansion.terms(),
        tolerance: entry_tolerance(tolerance),
        bound: expansion.bound(),
        measured_error: expansion.measure(seed, context)?,
        checked_rows: CHECKED_ROWS.min(crate::gram::SymmetricOperator::dim(expansion)),
    })
}

/// Leading pairs from the features' own eigenproblem; `None` if the expansion has no features, or more of them than there are points or
/// a dense matrix of their order should have.
pub(super) fn leading(
    expansion: &Expansion,
    center: Center,
    request: &Request<'_>,
    context: &Context<'_>,
) -> Result<Option<EigenPairs>> {
    if expansion.terms() > MOST_FEATURES.min(crate::gram::SymmetricOperator::dim(expansion)) {
        return Ok(None);
    }
    let Some((mean, matrix)) = expansion.moments(center == Center::Yes, context)? else { return Ok(None) };
    let order = request.order;
    let (values, small) = context.threads.run(|| small_eigen(matrix.as_ref(), order))?;
    let largest = values.first().map_or(0.0, |value| value.abs());
    // Beyond the features there is nothing, and below rounding nothing either.
    let is_real = |value: f64| value > f64::EPSILON * largest * values.len() as f64;
    let real = values.iter().take_while(|&&value| is_real(value)).count();
    let n = crate::gram::SymmetricOperator::dim(expansion);
    let asked = request.n_pairs.min(n);
    let found = real.min(asked);
    let coefficients = Mat::from_fn(small.nrows(), found, |i, j| small[(i, j)] / values[j].sqrt());
    let mut images = expansion.feature_product(&coefficients, context)?;
    for j in 0..found {
        let shift: f64 = mean.iter().zip(coefficients.col(j).iter()).map(|(mean, c)| mean * c).sum();
        images.col_mut(j).iter_mut().for_each(|value| *value -= shift);
    }
    let residuals = (0..asked).map(|j| if j < found { residual(&matrix, &small, &values, j) } else { 0.0 }).collect();
    Ok(Some(EigenPairs {
        vectors: Mat::from_fn(n, asked, |i, j| if j < found { images[(i, j)] } else { 0.0 }),
        residuals,
        converged: asked,
        passes: 1,
        outcome: Outcome::Converged,
        next: values.get(asked).copied(),
        most_negative: None,
        values: (0..asked).map(|j| if j < found { values[j] } else { 0.0 }).collect(),
    }))
}

/// The residual of an eigenvector of the kernel matrix, relative to the largest eigenvalue, from that of the features' matrix.
fn residual(matrix: &Mat<f64>, vectors: &Mat<f64>, values: &[f64], j: usize) -> f64 {
    let m = matrix.nrows();
    let times =
        |x: &[f64]| -> Vec<f64> { (0..m).map(|row| matrix.col(row).iter().zip(x).map(|(a, x)| a * x).sum()).collect() };
    let w: Vec<f64> = vectors.col(j).iter().copied().collect();
    let rest: Vec<f64> = times(&w).iter().zip(&w).map(|(image, w)| image - values[j] * w).collect();
    let norm: f64 = times(&rest).iter().zip(&rest).map(|(a, b)| a * b).sum();
    (norm.max(0.0) / values[j]).sqrt() / values[0]
}
