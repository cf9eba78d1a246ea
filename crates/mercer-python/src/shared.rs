//! Learners that several threads of Python have at once.
//!
//! A learner whose kernel is a Python function needs the interpreter while it is at work. So nobody waits for a learner who has the interpreter;
//! and whoever asks a learner from within such a function gets an error instead of waiting for a learner that waits for the function.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::run::Run;

thread_local! {
    /// Whether this thread is in a Python function that was called by work on a learner.
    static IS_CALLED_BY_WORK: Cell<bool> = const { Cell::new(false) };
}

/// Calls a Python function for work that may have learners.
pub(crate) fn called_by_work<R>(function: impl FnOnce() -> R) -> R {
    let before = IS_CALLED_BY_WORK.replace(true);
    let result = function();
    IS_CALLED_BY_WORK.set(before);
    result
}

/// Something that one thread has at a time.
pub(crate) struct Shared<T>(Mutex<T>);

impl<T: Send> Shared<T> {
    pub(crate) fn new(it: T) -> Self {
        Self(Mutex::new(it))
    }

    /// Waits for it, however long that takes: for work of its own thread. If the work before panicked, it is as its last complete step left it.
    pub(crate) fn wait(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for it; for threads that do not have the interpreter.
    ///
    /// # Errors
    ///
    /// If it is taken, and whoever has it may be waiting for the function that asks.
    pub(crate) fn lock(&self) -> PyResult<MutexGuard<'_, T>> {
        if !IS_CALLED_BY_WORK.get() {
            return Ok(self.wait());
        }
        match self.0.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(
                "a learner cannot be asked or taught from within its own kernel: it is at work, and waits for the kernel",
            )),
        }
    }

    /// Refuses what [`lock`](Self::lock) refuses, before a thread is started that would wait for it in vain.
    pub(crate) fn check(&self) -> PyResult<()> {
        if IS_CALLED_BY_WORK.get() { self.lock().map(drop) } else { Ok(()) }
    }

    /// Asks or changes it without the interpreter: who has it may need the interpreter for a kernel.
    pub(crate) fn with<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut T) -> R + Send) -> PyResult<R> {
        py.detach(|| self.with_detached(work))
    }

    /// The same, for threads that do not have the interpreter.
    pub(crate) fn with_detached<R>(&self, work: impl FnOnce(&mut T) -> R) -> PyResult<R> {
        let mut guard = self.lock()?;
        // A run that was given up stops at once if nobody else is at work: whoever waits for it is not.
        let _run = Run::begin();
        Ok(work(&mut guard))
    }
}
