//! `mercer stream`: learn from standard input, row by row.

mod emit;
mod keep;
mod origin;
mod report;
mod rows;

use std::path::Path;

use mercer::online::{Captured, Learner, OnlineKernelPca, OnlineLearner};
use mercer::{Model, Points};

use self::emit::Emitter;
use self::keep::Keeper;
use self::origin::Origin;
use self::report::{StreamBody, table};
use self::rows::{Arrival, Arrivals};
use super::session::Session;
use super::settings::online_settings;
use crate::args::{BadRows, DataArgs, ProgressChoice, StreamArgs};
use crate::failure::{ExitStatus, Failure, InputError, Result};
use crate::input::{self, ReadOptions, StreamedRow};
use crate::output::summary::{counted, short};

/// Rows that are learned before anything else is looked at.
const ROWS_AT_ONCE: usize = 256;
/// Bad rows that are complained about one by one.
const COMPLAINTS: usize = 10;

/// A stream at work.
struct Stream<'a> {
    args: &'a StreamArgs,
    learner: Option<Learner>,
    /// What the stream began with.
    origin: Origin,
    emitter: Emitter,
    keeper: Keeper,
    /// Rows still to be left out, because the learner has seen them.
    to_leave_out: u64,
    resumed_after_rows: Option<usize>,
    /// What was said about columns that are passed over: of the rows, and of the points that components start from.
    remark: Option<String>,
    remarks_on_start: Vec<String>,
    /// Rows for which the learning rate was made smaller before somebody was told.
    shrunk_before: Option<usize>,
    /// Whether somebody was told that a component wears away.
    said_worn: bool,
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    OfInput,
    /// Nobody reads what is written any more.
    OfReader,
    Interrupted,
}

/// Runs the command.
pub(super) fn run(args: &StreamArgs) -> Result<ExitStatus> {
    let mut session = Session::start("stream", &args.report, ProgressChoice::None)?;
    check(args)?;
    let mut origin = Origin::of(args, &mut session)?;
    let kept = args.checkpoint.checkpoint.as_deref();
    let inputs: Vec<(&str, &Path)> = args.model.iter().map(|path| (origin.name(), path.as_path())).collect();
    let start: Vec<(&str, &Path)> = args.learning.start.iter().map(|path| ("start points", path.as_path())).collect();
    session.check_outputs(args.output.as_deref().into_iter().chain(kept), &start)?;
    session.check_outputs(args.output.as_deref(), &inputs)?;
    let (keeper, learner) = Keeper::open(args, &mut origin)?;
    let mut stream = Stream::new(args, origin, keeper, learner);
    stream.begin(&mut session)?;
    // From the first row on there is something to lose.
    session.interrupt.wait_for_safe_points();
    let end = session.timed("stream", |session| stream.read_all(session))?;
    stream.finish(end, &mut session)
}

fn check(args: &StreamArgs) -> Result<()> {
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("a model is not text: give the name of a file with --output"));
    }
    if let Some(twice) = (1..args.emit.len()).find(|&i| args.emit[..i].contains(&args.emit[i])) {
        return Err(Failure::usage(format!("--emit has {} twice", args.emit[twice].name())));
    }
    if args.report.json && !args.emit.is_empty() {
        return Err(Failure::usage("--json prints where the rows go: leave --emit out, or use --record"));
    }
    if args.learning.start.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage(
            "standard input is for the rows of the stream: give the name of a file with --start",
        ));
    }
    Ok(())
}

impl<'a> Stream<'a> {
    fn new(args: &'a StreamArgs, origin: Origin, keeper: Keeper, learner: Option<Learner>) -> Self {
        let resumed_after_rows = learner.as_ref().map(OnlineLearner::n_seen);
        let to_leave_out = if args.checkpoint.replay { keeper.rows_read() } else { 0 };
        let emitter = Emitter::new(&args.emit, args.emit_format.unwrap_or_default());
        let shrunk_before = Some(learner.as_ref().map_or(0, Learner::n_shrunk));
        let said_worn = learner.as_ref().is_some_and(|learner| learner.wear_warning().is_some());
        let (remark, remarks_on_start) = (None, Vec::new());
        Self {
            args,
            learner,
            origin,
            emitter,
            keeper,
            to_leave_out,
            resumed_after_rows,
            remark,
            remarks_on_start,
            shrunk_before,
            said_worn,
        }
    }

