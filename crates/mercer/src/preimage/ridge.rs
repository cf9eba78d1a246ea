//! Pre-images by kernel ridge regression of the points on their scores.
//!
//! **Use it** when many points are to be reconstructed and the training points have faithful scores: learning is one
//! factorisation, reconstructing one product with a kernel matrix. This is what scikit-learn's `fit_inverse_transform` does.
//!
//! **Cost**: `n³ / 6` multiply-adds for the factorisation, `n² d` for the solution. **Memory**: one matrix of `n²` numbers.
//!
//! # Method
//!
//! With scores `S` (n × k) of the points `X` (n × d), and the kernel now between scores, the coefficients are
//! `C = (K(S, S) + α I)⁻¹ X`, and the pre-image of a score `s` is `K(s, S) C`: the learned map of \[BWS04\], with one regression
//! per feature.
//!
//! # Numerics
//!
//! Kernel values, factorisation (Cholesky, panel by panel, so that it can be stopped) and solution are in double precision, whatever the precision of the fit: the
//! condition number is about `λ₁ / α`.
//!
//! # References
//!
//! - \[BWS04\] G. H. Bakır, J. Weston, B. Schölkopf, "Learning to find pre-images", Advances in Neural Information Processing
//!   Systems 16 (2004) 449-456.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, MatRef};

use crate::choices::MemoryBudget;
use crate::data::{Points, RowsRef};
use crate::eigen::SPLIT;
use crate::error::{Error, Result};
use crate::gram::{EntryAccess, KernelGram};
use crate::kernel::Kernel;
use crate::plan::{Plan, Speeds};
use crate::watch::{Context, Phase, Threads, Watch};

/// The learned way from scores back to points.
///
/// ```
/// use mercer::preimage::RidgePreimage;
/// use mercer::{Kernel, MemoryBudget, Points};
/// use mercer::watch::{Threads, Watch};
///
/// // Points on a line, and their places on it.
/// let points = Points::from_f64((0..20).flat_map(|i| [f64::from(i), 3.0]).collect::<Vec<_>>(), 20, 2)?;
/// let scores = Points::from_f64((0..20).map(|i| f64::from(i) / 10.0).collect::<Vec<_>>(), 20, 1)?;
/// let back = RidgePreimage::new(Kernel::gaussian(1.0)?).alpha(1e-6);
/// let coefficients = back.fit(&scores, &points, &Threads::all()?, &Watch::new())?;
/// assert_eq!((coefficients.nrows(), coefficients.ncols()), (20, 2));
/// // It takes the memory of a matrix of 20 by 20 numbers, at least.
/// let back = back.memory(MemoryBudget::Bytes(8 * 20 * 20));
/// assert!(back.fit(&scores, &points, &Threads::all()?, &Watch::new()).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RidgePreimage {
    kernel: Kernel,
    alpha: f64,
    memory: MemoryBudget,
}

/// Rows of the kernel matrix that are made at a time.
const ROWS: usize = 480;

/// Columns that are factorised between two safe points: for twenty thousand points they take a few seconds.
const PANEL: usize = 480;

/// Right-hand sides that are solved for between two safe points.
const SOLVED: usize = 64;

impl RidgePreimage {
    /// Pre-images with this kernel between scores and a ridge of one.
    pub fn new(kernel: Kernel) -> Self {
        Self { kernel, alpha: 1.0, memory: MemoryBudget::Auto }
    }

    /// Sets the weight of the ridge (default 1).
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// Sets how much memory learning may take beyond the data (default: 70 % of what is available).
    #[must_use]
    pub fn memory(mut self, memory: MemoryBudget) -> Self {
        self.memory = memory;
        self
    }

    /// Refuses to learn from this many points where that would not fit a memory budget; [`fit`](Self::fit) does so, too, but then there
    /// are scores already.
    ///
    /// ```
    /// use mercer::{ErrorKind, MemoryBudget};
    /// use mercer::preimage::RidgePreimage;
    ///
    /// assert!(RidgePreimage::check_memory(1000, 20, MemoryBudget::Bytes(1 << 30)).is_ok());
    /// let error = RidgePreimage::check_memory(60_000, 20, MemoryBudget::Bytes(1 << 30)).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::OverBudget);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`], with the budget that would do.
    pub fn check_memory(n_samples: usize, n_features: usize, memory: MemoryBudget) -> Result<()> {
        let (needed, budget) = (memory_needed(n_samples, n_features), memory.bytes());
        if needed <= budget {
            return Ok(());
        }
        let advice = format!("a budget of {} would do", crate::error::bytes_at_least(needed));
        let what = format!("learning pre-images of {n_samples} points");
        Err(Error::OverBudget { what, needed, budget, advice })
    }

    /// The plan of a fit after which this is learned: what the two take, one after the other.
    ///
    /// ```
    /// use mercer::preimage::RidgePreimage;
    /// use mercer::{Kernel, KernelPca, MemoryBudget, Precision};
    ///
    /// let fit = KernelPca::new(Kernel::gaussian(0.1)?).plan_shape(5000, 20, Precision::F64)?;
    /// let both = RidgePreimage::plan_after(fit.clone(), 5000, 20, MemoryBudget::Auto, 2)?;
    /// assert!(both.expected_seconds > fit.expected_seconds);
    /// assert!(both.expected_memory_bytes >= 8 * 5000 * 5000);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`check_memory`](Self::check_memory).
    pub fn plan_after(
        fit: Plan,
        n_samples: usize,
        n_features: usize,
        memory: MemoryBudget,
        threads: usize,
    ) -> Result<Plan> {
        Self::check_memory(n_samples, n_features, memory)?;
        let (n, d) = (n_samples as f64, n_features as f64);
        let seconds = (n * n * n / 6.0 + n * n * d) / Speeds::typical(n_features, threads).algebra;
        let needed = memory_needed(n_samples, n_features);
        let mut plan = fit;
        plan.expected_seconds += seconds;
        plan.expected_memory_bytes = plan.expected_memory_bytes.max(needed);
        plan.reasons.push(format!(
            "the way back from scores is learned after the fit, from a matrix of all pairs of points ({}, about {seconds:.1} s)",
            crate::error::bytes(needed)
        ));
        Ok(plan)
    }

