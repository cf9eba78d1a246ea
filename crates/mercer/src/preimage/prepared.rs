//! Pre-images of many points under one model.

use faer::{Mat, MatRef};
use rayon::prelude::*;

use super::basis::{BLOCK, Columns};
use super::distance::{Targets, leading, place};
use super::fixed_point::{Found, Limits, fixed_points};
use super::gradient::{descend, doubt};
use super::polynomial::decode;
use super::ridge::RidgePreimage;
use super::settings::{Preimage, PreimageMethod};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::gram::slab_product;
use crate::model::Model;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Threads, Watch};

/// Pre-images, and how good they are.
///
/// ```
/// use mercer::preimage::{Preimage, PreimageMethod};
/// use mercer::{Kernel, KernelPca, Points, Watch};
///
/// let circle = |i: usize| [(i as f64 * 0.1).cos(), (i as f64 * 0.1).sin()];
/// let points = Points::from_f64((0..63).flat_map(circle).collect::<Vec<_>>(), 63, 2)?;
/// let model = KernelPca::new(Kernel::gaussian(2.0)?).n_components(8).fit(&points)?;
/// let found = Preimage::new(PreimageMethod::FixedPoint).of_points(&model, &points, &Watch::new())?;
/// // Eight components hold nearly all of a circle, so what they keep of a point has an image close by.
/// assert_eq!(found.n_not_converged(), 0);
/// assert!(found.feature_error.iter().all(|&error| error < 0.05));
/// assert_eq!((found.points.nrows(), found.iterations.len()), (63, 63));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reconstruction {
    /// One row per point, in the units of the model's data.
    pub points: Mat<f64>,
    /// The squared distance in feature space between each point's image and what its scores stand for.
    pub feature_error: Vec<f64>,
    /// Whether the method found what it looks for, with an error that is finite; see the [table](super).
    pub converged: Vec<bool>,
    /// Steps that each point took, over all starts.
    pub iterations: Vec<usize>,
}

impl Reconstruction {
    /// How many points did not converge.
    pub fn n_not_converged(&self) -> usize {
        self.converged.iter().filter(|&&converged| !converged).count()
    }
}

/// A model, ready to give pre-images.
///
/// ```
/// use mercer::preimage::{Preimage, PreimageMethod};
/// use mercer::{Kernel, KernelPca, Points, Watch};
///
/// let circle = |i: usize| [(i as f64 * 0.1).cos(), (i as f64 * 0.1).sin()];
/// let points = Points::from_f64((0..63).flat_map(circle).collect::<Vec<_>>(), 63, 2)?;
/// let model = KernelPca::new(Kernel::gaussian(2.0)?).n_components(8).fit(&points)?;
/// // The regression is learned once, for all blocks of points that follow.
/// let prepared = Preimage::new(PreimageMethod::Ridge).alpha(1e-6).prepare(&model, &Watch::new())?;
/// for block in [0..30, 30..63] {
///     let found = prepared.of_points(&points.slice(block.clone()), &Watch::new())?;
///     assert!(block.enumerate().all(|(row, i)| (found.points[(row, 0)] - circle(i)[0]).abs() < 0.05));
/// }
/// let found = prepared.of_scores(model.training_scores().as_ref(), None, &Watch::new())?;
/// assert!((0..63).all(|i| (found.points[(i, 1)] - circle(i)[1]).abs() < 0.05));
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct PreparedPreimage<'a> {
    settings: Preimage,
    model: &'a Model,
    threads: Threads,
    columns: Columns,
    /// Scores of the basis points: one row each.
    basis_scores: Mat<f64>,
    learned: Learned,
}

enum Learned {
    Nothing,
    Targets(Targets),
    /// The basis points' scores as points, and the coefficients.
    Ridge(Points, Mat<f64>),
}

impl std::fmt::Debug for PreparedPreimage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PreparedPreimage({} of {:?})", self.settings.method(), self.model)
    }
}

impl<'a> PreparedPreimage<'a> {
    pub(super) fn new(settings: Preimage, model: &'a Model, threads: Threads, watch: &Watch<'_>) -> Result<Self> {
        let context = Context::new(&threads, watch, Phase::Reconstructing);
        let columns = Columns::new(model);
        let basis_scores = model.scores_of_basis(&context)?;
        let learned = match settings.method {
            PreimageMethod::Distance => Learned::Targets(Targets::new(model, basis_scores.as_ref())),
            PreimageMethod::Ridge => {
                let scores = rows(basis_scores.as_ref())?;
                let ridge =
                    RidgePreimage::new(model.kernel().clone()).alpha(settings.ridge()).memory(settings.budget());
                let coefficients = ridge.fit(&scores, model.basis(), &threads, watch)?;
                Learned::Ridge(scores, coefficients)
            }
            _ => Learned::Nothing,
        };
        Ok(Self { settings, model, threads, columns, basis_scores, learned })
    }

