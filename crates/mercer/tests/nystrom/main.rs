//! Kernel PCA over landmarks, against the same by the book and against the exact one.
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise should stop there and say where")]

mod equal;
mod fourier;
mod heavy;
mod overflow;

use faer::{Mat, MatRef};
use mercer::kernel::{Kernel, PairFunction};
use mercer::nystrom::{FourierFeatures, Landmarks, Nystrom, NystromPca, RowBlocks};
use mercer::watch::Threads;
use mercer::{BasisKind, Center, ErrorKind, KernelPca, MemoryBudget, Model, Points, Precision, Result, Watch};
use mercer_testkit::reference::{assert_close, center, kernel_pca, largest_entry, nystrom, product};
use npyz::npz::NpzArchive;

const RULES: [Landmarks; 4] = [Landmarks::Uniform, Landmarks::KMeans, Landmarks::RpCholesky, Landmarks::Leverage];

fn points(n: usize, d: usize) -> Points {
    let values: Vec<f64> = (0..n * d).map(|i| ((i * i) as f64 * 0.731).sin() + 0.3 * (i % d) as f64).collect();
    Points::from_f64(values, n, d).unwrap()
}

fn gaussian() -> Kernel {
    Kernel::gaussian(0.4).unwrap()
}

fn gram(kernel: &Kernel, x: &Points, y: &Points) -> Mat<f64> {
    let (x, y): (Vec<_>, Vec<_>) =
        ((0..x.n_samples()).map(|i| x.row(i)).collect(), (0..y.n_samples()).map(|i| y.row(i)).collect());
    Mat::from_fn(x.len(), y.len(), |i, j| kernel.evaluate(&x[i], &y[j]).unwrap())
}

fn trace(matrix: MatRef<'_, f64>) -> f64 {
    (0..matrix.nrows()).map(|i| matrix[(i, i)]).sum()
}

/// Columns of `found` with the signs of those of `expected`.
fn aligned(found: &Mat<f64>, expected: &Mat<f64>) -> Mat<f64> {
    let sign = |j: usize| found.col(j).iter().zip(expected.col(j).iter()).map(|(a, b)| a * b).sum::<f64>().signum();
    Mat::from_fn(found.nrows(), found.ncols(), |i, j| found[(i, j)] * sign(j))
}

#[test]
fn extended_eigenvectors_are_those_of_the_reference_case() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nystrom/cohen.npz");
    let mut archive = NpzArchive::open(path).unwrap();
    let mut array = |name: &str| -> Vec<f64> { archive.by_name(name).unwrap().unwrap().into_vec().unwrap() };
    let x = Points::from_f64(array("in_X"), 15, 4).unwrap();
    let (values, projector) = (array("out_nystrom_lam"), array("out_nystrom_projector"));
    let kernel = Kernel::gaussian(0.5 / (0.7 * 0.7)).unwrap();
    let map = Nystrom::new(kernel).landmarks(Landmarks::Rows((0..6).collect())).map(&x).unwrap();
    let extension = map.extend(&x, 3).unwrap();
    for (found, expected) in extension.eigenvalues.iter().zip(&values) {
        assert!((found - expected).abs() <= 1e-8 * values[0] + 1e-13, "{found} and {expected}");
    }
    let v = &extension.eigenvectors;
    let expected = Mat::from_fn(15, 15, |i, j| projector[i * 15 + j]);
    let slack = 1e-8 * largest_entry(expected.as_ref()) + 1e-13;
    assert_close((v * v.transpose()).as_ref(), expected.as_ref(), |_, _| slack, "the projector");
}

#[test]
fn all_extended_pairs_together_are_the_low_rank_matrix() {
    let (x, kernel) = (points(40, 3), gaussian());
    let landmarks: Vec<usize> = (0..8).map(|i| 5 * i).collect();
    let chosen = x.select(&landmarks);
    let map = Nystrom::new(kernel.clone()).landmarks(Landmarks::Rows(landmarks)).map(&x).unwrap();
    let extension = map.extend(&x, 8).unwrap();
    let v = &extension.eigenvectors;
    let scaled = Mat::from_fn(40, 8, |i, j| v[(i, j)] * extension.eigenvalues[j]);
    let expected = nystrom(gram(&kernel, &x, &chosen).as_ref(), gram(&kernel, &chosen, &chosen).as_ref(), 1e-13);
    assert!((&scaled * v.transpose() - &expected).norm_max() < 1e-9);
    let features = map.transform(&x).unwrap();
    assert!((&features * features.transpose() - &expected).norm_max() < 1e-9);
    assert!(map.extend(&x, 9).unwrap_err().to_string().contains("between 1 and the rank of the landmarks (8)"));
}

