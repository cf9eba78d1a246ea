//! Arguments of `mercer stream`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use mercer::online::{Policy, Rule, Schedule};

use super::fit::{choice, kernel_names};
use super::numbers::{number, whole};
use super::report::ReportArgs;
use super::values::{ColumnName, Delimiter, TimeLimit};

/// Arguments of `mercer stream`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer stream --n-components 4 --budget 500 --emit scores,novelty

Rows of a file, with a state to go on from and a model at the end:
  tail -n +1 -f sensors.csv | mercer stream --budget 300 --checkpoint state \\
      --checkpoint-every 30s --resume --replay -o sensors.mercer

On from a model of the past, by its kernel, scaling and columns:
  mercer stream digits.mercer --budget 300 --emit scores,novelty")]
pub(crate) struct StreamArgs {
    /// What to begin with: a model, whose components learn on and whose points count as rows that were learned; or a checkpoint of an earlier
    /// stream, which goes on with its own settings [default: nothing]
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) rows: RowArgs,
    #[command(flatten)]
    pub(crate) kernel: StreamKernelArgs,
    #[command(flatten)]
    pub(crate) learning: LearningArgs,
    #[command(flatten)]
    pub(crate) checkpoint: StreamCheckpointArgs,
    /// What is written to standard output for every row, as soon as it has come; scores are of the components as they learn, pc1 always of the same one
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, help_heading = "Output")]
    pub(crate) emit: Vec<Emit>,
    /// How it is written [default: csv]
    #[arg(long, value_name = "FORMAT", value_enum, requires = "emit", help_heading = "Output")]
    pub(crate) emit_format: Option<EmitFormat>,
    /// Where the model of what was learned goes at the end, or when a bad row ends the stream; its components are ordered by variance
    #[arg(short, long, value_name = "MODEL", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// Flags that say how rows are read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading the rows")]
pub(crate) struct RowArgs {
    /// How rows are written [default: ndjson if the first line begins with [ or {, else csv]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<RowFormat>,
    /// What is done about a row that cannot be used
    #[arg(long, value_name = "CHOICE", value_enum, default_value_t)]
    pub(crate) bad_rows: BadRows,
    /// Columns to use, by name or number or as 3-10, in this order [default: all; fields of JSON objects in alphabetical order]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) columns: Vec<ColumnName>,
    /// Columns to leave out
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) drop: Vec<ColumnName>,
    /// Take columns in the order they stand in, whatever their names [default: by the names of the rows that were learned, and those of
    /// --start by the names of the rows]
    #[arg(long)]
    pub(crate) by_position: bool,
    /// The first row is a header, whatever it looks like
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,
    /// The first row is data (without either flag, it is a header if it has words and no numbers)
    #[arg(long)]
    pub(crate) no_header: bool,
    /// What separates columns: one character, `tab` or `space`
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) delimiter: Option<Delimiter>,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    #[value(help = None)]
    Csv,
    #[value(help = None)]
    Tsv,
    #[value(help = None)]
    Ndjson,
}

/// What is done about a row that cannot be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BadRows {
    #[default]
    #[value(help = None)]
    Fail,
    #[value(help = None)]
    Skip,
}

/// What is written for every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    #[value(help = None)]
    Line,
    #[value(help = None)]
    Scores,
    #[value(help = None)]
    Novelty,
}

impl Emit {
    /// As it is called on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Scores => "scores",
            Self::Novelty => "novelty",
        }
    }
}

/// How it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmitFormat {
    #[default]
    #[value(help = None)]
    Csv,
    #[value(help = None)]
    Ndjson,
}

/// Flags that choose the kernel. Its width cannot come from rows that are still to come.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Kernel")]
pub(crate) struct StreamKernelArgs {
    /// Kernel function [default: gaussian, or that of the model]
    #[arg(long, value_name = "NAME", value_parser = kernel_names())]
    pub(crate) kernel: Option<String>,
    /// Inverse width [default: 1 / columns]
    #[arg(long, value_name = "NUMBER", value_parser = width, allow_negative_numbers = true)]
    pub(crate) gamma: Option<f64>,
    /// Width sigma, instead of gamma = 1 / (2 sigma^2)
    #[arg(long, value_name = "SIGMA", value_parser = width, conflicts_with = "gamma", allow_negative_numbers = true)]
    pub(crate) bandwidth: Option<f64>,
    /// Degree of the polynomial kernel [default: 3]
    #[arg(long, value_name = "DEGREE", value_parser = whole::<u32>)]
    pub(crate) degree: Option<u32>,
    /// Constant term of the polynomial and sigmoid kernels [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) coef0: Option<f64>,
    /// Tail exponent of the rational quadratic kernel [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) alpha: Option<f64>,
    /// Do not subtract the running mean in feature space
    #[arg(long)]
    pub(crate) no_center: bool,
}

