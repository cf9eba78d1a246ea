//! Input that no width can be found for, and settings that make no sense.

use mercer::kernel::{KernelSpec, Parameter, Width};
use mercer::tune::{
    Ascent, Criterion, KernelTuner, ParameterBox, TuneMethod, ard_gradient, evaluate, landscape, tune_ard,
    tune_parameters,
};
use mercer::watch::Threads;
use mercer::{Error, ErrorKind, Kernel, KernelPca, Points, Precision, Result, Watch};
use mercer_testkit::Format;
use mercer_testkit::generate::gaussian_cloud;

use crate::support::gaussian;

fn points(values: &[f64]) -> Points {
    Points::from_f64(values.to_vec(), values.len(), 1).unwrap()
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T>, words: &[&str]) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "\"{message}\" does not speak of \"{word}\"");
    }
}

#[test]
fn all_points_equal() {
    let equal = points(&[3.0; 20]);
    let message = "all 20 rows are equal to the kernel: there is no variance to explain";
    assert_eq!(gaussian().tune(&equal).unwrap_err().to_string(), message);
    let pca = KernelPca::new(KernelSpec::new("gaussian").width(Width::Auto));
    assert_eq!(pca.fit(&equal).unwrap_err().to_string(), message);
}

#[test]
fn constant_features_alone_are_points_that_are_all_equal() {
    let constant = Points::from_f64([1.0, -2.0, 7.5].repeat(9), 9, 3).unwrap();
    let message = "all 9 rows are equal to the kernel: there is no variance to explain";
    for criterion in [Criterion::Variance, Criterion::EffectiveRank] {
        let error = gaussian().criterion(criterion).tune(&constant).unwrap_err();
        assert_eq!(error.to_string(), message, "{criterion:?}");
    }
}

#[test]
fn all_points_equal_to_kernels_that_are_no_functions_of_a_distance() {
    let equal = Points::from_f64([3.0, -1.0].repeat(5), 5, 2).unwrap();
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let kernel = Kernel::polynomial(0.5, 1.0, 2).unwrap();
    let range = ParameterBox { parameter: Parameter::Gamma, low: 0.1, high: 1.0 };
    let tuner = |name: &str| KernelTuner::new(KernelSpec::new(name)).bandwidths([1.0, 2.0]);
    let spec = KernelSpec::new("polynomial");
    for outcome in [
        tune_parameters(&equal, &kernel, &[range], 10, &threads, &watch).err(),
        evaluate(&equal, &kernel, &[], &threads, &watch).err(),
        landscape(&equal, &spec, &[1.0], 2, 0, &threads, &watch).err(),
        tuner("polynomial").tune(&equal).err(),
        tuner("sigmoid").tune(&equal).err(),
        tuner("polynomial").criterion(Criterion::Leading).tune(&equal).err(),
    ] {
        assert!(matches!(outcome, Some(Error::NoVariance { n_samples: 5 })), "{outcome:?}");
    }
}

#[test]
fn kernel_values_that_overflow_are_not_taken_for_no_variance() {
    let large = points(&(1..50).map(|i| 1e4 * f64::from(i)).collect::<Vec<_>>());
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let kernel = Kernel::polynomial(0.5, 1.0, 20).unwrap();
    let range = ParameterBox { parameter: Parameter::Gamma, low: 0.5, high: 1.0 };
    let spec = KernelSpec::new("polynomial").degree(20);
    for outcome in [
        tune_parameters(&large, &kernel, &[range], 10, &threads, &watch).err(),
        evaluate(&large, &kernel, &[Parameter::Gamma], &threads, &watch).err(),
        KernelTuner::new(spec.clone()).bandwidths([0.5, 1.0]).tune(&large).err(),
        KernelTuner::new(spec.clone()).criterion(Criterion::EffectiveRank).bandwidths([1.0]).tune(&large).err(),
        KernelTuner::new(spec.width(Width::Gamma(1.0))).bandwidths([1.0, 1e5]).tune(&large).err(),
    ] {
        let expected = matches!(outcome, Some(Error::KernelOverflow { row: 48, precision: Precision::F64, .. }));
        assert!(expected, "{outcome:?}");
    }
    // A climb that begins with numbers can end without.
    let start = Kernel::polynomial(1e-9, 1.0, 20).unwrap();
    let range = ParameterBox { low: 1e-9, ..range };
    let outcome = tune_parameters(&large, &start, &[range], 100, &threads, &watch);
    assert!(matches!(outcome, Err(Error::KernelOverflow { row: 48, .. })), "{outcome:?}");
}

