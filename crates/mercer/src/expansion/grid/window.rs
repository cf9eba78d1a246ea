//! The window that points are spread to a grid with.
//!
//! # Method
//!
//! The Kaiser–Bessel function `I₀(β √(1 - (2z/w)²))` on `w` nodes of the grid. Within a cell each node's value is a polynomial
//! of the point's place in the cell, made once by interpolation at Chebyshev nodes, so that the `w` values of a point take a few
//! multiply-adds on vectors and no special function.
//!
//! What a window does to a wave of the grid is measured, not derived: see [`Window::response`].

use std::f64::consts::{PI, TAU};

use crate::simd::{Portable, Target, fused};

/// Nodes of the widest window.
pub(super) const MAX_WIDTH: usize = 16;
/// Places in a cell at which the response is measured, beside its ends; it is dominated by its first harmonic.
const PLACES: usize = 12;
/// What the largest measured deviation is multiplied by, for places in between.
const BETWEEN: f64 = 1.05;

/// A window on `width` nodes, as polynomials.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) width: usize,
    /// Coefficients by falling power: those of all nodes for one power after the other, padded to [`lanes`](Self::lanes).
    coefficients: Vec<f64>,
}

/// What spreading to a grid and gathering back does to its waves.
#[derive(Clone, Debug)]
pub(super) struct Response {
    /// The factor that wave `k` is multiplied with, on average.
    pub(super) factor: Vec<f64>,
    /// The largest deviation from it, relative to it, wherever a point lies.
    pub(super) deviation: Vec<f64>,
}

impl Window {
    /// A window of `width` nodes for grids on which the waves that matter take at most one part in `2 oversampling`.
    pub(super) fn new(width: usize, oversampling: f64) -> Self {
        let beta = 0.98 * PI * width as f64 * (1.0 - 0.5 / oversampling);
        let half = 0.5 * width as f64;
        let largest = bessel(beta);
        let value = |z: f64| bessel(beta * (1.0 - (z / half).powi(2)).max(0.0).sqrt()) / largest;
        let degree = (width + 6).min(18);
        let lanes = lanes(width);
        let mut coefficients = vec![0.0; (degree + 1) * lanes];
        for node in 0..width {
            let of_node = interpolate(degree, |s| value(node as f64 + 0.5 * (s + 1.0) - half));
            for (power, coefficient) in of_node.into_iter().enumerate() {
                coefficients[(degree - power) * lanes + node] = coefficient;
            }
        }
        Self { width, coefficients }
    }

    /// The first node that a point at `x` touches, and the window's values at it and the next ones.
    #[inline(always)]
    pub(super) fn at<G: Target, const P: usize>(&self, x: f64) -> (usize, [f64; P]) {
        let ([first], [values]) = self.along::<G, P, 1>([x]);
        (first, values)
    }

    /// The same along several axes at once, which keeps the processor busy while each waits for its next power.
    #[inline(always)]
    pub(super) fn along<G: Target, const P: usize, const AXES: usize>(
        &self,
        place: [f64; AXES],
    ) -> ([usize; AXES], [[f64; P]; AXES]) {
        let low = place.map(|x| x - 0.5 * self.width as f64);
        let first = low.map(f64::ceil);
        let mut values = [[0.0; P]; AXES];
        for row in self.coefficients.chunks_exact(P) {
            for axis in 0..AXES {
                let s = 2.0 * (first[axis] - low[axis]) - 1.0;
                for (value, coefficient) in values[axis].iter_mut().zip(row) {
                    *value = fused::<G>(*value, s, *coefficient);
                }
            }
        }
        (first.map(|first| first as usize), values)
    }

    /// What happens to the first `waves` waves of a grid of `n` nodes.
    ///
    /// A wave `e^{2πikx/n}` comes back from the window's nodes as `Σ_l φ(l - x) e^{2πik(l-x)/n}` times itself; that factor depends a
    /// little on the place of `x` in its cell.
    pub(super) fn response(&self, n: usize, waves: usize) -> Response {
        let mut response = Response { factor: vec![1.0; waves], deviation: vec![0.0; waves] };
        // The ends of a cell come last: they count for the deviation, which jumps there, but not for the mean.
        let middles = (0..PLACES).map(|place| (place as f64 + 0.5) / PLACES as f64);
        let places = middles.chain([0.0, 1.0 - 1e-9]);
        let values: Vec<(f64, Vec<f64>)> =
            places.map(|t| (t, self.values(0.5 * self.width as f64 - t + 1.0))).collect();
        for k in 0..waves {
            let wave = TAU * k as f64 / n as f64;
            let turn = wave.sin_cos();
            let sums: Vec<(f64, f64)> = values
                .iter()
                .map(|(t, values)| {
                    // From node to node the wave turns by the same angle.
                    let (mut sin, mut cos) = (wave * (t - 0.5 * self.width as f64)).sin_cos();
                    values.iter().fold((0.0, 0.0), |(re, im), value| {
                        let sums = (re + value * cos, im + value * sin);
                        (sin, cos) = (sin * turn.1 + cos * turn.0, cos * turn.1 - sin * turn.0);
                        sums
                    })
                })
                .collect();
            let factor = sums.iter().take(PLACES).map(|(re, _)| re).sum::<f64>() / PLACES as f64;
            let worst = sums.iter().map(|(re, im)| (re - factor).hypot(*im)).fold(0.0, f64::max);
            response.factor[k] = factor;
            response.deviation[k] = if factor.abs() > 0.0 { BETWEEN * worst / factor.abs() } else { f64::INFINITY };
        }
        response
    }

