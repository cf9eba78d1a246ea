//! How do time and memory grow with the number of points?

use mercer::{GramChoice, SolverChoice};

use crate::answers;
use crate::child::{FitAnswer, FitOnce};
use crate::failure::Result;
use crate::harness::{Contender, Finished, alternate};
use crate::points_file::{Digits, Part};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

use super::GAMMA;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    Fits of the first 5000 to 40000 digits of MNIST with recomputed tiles and the same settings (block Krylov, 50 \
    components to residual 1e-4, single precision): seconds per squared number of points, of the whole fit and of one of its passes, and peak \
    memory beyond the data against a straight line through the sizes. A line is linear growth; a kernel matrix would \
    grow 64-fold.";

const SIZES: [usize; 4] = [5_000, 10_000, 20_000, 40_000];
const QUICK_SIZES: [usize; 4] = [300, 450, 600, 750];
const TOLERANCE: f64 = 1e-4;
/// The slowest time per entry of the matrix to the fastest.
const FLAT_BAR: f64 = 1.25;
/// The largest distance of a peak from the line, as a share of the peak.
const LINE_BAR: f64 = 0.1;
/// Shares of variance of a larger sample of the same digits may differ by this from those of the largest.
const SHARE_LIMIT: f64 = 0.05;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let (sizes, k) = (if setup.options.quick { QUICK_SIZES } else { SIZES }, setup.size(50, 10));
    let digits = Digits::prepare(setup, Part::Train, sizes[sizes.len() - 1])?.f32;
    findings.setting("points", sizes.to_vec());
    findings.setting("components", k);
    findings.setting("gamma", GAMMA);
    findings.setting("tolerance", TOLERANCE);
    findings.setting("data", if setup.options.quick { "made-up pictures" } else { "MNIST, training part, first rows" });

    let contenders = sizes.map(|n| {
        let fit = FitOnce {
            points: digits.first(n),
            gamma: GAMMA,
            components: k,
            tolerance: TOLERANCE,
            gram: GramChoice::Tiled,
            solver: SolverChoice::Krylov,
            memory: "auto".to_owned(),
            threads: setup.options.threads,
            scores: None,
        };
        Contender::new(format!("tiled_f32/n={n}"), move || {
            let answer = fit.spawn()?;
            Ok((answer.seconds, answer))
        })
    });
    let finished = alternate(contenders.into(), setup.rounds(3))?;
    findings.timings(&finished);
    check(findings, &finished)?;
    time(findings, &finished, &sizes);
    memory(findings, &finished, &sizes);
    Ok(())
}

/// Residuals, and shares of variance: samples of the same digits have nearly the same leading one.
fn check(findings: &mut Findings, finished: &[Finished<FitAnswer>]) -> Result<()> {
    let share = |finished: &Finished<FitAnswer>| {
        let record = finished.answer().record.as_ref();
        record.map_or(f64::NAN, |record| record.explained_variance_ratio.iter().sum::<f64>())
    };
    let expected = finished.last().map_or(f64::NAN, share);
    for contender in finished {
        let name = &contender.timing.name;
        findings.check(format!("{name}: largest residual"), contender.answer().largest_residual, TOLERANCE)?;
        let difference = answers::eigenvalue_difference(&[share(contender)], &[expected]);
        findings.check(
            format!("{name}: explained share of variance against the largest fit's"),
            difference,
            SHARE_LIMIT,
        )?;
    }
    Ok(())
}

fn time(findings: &mut Findings, finished: &[Finished<FitAnswer>], sizes: &[usize]) {
    let one = |_: &Finished<FitAnswer>| 1.0;
    let passes = |contender: &Finished<FitAnswer>| contender.answer().passes();
    let mut flatness = |what: &str, seconds: &Measure<'_>, divisor: &Measure<'_>, bar: Option<Bar>| {
        let each = finished.iter().zip(sizes).map(|(contender, &n)| {
            let nanoseconds = 1e9 * seconds(contender) / (divisor(contender) * (n * n) as f64);
            findings.quantity(format!("{what}, n={n}"), nanoseconds, "ns")
        });
        if let Some((least, most)) = extremes(&each.collect::<Vec<_>>()) {
            findings.ratio(format!("most to least time per entry, {what}"), most, least, bar);
        }
    };
    flatness("whole fit", &Finished::best, &one, Some(Bar::AtMost(FLAT_BAR)));
    flatness("whole fit per pass", &Finished::best, &passes, None);
    flatness("passes alone per pass", &solving_seconds, &passes, None);
    for contender in finished {
        findings.quantity(format!("passes of {}", contender.timing.name), contender.answer().passes(), "");
    }
}

type Measure<'a> = dyn Fn(&Finished<FitAnswer>) -> f64 + 'a;

/// Seconds of the passes of the best round.
fn solving_seconds(contender: &Finished<FitAnswer>) -> f64 {
    let solving = |answer: &FitAnswer| answer.record.as_ref()?.seconds.get("solving").copied();
    contender.answers.iter().filter_map(solving).fold(f64::INFINITY, f64::min)
}

/// The least and the greatest of some quantities.
fn extremes(values: &[Quantity]) -> Option<(Quantity, Quantity)> {
    let order = |a: &&Quantity, b: &&Quantity| a.value.total_cmp(&b.value);
    Some((values.iter().min_by(order)?.clone(), values.iter().max_by(order)?.clone()))
}

fn memory(findings: &mut Findings, finished: &[Finished<FitAnswer>], sizes: &[usize]) {
    let peak = |contender: &Finished<FitAnswer>| {
        contender.answers.iter().map(|answer| answer.peak_growth_bytes as f64).fold(f64::INFINITY, f64::min)
    };
    let points: Vec<(f64, f64)> =
        sizes.iter().zip(finished).map(|(&n, contender)| (n as f64, peak(contender))).collect();
    for (n, peak) in &points {
        findings.quantity(format!("peak growth of tiled_f32/n={n}"), *peak, "B");
    }
    let (offset, slope) = line_through(&points);
    findings.quantity("line of memory: offset", offset, "B");
    findings.quantity("line of memory: per point", slope, "B");
    let distance = |(n, peak): &(f64, f64)| (peak - offset - slope * n).abs();
    let share = |point: &(f64, f64)| distance(point) / point.1;
    if let Some(worst) = points.iter().max_by(|a, b| share(a).total_cmp(&share(b))) {
        let far = Quantity::new(format!("distance of the peak from the line, n={}", worst.0), distance(worst), "B");
        let peak = Quantity::new(format!("peak, n={}", worst.0), worst.1, "B");
        findings.ratio("largest distance of a peak from a line", far, peak, Some(Bar::AtMost(LINE_BAR)));
    }
}

/// The straight line `offset + slope x` that is nearest to some points in the sense of least squares.
fn line_through(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let (mut xy, mut xx) = (0.0, 0.0);
    for point in points {
        xy += (point.0 - x) * (point.1 - y);
        xx += (point.0 - x) * (point.0 - x);
    }
    let slope = xy / xx;
    (y - slope * x, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_through_points_on_it() {
        let (offset, slope) = line_through(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]);
        assert!((offset - 3.0).abs() < 1e-12 && (slope - 2.0).abs() < 1e-12);
    }

    #[test]
    fn extremes_keep_their_names() {
        let values = [3.0, 1.0, 2.0].map(|value| Quantity::new(format!("v{value}"), value, "ns"));
        let (least, most) = extremes(&values).unwrap();
        assert_eq!((least.name.as_str(), most.name.as_str()), ("v1", "v3"));
    }
}
