//! Threads, progress, and the wish to stop: what a long computation is given beside its inputs.
//!
//! This is the only module that reads the clock.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How long a run that was stopped may still take to make a result of what it has: a stop is promised within two seconds.
///
/// ```
/// use mercer::watch::{GRACE, Watch};
///
/// assert!(GRACE.as_secs_f64() < 2.0 && !Watch::new().time_limit(GRACE).is_stopped());
/// ```
pub const GRACE: Duration = Duration::from_secs(1);

/// A pool of threads that belongs to one run.
///
/// The pool is private: nothing is left behind for a forked process to trip over, and two runs do not wait for each other.
///
/// ```
/// use mercer::watch::Threads;
///
/// assert_eq!(Threads::new(2)?.count(), 2);
/// assert!(Threads::new(0).is_err() && Threads::new(Threads::MOST + 1).is_err());
/// assert_eq!(Threads::all()?.count(), Threads::available());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Threads {
    count: usize,
    pool: Arc<Mutex<Pool>>,
}

/// The threads themselves, which are gone while they rest.
#[derive(Debug)]
struct Pool {
    running: Option<Arc<rayon::ThreadPool>>,
    /// How many [pieces of work](Threads::at_work) have not ended.
    at_work: usize,
}

impl Threads {
    /// Threads beyond this do nothing but wait for each other: a pool of so many is a slip of the keyboard.
    pub const MOST: usize = 1024;

    /// A pool of `n` threads.
    ///
    /// # Errors
    ///
    /// If `n` is zero or more than [`MOST`](Self::MOST), or the system refuses to start the threads.
    pub fn new(n: usize) -> Result<Self> {
        Self::check(n)?;
        let pool = Pool { running: Some(start(n)?), at_work: 0 };
        Ok(Self { count: n, pool: Arc::new(Mutex::new(pool)) })
    }

    /// Refuses a number of threads that no pool has.
    pub(crate) fn check(n: usize) -> Result<()> {
        match n {
            0 => Err(Error::invalid("threads", "at least 1", n)),
            1..=Self::MOST => Ok(()),
            _ => Err(Error::invalid("threads", format!("at most {}", Self::MOST), n)),
        }
    }

    /// A pool with as many threads as the machine has processors for this process.
    ///
    /// # Errors
    ///
    /// If the system refuses to start the threads.
    pub fn all() -> Result<Self> {
        Self::new(Self::available())
    }

    /// How many processors the machine has for this process, as far as [`MOST`](Self::MOST).
    pub fn available() -> usize {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(Self::MOST)
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Runs `work` on the pool; parallel iterators inside it use these threads.
    ///
    /// ```
    /// use mercer::watch::Threads;
    ///
    /// assert_eq!(Threads::new(1)?.run(|| 2 + 2), 4);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.running().install(work)
    }

    /// Runs `work` once on every thread, with the number of the thread.
    pub(crate) fn on_each<R: Send>(&self, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        self.running().broadcast(|context| work(context.index()))
    }

    /// Something to do with threads that belong to more than one run: at its end they rest, and hold nothing of the system, until there is more to do. A
    /// process that is forked in between begins with threads of its own.
    ///
    /// # Errors
    ///
    /// If they rest and the system refuses to start them again.
    pub(crate) fn at_work(&self) -> Result<AtWork> {
        let mut pool = self.lock();
        if pool.running.is_none() {
            pool.running = Some(start(self.count)?);
        }
        pool.at_work += 1;
        drop(pool);
        Ok(AtWork(self.clone()))
    }

    /// Lets the threads rest if nothing is being done with them.
    pub(crate) fn rest(&self) {
        let mut pool = self.lock();
        if pool.at_work == 0 {
            pool.running = None;
        }
    }

    fn running(&self) -> Arc<rayon::ThreadPool> {
        let mut pool = self.lock();
        let running =
            pool.running.get_or_insert_with(|| start(self.count).expect("the system has started as many before"));
        Arc::clone(running)
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        // Nothing is changed by halves under the lock.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work that threads rest after; see [`Threads::at_work`].
#[derive(Debug)]
pub(crate) struct AtWork(Threads);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.lock().at_work -= 1;
        self.0.rest();
    }
}

fn start(n: usize) -> Result<Arc<rayon::ThreadPool>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
    pool.map(Arc::new)
        .map_err(|error| Error::invalid("threads", format!("as many as the system can start ({error})"), n))
}

/// Whether this thread belongs to a pool.
///
/// Only there may a parallel iterator be used: elsewhere it would start a pool for the whole process, whose threads nobody has asked
/// for, and which a forked process inherits without them.
pub(crate) fn is_on_a_pool() -> bool {
    rayon::current_thread_index().is_some()
}

/// What a run is doing.
///
/// ```
/// use mercer::watch::Phase;
///
/// assert_eq!(Phase::Solving.name(), "solving");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Phase {
    /// Packing the points for the tile engine.
    Packing,
    /// Solving for a sample of the points, to start from.
    Starting,
    /// Passes over the kernel matrix.
    Solving,
    /// Updates of the kernel Hebbian algorithm; pass 0 is what comes before the first of them.
    Learning,
    /// Scores of points.
    Transforming,
    /// A product with a kernel matrix.
    Multiplying,
    /// Learning the way from scores back to points.
    Reconstructing,
    /// Putting points into clusters.
    Clustering,
    /// Looking for kernel parameters.
    Tuning,
    /// Learning classes, fold by fold.
    Classifying,
}

