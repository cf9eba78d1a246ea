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
//!   variance. It is taken with `v_i = y_i ρ_i`, and `ρ_i·ρ_j = k(x_i, x_j) − z_i·z_j` with `L z_i = k_i` and `L` the
//!   [factor](super::factor). What is within twice its standard error, `√(2 Σ_{i≠j} (v_i·v_j)²) / (n (n − 1))`, is left out.
//!
//! What is lost points the same way again and again, so the squares of single losses, which [`note_loss`](Learner::note_loss) adds up,
//! say too little where the budget is small.
//!
//! **Cost**: `n²` kernel values and `n² m` products for at most 512 rows and `m` rows in memory, when it is asked for; nothing while rows
//! are learned.

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
    /// rows in memory have no room for is measured on the last 512 rows. A component that keeps a length of about one is never further
    /// away than its own length and one.
    ///
    /// It is a rough guide, of the right size within a factor of a few (DESIGN.md has trials).
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
        let mut errors = self.followed_error.clone();
        if let Some(missing) = self.missing()? {
            for (p, (error, missing)) in errors.iter_mut().zip(missing).enumerate() {
                *error = error.max(missing.min(1.0 + self.inner[(p, p)].max(0.0).sqrt()));
            }
        }
        Ok(errors)
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
    ///     learner.mean_error()
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
    pub fn mean_error(&self) -> Result<f64> {
        Ok(self.mean_apart()?.0)
    }

    /// That distance, and whether it is clearly more than noise.
    pub(super) fn mean_apart(&self) -> Result<(f64, bool)> {
        let Some(memory) = self.memory.as_ref().filter(|_| self.is_centered() && self.n_recent() > 1) else {
            return Ok((0.0, false));
        };
        let last = LastRows::of(self, memory)?;
        let n = last.kernel.nrows();
        let own = (0..n).map(|i| last.kernel[(i, i)]).sum::<f64>() / n as f64;
        let others = over_pairs(&last.kernel, |_, _, k| k).0;
        let from_mean = |i: usize, j: usize, k: f64| k - last.with_mean[i] - last.with_mean[j] + self.mean_squared;
        let (squared, error) = over_pairs(&last.kernel, from_mean);
        let variance = own - others;
        let apart = if variance > 0.0 { (squared.max(0.0) / variance).sqrt() } else { 0.0 };
        Ok((apart, squared > CLEARLY * error))
    }

    /// Of each component, the part that the rows in memory have no room for, if rows are projected.
    fn missing(&self) -> Result<Option<Vec<f64>>> {
        let Some(memory) = self.memory.as_ref().filter(|memory| memory.factor.is_some() && self.n_recent() > 1) else {
            return Ok(None);
        };
        let last = LastRows::of(self, memory)?;
        let (n, p) = last.outputs.shape();
        let left = &last.kernel - small_product(last.halves.transpose(), last.halves.as_ref());
        let missing = (0..p).map(|p| {
            let y = |i: usize| last.outputs[(i, p)];
            let (squared, error) = over_pairs(&left, |i, j, product| y(i) * y(j) * product);
            let variance = (0..n).map(|i| y(i) * y(i)).sum::<f64>() / n as f64;
            if squared > CLEARLY * error && variance > 0.0 { squared.sqrt() / variance } else { 0.0 }
        });
        Ok(Some(missing.collect()))
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

/// What the last rows are to one another, to the components and to the rows in memory.
struct LastRows {
    /// The kernel of each with each.
    kernel: Mat<f64>,
    /// Outputs, one row each.
    outputs: Mat<f64>,
    /// Inner products with the running mean.
    with_mean: Vec<f64>,
    /// `z_i`, one column each; empty if there is no factor.
    halves: Mat<f64>,
}

impl LastRows {
    fn of(learner: &Learner, memory: &Memory) -> Result<Self> {
        let (n, d) = (learner.n_recent(), memory.rows.n_features());
        let mut last = Memory::new(learner.settings.kernel.clone(), d, 0, false);
        let mut kernel = Mat::zeros(n, n);
        let mut outputs = Mat::zeros(n, memory.components.len());
        let mut halves = Mat::zeros(memory.factor.as_ref().map_or(0, Factor::len), n);
        let (mut with_mean, mut half) = (Vec::with_capacity(n), Vec::new());
        for (i, row) in learner.recent.values().chunks_exact(d).enumerate() {
            last.push(row, learner.square(row, i)?, i + 1);
        }
        let (mut block, mut own) = (Block::default(), Block::default());
        for (first, rows) in learner.recent.values().chunks(learner.rows_ahead() * d).enumerate() {
            block.load(rows.to_vec(), memory)?;
            own.load(rows.to_vec(), &last)?;
            for at in 0..block.len() {
                let (i, k) = (first * learner.rows_ahead() + at, block.values(at, memory));
                let (image, _) = learner.image(memory, &block, at, i)?;
                image.into_iter().enumerate().for_each(|(p, y)| outputs[(i, p)] = y);
                with_mean.push(passes::product(memory.isa, &memory.mean, k));
                last.rows.check_row(own.values(at, &last), i)?;
                own.values(at, &last)[..n].iter().enumerate().for_each(|(j, &value)| kernel[(j, i)] = value);
                if let Some(factor) = &memory.factor {
                    factor.forward(1, |slot, _| k[slot], &mut half);
                    half.iter().enumerate().for_each(|(g, &z)| halves[(g, i)] = z);
                }
            }
        }
        Ok(Self { kernel, outputs, with_mean, halves })
    }
}
