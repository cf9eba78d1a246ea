//! The record of a plan says what the fit will then do.
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise should stop there and say where")]

use mercer::kernel::{KernelSpec, Width};
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::{Center, Kernel, KernelPca, MemoryBudget, Points, Precision, Watch};

fn points() -> Points {
    let values: Vec<f64> = (0..3000).map(|i| f64::from(i * i).sin()).collect();
    Points::from_f64(values, 600, 5).unwrap()
}

#[test]
fn what_was_decided_before_the_fit_is_what_the_fit_records() {
    let settings = KernelPca::new(KernelSpec::new("gaussian").width(Width::Median))
        .n_components(3)
        .precision(Precision::F32)
        .center(Center::No)
        .memory(MemoryBudget::Bytes(64 << 20))
        .threads(1);
    let (plan, fit) = (settings.plan_record(&points()).unwrap(), settings.fit(&points()).unwrap());
    let record = fit.record();
    assert_eq!((plan.n_samples, plan.n_features), (record.n_samples, record.n_features));
    assert_eq!((plan.n_components, plan.variance), (Some(3), None));
    assert_eq!((&plan.kernel, plan.centered), (&record.kernel, record.centered));
    assert_eq!((plan.tolerance.to_bits(), plan.threads), (record.tolerance.to_bits(), record.threads));
    assert_eq!(plan.memory_budget_bytes, record.memory_budget_bytes);
    assert_eq!(plan.data_bytes, 600 * 5 * 8);
    // Seconds come from a measurement, which differs from one to the next.
    assert_eq!(without_time(&plan.plan), without_time(&record.plan));
    assert!(plan.plan.expected_seconds > 0.0);
}

#[test]
fn a_share_of_the_variance_takes_the_place_of_a_number() {
    let plan = KernelPca::new(KernelSpec::new("linear")).variance(0.9).plan_record(&points()).unwrap();
    assert_eq!((plan.n_components, plan.variance), (None, Some(0.9)));
}

#[test]
fn a_wish_below_rounding_is_warned_of_before_the_fit() {
    let settings = KernelPca::new(KernelSpec::new("linear")).precision(Precision::F32).tolerance(1e-12);
    let plan = settings.plan_record(&points()).unwrap();
    assert!(plan.warnings.iter().any(|warning| warning.contains("below the rounding of f32")), "{plan:?}");
    assert!(plan.tolerance > 1e-12);
}

/// Points on a curve, so many that landmarks are few beside them.
fn many_points() -> Points {
    let values: Vec<f64> = (0..12_600).map(|i| (f64::from(i) * 0.37).sin()).collect();
    Points::from_f64(values, 4200, 3).unwrap()
}

fn without_time(plan: &mercer::Plan) -> mercer::Plan {
    mercer::Plan { expected_seconds: 0.0, ..plan.clone() }
}

#[test]
fn the_plan_of_landmarks_is_what_the_fit_over_them_records() {
    let kernel = KernelSpec::new("gaussian").width(Width::Median);
    for (landmarks, count) in
        [(Landmarks::RpCholesky, None), (Landmarks::KMeans, Some(30)), (Landmarks::Rows(vec![3, 700, 90]), None)]
    {
        let settings =
            Nystrom::new(kernel.clone()).landmarks(landmarks).memory(MemoryBudget::Bytes(64 << 20)).threads(1);
        let pca = NystromPca::new(count.into_iter().fold(settings, Nystrom::n_landmarks)).n_components(3);
        let (plan, fit) = (pca.plan_record(&many_points(), &Watch::new()).unwrap(), pca.fit(&many_points()).unwrap());
        let record = fit.record();
        assert_eq!((plan.n_samples, plan.n_components), (record.n_samples, Some(3)));
        assert_eq!((&plan.kernel, plan.centered), (&record.kernel, record.centered));
        assert_eq!((plan.threads, plan.memory_budget_bytes), (record.threads, record.memory_budget_bytes));
        // How many landmarks are no combinations of others is known afterwards.
        let max_subspace = plan.plan.max_subspace;
        assert_eq!(without_time(&plan.plan), mercer::Plan { max_subspace, ..without_time(&record.plan) });
        assert!(plan.plan.expected_seconds > 0.0 && record.plan.expected_seconds > 0.0);
        assert_eq!(plan.plan.n_landmarks, Some(record.nystrom.as_ref().unwrap().n_landmarks));
    }
}

