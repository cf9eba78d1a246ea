//! Products with kernel matrices by expansion: how fast, how exact, and from how many points on.
//!
//! Claims are those of Raykar and Ankur, sections 7, 10 and 11, who multiply in two dimensions and name neither the bandwidth of figures 7 to 9 nor the degrees of
//! figure 6. The straightforward way is here the library's own, by tiles, on all threads and with vector instructions; theirs was MATLAB's.

mod eigenvalues;
mod measure;

use mercer::expansion::TruncationBound;
use mercer::watch::Threads;
use mercer::{ExpansionMethod, Kernel};

use self::measure::{Measured, Product, break_even, cube, growth};
use super::findings::{Findings, Found};
use super::stage::Stage;
use crate::failure::Result;
use crate::picture::{Curve, Curves};

const TITLE: &str = "Products with kernel matrices by expansion";
const PAPER: &str = "Raykar, Ankur: Fast kernel PCA for the polynomial and Gaussian kernels, figures 3 to 9";
/// The bandwidth of the Gaussian, where the side of the square is one; the paper's is not given.
const BANDWIDTH: f64 = 0.5;
/// The absolute accuracy of figures 8 and 9.
const ACCURACY: f64 = 1e-6;
/// Degrees of figure 6; the paper's are not given.
const DEGREES: [u32; 5] = [2, 3, 5, 8, 12];
/// Terms of figure 7.
const TERMS: std::ops::RangeInclusive<usize> = 1..=11;
/// Dimensions beyond the paper's two, and the polynomial's degree there.
const DIMENSIONS: [usize; 5] = [2, 3, 4, 6, 8];
const DEGREE: u32 = 3;

struct Experiment<'a> {
    stage: &'a Stage<'a>,
    threads: Threads,
    /// Numbers of points: those of the paper, and on from there.
    sizes: Vec<usize>,
    rounds: usize,
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Found> {
    let mut sizes: Vec<usize> = (1..=10).map(|hundreds| 100 * hundreds).collect();
    if !stage.quick {
        sizes.extend([2000, 5000, 10_000, 20_000]);
    }
    let experiment = Experiment { stage, threads: Threads::new(stage.threads)?, sizes, rounds: stage.size(7, 2) };
    let mut findings = Findings::new("raykar-timing", TITLE, PAPER, stage.quick);
    findings.setting("points", format!("100 to {}", experiment.sizes[experiment.sizes.len() - 1]));
    findings.setting("bandwidth of the Gaussian", BANDWIDTH);
    findings.setting("accuracy of figures 8 and 9", ACCURACY);
    findings.setting("runs, of which the best counts", experiment.rounds);
    let mut figures = vec![eigenvalues::run(stage, &mut findings)?];
    figures.extend(experiment.polynomial(&mut findings)?);
    figures.push(experiment.degrees(&mut findings)?);
    figures.push(experiment.truncation(&mut findings)?);
    figures.extend(experiment.gaussian(&mut findings)?);
    figures.push(experiment.dimensions(&mut findings)?);
    findings.note("Times are from the points to the product, in double precision, fast and straightforward in turn.");
    Ok((findings, figures))
}

