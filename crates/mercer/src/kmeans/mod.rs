//! Clusters of rows by k-means: few columns, as spectral embeddings have.
//!
//! **Cost** of a round: `n k d` multiply-adds. **Memory**: a distance, a label and a share of the start's chances per row.
//!
//! # Method
//!
//! Every restart draws its first centres as k-means++ does (\[AV07\]), the best of a few candidates each time, and then goes on in
//! Lloyd's rounds: every row goes to its nearest centre, every centre to the mean of its rows, until no row changes its centre. A
//! centre that has lost all its rows takes the row that is farthest from its own, so no cluster is ever empty. The restart with
//! the smallest sum of squared distances wins. Clusters are numbered in the order of their first rows.
//!
//! # Numerics
//!
//! Rows are cut into chunks whose number depends on nothing but their count, and sums over chunks are added up in order, so the
//! answer does not depend on the number of threads.
//!
//! # References
//!
//! - \[AV07\] Arthur, Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007.

mod distance;
mod lloyd;
mod start;

use faer::{Mat, MatRef};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

pub use distance::nearest;

use crate::error::{Error, Result};
use crate::watch::Context;

/// k-means, as it is asked for.
///
/// ```
/// use faer::mat;
/// use mercer::kmeans::KMeans;
/// use mercer::watch::{Context, Phase, Threads, Watch};
///
/// let rows = mat![[0.0], [0.1], [5.0], [5.1], [0.2]];
/// let (threads, watch) = (Threads::new(2)?, Watch::new());
/// let found = KMeans::new(2).fit(rows.as_ref(), &Context::new(&threads, &watch, Phase::Clustering))?;
/// assert_eq!(found.labels, [0, 0, 1, 1, 0]);
/// assert!((found.centers[(1, 0)] - 5.05).abs() < 1e-12);
///
/// // One restart of one round: the clusters are right at once here, but nobody has looked whether they would change.
/// let quick = KMeans::new(2).restarts(1).max_rounds(1).seed(7);
/// let found = quick.fit(rows.as_ref(), &Context::new(&threads, &watch, Phase::Clustering))?;
/// assert_eq!((found.restarts, found.rounds, found.converged), (1, 1, false));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KMeans {
    n_clusters: usize,
    restarts: usize,
    max_rounds: usize,
    seed: u64,
}

/// Rows in clusters.
///
/// ```
/// use mercer::kmeans::KMeans;
/// use mercer::watch::{Context, Phase, Threads, Watch};
///
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let rows = faer::Mat::from_fn(6, 1, |i, _| [0.0, 1.0, 2.0, 10.0, 11.0, 12.0][i]);
/// let found = KMeans::new(2).fit(rows.as_ref(), &Context::new(&threads, &watch, Phase::Clustering))?;
/// // Each cluster's outer rows lie at distance one from its mean.
/// assert!((found.inertia - 4.0).abs() < 1e-12);
/// assert!(found.converged && found.restarts == 10);
/// assert_eq!((found.labels[0] == found.labels[2], found.labels[0] == found.labels[3]), (true, false));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Partition {
    /// The cluster of each row.
    pub labels: Vec<usize>,
    /// The mean of each cluster, one row each.
    pub centers: Mat<f64>,
    /// The sum of the squared distances of all rows from the means of their clusters.
    pub inertia: f64,
    /// Rounds of the restart that won.
    pub rounds: usize,
    /// Whether it went on until no row changed its cluster.
    pub converged: bool,
    /// Restarts that were made; fewer than were asked for if the run was stopped, and then the last of them may have been cut short.
    pub restarts: usize,
}

impl KMeans {
    /// Ten restarts of at most 300 rounds.
    pub fn new(n_clusters: usize) -> Self {
        Self { n_clusters, restarts: 10, max_rounds: 300, seed: 0 }
    }

    /// Sets the number of restarts (default 10).
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.restarts = restarts;
        self
    }

    /// Sets the number of rounds after which a restart ends in any case (default 300).
    #[must_use]
    pub fn max_rounds(mut self, max_rounds: usize) -> Self {
        self.max_rounds = max_rounds;
        self
    }

    /// Sets where random numbers come from (default 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Finds clusters of rows. A run that is stopped returns the best that it has.
    ///
    /// # Errors
    ///
    /// If a setting is zero, a number is not finite, there are fewer different rows than clusters, or the run was stopped before the
    /// end of the first round.
    pub fn fit(&self, rows: MatRef<'_, f64>, context: &Context<'_>) -> Result<Partition> {
        self.validate(rows)?;
        let rows = distance::Rows::new(rows);
        let mut best: Option<Partition> = None;
        let mut made = 0;
        for restart in 0..self.restarts {
            let seen = |round: usize| {
                let share = round as f64 / self.max_rounds as f64;
                context.report_fraction((restart as f64 + share) / self.restarts as f64);
            };
            seen(0);
            let mut random = ChaCha8Rng::seed_from_u64(self.seed);
            random.set_stream(restart as u64);
            let run = start::centers(&rows, self.n_clusters, &mut random, context)
                .and_then(|centers| lloyd::run(&rows, centers, self.max_rounds, context, seen));
            let found = match run {
                // What was found before is the answer.
                Err(Error::Interrupted { .. }) if best.is_some() => break,
                run => run?,
            };
            made += 1;
            if best.as_ref().is_none_or(|best| found.inertia < best.inertia) {
                best = Some(found);
            }
            if context.watch.is_stopped() {
                break;
            }
        }
        // There is at least one restart, and its failure has been returned.
        let best = best.ok_or_else(|| context.interrupted())?;
        Ok(Partition { restarts: made, ..best }.in_order_of_rows())
    }

    fn validate(&self, rows: MatRef<'_, f64>) -> Result<()> {
        let n = rows.nrows();
        if self.n_clusters == 0 || self.n_clusters > n {
            let requirement = format!("between 1 and the number of rows ({n})");
            return Err(Error::invalid("n_clusters", requirement, self.n_clusters));
        }
        for (name, value) in [("restarts", self.restarts), ("max_rounds", self.max_rounds)] {
            if value == 0 {
                return Err(Error::invalid(name, "at least 1", 0));
            }
        }
        for (column, values) in rows.col_iter().enumerate() {
            if let Some((row, &value)) = values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
                return Err(Error::NotFinite { row, column, value });
            }
        }
        Ok(())
    }
}

impl Partition {
    /// The same clusters, numbered in the order of their first rows.
    fn in_order_of_rows(mut self) -> Self {
        let (k, d) = (self.centers.nrows(), self.centers.ncols());
        let mut number = vec![None; k];
        let mut old = Vec::with_capacity(k);
        for label in &mut self.labels {
            *label = *number[*label].get_or_insert_with(|| {
                old.push(*label);
                old.len() - 1
            });
        }
        self.centers = Mat::from_fn(k, d, |i, j| self.centers[(old[i], j)]);
        self
    }
}

#[cfg(test)]
mod tests;
