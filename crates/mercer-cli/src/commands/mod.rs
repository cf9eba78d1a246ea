//! One file per command: from what was typed to what it means, and then to work.

mod autoencoder;
mod blocks;
mod classify;
mod cluster;
mod compare;
mod completions;
mod demo;
mod denoise;
mod denoise_rows;
mod fit;
mod hebbian;
mod help;
mod info;
mod landmarks;
mod learn;
mod man;
mod nystrom;
mod plan;
mod reconstruct;
mod report;
mod reproduce;
mod score;
mod session;
mod settings;
mod stream;
mod transform;
mod tune;
mod upscale;

use crate::args::Command;
use crate::failure::{ExitStatus, Result};

/// Does what was asked.
pub(crate) fn run(command: Command) -> Result<ExitStatus> {
    match command {
        Command::Fit(args) => fit::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Transform(args) => transform::run(&args),
        Command::Reconstruct(args) => reconstruct::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Denoise(args) => denoise::run(&args),
        Command::DenoiseRows(args) => denoise_rows::run(&args),
        Command::Upscale(args) => upscale::run(&args),
        Command::Stream(args) => stream::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Classify(args) => classify::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Help(args) => help::run(&args),
    }
}
