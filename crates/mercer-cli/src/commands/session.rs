//! One run of a command: who listens, what was measured, and how it ends.
//!
//! A command starts a session, reads and loads through it, works, and finishes it with a record and a table. What is common to
//! all commands (talk, progress, interruption, seconds, records) stands here and nowhere else.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mercer::aside::place_of;
use mercer::autoencoder::{Autoencoder, Codec};
use mercer::data::Scaling;
use mercer::watch::Threads;
use mercer::{AnyModel, ClusterModel, Model, StateFile};
use serde::Serialize;

use crate::args::{DataArgs, DenoiseRowsArgs, Format, ProgressChoice, QueryArgs, ReportArgs, TimeLimit};
use crate::console::{Console, print};
use crate::failure::{ExitStatus, Failure, InputError, Result};
use crate::input::{self, Data, ReadOptions};
use crate::interrupt::Interrupt;
use crate::output::table::{terminal_width, wrapped};
use crate::output::{self, OutputFile};
use crate::progress::Meter;
use crate::records::{self, Common};

/// Reading may take so long whatever the time limit: what follows a short file says by itself what it had time for, and a stop is promised within two
/// seconds.
const LEAST_READING: Duration = Duration::from_secs(1);

/// A run of a command.
pub(super) struct Session<'a> {
    command: &'static str,
    report: &'a ReportArgs,
    /// Where talk goes.
    pub(super) console: Console,
    /// The wish to stop.
    pub(super) interrupt: Interrupt,
    /// How far the run is.
    pub(super) meter: Meter,
    /// Threads that were asked for.
    threads: Option<usize>,
    /// The time limit that reading keeps to.
    limit: Option<TimeLimit>,
    /// Pipes that will be written to: to their readers, a pipe that is closed in between has ended.
    open: Mutex<Vec<OutputFile>>,
    /// Files that are in their place already.
    written: Mutex<Vec<PathBuf>>,
    started: Instant,
    seconds: BTreeMap<String, f64>,
    warnings: Vec<String>,
}

impl<'a> Session<'a> {
    /// Starts the run of a command; once per process.
    pub(super) fn start(command: &'static str, report: &'a ReportArgs, progress: ProgressChoice) -> Result<Self> {
        let console = Console::new(report.quiet);
        if report.record.as_deref() == Some(Path::new("-")) {
            return Err(Failure::usage("--record takes the name of a file; --json prints the record"));
        }
        Ok(Self {
            command,
            report,
            console,
            interrupt: Interrupt::listen(console)?,
            meter: Meter::new(console, progress),
            threads: None,
            limit: None,
            open: Mutex::default(),
            written: Mutex::default(),
            started: Instant::now(),
            seconds: BTreeMap::new(),
            warnings: Vec::new(),
        })
    }

    /// The same run, on so many threads; all if nothing was asked for.
    pub(super) fn on_threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// The same run, in which reading ends with this time limit.
    pub(super) fn within(mut self, limit: Option<TimeLimit>) -> Self {
        self.limit = limit;
        self
    }

