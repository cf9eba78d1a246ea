//! How good and how fast is a picture denoised with default settings, against the kernel Hebbian algorithm and non-local means?

use std::collections::BTreeMap;

use mercer::denoise::{DenoiseRecord, Denoiser, Grid, Image, Patchwork, snr, with_noise};
use mercer::hebbian::RecordError;
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{Error, Gain, GainRule, Kernel, KernelHebbianPca, Model, Points, Watch};
use serde::Deserialize;

use crate::failure::{Failure, Result};
use crate::harness::{Contender, alternate};
use crate::points_file::PointsFile;
use crate::record::{Bar, Findings, Quantity, Table};
use crate::rival::Rival;
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    Grey pictures of 512 x 512 pixels with normal noise of 20 grey levels of 255. `Denoiser` has its defaults, and estimates the noise. KHA is the denoising of \
    Guenter, Schraudolph and Vishwanathan (2007), section 5.1.2, on the same noise: parts of 133 x 133 pixels, of which each gives 3844 patches of 11 x 11 pixels every \
    2 pixels, bandwidth 1 for grey values from 0 to 1, 20 components of each part by 50 passes of KHA/et* with the gains of their table 1, and pre-images by the fixed \
    point; they state neither their noise nor how patches are found from scores. Non-local means are scikit-image's, where the Python has it, with the level of the noise given and \
    the better of two cut-offs of its documentation. Errors are mean squares of what is wrong; the signal-to-noise ratio is the variance of the picture over the \
    error, in decibel.";

/// Pictures of the data folder.
const PICTURES: [&str; 3] = ["lena", "boat", "camera"];
/// Standard deviation of the noise, for grey values from 0 to 1.
const NOISE: f64 = 20.0 / 255.0;
/// Seconds that a picture may take.
const ALLOWED: f64 = 20.0;
/// Bandwidth 1.
const GAMMA: f64 = 0.5;
const STRIDE: usize = 2;
/// Gain, and updates over the number of patches after which it has halved: table 1.
const ETA0: f64 = 5.0;
const TAU: f64 = 4.0;
/// What is left of the error of the noisy picture, at most: by our defaults, and by any method that is not worse than nothing.
const ERROR_LIMIT: f64 = 0.6;
const NO_WORSE: f64 = 1.0;
/// An estimate of the noise may be this far off, relative to it.
const NOISE_LIMIT: f64 = 0.3;

/// A picture, without and with noise.
struct Pictures {
    name: String,
    clean: Image,
    noisy: Image,
}

/// The numbers of the paper, or those of a quick run.
struct Sizes {
    parts_per_side: usize,
    patch: usize,
    components: usize,
    passes: usize,
}

/// What a contender brings home.
struct Answered {
    image: Image,
    record: Option<DenoiseRecord>,
    note: Option<String>,
}

/// What the rival's script answers.
#[derive(Deserialize)]
struct MeansAnswer {
    missing: Option<String>,
    seconds: Option<f64>,
    #[serde(default)]
    versions: BTreeMap<String, String>,
}

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let sizes = Sizes {
        parts_per_side: setup.size(4, 2),
        patch: setup.size(11, 5),
        components: setup.size(20, 4),
        passes: setup.size(50, 3),
    };
    findings.setting("noise", NOISE);
    findings.setting("components of KHA", sizes.components);
    findings.setting("passes of KHA", sizes.passes);
    findings.setting("patch of KHA", sizes.patch);
    let mut table = Table::new("Signal-to-noise ratio in dB", ["noisy", "mercer", "KHA", "non-local means"]);
    for pictures in all_pictures(setup)? {
        let name = pictures.name.clone();
        table.row(name, of_picture(setup, findings, &sizes, &pictures)?);
    }
    findings.table(table);
    Ok(())
}

