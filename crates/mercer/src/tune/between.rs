//! Sums of Gaussian kernels between those of others: a scan over many bandwidths needs a pass over few.
//!
//! # Method
//!
//! As a function of $u = \ln \gamma$, $e^{-\gamma s}$ is smooth whatever `s` is: it has no singularity within $\pi/2$ of the real line and is at most one
//! there. So are row sums of kernels and their totals. The pass makes them, with their derivatives $-\gamma\, \Sigma\, s\, e^{-\gamma s}$, at nodes of
//! which an octave has [`PER_OCTAVE`], and what is asked for comes from the [`STENCIL`] nodes around it by Hermite's interpolation, of
//! degree eleven.
//!
//! # Numerics
//!
//! The error is below 3e-8 of a kernel's largest value, and below 3e-7 of it in the derivative by `u` (the tests look at all `s`): half a rounding of
//! single precision at that value. Where all kernel values are much smaller (bandwidths far below all distances) it is not small beside them, and a slope may come out
//! with the wrong sign: what a search takes for a maximum is computed directly. In double precision it would be seen, and nothing is interpolated.
//! Weights add up to no more than 1.6 without their signs, so that rounding of the nodes hardly grows; in the derivative by `u` to 13.

use super::chains::Chains;
use crate::scalar::Precision;

/// Nodes of an octave.
const PER_OCTAVE: f64 = 2.0;
/// Nodes that an interpolation is made from.
const STENCIL: usize = 6;
/// Nodes beyond the first and the last inverse width: stencils there reach two farther on the other side.
const MARGIN: usize = 1;

/// The share of one node's sums in those of a kernel (the first two numbers: of its kernel, and of scalar times kernel) and in those of scalar
/// times kernel (the others).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    pub(super) place: usize,
    pub(super) kernel: [f64; 2],
    pub(super) product: [f64; 2],
}

/// What the sums of a kernel are made of.
pub(super) type Blend = Vec<Share>;

/// The kernels of a pass, and how those asked for, and those of twice their inverse widths, come from them.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) chains: Chains,
    pub(super) blends: Vec<(Blend, Blend)>,
}

impl Layout {
    /// The cheaper of two: every kernel itself, or nodes.
    pub(super) fn new(gammas: &[f64], precision: Precision) -> Self {
        let direct = Chains::with_doubles(gammas);
        let nodes = Nodes::around(gammas);
        if precision == Precision::F64 || 4 * nodes.count > 3 * direct.n_kernels() {
            let own = |gamma: f64| vec![Share { place: direct.place(gamma), kernel: [1.0, 0.0], product: [0.0, 1.0] }];
            let blends = gammas.iter().map(|&gamma| (own(gamma), own(2.0 * gamma))).collect();
            return Self { chains: direct, blends };
        }
        let chains = Chains::new((0..nodes.count).map(|node| nodes.gamma(node)).collect());
        let blend = |gamma: f64| nodes.blend(gamma, &chains);
        let blends = gammas.iter().map(|&gamma| (blend(gamma), blend(2.0 * gamma))).collect();
        Self { chains, blends }
    }
}

/// More nodes than anybody asks for: beyond that, widths are computed directly.
const MOST_NODES: f64 = 1e9;

/// Inverse widths that are the same factor apart.
#[derive(Clone, Copy, Debug)]
struct Nodes {
    first: f64,
    count: usize,
}

impl Nodes {
    /// Nodes for some inverse widths and twice each of them; the smallest of them is a node.
    fn around(gammas: &[f64]) -> Self {
        let low = gammas.iter().copied().fold(f64::INFINITY, f64::min);
        let high = 2.0 * gammas.iter().copied().fold(0.0, f64::max);
        let inner = ((high / low).log2() * PER_OCTAVE - 1e-9).ceil().clamp(0.0, MOST_NODES) as usize + 1;
        let first = low * 2.0_f64.powf(-(MARGIN as f64) / PER_OCTAVE);
        Self { first, count: (inner + 2 * MARGIN).max(STENCIL) }
    }

    /// The inverse width of a node; those an octave apart differ by a factor of exactly two.
    fn gamma(&self, node: usize) -> f64 {
        let per = PER_OCTAVE as usize;
        let octaves = i32::try_from(node / per).unwrap_or(i32::MAX);
        self.first * 2.0_f64.powf((node % per) as f64 / PER_OCTAVE) * 2.0_f64.powi(octaves)
    }

