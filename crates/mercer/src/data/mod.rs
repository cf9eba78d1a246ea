//! Points: the rows of the data, in the format they came in.

mod alike;
mod middle;
mod moments;
mod sample;
mod scaling;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

pub(crate) use alike::Guise;
pub(crate) use middle::middle;
pub use moments::Moments;
pub use sample::sample_rows;
pub use scaling::Scaling;

use crate::error::{Error, Result};
use crate::scalar::Precision;
use crate::watch::{Threads, is_on_a_pool};

/// Rows of numbers, one point each, shared and never copied.
///
/// The values stay in the format they were given in: 32- or 64-bit floating point, or bytes. Anything that can lend a
/// slice can own them: a vector, a memory-mapped file, an array of another language. Cloning is free.
///
/// ```
/// use mercer::{Points, Precision};
///
/// let points = Points::from_f64(vec![0.0, 0.0, 3.0, 4.0], 2, 2)?;
/// assert_eq!(points.row(1), [3.0, 4.0]);
/// assert_eq!((points.n_samples(), points.n_features(), points.precision()), (2, 2, Precision::F64));
///
/// // Some of the rows, and rows after others.
/// let swapped = points.select(&[1, 0]);
/// assert_eq!(points.followed_by(&swapped)?.row(2), [3.0, 4.0]);
///
/// // Bytes stay bytes.
/// let pixels = Points::from_u8(vec![0, 51, 102, 255], 2, 2, 1.0 / 255.0)?;
/// assert!(pixels.is_bytes() && pixels.byte_scale() == Some(1.0 / 255.0));
/// assert_eq!((pixels.size(), points.size()), (4, 32));
///
/// let broken = Points::from_f64(vec![0.0, f64::NAN], 1, 2)?;
/// let error = broken.check_finite().err().map(|error| error.to_string());
/// assert_eq!(error.as_deref(), Some("row 0, column 1 is NaN; kernels need finite numbers"));
///
/// // Whatever is learned from points looks for such values first; in these nobody does so again.
/// assert!(points.checked()?.check_finite().is_ok() && broken.checked().is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone)]
pub struct Points {
    values: Values,
    first: usize,
    n_samples: usize,
    n_features: usize,
    /// How numbers in single precision are bytes, if that is known of all of them.
    guise: Option<Guise>,
    /// Whether somebody has looked, and all values are finite.
    is_finite: bool,
}

type Shared<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

#[derive(Clone)]
enum Values {
    F32(Shared<f32>),
    F64(Shared<f64>),
    U8 { values: Shared<u8>, scale: f64 },
}

/// The values of consecutive rows, in the format they are kept in.
///
/// ```
/// use mercer::Points;
/// use mercer::data::RowsRef;
///
/// let points = Points::from_u8(vec![0, 51, 102, 255], 2, 2, 1.0 / 255.0)?;
/// let RowsRef::U8 { values, scale } = points.rows(1..2) else { panic!("bytes stay bytes") };
/// assert_eq!((values, scale), (&[102, 255][..], 1.0 / 255.0));
/// let first = points.rows(0..1);
/// assert_eq!((first.len(), first.to_f64()), (2, vec![0.0, 51.0 * scale]));
/// assert!(points.rows(1..1).is_empty());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum RowsRef<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
    /// Bytes, each standing for `scale` times itself.
    U8 {
        /// The bytes.
        values: &'a [u8],
        /// What a byte is multiplied by.
        scale: f64,
    },
}

impl Points {
    /// Points in single precision, row by row.
    ///
    /// # Errors
    ///
    /// If there are no columns or the number of values is not `n_samples * n_features`.
    pub fn from_f32(
        values: impl AsRef<[f32]> + Send + Sync + 'static,
        n_samples: usize,
        n_features: usize,
    ) -> Result<Self> {
        check_shape(values.as_ref().len(), n_samples, n_features)?;
        Ok(Self::whole(Values::F32(Arc::new(values)), n_samples, n_features))
    }

