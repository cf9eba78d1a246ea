//! The record of a plan says what the fit will then do.
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise should stop there and say where")]

use mercer::kernel::{KernelSpec, Width};
use mercer::{Center, KernelPca, MemoryBudget, Points, Precision};

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
    let without_time = |plan: &mercer::Plan| mercer::Plan { expected_seconds: 0.0, ..plan.clone() };
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
