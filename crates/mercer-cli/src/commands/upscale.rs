//! `mercer upscale`: larger pictures of a kind that is known.

use std::path::{Path, PathBuf};

use mercer::denoise::{Image, snr};
use mercer::upscale::{PictureSpace, Upscaler, enlarged, magnification};
use serde::Serialize;

use super::learn::watched_in;
use super::session::{Session, is_same_file, threads};
use crate::args::{ColumnName, DataArgs, ImageSize, Pixels, UpscaleArgs};
use crate::failure::{ExitStatus, Failure, InputError, Result};
use crate::input::{Data, Depth, Picture, read_kind, read_picture};
use crate::output::{self, PictureFormat, as_written};
use crate::records::Common;

/// What the record of larger pictures has of its own.
#[derive(Serialize)]
struct UpscaleBody {
    #[serde(flatten)]
    common: Common,
    known: String,
    n_samples: usize,
    height: usize,
    width: usize,
    channels: usize,
    n_components: usize,
    threads: usize,
    pictures: Vec<PictureBody>,
}

/// What became of a picture.
#[derive(Serialize)]
struct PictureBody {
    image: String,
    output: String,
    magnification: usize,
    converged: bool,
    /// How far the projection was from the small picture.
    mismatch: f64,
    /// In decibel; absent without a reference, or without any error.
    #[serde(skip_serializing_if = "Option::is_none")]
    snr: Option<f64>,
    /// The same for interpolation alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    snr_interpolated: Option<f64>,
}

/// A small picture, and where the large one goes.
struct Task {
    name: String,
    small: Picture,
    large: Option<Picture>,
    output: PathBuf,
}

/// A folder for what a command writes at its end. If nothing has come into it by then, it goes as it came.
pub(super) struct Folder {
    /// Those that were made, inner ones first.
    made: Vec<PathBuf>,
}

