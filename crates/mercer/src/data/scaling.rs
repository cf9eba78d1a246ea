//! What is done to the columns before a kernel sees them.

use super::{Moments, Points, RowsRef};
use crate::error::{Error, Result};

/// A shift and a factor for each column: `x` becomes `(x − shift) · factor`.
///
/// Kernels compare columns as if they had the same unit. A scaling makes it so, and goes with the model
/// ([`Model::with_scaling`](crate::Model::with_scaling)), so that new points are treated as the first ones were.
///
/// ```
/// use mercer::{Points, data::{Moments, Scaling}};
///
/// let points = Points::from_f64(vec![0.0, 10.0, 2.0, 30.0], 2, 2)?;
/// let scaling = Scaling::standardizing(&Moments::of(&points));
/// let scaled = scaling.apply(&points)?;
/// assert_eq!((scaled.row(0), scaled.row(1)), (vec![-1.0, -1.0], vec![1.0, 1.0]));
///
/// // What it does to a column, and to a row in place.
/// assert_eq!((scaling.n_features(), scaling.shift(), scaling.factor()), (2, &[1.0, 20.0][..], &[1.0, 0.1][..]));
/// let mut row = [4.0_f32, 40.0];
/// scaling.apply_to_f32(&mut row);
/// assert_eq!(row, [3.0, 2.0]);
///
/// // The same for all columns: bytes can stay bytes.
/// let half = Scaling::uniform(0.5, 2)?;
/// assert_eq!((half.common_factor(), scaling.common_factor()), (Some(0.5), None));
/// let mut row = [4.0, 6.0];
/// half.apply_to_f64(&mut row);
/// assert_eq!(row, [2.0, 3.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    shift: Vec<f64>,
    factor: Vec<f64>,
}

impl Scaling {
    /// A scaling with these shifts and factors, one of each per column.
    ///
    /// # Errors
    ///
    /// If there are no columns, their numbers differ, a shift is not finite, or a factor is not positive.
    pub fn new(shift: Vec<f64>, factor: Vec<f64>) -> Result<Self> {
        if factor.is_empty() {
            return Err(Error::NoColumns { n_samples: 0 });
        }
        if shift.len() != factor.len() {
            let (n_features, found) = (factor.len(), shift.len());
            return Err(Error::ShapeMismatch { n_samples: 1, n_features, found });
        }
        shift.iter().try_for_each(|&shift| Error::require_finite("shift", shift))?;
        factor.iter().try_for_each(|&factor| Error::require_positive("scale", factor))?;
        Ok(Self { shift, factor })
    }

    /// The same factor for every column, and no shift.
    ///
    /// # Errors
    ///
    /// If there are no columns or the factor is not positive.
    pub fn uniform(factor: f64, n_features: usize) -> Result<Self> {
        Self::new(vec![0.0; n_features], vec![factor; n_features])
    }

    /// The scaling that gives every column mean 0 and variance 1. A column that is constant becomes 0.
    pub fn standardizing(moments: &Moments) -> Self {
        let factors = moments.in_units().map(|(mean, variance, unit)| {
            let n_epsilon = moments.n_samples() as f64 * f64::EPSILON;
            // What rounding of sums and of the mean can make of a constant column; it is not to be blown up to variance 1.
            let rounding = n_epsilon * variance + (n_epsilon * mean) * (n_epsilon * mean);
            // The largest factor that there is, for numbers that are too small for their own.
            if variance <= rounding { 1.0 } else { (1.0 / variance.sqrt() / unit).min(f64::MAX) }
        });
        Self { shift: moments.mean().to_vec(), factor: factors.collect() }
    }

    /// Number of columns.
    pub fn n_features(&self) -> usize {
        self.factor.len()
    }

    /// What is subtracted from each column.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// What each column is multiplied by after that.
    pub fn factor(&self) -> &[f64] {
        &self.factor
    }

    /// The factor, if it is the same for all columns and nothing is subtracted. Such a scaling keeps bytes as bytes.
    #[expect(clippy::float_cmp, reason = "a factor that differs in the last bit is another factor")]
    pub fn common_factor(&self) -> Option<f64> {
        let first = self.factor[0];
        let is_common = self.shift.iter().all(|&shift| shift == 0.0) && self.factor.iter().all(|&f| f == first);
        is_common.then_some(first)
    }

