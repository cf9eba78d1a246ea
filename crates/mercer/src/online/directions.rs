//! Orthonormal directions inside the span of the components, in the order of the variance along them.
//!
//! # Method
//!
//! Components as a rule leaves them are nearly orthonormal and nearly ordered. With `P = w·w` their inner products and `M` the mean of
//! `y yᵀ` over the [last rows](super::recent) (a model that components [began as](super::warm) stands for those that have not come yet, with its
//! variances along the components that were its own), outputs `y` being those of components as they are now, the solutions of `M u = λ P u` with
//! `uᵀ P u = 1` are directions `Σ_p u_p w_p` of length one in the same span, orthogonal to one another, with variances `λ` along them:
//! Rayleigh and Ritz. No direction in the span has a larger variance than the first. `P = R Rᵀ` makes it the ordinary problem of
//! `R⁻¹ M R⁻ᵀ`, whose eigenvectors `v` give `u = R⁻ᵀ v`. Components that depend on others are left out, as by the [`span`](super::span):
//! there are as many directions as the span has.

use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatRef, Par};

use super::block::Block;
use super::learner::Learner;
use super::memory::Memory;
use super::span::Span;
use crate::eigen::{Order, small_eigen, small_product};
use crate::error::{Error, Result};

/// The variance that a learner's components hold.
///
/// ```
/// use mercer::online::{OnlineKernelPca, OnlineLearner};
/// use mercer::{Kernel, Points};
///
/// let rows = Points::from_f64((0..400).map(|i| f64::from(i * i % 101) * 0.02).collect::<Vec<_>>(), 200, 2)?;
/// let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5)?).n_components(2).learner()?;
/// learner.learn(&rows)?;
/// let captured = learner.captured()?;
/// assert!(captured.variances[0] >= captured.variances[1]);
/// assert!(captured.ratio().iter().sum::<f64>() <= 1.0);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    /// The variances of the last rows along the directions of the [model](Learner::model), in decreasing order: fewer than components if
    /// some of those depend on others or have not begun.
    pub variances: Vec<f64>,
    /// The mean of the squared lengths of their centred images: what the variances of all directions there are would add up to.
    pub total_variance: f64,
}

impl Captured {
    /// The share of the total variance along each direction.
    pub fn ratio(&self) -> Vec<f64> {
        let share = |variance: &f64| if self.total_variance > 0.0 { variance / self.total_variance } else { 0.0 };
        self.variances.iter().map(share).collect()
    }
}

/// Orthonormal, ordered directions.
pub(super) struct Directions {
    pub(super) captured: Captured,
    /// Each direction as a combination of the components, one column each.
    pub(super) combinations: Mat<f64>,
}

impl Directions {
    /// Coefficients of the directions over the rows in memory, one column each.
    pub(super) fn coefficients(&self, memory: &Memory) -> Mat<f64> {
        let components = Mat::from_fn(memory.len(), memory.components.len(), |i, j| memory.components[j][i]);
        small_product(components.as_ref(), self.combinations.as_ref())
    }
}

impl Learner {
    /// How much of the variance of the last rows (512, or as many as there have been) the components as they are now hold, along the
    /// directions of the [model](Self::model). A model that components [began as](super::OnlineKernelPca::learner_from) stands for those of the 512
    /// that have not come yet, with its own variances.
    ///
    /// [`variances`](Self::variances) are something else: of each component as it is learned, over all rows, each with the output that it
    /// had when it was learned.
    ///
    /// # Errors
    ///
    /// As [`model`](Self::model).
    pub fn captured(&self) -> Result<Captured> {
        Ok(self.directions()?.1.captured)
    }

    /// Orthonormal, ordered directions in the span of the components, and the rows in memory that they are written with.
    pub(super) fn directions(&self) -> Result<(&Memory, Directions)> {
        let p = self.settings.n_components;
        let memory = match &self.memory {
            _ if self.n_counted() == 0 => return Err(Error::TooFewRows { needed: 1, found: 0 }),
            // There are as many directions as components have begun, however few rows that are.
            Some(memory) if self.started > 0 => memory,
            _ => {
                let requirement = format!(
                    "at most the number of different rows so far whose kernel with themselves is positive ({})",
                    self.started
                );
                return Err(Error::invalid("n_components", requirement, p));
            }
        };
        let span = Span::of(&self.inner);
        let (kept, r) = (span.kept(), span.factor());
        if kept.is_empty() {
            return Err(self.nothing_left());
        }
        let (moments, total_variance) = self.moments(memory)?;
        let moments = Mat::from_fn(kept.len(), kept.len(), |i, j| moments[(kept[i], kept[j])]);
        let (values, mut own) = small_eigen(whitened(r.as_ref(), moments).as_ref(), Order::Algebraic)?;
        solve_upper_triangular_in_place(r.transpose(), own.as_mut(), Par::Seq);
        let mut combinations = Mat::zeros(p, kept.len());
        for (i, &component) in kept.iter().enumerate() {
            combinations.row_mut(component).copy_from(own.row(i));
        }
        let variances = values.into_iter().map(|value| value.max(0.0)).collect();
        Ok((memory, Directions { captured: Captured { variances, total_variance }, combinations }))
    }

