//! Points in clusters, and where new ones belong.

use std::borrow::Cow;

use faer::{Mat, MatRef};

use super::embedding::unit_rows;
use super::record::ClusterRecord;
use crate::data::{Points, Scaling};
use crate::error::{Error, Result};
use crate::gram::slab_product;
use crate::kernel::Kernel;
use crate::kmeans::nearest;
use crate::model::{check_scaling, names};
use crate::watch::{Context, Phase, Threads, Watch};

/// Clusters of points, and what it takes to find those of others.
///
/// ```
/// use mercer::cluster::unit_rows;
/// use mercer::watch::{Threads, Watch};
/// use mercer::{Kernel, Points, SpectralClustering};
///
/// let points = Points::from_f64(vec![0.0, 0.1, 0.2, 7.0, 7.1], 5, 1)?;
/// let model = SpectralClustering::new(Kernel::gaussian(1.0)?, 2).fit(&points)?;
/// assert_eq!(model.labels(), [0, 0, 0, 1, 1]);
/// assert_eq!(model.predict(&Points::from_f64(vec![6.5], 1, 1)?)?, [1]);
///
/// // What it is made of. Two groups that have nothing to do with one another have two eigenvalues of one.
/// assert_eq!((model.n_features(), model.kernel().name(), model.basis().n_samples()), (1, "gaussian", 5));
/// assert!((model.degrees()[4] - (1.0 + (-0.01_f64).exp())).abs() < 1e-9);
/// assert!(model.eigenvalues().iter().all(|value| (value - 1.0).abs() < 1e-9));
/// assert_eq!(model.record().cluster_sizes, [3, 2]);
///
/// // Points are embedded as rows of the eigenvectors, of unit length; a group has its centre there.
/// let embedding = model.embedding();
/// assert!((&embedding - unit_rows(model.eigenvectors()).0).norm_max() < 1e-12);
/// assert!((model.centers()[(1, 0)] - embedding[(4, 0)]).abs() < 1e-6);
/// assert!((model.embed(&points)? - &embedding).norm_max() < 1e-6);
///
/// // On threads of one's own, with somebody looking on who may stop it.
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// assert_eq!(model.predict_watched(&points, &threads, &watch)?, model.labels());
/// assert_eq!(model.embed_watched(&points, &threads, &watch)?, model.embed(&points)?);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone)]
pub struct ClusterModel {
    kernel: Kernel,
    basis: Points,
    /// What kernel values with the basis are multiplied with, where it is landmarks: a column for each eigenvector, and one for the degree.
    weights: Option<Mat<f64>>,
    /// Unit eigenvectors of the normalised matrix, one per column.
    eigenvectors: Mat<f64>,
    degrees: Vec<f64>,
    labels: Vec<usize>,
    centers: Mat<f64>,
    /// What new points go through first; the clustered ones have been through it.
    scaling: Option<Scaling>,
    /// What the columns of points are called, if they had names.
    feature_names: Option<Vec<String>>,
    record: ClusterRecord,
}

impl ClusterModel {
    pub(super) fn new(
        kernel: Kernel,
        points: &Points,
        eigenvectors: Mat<f64>,
        degrees: Vec<f64>,
        labels: Vec<usize>,
        centers: Mat<f64>,
        record: ClusterRecord,
    ) -> Self {
        // A precomputed matrix is not needed again: new points bring their own kernel values.
        let basis = if matches!(kernel, Kernel::Precomputed) { points.slice(0..0) } else { points.clone() };
        let (weights, scaling, feature_names) = (None, None, None);
        Self { kernel, basis, weights, eigenvectors, degrees, labels, centers, scaling, feature_names, record }
    }

    /// The same clusters, with new points embedded by these weights of their kernel values with landmarks.
    pub(super) fn over(mut self, weights: Mat<f64>, landmarks: Points) -> Self {
        self.basis = landmarks;
        self.weights = Some(weights);
        self
    }

