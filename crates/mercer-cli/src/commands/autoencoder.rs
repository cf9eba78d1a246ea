//! `mercer fit --method autoencoder`: learn an encoder and a decoder and save them; and what `info` says of them.

use std::fmt::Write;
use std::path::Path;

use mercer::autoencoder::{Autoencoder, AutoencoderKernelPca, Codec, HistoryEntry, SpanChoice, StartFrom};
use mercer::watch::Threads;
use mercer::{GramChoice, Negative, SolverChoice, Watch};
use serde::Serialize;

use super::learn::watched;
use super::session::Session;
use crate::args::{AutoencoderStart, FitArgs, FitGram, FitSolver};
use crate::failure::{ExitStatus, Failure, Result};
use crate::output::summary::{columns, short};
use crate::records::Common;

/// The record of an autoencoder.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    common: Common,
    n_samples: usize,
    n_features: usize,
    n_components: usize,
    threads: usize,
    seed: u64,
    converged: bool,
    /// Names of the columns; absent if they had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    feature_names: Option<&'a [String]>,
    autoencoder: Learned,
}

/// How it was learned.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are fields of the record, of which each says its own")]
struct Learned {
    span: &'static str,
    sign: &'static str,
    optimizer: &'static str,
    /// Absent with full span, which has but one.
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient: Option<&'static str>,
    batch_size: usize,
    eigenpair_tolerance: f64,
    largest_norm: f64,
    learning_rate: f64,
    rate_was_found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    decay: Option<f64>,
    n_halved: usize,
    updates: usize,
    diverged: bool,
    was_stopped: bool,
    is_stuck: bool,
    history: Vec<EpochRecord>,
}

/// How far it was after an epoch.
#[derive(Serialize)]
struct EpochRecord {
    epoch: usize,
    updates: usize,
    rate: f64,
    loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    validation_loss: Option<f64>,
    elapsed: f64,
}

impl From<&HistoryEntry> for EpochRecord {
    fn from(entry: &HistoryEntry) -> Self {
        Self {
            epoch: entry.epoch,
            updates: entry.updates,
            rate: entry.rate,
            loss: entry.loss,
            validation_loss: entry.validation_loss,
            elapsed: entry.seconds,
        }
    }
}

/// Refuses flags that only an autoencoder has.
pub(super) fn refuse_flags(args: &FitArgs) -> Result<()> {
    match args.autoencoder.given().next() {
        Some(flag) => Err(Failure::usage(format!("{flag} is for --method autoencoder only"))),
        None => Ok(()),
    }
}

/// Refuses flags that an autoencoder does not have.
pub(super) fn check_flags(args: &FitArgs) -> Result<()> {
    let (kernel, solve) = (&args.kernel, &args.solve);
    let no_kernel = "its kernel is (x . y)^2, not centred";
    let others = [
        ("--kernel", kernel.is_named(), no_kernel),
        ("--gamma", kernel.gamma.is_some(), no_kernel),
        ("--bandwidth", kernel.bandwidth.is_some(), no_kernel),
        ("--degree", kernel.degree.is_some(), no_kernel),
        ("--coef0", kernel.coef0.is_some(), no_kernel),
        ("--alpha", kernel.alpha.is_some(), no_kernel),
        ("--no-center", kernel.no_center, no_kernel),
        ("--negative", kernel.negative != Negative::default(), no_kernel),
        ("--gram", args.gram != FitGram::Exact(GramChoice::Auto), "it makes no products with a kernel matrix"),
        ("--solver", args.solver != FitSolver::Eigen(SolverChoice::Auto), "choose with --optimizer"),
        ("--variance", solve.variance.is_some(), "give the number of components with --n-components"),
        ("--tolerance", solve.tolerance.is_some(), "it makes as many --epochs as it is told to"),
        ("--max-passes", solve.max_passes.is_some(), "give --epochs"),
        ("--precision", solve.precision.is_some(), "it decides by itself where single precision is enough"),
        ("--checkpoint", args.checkpoint.checkpoint.is_some(), "it keeps no state between epochs"),
        ("--dry-run", args.dry_run, "there is no plan of it"),
        ("--standardize", args.data.standardize, "codes are decoded to the units of the data"),
        ("--scale", args.data.scale.is_some(), "it divides by the largest norm by itself"),
    ];
    if let Some((flag, _, why)) = others.into_iter().find(|(_, given, _)| *given) {
        return Err(Failure::usage(format!("{flag} is not for --method autoencoder: {why}")));
    }
    if let Some(flag) = args.hebbian.given().find(|flag| *flag != "--batch-size") {
        return Err(Failure::usage(format!("{flag} is for --solver hebbian only")));
    }
    if let Some(flag) = args.nystrom.given().next() {
        return Err(Failure::usage(format!(
            "{flag} is not for --method autoencoder: --span data learns over a part of the rows, --span-points says how many"
        )));
    }
    let own = &args.autoencoder;
    let over_span = [("--span-points", own.span_points.is_some()), ("--gradient", own.gradient.is_some())];
    match over_span.into_iter().find(|(_, given)| *given && own.span != Some(SpanChoice::Data)) {
        Some((flag, _)) => Err(Failure::usage(format!("{flag} is for --span data only"))),
        None => Ok(()),
    }
}

