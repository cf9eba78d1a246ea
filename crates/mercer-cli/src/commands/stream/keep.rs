//! The state of a stream in a file, so that it can go on.

use std::path::{Path, PathBuf};
use std::time::Instant;

use mercer::online::{Learner, OnlineKernelPca};
use mercer::{Model, StateFile};
use serde::{Deserialize, Serialize};

use super::super::session::is_same_file;
use super::origin::Origin;
use crate::args::{Every, StreamArgs};
use crate::failure::{Failure, InputError, Result};
use crate::output;

/// How far a stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    /// Rows of the input, good and bad.
    rows_read: u64,
    bad_rows: u64,
}

/// What goes beside the learner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    rows_read: u64,
    bad_rows: u64,
    /// Names of the columns, if they have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feature_names: Option<Vec<String>>,
}

/// Keeps the state of a stream.
pub(super) struct Keeper {
    path: Option<PathBuf>,
    every: Every,
    position: Position,
    names: Option<Vec<String>>,
    /// The position and the time of what is in the file.
    kept: Position,
    when: Instant,
}

impl Keeper {
    /// A keeper, and the learner that the stream goes on with, if it is one that has learned before.
    pub(super) fn open(args: &StreamArgs, origin: &mut Origin) -> Result<(Self, Option<Learner>)> {
        let path = args.checkpoint.checkpoint.clone();
        let is_learner = |path: &Path| {
            matches!(origin, Origin::Learner(..)) && args.model.as_deref().is_some_and(|from| is_same_file(from, path))
        };
        if let (Some(path), false) = (&path, args.checkpoint.resume)
            && path.exists()
            && !is_learner(path)
        {
            return Err(Failure::usage(format!(
                "{} is there already: go on from it with --resume, or name another file; the state of another stream is not overwritten",
                path.display()
            )));
        }
        let kept = path.as_deref().filter(|path| args.checkpoint.resume && path.exists());
        let (learner, note) = match (std::mem::replace(origin, Origin::Nothing), kept) {
            (Origin::Learner(learner, note), _) => (Some(*learner), note),
            (other, Some(path)) => {
                let (learner, note) = read(path)?;
                check_origin(path, &learner, &other, args)?;
                *origin = other;
                (Some(learner), note)
            }
            (other, None) => {
                let names = other.model().and_then(Model::feature_names).map(<[String]>::to_vec);
                *origin = other;
                (None, Note { rows_read: 0, bad_rows: 0, feature_names: names })
            }
        };
        let Note { rows_read, bad_rows, feature_names } = note;
        let (position, every) =
            (Position { rows_read, bad_rows }, args.checkpoint.checkpoint_every.unwrap_or_default());
        Ok((Self { path, every, position, names: feature_names, kept: position, when: Instant::now() }, learner))
    }

    /// What the columns of rows are called, if they have names.
    pub(super) fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// The first rows have come, and this is what their columns are called.
    pub(super) fn name_columns(&mut self, names: Option<&[String]>) {
        self.names = names.map(<[String]>::to_vec);
    }

    /// Rows of the input so far, good and bad.
    pub(super) fn rows_read(&self) -> u64 {
        self.position.rows_read
    }

    /// Those that could not be used.
    pub(super) fn bad_rows(&self) -> u64 {
        self.position.bad_rows
    }

    /// The file.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// So many rows have been learned.
    pub(super) fn count(&mut self, learned: usize) {
        self.position.rows_read += learned as u64;
    }

    /// A row could not be used.
    pub(super) fn count_bad(&mut self) {
        self.position.rows_read += 1;
        self.position.bad_rows += 1;
    }

    /// Refuses to go on from a checkpoint with other settings than those that were asked for.
    pub(super) fn check(&self, asked: &OnlineKernelPca, learner: &Learner) -> Result<()> {
        match (asked.difference(learner.settings()), &self.path) {
            (Some((name, asked, found)), Some(path)) => Err(refusal(
                path,
                &format!("the checkpoint belongs to another stream ({name}: {found} there, {asked} here)"),
            )),
            _ => Ok(()),
        }
    }