    /// What embeds new points over landmarks; `None` without them.
    pub(super) fn weights(&self) -> Option<MatRef<'_, f64>> {
        self.weights.as_ref().map(Mat::as_ref)
    }

    /// The clusters of points that go through a scaling first: the fit has seen scaled points, [`predict`](Self::predict) takes unscaled ones.
    ///
    /// ```
    /// use mercer::{Kernel, Points, SpectralClustering, data::{Moments, Scaling}};
    ///
    /// let points = Points::from_f64(vec![0.0, 10.0, 20.0, 700.0, 710.0], 5, 1)?;
    /// let scaling = Scaling::standardizing(&Moments::of(&points));
    /// let clustering = SpectralClustering::new(Kernel::gaussian(1.0)?, 2);
    /// let model = clustering.fit(&scaling.apply(&points)?)?.with_scaling(scaling)?;
    /// assert_eq!(model.predict(&points)?, model.labels()); // not `&scaling.apply(&points)?`
    /// assert_eq!(model.scaling().map(Scaling::n_features), Some(1));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the scaling is for another number of columns, or treats columns of a precomputed kernel differently.
    pub fn with_scaling(mut self, scaling: Scaling) -> Result<Self> {
        check_scaling(&scaling, &self.kernel, self.n_features())?;
        self.scaling = Some(scaling);
        Ok(self)
    }

    /// The clusters of points whose columns have names: whoever has a table can then find them, in whatever order they stand there.
    ///
    /// # Errors
    ///
    /// If there are not as many names as features, or two are the same.
    pub fn with_feature_names(mut self, feature_names: Vec<String>) -> Result<Self> {
        names::check(&feature_names, self.n_features())?;
        self.feature_names = Some(feature_names);
        Ok(self)
    }

    /// What new points go through before the kernel sees them.
    pub fn scaling(&self) -> Option<&Scaling> {
        self.scaling.as_ref()
    }

    /// What the columns of points are called, in their order; `None` if they had no names.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// Coordinates of a point.
    pub fn n_features(&self) -> usize {
        self.basis.n_features()
    }

    /// Points as the fit would have seen them.
    fn scaled<'a>(&self, queries: &'a Points) -> Result<Cow<'a, Points>> {
        self.scaling.as_ref().map_or(Ok(Cow::Borrowed(queries)), |scaling| scaling.apply(queries).map(Cow::Owned))
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The points that new ones are compared with: those that were clustered, or the landmarks if eigenvectors were found over them; none for a precomputed
    /// kernel.
    pub fn basis(&self) -> &Points {
        &self.basis
    }

    /// The cluster of each point. Clusters are numbered in the order of their first points.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// The centre of each cluster among the embedded points, one row each.
    pub fn centers(&self) -> MatRef<'_, f64> {
        self.centers.as_ref()
    }

    /// The degree of each point: the sum of its row of the kernel matrix.
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// Eigenvalues of the normalised matrix.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.record.eigenvalues
    }

    /// Unit eigenvectors of the normalised matrix, one per column; the entry of largest absolute value of each is positive.
    pub fn eigenvectors(&self) -> MatRef<'_, f64> {
        self.eigenvectors.as_ref()
    }

    /// The embedded points, one row each: rows of the eigenvectors, of unit length.
    pub fn embedding(&self) -> Mat<f64> {
        unit_rows(self.eigenvectors.as_ref()).0
    }

    /// What was done and how good the eigenvectors are.
    pub fn record(&self) -> &ClusterRecord {
        &self.record
    }

    /// The cluster of each of some new points.
    ///
    /// For a precomputed kernel, `queries` holds kernel values: one row per new point, one column per clustered point.
    ///
    /// # Errors
    ///
    /// If the points have another width than those that were clustered, hold values that are not finite, or have no positive degree:
    /// their kernel values with all clustered points are zero, or sum to less; over landmarks, as far as those tell.
    pub fn predict(&self, queries: &Points) -> Result<Vec<usize>> {
        self.predict_watched(queries, &Threads::all()?, &Watch::new())
    }

    /// As [`predict`](Self::predict), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict), and [`Error::Interrupted`].
    pub fn predict_watched(&self, queries: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Vec<usize>> {
        Ok(nearest(self.embed_watched(queries, threads, watch)?.as_ref(), self.centers.as_ref(), threads))
    }

    /// New points, embedded as the clustered ones were: one row each, of unit length.
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict).
    pub fn embed(&self, queries: &Points) -> Result<Mat<f64>> {
        self.embed_watched(queries, &Threads::all()?, &Watch::new())
    }

    /// As [`embed`](Self::embed), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`predict_watched`](Self::predict_watched).
    pub fn embed_watched(&self, queries: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Mat<f64>> {
        let (expected, found) = (self.n_features(), queries.n_features());
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        queries.check_finite()?;
        let r = self.eigenvectors.ncols();
        let weights = self.weights.as_ref().map_or_else(|| Cow::Owned(self.weights_of_all()), Cow::Borrowed);
        let context = Context::new(threads, watch, Phase::Transforming);
        let precision = self.record.precision;
        let queries = &*self.scaled(queries)?;
        let product = slab_product(&self.kernel, queries, &self.basis, (*weights).as_ref(), precision, &context)?;
        if let Some((row, &degree)) = product.col(r).iter().enumerate().find(|(_, degree)| **degree <= 0.0) {
            return Err(Error::ZeroDegree { row, degree });
        }
        Ok(unit_rows(product.subcols(0, r)).0)
    }

    /// What kernel values with all clustered points are multiplied with: `v_ij / (λ_j √d_i)`, and a column of ones for the degree.
    fn weights_of_all(&self) -> Mat<f64> {
        let (n, r, values) = (self.eigenvectors.nrows(), self.eigenvectors.ncols(), self.eigenvalues());
        Mat::from_fn(n, r + 1, |i, j| {
            if j < r { self.eigenvectors[(i, j)] / (values[j] * self.degrees[i].sqrt()) } else { 1.0 }
        })
    }
}

impl std::fmt::Debug for ClusterModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClusterModel({} clusters of {} points)", self.record.n_clusters, self.record.n_samples)
    }
}
