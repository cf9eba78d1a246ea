//! What was typed: plain data, checked word by word and no further. One file per command.

mod autoencoder;
mod classify;
mod cluster;
mod compare;
mod completions;
mod data;
mod demo;
mod denoise;
mod fit;
mod hebbian;
mod help;
mod info;
mod man;
mod numbers;
mod nystrom;
mod page;
mod plan;
mod reconstruct;
mod report;
mod reproduce;
mod score;
mod stream;
mod transform;
mod tune;
mod upscale;
mod values;

use clap::{Parser, Subcommand};

pub(crate) use autoencoder::{AutoencoderStart, FitMethod};
pub(crate) use classify::{ClassifyArgs, UnitChoice};
pub(crate) use cluster::ClusterArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use completions::CompletionsArgs;
pub(crate) use data::{DataArgs, QueryArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use denoise::{DenoiseArgs, DenoiseRowsArgs, FilterArgs};
pub(crate) use fit::{CheckpointArgs, FitArgs, KernelArgs, PrecisionChoice, SolveArgs};
pub(crate) use hebbian::{FitSolver, HEBBIAN, HebbianArgs, HistoryArgs};
pub(crate) use help::HelpArgs;
pub(crate) use info::InfoArgs;
pub(crate) use man::ManArgs;
pub(crate) use numbers::join_negative_values;
pub(crate) use nystrom::{FitGram, LandmarkArgs, LandmarkChoice, NystromArgs};
pub(crate) use page::PageArgs;
pub(crate) use plan::PlanArgs;
pub(crate) use reconstruct::ReconstructArgs;
pub(crate) use report::{ProgressChoice, ReportArgs};
pub(crate) use reproduce::{Experiment, ReproduceArgs};
pub(crate) use score::ScoreArgs;
pub(crate) use stream::{
    BadRows, Emit, EmitFormat, Every, LearningArgs, RowArgs, RowFormat, StreamArgs, StreamKernelArgs,
};
pub(crate) use transform::TransformArgs;
pub(crate) use tune::TuneArgs;
pub(crate) use upscale::UpscaleArgs;
pub(crate) use values::{
    ColumnName, ComparedMethod, Delimiter, Format, Gamma, ImageSize, MethodName, Pixels, RowRange, ScaleFactor,
    TimeLimit,
};

/// Kernel PCA of files, exact at any size within a memory budget
#[derive(Debug, Parser)]
#[command(
    name = "mercer",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "\
Example, from nothing to a model and two pictures:
  mercer demo

Exit codes:
  0    done
  1    done, but not converged or interrupted; what there is, is saved
  2    wrong call or bad input
  3    would not fit the memory budget
  101  a bug
  130  interrupted with nothing to save, or twice"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One of the things the command can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Learn components from a file and save them as a model
    Fit(Box<FitArgs>),
    /// What a fit would do, and what it would cost in time and memory
    Plan(Box<PlanArgs>),
    /// Scores of points under a model, or their clusters
    Transform(Box<TransformArgs>),
    /// What a model keeps of points, as points, with their error
    Reconstruct(Box<ReconstructArgs>),
    /// Novelty: how unlike the training points of a model other points are
    Score(Box<ScoreArgs>),
    /// Clusters of points, of any shape: spectral clustering
    Cluster(Box<ClusterArgs>),
    /// A picture without noise, by kernel PCA of its patches
    Denoise(Box<DenoiseArgs>),
    /// Rows in the order of time, such as the frames of a motion, without noise
    DenoiseRows(Box<DenoiseRowsArgs>),
    /// Larger pictures of a kind that is known, such as faces
    Upscale(Box<UpscaleArgs>),
    /// Learn from rows on standard input, one at a time; in constant memory with --budget
    Stream(Box<StreamArgs>),
    /// Several methods on the same data: time, memory, residual, angle to the most exact one
    Compare(Box<CompareArgs>),
    /// The width of a kernel that suits the data: the curve, the best, seconds
    Tune(Box<TuneArgs>),
    /// How well classes are told apart by kernel PCA and a linear unit, by cross-validation
    Classify(Box<ClassifyArgs>),
    /// An experiment of the papers: what they claim beside what comes out
    Reproduce(ReproduceArgs),
    /// What a model file holds
    Info(InfoArgs),
    /// The record of a run as a page with pictures
    Report(PageArgs),
    /// Kernel PCA of bundled handwritten digits, from nothing to pictures
    Demo(DemoArgs),
    /// A script that makes a shell complete commands and flags
    Completions(CompletionsArgs),
    /// Manual pages, written to a directory
    Man(ManArgs),
    /// Help on a command, on `kernels`, or on `methods`
    Help(HelpArgs),
}

#[cfg(test)]
mod tests;
