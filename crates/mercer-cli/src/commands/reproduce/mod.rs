//! `mercer reproduce`: an experiment of the papers, with what they claim beside what came out.
//!
//! An experiment is one file here. It is given a [`Stage`] and fills [`Findings`]: settings, series, claims with a verdict, figures.
//! Everything else (reading, table, page, record, files) is the same for all of them.

mod akpca;
mod convergence;
mod face_superresolution;
mod findings;
mod groups;
mod lena_denoising;
mod mnist_hebbian;
mod motion;
mod nogayama_landscape;
mod nogayama_uci;
mod page;
mod plane;
mod raykar_timing;
mod rules;
mod stage;
mod toy_annulus;
mod toy_circles;
mod usps;
mod usps_kpca;
mod usps_spectral;

use std::path::PathBuf;

use serde::Serialize;

use self::findings::Findings;
use self::stage::Stage;
use super::session::{Session, threads};
use super::upscale::Folder;
use crate::args::{Experiment, ReproduceArgs};
use crate::failure::{ExitStatus, Result};
use crate::output;
use crate::records::{self, Common};

/// The record of an experiment.
#[derive(Serialize)]
struct ReproduceBody<'a> {
    #[serde(flatten)]
    common: Common,
    threads: usize,
    #[serde(flatten)]
    findings: &'a Findings,
}

/// Runs the command.
pub(super) fn run(args: &ReproduceArgs) -> Result<ExitStatus> {
    let session = Session::start("reproduce", &args.report, args.progress.progress)?;
    let threads = threads(args.threads)?;
    let name = args.experiment.name();
    let directory = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("reproduce-{name}")));
    let _folder = Folder::make(&directory)?;
    session.check_outputs([directory.join(format!("{name}.json")).as_path()], &[])?;

    let stage = Stage { data: args.data.as_deref(), quick: args.quick, threads: threads.count(), session: &session };
    let experiment = match args.experiment {
        Experiment::UspsKpca => usps_kpca::run,
        Experiment::UspsSpectral => usps_spectral::run,
        Experiment::LenaDenoising => lena_denoising::run,
        Experiment::FaceSuperresolution => face_superresolution::run,
        Experiment::Motion => motion::run,
        Experiment::MnistHebbian => mnist_hebbian::run,
        Experiment::Akpca => akpca::run,
        Experiment::NogayamaLandscape => nogayama_landscape::run,
        Experiment::NogayamaUci => nogayama_uci::run,
        Experiment::RaykarTiming => raykar_timing::run,
        Experiment::ToyCircles => toy_circles::run,
        Experiment::ToyAnnulus => toy_annulus::run,
    };
    session.interrupt.wait_for_safe_points();
    let found = experiment(&stage);
    session.meter.clear();
    let (findings, figures) = found?;

    for (figure, svg) in findings.figures.iter().zip(&figures) {
        output::write_text(&directory.join(&figure.file), svg)?;
    }
    output::write_text(&directory.join(format!("{name}.md")), &page::markdown(&findings))?;
    let body = ReproduceBody { common: session.common(), threads: threads.count(), findings: &findings };
    let document = records::document("reproduce", ExitStatus::Done, &body)?;
    output::write_text(&directory.join(format!("{name}.json")), &document)?;
    session.wrote(&directory);
    session.console.note(&format!("page, record and {} figures are in {}", figures.len(), directory.display()));
    session.finish(ExitStatus::Done, &body, Some(&page::table(&findings)))
}
