//! The `mercer` command: kernel PCA of files.
//!
//! Data flows one way: what was typed (`args`) → what it means, one file per command (`commands`) → the library →
//! files (`output`, `picture`), records (`records`) and talk (`console`, `progress`). Only [`main`] knows about the
//! process: its arguments and its exit code. [`read_points`], [`read_image`], [`UCI_SETS`], [`folds_of`] and [`codecs`] are what benchmarks use.

mod args;
pub mod codecs;
mod commands;
mod console;
mod failure;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod input;
mod interrupt;
mod output;
mod picture;
mod progress;
mod records;
mod report;
mod spelling;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::Cli;
use crate::console::Console;
use crate::failure::{ExitStatus, Failure};

/// Data sets of the UCI repository that Nogayama, Takahashi and Muramatsu name, as their files in the folder `uci` are called.
pub const UCI_SETS: [&str; 10] = [
    "iris",
    "wine",
    "glass",
    "haberman",
    "bupa_liver_disorders",
    "ionosphere",
    "breast_cancer_wisconsin",
    "vehicle",
    "vowel",
    "segment",
];

/// So many folds, or as many as the smallest class has rows.
pub fn folds_of(labels: &[usize], most: usize) -> usize {
    let mut counts = std::collections::BTreeMap::<usize, usize>::new();
    for &label in labels {
        *counts.entry(label).or_default() += 1;
    }
    counts.into_values().fold(most, usize::min)
}

/// Reads the points of a data file as the command does when no flag is given.
///
/// # Errors
///
/// What the command would say.
pub fn read_points(path: &Path) -> Result<mercer::Points, String> {
    let options = input::ReadOptions::from(&args::DataArgs::default());
    input::read(path, &options).map(|data| data.points).map_err(|failure| failure.to_string())
}

/// Reads a picture as the command does: colours from zero to one, whatever their depth, without transparency.
///
/// # Errors
///
/// What the command would say.
pub fn read_image(path: &Path) -> Result<mercer::denoise::Image, String> {
    let picture = input::read_picture(path).map_err(|failure| failure.to_string())?;
    let (colors, largest) = (picture.colors, f64::from(picture.depth.largest()));
    let values = colors.values().iter().map(|x| x / largest).collect();
    mercer::denoise::Image::new(values, colors.height(), colors.width(), colors.channels())
        .map_err(|error| error.to_string())
}

/// Runs the command that the process was started with and returns its exit code.
pub fn main() -> ExitCode {
    failure::name_bugs();
    failure::let_large_files_fail();
    let words: Vec<OsString> = std::env::args_os().collect();
    let asked = Asked::by(&words);
    let status = match Cli::try_parse_from(args::join_negative_values(words)) {
        Ok(cli) => commands::run(cli.command).unwrap_or_else(|failure| asked.explain(&failure)),
        Err(message) => asked.answer(&spelling::advised(message)),
    };
    ExitCode::from(status.code())
}

/// What can be told of a call before, and even if, it is understood: how its errors are to be reported.
struct Asked {
    command: String,
    json: bool,
}

impl Asked {
    fn by(words: &[OsString]) -> Self {
        let words = || words.iter().skip(1).filter_map(|word| word.to_str()).take_while(|word| *word != "--");
        let json = words().any(|word| word == "--json");
        let first = words().find(|word| !word.starts_with('-')).unwrap_or_default();
        // Looked up only where it will be printed: building all commands takes longer than anything else here.
        let is_command = || Cli::command().get_subcommands().any(|command| command.get_name() == first);
        let command = if json && is_command() { first.to_owned() } else { String::new() };
        Self { command, json }
    }

    /// Says why a command failed.
    fn explain(&self, failure: &Failure) -> ExitStatus {
        if !failure.is_broken_pipe() {
            Console::new(false).failure(failure);
            if self.json {
                print(records::failure(&self.command, failure));
            }
        }
        failure.status()
    }

    /// Prints what clap has to say: help that was asked for, or what is wrong with the call.
    fn answer(&self, message: &clap::Error) -> ExitStatus {
        if let Err(failure) = console::print_message(message) {
            return self.explain(&failure);
        }
        if !message.use_stderr() {
            return ExitStatus::Done;
        }
        if self.json {
            let text = message.render().to_string();
            print(records::wrong_call(&self.command, text.trim_start_matches("error: ").trim_end()));
        }
        ExitStatus::BadInput
    }
}

/// Prints the record of an error; an error while doing so changes nothing about the first one.
fn print(record: failure::Result<String>) {
    let _ = record.and_then(|text| console::print(&text));
}
