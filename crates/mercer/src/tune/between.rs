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
//! single precision at that value. Where all kernel values are much smaller (bandwidths below all distances, the more so the more the distances are alike) it is not
//! small beside them, and a slope could come out with the wrong sign. So nothing is interpolated but between inverse widths where that was seen to be right on a sample of
//! the points ([`Trust`](super::rounding::Trust)). In double precision the error would be seen, and nothing is interpolated.
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
    /// The cheaper of two: every kernel itself, or nodes for those whose inverse widths lie within `trusted`.
    pub(super) fn new(gammas: &[f64], precision: Precision, trusted: (f64, f64)) -> Self {
        let is_within = |gamma: f64| (trusted.0..=trusted.1).contains(&gamma);
        let inner: Vec<f64> = gammas.iter().copied().filter(|&gamma| is_within(gamma)).collect();
        let has_nodes = precision == Precision::F32
            && !inner.is_empty()
            && 4 * Nodes::around(&inner).count <= 3 * Chains::with_doubles(&inner).n_kernels();
        if !has_nodes {
            return Self::direct(gammas);
        }
        let nodes = Nodes::around(&inner);
        let outer = gammas.iter().filter(|&&gamma| !is_within(gamma)).flat_map(|&gamma| [gamma, 2.0 * gamma]);
        let chains = Chains::new((0..nodes.count).map(|node| nodes.gamma(node)).chain(outer).collect());
        let blend = |gamma: f64| (nodes.blend(gamma, &chains), nodes.blend(2.0 * gamma, &chains));
        let own = |gamma: f64| (own(&chains, gamma), own(&chains, 2.0 * gamma));
        let blends = gammas.iter().map(|&gamma| if is_within(gamma) { blend(gamma) } else { own(gamma) }).collect();
        Self { chains, blends }
    }

    /// Every kernel itself.
    fn direct(gammas: &[f64]) -> Self {
        let chains = Chains::with_doubles(gammas);
        let blends = gammas.iter().map(|&gamma| (own(&chains, gamma), own(&chains, 2.0 * gamma))).collect();
        Self { chains, blends }
    }

    /// Every kernel from nodes, a quarter of the way from one to the next, where values and slopes are both nearly as wrong as they get (in the middle
    /// slopes are right). Gives the inverse widths too, in increasing order, with `low` and `high` between them.
    pub(super) fn at_its_worst(low: f64, high: f64) -> (Self, Vec<f64>) {
        let quarter = 2.0_f64.powf(0.25 / PER_OCTAVE);
        // From the node before `low` on: beyond the first that has others on both sides errors are larger than anywhere in a scan.
        let nodes = Nodes::around(&[low / quarter.powi(4), high]);
        let gammas: Vec<f64> = (MARGIN..nodes.count)
            .map(|node| quarter * nodes.gamma(node))
            .take_while(|gamma| *gamma <= high * quarter.powi(4))
            .collect();
        let nodes = Nodes { count: nodes.count + STENCIL, ..nodes };
        let chains = Chains::new((0..nodes.count).map(|node| nodes.gamma(node)).collect());
        let blend = |gamma: f64| (nodes.blend(gamma, &chains), nodes.blend(2.0 * gamma, &chains));
        let blends = gammas.iter().map(|&gamma| blend(gamma)).collect();
        (Self { chains, blends }, gammas)
    }
}

/// A kernel that is in the chains itself.
fn own(chains: &Chains, gamma: f64) -> Blend {
    vec![Share { place: chains.place(gamma), kernel: [1.0, 0.0], product: [0.0, 1.0] }]
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

    const ALL: (f64, f64) = (0.0, f64::INFINITY);

    #[test]
    fn kernels_between_nodes_are_right_to_half_a_rounding_of_single_precision() {
        let grid: Vec<f64> = (0..64).map(|j| 0.01 * 2.0_f64.powf(f64::from(j) / 4.0)).collect();
        for gammas in [grid, irregular()] {
            let layout = Layout::new(&gammas, Precision::F32, ALL);
            assert!(4 * layout.chains.n_kernels() <= 3 * Chains::with_doubles(&gammas).n_kernels());
            let (value, slope) = errors(&layout, &gammas);
            assert!(value < 3e-8 && slope < 3e-7, "{value:e} {slope:e}");
        }
    }

    #[test]
    fn kernels_outside_of_what_is_trusted_are_taken_as_they_are() {
        let gammas: Vec<f64> = (0..64).map(|j| 0.01 * 2.0_f64.powf(f64::from(j) / 5.0)).collect();
        let trusted = (gammas[9], gammas[50]);
        let layout = Layout::new(&gammas, Precision::F32, trusted);
        for (index, (one, double)) in layout.blends.iter().enumerate() {
            let expected = if (9..=50).contains(&index) { STENCIL } else { 1 };
            assert_eq!((one.len(), double.len()), (expected, expected), "{index}");
        }
        let (value, slope) = errors(&layout, &gammas);
        assert!(value < 3e-8 && slope < 3e-7, "{value:e} {slope:e}");
        // Nothing between the bounds, or so little that nodes would cost more.
        for trusted in [(1.0, 0.0), (gammas[9], gammas[12])] {
            let layout = Layout::new(&gammas, Precision::F32, trusted);
            assert!(layout.blends.iter().all(|(one, double)| one.len() == 1 && double.len() == 1));
        }
    }

    #[test]
    fn errors_a_quarter_of_the_way_between_nodes_are_nearly_the_largest() {
        let (layout, gammas) = Layout::at_its_worst(0.3, 7.0);
        assert!(gammas[0] <= 0.3 && gammas.last().is_some_and(|&last| last >= 7.0), "{gammas:?}");
        let (value, slope) = errors(&layout, &gammas);
        let (others, other_slopes) = errors(&Layout::new(&irregular(), Precision::F32, ALL), &irregular());
        assert!(value < 3e-8 && value > 0.3 * others, "{value:e} and {others:e}");
        assert!(slope < 3e-7 && slope > 0.3 * other_slopes, "{slope:e} and {other_slopes:e}");
    }

    #[test]
    fn few_kernels_and_all_in_double_precision_are_taken_as_they_are() {
        for (gammas, precision) in [(vec![1.0, 1.3, 1.6], Precision::F32), (irregular(), Precision::F64)] {
            let layout = Layout::new(&gammas, precision, ALL);
            assert!(layout.blends.iter().all(|(one, double)| one.len() == 1 && double.len() == 1));
            let (value, slope) = errors(&layout, &gammas);
            assert!(value < 1e-12 && slope < 1e-12, "{value:e} {slope:e}");
        }
    }
}
