//! Flags of `mercer fit --gram nystrom`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mercer::GramChoice;
use mercer::nystrom::Landmarks;

use super::numbers::{number, whole};
use crate::spelling::nearest;

/// What a fit multiplies with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FitGram {
    /// The kernel matrix.
    Exact(GramChoice),
    /// What landmarks make of it.
    Nystrom,
}

/// The name of landmarks among ways to make products.
pub(super) const NYSTROM: &str = "nystrom";

/// The ways that a fit can be asked for; clap suggests the nearest name for a wrong one.
pub(super) fn grams() -> impl TypedValueParser<Value = FitGram> {
    let names = GramChoice::NAMES.iter().copied().chain([NYSTROM]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        NYSTROM => Ok(FitGram::Nystrom),
        other => other.parse().map(FitGram::Exact),
    })
}

/// Where landmarks come from.
#[derive(Clone, Debug)]
pub(crate) enum LandmarkChoice {
    /// They are chosen among the data.
    Rule(Landmarks),
    /// They are the points of a file.
    File(PathBuf),
}

impl FromStr for LandmarkChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(rule) = text.parse() {
            return Ok(Self::Rule(rule));
        }
        // A mistyped rule is not taken for a file that is missing.
        if text == "-" || text.contains(['.', '/', std::path::MAIN_SEPARATOR]) {
            return Ok(Self::File(text.into()));
        }
        let rules = Landmarks::NAMES.join(", ");
        let allowed =
            format!("give one of {rules}, or a file, whose name has a dot or a slash in it, or - for standard input");
        Err(match nearest(text, Landmarks::NAMES.iter().copied()) {
            Some(near) => format!("{allowed}; `{near}` is similar"),
            None => allowed,
        })
    }
}

/// Which landmarks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LandmarkArgs {
    /// How landmarks are chosen: uniform, kmeans, rpcholesky or leverage; or a file of points that are the landmarks, with the
    /// columns of the data (- is CSV on standard input) [default: rpcholesky]
    #[arg(long, value_name = "RULE|FILE")]
    pub(crate) landmarks: Option<LandmarkChoice>,
    /// Number of landmarks [default: 10 per component, at least 100]
    #[arg(long, value_name = "M", value_parser = whole::<usize>)]
    pub(crate) n_landmarks: Option<usize>,
}

impl LandmarkArgs {
    /// The flags that were given, by name.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        [("--landmarks", self.landmarks.is_some()), ("--n-landmarks", self.n_landmarks.is_some())]
            .into_iter()
            .filter_map(|(name, given)| given.then_some(name))
    }

    /// The file that landmarks are in, if they are in one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.landmarks {
            Some(LandmarkChoice::File(path)) => Some(path),
            Some(LandmarkChoice::Rule(_)) | None => None,
        }
    }
}

/// Flags that only an approximation has.
#[derive(Clone, Debug, Default, Args)]
#[command(
    next_help_heading = "Approximation (--gram nystrom, or allowed by --accuracy)",
    mut_arg("n_landmarks", |flag| {
        flag.help("Number of landmarks [default: 10 per component, at least 100; as many as --accuracy takes]")
    })
)]
pub(crate) struct NystromArgs {
    #[command(flatten)]
    pub(crate) landmarks: LandmarkArgs,
    /// Allow components whose residual against the exact kernel matrix, relative to the first eigenvalue, is up to this
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) accuracy: Option<f64>,
    /// Read the file twice, block by block, instead of keeping it in memory: for .csv, .tsv, .parquet and .arrow
    #[arg(long)]
    pub(crate) blocks: bool,
}

impl NystromArgs {
    /// The flags that were given, by name.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let own = [("--accuracy", self.accuracy.is_some()), ("--blocks", self.blocks)];
        self.landmarks.given().chain(own.into_iter().filter_map(|(name, given)| given.then_some(name)))
    }
}