/// Flags that say how components are learned.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Learning")]
pub(crate) struct LearningArgs {
    /// Number of components [default: 2, oja: 1, or those of the model]
    #[arg(short, long, value_name = "K", value_parser = whole::<usize>)]
    pub(crate) n_components: Option<usize>,
    /// How components learn [default: simultaneous]
    #[arg(long, value_name = "RULE", value_parser = choice::<Rule>(Rule::NAMES))]
    pub(crate) rule: Option<Rule>,
    /// Components learn one after the other, each from so many rows while those before it stand still, and the last one for ever; for the
    /// rule apex [default: all at once]
    #[arg(long, value_name = "ROWS", value_parser = whole::<usize>)]
    pub(crate) rows_per_component: Option<usize>,
    /// Points that components start from: a data file with one row per component, whose columns are found by their names if they and the rows
    /// have any; they stay in memory, beside the budget [default: the first rows that differ]
    #[arg(long, value_name = "FILE")]
    pub(crate) start: Option<PathBuf>,
    /// Learning rate [default: 0.05 / the variance of the rows so far; with 1/t, 2 / the smallest variance of a component, as long as the
    /// rate is not above that]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) learning_rate: Option<f64>,
    /// How the rate changes with the number of rows [default: constant]
    #[arg(long, value_name = "NAME", value_parser = choice::<Schedule>(Schedule::NAMES))]
    pub(crate) schedule: Option<Schedule>,
    /// Rows after which an annealed rate has halved [default: 1000]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) tau: Option<f64>,
    /// How much of what earlier components explain the simultaneous rule subtracts [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) beta: Option<f64>,
    /// Rows to remember; time and memory per row do not grow beyond that; the last 512 rows are kept beside them, to measure variances
    /// on [default: all]
    #[arg(long, value_name = "ROWS", value_parser = whole::<usize>)]
    pub(crate) budget: Option<usize>,
    /// What happens to a row that the budget has no room for [default: project]
    #[arg(long, value_name = "POLICY", value_parser = choice::<Policy>(Policy::NAMES))]
    pub(crate) policy: Option<Policy>,
    /// Share of the running mean and variances that every row replaces, at least; with the policies oldest and smallest, one over the
    /// budget of the mean is, so less has no effect on it [default: all rows count alike]
    #[arg(long, value_name = "SHARE", value_parser = number, allow_negative_numbers = true)]
    pub(crate) forgetting: Option<f64>,
}

/// Flags that let a stream be cut off and go on.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Long streams")]
pub(crate) struct StreamCheckpointArgs {
    /// Keep the state of the learner in a file, now and then and at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// How often: a number of rows (10000) or a time (30s) [default: 10s]
    #[arg(long, value_name = "ROWS|TIME", requires = "checkpoint")]
    pub(crate) checkpoint_every: Option<Every>,
    /// Go on from the checkpoint, if there is one
    #[arg(long, requires = "checkpoint")]
    pub(crate) resume: bool,
    /// The rows begin again from the first one: pass over as many as were read before the checkpoint
    #[arg(long)]
    pub(crate) replay: bool,
}

/// A width. The words that other commands take are about data that are all there.
fn width(text: &str) -> Result<f64, String> {
    match text {
        "auto" | "median" | "scale" => {
            Err("give a number: rows that are still to come have no width yet; `mercer tune` finds one for a sample of them"
                .to_owned())
        }
        _ => number(text),
    }
}

/// How often something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Every {
    /// After so many rows.
    Rows(usize),
    /// After this time.
    Time(Duration),
}

impl Default for Every {
    fn default() -> Self {
        Self::Time(Duration::from_secs(10))
    }
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<usize>() {
            Ok(rows) if rows > 0 => Ok(Self::Rows(rows)),
            Err(_) if text.ends_with(|c: char| c.is_ascii_alphabetic()) => {
                text.parse().map(|TimeLimit(time)| Self::Time(time))
            }
            _ => Err("give a number of rows such as 10000, or a time such as 30s".to_owned()),
        }
    }
}

impl StreamArgs {
    /// The first flag that describes a learner, if there is one: a learner that goes on has its own.
    pub(crate) fn describes_a_learner(&self) -> Option<&'static str> {
        let learning = &self.learning;
        let others = [
            ("--no-center", self.kernel.no_center),
            ("--n-components", learning.n_components.is_some()),
            ("--rule", learning.rule.is_some()),
            ("--rows-per-component", learning.rows_per_component.is_some()),
            ("--start", learning.start.is_some()),
            ("--learning-rate", learning.learning_rate.is_some()),
            ("--schedule", learning.schedule.is_some()),
            ("--tau", learning.tau.is_some()),
            ("--beta", learning.beta.is_some()),
            ("--budget", learning.budget.is_some()),
            ("--policy", learning.policy.is_some()),
            ("--forgetting", learning.forgetting.is_some()),
        ];
        self.kernel.first_flag().or(first_given(&others))
    }
}

impl StreamKernelArgs {
    /// The first flag that describes the kernel, if there is one.
    pub(crate) fn first_flag(&self) -> Option<&'static str> {
        first_given(&[
            ("--kernel", self.kernel.is_some()),
            ("--gamma", self.gamma.is_some()),
            ("--bandwidth", self.bandwidth.is_some()),
            ("--degree", self.degree.is_some()),
            ("--coef0", self.coef0.is_some()),
            ("--alpha", self.alpha.is_some()),
        ])
    }
}

fn first_given(flags: &[(&'static str, bool)]) -> Option<&'static str> {
    flags.iter().find_map(|&(name, given)| given.then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_come_after_rows_or_time() {
        assert_eq!("10000".parse(), Ok(Every::Rows(10_000)));
        assert_eq!("30s".parse(), Ok(Every::Time(Duration::from_secs(30))));
        assert_eq!("250ms".parse(), Ok(Every::Time(Duration::from_millis(250))));
        for wrong in ["", "0", "-5", "0s", "5 rows", "1.5"] {
            assert!(wrong.parse::<Every>().is_err(), "{wrong:?} was accepted");
        }
    }
}
