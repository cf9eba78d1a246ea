//! Kernels as mixtures of Gaussians.
//!
//! # Method
//!
//! Every kernel here that falls with the distance is `∫ w(s) e^{-s r²} ds` with positive weights. With `a = c r`,
//! the Matérn kernel of order `ν` is `∫ τ^{ν-1} e^{-τ} e^{-a²/4τ} dτ / Γ(ν)`, and the rational quadratic kernel is
//! `∫ τ^{α-1} e^{-τ} e^{-τ γ r²/α} dτ / Γ(α)`. With `τ = e^x` the integrand falls exponentially at both ends, and is analytic and at most
//! `cos(a)^{-ν}` times larger than on the line within `a < π/2` of it, so the trapezoidal rule with step `h` leaves out about `cos(a)^{-ν} e^{-2 π a/h}`.
//! It is largest at `τ = ν`, and with `τ = ν e^y` it is there `e^{-ν (e^y - 1 - y)}` times as large, whose digits do not suffer where `ν` is large and the mixture
//! hardly wider than one Gaussian.
//!
//! Gaussians so wide that they are one everywhere the points are stand together as a constant. Wide ones are smooth and suit a grid; narrow ones make the kernel's corner at zero, and what they add is negligible beyond a
//! short distance. A mixture is cut between the two: what the wide ones leave of the kernel is summed up directly, near by.

use std::f64::consts::{PI, TAU};

use crate::kernel::{Kernel, Parameter};

/// A weighted sum of Gaussians `e^{-s r²}` that equals a kernel from some distance on, as far as points are apart.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    /// Weights and exponents.
    pub(super) nodes: Vec<(f64, f64)>,
    /// The distance beyond which the mixture is the kernel; zero if it is the kernel everywhere.
    pub(super) near: f64,
    /// The largest difference from the kernel beyond that distance.
    pub(super) error: f64,
}

/// Gaussians that fall by less than this share of the tolerance are constants.
const CONSTANT: f64 = 1e-3;
/// Where the integrand has fallen to `e^{-FALLEN}` of its largest value, it is negligible.
const FALLEN: f64 = 42.0;
/// Kernels that take more steps of the trapezoidal rule than this have no mixture worth having.
const MOST_STEPS: usize = 2000;
/// A kernel's mixing distribution: the power `ν` of `τ`, and whether `s` grows with `τ` or falls, with what constant.
enum Mixing {
    Rising { power: f64, factor: f64 },
    Falling { power: f64, factor: f64 },
}

impl Mixing {
    /// That of a kernel, if it has one; a Gaussian is none of others.
    fn of(kernel: &Kernel) -> Option<Self> {
        let gamma = kernel.parameter(Parameter::Gamma)?;
        match kernel {
            Kernel::Exponential(_) => Some(Self::Falling { power: 0.5, factor: 0.25 * gamma * gamma }),
            Kernel::Matern32(_) => Some(Self::Falling { power: 1.5, factor: 0.75 * gamma * gamma }),
            Kernel::Matern52(_) => Some(Self::Falling { power: 2.5, factor: 1.25 * gamma * gamma }),
            Kernel::RationalQuadratic(_) => {
                let alpha = kernel.parameter(Parameter::Alpha)?;
                Some(Self::Rising { power: alpha, factor: gamma / alpha })
            }
            _ => None,
        }
    }
}

impl Mixture {
    /// Whether a kernel is such a sum.
    pub(super) fn knows(kernel: &Kernel) -> bool {
        matches!(kernel, Kernel::Gaussian(_)) || Mixing::of(kernel).is_some()
    }

