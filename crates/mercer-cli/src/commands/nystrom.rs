//! `mercer fit --gram nystrom`: learn over landmarks and save what was learned.

use std::path::Path;

use mercer::nystrom::{Landmarks, NystromPca, RowBlocks};
use mercer::record::PlanRecord;
use mercer::{GramChoice, Model, Negative, Points, SolverChoice, Watch};

use super::blocks::READ_AT_ONCE;
use super::landmarks::{self, Chosen};
use super::learn::{complete, watched_by, with_data};
use super::session::Session;
use super::settings::nystrom_settings;
use crate::args::{
    DataArgs, FitArgs, FitGram, FitSolver, Format, KernelArgs, NystromArgs, PlanArgs, SolveArgs, TimeLimit,
};
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::{self, Data, ReadOptions};
use crate::output;

/// The flags of a fit, or of the plan of one, that have to do with landmarks.
#[derive(Clone, Copy)]
pub(super) struct Flags<'a> {
    pub(super) points: &'a Path,
    pub(super) data: &'a DataArgs,
    pub(super) kernel: &'a KernelArgs,
    pub(super) solve: &'a SolveArgs,
    pub(super) gram: FitGram,
    pub(super) solver: FitSolver,
    pub(super) nystrom: &'a NystromArgs,
    pub(super) keeps_state: bool,
}

impl<'a> From<&'a FitArgs> for Flags<'a> {
    fn from(args: &'a FitArgs) -> Self {
        Self {
            points: &args.points,
            data: &args.data,
            kernel: &args.kernel,
            solve: &args.solve,
            gram: args.gram,
            solver: args.solver,
            nystrom: &args.nystrom,
            keeps_state: args.checkpoint.checkpoint.is_some(),
        }
    }
}

impl<'a> From<&'a PlanArgs> for Flags<'a> {
    fn from(args: &'a PlanArgs) -> Self {
        Self {
            points: &args.points,
            data: &args.data,
            kernel: &args.kernel,
            solve: &args.solve,
            gram: args.gram,
            solver: args.solver,
            nystrom: &args.nystrom,
            keeps_state: false,
        }
    }
}

impl Flags<'_> {
    /// The landmarks that they ask for, for these data.
    pub(super) fn landmarks(&self, data: &Data, session: &mut Session<'_>) -> Result<Chosen> {
        landmarks::chosen(&self.nystrom.landmarks, (self.points, self.data), data, session)
    }

    /// The settings that they mean, with these landmarks.
    pub(super) fn settings(&self, landmarks: Landmarks) -> NystromPca {
        nystrom_settings(self.kernel, self.solve, self.nystrom, landmarks)
    }
}

/// Refuses flags that do not go together with landmarks, or with the exact matrix.
pub(super) fn check_flags(args: Flags<'_>) -> Result<()> {
    let asked = args.gram == FitGram::Nystrom;
    if asked && args.solver == FitSolver::Hebbian {
        return Err(Failure::usage("--gram nystrom is not for --solver hebbian, which learns from every row"));
    }
    if !asked && args.nystrom.accuracy.is_none() {
        return match args.nystrom.given().next() {
            Some(flag) => Err(Failure::usage(format!("{flag} is for --gram nystrom, or with --accuracy, only"))),
            None => Ok(()),
        };
    }
    let auto = FitGram::Exact(GramChoice::Auto);
    if !asked && (args.gram != auto || args.solver != FitSolver::Eigen(SolverChoice::Auto)) {
        return Err(Failure::usage(
            "--accuracy allows an approximation, but --gram or --solver ask for another method",
        ));
    }
    if !asked && args.nystrom.landmarks.n_landmarks.is_some() {
        return Err(Failure::usage("--n-landmarks is for --gram nystrom: --accuracy alone finds how many it takes"));
    }
    if !asked && let Some(file) = args.nystrom.landmarks.file() {
        return Err(Failure::usage(format!(
            "--landmarks {} is for --gram nystrom: --accuracy alone finds how many it takes",
            file.display()
        )));
    }
    landmarks::check_source(&args.nystrom.landmarks, args.points)?;
    if args.nystrom.blocks {
        check_blocks(args)?;
    }
    let others = [
        ("--variance", args.solve.variance.is_some(), "give the number of components with --n-components"),
        ("--tolerance", asked && args.solve.tolerance.is_some(), "say with --accuracy how exact it has to be"),
        ("--max-passes", args.solve.max_passes.is_some(), "it makes one pass"),
        ("--checkpoint", args.keeps_state, "it makes one pass"),
        ("--solver", asked && args.solver != FitSolver::Eigen(SolverChoice::Auto), "the small problem has its own"),
        ("--negative", args.kernel.negative != Negative::Error, "it needs a positive semi-definite kernel"),
    ];
    match others.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => {
            Err(Failure::usage(format!("{flag} is not for an approximation over landmarks: {why}")))
        }
        None => Ok(()),
    }
}