    /// The scaled points: in their own precision, bytes as bytes where there is a common factor and in single precision where
    /// there is none.
    ///
    /// # Errors
    ///
    /// If the points have another number of columns.
    pub fn apply(&self, points: &Points) -> Result<Points> {
        let (n, d) = (points.n_samples(), points.n_features());
        if d != self.n_features() {
            return Err(Error::FeatureMismatch { what: "the data", expected: self.n_features(), found: d });
        }
        if let (Some(factor), Some(scale)) = (self.common_factor(), points.byte_scale()) {
            return points.with_byte_scale(scale * factor);
        }
        match points.rows(0..n) {
            RowsRef::F32(values) => {
                let mut values = values.to_vec();
                self.apply_to_f32(&mut values);
                Points::from_f32(values, n, d)
            }
            RowsRef::F64(values) => {
                let mut values = values.to_vec();
                self.apply_to_f64(&mut values);
                Points::from_f64(values, n, d)
            }
            RowsRef::U8 { values, scale } => {
                let mut scaled: Vec<f32> = Vec::with_capacity(values.len());
                for row in values.chunks_exact(d) {
                    scaled.extend(
                        row.iter()
                            .zip(self.columns())
                            .map(|(&x, (shift, factor))| ((f64::from(x) * scale - shift) * factor) as f32),
                    );
                }
                Points::from_f32(scaled, n, d)
            }
        }
    }

    /// The points as they were before they were scaled: bytes exactly, other numbers up to rounding. Bytes that became numbers of single
    /// precision stay such.
    ///
    /// ```
    /// use mercer::{Points, data::Scaling};
    ///
    /// let points = Points::from_f64(vec![1.0, 10.0, 2.0, 30.0], 2, 2)?;
    /// let scaling = Scaling::new(vec![1.0, 0.0], vec![2.0, 0.5])?;
    /// assert_eq!(scaling.undo(&scaling.apply(&points)?)?.row(1), [2.0, 30.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the points have another number of columns.
    pub fn undo(&self, points: &Points) -> Result<Points> {
        let (n, d) = (points.n_samples(), points.n_features());
        if d != self.n_features() {
            return Err(Error::FeatureMismatch { what: "the data", expected: self.n_features(), found: d });
        }
        let back = |(x, (shift, factor)): (f64, (f64, f64))| x / factor + shift;
        match points.rows(0..n) {
            // A common factor, or they would not be bytes any more; divided by it, a scale of one comes back as one.
            RowsRef::U8 { scale, .. } => points.with_byte_scale(scale / self.factor[0]),
            RowsRef::F32(values) => {
                let rows = values.chunks_exact(d);
                let undone = rows.flat_map(|row| row.iter().map(|&x| f64::from(x)).zip(self.columns()).map(back));
                Points::from_f32(undone.map(|x| x as f32).collect::<Vec<_>>(), n, d)
            }
            RowsRef::F64(values) => {
                let undone = values.chunks_exact(d).flat_map(|row| row.iter().copied().zip(self.columns()).map(back));
                Points::from_f64(undone.collect::<Vec<_>>(), n, d)
            }
        }
    }

    /// Scales rows in place.
    pub fn apply_to_f32(&self, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(self.n_features()) {
            for (x, (shift, factor)) in row.iter_mut().zip(self.columns()) {
                // In double precision: a shift may be large against what is left.
                *x = ((f64::from(*x) - shift) * factor) as f32;
            }
        }
    }

    /// Scales rows in place.
    pub fn apply_to_f64(&self, rows: &mut [f64]) {
        for row in rows.chunks_exact_mut(self.n_features()) {
            for (x, (shift, factor)) in row.iter_mut().zip(self.columns()) {
                *x = (*x - shift) * factor;
            }
        }
    }

    fn columns(&self) -> impl Iterator<Item = (f64, f64)> {
        self.shift.iter().copied().zip(self.factor.iter().copied())
    }
}