#[test]
fn the_model_is_the_kernel_pca_of_the_low_rank_matrix() {
    let x = points(60, 3);
    let queries = points(75, 3).slice(60..75);
    let chosen = x.select(&[3, 14, 15, 9, 26, 53, 58, 0, 41, 30]);
    for kernel in [gaussian(), Kernel::polynomial(0.5, 1.0, 2).unwrap(), Kernel::laplacian(0.7).unwrap()] {
        let (k, c) = (gram(&kernel, &x, &x), gram(&kernel, &x, &chosen));
        let w = gram(&kernel, &chosen, &chosen);
        let low = nystrom(c.as_ref(), w.as_ref(), 1e-12);
        for centred in [Center::Yes, Center::No] {
            let settings = Nystrom::new(kernel.clone()).landmarks(Landmarks::Given(chosen.clone()));
            let model = NystromPca::new(settings).n_components(3).center(centred).fit(&x).unwrap();
            let (matrix, scores) = match centred {
                Center::Yes => {
                    let reference = kernel_pca(low.as_ref(), 3);
                    (center(low.as_ref()), reference.scores)
                }
                Center::No => {
                    let spectrum = mercer_testkit::reference::eigen(low.as_ref());
                    let scores = Mat::from_fn(60, 3, |i, j| spectrum.vectors[(i, j)] * spectrum.values[j].sqrt());
                    (low.clone(), scores)
                }
            };
            let expected = mercer_testkit::reference::eigen(matrix.as_ref());
            for j in 0..3 {
                let gap = (model.eigenvalues()[j] - expected.values[j]).abs();
                assert!(gap < 1e-9 * expected.values[0], "{}: eigenvalue {j} is off by {gap:e}", kernel.name());
            }
            let found = model.transform(&x).unwrap();
            assert!((aligned(&found, &scores) - &scores).norm_max() < 1e-8 * scores.norm_max(), "{}", kernel.name());
            // Signs are fixed: the largest coefficient of every component is positive.
            for column in model.dual_coefficients().col_iter() {
                assert!(column.iter().fold(0.0_f64, |m, &a| if a.abs() > m.abs() { a } else { m }) > 0.0);
            }
            let record = model.record().nystrom.clone().unwrap();
            let missing = trace(k.as_ref()) - trace(low.as_ref());
            assert!((record.trace_error - missing).abs() < 1e-9 * trace(k.as_ref()), "{missing}");
            assert!((record.relative_trace_error - missing / trace(k.as_ref())).abs() < 1e-9);
            // Residuals against the exact matrix, of which every row is sampled here.
            let exact = if centred == Center::Yes { center(k.as_ref()) } else { k.clone() };
            for j in 0..3 {
                let lambda = model.eigenvalues()[j];
                let v = Mat::from_fn(60, 1, |i, _| found[(i, j)] / lambda.sqrt());
                let image = product(exact.as_ref(), v.as_ref());
                let residual =
                    (&image - Mat::from_fn(60, 1, |i, _| lambda * v[(i, 0)])).norm_l2() / model.eigenvalues()[0];
                assert!((model.residuals()[j] - residual).abs() < 1e-9, "{residual} and {}", model.residuals()[j]);
            }
            // A new point: its projection onto the landmarks' span, then onto the components.
            let new = gram(&kernel, &queries, &chosen);
            let means: Vec<f64> = (0..10).map(|j| c.col(j).iter().sum::<f64>() / 60.0).collect();
            let by_hand =
                Mat::from_fn(15, 10, |i, j| new[(i, j)] - if centred == Center::Yes { means[j] } else { 0.0 });
            let kept = model.basis().n_samples();
            if kept == 10 {
                let expected = product(by_hand.as_ref(), model.dual_coefficients());
                assert!((model.transform(&queries).unwrap() - expected).norm_max() < 1e-9);
            }
        }
    }
}

