//! One plan, and the fit that it is the plan of.

use std::time::Instant;

use mercer::kernel::{KernelSpec, Width};
use mercer::{KernelPca, MemoryBudget, Precision, RunRecord, SolverChoice};
use serde::{Deserialize, Serialize};

use super::{flag, run_self};
use crate::failure::Result;
use crate::memory::PeakMark;
use crate::points_file::PointsFile;

/// What is to be planned and fitted.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlanOnce {
    #[command(flatten)]
    pub(crate) points: PointsFile,
    /// Kernel, by name; its width is the median distance where it has one
    #[arg(long)]
    pub(crate) kernel: String,
    /// Components
    #[arg(long)]
    pub(crate) components: usize,
    /// What residuals have to reach
    #[arg(long)]
    pub(crate) tolerance: f64,
    /// Whether tiles are in double precision
    #[arg(long)]
    pub(crate) double: bool,
    /// How eigenpairs are found
    #[arg(long)]
    pub(crate) solver: SolverChoice,
    /// Memory budget
    #[arg(long)]
    pub(crate) memory: String,
    /// Threads
    #[arg(long)]
    pub(crate) threads: usize,
}

/// What was expected and what came.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PlanAnswer {
    /// Seconds that the plan said.
    pub(crate) expected_seconds: f64,
    /// Bytes that the plan said.
    pub(crate) expected_memory_bytes: u64,
    /// Seconds that the plan itself took.
    pub(crate) planning_seconds: f64,
    /// Seconds that the fit took.
    pub(crate) seconds: f64,
    /// Bytes by which memory rose above what was resident before the fit.
    pub(crate) peak_growth_bytes: u64,
    /// The record of the fit.
    pub(crate) record: RunRecord,
}

impl PlanOnce {
    fn settings(&self) -> Result<KernelPca> {
        let spec = KernelSpec::new(&self.kernel);
        // Kernels of an inner product have no distance to take the median of.
        let spec = if self.kernel == "polynomial" { spec.degree(2) } else { spec.width(Width::Median) };
        Ok(KernelPca::new(spec)
            .n_components(self.components)
            .tolerance(self.tolerance)
            .precision(if self.double { Precision::F64 } else { Precision::F32 })
            .solver(self.solver)
            .memory(self.memory.parse::<MemoryBudget>()?)
            .threads(self.threads))
    }

    /// Plans and fits, in this process.
    pub(crate) fn run(&self) -> Result<PlanAnswer> {
        let (points, settings) = (self.points.load()?, self.settings()?);
        let start = Instant::now();
        let plan = settings.plan(&points)?;
        let planning_seconds = start.elapsed().as_secs_f64();
        let mark = PeakMark::set();
        let start = Instant::now();
        let model = settings.fit(&points)?;
        let (seconds, peak_growth_bytes) = (start.elapsed().as_secs_f64(), mark.growth());
        Ok(PlanAnswer {
            expected_seconds: plan.expected_seconds,
            expected_memory_bytes: plan.expected_memory_bytes,
            planning_seconds,
            seconds,
            peak_growth_bytes,
            record: model.record().clone(),
        })
    }

    /// Plans and fits, in a process of its own.
    pub(crate) fn spawn(&self) -> Result<PlanAnswer> {
        let mut words = vec!["plan_once".to_owned()];
        words.extend(self.points.flags());
        for (name, value) in [
            ("kernel", self.kernel.clone()),
            ("components", self.components.to_string()),
            ("tolerance", self.tolerance.to_string()),
            ("solver", self.solver.to_string()),
            ("memory", self.memory.clone()),
            ("threads", self.threads.to_string()),
        ] {
            words.extend(flag(name, value));
        }
        if self.double {
            words.push("--double".to_owned());
        }
        run_self(&words)
    }
}
