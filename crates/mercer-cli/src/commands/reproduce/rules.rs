//! Gain rules of the kernel Hebbian algorithm, with the parameters of a paper.

use mercer::hebbian::{RecordError, excess_relative_error};
use mercer::{
    Center, Error, Gain, GainRule, HebbianLearner, Kernel, KernelHebbianPca, Model, Points, Precision, Refresh,
};

use super::stage::Stage;
use crate::failure::Result;

/// A rule with its parameters; `tau` is in passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) gain: GainRule,
    pub(super) eta0: f64,
    pub(super) tau: f64,
    pub(super) mu: f64,
}

impl Rule {
    pub(super) const fn new(gain: GainRule, eta0: f64, tau: f64, mu: f64) -> Self {
        Self { gain, eta0, tau, mu }
    }
}

/// What a rule is run on.
pub(super) struct Problem<'a> {
    pub(super) points: &'a Points,
    pub(super) kernel: Kernel,
    pub(super) center: Center,
    pub(super) precision: Precision,
    pub(super) n_components: usize,
    pub(super) refresh: Refresh,
}

/// How a run of a rule went.
pub(super) struct Run {
    pub(super) learner: HebbianLearner,
    /// Whether the gains that were given diverged, and others were found by trying.
    pub(super) was_tuned: bool,
}

impl Problem<'_> {
    /// Runs a rule, and measures its error after every pass; where its gains diverge, with gains that are found by trying.
    pub(super) fn run(&self, rule: Rule, passes: usize, seed: u64, stage: &Stage<'_>) -> Result<Run> {
        self.run_recording(rule, passes, seed, RecordError::Yes, stage)
    }

    /// The same, without the errors: each of them is a look at all pairs of points.
    pub(super) fn run_unmeasured(&self, rule: Rule, passes: usize, stage: &Stage<'_>) -> Result<Run> {
        self.run_recording(rule, passes, 0, RecordError::No, stage)
    }

    fn run_recording(
        &self,
        rule: Rule,
        passes: usize,
        seed: u64,
        errors: RecordError,
        stage: &Stage<'_>,
    ) -> Result<Run> {
        let settings = self.settings(rule, passes, seed, stage).record_error(errors);
        let given = settings.clone().eta0(rule.eta0).mu(rule.mu);
        match stage.watched(|watch| given.fit_from(self.points, &mercer::hebbian::Start::default(), watch)) {
            Err(Error::Diverged { .. }) => {
                let tuned = settings.eta0(Gain::Auto).mu(Gain::Auto);
                let fit =
                    |watch: &mercer::Watch<'_>| tuned.fit_from(self.points, &mercer::hebbian::Start::default(), watch);
                Ok(Run { learner: stage.watched(fit)?, was_tuned: true })
            }
            outcome => Ok(Run { learner: outcome?, was_tuned: false }),
        }
    }

    fn settings(&self, rule: Rule, passes: usize, seed: u64, stage: &Stage<'_>) -> KernelHebbianPca {
        KernelHebbianPca::new(self.kernel.clone())
            .center(self.center)
            .n_components(self.n_components)
            .precision(self.precision)
            .refresh(self.refresh)
            .gain(rule.gain)
            .tau(rule.tau * self.points.n_samples() as f64)
            .passes(passes)
            .seed(seed)
            .threads(stage.threads)
    }
}

/// The excess of the reconstruction error over that of the exact model, after every pass.
pub(super) fn excess(run: &Run, exact: &Model, stage: &Stage<'_>) -> Result<Vec<f64>> {
    let smallest = stage.watched(|watch| run.learner.reconstruction_error_of(exact, watch))?;
    let errors = run.learner.history().iter().filter_map(|entry| entry.error);
    Ok(errors.map(|error| excess_relative_error(error, smallest)).collect())
}

/// The excess at the end of a run whose errors were not measured.
pub(super) fn excess_at_end(run: &Run, exact: &Model, stage: &Stage<'_>) -> Result<f64> {
    let smallest = stage.watched(|watch| run.learner.reconstruction_error_of(exact, watch))?;
    let error = stage.watched(|watch| run.learner.reconstruction_error(watch))?;
    Ok(excess_relative_error(error, smallest))
}

/// The median of several curves, point by point.
pub(super) fn median(curves: &[Vec<f64>]) -> Vec<f64> {
    let length = curves.iter().map(Vec::len).min().unwrap_or(0);
    (0..length)
        .map(|at| {
            let mut values: Vec<f64> = curves.iter().map(|curve| curve[at]).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_taken_point_by_point() {
        let curves = [vec![1.0, 9.0, 3.0], vec![2.0, 8.0, 1.0], vec![0.0, 7.0]];
        assert_eq!(median(&curves), [1.0, 8.0]);
        assert!(median(&[]).is_empty());
    }
}
