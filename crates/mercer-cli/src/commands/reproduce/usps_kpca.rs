//! Kernel PCA of USPS digits by iteration: which gain rule converges how fast.
//!
//! Claims are those of Günter, Schraudolph and Vishwanathan, section 5.1.1; parameters those of their table 1, with log-gains that start at zero.

use mercer::{Center, GainRule, Kernel, KernelPca, Model, Points, Precision, Refresh};

use super::convergence::{Results, curve, last, picture};
use super::findings::{Findings, Found};
use super::rules::{Problem, Rule, excess, median};
use super::stage::Stage;
use super::usps::{SIDE, digits};
use crate::failure::Result;
use crate::picture::{Gallery, Map};

const TITLE: &str = "Kernel PCA of USPS digits by iteration";
const PAPER: &str = "Günter, Schraudolph, Vishwanathan: Fast iterative kernel PCA, section 5.1.1, figures 2 to 4";
/// Bandwidth 8: `1 / (2 · 8²)`.
const GAMMA: f64 = 1.0 / 128.0;
/// Errors within this factor are similar.
const SIMILAR: f64 = 2.0;
/// Errors within this factor are the same.
const SAME: f64 = 1.2;
/// Passes of a hundred in which a rule is ahead that is said to be ahead.
const AHEAD: usize = 90;

const GAUSSIAN: [Rule; 5] = [
    Rule::new(GainRule::Annealed, 1.0, 1.0, 0.0),
    Rule::new(GainRule::EigenvalueStar, 5.0, 3.0, 0.0),
    Rule::new(GainRule::Eigenvalue, 0.2, 1.0, 0.0),
    Rule::new(GainRule::MetaDescentStar, 5.0, 3.0, 0.05),
    Rule::new(GainRule::MetaDescent, 0.2, 1.0, 0.1),
];
const DOT: [Rule; 5] = [
    Rule::new(GainRule::Annealed, 0.002, 2.0, 0.0),
    Rule::new(GainRule::EigenvalueStar, 5.0, 4.0, 0.0),
    Rule::new(GainRule::Eigenvalue, 1e-3, 1.0, 0.0),
    Rule::new(GainRule::MetaDescentStar, 5.0, 4.0, 1e-5),
    Rule::new(GainRule::MetaDescent, 1e-3, 1.0, 1e-4),
];
/// Those of figure 4, which refresh eigenvalues after every update.
const EVERY_UPDATE: [Rule; 4] = [
    Rule::new(GainRule::EigenvalueStar, 5.0, 4.0, 0.0),
    Rule::new(GainRule::Eigenvalue, 0.2, 1.0, 0.0),
    Rule::new(GainRule::MetaDescentStar, 5.0, 4.0, 0.1),
    Rule::new(GainRule::MetaDescent, 0.2, 1.0, 0.05),
];

struct Experiment<'a> {
    stage: &'a Stage<'a>,
    points: Points,
    r: usize,
    passes: usize,
    seeds: u64,
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Found> {
    let each = stage.size(100, 20);
    let (points, _) = digits(stage, Some(each))?;
    let seeds = if stage.quick { 1 } else { 5 };
    let experiment = Experiment { stage, points, r: stage.size(16, 8), passes: stage.size(200, 12), seeds };
    let mut findings = Findings::new("usps-kpca", TITLE, PAPER, stage.quick);
    findings.setting("data", "usps.npz, the first pictures of every digit");
    findings.setting("points", 10 * each);
    findings.setting("components", experiment.r);
    findings.setting("passes", experiment.passes);
    findings.setting("seeds, of which the median is taken", seeds);

    let mut figures = Vec::new();
    for (name, kernel, rules) in
        [("dot product", Kernel::linear(), &DOT[..]), ("RBF", Kernel::gaussian(GAMMA)?, &GAUSSIAN[..])]
    {
        let exact = experiment.exact(&kernel)?;
        let (results, star) = experiment.curves(&mut findings, name, &kernel, &exact, rules, Refresh::Pass)?;
        judge(&mut findings, name, &results, experiment.passes);
        findings.figure(&name.replace(' ', "-"), &format!("Figure 2: excess relative error, {name} kernel."));
        figures.push(picture(&format!("Excess error, {name} kernel"), PAPER, &results));
        if name == "RBF" {
            let (others, _) =
                experiment.curves(&mut findings, name, &kernel, &exact, &EVERY_UPDATE, Refresh::Iteration)?;
            judge_refresh(&mut findings, &results, &others);
            findings.figure("every-update", "Figure 4: eigenvalues refreshed after every update, RBF kernel.");
            figures.push(picture("Excess error, eigenvalues after every update", PAPER, &others));
        }
        findings.figure(
            &format!("{}-eigenvectors", name.replace(' ', "-")),
            &format!("Figure 3: the first eigenvectors found by et*, {name} kernel, as combinations of the digits."),
        );
        figures.push(experiment.eigenvectors(name, &star));
    }
    findings.note("Log-gains of SMD start at zero, where the paper prints one.");
    Ok((findings, figures))
}

