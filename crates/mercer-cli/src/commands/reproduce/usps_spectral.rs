//! Spectral clustering of USPS digits by iteration: when clusters are as good as those of exact eigenvectors.
//!
//! Claims are those of Günter, Schraudolph and Vishwanathan, section 5.1.4; parameters those of their table 1, with log-gains that start at zero.

use mercer::agreement::variation_of_information;
use mercer::cluster::{normalized_matrix, unit_rows};
use mercer::hebbian::excess_relative_error;
use mercer::kmeans::KMeans;
use mercer::watch::{Context, Phase, Threads};
use mercer::{Center, GainRule, HebbianLearner, Kernel, KernelPca, Model, Points, Precision, Refresh};

use super::findings::{Findings, Found};
use super::rules::{Problem, Rule};
use super::stage::Stage;
use super::usps::digits;
use crate::failure::Result;
use crate::picture::{Curve, Curves};

const TITLE: &str = "Spectral clustering of USPS digits by iteration";
const PAPER: &str = "Günter, Schraudolph, Vishwanathan: Fast iterative kernel PCA, section 5.1.4, figure 10";
/// Bandwidth 8: `1 / (2 · 8²)`.
const GAMMA: f64 = 1.0 / 128.0;
/// Clusters as good as the exact ones: a variation of information that is no more than this above theirs.
const CLOSE: f64 = 0.05;
const CLUSTERS: usize = 10;
/// Factors that are about an order of magnitude: nearer to ten than to one or to a hundred.
const ORDER: (f64, f64) = (3.162, 31.62);
/// A factor from which on an acceleration is substantial.
const SUBSTANTIAL: f64 = 1.5;

const RULES: [Rule; 5] = [
    Rule::new(GainRule::Annealed, 200.0, 1.0, 0.0),
    Rule::new(GainRule::EigenvalueStar, 10.0, 1.0, 0.0),
    Rule::new(GainRule::Eigenvalue, 50.0, 1.0, 0.0),
    Rule::new(GainRule::MetaDescentStar, 10.0, 1.0, 20.0),
    Rule::new(GainRule::MetaDescent, 50.0, 1.0, 1e3),
];

struct Experiment<'a> {
    stage: &'a Stage<'a>,
    matrix: Points,
    labels: Vec<String>,
    exact: Model,
    threads: Threads,
    passes: usize,
}

/// Variation of information and excess error after every pass.
struct Progress {
    rule: GainRule,
    information: Vec<f64>,
    excess: Vec<f64>,
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Found> {
    let (points, labels) = digits(stage, stage.quick.then_some(40))?;
    let threads = Threads::new(stage.threads)?;
    stage.begin("the normalised matrix");
    let (matrix, _) = stage.watched(|watch| {
        let context = Context::new(&threads, watch, Phase::Starting);
        normalized_matrix(&Kernel::gaussian(GAMMA)?, &points, Precision::F32, &context)
    })?;
    stage.begin("exact eigenvectors");
    let pca = KernelPca::new(Kernel::Precomputed).center(Center::No).n_components(CLUSTERS).threads(stage.threads);
    let exact = stage.watched(|watch| pca.fit_watched(&matrix, watch))?;
    let passes = stage.size(40, 8);
    let experiment = Experiment { stage, matrix, labels, exact, threads, passes };

    let mut findings = Findings::new("usps-spectral", TITLE, PAPER, stage.quick);
    findings.setting("data", "usps.npz");
    findings.setting("points", points.n_samples());
    findings.setting("clusters and components", CLUSTERS);
    findings.setting("passes", passes);
    findings.setting("kernel", "Gaussian of bandwidth 8");
    let best = experiment.information(&experiment.exact.training_scores())?;
    findings.setting("variation of information with exact eigenvectors", best);
    experiment.judge_random(&mut findings)?;
    let results: Vec<Progress> =
        RULES.iter().map(|&rule| experiment.rule(rule, &mut findings)).collect::<Result<_>>()?;
    judge(&mut findings, &results, best);
    findings.note("Log-gains of SMD start at zero. k-means has ten restarts; the paper does not say how many it has.");
    for result in &results {
        findings.series(format!("{}, variation of information", result.rule), result.information.clone());
        findings.series(format!("{}, excess error", result.rule), result.excess.clone());
    }
    findings.figure("vi", "Figure 10, left: variation of information. The line is that of exact eigenvectors.");
    findings.figure("error", "Figure 10, right: excess relative reconstruction error of the normalised matrix.");
    let left = picture("Variation of information", "VI", &results, false, Some(best), |result| &result.information);
    let right = picture("Excess error", "excess relative error", &results, true, None, |result| &result.excess);
    Ok((findings, vec![left, right]))
}

impl Experiment<'_> {
    /// The variation of information of the classes and the clusters of some scores.
    fn information(&self, scores: &faer::Mat<f64>) -> Result<f64> {
        let mut vectors = scores.clone();
        for j in 0..vectors.ncols() {
            let length = vectors.col(j).norm_l2();
            vectors.col_mut(j).iter_mut().for_each(|x| *x /= length);
        }
        let (embedding, _) = unit_rows(vectors.as_ref());
        let found = self.stage.watched(|watch| {
            KMeans::new(CLUSTERS).fit(embedding.as_ref(), &Context::new(&self.threads, watch, Phase::Clustering))
        })?;
        Ok(variation_of_information(&self.labels, &found.labels)?)
    }

