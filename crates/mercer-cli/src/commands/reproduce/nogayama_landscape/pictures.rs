//! The figures.

use mercer::tune::{Landscape, Tuning};
use mercer::{Model, Points};

use super::super::plane;
use super::star::NAMES;
use super::{DRAWN, HALF_SIDE, PAPER, SHOWN};
use crate::failure::Result;
use crate::picture::{Gallery, Panel, Scan, Scatter, ScatterPoint};

/// The points, each with the name of its wing.
pub(super) fn scatter(points: &Points, wings: &[usize]) -> String {
    let drawn: Vec<ScatterPoint<'_>> = (0..points.n_samples())
        .map(|i| {
            let row = points.row(i);
            ScatterPoint { x: row[0], y: row[1], label: Some(NAMES[wings[i]]) }
        })
        .collect();
    let axes = ("x1", "x2");
    Scatter { title: "A star with three wings", subtitle: PAPER, axes, legend: "wing", points: &drawn }.to_svg()
}

/// Components over the plane, a row for each model.
pub(super) fn gallery(models: &[(f64, Model); 3]) -> Result<String> {
    let (mut values, mut captions) = (Vec::new(), Vec::new());
    for (sigma, model) in models {
        for (at, cells) in plane::scores(model, HALF_SIDE, SHOWN)?.into_iter().enumerate() {
            captions.push(format!("width e^{:.2}: {}", sigma.ln(), at + 1));
            values.push(cells);
        }
    }
    let maps = plane::maps(&values, &captions);
    Ok(Gallery { title: "Components over the plane", subtitle: PAPER, maps: &maps }.to_svg())
}

/// One line per component.
fn lines(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..DRAWN).map(|component| rows.iter().map(|row| row[component]).collect()).collect()
}

/// Variances of components over the width of the kernel, not centred and centred.
pub(super) fn variances(centered: &Landscape, plain: &[Vec<f64>], best: f64) -> String {
    let (above, below) = (lines(plain), lines(&centered.variances));
    Scan {
        title: "Variances of components",
        subtitle: PAPER,
        bandwidths: &centered.bandwidths,
        panels: &[
            Panel { name: "variance, not centred", lines: &above },
            Panel { name: "variance, centred", lines: &below },
        ],
        marks: &[best],
        best,
    }
    .to_svg()
}

/// The criterion and its derivative.
pub(super) fn criterion(tuning: &Tuning) -> String {
    Scan {
        title: "The criterion and its derivative",
        subtitle: PAPER,
        bandwidths: &tuning.bandwidths,
        panels: &[
            Panel { name: "criterion", lines: std::slice::from_ref(&tuning.values) },
            Panel { name: "derivative", lines: std::slice::from_ref(&tuning.gradients) },
        ],
        marks: &[tuning.best_bandwidth],
        best: tuning.best_bandwidth,
    }
    .to_svg()
}
