//! Messages that depend on their numbers, and numbers as people write them.

use crate::scalar::Precision;

/// A number of columns.
pub(super) fn columns(n: usize) -> String {
    if n == 1 { "1 column".to_owned() } else { format!("{n} columns") }
}

/// What [`Error::TooFarApart`](super::Error::TooFarApart) says.
pub(super) fn too_far_apart(row: usize, largest: f64) -> String {
    format!(
        "row {row} is too large for a width to be found: its largest number is {}, and at such distances kernel values or widths are no \
         numbers; multiply the data by {:.0e}, standardize it, or leave the row out",
        short(largest),
        1.0 / largest
    )
}

/// What [`Error::TooFewRows`](super::Error::TooFewRows) says.
pub(super) fn too_few_rows(needed: usize, found: usize) -> String {
    let rows = if needed == 1 { "row" } else { "rows" };
    let are = if found == 1 { "is" } else { "are" };
    format!("kernel PCA needs at least {needed} {rows}, but there {are} {found}")
}

/// What [`Error::LandmarkTooLarge`](super::Error::LandmarkTooLarge) says.
pub(super) fn landmark_too_large(row: usize, precision: Precision) -> String {
    format!(
        "landmark {row} is too large for the kernel's width: its squared distance or inner product overflows {precision}; leave it out, scale \
         the data, or use a smaller gamma"
    )
}

/// What [`Error::LandmarkOverflow`](super::Error::LandmarkOverflow) says.
pub(super) fn landmark_overflow(kernel: &str, row: usize, value: f64, precision: Precision) -> String {
    format!(
        "the {kernel} kernel of landmark {row} with itself is {value:e}, which overflows {precision}; leave it out, scale the data, or use \
         a smaller gamma or degree"
    )
}

/// What [`Error::CodeUnderflow`](super::Error::CodeUnderflow) says.
pub(super) fn code_underflow(n_samples: usize, largest: f64, power: u32) -> String {
    format!(
        "all {n_samples} rows are too small for codes, which are squares of points: the largest number is {}, and f64 cannot hold its {} to \
         all digits; scale the data",
        short(largest),
        if power == 2 { "square" } else { "fourth power" }
    )
}

/// What [`Error::KernelUnderflow`](super::Error::KernelUnderflow) says.
pub(super) fn kernel_underflow(kernel: &str, value: f64, precision: Precision, n_samples: usize) -> String {
    let what = if precision == Precision::F32 { "such values" } else { "squares of such values" };
    let problem = if value == 0.0 {
        "underflows to zero, and the rows are not all zero".to_owned()
    } else {
        format!("is at most {value:e}, and {precision} cannot hold {what} to all digits")
    };
    format!(
        "the {kernel} kernel of each of the {n_samples} rows with itself {problem}; scale the data, or use a larger gamma"
    )
}

/// What [`Error::NegativeEigenvalues`](super::Error::NegativeEigenvalues) says.
pub(super) fn negative_eigenvalues(ratio: f64, can_flip: bool) -> String {
    format!(
        "there are significant negative eigenvalues ({}): the kernel is not positive semi-definite; choose what to do with them by \
         `negative` = \"clip\"{}",
        beside_the_largest(ratio),
        if can_flip { " or \"flip\"" } else { "" }
    )
}

/// What [`Error::Diverged`](super::Error::Diverged) says.
pub(super) fn diverged(rule: &str, (eta0, mu): (f64, Option<f64>), updates: usize, died: bool, advice: &str) -> String {
    format!(
        "the kernel Hebbian algorithm diverged within {updates} updates with gain \"{rule}\" at eta0 = {}{}{}; {advice}",
        short(eta0),
        mu.map_or_else(String::new, |mu| format!(" and mu = {}", short(mu))),
        if died { ": it blew up, and its gains then died, so that it stays where that has left it" } else { "" }
    )
}

/// What is known of a criterion without a maximum.
pub(super) fn no_maximum(rises: bool, n_sampled: Option<usize>) -> String {
    let Some(n) = n_sampled else {
        let goes = if rises { "rises" } else { "falls" };
        return format!(": it {goes} all the way, as when all rows are copies of two points");
    };
    format!(" that could be told from chance in samples of {n} points: the exact method looks at all pairs")
}

/// How much of the largest eigenvalue the most negative one is; beside none that is positive it is no share of anything.
pub(super) fn beside_the_largest(ratio: f64) -> String {
    if ratio < 1.0 / f64::EPSILON {
        format!("{ratio:.1e} of the largest")
    } else {
        "and none that is positive".to_owned()
    }
}

/// What [`Error::NotConverged`](super::Error::NotConverged) says.
pub(super) fn not_converged(converged: usize, found: usize, passes: usize, residual: f64, tolerance: f64) -> String {
    let (residual, tolerance) = apart(residual, tolerance);
    format!(
        "{converged} of the {found} components found converged in {passes} passes; largest residual {residual}, asked for {tolerance}"
    )
}

