//! One fit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use mercer::{GramChoice, Kernel, KernelPca, MemoryBudget, RunRecord, SolverChoice};
use serde::{Deserialize, Serialize};

use super::{flag, run_self};
use crate::answers;
use crate::failure::Result;
use crate::memory::PeakMark;
use crate::points_file::PointsFile;

/// What is to be fitted, and how.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FitOnce {
    #[command(flatten)]
    pub(crate) points: PointsFile,
    /// Inverse width of the Gaussian kernel
    #[arg(long)]
    pub(crate) gamma: f64,
    /// Components
    #[arg(long)]
    pub(crate) components: usize,
    /// What residuals have to reach
    #[arg(long)]
    pub(crate) tolerance: f64,
    /// How products are made
    #[arg(long, default_value = "auto")]
    pub(crate) gram: GramChoice,
    /// How eigenpairs are found
    #[arg(long, default_value = "auto")]
    pub(crate) solver: SolverChoice,
    /// Memory budget
    #[arg(long, default_value = "auto")]
    pub(crate) memory: String,
    /// Threads
    #[arg(long)]
    pub(crate) threads: usize,
    /// File for the scores of the points
    #[arg(long)]
    pub(crate) scores: Option<PathBuf>,
}

/// What a fit took and gave, ours or a rival's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FitAnswer {
    /// Seconds from points in memory to eigenpairs.
    pub(crate) seconds: f64,
    /// Bytes by which memory rose above what was resident before.
    pub(crate) peak_growth_bytes: u64,
    /// Eigenvalues of the centred matrix.
    pub(crate) eigenvalues: Vec<f64>,
    /// The largest `‖K v − λ v‖ / λ₁`.
    pub(crate) largest_residual: f64,
    /// Our own record of the fit.
    #[serde(default)]
    pub(crate) record: Option<RunRecord>,
    /// A rival's versions.
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
}

impl FitAnswer {
    /// Passes over the matrix, of our own fits.
    pub(crate) fn passes(&self) -> f64 {
        self.record.as_ref().map_or(f64::NAN, |record| record.passes as f64)
    }
}

impl FitOnce {
    /// The settings of the fit.
    pub(crate) fn settings(&self) -> Result<KernelPca> {
        let memory: MemoryBudget = self.memory.parse()?;
        Ok(KernelPca::new(Kernel::gaussian(self.gamma)?)
            .n_components(self.components)
            .tolerance(self.tolerance)
            .gram(self.gram)
            .solver(self.solver)
            .memory(memory)
            .threads(self.threads))
    }

    /// Fits, in this process.
    pub(crate) fn run(&self) -> Result<FitAnswer> {
        let (points, settings) = (self.points.load()?, self.settings()?);
        let mark = PeakMark::set();
        let start = Instant::now();
        let model = settings.fit(&points)?;
        let (seconds, peak_growth_bytes) = (start.elapsed().as_secs_f64(), mark.growth());
        if let Some(path) = &self.scores {
            answers::write_matrix(path, model.training_scores().as_ref())?;
        }
        Ok(FitAnswer {
            seconds,
            peak_growth_bytes,
            eigenvalues: model.eigenvalues().to_vec(),
            largest_residual: model.residuals().iter().copied().fold(0.0, f64::max),
            record: Some(model.record().clone()),
            versions: BTreeMap::new(),
        })
    }

    /// Fits, in a process of its own.
    pub(crate) fn spawn(&self) -> Result<FitAnswer> {
        run_self(&[vec!["fit_once".to_owned()], self.flags()].concat())
    }

    /// The flags that ask a child for this fit.
    pub(super) fn flags(&self) -> Vec<String> {
        let scores = self.scores.iter().flat_map(|path| flag("scores", path.display()));
        self.points
            .flags()
            .into_iter()
            .chain(flag("gamma", self.gamma))
            .chain(flag("components", self.components))
            .chain(flag("tolerance", self.tolerance))
            .chain(flag("gram", self.gram))
            .chain(flag("solver", self.solver))
            .chain(flag("memory", &self.memory))
            .chain(flag("threads", self.threads))
            .chain(scores)
            .collect()
    }
}