impl Experiment<'_> {
    fn exact(&self, kernel: &Kernel) -> Result<Model> {
        self.stage.begin("exact components");
        let pca = KernelPca::new(kernel.clone()).n_components(self.r).precision(Precision::F64);
        let pca = pca.threads(self.stage.threads);
        Ok(self.stage.watched(|watch| pca.fit_watched(&self.points, watch))?)
    }

    fn problem(&self, kernel: &Kernel, refresh: Refresh) -> Problem<'_> {
        Problem {
            points: &self.points,
            kernel: kernel.clone(),
            center: Center::Yes,
            precision: Precision::F64,
            n_components: self.r,
            refresh,
        }
    }

    /// The curves of some rules, and what `et*` found from the first seed.
    fn curves(
        &self,
        findings: &mut Findings,
        name: &str,
        kernel: &Kernel,
        exact: &Model,
        rules: &[Rule],
        refresh: Refresh,
    ) -> Result<(Results, Model)> {
        let problem = self.problem(kernel, refresh);
        let (mut results, mut star) = (Results::new(), None);
        for &rule in rules {
            let (mut curves, mut tuned) = (Vec::new(), 0);
            for seed in 0..self.seeds {
                self.stage.begin(&format!("{name}, {}, seed {seed}", rule.gain));
                let run = problem.run(rule, self.passes, seed, self.stage)?;
                tuned += usize::from(run.was_tuned);
                if star.is_none() && rule.gain == GainRule::EigenvalueStar {
                    star = Some(run.learner.model()?);
                }
                curves.push(excess(&run, exact, self.stage)?);
            }
            if tuned > 0 {
                findings.note(format!(
                    "{name}, {}: the paper's gains diverged on {tuned} of {} seeds, where others were found by trying.",
                    rule.gain, self.seeds
                ));
            }
            let curve = median(&curves);
            let when = if refresh == Refresh::Iteration { ", every update" } else { "" };
            findings.series(format!("{name}, {}{when}", rule.gain), curve.clone());
            results.push((rule.gain, curve));
        }
        Ok((results, star.expect("it is one of the rules")))
    }

    /// The directions that `et*` found, as pictures.
    fn eigenvectors(&self, name: &str, model: &Model) -> String {
        let coefficients = model.dual_coefficients();
        let shown = model.n_components().min(10);
        let pictures: Vec<Vec<f64>> = (0..shown)
            .map(|component| {
                let mut sum = vec![0.0; SIDE * SIDE];
                for i in 0..self.points.n_samples() {
                    let factor = coefficients[(i, component)];
                    sum.iter_mut().zip(self.points.row(i)).for_each(|(pixel, x)| *pixel += factor * x);
                }
                sum
            })
            .collect();
        let captions: Vec<String> = (1..=shown).map(|component| component.to_string()).collect();
        let maps: Vec<Map<'_>> =
            pictures.iter().zip(&captions).map(|(values, caption)| Map { caption, width: SIDE, values }).collect();
        let title = format!("Eigenvectors, {name} kernel");
        Gallery { title: &title, subtitle: PAPER, maps: &maps }.to_svg()
    }
}