impl Folder {
    pub(super) fn make(path: &Path) -> Result<Self> {
        let missing = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let folder = Self { made: missing.map(Path::to_owned).collect() };
        std::fs::create_dir_all(path).map_err(Failure::file("making", path))?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // One that is not empty stays.
        for folder in &self.made {
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &UpscaleArgs) -> Result<ExitStatus> {
    let mut session = Session::start("upscale", &args.report, args.progress.progress)?;
    let outputs = outputs(args)?;
    let _folder = Folder::make(&args.output)?;
    check_place(args)?;
    let inputs: Vec<(&str, &Path)> = args.images.iter().map(|image| ("picture", image.as_path())).collect();
    session.check_outputs(outputs.iter().map(PathBuf::as_path), &inputs)?;
    let tasks = session.timed("read", |_| tasks(args, outputs))?;
    let known = session.read(&args.known, &flags_of_known(args), 0)?;
    check_known(&known, args, &tasks)?;
    let size = size_of(&known, args)?;
    let channels = if args.pixels == Some(Pixels::Color) { 3 } else { 1 };
    let shape = (size.height as usize, size.width as usize, channels);
    tasks.iter().try_for_each(|task| task.check(shape))?;

    let settings = upscaler(args);
    let space = session.timed("fit", |session| {
        Ok(watched_in(session, &known.name, None, |watch| settings.learn(&known.points, shape, watch))?.0)
    })?;
    let found = session.timed("upscale", |session| {
        tasks.iter().map(|task| enlarge(task, &space, session)).collect::<Result<Vec<_>>>()
    })?;
    // All of them or none.
    let mut pictures = Vec::with_capacity(found.len());
    for (task, (body, image)) in tasks.iter().zip(found) {
        output::write_picture(&task.output, PictureFormat::Png, &image, &task.small)?;
        session.wrote(&task.output);
        pictures.push(body);
    }
    let missed: Vec<&str> = pictures.iter().filter(|body| !body.converged).map(|body| body.image.as_str()).collect();
    if !missed.is_empty() {
        session.warn(format!("{} of {} pictures did not converge: {}", missed.len(), tasks.len(), missed.join(", ")));
    }
    let status = if missed.is_empty() { ExitStatus::Done } else { ExitStatus::NotConverged };
    session.console.note(&format!(
        "{} of {size} pixels from {} known ones, written to {}",
        if pictures.len() == 1 { "1 picture".to_owned() } else { format!("{} pictures", pictures.len()) },
        known.points.n_samples(),
        args.output.display()
    ));
    if let Some((after, before)) = means(&pictures) {
        session.console.note(&format!("signal to noise {after:.2} dB, {before:.2} dB by interpolation alone"));
    }
    let body = UpscaleBody {
        common: session.common(),
        known: known.name.clone(),
        n_samples: known.points.n_samples(),
        height: shape.0,
        width: shape.1,
        channels,
        n_components: space.model().n_components(),
        threads: threads(args.threads)?.count(),
        pictures,
    };
    session.finish(status, &body, None)
}

/// How known pictures are read: each with the name of its file.
fn flags_of_known(args: &UpscaleArgs) -> DataArgs {
    let id = Some(ColumnName("file".to_owned()));
    DataArgs { id, pixels: args.pixels, resize: args.resize, ..DataArgs::default() }
}

/// The settings that the flags mean.
fn upscaler(args: &UpscaleArgs) -> Upscaler {
    let settings = args.n_components.into_iter().fold(Upscaler::new(), Upscaler::n_components);
    let settings = args.bandwidth.into_iter().fold(settings, Upscaler::bandwidth);
    args.threads.into_iter().fold(settings, Upscaler::threads)
}

/// Refuses to write among the known pictures: one of the same name would be replaced, and others be taken for known ones the next time.
fn check_place(args: &UpscaleArgs) -> Result<()> {
    match (std::fs::canonicalize(&args.known), std::fs::canonicalize(&args.output)) {
        (Ok(known), Ok(output)) if known.is_dir() && output.starts_with(&known) => Err(Failure::usage(format!(
            "{} is in the folder of the known pictures: give another one with --output",
            args.output.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses known pictures of which something would not be learned, and to replace one, wherever a list has it from.
fn check_known(known: &Data, args: &UpscaleArgs, tasks: &[Task]) -> Result<()> {
    let folder = folder_of(args);
    let existing: Vec<&Task> = tasks.iter().filter(|task| task.output.exists()).collect();
    let names = known.ids.iter().flat_map(|ids| &ids.values);
    // Names that are no text were not kept as they are.
    for path in names.map(|name| folder.join(name)).filter(|path| path.exists()) {
        let kind = read_kind(&path)?;
        require_plain(&path, kind.depth, kind.has_alpha)?;
        if let Some(task) = existing.iter().find(|task| is_same_file(&task.output, &path)) {
            let output = task.output.display();
            return Err(Failure::usage(format!("{output} is a known picture: it would be replaced")));
        }
    }
    Ok(())
}

/// Where the names of known pictures start from.
fn folder_of(args: &UpscaleArgs) -> PathBuf {
    if args.known.is_dir() { args.known.clone() } else { args.known.with_file_name("") }
}

/// Where each picture goes.
fn outputs(args: &UpscaleArgs) -> Result<Vec<PathBuf>> {
    args.images
        .iter()
        .map(|image| match image.file_stem() {
            Some(stem) => Ok(args.output.join(format!("{}.png", stem.to_string_lossy()))),
            None => Err(Failure::usage(format!("{} is not the name of a picture", image.display()))),
        })
        .collect()
}

/// All small pictures, and the true large ones where they are given.
fn tasks(args: &UpscaleArgs, outputs: Vec<PathBuf>) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for (path, output) in args.images.iter().zip(outputs) {
        let large = match (&args.reference, path.file_name()) {
            (Some(folder), Some(name)) => Some(usable(&folder.join(name))?),
            _ => None,
        };
        tasks.push(Task { name: path.display().to_string(), small: usable(path)?, large, output });
    }
    Ok(tasks)
}

/// A picture of 8 bits without transparency.
fn usable(path: &Path) -> Result<Picture> {
    let picture = read_picture(path)?;
    require_plain(path, picture.depth, picture.alpha.is_some())?;
    Ok(picture)
}

/// Refuses what is not learned from known pictures.
fn require_plain(path: &Path, depth: Depth, has_alpha: bool) -> Result<()> {
    let what = match (has_alpha, depth) {
        (true, _) => "transparency",
        (false, Depth::Sixteen) => "16 bits",
        (false, Depth::Eight) => return Ok(()),
    };
    let problem = format!("the picture has {what}, which is not learned from known pictures");
    Err(InputError::new(&path.display().to_string(), problem)
        .hint("save it with 8 bits and without transparency")
        .into())
}

/// The size of the known pictures, which are all of one size.
fn size_of(known: &Data, args: &UpscaleArgs) -> Result<ImageSize> {
    if let Some(size) = args.resize {
        return Ok(size);
    }
    let first = known.ids.as_ref().and_then(|ids| ids.values.first()).map(String::as_str).unwrap_or_default();
    let colors = read_picture(&folder_of(args).join(first))?.colors;
    Ok(ImageSize { width: colors.width() as u32, height: colors.height() as u32 })
}

impl Task {
    /// Refuses a picture that cannot be made as large as the known ones, before these are learned from.
    fn check(&self, shape: (usize, usize, usize)) -> Result<()> {
        let small = &self.small.colors;
        let wrong = |problem: String| Failure::from(InputError::new(&self.name, problem));
        let (height, width, channels) = shape;
        if small.channels() != channels {
            let known = if channels == 1 { "grey" } else { "color" };
            return Err(wrong(format!(
                "the picture is {}, but known pictures are taken as {known}: see --pixels",
                self.small.shape()
            )));
        }
        magnification(shape, (small.height(), small.width(), small.channels())).map_err(|error| match error {
            mercer::Error::InvalidParameter { requirement, value, .. } => {
                wrong(format!("the picture is {value}, but it must be {requirement}"))
            }
            other => other.into(),
        })?;
        match &self.large {
            Some(large) if (large.colors.height(), large.colors.width(), large.colors.channels()) != shape => {
                Err(wrong(format!("its reference is {}, but known pictures are {width}x{height}", large.shape())))
            }
            _ => Ok(()),
        }
    }
}

fn enlarge(task: &Task, space: &PictureSpace, session: &Session<'_>) -> Result<(PictureBody, Image)> {
    let small = &task.small.colors;
    let (found, _) = watched_in(session, &task.name, None, |watch| space.upscale(small, watch))?;
    let mut body = PictureBody {
        image: task.name.clone(),
        output: task.output.display().to_string(),
        magnification: found.factor,
        converged: found.converged,
        mismatch: found.mismatch,
        snr: None,
        snr_interpolated: None,
    };
    if let Some(large) = &task.large {
        let decibel = |image| {
            let written: Vec<f64> = as_written(image, Depth::Eight).into_iter().map(f64::from).collect();
            snr(large.colors.values(), &written).map(|snr| snr.is_finite().then_some(snr))
        };
        body.snr = decibel(&found.image)?;
        body.snr_interpolated = decibel(&enlarged(small, found.factor)?)?;
    }
    Ok((body, found.image))
}

/// Mean ratios of signal to noise, if they are known.
fn means(pictures: &[PictureBody]) -> Option<(f64, f64)> {
    let known: Vec<(f64, f64)> = pictures.iter().filter_map(|body| Some((body.snr?, body.snr_interpolated?))).collect();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    (!known.is_empty()).then(|| (mean(known.iter().map(|x| x.0).collect()), mean(known.iter().map(|x| x.1).collect())))
}
