//! One product with the linear kernel's matrix: what the matrix products of a pass cost by themselves.

use std::time::Instant;

use faer::Mat;
use mercer::Kernel;
use mercer::gram::{KernelGram, SymmetricOperator};
use mercer::watch::{Context, Phase, Threads, Watch};
use serde::{Deserialize, Serialize};

use super::{flag, run_self};
use crate::failure::Result;
use crate::points_file::PointsFile;

/// What is to be multiplied.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProductOnce {
    #[command(flatten)]
    pub(crate) points: PointsFile,
    /// Vectors that the matrix is multiplied with
    #[arg(long)]
    pub(crate) columns: usize,
    /// Threads
    #[arg(long)]
    pub(crate) threads: usize,
}

/// What the product took and gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProductAnswer {
    /// Seconds of the product.
    pub(crate) seconds: f64,
    /// The largest difference from `X (Xᵀ 1)` in double precision, relative to the largest entry of that.
    pub(crate) difference: f64,
}

impl ProductOnce {
    /// Multiplies, in this process. All vectors are ones, so that the answer can be had in another way.
    pub(crate) fn run(&self) -> Result<ProductAnswer> {
        let points = self.points.load()?;
        let (threads, watch) = (Threads::new(self.threads)?, Watch::new());
        let gram = KernelGram::<f32>::new(&points, &Kernel::linear(), None)?;
        let ones = Mat::full(points.n_samples(), self.columns, 1.0);
        let mut product = Mat::zeros(points.n_samples(), self.columns);
        let start = Instant::now();
        gram.apply(ones.as_ref(), product.as_mut(), &Context::new(&threads, &watch, Phase::Solving))?;
        let seconds = start.elapsed().as_secs_f64();

        let mut sums = vec![0.0; points.n_features()];
        for i in 0..points.n_samples() {
            sums.iter_mut().zip(points.row(i)).for_each(|(sum, x)| *sum += x);
        }
        let (mut difference, mut largest) = (0.0_f64, 0.0_f64);
        for i in 0..points.n_samples() {
            let expected: f64 = points.row(i).iter().zip(&sums).map(|(x, sum)| x * sum).sum();
            difference = difference.max((product[(i, self.columns - 1)] - expected).abs());
            largest = largest.max(expected.abs());
        }
        Ok(ProductAnswer { seconds, difference: difference / largest })
    }

    /// Multiplies, in a process of its own.
    pub(crate) fn spawn(&self) -> Result<ProductAnswer> {
        let more = [flag("columns", self.columns), flag("threads", self.threads)].concat();
        run_self(&[vec!["product_once".to_owned()], self.points.flags(), more].concat())
    }
}