    /// The kernel as a mixture of Gaussians with exponents of at most `cut`, to within `tolerance`, for points that are no farther apart than
    /// `farthest`; `None` if the kernel is no such mixture, or one of too many.
    pub(super) fn new(kernel: &Kernel, cut: f64, tolerance: f64, farthest: f64) -> Option<Self> {
        if let (Kernel::Gaussian(_), Some(gamma)) = (kernel, kernel.parameter(Parameter::Gamma)) {
            return Some(Self { nodes: vec![(1.0, gamma)], near: 0.0, error: 0.0 });
        }
        let mixing = Mixing::of(kernel)?;
        let (Mixing::Rising { power, .. } | Mixing::Falling { power, .. }) = mixing;
        let (step, log_peak) = (step(power, tolerance), ln_peak(power));
        let (mut nodes, mut constant, mut whole, mut steps) = (Vec::new(), 0.0, 0.0, 0);
        // From where e^{-τ} is negligible down to where τ^ν is, or the cut.
        let mut y = f64::min((40.0 / power + 4.0).ln(), (2.0 * FALLEN / power).sqrt());
        loop {
            let weight = step * (log_peak - power * exp_beyond_line(y)).exp();
            let s = match mixing {
                Mixing::Rising { factor, .. } => factor * power * y.exp(),
                Mixing::Falling { factor, .. } => factor / (power * y.exp()),
            };
            let is_constant = s * farthest * farthest <= CONSTANT * tolerance;
            match mixing {
                Mixing::Falling { .. } if s > cut => break,
                // All that follow are constants, and the weights of all add up to one.
                Mixing::Rising { .. } if is_constant => {
                    constant = f64::max(1.0 - whole, 0.0);
                    break;
                }
                _ if y < 0.0 && weight < 1e-3 * tolerance * step => break,
                _ if is_constant => constant += weight,
                _ if weight > 1e-18 => nodes.push((weight, s)),
                _ => {}
            }
            whole += weight;
            (y, steps) = (y - step, steps + 1);
            if steps > MOST_STEPS {
                return None;
            }
        }
        if constant > 0.0 {
            nodes.push((constant, 0.0));
        }
        let mut mixture = Self { nodes, near: 0.0, error: 0.0 };
        mixture.measure(kernel, tolerance, farthest);
        Some(mixture)
    }

    /// The mixture's value where the squared distance is `r2`.
    pub(super) fn value(&self, r2: f64) -> f64 {
        self.nodes.iter().map(|(weight, s)| weight * (-s * r2).exp()).sum()
    }

    /// The largest exponent.
    pub(super) fn narrowest(&self) -> f64 {
        self.nodes.iter().fold(0.0, |largest, &(_, s)| largest.max(s))
    }

    /// Finds the distance from which on the mixture is the kernel, on a grid of distances.
    fn measure(&mut self, kernel: &Kernel, tolerance: f64, farthest: f64) {
        // From far below the narrowest Gaussian to where all have vanished, or no two points are.
        let widest = self.nodes.iter().fold(f64::INFINITY, |least, &(_, s)| least.min(s));
        let to = f64::min(30.0 / widest.sqrt(), farthest);
        let from = f64::min(1e-3 / self.narrowest().sqrt(), 1e-3 * to);
        let steps = 2000;
        let ratio = (to / from).powf(1.0 / f64::from(steps));
        let mut r = to;
        for _ in 0..steps {
            let difference = (kernel.value(r * r) - self.value(r * r)).abs();
            if difference > tolerance {
                // One step on, the difference was within the tolerance.
                self.near = r * ratio;
                return;
            }
            self.error = self.error.max(difference);
            r /= ratio;
        }
        self.error = self.error.max((kernel.value(0.0) - self.value(0.0)).abs());
    }
}

/// The step of the trapezoidal rule: the longest that any strip about the line allows.
fn step(power: f64, tolerance: f64) -> f64 {
    let digits = (1000.0 / tolerance).ln();
    // The cosine of a narrow strip is one to rounding.
    let growth = |strip: f64| if strip < 1e-4 { 0.5 * strip * strip } else { -strip.cos().ln() };
    let of = |strip: f64| strip * TAU / (digits + power * growth(strip));
    // The best of narrow strips, which a large power allows alone.
    let narrow = (2.0 * digits / power).sqrt().min(0.1);
    (1..=12).map(|tenths| of(0.1 * f64::from(tenths))).fold(of(narrow), f64::max)
}

/// `ln(ν^ν e^{-ν} / Γ(ν))`, the logarithm of the integrand where it is largest.
fn ln_peak(power: f64) -> f64 {
    // Of terms of order `ν ln ν` little is left.
    if power < 10.0 { power * power.ln() - power - ln_gamma(power) } else { 0.5 * (power / TAU).ln() - stirling(power) }
}

/// `e^y - 1 - y`, of which the first terms cancel where `y` is small.
fn exp_beyond_line(y: f64) -> f64 {
    if y.abs() > 0.5 {
        return y.exp_m1() - y;
    }
    let (mut term, mut sum) = (0.5 * y * y, 0.0);
    for k in 3..20 {
        sum += term;
        term *= y / f64::from(k);
    }
    sum
}

/// The logarithm of the gamma function for `x > 0`: Stirling's series after raising `x` beyond 10.
pub(super) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + stirling(x) - shift
}

