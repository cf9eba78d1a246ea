//! Denoising by projection, by the book: every patch against every other, one at a time.

use faer::Mat;

use super::kernel::Textbook;
use super::pca::kernel_pca;

/// A grey picture (rows of pixels) whose patches, less their means, are projected on `k` components of centred kernel PCA with a gaussian
/// kernel of width `bandwidth`, and replaced by their pre-images.
pub fn projected_picture(picture: &[Vec<f64>], size: usize, stride: usize, k: usize, bandwidth: f64) -> Vec<Vec<f64>> {
    let places = |length: usize| -> Vec<usize> {
        (0..=length - size).filter(|&at| at % stride == 0 || at == length - size).collect()
    };
    let (height, width) = (picture.len(), picture[0].len());
    let mut corners = Vec::new();
    for &row in &places(height) {
        corners.extend(places(width).iter().map(|&column| (row, column)));
    }
    let mut means = Vec::new();
    let mut patches = Vec::new();
    for &(row, column) in &corners {
        let mut patch = Vec::new();
        for line in &picture[row..row + size] {
            patch.extend_from_slice(&line[column..column + size]);
        }
        let mean = patch.iter().sum::<f64>() / patch.len() as f64;
        patches.push(patch.iter().map(|x| x - mean).collect::<Vec<_>>());
        means.push(mean);
    }
    let clean = projected(&patches, k, bandwidth);
    let mut sums = vec![vec![(0.0, 0.0); width]; height];
    for (((row, column), patch), mean) in corners.iter().zip(&clean).zip(&means) {
        for (at, value) in patch.iter().enumerate() {
            let (sum, count) = &mut sums[row + at / size][column + at % size];
            *sum += value + mean;
            *count += 1.0;
        }
    }
    sums.into_iter().map(|line| line.into_iter().map(|(sum, count)| sum / count).collect()).collect()
}

/// Pre-images of the projections of points on `k` components that are learned from them.
fn projected(points: &[Vec<f64>], k: usize, bandwidth: f64) -> Vec<Vec<f64>> {
    let n = points.len();
    let kernel = Textbook::Gaussian { gamma: 0.5 / (bandwidth * bandwidth) };
    let gram: Mat<f64> = kernel.matrix(points, points);
    let pca = kernel_pca(gram.as_ref(), k);
    (0..n)
        .map(|i| {
            // The weights of the projection: the mean of all images, and score times coefficients less their mean.
            let mut weights = vec![1.0 / n as f64; n];
            for j in 0..k {
                let coefficient = |l: usize| pca.eigenvectors[(l, j)] / pca.eigenvalues[j].sqrt();
                let mean = (0..n).map(coefficient).sum::<f64>() / n as f64;
                for (l, weight) in weights.iter_mut().enumerate() {
                    *weight += pca.scores[(i, j)] * (coefficient(l) - mean);
                }
            }
            let mut z = points[i].clone();
            for _ in 0..200 {
                let values = kernel.matrix(points, std::slice::from_ref(&z));
                let total: f64 = (0..n).map(|l| weights[l] * values[(l, 0)]).sum();
                z = (0..z.len())
                    .map(|c| (0..n).map(|l| weights[l] * values[(l, 0)] * points[l][c]).sum::<f64>() / total)
                    .collect();
            }
            z
        })
        .collect()
}
