//! Long work beside the interpreter.
//!
//! The work is done on a thread of its own. The calling thread lets go of the interpreter and wakes up now and then, to see
//! whether a signal has come (Ctrl-C) and to pass progress on. No thread of the library ever waits for the interpreter, except
//! for kernels that are Python functions.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
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

/// The runs of a process, in one word: its number, how many of them have not ended, and how many of those somebody waits for.
///
/// It has no lock: a process that is forked while another thread holds one inherits the lock without that thread, and waits for ever. Nor does a forked
/// process count the runs of the one before it, whose threads it does not have.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// What stands in it for one run that somebody waits for, for one that has not ended, and for one in the number of the process.
const WAITED_FOR: u64 = 1;
const UNDER_WAY: u64 = 1 << 16;
const PROCESS: u64 = 1 << 32;

fn this_process() -> u64 {
    u64::from(std::process::id())
}

/// A run that is under way as long as this lives, and that somebody waits for until it is given up.
pub(crate) struct Run {
    process: u64,
    stop: AtomicBool,
}

impl Run {
    pub(crate) fn begin() -> Self {
        let process = this_process();
        let begun = |runs: u64| {
            let others = if runs / PROCESS == process { runs } else { process * PROCESS };
            Some(others + UNDER_WAY + WAITED_FOR)
        };
        // It is never refused.
        let _ = RUNS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, begun);
        Self { process, stop: AtomicBool::new(false) }
    }

    /// Tells the run to stop: nobody waits for it any more.
    fn give_up(&self) {
        if !self.stop.swap(true, Ordering::Relaxed) {
            self.count_down(WAITED_FOR);
        }
    }

    fn count_down(&self, one: u64) {
        let less = |runs: u64| (runs / PROCESS == self.process).then(|| runs - one);
        // A process that was forked meanwhile has not counted it.
        let _ = RUNS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.give_up();
        self.count_down(UNDER_WAY);
    }
}

/// Whether all runs that are under way were told to stop, so that nobody waits for what a function would still compute.
///
/// A kernel that is a function does not know which run calls it. If another run is under way, one that was given up goes on to its next safe
/// point.
pub(crate) fn nobody_waits() -> bool {
    let runs = RUNS.load(Ordering::Relaxed);
    runs.is_multiple_of(UNDER_WAY) && !runs.is_multiple_of(PROCESS) && runs / PROCESS == this_process()
}

/// Does short work without the interpreter, on the calling thread.
pub(crate) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    let _run = Run::begin();
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
    let this_run = Arc::new(Run::begin());
    let latest: Arc<Mutex<Option<Progress>>> = Arc::default();
    let (sender, mut receiver) = sync_channel(1);
    let (its_run, seen, wants_progress) = (Arc::clone(&this_run), Arc::clone(&latest), progress.is_some());
    let body = move || {
        let observer = |progress: &Progress| {
            if let Ok(mut latest) = seen.lock() {
                *latest = Some(*progress);
            }
        };
        let mut watch = Watch::new().interrupt(&its_run.stop);
        if wants_progress {
            watch = watch.observer(&observer);
        }
        if let Some(limit) = time_limit {
            // Finite and not negative: the package has checked it.
            watch = watch.time_limit(Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX));
        }
        let outcome = work(&watch);
        // Whoever has the result finds the run ended.
        drop(its_run);
        // Nobody is left to take that of a run that was given up.
        let _ = sender.send(outcome);
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
            this_run.give_up();
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
