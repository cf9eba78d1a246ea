//! A noisy picture, patch by patch: how fast gain rules converge on it, and how much better it gets.
//!
//! Claims are those of Günter, Schraudolph and Vishwanathan, section 5.1.2; parameters those of their table 1. Their 3844 patches of 11 pixels every 2
//! pixels come from a quarter of 133 pixels, which four of a picture of 256 pixels overlap to.

mod early;
mod factors;

use faer::Mat;
use mercer::denoise::{Denoiser, Grid, Image, Patchwork, snr, with_noise};
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{GainRule, Kernel, Model, Points};

use self::early::{Early, Seen};
use self::factors::Factors;
use super::convergence::{Results, exact, last, picture, problem, run_all};
use super::findings::{Findings, Found};
use super::rules::{Rule, excess_at_end};
use super::stage::Stage;
use crate::failure::{Failure, InputError, Result};
use crate::input::read_picture;
use crate::picture::{Gallery, Map};

const TITLE: &str = "A noisy picture, patch by patch";
const PAPER: &str = "Günter, Schraudolph, Vishwanathan: Fast iterative kernel PCA, section 5.1.2, figures 5 to 8";
const FILE: &str = "images/lena_512.png";
/// Standard deviation of the noise, in grey levels of 255.
const NOISE: f64 = 20.0;
/// Parts that the picture is divided into.
const QUARTERS: f64 = 4.0;
const PATCH: usize = 11;
const STRIDE: usize = 2;
/// Bandwidth 1 for grey values from 0 to 1.
const GAMMA: f64 = 0.5;
/// The ratio of signal to noise that the paper states for KHA/et*, in decibel, and for constant gain after many passes.
const CLAIMED: f64 = 13.49;
const CLAIMED_CONSTANT: f64 = 13.46;
/// The excess error of the latter.
const CLAIMED_EXCESS: f64 = 0.0564;
/// How many times that of smd it is.
const CLAIMED_TIMES: f64 = 500.0;
/// Factors are what the paper says, or little, up to this.
const NEAR: f64 = 2.0;
/// Ratios of signal to noise closer than this are comparable, in decibel.
const COMPARABLE: f64 = 0.1;
const RULES: [Rule; 6] = [
    Rule::new(GainRule::Constant, 0.05, 1.0, 0.0),
    Rule::new(GainRule::Annealed, 2.0, 1.0, 0.0),
    Rule::new(GainRule::EigenvalueStar, 5.0, 4.0, 0.0),
    Rule::new(GainRule::Eigenvalue, 0.1, 1.0, 0.0),
    Rule::new(GainRule::MetaDescentStar, 5.0, 4.0, 1.0),
    Rule::new(GainRule::MetaDescent, 0.1, 1.0, 2.0),
];

/// A picture without and with noise, from 0 to 1.
struct Pictures {
    side: usize,
    clean: Vec<f64>,
    noisy: Vec<f64>,
}

/// What the four quarters were denoised to, and how the rules converged on them, on average.
struct Quarters {
    results: Results,
    factors: Factors,
    early: Seen,
    by_star: Image,
    by_exact: Image,
    by_constant: Image,
    /// The excess error of constant gain after many passes.
    excess_constant: f64,
}

