//! What an expansion is asked for.

use super::polynomial;
use crate::choices::ExpansionMethod;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;

/// Tolerances below this are below what double precision can promise.
///
/// ```
/// use mercer::expansion::{Expansion, LEAST_TOLERANCE, Wanted};
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64((0..40).map(|i| f64::from(i) / 40.0).collect::<Vec<_>>(), 20, 2)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Multiplying);
/// let to = |tolerance| {
///     Expansion::new(&Kernel::gaussian(1.0)?, &points, &Wanted { tolerance, ..Wanted::default() }, &context)
/// };
/// assert!(to(LEAST_TOLERANCE).is_ok() && to(LEAST_TOLERANCE / 2.0).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
pub const LEAST_TOLERANCE: f64 = 1e-13;

/// What an expansion is asked for.
///
/// ```
/// use mercer::expansion::Wanted;
///
/// let wanted = Wanted { tolerance: 1e-9, ..Wanted::default() };
/// assert_eq!(wanted.method, mercer::ExpansionMethod::Auto);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Which method.
    pub method: ExpansionMethod,
    /// The largest error of an entry, relative to the largest entry.
    pub tolerance: f64,
    /// Which points rows of the matrix may belong to.
    pub targets: Targets<'a>,
    /// Vectors that will be multiplied at a time: they share the work on the points.
    pub columns: usize,
    /// Bytes that may be taken.
    pub memory: u64,
    /// Whether tiles are used where they cost less than any expansion; where no expansion reaches the tolerance they always are.
    pub may_be_tiled: bool,
}

impl Default for Wanted<'_> {
    fn default() -> Self {
        Self {
            method: ExpansionMethod::Auto,
            tolerance: 1e-6,
            targets: Targets::Sources,
            columns: 1,
            memory: u64::MAX,
            may_be_tiled: true,
        }
    }
}

/// Which points rows of the matrix may belong to.
///
/// ```
/// use mercer::expansion::{Expansion, Targets, Wanted};
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{ExpansionMethod, Kernel, Points};
///
/// let points = Points::from_f64((0..400).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 200, 2)?;
/// let far = Points::from_f64(vec![1.5, 1.5], 1, 2)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Multiplying);
/// let terms = |targets| {
///     let wanted = Wanted { method: ExpansionMethod::Series, targets, may_be_tiled: false, ..Wanted::default() };
///     Expansion::new(&Kernel::gaussian(0.5)?, &points, &wanted, &context).map(|expansion| expansion.terms())
/// };
/// // A point farther out takes more terms, if it is known that it will come.
/// assert!(terms(Targets::Known(&far))? > terms(Targets::Sources)?);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// The same as its columns.
    Sources,
    /// These.
    Known(&'a Points),
    /// Any; those far out are computed directly.
    Any,
}

/// An error for tolerances that no expansion can promise.
pub(super) fn check_tolerance(tolerance: f64) -> Result<()> {
    if !(tolerance > 0.0 && tolerance < 1.0) {
        return Err(Error::invalid("tolerance", "between 0 and 1", tolerance));
    }
    if tolerance < LEAST_TOLERANCE {
        let requirement = format!("at least {LEAST_TOLERANCE:e} for an expansion: less is below rounding");
        return Err(Error::invalid("tolerance", requirement, tolerance));
    }
    Ok(())
}

/// What errors are relative to: the largest value that the kernel can take between these points.
pub(super) fn largest_entry(kernel: &Kernel, points: &Points, targets: Targets<'_>) -> Result<f64> {
    if kernel.has_unit_range() {
        return Ok(1.0);
    }
    let of = |points: &Points| -> Result<f64> {
        Ok(polynomial::magnitudes(kernel, points)?.into_iter().fold(0.0_f64, f64::max))
    };
    let own = of(points)?;
    let scale = match targets {
        Targets::Known(queries) => (own * of(queries)?).sqrt().max(own),
        Targets::Sources | Targets::Any => own,
    };
    Ok(if scale > 0.0 { scale } else { 1.0 })
}
