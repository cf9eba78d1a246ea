//! Does the kernel Hebbian algorithm converge as its authors found, rule by rule?

use mercer::hebbian::{RecordError, excess_relative_error};
use mercer::{
    Error, Gain, GainRule, HebbianLearner, Kernel, KernelHebbianPca, KernelPca, Model, Points, Precision, Watch,
};

use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::plot::{self, Axis, Panel, Series, Vertical};
use crate::record::{Bar, Findings, Quantity, Table};
use crate::setup::Setup;
use crate::usps;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    The first hundred of each digit of USPS (1000 x 256), 16 components, Gaussian kernel of bandwidth 8 and the dot product: \
    the excess of the reconstruction error over the smallest possible one, after up to 200 passes, as the median over five \
    seeds. Gains are those of the paper's Table 1; where they diverge on a seed, and for rules that the table does not have, they \
    are found automatically. Ratios below one say that the first rule is better.";

/// Passes after which errors are taken.
const MARKS: [usize; 8] = [1, 2, 5, 10, 20, 50, 100, 200];
const SEEDS: u64 = 5;
/// What stands before and after the number of passes in the name of a median.
const AFTER: &str = ": median excess after ";
const PASSES: &str = " passes";
const GAMMA: f64 = 1.0 / 128.0;
/// The error of an exact model cannot be undercut but by rounding.
const BELOW_LIMIT: f64 = 1e-6;

/// A rule with its parameters: gain, search time in passes, meta-gain.
type Rule = (GainRule, Gain, f64, f64);

const GAUSSIAN: [Rule; 9] = [
    (GainRule::Constant, Gain::Auto, 1.0, 0.0),
    (GainRule::Annealed, Gain::Fixed(1.0), 1.0, 0.0),
    (GainRule::EigenvalueStar, Gain::Fixed(5.0), 3.0, 0.0),
    (GainRule::Eigenvalue, Gain::Fixed(0.2), 1.0, 0.0),
    (GainRule::MetaDescentStar, Gain::Fixed(5.0), 3.0, 0.05),
    (GainRule::MetaDescent, Gain::Fixed(0.2), 1.0, 0.1),
    (GainRule::MetaDescentOnly, Gain::Auto, 1.0, 0.0),
    (GainRule::AnnealedMetaDescent, Gain::Auto, 1.0, 0.0),
    (GainRule::EigenvalueMetaDescent, Gain::Auto, 1.0, 0.0),
];
const DOT: [Rule; 9] = [
    (GainRule::Constant, Gain::Auto, 1.0, 0.0),
    (GainRule::Annealed, Gain::Fixed(0.002), 2.0, 0.0),
    (GainRule::EigenvalueStar, Gain::Fixed(5.0), 4.0, 0.0),
    (GainRule::Eigenvalue, Gain::Fixed(1e-3), 1.0, 0.0),
    (GainRule::MetaDescentStar, Gain::Fixed(5.0), 4.0, 1e-5),
    (GainRule::MetaDescent, Gain::Fixed(1e-3), 1.0, 1e-4),
    (GainRule::MetaDescentOnly, Gain::Auto, 1.0, 0.0),
    (GainRule::AnnealedMetaDescent, Gain::Auto, 1.0, 0.0),
    (GainRule::EigenvalueMetaDescent, Gain::Auto, 1.0, 0.0),
];
/// Which rule is expected to end with a smaller median than which.
const ORDER: [(GainRule, GainRule); 4] = [
    (GainRule::Annealed, GainRule::Constant),
    (GainRule::EigenvalueStar, GainRule::Annealed),
    (GainRule::Eigenvalue, GainRule::Annealed),
    (GainRule::MetaDescent, GainRule::Eigenvalue),
];

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let (each, r) = (setup.size(100, 10), setup.size(16, 4));
    let marks = &MARKS[..setup.size(MARKS.len(), 3)];
    let seeds = if setup.options.quick { 2 } else { SEEDS };
    let points = Points::from_f32(usps::first_of_each_digit(setup, each)?, 10 * each, usps::PIXELS)?;
    findings.setting("points", points.n_samples());
    findings.setting("components", r);
    findings.setting("passes", marks.to_vec());
    findings.setting("seeds", seeds);
    for (name, kernel, rules) in [("gaussian", Kernel::gaussian(GAMMA)?, GAUSSIAN), ("dot", Kernel::linear(), DOT)] {
        let exact = KernelPca::new(kernel.clone()).n_components(r).precision(Precision::F64).fit(&points)?;
        let case = Case { setup, points: &points, kernel, exact: exact.require_converged()?, r, marks, seeds };
        let mut ends = Vec::new();
        let columns = marks.iter().map(|passes| format!("{passes} passes"));
        let mut table = Table::new(format!("{name}: median excess of the reconstruction error"), columns);
        for rule in rules {
            let medians = case.rule(findings, name, rule)?;
            ends.push((rule.0, medians.last().copied().unwrap_or(f64::NAN)));
            table.row(rule.0.name(), medians.into_iter().map(Some).collect());
        }
        findings.table(table);
        for (better, worse) in ORDER {
            let median =
                |rule: GainRule| ends.iter().find(|(other, _)| *other == rule).map_or(f64::NAN, |(_, end)| *end);
            let side = |rule: GainRule| Quantity::new(format!("excess of {rule}"), median(rule), "");
            let what = format!("{name}: {better} to {worse}");
            findings.ratio(what, side(better), side(worse), Some(Bar::AtMost(1.0)));
        }
    }
    Ok(())
}

