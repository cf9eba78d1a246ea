//! Does a fit take what its plan said?

use mercer::SolverChoice;

use crate::child::{PlanAnswer, PlanOnce};
use crate::failure::Result;
use crate::harness::{Contender, Finished, alternate};
use crate::points_file::{Digits, Part, PointsFile, sheet};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    What `mercer plan` says a fit will take against what it takes, in time and in memory beyond the data, for five \
    fits that differ in points, features, components, kernel, precision, solver and memory budget: 10000 digits of MNIST as \
    bytes with all tiles kept; 20000 digits in single precision within 400 MiB; 30000 points on a sheet in three dimensions; \
    more than a quarter of the spectrum of 2000 points; single-vector Lanczos in double precision. The ratio is the larger of \
    estimate and measurement to the smaller.";

const BAR: Bar = Bar::AtMost(2.0);

/// Seeds of the made-up points.
const SHEET_SEEDS: [u64; 3] = [3, 4, 5];

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let fits = fits(setup)?;
    findings.setting("points", fits.iter().map(|(_, fit)| fit.points.rows).collect::<Vec<_>>());
    findings.setting("features", fits.iter().map(|(_, fit)| fit.points.features).collect::<Vec<_>>());
    findings.setting("components", fits.iter().map(|(_, fit)| fit.components).collect::<Vec<_>>());
    findings.setting("kernels", fits.iter().map(|(_, fit)| fit.kernel.clone()).collect::<Vec<_>>());
    findings.setting("memory", fits.iter().map(|(_, fit)| fit.memory.clone()).collect::<Vec<_>>());
    let contenders = fits.iter().map(|(name, fit)| {
        Contender::new(*name, || {
            let answer = fit.spawn()?;
            Ok((answer.seconds, answer))
        })
    });
    let finished = alternate(contenders.collect(), setup.rounds(3))?;
    findings.timings(&finished);
    for (contender, (_, fit)) in finished.iter().zip(&fits) {
        compare(findings, contender, fit.tolerance)?;
    }
    Ok(())
}

/// The five fits.
fn fits(setup: &Setup) -> Result<Vec<(&'static str, PlanOnce)>> {
    let digits = Digits::prepare(setup, Part::Train, setup.size(20_000, 700))?;
    let made_up = |name: &str, rows: usize, features: usize, seed: u64| {
        PointsFile::write_f32(setup.scratch_file(name), &sheet(rows, features, seed), features)
    };
    let plain = |points: PointsFile, kernel: &str, components: usize| PlanOnce {
        points,
        kernel: kernel.to_owned(),
        components,
        tolerance: 1e-4,
        double: false,
        solver: SolverChoice::Auto,
        memory: "auto".to_owned(),
        threads: setup.options.threads,
    };
    let low = made_up("low.f32", setup.size(30_000, 800), 3, SHEET_SEEDS[0])?;
    let wide = made_up("wide.f32", setup.size(2000, 600), 64, SHEET_SEEDS[1])?;
    let middle = made_up("middle.f32", setup.size(6000, 700), 16, SHEET_SEEDS[2])?;
    let most = setup.size(600, 200);
    Ok(vec![
        ("digits kept", plain(digits.u8.first(setup.size(10_000, 600)), "gaussian", setup.size(50, 10))),
        (
            "digits within 400 MiB",
            PlanOnce { memory: "400MiB".to_owned(), ..plain(digits.f32.clone(), "gaussian", setup.size(20, 10)) },
        ),
        ("sheet in 3 dimensions", PlanOnce { tolerance: 1e-5, ..plain(low, "laplacian", 10) }),
        ("quarter of the spectrum", PlanOnce { tolerance: 1e-8, double: true, ..plain(wide, "polynomial", most) }),
        (
            "lanczos in f64",
            PlanOnce { tolerance: 1e-8, double: true, solver: SolverChoice::Lanczos, ..plain(middle, "matern52", 12) },
        ),
    ])
}

fn compare(findings: &mut Findings, contender: &Finished<PlanAnswer>, tolerance: f64) -> Result<()> {
    let name = &contender.timing.name;
    let least = |of: fn(&PlanAnswer) -> f64| contender.answers.iter().map(of).fold(f64::INFINITY, f64::min);
    let answer = contender.answer();
    let residual = answer.record.residuals.iter().copied().fold(0.0, f64::max);
    findings.check(format!("{name}: largest residual"), residual, tolerance)?;
    findings.quantity(format!("{name}: passes expected"), answer.record.plan.expected_passes as f64, "");
    findings.quantity(format!("{name}: passes"), answer.record.passes as f64, "");
    findings.quantity(format!("{name}: planning"), least(|answer| answer.planning_seconds), "s");
    let time = [
        findings.quantity(format!("{name}: seconds expected"), least(|answer| answer.expected_seconds), "s"),
        findings.quantity(format!("{name}: seconds measured"), contender.best(), "s"),
    ];
    let memory = [
        findings.quantity(format!("{name}: memory expected"), answer.expected_memory_bytes as f64, "B"),
        findings.quantity(format!("{name}: memory measured"), least(|answer| answer.peak_growth_bytes as f64), "B"),
    ];
    for (what, [expected, measured]) in [("time", time), ("memory", memory)] {
        let direction = if expected.value >= measured.value { "expected to measured" } else { "measured to expected" };
        let (larger, smaller) = sorted(expected, measured);
        findings.ratio(format!("{name}: {what}, {direction}"), larger, smaller, Some(BAR));
    }
    Ok(())
}

/// The larger of two quantities and the smaller.
fn sorted(a: Quantity, b: Quantity) -> (Quantity, Quantity) {
    if a.value >= b.value { (a, b) } else { (b, a) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_comes_first_with_its_name() {
        let quantity = |name: &str, value| Quantity::new(name, value, "s");
        let (larger, smaller) = sorted(quantity("expected", 1.0), quantity("measured", 3.0));
        assert_eq!((larger.name.as_str(), smaller.name.as_str()), ("measured", "expected"));
    }
}
