//! Spectral clustering, up to k-means, from the whole matrix.

use faer::{Mat, MatRef};

use super::{eigen, product};

/// The embedding of Ng, Jordan and Weiss, as a textbook would compute it.
pub struct SpectralReference {
    /// `D^-1/2 K D^-1/2`.
    pub normalized: Mat<f64>,
    /// Its leading eigenvalues.
    pub eigenvalues: Vec<f64>,
    /// Rows of its leading eigenvectors, of unit length.
    pub embedding: Mat<f64>,
    eigenvectors: Mat<f64>,
    degrees: Vec<f64>,
}

/// Embeds the points of a kernel matrix with `r` eigenvectors.
pub fn spectral_embedding(gram: MatRef<'_, f64>, r: usize) -> SpectralReference {
    let n = gram.nrows();
    let degrees: Vec<f64> = (0..n).map(|i| (0..n).map(|j| gram[(i, j)]).sum()).collect();
    let normalized = Mat::from_fn(n, n, |i, j| gram[(i, j)] / (degrees[i] * degrees[j]).sqrt());
    let spectrum = eigen(normalized.as_ref());
    let eigenvectors = spectrum.vectors.subcols(0, r).to_owned();
    let embedding = on_the_sphere(eigenvectors.as_ref());
    SpectralReference { normalized, eigenvalues: spectrum.values[..r].to_vec(), embedding, eigenvectors, degrees }
}

impl SpectralReference {
    /// New points, from their kernel values with the old ones, by the extension of Nyström; degrees included, although they cancel.
    pub fn extend(&self, rows: MatRef<'_, f64>) -> Mat<f64> {
        let degree = |i: usize| (0..rows.ncols()).map(|j| rows[(i, j)]).sum::<f64>();
        let scaled =
            Mat::from_fn(rows.nrows(), rows.ncols(), |i, j| rows[(i, j)] / (degree(i) * self.degrees[j]).sqrt());
        let sums = product(scaled.as_ref(), self.eigenvectors.as_ref());
        on_the_sphere(Mat::from_fn(sums.nrows(), sums.ncols(), |i, j| sums[(i, j)] / self.eigenvalues[j]).as_ref())
    }
}

fn on_the_sphere(rows: MatRef<'_, f64>) -> Mat<f64> {
    let length = |i: usize| (0..rows.ncols()).map(|j| rows[(i, j)].powi(2)).sum::<f64>().sqrt();
    Mat::from_fn(rows.nrows(), rows.ncols(), |i, j| rows[(i, j)] / length(i))
}
