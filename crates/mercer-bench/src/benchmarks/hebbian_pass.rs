//! What does a pass of the kernel Hebbian algorithm cost beyond the kernel rows that it learns from?

use std::time::Instant;

use mercer::gram::KernelGram;
use mercer::hebbian::{RecordError, Start};
use mercer::watch::{Context, Phase, Threads, Watch};
use mercer::{GainRule, GramChoice, HebbianLearner, Kernel, KernelHebbianPca, MemoryBudget, Points};

use crate::answers;
use crate::failure::Result;
use crate::harness::{Contender, Finished, alternate};
use crate::points_file::{Digits, Part};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

use super::GAMMA;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    One pass of the kernel Hebbian algorithm over all 60000 digits of MNIST, Gaussian kernel of bandwidth 8 on pixels from 0 \
    to 1, 50 components, single precision, eigenvalue estimates once per pass. The floor is making all kernel rows and \
    throwing them away: twice the time of the tiles on and below the diagonal. Also from bytes, and from rows that an earlier \
    pass kept.";

/// Rules, the gain they run with, and how much slower than the kernel rows a pass may be.
const RULES: [(GainRule, f64, f64); 5] = [
    (GainRule::Annealed, 0.5, 1.3),
    (GainRule::EigenvalueStar, 2.0, 1.3),
    (GainRule::Eigenvalue, 0.02, 1.3),
    (GainRule::MetaDescentStar, 2.0, 1.6),
    (GainRule::MetaDescent, 0.02, 1.6),
];
const MU: f64 = 0.01;
/// Images are sums over all points of coefficients times single-precision kernel values, carried over a pass of updates.
const IMAGE_LIMIT: f64 = 1e-4;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let (n, r) = (setup.points(60_000, 900), setup.size(50, 10));
    let digits = Digits::prepare(setup, Part::Train, n)?;
    let (floats, bytes) = (digits.f32.load()?, digits.u8.load()?);
    findings.setting("points", n);
    findings.setting("components", r);
    findings.setting("gamma", GAMMA);
    findings.setting("data", if setup.options.quick { "made-up pictures" } else { "MNIST, training part" });
    let threads = Threads::new(setup.options.threads)?;
    let case = Case { setup, n, r, threads: &threads };
    case.passes(findings, "f32", &floats)?;
    let rows = case.passes(findings, "u8", &bytes)?;
    case.stored(findings, &bytes, &rows)
}

struct Case<'a> {
    setup: &'a Setup,
    n: usize,
    r: usize,
    threads: &'a Threads,
}

impl Case<'_> {
    /// A learner that has seen one sample.
    fn learner(&self, points: &Points, rule: GainRule, eta0: f64, gram: GramChoice) -> Result<HebbianLearner> {
        let settings = KernelHebbianPca::new(Kernel::gaussian(GAMMA)?)
            .n_components(self.r)
            .gain(rule)
            .eta0(eta0)
            .mu(MU)
            .gram(gram)
            .memory(MemoryBudget::Share(0.9))
            .record_error(RecordError::No)
            .threads(self.setup.options.threads);
        let start = Start { order: Some(&[0]), ..Start::default() };
        Ok(settings.fit_from(points, &start, &Watch::new())?)
    }

    /// Passes that compute every kernel row, against the rows alone, whose time comes back.
    fn passes(&self, findings: &mut Findings, format: &str, points: &Points) -> Result<Quantity> {
        let watch = Watch::new();
        let gram = KernelGram::<f32>::new(points, &Kernel::gaussian(GAMMA)?, None)?;
        let context = Context::new(self.threads, &watch, Phase::Solving);
        let floor_name = format!("half_of_the_rows_{format}/n={}", self.n);
        let mut learners = Vec::new();
        for (rule, eta0, _) in RULES {
            learners.push(self.learner(points, rule, eta0, GramChoice::Tiled)?);
        }
        let mut contenders = vec![Contender::timed(floor_name, || Ok(gram.compute_tiles(&context)? as f64))];
        for (learner, (rule, ..)) in learners.iter_mut().zip(RULES) {
            let name = format!("pass_{rule}_{format}/n={}", self.n);
            contenders.push(Contender::new(name, || {
                let start = Instant::now();
                learner.partial_fit(None, 1, &watch)?;
                Ok((start.elapsed().as_secs_f64(), learner.n_updates() as f64))
            }));
        }
        let finished = alternate(contenders, self.setup.rounds(2))?;
        findings.timings(&finished);
        for (learner, (rule, ..)) in learners.iter().zip(RULES) {
            self.check(findings, learner, &format!("gain {rule}, {format}"))?;
        }
        let rows = Quantity::new(format!("2 x {}", finished[0].timing.name), 2.0 * finished[0].best(), "s");
        for (pass, (rule, _, bar)) in finished[1..].iter().zip(RULES) {
            let what = format!("gain {rule}, {format}: a pass to its kernel rows");
            findings.ratio(what, pass, rows.clone(), Some(Bar::AtMost(bar)));
        }
        Ok(rows)
    }

    /// Passes that read rows which the pass before has kept, rule after rule: there is room for the rows once.
    fn stored(&self, findings: &mut Findings, points: &Points, rows: &Quantity) -> Result<()> {
        let watch = Watch::new();
        for (rule, eta0, bar) in RULES {
            let mut learner = self.learner(points, rule, eta0, GramChoice::Stored)?;
            let mut pass = |name: &str| -> Result<Finished<f64>> {
                let contender = Contender::timed(format!("{name}_{rule}_u8/n={}", self.n), || {
                    learner.partial_fit(None, 1, &watch)?;
                    Ok(learner.n_updates() as f64)
                });
                Ok(alternate(vec![contender], 1)?.remove(0))
            };
            // Keeping rows happens once, so there are no rounds of it.
            let (first, later) = (pass("first_pass_keeping_rows")?, pass("later_pass_reading_rows")?);
            for pass in [&first, &later] {
                findings.quantity(pass.timing.name.clone(), pass.best(), "s");
            }
            findings.quantity(format!("gain {rule}: share of the rows that are kept"), learner.stored_share(), "");
            self.check(findings, &learner, &format!("gain {rule}, kept rows"))?;
            let what = format!("gain {rule}, kept rows: a pass to making them");
            findings.ratio(what, &later, rows.clone(), Some(Bar::AtMost(bar)));
        }
        Ok(())
    }

    /// Images of a few points, summed up directly, against those that the updates carried along.
    fn check(&self, findings: &mut Findings, learner: &HebbianLearner, what: &str) -> Result<()> {
        let (coefficients, images, points) = (learner.coefficients(), learner.images(), learner.points());
        let model = learner.model()?;
        let centering = model.centering().expect("the points are centred");
        let mut worst = 0.0_f64;
        for i in (0..self.n).step_by(self.n / 5) {
            let row: Vec<f64> = (0..self.n)
                .map(|j| {
                    answers::gaussian(points, i, j, GAMMA) - centering.column_means[i] - centering.column_means[j]
                        + centering.mean
                })
                .collect();
            let largest = (0..self.r).map(|c| images[(c, i)].abs()).fold(0.0, f64::max);
            for c in 0..self.r {
                let sum: f64 = row.iter().enumerate().map(|(j, k)| k * coefficients[(c, j)]).sum();
                worst = worst.max((sum - images[(c, i)]).abs() / largest);
            }
        }
        findings.check(format!("{what}: images of five points against direct sums"), worst, IMAGE_LIMIT)
    }
}
