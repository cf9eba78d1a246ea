//! One product with a kernel matrix, fast and straightforward: seconds, and how far they are apart.

use std::time::Instant;

use faer::Mat;
use mercer::expansion::{Expansion, Wanted};
use mercer::gram::{KernelGram, SymmetricOperator, slab_product};
use mercer::watch::{Context, Phase, Threads};
use mercer::{ExpansionMethod, Kernel, Points, Precision, Watch};

/// What both ways took and gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Points.
    pub(super) n: usize,
    /// Coefficients of the expansion; none if it has too many, and tiles are used after all.
    pub(super) terms: Option<usize>,
    /// Seconds of the fast product and of the straightforward one.
    pub(super) fast: f64,
    pub(super) direct: f64,
    /// The largest error of the fast product.
    pub(super) error: f64,
    /// The sum of the absolute values of the vector.
    pub(super) sum: f64,
}

/// What is multiplied: points in the unit cube, a kernel, and how its expansion is made.
#[derive(Clone, Debug)]
pub(super) struct Product {
    pub(super) points: Points,
    pub(super) kernel: Kernel,
    pub(super) method: ExpansionMethod,
    /// What the error of an entry may be, relative to the largest.
    pub(super) tolerance: f64,
}

/// Points that are spread evenly over the unit cube, two opposite corners among them.
pub(super) fn cube(n: usize, d: usize) -> mercer::Result<Points> {
    let values: Vec<f64> = (0..n * d)
        .map(|at| match at / d {
            0 => 0.0,
            1 => 1.0,
            i => spread(i, at % d),
        })
        .collect();
    Points::from_f64(values, n, d)
}

/// Numbers between 0 and 1 that fill the interval evenly, a list for each `k`.
fn spread(i: usize, k: usize) -> f64 {
    const PRIMES: [f64; 9] = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0];
    (i as f64 * PRIMES[k % PRIMES.len()].sqrt()).fract()
}

impl Product {
    /// Multiplies both ways, several times; the best time counts, from the points to the product.
    pub(super) fn measure(&self, rounds: usize, threads: &Threads, watch: &Watch<'_>) -> mercer::Result<Measured> {
        let context = Context::new(threads, watch, Phase::Multiplying);
        let n = self.points.n_samples();
        let u = Mat::from_fn(n, 1, |i, _| 2.0 * spread(i, 8) - 1.0);
        let wanted = Wanted { method: self.method, tolerance: self.tolerance, ..Wanted::default() };
        let (mut fast, mut direct, mut terms) = (f64::INFINITY, f64::INFINITY, None);
        let (mut product, mut straight) = (Mat::zeros(n, 1), Mat::zeros(n, 1));
        for _ in 0..rounds {
            let start = Instant::now();
            let expansion = Expansion::new(&self.kernel, &self.points, &wanted, &context)?;
            expansion.apply(u.as_ref(), product.as_mut(), &context)?;
            fast = fast.min(start.elapsed().as_secs_f64());
            terms = (!expansion.is_tiled()).then(|| expansion.terms());
            let start = Instant::now();
            let gram = KernelGram::<f64>::new(&self.points, &self.kernel, None)?;
            gram.apply(u.as_ref(), straight.as_mut(), &context)?;
            direct = direct.min(start.elapsed().as_secs_f64());
        }
        let exact = slab_product(&self.kernel, &self.points, &self.points, u.as_ref(), Precision::F64, &context)?;
        let error = (0..n).map(|i| (product[(i, 0)] - exact[(i, 0)]).abs()).fold(0.0, f64::max);
        Ok(Measured { n, terms, fast, direct, error, sum: u.col(0).norm_l1() })
    }
}

/// The number of points from which on the fast product is the faster one, if there is one among those measured.
pub(super) fn break_even(measured: &[Measured]) -> Option<usize> {
    let slower = measured.iter().rposition(|one| one.terms.is_none() || one.fast >= one.direct);
    measured.get(slower.map_or(0, |last| last + 1)).map(|one| one.n)
}

/// The power of the number of points that seconds grow with, by least squares in logarithms.
pub(super) fn growth(measured: &[Measured], seconds: impl Fn(&Measured) -> f64) -> f64 {
    let logs: Vec<(f64, f64)> = measured.iter().map(|one| ((one.n as f64).ln(), seconds(one).ln())).collect();
    let count = logs.len() as f64;
    let (x, y) = (logs.iter().map(|at| at.0).sum::<f64>() / count, logs.iter().map(|at| at.1).sum::<f64>() / count);
    let (above, below) = logs
        .iter()
        .fold((0.0, 0.0), |(above, below), at| (above + (at.0 - x) * (at.1 - y), below + (at.0 - x).powi(2)));
    above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(n: usize, fast: f64, direct: f64) -> Measured {
        Measured { n, terms: Some(6), fast, direct, error: 0.0, sum: 1.0 }
    }

    #[test]
    fn points_fill_the_unit_cube_from_corner_to_corner() {
        let points = cube(50, 3).unwrap();
        assert_eq!((points.row(0), points.row(1)), (vec![0.0; 3], vec![1.0; 3]));
        assert!((0..50).flat_map(|i| points.row(i)).all(|x| (0.0..=1.0).contains(&x)));
    }

    #[test]
    fn break_even_is_where_the_fast_way_stays_ahead() {
        let runs = [one(100, 2.0, 1.0), one(200, 1.0, 2.0), one(400, 3.0, 2.0), one(800, 1.0, 9.0)];
        assert_eq!(break_even(&runs), Some(800));
        assert_eq!(break_even(&runs[..3]), None);
        assert_eq!(break_even(&runs[1..2]), Some(200));
        let tiled = Measured { terms: None, ..one(100, 1.0, 2.0) };
        assert_eq!(break_even(&[tiled]), None);
    }

    #[test]
    fn growth_is_the_power() {
        let runs: Vec<Measured> = [100, 200, 400].map(|n| one(n, 3.0 * n as f64, 0.1 * (n as f64).powi(2))).to_vec();
        assert!((growth(&runs, |one| one.fast) - 1.0).abs() < 1e-9);
        assert!((growth(&runs, |one| one.direct) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_product_is_measured_within_its_tolerance() {
        let points = cube(300, 2).unwrap();
        let product = Product {
            points,
            kernel: Kernel::gaussian(0.5).unwrap(),
            method: ExpansionMethod::Series,
            tolerance: 1e-8,
        };
        let found = product.measure(1, &Threads::new(1).unwrap(), &Watch::new()).unwrap();
        assert!(found.terms.is_some() && found.error <= 1e-8 * found.sum && found.error > 0.0, "{found:?}");
        assert!(found.fast > 0.0 && found.direct > 0.0);
    }
}
