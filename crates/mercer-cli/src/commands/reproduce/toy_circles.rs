//! Two circles, which the square of the inner product separates.
//!
//! Claims are those of Cohen, Hazan and Ma, section 3.1. Their feature map prints `2 x₁ x₂` where the kernel `(x·y)²` has `√2 x₁ x₂`; with the
//! kernel, the first component separates the circles only if the points are not centred in feature space.

use faer::Mat;
use mercer::{Center, Kernel, KernelPca, Model, Points, Precision};

use super::findings::{Findings, Found};
use super::stage::Stage;
use crate::failure::Result;
use crate::picture::{Scatter, ScatterPoint};

const TITLE: &str = "Two circles that a kernel separates";
const PAPER: &str = "Cohen, Hazan, Ma: Autoencoder kernel PCA, section 3.1, figures 1 and 2";
const RADII: [f64; 2] = [0.5, 1.0];
const NAMES: [&str; 2] = ["radius 1/2", "radius 1"];

pub(super) fn run(stage: &Stage<'_>) -> Result<Found> {
    let each = stage.size(200, 40);
    let mut findings = Findings::new("toy-circles", TITLE, PAPER, stage.quick);
    findings.setting("points on each circle", each);
    findings.setting("kernel", "(x·y)²");
    let values: Vec<f64> = (0..2 * each)
        .flat_map(|i| {
            let angle = (i / 2) as f64 * std::f64::consts::TAU / each as f64;
            [RADII[i % 2] * angle.cos(), RADII[i % 2] * angle.sin()]
        })
        .collect();
    let points = Points::from_f64(values, 2 * each, 2)?;

    let kernel = Kernel::polynomial(1.0, 0.0, 2)?;
    let fit = |kernel: &Kernel, center, k| -> Result<Model> {
        let pca = KernelPca::new(kernel.clone()).center(center).n_components(k).precision(Precision::F64);
        Ok(stage.watched(|watch| pca.threads(stage.threads).fit_watched(&points, watch))?)
    };
    let linear = fit(&Kernel::linear(), Center::Yes, 2)?;
    let plain = fit(&kernel, Center::No, 3)?;
    let centered = fit(&kernel, Center::Yes, 3)?;

    judge(&mut findings, [&linear, &plain, &centered].map(Model::training_scores));
    for (name, model) in [("eigenvalues", &plain), ("eigenvalues, centred", &centered)] {
        findings.series(name, model.eigenvalues().iter().map(|value| value / (2 * each) as f64).collect());
    }
    findings.note(
        "The paper's map has 2 x1 x2 where the kernel has sqrt(2) x1 x2: with the factor 2 the first eigenvalue is another one.",
    );

    findings.figure("data", "The points: no line separates the circles.");
    findings.figure("components", "The first two components in feature space, without centring.");
    let scores = plain.training_scores();
    let figures = vec![
        scatter("Two circles", ("x1", "x2"), 2 * each, |i| {
            let row = points.row(i);
            (row[0], row[1])
        }),
        scatter("In feature space", ("component 1", "component 2"), 2 * each, |i| (scores[(i, 0)], scores[(i, 1)])),
    ];
    Ok((findings, figures))
}

/// Whether scores separate the classes: those of PCA, and of kernel PCA without and with centring.
fn judge(findings: &mut Findings, [linear, plain, centered]: [Mat<f64>; 3]) {
    let gaps = [&linear, &plain, &centered].map(gap);
    findings.claim(
        "PCA to one dimension does not separate the classes",
        "not separated",
        gaps[0],
        format!("classes overlap by {:.3}", -gaps[0]),
        gaps[0] <= 0.0,
    );
    findings.claim(
        "projected on the first component in feature space, the classes are separated",
        "separated",
        gaps[1],
        format!("gap of {:.3} between the classes, without centring", gaps[1]),
        gaps[1] > 0.0,
    );
    findings.claim(
        "the same with points centred in feature space, as PCA has it",
        "separated",
        gaps[2],
        format!("gap of {:.3}: {}", gaps[2], place_of_class(&centered)),
        gaps[2] > 0.0,
    );
}

/// The points of both circles in turn.
fn scatter(title: &str, axes: (&str, &str), n: usize, at: impl Fn(usize) -> (f64, f64)) -> String {
    let drawn: Vec<ScatterPoint<'_>> = (0..n)
        .map(|i| {
            let (x, y) = at(i);
            ScatterPoint { x, y, label: Some(NAMES[i % 2]) }
        })
        .collect();
    Scatter { title, subtitle: PAPER, axes, legend: "circle", points: &drawn }.to_svg()
}

/// How far the classes are apart along the first column; less than zero where they overlap.
fn gap(scores: &Mat<f64>) -> f64 {
    gap_along(scores, 0)
}

fn gap_along(scores: &Mat<f64>, column: usize) -> f64 {
    let range = |class: usize| {
        let values = (class..scores.nrows()).step_by(2).map(|i| scores[(i, column)]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (first, second) = (range(0), range(1));
    (second.0 - first.1).max(first.0 - second.1)
}

/// Which component separates the classes.
fn place_of_class(scores: &Mat<f64>) -> String {
    match (0..scores.ncols()).find(|&column| gap_along(scores, column) > 0.0) {
        Some(column) => format!("component {} separates them", column + 1),
        None => "no component separates them".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use faer::mat;

    use super::*;

    #[test]
    fn classes_that_take_turns_have_a_gap_or_overlap() {
        assert!((gap(&mat![[0.0], [3.0], [1.0], [2.5]]) - 1.5).abs() < 1e-12);
        assert!(gap(&mat![[0.0], [3.0], [4.0], [2.5]]) < 0.0);
        assert_eq!(place_of_class(&mat![[0.0, 1.0], [3.0, 5.0], [4.0, 2.0], [2.5, 6.0]]), "component 2 separates them");
    }
}
