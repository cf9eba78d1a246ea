//! Benchmarks of mercer: how fast, with how much memory, against whom.
//!
//! Every benchmark is one file of `benchmarks/`, named by its question. It runs what it compares in turn, takes the
//! best of several rounds, checks that the answers agree, and writes a record; `docs/benchmarks.md` is made from the
//! records and from nothing else. A wrong answer fails the benchmark; a missed bar does not: it is recorded as missed.
//!
//! `scripts/bench NAME` builds this program and runs it.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that stops there says where"))]

mod answers;
mod benchmarks;
mod child;
mod cube;
mod digit_sets;
mod failure;
mod figures;
mod harness;
mod history;
mod machine;
mod memory;
mod plot;
mod points_file;
mod record;
mod rival;
mod setup;
mod table;
mod usps;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use benchmarks::Benchmark;
use failure::Result;
use setup::{Options, Setup};

#[derive(Parser)]
#[command(name = "mercer-bench", about = "Runs one benchmark and writes its record")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[command(rename_all = "snake_case")]
enum Command {
    /// Kernel tiles against the bare products, and the whole matrix against scikit-learn
    TileFloor(Options),
    /// Fits of 10000 MNIST digits against scikit-learn
    FitVsSklearn(Options),
    /// Fits of all 60000 MNIST digits against the floor of their matrix products
    MnistFull(Options),
    /// Scores of 10000 new digits against scikit-learn
    TransformVsSklearn(Options),
    /// Time and memory against the number of points
    Growth(Options),
    /// What plans say fits will take against what they take
    PlanEstimates(Options),
    /// How long the command takes to start
    StartUp(Options),
    /// A gigabyte of CSV against pandas and polars
    ReadCsv(Options),
    /// A pass of the kernel Hebbian algorithm against its kernel rows
    HebbianPass(Options),
    /// The kernel Hebbian algorithm against the one of R's kernlab
    HebbianVsKernlab(Options),
    /// Excess errors of the kernel Hebbian algorithm, rule by rule
    HebbianConvergence(Options),
    /// One pass of the kernel Hebbian algorithm over all of MNIST, rule by rule
    HebbianMnist(Options),
    /// Rows per second of an online learner against `NumPy`
    StreamThroughput(Options),
    /// Variance that online learners capture against batch kernel PCA
    StreamQuality(Options),
    /// One product with the kernel matrix of a million points in three dimensions
    #[command(name = "fast_sum_3d")]
    FastSum3d(Options),
    /// Kernel PCA of a million points in three dimensions
    KpcaMillion(Options),
    /// From how many points on expansions are faster than tiles
    FastVsDirect(Options),
    /// Whether the method that is chosen for a product is the fastest
    FastChoice(Options),
    /// Landmarks: what they miss, the angle to the exact components, and time, against scikit-learn
    NystromLandmarks(Options),
    /// Clusters of all USPS digits against scikit-learn
    ClusterUsps(Options),
    /// Noise taken off pictures against the kernel Hebbian algorithm and non-local means
    DenoiseImage(Options),
    /// A scan of bandwidths against one, and against an eigenproblem per step
    TuneSpeed(Options),
    /// The bandwidth of all of MNIST by sampling
    TuneMnist(Options),
    /// Classification of UCI data with automatic bandwidths against a support vector machine
    TuneTasks(Options),
    /// Pre-images of noisy digits, method by method
    Preimage(Options),
    /// Autoencoder kernel PCA of MNIST beside PCA and kernel PCA
    AkpcaMnist(Options),
    /// Makes the page of results from the records
    Table(table::TableOptions),
    /// One fit in a process of its own
    #[command(hide = true)]
    FitOnce(child::FitOnce),
    /// One clustering in a process of its own
    #[command(hide = true)]
    ClusterOnce(child::ClusterOnce),
    /// One plan and its fit in a process of its own
    #[command(hide = true)]
    PlanOnce(child::PlanOnce),
    /// One product with the linear kernel in a process of its own
    #[command(hide = true)]
    ProductOnce(child::ProductOnce),
    /// One transform in a process of its own
    #[command(hide = true)]
    TransformOnce(child::TransformOnce),
    /// One reading of a file in a process of its own
    #[command(hide = true)]
    ReadOnce(child::ReadOnce),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let (benchmark, options) = match command {
        Command::TuneSpeed(options) => (Benchmark::TuneSpeed, options),
        Command::TuneMnist(options) => (Benchmark::TuneMnist, options),
        Command::TuneTasks(options) => (Benchmark::TuneTasks, options),
        Command::Preimage(options) => (Benchmark::Preimage, options),
        Command::AkpcaMnist(options) => (Benchmark::AkpcaMnist, options),
        Command::TileFloor(options) => (Benchmark::TileFloor, options),
        Command::FitVsSklearn(options) => (Benchmark::FitVsSklearn, options),
        Command::MnistFull(options) => (Benchmark::MnistFull, options),
        Command::TransformVsSklearn(options) => (Benchmark::TransformVsSklearn, options),
        Command::Growth(options) => (Benchmark::Growth, options),
        Command::PlanEstimates(options) => (Benchmark::PlanEstimates, options),
        Command::StartUp(options) => (Benchmark::StartUp, options),
        Command::ReadCsv(options) => (Benchmark::ReadCsv, options),
        Command::HebbianPass(options) => (Benchmark::HebbianPass, options),
        Command::ClusterUsps(options) => (Benchmark::ClusterUsps, options),
        Command::DenoiseImage(options) => (Benchmark::DenoiseImage, options),
        Command::HebbianMnist(options) => (Benchmark::HebbianMnist, options),
        Command::HebbianConvergence(options) => (Benchmark::HebbianConvergence, options),
        Command::StreamThroughput(options) => (Benchmark::StreamThroughput, options),
        Command::StreamQuality(options) => (Benchmark::StreamQuality, options),
        Command::FastSum3d(options) => (Benchmark::FastSum3d, options),
        Command::KpcaMillion(options) => (Benchmark::KpcaMillion, options),
        Command::FastVsDirect(options) => (Benchmark::FastVsDirect, options),
        Command::FastChoice(options) => (Benchmark::FastChoice, options),
        Command::HebbianVsKernlab(options) => (Benchmark::HebbianVsKernlab, options),
        Command::NystromLandmarks(options) => (Benchmark::NystromLandmarks, options),
        Command::Table(options) => return table::run(&options),
        Command::FitOnce(request) => return child::print(&request.run()?),
        Command::ClusterOnce(request) => return child::print(&request.run()?),
        Command::PlanOnce(request) => return child::print(&request.run()?),
        Command::ProductOnce(request) => return child::print(&request.run()?),
        Command::TransformOnce(request) => return child::print(&request.run()?),
        Command::ReadOnce(request) => return child::print(&request.run()?),
    };
    benchmark.run(&Setup::new(options)?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_benchmark_can_be_called_by_its_name() {
        for benchmark in Benchmark::ALL {
            assert!(Arguments::try_parse_from(["mercer-bench", benchmark.name()]).is_ok(), "{}", benchmark.name());
        }
    }
}
