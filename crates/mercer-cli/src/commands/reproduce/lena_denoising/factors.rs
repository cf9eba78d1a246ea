//! What the factors of the gain are worth, alone and together, and how much the meta-gain matters: figure 8.

use std::ops::Range;

use mercer::{GainRule, Model};

use super::super::convergence::{Results, curve, last, picture};
use super::super::findings::Findings;
use super::super::rules::{Problem, Rule, excess};
use super::super::stage::Stage;
use super::{NEAR, PAPER, QUARTERS};
use crate::failure::Result;
use crate::picture::{Curve, Curves};

/// Combinations of the factors that have no name of their own, with the paper's parameters.
const OTHERS: [Rule; 3] = [
    Rule::new(GainRule::MetaDescentOnly, 0.5, 1.0, 2.0),
    Rule::new(GainRule::AnnealedMetaDescent, 2.0, 1.0, 1.0),
    Rule::new(GainRule::EigenvalueMetaDescent, 1.0, 1.0, 2.0),
];
/// The two next smaller meta-gains of the paper's list, for SMD alone and with all factors.
const MILDER: [Rule; 4] = [
    Rule::new(GainRule::MetaDescentOnly, 0.5, 1.0, 1.0),
    Rule::new(GainRule::MetaDescentOnly, 0.5, 1.0, 0.5),
    Rule::new(GainRule::MetaDescentStar, 5.0, 4.0, 0.5),
    Rule::new(GainRule::MetaDescentStar, 5.0, 4.0, 0.2),
];

/// Curves of the rules of figure 8, means of the quarters.
pub(super) struct Factors {
    others: Results,
    milder: Vec<Vec<f64>>,
}

impl Factors {
    pub(super) fn new(passes: usize) -> Self {
        let empty = || vec![0.0; passes];
        Self {
            others: OTHERS.iter().map(|rule| (rule.gain, empty())).collect(),
            milder: MILDER.iter().map(|_| empty()).collect(),
        }
    }

    /// Adds the runs on one quarter.
    pub(super) fn add(
        &mut self,
        problem: &Problem<'_>,
        best: &Model,
        findings: &mut Findings,
        stage: &Stage<'_>,
    ) -> Result<()> {
        let curves = self.others.iter_mut().map(|(_, curve)| curve).chain(&mut self.milder);
        for (rule, mean) in OTHERS.iter().chain(&MILDER).zip(curves) {
            let passes = mean.len();
            stage.begin(&format!("{} with mu = {}, {passes} passes", rule.gain, rule.mu));
            let run = problem.run(*rule, passes, 0, stage)?;
            if run.was_tuned {
                findings
                    .note(format!("{} with mu = {}: diverged; other gains were found by trying.", rule.gain, rule.mu));
            }
            let curve = excess(&run, best, stage)?;
            mean.iter_mut().zip(&curve).for_each(|(mean, excess)| *mean += excess / QUARTERS);
        }
        Ok(())
    }

    /// All rules of figure 8, left, with those that were run anyway.
    fn all(&self, results: &Results) -> Results {
        let named = [GainRule::Annealed, GainRule::EigenvalueStar, GainRule::MetaDescentStar];
        let known = results.iter().filter(|(rule, _)| named.contains(rule));
        known.chain(&self.others).cloned().collect()
    }

    pub(super) fn judge(&self, findings: &mut Findings, results: &Results) {
        use GainRule::{
            Annealed, AnnealedMetaDescent, EigenvalueMetaDescent, EigenvalueStar, MetaDescentOnly, MetaDescentStar,
        };
        let all = self.all(results);
        for (rule, curve) in &self.others {
            findings.series(rule.to_string(), curve.clone());
        }
        let of = |rule: GainRule| last(&all, rule);
        let (t, s, ts) = (of(Annealed), of(MetaDescentOnly), of(AnnealedMetaDescent));
        findings.claim(
            "SMD alone (s) outperforms gain decay alone (t)",
            "s < t",
            s / t,
            format!("excess {s:.1e}, {t:.1e}"),
            s < t,
        );
        findings.claim(
            "both together (ts) are better still",
            "ts < s, t",
            ts / s.min(t),
            format!("excess {ts:.1e}, {s:.1e}, {t:.1e}"),
            ts < s.min(t),
        );
        let (es, et, tes) = (of(EigenvalueMetaDescent), of(EigenvalueStar), of(MetaDescentStar));
        let worst = [es / s, et / t, tes / ts].into_iter().fold(0.0, f64::max);
        findings.claim(
            "reciprocal eigenvalues (e) improve performance in every context",
            "es < s, et* < t, smd* < ts",
            worst,
            format!("excess with and without: {es:.1e}, {s:.1e}; {et:.1e}, {t:.1e}; {tes:.1e}, {ts:.1e}"),
            worst < 1.0,
        );
        let least = [t, s, ts, es, et].into_iter().fold(f64::INFINITY, f64::min);
        findings.claim(
            "all three factors (smd*) attain the best results",
            "best",
            tes / least,
            format!("excess {tes:.1e}, the best of the others {least:.1e}"),
            tes < least,
        );
        self.judge_meta_gains(findings, [(MetaDescentOnly, s, 0..2), (MetaDescentStar, tes, 2..4)]);
    }

