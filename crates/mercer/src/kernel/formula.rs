//! How a kernel is written down: once, for single numbers and for vector registers alike.

use crate::simd::Lanes;

/// The scalar that a kernel reads off a pair of points.
///
/// ```
/// use mercer::Kernel;
/// use mercer::kernel::Pairing;
///
/// assert_eq!(Kernel::gaussian(1.0)?.pairing(), Some(Pairing::SquaredDistance));
/// assert_eq!(Kernel::linear().pairing(), Some(Pairing::InnerProduct));
///
/// // The distance does not change when both points move by the same vector; the inner product does.
/// let (x, y) = ([0.0, 1.0], [3.0, 5.0]);
/// assert_eq!((Pairing::SquaredDistance.of(&x, &y), Pairing::InnerProduct.of(&x, &y)), (25.0, 5.0));
/// assert!(Pairing::SquaredDistance.is_translation_invariant() && !Pairing::InnerProduct.is_translation_invariant());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pairing {
    /// $\langle x, y \rangle$.
    InnerProduct,
    /// $\lVert x - y \rVert_2^2$.
    SquaredDistance,
    /// $\lVert x - y \rVert_1$.
    ManhattanDistance,
    /// $\langle x, y \rangle / (\lVert x \rVert \, \lVert y \rVert)$, zero if either point is zero.
    Cosine,
}

impl Pairing {
    /// Whether adding the same vector to both points changes nothing.
    pub const fn is_translation_invariant(self) -> bool {
        matches!(self, Self::SquaredDistance | Self::ManhattanDistance)
    }

    /// The scalar of the pair `(x, y)`, computed directly.
    pub fn of(self, x: &[f64], y: &[f64]) -> f64 {
        let dot = |a: &[f64], b: &[f64]| sum_over(a, b, |p, q| p * q);
        match self {
            Self::InnerProduct => dot(x, y),
            Self::SquaredDistance => sum_over(x, y, |p, q| (p - q) * (p - q)),
            Self::ManhattanDistance => sum_over(x, y, |p, q| (p - q).abs()),
            Self::Cosine => {
                // Scaled to a largest coordinate of one, so that no square overflows or vanishes.
                let unit = |a: &[f64]| {
                    let largest = a.iter().fold(0.0_f64, |m, p| m.max(p.abs()));
                    a.iter().map(|p| if largest > 0.0 { p / largest } else { 0.0 }).collect::<Vec<_>>()
                };
                let (x, y) = (unit(x), unit(y));
                let norms = dot(&x, &x).sqrt() * dot(&y, &y).sqrt();
                if norms > 0.0 { dot(&x, &y) / norms } else { 0.0 }
            }
        }
    }
}

/// The sum of a term over both points' coordinates, in several sums at a time: one alone would wait for every addition.
#[inline(always)]
fn sum_over(x: &[f64], y: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    const SUMS: usize = 8;
    let mut sums = [0.0; SUMS];
    let (xs, ys) = (x.chunks_exact(SUMS), y.chunks_exact(SUMS));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(&p, &q)| term(p, q)).sum();
    for (p, q) in xs.zip(ys) {
        for lane in 0..SUMS {
            sums[lane] += term(p[lane], q[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// A real parameter that a kernel can be differentiated by.
///
/// ```
/// use mercer::Kernel;
/// use mercer::kernel::Parameter;
///
/// assert_eq!(Kernel::gaussian(0.5)?.parameter(Parameter::Gamma), Some(0.5));
/// assert_eq!(Kernel::gaussian(0.5)?.parameter(Parameter::Coef0), None);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Parameter {
    /// The inverse width.
    Gamma,
    /// The constant added to a scaled inner product.
    Coef0,
    /// The tail exponent of the rational quadratic kernel.
    Alpha,
}

impl Parameter {
    /// The name users know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gamma => "gamma",
            Self::Coef0 => "coef0",
            Self::Alpha => "alpha",
        }
    }
}

/// The definition of a kernel: `k = shape(u)` with `u = scale * s`, where `s` is the scalar of the pair.
///
/// The scale is kept apart because the tile engine multiplies it into the points when it packs them, where it costs nothing.
pub(crate) trait Formula: Copy + Send + Sync + 'static {
    /// Which scalar of the pair `s` is.
    const PAIRING: Pairing;
    /// Whether all values lie between zero and one.
    const UNIT_RANGE: bool;
    /// The parameters that [`derivative`](Self::derivative) knows.
    const PARAMETERS: &'static [Parameter];

    /// Whether every Gram matrix is positive semi-definite.
    fn is_positive_definite(&self) -> bool;

    /// What the scalar of the pair is multiplied by; positive.
    fn scale(&self) -> f64;

    /// The kernel's value where the scaled scalar is `u`.
    fn shape<L: Lanes>(&self, u: L) -> L;

    /// `shape(-t)`, for kernels that can do better than change the sign twice: the tile engine has minus the squared distance.
    #[inline(always)]
    fn shape_of_negative<L: Lanes>(&self, t: L) -> L {
        self.shape(-t)
    }

    /// The kernel's value where the scalar is `s`.
    #[inline(always)]
    fn value<L: Lanes>(&self, s: L) -> L {
        self.shape(s * L::constant(self.scale()))
    }

    /// The derivative of the value with respect to `s`.
    fn slope<L: Lanes>(&self, s: L) -> L;

    /// The derivative of the value with respect to one of [`PARAMETERS`](Self::PARAMETERS).
    fn derivative<L: Lanes>(&self, parameter: Parameter, s: L) -> L;

    /// The value of one of [`PARAMETERS`](Self::PARAMETERS).
    fn parameter(&self, parameter: Parameter) -> f64;
}
