//! Kernel PCA by the book.

use faer::{Mat, MatRef};

use super::eigen::{Spectrum, eigen};

/// `H K H` with `H = I - 11ᵀ/n`, as the four terms `k_ij - mean_i - mean_j + mean`.
pub fn center(gram: MatRef<'_, f64>) -> Mat<f64> {
    center_queries(gram, gram)
}

/// Rows of kernel values of new points, centred with the means of the training matrix.
pub fn center_queries(rows: MatRef<'_, f64>, gram: MatRef<'_, f64>) -> Mat<f64> {
    let n = gram.nrows();
    let column_means: Vec<f64> = (0..n).map(|j| (0..n).map(|i| gram[(i, j)]).sum::<f64>() / n as f64).collect();
    let mean = column_means.iter().sum::<f64>() / n as f64;
    let row_means: Vec<f64> = (0..rows.nrows()).map(|i| (0..n).map(|j| rows[(i, j)]).sum::<f64>() / n as f64).collect();
    Mat::from_fn(rows.nrows(), n, |i, j| rows[(i, j)] - row_means[i] - column_means[j] + mean)
}

/// A kernel PCA with all its parts.
#[derive(Clone, Debug)]
pub struct KernelPcaReference {
    /// The `k` largest eigenvalues of the centred matrix.
    pub eigenvalues: Vec<f64>,
    /// Unit eigenvectors, one per column.
    pub eigenvectors: Mat<f64>,
    /// Scores of the training points: eigenvectors times the roots of the eigenvalues.
    pub scores: Mat<f64>,
    /// The trace of the centred matrix.
    pub total_variance: f64,
}

impl KernelPcaReference {
    /// Scores of new points from their centred kernel rows: `K̃ v / √λ`.
    pub fn transform(&self, centered_rows: MatRef<'_, f64>) -> Mat<f64> {
        let raw = super::product(centered_rows, self.eigenvectors.as_ref());
        Mat::from_fn(raw.nrows(), raw.ncols(), |i, j| raw[(i, j)] / self.eigenvalues[j].sqrt())
    }
}

/// Kernel PCA with `k` components of an uncentred Gram matrix.
///
/// # Panics
///
/// If `k` is larger than the order of the matrix.
#[track_caller]
pub fn kernel_pca(gram: MatRef<'_, f64>, k: usize) -> KernelPcaReference {
    let (n, centered) = (gram.nrows(), center(gram));
    let Spectrum { values, vectors } = eigen(centered.as_ref());
    KernelPcaReference {
        eigenvalues: values[..k].to_vec(),
        eigenvectors: vectors.subcols(0, k).to_owned(),
        scores: Mat::from_fn(n, k, |i, j| vectors[(i, j)] * values[j].max(0.0).sqrt()),
        total_variance: (0..n).map(|i| centered[(i, i)]).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{Textbook, assert_close};

    #[test]
    fn three_points_on_a_line_have_the_hand_computed_components() {
        // Points 0, 1, 5 under the linear kernel: mean 2, deviations -2, -1, 3, so one eigenvalue, 14.
        let x: Vec<Vec<f64>> = [0.0, 1.0, 5.0].map(|x| vec![x]).into();
        let pca = kernel_pca(Textbook::Linear.matrix(&x, &x).as_ref(), 1);
        assert!((pca.eigenvalues[0] - 14.0).abs() < 1e-13 && (pca.total_variance - 14.0).abs() < 1e-13);
        let sign = pca.scores[(2, 0)].signum();
        let expected = Mat::from_fn(3, 1, |i, _| sign * [-2.0, -1.0, 3.0][i]);
        assert_close(pca.scores.as_ref(), expected.as_ref(), |_, _| 1e-13, "scores");
    }

    #[test]
    fn transforming_the_training_points_gives_their_scores() {
        let cloud = crate::generate::gaussian_cloud(10, 3, 5);
        let x: Vec<Vec<f64>> = (0..cloud.n).map(|i| cloud.row(i).to_vec()).collect();
        let gram = Textbook::Gaussian { gamma: 0.5 }.matrix(&x, &x);
        let pca = kernel_pca(gram.as_ref(), 4);
        let again = pca.transform(center_queries(gram.as_ref(), gram.as_ref()).as_ref());
        assert_close(again.as_ref(), pca.scores.as_ref(), |_, _| 1e-13, "scores");
    }
}