#[test]
fn one_distinct_pair() {
    for values in [vec![0.0, 1.0], [0.0, 1.0, 1.0, 0.0, 1.0].to_vec()] {
        let message = gaussian().tune(&points(&values)).unwrap_err().to_string();
        assert!(message.starts_with("the criterion \"variance\" has no maximum between bandwidths "), "{message}");
        let end = ": it falls all the way, as when all rows are copies of two points; give bandwidths to try";
        assert!(message.ends_with(end), "{message}");
        // A fit takes no bandwidths to try.
        let spec = KernelSpec::new("gaussian").width(Width::Auto);
        let message = spec.resolve(&points(&values)).unwrap_err().to_string();
        assert!(message.ends_with("copies of two points; give the kernel a width"), "{message}");
        // With bandwidths of one's own there is a curve all the same.
        let tuning = gaussian().bandwidths([0.5, 1.0]).tune(&points(&values)).unwrap();
        assert!(tuning.maxima.is_empty() && tuning.best_bandwidth.to_bits() == 0.5_f64.to_bits());
    }
}

#[test]
fn too_few_rows_and_numbers_that_are_none() {
    assert!(matches!(gaussian().tune(&points(&[1.0])), Err(Error::TooFewRows { needed: 2, found: 1 })));
    assert!(matches!(gaussian().tune(&points(&[1.0, f64::NAN])), Err(Error::NotFinite { row: 1, .. })));
}

#[test]
fn points_so_far_apart_that_a_distance_overflows() {
    let mut values: Vec<f64> = (0..40).map(|i| f64::from(i * i % 17)).collect();
    values.push(1e200);
    let far = points(&values);
    for criterion in [Criterion::Variance, Criterion::EffectiveRank, Criterion::Leading, Criterion::Reconstruction] {
        let outcome = gaussian().criterion(criterion).tune(&far);
        assert!(matches!(outcome, Err(Error::TooFarApart { row: 40, .. })), "{criterion:?}: {outcome:?}");
        // Bandwidths of one's own do not help: there is no kernel of such a pair.
        let outcome = gaussian().criterion(criterion).bandwidths([1.0, 2.0]).tune(&far);
        assert!(matches!(outcome, Err(Error::TooFarApart { row: 40, .. })), "{criterion:?}: {outcome:?}");
    }
    // Squares that are numbers, but not with the widths that are looked at.
    values[40] = 1e153;
    assert!(matches!(gaussian().tune(&points(&values)), Err(Error::TooFarApart { row: 40, .. })));
}

