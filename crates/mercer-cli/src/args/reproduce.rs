//! Arguments of `mercer reproduce`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::numbers::whole;
use super::report::{ProgressArgs, ReportArgs};

/// Arguments of `mercer reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints what a paper claims beside what came out, and whether they agree. In
the output directory: NAME.md, a page of it; NAME.json, the record; and the
figures. Nothing is downloaded: data files are read from --data, by names such
as usps.npz and mnist.npz. docs/reproductions/README.md names all of them, and
what they hold.

Example:
  mercer reproduce toy-circles --out circles")]
pub(crate) struct ReproduceArgs {
    /// The experiment
    #[arg(value_name = "NAME", value_parser = experiments())]
    pub(crate) experiment: Experiment,
    /// Folder of data files; not needed by experiments that make their own data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Directory for page, record and figures; made if it is not there [default: reproduce-NAME]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Fewer points, components and passes: a look in less than two minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// An experiment of one of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Experiment {
    UspsKpca,
    UspsSpectral,
    LenaDenoising,
    FaceSuperresolution,
    Motion,
    MnistHebbian,
    Akpca,
    NogayamaLandscape,
    NogayamaUci,
    RaykarTiming,
    ToyCircles,
    ToyAnnulus,
}

impl Experiment {
    /// All of them.
    pub(crate) const ALL: [Self; 12] = [
        Self::UspsKpca,
        Self::UspsSpectral,
        Self::LenaDenoising,
        Self::FaceSuperresolution,
        Self::Motion,
        Self::MnistHebbian,
        Self::Akpca,
        Self::NogayamaLandscape,
        Self::NogayamaUci,
        Self::RaykarTiming,
        Self::ToyCircles,
        Self::ToyAnnulus,
    ];

    /// The name that it is asked for by.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::UspsKpca => "usps-kpca",
            Self::UspsSpectral => "usps-spectral",
            Self::LenaDenoising => "lena-denoising",
            Self::FaceSuperresolution => "face-superresolution",
            Self::Motion => "motion",
            Self::MnistHebbian => "mnist-hebbian",
            Self::Akpca => "akpca",
            Self::NogayamaLandscape => "nogayama-landscape",
            Self::NogayamaUci => "nogayama-uci",
            Self::RaykarTiming => "raykar-timing",
            Self::ToyCircles => "toy-circles",
            Self::ToyAnnulus => "toy-annulus",
        }
    }

    /// What it is, in a line.
    const fn about(self) -> &'static str {
        match self {
            Self::UspsKpca => "kernel PCA of 1000 USPS digits by iteration (Guenter et al., figures 2 to 4)",
            Self::UspsSpectral => "spectral clustering of all USPS digits (Guenter et al., figure 10)",
            Self::LenaDenoising => "a noisy picture, patch by patch (Guenter et al., figures 5 to 8)",
            Self::FaceSuperresolution => "small faces made large (Guenter et al., figures 6 and 9)",
            Self::Motion => "noise on the frames of a walk (Guenter et al., figures 11 and 12)",
            Self::MnistHebbian => "one pass over all of MNIST (Guenter et al., table 2)",
            Self::Akpca => "autoencoder kernel PCA of MNIST digits (Cohen et al., figures 3 to 11)",
            Self::NogayamaLandscape => {
                "variances over the width of the kernel, on a star (Nogayama et al., figures 5 to 10)"
            }
            Self::NogayamaUci => "the best width on ten UCI sets (Nogayama et al., section 4.2)",
            Self::RaykarTiming => "products by expansion: time and error (Raykar and Ankur, figures 3 to 9)",
            Self::ToyCircles => "two circles that a kernel separates (Cohen et al., figures 1 and 2)",
            Self::ToyAnnulus => "components of points in an annulus (Raykar and Ankur, figures 1 and 2)",
        }
    }
}

/// The experiments by name; clap lists them for a name that is not among them.
fn experiments() -> impl TypedValueParser<Value = Experiment> {
    let names = Experiment::ALL.map(|experiment| PossibleValue::new(experiment.name()).help(experiment.about()));
    PossibleValuesParser::new(names).map(|name| {
        let found = Experiment::ALL.into_iter().find(|experiment| experiment.name() == name);
        found.expect("the parser lets only these names through")
    })
}