#[test]
fn the_plan_of_a_fit_to_an_accuracy_says_what_it_begins_with_and_what_may_follow() {
    let kernel = Kernel::gaussian(0.5).unwrap();
    let exact = KernelPca::new(kernel.clone());
    let with =
        |memory: u64| NystromPca::new(Nystrom::new(kernel.clone()).memory(MemoryBudget::Bytes(memory))).accuracy(0.02);
    let record = |memory: u64| with(memory).plan_record_to_accuracy(&exact, &many_points(), &Watch::new()).unwrap();
    let roomy = record(1 << 30);
    assert_eq!((roomy.plan.gram.as_str(), roomy.plan.n_landmarks, roomy.tolerance), ("nystrom", Some(100), 0.02));
    let reasons = roomy.plan.reasons.join("; ");
    for words in
        ["tried first, because an accuracy of 0.02 allows an approximation", "at most 200 ", "an exact fit follows if"]
    {
        assert!(reasons.contains(words), "{words}: {reasons}");
    }
    // As many as the fit then begins with.
    let fit = with(1 << 30).fit_to_accuracy(&many_points(), &Watch::new()).unwrap().unwrap();
    assert_eq!(fit.record().nystrom.as_ref().unwrap().n_landmarks, 100);
    assert_eq!(fit.record().plan.expected_memory_bytes, roomy.plan.expected_memory_bytes);
    // Where there is room for none the exact fit is what is planned, and why is said.
    let tight = record(1 << 20);
    assert_eq!((tight.plan.solver.as_str(), tight.plan.n_landmarks), ("krylov", None));
    assert!(
        tight.plan.reasons.iter().any(|reason| reason.starts_with("no landmarks, because 100 of them would take "))
    );
    assert!(with(1 << 20).fit_to_accuracy(&many_points(), &Watch::new()).unwrap().is_none());
    // And where there are few rows.
    let few = with(1 << 30).plan_record_to_accuracy(&exact, &points(), &Watch::new()).unwrap();
    let reason = "no landmarks, because 600 rows are fewer than 20 for each of the 100 that would be tried first";
    assert!(few.plan.n_landmarks.is_none() && few.plan.reasons.iter().any(|found| found == reason), "{few:?}");
    let shape = with(1 << 30).plan_shape_to_accuracy(&exact, 600, 5, Precision::F64).unwrap();
    assert!(shape.n_landmarks.is_none() && shape.reasons.iter().any(|found| found == reason), "{shape:?}");
}

#[test]
fn more_landmarks_take_more_time_and_memory() {
    let plan = |m: usize, n: usize| {
        let pca = NystromPca::new(Nystrom::new(Kernel::gaussian(0.5).unwrap()).n_landmarks(m));
        pca.plan_shape(n, 50, Precision::F32).unwrap()
    };
    let (few, many) = (plan(100, 100_000), plan(1000, 100_000));
    assert!(many.expected_seconds > 5.0 * few.expected_seconds);
    assert!(many.expected_memory_bytes > 2 * few.expected_memory_bytes);
    // Ten times the rows take up to ten times as long, in the memory of the landmarks.
    let rows = plan(1000, 1_000_000);
    assert!((5.0..=10.0).contains(&(rows.expected_seconds / many.expected_seconds)), "{rows:?}");
    assert_eq!(rows.expected_memory_bytes, many.expected_memory_bytes);
}

#[test]
fn what_a_fit_over_landmarks_refuses_its_plan_refuses() {
    let (points, watch) = (many_points(), Watch::new());
    let pca = |settings: Nystrom| NystromPca::new(settings.memory(MemoryBudget::Bytes(1 << 24)));
    let kernel = || Kernel::gaussian(0.5).unwrap();
    let narrow = Points::from_f64(vec![1.0; 20], 10, 2).unwrap();
    for settings in [
        pca(Nystrom::new(kernel()).n_landmarks(4000)),
        pca(Nystrom::new(kernel()).n_landmarks(2)).n_components(3),
        pca(Nystrom::new(kernel()).landmarks(Landmarks::Given(narrow.clone()))),
        pca(Nystrom::new(kernel()).landmarks(Landmarks::Rows(vec![1, 5000]))),
        pca(Nystrom::new(Kernel::Precomputed)),
    ] {
        let (plan, fit) = (settings.plan_record(&points, &watch).unwrap_err(), settings.fit(&points).unwrap_err());
        assert_eq!(plan.to_string(), fit.to_string());
    }
    let given = pca(Nystrom::new(kernel()).landmarks(Landmarks::Given(narrow)));
    assert!(given.plan_shape(4200, 3, Precision::F64).unwrap_err().to_string().contains("points of 3 columns"));
    assert!(pca(Nystrom::new(Kernel::Precomputed)).plan_shape(4200, 4200, Precision::F64).is_err());
}