    /// What the components keep of points: pre-images of their scores, searched from the points themselves.
    ///
    /// # Errors
    ///
    /// If the points have another width than the model or hold values that are not finite, or the run was stopped.
    pub fn of_points(&self, points: &Points, watch: &Watch<'_>) -> Result<Reconstruction> {
        let scores = self.model.transform_watched(points, &self.threads, watch)?;
        self.of_scores(scores.as_ref(), Some(points), watch)
    }

    /// Pre-images of scores, one row per point and one column per component. They are searched from `start`, one point each, or from the basis
    /// points with the nearest scores.
    ///
    /// # Errors
    ///
    /// If the scores have another number of columns than the model has components or are not finite, there is not one start per row, or the
    /// run was stopped.
    pub fn of_scores(
        &self,
        scores: MatRef<'_, f64>,
        start: Option<&Points>,
        watch: &Watch<'_>,
    ) -> Result<Reconstruction> {
        self.check(scores, start)?;
        let context = Context::new(&self.threads, watch, Phase::Reconstructing);
        let (n, d) = (scores.nrows(), self.model.n_features());
        let start = start.map(|start| self.model.scaled(start)).transpose()?;
        let mut points = match &self.learned {
            Learned::Ridge(basis_scores, coefficients) => {
                let kernel = self.model.kernel();
                let product = slab_product(
                    kernel,
                    &rows(scores)?,
                    basis_scores,
                    coefficients.as_ref(),
                    Precision::F64,
                    &context,
                )?;
                let mut points = Found::new(product.transpose());
                points.converged.fill(true);
                points
            }
            _ => self.first(scores, start.as_deref(), &context)?,
        };
        let mut errors = self.judge(&mut points, scores, watch)?;
        for round in 1..self.settings.starts() {
            let again: Vec<usize> = (0..n).filter(|&point| !points.converged[point]).collect();
            if again.is_empty() {
                break;
            }
            let some = Mat::from_fn(again.len(), scores.ncols(), |i, j| scores[(again[i], j)]);
            // With a start of their own they have not been to the nearest basis point yet.
            let place = if start.is_some() { round - 1 } else { round };
            let mut other = self.blocks(some.as_ref(), &context, |scores, _| Ok(self.near(scores, place)))?;
            let other_errors = self.judge(&mut other, some.as_ref(), watch)?;
            for (i, &point) in again.iter().enumerate() {
                points.iterations[point] += other.iterations[i];
                let is_better = other_errors[i] < errors[point] || !errors[point].is_finite();
                if is_better && (other.converged[i] || !points.converged[point]) {
                    points.z.col_mut(point).copy_from(other.z.col(i));
                    (errors[point], points.converged[point]) = (other_errors[i], other.converged[i]);
                }
            }
        }
        let unscaled = self.unscaled(&points);
        Ok(Reconstruction {
            points: Mat::from_fn(n, d, |i, k| unscaled[(k, i)]),
            feature_error: errors,
            converged: points.converged,
            iterations: points.iterations,
        })
    }

    fn check(&self, scores: MatRef<'_, f64>, start: Option<&Points>) -> Result<()> {
        let k = self.model.n_components();
        if scores.ncols() != k {
            let requirement = format!("of {k} columns, one per component");
            return Err(Error::invalid("scores", requirement, scores.ncols()));
        }
        for (column, values) in scores.col_iter().enumerate() {
            if let Some((row, &value)) = values.iter().enumerate().find(|(_, x)| !x.is_finite()) {
                return Err(Error::NotFinite { row, column, value });
            }
        }
        if let Some(start) = start {
            let (expected, found) = (self.model.n_features(), start.n_features());
            if expected != found {
                return Err(Error::FeatureMismatch { what: "the start", expected, found });
            }
            if start.n_samples() != scores.nrows() {
                let requirement = format!("one point per row of scores ({})", scores.nrows());
                return Err(Error::invalid("start", requirement, start.n_samples()));
            }
            start.check_finite()?;
        }
        Ok(())
    }

    /// The first round: from the starts that were given, or the nearest basis points.
    fn first(&self, scores: MatRef<'_, f64>, start: Option<&Points>, context: &Context<'_>) -> Result<Found> {
        self.blocks(scores, context, |block, first| {
            Ok(match start {
                Some(start) => self.columns.place(&start.slice(first..first + block.ncols())),
                None => self.near(block, 0),
            })
        })
    }