    /// Points in double precision, row by row.
    ///
    /// # Errors
    ///
    /// If there are no columns or the number of values is not `n_samples * n_features`.
    pub fn from_f64(
        values: impl AsRef<[f64]> + Send + Sync + 'static,
        n_samples: usize,
        n_features: usize,
    ) -> Result<Self> {
        check_shape(values.as_ref().len(), n_samples, n_features)?;
        Ok(Self::whole(Values::F64(Arc::new(values)), n_samples, n_features))
    }

    /// Points whose coordinates are bytes times `scale`, row by row: images, counts, categories.
    ///
    /// They stay bytes in memory, and inner products and distances are computed exactly, in integers.
    ///
    /// # Errors
    ///
    /// If there are no columns, the number of values is not `n_samples * n_features`, or `scale` is not positive.
    pub fn from_u8(
        values: impl AsRef<[u8]> + Send + Sync + 'static,
        n_samples: usize,
        n_features: usize,
        scale: f64,
    ) -> Result<Self> {
        check_shape(values.as_ref().len(), n_samples, n_features)?;
        Error::require_positive("scale", scale)?;
        Ok(Self::whole(Values::U8 { values: Arc::new(values), scale }, n_samples, n_features))
    }

    /// Points of all these values, of which nothing is known but that bytes are finite.
    fn whole(values: Values, n_samples: usize, n_features: usize) -> Self {
        let is_finite = matches!(values, Values::U8 { .. });
        Self { values, first: 0, n_samples, n_features, guise: None, is_finite }
    }

    /// Number of points.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Number of coordinates of each point.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The precision that holds the values without loss (single precision for bytes).
    pub fn precision(&self) -> Precision {
        match self.values {
            Values::F32(_) | Values::U8 { .. } => Precision::F32,
            Values::F64(_) => Precision::F64,
        }
    }

    /// Whether the values are bytes.
    pub fn is_bytes(&self) -> bool {
        self.byte_scale().is_some()
    }

    /// What bytes are multiplied by, if the values are bytes.
    pub fn byte_scale(&self) -> Option<f64> {
        match self.values {
            Values::U8 { scale, .. } => Some(scale),
            Values::F32(_) | Values::F64(_) => None,
        }
    }

    /// The same bytes with another scale; values that are not bytes have none, and stay as they are.
    fn with_byte_scale(&self, scale: f64) -> Result<Self> {
        let Values::U8 { values, .. } = &self.values else { return Ok(self.clone()) };
        Error::require_positive("scale", scale)?;
        Ok(Self { values: Values::U8 { values: values.clone(), scale }, ..self.clone() })
    }

    /// Bytes of memory that the values take.
    pub fn size(&self) -> u64 {
        let each = match self.values {
            Values::U8 { .. } => 1,
            Values::F32(_) => 4,
            Values::F64(_) => 8,
        };
        self.n_samples as u64 * self.n_features as u64 * each
    }