    /// The window's values for a point at `x`.
    fn values(&self, x: f64) -> Vec<f64> {
        let values = match lanes(self.width) {
            4 => self.at::<Portable, 4>(x).1.to_vec(),
            8 => self.at::<Portable, 8>(x).1.to_vec(),
            12 => self.at::<Portable, 12>(x).1.to_vec(),
            _ => self.at::<Portable, 16>(x).1.to_vec(),
        };
        values[..self.width].to_vec()
    }
}

/// Numbers that a window's values are padded to.
pub(super) const fn lanes(width: usize) -> usize {
    width.next_multiple_of(4)
}

/// The modified Bessel function of order zero, by its series, whose terms are all positive.
fn bessel(x: f64) -> f64 {
    let quarter = 0.25 * x * x;
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
    while term > 1e-18 * sum {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

/// Coefficients by rising power of the polynomial that agrees with `f` at the Chebyshev nodes of [-1, 1].
pub(in super::super) fn interpolate(degree: usize, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let count = degree + 1;
    let angle = |i: usize| PI * (i as f64 + 0.5) / count as f64;
    let values: Vec<f64> = (0..count).map(|i| f(angle(i).cos())).collect();
    let mut sum = vec![0.0; count];
    // The Chebyshev polynomials of two successive orders, in powers.
    let (mut before, mut now) = (vec![0.0; count], vec![0.0; count]);
    now[0] = 1.0;
    for order in 0..count {
        let projection: f64 = values.iter().enumerate().map(|(i, value)| value * (order as f64 * angle(i)).cos()).sum();
        let coefficient = projection * if order == 0 { 1.0 } else { 2.0 } / count as f64;
        sum.iter_mut().zip(&now).for_each(|(sum, power)| *sum += coefficient * power);
        let factor = if order == 0 { 1.0 } else { 2.0 };
        let next = (0..count).map(|i| if i == 0 { -before[0] } else { factor * now[i - 1] - before[i] }).collect();
        before = std::mem::replace(&mut now, next);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_is_its_own_interpolant() {
        let found = interpolate(4, |s| 1.0 - 2.0 * s + 3.0 * s.powi(3) + 0.5 * s.powi(4));
        for (found, expected) in found.iter().zip([1.0, -2.0, 0.0, 3.0, 0.5]) {
            assert!((found - expected).abs() < 1e-14, "{found} and {expected}");
        }
    }

    #[test]
    fn wider_windows_keep_waves_truer() {
        let mut last = 1.0;
        for width in [3, 5, 7, 9, 11, 13] {
            let response = Window::new(width, 2.0).response(64, 17);
            let worst = response.deviation.iter().copied().fold(0.0, f64::max);
            assert!(worst < 0.2 * last, "width {width}: {worst} after {last}");
            last = worst;
        }
        assert!(last < 1e-9);
    }

    #[test]
    fn the_values_of_a_window_are_those_of_the_function() {
        let (width, oversampling) = (7, 2.0);
        let window = Window::new(width, oversampling);
        let beta = 0.98 * PI * 7.0 * 0.75;
        for x in [10.0, 10.3, 10.5, 10.999] {
            let (first, values) = window.at::<Portable, 8>(x);
            for (node, value) in values.iter().take(width).enumerate() {
                let z = (first + node) as f64 - x;
                let expected = bessel(beta * (1.0 - (z / 3.5).powi(2)).max(0.0).sqrt()) / bessel(beta);
                assert!((value - expected).abs() < 1e-7, "x = {x}, node {node}: {value} and {expected}");
            }
            assert_eq!(values[7].to_bits(), 0.0_f64.to_bits());
        }
    }
}