/// Refuses what a file that comes block by block cannot have.
fn check_blocks(args: Flags<'_>) -> Result<()> {
    if args.gram != FitGram::Nystrom {
        return Err(Failure::usage(
            "--blocks is for --gram nystrom: --accuracy alone tries several numbers of landmarks",
        ));
    }
    if args.points == Path::new("-") {
        return Err(Failure::usage(
            "--blocks reads the data twice, so they cannot come from standard input; give a file",
        ));
    }
    let data = args.data;
    let others = [
        (
            "--standardize",
            data.standardize,
            "the scale of a column is known only when all rows are: scale the file before",
        ),
        ("--rows", data.rows.is_some(), "every row is read"),
        ("--sample", data.sample.is_some(), "every row is read"),
    ];
    if let Some((flag, _, why)) = others.into_iter().find(|(_, given, _)| *given) {
        return Err(Failure::usage(format!("{flag} is not for --blocks: {why}")));
    }
    match input::format_of(args.points, data.format) {
        Ok(Format::Csv | Format::Tsv | Format::Parquet | Format::Arrow) | Err(_) => Ok(()),
        Ok(_) => {
            Err(Failure::usage("--blocks is for .csv, .tsv, .parquet and .arrow files, which can be read in parts"))
        }
    }
}

/// Whether the user allows an approximation.
pub(super) fn is_allowed(args: &FitArgs) -> bool {
    args.gram == FitGram::Nystrom || args.nystrom.accuracy.is_some()
}

/// Learns over landmarks and saves the model; `None` if landmarks are of no use here, so that an exact fit has to follow.
pub(super) fn run(args: &FitArgs, output: &Path, data: &Data, session: &mut Session<'_>) -> Result<Option<ExitStatus>> {
    let flags = Flags::from(args);
    let chosen = flags.landmarks(data, session)?;
    let settings = flags.settings(chosen.landmarks.clone());
    let session = &*session;
    let time = session.time_left(args.solve.time_limit);
    let fit = |watch: &Watch<'_>| -> mercer::Result<Option<Model>> {
        match args.gram {
            FitGram::Nystrom => settings.fit_watched(&data.points, watch).map(Some),
            FitGram::Exact(_) => settings.fit_to_accuracy(&data.points, watch),
        }
    };
    let refusal = |error| chosen.refusal(error, |error| data.refusal_of_some(error));
    let (model, _) = watched_by(session, refusal, time, fit)?;
    let Some(model) = model else {
        session.console.note("landmarks would not be much fewer than the rows for this accuracy: the fit is exact");
        return Ok(None);
    };
    save(model, data, output, session).map(Some)
}

/// Learns over landmarks from a file that is read block by block, twice, and saves the model.
pub(super) fn run_in_blocks(args: &FitArgs, output: &Path, session: &mut Session<'_>) -> Result<ExitStatus> {
    let limit = args.solve.time_limit;
    let (first, model) = in_blocks(args.into(), limit, session, NystromPca::fit_blocks_watched)?;
    save(model, &first, output, session)
}

/// The plan of a fit over landmarks from a file that is read block by block: the first of its two passes is made.
pub(super) fn plan_in_blocks(flags: Flags<'_>, session: &mut Session<'_>) -> Result<PlanRecord> {
    Ok(in_blocks(flags, None, session, NystromPca::plan_record_of_blocks)?.1)
}

