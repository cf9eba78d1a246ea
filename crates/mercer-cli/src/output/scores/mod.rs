//! Scores, one row per point and one column per component, in any format.
//!
//! Ids come first and labels last, where the format has a place for them.

mod columnar;
mod libsvm;
mod numpy;
mod text;

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use faer::MatRef;

use super::aside::{OutputFile, waiting};
use crate::args::Format;
use crate::failure::{Failure, Result};
use crate::input::{self, Data, Labels};

/// How names of files of scores may end.
const SCORE_FORMATS: &str = ".csv, .tsv, .parquet, .arrow, .npy, .npz or .libsvm";

/// What goes into a file beside the scores.
#[derive(Clone)]
struct Layout {
    /// The file, as messages name it.
    path: PathBuf,
    /// Whether what is written waits in the temporary folder.
    is_kept: bool,
    /// A name for each column of scores.
    names: Vec<String>,
    /// How many rows there will be, if that is known before they are written.
    n_samples: Option<usize>,
    /// Names of the columns of labels and ids, if there are any.
    label: Option<String>,
    id: Option<String>,
}

impl Layout {
    /// The failure that an error of a writer is which has taken the file over.
    fn failure(&self, source: io::Error) -> Failure {
        if self.is_kept { waiting("writing")(source) } else { Failure::file("writing", &self.path)(source) }
    }

    /// The failure that an error is which is not the system's.
    fn refusal(&self, error: impl std::fmt::Display) -> Failure {
        Failure::usage(format!("{} cannot be written: {error}", self.path.display()))
    }
}

/// Labels and ids of some rows, if there are any.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words<'a> {
    pub(crate) labels: Option<&'a [String]>,
    pub(crate) ids: Option<&'a [String]>,
}

impl<'a> Words<'a> {
    /// Those of some rows of a file.
    pub(crate) fn of(data: &'a Data, rows: Range<usize>) -> Self {
        let part = |words: &'a Option<Labels>| words.as_ref().map(|words| &words.values[rows.clone()]);
        Self { labels: part(&data.labels), ids: part(&data.ids) }
    }
}

/// One way to write scores.
trait ScoreSink {
    /// Writes the next rows.
    fn write(&mut self, scores: MatRef<'_, f64>, words: Words<'_>) -> Result<()>;
    /// Writes what comes after the last row and makes the file appear.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Writes scores block by block.
pub(crate) struct ScoreWriter {
    layout: Layout,
    format: Format,
    /// Where nothing has been written yet.
    file: Option<OutputFile>,
    sink: Option<Box<dyn ScoreSink>>,
}

impl ScoreWriter {
    /// A writer of the scores of a file's points, in columns of these names. Nothing is written before the first of them.
    ///
    /// `n_samples` is how many there are, or `None` if that is known only at the end; then the format must be one that
    /// [`is_open_ended`].
    pub(crate) fn new(
        file: OutputFile,
        format: Format,
        names: Vec<String>,
        n_samples: Option<usize>,
        data: &Data,
    ) -> Result<Self> {
        check_columns(file.path(), format, &names, data)?;
        let name = |words: &Option<Labels>| words.as_ref().map(|words| words.name.clone());
        let (label, id) = (name(&data.labels), name(&data.ids));
        let (path, is_kept) = (file.path().to_owned(), file.is_kept());
        let layout = Layout { path, is_kept, names, n_samples, label, id };
        Ok(Self { layout, format, file: Some(file), sink: None })
    }

    /// Writes the next rows.
    pub(crate) fn write(&mut self, scores: MatRef<'_, f64>, words: Words<'_>) -> Result<()> {
        self.start()?.write(scores, words)
    }

    /// Makes the file appear.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.start()?;
        self.sink.map_or(Ok(()), ScoreSink::finish)
    }

    /// The sink, made when it is first needed.
    fn start(&mut self) -> Result<&mut (dyn ScoreSink + 'static)> {
        if let Some(file) = self.file.take() {
            let layout = self.layout.clone();
            self.sink = Some(match self.format {
                Format::Csv | Format::Tsv => Box::new(text::TextSink::new(file, layout, self.format)?),
                Format::Npy => Box::new(numpy::NpySink::new(file, layout)?),
                Format::Npz => Box::new(numpy::NpzSink::new(file, layout)?),
                Format::Parquet => Box::new(columnar::ParquetSink::new(file, layout)?),
                Format::Arrow => Box::new(columnar::ArrowSink::new(file, layout)?),
                Format::Libsvm => Box::new(libsvm::LibsvmSink::new(file)),
                other @ (Format::Idx | Format::Images) => return Err(not_for_scores(other)),
            });
        }
        let sink = self.sink.as_deref_mut();
        Ok(sink.expect("there is a file before the sink is made, and a sink after"))
    }
}