/// The excess over the passes, one panel per kernel and one line per rule, as the record has it.
pub(super) fn picture(findings: &Findings) -> String {
    let panel = |kernel: &str| {
        let mut series: Vec<Series> = Vec::new();
        for quantity in &findings.quantities {
            let Some((rule, passes)) = quantity.name.strip_prefix(kernel).and_then(|name| name.split_once(AFTER))
            else {
                continue;
            };
            let (rule, Ok(passes)) = (rule.trim_start_matches([',', ' ']), passes.trim_end_matches(PASSES).parse())
            else {
                continue;
            };
            // An excess of nothing has no place on a logarithmic axis.
            let place = (passes, quantity.value.max(f64::EPSILON));
            match series.iter_mut().find(|line| line.name == rule) {
                Some(line) => line.places.push(place),
                None => series.push(Series { name: rule.to_owned(), places: vec![place] }),
            }
        }
        Panel {
            title: format!("{kernel}: excess of the reconstruction error"),
            x_label: "passes".to_owned(),
            axis: Axis::Logarithmic,
            vertical: Vertical::PowersOfTen,
            series,
        }
    };
    plot::picture(&["gaussian", "dot"].map(panel), 1)
}

struct Case<'a> {
    setup: &'a Setup,
    points: &'a Points,
    kernel: Kernel,
    exact: Model,
    r: usize,
    marks: &'a [usize],
    seeds: u64,
}

