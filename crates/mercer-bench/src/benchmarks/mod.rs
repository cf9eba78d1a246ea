//! The benchmarks, one file per question.

mod akpca_mnist;
mod cluster_usps;
mod denoise_image;
mod fast_choice;
mod fast_sum_3d;
mod fast_vs_direct;
mod fit_vs_sklearn;
mod growth;
mod hebbian_convergence;
mod hebbian_mnist;
mod hebbian_pass;
mod hebbian_vs_kernlab;
mod kpca_million;
mod mnist_full;
mod nystrom_landmarks;
mod plan_estimates;
mod preimage;
mod read_csv;
mod start_up;
mod stream_quality;
mod stream_throughput;
mod tile_floor;
mod transform_vs_sklearn;
mod tune_mnist;
mod tune_speed;
mod tune_tasks;

use crate::failure::Result;
use crate::record::{Findings, Record};
use crate::setup::Setup;

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Benchmark {
    TileFloor,
    FitVsSklearn,
    MnistFull,
    TransformVsSklearn,
    Growth,
    PlanEstimates,
    StartUp,
    ReadCsv,
    HebbianPass,
    HebbianVsKernlab,
    HebbianConvergence,
    HebbianMnist,
    StreamThroughput,
    StreamQuality,
    FastSum3d,
    KpcaMillion,
    FastVsDirect,
    FastChoice,
    NystromLandmarks,
    TuneSpeed,
    TuneMnist,
    TuneTasks,
    ClusterUsps,
    DenoiseImage,
    Preimage,
    AkpcaMnist,
}

/// Inverse width of the kernel in every benchmark on digits: bandwidth 8 on pixels from 0 to 1, so `1 / (2 · 8²)`.
const GAMMA: f64 = 1.0 / 128.0;

impl Benchmark {
    /// All of them, in the order of the page of results.
    pub(crate) const ALL: [Self; 26] = [
        Self::TileFloor,
        Self::FitVsSklearn,
        Self::MnistFull,
        Self::TransformVsSklearn,
        Self::Growth,
        Self::PlanEstimates,
        Self::StartUp,
        Self::ReadCsv,
        Self::HebbianPass,
        Self::HebbianVsKernlab,
        Self::HebbianConvergence,
        Self::HebbianMnist,
        Self::StreamThroughput,
        Self::StreamQuality,
        Self::FastSum3d,
        Self::KpcaMillion,
        Self::FastVsDirect,
        Self::FastChoice,
        Self::NystromLandmarks,
        Self::TuneSpeed,
        Self::TuneMnist,
        Self::TuneTasks,
        Self::ClusterUsps,
        Self::DenoiseImage,
        Self::Preimage,
        Self::AkpcaMnist,
    ];

