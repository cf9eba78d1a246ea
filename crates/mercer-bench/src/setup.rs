//! What a benchmark is called with.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::{Failure, Result};
use crate::machine::Machine;

/// Options that every benchmark takes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Folder that holds mnist.npz and usps.npz
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    pub(crate) data: PathBuf,
    /// Tiny sizes and made-up data: shows that the benchmark works, says nothing about speed
    #[arg(long)]
    pub(crate) quick: bool,
    /// Leave scikit-learn out
    #[arg(long)]
    pub(crate) no_rival: bool,
    /// Python with scikit-learn
    #[arg(long, value_name = "PATH", default_value = ".venv/bin/python")]
    pub(crate) python: PathBuf,
    /// Program that runs R scripts, with kernlab installed
    #[arg(long, value_name = "PATH", default_value = "Rscript")]
    pub(crate) r: PathBuf,
    /// Folder of the rivals' scripts
    #[arg(long, value_name = "DIR", default_value = "bench/rivals")]
    pub(crate) rivals: PathBuf,
    /// Folder that the record is written to
    #[arg(long, value_name = "DIR", default_value = "bench/records")]
    pub(crate) records: PathBuf,
    /// The day, for the record
    #[arg(long, default_value = "unknown")]
    pub(crate) date: String,
    /// The commit that was built, for the record
    #[arg(long, default_value = "unknown")]
    pub(crate) commit: String,
    /// Rounds in which contenders take turns [default: what the benchmark thinks right]
    #[arg(long)]
    pub(crate) rounds: Option<usize>,
    /// Points of the benchmarks of the kernel Hebbian algorithm on MNIST, of `preimage`, or of every digit in the long set of
    /// `akpca_mnist`, for a first look [default: all]
    #[arg(long)]
    pub(crate) points: Option<usize>,
    /// Threads, for everyone
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// Do not touch memory before fits that keep the whole matrix
    #[arg(long)]
    pub(crate) cold: bool,
}

/// Options, the machine as it was found, and a place for files that children share.
pub(crate) struct Setup {
    /// What was asked for.
    pub(crate) options: Options,
    /// The machine before the benchmark put load on it.
    pub(crate) machine: Machine,
    scratch: TempDir,
}

impl Setup {
    pub(crate) fn new(options: Options) -> Result<Self> {
        // What the library does outside a pool of its own, such as packing, must not use more threads than the rival.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global();
        pool.map_err(|error| Failure::Process { process: "threads".to_owned(), problem: error.to_string() })?;
        let scratch = tempfile::tempdir().map_err(Failure::file(&std::env::temp_dir()))?;
        Ok(Self { options, machine: Machine::detect(), scratch })
    }

    /// A path in a folder that is removed at the end.
    pub(crate) fn scratch_file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The full size, or the one of a quick run.
    pub(crate) fn size(&self, full: usize, quick: usize) -> usize {
        if self.options.quick { quick } else { full }
    }

    /// Points to run with: as asked for, or as [`size`](Self::size) says.
    pub(crate) fn points(&self, full: usize, quick: usize) -> usize {
        self.options.points.unwrap_or(self.size(full, quick))
    }

    /// Rounds to run: as asked for, two in a quick run, else `full`.
    pub(crate) fn rounds(&self, full: usize) -> usize {
        self.options.rounds.unwrap_or(self.size(full, 2))
    }

    /// The file of handwritten digits.
    pub(crate) fn mnist(&self) -> PathBuf {
        self.options.data.join("mnist.npz")
    }

    /// The folder of records.
    pub(crate) fn records(&self) -> &Path {
        &self.options.records
    }

    /// Writes a picture beside the record of that name.
    pub(crate) fn write_picture(&self, name: &str, picture: &str) -> Result<()> {
        let path = self.records().join(format!("{name}.svg"));
        std::fs::create_dir_all(self.records()).map_err(Failure::file(self.records()))?;
        std::fs::write(&path, picture).map_err(Failure::file(&path))
    }
}