/// How many components and passes: of all rules, and of constant gain in the end.
#[derive(Clone, Copy)]
struct Sizes {
    components: usize,
    passes: usize,
    many: usize,
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Found> {
    let mut findings = Findings::new("lena-denoising", TITLE, PAPER, stage.quick);
    let pictures = pictures(stage)?;
    let side = pictures.side;
    let sizes = Sizes { components: stage.size(20, 8), passes: stage.size(50, 6), many: stage.size(800, 12) };
    findings.setting("data", format!("{FILE}, at half its size"));
    findings.setting("pixels along a side", side);
    findings.setting("noise, grey levels of 255", NOISE);
    findings.setting("bandwidth, for grey values from 0 to 1", 1.0);
    findings.setting("components", sizes.components);
    findings.setting("passes", sizes.passes);
    findings.setting("passes with constant gain", sizes.many);
    let noisy = Image::new(pictures.noisy.clone(), side, side, 1)?;
    let found = quarters(stage, &noisy, sizes, &mut findings)?;
    for (rule, curve) in &found.results {
        findings.series(rule.to_string(), curve.clone());
    }
    judge(&mut findings, &found.results);
    found.factors.judge(&mut findings, &found.results);
    found.early.judge(&mut findings, &pictures.clean)?;

    stage.begin("defaults of mercer denoise");
    let denoiser = Denoiser::new().threads(stage.threads);
    let ours = stage.watched(|watch| denoiser.image(&noisy, Grid::default(), watch))?.image;
    judge_pictures(&mut findings, &pictures, &found, &ours, sizes)?;
    findings.note(
        "The paper states neither the noise, nor what it means by the ratio of signal to noise, nor how patches are found from scores. Here: normal noise of 20 \
         grey levels, the variance of the picture over the mean square of what is wrong, and the fixed point.",
    );
    findings.figure("excess", "Figure 6, left: excess relative error, mean of four quarters.");
    findings.figure_of_data("pictures", "Figure 5: the picture, with noise, and without.");
    findings.figure_of_data("early", "Figure 7: after 1, 2 and 3 passes, by constant gain and by smd.");
    findings.figure("factors", "Figure 8, left: excess relative error with some and all of the factors of the gain.");
    findings.figure("meta-gains", "Figure 8, right: excess relative error for three meta-gains.");
    let shown = Gallery {
        title: TITLE,
        subtitle: PAPER,
        maps: &[
            Map { caption: "original", width: side, values: &pictures.clean },
            Map { caption: "noisy", width: side, values: &pictures.noisy },
            Map { caption: "KHA/et*", width: side, values: found.by_star.values() },
            Map { caption: "exact components", width: side, values: found.by_exact.values() },
            Map { caption: "mercer denoise", width: side, values: ours.values() },
        ],
    };
    let [left, right] = found.factors.pictures(&found.results);
    let curves = picture("Excess error, patches of a noisy picture", PAPER, &found.results);
    Ok((findings, vec![curves, shown.to_svg(), found.early.picture(), left, right]))
}

/// All runs on all quarters: each is that share of the picture, and half a patch of what is beyond it.
fn quarters(stage: &Stage<'_>, noisy: &Image, sizes: Sizes, findings: &mut Findings) -> Result<Quarters> {
    let Sizes { components, passes, many } = sizes;
    let grid = Grid::new(PATCH, STRIDE)?;
    let [mut by_star, mut by_exact, mut by_constant] = [(); 3].map(|()| Patchwork::new(noisy, grid));
    let (mut early, mut factors, mut excess_constant) = (Early::new(noisy, grid), Factors::new(passes), 0.0);
    let mut results: Results = RULES.iter().map(|rule| (rule.gain, vec![0.0; passes])).collect();
    for (number, part) in by_star.parts(2)?.iter().enumerate() {
        stage.session.console.note(&format!("quarter {} of 4", number + 1));
        let points = by_star.patches(part)?;
        if number == 0 {
            findings.setting("patches in each of four quarters", points.n_samples());
        }
        let problem = problem(&points, Kernel::gaussian(GAMMA)?, components);
        let best = exact(&problem, stage)?;
        let runs = run_all(&problem, &RULES, passes, &best, findings, stage)?;
        for ((rule, run, curve), (_, mean)) in runs.into_iter().zip(&mut results) {
            mean.iter_mut().zip(&curve).for_each(|(mean, excess)| *mean += excess / QUARTERS);
            if rule == GainRule::EigenvalueStar {
                by_star.put(part, kept(&run.learner.model()?, &points, stage)?.as_ref())?;
            }
        }
        by_exact.put(part, kept(&best, &points, stage)?.as_ref())?;
        factors.add(&problem, &best, findings, stage)?;
        early.add(part, &problem, stage)?;
        stage.begin(&format!("constant, {many} passes"));
        let run = problem.run_unmeasured(RULES[0], many, stage)?;
        excess_constant += excess_at_end(&run, &best, stage)? / QUARTERS;
        by_constant.put(part, kept(&run.learner.model()?, &points, stage)?.as_ref())?;
    }
    Ok(Quarters {
        results,
        factors,
        early: early.finish(noisy.width())?,
        by_star: by_star.image()?,
        by_exact: by_exact.image()?,
        by_constant: by_constant.image()?,
        excess_constant,
    })
}

/// How good the pictures are, and whether that is what the paper says.
fn judge_pictures(
    findings: &mut Findings,
    pictures: &Pictures,
    found: &Quarters,
    ours: &Image,
    Sizes { passes, many, .. }: Sizes,
) -> Result<()> {
    let decibel = |values: &[f64]| snr(&pictures.clean, values);
    let [before, star, best, own, constant] = [
        pictures.noisy.as_slice(),
        found.by_star.values(),
        found.by_exact.values(),
        ours.values(),
        found.by_constant.values(),
    ]
    .map(decibel);
    let (before, star, best, own, constant) = (before?, star?, best?, own?, constant?);
    let times = found.excess_constant / last(&found.results, GainRule::MetaDescent);
    findings.claim(
        format!(
            "constant gain after {many} passes has an excess error {CLAIMED_TIMES} times that of smd after {passes}"
        ),
        format!("{:.2} %, {CLAIMED_TIMES} times", 100.0 * CLAIMED_EXCESS),
        times,
        format!("{:.2} %, {times:.0} times", 100.0 * found.excess_constant),
        (CLAIMED_TIMES / NEAR..=CLAIMED_TIMES * NEAR).contains(&times),
    );
    findings.claim(
        format!("its ratio of signal to noise is comparable to that of KHA/et* after {passes}"),
        format!("{CLAIMED_CONSTANT} and {CLAIMED} dB"),
        constant - star,
        format!("{constant:.2} and {star:.2} dB"),
        (constant - star).abs() <= COMPARABLE,
    );
    findings.claim(
        format!("the ratio of signal to noise of KHA/et* after {passes} passes"),
        format!("{CLAIMED} dB"),
        star,
        format!("{star:.2} dB (before {before:.2} dB, exact components {best:.2} dB, mercer denoise {own:.2} dB)"),
        star >= CLAIMED,
    );
    findings.series(
        "signal to noise in dB: noisy, KHA/et*, exact components, mercer denoise",
        vec![before, star, best, own],
    );
    Ok(())
}

fn judge(findings: &mut Findings, results: &Results) {
    use GainRule::{Annealed, Constant, Eigenvalue, EigenvalueStar, MetaDescent, MetaDescentStar};
    let constant = last(results, Constant);
    let worst = [EigenvalueStar, Eigenvalue, MetaDescentStar, MetaDescent].map(|rule| last(results, rule));
    let worst = worst.into_iter().fold(0.0, f64::max);
    findings.claim(
        "all accelerated rules are better than KHA/t and than constant gain",
        "clearly",
        worst / last(results, Annealed).min(constant),
        format!("the worst {worst:.1e}, t {:.1e}, constant {constant:.1e}", last(results, Annealed)),
        worst < last(results, Annealed).min(constant),
    );
    for rule in [MetaDescent, MetaDescentStar] {
        let orders = (constant / last(results, rule)).log10();
        findings.claim(
            format!("{rule} is more than three orders of magnitude better than constant gain"),
            "> 3 orders",
            orders,
            format!("{orders:.1} orders"),
            orders > 3.0,
        );
    }
}

/// The picture at half its size, or a part of it for a quick look, without and with noise.
fn pictures(stage: &Stage<'_>) -> Result<Pictures> {
    let Some(folder) = stage.data else {
        return Err(Failure::usage(format!("say with --data where the folder with {FILE} is")));
    };
    stage.begin(&format!("reading {FILE}"));
    let path = folder.join(FILE);
    let picture = read_picture(&path)?;
    let colors = &picture.colors;
    let side = stage.size(256, 64);
    if colors.height() < 2 * side || colors.width() < 2 * side || colors.channels() != 1 {
        let problem =
            format!("a grey picture of at least {0}x{0} pixels is needed, but this is {1}", 2 * side, picture.shape());
        return Err(InputError::new(&path.display().to_string(), problem).into());
    }
    // The middle of it.
    let (top, left) = ((colors.height() - 2 * side) / 2, (colors.width() - 2 * side) / 2);
    let largest = f64::from(picture.depth.largest());
    let pixel = |at: usize| {
        let (row, column) = (top + 2 * (at / side), left + 2 * (at % side));
        let four = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(down, right)| colors.at(row + down, column + right, 0));
        four.iter().sum::<f64>() / (4.0 * largest)
    };
    let clean: Vec<f64> = (0..side * side).map(pixel).collect();
    let noisy = with_noise(&clean, NOISE / 255.0, 0);
    Ok(Pictures { side, clean, noisy })
}

/// What a model keeps of patches.
fn kept(model: &Model, patches: &Points, stage: &Stage<'_>) -> Result<Mat<f64>> {
    let preimage = Preimage::new(PreimageMethod::FixedPoint).tolerance(1e-6).threads(stage.threads);
    Ok(stage.watched(|watch| preimage.of_points(model, patches, watch))?.points)
}
