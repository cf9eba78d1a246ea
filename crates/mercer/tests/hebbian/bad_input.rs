//! Wrong calls are told what is wrong, where, and what is allowed.

use faer::Mat;
use mercer::data::Scaling;
use mercer::hebbian::Start;
use mercer::{Error, Kernel, KernelHebbianPca, KernelPca, MemoryBudget, Negative, Points, Watch, ZeroComponents};
use mercer_testkit::generate::gaussian_cloud;
use mercer_testkit::{Cloud, Format};

fn settings() -> KernelHebbianPca {
    KernelHebbianPca::new(Kernel::gaussian(0.3).unwrap()).n_components(2).passes(1)
}

fn points() -> Points {
    gaussian_cloud(12, 3, 1).points(Format::F64)
}

#[track_caller]
fn refused(settings: &KernelHebbianPca, start: &Start<'_>, expected: &str) {
    let error = settings.fit_from(&points(), start, &Watch::new()).unwrap_err().to_string();
    assert_eq!(error, expected);
}

#[test]
fn settings_outside_their_domain_are_refused() {
    let none = Start::default();
    refused(&settings().eta0(0.0), &none, "`eta0` must be a positive number, but it is 0");
    refused(&settings().eta0(-1.0), &none, "`eta0` must be a positive number, but it is -1");
    refused(&settings().eta0(f64::NAN), &none, "`eta0` must be a positive number, but it is NaN");
    refused(&settings().mu(-0.5), &none, "`mu` must be \"auto\" or a number that is not negative, but it is -0.5");
    refused(
        &settings().negative(Negative::Flip),
        &none,
        "`negative` must be \"error\" or \"clip\": updates grow towards the largest eigenvalues, never towards negative ones, but it is \
         \"flip\"",
    );
    refused(&settings().tau(0.0), &none, "`tau` must be a positive number, but it is 0");
    refused(&settings().xi(1.5), &none, "`xi` must be between 0 and 1, but it is 1.5");
    refused(&settings().xi(f64::NAN), &none, "`xi` must be between 0 and 1, but it is NaN");
    refused(&settings().rho0(f64::INFINITY), &none, "`rho0` must be a finite number, but it is inf");
    refused(&settings().passes(0), &none, "`passes` must be at least 1, but it is 0");
    refused(&settings().batch_size(0), &none, "`batch_size` must be at least 1, but it is 0");
    refused(&settings().record_every(0), &none, "`record_every` must be at least 1, but it is 0");
    let many = "`n_components` must be between 1 and the number of samples (12), but it is 13";
    refused(&settings().n_components(13), &none, many);
}

#[test]
fn starts_and_orders_that_do_not_fit_are_refused() {
    let wide = Mat::full(2, 11, 0.5);
    let start = Start { coefficients: Some(wide.as_ref()), ..Start::default() };
    let expected =
        "`initial_coefficients` must be one row per component and one column per sample (2 x 12), but it is 2 x 11";
    refused(&settings(), &start, expected);
    let mut bad = Mat::full(2, 12, 0.5);
    bad[(1, 3)] = f64::NAN;
    let start = Start { coefficients: Some(bad.as_ref()), ..Start::default() };
    refused(&settings(), &start, "`initial_coefficients` must be finite numbers, but it is NaN at row 1, column 3");
    let zero = Mat::from_fn(2, 12, |i, _| if i == 0 { 1.0 } else { 0.0 });
    let start = Start { coefficients: Some(zero.as_ref()), ..Start::default() };
    let expected = "`initial_coefficients` must be rows that are not all zero, which would stay zero forever, but it is zero in row 1";
    refused(&settings(), &start, expected);
    let start = Start { order: Some(&[3, 12]), ..Start::default() };
    refused(&settings(), &start, "`order` must be indices of samples, below 12, but it is 12 at position 1");
    let start = Start { order: Some(&[]), ..Start::default() };
    refused(&settings(), &start, "`order` must be at least one sample, but it is empty");
    let model = KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(2).fit(&points()).unwrap();
    let both = Mat::full(2, 12, 0.5);
    let start = Start { coefficients: Some(both.as_ref()), model: Some(&model), order: None };
    refused(
        &settings(),
        &start,
        "`initial_coefficients` must be left out when a model to start from is given, but it is given",
    );
}