/// Refuses what a format cannot hold: labels that are not numbers where they must be, and two columns of one name where columns have
/// names, because whoever reads them would refuse them or take the wrong one.
pub(crate) fn check_columns(output: &Path, format: Format, names: &[String], data: &Data) -> Result<()> {
    let is_archive = format == Format::Npz;
    match format {
        Format::Csv | Format::Tsv | Format::Parquet | Format::Arrow | Format::Npz => {}
        Format::Libsvm => return libsvm::check_labels(data.labels.as_ref().map(|labels| labels.values.as_slice())),
        Format::Npy | Format::Idx | Format::Images => return Ok(()),
    }
    let mut taken: Vec<String> = if is_archive { Vec::new() } else { names.to_vec() };
    for (what, words) in [("id", &data.ids), ("label", &data.labels)] {
        let Some(Labels { name, .. }) = words else { continue };
        // An archive has one array for a column that is both.
        if is_archive && what == "label" && data.ids.as_ref().is_some_and(|ids| ids.name == *name) {
            continue;
        }
        let written = if is_archive { numpy::array_name(name) } else { name.clone() };
        if taken.contains(&written) {
            let place = if output == Path::new("-") { "the output".into() } else { output.display().to_string() };
            return Err(Failure::usage(format!(
                "{place} would have two columns called {written:?}: the {what} has a name that another column of it has; \
                 rename the column in {}, or do not take it as the {what}{}",
                data.name,
                if is_archive { "" } else { ", or write .npz, which holds the scores under a name of their own" }
            )));
        }
        taken.push(written);
    }
    Ok(())
}

/// Whether a format can be written before it is known how many rows there will be. An array in an archive cannot: its length
/// stands before it, and nobody goes back there.
pub(crate) fn is_open_ended(format: Format) -> bool {
    format != Format::Npz
}

/// Names of the columns of scores.
pub(crate) fn component_names(n_components: usize) -> Vec<String> {
    (1..=n_components).map(|component| format!("pc{component}")).collect()
}

/// The format of scores that the name of a file says; standard output takes CSV.
pub(crate) fn score_format(path: &Path) -> Result<Format> {
    if path == Path::new("-") {
        return Ok(Format::Csv);
    }
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz")) {
        return Err(Failure::usage(format!("{}: scores are not compressed; leave .gz out", path.display())));
    }
    match input::format_of(path, None) {
        Ok(other @ (Format::Idx | Format::Images)) => Err(not_for_scores(other)),
        Ok(format) => Ok(format),
        // There is no flag for the format of scores.
        Err(_) => {
            let problem = format!("the name {} does not say what format the scores are to have", path.display());
            Err(Failure::usage(format!("{problem}; let it end in {SCORE_FORMATS}")))
        }
    }
}

/// What a format has no place for, as a note for people.
pub(crate) fn left_out(format: Format, labels: Option<&Labels>, ids: Option<&Labels>) -> Option<String> {
    let (labels_lost, ids_lost) = match format {
        Format::Npy => (labels.is_some(), ids.is_some()),
        Format::Libsvm => (false, ids.is_some()),
        _ => (false, false),
    };
    let what = match (labels_lost, ids_lost) {
        (true, true) => "labels and ids",
        (true, false) => "labels",
        (false, true) => "ids",
        (false, false) => return None,
    };
    let place = if format == Format::Npy { "a .npy array of scores" } else { "a libsvm file" };
    Some(format!("{what} are not written: {place} has no place for them"))
}

fn not_for_scores(format: Format) -> Failure {
    let name = if format == Format::Idx { "IDX" } else { "an image list" };
    Failure::usage(format!("scores are not written as {name}; let the name end in {SCORE_FORMATS}"))
}

/// Writes bytes, with the failure that goes with the file.
fn put(file: &mut OutputFile, bytes: &[u8]) -> Result<()> {
    file.write_all(bytes).map_err(|error| file.failure(error))
}

/// The shortest text that reads back as the same number.
pub(crate) fn number(x: f64) -> String {
    let plain = (1e-5..1e16).contains(&x.abs()) || x == 0.0;
    if plain { x.to_string() } else { format!("{x:e}") }
}

#[cfg(test)]
mod tests;