#[test]
fn with_every_row_a_landmark_the_answer_is_exact() {
    let (x, queries) = (points(50, 3), points(59, 3).slice(50..59));
    for rule in RULES {
        let name = rule.name();
        let model =
            NystromPca::new(Nystrom::new(gaussian()).landmarks(rule).n_landmarks(50)).n_components(4).fit(&x).unwrap();
        let exact = KernelPca::new(gaussian()).n_components(4).fit(&x).unwrap();
        for (found, expected) in model.eigenvalues().iter().zip(exact.eigenvalues()) {
            assert!((found - expected).abs() < 1e-8 * exact.eigenvalues()[0], "{name}: {found} and {expected}");
        }
        assert!((model.total_variance() - exact.total_variance()).abs() < 1e-8 * exact.total_variance());
        let (a, b) = (model.novelty(&queries).unwrap(), exact.novelty(&queries).unwrap());
        assert!((aligned(&a.scores, &b.scores) - &b.scores).norm_max() < 1e-7, "{name}");
        for (x, y) in a.reconstruction_error.iter().zip(&b.reconstruction_error) {
            assert!((x - y).abs() < 1e-7, "{name}: {x} and {y}");
        }
        let angle = model.largest_angle(&exact, &x, &Threads::new(2).unwrap(), &Watch::new()).unwrap();
        assert!(angle < 1e-5, "{name}: {angle}");
        assert!(model.residuals().iter().all(|&residual| residual < 1e-8), "{name}: {:?}", model.residuals());
        assert!(model.record().control_limits.is_some());
    }
}

#[test]
fn more_landmarks_are_better_and_pivots_beat_chance() {
    let x = points(400, 4);
    let error = |rule: &Landmarks, m: usize, seed: u64| {
        let settings = Nystrom::new(gaussian()).landmarks(rule.clone()).n_landmarks(m).seed(seed);
        let model = NystromPca::new(settings).n_components(2).fit(&x).unwrap();
        model.record().nystrom.as_ref().unwrap().relative_trace_error
    };
    let mean = |rule: &Landmarks, m: usize| (0..5).map(|seed| error(rule, m, seed)).sum::<f64>() / 5.0;
    for rule in RULES {
        let errors = [10, 40, 160].map(|m| mean(&rule, m));
        assert!(errors[0] > 1.5 * errors[1] && errors[1] > 1.5 * errors[2], "{rule}: {errors:?}");
        assert!(errors[2] > -1e-12, "{rule}: what is missing is positive semi-definite");
    }
    assert!(mean(&Landmarks::RpCholesky, 80) < mean(&Landmarks::Uniform, 80));
}

/// Points in blocks that are not those of the library.
struct Pieces(Points, usize);

impl RowBlocks for Pieces {
    fn n_features(&self) -> usize {
        self.0.n_features()
    }
    fn visit(&mut self, visit: &mut dyn FnMut(&Points) -> Result<()>) -> Result<()> {
        let n = self.0.n_samples();
        (0..n).step_by(self.1).try_for_each(|first| visit(&self.0.slice(first..n.min(first + self.1))))
    }
}

#[test]
fn rows_in_blocks_give_what_rows_in_memory_give() {
    let x = points(3000, 3);
    let settings = Nystrom::new(gaussian()).landmarks(Landmarks::Given(x.slice(0..40)));
    let pca = NystromPca::new(settings).n_components(3);
    let whole = pca.fit(&x).unwrap();
    for rows in [1000, 777, 3000] {
        let model = pca.fit_blocks(&mut Pieces(x.clone(), rows)).unwrap();
        assert_eq!(model.n_samples(), 3000);
        for (found, expected) in model.eigenvalues().iter().zip(whole.eigenvalues()) {
            assert!((found - expected).abs() < 1e-11 * whole.eigenvalues()[0], "{found} and {expected}");
        }
        let (a, b) = (model.transform(&x).unwrap(), whole.transform(&x).unwrap());
        assert!((a - &b).norm_max() < 1e-9);
    }
    for rule in RULES {
        let settings = Nystrom::new(gaussian()).landmarks(rule.clone()).n_landmarks(30);
        let model = NystromPca::new(settings).n_components(2).fit_blocks(&mut Pieces(x.clone(), 512)).unwrap();
        assert!(model.record().nystrom.as_ref().unwrap().relative_trace_error < 0.5, "{rule}");
    }
}

