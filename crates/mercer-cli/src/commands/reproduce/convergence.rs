//! How fast gain rules converge: curves of the excess error, pass by pass.

use mercer::{Center, GainRule, Kernel, KernelPca, Model, Points, Precision, Refresh};

use super::findings::Findings;
use super::rules::{Problem, Rule, Run, excess};
use super::stage::Stage;
use crate::failure::Result;
use crate::picture::{Curve, Curves};

/// The excess after every pass, rule by rule.
pub(super) type Results = Vec<(GainRule, Vec<f64>)>;

/// A centred problem with the gaussian kernel, in double precision.
pub(super) fn problem(points: &Points, kernel: Kernel, n_components: usize) -> Problem<'_> {
    let (center, precision, refresh) = (Center::Yes, Precision::F64, Refresh::Pass);
    Problem { points, kernel, center, precision, n_components, refresh }
}

/// The exact components of a problem.
pub(super) fn exact(problem: &Problem<'_>, stage: &Stage<'_>) -> Result<Model> {
    stage.begin("exact components");
    let pca = KernelPca::new(problem.kernel.clone()).n_components(problem.n_components).precision(problem.precision);
    let pca = pca.threads(stage.threads);
    Ok(stage.watched(|watch| pca.fit_watched(problem.points, watch))?)
}

/// Runs every rule, and gives each run with its curve.
pub(super) fn run_all(
    problem: &Problem<'_>,
    rules: &[Rule],
    passes: usize,
    exact: &Model,
    findings: &mut Findings,
    stage: &Stage<'_>,
) -> Result<Vec<(GainRule, Run, Vec<f64>)>> {
    let mut runs = Vec::new();
    for &rule in rules {
        stage.begin(&format!("{}, {passes} passes", rule.gain));
        let run = problem.run(rule, passes, 0, stage)?;
        if run.was_tuned {
            findings.note(format!("{}: the paper's gains diverged; others were found by trying.", rule.gain));
        }
        let curve = excess(&run, exact, stage)?;
        runs.push((rule.gain, run, curve));
    }
    Ok(runs)
}

/// The curve of a rule; empty if it was not run.
pub(super) fn curve(results: &Results, rule: GainRule) -> &[f64] {
    results.iter().find(|(other, _)| *other == rule).map_or(&[], |(_, curve)| curve)
}

/// The excess of a rule in the end.
pub(super) fn last(results: &Results, rule: GainRule) -> f64 {
    curve(results, rule).last().copied().unwrap_or(f64::NAN)
}

/// The curves in one picture.
pub(super) fn picture(title: &str, paper: &str, results: &Results) -> String {
    let named: Vec<(String, Vec<(f64, f64)>)> = results
        .iter()
        .map(|(rule, curve)| {
            let points = curve.iter().enumerate().map(|(pass, &error)| ((pass + 1) as f64, error)).collect();
            (rule.to_string(), points)
        })
        .collect();
    let curves: Vec<Curve<'_>> = named.iter().map(|(name, points)| Curve { name, points }).collect();
    let axes = ("passes over the data", "excess relative error");
    Curves { title, subtitle: paper, axes, logarithmic: true, level: None, lines: &curves }.to_svg()
}
