//! Flags of `mercer fit --solver hebbian`, and of its plan.

use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mercer::hebbian::RecordError;
use mercer::{Gain, GainRule, Refresh, SolverChoice};

use super::fit::choice;
use super::numbers::{number, whole};

/// How components are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FitSolver {
    /// By finding eigenpairs.
    Eigen(SolverChoice),
    /// By the kernel Hebbian algorithm.
    Hebbian,
}

/// The name of the kernel Hebbian algorithm among solvers.
pub(crate) const HEBBIAN: &str = "hebbian";

/// The solvers that a fit can be asked for; clap suggests the nearest name for a wrong one.
pub(super) fn solvers() -> impl TypedValueParser<Value = FitSolver> {
    let names = SolverChoice::NAMES.iter().copied().chain([HEBBIAN]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        HEBBIAN => Ok(FitSolver::Hebbian),
        other => other.parse().map(FitSolver::Eigen),
    })
}

/// Flags that only the kernel Hebbian algorithm has.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Kernel Hebbian algorithm (--solver hebbian)")]
pub(crate) struct HebbianArgs {
    /// Gain rule [default: et*]
    #[arg(long, value_name = "RULE", value_parser = choice::<GainRule>(GainRule::NAMES))]
    pub(crate) gain: Option<GainRule>,
    /// Gain, or `auto` for the largest that does not diverge [default: auto]
    #[arg(long, value_name = "NUMBER", value_parser = gain, allow_negative_numbers = true)]
    pub(crate) eta0: Option<Gain>,
    /// Updates after which the gain has halved, for t, et*, smd* and ts [default: the number of points, three times that for
    /// et* and smd*]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) tau: Option<f64>,
    /// Meta-gain, or `auto`, for rules that adapt their gains: smd*, smd, s, ts, es [default: auto]
    #[arg(long, value_name = "NUMBER", value_parser = gain, allow_negative_numbers = true)]
    pub(crate) mu: Option<Gain>,
    /// How long these rules remember, from 0 to 1 [default: 0.99]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) xi: Option<f64>,
    /// Log-gains that these rules start with [default: 0]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) rho0: Option<f64>,
    /// When eigenvalue estimates and gains are renewed [default: pass]
    #[arg(long, value_name = "WHEN", value_parser = choice::<Refresh>(Refresh::NAMES))]
    pub(crate) refresh: Option<Refresh>,
    /// Passes over the points [default: 10]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) passes: Option<usize>,
    /// Updates that are computed together; changes the answer by rounding only [default: chosen for speed]. For
    /// --method autoencoder: samples that are averaged in an update [default: n/64, 2 to 128]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) batch_size: Option<usize>,
}

/// How far the kernel Hebbian algorithm goes, where that is no whole number of passes.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Kernel Hebbian algorithm (--solver hebbian)")]
pub(crate) struct UpdatesArgs {
    /// Updates, one point each, instead of whole --passes
    #[arg(long, value_name = "N", value_parser = whole::<usize>, conflicts_with = "passes")]
    pub(crate) updates: Option<usize>,
}

/// Flags of a fit by the kernel Hebbian algorithm that say how far it goes and what is looked at on the way.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Kernel Hebbian algorithm (--solver hebbian)")]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) length: UpdatesArgs,
    /// Updates after which the history in the record gets an entry, beside those at the end of every pass
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) record_every: Option<usize>,
    /// Whether entries have the reconstruction error, which costs half a pass over the matrix each: auto has it up to 4096 points,
    /// where it takes no longer than the updates since the last one [default: auto]
    #[arg(long, value_name = "WHEN", value_parser = choice::<RecordError>(RecordError::NAMES))]
    pub(crate) record_error: Option<RecordError>,
    /// Updates after which the state goes to --checkpoint, at the end of their batch, instead of --checkpoint-every
    #[arg(long, value_name = "N", value_parser = whole::<usize>, requires = "checkpoint", conflicts_with = "checkpoint_every")]
    pub(crate) keep_every: Option<usize>,
}

impl HistoryArgs {
    /// The flags that were given, by name.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("--updates", self.length.updates.is_some()),
            ("--record-every", self.record_every.is_some()),
            ("--record-error", self.record_error.is_some()),
            ("--keep-every", self.keep_every.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
    }
}

impl HebbianArgs {
    /// The flags that were given, by name.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("--gain", self.gain.is_some()),
            ("--eta0", self.eta0.is_some()),
            ("--tau", self.tau.is_some()),
            ("--mu", self.mu.is_some()),
            ("--xi", self.xi.is_some()),
            ("--rho0", self.rho0.is_some()),
            ("--refresh", self.refresh.is_some()),
            ("--passes", self.passes.is_some()),
            ("--batch-size", self.batch_size.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
    }

    /// The first flag that the gain rule does not read.
    pub(crate) fn unread(&self) -> Option<&'static str> {
        let rule = self.gain.unwrap_or_default();
        self.given().find(|name| match *name {
            "--tau" => !rule.uses_tau(),
            "--mu" | "--xi" | "--rho0" => !rule.adapts(),
            "--refresh" => !rule.uses_eigenvalues(),
            _ => false,
        })
    }
}

/// A gain. The library names the parameter and repeats the value, which clap has already done.
fn gain(text: &str) -> Result<Gain, String> {
    Gain::from_str(text).map_err(|error| match error {
        mercer::Error::InvalidParameter { requirement, .. } => format!("give {requirement}"),
        other => other.to_string(),
    })
}
