//! Eigenvectors of the normalised matrix by the kernel Hebbian algorithm.
//!
//! The algorithm reads whole rows in random order. The normalised matrix is made once and handed to it as a precomputed kernel, so that
//! every gain rule, start and measure of the algorithm is there. It is not centred.
//!
//! Coefficients still hold parts of the random start that the matrix nearly annihilates. Eigenvectors are therefore sought in the span of the scores, its product with
//! them: one more product gives the eigenvalues and the residuals of what is returned, by a Rayleigh–Ritz step.

use faer::Mat;

use super::fit::Solved;
use crate::choices::Center;
use crate::data::Points;
use crate::eigen::{EigenPairs, EigenSolver, Outcome, Request, SubspaceIteration};
use crate::error::{Error, Result, bytes};
use crate::gram::{Element, EntryAccess, KernelGram, Normalized};
use crate::hebbian::{KernelHebbianPca, Start};
use crate::kernel::Kernel;
use crate::model::{KernelPca, Prepared, Totals};
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Watch};

/// Rows of the matrix that are made at a time.
const ROWS_AT_ONCE: usize = 240;

/// Leading eigenvectors of the normalised matrix.
pub(super) fn solve(
    rule: &KernelHebbianPca,
    problem: &KernelPca,
    prepared: &Prepared,
    points: &Points,
    watch: &Watch<'_>,
) -> Result<Solved> {
    let context = Context::new(&prepared.threads, watch, Phase::Starting);
    let n = points.n_samples();
    let size = (n as u64).saturating_mul(n as u64).saturating_mul(prepared.precision.size() as u64);
    if size > prepared.budget {
        return Err(Error::OverBudget {
            what: format!("the normalised matrix of {n} points, which the kernel Hebbian algorithm reads,"),
            needed: size,
            budget: prepared.budget,
            advice: format!("the solver krylov keeps no matrix; or a budget of {} would do", bytes(size)),
        });
    }
    let Made { matrix, degrees, kernel_entries } = matrix(&prepared.kernel, points, prepared.precision, &context)?;
    let r = problem.n_components_asked().unwrap_or(1);
    let learner = rule.for_matrix(problem).center(Center::No).n_components(r).precision(prepared.precision).fit_from(
        &matrix,
        &Start::default(),
        watch,
    )?;
    let (model, was_stopped) = (learner.model()?, learner.was_stopped());
    let (passes, products) = (model.record().passes, model.record().products);
    let scores: Mat<f64> = model.training_scores();
    // What the budget was asked for to learn is more than the vectors below take.
    drop((learner, model));
    let found = match prepared.precision {
        Precision::F32 => eigenvectors_within::<f32>(&matrix, scores, prepared)?,
        Precision::F64 => eigenvectors_within::<f64>(&matrix, scores, prepared)?,
    };
    let outcome = if was_stopped { Outcome::Stopped } else { found.outcome };
    let pairs = EigenPairs { passes, outcome, next: None, most_negative: None, ..found };
    let totals = Totals {
        // One product for the degrees, one look at every entry for the matrix, and one product with all eigenvectors.
        passes: passes + 3,
        products: products + 1 + pairs.values.len(),
        kernel_entries,
    };
    let (gram, solver) = ("stored".to_owned(), "hebbian".to_owned());
    Ok(Solved { pairs, degrees, totals, gram, solver, plan: None, expansion: None, nystrom: None, over: None })
}

/// The best approximations to eigenvectors of the matrix within the span of some vectors, with what one product tells of them.
fn eigenvectors_within<T: Element>(matrix: &Points, mut vectors: Mat<f64>, prepared: &Prepared) -> Result<EigenPairs> {
    // Those of small eigenvalues are so short that they would count as rounding of the others.
    for j in 0..vectors.ncols() {
        let length = vectors.col(j).norm_l2();
        vectors.col_mut(j).iter_mut().for_each(|x| *x /= length);
    }
    let gram = prepared.threads.run(|| KernelGram::<T>::new(matrix, &Kernel::Precomputed, None))?;
    // What a run that was stopped has learned is worth the moment that a product takes.
    let unwatched = Watch::new();
    let context = Context::new(&prepared.threads, &unwatched, Phase::Solving);
    let k = vectors.ncols();
    let request =
        Request { tolerance: prepared.tolerance, max_passes: 1, start: Some(vectors.as_ref()), ..Request::new(k) };
    SubspaceIteration { block: k }.leading(&gram, &request, &context)
}

/// `D^-1/2 K D^-1/2` as a whole, a row of the result per point, and the degrees on the diagonal of `D`.
///
/// For learners that read rows, and for looking at; [`SpectralClustering`](super::SpectralClustering) needs it only with
/// [`hebbian`](super::SpectralClustering::hebbian).
///
/// ```
/// use mercer::cluster::normalized_matrix;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points, Precision};
///
/// let points = Points::from_f64(vec![0.0, 1.0], 2, 1)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Starting);
/// let (matrix, degrees) = normalized_matrix(&Kernel::gaussian(2.0_f64.ln())?, &points, Precision::F64, &context)?;
/// assert!((degrees[0] - 1.5).abs() < 1e-12);
/// assert!((matrix.row(0)[1] - 0.5 / 1.5).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If a point is too large for the precision, a point has no positive degree, a custom kernel failed, or the run was stopped.
pub fn normalized_matrix(
    kernel: &Kernel,
    points: &Points,
    precision: Precision,
    context: &Context<'_>,
) -> Result<(Points, Vec<f64>)> {
    matrix(kernel, points, precision, context).map(|made| (made.matrix, made.degrees))
}

/// The normalised matrix, and what it took.
struct Made {
    matrix: Points,
    degrees: Vec<f64>,
    kernel_entries: u64,
}

fn matrix(kernel: &Kernel, points: &Points, precision: Precision, context: &Context<'_>) -> Result<Made> {
    match precision {
        Precision::F32 => matrix_of::<f32>(kernel, points, |values, n| Points::from_f32(values, n, n), context),
        Precision::F64 => matrix_of::<f64>(kernel, points, |values, n| Points::from_f64(values, n, n), context),
    }
}

fn matrix_of<T: Element>(
    kernel: &Kernel,
    points: &Points,
    of_values: impl Fn(Vec<T>, usize) -> Result<Points>,
    context: &Context<'_>,
) -> Result<Made> {
    let gram = context.threads.run(|| KernelGram::<T>::new(points, kernel, None))?;
    let normalized = Normalized::new(&gram, context)?;
    let roots = normalized.inverse_roots();
    let n = roots.len();
    let mut values = Vec::with_capacity(n * n);
    for first in (0..n).step_by(ROWS_AT_ONCE) {
        context.report_fraction(first as f64 / n as f64);
        let rows: Vec<usize> = (first..n.min(first + ROWS_AT_ONCE)).collect();
        let mut block = Mat::zeros(rows.len(), n);
        gram.rows(&rows, block.as_mut(), context)?;
        for (i, row) in rows.into_iter().enumerate() {
            values.extend((0..n).map(|j| T::from_f64(block[(i, j)] * roots[row] * roots[j])));
        }
    }
    let (degrees, kernel_entries) = (normalized.degrees().to_vec(), gram.entries_computed());
    Ok(Made { matrix: of_values(values, n)?, degrees, kernel_entries })
}