    fn judge_random(&self, findings: &mut Findings) -> Result<()> {
        // A grouping that says nothing about the classes is as far from them as both entropies together.
        let all_in_one = vec![0; self.labels.len()];
        let random = 2.0 * variation_of_information(&self.labels, &all_in_one)?;
        let words = format!("{random:.2}, twice the entropy of the classes");
        findings.claim("a random grouping has a VI of 4.54", "4.54", random, words, (random - 4.54).abs() < 0.005);
        Ok(())
    }

    fn rule(&self, rule: Rule, findings: &mut Findings) -> Result<Progress> {
        let problem = Problem {
            points: &self.matrix,
            kernel: Kernel::Precomputed,
            center: Center::No,
            precision: Precision::F32,
            n_components: CLUSTERS,
            refresh: Refresh::Pass,
        };
        self.stage.begin(&format!("gain {}", rule.gain));
        let run = problem.run(rule, 1, 0, self.stage)?;
        if run.was_tuned {
            let found = run.learner.gain_parameters();
            let mu = found.mu.map_or_else(String::new, |mu| format!(", mu {mu}"));
            findings.note(format!(
                "{}: the paper's gains diverged; by trying, eta0 {}{mu} was found.",
                rule.gain, found.eta0
            ));
        }
        let mut learner = run.learner;
        let smallest = self.stage.watched(|watch| learner.reconstruction_error_of(&self.exact, watch))?;
        let mut result = Progress { rule: rule.gain, information: Vec::new(), excess: Vec::new() };
        self.look(&learner, smallest, &mut result)?;
        for pass in 1..self.passes {
            match self.stage.watched(|watch| learner.partial_fit(None, 1, watch)) {
                Err(mercer::Error::Diverged { .. }) => {
                    findings.note(format!("{}: the run diverged after {pass} passes.", rule.gain));
                    break;
                }
                outcome => outcome?,
            }
            self.look(&learner, smallest, &mut result)?;
        }
        Ok(result)
    }

    fn look(&self, learner: &HebbianLearner, smallest: f64, result: &mut Progress) -> Result<()> {
        let error = match learner.history().last().and_then(|entry| entry.error) {
            Some(error) => error,
            None => self.stage.watched(|watch| learner.reconstruction_error(watch))?,
        };
        result.excess.push(excess_relative_error(error, smallest));
        result.information.push(self.information(&learner.training_scores()?)?);
        Ok(())
    }
}

/// The pass from which on clusters are as good as the exact ones, if there is one.
fn arrival(information: &[f64], best: f64) -> Option<usize> {
    let far = information.iter().rposition(|&vi| vi > best + CLOSE);
    match far {
        None => Some(1),
        Some(last) if last + 1 < information.len() => Some(last + 2),
        Some(_) => None,
    }
}