/// Rows of which the second pass has fewer.
struct Shrinking(Points, bool);

impl RowBlocks for Shrinking {
    fn n_features(&self) -> usize {
        self.0.n_features()
    }
    fn visit(&mut self, visit: &mut dyn FnMut(&Points) -> Result<()>) -> Result<()> {
        let n = self.0.n_samples() - usize::from(std::mem::replace(&mut self.1, true));
        visit(&self.0.slice(0..n))
    }
}

#[test]
fn rows_that_change_between_passes_are_noticed() {
    let error =
        NystromPca::new(Nystrom::new(gaussian()).n_landmarks(5)).fit_blocks(&mut Shrinking(points(30, 2), false));
    assert!(error.unwrap_err().to_string().contains("the 30 rows of the first pass in the second, but it is 29"));
}

#[test]
fn copies_among_the_landmarks_change_nothing_and_are_told() {
    let x = points(60, 3);
    let rows = vec![1, 2, 3, 4, 5, 6];
    let fit = |rows: Vec<usize>| {
        let settings = Nystrom::new(gaussian()).landmarks(Landmarks::Rows(rows));
        NystromPca::new(settings).n_components(2).fit(&x).unwrap()
    };
    let plain = fit(rows.clone());
    let doubled = fit([rows.clone(), rows].concat());
    for (found, expected) in doubled.eigenvalues().iter().zip(plain.eigenvalues()) {
        assert!((found - expected).abs() < 1e-10 * expected, "{found} and {expected}");
    }
    assert_eq!(doubled.basis().n_samples(), 6);
    let record = doubled.record();
    assert_eq!(record.nystrom.as_ref().map(|nystrom| (nystrom.n_landmarks, nystrom.rank)), Some((12, 6)));
    assert_eq!(
        record.warnings,
        ["6 of 12 landmarks are left out: to rounding in f64, they are combinations of the others"]
    );
}

#[test]
fn collinear_landmarks_of_a_linear_kernel_have_the_rank_of_their_span() {
    let x = points(80, 5);
    // Ten points on a line through the origin.
    let line: Vec<f64> = (1..=10).flat_map(|i| [1.0, 2.0, 0.0, -1.0, 0.5].map(|c| c * f64::from(i))).collect();
    let settings = Nystrom::new(Kernel::linear()).landmarks(Landmarks::Given(Points::from_f64(line, 10, 5).unwrap()));
    let model = NystromPca::new(settings).n_components(3).fit(&x).unwrap();
    assert_eq!((model.basis().n_samples(), model.n_components()), (1, 1));
    // The variance along the line, by hand.
    let direction = [1.0, 2.0, 0.0, -1.0, 0.5].map(|c: f64| c / 6.25_f64.sqrt());
    let along: Vec<f64> = (0..80).map(|i| x.row(i).iter().zip(direction).map(|(a, b)| a * b).sum()).collect();
    let mean = along.iter().sum::<f64>() / 80.0;
    let variance: f64 = along.iter().map(|a| (a - mean).powi(2)).sum();
    assert!((model.eigenvalues()[0] - variance).abs() < 1e-10 * variance);
}

/// Rows with columns that the first 300 hardly have a value in, and some of the others a large one: landmarks among the first know of
/// that direction by numbers that are nearly rounding.
fn with_rare_columns(n: usize) -> Mat<f64> {
    let usual = points(n, 5);
    Mat::from_fn(n, 8, |i, k| match k {
        0..5 => usual.row(i)[k],
        _ if i % 29 == k => (if i < 300 { 3e-3 } else { 1.0 }) * (1.0 + 0.1 * (i as f64).sin()),
        _ => 0.0,
    })
}

