//! What a budget has cost, measured on the last rows.
//!
//! # Method
//!
//! Of the [last rows](super::recent) `x_1, …, x_n`, let `φ_i` be the images, `y_i` the outputs of a component `w` and `ρ_i` the part of `φ_i`
//! outside the span of the rows in memory. Expectations over single rows have estimates without bias from pairs of different rows,
//! `|E v|² ≈ Σ_{i≠j} v_i·v_j / (n (n − 1))`:
//!
//! - *The mean.* With `v_i = φ_i − m`, the squared distance of the running mean `m` from the mean that the rows are drawn about.
//! - *A component.* Every row adds `η y_i φ_i` to it, of which memory has no room for `η y_i ρ_i`, while `1 − η y_i²` of it stays. Where that
//!   settles, `E y ρ / E y²` is missing: what the covariance of the rows makes of the component, as far as memory cannot say it, over its
//!   variance. Before it does, `1 − Π (1 − η y²)` of that is, over the rows since something was first lost. It is taken with `v_i = y_i ρ_i`, and `ρ_i·ρ_j = k(x_i, x_j) − z_i·z_j` with `L z_i = k_i` and `L` the
//!   [factor](super::factor). What is within twice its standard error, `√(2 Σ_{i≠j} (v_i·v_j)²) / (n (n − 1))`, is left out.
//!
//! What is lost points the same way again and again, so the squares of single losses, which [`note_loss`](Learner::note_loss) adds up,
//! say too little where the budget is small.
//!
//! **Cost**, when it is asked for, for `n` last rows (512 at most), `m` rows in memory and `P` components: `n (n + m)` kernel values. For the
//! components also a triangular system per row, `n m² / 2` products in all, `n² m` for the products of their solutions, and `n m P` for
//! outputs; the mean takes none of that. What is asked for together is computed once. Nothing while rows are learned.

use faer::Mat;

use super::block::Block;
use super::factor::Factor;
use super::learner::Learner;
use super::memory::Memory;
use super::passes;
use crate::eigen::small_product;
use crate::error::Result;

/// Standard errors by which an estimate has to differ from nothing.
const CLEARLY: f64 = 2.0;

impl Learner {
    /// For each component, an estimate of its distance from what the same updates would have made of it if no row had been given up, where
    /// one is its length.
    ///
    /// Two numbers are made, and the larger one counts. The length of every part of a component that goes with a row is followed: an update
    /// by a row with output `y` leaves `1 − η y²` of older losses, as it does of the component; what is projected away is orthogonal to all that is
    /// remembered, so squares add up, and what is dropped points where rows do, so lengths do. And where rows are projected, what the
    /// rows in memory have no room for is measured on the last 512 rows, and counts as far as the component has been learned anew since. A component that keeps a length of about one is never further
    /// away than its own length and one.
    ///
    /// It is a rough guide, of the right size within a factor of a few (DESIGN.md has trials). Where rows are dropped it is mostly too large: their parts
    /// do not all point the same way.
    ///
    /// ```
    /// use mercer::Kernel;
    /// use mercer::online::OnlineKernelPca;
    ///
    /// let lost = |budget: usize| -> mercer::Result<f64> {
    ///     let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5)?).n_components(1).budget(budget).learner()?;
    ///     for row in 0..1000 {
    ///         learner.learn_row(&[f64::from(row * 7 % 101) * 0.1])?;
    ///     }
    ///     Ok(learner.budget_error()?[0])
    /// };
    /// // The images of these rows span about ten directions.
    /// assert!(lost(2)? > 10.0 * lost(15)?);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the kernel is a function that fails.
    pub fn budget_error(&self) -> Result<Vec<f64>> {
        let last = match self.memory.as_ref().filter(|memory| memory.factor.is_some()) {
            Some(memory) => LastRows::of(self, memory, memory.factor.as_ref())?,
            None => None,
        };
        Ok(self.errors(last.as_ref()))
    }

