//! Products with a kernel matrix in time proportional to the number of points.
//!
//! | method | kernels | where it pays | error |
//! |---|---|---|---|
//! | [`polynomial`](crate::ExpansionMethod::Polynomial) | polynomial, linear | few features or a low degree | rounding |
//! | [`series`](crate::ExpansionMethod::Series) | Gaussian | all points within a few bandwidths | bounded |
//! | [`clusters`](crate::ExpansionMethod::Clusters) | Gaussian | four to eight features, bandwidths of a fraction of the extent | bounded |
//! | [`grid`](crate::ExpansionMethod::Grid) | Gaussian, Matérn, exponential, rational quadratic | up to three features, any bandwidth | bounded |
//!
//! [`Expansion`] is the matrix of one of them as an operator, so every solver works with it. The error of each of its entries is
//! at most `tolerance` times the largest entry (one, for all but polynomial kernels), and therefore that of a product `K u` at most
//! `tolerance · |u|₁`. Where no method reaches that at a lower cost than tiles do, tiles are what is used, and the
//! operator says so. All are symmetric up to rounding but `clusters`, which is so up to its bound.

mod candidates;
mod certificate;
mod choose;
mod cluster_plan;
mod clusters;
mod costs;
mod features;
mod grid;
mod mixture;
mod monomials;
mod near;
mod polynomial;
mod region;
mod series;
mod tiles;
mod wanted;

use faer::{Mat, MatMut, MatRef};

use self::certificate::MEASURED;
pub(crate) use self::certificate::checked_rows;
pub use self::certificate::{CHECKED_ROWS, exact_rows};
use self::choose::{Choice, Fast};
pub(crate) use self::choose::{LOOK_FROM_POINTS, Prediction};
use self::features::Features;
pub use self::monomials::Monomials;
use self::region::Region;
pub use self::series::TruncationBound;
use self::tiles::Tiles;
pub(crate) use self::tiles::TilesInstead;
pub use self::wanted::{LEAST_TOLERANCE, Targets, Wanted};
use self::wanted::{check_tolerance, largest_entry};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::gram::{SymmetricOperator, diagonal, slab_product};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

/// A kernel matrix whose products take time proportional to the number of points.
///
/// ```
/// use faer::Mat;
/// use mercer::expansion::{Expansion, Wanted};
/// use mercer::gram::SymmetricOperator;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{ExpansionMethod, Kernel, Points};
///
/// let points = Points::from_f64((0..4000).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 2000, 2)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Multiplying);
/// let wanted = Wanted { method: ExpansionMethod::Series, ..Wanted::default() };
/// let expansion = Expansion::new(&Kernel::gaussian(0.5)?, &points, &wanted, &context)?;
/// assert_eq!(expansion.method(), "series");
/// let mut sums = Mat::zeros(2000, 1);
/// expansion.apply(Mat::full(2000, 1, 1.0).as_ref(), sums.as_mut(), &context)?;
/// assert!(sums[(0, 0)] > 0.0 && expansion.bound() <= 1e-6);
///
/// // Against the kernel itself it is as good as it says.
/// assert!(!expansion.is_tiled() && expansion.warnings().is_empty());
/// assert!(expansion.measure(0, &context)? <= expansion.bound());
/// assert_eq!((expansion.scale(), expansion.diagonal()?), (1.0, vec![1.0; 2000]));
/// assert_eq!(expansion.entries_computed(), 0);
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct Expansion {
    kernel: Kernel,
    points: Points,
    made: Made,
    method: &'static str,
    terms: usize,
    bound: f64,
    scale: f64,
    warnings: Vec<String>,
}

enum Made {
    Fast { fast: Box<Fast>, sources: Places },
    Tiles(Box<Tiles>),
}

/// Vectors brought to an expansion's terms: what new points are multiplied with.
///
/// ```
/// use mercer::expansion::{Expansion, Targets, Wanted};
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{ExpansionMethod, Kernel, Points};
///
/// let points = Points::from_f64((0..400).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 200, 2)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Multiplying);
/// let wanted = Wanted { method: ExpansionMethod::Series, targets: Targets::Any, ..Wanted::default() };
/// let kernel = Kernel::gaussian(0.5)?;
/// let expansion = Expansion::new(&kernel, &points, &wanted, &context)?;
/// // Once for all new points, however many blocks they come in.
/// let compressed = expansion.compress(faer::Mat::full(200, 1, 1.0).as_ref(), &context)?;
/// let sum = expansion.product(&compressed, &Points::from_f64(vec![0.1, 0.2], 1, 2)?, &context)?[(0, 0)];
/// let mut exact = 0.0;
/// for i in 0..200 {
///     exact += kernel.evaluate(&[0.1, 0.2], &points.row(i))?;
/// }
/// assert!((sum - exact).abs() <= expansion.bound() * 200.0);
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct Compressed {
    coefficients: Mat<f64>,
    /// The vectors themselves, for what is computed directly.
    vectors: Mat<f64>,
}

