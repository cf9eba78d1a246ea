//! Points without what the noise does to their scores.

use faer::Mat;

use super::passes::Subject;
use super::settings::{DenoiseRecord, Denoiser};
use crate::data::{Points, sample_rows};
use crate::error::Result;
use crate::kernel::Parameter;
use crate::model::Model;
use crate::nystrom::Random;
use crate::preimage::{Preimage, PreimageMethod, PreparedPreimage};
use crate::watch::{Threads, Watch};

/// Points at which the noise of scores is measured.
const MEASURED_AT: usize = 1000;
/// A pre-image is good enough when its last step is smaller than this share of the kernel's width.
const TOLERANCE: f64 = 1e-5;
/// The fixed point takes a handful of steps under a wide kernel.
const STEPS: usize = 100;

/// A model, and what the noise does to its scores.
pub(super) struct Filter<'a> {
    model: &'a Model,
    prepared: PreparedPreimage<'a>,
    threads: Threads,
    /// The standard deviation of each score's noise, and how many of them a score must reach; none for a projection.
    shrinkage: Option<(Vec<f64>, f64)>,
}

/// What was counted on the way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    points: usize,
    kept: usize,
    not_converged: usize,
}

impl<'a> Filter<'a> {
    /// Measures what noise of this level does to the scores of some of the points.
    pub(super) fn new(
        settings: &Denoiser,
        model: &'a Model,
        points: &Points,
        noise: f64,
        subject: &Subject<'_>,
        watch: &Watch<'_>,
    ) -> Result<Self> {
        let threads = settings.pool()?;
        let shrinkage = if settings.only_projects() {
            None
        } else {
            let some = points.select(&sample_rows(points.n_samples(), MEASURED_AT, settings.seed.wrapping_add(1)));
            let mut random = Random::new(settings.seed.wrapping_add(2));
            let draw = |patch: &mut [f64]| {
                match &subject.mixing {
                    Some(mixing) => mixing.draw(noise, &mut random, patch),
                    None => patch.fill_with(|| noise * random.normal()),
                }
                subject.patches.subtract_means(patch, &mut Vec::new());
            };
            let mut of_scores = noise_of_scores(model, &some, draw, &threads, watch)?;
            for (noise, value) in of_scores.iter_mut().zip(model.eigenvalues()) {
                // A component that points spread over no farther than noise does is noise at every point.
                if (value / points.n_samples() as f64).sqrt() < subject.least_spread * *noise {
                    *noise = f64::INFINITY;
                }
            }
            Some((of_scores, settings.least_score()))
        };
        let preimage = Preimage::new(PreimageMethod::FixedPoint)
            .tolerance(TOLERANCE)
            .max_iterations(STEPS)
            .restarts(0)
            .threads(threads.count());
        Ok(Self { model, prepared: preimage.prepare(model, watch)?, threads, shrinkage })
    }

    /// The points without noise: by the size of their scores, or by that of the scores of a guide.
    pub(super) fn apply(
        &self,
        points: &Points,
        guide: Option<&Points>,
        tally: &mut Tally,
        watch: &Watch<'_>,
    ) -> Result<Mat<f64>> {
        let mut scores = self.model.transform_watched(points, &self.threads, watch)?;
        match (&self.shrinkage, guide) {
            (Some((noise, threshold)), None) => {
                for (scores, noise) in scores.col_iter_mut().zip(noise) {
                    for score in scores.iter_mut() {
                        if score.abs() > threshold * noise {
                            tally.kept += 1;
                        } else {
                            *score = 0.0;
                        }
                    }
                }
            }
            (Some((noise, _)), Some(guide)) => {
                let guide = self.model.transform_watched(guide, &self.threads, watch)?;
                for ((scores, guide), noise) in scores.col_iter_mut().zip(guide.col_iter()).zip(noise) {
                    for (score, guide) in scores.iter_mut().zip(guide.iter()) {
                        // The best factor for a signal of this size; without noise there is nothing to shrink.
                        let signal = guide * guide;
                        *score *= if *noise > 0.0 { signal / (signal + noise * noise) } else { 1.0 };
                    }
                }
            }
            (None, _) => tally.kept += scores.nrows() * scores.ncols(),
        }
        if guide.is_none() {
            tally.points += points.n_samples();
        }
        let found = self.prepared.of_scores(scores.as_ref(), Some(points), watch)?;
        tally.not_converged += found.n_not_converged();
        Ok(found.points)
    }
}

impl DenoiseRecord {
    /// What is known before anything is done.
    pub(super) fn new(settings: &Denoiser, (n_points, n_features): (usize, usize), noise: Option<f64>) -> Self {
        Self {
            n_points,
            n_features,
            noise,
            noise_estimated: noise.is_some() && settings.noise.is_none(),
            n_learned_from: 0,
            n_landmarks: 0,
            n_components: 0,
            bandwidth: None,
            threshold: noise.map(|_| settings.least_score()),
            refined: false,
            mean_kept_components: 0.0,
            n_not_converged: 0,
            threads: settings.n_threads(),
            seed: settings.seed,
        }
    }

    /// What is known in the end.
    pub(super) fn complete(mut self, settings: &Denoiser, model: &Model, n_learned_from: usize, tally: Tally) -> Self {
        let gamma = model.kernel().parameter(Parameter::Gamma);
        self.n_learned_from = n_learned_from;
        self.n_landmarks = model.basis().n_samples();
        self.n_components = model.n_components();
        self.bandwidth = gamma.map(|gamma| (0.5 / gamma).sqrt());
        self.refined = settings.refines();
        self.mean_kept_components = tally.kept as f64 / tally.points.max(1) as f64;
        self.n_not_converged = tally.not_converged;
        self
    }
}

/// The root of the mean square of what noise changes in each score.
fn noise_of_scores(
    model: &Model,
    points: &Points,
    mut draw: impl FnMut(&mut [f64]),
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<Vec<f64>> {
    let (n, d) = (points.n_samples(), points.n_features());
    let (mut values, mut added) = (Vec::with_capacity(n * d), vec![0.0; d]);
    for row in 0..n {
        draw(&mut added);
        values.extend(points.row(row).iter().zip(&added).map(|(x, noise)| x + noise));
    }
    let before = model.transform_watched(points, threads, watch)?;
    let after = model.transform_watched(&Points::from_f64(values, n, d)?, threads, watch)?;
    let mean_square = |j: usize| {
        let differences = before.col(j).iter().zip(after.col(j).iter()).map(|(a, b)| (a - b) * (a - b));
        differences.sum::<f64>() / n as f64
    };
    Ok((0..model.n_components()).map(|j| mean_square(j).sqrt()).collect())
}
