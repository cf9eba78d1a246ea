//! Kernel PCA over landmarks.

use std::collections::BTreeMap;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::blocks::{RowBlocks, among_all, check_block, reservoir};
use super::choose::{self, Chosen};
use super::factor::{Factor, SPLIT};
use super::limits::Kept;
use super::outcome::Outcomes;
use super::pool::pool_size;
use super::probed::{Choice, Probed};
use super::residuals::Probe;
use super::settings::{Landmarks, Nystrom};
use super::steady::{self, Made, Steady, both};
use super::sums::Sums;
use crate::choices::{Center, MemoryBudget};
use crate::data::{Points, Scaling};
use crate::eigen::{BlockKrylov, EigenSolver, Order, Outcome, Request, small_eigen};
use crate::error::{Error, Result};
use crate::gram::{Centering, Cross, Element, SymmetricOperator, square_matrix};
use crate::kernel::Kernel;
use crate::model::{BasisKind, Model, Parts, fix_signs, significant_negative};
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Stopwatch, Watch};

/// Kernel PCA over landmarks, as it is asked for: an approximation whose error is part of the record.
///
/// ```
/// use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
/// use mercer::{Kernel, KernelPca, Points, Watch};
///
/// let values: Vec<f64> = (0..1200).map(|i| (f64::from(i) * 0.37).sin()).collect();
/// let (points, kernel) = (Points::from_f64(values, 400, 3)?, Kernel::gaussian(0.5)?);
/// let pca = NystromPca::new(Nystrom::new(kernel.clone()).n_landmarks(30)).n_components(2);
/// let model = pca.fit(&points)?;
///
/// let exact = KernelPca::new(kernel).n_components(2).fit(&points)?;
/// assert!((model.eigenvalues()[0] / exact.eigenvalues()[0] - 1.0).abs() < 1e-4);
/// let nystrom = model.record().nystrom.as_ref().expect("there are landmarks");
/// assert!(nystrom.relative_trace_error < 1e-3 && model.residuals()[0] < 1e-3);
///
/// // With somebody looking on who may stop it, and block by block.
/// assert_eq!(pca.fit_watched(&points, &Watch::new())?.eigenvalues(), model.eigenvalues());
/// let in_blocks = pca.fit_blocks_watched(&mut points.clone(), &Watch::new())?;
/// assert!((in_blocks.eigenvalues()[0] / exact.eigenvalues()[0] - 1.0).abs() < 1e-3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NystromPca {
    pub(super) nystrom: Nystrom,
    pub(super) n_components: usize,
    pub(super) center: Center,
    pub(super) accuracy: Option<f64>,
}

/// What messages call it.
pub(super) const KERNEL_PCA: &str = "kernel PCA over landmarks";
/// Up to this order the small problem is decomposed as a whole.
const DENSE_UP_TO: usize = 128;
/// And beyond this share of its spectrum.
const DENSE_SHARE: usize = 6;
/// Vectors multiplied at once by the small matrix, which is in memory: narrow blocks need fewer products.
const SMALL_BLOCK: usize = 16;
/// Order of the small problem from which on threads share its products.
const SPLIT_FROM: usize = 1024;

/// Residual of the small problem: no more than what rounding of the features hides, which in single precision are off by about 1e-7 of their size.
fn small_tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 1e-8,
        Precision::F64 => 1e-11,
    }
}

/// What the pass over all rows works with.
pub(super) struct Task<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) chosen: Chosen,
    pub(super) precision: Precision,
    /// A sample of the rows, at which residuals are measured.
    pub(super) probed: Probed,
    pub(super) n: usize,
    /// Whether all rows are known to be finite and of one width.
    is_checked: bool,
    pub(super) seconds: BTreeMap<String, f64>,
    /// What is to be said of the kernel's width.
    pub(super) warnings: Vec<String>,
}

/// What that pass is made with.
struct Ready<T> {
    factor: Factor,
    /// What was added to the diagonal of the landmarks' matrix.
    shift: f64,
    made: Made<T>,
}

impl NystromPca {
    /// Two centred components over these landmarks.
    pub fn new(nystrom: Nystrom) -> Self {
        Self { nystrom, n_components: 2, center: Center::Yes, accuracy: None }
    }