#[test]
fn starts_that_are_nothing_in_feature_space_are_refused() {
    for rule in ["constant", "et*", "smd*"] {
        let settings = settings().gain(rule.parse().unwrap());
        let ones = Mat::full(2, 12, 1.0);
        let start = Start { coefficients: Some(ones.as_ref()), ..Start::default() };
        let nothing = "rows that differ from zero in feature space, or they would stay zero forever (where points are centred, a constant is zero)";
        let expected = format!("`initial_coefficients` must be {nothing}, but it is zero in row 0");
        refused(&settings, &start, &expected);
        let one = Mat::from_fn(2, 12, |i, j| if i == 0 { j as f64 } else { 3.0 });
        let start = Start { coefficients: Some(one.as_ref()), ..Start::default() };
        refused(&settings, &start, &expected.replace("row 0", "row 1"));
    }
}

#[test]
fn starts_of_absurd_size_are_refused_by_their_name() {
    for (size, rule) in [(1e160, "et*"), (1e-170, "et*"), (1e160, "constant"), (1e-170, "smd")] {
        let rows = Mat::from_fn(2, 12, |i, j| size * ((i + 2) * j + i) as f64);
        let start = Start { coefficients: Some(rows.as_ref()), ..Start::default() };
        let settings = settings().gain(rule.parse().unwrap());
        let error = settings.fit_from(&points(), &start, &Watch::new()).unwrap_err().to_string();
        let expected = "`initial_coefficients` must be rows whose length in feature space can be squared: they end with one, but it is of length ";
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_component_of_a_model_that_is_zero_starts_at_random() {
    // Three columns have three directions; the other components are zeros.
    let exact = KernelPca::new(Kernel::linear()).n_components(5).zero_components(ZeroComponents::Keep);
    let model = exact.fit(&points()).unwrap();
    assert_eq!(model.n_components(), 5);
    let start = Start { model: Some(&model), ..Start::default() };
    let settings = KernelHebbianPca::new(Kernel::linear()).n_components(4).passes(2);
    let learned = settings.fit_from(&points(), &start, &Watch::new()).unwrap().model().unwrap();
    for (found, expected) in learned.eigenvalues().iter().zip(model.eigenvalues()) {
        assert!((found - expected).abs() < 1e-6 * model.eigenvalues()[0], "{found} {expected}");
    }
}

#[test]
fn a_model_of_another_kernel_is_no_start() {
    for (kernel, words) in [
        (Kernel::gaussian(0.5).unwrap(), "gaussian, gamma 0.5"),
        (Kernel::linear(), "linear"),
        (Kernel::polynomial(0.3, 1.0, 2).unwrap(), "polynomial, gamma 0.3, degree 2, coef0 1"),
    ] {
        let model = KernelPca::new(kernel).n_components(2).fit(&points()).unwrap();
        let start = Start { model: Some(&model), ..Start::default() };
        let expected = format!(
            "`initial_model` must be of the kernel that is learned with (gaussian, gamma 0.3): directions of another one mean nothing to it, \
             but it is of {words}"
        );
        refused(&settings(), &start, &expected);
    }
}

#[test]
fn a_model_that_scales_its_points_is_no_start() {
    let (kernel, scaling) = (Kernel::gaussian(0.3).unwrap(), Scaling::uniform(2.0, 3).unwrap());
    let scaled = scaling.apply(&points()).unwrap();
    let model = KernelPca::new(kernel).n_components(2).fit(&scaled).unwrap().with_scaling(scaling).unwrap();
    let start = Start { model: Some(&model), ..Start::default() };
    let expected = "`initial_model` must be a model without a scaling, of points that were scaled as these are: what it scales would not be \
                    what is learned from, but it is one that scales its points itself";
    refused(&settings(), &start, expected);
    assert_eq!(settings().plan_record_from(&points(), &start).unwrap_err().to_string(), expected);
    // Of points that are scaled already it is one.
    let model = model.without_scaling();
    let start = Start { model: Some(&model), ..Start::default() };
    settings().fit_from(&scaled, &start, &Watch::new()).unwrap();
}

#[test]
fn kernel_values_that_arithmetic_has_no_room_for_are_told_and_not_taken_for_divergence() {
    let scaled = |size: f64| Cloud::from_fn(12, 2, |i, k| size * (1 + (5 * i + 3 * k) % 12) as f64).points(Format::F64);
    let polynomial = Kernel::polynomial(1.0, 1.0, 3).unwrap();
    let homogeneous = Kernel::polynomial(1.0, 0.0, 3).unwrap();
    for (kernel, size, words) in [
        (polynomial, 1e60, "the polynomial kernel of row "),
        (Kernel::linear(), 1e100, "the linear kernel of row "),
        (Kernel::linear(), 1e-120, "the linear kernel of each of the 12 rows with itself is at most "),
        (Kernel::linear(), 1e-170, "the linear kernel of each of the 12 rows with itself underflows to zero"),
        (homogeneous, 1e-60, "the polynomial kernel of each of the 12 rows with itself underflows to zero"),
    ] {
        let error = KernelHebbianPca::new(kernel).passes(1).fit(&scaled(size)).unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
    KernelHebbianPca::new(Kernel::linear()).passes(1).fit(&scaled(1e60)).unwrap();
}

#[test]
fn a_row_of_new_points_is_named_by_its_number_among_them() {
    let row = |i: usize, k: usize| ((5 * i + 3 * k) % 12) as f64;
    let old = Cloud::from_fn(12, 2, row).points(Format::F64);
    let new = Cloud::from_fn(4, 2, |i, k| if i == 2 { 1e120 } else { row(i, k) }).points(Format::F64);
    let mut learner = KernelHebbianPca::new(Kernel::linear()).passes(1).fit(&old).unwrap();
    let before = learner.coefficients();
    let error = learner.partial_fit(Some(&new), 1, &Watch::new()).unwrap_err();
    assert!(matches!(error, Error::KernelOverflow { row: 2, .. }), "{error}");
    assert_eq!(learner.coefficients(), before);
    learner.partial_fit(Some(&old), 1, &Watch::new()).unwrap();
}

#[test]
fn an_order_is_not_for_a_run_that_keeps_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let kept = settings().checkpoint(mercer::Checkpoint::new(folder.path().join("state")));
    let start = Start { order: Some(&[1, 2]), ..Start::default() };
    let expected = "`order` must be left out when a checkpoint is kept: a run goes on from it with passes over random permutations, but it is given";
    refused(&kept, &start, expected);
}

#[test]
fn equal_points_have_no_variance_to_learn() {
    for format in [Format::F32, Format::F64, Format::U8] {
        let equal = Cloud::from_fn(20, 3, |_, k| k as f64).points(format);
        let error = settings().fit(&equal).unwrap_err().to_string();
        assert_eq!(error, "all 20 rows are equal to the kernel: there is no variance to explain");
    }
    // Their kernel values are zero, and not by underflow.
    let zeros = Cloud::from_fn(20, 3, |_, _| 0.0).points(Format::F64);
    let error = KernelHebbianPca::new(Kernel::linear()).passes(1).fit(&zeros).unwrap_err().to_string();
    assert_eq!(error, "all 20 rows are equal to the kernel: there is no variance to explain");
}

#[test]
fn what_does_not_fit_the_budget_is_refused_with_what_it_takes() {
    let error = settings().memory(MemoryBudget::Bytes(1000)).fit(&points()).unwrap_err();
    assert_eq!(error.kind(), mercer::ErrorKind::OverBudget);
    assert!(error.to_string().starts_with("learning 2 components of 12 points needs "), "{error}");
}

#[test]
fn numbers_that_are_not_finite_are_refused_with_their_place() {
    let mut values = vec![0.5; 12];
    values[7] = f64::NAN;
    let error = settings().fit(&Points::from_f64(values, 4, 3).unwrap()).unwrap_err().to_string();
    assert_eq!(error, "row 2, column 1 is NaN; kernels need finite numbers");
}

#[test]
fn a_function_cannot_be_saved() {
    let dot =
        mercer::kernel::PairFunction::new("dot", |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| a * b).sum());
    let learner = KernelHebbianPca::new(Kernel::custom(dot)).n_components(2).passes(2).fit(&points()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let error = learner.save(&folder.path().join("run")).unwrap_err().to_string();
    assert_eq!(error, "saving a checkpoint does not work with the dot kernel: a function cannot be written to a file");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
