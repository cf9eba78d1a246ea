//! What the tests share.

use std::path::PathBuf;

use faer::{Mat, MatRef};
use mercer::expansion::{Expansion, Wanted};
use mercer::{ExpansionMethod, Kernel, Points};
use mercer_testkit::context;
use mercer_testkit::generate::Random;
use npyz::Order;
use npyz::npz::NpzArchive;

/// An array of a stored case; vectors come as one column.
pub(crate) fn array(case: &str, name: &str) -> Mat<f64> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/reference");
    let mut archive = NpzArchive::open(path.join(case).with_extension("npz")).unwrap();
    let npy = archive.by_name(name).unwrap().unwrap_or_else(|| panic!("{case} has no {name}"));
    let shape: Vec<usize> = npy.shape().iter().map(|&size| size as usize).collect();
    let (rows, columns) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
    let order = npy.order();
    let values: Vec<f64> = match npy.dtype().num_bytes() {
        Some(8) if matches!(npy.dtype().descr().as_str(), "'<i8'") => {
            npy.into_vec::<i64>().unwrap().into_iter().map(|x| x as f64).collect()
        }
        _ => npy.into_vec().unwrap(),
    };
    Mat::from_fn(rows, columns, |i, j| match order {
        Order::C => values[i * columns + j],
        Order::Fortran => values[j * rows + i],
    })
}

/// The rows of a matrix as points.
pub(crate) fn as_points(x: &Mat<f64>) -> Points {
    let values: Vec<f64> = (0..x.nrows() * x.ncols()).map(|at| x[(at / x.ncols(), at % x.ncols())]).collect();
    Points::from_f64(values, x.nrows(), x.ncols()).unwrap()
}

/// Points in a box of the given sides, and a few outside its middle.
pub(crate) fn in_box(n: usize, sides: &[f64], seed: u64) -> Points {
    let mut random = Random::new(seed);
    let values: Vec<f64> = (0..n * sides.len()).map(|i| sides[i % sides.len()] * random.uniform()).collect();
    Points::from_f64(values, n, sides.len()).unwrap()
}

/// Vectors with entries of both signs.
pub(crate) fn vectors(n: usize, b: usize, seed: u64) -> Mat<f64> {
    let mut random = Random::new(seed);
    Mat::from_fn(n, b, |_, _| random.normal())
}

/// The expansion of a kernel matrix.
pub(crate) fn expansion(kernel: &Kernel, points: &Points, method: ExpansionMethod, tolerance: f64) -> Expansion {
    let wanted = Wanted { method, tolerance, columns: 3, ..Wanted::default() };
    Expansion::new(kernel, points, &wanted, &context(2)).unwrap()
}

/// `K(targets, points) vectors` by definition.
pub(crate) fn direct(kernel: &Kernel, targets: &Points, points: &Points, vectors: MatRef<'_, f64>) -> Mat<f64> {
    let rows: Vec<Vec<f64>> = (0..points.n_samples()).map(|j| points.row(j)).collect();
    let mut product = Mat::zeros(targets.n_samples(), vectors.ncols());
    for i in 0..targets.n_samples() {
        let x = targets.row(i);
        for (j, y) in rows.iter().enumerate() {
            let value = kernel.evaluate(&x, y).unwrap();
            for v in 0..vectors.ncols() {
                product[(i, v)] += value * vectors[(j, v)];
            }
        }
    }
    product
}

/// The largest error of a product, over the sum of its vector's absolute values.
pub(crate) fn error(found: &Mat<f64>, expected: &Mat<f64>, vectors: MatRef<'_, f64>) -> f64 {
    let of = |j: usize| (found.col(j) - expected.col(j)).norm_max() / vectors.col(j).norm_l1();
    (0..vectors.ncols()).map(of).fold(0.0, f64::max)
}