fn judge(findings: &mut Findings, results: &[Progress], best: f64) {
    let of = |rule: GainRule| results.iter().find(|result| result.rule == rule);
    for result in results {
        let at = arrival(&result.information, best);
        let value = at.map_or(f64::INFINITY, |pass| pass as f64);
        let found = match at {
            Some(pass) => format!("from pass {pass} on within {CLOSE} of {best:.3}"),
            None => format!("not within {CLOSE} of {best:.3} after {} passes", result.information.len()),
        };
        if result.rule == GainRule::Annealed {
            let claim = "t needs about 30 passes for the clusters of an exact eigensolver";
            findings.claim(claim, "about 30 passes", value, found, (15.0..=60.0).contains(&value));
        } else {
            let claim = format!("{} has the clusters of an exact eigensolver in less than 10 passes", result.rule);
            findings.claim(claim, "about 7 passes", value, found, value < 10.0);
        }
    }
    let last = |rule: GainRule| of(rule).and_then(|result| result.excess.last().copied()).unwrap_or(f64::NAN);
    let ratio = |numerator, denominator| last(numerator) / last(denominator);
    let of_plain = ratio(GainRule::Eigenvalue, GainRule::MetaDescent);
    for (claim, claimed, numerator, denominator, within) in [
        (
            "et* outperforms et by about an order of magnitude",
            "10 times",
            GainRule::Eigenvalue,
            GainRule::EigenvalueStar,
            ORDER,
        ),
        (
            "SMD accelerates et substantially",
            "substantially",
            GainRule::Eigenvalue,
            GainRule::MetaDescent,
            (SUBSTANTIAL, f64::INFINITY),
        ),
        (
            "SMD accelerates et*, though less",
            "less than et",
            GainRule::EigenvalueStar,
            GainRule::MetaDescentStar,
            (1.0, of_plain),
        ),
        ("et outperforms t", "outperforms", GainRule::Annealed, GainRule::Eigenvalue, (1.0, f64::INFINITY)),
    ] {
        let ratio = ratio(numerator, denominator);
        let found = format!("error of {numerator} {ratio:.2} times that of {denominator} at the end");
        findings.claim(claim, claimed, ratio, found, ratio > within.0 && ratio < within.1);
    }
}

fn picture(
    title: &str,
    vertical: &str,
    results: &[Progress],
    logarithmic: bool,
    level: Option<f64>,
    of: impl Fn(&Progress) -> &Vec<f64>,
) -> String {
    let named: Vec<(String, Vec<(f64, f64)>)> = results
        .iter()
        .map(|result| {
            let points = of(result).iter().enumerate().map(|(pass, &value)| ((pass + 1) as f64, value)).collect();
            (result.rule.to_string(), points)
        })
        .collect();
    let curves: Vec<Curve<'_>> = named.iter().map(|(name, points)| Curve { name, points }).collect();
    let axes = ("passes over the data", vertical);
    Curves { title, subtitle: PAPER, axes, logarithmic, level, lines: &curves }.to_svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdicts on errors at the end, for runs that end with these.
    fn verdicts(ends: [f64; 5]) -> Vec<bool> {
        let results: Vec<Progress> = RULES
            .iter()
            .zip(ends)
            .map(|(rule, end)| Progress { rule: rule.gain, information: vec![3.0], excess: vec![end] })
            .collect();
        let mut findings = Findings::new("usps-spectral", TITLE, PAPER, true);
        judge(&mut findings, &results, 2.0);
        let found = &findings.claims[0].found;
        assert_eq!(found, "not within 0.05 of 2.000 after 1 passes");
        assert_eq!(findings.claims[0].value, None);
        findings.claims[5..].iter().map(|claim| claim.agrees).collect()
    }

    #[test]
    fn verdicts_are_on_what_their_claims_say() {
        // In the order t, et*, et, smd*, smd.
        assert_eq!(verdicts([5.0, 0.1, 1.0, 0.05, 0.1]), [true, true, true, true]);
        assert_eq!(verdicts([5.0, 0.01, 1.0, 0.005, 0.1]), [false, true, true, true], "a hundred times is no order");
        assert_eq!(
            verdicts([5.0, 0.1, 1.0, 0.005, 0.1]),
            [true, true, false, true],
            "twenty times is not less than ten"
        );
        assert_eq!(verdicts([0.5, 0.1, 1.0, 0.2, 0.9]), [true, false, false, false]);
    }

    #[test]
    fn clusters_have_arrived_when_they_stay() {
        assert_eq!(arrival(&[3.0, 2.0, 2.0], 2.0), Some(2));
        assert_eq!(arrival(&[3.0, 2.0, 2.5, 2.01], 2.0), Some(4));
        assert_eq!(arrival(&[3.0, 2.0, 2.5], 2.0), None);
        assert_eq!(arrival(&[1.9], 2.0), Some(1));
    }
}
