//! A kernel whose width is found by a search: where [`KernelSpec`] meets this module.

use super::search;
use super::settings::KernelTuner;
use crate::data::Points;
use crate::error::Result;
use crate::kernel::{Kernel, KernelSpec, Parameter, Width};
use crate::watch::{Threads, Watch};

impl KernelSpec {
    /// The kernel for these points.
    ///
    /// ```
    /// use mercer::kernel::{KernelSpec, Parameter, Width};
    /// use mercer::watch::{Threads, Watch};
    /// use mercer::Points;
    ///
    /// let points = Points::from_f64((0..80).map(|i| f64::from(i % 9)).collect::<Vec<_>>(), 40, 2)?;
    /// let spec = KernelSpec::new("gaussian").width(Width::Auto);
    /// let kernel = spec.resolve(&points)?;
    /// assert!(kernel.parameter(Parameter::Gamma).is_some_and(|gamma| gamma > 0.0));
    /// // On threads of one's own, with somebody looking on who may stop a search.
    /// let again = spec.resolve_watched(&points, &Threads::new(1)?, &Watch::new())?;
    /// assert_eq!(again.parameter(Parameter::Gamma), kernel.parameter(Parameter::Gamma));
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
        self.resolve_told(points, 0, threads, watch).map(|(kernel, _)| kernel)
    }

    /// As [`resolve_watched`](Self::resolve_watched), with a seed for the samples of a search, and with what the search has to say of the width that it
    /// found.
    ///
    /// ```
    /// use mercer::{Points, Watch, kernel::{KernelSpec, Width}, watch::Threads};
    ///
    /// let points = Points::from_f64((0..80).map(|i| f64::from(i % 9)).collect::<Vec<_>>(), 40, 2)?;
    /// let spec = KernelSpec::new("gaussian").width(Width::Median);
    /// let (_, warnings) = spec.resolve_told(&points, 0, &Threads::new(1)?, &Watch::new())?;
    /// assert!(warnings.is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`resolve_watched`](Self::resolve_watched).
    pub fn resolve_told(
        &self,
        points: &Points,
        seed: u64,
        threads: &Threads,
        watch: &Watch<'_>,
    ) -> Result<(Kernel, Vec<String>)> {
        let kernel = self.resolve_directly(points)?;
        if self.wanted_width() != Some(Width::Auto) {
            return Ok((kernel, Vec::new()));
        }
        // Here nobody can say which bandwidths to try.
        let tuning = search::tune(&KernelTuner::new(self.clone()).seed(seed), points, false, threads, watch)?;
        let kernel = kernel.with(Parameter::Gamma, tuning.best_gamma)?;
        Ok((kernel, tuning.warnings.into_iter().map(|warning| format!("gamma auto: {warning}")).collect()))
    }
}