/// What Stirling's formula leaves of the logarithm of the gamma function for `x` from 10 on.
fn stirling(x: f64) -> f64 {
    let square = 1.0 / (x * x);
    (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gamma_function_is_right_where_it_is_known() {
        for (x, expected) in [(0.5, PI.sqrt()), (1.0, 1.0), (1.5, 0.5 * PI.sqrt()), (5.0, 24.0)] {
            assert!((ln_gamma(x) - f64::ln(expected)).abs() < 1e-12, "x = {x}");
        }
    }

    #[test]
    fn mixtures_are_their_kernels_beyond_the_cut() {
        let kernels = [
            Kernel::exponential(1.5).expect("in its domain"),
            Kernel::matern32(1.5).expect("in its domain"),
            Kernel::matern52(1.5).expect("in its domain"),
            Kernel::rational_quadratic(1.5, 2.0).expect("in its domain"),
        ];
        for kernel in kernels {
            let mixture = Mixture::new(&kernel, 400.0, 1e-8, f64::INFINITY).expect("in its domain");
            assert!(mixture.error <= 1e-8 && mixture.near < 0.5, "{}: {}", kernel.name(), mixture.near);
            for r in [0.5_f64, 1.0, 2.0, 5.0] {
                let difference = (kernel.value(r * r) - mixture.value(r * r)).abs();
                assert!(difference <= 1e-8, "{} at {r}: {difference}", kernel.name());
            }
        }
    }

    #[test]
    fn the_integrand_keeps_its_digits_however_large_the_power_is() {
        for power in [1e-6, 0.5, 3.0, 9.99, 10.0, 200.0, 1e6, 1e12, 1e200] {
            let (h, largest) = (step(power, 1e-12), (2.0 * FALLEN / power).sqrt().min(f64::ln(45.0 / power + 4.0)));
            // The trapezoidal rule for a density; small powers have a long tail below.
            let (mut sum, mut y, mut count) = (0.0, largest, 0);
            while y > -largest.max(40.0 / power) && count < 100_000 {
                sum += h * (ln_peak(power) - power * exp_beyond_line(y)).exp();
                (y, count) = (y - h, count + 1);
            }
            assert!(power < 0.5 || (sum - 1.0).abs() < 1e-10, "{power}: {sum}");
            assert!(power < 20.0 || count > 10, "{power}: {count}");
        }
    }

    #[test]
    fn a_mixture_that_is_hardly_wider_than_a_gaussian_has_a_few_nodes_that_add_up_to_one() {
        for alpha in [1e4, 1e8, 1e9, 1e16, 1e300] {
            let kernel = Kernel::rational_quadratic(1.5, alpha).expect("in its domain");
            for tolerance in [1e-3, 1e-8, 1e-12] {
                let mixture = Mixture::new(&kernel, 1.0, tolerance, 4.0).expect("a few nodes");
                assert!(mixture.nodes.len() < 60, "{alpha:e}: {} Gaussians", mixture.nodes.len());
                assert!((mixture.value(0.0) - 1.0).abs() < tolerance, "{alpha:e}: {}", mixture.value(0.0));
                let (found, expected) = (mixture.value(1.0), f64::exp(-alpha * f64::ln_1p(1.5 / alpha)));
                assert!((found - expected).abs() < tolerance, "{alpha:e}: {found} and {expected}");
            }
        }
        // Tails of so small a power do not end, where there is no farthest distance.
        let kernel = Kernel::rational_quadratic(1.5, 1e-6).expect("in its domain");
        assert!(Mixture::new(&kernel, 1.0, 1e-8, f64::INFINITY).is_none());
    }

    #[test]
    fn gaussians_that_are_wide_beside_the_data_stand_together() {
        for alpha in [1e-6, 0.05, 0.5, 3.0, 50.0, 1000.0] {
            let kernel = Kernel::rational_quadratic(1.5, alpha).expect("in its domain");
            let mixture = Mixture::new(&kernel, 1.0, 1e-8, 4.0).expect("in its domain");
            assert!(mixture.near == 0.0 && mixture.error <= 1e-8, "{alpha}: {:.1e}", mixture.error);
            assert!(mixture.nodes.len() < 200, "{alpha}: {} Gaussians", mixture.nodes.len());
            for r in [0.0_f64, 0.1, 1.0, 4.0] {
                let difference = (kernel.value(r * r) - mixture.value(r * r)).abs();
                assert!(difference <= 1e-8, "{alpha} at {r}: {difference}");
            }
        }
    }
}
