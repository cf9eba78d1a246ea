//! Points in an annulus: components that follow it.
//!
//! Claims are those of Raykar and Ankur, section 5, who do not say how many points there are and how wide the kernel is. Widths are
//! tried in turn, from wide to narrow, until the claim holds.
//!
//! A score is judged by what share of its variance the radius explains, or the angle: both are cut into bins, and the share is the variance of
//! the bins' means.

use faer::MatRef;
use mercer::{Kernel, KernelPca, Model, Points, Precision};

use super::findings::{Findings, Found};
use super::groups::explained;
use super::plane;
use super::stage::Stage;
use crate::failure::Result;
use crate::picture::Gallery;

const TITLE: &str = "Components of points in an annulus";
const PAPER: &str = "Raykar, Ankur: Fast kernel PCA, section 5, figures 1 and 2";
/// Inner and outer radius.
const RADII: (f64, f64) = (0.6, 1.0);
const COMPONENTS: usize = 8;
/// Widths that are tried, in units of the outer radius.
const WIDTHS: [f64; 9] = [2.0, 1.4, 1.0, 0.7, 0.5, 0.4, 0.3, 0.25, 0.2];
/// A share above this is what the component is about.
const TELLING: f64 = 0.8;
const BINS: usize = 12;

/// What share of a component's variance radius and angle explain.
#[derive(Clone, Copy, Debug)]
struct Shares {
    radius: f64,
    angle: f64,
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Found> {
    let n = stage.size(1500, 400);
    let mut findings = Findings::new("toy-annulus", TITLE, PAPER, stage.quick);
    findings.setting("points", n);
    findings.setting("inner and outer radius", format!("{}, {}", RADII.0, RADII.1));
    let places = annulus(n);
    let points = Points::from_f64(places.iter().flat_map(|&(x, y)| [x, y]).collect::<Vec<_>>(), n, 2)?;
    let fit = |kernel: Kernel, k: usize| -> Result<Model> {
        let pca = KernelPca::new(kernel).n_components(k).precision(Precision::F64).threads(stage.threads);
        Ok(stage.watched(|watch| pca.fit_watched(&points, watch))?)
    };

    let linear = fit(Kernel::linear(), 2)?;
    let shares = all_shares(linear.training_scores().as_ref(), &places);
    let radial = shares.iter().map(|shares| shares.radius).fold(0.0, f64::max);
    findings.claim(
        "components of PCA do not follow the annulus: none lies across it",
        "along the axes of an ellipse",
        radial,
        format!("the radius explains {:.1} % of a component at most", 100.0 * radial),
        radial < 1.0 - TELLING,
    );
    let (mut chosen, mut tried) = (None, Vec::new());
    for (at, width) in WIDTHS.into_iter().enumerate() {
        stage.begin(&format!("width {width}"));
        let model = fit(Kernel::gaussian(0.5 / (width * width))?, COMPONENTS)?;
        let shares = all_shares(model.training_scores().as_ref(), &places);
        let place = shares.iter().position(|shares| shares.radius > TELLING);
        tried.push(format!("{width}: {}", place.map_or_else(|| "none".to_owned(), |at| (at + 1).to_string())));
        let holds = follows(&shares);
        if chosen.is_none() && (holds || at + 1 == WIDTHS.len()) {
            chosen = Some((width, model, shares, holds));
        }
    }
    let Some((width, model, shares, holds)) = chosen else { unreachable!("the last width is taken in any case") };
    findings.setting("width of the Gaussian kernel", width);
    findings.setting("component that lies across the annulus, for each width", tried.join("; "));
    let words = |at: usize| {
        let Shares { radius, angle } = shares[at];
        format!("component {}: radius {:.0} %, angle {:.0} %", at + 1, 100.0 * radius, 100.0 * angle)
    };
    findings.claim(
        "the fourth and the fifth component are the axes along the annulus and perpendicular to it",
        "components 4 and 5",
        shares[3].radius.max(shares[4].radius),
        format!("{}; {}; width {width}", words(3), words(4)),
        holds,
    );
    findings.note("The paper gives neither the number of points nor the width: the widest kernel for which the claim holds is shown.");
    findings.series("share of the radius", shares.iter().map(|shares| shares.radius).collect());
    findings.series("share of the angle", shares.iter().map(|shares| shares.angle).collect());
    findings.figure("pca", "The two components of PCA over the plane: bands of equal grey are equal scores.");
    findings.figure("kernel", "Components with the Gaussian kernel over the plane.");
    let figures = vec![
        maps("PCA", &linear, &[String::new(), String::new()])?,
        maps("Kernel PCA", &model, &(0..COMPONENTS).map(|at| verdict(shares[at])).collect::<Vec<_>>())?,
    ];
    Ok((findings, figures))
}

/// Whether one of the fourth and fifth component is the radius and the other the angle.
fn follows(shares: &[Shares]) -> bool {
    let (four, five) = (shares[3], shares[4]);
    let one_each = |radial: Shares, angular: Shares| radial.radius > TELLING && angular.angle > TELLING;
    one_each(four, five) || one_each(five, four)
}

fn verdict(shares: Shares) -> String {
    match shares {
        Shares { radius, .. } if radius > TELLING => "across",
        Shares { angle, .. } if angle > TELLING => "along",
        _ => "both",
    }
    .to_owned()
}

/// Points that are evenly spread over the annulus: radii of equal areas, each turned on by the golden angle.
fn annulus(n: usize) -> Vec<(f64, f64)> {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let (inner, outer) = (RADII.0 * RADII.0, RADII.1 * RADII.1);
    (0..n)
        .map(|i| {
            let radius = (inner + (outer - inner) * (i as f64 + 0.5) / n as f64).sqrt();
            let angle = golden * i as f64;
            (radius * angle.cos(), radius * angle.sin())
        })
        .collect()
}

fn all_shares(scores: MatRef<'_, f64>, places: &[(f64, f64)]) -> Vec<Shares> {
    let bin = |share: f64| ((share * BINS as f64) as usize).min(BINS - 1);
    let radius: Vec<usize> = places.iter().map(|&(x, y)| bin((x.hypot(y) - RADII.0) / (RADII.1 - RADII.0))).collect();
    let angle: Vec<usize> =
        places.iter().map(|&(x, y)| bin((y.atan2(x) / std::f64::consts::TAU).rem_euclid(1.0))).collect();
    (0..scores.ncols())
        .map(|j| {
            let values: Vec<f64> = scores.col(j).iter().copied().collect();
            Shares { radius: explained(&values, &radius), angle: explained(&values, &angle) }
        })
        .collect()
}

/// Scores over the plane, one map for each component.
fn maps(title: &str, model: &Model, words: &[String]) -> Result<String> {
    let captions: Vec<String> =
        words.iter().enumerate().map(|(at, word)| format!("{} {word}", at + 1).trim_end().to_owned()).collect();
    let values = plane::scores(model, 1.25, words.len())?;
    let maps = plane::maps(&values, &captions);
    Ok(Gallery { title, subtitle: PAPER, maps: &maps }.to_svg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_in_the_annulus() {
        assert!(annulus(500).iter().all(|&(x, y)| (RADII.0..=RADII.1).contains(&x.hypot(y))));
    }
}