    /// Whether the state should be kept once so many more rows have been learned.
    pub(super) fn is_due_after(&self, more: usize) -> bool {
        let since = self.position.rows_read + more as u64 - self.kept.rows_read;
        self.path.is_some() && matches!(self.every, Every::Rows(rows) if since >= rows as u64)
    }

    /// Keeps the state, if it is time to and something has happened.
    pub(super) fn keep_if_due(&mut self, learner: Option<&Learner>) -> Result<()> {
        let is_due = match self.every {
            Every::Rows(_) => self.is_due_after(0),
            Every::Time(time) => self.when.elapsed() >= time,
        };
        if is_due && self.position != self.kept {
            self.keep(learner)?;
            self.kept = self.position;
            self.when = Instant::now();
        }
        Ok(())
    }

    /// Keeps the state, aside first and then under its name, so that there is always a whole one.
    pub(super) fn keep(&self, learner: Option<&Learner>) -> Result<()> {
        let (Some(path), Some(learner)) = (&self.path, learner) else { return Ok(()) };
        let Position { rows_read, bad_rows } = self.position;
        let note = Note { rows_read, bad_rows, feature_names: self.names.clone() };
        let note = serde_json::to_string(&note)
            .map_err(|error| Failure::usage(format!("the checkpoint cannot be written: {error}")))?;
        output::write_bytes(path, &learner.to_bytes_with_note(&note)?)
    }
}

/// Refuses to go on from the checkpoint of a stream that began with something else.
fn check_origin(path: &Path, learner: &Learner, origin: &Origin, args: &StreamArgs) -> Result<()> {
    let other = match (origin.model(), learner.n_before()) {
        (Some(model), _) if learner.began_as(model) => return Ok(()),
        (None, 0) => return Ok(()),
        (Some(_), _) => {
            let name = args.model.as_deref().unwrap_or(Path::new("")).display();
            format!("it did not begin with {name} as it is now")
        }
        (None, n) => format!("it began with a model of {n} points: name it as MODEL"),
    };
    Err(refusal(path, &format!("the checkpoint belongs to another stream ({other})")))
}

/// What a file holds cannot be used.
fn refusal(path: &Path, why: &str) -> Failure {
    InputError::new(&path.display().to_string(), why).into()
}

/// Reads a learner and how far its stream was.
pub(super) fn read(path: &Path) -> Result<(Learner, Note)> {
    let bytes = std::fs::read(path).map_err(Failure::file("reading", path))?;
    let refuse = |why: String| refusal(path, &why);
    let (learner, note) = Learner::from_bytes_with_note(&bytes, None).map_err(|error| match error {
        _ if mercer::AnyModel::load(path).is_ok() => {
            refuse("this is a model and not the state of a learner: name it as MODEL".to_owned())
        }
        // Of another version, or damaged.
        mercer::Error::InvalidParameter { name: "state", value, .. }
            if StateFile::at(path) == Some(StateFile::Stream) =>
        {
            refuse(format!("this state of a learner is {value}"))
        }
        mercer::Error::InvalidParameter { name: "state", value, .. } => {
            refuse(format!("this is not the state of a learner: {value}"))
        }
        other => refuse(other.to_string()),
    })?;
    // A learner that a program saved has no note, and has read what it has learned.
    let note = if note.is_empty() {
        let rows_read = mercer::online::OnlineLearner::n_seen(&learner) as u64;
        Note { rows_read, bad_rows: 0, feature_names: None }
    } else {
        serde_json::from_str(&note).map_err(|error| refuse(format!("its note cannot be read: {error}")))?
    };
    if let (Some(names), Some(width)) = (&note.feature_names, learner.n_features())
        && names.len() != width
    {
        return Err(refuse(format!("it has {} names for {width} columns", names.len())));
    }
    Ok((learner, note))
}