    /// Whether the largest meta-gain of a rule leads to the smallest excess, and the next one to little more: each is given with that excess and the
    /// places of the smaller meta-gains.
    fn judge_meta_gains(&self, findings: &mut Findings, rules: [(GainRule, f64, Range<usize>); 2]) {
        for (rule, largest, milder) in rules {
            let ends: Vec<f64> =
                self.milder[milder.clone()].iter().map(|curve| curve.last().copied().unwrap_or(f64::NAN)).collect();
            let best = ends.iter().copied().fold(f64::INFINITY, f64::min);
            let lead = best / largest;
            let ahead = if lead >= 1.0 { format!(", the next one {lead:.1} times as large") } else { String::new() };
            let mus: Vec<String> = MILDER[milder].iter().map(|rule| rule.mu.to_string()).collect();
            findings.claim(
                format!("{rule}: the largest meta-gain that does not diverge converges fastest"),
                "fastest, by little",
                largest / best,
                format!(
                    "excess {largest:.1e}, with mu = {} {}{ahead}",
                    mus.join(" and "),
                    ends.iter().map(|end| format!("{end:.1e}")).collect::<Vec<_>>().join(" and ")
                ),
                (1.0..=NEAR).contains(&lead),
            );
        }
    }

    /// Both halves of figure 8.
    pub(super) fn pictures(&self, results: &Results) -> [String; 2] {
        let all = self.all(results);
        let left = picture("Excess error, factors of the gain alone and together", PAPER, &all);
        let largest = [(GainRule::MetaDescentOnly, 2.0), (GainRule::MetaDescentStar, 1.0)];
        let named = largest.iter().map(|&(rule, mu)| (format!("{rule}, mu = {mu}"), curve(&all, rule)));
        let milder = MILDER
            .iter()
            .zip(&self.milder)
            .map(|(rule, curve)| (format!("{}, mu = {}", rule.gain, rule.mu), curve.as_slice()));
        let lines: Vec<(String, Vec<(f64, f64)>)> = named
            .chain(milder)
            .map(|(name, curve)| (name, curve.iter().enumerate().map(|(pass, &y)| ((pass + 1) as f64, y)).collect()))
            .collect();
        let lines: Vec<Curve<'_>> = lines.iter().map(|(name, points)| Curve { name, points }).collect();
        let (title, axes) = ("Excess error, meta-gains", ("passes over the data", "excess relative error"));
        [left, Curves { title, subtitle: PAPER, axes, logarithmic: true, level: None, lines: &lines }.to_svg()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_meta_gain_is_fastest_by_little_if_the_next_one_is_near() {
        let agrees = |s: [f64; 2]| {
            let milder = vec![vec![s[0]], vec![s[1]], vec![1.0], vec![1.0]];
            let factors = Factors { others: Results::new(), milder };
            let mut findings = Findings::new("lena-denoising", "t", PAPER, true);
            let rules = [(GainRule::MetaDescentOnly, 1.0, 0..2), (GainRule::MetaDescentStar, 1.0, 2..4)];
            factors.judge_meta_gains(&mut findings, rules);
            (findings.claims[0].agrees, findings.claims[0].found.clone())
        };
        assert!(agrees([1.9, 4.0]).0);
        assert!(!agrees([0.9, 1.9]).0);
        let (is_so, found) = agrees([3.5, 11.0]);
        assert!(!is_so && found.ends_with("the next one 3.5 times as large"), "{found}");
    }
}
