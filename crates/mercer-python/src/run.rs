//! Long work beside the interpreter.
//!
//! The work is done on a thread of its own. The calling thread lets go of the interpreter and wakes up now and then, to see
//! whether a signal has come (Ctrl-C) and to pass progress on. No thread of the library ever waits for the interpreter, except
//! for kernels that are Python functions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mercer::Watch;
use mercer::watch::Progress;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::to_python;

/// How often the calling thread looks up.
const LOOK_UP: Duration = Duration::from_millis(50);
/// How long it waits for work that was told to stop. What is longer without a safe point, such as the decomposition of a large projected
/// problem, is left to finish by itself, and its result is dropped.
const PATIENCE: Duration = Duration::from_millis(1200);

/// What tells each run that is under way to stop: those of runs that were given up as well, until they have ended.
static UNDER_WAY: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());

fn under_way() -> MutexGuard<'static, Vec<Arc<AtomicBool>>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run that is under way as long as this lives.
pub(crate) struct Run(Arc<AtomicBool>);

impl Run {
    fn begin(stop: &Arc<AtomicBool>) -> Self {
        under_way().push(Arc::clone(stop));
        Self(Arc::clone(stop))
    }

    /// One on the calling thread, which cannot be stopped.
    pub(crate) fn here() -> Self {
        Self::begin(&Arc::default())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        under_way().retain(|stop| !Arc::ptr_eq(stop, &self.0));
    }
}

/// Whether all runs that are under way were told to stop, so that nobody waits for what a function would still compute.
///
/// A kernel that is a function does not know which run calls it. If another run is under way, one that was given up goes on to its next safe
/// point.
pub(crate) fn nobody_waits() -> bool {
    let flags = under_way();
    !flags.is_empty() && flags.iter().all(|stop| stop.load(Ordering::Relaxed))
}

/// Does short work without the interpreter, on the calling thread.
pub(crate) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    let _run = Run::here();
    py.detach(work)
}

/// How a run ended.
pub(crate) enum Ended<T> {
    /// With its result.
    Done(T),
    /// By an exception, with the best result so far if there is one.
    Interrupted(PyErr, Option<T>),
}

/// Runs `work` to its end, or until a signal or an exception of `progress` stops it.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    time_limit: Option<f64>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch<'_>) -> mercer::Result<T> + Send + 'static,
) -> PyResult<Ended<T>> {
    let stop = Arc::new(AtomicBool::new(false));
    let latest: Arc<Mutex<Option<Progress>>> = Arc::default();
    let (sender, mut receiver) = sync_channel(1);
    let (flag, seen, wants_progress) = (Arc::clone(&stop), Arc::clone(&latest), progress.is_some());
    let under_way = Run::begin(&stop);
    let body = move || {
        let _under_way = under_way;
        let observer = |progress: &Progress| {
            if let Ok(mut latest) = seen.lock() {
                *latest = Some(*progress);
            }
        };
        let mut watch = Watch::new().interrupt(&flag);
        if wants_progress {
            watch = watch.observer(&observer);
        }
        if let Some(limit) = time_limit {
            // Finite and not negative: the package has checked it.
            watch = watch.time_limit(Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX));
        }
        // Nobody is left to take the result of a run that was given up.
        let _ = sender.send(work(&watch));
    };
    std::thread::Builder::new()
        .name("mercer".to_owned())
        .spawn(body)
        .map_err(|error| PyRuntimeError::new_err(format!("a thread could not be started: {error}")))?;

    loop {
        match wait(py, &mut receiver, LOOK_UP) {
            Ok(outcome) => return outcome.map(Ended::Done).map_err(to_python),
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err(PANICKED)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let looked = py.check_signals().and_then(|()| report(progress, &latest));
        if let Err(error) = looked {
            stop.store(true, Ordering::Relaxed);
            let partial = wait(py, &mut receiver, PATIENCE).ok().and_then(Result::ok);
            return Ok(Ended::Interrupted(error, partial));
        }
    }
}

/// Waits for the result without the interpreter. The receiver is exclusive, because it cannot be shared between threads.
fn wait<T: Send>(py: Python<'_>, receiver: &mut Receiver<T>, limit: Duration) -> Result<T, RecvTimeoutError> {
    py.detach(move || receiver.recv_timeout(limit))
}

/// As [`run`], for work whose unfinished result is of no use.
pub(crate) fn run_through<T: Send + 'static>(
    py: Python<'_>,
    time_limit: Option<f64>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch<'_>) -> mercer::Result<T> + Send + 'static,
) -> PyResult<T> {
    match run(py, time_limit, progress, work)? {
        Ended::Done(result) => Ok(result),
        Ended::Interrupted(error, _) => Err(error),
    }
}

const PANICKED: &str = "the computation panicked; this is a bug in mercer";

/// Calls `progress(phase, pass, expected passes, share of the pass, residual)` with the latest state, if there is a new one.
fn report(progress: Option<&Bound<'_, PyAny>>, latest: &Mutex<Option<Progress>>) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let state = latest.lock().ok().and_then(|mut latest| latest.take());
    if let Some(state) = state {
        progress.call1((state.phase.name(), state.pass, state.expected_passes, state.fraction, state.residual))?;
    }
    Ok(())
}
