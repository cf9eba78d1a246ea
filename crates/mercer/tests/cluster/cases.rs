//! A stored case, the slow reference, and the textbook's rings.

use std::path::Path;

use faer::{Mat, MatRef};
use mercer::agreement::{Contingency, variation_of_information};
use mercer::gram::{Normalized, SymmetricOperator};
use mercer::{Kernel, Precision, SolverChoice, SpectralClustering};
use mercer_testkit::contract::apply;
use mercer_testkit::generate::{Cloud, circles, clusters, gaussian_cloud};
use mercer_testkit::operator::gram;
use mercer_testkit::reference::{assert_close, largest_entry, spectral_embedding};
use mercer_testkit::{Format, Textbook, check_symmetric_operator, context};
use npyz::npz::NpzArchive;

use super::support::points_of;

/// An array of the stored case; see `testdata/cluster/README.md`.
fn stored(array: &str) -> Mat<f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cluster/njw_vi.npz");
    let mut archive = NpzArchive::open(path).unwrap();
    let npy = archive.by_name(array).unwrap().unwrap_or_else(|| panic!("no {array}"));
    let shape: Vec<usize> = npy.shape().iter().map(|&size| size as usize).collect();
    let (rows, columns) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
    let order = npy.order();
    let values: Vec<f64> = match npy.dtype().descr().as_str() {
        text if text.contains("i8") => npy.into_vec::<i64>().unwrap().into_iter().map(|x| x as f64).collect(),
        _ => npy.into_vec().unwrap(),
    };
    Mat::from_fn(rows, columns, |i, j| match order {
        npyz::Order::C => values[i * columns + j],
        npyz::Order::Fortran => values[j * rows + i],
    })
}

#[track_caller]
fn check(array: &str, found: MatRef<'_, f64>) {
    let expected = stored(array);
    let slack = 1e-8 * largest_entry(expected.as_ref()) + 1e-13;
    assert_close(found, expected.as_ref(), |_, _| slack, array);
}

/// Inner products of embedded points: what does not depend on signs and rotations.
fn inner(embedding: &Mat<f64>) -> Mat<f64> {
    embedding * embedding.transpose()
}

fn together(labels: &[usize]) -> Mat<f64> {
    Mat::from_fn(labels.len(), labels.len(), |i, j| f64::from(u8::from(labels[i] == labels[j])))
}

#[test]
fn the_stored_case_comes_out_with_every_solver() {
    let points = points_of(&stored("in_Z"));
    let sigma = stored("par_sigma")[(0, 0)];
    let kernel = Kernel::gaussian(0.5 / (sigma * sigma)).unwrap();
    let operator = gram(Precision::F64, &points, &kernel, None).unwrap();
    let unit = Mat::<f64>::identity(24, 24);
    check("out_P", apply(&Normalized::new(&*operator, &context(2)).unwrap(), unit.as_ref(), 2).as_ref());
    for solver in [SolverChoice::Auto, SolverChoice::Dense, SolverChoice::Krylov, SolverChoice::Lanczos] {
        let clustering = SpectralClustering::new(kernel.clone(), 3).solver(solver).tolerance(1e-12);
        let model = clustering.fit(&points).unwrap();
        check("out_embedding_gram", inner(&model.embedding()).as_ref());
        check("out_same_cluster", together(model.labels()).as_ref());
        let five = clustering.n_components(5).fit(&points).unwrap();
        check("out_eigenvalues", Mat::from_fn(5, 1, |i, _| five.eigenvalues()[i]).as_ref());
    }
}

#[test]
fn variation_of_information_of_the_stored_groupings() {
    let grouping = |array: &str| stored(array).col(0).iter().map(|&x| x as i64).collect::<Vec<i64>>();
    let (first, second) = (grouping("in_c1"), grouping("in_c2"));
    let table = Contingency::new(&first, &second).unwrap();
    assert_eq!(table.shape(), (3, 4));
    check("out_confusion", Mat::from_fn(3, 4, |i, j| table.count(i, j) as f64 / 40.0).as_ref());
    let vi = variation_of_information(&first, &second).unwrap();
    check("out_vi", Mat::from_fn(1, 1, |_, _| vi).as_ref());
}

#[test]
fn the_normalised_operator_keeps_the_contract_of_operators() {
    let points = gaussian_cloud(150, 4, 3).points(Format::F64);
    let operator = gram(Precision::F64, &points, &Kernel::gaussian(0.2).unwrap(), None).unwrap();
    let normalized = Normalized::new(&*operator, &context(2)).unwrap();
    check_symmetric_operator(&normalized, 1e-13);
    assert_eq!((normalized.dim(), normalized.degrees().len()), (150, 150));
}

/// Kernels whose rows all have positive sums on any points.
const KERNELS: [Textbook; 5] = [
    Textbook::Gaussian { gamma: 0.3 },
    Textbook::Laplacian { gamma: 0.3 },
    Textbook::Matern52 { gamma: 0.6 },
    Textbook::RationalQuadratic { gamma: 0.4, alpha: 2.0 },
    Textbook::Polynomial { gamma: 0.5, coef0: 1.0, degree: 2 },
];

#[test]
fn the_embedding_of_old_and_new_points_is_that_of_the_slow_reference() {
    let (cloud, new) = (clusters(90, 3, 4, 11), clusters(20, 3, 4, 12));
    let rows = |cloud: &Cloud| (0..cloud.n).map(|i| cloud.row(i).to_vec()).collect::<Vec<_>>();
    for kernel in KERNELS {
        let slow = spectral_embedding(kernel.matrix(&rows(&cloud), &rows(&cloud)).as_ref(), 3);
        let model = SpectralClustering::new(kernel.to_kernel(), 3)
            .solver(SolverChoice::Krylov)
            .tolerance(1e-12)
            .fit(&cloud.points(Format::F64))
            .unwrap();
        for (found, expected) in model.eigenvalues().iter().zip(&slow.eigenvalues) {
            assert!((found - expected).abs() < 1e-11, "{kernel:?}: {found} instead of {expected}");
        }
        assert_close(inner(&model.embedding()).as_ref(), inner(&slow.embedding).as_ref(), |_, _| 1e-8, "old points");
        let embedded = model.embed(&new.points(Format::F64)).unwrap();
        let expected = slow.extend(kernel.matrix(&rows(&new), &rows(&cloud)).as_ref());
        // New against old: signs and rotations of both are the same ones.
        let found = &embedded * model.embedding().transpose();
        assert_close(found.as_ref(), (&expected * slow.embedding.transpose()).as_ref(), |_, _| 1e-8, "new points");
    }
}

#[test]
fn two_rings_come_apart_in_every_format() {
    let cloud = circles(400, 5);
    let truth: Vec<usize> = (0..400).map(|i| i % 2).collect();
    for format in Format::ALL {
        let model = SpectralClustering::new(Kernel::gaussian(4.0).unwrap(), 2).fit(&cloud.points(format)).unwrap();
        assert_eq!(model.labels(), truth, "{format:?}");
        assert_eq!(model.record().cluster_sizes, [200, 200]);
        assert!((model.eigenvalues()[0] - 1.0).abs() < 1e-5, "{format:?}: {:?}", model.eigenvalues());
    }
}