    /// The distance of the running mean from the mean of the last rows (512, or as many as there have been), where one is the root of
    /// their variance.
    ///
    /// Where the mean is right, what noise leaves of it is below about 0.1, of fewer rows more. It is large where the budget has no room for a mean, and where
    /// rows have changed that all count alike (see [`forgetting`](super::OnlineKernelPca::forgetting)). Without centring there is no mean, and
    /// it is zero.
    ///
    /// ```
    /// use mercer::Kernel;
    /// use mercer::online::OnlineKernelPca;
    ///
    /// let learned = |budget: usize| -> mercer::Result<f64> {
    ///     let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5)?).n_components(1).budget(budget).learner()?;
    ///     for row in 0..2000 {
    ///         learner.learn_row(&[f64::from(row * 7 % 101) * 0.1])?;
    ///     }
    ///     learner.mean_drift()
    /// };
    /// // The images of these rows span about ten directions.
    /// assert!(learned(2)? > 0.2);
    /// assert!(learned(15)? < 0.05);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the kernel is a function that fails.
    pub fn mean_drift(&self) -> Result<f64> {
        let last = match self.memory.as_ref().filter(|_| self.is_centered()) {
            Some(memory) => LastRows::of(self, memory, None)?,
            None => None,
        };
        Ok(self.mean_apart(last.as_ref()).0)
    }

    /// What the budget has cost each component, how far the mean is from that of the last rows, and whether that is clearly more than noise.
    pub(super) fn losses(&self, memory: &Memory) -> Result<(Vec<f64>, (f64, bool))> {
        let factor = memory.factor.as_ref();
        let is_measured = factor.is_some() || self.is_centered();
        let last = if is_measured { LastRows::of(self, memory, factor)? } else { None };
        Ok((self.errors(last.as_ref()), self.mean_apart(last.as_ref())))
    }

    /// What the budget has cost each component: what was followed or, if that is more, what the last rows miss of it.
    fn errors(&self, last: Option<&LastRows>) -> Vec<f64> {
        let mut errors = self.followed_error.clone();
        let missing = last.and_then(|last| last.of_components.as_ref().map(|of| of.missing(&last.kernel)));
        for (p, (error, missing)) in errors.iter_mut().zip(missing.unwrap_or_default()).enumerate() {
            let so_far = missing * (1.0 - self.unsettled[p]);
            *error = error.max(so_far.min(1.0 + self.inner[(p, p)].max(0.0).sqrt()));
        }
        errors
    }

    /// The distance of the mean from that of the last rows, and whether it is clearly more than noise.
    fn mean_apart(&self, last: Option<&LastRows>) -> (f64, bool) {
        let Some(last) = last.filter(|_| self.is_centered()) else { return (0.0, false) };
        let n = last.kernel.nrows();
        let own = (0..n).map(|i| last.kernel[(i, i)]).sum::<f64>() / n as f64;
        let others = over_pairs(&last.kernel, |_, _, k| k).0;
        let from_mean = |i: usize, j: usize, k: f64| k - last.with_mean[i] - last.with_mean[j] + self.mean_squared;
        let (squared, error) = over_pairs(&last.kernel, from_mean);
        let variance = own - others;
        let apart = if variance > 0.0 { (squared.max(0.0) / variance).sqrt() } else { 0.0 };
        (apart, squared > CLEARLY * error)
    }

    fn n_recent(&self) -> usize {
        self.n_features().map_or(0, |d| self.recent.values().len() / d)
    }
}

/// The mean over pairs of different rows of what `value` makes of their entry, and its standard error if rows have nothing in common.
fn over_pairs(matrix: &Mat<f64>, value: impl Fn(usize, usize, f64) -> f64) -> (f64, f64) {
    let n = matrix.nrows();
    let (mut sum, mut squares) = (0.0, 0.0);
    for j in 0..n {
        for i in (0..n).filter(|&i| i != j) {
            let value = value(i, j, matrix[(i, j)]);
            sum += value;
            squares += value * value;
        }
    }
    let pairs = (n * (n - 1)) as f64;
    (sum / pairs, (2.0 * squares).sqrt() / pairs)
}

