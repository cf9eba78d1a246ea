//! The waves of a mixture of Gaussians along a periodic axis.
//!
//! # Method
//!
//! A Gaussian `e^{-s z²}` that has fallen off one period `L` away, less the largest difference `D` between points, is repeated as it is: its
//! coefficients are `√(π/s) e^{-π²k²/(s L²)} / L`. A wider one would meet its images, though all that matters of it lies within `D`. It is cut
//! off half a period away by
//!
//! ```text
//! χ(z) = (erf((z + L/2) / w) - erf((z - L/2) / w)) / 2
//! ```
//!
//! which is one for `|z| ≤ D` and zero for `|z| ≥ L - D` but for `e^{-q²}` with `q = (L/2 - D) / w`, if `q` is above 1.13: `erfc(q) ≤ e^{-q²} / (q √π)`, of
//! which there are two. What comes out is smooth, so the trapezoidal rule has its coefficients to rounding. They are not all positive. A constant has one
//! wave and needs none of this.

use std::f64::consts::{PI, TAU};

/// Coefficients smaller than this do not matter to anything.
pub(super) const NEGLIGIBLE: f64 = 1e-18;

/// Coefficients of each Gaussian of a mixture, for one period.
#[derive(Clone, Debug)]
pub(super) struct Spectrum {
    pub(super) period: f64,
    /// Weights and exponents.
    nodes: Vec<(f64, f64)>,
    /// Coefficients of those that are cut off; `None` for those that have a formula.
    tables: Vec<Option<Vec<f64>>>,
    /// For those that are cut off, all weighted together: the sum of what lies at some wave and beyond, mirror images included.
    tails: Vec<f64>,
}

impl Spectrum {
    /// The spectrum of a mixture for differences of up to `difference`. Gaussians that are wider than `taper` allows, the error of one that is
    /// cut off, are cut off; without it none is.
    pub(super) fn new(nodes: &[(f64, f64)], period: f64, difference: f64, taper: Option<f64>) -> Self {
        let room = period - difference;
        let is_wide = |s: f64| taper.is_some_and(|error| s * room * room < (4.0 / error).ln());
        let width = taper.map_or(1.0, |error| (0.5 * period - difference) / (1.0 / error).ln().sqrt());
        let widest = nodes.iter().map(|&(_, s)| s).filter(|&s| is_wide(s)).fold(0.0, f64::max);
        let taper = Taper::new(period, width, widest);
        let tables: Vec<Option<Vec<f64>>> = nodes
            .iter()
            .map(|&(_, s)| match s {
                0.0 => Some(vec![1.0]),
                s => is_wide(s).then(|| taper.coefficients(s)),
            })
            .collect();
        let longest = tables.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let mut tails = vec![0.0; longest + 1];
        for k in (0..longest).rev() {
            let own = |(table, node): (&Option<Vec<f64>>, &(f64, f64))| {
                let value = table.as_ref().and_then(|table| table.get(k)).map_or(0.0, |value| value.abs());
                node.0 * value
            };
            tails[k] = tails[k + 1] + twice(k) * tables.iter().zip(nodes).map(own).sum::<f64>();
        }
        Self { period, nodes: nodes.to_vec(), tables, tails }
    }

    /// The coefficient of wave `k` of a Gaussian of the mixture.
    pub(super) fn coefficient(&self, node: usize, k: usize) -> f64 {
        match &self.tables[node] {
            Some(table) => table.get(k).copied().unwrap_or(0.0),
            None => coefficient(self.nodes[node].1, self.period, k),
        }
    }

    /// Waves of a Gaussian of the mixture that may matter, from zero on, with the absolute values of their coefficients; both of a pair counted.
    pub(super) fn sizes(&self, node: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let tabulated = self.tables[node].as_ref().map(Vec::len);
        (0..tabulated.unwrap_or(usize::MAX))
            .map(move |k| (k, twice(k) * self.coefficient(node, k).abs()))
            .take_while(move |&(_, size)| tabulated.is_some() || size >= NEGLIGIBLE)
    }

    /// The highest wave whose coefficients, all weighted together, are not yet negligible beside `tolerance`.
    pub(super) fn highest_wave(&self, tolerance: f64) -> f64 {
        let narrowest = self.nodes.iter().fold(0.0_f64, |largest, &(_, s)| largest.max(s));
        let most = self.period * (narrowest * (1.0 / tolerance).ln().max(1.0)).sqrt() / PI;
        if self.nodes.len() == 1 {
            return most;
        }
        // Of many Gaussians the narrowest hardly weigh anything.
        let left = |k: usize| {
            let wave = PI * k as f64 / self.period;
            let plain = self.nodes.iter().zip(&self.tables).filter(|(_, table)| table.is_none());
            let plain: f64 = plain.map(|(&(weight, s), _)| weight * (-wave * wave / s).exp()).sum();
            plain + self.tails.get(k).copied().unwrap_or(0.0)
        };
        let (mut low, mut high) = (0, most.min(BEYOND).ceil() as usize + self.tails.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if left(middle) > tolerance { low = middle + 1 } else { high = middle }
        }
        low as f64
    }
}

/// Waves come in pairs, except for the constant.
fn twice(k: usize) -> f64 {
    if k == 0 { 1.0 } else { 2.0 }
}

/// The coefficient of wave `k` of the Gaussian with exponent `s`.
fn coefficient(s: f64, period: f64, k: usize) -> f64 {
    let wave = PI * k as f64 / period;
    (PI / s).sqrt() / period * (-wave * wave / s).exp()
}

