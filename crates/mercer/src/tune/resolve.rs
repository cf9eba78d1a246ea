//! A kernel whose width is found by a search: where [`KernelSpec`] meets this module.

use super::settings::KernelTuner;
use crate::data::Points;
use crate::error::Result;
use crate::kernel::{Kernel, KernelSpec, Parameter, Width};
use crate::watch::{Threads, Watch};

impl KernelSpec {
    /// The kernel for these points.
    ///
    /// ```
    /// use mercer::{Points, kernel::{KernelSpec, Parameter, Width}};
    ///
    /// let points = Points::from_f64((0..80).map(|i| f64::from(i % 9)).collect::<Vec<_>>(), 40, 2)?;
    /// let kernel = KernelSpec::new("gaussian").width(Width::Auto).resolve(&points)?;
    /// assert!(kernel.parameter(Parameter::Gamma).is_some_and(|gamma| gamma > 0.0));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no kernel of that name, a parameter was set that it does not have, or a parameter is out of its domain; with
    /// [`Width::Auto`], as [`KernelTuner::tune`].
    pub fn resolve(&self, points: &Points) -> Result<Kernel> {
        match self.wanted_width() {
            Some(Width::Auto) => self.resolve_watched(points, &Threads::all()?, &Watch::new()),
            _ => self.resolve_directly(points),
        }
    }

    /// As [`resolve`](Self::resolve), on given threads, with somebody looking on who may stop a search.
    ///
    /// # Errors
    ///
    /// As [`resolve`](Self::resolve), and [`Error::Interrupted`](crate::Error::Interrupted) if it was stopped.
    pub fn resolve_watched(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Kernel> {
        self.resolve_told(points, threads, watch).map(|(kernel, _)| kernel)
    }

    /// As [`resolve_watched`](Self::resolve_watched), with what a search has to say of the width that it found.
    pub(crate) fn resolve_told(
        &self,
        points: &Points,
        threads: &Threads,
        watch: &Watch<'_>,
    ) -> Result<(Kernel, Vec<String>)> {
        let kernel = self.resolve_directly(points)?;
        if self.wanted_width() != Some(Width::Auto) {
            return Ok((kernel, Vec::new()));
        }
        let tuning = KernelTuner::new(self.clone()).tune_watched(points, threads, watch)?;
        let kernel = kernel.with(Parameter::Gamma, tuning.best_gamma)?;
        Ok((kernel, tuning.warnings.into_iter().map(|warning| format!("gamma auto: {warning}")).collect()))
    }
}