    /// The values of some rows, as they are kept.
    ///
    /// # Panics
    ///
    /// If the range does not lie within the rows.
    #[track_caller]
    pub fn rows(&self, rows: Range<usize>) -> RowsRef<'_> {
        assert!(rows.start <= rows.end && rows.end <= self.n_samples, "rows {rows:?} of {}", self.n_samples);
        let d = self.n_features;
        let range = (self.first + rows.start) * d..(self.first + rows.end) * d;
        match &self.values {
            Values::F32(values) => RowsRef::F32(&(**values).as_ref()[range]),
            Values::F64(values) => RowsRef::F64(&(**values).as_ref()[range]),
            Values::U8 { values, scale } => RowsRef::U8 { values: &(**values).as_ref()[range], scale: *scale },
        }
    }

    /// One point in double precision.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[track_caller]
    pub fn row(&self, row: usize) -> Vec<f64> {
        self.rows(row..row + 1).to_f64()
    }

    /// Consecutive points, without copying.
    ///
    /// # Panics
    ///
    /// If the range does not lie within the rows.
    #[track_caller]
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.n_samples, "rows {rows:?} of {}", self.n_samples);
        Self { first: self.first + rows.start, n_samples: rows.len(), ..self.clone() }
    }

    /// A copy of some of the points, in the given order.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[track_caller]
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        fn gather<T: Copy>(all: &[T], d: usize, rows: &[usize]) -> Vec<T> {
            let mut chosen = Vec::with_capacity(rows.len() * d);
            for &row in rows {
                chosen.extend_from_slice(&all[row * d..(row + 1) * d]);
            }
            chosen
        }
        let d = self.n_features;
        let values = match self.rows(0..self.n_samples) {
            RowsRef::F32(all) => Values::F32(Arc::new(gather(all, d, rows))),
            RowsRef::F64(all) => Values::F64(Arc::new(gather(all, d, rows))),
            RowsRef::U8 { values, scale } => Values::U8 { values: Arc::new(gather(values, d, rows)), scale },
        };
        Self { values, first: 0, n_samples: rows.len(), n_features: d, guise: self.guise, is_finite: self.is_finite }
    }

    /// These points, followed by others of the same width and format.
    ///
    /// # Errors
    ///
    /// If the others have another number of columns or are kept in another format.
    pub fn followed_by(&self, others: &Self) -> Result<Self> {
        self.check_followed_by(others)?;
        let n_samples = self.n_samples + others.n_samples;
        let values = match (self.rows(0..self.n_samples), others.rows(0..others.n_samples)) {
            (RowsRef::F32(a), RowsRef::F32(b)) => Values::F32(Arc::new([a, b].concat())),
            (RowsRef::F64(a), RowsRef::F64(b)) => Values::F64(Arc::new([a, b].concat())),
            (RowsRef::U8 { values: a, scale }, RowsRef::U8 { values: b, scale: other })
                if scale.to_bits() == other.to_bits() =>
            {
                Values::U8 { values: Arc::new([a, b].concat()), scale }
            }
            _ => return Err(self.other_format(others)),
        };
        let guise = self.guise.filter(|_| self.guise == others.guise);
        let is_finite = self.is_finite && others.is_finite;
        Ok(Self { values, first: 0, n_samples, n_features: self.n_features, guise, is_finite })
    }

    /// Refuses points that cannot follow these: of other columns, or kept in another format.
    pub(crate) fn check_followed_by(&self, others: &Self) -> Result<()> {
        let (expected, found) = (self.n_features, others.n_features);
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the new data", expected, found });
        }
        if self.format() == others.format() { Ok(()) } else { Err(self.other_format(others)) }
    }

    fn other_format(&self, others: &Self) -> Error {
        let requirement = format!("numbers of the format learned from ({})", self.format());
        Error::invalid("new data", requirement, others.format())
    }

    /// How numbers in single precision are bytes, if that is known of all of them.
    pub(crate) fn guise(&self) -> Option<Guise> {
        self.guise
    }

    /// How the values are kept, in words.
    fn format(&self) -> String {
        match self.values {
            Values::F32(_) => "f32".to_owned(),
            Values::F64(_) => "f64".to_owned(),
            Values::U8 { scale, .. } => format!("u8 times {scale}"),
        }
    }

    /// Looks for the first value that is not finite. On a thread of a pool all of its threads help.
    ///
    /// # Errors
    ///
    /// [`Error::NotFinite`] with its place.
    pub fn check_finite(&self) -> Result<()> {
        if self.is_finite {
            return Ok(());
        }
        match self.rows(0..self.n_samples).first_not_finite() {
            None => Ok(()),
            Some((index, value)) => {
                Err(Error::NotFinite { row: index / self.n_features, column: index % self.n_features, value })
            }
        }
    }

    /// The same points, in which [`check_finite`](Self::check_finite) has nothing left to look for; nor in parts of them.
    ///
    /// # Errors
    ///
    /// What that finds.
    pub fn checked(self) -> Result<Self> {
        self.check_finite()?;
        Ok(Self { is_finite: true, ..self })
    }
}

