//! What a stream begins with: nothing, a model, or the state of an earlier stream.

use std::fs::File;
use std::path::Path;

use mercer::online::{Learner, OnlineKernelPca};
use mercer::{Model, StateFile};

use super::super::session::Session;
use super::super::settings::online_settings_for;
use super::keep::{Note, read};
use crate::args::StreamArgs;
use crate::failure::{Failure, InputError, Result};
use crate::input;

/// What a stream begins with.
pub(super) enum Origin {
    Nothing,
    /// A learner that goes on, and how far its stream was.
    Learner(Box<Learner>, Note),
    /// A model whose components learn on, by these settings.
    Model(Box<Model>, Box<OnlineKernelPca>),
}

impl Origin {
    /// What the call names, if flags do not contradict it.
    pub(super) fn of(args: &StreamArgs, session: &mut Session<'_>) -> Result<Self> {
        let Some(path) = &args.model else {
            return if args.checkpoint.replay && !args.checkpoint.resume {
                Err(nothing_to_replay())
            } else {
                Ok(Self::Nothing)
            };
        };
        if is_learner(path)? {
            if let Some(flag) = args.describes_a_learner() {
                return Err(Failure::usage(format!(
                    "{} is a learner with its own settings: leave {flag} out",
                    path.display()
                )));
            }
            if args.checkpoint.resume {
                return Err(Failure::usage(format!(
                    "{} is a learner, and goes on by itself: leave --resume out, or name it with --checkpoint only",
                    path.display()
                )));
            }
            let (learner, note) = session.timed("load", |_| read(path))?;
            return Ok(Self::Learner(Box::new(learner), note));
        }
        if args.checkpoint.replay && !args.checkpoint.resume {
            return Err(nothing_to_replay());
        }
        let model = session.load(path, "a stream").map_err(|failure| match failure {
            // Somebody who means data names them here.
            Failure::Input(_) if input::format_of(path, None).is_ok() => {
                let problem = "this is neither a model nor the state of a learner";
                let hint = format!("rows come on standard input: mercer stream < {}", path.display());
                InputError::new(&path.display().to_string(), problem).hint(hint).into()
            }
            other => other,
        })?;
        let settings = online_settings_for(args, &model, path)?;
        Ok(Self::Model(Box::new(model), Box::new(settings)))
    }

    /// What messages call it.
    pub(super) fn name(&self) -> &'static str {
        if matches!(self, Self::Model(..)) { "model" } else { "learner" }
    }

    /// The model, if there is one.
    pub(super) fn model(&self) -> Option<&Model> {
        match self {
            Self::Model(model, _) => Some(model),
            _ => None,
        }
    }
}

fn nothing_to_replay() -> Failure {
    Failure::usage(
        "--replay is for streams that go on: give the checkpoint of one as MODEL, or --checkpoint with --resume",
    )
}

/// Whether a file, which must be there, begins as the state of a learner does.
fn is_learner(path: &Path) -> Result<bool> {
    File::open(path).map_err(Failure::file("reading", path))?;
    Ok(StateFile::at(path) == Some(StateFile::Stream))
}
