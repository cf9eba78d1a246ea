//! Why a benchmark gave no result.

use std::path::{Path, PathBuf};

/// The result of anything here that can fail.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why a benchmark gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The library refused.
    #[error(transparent)]
    Library(#[from] mercer::Error),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Data are not what the benchmark is defined on.
    #[error("{}: {problem}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A process could not be started, or did not come to a good end.
    #[error("{process}: {problem}")]
    Process {
        /// What was run.
        process: String,
        /// What happened, with what it wrote to its standard error.
        problem: String,
    },
    /// Text that should be JSON of a known shape is not.
    #[error("{what} cannot be understood: {source}")]
    Json {
        /// Where the text came from.
        what: String,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// Two answers to the same question differ, so their times cannot be compared.
    #[error("wrong answer: {what} is {found:e}, which must be at most {limit:e}")]
    WrongAnswer {
        /// What was compared.
        what: String,
        /// How far apart the answers are.
        found: f64,
        /// How far apart they may be.
        limit: f64,
    },
    /// The page of results is not what the records say.
    #[error("{} is stale; `scripts/bench table` makes it anew", path.display())]
    Stale {
        /// The page.
        path: PathBuf,
    },
}

impl Failure {
    /// A failure to read or write `path`; made for `map_err`.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_owned(), source }
    }
}
