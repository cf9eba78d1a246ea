//! What an experiment found: plain data, from which table and page are made.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that came of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Findings {
    /// Its name.
    pub(super) experiment: String,
    /// What it is.
    pub(super) title: String,
    /// The paper, and the place in it.
    pub(super) paper: String,
    /// Whether fewer points, components and passes were used than in the paper.
    pub(super) quick: bool,
    /// What it was run with.
    pub(super) settings: Vec<Setting>,
    /// What the paper says, and what came out.
    pub(super) claims: Vec<Claim>,
    /// What a reader should know.
    pub(super) notes: Vec<String>,
    /// Numbers that figures are drawn from.
    pub(super) series: Vec<Series>,
    /// The figures, in the order in which they are shown.
    pub(super) figures: Vec<Figure>,
}

/// A setting, by a name that says what it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub(super) name: String,
    /// In words; records of version 1 called it `value`, and had numbers as numbers.
    #[serde(rename = "setting", alias = "value")]
    pub(super) value: Value,
}

/// A claim of a paper and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Claim {
    /// What is claimed.
    #[serde(rename = "claim")]
    pub(super) what: String,
    /// The number or the words of the paper.
    pub(super) claimed: String,
    /// What came out, in words.
    pub(super) found: String,
    /// The number that was judged; nothing if there is none, or none that is finite.
    pub(super) value: Option<f64>,
    /// Whether that is what was claimed.
    pub(super) agrees: bool,
}

/// Numbers with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Series {
    pub(super) name: String,
    /// Nothing where a number is not finite.
    pub(super) values: Vec<Option<f64>>,
}

/// A figure in a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Figure {
    pub(super) file: String,
    pub(super) caption: String,
    /// Whether it shows pictures of the data, which may not be passed on as freely as numbers: a run writes it, the project does not keep it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) shows_data: bool,
}

/// Findings, and the figures as SVG in the order of the list.
pub(super) type Found = (Findings, Vec<String>);

impl Findings {
    /// Nothing found yet.
    pub(super) fn new(experiment: &str, title: &str, paper: &str, quick: bool) -> Self {
        Self {
            experiment: experiment.to_owned(),
            title: title.to_owned(),
            paper: paper.to_owned(),
            quick,
            settings: Vec::new(),
            claims: Vec::new(),
            notes: Vec::new(),
            series: Vec::new(),
            figures: Vec::new(),
        }
    }

    pub(super) fn setting(&mut self, name: &str, value: impl Into<Value>) {
        // As words: a name has one type in all records.
        let words = match value.into() {
            Value::String(words) => words,
            other => other.to_string(),
        };
        self.settings.push(Setting { name: name.to_owned(), value: words.into() });
    }

    /// A claim, with what came out and whether that agrees.
    pub(super) fn claim(
        &mut self,
        claim: impl Into<String>,
        claimed: impl Into<String>,
        value: f64,
        found: impl Into<String>,
        agrees: bool,
    ) {
        let (what, claimed, found) = (claim.into(), claimed.into(), found.into());
        self.claims.push(Claim { what, claimed, found, value: finite(value), agrees });
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(super) fn series(&mut self, name: impl Into<String>, values: Vec<f64>) {
        self.series.push(Series { name: name.into(), values: values.into_iter().map(finite).collect() });
    }

    /// Announces a figure; its picture goes to the same place of the list of pictures.
    pub(super) fn figure(&mut self, suffix: &str, caption: &str) {
        let file = format!("{}-{suffix}.svg", self.experiment);
        self.figures.push(Figure { file, caption: caption.to_owned(), shows_data: false });
    }

    /// Announces a figure that shows pictures of the data.
    pub(super) fn figure_of_data(&mut self, suffix: &str, caption: &str) {
        self.figure(suffix, caption);
        if let Some(figure) = self.figures.last_mut() {
            figure.shows_data = true;
        }
    }
}

/// JSON has no other numbers.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
