//! Sums over explicit features: a kernel that is an inner product of finitely many monomials.
//!
//! # Method
//!
//! With `K = Z W Zᵀ`, where a row of `Z` holds the monomials of a point and `W` is diagonal, `K(targets, sources) u` is
//! `Z_targets (W (Zᵀ_sources u))`. A block of rows of `Z` is made in the cache, one column of it from an earlier one, and multiplied
//! with all vectors at once.
//!
//! **Cost** of a product with `b` vectors: `(sources + targets) · terms · (b + 1)` multiply-adds. **Memory**: a block of `Z` per
//! thread and `terms · b` coefficients.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::{Engine, Monomials, Places};
use crate::data::Points;
use crate::error::Result;
use crate::memory::Buffer;
use crate::simd::{Isa, Job, Target};
use crate::watch::Context;

/// Rows of `Z` that are made at a time.
pub(super) const BLOCK: usize = 256;
/// Rows are cut into chunks whose number depends on the number of rows only; their sums are added up in order.
const MAX_CHUNKS: usize = 64;
const MIN_CHUNK: usize = 1024;

/// Monomials of points about a centre, each with a factor, and their weights.
pub(super) struct Features {
    monomials: Monomials,
    /// What is subtracted from a point; nothing if empty.
    center: Vec<f64>,
    /// What coordinates are multiplied with.
    scale: f64,
    /// What each monomial is multiplied with when it is made from its parent.
    factors: Vec<f64>,
    /// The diagonal of `W`.
    weights: Vec<f64>,
    /// The first monomial with a weight that is not zero.
    first: usize,
    /// Whether the constant is replaced by `exp(-‖x‖²/2)` of the scaled point.
    bell: bool,
    isa: Isa,
}

impl Features {
    /// Monomials times roots of multinomial coefficients, those of degree `k` with weight `weights[k]`.
    pub(super) fn polynomial(monomials: Monomials, scale: f64, by_degree: &[f64]) -> Self {
        let factors = (0..monomials.len())
            .map(|term| (monomials.degree_of(term) as f64 / monomials.power(term).max(1.0)).sqrt())
            .collect();
        let weights: Vec<f64> = (0..monomials.len()).map(|term| by_degree[monomials.degree_of(term)]).collect();
        let first = weights.iter().position(|&weight| weight != 0.0).unwrap_or(0);
        Self { monomials, center: Vec::new(), scale, factors, weights, first, bell: false, isa: Isa::detect() }
    }

    /// `e^{-s²‖x - c‖²/2}` times monomials of `s (x - c)` over roots of the factorials of their powers: features of a Gaussian.
    pub(super) fn gaussian(monomials: Monomials, center: Vec<f64>, scale: f64) -> Self {
        let factors = (0..monomials.len()).map(|term| 1.0 / monomials.power(term).max(1.0).sqrt()).collect();
        let weights = vec![1.0; monomials.len()];
        Self { monomials, center, scale, factors, weights, first: 0, bell: true, isa: Isa::detect() }
    }

    /// Terms that have a weight.
    pub(super) fn terms(&self) -> usize {
        self.monomials.len() - self.first
    }

    /// The weights, one per term.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights[self.first..]
    }

    /// Room for a block of features.
    pub(super) fn scratch(&self) -> Scratch {
        Scratch {
            z: Buffer::zeroed(BLOCK * self.monomials.len()),
            coordinates: Buffer::zeroed(BLOCK * self.monomials.n_variables()),
        }
    }

    /// The features of some points (row by row in `x`), one row each, without weights.
    pub(super) fn fill<'s>(&self, x: &[f64], scratch: &'s mut Scratch) -> MatRef<'s, f64> {
        self.fill_about(&self.center, x, scratch)
    }

    /// The same about another centre; at most [`BLOCK`] points.
    pub(super) fn fill_about<'s>(&self, center: &[f64], x: &[f64], scratch: &'s mut Scratch) -> MatRef<'s, f64> {
        let rows = x.len() / self.monomials.n_variables();
        let Scratch { z, coordinates } = scratch;
        self.isa.run(Fill { features: self, center, x, rows, z, coordinates });
        let used = &scratch.z[self.first * rows..self.monomials.len() * rows];
        MatRef::from_column_major_slice(used, rows, self.terms())
    }

    /// All features of some points.
    pub(super) fn matrix(&self, points: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        let mut all = Mat::zeros(points.n_samples(), self.terms());
        self.for_blocks(points, all.as_mut(), context, |z, mut out| out.copy_from(z))?;
        Ok(all)
    }

    /// The mean of the weighted features, and the sum of their products about it (or about zero).
    pub(super) fn moments(
        &self,
        points: &Points,
        centered: bool,
        context: &Context<'_>,
    ) -> Result<(Vec<f64>, Mat<f64>)> {
        let (n, m) = (points.n_samples(), self.terms());
        let roots: Vec<f64> = self.weights().iter().map(|weight| weight.sqrt()).collect();
        let mut mean = vec![0.0; m];
        if centered {
            let sums = self.compress(&Places::Rows(points.clone()), Mat::full(n, 1, 1.0).as_ref(), context)?;
            for (mean, (sum, root)) in mean.iter_mut().zip(sums.col(0).iter().zip(&roots)) {
                *mean = if *root > 0.0 { sum / root / n as f64 } else { 0.0 };
            }
        }
        let chunk = n.div_ceil(MAX_CHUNKS).max(MIN_CHUNK);
        let parts: Vec<Result<Mat<f64>>> = context.threads.run(|| {
            (0..n.div_ceil(chunk))
                .into_par_iter()
                .map(|part| {
                    let mut scratch = self.scratch();
                    let mut sum = Mat::zeros(m, m);
                    let end = n.min((part + 1) * chunk);
                    for first in (part * chunk..end).step_by(BLOCK) {
                        context.check()?;
                        let rows = BLOCK.min(end - first);
                        let z = self.fill(&points.rows(first..first + rows).to_f64(), &mut scratch);
                        let own = Mat::from_fn(rows, m, |i, j| z[(i, j)] * roots[j] - mean[j]);
                        matmul(sum.as_mut(), Accum::Add, own.transpose(), own.as_ref(), 1.0, Par::Seq);
                    }
                    Ok(sum)
                })
                .collect()
        });
        let mut sum = Mat::zeros(m, m);
        for part in parts {
            sum += part?;
        }
        Ok((mean, sum))
    }

    /// Calls `work` with every block of features and the rows of `out` that belong to it.
    fn for_blocks(
        &self,
        points: &Points,
        out: MatMut<'_, f64>,
        context: &Context<'_>,
        work: impl Fn(MatRef<'_, f64>, MatMut<'_, f64>) + Sync,
    ) -> Result<()> {
        context.threads.run(|| {
            out.par_row_chunks_mut(BLOCK).enumerate().try_for_each_init(
                || self.scratch(),
                |scratch, (block, rows)| {
                    context.check()?;
                    let first = block * BLOCK;
                    let x = points.rows(first..first + rows.nrows()).to_f64();
                    work(self.fill(&x, scratch), rows);
                    Ok(())
                },
            )
        })
    }
}