/// How products are made: from values at sources to coefficients, from coefficients to values at targets.
trait Engine: Send + Sync {
    /// Points made ready for this engine.
    fn place(&self, points: &Points, context: &Context<'_>) -> Places;

    /// Coefficients of vectors at sources: one row per term, one column per vector.
    fn compress(&self, places: &Places, vectors: MatRef<'_, f64>, context: &Context<'_>) -> Result<Mat<f64>>;

    /// Values at targets.
    fn evaluate(
        &self,
        coefficients: MatRef<'_, f64>,
        places: &Places,
        out: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()>;

    /// From values at points to values at the same points.
    fn apply(
        &self,
        vectors: MatRef<'_, f64>,
        places: &Places,
        out: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        let coefficients = self.compress(places, vectors, context)?;
        self.evaluate(coefficients.as_ref(), places, out, context)
    }
}

/// Points as an engine needs them.
enum Places {
    /// As they are.
    Rows(Points),
    /// Sorted by their cells of a grid.
    Sorted(grid::Sorted),
}

impl Places {
    fn rows(&self) -> &Points {
        match self {
            Self::Rows(points) => points,
            Self::Sorted(_) => unreachable!("places go back to the engine that made them"),
        }
    }

    fn sorted(&self) -> &grid::Sorted {
        match self {
            Self::Sorted(sorted) => sorted,
            Self::Rows(_) => unreachable!("places go back to the engine that made them"),
        }
    }
}

impl Expansion {
    /// The kernel matrix of `points` by the method that is wanted, or by the cheapest that reaches the tolerance.
    ///
    /// # Errors
    ///
    /// If the tolerance is out of its domain, the method does not know the kernel, a number is not finite, or the run was stopped.
    pub fn new(kernel: &Kernel, points: &Points, wanted: &Wanted<'_>, context: &Context<'_>) -> Result<Self> {
        let instead = match Self::find(kernel, points, wanted, context)? {
            Ok(expansion) => return Ok(expansion),
            Err(instead) => instead,
        };
        let tiles = Tiles::new(kernel, points, wanted.memory, context)?;
        let TilesInstead { warning, bound, scale } = instead;
        Ok(Self {
            kernel: kernel.clone(),
            points: points.clone(),
            made: Made::Tiles(Box::new(tiles)),
            method: "tiled",
            terms: 0,
            bound,
            scale,
            warnings: vec![warning],
        })
    }

    /// The same without tiles: what there is to say of them, where they are what is used.
    pub(crate) fn find(
        kernel: &Kernel,
        points: &Points,
        wanted: &Wanted<'_>,
        context: &Context<'_>,
    ) -> Result<std::result::Result<Self, TilesInstead>> {
        check_tolerance(wanted.tolerance)?;
        context.report_fraction(0.0);
        points.check_finite()?;
        let scale = largest_entry(kernel, points, wanted.targets)?;
        let (fast, method, terms, bound) = match choose::choose(kernel, points, wanted, context)? {
            Choice::Fast(fast, method, terms, bound) => (fast, method.name(), terms, bound),
            Choice::Tiles(reason) => {
                let bound = certificate::tile_rounding(kernel, points, wanted.targets);
                let warning = format!("tiles are computed instead of an expansion: {reason}");
                return Ok(Err(TilesInstead { warning, bound, scale }));
            }
        };
        context.check()?;
        let made = Made::Fast { sources: fast.engine.place(points, context), fast };
        let (kernel, points, warnings) = (kernel.clone(), points.clone(), Vec::new());
        Ok(Ok(Self { kernel, points, made, method, terms, bound, scale, warnings }))
    }

    /// `polynomial`, `series`, `clusters` or `grid`; `tiled` where none of them pays.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Coefficients that a vector is brought to; zero for tiles.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// What the error of every entry is at most, relative to the largest entry.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The largest entry of the matrix, as far as it is known beforehand: one for kernels of distances.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// What the user should know.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether tiles are used after all.
    pub fn is_tiled(&self) -> bool {
        matches!(self.made, Made::Tiles(_))
    }

    /// Entries of the matrix that were computed one by one.
    pub fn entries_computed(&self) -> u64 {
        match &self.made {
            Made::Fast { .. } => 0,
            Made::Tiles(tiles) => tiles.entries_computed(),
        }
    }

    /// The diagonal of the kernel matrix, exactly.
    ///
    /// # Errors
    ///
    /// If the kernel fails.
    pub fn diagonal(&self) -> Result<Vec<f64>> {
        diagonal(&self.kernel, &self.points)
    }

    /// The explicit features of the points, one row each, whose inner products are the entries of the matrix; `None` for methods
    /// without features, and for polynomial kernels with a negative constant.
    ///
    /// ```
    /// use mercer::expansion::{Expansion, Wanted};
    /// use mercer::watch::{Context, Phase, Threads, Watch};
    /// use mercer::{ExpansionMethod, Kernel, Points};
    ///
    /// let points = Points::from_f64(vec![1.0, 2.0, 3.0, -1.0], 2, 2)?;
    /// let (threads, watch) = (Threads::new(1)?, Watch::new());
    /// let context = Context::new(&threads, &watch, Phase::Multiplying);
    /// let wanted = Wanted { method: ExpansionMethod::Polynomial, ..Wanted::default() };
    /// let expansion = Expansion::new(&Kernel::polynomial(1.0, 1.0, 2)?, &points, &wanted, &context)?;
    /// let Some(features) = expansion.features(&context)? else { panic!("polynomials have features") };
    /// // (1 + 1 · 3 − 2 · 1)² = 4
    /// assert!(((&features * features.transpose())[(0, 1)] - 4.0).abs() < 1e-12);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the run was stopped.
    pub fn features(&self, context: &Context<'_>) -> Result<Option<Mat<f64>>> {
        let Some(features) = self.explicit() else { return Ok(None) };
        let mut z = features.matrix(&self.points, context)?;
        for (column, weight) in z.as_mut().col_iter_mut().zip(features.weights()) {
            column.iter_mut().for_each(|value| *value *= weight.sqrt());
        }
        Ok(Some(z))
    }

    /// The mean of the features, and their second moments about it or about zero, if the method has features.
    pub(crate) fn moments(&self, centered: bool, context: &Context<'_>) -> Result<Option<(Vec<f64>, Mat<f64>)>> {
        self.explicit().map(|features| features.moments(&self.points, centered, context)).transpose()
    }

    /// The features times a matrix of one row per feature.
    pub(crate) fn feature_product(&self, coefficients: &Mat<f64>, context: &Context<'_>) -> Result<Mat<f64>> {
        let mut product = Mat::zeros(self.points.n_samples(), coefficients.ncols());
        if let Some(features) = self.explicit() {
            let roots: Vec<f64> = features.weights().iter().map(|weight| weight.sqrt()).collect();
            let scaled =
                Mat::from_fn(coefficients.nrows(), coefficients.ncols(), |i, j| roots[i] * coefficients[(i, j)]);
            features.evaluate(scaled.as_ref(), &Places::Rows(self.points.clone()), product.as_mut(), context)?;
        }
        Ok(product)
    }

    /// The features, if there are any and none has a negative weight.
    fn explicit(&self) -> Option<&Features> {
        match &self.made {
            Made::Fast { fast, .. } => {
                fast.features.as_ref().filter(|features| features.weights().iter().all(|&weight| weight >= 0.0))
            }
            Made::Tiles(_) => None,
        }
    }

    /// Brings vectors to the expansion's terms, for products with many blocks of new points.
    ///
    /// # Errors
    ///
    /// If the run was stopped.
    ///
    /// # Panics
    ///
    /// If there is not one row of `vectors` per point.
    pub fn compress(&self, vectors: MatRef<'_, f64>, context: &Context<'_>) -> Result<Compressed> {
        assert_eq!(vectors.nrows(), self.points.n_samples(), "one row of vectors per point");
        let coefficients = match &self.made {
            Made::Fast { fast, sources } => fast.engine.compress(sources, vectors, context)?,
            Made::Tiles(_) => Mat::zeros(0, vectors.ncols()),
        };
        Ok(Compressed { coefficients, vectors: vectors.to_owned() })
    }

    /// `K(queries, points)` times vectors that were brought to terms before.
    ///
    /// # Errors
    ///
    /// If queries have another width, or the run was stopped.
    pub fn product(&self, compressed: &Compressed, queries: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        let vectors = compressed.vectors.as_ref();
        let (Made::Fast { fast, .. }, true) = (&self.made, queries.n_features() == self.points.n_features()) else {
            return slab_product(&self.kernel, queries, &self.points, vectors, Precision::F64, context);
        };
        let out_of_reach = fast.cover.outside(queries);
        let inside: Vec<usize> = if out_of_reach.is_empty() {
            Vec::new()
        } else {
            let mut skip = out_of_reach.iter().copied().peekable();
            (0..queries.n_samples()).filter(|row| skip.next_if_eq(row).is_none()).collect()
        };
        let covered = if out_of_reach.is_empty() { queries.clone() } else { queries.select(&inside) };
        let mut product = Mat::zeros(covered.n_samples(), vectors.ncols());
        let places = fast.engine.place(&covered, context);
        fast.engine.evaluate(compressed.coefficients.as_ref(), &places, product.as_mut(), context)?;
        if let Some(near) = &fast.near {
            near.add(&covered, vectors, product.as_mut(), context)?;
        }
        if out_of_reach.is_empty() {
            return Ok(product);
        }
        let far = queries.select(&out_of_reach);
        let direct = slab_product(&self.kernel, &far, &self.points, vectors, Precision::F64, context)?;
        let mut all = Mat::zeros(queries.n_samples(), vectors.ncols());
        for (rows, part) in [(&inside, &product), (&out_of_reach, &direct)] {
            for (from, &row) in rows.iter().enumerate() {
                all.row_mut(row).copy_from(part.row(from));
            }
        }
        Ok(all)
    }
}

impl SymmetricOperator for Expansion {
    fn dim(&self) -> usize {
        self.points.n_samples()
    }

    fn apply(&self, x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        match &self.made {
            Made::Tiles(tiles) => tiles.apply(x, out, context),
            Made::Fast { fast, sources } => {
                assert_eq!(x.nrows(), self.dim(), "the vectors must have as many rows as the operator");
                // Few enough at a time that their grids stay small.
                for first in (0..x.ncols()).step_by(COLUMNS_AT_ONCE) {
                    let count = COLUMNS_AT_ONCE.min(x.ncols() - first);
                    context.report_fraction(first as f64 / x.ncols() as f64);
                    let vectors = x.subcols(first, count);
                    let mut part = out.as_mut().subcols_mut(first, count);
                    fast.engine.apply(vectors, sources, part.as_mut(), context)?;
                    if let Some(near) = &fast.near {
                        near.add(&self.points, vectors, part, context)?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// The product of the Gaussian kernel matrix with vectors by a series about a given centre, cut off after `terms` powers: what
/// [`TruncationBound`] is about.
///
/// ```
/// use faer::Mat;
/// use mercer::Points;
/// use mercer::expansion::truncated_series;
/// use mercer::watch::{Context, Phase, Threads, Watch};
///
/// let points = Points::from_f64(vec![0.0, 0.5, 1.0], 3, 1)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Multiplying);
/// let sums = truncated_series(0.5, &[0.5], 12, &points, None, Mat::full(3, 1, 1.0).as_ref(), &context)?;
/// let expected = 1.0 + (-0.5_f64 * 0.25).exp() + (-0.5_f64).exp();
/// assert!((sums[(0, 0)] - expected).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If `gamma` is not positive, `terms` is zero or makes too many monomials, widths differ, or the run was stopped.
///
/// # Panics
///
/// If there is not one row of `vectors` per point.
pub fn truncated_series(
    gamma: f64,
    center: &[f64],
    terms: usize,
    points: &Points,
    targets: Option<&Points>,
    vectors: MatRef<'_, f64>,
    context: &Context<'_>,
) -> Result<Mat<f64>> {
    Error::require_positive("gamma", gamma)?;
    assert_eq!(vectors.nrows(), points.n_samples(), "one row of vectors per point");
    let targets = targets.unwrap_or(points);
    for (what, found) in [("the centre", center.len()), ("the targets", targets.n_features())] {
        if found != points.n_features() {
            return Err(Error::FeatureMismatch { what, expected: points.n_features(), found });
        }
    }
    let features = series::features(gamma, center.to_vec(), terms)?;
    let coefficients = features.compress(&Places::Rows(points.clone()), vectors, context)?;
    let mut product = Mat::zeros(targets.n_samples(), vectors.ncols());
    features.evaluate(coefficients.as_ref(), &Places::Rows(targets.clone()), product.as_mut(), context)?;
    Ok(product)
}

/// What an expansion of the kernel matrix of points would be and cost; why there is none, if tiles are better.
pub(crate) fn predict(
    kernel: &Kernel,
    points: &Points,
    wanted: &Wanted<'_>,
    context: &Context<'_>,
) -> Result<std::result::Result<Prediction, String>> {
    check_tolerance(wanted.tolerance)?;
    choose::predict(kernel, points, wanted, context)
}

/// Whether there is an expansion of a kernel of points with this many features.
pub(crate) fn knows(kernel: &Kernel, n_features: usize) -> bool {
    choose::knows(kernel, n_features)
}

/// Vectors that are brought to terms at a time.
const COLUMNS_AT_ONCE: usize = 16;

#[cfg(test)]
mod tests;