    /// Sets the number of components (default 2), and with it that of landmarks where nobody says how many there are: ten for each
    /// component, but at least [`Nystrom::DEFAULT_LANDMARKS`].
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.n_components = n_components;
        self.nystrom = self.nystrom.enough_for(n_components);
        self
    }

    /// Sets whether the points are centred in feature space (default: they are).
    #[must_use]
    pub fn center(mut self, center: Center) -> Self {
        self.center = center;
        self
    }

    /// Sets what the measured residual of every component must reach for the model to count as converged (default: none).
    #[must_use]
    pub fn accuracy(mut self, accuracy: f64) -> Self {
        self.accuracy = Some(accuracy);
        self
    }

    /// The same of points that go through a scaling first ([`Model::with_scaling`]): as [`Nystrom::scaled_by`].
    ///
    /// ```
    /// use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
    /// use mercer::{Kernel, Points, data::{Moments, Scaling}};
    ///
    /// let points = Points::from_f64((0..40).map(|i| f64::from(i * i)).collect::<Vec<_>>(), 20, 2)?;
    /// let scaling = Scaling::standardizing(&Moments::of(&points));
    /// let nystrom = Nystrom::new(Kernel::gaussian(0.5)?).landmarks(Landmarks::Given(points.slice(0..5)));
    /// let pca = NystromPca::new(nystrom).scaled_by(&scaling)?;
    /// let model = pca.fit(&scaling.apply(&points)?)?.with_scaling(scaling)?;
    /// assert_eq!(model.basis().row(0), model.scaling().expect("there is one").apply(&points)?.row(0));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Nystrom::scaled_by`].
    pub fn scaled_by(mut self, scaling: &Scaling) -> Result<Self> {
        self.nystrom = self.nystrom.scaled_by(scaling)?;
        Ok(self)
    }

    /// Learns the components of points.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, the points cannot be used, the landmarks do not fit the memory budget, or the kernel is
    /// precomputed or has significant negative eigenvalues on the landmarks.
    pub fn fit(&self, points: &Points) -> Result<Model> {
        self.fit_watched(points, &Watch::new())
    }

    /// As [`fit`](Self::fit), with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), and [`Error::Interrupted`].
    pub fn fit_watched(&self, points: &Points, watch: &Watch<'_>) -> Result<Model> {
        let (whole, threads) = (Stopwatch::start(), self.nystrom.thread_pool()?);
        let context = Context::new(&threads, watch, Phase::Starting);
        self.check(points.n_samples())?;
        // On the pool from here on: its threads are awake for the next step while they are at work on this one.
        threads.run(|| {
            let points = &self.as_taken(points);
            let (kernel, warnings) = self.kernel_for(points, &context)?;
            let precision = self.nystrom.precision_of(points);
            let mut chosen = choose::landmarks(&self.nystrom, points, &kernel, precision, &context)?;
            let n = points.n_samples();
            let probed = self.probing(&kernel, precision, n).of(points, &mut chosen, &context)?;
            let seconds = BTreeMap::from([("choosing".to_owned(), whole.seconds())]);
            let task = Task { kernel: &kernel, chosen, precision, probed, n, is_checked: true, seconds, warnings };
            self.learn(task, &mut points.clone(), whole, &context)
        })
    }

    /// Learns the components of rows that come block by block, in two passes over them.
    ///
    /// Landmarks, and widths of the kernel that depend on the data, are found from a uniform sample of the rows.
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit); if the rows cannot be had, or are not the same in both passes; and if landmarks are given as rows.
    pub fn fit_blocks(&self, source: &mut dyn RowBlocks) -> Result<Model> {
        self.fit_blocks_watched(source, &Watch::new())
    }

    /// As [`fit_blocks`](Self::fit_blocks), with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`fit_blocks`](Self::fit_blocks), and [`Error::Interrupted`].
    pub fn fit_blocks_watched(&self, source: &mut dyn RowBlocks, watch: &Watch<'_>) -> Result<Model> {
        let (whole, threads) = (Stopwatch::start(), self.nystrom.thread_pool()?);
        let context = Context::new(&threads, watch, Phase::Starting);
        let (pool, n) = self.sample(source, &context)?;
        self.check(n)?;
        let told = self.kernel_for(&pool, &context).map_err(|error| among_all(error, &pool, source, n));
        let (kernel, warnings) = told?;
        let precision = self.nystrom.precision_of(&pool);
        let mut chosen = choose::landmarks(&self.beside(&pool), &pool, &kernel, precision, &context)
            .map_err(|error| among_all(error, &pool, source, n))?;
        let probed = self.probing(&kernel, precision, n).of(&pool, &mut chosen, &context)?;
        let seconds = BTreeMap::from([("choosing".to_owned(), whole.seconds())]);
        let task = Task { kernel: &kernel, chosen, precision, probed, n, is_checked: false, seconds, warnings };
        self.learn(task, source, whole, &context)
    }

    /// A uniform sample of rows that come block by block, which landmarks are chosen from, and the number of all rows.
    pub(super) fn sample(&self, source: &mut dyn RowBlocks, context: &Context<'_>) -> Result<(Points, usize)> {
        if matches!(self.nystrom.landmarks, Landmarks::Rows(_)) {
            return Err(Error::invalid("landmarks", "points or a rule for rows that come in blocks", "row numbers"));
        }
        let size = pool_size(usize::MAX, self.nystrom.count(usize::MAX));
        let (seed, budget) = (self.nystrom.seed.wrapping_add(3), self.nystrom.memory.bytes());
        reservoir(source, size, seed, budget, context)
    }

    /// The same landmarks within what a sample leaves of the memory.
    pub(super) fn beside(&self, pool: &Points) -> Nystrom {
        let left = self.nystrom.memory.bytes().saturating_sub(pool.size());
        self.nystrom.clone().memory(MemoryBudget::Bytes(left))
    }

    /// How the rows that residuals are measured on are chosen, for a fit of `n` rows.
    fn probing<'a>(&self, kernel: &'a Kernel, precision: Precision, n: usize) -> Choice<'a> {
        let (seed, is_decisive) = (self.nystrom.seed.wrapping_add(4), self.accuracy.is_some());
        Choice { kernel, precision, seed, is_decisive, n }
    }

    pub(super) fn check(&self, n: usize) -> Result<()> {
        if n < 2 {
            return Err(Error::TooFewRows { needed: 2, found: n });
        }
        self.nystrom.check()?;
        let m = self.nystrom.count(n);
        if self.n_components == 0 || self.n_components > m {
            let requirement = format!("between 1 and the number of landmarks ({m})");
            return Err(Error::invalid("n_components", requirement, self.n_components));
        }
        match self.accuracy {
            Some(accuracy) if !(accuracy > 0.0 && accuracy < 1.0) => {
                Err(Error::invalid("accuracy", "between 0 and 1", accuracy))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn kernel_for(&self, points: &Points, context: &Context<'_>) -> Result<(Kernel, Vec<String>)> {
        let (kernel, told) = self.nystrom.kernel_for(points, context)?;
        refuse_precomputed(&kernel, KERNEL_PCA)?;
        Ok((kernel, told))
    }

    fn learn(
        &self,
        task: Task<'_>,
        source: &mut dyn RowBlocks,
        whole: Stopwatch,
        context: &Context<'_>,
    ) -> Result<Model> {
        let mut model = match task.precision {
            Precision::F32 => self.learn_in::<f32>(task, source, context)?,
            Precision::F64 => self.learn_in::<f64>(task, source, context)?,
        };
        let mut seconds = model.record().seconds.clone();
        seconds.insert("total".to_owned(), whole.seconds());
        model.set_seconds(seconds);
        Ok(model)
    }

    /// Why rows do not vary over the landmarks: they do not at all, or these have been given and are blind to it.
    fn no_variance(&self, task: &Task<'_>) -> Error {
        let (rows, n_samples) = (&task.probed.points, task.n);
        let differ = (1..rows.n_samples()).any(|row| rows.row(row) != rows.row(0));
        if differ && self.nystrom.is_given() {
            return Error::BlindLandmarks { n_landmarks: task.chosen.points.n_samples(), n_samples };
        }
        Error::NoVariance { n_samples }
    }

    /// What is known before the pass over all rows.
    fn prepare<T: Element>(&self, task: &Task<'_>, context: &Context<'_>) -> Result<Ready<T>> {
        let square = square_matrix(task.kernel, &task.chosen.points, context)?;
        let landmarks = (task.kernel, &task.chosen.points);
        let Steady { factor, shift, made } =
            steady::factorise::<T>(square, landmarks, &task.probed.points, task.precision, context)?;
        refuse_negative_pivot(task, &factor, context)?;
        let Some(made) = made else { return Err(self.no_variance(task)) };
        Ok(Ready { factor, shift, made })
    }

    fn learn_in<T: Element>(
        &self,
        mut task: Task<'_>,
        source: &mut dyn RowBlocks,
        context: &Context<'_>,
    ) -> Result<Model> {
        let context = Context::new(context.threads, context.watch, Phase::Solving);
        let solving = Stopwatch::start();
        let ready = self.prepare::<T>(&task, &context);
        let Ready { factor, shift, made } = ready.map_err(|error| told_of_rows::<T>(error, &task, source, &context))?;
        let Made { landmarks: basis, cross, lower, values } = made;
        let n = task.n;
        let probe = Probe::new(values, task.probed.weights.clone());
        let mut sums = Sums::new(task.kernel, &cross, lower, probe, Kept::new(n, factor.rank()));
        add_all(&mut sums, &task, source, &context)?;
        let mean = sums.mean();
        let center = (self.center == Center::Yes).then_some(mean.as_slice());
        let (mut values, mut vectors, solver) = self.solve(sums.second_moments(center), task.precision, &context)?;
        let kept = n_real(&values, center, n, task.precision);
        if kept == 0 {
            return Err(self.no_variance(&task));
        }
        let found = values.len();
        values.truncate(kept);
        vectors = vectors.subcols(0, kept).to_owned();
        let offset = sums.offset(center);
        let residuals = sums.probe.residuals((&values, vectors.as_ref()), (self.center, &offset), &factor, &context);
        if !residuals.iter().all(|residual| residual.is_finite()) {
            return Err(sums.overflow());
        }
        let limits = sums.kept.limits(task.kernel, (&values, vectors.as_ref()), center, &context);
        let mut coefficients = context.threads.run(|| factor.backward(vectors));
        fix_signs(&mut coefficients);
        let centering = center.map(|center| context.threads.run(|| centering(&factor, center)));
        task.seconds.insert("solving".to_owned(), solving.seconds());
        let outcome = Outcomes { values, residuals, found, solver, limits, shift };
        let record = self.record(&task, &factor, &sums, center, outcome, context.threads.count());
        Ok(Model::new(Parts {
            kernel: task.kernel.clone(),
            basis,
            basis_kind: BasisKind::Representatives,
            precision: task.precision,
            coefficients,
            centering,
            record,
        }))
    }

    /// Whether the small problem of this order is solved by products rather than decomposed as a whole.
    pub(super) fn is_iterated(&self, order: usize) -> bool {
        order > DENSE_UP_TO && self.n_components.min(order) * DENSE_SHARE < order
    }

    /// The leading eigenpairs of the small problem, and how they were found.
    fn solve(
        &self,
        matrix: MatRef<'_, f64>,
        precision: Precision,
        context: &Context<'_>,
    ) -> Result<(Vec<f64>, Mat<f64>, &'static str)> {
        let (r, k) = (matrix.nrows(), self.n_components.min(matrix.nrows()));
        if self.is_iterated(r) {
            let solver = BlockKrylov::new(k, SMALL_BLOCK);
            let tolerance = small_tolerance(precision);
            let request = Request { tolerance, seed: self.nystrom.seed, ..Request::new(k) };
            let pairs = solver.leading(&Symmetric(matrix), &request, context)?;
            if pairs.outcome == Outcome::Stopped {
                return Err(context.interrupted());
            }
            if pairs.outcome == Outcome::Converged && pairs.values.len() == k {
                return Ok((pairs.values, pairs.vectors, "krylov"));
            }
        }
        let (mut values, vectors) = context.threads.run(|| small_eigen(matrix, Order::Algebraic))?;
        values.truncate(k);
        Ok((values, vectors.subcols(0, k).to_owned(), "dense"))
    }
}

/// The same error with the number among all rows of one that is too large and was met among landmarks or rows that residuals are measured on.
fn told_of_rows<T: Element>(error: Error, task: &Task<'_>, source: &mut dyn RowBlocks, context: &Context<'_>) -> Error {
    if !matches!(error, Error::TooLarge { .. }) {
        return error;
    }
    let Ok(some) = both(&task.chosen.points, &task.probed.points) else { return error };
    match context.threads.run(|| Cross::<T>::new(&some, task.kernel)) {
        Err(largest) => among_all(largest, &some, source, task.n),
        Ok(_) => error,
    }
}

/// Adds all rows to the sums.
fn add_all<T: Element>(
    sums: &mut Sums<'_, T>,
    task: &Task<'_>,
    source: &mut dyn RowBlocks,
    context: &Context<'_>,
) -> Result<()> {
    let (d, n) = (source.n_features(), task.n);
    source.visit(&mut |block| {
        if !task.is_checked {
            check_block(block, d, sums.n)?;
        }
        context.report_fraction(sums.n as f64 / n as f64);
        sums.add(block, context)
    })?;
    if sums.n != n {
        return Err(Error::invalid("blocks", format!("the {n} rows of the first pass in the second"), sums.n));
    }
    sums.close()
}

/// The matrix of the small problem as an operator.
struct Symmetric<'a>(MatRef<'a, f64>);

impl SymmetricOperator for Symmetric<'_> {
    fn dim(&self) -> usize {
        self.0.nrows()
    }

    fn apply(&self, x: MatRef<'_, f64>, out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        context.check()?;
        // Threads that wait for one another take longer than a small product.
        let split = if self.0.nrows() < SPLIT_FROM { Par::Seq } else { SPLIT };
        context.threads.run(|| matmul(out, Accum::Replace, self.0, x, 1.0, split));
        Ok(())
    }
}