impl Experiment<'_> {
    fn measure(&self, what: &str, product: &Product) -> Result<Measured> {
        self.stage.begin(&format!("{what}, {} points", product.points.n_samples()));
        Ok(self.stage.watched(|watch| product.measure(self.rounds, &self.threads, watch))?)
    }

    fn polynomial_product(n: usize, d: usize, degree: u32) -> Result<Product> {
        let kernel = Kernel::polynomial(1.0, 1.0, degree)?;
        Ok(Product { points: cube(n, d)?, kernel, method: ExpansionMethod::Polynomial, tolerance: 1e-10 })
    }

    /// A series of a given number of terms: the tolerance is what that leaves out of a square whose corners are among the points.
    fn series_product(n: usize, d: usize, terms: usize) -> Result<Product> {
        let left_out = TruncationBound::Optimal.of(terms, ratio(d));
        let kernel = Kernel::gaussian(0.5 / (BANDWIDTH * BANDWIDTH))?;
        let tolerance = (left_out * (1.0 + 1e-9)).clamp(mercer::expansion::LEAST_TOLERANCE, 0.99);
        Ok(Product { points: cube(n, d)?, kernel, method: ExpansionMethod::Series, tolerance })
    }

    /// Figures 4 and 5: the polynomial kernel of degree 2.
    fn polynomial(&self, findings: &mut Findings) -> Result<Vec<String>> {
        let runs: Vec<Measured> = self
            .sizes
            .iter()
            .map(|&n| self.measure("degree 2", &Self::polynomial_product(n, 2, 2)?))
            .collect::<Result<_>>()?;
        judge_times(findings, "figure 4, degree 2", &runs);
        let worst = runs.iter().map(|one| one.error).fold(0.0, f64::max);
        findings.claim(
            "figure 5: the fast product of a polynomial kernel differs by numerical error only",
            "rounding",
            worst,
            format!("{worst:.1e} at most, up to {} points", self.sizes[self.sizes.len() - 1]),
            worst < 1e-10 * self.sizes[self.sizes.len() - 1] as f64 / 1000.0,
        );
        findings.series("figure 5, largest error", runs.iter().map(|one| one.error).collect());
        findings
            .figure("polynomial", "Figure 4: seconds of a product, polynomial kernel of degree 2 in two dimensions.");
        findings.figure("polynomial-error", "Figure 5: the largest error of the fast product.");
        Ok(vec![times("Polynomial kernel of degree 2", &runs), errors("Error, polynomial kernel", &runs, None)])
    }

    /// Figure 6: other degrees.
    fn degrees(&self, findings: &mut Findings) -> Result<String> {
        let doublings = self.stage.size(10, 6);
        let (mut even, mut curves) = (Vec::new(), Vec::new());
        for degree in DEGREES {
            let runs: Vec<Measured> = (0..doublings)
                .map(|at| self.measure(&format!("degree {degree}"), &Self::polynomial_product(25 << at, 2, degree)?))
                .collect::<Result<_>>()?;
            even.push((degree, break_even(&runs)));
            findings.series(format!("figure 6, degree {degree}: seconds"), runs.iter().map(|one| one.fast).collect());
            if degree == DEGREES[0] {
                curves.push(("direct".to_owned(), runs.iter().map(|one| (log(one.n), one.direct)).collect()));
            }
            curves.push((format!("degree {degree}"), runs.iter().map(|one| (log(one.n), one.fast)).collect()));
        }
        let rank = |even: Option<usize>| even.unwrap_or(usize::MAX);
        let grows = even.windows(2).all(|pair| rank(pair[0].1) <= rank(pair[1].1))
            && rank(even[0].1) < rank(even[even.len() - 1].1);
        let words: Vec<String> = even
            .iter()
            .map(|(degree, even)| format!("{degree}: {}", even.map_or_else(|| "none".to_owned(), |n| n.to_string())))
            .collect();
        findings.claim(
            "figure 6: the break-even point increases with the degree",
            "increases",
            even[even.len() - 1].1.map_or(-1.0, |n| n as f64),
            format!("points from which on the fast way is ahead, by degree: {}", words.join(", ")),
            grows,
        );
        findings.figure(
            "degrees",
            "Figure 6: seconds of a fast product for several degrees, and of the straightforward one.",
        );
        Ok(picture("Several degrees", ("decimal logarithm of the number of points", "seconds"), true, &curves))
    }

    /// Figure 7: the error of a series of few terms, below its bound.
    fn truncation(&self, findings: &mut Findings) -> Result<String> {
        let n = 1000;
        let mut rows = Vec::new();
        for terms in TERMS {
            let run = self.measure(&format!("{terms} terms"), &Self::series_product(n, 2, terms)?)?;
            rows.push((terms, run));
        }
        // The paper bounds the vector's sum by the number of points.
        let printed = |terms: usize| n as f64 * TruncationBound::Printed.of(terms, ratio(2));
        let worst = rows.iter().map(|(terms, run)| run.error / printed(*terms)).fold(0.0, f64::max);
        findings.claim(
            "figure 7: the theoretical bound always bounds the error",
            "always",
            worst,
            format!("the error is {worst:.1e} of the bound at most, for {} to {} terms", TERMS.start(), TERMS.end()),
            worst <= 1.0,
        );
        let mut loose: Vec<f64> = rows.iter().map(|(terms, run)| printed(*terms) / run.error).collect();
        loose.sort_by(f64::total_cmp);
        let loose = loose[loose.len() / 2];
        findings.claim(
            "the bounds are tight",
            "tight",
            loose,
            format!("the printed bound is {loose:.0} times the error, in the middle of the scan"),
            loose < 10.0,
        );
        let curve = |of: &dyn Fn(usize, &Measured) -> f64| -> Vec<(f64, f64)> {
            rows.iter().map(|(terms, run)| (*terms as f64, of(*terms, run))).collect()
        };
        let curves = vec![
            ("error".to_owned(), curve(&|_, run| run.error)),
            ("printed".to_owned(), curve(&|terms, _| printed(terms))),
            ("sharper".to_owned(), curve(&|terms, run| run.sum * TruncationBound::Sharper.of(terms, ratio(2)))),
            ("optimal".to_owned(), curve(&|terms, run| run.sum * TruncationBound::Optimal.of(terms, ratio(2)))),
        ];
        findings.series("figure 7, error", rows.iter().map(|(_, run)| run.error).collect());
        findings.figure(
            "truncation",
            "Figure 7: the largest error for 1000 points over the number of terms, with the printed bound and two that are sharper.",
        );
        Ok(picture("Terms of the Gaussian's series", ("terms", "largest error"), true, &curves))
    }

    /// Figures 8 and 9: the Gaussian to a given accuracy.
    fn gaussian(&self, findings: &mut Findings) -> Result<Vec<String>> {
        let terms: Vec<usize> = self
            .sizes
            .iter()
            .map(|&n| TruncationBound::Printed.terms(ratio(2), n as f64, ACCURACY).unwrap_or(usize::MAX))
            .collect();
        let mut runs = Vec::new();
        for (&n, &terms) in self.sizes.iter().zip(&terms) {
            runs.push(self.measure("Gaussian", &Self::series_product(n, 2, terms)?)?);
        }
        judge_times(findings, "figure 8, Gaussian", &runs);
        let worst = runs.iter().map(|one| one.error).fold(0.0, f64::max);
        findings.claim(
            "figure 9: the error is below 1e-6",
            "1e-6",
            worst,
            format!("{worst:.1e} at most, up to {} points", self.sizes[self.sizes.len() - 1]),
            worst <= ACCURACY,
        );
        let (first, thousand) = (terms[0], terms[9]);
        findings.claim(
            "figure 9: the number of terms grows slowly with the number of points",
            "slowly",
            (thousand - first) as f64,
            format!("{first} terms for 100 points, {thousand} for 1000"),
            thousand > first && thousand - first <= 3,
        );
        findings.series("figure 9, largest error", runs.iter().map(|one| one.error).collect());
        findings.series("figure 9, terms", terms.iter().map(|&terms| terms as f64).collect());
        findings.figure("gaussian", "Figure 8: seconds of a product, Gaussian kernel in two dimensions, to 1e-6.");
        findings.figure("gaussian-error", "Figure 9: the largest error of the fast product; the line is 1e-6.");
        findings.figure("gaussian-terms", "Figure 9: terms that the printed bound asks for.");
        let counts: Vec<(f64, f64)> =
            self.sizes.iter().zip(&terms).map(|(&n, &terms)| (log(n), terms as f64)).collect();
        let axes = ("decimal logarithm of the number of points", "terms");
        Ok(vec![
            times("Gaussian kernel to 1e-6", &runs),
            errors("Error, Gaussian kernel", &runs, Some(ACCURACY)),
            picture("Terms of the Gaussian's series to 1e-6", axes, false, &[("terms".to_owned(), counts)]),
        ])
    }

    /// Beyond two dimensions, where the paper expects the number of terms to be a problem.
    fn dimensions(&self, findings: &mut Findings) -> Result<String> {
        let n = self.stage.size(10_000, 500);
        let mut runs = Vec::new();
        for d in DIMENSIONS {
            runs.push((d, self.measure(&format!("{d} dimensions"), &Self::polynomial_product(n, d, DEGREE)?)?));
        }
        let gain = |(_, run): &(usize, Measured)| run.direct / run.fast;
        let (low, high) = (gain(&runs[0]), gain(&runs[runs.len() - 1]));
        let terms = |(_, run): &(usize, Measured)| run.terms.unwrap_or(0);
        findings.claim(
            "in higher dimensions the fast method gains less",
            "could be a problem",
            high / low,
            format!(
                "{n} points, degree {DEGREE}: {low:.1} times as fast in 2 dimensions ({} terms), {high:.1} times in {} ({} terms)",
                terms(&runs[0]),
                DIMENSIONS[DIMENSIONS.len() - 1],
                terms(&runs[runs.len() - 1])
            ),
            high < low,
        );
        findings.series("dimensions: seconds, fast", runs.iter().map(|(_, run)| run.fast).collect());
        findings.series("dimensions: seconds, straightforward", runs.iter().map(|(_, run)| run.direct).collect());
        findings.figure(
            "dimensions",
            "Beyond the paper: seconds of a product over the dimension, polynomial kernel of degree 3.",
        );
        let curve = |of: fn(&Measured) -> f64| runs.iter().map(|(d, run)| (*d as f64, of(run))).collect();
        let curves = [("fast".to_owned(), curve(|run| run.fast)), ("direct".to_owned(), curve(|run| run.direct))];
        Ok(picture("More dimensions", ("dimensions", "seconds"), true, &curves))
    }
}

