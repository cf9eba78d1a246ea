//! Autoencoder kernel PCA by the book: matrices as they are, one sample at a time.

use faer::{Mat, MatRef};

use super::eigen::eigen;
use super::product;

/// Loss, derivatives and parts of one sample.
#[derive(Clone, Debug)]
pub struct AutoencoderSample {
    /// `xᵀ A_j x`.
    pub codes: Vec<f64>,
    /// The spectral norm of `Σ_j code_j B_j − x xᵀ`.
    pub loss: f64,
    /// Its derivative by each `A_j`.
    pub encoder: Vec<Mat<f64>>,
    /// Its derivative by each `B_j`.
    pub decoder: Vec<Mat<f64>>,
}

/// One sample under encoder `a` and decoder `b`, which need not be symmetric.
pub fn autoencoder_sample(a: &[Mat<f64>], b: &[Mat<f64>], x: &[f64]) -> AutoencoderSample {
    let d = x.len();
    let form = |m: &Mat<f64>, left: &[f64], right: &[f64]| -> f64 {
        (0..d).map(|r| (0..d).map(|s| left[r] * m[(r, s)] * right[s]).sum::<f64>()).sum()
    };
    let codes: Vec<f64> = a.iter().map(|a| form(a, x, x)).collect();
    let m = Mat::from_fn(d, d, |r, s| codes.iter().zip(b).map(|(code, b)| code * b[(r, s)]).sum::<f64>() - x[r] * x[s]);
    // The leading singular pair: v of MᵀM, u = M v / σ.
    let v: Vec<f64> = eigen(product(m.transpose(), m.as_ref()).as_ref()).vectors.col(0).iter().copied().collect();
    let image: Vec<f64> = (0..d).map(|r| (0..d).map(|s| m[(r, s)] * v[s]).sum()).collect();
    let loss = image.iter().map(|x| x * x).sum::<f64>().sqrt();
    let u: Vec<f64> = image.iter().map(|x| if loss > 0.0 { x / loss } else { 0.0 }).collect();
    AutoencoderSample {
        loss,
        encoder: b
            .iter()
            .map(|b| {
                let pull = form(b, &u, &v);
                Mat::from_fn(d, d, |r, s| pull * x[r] * x[s])
            })
            .collect(),
        decoder: codes.iter().map(|code| Mat::from_fn(d, d, |r, s| code * u[r] * v[s])).collect(),
        codes,
    }
}

/// `√max(λ, 0) v` with the largest eigenpair of the symmetric part of `Σ_j code_j B_j`; either sign.
pub fn autoencoder_decode(b: &[Mat<f64>], codes: &[f64]) -> Vec<f64> {
    let d = b[0].nrows();
    let symmetric = Mat::from_fn(d, d, |r, s| {
        codes.iter().zip(b).map(|(code, b)| 0.5 * code * (b[(r, s)] + b[(s, r)])).sum::<f64>()
    });
    let spectrum = eigen(symmetric.as_ref());
    let length = spectrum.values[0].max(0.0).sqrt();
    spectrum.vectors.col(0).iter().map(|v| length * v).collect()
}

/// The forms `Σ_i h_ji x_i x_iᵀ` of coefficients over a span, whose points are rows.
pub fn forms_of_span(coefficients: MatRef<'_, f64>, points: MatRef<'_, f64>) -> Vec<Mat<f64>> {
    let d = points.ncols();
    (0..coefficients.nrows())
        .map(|j| {
            Mat::from_fn(d, d, |r, s| {
                (0..points.nrows()).map(|i| coefficients[(j, i)] * points[(i, r)] * points[(i, s)]).sum()
            })
        })
        .collect()
}
