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
    500 rows in memory, the others projected onto them. The first five replays are the warm-up, until the memory has settled: more than half of the \
    rows of the first replay change it, and a quarter of those from the fifth on, which is counted. Then rows per second, on one thread, in \
    tenths of the replays that are left, each with its median replay, every replay with its best round; memory after the warm-up and at the end; and the same \
    learner in NumPy, for the replay after the warm-up on both sides, and for the first one.";

const REPLAYS: usize = 50;
/// Replays until the memory has settled.
const WARM_UP: usize = 5;
const COMPONENTS: usize = 16;
const BUDGET: usize = 500;
/// Rows that are handed over at once.
const ROWS_AT_ONCE: usize = 1000;
const PARTS: usize = 10;
const SPEED_BAR: f64 = 5.0;
/// The faster of the first part and the last may be faster than the other by this factor.
const FLAT_BAR: f64 = 1.1;
/// Memory may grow by this share after the warm-up.
const MEMORY_BAR: f64 = 1.02;
/// Mean squared outputs of two learners that differ by rounding may differ by this share of the first.
const VARIANCE_LIMIT: f64 = 1e-2;

/// What the rival says.
#[derive(Deserialize)]
struct RivalAnswer {
    /// Seconds of the replay after the warm-up, which is what is timed.
    seconds: f64,
    /// Seconds of the first one.
    first_seconds: f64,
    /// Rows of each replay that changed the memory.
    changes: Vec<usize>,
    variances: Vec<f64>,
    versions: BTreeMap<String, String>,
}

/// A run of ours.
struct Run {
    /// Seconds of each replay.
    seconds: Vec<f64>,
    /// Memory after the warm-up and at the end.
    memory: [f64; 2],
    /// Mean squared outputs after the first replay.
    first_variances: Vec<f64>,
    /// And after the rows that the rival sees.
    variances: Vec<f64>,
}

/// What came of one turn.
enum Turn {
    Ours(Run),
    Theirs(RivalAnswer, Option<String>),
}

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let values = usps::all(setup, 400)?;
    let rows = values.len() / usps::PIXELS;
    let file = PointsFile::write_f32(setup.scratch_file("usps"), &values, usps::PIXELS)?;
    let points = Points::from_f64(values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), rows, usps::PIXELS)?;
    let (replays, warm_up) = (setup.size(REPLAYS, 2 + PARTS), setup.size(WARM_UP, 2));
    let budget = setup.size(BUDGET, 60);
    findings.setting("points", rows);
    findings.setting("replays", replays);
    findings.setting("warm_up", warm_up);
    findings.setting("components", COMPONENTS);
    findings.setting("budget", budget);
    findings.setting("gamma", GAMMA);
    findings.setting("data", if setup.options.quick { "made-up waves" } else { "USPS" });

    let contenders = contenders(setup, &file, &points, [replays, warm_up, budget]);
    let finished = alternate(contenders, setup.rounds(3))?;
    findings.timings(&finished);
    let runs: Vec<&Run> = finished[0].answers.iter().filter_map(Turn::ours).collect();
    check_against_single_rows(&points, budget, runs[0], findings)?;

    let best = best_replays(&runs);
    let rate = |seconds: f64| rows as f64 / seconds;
    report_flatness(&runs, &best, warm_up, rate, findings);

    let Some(theirs) = finished.get(1) else {
        findings.note("NumPy was left out");
        return Ok(());
    };
    let answers: Vec<&RivalAnswer> = theirs.answers.iter().filter_map(|turn| turn.theirs(findings)).collect();
    let answer = answers[0];
    findings.rival_versions(&answer.versions);
    for (replay, changes) in answer.changes.iter().enumerate() {
        findings.quantity(format!("rows that change the memory, replay {}", replay + 1), *changes as f64, "");
    }
    let apart = runs[0].variances.iter().zip(&answer.variances).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let of_first = runs[0].variances[0];
    findings.check("variances of ours and theirs, relative to the first", apart / of_first, VARIANCE_LIMIT)?;
    let first_of_theirs = answers.iter().map(|answer| answer.first_seconds).fold(f64::INFINITY, f64::min);
    for (what, ours, theirs, bar) in [
        ("in the replay after the warm-up", best[warm_up], theirs.best(), Some(Bar::AtLeast(SPEED_BAR))),
        ("in the first replay", best[0], first_of_theirs, None),
    ] {
        let ours = Quantity::new(format!("rows per second {what}"), rate(ours), "/s");
        let theirs = Quantity::new(format!("rows per second of NumPy {what}"), rate(theirs), "/s");
        findings.ratio(format!("rows per second to NumPy's, {what}"), ours, theirs, bar);
    }
    Ok(())
}

/// Ours and, if it is asked, NumPy.
fn contenders<'a>(
    setup: &'a Setup,
    file: &'a PointsFile,
    points: &'a Points,
    [replays, warm_up, budget]: [usize; 3],
) -> Vec<Contender<'a, Turn>> {
    let ours = Contender::timed("mercer", move || Ok(Turn::Ours(run(points, replays, warm_up, budget)?)));
    if setup.options.no_rival {
        return vec![ours];
    }
    let rival = Rival::new("online_kernel_pca.py", file)
        .argument("gamma", GAMMA)
        .argument("components", COMPONENTS)
        .argument("budget", budget)
        .argument("warm-up", warm_up);
    let theirs = Contender::new("numpy", move || {
        let (answer, note) = rival.run::<RivalAnswer>(setup)?;
        Ok((answer.seconds, Turn::Theirs(answer, note)))
    });
    vec![ours, theirs]
}

