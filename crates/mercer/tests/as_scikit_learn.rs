//! What the settings for scikit-learn's behaviour do: components of eigenvalue zero, negative eigenvalues among those asked for,
//! plans of shapes, models in memory.
#![allow(clippy::unwrap_used)]

use faer::Mat;
use mercer::kernel::{KernelSpec, PairFunction, Width};
use mercer::{
    Center, ErrorKind, Kernel, KernelPca, MemoryBudget, Model, Negative, NegativeScope, Points, Precision,
    SolverChoice, ZeroComponents,
};

/// Points on a line in three dimensions: one component, everything else is rounding.
fn line(n: usize) -> Points {
    Points::from_f64((0..n).flat_map(|i| [i as f64, 2.0 * i as f64, 1.0]).collect::<Vec<_>>(), n, 3).unwrap()
}

#[test]
fn components_of_eigenvalue_zero_are_kept_as_zeros_or_dropped() {
    for solver in [SolverChoice::Dense, SolverChoice::Krylov] {
        let pca = KernelPca::new(Kernel::linear()).n_components(4).solver(solver);
        let dropped = pca.fit(&line(30)).unwrap();
        assert_eq!(dropped.n_components(), 1);
        let kept = pca.zero_components(ZeroComponents::Keep).fit(&line(30)).unwrap();
        assert_eq!(kept.n_components(), 4, "{solver}");
        assert_eq!(kept.eigenvalues()[1..], [0.0; 3]);
        assert!(kept.converged(), "{solver}");
        let said = &kept.record().warnings;
        assert!(said.iter().any(|text| text.starts_with("1 of 4 components have a variance: the other")), "{said:?}");
        let scores = kept.transform(&line(30)).unwrap();
        assert!((0..30).all(|i| (1..4).all(|j| scores[(i, j)] == 0.0)));
        assert!((scores.col(0) - dropped.training_scores().col(0)).norm_max() < 1e-9);
    }
}

#[test]
fn no_variance_is_an_error_or_an_empty_model_or_zeros() {
    let same = Points::from_f64(vec![1.0; 12], 6, 2).unwrap();
    let pca = KernelPca::new(Kernel::linear()).n_components(2);
    assert!(pca.fit(&same).unwrap_err().to_string().contains("no variance"));
    let empty = pca.clone().zero_components(ZeroComponents::DropAll).fit(&same).unwrap();
    assert_eq!((empty.n_components(), empty.converged()), (0, true));
    assert_eq!(empty.transform(&same).unwrap().ncols(), 0);
    let zeros = pca.zero_components(ZeroComponents::Keep).fit(&same).unwrap();
    assert_eq!(zeros.eigenvalues(), [0.0, 0.0]);
    assert_eq!(zeros.explained_variance_ratio(), [0.0, 0.0]);
    assert!(zeros.converged());
}

/// A matrix with the given eigenvalues, by a fixed reflection.
fn with_spectrum(values: &[f64]) -> Points {
    let n = values.len();
    let normal = Mat::from_fn(n, 1, |i, _| ((i + 1) as f64).sqrt());
    let reflection = Mat::<f64>::identity(n, n) - &normal * normal.transpose() * (2.0 / normal.squared_norm_l2());
    let matrix = &reflection * Mat::from_fn(n, n, |i, j| if i == j { values[i] } else { 0.0 }) * &reflection;
    Points::from_f64((0..n * n).map(|e| matrix[(e / n, e % n)]).collect::<Vec<_>>(), n, n).unwrap()
}

#[test]
fn negative_eigenvalues_count_only_where_they_were_asked_for() {
    let matrix = with_spectrum(&[5.0, 3.0, -4.0, 1.0, 0.5, -0.25]);
    let pca = |k, scope| {
        KernelPca::new(Kernel::Precomputed).center(Center::No).n_components(k).negative_scope(scope).fit(&matrix)
    };
    let is_refused = |outcome: mercer::Result<Model>| match outcome {
        Ok(_) => false,
        Err(error) => error.to_string().starts_with("there are significant negative eigenvalues"),
    };
    assert!(is_refused(pca(2, NegativeScope::Seen)));
    let model = pca(2, NegativeScope::Asked).unwrap();
    assert!((model.eigenvalues()[0] - 5.0).abs() < 1e-12 && (model.eigenvalues()[1] - 3.0).abs() < 1e-12);
    assert!(is_refused(pca(6, NegativeScope::Asked)));
    // The second largest by absolute value is negative.
    assert!(is_refused(pca(2, NegativeScope::AskedByModulus)));
    assert!(pca(1, NegativeScope::AskedByModulus).is_ok());
    let flipped = KernelPca::new(Kernel::Precomputed).center(Center::No).n_components(2).negative(Negative::Flip);
    assert!((flipped.fit(&matrix).unwrap().eigenvalues()[1] + 4.0).abs() < 1e-12);
}

