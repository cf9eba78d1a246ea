//! One reading of a data file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{flag, run_self};
use crate::failure::{Failure, Result};
use crate::memory::PeakMark;

/// Which file.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReadOnce {
    /// The file
    #[arg(long)]
    pub(crate) file: PathBuf,
    /// Threads
    #[arg(long)]
    pub(crate) threads: usize,
}

/// What a reading took and gave, ours or a rival's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ReadAnswer {
    /// Seconds from the name of the file to a matrix in rows.
    pub(crate) seconds: f64,
    /// Bytes by which memory rose above what was resident before, the matrix among them.
    pub(crate) peak_growth_bytes: u64,
    /// Rows of the matrix.
    pub(crate) rows: usize,
    /// The sum of each column.
    pub(crate) sums: Vec<f64>,
    /// The sum of absolute values of each column; a rival's is not asked for.
    #[serde(default)]
    pub(crate) absolute_sums: Vec<f64>,
    /// A rival's versions.
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
}

impl ReadOnce {
    /// Reads, in this process.
    pub(crate) fn run(&self) -> Result<ReadAnswer> {
        let failure = |problem| Failure::Process { process: "the reader".to_owned(), problem };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build_global();
        pool.map_err(|error| failure(error.to_string()))?;
        let mark = PeakMark::set();
        let start = Instant::now();
        let points = mercer_cli::read_points(&self.file).map_err(failure)?;
        let (seconds, peak_growth_bytes) = (start.elapsed().as_secs_f64(), mark.growth());
        let (mut sums, mut absolute_sums) = (vec![0.0; points.n_features()], vec![0.0; points.n_features()]);
        for row in 0..points.n_samples() {
            for (j, x) in points.row(row).into_iter().enumerate() {
                sums[j] += x;
                absolute_sums[j] += x.abs();
            }
        }
        let rows = points.n_samples();
        Ok(ReadAnswer { seconds, peak_growth_bytes, rows, sums, absolute_sums, versions: BTreeMap::new() })
    }

    /// Reads, in a process of its own.
    pub(crate) fn spawn(&self) -> Result<ReadAnswer> {
        let arguments = [flag("file", self.file.display()), flag("threads", self.threads)];
        run_self(&[vec!["read_once".to_owned()], arguments.concat()].concat())
    }
}
