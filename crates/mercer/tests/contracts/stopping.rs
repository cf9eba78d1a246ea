//! Interruptions, time limits, progress, and kernels that fail.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use faer::Mat;
use mercer::gram::slab_product;
use mercer::kernel::CustomKernel;
use mercer::watch::{Context, Phase, Progress};
use mercer::{Error, ErrorKind, Kernel, Points, Precision, Result, Watch};
use mercer_testkit::contract::THREAD_COUNTS;
use mercer_testkit::generate::{gaussian_cloud, normal_matrix};
use mercer_testkit::operator::{Gram, gram};
use mercer_testkit::{Format, context};

const N: usize = 500;

fn points() -> Points {
    gaussian_cloud(N, 3, 1).points(Format::F32)
}

fn operator() -> Box<dyn Gram> {
    gram(Precision::F32, &points(), &Kernel::gaussian(0.5).unwrap(), None).unwrap()
}

fn product(operator: &dyn Gram, watch: &Watch<'_>, n_threads: usize, phase: Phase) -> Result<()> {
    let x = normal_matrix(N, 2, 2);
    operator.apply(x.as_ref(), Mat::zeros(N, 2).as_mut(), &Context::new(context(n_threads).threads, watch, phase))
}

#[test]
fn a_product_is_stopped_in_the_middle() {
    for n_threads in THREAD_COUNTS {
        let (stop, operator) = (AtomicBool::new(false), operator());
        // The first thing that is said is that the first tile begins.
        let after_a_tile = |progress: &Progress| {
            if progress.fraction > 0.0 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let watch = Watch::new().interrupt(&stop).observer(&after_a_tile);
        let error = product(&*operator, &watch, n_threads, Phase::Solving).unwrap_err();
        assert!(matches!(error, Error::Interrupted { phase: "solving" }), "{error}");
        let computed = operator.entries_computed();
        assert!(computed > 0 && computed < (N * N / 2) as u64, "{computed} entries on {n_threads} threads");
    }
}

#[test]
fn a_product_whose_time_is_up_is_stopped() {
    let watch = Watch::new().time_limit(Duration::ZERO);
    let error = product(&*operator(), &watch, 2, Phase::Starting).unwrap_err();
    assert_eq!(error.to_string(), "stopped during starting, before there was a result");
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    let watch = Watch::new().time_limit(Duration::MAX);
    assert!(product(&*operator(), &watch, 2, Phase::Starting).is_ok(), "all the time there is");
}

#[test]
fn rows_and_slabs_stop_too() {
    let stop = AtomicBool::new(true);
    let watch = Watch::new().interrupt(&stop);
    let stopped = Context::new(context(2).threads, &watch, Phase::Transforming);
    let message = "stopped during transforming, before there was a result";
    let error = operator().rows(&[0, 1], Mat::zeros(2, N).as_mut(), &stopped).unwrap_err();
    assert_eq!(error.to_string(), message);
    let (kernel, points) = (Kernel::gaussian(0.5).unwrap(), points());
    let vectors = normal_matrix(N, 1, 3);
    let error = slab_product(&kernel, &points, &points, vectors.as_ref(), Precision::F32, &stopped).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn an_operator_that_was_stopped_can_be_used_again() {
    let (stop, operator) = (AtomicBool::new(true), operator());
    let watch = Watch::new().interrupt(&stop);
    assert!(product(&*operator, &watch, 2, Phase::Solving).is_err());
    stop.store(false, Ordering::Relaxed);
    assert!(product(&*operator, &watch, 2, Phase::Solving).is_ok());
}

#[test]
fn progress_grows_from_zero_towards_one_and_names_its_phase() {
    let seen = Mutex::new(Vec::new());
    let look = |progress: &Progress| seen.lock().unwrap().push(*progress);
    let watch = Watch::new().observer(&look);
    product(&*operator(), &watch, 1, Phase::Starting).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 5 && seen[0].fraction == 0.0 && seen[seen.len() - 1].fraction >= 1.0);
    assert!(seen.is_sorted_by(|a, b| a.fraction < b.fraction));
    assert!(seen.iter().all(|progress| progress.phase == Phase::Starting && progress.fraction <= 1.0));
}

/// Fails from its `good`-th call on.
#[derive(Debug)]
struct Brittle {
    good: usize,
    calls: AtomicUsize,
}

impl CustomKernel for Brittle {
    fn name(&self) -> &'static str {
        "brittle"
    }

    fn fill(&self, _: &[f64], _: &[f64], _: usize, out: &mut [f64]) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::Relaxed) >= self.good {
            return Err(Error::invalid("weather", "fair", "foul"));
        }
        out.fill(1.0);
        Ok(())
    }
}

#[test]
fn the_failure_of_a_custom_kernel_stops_the_product_and_comes_out() {
    for good in [0, 1, 5] {
        for n_threads in THREAD_COUNTS {
            let brittle = std::sync::Arc::new(Brittle { good, calls: AtomicUsize::new(0) });
            let operator = gram(Precision::F32, &points(), &Kernel::Custom(brittle.clone()), None).unwrap();
            let error = product(&*operator, &Watch::new(), n_threads, Phase::Solving).unwrap_err();
            assert_eq!(error.to_string(), "`weather` must be fair, but it is foul");
            let calls = brittle.calls.load(Ordering::Relaxed);
            // Others may have been at work on a tile when the first failed.
            assert!((good + 1..=good + n_threads).contains(&calls), "{calls} calls on {n_threads} threads");
        }
    }
}

#[test]
fn the_failure_of_a_custom_kernel_comes_out_of_rows_diagonals_and_slabs() {
    let kernel = Kernel::custom(Brittle { good: 0, calls: AtomicUsize::new(0) });
    let (points, vectors) = (points(), normal_matrix(N, 1, 4));
    let operator = gram(Precision::F64, &points, &kernel, None).unwrap();
    let outcomes = [
        operator.rows(&[0], Mat::zeros(1, N).as_mut(), &context(2)).unwrap_err(),
        operator.diagonal().unwrap_err(),
        slab_product(&kernel, &points, &points, vectors.as_ref(), Precision::F64, &context(2)).unwrap_err(),
    ];
    for error in outcomes {
        assert_eq!(error.to_string(), "`weather` must be fair, but it is foul");
    }
}
