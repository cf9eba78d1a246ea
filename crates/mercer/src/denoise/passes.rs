//! All patches through a filter, once or twice.

use std::ops::Range;

use super::channels::Mixing;
use super::filter::{Filter, Tally};
use super::image::Image;
use super::patches::{Overlap, Patches};
use super::settings::{AT_ONCE, DenoiseRecord, Denoiser, LEARNED_FROM};
use crate::data::sample_rows;
use crate::error::Result;
use crate::watch::{Context, Phase, Watch};

/// What noise is taken off.
pub(super) struct Subject<'a> {
    pub(super) image: &'a Image,
    pub(super) patches: Patches,
    /// How the noise of the channels belongs together; nothing if each has its own.
    pub(super) mixing: Option<Mixing>,
    /// The width of the kernel where none is given, in units of how far patches are from their mean.
    pub(super) width: f64,
    /// How many times farther than noise patches must spread over a component for it to count.
    pub(super) least_spread: f64,
}

/// The picture that patches overlap to when noise of this level is off them.
pub(super) fn without_noise(
    settings: &Denoiser,
    subject: &Subject<'_>,
    noise: Option<f64>,
    watch: &Watch<'_>,
) -> Result<(Image, DenoiseRecord)> {
    let (image, patches) = (subject.image, &subject.patches);
    let record = DenoiseRecord::new(settings, (patches.len(), patches.n_features()), noise);
    if noise == Some(0.0) {
        return Ok((image.clone(), record));
    }
    let sampled = sample_rows(patches.len(), LEARNED_FROM, settings.seed);
    let (points, _) = patches.take(image, sampled.iter().copied())?;
    let Some(model) = settings.learn(&points, patches.rank(), subject.width, watch)? else {
        return Ok((image.clone(), record));
    };
    let filter = Filter::new(settings, &model, &points, noise.unwrap_or(0.0), subject, watch)?;

    let passes = if settings.refines() { 2 } else { 1 };
    let threads = settings.pool()?;
    let mut context = Context::new(&threads, watch, Phase::Reconstructing);
    context.progress.expected_passes = Some(passes);
    let (mut tally, mut guide) = (Tally::default(), None);
    for pass in 1..=passes {
        context.progress.pass = pass;
        guide = Some(once(image, guide.as_ref(), patches, &filter, &mut tally, &context)?);
    }
    let found = guide.expect("there is at least one pass");
    Ok((found, record.complete(settings, &model, points.n_samples(), tally)))
}

/// All patches through the filter, and the picture that they overlap to.
fn once(
    image: &Image,
    guide: Option<&Image>,
    patches: &Patches,
    filter: &Filter<'_>,
    tally: &mut Tally,
    context: &Context<'_>,
) -> Result<Image> {
    let n = patches.len();
    let mut overlap = Overlap::new(image);
    for first in (0..n).step_by(AT_ONCE) {
        let some: Range<usize> = first..n.min(first + AT_ONCE);
        let (points, means) = patches.take(image, some.clone())?;
        let guide = guide.map(|guide| patches.take(guide, some.clone())).transpose()?;
        let found = filter.apply(&points, guide.as_ref().map(|(points, _)| points), tally, &context.watch.unseen())?;
        for (i, patch) in some.enumerate() {
            overlap.add(patches, patch, found.row(i).iter().copied(), patches.means_of(&means, i));
        }
        context.report_fraction((first + points.n_samples()) as f64 / n as f64);
    }
    Ok(overlap.mean(image))
}
