//! A fit with somebody looking on: what `fit` and `demo` have in common.

use std::path::Path;
use std::time::{Duration, Instant};

use mercer::{ErrorKind, KernelPca, Model, RunRecord, Watch};

use crate::console::{Console, print};
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Meter;

/// A clock for the seconds that the record tells.
#[derive(Debug)]
pub(super) struct Clock {
    started: Instant,
    read: Duration,
}

impl Clock {
    /// Starts with the command.
    pub(super) fn start() -> Self {
        Self { started: Instant::now(), read: Duration::ZERO }
    }

    /// Everything so far was reading.
    pub(super) fn data_is_read(&mut self) {
        self.read = self.started.elapsed();
    }

    /// The library's record with the command's own times: `fit` is all that the library did, `save` what came after.
    pub(super) fn complete(&self, record: &RunRecord) -> RunRecord {
        let mut record = record.clone();
        let (read, total) = (self.read.as_secs_f64(), self.started.elapsed().as_secs_f64());
        let fit = record.seconds.get("total").copied().unwrap_or(0.0);
        for (phase, seconds) in
            [("read", read), ("fit", fit), ("save", (total - read - fit).max(0.0)), ("total", total)]
        {
            record.seconds.insert(phase.to_owned(), seconds);
        }
        record.peak_memory_bytes = record.peak_memory_bytes.max(mercer::peak_memory());
        record
    }
}

/// Fits with progress on standard error, until it is done, interrupted, or out of time.
pub(super) fn learn(settings: &KernelPca, data: &Data, limit: Option<Duration>, console: Console) -> Result<Model> {
    let interrupt = Interrupt::listen(console)?;
    let meter = Meter::new(console);
    let observer = |progress: &mercer::watch::Progress| meter.observe(progress);
    let mut watch = Watch::new().interrupt(interrupt.flag()).observer(&observer);
    if let Some(limit) = limit {
        watch = watch.time_limit(limit);
    }
    let fitted = settings.fit_watched(&data.points, &watch);
    meter.clear();
    let model = fitted.map_err(|error| match error.kind() {
        ErrorKind::Interrupted if !interrupt.is_set() => Failure::usage(format!("--time-limit is too short: {error}")),
        _ => Failure::in_data(&data.name)(error),
    })?;
    if !model.converged() {
        let why = if interrupt.is_set() {
            "interrupted"
        } else if watch.is_stopped() {
            "out of time"
        } else {
            "not converged"
        };
        console.warning(&format!("{why}: the model is the best so far, see its residuals"));
    }
    Ok(model)
}

/// How a command ends that has saved this model.
pub(super) fn status_of(model: &Model) -> ExitStatus {
    if model.converged() { ExitStatus::Done } else { ExitStatus::NotConverged }
}

/// Saves a model.
pub(super) fn save(model: &Model, path: &Path) -> Result<()> {
    model.save(path).map_err(Failure::Library)
}

/// Prints a record as was asked: for machines, for people, or not at all.
pub(super) fn print_record(record: &RunRecord, json: bool, console: Console) -> Result<()> {
    if json {
        print(&output::record_json(record)?)
    } else if console.is_quiet() {
        Ok(())
    } else {
        print(&output::summary(record))
    }
}