impl Case<'_> {
    /// Median excess at every mark.
    fn rule(&self, findings: &mut Findings, name: &str, rule: Rule) -> Result<Vec<f64>> {
        let mut curves: Vec<Vec<f64>> = Vec::new();
        let mut tuned = 0;
        let run = Contender::timed(format!("{name}_{}", rule.0), || {
            curves.clear();
            tuned = 0;
            for seed in 0..self.seeds {
                let (curve, was_tuned) = self.curve(rule, seed)?;
                tuned += usize::from(was_tuned);
                curves.push(curve);
            }
            Ok(())
        });
        let finished = alternate(vec![run], 1)?;
        findings.timings(&finished);
        if tuned > 0 {
            findings.note(format!("{name}, {}: gains were found automatically on {tuned} seeds.", rule.0));
        }
        let mut medians = Vec::new();
        for (at, passes) in self.marks.iter().enumerate() {
            let mut values: Vec<f64> = curves.iter().map(|curve| curve[at]).collect();
            values.sort_by(f64::total_cmp);
            let lowest = values.first().copied().unwrap_or(f64::NAN);
            findings.check(
                format!("{name}, {}, {passes} passes: error below the smallest", rule.0),
                -lowest,
                BELOW_LIMIT,
            )?;
            let median = values[values.len() / 2];
            findings.quantity(format!("{name}, {}{AFTER}{passes}{PASSES}", rule.0), median, "");
            medians.push(median);
        }
        Ok(medians)
    }

    /// Excess at every mark for one seed, and whether gains were found automatically.
    fn curve(&self, rule: Rule, seed: u64) -> Result<(Vec<f64>, bool)> {
        if rule.1 == Gain::Auto {
            return self.tuned_curve(rule, seed).map(|curve| (curve, true));
        }
        match self.curve_with(rule, rule.1, Gain::Fixed(rule.3), seed) {
            Err(crate::failure::Failure::Library(Error::Diverged { .. })) => {
                self.tuned_curve(rule, seed).map(|curve| (curve, true))
            }
            outcome => outcome.map(|curve| (curve, false)),
        }
    }

    /// Excess at every mark with gains that stand all passes: those found for the first pass alone may diverge in the second.
    fn tuned_curve(&self, rule: Rule, seed: u64) -> Result<Vec<f64>> {
        let all = self.marks[self.marks.len() - 1];
        let found = self.settings(rule, Gain::Auto, Gain::Auto, seed).passes(all).fit(self.points)?.gain_parameters();
        self.curve_with(rule, Gain::Fixed(found.eta0), Gain::Fixed(found.mu.unwrap_or(0.0)), seed)
    }

    fn settings(&self, rule: Rule, eta0: Gain, mu: Gain, seed: u64) -> KernelHebbianPca {
        KernelHebbianPca::new(self.kernel.clone())
            .n_components(self.r)
            .gain(rule.0)
            .eta0(eta0)
            .mu(mu)
            .tau(rule.2 * self.points.n_samples() as f64)
            .precision(Precision::F64)
            .record_error(RecordError::No)
            .seed(seed)
            .threads(self.setup.options.threads)
    }

    fn curve_with(&self, rule: Rule, eta0: Gain, mu: Gain, seed: u64) -> Result<Vec<f64>> {
        let watch = Watch::new();
        let settings = self.settings(rule, eta0, mu, seed).passes(self.marks[0]);
        let mut learner = settings.fit(self.points)?;
        let smallest = learner.reconstruction_error_of(&self.exact, &watch)?;
        let excess = |learner: &HebbianLearner| -> Result<f64> {
            Ok(excess_relative_error(learner.reconstruction_error(&watch)?, smallest))
        };
        let mut curve = vec![excess(&learner)?];
        for pair in self.marks.windows(2) {
            learner.partial_fit(None, pair[1] - pair[0], &watch)?;
            curve.push(excess(&learner)?);
        }
        Ok(curve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_a_panel_per_kernel_and_a_line_per_rule() {
        let mut findings = Findings::default();
        for (kernel, rules) in [("gaussian", &["t", "et*", "smd"][..]), ("dot", &["t", "et*"][..])] {
            for rule in rules {
                for (passes, excess) in [(1, 0.5), (2, 0.01), (200, 0.0)] {
                    findings.quantity(format!("{kernel}, {rule}{AFTER}{passes}{PASSES}"), excess, "");
                }
            }
        }
        findings.quantity("something else", 1.0, "");
        let svg = picture(&findings);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (5, 15), "{svg}");
        assert_eq!(svg.matches(">et*</text>").count(), 2, "{svg}");
        assert!(!svg.contains("NaN") && svg.contains(">200</text>"), "{svg}");
    }
}