#[test]
fn rounding_does_not_grow_through_landmarks_that_are_nearly_combinations() {
    let rows = with_rare_columns(900);
    let values: Vec<f64> = (0..900).flat_map(|i| (0..8).map(move |k| (i, k))).map(|at| rows[at]).collect();
    let double = Points::from_f64(values.clone(), 900, 8).unwrap();
    let single = Points::from_f32(values.iter().map(|&x| x as f32).collect::<Vec<_>>(), 900, 8).unwrap();
    let kernel = Kernel::polynomial(0.1, 0.0, 2).unwrap();
    let exact = KernelPca::new(kernel.clone()).n_components(4).center(Center::No).fit(&double).unwrap();
    for points in [single, double] {
        let landmarks = Nystrom::new(kernel.clone()).landmarks(Landmarks::Given(points.slice(0..300)));
        let model = NystromPca::new(landmarks).n_components(4).center(Center::No).fit(&points).unwrap();
        let record = model.record();
        // Single precision leaves these directions out; double keeps them, and what it keeps must not be longer than the points.
        let told = record.warnings.iter().any(|warning| warning.contains("rounding in f64 would grow"));
        assert_eq!(told, record.precision == Precision::F64, "{:?}", record.warnings);
        let missing = record.nystrom.as_ref().unwrap().relative_trace_error;
        assert!((-1e-6..5e-3).contains(&missing), "{missing}");
        for (found, expected) in model.eigenvalues().iter().zip(exact.eigenvalues()) {
            assert!((found - expected).abs() <= 1e-3 * expected, "{found}, exactly {expected}");
        }
    }
}

#[test]
fn landmarks_far_from_all_points_are_said_to_know_nothing_of_them() {
    let far = Points::from_f64(vec![1e4, 0.0, 0.0, 2e4, 0.0, 0.0], 2, 3).unwrap();
    let over = |x: &Points| {
        let settings = NystromPca::new(Nystrom::new(gaussian()).landmarks(Landmarks::Given(far.clone())));
        settings.n_components(1).fit(x).unwrap_err().to_string()
    };
    assert_eq!(
        over(&points(20, 3)),
        "the 2 landmarks know nothing of the 20 rows: to the kernel, all rows are equally unlike them; give others, or use a wider kernel"
    );
    let equal = Points::from_f64(vec![1.5; 60], 20, 3).unwrap();
    assert_eq!(over(&equal), "all 20 rows are equal to the kernel: there is no variance to explain");
}

#[test]
fn equal_points_have_no_variance_and_say_so() {
    let x = Points::from_f64(vec![1.5; 60], 20, 3).unwrap();
    for rule in RULES {
        let error = NystromPca::new(Nystrom::new(gaussian()).landmarks(rule).n_landmarks(5)).fit(&x).unwrap_err();
        assert_eq!(error.to_string(), "all 20 rows are equal to the kernel: there is no variance to explain");
    }
    let uncentred = NystromPca::new(Nystrom::new(gaussian()).n_landmarks(5)).n_components(1).center(Center::No).fit(&x);
    assert!((uncentred.unwrap().eigenvalues()[0] - 20.0).abs() < 1e-9, "about zero there is one direction");
}

#[test]
fn more_landmarks_than_rows_are_all_rows_and_it_is_said() {
    let model = NystromPca::new(Nystrom::new(gaussian()).n_landmarks(500)).fit(&points(30, 3)).unwrap();
    assert_eq!(
        model.record().warnings,
        ["500 landmarks were asked for, but there are only 30 rows: each of them is one"]
    );
    assert!(model.record().nystrom.as_ref().unwrap().relative_trace_error.abs() < 1e-9);
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let x = points(2500, 6);
    for rule in RULES {
        for precision in [Precision::F32, Precision::F64] {
            let fit = |threads: usize| -> Model {
                let settings = Nystrom::new(gaussian()).landmarks(rule.clone()).n_landmarks(90);
                NystromPca::new(settings.precision(precision).threads(threads).seed(3)).n_components(4).fit(&x).unwrap()
            };
            let (one, three) = (fit(1), fit(3));
            assert_eq!(one.eigenvalues(), three.eigenvalues(), "{rule} in {precision}");
            assert!((one.dual_coefficients() - three.dual_coefficients()).norm_max() == 0.0, "{rule} in {precision}");
            assert_eq!(one.residuals(), three.residuals(), "{rule} in {precision}");
        }
    }
}