/// The same error with flags as they are typed, where the library calls them otherwise.
fn as_typed(error: mercer::Error) -> mercer::Error {
    match error {
        mercer::Error::InvalidParameter { name: "landmarks", requirement, value } => {
            mercer::Error::InvalidParameter { name: "span_points", requirement, value }
        }
        mercer::Error::OverBudget { what, needed, budget, advice } => {
            let advice = advice.replace("(span = \"data\")", "(--span data)");
            mercer::Error::OverBudget { what, needed, budget, advice }
        }
        other => other,
    }
}

/// Learns and saves.
pub(super) fn run(args: &FitArgs, output: &Path, session: &mut Session<'_>) -> Result<ExitStatus> {
    let data = session.read(&args.points, &args.data, args.solve.seed)?;
    let settings = settings(args);
    // Neither is the kernel PCA that learning starts from centred, nor what is learned.
    session.meter.without_centring();
    let time = session.time_left(args.solve.time_limit);
    let learn = |watch: &Watch<'_>| settings.fit_watched(&data.points, watch).map_err(as_typed);
    let (model, _) = session.timed("fit", |session| watched(session, &data, time, learn))?;
    let model = data.names.iter().cloned().try_fold(model, Autoencoder::with_feature_names)?;
    model.save(output)?;
    session.saved_model(output);
    if model.diverged() {
        session.warn(format!(
            "learning diverged with --learning-rate {}: {} holds the best there was",
            short(model.learning_rate()),
            output.display()
        ));
    } else if model.was_stopped() {
        let why = if session.interrupt.is_set() { "interrupted" } else { "out of time" };
        let what = match model.history().len() - 1 {
            0 => "what learning starts from: no epoch was finished".to_owned(),
            epochs => format!("the best of {epochs} finished epochs"),
        };
        session.warn(format!("{why}: {} holds {what}", output.display()));
    } else if model.is_stuck() {
        let whose = if has_held_out(&model) { "the loss of rows held out" } else { "the loss" };
        let halved = match model.n_halved() {
            0 => String::new(),
            times => format!(", though the step was halved {times} times"),
        };
        session.warn(format!(
            "nothing was learned: no epoch made {whose} smaller{halved}; {} holds what learning starts from, and more --epochs, another --learning-rate or another --start may help",
            output.display()
        ));
    }
    let status = if model.converged() { ExitStatus::Done } else { ExitStatus::NotConverged };
    let threads = args.solve.threads.unwrap_or_else(Threads::available);
    session.finish(status, &body(&model, threads, session), Some(&table(&model)))
}

/// Shows an autoencoder to somebody who asked for that.
pub(super) fn show(model: &Autoencoder, session: &Session<'_>) -> Result<ExitStatus> {
    session.finish_with(ExitStatus::Done, &body(model, 1, session), &table(model))
}

