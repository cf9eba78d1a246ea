//! The record of a benchmark: everything that was measured, and on what.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::harness::{Finished, Timing};
use crate::machine::{self, Machine};
use crate::setup::Setup;

/// Version of the layout of [`Record`].
pub(crate) const SCHEMA: u32 = 1;

/// One run of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Version of this layout.
    pub(crate) schema: u32,
    /// Name of the benchmark.
    pub(crate) benchmark: String,
    /// The day it ran.
    pub(crate) date: String,
    /// The commit that was built.
    pub(crate) commit: String,
    /// Whether sizes were tiny and data made up: such a record says nothing about speed.
    pub(crate) quick: bool,
    /// Threads of every contender.
    pub(crate) threads: usize,
    /// What it ran on.
    pub(crate) machine: Machine,
    /// Versions of everything that bears on times.
    pub(crate) versions: BTreeMap<String, String>,
    /// What was found.
    #[serde(flatten)]
    pub(crate) findings: Findings,
}

/// What a benchmark found, collected while it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Findings {
    /// Sizes, parameters, and what data.
    pub(crate) settings: BTreeMap<String, Value>,
    /// Every time of every round.
    pub(crate) timings: Vec<Timing>,
    /// Other quantities: peaks of memory, passes, rates.
    pub(crate) quantities: Vec<Quantity>,
    /// What was checked before times were compared.
    pub(crate) answers: Vec<Answer>,
    /// What the benchmark is for.
    pub(crate) ratios: Vec<Ratio>,
    /// Numbers in rows and columns, for the page of results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tables: Vec<Table>,
    /// What a reader must know to judge the figures.
    pub(crate) notes: Vec<String>,
    /// Versions of the rival and what it stands on.
    #[serde(skip)]
    rival_versions: BTreeMap<String, String>,
}

/// A number with a name and a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quantity {
    /// What it is.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: f64,
    /// Its unit: `s`, `B`, `B/s`, or empty.
    pub(crate) unit: String,
}

impl Quantity {
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { name: name.into(), value, unit: unit.to_owned() }
    }
}

impl<T> From<&Finished<T>> for Quantity {
    fn from(finished: &Finished<T>) -> Self {
        Self::new(finished.timing.name.clone(), finished.best(), "s")
    }
}

/// How far apart two answers were, and how far they might have been.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// What was compared with what, in which measure.
    pub(crate) what: String,
    /// The difference.
    pub(crate) found: f64,
    /// What would have failed the benchmark.
    pub(crate) limit: f64,
}

/// What a ratio has to reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bar {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

impl Bar {
    /// Whether a value reaches the bar; nothing reaches it without being a number.
    pub(crate) fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }
}

/// One quantity divided by another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ratio {
    /// What it says, in a few words.
    pub(crate) what: String,
    /// What is divided.
    pub(crate) dividend: Quantity,
    /// By what.
    pub(crate) divisor: Quantity,
    /// The ratio.
    pub(crate) value: f64,
    /// What it has to reach, if anything.
    pub(crate) bar: Option<Bar>,
    /// Whether it does.
    pub(crate) met: Option<bool>,
}

impl Ratio {
    /// The ratio of two quantities, held against its bar.
    pub(crate) fn new(what: String, dividend: Quantity, divisor: Quantity, bar: Option<Bar>) -> Self {
        let value = dividend.value / divisor.value;
        let met = bar.map(|bar| bar.is_met(value));
        Self { what, dividend, divisor, value, bar, met }
    }
}

/// Numbers in rows and columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// What the numbers are.
    pub(crate) what: String,
    /// What stands above each column.
    pub(crate) columns: Vec<String>,
    /// The rows, from the top.
    pub(crate) rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// What stands before it.
    pub(crate) name: String,
    /// A number per column, where one was measured.
    pub(crate) values: Vec<Option<f64>>,
}