impl Phase {
    /// The phase in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packing => "packing",
            Self::Starting => "starting",
            Self::Solving => "solving",
            Self::Learning => "learning",
            Self::Transforming => "transforming",
            Self::Multiplying => "multiplying",
            Self::Reconstructing => "reconstructing",
            Self::Clustering => "clustering",
            Self::Tuning => "tuning",
            Self::Classifying => "classifying",
        }
    }
}

/// How far a run is.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use mercer::watch::{Phase, Progress};
/// use mercer::{Kernel, KernelPca, Points, Watch};
///
/// let points = Points::from_f64((0..600).map(|i| f64::from(i % 37)).collect::<Vec<_>>(), 600, 1)?;
/// let passes = AtomicUsize::new(0);
/// let observer = |progress: &Progress| {
///     if progress.phase == Phase::Solving {
///         passes.fetch_max(progress.pass, Ordering::Relaxed);
///     }
/// };
/// let model = KernelPca::new(Kernel::gaussian(0.1)?).fit_watched(&points, &Watch::new().observer(&observer))?;
/// assert_eq!(passes.into_inner(), model.record().passes);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// The pass over the kernel matrix that is under way, counted from one.
    pub pass: usize,
    /// How many passes it will probably take, if that is known.
    pub expected_passes: Option<usize>,
    /// The share of the pass that is done, from 0 to 1.
    pub fraction: f64,
    /// The largest residual of the wanted components after the last pass.
    pub residual: Option<f64>,
}

type Observer<'a> = &'a (dyn Fn(&Progress) + Sync);

/// Sees how far a run is and may stop it.
///
/// A run that is stopped returns the best it has so far, or [`Error::Interrupted`] if that is nothing.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use std::time::Duration;
///
/// let stop = AtomicBool::new(false);
/// let watch = mercer::Watch::new().interrupt(&stop).time_limit(Duration::from_secs(60));
/// assert!(!watch.is_stopped());
/// stop.store(true, std::sync::atomic::Ordering::Relaxed);
/// assert!(watch.is_stopped());
/// ```
#[derive(Clone, Copy, Default)]
pub struct Watch<'a> {
    interrupt: Option<&'a AtomicBool>,
    deadline: Option<Instant>,
    observer: Option<Observer<'a>>,
}

impl<'a> Watch<'a> {
    /// Lets the run go on to its end, unseen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run soon after the flag is set.
    #[must_use]
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Stops the run soon after this much time from now.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.deadline = Instant::now().checked_add(limit);
        self
    }

    /// Calls `observer` now and then, from whichever thread made progress.
    #[must_use]
    pub fn observer(mut self, observer: Observer<'a>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Whether the run should stop.
    pub fn is_stopped(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The same wish to stop, without the observer: for steps of a run that reports by itself.
    pub(crate) fn unseen(&self) -> Self {
        Self { observer: None, ..*self }
    }

    pub(crate) fn report(&self, progress: &Progress) {
        if let Some(observer) = self.observer {
            observer(progress);
        }
    }
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("stopped", &self.is_stopped()).finish_non_exhaustive()
    }
}

/// Measures the seconds that something took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// What a step of a computation works with.
///
/// ```
/// use mercer::watch::{Context, Phase, Threads, Watch};
///
/// let (threads, watch) = (Threads::new(2)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Multiplying);
/// assert_eq!((context.threads.count(), context.progress.pass), (2, 0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The threads to work on.
    pub threads: &'a Threads,
    /// Who looks on.
    pub watch: &'a Watch<'a>,
    /// What to report; steps fill in what they know.
    pub progress: Progress,
}

impl<'a> Context<'a> {
    /// A context at the start of a phase.
    pub fn new(threads: &'a Threads, watch: &'a Watch<'a>, phase: Phase) -> Self {
        let progress = Progress { phase, pass: 0, expected_passes: None, fraction: 0.0, residual: None };
        Self { threads, watch, progress }
    }

    /// Reports that this share of the present pass is done.
    pub(crate) fn report_fraction(&self, fraction: f64) {
        self.watch.report(&Progress { fraction, ..self.progress });
    }

    /// An error if the run should stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.watch.is_stopped() { Err(self.interrupted()) } else { Ok(()) }
    }

    pub(crate) fn interrupted(&self) -> Error {
        Error::Interrupted { phase: self.progress.phase.name() }
    }

    /// Runs work that cannot be stopped from outside, and waits for it no longer than until the watch says stop.
    ///
    /// It gets as many threads as the run has, but its own: those of the run are free for what is done with the best so far. Work that is
    /// left behind goes on to its end there; it owns all it uses, its result is dropped, and its threads end.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] if the run should stop before there is a result, and if the system refuses to start the threads.
    pub(crate) fn run_unless_stopped<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
        self.check()?;
        let own = Threads::new(self.threads.count())?;
        let (sender, receiver) = sync_channel(1);
        // A panic would end the process there; here it is the caller's.
        own.running().spawn(move || drop(sender.send(catch_unwind(AssertUnwindSafe(work)))));
        loop {
            match receiver.recv_timeout(LOOK_UP) {
                Ok(outcome) => return Ok(outcome.unwrap_or_else(|panic| resume_unwind(panic))),
                Err(RecvTimeoutError::Timeout) => self.check()?,
                Err(RecvTimeoutError::Disconnected) => unreachable!("the result or the panic of the work is sent"),
            }
        }
    }
}

/// How often somebody who waits for work looks whether to wait on.
const LOOK_UP: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;