/// Two numbers as people write them, with as many digits as tell them apart.
///
/// ```
/// let written = |a, b| { let (a, b) = mercer::format_apart(a, b); format!("{a}, asked for {b}") };
/// assert_eq!(written(3e-6, 1e-5), "3.0e-6, asked for 1.0e-5");
/// assert_eq!(written(0.0104, 0.01), "1.04e-2, asked for 1.00e-2");
/// ```
pub fn apart(a: f64, b: f64) -> (String, String) {
    /// No two numbers have all of these in common.
    const DECIMALS: std::ops::RangeInclusive<usize> = 1..=16;
    let written = |decimals: usize| (format!("{a:.decimals$e}"), format!("{b:.decimals$e}"));
    DECIMALS.map(written).find(|(a, b)| a != b).unwrap_or_else(|| written(1))
}

/// A number as it would be typed: not three hundred zeros.
pub(crate) fn short(value: f64) -> String {
    let plain = value == 0.0 || (1e-6..1e16).contains(&value.abs()) || !value.is_finite();
    if plain { value.to_string() } else { format!("{value:e}") }
}

/// A number that was computed, in so many digits. One that was typed keeps all of its own ([`short`]).
pub(crate) fn rounded(value: f64, digits: usize) -> String {
    let decimals = digits.saturating_sub(1);
    short(format!("{value:.decimals$e}").parse().unwrap_or(value))
}

/// A number of bytes as people write it: `1.5 GiB`.
///
/// ```
/// assert_eq!(mercer::format_bytes(1_610_612_736), "1.5 GiB");
/// ```
pub fn bytes(n: u64) -> String {
    in_units(n, std::convert::identity)
}

/// The same, rounded up: whoever provides that much provides enough.
pub(crate) fn bytes_at_least(n: u64) -> String {
    in_units(n, f64::ceil)
}

/// A number of bytes in the largest unit that it reaches, whose tenths are rounded by `round` if they are more than displayed.
fn in_units(n: u64, round: impl Fn(f64) -> f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{:.1} {}", round(10.0 * value) / 10.0, UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn negative_eigenvalues_beside_no_positive_one_are_no_share_of_it() {
        for (ratio, words) in [
            (0.25, "there are significant negative eigenvalues (2.5e-1 of the largest): "),
            (3.0, "there are significant negative eigenvalues (3.0e0 of the largest): "),
            (f64::INFINITY, "there are significant negative eigenvalues (and none that is positive): "),
            (0.5 / f64::MIN_POSITIVE, "there are significant negative eigenvalues (and none that is positive): "),
        ] {
            let told = Error::NegativeEigenvalues { ratio, can_flip: true }.to_string();
            assert!(told.starts_with(words), "{told}");
        }
    }

    #[test]
    fn a_residual_that_is_too_large_does_not_look_like_what_was_asked_for() {
        let told = |residual, tolerance| {
            Error::NotConverged { converged: 1, found: 2, passes: 3, residual, tolerance }.to_string()
        };
        let start = "1 of the 2 components found converged in 3 passes; largest residual ";
        for (residual, tolerance, words) in [
            (0.5, 1e-5, "5.0e-1, asked for 1.0e-5"),
            (0.01004, 0.01, "1.004e-2, asked for 1.000e-2"),
            (0.01 * (1.0 + f64::EPSILON), 0.01, "1.0000000000000002e-2, asked for 1.0000000000000000e-2"),
            (0.01, 0.01, "1.0e-2, asked for 1.0e-2"),
            (f64::NAN, 0.01, "NaN, asked for 1.0e-2"),
        ] {
            assert_eq!(told(residual, tolerance), format!("{start}{words}"));
        }
    }

    #[test]
    fn numbers_that_were_computed_have_few_digits() {
        let told = |value| rounded(value, 5);
        assert_eq!(told(20.319_585_143_287_04), "20.32");
        assert_eq!([0.0, 2.0, 123_456.0, 1.234_567e-9].map(told), ["0", "2", "123460", "1.2346e-9"]);
        assert_eq!([f64::INFINITY, f64::NAN].map(told), ["inf", "NaN"]);
    }

    #[test]
    fn sizes_are_rounded_to_the_nearest_tenth_or_up() {
        assert_eq!((bytes(1025), bytes_at_least(1025)), ("1.0 KiB".to_owned(), "1.1 KiB".to_owned()));
        assert_eq!((bytes(2048), bytes_at_least(2048)), ("2.0 KiB".to_owned(), "2.0 KiB".to_owned()));
        assert_eq!((bytes(1023), bytes_at_least(1023)), ("1023 B".to_owned(), "1023 B".to_owned()));
    }
}
