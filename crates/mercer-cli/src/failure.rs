//! Why a command could not do what was asked, and the exit code that says so.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use mercer::ErrorKind;

/// The result of anything in this crate that can fail.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// What was asked is done.
    Done,
    /// There is a model, but it did not reach the asked accuracy or the run was interrupted.
    NotConverged,
    /// The call or its input was wrong.
    BadInput,
    /// The answer would not fit the memory budget.
    OverBudget,
    /// Stopped from outside before there was anything to save.
    Interrupted,
}

impl ExitStatus {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NotConverged => 1,
            Self::BadInput => 2,
            Self::OverBudget => 3,
            // What shells report for a process that Ctrl-C ended: 128 + SIGINT.
            Self::Interrupted => 130,
        }
    }
}

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The library refused.
    #[error("{}", as_typed(.0))]
    Library(#[from] mercer::Error),

    /// The library refused what a file holds.
    #[error("{file}: {}", as_typed(.source))]
    Data {
        /// The file as it was named.
        file: String,
        /// What the library said.
        source: mercer::Error,
    },

    /// A file does not hold what it should.
    #[error(transparent)]
    Input(#[from] InputError),

    /// The time that was given did not suffice for anything that could be saved.
    #[error("--time-limit is too short: {0}")]
    TimeLimit(mercer::Error),

    /// What a file holds does not fit the memory there is.
    #[error("{file}: {}", beyond_memory(*.needed))]
    NoMemory {
        /// The file as it was named.
        file: String,
        /// Bytes that were asked for, if that is known.
        needed: Option<u64>,
    },

    /// Arguments that are right one by one but not together.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
    },

    /// A file could not be read or written.
    #[error("{doing} {}: {}", .path.display(), system_message(.source))]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// Standard output took no more.
    #[error("writing to standard output: {}", system_message(.0))]
    StandardOutput(io::Error),

    /// A failure of which more is known than its source can say: what helps against it here, or where what was done before it is.
    #[error("{source}")]
    Advised {
        /// What went wrong.
        source: Box<Failure>,
        /// What there is to say beside its message.
        hint: String,
    },
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into() }
    }

    /// For `map_err`: `reading`, `writing` and the like.
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { doing, path: path.to_owned(), source }
    }

    /// For `map_err`, where the library may object to the contents of a file.
    pub(crate) fn in_data(file: &str) -> impl FnOnce(mercer::Error) -> Self {
        move |source| match source.kind() {
            ErrorKind::InvalidInput if concerns_data(&source) => Self::Data { file: file.to_owned(), source },
            _ => Self::Library(source),
        }
    }

    /// The same failure, with this advice and no other.
    pub(crate) fn advised(self, hint: impl Into<String>) -> Self {
        Self::Advised { source: Box::new(self), hint: hint.into() }
    }

    /// The same failure, which also says where what was done before it is.
    pub(crate) fn after_saving(self, saved: String) -> Self {
        let hint = match self.hint() {
            Some(hint) => format!("{hint}; {saved}"),
            None => saved,
        };
        self.advised(hint)
    }

    /// Whether the reader of standard output went away, which is not a failure.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::StandardOutput(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code that this failure deserves.
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Library(error) | Self::Data { source: error, .. } => match error.kind() {
                ErrorKind::InvalidInput | ErrorKind::Io => ExitStatus::BadInput,
                ErrorKind::OverBudget => ExitStatus::OverBudget,
                ErrorKind::NotConverged => ExitStatus::NotConverged,
                ErrorKind::Interrupted => ExitStatus::Interrupted,
            },
            Self::StandardOutput(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitStatus::Done,
            Self::Advised { source, .. } => source.status(),
            Self::NoMemory { .. } => ExitStatus::OverBudget,
            Self::Input(_) | Self::TimeLimit(_) | Self::Usage { .. } | Self::File { .. } | Self::StandardOutput(_) => {
                ExitStatus::BadInput
            }
        }
    }

    /// What sort of failure this is, for programs.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Library(error) | Self::Data { source: error, .. } => match error.kind() {
                ErrorKind::InvalidInput => "input",
                ErrorKind::Io => "file",
                ErrorKind::OverBudget => "over-budget",
                ErrorKind::NotConverged => "not-converged",
                ErrorKind::Interrupted => "interrupted",
            },
            Self::Input(_) => "input",
            Self::Usage { .. } | Self::TimeLimit(_) => "usage",
            Self::NoMemory { .. } => "over-budget",
            Self::File { .. } | Self::StandardOutput(_) => "file",
            Self::Advised { source, .. } => source.kind(),
        }
    }

    /// What the user could do about it, if that is not clear from the message.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self {
            Self::Input(error) => error.hint.as_deref(),
            Self::Advised { hint, .. } => Some(hint),
            Self::Library(mercer::Error::FeatureMismatch { .. })
            | Self::Data { source: mercer::Error::FeatureMismatch { .. }, .. } => {
                Some("give the same columns as at the fit; --label takes one out")
            }
            Self::Library(mercer::Error::NegativeEigenvalues { can_flip, .. }) => Some(if *can_flip {
                "say what to do with them: --negative clip or --negative flip"
            } else {
                "say that they count as zero: --negative clip"
            }),
            Self::NoMemory { .. } => Some(LARGER_THAN_MEMORY),
            Self::Library(_)
            | Self::Data { .. }
            | Self::TimeLimit(_)
            | Self::Usage { .. }
            | Self::File { .. }
            | Self::StandardOutput(_) => None,
        }
    }
}