/// The centre as a combination of landmarks, from its features.
fn centering(factor: &Factor, center: &[f64]) -> Centering {
    let features = Mat::from_fn(center.len(), 1, |i, _| center[i]);
    // Not the operator `*`, which is split for as many threads as the pool happens to have.
    let mut products = Mat::zeros(center.len(), 1);
    matmul(products.as_mut(), Accum::Replace, factor.lower.as_ref(), features.as_ref(), 1.0, SPLIT);
    let weights = factor.backward(features);
    Centering::from_weights(weights.col(0).iter().copied().collect(), products.col(0).iter().copied().collect())
}

/// Leading eigenvalues that are not rounding of the largest one before centring.
fn n_real(values: &[f64], center: Option<&[f64]>, n: usize, precision: Precision) -> usize {
    let before = center.map_or(0.0, |center| n as f64 * center.iter().map(|x| x * x).sum::<f64>());
    let factor = match precision {
        Precision::F32 => 8.0,
        Precision::F64 => 200.0,
    };
    let noise = factor * precision.epsilon() * values.first().map_or(0.0, |value| value.abs()).max(before);
    values.iter().take_while(|&&value| value > noise).count()
}

/// Refuses a kernel that has no values between rows and landmarks; `what` would be done with them.
pub(crate) fn refuse_precomputed(kernel: &Kernel, what: &'static str) -> Result<()> {
    if matches!(kernel, Kernel::Precomputed) {
        return Err(Error::UnsuitableKernel {
            what,
            kernel: kernel.name().to_owned(),
            reason: "it knows points by their rows only",
        });
    }
    Ok(())
}

