//! The eigenproblem of a fit: its operator, and the calls of a solver that find a number of pairs or a share of the variance.

use faer::Mat;

use super::checkpoint::{FileKeeper, Journal, Totals};
use super::prepared::Prepared;
use super::spectrum::{CutShort, Spectrum};
use super::{KernelPca, expanded};
use crate::choices::{Center, Negative, NegativeScope, SolverChoice};
use crate::data::Points;
use crate::eigen::{
    BlockKrylov, Dense, EigenPairs, EigenSolver, Keeper, Lanczos, Order, Outcome, PowerIteration, Request,
    SubspaceIteration, seekers,
};
use crate::error::{Error, Result};
use crate::expansion::Expansion;
use crate::gram::{Centered, Centering, SymmetricOperator};
use crate::plan::Plan;
use crate::watch::{Context, Phase};

/// The matrix whose eigenpairs are wanted: the Gram matrix, centred or as it is.
pub(super) enum Operator<'a> {
    Centered(Centered<'a, dyn SymmetricOperator + 'a>),
    Plain(&'a (dyn SymmetricOperator + 'a)),
}

impl<'a> Operator<'a> {
    /// The operator over `gram`, whose row sums may be known already.
    pub(super) fn new(center: Center, gram: &'a (dyn SymmetricOperator + 'a), row_sums: Option<Vec<f64>>) -> Self {
        match (center, row_sums) {
            (Center::Yes, Some(sums)) => Self::Centered(Centered::with_row_sums(gram, sums)),
            (Center::Yes, None) => Self::Centered(Centered::new(gram)),
            (Center::No, _) => Self::Plain(gram),
        }
    }

    fn row_sums(&self) -> Option<&[f64]> {
        match self {
            Self::Centered(centered) => centered.row_sums(),
            Self::Plain(_) => None,
        }
    }

    fn as_dyn(&self) -> &dyn SymmetricOperator {
        match self {
            Self::Centered(centered) => centered,
            Self::Plain(plain) => *plain,
        }
    }

    /// What new points are centred with; known from the first product.
    pub(super) fn centering(&self, context: &Context<'_>) -> Result<Option<Centering>> {
        match self {
            Self::Centered(centered) => centered.centering(context).map(Some),
            Self::Plain(_) => Ok(None),
        }
    }
}

/// What the calls of a solver have in common.
pub(super) struct Run<'a> {
    pub(super) settings: &'a KernelPca,
    pub(super) operator: &'a Operator<'a>,
    pub(super) expansion: Option<&'a Expansion>,
    pub(super) journal: Option<&'a Journal>,
    /// What has been asked of the Gram matrix so far.
    pub(super) totals: &'a dyn Fn() -> Totals,
}