/// That there is no memory for what a file holds.
fn beyond_memory(needed: Option<u64>) -> String {
    match needed {
        Some(bytes) => format!("what it holds takes {}, and there is not so much memory", mercer::format_bytes(bytes)),
        None => "there is not enough memory for what it holds".to_owned(),
    }
}

/// What can be done with a file that does not fit the memory.
const LARGER_THAN_MEMORY: &str = "`mercer fit --gram nystrom --blocks` reads .csv, .tsv, .parquet and .arrow files block by block; a .npy file of f32, f64 or \
                                  u8 is used where it is";

/// Makes a panic say that it is a bug; the process then ends with code 101, as every Rust program does.
pub(crate) fn name_bugs() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        crate::console::say("\nthis is a bug in mercer; please report it with the call and these lines:\n");
        usual(panic);
    }));
}

/// Makes a write beyond a limit of the size of files fail as on a full disk; otherwise the system would end the process without a word,
/// and leave what it was writing.
pub(crate) fn let_large_files_fail() {
    #[cfg(unix)]
    #[expect(unsafe_code, reason = "the standard library has no signals")]
    // SAFETY: a signal is ignored before there is a second thread; no handler is installed.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Whether an error is about the values, so that the name of their file belongs to the message.
fn concerns_data(error: &mercer::Error) -> bool {
    use mercer::Error as E;
    matches!(
        error,
        E::TooFewRows { .. }
            | E::NoColumns { .. }
            | E::FeatureMismatch { .. }
            | E::NotFinite { .. }
            | E::TooLarge { .. }
            | E::LandmarkTooLarge { .. }
            | E::LandmarkOverflow { .. }
            | E::TooLargeToLearn { .. }
            | E::TooFarApart { .. }
            | E::CodeOverflow { .. }
            | E::CodeUnderflow { .. }
            | E::AllZero { .. }
            | E::KernelOverflow { .. }
            | E::NoVariance { .. }
            | E::TooClose { .. }
            | E::VarianceInRounding { .. }
            | E::NoMaximum { .. }
            | E::Labels { .. }
            | E::NotSquare { .. }
            | E::ZeroDegree { .. }
            | E::TooFewDistinct { .. }
    )
}

/// The library's message, with a parameter named as the flag that sets it.
fn as_typed(error: &mercer::Error) -> String {
    match error {
        mercer::Error::InvalidParameter { name, requirement, value } => {
            // Flags have defaults of their own, and what is wrong was given by one.
            let value = value.strip_suffix(", which is the default").unwrap_or(value);
            format!("--{} must be {requirement}, but it is {value}", name.replace('_', "-"))
        }
        mercer::Error::TooFewDistinct { needed, found } => {
            format!("--n-clusters must be at most the number of different rows, which is {found}, but it is {needed}")
        }
        mercer::Error::NegativeEigenvalues { .. } => {
            // What the library says after that is a hint here.
            let told = error.to_string();
            let found = told.split_once(": ").map_or(told.as_str(), |(found, _)| found);
            format!("the kernel is not positive semi-definite: {found}")
        }
        mercer::Error::Io { doing, path, source } => {
            format!("{doing} {}: {}", path.display(), system_message(source))
        }
        other => other.to_string(),
    }
}

/// What the system said, without the number that only programmers look up.
fn system_message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// What is wrong with an input file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputError {
    file: String,
    place: Option<Place>,
    problem: String,
    hint: Option<String>,
}