    /// What can be done, and be wrong, before the first row.
    fn begin(&mut self, session: &mut Session<'_>) -> Result<()> {
        if let Some(path) = &self.args.learning.start {
            std::fs::File::open(path).map_err(Failure::file("reading", path))?;
            // --format is about the rows.
            input::check_name(path)?;
        }
        if let Some((width, began)) = self.learner.as_ref().map(|it| (it.n_features().unwrap_or(0), it.start_points()))
        {
            // A learner that goes on has started; it must have been from the same points.
            let asked = self.start_points(width, session)?;
            if asked.is_some_and(|asked| (0..asked.n_samples()).map(|i| asked.row(i)).ne(began)) {
                return Err(Failure::usage(
                    "--start: the checkpoint belongs to another stream, which began at other points",
                ));
            }
        }
        match (&self.learner, &self.origin) {
            (Some(learner), Origin::Model(_, settings)) => self.keeper.check(settings, learner),
            // A learner that goes on by its name has its own settings.
            (Some(learner), _) if self.args.checkpoint.resume => {
                let width = learner.n_features();
                width.map_or(Ok(()), |width| self.keeper.check(&online_settings(self.args, width)?, learner))
            }
            // What is wrong with settings is wrong for rows of any width.
            (None, Origin::Nothing) => Ok(online_settings(self.args, 1)?.learner().map(drop)?),
            (None, Origin::Model(model, settings)) => {
                self.learner = Some(session.timed("load", |_| Ok(settings.learner_from(model)?))?);
                let (name, n) = (self.began_with().unwrap_or_default(), counted(model.n_samples(), "point"));
                session.console.note(&format!("beginning with {name}, a model of {n}"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The model that the stream began with, as it was named.
    fn began_with(&self) -> Option<String> {
        let path = self.args.model.as_ref().filter(|_| self.origin.model().is_some());
        path.map(|path| path.display().to_string())
    }

    fn read_all(&mut self, session: &Session<'_>) -> Result<End> {
        let owner = if self.origin.model().is_some() { "the model" } else { "the learner" };
        let has_start = self.args.learning.start.is_some();
        let width = self.learner.as_ref().and_then(Learner::n_features);
        let mut arrivals =
            Arrivals::from_standard_input(&self.args.rows, self.keeper.names(), width, owner, has_start)?;
        if let Some(rows) = self.resumed_after_rows {
            session.console.note(&format!("going on after {}", counted(rows, "row")));
        }
        loop {
            if session.interrupt.is_set() {
                return Ok(End::Interrupted);
            }
            match self.learn_next(&mut arrivals, session) {
                Ok(true) => {}
                Ok(false) => return Ok(End::OfInput),
                Err(failure) if failure.is_broken_pipe() => return Ok(End::OfReader),
                // What was learned before is not lost.
                Err(failure) => {
                    return Err(match self.save_what_there_is() {
                        Some(saved) => failure.after_saving(saved),
                        None => failure,
                    });
                }
            }
        }
    }

    /// Saves what was learned before a failure, and says where it is; nothing if nothing was learned or no file was named.
    fn save_what_there_is(&self) -> Option<String> {
        let learner = self.learner.as_ref().filter(|learner| learner.n_seen() > 0)?;
        let kept = self.keeper.path().map(|path| ("the state", path, self.keeper.keep(Some(learner))));
        let model = self.args.output.as_deref().map(|path| ("the model", path, self.save_model(learner, path)));
        let places: Vec<String> = kept
            .into_iter()
            .chain(model)
            .map(|(what, path, saved)| match saved {
                Ok(()) => format!("{what} is in {}", path.display()),
                Err(failure) => format!("{what} could not be saved ({failure})"),
            })
            .collect();
        let rows = counted(learner.n_seen(), "row");
        (!places.is_empty()).then(|| format!("of the {rows} learned before, {}", places.join(" and ")))
    }

    /// Writes the model of what was learned, with the names of its columns.
    fn save_model(&self, learner: &Learner, path: &Path) -> Result<()> {
        let names = self.keeper.names().map(<[String]>::to_vec);
        let model = names.into_iter().try_fold(learner.model()?, Model::with_feature_names)?;
        Ok(model.save(path)?)
    }

    /// Learns from what comes next; `false` at the end of the input.
    fn learn_next(&mut self, arrivals: &mut Arrivals, session: &Session<'_>) -> Result<bool> {
        let arrival = arrivals.next()?;
        self.look_at_columns(arrivals, session);
        let goes_on = match arrival {
            Arrival::Rows(rows) => self.learn(rows, session).map(|()| true),
            Arrival::Nothing => Ok(true),
            Arrival::End(row) => self.learn(row.into_iter().collect(), session).map(|()| false),
        }?;
        self.keeper.keep_if_due(self.learner.as_ref())?;
        Ok(goes_on)
    }

    /// Takes note of the names of columns before the first row is learned, and says which are passed over.
    fn look_at_columns(&mut self, arrivals: &Arrivals, session: &Session<'_>) {
        if self.learner.is_none() {
            self.keeper.name_columns(arrivals.names());
        }
        if self.remark.is_none() {
            self.remark = arrivals.remark();
            self.remark.iter().for_each(|remark| session.console.warning(remark));
        }
    }

    /// Learns rows and writes what is asked for about each.
    fn learn(&mut self, rows: Vec<StreamedRow>, session: &Session<'_>) -> Result<()> {
        let mut waiting: Vec<(u64, Vec<f64>)> = Vec::new();
        for row in rows {
            if self.to_leave_out > 0 {
                self.to_leave_out -= 1;
                continue;
            }
            match row.values {
                Ok(values) => {
                    // One of another width is for the learner to refuse, by itself.
                    if waiting.last().is_some_and(|(_, last)| last.len() != values.len()) {
                        self.learn_block(&mut waiting, session)?;
                    }
                    waiting.push((row.line, values));
                    if waiting.len() == ROWS_AT_ONCE || self.keeper.is_due_after(waiting.len()) {
                        self.learn_block(&mut waiting, session)?;
                        self.keeper.keep_if_due(self.learner.as_ref())?;
                    }
                }
                Err(complaint) => {
                    self.learn_block(&mut waiting, session)?;
                    self.complain(complaint, session)?;
                }
            }
        }
        self.learn_block(&mut waiting, session)
    }

    fn learn_block(&mut self, waiting: &mut Vec<(u64, Vec<f64>)>, session: &Session<'_>) -> Result<()> {
        while let Some((first_line, first)) = waiting.first() {
            let width = first.len();
            let values: Vec<f64> = waiting.iter().flat_map(|(_, values)| values.iter().copied()).collect();
            let points =
                Points::from_f64(values, waiting.len(), width).map_err(|error| refused(*first_line, &error))?;
            if self.learner.is_none() {
                self.learner = Some(self.new_learner(&points, session)?);
            }
            let learner = self.learner.as_mut().expect("made before the first row");
            let mut done = 0;
            let emitter = &mut self.emitter;
            let result = learner.learn_each(&points, |seen| {
                emitter.row(waiting[done].0, &seen);
                done += 1;
            });
            self.keeper.count(done);
            self.say_that_the_rate_shrinks(session);
            self.say_that_a_component_wears_away(session);
            let written = self.emitter.flush();
            match result {
                Ok(()) => waiting.clear(),
                Err(error) => {
                    let line = waiting[done].0;
                    waiting.drain(..=done);
                    written?;
                    let complaint = refused(line, &error);
                    // What does not suit all rows together is not mended by leaving one out.
                    if matches!(error, mercer::Error::UnsuitableKernel { .. }) {
                        return Err(complaint.into());
                    }
                    self.complain(complaint, session)?;
                    continue;
                }
            }
            written?;
        }
        Ok(())
    }

    /// Says once, and when it happens, that the learning rate was too large; how often it was is said at the end.
    fn say_that_the_rate_shrinks(&mut self, session: &Session<'_>) {
        let Some(learner) = &self.learner else { return };
        if let (true, Some((from, to))) =
            (self.shrunk_before.is_some_and(|n| n < learner.n_shrunk()), learner.last_shrunk())
        {
            self.shrunk_before = None;
            session.console.warning(&format!(
                "the learning rate is made smaller where it would overshoot: from {} to {} so far",
                short(from),
                short(to)
            ));
        }
    }

    /// Says once, and when it happens, that what comes out of a component is about to say nothing any more; a stream may never end.
    fn say_that_a_component_wears_away(&mut self, session: &Session<'_>) {
        let warning = self.learner.as_ref().filter(|_| !self.said_worn).and_then(Learner::wear_warning);
        if let Some(warning) = warning {
            self.said_worn = true;
            session.console.warning(&format!("after {}: {warning}", counted(self.keeper.rows_read() as usize, "row")));
        }
    }

    /// The learner that the flags ask for, for rows like these.
    fn new_learner(&mut self, rows: &Points, session: &Session<'_>) -> Result<Learner> {
        let settings = online_settings(self.args, rows.n_features())?;
        let start = self.start_points(rows.n_features(), session)?;
        let path = self.args.learning.start.as_deref();
        start.into_iter().fold(settings, OnlineKernelPca::start).learner().map_err(|error| match (error, path) {
            // The points come from a file, which the library does not know.
            (source @ mercer::Error::InvalidParameter { name: "start", .. }, Some(path)) => {
                Failure::Data { file: path.display().to_string(), source }
            }
            (error, _) => error.into(),
        })
    }

    /// Reads the points that components start from, if some were given: those columns of them that rows have, by their names if both have
    /// any.
    fn start_points(&mut self, width: usize, session: &Session<'_>) -> Result<Option<Points>> {
        let Some(path) = &self.args.learning.start else { return Ok(None) };
        let options = ReadOptions::from(&DataArgs::default()).n_features(width);
        let options = options.by_position(self.args.rows.by_position).wanted(self.keeper.names(), "the stream")?;
        let start = input::read(path, &options)?;
        let found = start.points.n_features();
        if found != width {
            let message = format!("the rows of the stream have {}, but these have {found}", counted(width, "column"));
            return Err(InputError::new(&start.name, message).into());
        }
        start.remarks().for_each(|remark| session.console.warning(remark));
        self.remarks_on_start = start.remarks().cloned().collect();
        Ok(Some(start.points))
    }

    /// A row that cannot be used ends the stream, or is left out and counted.
    fn complain(&mut self, complaint: InputError, session: &Session<'_>) -> Result<()> {
        if self.args.rows.bad_rows == BadRows::Fail {
            return Err(complaint.into());
        }
        self.keeper.count_bad();
        match self.keeper.bad_rows() as usize {
            n if n <= COMPLAINTS => session.console.warning(&format!("{complaint}; the row is left out")),
            n if n == COMPLAINTS + 1 => session.console.warning("more bad rows are left out without a word"),
            _ => {}
        }
        Ok(())
    }

    fn finish(self, end: End, session: &mut Session<'_>) -> Result<ExitStatus> {
        self.keeper.keep(self.learner.as_ref())?;
        let remarks = self.remark.iter().chain(&self.remarks_on_start);
        remarks.for_each(|remark| session.remember_warning(remark));
        let model = match (&self.args.output, &self.learner) {
            (Some(output), Some(learner)) => {
                self.save_model(learner, output)?;
                session.saved_model(output);
                Some(output.display().to_string())
            }
            (Some(_), None) => {
                return Err(InputError::new("standard input", "there are no rows, so there is no model").into());
            }
            (None, _) => None,
        };
        let said = self.learner.as_ref().filter(|_| self.said_worn).and_then(Learner::wear_warning);
        for warning in self.learner.iter().flat_map(Learner::warnings) {
            // It belongs in the record, but has been said.
            if Some(&warning) == said.as_ref() { session.remember_warning(warning) } else { session.warn(warning) }
        }
        if self.keeper.bad_rows() > 0 {
            let (bad, all) = (self.keeper.bad_rows(), self.keeper.rows_read());
            session.warn(format!("{bad} of {all} rows {} left out", if bad == 1 { "was" } else { "were" }));
        }
        if self.to_leave_out > 0 && end == End::OfInput {
            session.warn(format!(
                "the input ended before the row that the checkpoint stands at, which comes {} later: nothing was learned; \
                 --replay is for rows that begin again from the first one",
                counted(self.to_leave_out as usize, "row")
            ));
        }
        let saved = model.is_some() || (self.keeper.path().is_some() && self.learner.is_some());
        let status = match end {
            End::OfInput | End::OfReader => ExitStatus::Done,
            End::Interrupted if saved => ExitStatus::NotConverged,
            End::Interrupted => ExitStatus::Interrupted,
        };
        let so_far = counted(self.keeper.rows_read() as usize, "row");
        match end {
            End::OfInput => {}
            End::OfReader => {
                session.console.note(&format!("stopped after {so_far}: nobody reads standard output any more"));
            }
            End::Interrupted => session.console.note(&format!("interrupted after {so_far}")),
        }
        let body = self.body(model, end, session);
        let table = (self.args.emit.is_empty() && end != End::OfReader).then(|| table(&body));
        session.finish(status, &body, table.as_deref())
    }

    fn body(&self, model: Option<String>, end: End, session: &Session<'_>) -> StreamBody {
        let learner = self.learner.as_ref();
        // Before a component has begun there are no directions to speak of.
        let captured = learner.and_then(|learner| learner.captured().ok());
        let total = learner.map_or(0.0, Learner::total_variance);
        StreamBody {
            common: session.common(),
            settings: learner.map(|learner| learner.settings().record()),
            rows_read: self.keeper.rows_read(),
            bad_rows: self.keeper.bad_rows(),
            n_samples: learner.map_or(0, OnlineLearner::n_seen),
            n_features: learner.and_then(Learner::n_features).unwrap_or(0),
            n_components: learner.map_or(0, Learner::n_components),
            // Rows are learned one after the other.
            threads: 1,
            n_remembered: learner.map_or(0, Learner::n_remembered),
            explained_variance_ratio: captured.as_ref().map_or_else(Vec::new, Captured::ratio),
            total_variance: captured.as_ref().map_or(total, |captured| captured.total_variance),
            variances: captured.map_or_else(Vec::new, |captured| captured.variances),
            budget_error: learner.and_then(|learner| learner.budget_error().ok()).unwrap_or_default(),
            mean_drift: learner.and_then(|learner| learner.mean_drift().ok()),
            n_shrunk: learner.map_or(0, Learner::n_shrunk),
            began_with: self.began_with(),
            n_before: learner.map_or(0, Learner::n_before),
            resumed_after_rows: self.resumed_after_rows,
            interrupted: end == End::Interrupted,
            model,
            checkpoint: self.keeper.path().map(|path| path.display().to_string()),
        }
    }
}

/// What the library says about a row, with its line, which is the only number it goes by.
fn refused(line: u64, error: &mercer::Error) -> InputError {
    let message = match error {
        mercer::Error::TooLargeToLearn { row, .. } => {
            error.to_string().replacen(&format!("row {row} is"), "the row is", 1)
        }
        _ => error.to_string(),
    };
    InputError::new("standard input", message).at(crate::failure::Place { line, ..Default::default() })
}
