//! A noisy picture, patch by patch: how fast gain rules converge on it, and how much better it gets.
//!
//! Claims are those of Günter, Schraudolph and Vishwanathan, section 5.1.2; parameters those of their table 1. Their 3844 patches of 11 pixels every 2
//! pixels come from a quarter of 133 pixels, which four of a picture of 256 pixels overlap to.

use mercer::denoise::{Denoiser, Grid, Image, snr, with_noise};
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{GainRule, Kernel, Model, Points};

use super::convergence::{Results, exact, last, picture, problem, run_all};
use super::findings::{Findings, Found};
use super::rules::Rule;
use super::stage::Stage;
use crate::failure::{Failure, InputError, Result};
use crate::input::read_picture;
use crate::picture::{Gallery, Map};

const TITLE: &str = "A noisy picture, patch by patch";
const PAPER: &str = "Günter, Schraudolph, Vishwanathan: Fast iterative kernel PCA, section 5.1.2, figures 5 to 8";
const FILE: &str = "images/lena_512.png";
/// Standard deviation of the noise, in grey levels of 255.
const NOISE: f64 = 20.0;
const PATCH: usize = 11;
const STRIDE: usize = 2;
/// Bandwidth 1 for grey values from 0 to 1.
const GAMMA: f64 = 0.5;
/// The ratio of signal to noise that the paper states for KHA/et*, in decibel.
const CLAIMED: f64 = 13.49;
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

pub(super) fn run(stage: &Stage<'_>) -> Result<Found> {
    let mut findings = Findings::new("lena-denoising", TITLE, PAPER, stage.quick);
    let pictures = pictures(stage)?;
    let side = pictures.side;
    // A quarter, and half a patch of what is beyond it.
    let quarter = side / 2 + PATCH / 2;
    let (r, passes) = (stage.size(20, 8), stage.size(50, 6));
    findings.setting("data", format!("{FILE}, at half its size"));
    findings.setting("pixels along a side", side);
    findings.setting("noise, grey levels of 255", NOISE);
    findings.setting("patches in each of four quarters", ((quarter - PATCH) / STRIDE + 1).pow(2));
    findings.setting("bandwidth, for grey values from 0 to 1", 1.0);
    findings.setting("components", r);
    findings.setting("passes", passes);

    let mut by_star = vec![(0.0, 0.0); side * side];
    let mut by_exact = by_star.clone();
    let mut results: Results = RULES.iter().map(|rule| (rule.gain, vec![0.0; passes])).collect();
    let corners = [(0, 0), (0, side - quarter), (side - quarter, 0), (side - quarter, side - quarter)];
    for (number, corner) in corners.into_iter().enumerate() {
        stage.session.console.note(&format!("quarter {} of 4", number + 1));
        let patches = Patches::new(&pictures.noisy, side, corner, quarter)?;
        let problem = problem(&patches.points, Kernel::gaussian(GAMMA)?, r);
        let best = exact(&problem, stage)?;
        for (at, (rule, run, curve)) in
            run_all(&problem, &RULES, passes, &best, &mut findings, stage)?.into_iter().enumerate()
        {
            results[at].1.iter_mut().zip(&curve).for_each(|(mean, excess)| *mean += excess / 4.0);
            if rule == GainRule::EigenvalueStar {
                patches.overlap(&run.learner.model()?, &mut by_star, side, stage)?;
            }
        }
        patches.overlap(&best, &mut by_exact, side, stage)?;
    }
    let mean = |sums: &[(f64, f64)]| -> Vec<f64> { sums.iter().map(|(sum, count)| sum / count).collect() };
    let (by_star, by_exact) = (mean(&by_star), mean(&by_exact));
    for (rule, curve) in &results {
        findings.series(rule.to_string(), curve.clone());
    }
    judge(&mut findings, &results);

    stage.begin("defaults of mercer denoise");
    let image = Image::new(pictures.noisy.clone(), side, side, 1)?;
    let denoiser = Denoiser::new().threads(stage.threads);
    let ours = stage.watched(|watch| denoiser.image(&image, Grid::default(), watch))?.image;
    let decibel = |found: &[f64]| snr(&pictures.clean, found);
    let [before, star, best, own] =
        [decibel(&pictures.noisy)?, decibel(&by_star)?, decibel(&by_exact)?, decibel(ours.values())?];
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
    findings.note(
        "The paper states neither the noise, nor what it means by the ratio of signal to noise, nor how patches are found from scores. Here: normal noise of 20 \
         grey levels, the variance of the picture over the mean square of what is wrong, and the fixed point.",
    );
    findings.figure("excess", "Figure 6, left: excess relative error, mean of four quarters.");
    findings.figure("pictures", "Figure 5: the picture, with noise, and without.");
    let shown = Gallery {
        title: TITLE,
        subtitle: PAPER,
        maps: &[
            Map { caption: "original", width: side, values: &pictures.clean },
            Map { caption: "noisy", width: side, values: &pictures.noisy },
            Map { caption: "KHA/et*", width: side, values: &by_star },
            Map { caption: "exact components", width: side, values: &by_exact },
            Map { caption: "mercer denoise", width: side, values: ours.values() },
        ],
    };
    Ok((findings, vec![picture("Excess error, patches of a noisy picture", PAPER, &results), shown.to_svg()]))
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

/// The patches of a part of a picture, as the paper takes them: with their means.
struct Patches {
    corners: Vec<(usize, usize)>,
    points: Points,
}

impl Patches {
    fn new(picture: &[f64], width: usize, (top, left): (usize, usize), side: usize) -> Result<Self> {
        let places = || (0..=side - PATCH).step_by(STRIDE);
        let corners: Vec<(usize, usize)> =
            places().flat_map(|row| places().map(move |column| (top + row, left + column))).collect();
        let lines = corners.iter().flat_map(|&(row, column)| (row..row + PATCH).map(move |row| row * width + column));
        let values: Vec<f64> = lines.flat_map(|first| picture[first..first + PATCH].iter().copied()).collect();
        let points = Points::from_f64(values, corners.len(), PATCH * PATCH)?;
        Ok(Self { corners, points })
    }

    /// Adds what a model keeps of every patch to the sums at its pixels.
    fn overlap(&self, model: &Model, sums: &mut [(f64, f64)], width: usize, stage: &Stage<'_>) -> Result<()> {
        let preimage = Preimage::new(PreimageMethod::FixedPoint).tolerance(1e-6).threads(stage.threads);
        let found = stage.watched(|watch| preimage.of_points(model, &self.points, watch))?.points;
        for (i, &(row, column)) in self.corners.iter().enumerate() {
            for (at, value) in found.row(i).iter().enumerate() {
                let (sum, count) = &mut sums[(row + at / PATCH) * width + column + at % PATCH];
                *sum += value;
                *count += 1.0;
            }
        }
        Ok(())
    }
}
