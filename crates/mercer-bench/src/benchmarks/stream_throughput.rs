//! How many rows per second does an online learner with a budget take, and for how long?

use std::collections::BTreeMap;
use std::time::Instant;

use mercer::online::{Learner, OnlineKernelPca, OnlineLearner};
use mercer::{Kernel, Points};
use serde::Deserialize;

use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::memory::resident;
use crate::points_file::PointsFile;
use crate::record::{Bar, Findings, Quantity};
use crate::rival::Rival;
use crate::setup::Setup;
use crate::usps;

use super::GAMMA;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    All 7291 training digits of USPS, replayed 50 times: 16 components by the simultaneous rule, Gaussian kernel of bandwidth 8, \
    500 rows in memory, the others projected onto them. Rows per second, on one thread, in tenths of the rows after the \
    first replay; memory after it and at the end; and the same learner in NumPy, after the same warm-up, for as many rows as \
    a replay has.";

const REPLAYS: usize = 50;
const COMPONENTS: usize = 16;
const BUDGET: usize = 500;
/// Rows that are handed over at once.
const ROWS_AT_ONCE: usize = 1000;
const PARTS: usize = 10;
const SPEED_BAR: f64 = 5.0;
/// The last part may be slower than the first by this factor.
const FLAT_BAR: f64 = 1.0 / 0.9;
/// Memory may grow by this share after the warm-up.
const MEMORY_BAR: f64 = 1.02;
/// Mean squared outputs of two learners that differ by rounding may differ by this share of the first.
const VARIANCE_LIMIT: f64 = 1e-2;

/// What the rival says.
#[derive(Deserialize)]
struct RivalAnswer {
    seconds: f64,
    variances: Vec<f64>,
    versions: BTreeMap<String, String>,
}

/// A run of ours: rows per second of each part, memory after the warm-up and at the end.
struct Run {
    rates: Vec<f64>,
    memory: [f64; 2],
    /// Mean squared outputs after the rows that the rival sees.
    variances: Vec<f64>,
}

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let values = usps::all(setup, 400)?;
    let rows = values.len() / usps::PIXELS;
    let file = PointsFile::write_f32(setup.scratch_file("usps"), &values, usps::PIXELS)?;
    let points = Points::from_f64(values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), rows, usps::PIXELS)?;
    let (replays, budget) = (setup.size(REPLAYS, 12), setup.size(BUDGET, 60));
    findings.setting("rows", rows);
    findings.setting("replays", replays);
    findings.setting("components", COMPONENTS);
    findings.setting("budget", budget);
    findings.setting("gamma", GAMMA);
    findings.setting("data", if setup.options.quick { "made-up waves" } else { "USPS" });

    let ours = alternate(vec![Contender::timed("mercer", || run(&points, replays, budget))], setup.rounds(1))?;
    findings.timings(&ours);
    let best = ours[0].answer();
    for (part, rate) in best.rates.iter().enumerate() {
        findings.quantity(format!("rows per second, part {} of {PARTS}", part + 1), *rate, "/s");
    }
    let first = Quantity::new("rows per second of the first part", best.rates[0], "/s");
    let last = Quantity::new("rows per second of the last part", best.rates[PARTS - 1], "/s");
    findings.ratio("rate of the first tenth to the last", first, last.clone(), Some(Bar::AtMost(FLAT_BAR)));
    let [after, end] = ["after the first replay", "at the end"].map(|when| format!("memory {when}"));
    let memory = [Quantity::new(after, best.memory[0], "B"), Quantity::new(end, best.memory[1], "B")];
    let [after, end] = memory;
    findings.ratio("memory at the end to memory after the first replay", end, after, Some(Bar::AtMost(MEMORY_BAR)));
    if setup.options.no_rival {
        findings.note("NumPy was left out");
        return Ok(());
    }

    let rival = Rival::new("online_kernel_pca.py", &file)
        .argument("gamma", GAMMA)
        .argument("components", COMPONENTS)
        .argument("budget", budget)
        .argument("warm-up", rows)
        .argument("timed", rows);
    let theirs = Contender::new("numpy", || {
        let (answer, note) = rival.run::<RivalAnswer>(setup)?;
        Ok((answer.seconds, (answer, note)))
    });
    let theirs = alternate(vec![theirs], setup.rounds(1))?;
    findings.timings(&theirs);
    let (answer, note) = theirs[0].answer();
    findings.note_if(note.as_deref());
    findings.rival_versions(&answer.versions);
    let apart = best.variances.iter().zip(&answer.variances).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    findings.check("variances of ours and theirs, relative to the first", apart / best.variances[0], VARIANCE_LIMIT)?;
    let rival_rate = findings.quantity("rows per second of NumPy", rows as f64 / theirs[0].best(), "/s");
    findings.ratio("rows per second to NumPy's", last, rival_rate, Some(Bar::AtLeast(SPEED_BAR)));
    Ok(())
}

fn run(points: &Points, replays: usize, budget: usize) -> Result<Run> {
    let settings = OnlineKernelPca::new(Kernel::gaussian(GAMMA)?).n_components(COMPONENTS).budget(budget);
    let mut learner = settings.learner()?;
    replay(&mut learner, points)?;
    let after = resident();
    let (n, mut variances) = (points.n_samples(), Vec::new());
    let timed = (replays - 1) * n;
    let (mut rates, mut done) = (Vec::new(), 0);
    for part in 1..=PARTS {
        let start = Instant::now();
        let (from, to) = (done, timed * part / PARTS);
        while done < to {
            let first = done % n;
            // A piece ends where the part, the replay or the rows at once do.
            let last = n.min(first + ROWS_AT_ONCE).min(first + to - done);
            learner.learn(&points.slice(first..last))?;
            done += last - first;
            if done == n {
                variances = learner.variances().to_vec();
            }
        }
        rates.push((to - from) as f64 / start.elapsed().as_secs_f64());
        eprintln!("  part {part}: {:.0} rows per second", rates[part - 1]);
    }
    Ok(Run { rates, memory: [after as f64, resident() as f64], variances })
}

fn replay(learner: &mut Learner, points: &Points) -> Result<()> {
    let n = points.n_samples();
    for first in (0..n).step_by(ROWS_AT_ONCE) {
        learner.learn(&points.slice(first..n.min(first + ROWS_AT_ONCE)))?;
    }
    Ok(())
}