/// Room for a block of features of one thread.
pub(super) struct Scratch {
    z: Buffer<f64>,
    coordinates: Buffer<f64>,
}

impl Engine for Features {
    fn place(&self, points: &Points, _: &Context<'_>) -> Places {
        Places::Rows(points.clone())
    }

    fn compress(&self, places: &Places, vectors: MatRef<'_, f64>, context: &Context<'_>) -> Result<Mat<f64>> {
        let points = places.rows();
        let (n, b) = (points.n_samples(), vectors.ncols());
        let chunk = n.div_ceil(MAX_CHUNKS).max(MIN_CHUNK);
        let parts: Vec<Result<Mat<f64>>> = context.threads.run(|| {
            (0..n.div_ceil(chunk))
                .into_par_iter()
                .map(|part| {
                    let mut scratch = self.scratch();
                    let mut sum = Mat::zeros(self.terms(), b);
                    let end = n.min((part + 1) * chunk);
                    for first in (part * chunk..end).step_by(BLOCK) {
                        context.check()?;
                        let rows = BLOCK.min(end - first);
                        let z = self.fill(&points.rows(first..first + rows).to_f64(), &mut scratch);
                        let u = vectors.subrows(first, rows);
                        matmul(sum.as_mut(), Accum::Add, z.transpose(), u, 1.0, Par::Seq);
                    }
                    Ok(sum)
                })
                .collect()
        });
        let mut sum = Mat::zeros(self.terms(), b);
        for part in parts {
            sum += part?;
        }
        let weights = self.weights();
        for j in 0..b {
            sum.col_mut(j).iter_mut().zip(weights).for_each(|(sum, weight)| *sum *= weight);
        }
        Ok(sum)
    }

    fn evaluate(
        &self,
        coefficients: MatRef<'_, f64>,
        places: &Places,
        out: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        self.for_blocks(places.rows(), out, context, |z, rows| {
            matmul(rows, Accum::Replace, z, coefficients, 1.0, Par::Seq);
        })
    }
}

/// Makes a block of features: a column of `z` per monomial.
struct Fill<'a> {
    features: &'a Features,
    center: &'a [f64],
    x: &'a [f64],
    rows: usize,
    z: &'a mut [f64],
    coordinates: &'a mut [f64],
}

impl Job for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { features, center, x, rows, z, coordinates } = self;
        let d = features.monomials.n_variables();
        for j in 0..d {
            let center = center.get(j).copied().unwrap_or(0.0);
            for (i, at) in coordinates[j * rows..(j + 1) * rows].iter_mut().enumerate() {
                *at = (x[i * d + j] - center) * features.scale;
            }
        }
        let coordinates = &coordinates[..d * rows];
        for (i, value) in z[..rows].iter_mut().enumerate() {
            *value = if features.bell {
                (-0.5 * coordinates[i..].iter().step_by(rows).map(|x| x * x).sum::<f64>()).exp()
            } else {
                1.0
            };
        }
        for (term, (parent, variable)) in features.monomials.steps().skip(1) {
            let (done, rest) = z.split_at_mut(term * rows);
            let from = &done[parent * rows..(parent + 1) * rows];
            let by = &coordinates[variable * rows..(variable + 1) * rows];
            let factor = features.factors[term];
            for ((value, from), by) in rest[..rows].iter_mut().zip(from).zip(by) {
                *value = from * by * factor;
            }
        }
    }
}
