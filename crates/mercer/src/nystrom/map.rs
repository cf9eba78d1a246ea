//! The map from points to features whose inner products are nearly kernel values.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef};

use super::choose::Chosen;
use super::factor::SPLIT;
use super::room::check_features;
use crate::data::{Points, RowsRef};
use crate::eigen::{Order, small_eigen};
use crate::error::{Error, Result};
use crate::gram::{diagonal, slab_product, square_matrix};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Threads, Watch};

/// Features `k(x, landmarks) W^{-1/2}`, with `W` the kernel matrix of the landmarks.
///
/// Directions of `W` whose eigenvalue is rounding have no part in it: there are as many features as landmarks, but their
/// [`rank`](Self::rank) may be lower.
///
/// ```
/// use mercer::nystrom::{FeatureMap, Landmarks, Nystrom};
/// use mercer::watch::{Threads, Watch};
/// use mercer::{Kernel, Points, Precision};
///
/// let points = Points::from_f64(vec![0.0, 0.0, 1.0, 5.0], 4, 1)?;
/// let kernel = Kernel::gaussian(0.5)?;
/// // With every row a landmark nothing is lost, and a copy adds nothing.
/// let map = Nystrom::new(kernel).landmarks(Landmarks::Rows(vec![0, 1, 2, 3])).map(&points)?;
/// assert_eq!((map.n_landmarks(), map.rank()), (4, 3));
/// let features = map.transform(&points)?;
/// let inner = (&features * features.transpose())[(1, 2)];
/// assert!((inner - (-0.5_f64).exp()).abs() < 1e-12);
/// assert!(map.trace_error(&points)?.abs() < 1e-12);
///
/// // Its parts make the same map again, on threads of one's own, with somebody looking on who may stop it.
/// assert_eq!((map.kernel().name(), map.rows(), map.precision()), ("gaussian", Some(&[0, 1, 2, 3][..]), Precision::F64));
/// let (kernel, landmarks, matrix) = (map.kernel().clone(), map.landmarks().clone(), map.normalization().to_owned());
/// let again = FeatureMap::from_parts(kernel, landmarks, None, matrix, map.precision())?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// assert_eq!(again.transform_watched(&points, &threads, &watch)?, features);
/// assert_eq!(again.trace_error_watched(&points, &threads, &watch)?, map.trace_error(&points)?);
/// assert!(map.warnings().is_empty(), "no width was searched for");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FeatureMap {
    kernel: Kernel,
    landmarks: Points,
    rows: Option<Vec<usize>>,
    normalization: Mat<f64>,
    rank: usize,
    precision: Precision,
    /// Columns of a row of kernel values, for a precomputed kernel.
    n_features: usize,
    warnings: Vec<String>,
    /// Kernel entries that choosing the landmarks took.
    chosen_entries: u64,
}

/// The map of chosen landmarks among these points.
pub(super) fn new(
    kernel: Kernel,
    chosen: Chosen,
    points: &Points,
    precision: Precision,
    warnings: Vec<String>,
    context: &Context<'_>,
) -> Result<FeatureMap> {
    let square = match (&kernel, &chosen.rows) {
        (Kernel::Precomputed, Some(rows)) => {
            let lines: Vec<Vec<f64>> = rows.iter().map(|&row| points.row(row)).collect();
            Mat::from_fn(rows.len(), rows.len(), |i, j| 0.5 * (lines[i][rows[j]] + lines[j][rows[i]]))
        }
        (_, rows) => {
            let in_points = |row: usize| rows.as_ref().map_or(row, |rows| rows[row]);
            square_matrix(&kernel, &chosen.points, context).map_err(|error| error.with_row(in_points))?
        }
    };
    let (normalization, rank) = context.run_unless_stopped(move || inverse_root(square.as_ref(), precision))??;
    let Chosen { points: landmarks, rows, entries: chosen_entries, .. } = chosen;
    let n_features = points.n_features();
    Ok(FeatureMap { kernel, landmarks, rows, normalization, rank, precision, n_features, warnings, chosen_entries })
}

/// `W^{-1/2}`, an eigenvalue's sign staying with it, and the number of eigenvalues that are not rounding.
fn inverse_root(square: MatRef<'_, f64>, precision: Precision) -> Result<(Mat<f64>, usize)> {
    let m = square.nrows();
    let (values, vectors) = small_eigen(square, Order::Modulus)?;
    let factor = match precision {
        // Kernel values of new points have this error; directions along which it is all there is are left out.
        Precision::F32 => precision.epsilon(),
        Precision::F64 => 4.0 * m as f64 * precision.epsilon(),
    };
    let smallest = factor * values.first().map_or(0.0, |value| value.abs());
    let rank = values.iter().take_while(|value| value.abs() > smallest).count();
    let scaled = Mat::from_fn(m, rank, |i, j| vectors[(i, j)] * values[j].signum() / values[j].abs().sqrt());
    let mut root = Mat::zeros(m, m);
    matmul(root.as_mut(), Accum::Replace, scaled.as_ref(), vectors.subcols(0, rank).transpose(), 1.0, SPLIT);
    Ok((root, rank))
}