/// The seconds of each replay, in its best round: other work only ever makes one slower.
fn best_replays(runs: &[&Run]) -> Vec<f64> {
    let best = |replay: usize| runs.iter().map(|run| run.seconds[replay]).fold(f64::INFINITY, f64::min);
    (0..runs[0].seconds.len()).map(best).collect()
}

/// Whether rows go on being learned as fast, and in as much memory, as after the warm-up.
fn report_flatness(runs: &[&Run], best: &[f64], warm_up: usize, rate: impl Fn(f64) -> f64, findings: &mut Findings) {
    let (warming, settled) = best.split_at(warm_up);
    for (replay, &seconds) in warming.iter().enumerate() {
        findings.quantity(format!("rows per second, replay {} of the warm-up", replay + 1), rate(seconds), "/s");
    }
    let rates: Vec<f64> = parts(settled).map(|part| rate(median(part))).collect();
    for (part, rate) in rates.iter().enumerate() {
        findings.quantity(format!("rows per second, part {} of {PARTS}", part + 1), *rate, "/s");
    }
    let first = Quantity::new("rows per second of the first part", rates[0], "/s");
    let last = Quantity::new("rows per second of the last part", rates[PARTS - 1], "/s");
    let (faster, slower) = if first.value > last.value { (first, last) } else { (last, first) };
    let what = "rate of the faster of the first and the last tenth to that of the other";
    findings.ratio(what, faster, slower, Some(Bar::AtMost(FLAT_BAR)));
    let memory = memory_of(runs);
    let [after, end] = ["after the warm-up", "at the end"].map(|when| format!("memory {when}"));
    let [after, end] = [Quantity::new(after, memory[0], "B"), Quantity::new(end, memory[1], "B")];
    findings.ratio("memory at the end to memory after the warm-up", end, after, Some(Bar::AtMost(MEMORY_BAR)));
}

/// Memory after the warm-up and at the end, of the first round: what later ones take, the system may have kept from those before them.
fn memory_of(runs: &[&Run]) -> [f64; 2] {
    runs[0].memory
}

impl Turn {
    fn ours(&self) -> Option<&Run> {
        match self {
            Self::Ours(run) => Some(run),
            Self::Theirs(..) => None,
        }
    }

    /// What the rival says, with what is to be noted about it.
    fn theirs(&self, findings: &mut Findings) -> Option<&RivalAnswer> {
        match self {
            Self::Ours(_) => None,
            Self::Theirs(answer, note) => {
                findings.note_if(note.as_deref());
                Some(answer)
            }
        }
    }
}

/// Replays in as many parts as there are, whole ones each.
fn parts(replays: &[f64]) -> impl Iterator<Item = &[f64]> {
    (0..PARTS).map(|part| &replays[replays.len() * part / PARTS..replays.len() * (part + 1) / PARTS])
}

fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { 0.5 * (sorted[middle - 1] + sorted[middle]) } else { sorted[middle] }
}

/// A fast wrong learner must fail: rows by the thousand teach what single rows do, to the bit.
fn check_against_single_rows(points: &Points, budget: usize, run: &Run, findings: &mut Findings) -> Result<()> {
    let mut learner = settings(budget)?.learner()?;
    for row in 0..points.n_samples() {
        learner.learn(&points.slice(row..row + 1))?;
    }
    let apart = learner.variances().iter().zip(&run.first_variances).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    findings.check("variances after single rows and after rows by the thousand, apart", apart, 0.0)
}

fn settings(budget: usize) -> Result<OnlineKernelPca> {
    Ok(OnlineKernelPca::new(Kernel::gaussian(GAMMA)?).n_components(COMPONENTS).budget(budget))
}

fn run(points: &Points, replays: usize, warm_up: usize, budget: usize) -> Result<Run> {
    let mut learner = settings(budget)?.learner()?;
    let mut run = Run { seconds: Vec::new(), memory: [0.0; 2], first_variances: Vec::new(), variances: Vec::new() };
    for replayed in 1..=replays {
        let start = Instant::now();
        replay(&mut learner, points)?;
        run.seconds.push(start.elapsed().as_secs_f64());
        if replayed == 1 {
            run.first_variances = learner.variances().to_vec();
        }
        if replayed == warm_up {
            run.memory[0] = resident() as f64;
        }
        if replayed == warm_up + 1 {
            run.variances = learner.variances().to_vec();
        }
    }
    run.memory[1] = resident() as f64;
    Ok(run)
}

fn replay(learner: &mut Learner, points: &Points) -> Result<()> {
    let n = points.n_samples();
    for first in (0..n).step_by(ROWS_AT_ONCE) {
        learner.learn(&points.slice(first..n.min(first + ROWS_AT_ONCE)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_replays_in_order() {
        let replays: Vec<f64> = (0..45).map(f64::from).collect();
        assert_eq!(parts(&replays).flatten().copied().collect::<Vec<_>>(), replays);
        assert!(parts(&replays).all(|part| [4, 5].contains(&part.len())));
    }

    #[test]
    fn memory_is_that_of_the_first_round() {
        let run = |memory| Run { seconds: Vec::new(), memory, first_variances: Vec::new(), variances: Vec::new() };
        let (first, last) = (run([1.0, 2.0]), run([3.0, 3.0]));
        assert_eq!(memory_of(&[&first, &last]).map(f64::to_bits), [1.0, 2.0].map(f64::to_bits));
    }

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two() {
        assert_eq!(median(&[3.0, 1.0, 9.0]).to_bits(), 3_f64.to_bits());
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]).to_bits(), 3_f64.to_bits());
    }
}