fn judge(findings: &mut Findings, name: &str, results: &Results, passes: usize) {
    use GainRule::{Annealed, Eigenvalue, EigenvalueStar, MetaDescent, MetaDescentStar};
    let (star, plain) = (curve(results, EigenvalueStar), curve(results, Eigenvalue));
    let ahead = star.iter().zip(plain).take_while(|(star, plain)| plain < star).count();
    let after = star.len().min(plain.len()) - ahead;
    let then = star.iter().zip(plain).skip(ahead).filter(|(star, plain)| star < plain).count();
    findings.claim(
        format!("{name}: et is ahead for the first 6 passes, et* afterwards"),
        "6 passes",
        ahead as f64,
        format!("et is ahead for the first {ahead} passes, et* in {then} of {after} afterwards"),
        (3..=12).contains(&ahead) && 100 * then >= AHEAD * after,
    );
    let ends = last(results, Eigenvalue) / last(results, EigenvalueStar);
    findings.claim(
        format!("{name}: et and et* are similar after {passes} passes"),
        "similar",
        ends,
        format!("error of et {ends:.2} times that of et*"),
        (1.0 / SIMILAR..=SIMILAR).contains(&ends),
    );
    let clear = last(results, Annealed) / last(results, Eigenvalue).max(last(results, EigenvalueStar));
    findings.claim(
        format!("{name}: et and et* clearly outperform t"),
        "clearly",
        clear,
        format!("error of t {clear:.1} times that of the worse one"),
        clear > SIMILAR,
    );
    let helped = last(results, MetaDescent) / last(results, Eigenvalue);
    findings.claim(
        format!("{name}: SMD improves et significantly"),
        "significantly",
        helped,
        format!("error of smd {helped:.2} times that of et"),
        helped < 1.0 / SIMILAR,
    );
    let unhelped = last(results, MetaDescentStar) / last(results, EigenvalueStar);
    findings.claim(
        format!("{name}: SMD does not improve et*"),
        "curves coincide",
        unhelped,
        format!("error of smd* {unhelped:.2} times that of et*"),
        (1.0 / SAME..=SAME).contains(&unhelped),
    );
    let best = results.iter().min_by(|a, b| last(results, a.0).total_cmp(&last(results, b.0)));
    let best = best.map_or(Annealed, |(rule, _)| *rule);
    findings.claim(
        format!("{name}: KHA-SMD achieves the best result"),
        "smd",
        last(results, best),
        format!("{best}, excess {:.1e}", last(results, best)),
        best == MetaDescent,
    );
}

fn judge_refresh(findings: &mut Findings, once: &Results, every: &Results) {
    let rule = GainRule::EigenvalueStar;
    let early = curve(every, rule).first().copied().unwrap_or(f64::NAN)
        / curve(once, rule).first().copied().unwrap_or(f64::NAN);
    findings.claim(
        "RBF: refreshing eigenvalues after every update helps at first",
        "better at first",
        early,
        format!("error of et* after one pass {early:.2} times that of one refresh per pass"),
        early < 1.0,
    );
    let late = last(every, rule) / last(once, rule);
    findings.claim(
        "RBF: in the long run it makes no difference",
        "the same",
        late,
        format!("error of et* at the end {late:.2} times that of one refresh per pass"),
        (1.0 / SAME..=SAME).contains(&late),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(judge: impl FnOnce(&mut Findings)) -> Vec<bool> {
        let mut findings = Findings::new("usps-kpca", TITLE, PAPER, true);
        judge(&mut findings);
        findings.claims.iter().map(|claim| claim.agrees).collect()
    }

    #[test]
    fn twice_the_error_is_not_the_same() {
        let curves = |end: f64| -> Results { vec![(GainRule::EigenvalueStar, vec![1.0, end])] };
        assert_eq!(judged(|findings| judge_refresh(findings, &curves(0.1), &curves(0.197))), [false, false]);
        assert_eq!(judged(|findings| judge_refresh(findings, &curves(0.1), &curves(0.11))), [false, true]);
    }

    #[test]
    fn who_is_ahead_at_first_must_be_behind_afterwards() {
        let star: Vec<f64> = (0..100).map(|pass| if pass < 6 { 3.0 } else { 1.0 }).collect();
        let of = |plain: Vec<f64>| -> bool {
            let ends = [0.1, 1.0];
            let results: Results = vec![
                (GainRule::Annealed, vec![5.0; 100]),
                (GainRule::EigenvalueStar, star.clone()),
                (GainRule::Eigenvalue, plain),
                (GainRule::MetaDescentStar, vec![ends[1]; 100]),
                (GainRule::MetaDescent, vec![ends[0]; 100]),
            ];
            judged(|findings| judge(findings, "RBF", &results, 100))[0]
        };
        assert!(of(vec![1.5; 100]));
        assert!(!of((0..100).map(|pass| if (6..=20).contains(&pass) { 1.5 } else { 0.9 }).collect()));
    }
}