    /// Refuses places that cannot be written to, or must not be, before any work is done.
    pub(super) fn check_outputs<'p>(
        &'p self,
        outputs: impl IntoIterator<Item = &'p Path>,
        inputs: &[(&str, &Path)],
    ) -> Result<()> {
        let mut places = Vec::new();
        for path in outputs.into_iter().chain(self.report.record.as_deref()) {
            if places.contains(&place(path)) {
                return Err(Failure::usage(format!(
                    "{} is named for two outputs: give one another name",
                    path.display()
                )));
            }
            places.push(place(path));
            if let Some((what, _)) = inputs.iter().find(|(_, input)| is_same_file(path, input)) {
                return Err(Failure::usage(format!("{} is the {what}: it would be replaced", path.display())));
            }
            // Opened and, if it is a file, dropped: nothing is left behind.
            let file = OutputFile::create(path)?;
            if file.is_in_place() {
                self.open.lock().unwrap_or_else(PoisonError::into_inner).push(file);
            }
            if let Some(directory) = place(path).parent() {
                self.interrupt.cleans_up(directory);
            }
        }
        Ok(())
    }

    /// Refuses a place for a model or a checkpoint that is there and no file: a pipe cannot be replaced by one.
    pub(super) fn check_replaceable<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<()> {
        let is_other = |path: &Path| std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        match paths.into_iter().find(|path| is_other(path)) {
            Some(path) => Err(Failure::usage(format!(
                "{} is not a file, so it cannot be replaced by one; give another name",
                path.display()
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a record on standard output where data go.
    pub(super) fn check_standard_output(&self, output: &Path) -> Result<()> {
        if self.report.json && output == Path::new("-") {
            return Err(Failure::usage("--json prints where the rows go: give a file with --output, or use --record"));
        }
        Ok(())
    }

    /// Reads a data file; a sample of its rows comes from `seed`.
    pub(super) fn read(&mut self, path: &Path, args: &DataArgs, seed: u64) -> Result<Data> {
        let options = ReadOptions::from(args).seed(seed).threads(self.threads);
        self.reading(path, &options, input::read)
    }

    /// Reads the first part of a data file, as an example of the others.
    pub(super) fn read_first(&mut self, path: &Path, options: &ReadOptions) -> Result<Data> {
        self.reading(path, options, input::read_first)
    }

    /// How a data file is read that is not kept in memory.
    pub(super) fn batch_options(&self, args: &DataArgs, numbers: usize) -> ReadOptions {
        ReadOptions::from(args).threads(self.threads).in_batches(numbers)
    }

    /// Reads rows that are to be compared with those of another file: the same columns of them.
    pub(super) fn read_reference(&mut self, path: &Path, args: &DenoiseRowsArgs, data: &Data) -> Result<Data> {
        let options = ReadOptions::from(&args.data).seed(args.filter.seed).threads(self.threads);
        let options = options.by_position(args.by_position);
        let options = options.wanted(data.names.as_deref(), &data.name)?;
        self.reading(path, &options, input::read)
    }

    /// Reads points that are to stand beside those of another file: the same columns of them. Others are passed over, and nothing is said of
    /// them: the data have them too, if flags take them out there.
    pub(super) fn read_beside(&mut self, path: &Path, args: &DataArgs, data: &Data) -> Result<Data> {
        let options = ReadOptions::from(args).threads(self.threads).n_features(data.points.n_features());
        let options = options.named_as(data.names.as_deref(), &data.name);
        self.reading(path, &options, read_silently)
    }

    /// How new points for an autoencoder are read.
    pub(super) fn code_options(&self, args: &QueryArgs, model: &Autoencoder) -> Result<ReadOptions> {
        if args.data.standardize || args.data.scale.is_some() {
            return Err(Failure::usage(
                "--scale and --standardize are not for an autoencoder: it takes data as they are",
            ));
        }
        let options = ReadOptions::from(args).threads(self.threads).n_features(model.n_features());
        options.wanted(model.feature_names(), "the autoencoder")
    }

    /// How new points for something that was fitted are read: `names` of its columns and its `scaling` are theirs, too.
    pub(super) fn query_options(
        &self,
        args: &QueryArgs,
        n_features: usize,
        names: Option<&[String]>,
        scaling: Option<&Scaling>,
    ) -> Result<ReadOptions> {
        ReadOptions::from(args).threads(self.threads).for_model(n_features, names, scaling)
    }

    /// Says that a file is being read.
    pub(super) fn begin_reading(&self, path: &Path) {
        let name = if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
        self.meter.begin(&format!("reading {name}"));
    }

    fn reading(&mut self, path: &Path, options: &ReadOptions, read: Reader) -> Result<Data> {
        self.begin_reading(path);
        let data = self.timed("read", |session| match session.time_left(session.limit) {
            Some(time) => read_in_time(path, options, read, time),
            None => read(path, options),
        });
        self.meter.clear();
        if let Ok(data) = &data {
            self.warn_of(data);
        }
        data
    }

    /// Loads a file of components; a model of another kind, which cannot do what is asked for, is called by its name.
    pub(super) fn load(&mut self, path: &Path, what: &str) -> Result<Model> {
        match self.load_any(path)? {
            AnyModel::KernelPca(model) => Ok(*model),
            AnyModel::Autoencoder(model) => Err(Failure::usage(format!(
                "{} is an autoencoder ({} codes of {} features), and {what} needs components of kernel PCA; `mercer transform` encodes with it, \
                 `mercer reconstruct` decodes and tells the loss of every row, `mercer info` shows it",
                path.display(),
                model.n_components(),
                model.n_features()
            ))),
            AnyModel::Clusters(model) => Err(not_for_clusters(path, &model, what)),
        }
    }

    /// Loads a model file of any kind.
    pub(super) fn load_any(&mut self, path: &Path) -> Result<AnyModel> {
        self.timed("load", |session| {
            AnyModel::load(path).map_err(|error| {
                let hint = match StateFile::at(path) {
                    Some(state) => Some(how_to_go_on(path, state)),
                    None if input::format_of(path, None).is_ok() => Some(session.advice_for_data().to_owned()),
                    None => None,
                };
                match (error, hint) {
                    (mercer::Error::ModelFile { problem, .. }, Some(hint)) => {
                        InputError::new(&path.display().to_string(), problem).hint(hint).into()
                    }
                    (other, _) => other.into(),
                }
            })
        })
    }

    /// What to do about data where a model belongs.
    fn advice_for_data(&self) -> &'static str {
        if matches!(self.command, "transform" | "score" | "reconstruct") {
            "by its name the file holds data: the model is named first, then the data"
        } else {
            "by its name the file holds data; `mercer fit` makes a model of data"
        }
    }

    /// Refuses columns that the format of an output cannot hold, and warns of those that it has no place for: before the work.
    pub(super) fn check_columns(&mut self, output: &Path, format: Format, names: &[String], data: &Data) -> Result<()> {
        output::check_columns(output, format, names, data)?;
        if let Some(warning) = output::left_out(format, data.labels.as_ref(), data.ids.as_ref()) {
            self.warn(warning);
        }
        Ok(())
    }

    /// Does something and takes its time as that of a phase.
    pub(super) fn timed<R>(&mut self, phase: &str, work: impl FnOnce(&Self) -> Result<R>) -> Result<R> {
        let start = Instant::now();
        let result = work(self)?;
        self.add_seconds(phase, start.elapsed().as_secs_f64());
        Ok(result)
    }

    /// Adds to the time of a phase.
    pub(super) fn add_seconds(&mut self, phase: &str, seconds: f64) {
        *self.seconds.entry(phase.to_owned()).or_default() += seconds;
    }

    /// What is left of a time limit that began with the command.
    pub(super) fn time_left(&self, limit: Option<TimeLimit>) -> Option<Duration> {
        limit.map(|limit| limit.0.saturating_sub(self.started.elapsed()))
    }

    /// Says something to worry about, and keeps it for the record.
    pub(super) fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.console.warning(&text);
        self.warnings.push(text);
    }

    /// Says what was done with data unasked, unless another part of the file has said it already.
    pub(super) fn warn_of(&mut self, data: &Data) {
        self.warn_once(data.remarks());
    }

    /// Says what has not been said before.
    pub(super) fn warn_once<'w>(&mut self, texts: impl IntoIterator<Item = &'w String>) {
        for text in texts {
            if !self.warnings.contains(text) {
                self.warn(text);
            }
        }
    }

    /// Keeps for the record what has been said already.
    pub(super) fn remember_warning(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// What there was to worry about so far.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What every record has.
    pub(super) fn common(&self) -> Common {
        Common::new(self.all_seconds(), self.warnings.clone())
    }

    /// Seconds of each phase so far, and in all.
    pub(super) fn all_seconds(&self) -> BTreeMap<String, f64> {
        let mut seconds = self.seconds.clone();
        seconds.insert("total".to_owned(), self.started.elapsed().as_secs_f64());
        seconds
    }

    /// Ends the run: the record goes where it was asked for, else a summary to standard output, if people want to read one.
    pub(super) fn finish<B: Serialize>(
        &self,
        status: ExitStatus,
        body: &B,
        summary: Option<&str>,
    ) -> Result<ExitStatus> {
        self.end(status, body, summary.filter(|_| !self.report.quiet))
    }

    /// Ends the run of a command that was asked for a table: being quiet about a run does not withhold what it is for.
    pub(super) fn finish_with<B: Serialize>(&self, status: ExitStatus, body: &B, table: &str) -> Result<ExitStatus> {
        self.end(status, body, Some(table))
    }

    fn end<B: Serialize>(&self, status: ExitStatus, body: &B, table: Option<&str>) -> Result<ExitStatus> {
        if self.report.json || self.report.record.is_some() {
            let record = records::document(self.command, status, body)?;
            if let Some(path) = &self.report.record {
                output::write_text(path, &record).map_err(|failure| self.without_record(failure))?;
            }
            if self.report.json {
                print(&record)?;
                return Ok(status);
            }
        }
        table.map_or(Ok(()), |table| print(&wrapped(table, terminal_width())))?;
        Ok(status)
    }

    /// Takes note that a file is in its place.
    pub(super) fn wrote(&self, path: &Path) {
        if path != Path::new("-") {
            self.written.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        }
    }

    /// Says that a model is in its place.
    pub(super) fn saved_model(&self, path: &Path) {
        self.console.note(&format!("model saved as {}", path.display()));
        self.wrote(path);
    }

    /// A failure to write the record, which also says what had been written by then.
    fn without_record(&self, failure: Failure) -> Failure {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        match names.as_slice() {
            [] => failure,
            [one] => failure.after_saving(format!("{one} is written and complete: only the record is missing")),
            several => failure
                .after_saving(format!("{} are written and complete: only the record is missing", several.join(", "))),
        }
    }

    /// Whether people want to read a table.
    pub(super) fn wants_table(&self) -> bool {
        !self.report.json && !self.report.quiet
    }
}

/// A way to read a data file, or a part of it.
type Reader = fn(&Path, &ReadOptions) -> Result<Data>;

/// Reads a data file as long as there is time.
///
/// A reader has no safe points, and one that waits for a pipe does not even look up: it reads on a thread of its own, where it is left behind, and ends with
/// the process.
fn read_in_time(path: &Path, options: &ReadOptions, read: Reader, time: Duration) -> Result<Data> {
    let (sender, receiver) = sync_channel(1);
    let (path, options) = (path.to_owned(), options.clone());
    let reader = std::thread::spawn(move || drop(sender.send(read(&path, &options))));
    match receiver.recv_timeout(time.max(LEAST_READING)) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => Err(Failure::TimeLimit(mercer::Error::Interrupted { phase: "reading" })),
        Err(RecvTimeoutError::Disconnected) => match reader.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => unreachable!("a reader that has not failed has sent what it read"),
        },
    }
}