impl Table {
    /// No rows yet.
    pub(crate) fn new<S: Into<String>>(what: impl Into<String>, columns: impl IntoIterator<Item = S>) -> Self {
        Self { what: what.into(), columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Appends a row.
    pub(crate) fn row(&mut self, name: impl Into<String>, values: Vec<Option<f64>>) {
        debug_assert_eq!(values.len(), self.columns.len());
        self.rows.push(Row { name: name.into(), values });
    }
}

impl Findings {
    /// Keeps a table.
    pub(crate) fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Notes a setting.
    pub(crate) fn setting(&mut self, name: &str, value: impl Into<Value>) {
        self.settings.insert(name.to_owned(), value.into());
    }

    /// Keeps the times of some contenders.
    pub(crate) fn timings<T>(&mut self, finished: &[Finished<T>]) {
        self.timings.extend(finished.iter().map(|finished| finished.timing.clone()));
    }

    /// Keeps a quantity and hands it on.
    pub(crate) fn quantity(&mut self, name: impl Into<String>, value: f64, unit: &str) -> Quantity {
        let quantity = Quantity::new(name, value, unit);
        self.quantities.push(quantity.clone());
        quantity
    }

    /// Notes something that a reader must know; the same note once.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Notes what there may be to note.
    pub(crate) fn note_if(&mut self, note: Option<&str>) {
        if let Some(note) = note {
            self.note(note);
        }
    }

    /// Remembers the versions that a rival reported.
    pub(crate) fn rival_versions(&mut self, versions: &BTreeMap<String, String>) {
        self.rival_versions.extend(versions.clone());
    }

    /// Checks an answer: a difference beyond its limit, or one that is not a number, ends the benchmark.
    pub(crate) fn check(&mut self, what: impl Into<String>, found: f64, limit: f64) -> Result<()> {
        let what = what.into();
        if found.is_nan() || found > limit {
            return Err(Failure::WrongAnswer { what, found, limit });
        }
        self.answers.push(Answer { what, found, limit });
        Ok(())
    }

    /// Divides one quantity by another and holds the ratio against its bar.
    pub(crate) fn ratio(
        &mut self,
        what: impl Into<String>,
        dividend: impl Into<Quantity>,
        divisor: impl Into<Quantity>,
        bar: Option<Bar>,
    ) {
        let ratio = Ratio::new(what.into(), dividend.into(), divisor.into(), bar);
        let verdict = ratio.met.map_or("", |met| if met { ": bar met" } else { ": BAR MISSED" });
        eprintln!("  {}: {:.3}{verdict}", ratio.what, ratio.value);
        self.ratios.push(ratio);
    }
}

impl Record {
    /// The record of findings made with this setup.
    pub(crate) fn new(setup: &Setup, benchmark: &str, findings: Findings) -> Self {
        let mut versions = machine::versions();
        versions.extend(findings.rival_versions.clone());
        Self {
            schema: SCHEMA,
            benchmark: benchmark.to_owned(),
            date: setup.options.date.clone(),
            commit: setup.options.commit.clone(),
            quick: setup.options.quick,
            threads: setup.options.threads,
            machine: setup.machine.clone(),
            versions,
            findings,
        }
    }

    /// Writes the record into a folder, under the benchmark's name.
    pub(crate) fn write(&self, folder: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(folder).map_err(Failure::file(folder))?;
        let path = folder.join(format!("{}.json", self.benchmark));
        let json = |source| Failure::Json { what: "the record".to_owned(), source };
        let text = serde_json::to_string_pretty(self).map_err(json)?;
        std::fs::write(&path, text + "\n").map_err(Failure::file(&path))?;
        Ok(path)
    }

    /// The record of a benchmark in a folder, if it has been run.
    pub(crate) fn read(folder: &Path, benchmark: &str) -> Result<Option<Self>> {
        let path = folder.join(format!("{benchmark}.json"));
        if !path.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path).map_err(Failure::file(&path))?;
        let json = |source| Failure::Json { what: path.display().to_string(), source };
        let record: Self = serde_json::from_str(&text).map_err(json)?;
        if record.schema != SCHEMA || record.quick {
            let problem = if record.quick { "is the record of a quick run" } else { "has another layout" };
            return Err(Failure::Data { path, problem: problem.to_owned() });
        }
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_at_its_limit_and_never_by_what_is_no_number() {
        assert!(Bar::AtMost(1.1).is_met(1.1) && !Bar::AtMost(1.1).is_met(1.2) && !Bar::AtMost(1.1).is_met(f64::NAN));
        assert!(Bar::AtLeast(5.0).is_met(5.0) && !Bar::AtLeast(5.0).is_met(4.9));
    }

    #[test]
    fn a_wrong_answer_ends_the_benchmark_with_its_numbers() {
        let mut findings = Findings::default();
        findings.check("first eigenvalue", 1e-6, 1e-4).unwrap();
        assert_eq!(findings.answers.len(), 1);
        let error = findings.check("first eigenvalue", 1e-3, 1e-4).unwrap_err().to_string();
        assert_eq!(error, "wrong answer: first eigenvalue is 1e-3, which must be at most 1e-4");
        assert!(findings.check("first eigenvalue", f64::NAN, 1e-4).is_err());
    }

    #[test]
    fn a_ratio_keeps_what_it_was_made_from() {
        let mut findings = Findings::default();
        let seconds = |name: &str, value| Quantity::new(name, value, "s");
        findings.ratio("speed", seconds("theirs", 8.0), seconds("ours", 2.0), Some(Bar::AtLeast(5.0)));
        let ratio = &findings.ratios[0];
        assert_eq!((ratio.value.to_bits(), ratio.met), (4_f64.to_bits(), Some(false)));
        assert_eq!(ratio.dividend.name, "theirs");
    }
}
