//! Where an experiment runs: data, size, threads, and who looks on.

use std::path::{Path, PathBuf};

use mercer::Watch;
use mercer::watch::Progress;

use super::super::session::Session;
use crate::args::{ColumnName, DataArgs, ScaleFactor};
use crate::failure::{Failure, Result};
use crate::input::{self, Data, ReadOptions};

/// What an experiment is given.
pub(super) struct Stage<'a> {
    pub(super) data: Option<&'a Path>,
    pub(super) quick: bool,
    pub(super) threads: usize,
    pub(super) session: &'a Session<'a>,
}

impl Stage<'_> {
    /// A number for the complete experiment, or the one for a quick look.
    pub(super) fn size(&self, complete: usize, quick: usize) -> usize {
        if self.quick { quick } else { complete }
    }

    /// Reads the array `X`, with `y` for labels, of a file of the data folder.
    pub(super) fn read(&self, file: &str, scale: Option<f64>) -> Result<Data> {
        self.read_labelled(file, "X", "y", scale)
    }

    /// Reads an array of a file of the data folder, with another one for labels.
    pub(super) fn read_labelled(&self, file: &str, array: &str, label: &str, scale: Option<f64>) -> Result<Data> {
        let (path, options) = self.options(file, array, label, scale)?;
        input::read(&path, &options)
    }

    /// Where a file of the data folder is and how it is read.
    fn options(&self, file: &str, array: &str, label: &str, scale: Option<f64>) -> Result<(PathBuf, ReadOptions)> {
        let Some(folder) = self.data else {
            return Err(Failure::usage(format!("say with --data where the folder with {file} is")));
        };
        let flags = DataArgs {
            array: Some(array.to_owned()),
            label: Some(ColumnName(label.to_owned())),
            scale: scale.map(ScaleFactor),
            ..DataArgs::default()
        };
        self.begin(&format!("reading {file}"));
        Ok((folder.join(file), ReadOptions::from(&flags)))
    }

    /// As [`read`](Self::read), without rows that have missing values; their number is beside it.
    pub(super) fn read_complete(&self, file: &str) -> Result<(Data, usize)> {
        let (path, options) = self.options(file, "X", "y", None)?;
        input::read_complete(&path, &options)
    }

    /// Says what comes next.
    pub(super) fn begin(&self, what: &str) {
        self.session.meter.begin(what);
    }

    /// Does long work with somebody looking on who may stop it.
    pub(super) fn watched<T>(&self, work: impl FnOnce(&Watch<'_>) -> mercer::Result<T>) -> mercer::Result<T> {
        let observer = |progress: &Progress| self.session.meter.observe(progress);
        work(&Watch::new().interrupt(self.session.interrupt.flag()).observer(&observer))
    }
}