#[test]
fn bytes_and_single_precision_agree_with_double_to_their_rounding() {
    let bytes: Vec<u8> = (0..600 * 12).map(|i| ((i * i * 7 + i * 3) % 251) as u8).collect();
    let scale = 1.0 / 255.0;
    let double: Vec<f64> = bytes.iter().map(|&x| f64::from(x) * scale).collect();
    let (bytes, double) = (Points::from_u8(bytes, 600, 12, scale).unwrap(), Points::from_f64(double, 600, 12).unwrap());
    let fit = |x: &Points| {
        let settings = Nystrom::new(gaussian()).landmarks(Landmarks::Rows((0..600).step_by(20).collect()));
        NystromPca::new(settings).n_components(3).fit(x).unwrap()
    };
    let (rough, fine) = (fit(&bytes), fit(&double));
    assert!(rough.basis().is_bytes() && rough.precision() == Precision::F32);
    for (found, expected) in rough.eigenvalues().iter().zip(fine.eigenvalues()) {
        assert!((found - expected).abs() < 1e-4 * fine.eigenvalues()[0], "{found} and {expected}");
    }
    let gap =
        rough.record().nystrom.as_ref().unwrap().trace_error - fine.record().nystrom.as_ref().unwrap().trace_error;
    assert!(gap.abs() < 1e-4 * 600.0, "{gap}");
}

#[test]
fn a_model_over_landmarks_goes_through_its_file() {
    let x = points(100, 3);
    let model = NystromPca::new(Nystrom::new(gaussian()).n_landmarks(20)).n_components(3).fit(&x).unwrap();
    assert_eq!(model.basis_kind(), BasisKind::Representatives);
    let read = Model::from_bytes(&model.to_bytes().unwrap(), None).unwrap();
    assert_eq!(read.record(), model.record());
    assert!((read.transform(&x).unwrap() - model.transform(&x).unwrap()).norm_max() == 0.0);
    assert_eq!(read.novelty(&x).unwrap().reconstruction_error, model.novelty(&x).unwrap().reconstruction_error);
}

#[test]
fn where_nobody_says_how_many_there_are_ten_landmarks_for_each_component_and_at_least_a_hundred() {
    let x = points(250, 2);
    for (k, expected) in [(2, 100), (10, 100), (15, 150), (30, 250)] {
        let model = NystromPca::new(Nystrom::new(Kernel::laplacian(0.5).unwrap())).n_components(k).fit(&x).unwrap();
        let record = model.record();
        assert_eq!(record.nystrom.as_ref().unwrap().n_landmarks, expected, "{k} components");
        // As many as there are rows is what a default may become, and nothing to warn of.
        assert!(record.warnings.is_empty(), "{:?}", record.warnings);
    }
    assert_eq!(Nystrom::new(gaussian()).map(&x).unwrap().n_landmarks(), Nystrom::DEFAULT_LANDMARKS);
}