    /// No component has a length: rows have gone with all of it, or the kernel gives them none.
    fn nothing_left(&self) -> Error {
        let has_lost = self.drops_rows() || self.followed_error.iter().any(|&lost| lost > 0.0);
        match self.settings.budget.filter(|_| has_lost) {
            Some(budget) => Error::invalid("budget", "large enough for a component to keep its length", budget),
            None => Error::UnsuitableKernel {
                what: "a model of what was learned",
                kernel: self.settings.kernel.name().to_owned(),
                reason: "no component has a positive length in its inner product",
            },
        }
    }

    /// Mean products of the outputs of the last rows, or of what a model says of those that have not come, and the mean of their squared lengths.
    fn moments(&self, memory: &Memory) -> Result<(Mat<f64>, f64)> {
        let p = self.settings.n_components;
        let (mut moments, mut total, mut n) = (Mat::<f64>::zeros(p, p), 0.0, 0.0);
        let mut block = Block::default();
        for rows in self.recent.values().chunks(self.rows_ahead() * memory.rows.n_features()) {
            block.load(rows.to_vec(), memory)?;
            for i in 0..block.len() {
                let (outputs, length_squared) = self.image(memory, &block, i, 0)?;
                for (a, x) in outputs.iter().enumerate() {
                    for (b, y) in outputs.iter().enumerate() {
                        moments[(a, b)] += x * y;
                    }
                }
                total += length_squared.max(0.0);
                n += 1.0;
            }
        }
        let missing = self.recent.n_missing(memory.rows.n_features()).min(self.n_before()) as f64;
        if missing > 0.0 {
            let stand_in = self.moments_of_the_model();
            moments += faer::Scale(missing) * stand_in;
        }
        total += missing * self.total_variance;
        n += missing;
        let share = if n > 0.0 { 1.0 / n } else { 0.0 };
        Ok((faer::Scale(share) * moments, share * total))
    }
}

impl Learner {
    /// What the model that components began as says of a row that has not come, in terms of the components as they are now.
    ///
    /// It knows variances along those that were its own, which may have come to lean towards one another since: a variance `v` along a component `w` of
    /// squared length `l` is the operator `v w wᵀ / l²`, in which all components have a part. One that dropped rows have made shorter is what is left of a
    /// component of length one: along it is that share, `l`, of the variance. All together there is no more than the total variance.
    fn moments_of_the_model(&self) -> Mat<f64> {
        let p = self.settings.n_components;
        let length = |c: usize| self.inner[(c, c)];
        let is_its_own = |c: usize| c < self.started && self.began[c] == 0 && length(c) > 0.0;
        let share_along = |c: usize| length(c).min(1.0 / length(c));
        let along: Vec<f64> =
            (0..p).map(|c| if is_its_own(c) { self.variances[c] * share_along(c) } else { 0.0 }).collect();
        let sum: f64 = along.iter().sum();
        let share = if sum > self.total_variance { self.total_variance / sum } else { 1.0 };
        let leaning = Mat::from_fn(p, p, |a, c| {
            if is_its_own(c) { self.inner[(a, c)] * (share * along[c] / length(c)).sqrt() } else { 0.0 }
        });
        small_product(leaning.as_ref(), leaning.transpose())
    }
}

/// `R⁻¹ M R⁻ᵀ` for a symmetric `M`.
fn whitened(r: MatRef<'_, f64>, mut moments: Mat<f64>) -> Mat<f64> {
    solve_lower_triangular_in_place(r, moments.as_mut(), Par::Seq);
    let mut both = moments.transpose().to_owned();
    solve_lower_triangular_in_place(r, both.as_mut(), Par::Seq);
    // Symmetric but for rounding.
    Mat::from_fn(both.nrows(), both.ncols(), |i, j| 0.5 * (both[(i, j)] + both[(j, i)]))
}

#[cfg(test)]
mod tests {
    use crate::error::Error;
    use crate::kernel::Kernel;
    use crate::online::{OnlineKernelPca, Policy};

    /// What is said of components without a length.
    fn refusal(policy: Policy, lost: f64) -> Error {
        let settings = OnlineKernelPca::new(Kernel::linear()).n_components(1).budget(5).policy(policy);
        let mut learner = settings.learner().expect("settings fit together");
        learner.learn_row(&[1.0, 2.0]).expect("a finite row");
        learner.inner[(0, 0)] = 0.0;
        learner.followed_error[0] = lost;
        learner.captured().expect_err("no direction is left")
    }

    #[test]
    fn a_budget_that_has_cost_nothing_is_not_blamed_for_components_without_a_length() {
        assert!(matches!(refusal(Policy::Project, 0.0), Error::UnsuitableKernel { .. }));
        for (policy, lost) in [(Policy::Project, 0.5), (Policy::Oldest, 0.0), (Policy::Smallest, 0.0)] {
            let error = refusal(policy, lost);
            assert!(matches!(error, Error::InvalidParameter { name: "budget", .. }), "{policy}: {error}");
        }
    }
}
