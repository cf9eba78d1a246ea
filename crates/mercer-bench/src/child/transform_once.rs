//! One transform of new points; the fit before it is not timed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use mercer::watch::{Threads, Watch};
use serde::{Deserialize, Serialize};

use super::{FitOnce, flag, run_self};
use crate::answers;
use crate::failure::Result;
use crate::memory::PeakMark;
use crate::points_file::PointsFile;

/// Which model, and what is to be transformed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TransformOnce {
    #[command(flatten)]
    pub(crate) fit: FitOnce,
    /// File of new points, in the format of the others
    #[arg(long)]
    pub(crate) queries: PathBuf,
    /// New points
    #[arg(long)]
    pub(crate) query_rows: usize,
    /// File for the scores of the new points
    #[arg(long)]
    pub(crate) query_scores: PathBuf,
}

/// What a transform took and gave, ours or a rival's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TransformAnswer {
    /// Seconds from new points in memory to their scores, the first time the model is used.
    pub(crate) seconds: f64,
    /// Bytes by which memory rose above what was resident before, the scores among them.
    pub(crate) peak_growth_bytes: u64,
    /// Eigenvalues of the model.
    pub(crate) eigenvalues: Vec<f64>,
    /// A rival's versions.
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
}

impl TransformOnce {
    /// Fits and transforms, in this process.
    pub(crate) fn run(&self) -> Result<TransformAnswer> {
        let (points, settings) = (self.fit.points.load()?, self.fit.settings()?);
        let queries =
            PointsFile { path: self.queries.clone(), rows: self.query_rows, ..self.fit.points.clone() }.load()?;
        let model = settings.fit(&points)?;
        let (threads, watch) = (Threads::new(self.fit.threads)?, Watch::new());
        let mark = PeakMark::set();
        let start = Instant::now();
        let scores = model.transform_watched(&queries, &threads, &watch)?;
        let (seconds, peak_growth_bytes) = (start.elapsed().as_secs_f64(), mark.growth());
        answers::write_matrix(&self.query_scores, scores.as_ref())?;
        Ok(TransformAnswer {
            seconds,
            peak_growth_bytes,
            eigenvalues: model.eigenvalues().to_vec(),
            versions: BTreeMap::new(),
        })
    }

    /// Fits and transforms, in a process of its own.
    pub(crate) fn spawn(&self) -> Result<TransformAnswer> {
        let more = [
            flag("queries", self.queries.display()),
            flag("query-rows", self.query_rows),
            flag("query-scores", self.query_scores.display()),
        ];
        run_self(&[vec!["transform_once".to_owned()], self.fit.flags(), more.concat()].concat())
    }
}