#[test]
fn eigenvectors_are_those_of_the_matrix() {
    let matrix = with_spectrum(&[5.0, 3.0, 2.0, 1.0]);
    let model = KernelPca::new(Kernel::Precomputed).center(Center::No).n_components(4).fit(&matrix).unwrap();
    let v = model.eigenvectors();
    assert!((v.transpose() * &v - Mat::<f64>::identity(4, 4)).norm_max() < 1e-13);
    let k = Mat::from_fn(4, 4, |i, j| matrix.row(i)[j]);
    let image = Mat::from_fn(4, 4, |i, j| v[(i, j)] * model.eigenvalues()[j]);
    assert!((&k * &v - image).norm_max() < 1e-13);
}

#[test]
fn a_plan_of_a_shape_is_that_of_points_of_the_shape() {
    let spec = KernelSpec::new("gaussian").width(Width::Median);
    let pca = KernelPca::new(spec).n_components(3).memory(MemoryBudget::Bytes(1 << 28)).threads(2);
    let (shape, data) = (pca.plan_shape(900, 3, Precision::F64).unwrap(), pca.plan(&line(900)).unwrap());
    assert_eq!((&shape.gram, &shape.solver, shape.block), (&data.gram, &data.solver, data.block));
    assert_eq!(shape.expected_memory_bytes, data.expected_memory_bytes);
    assert!(shape.expected_seconds > 0.0);
    let crooked = KernelPca::new(KernelSpec::new("precomputed")).plan_shape(900, 3, Precision::F64).unwrap_err();
    assert_eq!(crooked.to_string(), "the precomputed matrix must be square, but it has 900 rows and 3 columns");
    let crowded = pca.clone().threads(5000).plan_shape(900, 3, Precision::F64).unwrap_err();
    assert_eq!(crowded.to_string(), "`threads` must be at most 1024, but it is 5000");
    let refused = pca.memory(MemoryBudget::Bytes(1000)).plan_shape(60_000, 784, Precision::F32).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::OverBudget);
}

#[test]
fn a_model_in_memory_comes_back_with_its_function() {
    let kernel =
        || Kernel::custom(PairFunction::new("mine", |x: &[f64], y: &[f64]| (x[0] * y[0] + x[1] * y[1]).powi(2)));
    let model = KernelPca::new(kernel()).n_components(1).fit(&line(20)).unwrap();
    let bytes = model.to_bytes().unwrap();
    let back = Model::from_bytes(&bytes, Some(kernel())).unwrap();
    assert_eq!(back.transform(&line(20)).unwrap(), model.transform(&line(20)).unwrap());
    let error = Model::from_bytes(&bytes, None).unwrap_err().to_string();
    assert!(error.starts_with("model in memory: `kernel` must be one of"), "{error}");
    let error = Model::from_bytes(&bytes[..bytes.len() / 2], Some(kernel())).unwrap_err().to_string();
    assert!(error.contains("not a Mercer model, or cut short"), "{error}");
}

#[test]
fn the_failure_of_a_function_is_passed_on() {
    #[derive(Debug)]
    struct Broken;
    impl mercer::kernel::CustomKernel for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }
        fn fill(&self, _: &[f64], _: &[f64], _: usize, _: &mut [f64]) -> mercer::Result<()> {
            Err(mercer::Error::CustomKernelFailed { kernel: "broken".to_owned(), source: "it rains".into() })
        }
    }
    let error = KernelPca::new(Kernel::custom(Broken)).fit(&line(20)).unwrap_err();
    assert_eq!(error.to_string(), "the broken kernel failed: it rains");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