impl FeatureMap {
    /// The map with this kernel, these landmarks, and what their kernel values are multiplied with.
    ///
    /// `rows` says which columns of a row of kernel values the landmarks are, for a precomputed kernel, whose landmarks are no points.
    ///
    /// # Errors
    ///
    /// If there is not one row and column of `normalization` for each landmark, or a precomputed kernel comes without rows.
    pub fn from_parts(
        kernel: Kernel,
        landmarks: Points,
        rows: Option<Vec<usize>>,
        normalization: Mat<f64>,
        precision: Precision,
    ) -> Result<Self> {
        let m = if matches!(kernel, Kernel::Precomputed) {
            rows.as_ref().map_or(0, Vec::len)
        } else {
            landmarks.n_samples()
        };
        if m == 0 || (normalization.nrows(), normalization.ncols()) != (m, m) {
            let requirement = format!("a matrix with a row and a column for each of {m} landmarks, at least one");
            let found = format!("{} by {}", normalization.nrows(), normalization.ncols());
            return Err(Error::invalid("normalization", requirement, found));
        }
        let n_features = landmarks.n_features();
        if let Some(row) =
            rows.iter().flatten().find(|&&row| matches!(kernel, Kernel::Precomputed) && row >= n_features)
        {
            return Err(Error::invalid("landmarks", format!("columns of the matrix, below {n_features}"), row));
        }
        let (warnings, chosen_entries) = (Vec::new(), 0);
        Ok(Self { kernel, landmarks, rows, rank: m, normalization, precision, n_features, warnings, chosen_entries })
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The landmarks; for a precomputed kernel, their rows of the matrix.
    pub fn landmarks(&self) -> &Points {
        &self.landmarks
    }

    /// The rows of the data that they are, if they are rows.
    pub fn rows(&self) -> Option<&[usize]> {
        self.rows.as_deref()
    }

    /// How many landmarks there are, and features.
    pub fn n_landmarks(&self) -> usize {
        self.normalization.ncols()
    }

    /// Dimensions of their span in feature space, to rounding; of a map made [`from_parts`](Self::from_parts) the number of landmarks.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// What kernel values with the landmarks are multiplied with.
    pub fn normalization(&self) -> MatRef<'_, f64> {
        self.normalization.as_ref()
    }

    /// The precision of kernel values.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Kernel entries that choosing the landmarks took.
    pub(crate) fn chosen_entries(&self) -> u64 {
        self.chosen_entries
    }

    /// What is to be said of the search for the kernel's width, if there was one.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Features of points: one row per point, one column per landmark.
    ///
    /// # Errors
    ///
    /// If the points have another width than the landmarks, or hold values that are not finite.
    pub fn transform(&self, points: &Points) -> Result<Mat<f64>> {
        self.transform_watched(points, &Threads::all()?, &Watch::new())
    }

    /// As [`transform`](Self::transform), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`transform`](Self::transform), and [`Error::Interrupted`].
    pub fn transform_watched(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Mat<f64>> {
        let context = Context::new(threads, watch, Phase::Transforming);
        let (expected, found) = (self.n_features, points.n_features());
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        let (n, m) = (points.n_samples(), self.normalization.nrows());
        check_features(format!("making {m} features of {n} rows"), n, m)?;
        points.check_finite()?;
        let vectors = self.normalization.transpose();
        match (&self.kernel, &self.rows) {
            (Kernel::Precomputed, Some(rows)) => {
                let nothing = Points::from_f64(Vec::new(), 0, rows.len())?;
                let queries = select_columns(points, rows)?;
                slab_product(&self.kernel, &queries, &nothing, vectors, self.precision, &context)
            }
            _ => slab_product(&self.kernel, points, &self.landmarks, vectors, self.precision, &context),
        }
    }

    /// The trace of what is missing: `Σ k(x, x) − Σ ‖features of x‖²`. It bounds the error of every product with the kernel matrix.
    ///
    /// For kernels that are positive semi-definite it is not negative but for rounding. For a precomputed kernel the points are the matrix.
    ///
    /// # Errors
    ///
    /// As [`transform`](Self::transform), and if the matrix of a precomputed kernel is not square.
    pub fn trace_error(&self, points: &Points) -> Result<f64> {
        self.trace_error_watched(points, &Threads::all()?, &Watch::new())
    }

    /// As [`trace_error`](Self::trace_error), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`trace_error`](Self::trace_error), and [`Error::Interrupted`].
    pub fn trace_error_watched(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<f64> {
        const ROWS: usize = 4096;
        let (rows, columns) = (points.n_samples(), points.n_features());
        if matches!(self.kernel, Kernel::Precomputed) && rows != columns {
            // Its diagonal is needed.
            return Err(Error::NotSquare { rows, columns });
        }
        let mut missing: f64 = diagonal(&self.kernel, points)?.iter().sum();
        for first in (0..points.n_samples()).step_by(ROWS) {
            let rows = first..points.n_samples().min(first + ROWS);
            missing -= self.transform_watched(&points.slice(rows), threads, watch)?.squared_norm_l2();
        }
        Ok(missing)
    }
}

/// Some columns of points, in the precision that holds them.
fn select_columns(points: &Points, columns: &[usize]) -> Result<Points> {
    let (n, d, m) = (points.n_samples(), points.n_features(), columns.len());
    match points.rows(0..n) {
        RowsRef::F32(all) => {
            let chosen: Vec<f32> = all.chunks_exact(d).flat_map(|row| columns.iter().map(|&c| row[c])).collect();
            Points::from_f32(chosen, n, m)
        }
        rows => {
            let all = rows.to_f64();
            let chosen: Vec<f64> = all.chunks_exact(d).flat_map(|row| columns.iter().map(|&c| row[c])).collect();
            Points::from_f64(chosen, n, m)
        }
    }
}