#[test]
fn points_whose_distances_all_overflow_are_not_blamed_on_gamma() {
    let values: Vec<f64> = (0..40).map(|i| 1e200 * (1.0 + f64::from(i * i % 17))).collect();
    let far = points(&values);
    for criterion in [Criterion::Median, Criterion::Scale, Criterion::Variance] {
        let error = gaussian().criterion(criterion).tune(&far).unwrap_err();
        let expected = "row 4 is too large for a width to be found: its largest number is 1.7e201, and at such distances kernel values or \
                        widths are no numbers; multiply the data by 6e-202, standardize it, or leave the row out";
        assert_eq!(error.to_string(), expected, "{criterion:?}");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    let scaled: Vec<f64> = values.iter().map(|x| 6e-202 * x).collect();
    assert!(gaussian().criterion(Criterion::Median).tune(&points(&scaled)).is_ok());
}

#[test]
fn points_so_close_that_no_width_is_a_number() {
    let close = |spacing: f64| points(&(0..400).map(|i| f64::from(i) * spacing).collect::<Vec<_>>());
    for criterion in [Criterion::Variance, Criterion::Leading] {
        let error = gaussian().criterion(criterion).tune(&close(1e-155)).unwrap_err();
        assert!(matches!(error, Error::TooClose { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    let pca = KernelPca::new(KernelSpec::new("gaussian").width(Width::Auto));
    assert!(matches!(pca.fit(&close(1e-155)), Err(Error::TooClose { .. })));
    let (near, ordinary) = (gaussian().tune(&close(1e-140)).unwrap(), gaussian().tune(&close(1.0)).unwrap());
    assert!((near.best_bandwidth / (1e-140 * ordinary.best_bandwidth) - 1.0).abs() < 1e-6);
}

#[test]
fn settings_out_of_their_domain_or_without_effect() {
    let data = gaussian_cloud(20, 2, 1).points(Format::F64);
    let with = |tuner: KernelTuner| tuner.tune(&data);
    assert_refused(with(gaussian().bandwidths([])), &["bandwidths", "at least one"]);
    assert_refused(with(gaussian().bandwidths([1.0, -2.0])), &["bandwidths", "positive", "-2"]);
    assert_refused(with(gaussian().bandwidths([1.0, f64::NAN])), &["bandwidths", "NaN"]);
    assert_refused(with(gaussian().tolerance(0.0)), &["tolerance", "between 0 and 1"]);
    assert_refused(with(gaussian().n_components(3)), &["n_components", "variance has no use"]);
    assert_refused(with(gaussian().criterion(Criterion::Median).bandwidths([1.0])), &["bandwidths", "median"]);
    assert_refused(with(gaussian().criterion(Criterion::Scale).tolerance(0.1)), &["tolerance", "scale"]);
    assert_refused(with(gaussian().criterion(Criterion::Leading).n_components(20)), &["n_components", "19"]);
    // A third of the points is held out, and components come from the others.
    let tuner = gaussian().criterion(Criterion::Reconstruction);
    assert_refused(with(tuner.clone().n_components(14)), &["n_components", "not held out less one (13)", "14"]);
    assert!(with(tuner.n_components(13)).is_ok());
    for criterion in [Criterion::Leading, Criterion::Reconstruction] {
        let tuner = gaussian().criterion(criterion).precision(Precision::F32);
        assert_refused(with(tuner), &["precision", "has no use for it", "f32"]);
    }
    let sampled = gaussian().method(TuneMethod::Sampled);
    assert_refused(with(sampled.clone()), &["method", "exact", "64"]);
    assert_refused(with(sampled.criterion(Criterion::EffectiveRank)), &["method", "variance"]);
}

#[test]
fn kernels_without_a_width_that_could_be_found() {
    let data = gaussian_cloud(30, 2, 1).points(Format::F64);
    let with = |name: &str| KernelTuner::new(KernelSpec::new(name));
    for name in ["linear", "cosine", "precomputed"] {
        // Nobody has given a width.
        let message = with(name).tune(&data).unwrap_err().to_string();
        let expected = format!("a search for a width does not work with the {name} kernel: it has no width to tune");
        assert!(message.starts_with(&expected) && !message.contains("auto"), "{message}");
    }
    let words = ["polynomial", "it is not a function of a distance: say with `bandwidths` which widths to try"];
    assert_refused(with("polynomial").tune(&data), &words);
    assert_refused(with("no such").tune(&data), &["kernel", "no such"]);
    // Bandwidths of one's own can be tried with any kernel that has one.
    let tuning = with("polynomial").bandwidths([1.0, 2.0, 4.0]).tune(&data).unwrap();
    assert!(tuning.values.iter().all(|value| value.is_finite()));
    let spec = KernelSpec::new("linear").width(Width::Auto);
    assert_refused(KernelPca::new(spec).fit(&data), &["gamma", "linear"]);
}

#[test]
fn an_ascent_that_leaves_its_domain_says_which_step_did() {
    let data = gaussian_cloud(18, 2, 1).points(Format::F64);
    assert_refused(Ascent::new(15.0, 1e9).run(&data), &["eta", "step", "1000000000"]);
    assert_refused(Ascent::new(-1.0, 1.0).run(&data), &["start", "positive"]);
    // Inverse widths of which twice is no number, or none themselves.
    for start in [1e-154, 1e-200, 1e160] {
        assert_refused(Ascent::new(start, 1.0).run(&data), &["start", "the data's distances", &format!("{start:e}")]);
    }
    assert_refused(Ascent::new(1.0, 1.0).tolerance(-0.1).run(&data), &["tolerance", "at least 0", "-0.1"]);
}

#[test]
fn widths_per_feature_must_be_as_many_as_features() {
    let data = gaussian_cloud(18, 2, 1).points(Format::F64);
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    assert_refused(ard_gradient(&data, &[1.0], &threads, &watch), &["gammas", "one number per feature (2)", "1"]);
    assert_refused(ard_gradient(&data, &[1.0, 0.0], &threads, &watch), &["gammas", "positive"]);
    let equal = Points::from_f64([3.0, 1.0].repeat(9), 9, 2).unwrap();
    let words = ["all 9 rows are equal"];
    assert_refused(ard_gradient(&equal, &[1.0, 1.0], &threads, &watch), &words);
    assert_refused(tune_ard(&equal, &[1.0, 1.0], 10, &threads, &watch), &words);
}

#[test]
fn ranges_of_parameters_that_make_no_sense() {
    let data = gaussian_cloud(18, 2, 1).points(Format::F64);
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let kernel = Kernel::rational_quadratic(0.5, 1.0).unwrap();
    let with = |ranges: &[(Parameter, f64, f64)]| {
        let boxes: Vec<ParameterBox> =
            ranges.iter().map(|&(parameter, low, high)| ParameterBox { parameter, low, high }).collect();
        tune_parameters(&data, &kernel, &boxes, 10, &threads, &watch)
    };
    assert_refused(with(&[]), &["ranges", "at least one parameter"]);
    assert_refused(
        with(&[(Parameter::Gamma, 0.0, 2.0)]),
        &["`ranges` must be two positive numbers for gamma", "0 to 2"],
    );
    assert_refused(with(&[(Parameter::Gamma, 0.1, f64::INFINITY)]), &["gamma", "0.1 to inf"]);
    assert_refused(with(&[(Parameter::Alpha, 2.0, 0.5)]), &["alpha", "smaller one first", "2 to 0.5"]);
    assert_refused(with(&[(Parameter::Coef0, 0.0, 2.0)]), &["coef0", "rational-quadratic"]);
    assert_refused(with(&[(Parameter::Alpha, 0.5, 2.0), (Parameter::Alpha, 0.5, 2.0)]), &["alpha", "once"]);
}

#[test]
fn no_steps_and_no_components_are_none() {
    let data = gaussian_cloud(18, 2, 1).points(Format::F64);
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let range = ParameterBox { parameter: Parameter::Gamma, low: 0.1, high: 1.0 };
    let words = ["max_steps", "at least 1", "0"];
    let kernel = Kernel::gaussian(0.5).unwrap();
    assert_refused(tune_parameters(&data, &kernel, &[range], 0, &threads, &watch), &words);
    assert_refused(tune_ard(&data, &[1.0, 1.0], 0, &threads, &watch), &words);
    let outcome = landscape(&data, &KernelSpec::new("gaussian"), &[1.0], 0, 0, &threads, &watch);
    assert_refused(outcome, &["n_components", "at least 1", "0"]);
}

#[test]
fn a_search_can_be_stopped() {
    let data = gaussian_cloud(300, 2, 1).points(Format::F64);
    let stop = std::sync::atomic::AtomicBool::new(true);
    let watch = Watch::new().interrupt(&stop);
    let threads = Threads::new(1).unwrap();
    let outcome = gaussian().tune_watched(&data, &threads, &watch);
    assert!(matches!(outcome, Err(Error::Interrupted { phase: "tuning" })));
    let outcome = Ascent::new(1.0, 1.0).run_watched(&data, &threads, &watch);
    assert!(matches!(outcome, Err(Error::Interrupted { phase: "tuning" })));
}

/// A fit that looks for its width first can be stopped while it looks: by a wish, and by the clock.
#[test]
fn a_search_inside_a_fit_is_stopped() {
    let data = gaussian_cloud(200, 3, 5).points(Format::F64);
    let auto = || KernelSpec::new("gaussian").width(Width::Auto);
    let flag = std::sync::atomic::AtomicBool::new(true);
    for watch in [Watch::new().interrupt(&flag), Watch::new().time_limit(std::time::Duration::ZERO)] {
        let outcomes = [
            KernelPca::new(auto()).fit_watched(&data, &watch).err(),
            mercer::KernelHebbianPca::new(auto()).fit_from(&data, &mercer::hebbian::Start::default(), &watch).err(),
            mercer::SpectralClustering::new(auto(), 2).fit_watched(&data, &watch).err(),
            mercer::nystrom::NystromPca::new(mercer::nystrom::Nystrom::new(auto())).fit_watched(&data, &watch).err(),
        ];
        for outcome in outcomes {
            assert!(matches!(outcome, Some(Error::Interrupted { phase: "tuning" })), "{outcome:?}");
        }
    }
}
