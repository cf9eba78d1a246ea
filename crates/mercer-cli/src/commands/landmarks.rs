//! Landmarks by a rule, or as somebody gives them in a file.

use std::path::Path;

use mercer::nystrom::Landmarks;

use super::session::Session;
use crate::args::{DataArgs, Format, LandmarkArgs, LandmarkChoice};
use crate::failure::{Failure, InputError, Result};
use crate::input::{self, Data};

/// Landmarks, and the file that they are of, if they are of one.
pub(super) struct Chosen {
    pub(super) landmarks: Landmarks,
    file: Option<Data>,
}

impl Chosen {
    fn by_rule(landmarks: Landmarks) -> Self {
        Self { landmarks, file: None }
    }

    /// The failure that an error of the library about landmarks or data is: one about landmarks of a file names their place there, and `of_data` says what any
    /// other is.
    pub(super) fn refusal(&self, error: mercer::Error, of_data: impl FnOnce(mercer::Error) -> Failure) -> Failure {
        match (error, &self.file) {
            (error @ (mercer::Error::LandmarkTooLarge { .. } | mercer::Error::LandmarkOverflow { .. }), Some(file)) => {
                file.refusal(error, 0)
            }
            (other, _) => of_data(other),
        }
    }
}

/// The landmarks that flags ask for, for data that were read from `path`. Those of a file are scaled as the data are.
pub(super) fn chosen(
    args: &LandmarkArgs,
    (path, flags): (&Path, &DataArgs),
    data: &Data,
    session: &mut Session<'_>,
) -> Result<Chosen> {
    let file = match &args.landmarks {
        None => return Ok(Chosen::by_rule(Landmarks::default())),
        Some(LandmarkChoice::Rule(rule)) => return Ok(Chosen::by_rule(rule.clone())),
        Some(LandmarkChoice::File(file)) => file,
    };
    let given = session.read_beside(file, &flags_for(file, path, flags, data), data)?;
    let (found, expected) = (given.points.n_features(), data.points.n_features());
    if found != expected {
        let problem = format!("landmarks need the {expected} columns of {}, but here are {found}", data.name);
        return Err(InputError::new(&given.name, problem).into());
    }
    let landmarks = data.scaling.iter().try_fold(Landmarks::Given(given.points.clone()), Landmarks::scaled_by)?;
    Ok(Chosen { landmarks, file: Some(given) })
}

/// Refuses landmarks from standard input beside data that come from there, too.
pub(super) fn check_source(args: &LandmarkArgs, points: &Path) -> Result<()> {
    let input = Path::new("-");
    if args.file() == Some(input) && points == input {
        return Err(Failure::usage(
            "--landmarks - and the data cannot both come from standard input; give a file for one of them",
        ));
    }
    Ok(())
}

/// How a file of landmarks is read: all its rows, by the names of the data's columns if they have any, and by the flags of the data
/// if it is of their format.
fn flags_for(file: &Path, path: &Path, flags: &DataArgs, data: &Data) -> DataArgs {
    // Standard input has no name that could tell.
    let own = if file == Path::new("-") { None } else { format_of(file, None) };
    let own = own.or_else(|| format_of(file, flags.format));
    if own != format_of(path, flags.format) {
        return DataArgs::default();
    }
    let flags = DataArgs { rows: None, sample: None, scale: None, standardize: false, ..flags.clone() };
    if data.names.is_none() {
        return flags;
    }
    DataArgs { label: None, id: None, columns: Vec::new(), drop: Vec::new(), ..flags }
}

/// The format of a file, if that can be told.
fn format_of(path: &Path, asked: Option<Format>) -> Option<Format> {
    if path == Path::new("-") {
        return asked.filter(|format| matches!(format, Format::Csv | Format::Tsv)).or(Some(Format::Csv));
    }
    if path.is_dir() {
        return Some(Format::Images);
    }
    input::format_of(path, asked).ok()
}
