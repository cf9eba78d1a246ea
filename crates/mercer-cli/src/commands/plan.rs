//! `mercer plan`: what a fit would do, and what it would cost.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use mercer::hebbian::Start;
use mercer::record::PlanRecord;
use mercer::{Checkpoint, KernelHebbianPca, KernelPca, Model, Points, Watch, format_bytes};
use serde::Serialize;

use super::fit::check_standardize;
use super::landmarks::Chosen;
use super::nystrom::Flags;
use super::session::Session;
use super::settings::{exact_gram, hebbian_settings, settings, with_history};
use super::{hebbian, nystrom};
use crate::args::{FitGram, FitSolver, HEBBIAN, HebbianArgs, HistoryArgs, MethodName, PlanArgs, SolveArgs};
use crate::failure::{ExitStatus, Result};
use crate::input::Data;
use crate::output::summary::{counted, kernel, matrix, percent, seconds};

/// Runs the command.
pub(super) fn run(args: &PlanArgs) -> Result<ExitStatus> {
    let session = Session::start("plan", &args.report, args.progress.progress)?;
    let mut session = session.on_threads(args.solve.threads);
    let landmarks = args.nystrom.landmarks.file().map(|path| ("file of landmarks", path));
    let inputs: Vec<(&str, &Path)> = [("data", args.points.as_path())].into_iter().chain(landmarks).collect();
    session.check_outputs(None, &inputs)?;
    check_standardize(&args.data, &args.kernel)?;
    hebbian::check_flags(args.solver, &args.solve, &args.hebbian)?;
    let history = HistoryArgs { length: args.length, ..HistoryArgs::default() };
    hebbian::refuse_others(args.solver, history.given())?;
    let flags = Flags::from(args);
    nystrom::check_flags(flags)?;
    if args.nystrom.blocks {
        return show_blocks(flags, session);
    }
    let data = session.read(&args.points, &args.data, args.solve.seed)?;
    let landmarks = flags.landmarks(&data, &mut session)?;
    let hebbian = &args.hebbian;
    show(&Planned { flags, landmarks, hebbian, history, checkpoint: None, start: None }, &data, session)
}

/// The flags that a plan is made from, of `plan` and of `fit --dry-run`.
pub(super) struct Planned<'a> {
    pub(super) flags: Flags<'a>,
    /// Those of a fit over landmarks.
    pub(super) landmarks: Chosen,
    pub(super) hebbian: &'a HebbianArgs,
    pub(super) history: HistoryArgs,
    /// Where the fit would keep its state, or go on from.
    pub(super) checkpoint: Option<Checkpoint>,
    /// The model that it would start from.
    pub(super) start: Option<Model>,
}

impl Planned<'_> {
    fn record(&self, points: &Points) -> mercer::Result<PlanRecord> {
        let Flags { kernel, solve, solver, gram, nystrom, .. } = self.flags;
        let exact = exact_gram(gram);
        let over_landmarks = || self.flags.settings(self.landmarks.landmarks.clone());
        match solver {
            FitSolver::Eigen(_) if gram == FitGram::Nystrom => over_landmarks().plan_record(points, &Watch::new()),
            FitSolver::Eigen(solver) => {
                let settings = settings(kernel, solve, MethodName::new(exact, solver));
                if nystrom.accuracy.is_some() {
                    return over_landmarks().plan_record_to_accuracy(&settings, points, &Watch::new());
                }
                self.checkpoint.iter().cloned().fold(settings, KernelPca::checkpoint).plan_record(points)
            }
            FitSolver::Hebbian => {
                let settings = with_history(hebbian_settings(kernel, solve, exact, self.hebbian), self.history);
                let settings = self.checkpoint.iter().cloned().fold(settings, KernelHebbianPca::checkpoint);
                settings.plan_record_from(points, &Start { model: self.start.as_ref(), ..Start::default() })
            }
        }
    }
}

/// The record of a plan, with the command's own times.
#[derive(Serialize)]
struct PlanBody<'a> {
    #[serde(flatten)]
    record: &'a PlanRecord,
    seconds: std::collections::BTreeMap<String, f64>,
    peak_memory_bytes: u64,
}

