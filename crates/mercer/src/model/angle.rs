//! The angle between what two models learned from the same points.
//!
//! **Cost**: as scoring the points with each of the models; memory `O(n k)`, never `n × n`.
//!
//! # Method
//!
//! Components are combinations `U = Φ A` and `W = Φ B` of the centred images `Φ` of the same points, so inner products in feature
//! space are `UᵀW = Aᵀ K̃ B`, and `K̃ B` are the training points' scores. With `X = (UᵀU)⁻¹ UᵀW`, the part of `W` outside the span
//! of `U` is `W − U X`, and the sine of the largest principal angle is its largest singular value relative to `W`:
//!
//! ```text
//! sin² θ = λ_max( L⁻¹ Dᵀ K̃ D L⁻ᵀ ),   D = B − A X,   WᵀW = L Lᵀ
//! ```
//!
//! # Numerics
//!
//! The cosine of a small angle is one to working precision, so the sine is computed, from differences of vectors. `UᵀU` and `WᵀW`
//! are computed and not taken to be the identity: components that have not converged are not quite orthogonal.
//!
//! Models over other basis points than the training points have no coefficients that could be subtracted. There
//! `‖(W − U X) z‖²` is made of products of each basis with both, in double precision; it is a difference of numbers near one, so
//! angles below 1e-7 or so are rounding.

use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, MatRef, Side};

use super::{BasisKind, Model};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::gram::slab_product;
use crate::kernel::Kernel;
use crate::record::KernelRecord;
use crate::scalar::Precision;
use crate::watch::{Threads, Watch};