impl Run<'_> {
    /// The leading `k` pairs, as the plan says.
    pub(super) fn solve(
        &self,
        prepared: &Prepared,
        plan: &Plan,
        k: usize,
        start: Option<&Mat<f64>>,
        context: &Context<'_>,
    ) -> Result<EigenPairs> {
        let solver: SolverChoice = plan.solver.parse()?;
        let mut context = *context;
        context.progress.expected_passes = Some(plan.expected_passes);
        let row_sums = || self.operator.row_sums();
        let keeper =
            self.journal.map(|journal| FileKeeper { journal, n_pairs: k, totals: self.totals, row_sums: &row_sums });
        let request = Request {
            n_pairs: k,
            order: self.settings.order(),
            tolerance: prepared.tolerance,
            max_passes: self.settings.max_passes.unwrap_or_else(|| patience(solver, k)),
            seed: self.settings.seed,
            start: start.map(Mat::as_ref),
            keeper: keeper.as_ref().map(|keeper| keeper as &dyn Keeper),
        };
        if let (SolverChoice::Dense, Some(expansion)) = (solver, self.expansion)
            && let Some(pairs) = expanded::leading(expansion, self.settings.center, &request, &context)?
        {
            return Ok(pairs);
        }
        planned_solver(plan)?.leading(self.operator.as_dyn(), &request, &context)
    }

    /// The fewest pairs that explain `share` of the variance: more and more of them are found, each time from the last ones.
    #[expect(clippy::too_many_arguments, reason = "one step of `fit_in`, which owns all of them")]
    pub(super) fn grow<'c>(
        &self,
        prepared: &mut Prepared,
        plan: &mut Plan,
        points: &Points,
        share: f64,
        mut start: Option<Mat<f64>>,
        diagonal: &[f64],
        context: &impl Fn(Phase) -> Context<'c>,
    ) -> Result<Spectrum> {
        let (n, order) = (points.n_samples(), self.settings.order());
        let mut found: Option<Spectrum> = None;
        let resumed = self.journal.and_then(|journal| journal.earlier.as_ref());
        let mut k = resumed.map_or(self.settings.first_components(n), |earlier| earlier.n_pairs);
        loop {
            if self.finds_all(plan) {
                k = n;
            }
            let pairs = match (self.solve(prepared, plan, k, start.as_ref(), &context(Phase::Solving)), &mut found) {
                // Stopped while looking for more: what was found before is the answer.
                (Err(Error::Interrupted { .. }), Some(found)) => {
                    found.cut_short = Some(CutShort::Stopped);
                    break;
                }
                (outcome, _) => outcome?,
            };
            let mut spectrum = Spectrum::new(pairs, diagonal, self.operator.centering(&context(Phase::Solving))?);
            let has_all = k == n || spectrum.has_all(order, prepared.precision, plan.store_format);
            let is_converged = spectrum.pairs.outcome == Outcome::Converged;
            if self.is_diminished(prepared, plan, &spectrum) {
                spectrum.count(order, has_all && is_converged);
            }
            if let Some(enough) = spectrum.pairs_for_share(order, share) {
                return Ok(spectrum.truncated(enough));
            }
            let is_last = has_all || !is_converged;
            let next = spectrum.guess_for_share(order, share, k).min(n);
            let earlier = &found.insert(spectrum).pairs.vectors;
            if is_last {
                break;
            }
            k = next;
            match prepared.plan_growth(self.settings, points, k, plan) {
                Ok(next) => {
                    start = goes_on_from(&next, earlier.ncols())?.then(|| earlier.clone());
                    *plan = next;
                }
                Err(Error::OverBudget { .. }) => {
                    if let Some(found) = &mut found {
                        found.cut_short = Some(CutShort::OverBudget { n_components: k });
                    }
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let spectrum = found.expect("every way out of the loop has found something");
        prepared.warnings.push(spectrum.shortfall(share));
        Ok(spectrum)
    }

    /// Whether all pairs are found at once, however many are asked for.
    fn finds_all(&self, plan: &Plan) -> bool {
        plan.solver == SolverChoice::Dense.name() && self.expansion.is_none()
    }

    /// Whether negative eigenvalues diminish the trace that shares of the variance are of. Where they are an error in any case, no more pairs are looked for.
    fn is_diminished(&self, prepared: &Prepared, plan: &Plan, spectrum: &Spectrum) -> bool {
        let KernelPca { negative, negative_scope, .. } = self.settings;
        let is_error = *negative == Negative::Error && *negative_scope == NegativeScope::Seen;
        !is_error
            && !prepared.kernel.is_positive_definite()
            && spectrum.has_negative(prepared.precision, plan.store_format, prepared.fixed_point)
    }
}

/// Whether a solver is helped by so many vectors that were found before. A Krylov block would be as wide as they are many, for nothing where passes are cheap and
/// narrow, because what they span is found already.
fn goes_on_from(plan: &Plan, found: usize) -> Result<bool> {
    Ok(match plan.solver.parse()? {
        SolverChoice::Krylov | SolverChoice::Lanczos | SolverChoice::Auto => plan.block >= found + seekers(plan.block),
        SolverChoice::Subspace | SolverChoice::Power => true,
        SolverChoice::Dense => false,
    })
}

/// The solver that a plan names.
pub(crate) fn planned_solver(plan: &Plan) -> Result<Box<dyn EigenSolver>> {
    Ok(match plan.solver.parse()? {
        SolverChoice::Dense => Box::new(Dense),
        SolverChoice::Lanczos => Box::new(Lanczos { max_subspace: plan.max_subspace }),
        SolverChoice::Subspace => Box::new(SubspaceIteration { block: plan.block }),
        SolverChoice::Power => Box::new(PowerIteration),
        SolverChoice::Krylov | SolverChoice::Auto => {
            Box::new(BlockKrylov { block: plan.block, max_subspace: plan.max_subspace, check_every: 1 })
        }
    })
}

/// Passes after which a solver gives up: ten times what a hard case takes.
pub(crate) fn patience(solver: SolverChoice, k: usize) -> usize {
    match solver {
        SolverChoice::Power => 10_000 * k,
        SolverChoice::Lanczos => 100 * k + 2000,
        SolverChoice::Subspace => 2000,
        SolverChoice::Krylov | SolverChoice::Dense | SolverChoice::Auto => 200 + 10 * k,
    }
}

impl KernelPca {
    /// Which eigenvalues lead.
    pub(crate) fn order(&self) -> Order {
        match (self.negative, self.negative_scope) {
            (Negative::Flip, _) | (Negative::Error, NegativeScope::AskedByModulus) => Order::Modulus,
            (Negative::Error | Negative::Clip, _) => Order::Algebraic,
        }
    }
}