    /// Learns from points and their scores: one row of coefficients per point, one column per feature.
    ///
    /// The pre-images of new scores are [`KernelProduct`](crate::KernelProduct)s of these coefficients.
    ///
    /// # Errors
    ///
    /// If `alpha` is negative or too small, the kernel is precomputed, there is not one row of scores per point, or the matrix
    /// does not fit the memory budget.
    pub fn fit(&self, scores: &Points, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Mat<f64>> {
        let (n, d) = (points.n_samples(), points.n_features());
        self.check(scores, n, d)?;
        let context = Context::new(threads, watch, Phase::Reconstructing);
        let mut matrix = self.matrix(scores, &context)?;
        let mut solution = Mat::zeros(n, d);
        for i in 0..n {
            write_row(points.rows(i..i + 1), i, solution.as_mut());
        }
        threads.run(|| -> Result<()> {
            if !factorise(matrix.as_mut(), &context)? {
                return Err(Error::Singular { alpha: self.alpha, n_samples: n });
            }
            solve(matrix.as_ref(), solution.as_mut(), &context)
        })?;
        Ok(solution)
    }

    fn check(&self, scores: &Points, n: usize, d: usize) -> Result<()> {
        if !(self.alpha >= 0.0 && self.alpha.is_finite()) {
            return Err(Error::invalid("alpha", "a number that is not negative", self.alpha));
        }
        if matches!(self.kernel, Kernel::Precomputed) {
            return Err(Error::UnsuitableKernel {
                what: "learning pre-images",
                kernel: self.kernel.name().to_owned(),
                reason: "it has no values between scores",
            });
        }
        if scores.n_samples() != n {
            let requirement = format!("as many rows as there are points ({n})");
            return Err(Error::invalid("scores", requirement, scores.n_samples()));
        }
        Self::check_memory(n, d, self.memory)
    }

    /// `K(S, S) + α I`.
    fn matrix(&self, scores: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        let n = scores.n_samples();
        let gram = context.threads.run(|| KernelGram::<f64>::new(scores, &self.kernel, None))?;
        let mut matrix = Mat::zeros(n, n);
        for first in (0..n).step_by(ROWS) {
            context.check()?;
            context.report_fraction(first as f64 / n as f64);
            let rows: Vec<usize> = (first..n.min(first + ROWS)).collect();
            gram.rows(&rows, matrix.as_mut().subrows_mut(first, rows.len()), context)?;
        }
        for i in 0..n {
            matrix[(i, i)] += self.alpha;
        }
        Ok(matrix)
    }
}

/// Bytes that learning takes: the matrix, the solution, and the rows being made with their tiles.
fn memory_needed(n_samples: usize, n_features: usize) -> u64 {
    let (n, d) = (n_samples as u64, n_features as u64);
    // Of shapes that no machine has, too.
    n.saturating_mul(8).saturating_mul(n + d + 2 * n.min(ROWS as u64))
}

/// Replaces the lower triangle of a matrix by its Cholesky factor, a panel of columns at a time, with a safe point before each;
/// `false` if it is not positive definite.
fn factorise(mut matrix: MatMut<'_, f64>, context: &Context<'_>) -> Result<bool> {
    let (n, parameters) = (matrix.nrows(), faer::Spec::default());
    let mut memory = MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(PANEL.min(n), SPLIT, parameters));
    for first in (0..n).step_by(PANEL) {
        context.check()?;
        let width = PANEL.min(n - first);
        let trailing = matrix.as_mut().submatrix_mut(first, first, n - first, n - first);
        let (mut corner, _, mut panel, rest) = trailing.split_at_mut(width, width);
        let stack = MemStack::new(&mut memory);
        let regularization = llt::factor::LltRegularization::default();
        if llt::factor::cholesky_in_place(corner.as_mut(), regularization, SPLIT, stack, parameters).is_err() {
            return Ok(false);
        }
        // panel ← panel L⁻ᵀ, and what it explains is taken from the rest.
        solve_lower_triangular_in_place(corner.as_ref(), panel.as_mut().transpose_mut(), SPLIT);
        triangular::matmul(
            rest,
            BlockStructure::TriangularLower,
            Accum::Add,
            panel.as_ref(),
            BlockStructure::Rectangular,
            panel.as_ref().transpose(),
            BlockStructure::Rectangular,
            -1.0,
            SPLIT,
        );
    }
    Ok(true)
}

/// Solves for some columns at a time, with a safe point before each group of them.
fn solve(factor: MatRef<'_, f64>, mut solution: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
    let columns = solution.ncols();
    for first in (0..columns).step_by(SOLVED) {
        context.check()?;
        let some = solution.as_mut().subcols_mut(first, SOLVED.min(columns - first));
        llt::solve::solve_in_place(factor, some, SPLIT, MemStack::new(&mut []));
    }
    Ok(())
}

/// Writes one point into a row of a matrix.
fn write_row(row: RowsRef<'_>, i: usize, mut matrix: MatMut<'_, f64>) {
    for (j, x) in row.to_f64().into_iter().enumerate() {
        matrix[(i, j)] = x;
    }
}
