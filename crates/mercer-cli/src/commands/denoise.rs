//! `mercer denoise`: a picture without noise.

use mercer::denoise::{DenoiseRecord, Denoiser, Grid, noise_removed, snr};
use serde::Serialize;

use super::learn::watched_in;
use super::session::Session;
use crate::args::{DenoiseArgs, FilterArgs};
use crate::failure::{ExitStatus, Failure, InputError, Result};
use crate::input::{Picture, read_picture};
use crate::output::{self, as_written};
use crate::records::Common;

/// What the record of a denoised picture has of its own.
#[derive(Serialize)]
struct DenoiseBody {
    #[serde(flatten)]
    common: Common,
    image: String,
    output: String,
    height: usize,
    width: usize,
    channels: usize,
    bit_depth: u8,
    patch: usize,
    stride: usize,
    #[serde(flatten)]
    record: DenoiseRecord,
    /// How good it is; absent without a reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Comparison>,
}

/// Signals with and without noise, against the true one.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Comparison {
    file: String,
    /// In decibel; absent where there is no noise at all.
    snr_before: Option<f64>,
    snr_after: Option<f64>,
    /// The share of the noise's variance that is gone; absent if there was none.
    noise_removed: Option<f64>,
}

/// Runs the command.
pub(super) fn run(args: &DenoiseArgs) -> Result<ExitStatus> {
    let mut session = Session::start("denoise", &args.report, args.progress.progress)?;
    let output = args.output();
    let format = output::picture_format(output)?;
    let grid = Grid::new(args.patch, args.stride)?;
    let inputs = [Some(("picture", args.image.as_path())), args.reference.as_deref().map(|path| ("reference", path))];
    session.check_outputs([output], &inputs.into_iter().flatten().collect::<Vec<_>>())?;
    let name = args.image.display().to_string();
    let picture = session.timed("read", |_| read_picture(&args.image))?;
    output::check_format(format, &picture, output)?;
    let reference = session.timed("read", |_| match &args.reference {
        Some(path) => Ok(Some((path.display().to_string(), like(&picture, &name, path)?))),
        None => Ok(None),
    })?;

    let settings = denoiser(&args.filter);
    let found = session.timed("denoise", |session| {
        Ok(watched_in(session, &name, None, |watch| settings.image(&picture.colors, grid, watch))?.0)
    })?;
    let compared = match reference {
        None => None,
        Some((file, clean)) => {
            let numbers = |image| as_written(image, picture.depth).into_iter().map(f64::from).collect::<Vec<_>>();
            Some(Comparison::new(file, clean.colors.values(), picture.colors.values(), &numbers(&found.image))?)
        }
    };
    session.timed("write", |_| output::write_picture(output, format, &found.image, &picture))?;
    session.wrote(output);
    session.console.note(&format!(
        "{} picture, {}, written to {}",
        picture.shape(),
        sentence(&found.record),
        output.display()
    ));
    if let Some(compared) = &compared {
        session.console.note(&compared.sentence());
    }
    let status = status(&found.record, &mut session);
    let body = DenoiseBody {
        common: session.common(),
        image: name,
        output: output.display().to_string(),
        height: picture.colors.height(),
        width: picture.colors.width(),
        channels: picture.colors.channels(),
        bit_depth: picture.depth.bits(),
        patch: grid.size(),
        stride: grid.stride(),
        record: found.record,
        reference: compared,
    };
    session.finish(status, &body, None)
}

/// How a run ends that has found what it could.
pub(super) fn status(record: &DenoiseRecord, session: &mut Session<'_>) -> ExitStatus {
    let missed = record.n_not_converged;
    if missed == 0 {
        return ExitStatus::Done;
    }
    // Every point has one in every pass.
    let all = record.n_points * if record.refined { 2 } else { 1 };
    session.warn(format!("{missed} of {all} pre-images did not converge"));
    ExitStatus::NotConverged
}

/// The denoising that the flags mean.
pub(super) fn denoiser(args: &FilterArgs) -> Denoiser {
    let settings = Denoiser::new().seed(args.seed);
    let settings = args.noise.into_iter().fold(settings, Denoiser::noise);
    let settings = args.threshold.into_iter().fold(settings, Denoiser::threshold);
    let settings = args.n_components.into_iter().fold(settings, Denoiser::n_components);
    let settings = args.bandwidth.into_iter().fold(settings, Denoiser::bandwidth);
    let settings = args.n_landmarks.into_iter().fold(settings, Denoiser::n_landmarks);
    let settings = args.threads.into_iter().fold(settings, Denoiser::threads);
    if args.no_refine { settings.refine(false) } else { settings }
}

/// What was done, for people.
pub(super) fn sentence(record: &DenoiseRecord) -> String {
    match record.noise {
        Some(noise) => {
            let how = if record.noise_estimated { "estimated" } else { "given" };
            let kept = record.mean_kept_components;
            format!("noise {noise:.3} ({how}), {kept:.1} of {} components kept on average", record.n_components)
        }
        None => format!("projected on {} components", record.n_components),
    }
}

/// The reference, if it is a picture like this one.
fn like(picture: &Picture, name: &str, path: &std::path::Path) -> Result<Picture> {
    let reference = read_picture(path)?;
    if reference.shape() != picture.shape() || reference.depth != picture.depth {
        let describe = |picture: &Picture| format!("{} with {} bits", picture.shape(), picture.depth.bits());
        let problem = format!("the reference is {}, but {name} is {}", describe(&reference), describe(picture));
        return Err(InputError::new(&path.display().to_string(), problem).into());
    }
    Ok(reference)
}

impl Comparison {
    pub(super) fn new(file: String, clean: &[f64], noisy: &[f64], found: &[f64]) -> Result<Self> {
        let finite = |x: f64| x.is_finite().then_some(x);
        let in_file = |error| Failure::in_data(&file)(error);
        let (before, after) = (snr(clean, noisy).map_err(in_file)?, snr(clean, found)?);
        // Without noise there is no share of it.
        let noise_removed = if before.is_finite() { Some(noise_removed(clean, noisy, found)?) } else { None };
        Ok(Self { snr_before: finite(before), snr_after: finite(after), noise_removed, file })
    }

    pub(super) fn sentence(&self) -> String {
        let decibel = |x: Option<f64>| x.map_or_else(|| "without noise".to_owned(), |x| format!("{x:.2} dB"));
        let gone = match self.noise_removed {
            Some(share) => format!("; {:.1} % of the noise's variance is gone", 100.0 * share),
            None => String::new(),
        };
        format!(
            "against {}: signal to noise {} before, {} after{gone}",
            self.file,
            decibel(self.snr_before),
            decibel(self.snr_after)
        )
    }
}