    /// Works through blocks of points, each from the starts that `start` gives for its scores (columns) and first row.
    fn blocks(
        &self,
        scores: MatRef<'_, f64>,
        context: &Context<'_>,
        start: impl Fn(MatRef<'_, f64>, usize) -> Result<Mat<f64>> + Sync,
    ) -> Result<Found> {
        let n = scores.nrows();
        let blocks: Vec<Result<Found>> = self.threads.run(|| {
            (0..n.div_ceil(BLOCK))
                .into_par_iter()
                .map(|block| {
                    context.check()?;
                    let first = block * BLOCK;
                    let scores = scores.subrows(first, BLOCK.min(n - first)).transpose();
                    let found = self.block(scores, &start(scores, first)?, context);
                    context.report_fraction(first as f64 / n as f64);
                    found
                })
                .collect()
        });
        let mut all = Found::new(Mat::zeros(self.model.n_features(), n).as_ref());
        let mut first = 0;
        for block in blocks {
            let block = block?;
            let count = block.z.ncols();
            all.z.as_mut().subcols_mut(first, count).copy_from(&block.z);
            all.converged[first..first + count].copy_from_slice(&block.converged);
            all.iterations[first..first + count].copy_from_slice(&block.iterations);
            first += count;
        }
        Ok(all)
    }

    fn block(&self, scores: MatRef<'_, f64>, start: &Mat<f64>, context: &Context<'_>) -> Result<Found> {
        let limits = Limits { tolerance: self.settings.precision(), max_steps: self.settings.steps() };
        if let Learned::Targets(targets) = &self.learned {
            return place(&self.columns, targets, scores, self.settings.n_neighbors());
        }
        let weights = self.columns.weights(scores);
        if self.settings.method == PreimageMethod::Polynomial {
            return Ok(decode(&self.columns, weights.as_ref(), start.as_ref()));
        }
        let search = if self.settings.method == PreimageMethod::FixedPoint { fixed_points } else { descend };
        let mut found = search(&self.columns, weights.as_ref(), start.as_ref(), limits, context)?;
        doubt(&self.columns, weights.as_ref(), self.near(scores, 0).as_ref(), &mut found);
        Ok(found)
    }

    /// For each column of scores, the basis point whose scores are the `place`-th nearest.
    fn near(&self, scores: MatRef<'_, f64>, place: usize) -> Mat<f64> {
        let n = self.columns.len();
        let place = place.min(n - 1);
        let chosen: Vec<usize> = (0..scores.ncols())
            .map(|c| {
                let mut distances = vec![0.0; n];
                for (j, score) in scores.col(c).iter().enumerate() {
                    for (sum, other) in distances.iter_mut().zip(self.basis_scores.col(j).iter()) {
                        *sum += (other - score) * (other - score);
                    }
                }
                leading(n, place + 1, |i| distances[i])[place]
            })
            .collect();
        Mat::from_fn(self.columns.points.nrows(), chosen.len(), |k, c| self.columns.points[(k, chosen[c])])
    }

    /// The points in the units of the model's data, one column each.
    fn unscaled(&self, found: &Found) -> Mat<f64> {
        let offset = match self.learned {
            // What a regression gives has nothing subtracted.
            Learned::Ridge(..) => None,
            _ => Some(&self.columns.offset),
        };
        let scaling = self.model.scaling();
        Mat::from_fn(found.z.nrows(), found.z.ncols(), |k, c| {
            let x = found.z[(k, c)] + offset.map_or(0.0, |offset| offset[k]);
            scaling.map_or(x, |scaling| x / scaling.factor()[k] + scaling.shift()[k])
        })
    }

    /// The errors of what was found. What has none that is finite has not converged, however small its last step was: scores whose squares overflow are those of
    /// no point.
    fn judge(&self, found: &mut Found, scores: MatRef<'_, f64>, watch: &Watch<'_>) -> Result<Vec<f64>> {
        let errors = self.errors(found, scores, watch)?;
        for (converged, error) in found.converged.iter_mut().zip(&errors) {
            *converged &= error.is_finite();
        }
        Ok(errors)
    }

    /// `‖φ(z) − ψ‖²`: what the components leave of `φ(z)`, and the squared differences of scores.
    fn errors(&self, found: &Found, scores: MatRef<'_, f64>, watch: &Watch<'_>) -> Result<Vec<f64>> {
        let unscaled = self.unscaled(found);
        let points = rows(unscaled.transpose())?;
        let novelty = self.model.novelty_watched(&points, &self.threads, watch)?;
        let values = self.model.eigenvalues();
        Ok((0..scores.nrows())
            .map(|i| {
                let gap = (0..scores.ncols()).map(|j| {
                    let gap = novelty.scores[(i, j)] - scores[(i, j)];
                    values[j].signum() * gap * gap
                });
                novelty.reconstruction_error[i] + gap.sum::<f64>()
            })
            .collect())
    }
}

/// The rows of a matrix as points.
fn rows(matrix: MatRef<'_, f64>) -> Result<Points> {
    let (n, d) = (matrix.nrows(), matrix.ncols());
    let values: Vec<f64> = (0..n * d).map(|at| matrix[(at / d, at % d)]).collect();
    Points::from_f64(values, n, d)
}