#[test]
fn a_function_that_is_not_symmetric_is_refused() {
    let tilted = || Kernel::custom(PairFunction::new("tilted", |x: &[f64], y: &[f64]| x[0] * y[0] + x[0]));
    let x = points(60, 1);
    let error = KernelPca::new(tilted()).fit(&x).unwrap_err();
    assert!(matches!(error, mercer::Error::AsymmetricKernel { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn what_is_not_allowed_is_named() {
    let x = points(30, 3);
    let message = |pca: NystromPca| pca.fit(&x).unwrap_err().to_string();
    let plain = || Nystrom::new(gaussian()).n_landmarks(10);
    assert_eq!(
        message(NystromPca::new(plain()).n_components(11)),
        "`n_components` must be between 1 and the number of landmarks (10), but it is 11"
    );
    assert_eq!(message(NystromPca::new(plain().n_landmarks(0))), "`n_landmarks` must be at least 1, but it is 0");
    assert_eq!(message(NystromPca::new(plain()).accuracy(1.5)), "`accuracy` must be between 0 and 1, but it is 1.5");
    assert_eq!(
        message(NystromPca::new(plain().landmarks(Landmarks::Rows(vec![1, 2, 30])).n_landmarks(3))),
        "`landmarks` must be rows of the data, below 30, but it is 30"
    );
    assert_eq!(
        message(NystromPca::new(plain().landmarks(Landmarks::Given(points(10, 2))))),
        "`landmarks` must be points of 3 columns, but it is 2 columns"
    );
    assert!(
        message(NystromPca::new(plain().landmarks(Landmarks::Rows(vec![0, 1])))).contains("left out, or the number")
    );
    let error = NystromPca::new(plain().memory(MemoryBudget::Bytes(1000))).fit(&x).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OverBudget);
    // Rows are held as they came and packed: ten landmarks of 20 000 numbers take 3.2 MB, whoever chooses them.
    let wide = Points::from_f64((0..30 * 20_000).map(f64::from).collect::<Vec<_>>(), 30, 20_000).unwrap();
    for landmarks in [Landmarks::Uniform, Landmarks::RpCholesky, Landmarks::KMeans, Landmarks::Leverage] {
        let pca = NystromPca::new(plain().landmarks(landmarks.clone()).memory(MemoryBudget::Bytes(1_000_000)));
        assert!(pca.fit(&x).is_ok(), "{landmarks}");
        assert_eq!(pca.fit(&wide).unwrap_err().kind(), ErrorKind::OverBudget, "{landmarks}");
    }
    assert!("best".parse::<Landmarks>().unwrap_err().to_string().contains("uniform, kmeans, rpcholesky, leverage"));
    let sigmoid =
        NystromPca::new(Nystrom::new(Kernel::sigmoid(1.0, -1.0).unwrap()).n_landmarks(10)).fit(&x).unwrap_err();
    // What is told is the smallest eigenvalue beside the largest, and no way out that would be refused.
    let mercer::Error::IndefiniteLandmarks { ratio, .. } = &sigmoid else { panic!("{sigmoid}") };
    assert!((1e-3..=1.0).contains(ratio), "{ratio}");
    assert!(sigmoid.to_string().starts_with("the sigmoid kernel has significant negative eigenvalues"), "{sigmoid}");
    assert!(FourierFeatures::new(&Kernel::linear(), 3, 10, 0).is_err());
    // More rows of kernel values than the matrix has: they have no diagonal.
    let map =
        Nystrom::new(Kernel::Precomputed).landmarks(Landmarks::Uniform).n_landmarks(2).map(&points(4, 4)).unwrap();
    let error = map.trace_error(&points(6, 4)).unwrap_err();
    assert!(matches!(error, mercer::Error::NotSquare { rows: 6, columns: 4 }), "{error}");
}

#[test]
fn numbers_that_are_bytes_lose_nothing_to_single_precision() {
    // Pairs of rows that differ in a few pixels by one: of squared norms in the millions single precision leaves no such difference.
    let (n, d) = (120, 400);
    let pixel = |row: usize, column: usize| {
        let grey = ((row / 2 * d + column).pow(2) as f64 * 0.731).sin().abs() * 250.0;
        grey.floor() as f32 + f32::from(u8::from(row % 2 == 1 && (row + column).is_multiple_of(40)))
    };
    let values: Vec<f32> = (0..n * d).map(|i| pixel(i / d, i % d)).collect();
    let single = Points::from_f32(values.clone(), n, d).unwrap();
    let double = Points::from_f64(values.into_iter().map(f64::from).collect::<Vec<_>>(), n, d).unwrap();
    let rows = Landmarks::Rows((0..n).step_by(3).collect());
    let fit = |points: &Points| {
        let landmarks = Nystrom::new(Kernel::gaussian(0.02).unwrap()).landmarks(rows.clone());
        NystromPca::new(landmarks).n_components(20).fit(points).unwrap()
    };
    let (found, expected) = (fit(&single), fit(&double));
    assert_eq!((found.precision(), expected.precision()), (Precision::F32, Precision::F64));
    for (found, expected) in found.eigenvalues().iter().zip(expected.eigenvalues()) {
        // Kernel values of one, each off by a few units of single precision, in sums over all rows.
        let slack = 8.0 * f64::from(f32::EPSILON) * n as f64;
        assert!((found - expected).abs() < slack, "{found} and {expected}");
    }
}