impl Model {
    /// The largest principal angle, in radians, between the spans of two models' components in feature space.
    ///
    /// Both models must have been fitted to `points`, as they are, with the same kernel; a model of
    /// [`BasisKind::Representatives`](crate::BasisKind) may have been fitted to any. If one has fewer components than the other, it is the
    /// largest angle that its span makes with the other's.
    ///
    /// ```
    /// use mercer::nystrom::{Nystrom, NystromPca};
    /// use mercer::watch::{Threads, Watch};
    /// use mercer::{Kernel, KernelPca, Points};
    ///
    /// let points = Points::from_f64((0..120).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 60, 2)?;
    /// let kernel = Kernel::gaussian(0.5)?;
    /// let fit = |n_components| KernelPca::new(kernel.clone()).n_components(n_components).fit(&points);
    /// let (two, three) = (fit(2)?, fit(3)?);
    /// let (threads, watch) = (Threads::new(1)?, Watch::new());
    /// // What two components span lies within what three span; an approximation lies beside it.
    /// assert!(two.largest_angle(&three, &points, &threads, &watch)? < 1e-6);
    /// let rough = NystromPca::new(Nystrom::new(kernel.clone()).n_landmarks(4)).fit(&points)?;
    /// assert!(two.largest_angle(&rough, &points, &threads, &watch)? > 1e-3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the models have different kernels or numbers of points, the kernel is not positive semi-definite on these points, or the
    /// run was stopped.
    pub fn largest_angle(&self, other: &Self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<f64> {
        if self.n_components() < other.n_components() {
            return other.largest_angle(self, points, threads, watch);
        }
        check_same(self, other, points)?;
        let (a, b) = (self.folded_coefficients(), other.folded_coefficients());
        let context = self.context_for(points, threads, watch)?;
        let over_points = [self, other].iter().all(|model| model.basis_kind() == BasisKind::TrainingSet);
        let sine_squared = if over_points {
            let (scores_a, scores_b) = (self.scores(points, &context)?, other.scores(points, &context)?);
            // On these threads: faer would otherwise start a pool that outlives the run.
            threads.run(|| sine_squared((a.as_ref(), scores_a.as_ref()), (b.as_ref(), scores_b.as_ref())))
        } else {
            let image = |at: &Self, of: &Self, c: &Mat<f64>| {
                slab_product(self.kernel(), at.basis(), of.basis(), c.as_ref(), Precision::F64, &context)
            };
            let images = [
                [image(self, self, &a)?, image(self, other, &b)?],
                [image(other, self, &a)?, image(other, other, &b)?],
            ];
            threads.run(|| sine_squared_of_bases(a.as_ref(), b.as_ref(), &images))
        };
        let sine_squared = sine_squared.ok_or_else(|| Error::UnsuitableKernel {
            what: "the angle between subspaces",
            kernel: self.kernel().name().to_owned(),
            reason: "it is not positive semi-definite, so there are no angles",
        })?;
        Ok(sine_squared.clamp(0.0, 1.0).sqrt().asin())
    }
}

/// As [`sine_squared`], for components over different points: `images[p][q]` is the product of the components of span `q` with the
/// images of the basis points of span `p`.
fn sine_squared_of_bases(a: MatRef<'_, f64>, b: MatRef<'_, f64>, images: &[[Mat<f64>; 2]; 2]) -> Option<f64> {
    let [[aa, ab], [ba, bb]] = images;
    let solver = Llt::new(symmetric_inner(a, aa.as_ref()).as_ref(), Side::Lower).ok()?;
    let x = solver.solve(inner(a, ab.as_ref()));
    // What is left of the second span, multiplied with the basis points of either.
    let outside_at_a = subtract(ab.as_ref(), inner(aa.transpose(), x.as_ref()).as_ref());
    let outside_at_b = subtract(bb.as_ref(), inner(ba.transpose(), x.as_ref()).as_ref());
    let projected = inner(a.transpose(), x.as_ref());
    let norms = subtract(
        symmetric_inner(b, outside_at_b.as_ref()).as_ref(),
        symmetric_inner(projected.as_ref(), outside_at_a.as_ref()).as_ref(),
    );
    largest_relative_eigenvalue(&norms, &symmetric_inner(b, bb.as_ref()))
}

/// The squared sine of the largest angle that the second span makes with the first, each given by coefficients and scores;
/// nothing if the inner product is not one.
fn sine_squared(
    (a, scores_a): (MatRef<'_, f64>, MatRef<'_, f64>),
    (b, scores_b): (MatRef<'_, f64>, MatRef<'_, f64>),
) -> Option<f64> {
    let solver = Llt::new(symmetric_inner(a, scores_a).as_ref(), Side::Lower).ok()?;
    let x = solver.solve(inner(a, scores_b));
    let outside = subtract(b, inner(a.transpose(), x.as_ref()).as_ref());
    let outside_scores = subtract(scores_b, inner(scores_a.transpose(), x.as_ref()).as_ref());
    let outside_norms = symmetric_inner(outside.as_ref(), outside_scores.as_ref());
    largest_relative_eigenvalue(&outside_norms, &symmetric_inner(b, scores_b))
}

fn check_same(a: &Model, b: &Model, points: &Points) -> Result<()> {
    let description = |model: &Model| (KernelRecord::from(model.kernel()), model.record().centered);
    if description(a) != description(b) {
        let requirement = format!("the kernel of the other model, {}, centred alike", b.kernel().name());
        return Err(Error::invalid("kernel", requirement, a.kernel().name()));
    }
    for model in [a, b].into_iter().filter(|model| model.basis_kind() == BasisKind::TrainingSet) {
        // Basis points of a precomputed kernel are not kept.
        let found =
            if matches!(model.kernel(), Kernel::Precomputed) { model.n_samples() } else { model.basis().n_samples() };
        if found != points.n_samples() {
            let requirement = format!("those the model was fitted to ({found})");
            return Err(Error::invalid("points", requirement, points.n_samples()));
        }
    }
    Ok(())
}

/// `xᵀ y`.
fn inner(x: MatRef<'_, f64>, y: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(x.ncols(), y.ncols());
    faer::linalg::matmul::matmul(product.as_mut(), faer::Accum::Replace, x.transpose(), y, 1.0, faer::Par::Seq);
    product
}

/// `xᵀ y`, which is symmetric up to rounding, made exactly so.
fn symmetric_inner(x: MatRef<'_, f64>, y: MatRef<'_, f64>) -> Mat<f64> {
    let product = inner(x, y);
    Mat::from_fn(product.nrows(), product.ncols(), |i, j| 0.5 * (product[(i, j)] + product[(j, i)]))
}

fn subtract(x: MatRef<'_, f64>, y: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] - y[(i, j)])
}

/// The largest `λ` with `a v = λ b v` for symmetric `a` and positive definite `b`; nothing if `b` is not.
fn largest_relative_eigenvalue(a: &Mat<f64>, b: &Mat<f64>) -> Option<f64> {
    let factor = Llt::new(b.as_ref(), Side::Lower).ok()?;
    let l = factor.L();
    let half = solve_lower(l, a.as_ref());
    let whole = solve_lower(l, half.transpose());
    let symmetric = Mat::from_fn(whole.nrows(), whole.ncols(), |i, j| 0.5 * (whole[(i, j)] + whole[(j, i)]));
    let values = symmetric.self_adjoint_eigenvalues(Side::Lower).ok()?;
    values.into_iter().reduce(f64::max)
}

/// `l⁻¹ x` for a lower triangular matrix.
fn solve_lower(l: MatRef<'_, f64>, x: MatRef<'_, f64>) -> Mat<f64> {
    let mut solution = x.to_owned();
    faer::linalg::triangular_solve::solve_lower_triangular_in_place(l, solution.as_mut(), faer::Par::Seq);
    solution
}
