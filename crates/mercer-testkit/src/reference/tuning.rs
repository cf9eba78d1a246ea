//! The variance of the components' variances, by the book.

use faer::MatRef;

use super::eigen::eigen;
use super::pca::center;

/// `1/l Σ (λ - mean λ)²` over all eigenvalues `λ = μ / l` of the centred matrix.
pub fn variance_of_variances(gram: MatRef<'_, f64>) -> f64 {
    let l = gram.nrows() as f64;
    let variances: Vec<f64> = eigen(center(gram).as_ref()).values.iter().map(|mu| mu / l).collect();
    let mean = variances.iter().sum::<f64>() / l;
    variances.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / l
}