fn body<'m>(model: &'m Autoencoder, threads: usize, session: &Session<'_>) -> Body<'m> {
    Body {
        common: session.common(),
        n_samples: model.n_samples(),
        n_features: model.n_features(),
        n_components: model.n_components(),
        threads,
        seed: model.seed(),
        converged: model.converged(),
        feature_names: model.feature_names(),
        autoencoder: Learned {
            span: model.span().name(),
            sign: model.sign().name(),
            optimizer: model.optimizer().name(),
            gradient: (model.span() == SpanChoice::Data).then(|| model.gradient().name()),
            batch_size: model.batch_size(),
            eigenpair_tolerance: model.tolerance(),
            largest_norm: model.scale(),
            learning_rate: model.learning_rate(),
            rate_was_found: model.rate_was_found(),
            decay: model.decay(),
            n_halved: model.n_halved(),
            updates: model.n_updates(),
            diverged: model.diverged(),
            was_stopped: model.was_stopped(),
            is_stuck: model.is_stuck(),
            history: model.history().iter().map(EpochRecord::from).collect(),
        },
    }
}

fn settings(args: &FitArgs) -> AutoencoderKernelPca {
    let own = &args.autoencoder;
    let settings = AutoencoderKernelPca::new(args.solve.n_components.unwrap_or(2)).seed(args.solve.seed);
    let settings = own.span.into_iter().fold(settings, AutoencoderKernelPca::span);
    let settings = own.span_points.into_iter().fold(settings, AutoencoderKernelPca::landmarks);
    let settings = own.optimizer.into_iter().fold(settings, AutoencoderKernelPca::optimizer);
    let settings = own.learning_rate.into_iter().fold(settings, AutoencoderKernelPca::learning_rate);
    let settings = own.decay.into_iter().fold(settings, AutoencoderKernelPca::decay);
    let settings = own.epochs.into_iter().fold(settings, AutoencoderKernelPca::epochs);
    let settings = own.gradient.into_iter().fold(settings, AutoencoderKernelPca::gradient);
    let settings = own.sign.into_iter().fold(settings, AutoencoderKernelPca::sign);
    let settings = own.validation.into_iter().fold(settings, AutoencoderKernelPca::validation);
    let settings = own.patience.into_iter().fold(settings, AutoencoderKernelPca::patience);
    let settings = args.hebbian.batch_size.into_iter().fold(settings, AutoencoderKernelPca::batch_size);
    let settings = args.solve.memory.into_iter().fold(settings, AutoencoderKernelPca::memory);
    let settings = args.solve.threads.into_iter().fold(settings, AutoencoderKernelPca::threads);
    match own.start {
        Some(AutoencoderStart::Random) => settings.start(StartFrom::Random),
        Some(AutoencoderStart::KernelPca) | None => settings,
    }
}

/// An autoencoder for people.
fn table(model: &Autoencoder) -> String {
    let mut text = String::new();
    text.push_str(&columns(model.feature_names()));
    let _ = writeln!(text, "points      {} of {} features", model.n_samples(), model.n_features());
    let _ = writeln!(text, "codes       {} quadratic forms, {} span", model.n_components(), model.span());
    let decay = model.decay().map_or_else(String::new, |decay| format!(", halved after {} updates", short(decay)));
    let _ = writeln!(text, "learning    {} updates, step {}{decay}", model.n_updates(), short(model.learning_rate()));
    if let Some(epoch) = kept(model) {
        let _ = writeln!(text, "kept        epoch {epoch}, the best for rows held out");
    }
    let has_held_out = has_held_out(model);
    let held_out = |text: &str| if has_held_out { format!("  {text:>8}") } else { String::new() };
    let _ = writeln!(text, "\nepoch      loss{}  seconds", held_out("held out"));
    for entry in model.history() {
        let validation = held_out(&entry.validation_loss.map_or_else(String::new, short));
        let _ = writeln!(text, "{:>5}  {:>8}{validation}  {:>7.1}", entry.epoch, short(entry.loss), entry.seconds);
    }
    text
}

/// Whether rows were held out.
fn has_held_out(model: &Autoencoder) -> bool {
    model.history().iter().any(|entry| entry.validation_loss.is_some())
}

/// The epoch that was best for rows held out, which is the one that is kept; none if no rows were held out, or more points were learned from afterwards.
fn kept(model: &Autoencoder) -> Option<usize> {
    let losses = model.history().iter().map(|entry| Some((entry.epoch, entry.validation_loss?)));
    let losses = losses.collect::<Option<Vec<(usize, f64)>>>()?;
    losses.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(epoch, _)| epoch)
}