    /// The name of the command and of the record.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TileFloor => "tile_floor",
            Self::FitVsSklearn => "fit_vs_sklearn",
            Self::MnistFull => "mnist_full",
            Self::TransformVsSklearn => "transform_vs_sklearn",
            Self::Growth => "growth",
            Self::PlanEstimates => "plan_estimates",
            Self::StartUp => "start_up",
            Self::ReadCsv => "read_csv",
            Self::HebbianPass => "hebbian_pass",
            Self::HebbianMnist => "hebbian_mnist",
            Self::ClusterUsps => "cluster_usps",
            Self::DenoiseImage => "denoise_image",
            Self::HebbianConvergence => "hebbian_convergence",
            Self::HebbianVsKernlab => "hebbian_vs_kernlab",
            Self::StreamThroughput => "stream_throughput",
            Self::StreamQuality => "stream_quality",
            Self::FastSum3d => "fast_sum_3d",
            Self::KpcaMillion => "kpca_million",
            Self::FastVsDirect => "fast_vs_direct",
            Self::FastChoice => "fast_choice",
            Self::NystromLandmarks => "nystrom_landmarks",
            Self::TuneSpeed => "tune_speed",
            Self::TuneMnist => "tune_mnist",
            Self::TuneTasks => "tune_tasks",
            Self::Preimage => "preimage",
            Self::AkpcaMnist => "akpca_mnist",
        }
    }

    /// Whether it draws a picture beside its record.
    pub(crate) const fn has_plot(self) -> bool {
        matches!(self, Self::StreamQuality | Self::FastVsDirect | Self::AkpcaMnist | Self::HebbianConvergence)
    }

    /// The picture that its record is enough for.
    pub(crate) fn picture(self, findings: &Findings) -> Option<String> {
        match self {
            Self::FastVsDirect => Some(fast_vs_direct::picture(findings)),
            Self::HebbianConvergence => Some(hebbian_convergence::picture(findings)),
            _ => None,
        }
    }

    /// What is compared with what, in sentences for the page of results.
    pub(crate) const fn question(self) -> &'static str {
        match self {
            Self::TileFloor => tile_floor::QUESTION,
            Self::FitVsSklearn => fit_vs_sklearn::QUESTION,
            Self::MnistFull => mnist_full::QUESTION,
            Self::TransformVsSklearn => transform_vs_sklearn::QUESTION,
            Self::Growth => growth::QUESTION,
            Self::PlanEstimates => plan_estimates::QUESTION,
            Self::StartUp => start_up::QUESTION,
            Self::ReadCsv => read_csv::QUESTION,
            Self::HebbianPass => hebbian_pass::QUESTION,
            Self::HebbianMnist => hebbian_mnist::QUESTION,
            Self::ClusterUsps => cluster_usps::QUESTION,
            Self::DenoiseImage => denoise_image::QUESTION,
            Self::HebbianConvergence => hebbian_convergence::QUESTION,
            Self::HebbianVsKernlab => hebbian_vs_kernlab::QUESTION,
            Self::StreamThroughput => stream_throughput::QUESTION,
            Self::StreamQuality => stream_quality::QUESTION,
            Self::FastSum3d => fast_sum_3d::QUESTION,
            Self::KpcaMillion => kpca_million::QUESTION,
            Self::FastVsDirect => fast_vs_direct::QUESTION,
            Self::FastChoice => fast_choice::QUESTION,
            Self::NystromLandmarks => nystrom_landmarks::QUESTION,
            Self::TuneSpeed => tune_speed::QUESTION,
            Self::TuneMnist => tune_mnist::QUESTION,
            Self::TuneTasks => tune_tasks::QUESTION,
            Self::Preimage => preimage::QUESTION,
            Self::AkpcaMnist => akpca_mnist::QUESTION,
        }
    }

    /// Runs it and writes its record.
    pub(crate) fn run(self, setup: &Setup) -> Result<()> {
        eprintln!("{}", self.name());
        let measure = match self {
            Self::TileFloor => tile_floor::measure,
            Self::FitVsSklearn => fit_vs_sklearn::measure,
            Self::MnistFull => mnist_full::measure,
            Self::TransformVsSklearn => transform_vs_sklearn::measure,
            Self::Growth => growth::measure,
            Self::PlanEstimates => plan_estimates::measure,
            Self::StartUp => start_up::measure,
            Self::ReadCsv => read_csv::measure,
            Self::HebbianPass => hebbian_pass::measure,
            Self::HebbianMnist => hebbian_mnist::measure,
            Self::ClusterUsps => cluster_usps::measure,
            Self::DenoiseImage => denoise_image::measure,
            Self::HebbianConvergence => hebbian_convergence::measure,
            Self::HebbianVsKernlab => hebbian_vs_kernlab::measure,
            Self::StreamThroughput => stream_throughput::measure,
            Self::StreamQuality => stream_quality::measure,
            Self::FastSum3d => fast_sum_3d::measure,
            Self::KpcaMillion => kpca_million::measure,
            Self::FastVsDirect => fast_vs_direct::measure,
            Self::FastChoice => fast_choice::measure,
            Self::NystromLandmarks => nystrom_landmarks::measure,
            Self::TuneSpeed => tune_speed::measure,
            Self::TuneMnist => tune_mnist::measure,
            Self::TuneTasks => tune_tasks::measure,
            Self::Preimage => preimage::measure,
            Self::AkpcaMnist => akpca_mnist::measure,
        };
        let mut findings = Findings::default();
        if let Err(failure) = measure(setup, &mut findings) {
            // Hours of measurements are not lost, but they are no record of the benchmark.
            let path = Record::new(setup, &format!("{}.unfinished", self.name()), findings).write(setup.records())?;
            eprintln!("  what was measured before it failed is in {}", path.display());
            return Err(failure);
        }
        if let Some(picture) = self.picture(&findings) {
            setup.write_picture(self.name(), &picture)?;
        }
        let path = Record::new(setup, self.name(), findings).write(setup.records())?;
        eprintln!("  written to {}", path.display());
        Ok(())
    }
}