/// As [`refuse_indefinite`], if a pivot tells that there is something to refuse.
fn refuse_negative_pivot(task: &Task<'_>, factor: &Factor, context: &Context<'_>) -> Result<()> {
    // It does not tell how large they are beside the largest.
    match factor.most_negative {
        Some(pivot) if -pivot > significant_negative(task.precision) => {
            refuse_indefinite(task.kernel, &task.chosen.points, task.precision, context)
        }
        _ => Ok(()),
    }
}

/// Refuses a kernel whose matrix over the landmarks has significant negative eigenvalues: inner products of features never have.
pub(crate) fn refuse_indefinite(
    kernel: &Kernel,
    landmarks: &Points,
    precision: Precision,
    context: &Context<'_>,
) -> Result<()> {
    if kernel.is_positive_definite() {
        return Ok(());
    }
    let square = square_matrix(kernel, landmarks, context)?;
    let (values, _) = context.threads.run(|| small_eigen(square.as_ref(), Order::Algebraic))?;
    let ratio = |lowest: &f64| -lowest / values[0].max(f64::MIN_POSITIVE);
    match values.last().map(ratio).filter(|&ratio| ratio > significant_negative(precision)) {
        Some(ratio) => Err(Error::IndefiniteLandmarks { kernel: kernel.name().to_owned(), ratio }),
        None => Ok(()),
    }
}