    fn blend(&self, gamma: f64, chains: &Chains) -> Blend {
        let at = (gamma / self.first).log2() * PER_OCTAVE;
        let start = (at.floor() as usize + 1).saturating_sub(STENCIL / 2).min(self.count - STENCIL);
        let weights = hermite(at - start as f64);
        // By the position x of the nodes: γ = γ₀ 2^(x / PER_OCTAVE), so that a sum's derivative by x is -γ speed Σ s k.
        let speed = std::f64::consts::LN_2 / PER_OCTAVE;
        let share = |(node, [value, slope]): (usize, [[f64; 2]; 2])| {
            let own = self.gamma(start + node);
            Share {
                place: chains.place(own),
                kernel: [value[0], -value[1] * own * speed],
                product: [-slope[0] / (gamma * speed), slope[1] * own / gamma],
            }
        };
        weights.into_iter().enumerate().map(share).collect()
    }
}

/// For each node at 0, 1, …: what a function's value and derivative there count in its value at `x`, and in its derivative there.
fn hermite(x: f64) -> [[[f64; 2]; 2]; STENCIL] {
    std::array::from_fn(|i| {
        let others = || (0..STENCIL).filter(move |&j| j != i);
        let factor = |j: usize| (x - j as f64) / (i as f64 - j as f64);
        // Lagrange's polynomial of the node, its derivative, and that at the node itself.
        let lagrange: f64 = others().map(factor).product();
        let slope: f64 =
            others().map(|m| others().filter(|&j| j != m).map(factor).product::<f64>() / (i as f64 - m as f64)).sum();
        let own: f64 = others().map(|j| 1.0 / (i as f64 - j as f64)).sum();
        let (square, double, away) = (lagrange * lagrange, 2.0 * lagrange * slope, x - i as f64);
        let tilt = 1.0 - 2.0 * own * away;
        [[tilt * square, away * square], [tilt * double - 2.0 * own * square, square + away * double]]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest error of a kernel's value and of its derivative by the logarithm of the inverse width, over all scalars.
    fn errors(layout: &Layout, gammas: &[f64]) -> (f64, f64) {
        let all: Vec<f64> = {
            let mut at = vec![0.0; layout.chains.n_kernels()];
            for chain in &layout.chains.all {
                for step in 0..chain.length {
                    at[chain.first + step] = chain.gamma * 2.0_f64.powi(i32::try_from(step).expect("short"));
                }
            }
            at
        };
        let mut worst = (0.0_f64, 0.0_f64);
        for step in 0..3000 {
            let s = 1e-7 * 1.01_f64.powi(step);
            let of = |blend: &Blend, which: fn(&Share) -> [f64; 2]| -> f64 {
                blend
                    .iter()
                    .map(|share| {
                        let k = (-all[share.place] * s).exp();
                        which(share)[0] * k + which(share)[1] * s * k
                    })
                    .sum()
            };
            for (&gamma, (one, double)) in gammas.iter().zip(&layout.blends) {
                for (gamma, blend) in [(gamma, one), (2.0 * gamma, double)] {
                    let k = (-gamma * s).exp();
                    worst.0 = worst.0.max((of(blend, |share| share.kernel) - k).abs());
                    worst.1 = worst.1.max(gamma * (of(blend, |share| share.product) - s * k).abs());
                }
            }
        }
        worst
    }

    fn irregular() -> Vec<f64> {
        (0..50).map(|j| 0.37 * 1.11_f64.powi(j) * (1.0 + 0.04 * f64::from(j * j % 7))).collect()
    }

    #[test]
    fn kernels_between_nodes_are_right_to_half_a_rounding_of_single_precision() {
        let grid: Vec<f64> = (0..64).map(|j| 0.01 * 2.0_f64.powf(f64::from(j) / 4.0)).collect();
        for gammas in [grid, irregular()] {
            let layout = Layout::new(&gammas, Precision::F32);
            assert!(4 * layout.chains.n_kernels() <= 3 * Chains::with_doubles(&gammas).n_kernels());
            let (value, slope) = errors(&layout, &gammas);
            assert!(value < 3e-8 && slope < 3e-7, "{value:e} {slope:e}");
        }
    }

    #[test]
    fn few_kernels_and_all_in_double_precision_are_taken_as_they_are() {
        for (gammas, precision) in [(vec![1.0, 1.3, 1.6], Precision::F32), (irregular(), Precision::F64)] {
            let layout = Layout::new(&gammas, precision);
            assert!(layout.blends.iter().all(|(one, double)| one.len() == 1 && double.len() == 1));
            let (value, slope) = errors(&layout, &gammas);
            assert!(value < 1e-12 && slope < 1e-12, "{value:e} {slope:e}");
        }
    }
}