/// What the last rows are to one another and to the mean.
struct LastRows {
    /// The kernel of each with each.
    kernel: Mat<f64>,
    /// Inner products with the running mean.
    with_mean: Vec<f64>,
    /// What only the components ask for, if it was asked for.
    of_components: Option<OfComponents>,
}

/// What the last rows are to the components and to the rows in memory.
struct OfComponents {
    /// Outputs, one row each.
    outputs: Mat<f64>,
    /// `z_i`, one column each.
    halves: Mat<f64>,
}

impl LastRows {
    /// With a factor, what components ask for is among it. Nothing if there are too few rows to have pairs.
    fn of(learner: &Learner, memory: &Memory, factor: Option<&Factor>) -> Result<Option<Self>> {
        let (n, d) = (learner.n_recent(), memory.rows.n_features());
        if n < 2 {
            return Ok(None);
        }
        let mut last = Memory::new(learner.settings.kernel.clone(), d, 0, None);
        for (i, row) in learner.recent.values().chunks_exact(d).enumerate() {
            last.push(row, learner.square(row, i)?, i + 1);
        }
        let (mut kernel, mut with_mean) = (Mat::<f64>::zeros(n, n), Vec::with_capacity(n));
        let mut of_components = factor.map(|factor| OfComponents {
            outputs: Mat::zeros(n, memory.components.len()),
            halves: Mat::zeros(factor.len(), n),
        });
        let (mut block, mut own, mut half) = (Block::default(), Block::default(), Vec::new());
        for (first, rows) in learner.recent.values().chunks(learner.rows_ahead() * d).enumerate() {
            block.load(rows.to_vec(), memory)?;
            own.load(rows.to_vec(), &last)?;
            for at in 0..block.len() {
                let (i, k) = (first * learner.rows_ahead() + at, block.values(at, memory));
                memory.rows.check_row(k, i)?;
                with_mean.push(passes::product(memory.isa, &memory.mean, k));
                last.rows.check_row(own.values(at, &last), i)?;
                own.values(at, &last)[..n].iter().enumerate().for_each(|(j, &value)| kernel[(j, i)] = value);
                if let (Some(of), Some(factor)) = (&mut of_components, factor) {
                    let (outputs, _) = learner.image(memory, &block, at, i)?;
                    factor.forward(1, |slot, _| k[slot], &mut half);
                    of.take(i, &outputs, &half);
                }
            }
        }
        Ok(Some(Self { kernel, with_mean, of_components }))
    }
}

impl OfComponents {
    /// Takes down what row `i` is.
    fn take(&mut self, i: usize, outputs: &[f64], half: &[f64]) {
        outputs.iter().enumerate().for_each(|(p, &y)| self.outputs[(i, p)] = y);
        half.iter().enumerate().for_each(|(g, &z)| self.halves[(g, i)] = z);
    }

    /// Of each component, the part that the rows in memory have no room for, where the last rows have these kernel values.
    fn missing(&self, kernel: &Mat<f64>) -> Vec<f64> {
        let (n, p) = self.outputs.shape();
        let left = kernel - small_product(self.halves.transpose(), self.halves.as_ref());
        let missing = (0..p).map(|p| {
            let y = |i: usize| self.outputs[(i, p)];
            let (squared, error) = over_pairs(&left, |i, j, product| y(i) * y(j) * product);
            let variance = (0..n).map(|i| y(i) * y(i)).sum::<f64>() / n as f64;
            if squared > CLEARLY * error && variance > 0.0 { squared.sqrt() / variance } else { 0.0 }
        });
        missing.collect()
    }
}