/// Reads a data file, and says nothing of columns that are passed over.
fn read_silently(path: &Path, options: &ReadOptions) -> Result<Data> {
    let mut data = input::read(path, options)?;
    data.remark = None;
    Ok(data)
}

/// What can be done with the state of something unfinished.
fn how_to_go_on(path: &Path, state: StateFile) -> String {
    let path = path.display();
    match state {
        StateFile::Stream => {
            format!(
                "`mercer stream {path}` learns on, and -o makes a model of it: mercer stream {path} -o NEW.mercer < ROWS"
            )
        }
        _ => format!("the same `mercer fit` as before with --checkpoint {path} --resume goes on, and saves a model"),
    }
}

/// As many threads as were asked for, or all.
pub(super) fn threads(asked: Option<usize>) -> Result<Threads> {
    Ok(asked.map_or_else(Threads::all, Threads::new)?)
}

/// Why clusters cannot do what is asked for, and what can be done with them.
pub(super) fn not_for_clusters(path: &Path, model: &ClusterModel, what: &str) -> Failure {
    let record = model.record();
    Failure::usage(format!(
        "{} holds clusters ({} of {} points), and {what} needs components of kernel PCA; `mercer transform` tells the clusters of new rows with \
         it, `mercer info` shows it",
        path.display(),
        record.n_clusters,
        record.n_samples
    ))
}

/// A path that two ways of writing the same new file have in common.
fn place(path: &Path) -> PathBuf {
    let path = &place_of(path);
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (std::fs::canonicalize(path), std::fs::canonicalize(directory), path.file_name()) {
        (Ok(file), ..) => file,
        (Err(_), Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_owned(),
    }
}

pub(super) fn is_same_file(a: &Path, b: &Path) -> bool {
    match (std::fs::canonicalize(a), std::fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