/// `R²/σ²` of the unit cube about its middle.
fn ratio(d: usize) -> f64 {
    d as f64 / 4.0 / (BANDWIDTH * BANDWIDTH)
}

fn log(n: usize) -> f64 {
    (n as f64).log10()
}

/// Seconds in milliseconds, with three digits that say something.
fn milliseconds(seconds: f64) -> String {
    let value = 1000.0 * seconds;
    // Digits before the point are as many as the logarithm has whole parts, and one more.
    let digits = if value > 0.0 { (2.0 - value.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    format!("{value:.digits$}")
}

/// Whether the fast way is ahead, and how both grow.
fn judge_times(findings: &mut Findings, what: &str, runs: &[Measured]) {
    let thousand = runs.iter().find(|one| one.n == 1000).unwrap_or(&runs[runs.len() - 1]);
    let gain = thousand.direct / thousand.fast;
    let even = break_even(runs).map_or_else(|| "nowhere".to_owned(), |n| format!("from {n} points on"));
    findings.claim(
        format!("{what}: the fast product is faster for 1000 points"),
        "faster",
        gain,
        format!(
            "{} against {} ms, {gain:.1} times; ahead {even}",
            milliseconds(thousand.fast),
            milliseconds(thousand.direct)
        ),
        gain > 1.0,
    );
    // Below a thousand points starting threads takes longer than multiplying.
    let large: Vec<Measured> = runs.iter().copied().filter(|one| one.n >= 1000).collect();
    if large.len() > 2 {
        let (fast, direct) = (growth(&large, |one| one.fast), growth(&large, |one| one.direct));
        findings.claim(
            format!("{what}: time grows with N instead of N²"),
            "N against N²",
            fast,
            format!("N^{fast:.2} against N^{direct:.2} from 1000 points on"),
            fast < 1.25 && direct > 1.6,
        );
    }
    findings.series(format!("{what}: points"), runs.iter().map(|one| one.n as f64).collect());
    findings.series(format!("{what}: seconds, fast"), runs.iter().map(|one| one.fast).collect());
    findings.series(format!("{what}: seconds, straightforward"), runs.iter().map(|one| one.direct).collect());
}

fn times(title: &str, runs: &[Measured]) -> String {
    let curve = |of: fn(&Measured) -> f64| runs.iter().map(|one| (log(one.n), of(one))).collect();
    let curves = [("fast".to_owned(), curve(|one| one.fast)), ("direct".to_owned(), curve(|one| one.direct))];
    picture(title, ("decimal logarithm of the number of points", "seconds"), true, &curves)
}

fn errors(title: &str, runs: &[Measured], level: Option<f64>) -> String {
    let points: Vec<(f64, f64)> = runs.iter().map(|one| (log(one.n), one.error)).collect();
    let axes = ("decimal logarithm of the number of points", "largest error");
    let lines = [Curve { name: "error", points: &points }];
    Curves { title, subtitle: PAPER, axes, logarithmic: true, level, lines: &lines }.to_svg()
}

fn picture(title: &str, axes: (&str, &str), logarithmic: bool, curves: &[(String, Vec<(f64, f64)>)]) -> String {
    let lines: Vec<Curve<'_>> = curves.iter().map(|(name, points)| Curve { name, points }).collect();
    Curves { title, subtitle: PAPER, axes, logarithmic, level: None, lines: &lines }.to_svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_have_three_digits() {
        assert_eq!(
            [1.23873e-4, 1.089_795e-3, 0.035_457, 1.5, 0.0].map(milliseconds),
            ["0.124", "1.09", "35.5", "1500", "0"]
        );
    }
}