/// Everything about one picture; its ratios of signal to noise come back: noisy, ours, KHA, and non-local means if they were there.
fn of_picture(setup: &Setup, findings: &mut Findings, sizes: &Sizes, pictures: &Pictures) -> Result<Vec<Option<f64>>> {
    let (name, noisy) = (&pictures.name, &pictures.noisy);
    let denoiser = Denoiser::new().threads(setup.options.threads);
    let ours = Contender::timed(format!("mercer/{name}"), || {
        let found = denoiser.image(noisy, Grid::default(), &Watch::new())?;
        Ok(Answered { image: found.image, record: Some(found.record), note: None })
    });
    let ours = alternate(vec![ours], setup.rounds(3))?;
    let hebbian = Contender::timed(format!("KHA/{name}"), || by_hebbian(setup, noisy, sizes));
    let hebbian = alternate(vec![hebbian], setup.rounds(1))?;
    findings.timings(&ours);
    findings.timings(&hebbian);

    let error = |image: &Image| mean_square(&pictures.clean, image);
    let before = error(noisy);
    let (own, theirs) = (ours[0].answer(), hebbian[0].answer());
    findings.note_if(theirs.note.as_deref());
    if let Some(record) = &own.record {
        findings.setting("points", record.n_points);
        let level = record.noise.unwrap_or(f64::NAN);
        findings.check(
            format!("{name}: estimated noise from the true one"),
            (level / NOISE - 1.0).abs(),
            NOISE_LIMIT,
        )?;
    }
    for (who, image, limit) in [("mercer", &own.image, ERROR_LIMIT), ("KHA", &theirs.image, NO_WORSE)] {
        findings.check(format!("{name}, {who}: error to that of the noisy picture"), error(image) / before, limit)?;
    }
    let of = |who: &str, value: f64| Quantity::new(format!("{name}: error of {who}"), value, "");
    let allowed = Quantity::new("allowed", ALLOWED, "s");
    findings.ratio(format!("{name}: time to {ALLOWED} s"), &ours[0], allowed, Some(Bar::AtMost(1.0)));
    let bar = Some(Bar::AtMost(1.0));
    let (error_own, error_theirs) = (error(&own.image), error(&theirs.image));
    findings.ratio(format!("{name}: error to that of KHA"), of("mercer", error_own), of("KHA", error_theirs), bar);
    let decibel = |image: &Image| snr(pictures.clean.values(), image.values());
    let mut row = vec![Some(decibel(noisy)?), Some(decibel(&own.image)?), Some(decibel(&theirs.image)?), None];
    if let Some((image, seconds)) = non_local_means(setup, findings, pictures)? {
        let theirs = of("non-local means", error(&image));
        findings.ratio(format!("{name}: error to that of non-local means"), of("mercer", error_own), theirs, None);
        let seconds = Quantity::new(format!("non-local means/{name}"), seconds, "s");
        findings.ratio(format!("{name}: time to that of non-local means"), &ours[0], seconds, None);
        row[3] = Some(decibel(&image)?);
    }
    Ok(row)
}

/// The denoising of the paper: every part of the picture has components of its own, by the kernel Hebbian algorithm.
fn by_hebbian(setup: &Setup, noisy: &Image, sizes: &Sizes) -> Result<Answered> {
    let mut patchwork = Patchwork::new(noisy, Grid::new(sizes.patch, STRIDE)?);
    let preimage = Preimage::new(PreimageMethod::FixedPoint).tolerance(1e-6).threads(setup.options.threads);
    let mut tuned = 0;
    for part in patchwork.parts(sizes.parts_per_side)? {
        let patches = patchwork.patches(&part)?;
        let (model, was_tuned) = components(setup, &patches, sizes)?;
        tuned += usize::from(was_tuned);
        let found = preimage.of_points(&model, &patches, &Watch::new())?;
        patchwork.put(&part, found.points.as_ref())?;
    }
    let note = (tuned > 0).then(|| format!("KHA: the paper's gains diverged on {tuned} parts; others were found."));
    Ok(Answered { image: patchwork.image()?, record: None, note })
}