/// Plans a fit and shows the plan.
pub(super) fn show(planned: &Planned<'_>, data: &Data, mut session: Session<'_>) -> Result<ExitStatus> {
    let refusal = |error| planned.landmarks.refusal(error, |error| data.refusal(error, 0));
    let record = session.timed("planning", |_| planned.record(&data.points).map_err(refusal))?;
    finish(record, planned.flags.solve, &session)
}

/// Plans a fit over landmarks from a file that is read block by block, and shows the plan.
pub(super) fn show_blocks(flags: Flags<'_>, mut session: Session<'_>) -> Result<ExitStatus> {
    let start = Instant::now();
    let record = nystrom::plan_in_blocks(flags, &mut session)?;
    session.add_seconds("planning", start.elapsed().as_secs_f64());
    finish(record, flags.solve, &session)
}

fn finish(mut record: PlanRecord, solve: &SolveArgs, session: &Session<'_>) -> Result<ExitStatus> {
    record.warnings.extend(limits(&record, solve));
    let body = PlanBody { record: &record, seconds: session.all_seconds(), peak_memory_bytes: mercer::peak_memory() };
    session.finish_with(ExitStatus::Done, &body, &table(&record))
}

/// What limits of the fit would do to it.
fn limits(record: &PlanRecord, solve: &SolveArgs) -> Vec<String> {
    let plan = &record.plan;
    let mut warnings = Vec::new();
    if let Some(limit) = solve.time_limit.filter(|limit| limit.0.as_secs_f64() < plan.expected_seconds) {
        let expected = seconds(plan.expected_seconds);
        let goal = if plan.solver == HEBBIAN { "has made all its passes" } else { "has converged" };
        warnings.push(format!("--time-limit {limit} would stop a fit of about {expected} before it {goal}"));
    }
    if let Some(most) = solve.max_passes.filter(|&most| most < plan.expected_passes) {
        let expected = plan.expected_passes;
        warnings
            .push(format!("--max-passes {most} would stop a fit of about {expected} passes before it has converged"));
    }
    warnings
}

/// A plan for people.
fn table(record: &PlanRecord) -> String {
    let plan = &record.plan;
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<10}  {value}");
    };
    let size = format_bytes(record.data_bytes);
    line("points", format!("{} of {}, {size}", record.n_samples, counted(record.n_features, "feature")));
    line("kernel", kernel(&record.kernel, record.centered));
    line(
        "wanted",
        match (record.n_components, record.variance) {
            (_, Some(share)) => format!("as many components as explain {}", percent(share)),
            (count, _) => counted(count.unwrap_or_default(), "component"),
        } + &match plan.solver.as_str() {
            HEBBIAN => String::new(),
            // Landmarks without an accuracy are as good as they are.
            _ if plan.n_landmarks.is_some() && record.tolerance >= 1.0 => String::new(),
            _ => format!(" to residual {:.1e}", record.tolerance),
        },
    );
    let (blocks, about) = match plan.solver.as_str() {
        _ if plan.n_landmarks.is_some() => (format!(", {} landmarks", plan.block), ""),
        "dense" => (String::new(), "about "),
        // It makes as many passes as it is told to, over batches of so many points.
        HEBBIAN => (format!(", batches of {} points", plan.tile), ""),
        _ => (format!(", blocks of {} vectors", plan.block), "about "),
    };
    line("method", format!("{} solver, {}{blocks}", plan.solver, matrix(&plan.gram, plan.precision, plan)));
    line("passes", format!("{about}{}", plan.expected_passes));
    let threads = counted(record.threads, "thread");
    line("time", format!("about {} on {threads}", seconds(plan.expected_seconds)));
    let (memory, budget) = (format_bytes(plan.expected_memory_bytes), format_bytes(record.memory_budget_bytes));
    line("memory", format!("about {memory} beyond the data, of a budget of {budget}"));
    for (place, reason) in plan.reasons.iter().enumerate() {
        line(if place == 0 { "why" } else { "" }, reason.clone());
    }
    for warning in &record.warnings {
        line("warning", warning.clone());
    }
    text
}
