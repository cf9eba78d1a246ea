//! The model against reference vectors that were computed independently.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use faer::{Mat, MatRef};
use mercer::{GramChoice, Kernel, KernelPca, Model, Points, SolverChoice};
use npyz::npz::NpzArchive;

/// Arrays of one reference case.
struct Case {
    archive: NpzArchive<std::io::BufReader<std::fs::File>>,
}

impl Case {
    fn open(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/reference").join(format!("{name}.npz"));
        Self { archive: NpzArchive::open(path).unwrap() }
    }

    fn matrix(&mut self, name: &str) -> Mat<f64> {
        let array = self.archive.by_name(name).unwrap().unwrap();
        let shape: Vec<usize> = array.shape().iter().map(|&n| n as usize).collect();
        let order = array.order();
        let values: Vec<f64> = array.into_vec().unwrap();
        let (rows, columns) = (shape[0], shape.get(1).copied().unwrap_or(1));
        Mat::from_fn(rows, columns, |i, j| match order {
            npyz::Order::C => values[i * columns + j],
            npyz::Order::Fortran => values[j * rows + i],
        })
    }

    fn points(&mut self, name: &str) -> Points {
        let matrix = self.matrix(name);
        let values: Vec<f64> = matrix.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()).collect();
        Points::from_f64(values, matrix.nrows(), matrix.ncols()).unwrap()
    }
}

/// `|found - wanted| <= 1e-8 max|wanted| + 1e-13`, the tolerance that comes with the vectors; columns may differ in sign.
#[track_caller]
fn assert_columns_agree(what: &str, found: MatRef<'_, f64>, wanted: MatRef<'_, f64>) {
    assert_eq!((found.nrows(), found.ncols()), (wanted.nrows(), wanted.ncols()), "{what}: shape");
    let allowed = 1e-8 * wanted.norm_max() + 1e-13;
    for j in 0..wanted.ncols() {
        let dot: f64 = found.col(j).iter().zip(wanted.col(j).iter()).map(|(a, b)| a * b).sum();
        for i in 0..wanted.nrows() {
            let gap = (dot.signum() * found[(i, j)] - wanted[(i, j)]).abs();
            assert!(gap <= allowed, "{what}[{i}, {j}] differs by {gap:e}, allowed is {allowed:e}");
        }
    }
}

fn check(name: &str, kernel: &Kernel, k: usize) {
    let mut case = Case::open(name);
    let (points, queries) = (case.points("in_X"), case.points("in_Xtest"));
    let (lambda, vectors) = (case.matrix("out_lam"), case.matrix("out_V"));
    let (train, test) = (case.matrix("out_proj_train").transpose().to_owned(), case.matrix("out_proj_test"));
    for solver in ["dense", "krylov", "lanczos", "subspace", "power"] {
        for gram in ["tiled", "stored"] {
            let model = KernelPca::new(kernel.clone())
                .n_components(k)
                .solver(solver.parse::<SolverChoice>().unwrap())
                .gram(gram.parse::<GramChoice>().unwrap())
                .tolerance(1e-12)
                .fit(&points)
                .unwrap();
            let label = format!("{name}, {solver}, {gram}");
            check_model(&label, &model, &lambda, &vectors, &train, &test, &queries);
        }
    }
}

fn check_model(
    label: &str,
    model: &Model,
    lambda: &Mat<f64>,
    vectors: &Mat<f64>,
    train: &Mat<f64>,
    test: &Mat<f64>,
    queries: &Points,
) {
    assert!(model.converged(), "{label}: {:?}", model.record().warnings);
    let values = Mat::from_fn(model.n_components(), 1, |i, _| model.eigenvalues()[i]);
    assert_columns_agree(&format!("{label}: eigenvalues"), values.as_ref(), lambda.as_ref());
    let unit = Mat::from_fn(model.n_samples(), model.n_components(), |i, j| {
        model.dual_coefficients()[(i, j)] * model.eigenvalues()[j].sqrt()
    });
    assert_columns_agree(&format!("{label}: eigenvectors"), unit.as_ref(), vectors.as_ref());
    assert_columns_agree(&format!("{label}: training scores"), model.training_scores().as_ref(), train.as_ref());
    assert_columns_agree(&format!("{label}: new scores"), model.transform(queries).unwrap().as_ref(), test.as_ref());
}

#[test]
fn gaussian_kernel_pca_agrees_with_the_reference() {
    check("kpca_gauss", &Kernel::gaussian(0.5 / (1.3 * 1.3)).unwrap(), 3);
}

#[test]
fn polynomial_kernel_pca_agrees_with_the_reference() {
    check("kpca_poly", &Kernel::polynomial(1.0, 1.0, 3).unwrap(), 3);
}

#[test]
fn linear_kernel_pca_agrees_with_the_reference() {
    check("kpca_lin", &Kernel::linear(), 2);
}

#[test]
fn the_variance_of_all_components_is_the_trace_of_the_centred_matrix() {
    let mut case = Case::open("kpca_gauss");
    let points = case.points("in_X");
    let centred = case.matrix("out_Kc");
    let trace: f64 = (0..centred.nrows()).map(|i| centred[(i, i)]).sum();
    let model = KernelPca::new(Kernel::gaussian(0.5 / (1.3 * 1.3)).unwrap()).n_components(20).fit(&points).unwrap();
    assert!((model.total_variance() - trace).abs() < 1e-12 * trace);
    // Centring takes one dimension away.
    assert_eq!(model.n_components(), 19);
    let sum: f64 = model.eigenvalues().iter().sum();
    assert!((sum - trace).abs() < 1e-12 * trace, "{sum} is not {trace}");
}