/// Values that one thread looks at before others are awake.
const ALONE_UP_TO: usize = 1 << 18;

impl Points {
    /// As [`check_finite`](Self::check_finite), on these threads if there is work for them.
    pub(crate) fn check_finite_on(&self, threads: &Threads) -> Result<()> {
        if self.is_finite || self.n_samples * self.n_features <= ALONE_UP_TO {
            self.check_finite()
        } else {
            threads.run(|| self.check_finite())
        }
    }
}

impl<'a> RowsRef<'a> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match *self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::U8 { values, .. } => values.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Place and value of the first number that is infinite or not a number. On a thread of a pool all of its threads help.
    ///
    /// ```
    /// use mercer::data::RowsRef;
    ///
    /// assert_eq!(RowsRef::F32(&[1.0, f32::MAX]).first_not_finite(), None);
    /// assert_eq!(RowsRef::F64(&[1.0, f64::INFINITY, f64::NAN]).first_not_finite(), Some((1, f64::INFINITY)));
    /// ```
    pub fn first_not_finite(&self) -> Option<(usize, f64)> {
        match *self {
            Self::F32(values) => first_not(values, f32::is_finite).map(|at| (at, f64::from(values[at]))),
            Self::F64(values) => first_not(values, f64::is_finite).map(|at| (at, values[at])),
            Self::U8 { .. } => None,
        }
    }

    /// Some of the values.
    fn part(&self, range: Range<usize>) -> RowsRef<'a> {
        match *self {
            Self::F32(values) => RowsRef::F32(&values[range]),
            Self::F64(values) => RowsRef::F64(&values[range]),
            Self::U8 { values, scale } => RowsRef::U8 { values: &values[range], scale },
        }
    }

    /// The values in double precision.
    pub fn to_f64(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.len()];
        self.copy_to_f64(&mut all);
        all
    }

    /// Writes the values in double precision, as many as there is room for.
    // Packing needs it compiled for its own instruction set.
    #[inline(always)]
    pub(crate) fn copy_to_f64(&self, out: &mut [f64]) {
        match *self {
            Self::F32(values) => out.iter_mut().zip(values).for_each(|(to, &x)| *to = f64::from(x)),
            Self::F64(values) => out.iter_mut().zip(values).for_each(|(to, &x)| *to = x),
            Self::U8 { values, scale } => out.iter_mut().zip(values).for_each(|(to, &x)| *to = f64::from(x) * scale),
        }
    }
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = match self.values {
            Values::F32(_) => "f32",
            Values::F64(_) => "f64",
            Values::U8 { .. } => "u8",
        };
        write!(f, "Points({} x {} {format})", self.n_samples, self.n_features)
    }
}

fn check_shape(found: usize, n_samples: usize, n_features: usize) -> Result<()> {
    if n_features == 0 {
        return Err(Error::NoColumns { n_samples });
    }
    if n_samples.checked_mul(n_features) != Some(found) {
        return Err(Error::ShapeMismatch { n_samples, n_features, found });
    }
    Ok(())
}

/// The place of the first number that is not as it should be.
fn first_not<T: Copy + Sync>(all: &[T], is_good: impl Fn(T) -> bool + Sync) -> Option<usize> {
    // Whole blocks without a branch in between, which is what makes it as fast as memory.
    const BLOCK: usize = 4096;
    let in_chunk = |(block, chunk): (usize, &[T])| {
        if chunk.iter().fold(true, |all, &x| all & is_good(x)) {
            return None;
        }
        chunk.iter().position(|&x| !is_good(x)).map(|inside| block * BLOCK + inside)
    };
    if all.len() <= ALONE_UP_TO || !is_on_a_pool() {
        return all.chunks(BLOCK).enumerate().find_map(in_chunk);
    }
    all.par_chunks(BLOCK).enumerate().with_min_len(ALONE_UP_TO / BLOCK).find_map_first(in_chunk)
}

#[cfg(test)]
mod tests;