/// What cuts Gaussians off, at places of the trapezoidal rule.
struct Taper {
    period: f64,
    /// Waves that it and a Gaussian have together.
    waves: usize,
    /// Places, from zero on, and `χ` at them and one period before.
    values: Vec<(f64, f64, f64)>,
    /// Of all angles.
    cosines: Vec<f64>,
}

impl Taper {
    /// A taper over a length of `width` for Gaussians with exponents of at most `s`.
    fn new(period: f64, width: f64, s: f64) -> Self {
        let logarithm = (1.0 / NEGLIGIBLE).ln();
        let waves = period * logarithm.sqrt() / PI * (1.0 / width + s.sqrt());
        let waves = waves.min(LARGEST).ceil() as usize + 1;
        let half = waves + 2;
        let step = 0.5 * period / half as f64;
        let taper = |z: f64| 0.5 * (erf((z + 0.5 * period) / width) - erf((z - 0.5 * period) / width));
        let values = (0..=half).map(|j| j as f64 * step).map(|z| (z, taper(z), taper(z - period))).collect();
        let cosines = (0..2 * half).map(|j| (TAU * j as f64 / (2 * half) as f64).cos()).collect();
        Self { period, waves, values, cosines }
    }

    /// Coefficients of the Gaussian with exponent `s`, cut off; the last is not negligible.
    fn coefficients(&self, s: f64) -> Vec<f64> {
        let all = self.cosines.len();
        let at = |&(z, here, before): &(f64, f64, f64)| {
            let image = z - self.period;
            here * (-s * z * z).exp() + before * (-s * image * image).exp()
        };
        let values: Vec<f64> = self.values.iter().map(at).collect();
        let mut table: Vec<f64> = (0..self.waves)
            .map(|k| {
                let inner = values.iter().enumerate().map(|(j, value)| value * self.cosines[j * k % all]);
                // The first and the last place stand once, the others with their mirror images.
                let ends = values[0] + values[values.len() - 1] * self.cosines[(values.len() - 1) * k % all];
                (2.0 * inner.sum::<f64>() - ends) / all as f64
            })
            .collect();
        table.truncate(table.iter().rposition(|value| value.abs() >= NEGLIGIBLE).map_or(1, |last| last + 1));
        table
    }
}

/// More waves than this are more than any grid has; of what is cut off, more than there can be.
const BEYOND: f64 = 1e12;
const LARGEST: f64 = 4096.0;

/// The error function, by a series of positive terms.
fn erf(x: f64) -> f64 {
    let square = x * x;
    // What is missing of one is below rounding.
    if square > 36.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > 1e-17 * sum.abs() {
        n += 1.0;
        term *= 2.0 * square / (2.0 * n + 1.0);
        sum += term;
    }
    2.0 / PI.sqrt() * (-square).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_is_right_where_it_is_known() {
        for (x, expected) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.0, 0.995_322_265_018_952_7),
            (5.0, 0.999_999_999_998_462_5),
            (9.0, 1.0),
        ] {
            // Some eighty terms are added up.
            let allowed = 8.0 * f64::EPSILON;
            assert!((erf(x) - expected).abs() < allowed && (erf(-x) + expected).abs() < allowed, "x = {x}: {}", erf(x));
        }
    }

    #[test]
    fn a_gaussian_that_is_cut_off_is_itself_within_the_differences() {
        let (period, difference, error) = (5.0, 1.5, 1e-9);
        let exponents = [0.0, 1e-6, 0.1, 1.0, 1.7, 20.0];
        let nodes = exponents.map(|s| (1.0, s));
        let spectrum = Spectrum::new(&nodes, period, difference, Some(error));
        for (node, s) in exponents.into_iter().enumerate() {
            let value = |z: f64| -> f64 {
                let wave = |k: usize| (TAU * k as f64 * z / period).cos();
                spectrum.sizes(node).map(|(k, _)| twice(k) * spectrum.coefficient(node, k) * wave(k)).sum()
            };
            let worst = (-30..=30)
                .map(|i| difference * f64::from(i) / 30.0)
                .map(|z| (value(z) - (-s * z * z).exp()).abs())
                .fold(0.0, f64::max);
            assert!(worst <= error, "s = {s}: {worst:.1e}");
        }
        // Repeated as it is, a wide one would meet its images.
        let plain = Spectrum::new(&[(1.0, 0.1)], period, difference, None);
        assert!((plain.sizes(0).map(|(_, size)| size).sum::<f64>() - 1.0).abs() > 0.1);
    }

    #[test]
    fn beyond_the_highest_wave_next_to_nothing_is_left() {
        let nodes = [(0.2, 1e-5), (0.5, 0.3), (0.299, 4.0), (1e-3, 60.0), (1e-12, 4000.0)];
        for taper in [None, Some(1e-9)] {
            let spectrum = Spectrum::new(&nodes, 6.0, 1.5, taper);
            let left = |from: usize| -> f64 {
                let of =
                    |node: usize| spectrum.sizes(node).filter(|&(k, _)| k >= from).map(|(_, size)| size).sum::<f64>();
                nodes.iter().enumerate().map(|(node, (weight, _))| weight * of(node)).sum()
            };
            for tolerance in [1e-3, 1e-6, 1e-9] {
                let highest = spectrum.highest_wave(tolerance) as usize;
                assert!(
                    left(highest + 1) <= 4.0 * tolerance,
                    "{tolerance}: {:.1e} beyond {highest}",
                    left(highest + 1)
                );
                assert!(left(highest / 2) > tolerance, "{tolerance}: {highest} waves are too many");
            }
        }
    }
}
