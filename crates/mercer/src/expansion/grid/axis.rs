//! One axis of a grid: how many nodes it needs, and what error is left.
//!
//! # Method
//!
//! On an axis of period `L` the Gaussian `e^{-s z²}` is a sum of waves with coefficients `b_k` (`spectrum`). Three things go wrong, each bounded for
//! every entry of the kernel matrix:
//!
//! - images of the points, one period on: at most `e^{-s (L - D)²}` and what follows, for differences up to `D`; or what cutting the Gaussian
//!   off costs, where it would meet them;
//! - waves that are left out, because the grid does not have them or because they do not matter: the sum of their absolute coefficients;
//! - waves that the window distorts, once when sources are spread and once when targets are gathered: `Σ |b_k| ((1 + δ_k)² - 1)` with
//!   the window's deviation `δ_k`.
//!
//! A product of such axes has an error of at most `Π (1 + e_i) - 1`, because the Gaussian itself is at most one.

use std::sync::Arc;

use super::spectrum::Spectrum;
use super::window::{Response, Window, lanes};

/// One axis of a grid.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// Nodes.
    pub(super) n: usize,
    /// The coordinate of node zero.
    pub(super) origin: f64,
    /// Nodes per unit of length.
    pub(super) density: f64,
    pub(super) spectrum: Arc<Spectrum>,
    /// Waves that are kept: those from zero to one below this, and their mirror images.
    pub(super) waves: usize,
    pub(super) response: Response,
}

/// Where points lie on an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) low: f64,
    pub(super) high: f64,
    /// The largest difference between a source and a target.
    pub(super) difference: f64,
    /// How far away images are at least.
    pub(super) reach: f64,
}

impl Extent {
    /// The least period.
    pub(super) fn period(&self) -> f64 {
        self.difference + self.reach
    }
}

impl Axis {
    /// An axis of `n` nodes for points within `extent`; `None` if the window does not fit.
    ///
    /// `spectrum` gives the waves for a period: it is asked if that of `least` is too short for the windows of all points. Waves that add up to
    /// less than about `left_out` are left out.
    pub(super) fn new(
        extent: Extent,
        n: usize,
        window: &Window,
        least: &Arc<Spectrum>,
        spectrum: impl FnOnce(f64) -> Spectrum,
        left_out: f64,
    ) -> Option<Self> {
        let room = lanes(window.width) + 2;
        if n <= room {
            return None;
        }
        let length = extent.high - extent.low;
        // Windows of all points must lie within one period.
        let needed = length * n as f64 / (n - room) as f64;
        let spectrum = if needed > least.period { Arc::new(spectrum(needed)) } else { Arc::clone(least) };
        let density = n as f64 / spectrum.period;
        let origin = extent.low - (0.5 * window.width as f64 + 1.0) / density;
        // The highest wave of an even grid is left out in any case: it has no partner.
        let waves = (spectrum.highest_wave(left_out).ceil() as usize + 1).min(n / 2);
        let response = window.response(n, waves);
        Some(Self { n, origin, density, spectrum, waves, response })
    }

    /// The coefficient of wave `k` of a Gaussian of the mixture.
    pub(super) fn coefficient(&self, node: usize, k: usize) -> f64 {
        self.spectrum.coefficient(node, k)
    }

    /// The error of a Gaussian of the mixture, without images.
    pub(super) fn error(&self, node: usize) -> f64 {
        let of = |(k, size): (usize, f64)| match self.response.deviation.get(k) {
            Some(deviation) if k < self.waves => size * deviation * (2.0 + deviation),
            _ => size,
        };
        self.spectrum.sizes(node).map(of).sum()
    }

    /// Waves that are kept, mirror images included.
    pub(super) fn n_kept(&self) -> usize {
        2 * self.waves - 1
    }

    /// A coordinate in nodes.
    #[inline(always)]
    pub(super) fn place(&self, x: f64) -> f64 {
        (x - self.origin) * self.density
    }
}

/// Sizes beyond this are not looked for: they are larger than any grid.
const LARGEST_SIZE: usize = 1 << 30;

/// Numbers of nodes that Fourier transforms are fast for: products of 2, 3 and 5, from `least` on. Multiples of 64 are left out: rows so far
/// apart share the sets of a cache, and those of a window would drive each other out of it.
pub(super) fn fast_sizes(least: usize) -> impl Iterator<Item = usize> {
    let times = |factor: usize| move |&n: &usize| n.checked_mul(factor).filter(|&n| n <= LARGEST_SIZE);
    let twos = (1..=5).map(|power| 1_usize << power);
    let threes = twos.flat_map(|n| std::iter::successors(Some(n), times(3)));
    let mut sizes: Vec<usize> =
        threes.flat_map(|n| std::iter::successors(Some(n), times(5))).filter(|&n| n >= least).collect();
    sizes.sort_unstable();
    sizes.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;

    #[test]
    fn fast_sizes_have_small_factors() {
        assert_eq!(fast_sizes(47).take(6).collect::<Vec<_>>(), [48, 50, 54, 60, 72, 80]);
        assert_eq!(fast_sizes(0).next(), Some(2));
        assert_eq!(fast_sizes(usize::MAX).next(), None);
    }

    #[test]
    fn the_error_of_an_axis_bounds_that_of_the_gaussian() {
        let extent = Extent { low: -1.0, high: 2.0, difference: 3.0, reach: 2.5 };
        let s = 4.0;
        let spectrum = |period: f64| Spectrum::new(&[(1.0, s)], period, extent.difference, None);
        let least = Arc::new(spectrum(extent.period()));
        for (width, n) in [(5, 28), (6, 32), (8, 60)] {
            let window = Window::new(width, 2.0);
            let axis = Axis::new(extent, n, &window, &least, spectrum, 1e-9).expect("in its domain");
            let bound = axis.error(0) + 4.0 * (-s * 2.5_f64 * 2.5).exp();
            let wave = |x: f64, k: usize| {
                let (first, values) = window.at::<Portable, 8>(axis.place(x));
                values.iter().enumerate().fold((0.0, 0.0), |(re, im), (node, value)| {
                    let angle = std::f64::consts::TAU * k as f64 * (first + node) as f64 / n as f64;
                    (re + value * angle.cos(), im + value * angle.sin())
                })
            };
            let mut worst = 0.0_f64;
            for i in 0..15 {
                for j in 0..15 {
                    let (x, y) = (-1.0 + 0.2 * f64::from(i), -1.0 + 0.207 * f64::from(j));
                    let mut sum = 0.0;
                    for k in 0..axis.waves {
                        let (a, b) = (wave(x, k), wave(y, k));
                        let factor = axis.coefficient(0, k) * if k == 0 { 1.0 } else { 2.0 };
                        sum += factor * (a.0 * b.0 + a.1 * b.1) / axis.response.factor[k].powi(2);
                    }
                    worst = worst.max((sum - (-s * (x - y) * (x - y)).exp()).abs());
                }
            }
            assert!(worst <= bound, "width {width}: {worst} exceeds {bound}");
            assert!(worst >= 1e-3 * bound, "width {width}: {bound} is far from {worst}");
        }
    }
}
