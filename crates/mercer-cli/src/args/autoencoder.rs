//! Flags of `mercer fit --method autoencoder`.

use clap::{Args, ValueEnum};
use mercer::autoencoder::{Gradient, LearningRate, Optimizer, Sign, SpanChoice};

use super::fit::choice;
use super::numbers::{number, whole};

/// What is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FitMethod {
    #[default]
    KernelPca,
    Autoencoder,
}

/// Where an autoencoder starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AutoencoderStart {
    KernelPca,
    Random,
}

/// Flags that only the autoencoder has.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Autoencoder (--method autoencoder)")]
pub(crate) struct AutoencoderArgs {
    /// Whether forms are any, or combinations of those of the points [default: full]
    #[arg(long, value_name = "CHOICE", value_parser = choice::<SpanChoice>(SpanChoice::NAMES))]
    pub(crate) span: Option<SpanChoice>,
    /// Points that a span of the data is made of [default: all, up to 4000]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) span_points: Option<usize>,
    /// Stochastic gradients, plain or with reduced variance [default: sgd]
    #[arg(long, value_name = "CHOICE", value_parser = choice::<Optimizer>(Optimizer::NAMES))]
    pub(crate) optimizer: Option<Optimizer>,
    /// Step of the first update, for points whose largest norm is one [default: auto, found by trying]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = rate)]
    pub(crate) learning_rate: Option<LearningRate>,
    /// Updates after which the step has halved [default: a quarter of all for sgd, never for svrg]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) decay: Option<f64>,
    /// Passes over the points [default: 20]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) epochs: Option<usize>,
    /// Where learning starts [default: kernel-pca]
    #[arg(long, value_name = "CHOICE", value_enum)]
    pub(crate) start: Option<AutoencoderStart>,
    /// Which gradient moves coefficients over a span of the data [default: functional]
    #[arg(long, value_name = "CHOICE", value_parser = choice::<Gradient>(Gradient::NAMES))]
    pub(crate) gradient: Option<Gradient>,
    /// Which of x and -x, which have the same code, is decoded to [default: nearest]
    #[arg(long, value_name = "CHOICE", value_parser = choice::<Sign>(Sign::NAMES))]
    pub(crate) sign: Option<Sign>,
    /// Share of the rows that is held out, to end when their loss falls no more [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = number, allow_negative_numbers = true)]
    pub(crate) validation: Option<f64>,
    /// Epochs without a smaller loss of rows held out after which learning ends [default: 5]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) patience: Option<usize>,
}

/// A step, or `auto`. Whether it is positive is for the library to say.
fn rate(text: &str) -> Result<LearningRate, String> {
    if text == "auto" {
        return Ok(LearningRate::Auto);
    }
    text.parse().map(LearningRate::Fixed).map_err(|_| "give a number, or auto".to_owned())
}

impl AutoencoderArgs {
    /// The flags that were given, by name.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("--span", self.span.is_some()),
            ("--span-points", self.span_points.is_some()),
            ("--optimizer", self.optimizer.is_some()),
            ("--learning-rate", self.learning_rate.is_some()),
            ("--decay", self.decay.is_some()),
            ("--epochs", self.epochs.is_some()),
            ("--start", self.start.is_some()),
            ("--gradient", self.gradient.is_some()),
            ("--sign", self.sign.is_some()),
            ("--validation", self.validation.is_some()),
            ("--patience", self.patience.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
    }
}