/// What `work` makes of the rows of a file, block by block, and the first of these blocks.
fn in_blocks<T>(
    flags: Flags<'_>,
    limit: Option<TimeLimit>,
    session: &mut Session<'_>,
    work: impl FnOnce(&NystromPca, &mut dyn RowBlocks, &Watch<'_>) -> mercer::Result<T>,
) -> Result<(Data, T)> {
    let options = session.batch_options(flags.data, READ_AT_ONCE);
    let first = session.read_first(flags.points, &options)?;
    let chosen = flags.landmarks(&first, session)?;
    let settings = flags.settings(chosen.landmarks.clone());
    let n_features = first.points.n_features();
    let mut blocks =
        FileBlocks { path: flags.points, options: options.clone(), n_features, failure: None, remarks: Vec::new() };
    let of_data = |error| input::refusal_in_blocks(flags.points, &options, &first, error);
    let refusal = |error| chosen.refusal(error, of_data);
    let made = watched_by(session, refusal, session.time_left(limit), |watch| {
        let made = work(&settings, &mut blocks, watch);
        blocks.forget_failure_beside(&made);
        made
    });
    session.warn_once(&blocks.remarks);
    match (blocks.failure, made) {
        (Some(failure), _) => Err(failure),
        (None, made) => Ok((first, made?.0)),
    }
}

/// The rows of a file, block by block.
struct FileBlocks<'a> {
    path: &'a Path,
    options: ReadOptions,
    n_features: usize,
    /// What was wrong with the file, in words that name the place in it.
    failure: Option<Failure>,
    /// What was done with its blocks unasked.
    remarks: Vec<String>,
}

impl FileBlocks<'_> {
    /// A file that could not be read again to tell which row is at fault does not hide what is wrong with that row.
    fn forget_failure_beside<T>(&mut self, made: &mercer::Result<T>) {
        if !matches!(made, Err(mercer::Error::Io { .. })) {
            self.failure = None;
        }
    }
}

impl RowBlocks for FileBlocks<'_> {
    fn n_features(&self) -> usize {
        self.n_features
    }

    fn visit(&mut self, visit: &mut dyn FnMut(&Points) -> mercer::Result<()>) -> mercer::Result<()> {
        let mut refused = None;
        let remarks = &mut self.remarks;
        let outcome = input::read_in_batches(self.path, &self.options, &mut |mut part| {
            remarks.extend(part.rounded.take());
            part.points.visit(visit).map_err(|error| {
                refused = Some(error);
                Failure::usage("the rows are not wanted")
            })
        });
        match (refused, outcome) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(()),
            (None, Err(failure)) => {
                let source = std::io::Error::other(failure.to_string());
                self.failure = Some(failure);
                Err(mercer::Error::Io { doing: "reading", path: self.path.to_owned(), source })
            }
        }
    }
}

/// Saves a model, and says what it is and how good.
fn save(model: Model, data: &Data, output: &Path, session: &Session<'_>) -> Result<ExitStatus> {
    let model = with_data(model, data)?;
    model.save(output)?;
    session.saved_model(output);
    let record = complete(model.record(), session);
    if let Some(nystrom) = &record.nystrom {
        session.console.note(&format!(
            "an approximation over {} landmarks ({}): they miss {:.2e} of the trace; largest residual {:.1e}",
            nystrom.n_landmarks,
            nystrom.landmarks,
            nystrom.relative_trace_error,
            record.residuals.iter().copied().fold(0.0, f64::max)
        ));
    }
    let status = if model.converged() { ExitStatus::Done } else { ExitStatus::NotConverged };
    session.finish(status, &record, Some(&output::summary(&record)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::DataArgs;

    #[test]
    fn a_file_that_cannot_be_read_again_hides_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone.csv");
        let mut blocks = FileBlocks {
            path: &path,
            options: ReadOptions::from(&DataArgs::default()),
            n_features: 1,
            failure: None,
            remarks: Vec::new(),
        };
        let unread = blocks.visit(&mut |_| Ok(()));
        blocks.forget_failure_beside(&unread);
        assert!(matches!(unread, Err(mercer::Error::Io { .. })) && blocks.failure.is_some());
        let too_large: mercer::Result<()> = Err(mercer::Error::TooLarge { row: 3, precision: mercer::Precision::F64 });
        blocks.forget_failure_beside(&too_large);
        assert!(blocks.failure.is_none());
    }
}
