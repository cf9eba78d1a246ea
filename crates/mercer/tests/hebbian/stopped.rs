//! A kernel that stops a run from within one of its calls: what is handed out is a state that the run was in between two batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mercer::hebbian::{RecordError, Start};
use mercer::kernel::CustomKernel;
use mercer::{Error, GainRule, GramChoice, HebbianLearner, Kernel, KernelHebbianPca, Points, Refresh, Watch};
use mercer_testkit::Format;
use mercer_testkit::generate::clusters;

/// Points of the run, and samples of a batch, which do not divide them.
const N: usize = 40;
const BATCH: usize = 15;

/// A Gaussian kernel that counts its calls, and from one of them on gives no value any more.
#[derive(Clone, Debug, Default)]
struct Stopping {
    calls: Arc<AtomicUsize>,
    last: Arc<AtomicUsize>,
}

impl Stopping {
    fn stopping_after(calls: usize) -> Self {
        let kernel = Self::default();
        kernel.last.store(calls, Ordering::Relaxed);
        kernel
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl CustomKernel for Stopping {
    fn name(&self) -> &'static str {
        "stopping"
    }

    fn fill(&self, rows: &[f64], columns: &[f64], n_features: usize, out: &mut [f64]) -> mercer::Result<()> {
        if self.calls.fetch_add(1, Ordering::Relaxed) >= self.last.load(Ordering::Relaxed) {
            return Err(Error::Interrupted { phase: "calling a kernel" });
        }
        let pairs = rows.chunks_exact(n_features).flat_map(|x| columns.chunks_exact(n_features).map(move |y| (x, y)));
        for (value, (x, y)) in out.iter_mut().zip(pairs) {
            *value = (-0.3 * x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>()).exp();
        }
        Ok(())
    }
}

fn points() -> Points {
    clusters(N, 5, 4, 2).points(Format::F64)
}

/// Runs of different kinds: with images alone, with adapted gains, with rows that are kept, with errors that are recorded.
fn runs() -> [(GainRule, Refresh, GramChoice, RecordError); 4] {
    [
        (GainRule::Annealed, Refresh::Pass, GramChoice::Tiled, RecordError::No),
        (GainRule::MetaDescentStar, Refresh::Iteration, GramChoice::Tiled, RecordError::No),
        (GainRule::MetaDescentStar, Refresh::Pass, GramChoice::Stored, RecordError::Yes),
        (GainRule::EigenvalueStar, Refresh::PassEigenvalues, GramChoice::Stored, RecordError::No),
    ]
}

fn settings(kernel: &Stopping, run: (GainRule, Refresh, GramChoice, RecordError)) -> KernelHebbianPca {
    let (rule, refresh, gram, record_error) = run;
    KernelHebbianPca::new(Kernel::custom(kernel.clone()))
        .n_components(3)
        .gain(rule)
        .refresh(refresh)
        .gram(gram)
        .record_error(record_error)
        .eta0(0.2)
        .mu(0.01)
        .batch_size(BATCH)
        .seed(3)
        .threads(1)
}

/// Everything that updates change, as bits.
fn bits(learner: &HebbianLearner) -> Vec<u64> {
    let matrices = [Some(learner.coefficients()), Some(learner.images()), learner.memory_coefficients()];
    let entries = matrices.into_iter().flatten().flat_map(|matrix| {
        (0..matrix.ncols()).flat_map(|j| matrix.col(j).iter().copied().collect::<Vec<_>>()).collect::<Vec<_>>()
    });
    let vectors = [learner.log_gains(), learner.scheduled_gains(), learner.refreshed_eigenvalues().unwrap_or_default()];
    entries.chain(vectors.concat()).map(f64::to_bits).collect()
}

/// The learner after so many updates of whole batches, for a run of two passes.
fn after_batches(run: (GainRule, Refresh, GramChoice, RecordError)) -> Vec<HebbianLearner> {
    let of_pass = |first: usize| [first + 15, first + 30, first + N];
    let whole = Stopping::stopping_after(usize::MAX);
    let ends = [0, N].into_iter().flat_map(of_pass);
    ends.map(|updates| settings(&whole, run).updates(updates).fit(&points()).unwrap()).collect()
}

#[test]
fn wherever_its_kernel_stops_it_a_run_ends_between_two_batches() {
    for run in runs() {
        let expected = after_batches(run);
        let whole = Stopping::stopping_after(usize::MAX);
        settings(&whole, run).passes(2).fit(&points()).unwrap();
        let mut ended_after = vec![0; expected.len()];
        for calls in 0..whole.calls() {
            let kernel = Stopping::stopping_after(calls);
            let learner = match settings(&kernel, run).passes(2).fit(&points()) {
                Ok(learner) => learner,
                Err(error) => {
                    assert!(matches!(error, Error::Interrupted { .. }), "{run:?}, after {calls} calls: {error}");
                    assert_eq!(ended_after.iter().sum::<usize>(), 0, "{run:?}, {calls} calls: there was something");
                    continue;
                }
            };
            let updates = learner.n_updates();
            let at = expected.iter().position(|learner| learner.n_updates() == updates);
            let at =
                at.unwrap_or_else(|| panic!("{run:?}, after {calls} calls: {updates} updates are no whole batches"));
            assert!(
                bits(&learner) == bits(&expected[at]),
                "{run:?}, after {calls} calls: {updates} updates, and others"
            );
            assert!(learner.was_stopped());
            ended_after[at] += 1;
        }
        // Rows that are kept need no calls in the second pass.
        let with_calls = if run.2 == GramChoice::Stored { 2 } else { ended_after.len() - 1 };
        assert!(ended_after[..with_calls].iter().all(|&count| count > 0), "{run:?}: {ended_after:?}");
    }
}

#[test]
fn a_run_that_goes_on_keeps_whole_batches_when_its_kernel_stops_it() {
    for run in runs() {
        let expected = after_batches(run);
        let pass = |kernel: &Stopping| settings(kernel, run).passes(1).fit(&points()).unwrap();
        let whole = Stopping::stopping_after(usize::MAX);
        let mut learner = pass(&whole);
        let before = whole.calls();
        learner.partial_fit(None, 1, &Watch::new()).unwrap();
        let mut kept = 0;
        for calls in before..whole.calls() {
            let kernel = Stopping::stopping_after(usize::MAX);
            let mut learner = pass(&kernel);
            kernel.last.store(calls, Ordering::Relaxed);
            learner.partial_fit(None, 1, &Watch::new()).unwrap();
            let updates = learner.n_updates();
            let same = expected.iter().find(|learner| learner.n_updates() == updates).unwrap();
            assert!(bits(&learner) == bits(same), "{run:?}, after {calls} calls: {updates} updates, and others");
            kept += usize::from(updates > N);
        }
        assert!(kept > 0 || run.2 == GramChoice::Stored, "{run:?}: nothing was ever kept");
    }
}

#[test]
fn a_kernel_that_fails_leaves_a_learner_that_goes_on_as_it_was() {
    for run in runs() {
        let kernel = Stopping::stopping_after(usize::MAX);
        let learner = |kernel: &Stopping| settings(kernel, run).passes(1).fit(&points()).unwrap();
        let (mut stopped, mut other) = (learner(&kernel), learner(&Stopping::stopping_after(usize::MAX)));
        kernel.last.store(kernel.calls() + 3, Ordering::Relaxed);
        // New points are to be centred first: nothing has been learned where that is stopped.
        let more = clusters(20, 5, 4, 9).points(Format::F64);
        assert!(matches!(stopped.partial_fit(Some(&more), 1, &Watch::new()), Err(Error::Interrupted { .. })));
        kernel.last.store(usize::MAX, Ordering::Relaxed);
        for learner in [&mut stopped, &mut other] {
            learner.partial_fit(None, 1, &Watch::new()).unwrap();
        }
        assert!(bits(&stopped) == bits(&other), "{run:?}");
    }
}

#[test]
fn what_is_asked_of_a_learner_again_calls_its_kernel_no_more() {
    let kernel = Stopping::stopping_after(usize::MAX);
    let mut learner = settings(&kernel, runs()[0]).passes(1).fit(&points()).unwrap();
    let before = kernel.calls();
    let error = learner.feature_error().unwrap();
    assert_eq!(kernel.calls(), before, "the diagonal was known");
    let more = clusters(20, 5, 4, 9).points(Format::F64);
    learner.partial_fit(Some(&more), 1, &Watch::new()).unwrap();
    let before = kernel.calls();
    // The diagonal has grown with the points.
    let again = learner.feature_error().unwrap();
    assert!(kernel.calls() == before && again > error, "{error} {again}");
    let twin = KernelHebbianPca::new(Kernel::gaussian(0.3).unwrap()).n_components(3).gain(GainRule::Annealed);
    let coefficients = learner.coefficients();
    let start = Start { coefficients: Some(coefficients.as_ref()), ..Start::default() };
    let twin = twin.eta0(1e-12).updates(1).fit_from(learner.points(), &start, &Watch::new()).unwrap();
    assert!((twin.feature_error().unwrap() / again - 1.0).abs() < 1e-9);
}
