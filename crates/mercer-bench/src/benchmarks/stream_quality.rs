//! How much of the variance that batch kernel PCA finds do online learners find, after how many rows?

use mercer::online::{OnlineKernelPca, OnlineLearner, Rule};
use mercer::{Kernel, KernelPca, Points, Precision};

use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::plot::{self, Axis, Panel, Series, Vertical};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;
use crate::usps;

use super::GAMMA;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    All 7291 training digits of USPS in their order, again and again, Gaussian kernel of bandwidth 8: the variance of these digits \
    in the span of the components, as a share of what as many components of batch kernel PCA hold, after 1, 3 and 10 \
    epochs; with all rows in memory and with 500, the others projected onto them. One epoch is what a stream gives that sees every row once; \
    the others are what more rows of the same kind would give. One component for Oja's rule, 16 for the \
    others; by APEX, components learn all at once, or one after the other, each from a sixteenth of the ten epochs, so that after one epoch \
    the second is at it. All other settings are the defaults.";

const EPOCHS: [usize; 3] = [1, 3, 10];
const COMPONENTS: usize = 16;
const BUDGET: usize = 500;
/// What the simultaneous rule with the budget has to capture at the end.
const BAR: f64 = 0.95;
/// No span holds more than the best, but for the batch's tolerance.
const ABOVE_LIMIT: f64 = 1e-4;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let values = usps::all(setup, 300)?;
    let rows = values.len() / usps::PIXELS;
    let points = Points::from_f32(values, rows, usps::PIXELS)?;
    let budget = setup.size(BUDGET, 60);
    findings.setting("points", rows);
    findings.setting("epochs", EPOCHS.to_vec());
    findings.setting("components", COMPONENTS);
    findings.setting("budget", budget);
    findings.setting("gamma", GAMMA);
    findings.setting("data", if setup.options.quick { "made-up waves" } else { "USPS" });
    let kernel = Kernel::gaussian(GAMMA)?;
    let batch = KernelPca::new(kernel.clone()).n_components(COMPONENTS).precision(Precision::F64).fit(&points)?;
    let batch = batch.require_converged()?;

    let mut series = Vec::new();
    let turn = EPOCHS[EPOCHS.len() - 1] * rows / COMPONENTS;
    for (label, rule, components, turn) in [
        ("oja", Rule::Oja, 1, None),
        ("apex", Rule::Apex, COMPONENTS, None),
        ("apex, one after the other", Rule::Apex, COMPONENTS, Some(turn)),
        ("simultaneous", Rule::Simultaneous, COMPONENTS, None),
    ] {
        for budget in [None, Some(budget)] {
            let memory = budget.map_or_else(|| "all rows".to_owned(), |budget| format!("{budget} rows"));
            let settings = OnlineKernelPca::new(kernel.clone()).rule(rule).n_components(components);
            let settings = turn.into_iter().fold(settings, OnlineKernelPca::rows_per_component);
            let settings = budget.into_iter().fold(settings, OnlineKernelPca::budget);
            let best: f64 = batch.eigenvalues()[..components].iter().sum::<f64>() / rows as f64;
            let is_barred = rule == Rule::Simultaneous && budget.is_some();
            let course = Course { name: format!("{label}, {memory}"), settings, best, is_barred };
            series.push(course.follow(&points, setup, findings)?);
        }
    }
    let lowest = series.iter().flat_map(|line| &line.places).map(|place| place.1).fold(1.0_f64, f64::min);
    let panel = Panel {
        title: "Captured variance, relative to batch kernel PCA".to_owned(),
        x_label: "epochs".to_owned(),
        axis: Axis::Logarithmic,
        vertical: Vertical::Range(((lowest * 20.0).floor() / 20.0).min(0.95), 1.0),
        series,
    };
    setup.write_picture("stream_quality", &plot::picture(&[panel], 1))
}

/// One learner, and what there is to capture.
struct Course {
    name: String,
    settings: OnlineKernelPca,
    /// What the batch's components hold.
    best: f64,
    /// Whether this is the learner that has to reach the bar.
    is_barred: bool,
}

impl Course {
    /// What the learner holds after each number of epochs, as a share of what the batch does.
    fn follow(self, points: &Points, setup: &Setup, findings: &mut Findings) -> Result<Series> {
        let Self { name, settings, best, is_barred } = self;
        let mut shares = Vec::new();
        let run = Contender::timed(name.clone(), || {
            shares.clear();
            let mut learner = settings.learner()?;
            for epoch in 1..=EPOCHS[EPOCHS.len() - 1] {
                learner.learn(points)?;
                if EPOCHS.contains(&epoch) {
                    shares.push(captured(&learner.model()?.transform(points)?) / best);
                }
            }
            Ok(())
        });
        findings.timings(&alternate(vec![run], setup.rounds(1))?);
        for (epochs, &share) in EPOCHS.into_iter().zip(&shares) {
            let after = if epochs == 1 { "1 epoch".to_owned() } else { format!("{epochs} epochs") };
            findings.check(format!("{name}, {after}: more than the best"), share - 1.0, ABOVE_LIMIT)?;
            let bar = (is_barred && epochs == 10).then_some(Bar::AtLeast(BAR));
            let ours = Quantity::new("captured variance", share * best, "");
            let what = format!("{name}: captured after {after}");
            findings.ratio(what, ours, Quantity::new("captured by batch", best, ""), bar);
        }
        if is_barred {
            let share = 100.0 * shares[0];
            findings
                .note(format!("a stream that sees every row once has {share:.1} % of the batch's variance ({name})"));
        }
        let places = EPOCHS.into_iter().map(|epochs| epochs as f64).zip(shares).collect();
        Ok(Series { name, places })
    }
}

/// The variance of scores along orthonormal directions, all together.
fn captured(scores: &faer::Mat<f64>) -> f64 {
    let n = scores.nrows() as f64;
    scores
        .col_iter()
        .map(|column| {
            let mean = column.iter().sum::<f64>() / n;
            column.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / n
        })
        .sum()
}
