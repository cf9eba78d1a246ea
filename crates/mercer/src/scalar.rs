//! The two precisions that arithmetic is done in.

use std::fmt;

use crate::simd::{Lanes, Target};

/// What the crate needs of a scalar beyond [`Scalar`]. Nobody outside can name it, so nobody outside has other scalars.
pub(crate) trait Vectors: Sized {
    /// This scalar's vector of lanes on an instruction set.
    type On<G: Target>: Lanes<Elem = Self>;
}

/// Which floating-point format tiles of the Gram matrix are computed in.
///
/// Sums over samples are accumulated in double precision either way.
///
/// ```
/// use mercer::Precision;
///
/// assert_eq!(Precision::F32.to_string(), "f32");
/// assert_eq!((Precision::F32.size(), Precision::F64.size()), (4, 8));
/// assert_eq!(Precision::F32.epsilon(), f64::from(f32::EPSILON));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
}

impl Precision {
    /// The distance from 1 to the next larger number.
    pub const fn epsilon(self) -> f64 {
        match self {
            Self::F32 => f32::EPSILON as f64,
            Self::F64 => f64::EPSILON,
        }
    }

    /// The largest finite number.
    pub(crate) const fn largest(self) -> f64 {
        match self {
            Self::F32 => f32::MAX as f64,
            Self::F64 => f64::MAX,
        }
    }

    /// Bytes of one number.
    pub const fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// `f32` or `f64`. Sealed: algorithms may rely on IEEE arithmetic.
///
/// ```
/// use mercer::{Precision, Scalar};
///
/// fn rounded<T: Scalar>(x: f64) -> (f64, Precision) {
///     (T::from_f64(x).to_f64(), T::PRECISION)
/// }
///
/// assert_eq!(rounded::<f64>(0.1), (0.1, Precision::F64));
/// assert_eq!(rounded::<f32>(0.1), (f64::from(0.1_f32), Precision::F32));
/// ```
#[expect(private_bounds, reason = "the trait is sealed")]
pub trait Scalar: Copy + Send + Sync + PartialOrd + fmt::Debug + fmt::Display + Default + Vectors + 'static {
    /// Which of the two this is.
    const PRECISION: Precision;

    /// Rounds to this precision.
    fn from_f64(x: f64) -> Self;

    /// Widens exactly.
    fn to_f64(self) -> f64;
}

impl Vectors for f32 {
    type On<G: Target> = G::F32;
}

impl Vectors for f64 {
    type On<G: Target> = G::F64;
}

impl Scalar for f32 {
    const PRECISION: Precision = Precision::F32;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Scalar for f64 {
    const PRECISION: Precision = Precision::F64;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}