/// Components by KHA/et* with the paper's gains, or where those diverge with others that are found; whether they were.
fn components(setup: &Setup, patches: &Points, sizes: &Sizes) -> Result<(Model, bool)> {
    let with = |eta0: Gain| -> mercer::Result<Model> {
        let settings = KernelHebbianPca::new(Kernel::gaussian(GAMMA)?)
            .n_components(sizes.components)
            .gain(GainRule::EigenvalueStar)
            .eta0(eta0)
            .tau(TAU * patches.n_samples() as f64)
            .passes(sizes.passes)
            .record_error(RecordError::No)
            .threads(setup.options.threads);
        settings.fit(patches)?.model()
    };
    match with(Gain::Fixed(ETA0)) {
        Err(Error::Diverged { .. }) => Ok((with(Gain::Auto)?, true)),
        model => Ok((model?, false)),
    }
}

/// What scikit-image makes of a picture, and its seconds; nothing where it was left out or is not there, which is noted.
fn non_local_means(setup: &Setup, findings: &mut Findings, pictures: &Pictures) -> Result<Option<(Image, f64)>> {
    if setup.options.no_rival {
        findings.note("Non-local means were left out.");
        return Ok(None);
    }
    let width = pictures.noisy.width();
    let write = |image: &Image, file: &str| {
        let values: Vec<f32> = image.values().iter().map(|&x| x as f32).collect();
        PointsFile::write_f32(setup.scratch_file(file), &values, width)
    };
    let (noisy, clean) = (write(&pictures.noisy, "noisy.f32")?, write(&pictures.clean, "clean.f32")?);
    let path = setup.scratch_file("denoised.f32");
    let script = Rival::new("non_local_means.py", &noisy)
        .argument("noise", NOISE)
        .argument("clean", clean.path.display())
        .argument("denoised", path.display());
    let (answer, note): (MeansAnswer, _) = script.run(setup)?;
    findings.note_if(note.as_deref());
    if let Some(missing) = answer.missing {
        findings.note(format!("Non-local means were not measured: the Python has no {missing}."));
        return Ok(None);
    }
    findings.rival_versions(&answer.versions);
    let found = PointsFile { path, ..noisy }.load()?;
    let values = (0..found.n_samples()).flat_map(|row| found.row(row)).collect();
    let image = Image::new(values, pictures.noisy.height(), width, 1)?;
    Ok(Some((image, answer.seconds.unwrap_or(f64::NAN))))
}

fn all_pictures(setup: &Setup) -> Result<Vec<Pictures>> {
    let with = |name: &str, clean: Image| -> Result<Pictures> {
        let noisy = with_noise(clean.values(), NOISE, 0);
        let noisy = Image::new(noisy, clean.height(), clean.width(), clean.channels())?;
        Ok(Pictures { name: name.to_owned(), clean, noisy })
    };
    if setup.options.quick {
        return Ok(vec![with("made up", made_up()?)?]);
    }
    PICTURES
        .iter()
        .map(|name| {
            let path = setup.options.data.join("images").join(format!("{name}_512.png"));
            let wrong = |problem: String| Failure::Data { path: path.clone(), problem };
            let clean = mercer_cli::read_image(&path).map_err(wrong)?;
            if (clean.height(), clean.width(), clean.channels()) != (512, 512, 1) {
                return Err(wrong("this is no grey picture of 512 x 512 pixels".to_owned()));
            }
            with(name, clean)
        })
        .collect()
}

/// A disc on a slope.
fn made_up() -> Result<Image> {
    const SIDE: usize = 40;
    let pixel = |at: usize| {
        let (y, x) = ((at / SIDE) as f64, (at % SIDE) as f64);
        let disc = if (y - 22.0).hypot(x - 18.0) < 11.0 { 0.4 } else { 0.0 };
        0.2 + 0.2 * x / SIDE as f64 + disc
    };
    Ok(Image::new((0..SIDE * SIDE).map(pixel).collect(), SIDE, SIDE, 1)?)
}

fn mean_square(clean: &Image, found: &Image) -> f64 {
    let squares = clean.values().iter().zip(found.values()).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>() / clean.values().len() as f64
}
