//! Figure 3: eigenvalues by the Lanczos iteration and by diagonalisation.

use mercer::{Center, Kernel, KernelPca, Model, Points, Precision, SolverChoice};

use super::super::findings::Findings;
use super::super::stage::Stage;
use super::picture;
use crate::failure::Result;

/// The order of the matrix, and the eigenvalues that are compared: 10 in the caption, 20 in the text.
const ORDER: usize = 400;
const COMPARED: usize = 20;

/// Compares the solvers; the figure comes back.
pub(super) fn run(stage: &Stage<'_>, findings: &mut Findings) -> Result<String> {
    let matrix = test_matrix(ORDER)?;
    let solve = |solver: SolverChoice| -> Result<Model> {
        stage.begin(&format!("eigenvalues, {solver}"));
        let pca = KernelPca::new(Kernel::Precomputed)
            .center(Center::No)
            .n_components(COMPARED)
            .solver(solver)
            .tolerance(1e-10)
            .precision(Precision::F64)
            .threads(stage.threads);
        Ok(stage.watched(|watch| pca.fit_watched(&matrix, watch))?)
    };
    let (lanczos, dense) = (solve(SolverChoice::Lanczos)?, solve(SolverChoice::Dense)?);
    let pairs = || lanczos.eigenvalues().iter().zip(dense.eigenvalues());
    let apart = pairs().map(|(found, exact)| (found - exact).abs() / exact).fold(0.0, f64::max);
    findings.claim(
        "figure 3: the Lanczos iteration gives a good approximation to the eigenvalues",
        "good",
        apart,
        format!(
            "the first {COMPARED} of a matrix of order {ORDER} to {apart:.1e} of each, after {} products",
            lanczos.record().products
        ),
        apart < 1e-6,
    );
    findings.series("figure 3, eigenvalues by Lanczos", lanczos.eigenvalues().to_vec());
    findings.series("figure 3, eigenvalues by diagonalisation", dense.eigenvalues().to_vec());
    findings.figure("eigenvalues", "Figure 3: the first eigenvalues, by the Lanczos iteration and by diagonalisation.");
    let curve = |model: &Model| -> Vec<(f64, f64)> {
        model.eigenvalues().iter().enumerate().map(|(at, &value)| ((at + 1) as f64, value)).collect()
    };
    let curves = [("Lanczos".to_owned(), curve(&lanczos)), ("dense".to_owned(), curve(&dense))];
    Ok(picture("Eigenvalues of a symmetric matrix", ("eigenvalue", "value"), false, &curves))
}

/// A symmetric matrix without negative eigenvalues: inner products of rows that look random.
fn test_matrix(order: usize) -> Result<Points> {
    let entry = |i: usize, j: usize| ((i * order + j + 1) as f64 * 12.9898).sin() * 43_758.545_3;
    let rows: Vec<Vec<f64>> =
        (0..order).map(|i| (0..order).map(|j| entry(i, j).rem_euclid(1.0) - 0.5).collect()).collect();
    let product = |i: usize, j: usize| rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum::<f64>() / order as f64;
    let mut values = vec![0.0; order * order];
    for i in 0..order {
        for j in 0..=i {
            (values[i * order + j], values[j * order + i]) = (product(i, j), product(i, j));
        }
    }
    Ok(Points::from_f64(values, order, order)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_matrix_is_symmetric_and_looks_random() {
        let matrix = test_matrix(60).unwrap();
        let trace: f64 = (0..60).map(|i| matrix.row(i)[i]).sum();
        // Entries of variance 1/12.
        assert!((trace / 60.0 - 1.0 / 12.0).abs() < 0.01, "{trace}");
        assert!((0..60).all(|i| (0..60).all(|j| (matrix.row(i)[j] - matrix.row(j)[i]).abs() < 1e-300)));
    }
}