/// Where in a file, as an editor or a spreadsheet counts: from one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: Option<usize>,
    /// The column's name, if the file has a header.
    pub(crate) column_name: Option<String>,
}

impl InputError {
    pub(crate) fn new(file: &str, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place: None, problem: problem.into(), hint: None }
    }

    pub(crate) fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::error::Error for InputError {}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = &self.place {
            write!(f, ", line {}", place.line)?;
            if let Some(column) = place.column {
                write!(f, ", column {column}")?;
            }
            if let Some(name) = &place.column_name {
                write!(f, " ({name})")?;
            }
        }
        write!(f, ": {}", self.problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_error_names_file_line_and_column() {
        let place = Place { line: 3, column: Some(2), column_name: Some("width".to_owned()) };
        let error = InputError::new("iris.csv", "\"wide\" is not a number").at(place);
        assert_eq!(error.to_string(), "iris.csv, line 3, column 2 (width): \"wide\" is not a number");
    }

    #[test]
    fn a_parameter_is_named_as_the_flag_that_sets_it() {
        let failure = Failure::from(mercer::Error::invalid("n_components", "at least 1", 0));
        assert_eq!(failure.to_string(), "--n-components must be at least 1, but it is 0");
        assert_eq!((failure.status(), failure.kind()), (ExitStatus::BadInput, "input"));
    }

    #[test]
    fn negative_eigenvalues_are_told_in_the_words_of_the_library() {
        let told = |ratio: f64| Failure::from(mercer::Error::NegativeEigenvalues { ratio, can_flip: true }).to_string();
        let start = "the kernel is not positive semi-definite: there are significant negative eigenvalues";
        assert_eq!(told(0.25), format!("{start} (2.5e-1 of the largest)"));
        assert_eq!(told(f64::INFINITY), format!("{start} (and none that is positive)"));
    }

    #[test]
    fn every_kind_of_failure_has_its_exit_code() {
        let over = mercer::Error::OverBudget { what: "x".to_owned(), needed: 2, budget: 1, advice: String::new() };
        for (failure, kind, code) in [
            (Failure::from(over), "over-budget", 3),
            (Failure::from(mercer::Error::Interrupted { phase: "solving" }), "interrupted", 130),
            (Failure::NoMemory { file: "x.csv".to_owned(), needed: None }, "over-budget", 3),
            (Failure::TimeLimit(mercer::Error::Interrupted { phase: "solving" }), "usage", 2),
            (Failure::usage("x"), "usage", 2),
            (Failure::from(InputError::new("x.csv", "the file is empty")), "input", 2),
            (Failure::file("reading", Path::new("x"))(io::ErrorKind::NotFound.into()), "file", 2),
        ] {
            assert_eq!((failure.kind(), failure.status().code()), (kind, code));
        }
    }

    #[test]
    fn the_file_is_named_when_its_contents_are_the_problem() {
        let refuse = Failure::in_data("points.npy");
        let failure = refuse(mercer::Error::TooFewRows { needed: 2, found: 1 });
        assert_eq!(failure.to_string(), "points.npy: kernel PCA needs at least 2 rows, but there is 1");
    }

    #[test]
    fn a_failure_after_saving_is_the_same_and_says_where_things_are() {
        let ragged = InputError::new("rows", "2 columns, but line 1 has 3").hint("a delimiter is missing");
        let failure = Failure::from(ragged).after_saving("the model is in rows.mercer".to_owned());
        assert_eq!(failure.to_string(), "rows: 2 columns, but line 1 has 3");
        assert_eq!((failure.kind(), failure.status()), ("input", ExitStatus::BadInput));
        assert_eq!(failure.hint(), Some("a delimiter is missing; the model is in rows.mercer"));
        let failure = Failure::usage("no").after_saving("the model is in rows.mercer".to_owned());
        assert_eq!(failure.hint(), Some("the model is in rows.mercer"));
    }

    #[test]
    fn a_reader_that_goes_away_is_no_failure() {
        let failure = Failure::StandardOutput(io::ErrorKind::BrokenPipe.into());
        assert!(failure.is_broken_pipe());
        assert_eq!(failure.status().code(), 0);
    }
}
