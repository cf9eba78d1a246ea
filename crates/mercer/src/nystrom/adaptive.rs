//! As many landmarks as an accuracy takes.

use super::pca::NystromPca;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::watch::Watch;

/// With fewer rows than this for each landmark, passes over the exact matrix cost little more.
pub(super) const ROWS_PER_LANDMARK: usize = 20;

impl NystromPca {
    /// Learns with more and more landmarks, twice as many each time, until the residual of every component against the exact matrix,
    /// measured on a sample of its rows, is within the [`accuracy`](Self::accuracy).
    ///
    /// Nothing comes back if that takes more than one landmark for every twenty rows, or more than fit the memory budget: an exact fit
    /// costs little more then.
    ///
    /// ```
    /// use mercer::nystrom::{Nystrom, NystromPca};
    /// use mercer::{Kernel, Points, Watch};
    ///
    /// let points = Points::from_f64((0..9000).map(|i| (f64::from(i) * 0.37).sin()).collect::<Vec<_>>(), 3000, 3)?;
    /// let pca = NystromPca::new(Nystrom::new(Kernel::gaussian(0.5)?)).accuracy(1e-2);
    /// let model = pca.fit_to_accuracy(&points, &Watch::new())?.expect("a hundred landmarks will do");
    /// assert!(model.residuals().iter().all(|&residual| residual <= 1e-2));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit); and if no accuracy was set, or the number of landmarks was.
    pub fn fit_to_accuracy(&self, points: &Points, watch: &Watch<'_>) -> Result<Option<Model>> {
        self.check_accuracy(points.n_samples())?;
        let mut m = self.nystrom.default_landmarks;
        while Self::is_few(m, points.n_samples()) {
            match self.with_landmarks(m).fit_watched(points, watch) {
                Ok(model) if model.converged() => return Ok(Some(model)),
                Err(Error::OverBudget { .. }) => return Ok(None),
                outcome => outcome?,
            };
            m *= 2;
        }
        Ok(None)
    }

    /// Whether so many landmarks are few beside `n` rows.
    pub(super) fn is_few(m: usize, n: usize) -> bool {
        m.saturating_mul(ROWS_PER_LANDMARK) <= n
    }

    /// Refuses settings that are not for a fit to an accuracy, however few rows there are.
    pub(super) fn check_accuracy(&self, n: usize) -> Result<()> {
        if self.accuracy.is_none() {
            return Err(Error::invalid("accuracy", "set, for a fit to an accuracy", "not"));
        }
        if let Some(n_landmarks) = self.nystrom.n_landmarks.or_else(|| self.nystrom.landmarks.count()) {
            return Err(Error::invalid("n_landmarks", "left open, for a fit to an accuracy", n_landmarks));
        }
        let m = self.nystrom.default_landmarks;
        self.with_landmarks(m).check(n.max(m))
    }

    fn with_landmarks(&self, m: usize) -> Self {
        let mut nystrom = self.nystrom.clone();
        // Not a number that somebody has asked for.
        nystrom.default_landmarks = m;
        Self { nystrom, ..self.clone() }
    }
}
