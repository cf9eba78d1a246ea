//! One clustering.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use mercer::cluster::ClusterRecord;
use mercer::{GramChoice, Kernel, Precision, SolverChoice, SpectralClustering};
use serde::{Deserialize, Serialize};

use super::{flag, run_self};
use crate::failure::{Failure, Result};
use crate::memory::PeakMark;
use crate::points_file::PointsFile;

/// The residual of eigenvectors that are exact but for rounding.
const EXACT: f64 = 1e-11;

/// What is to be clustered, and how.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClusterOnce {
    #[command(flatten)]
    pub(crate) points: PointsFile,
    /// Inverse width of the Gaussian kernel
    #[arg(long)]
    pub(crate) gamma: f64,
    /// Clusters
    #[arg(long)]
    pub(crate) clusters: usize,
    /// How products are made
    #[arg(long, default_value = "auto")]
    pub(crate) gram: GramChoice,
    /// Eigenvectors by Lanczos to the rounding of double precision
    #[arg(long)]
    pub(crate) exact: bool,
    /// Threads
    #[arg(long)]
    pub(crate) threads: usize,
    /// File for the clusters of the points, as bytes
    #[arg(long)]
    pub(crate) labels: PathBuf,
}

/// What a clustering took, ours or a rival's; the clusters are in the file that was named.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClusterAnswer {
    /// Seconds from points in memory to clusters.
    pub(crate) seconds: f64,
    /// Bytes by which memory rose above what was resident before.
    pub(crate) peak_growth_bytes: u64,
    /// Our own record.
    #[serde(default)]
    pub(crate) record: Option<ClusterRecord>,
    /// A rival's versions.
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
}

impl ClusterOnce {
    /// Clusters, in this process.
    pub(crate) fn run(&self) -> Result<ClusterAnswer> {
        let points = self.points.load()?;
        let settings =
            SpectralClustering::new(Kernel::gaussian(self.gamma)?, self.clusters).gram(self.gram).threads(self.threads);
        let settings = if self.exact {
            settings.solver(SolverChoice::Lanczos).precision(Precision::F64).tolerance(EXACT)
        } else {
            settings
        };
        let mark = PeakMark::set();
        let start = Instant::now();
        let model = settings.fit(&points)?;
        let (seconds, peak_growth_bytes) = (start.elapsed().as_secs_f64(), mark.growth());
        let labels: Vec<u8> = model.labels().iter().map(|&label| u8::try_from(label).unwrap_or(u8::MAX)).collect();
        std::fs::write(&self.labels, labels).map_err(Failure::file(&self.labels))?;
        let record = Some(model.record().clone());
        Ok(ClusterAnswer { seconds, peak_growth_bytes, record, versions: BTreeMap::new() })
    }

    /// Clusters, in a process of its own.
    pub(crate) fn spawn(&self) -> Result<ClusterAnswer> {
        let arguments: Vec<String> = std::iter::once("cluster_once".to_owned())
            .chain(self.points.flags())
            .chain(flag("gamma", self.gamma))
            .chain(flag("clusters", self.clusters))
            .chain(flag("gram", self.gram))
            .chain(self.exact.then(|| "--exact".to_owned()))
            .chain(flag("threads", self.threads))
            .chain(flag("labels", self.labels.display()))
            .collect();
        run_self(&arguments)
    }
}
