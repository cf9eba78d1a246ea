//! The page of results and the figures of the README, made from the records and from nothing else.

use std::fmt::Write;
use std::path::PathBuf;

use crate::benchmarks::Benchmark;
use crate::failure::{Failure, Result};
use crate::figures;
use crate::history;
use crate::record::{Bar, Quantity, Ratio, Record, Table};

/// What the page is made from, and where it goes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TableOptions {
    /// Folder of records
    #[arg(long, value_name = "DIR", default_value = "bench/records")]
    records: PathBuf,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks.md")]
    page: PathBuf,
    /// The page with a few figures of all
    #[arg(long, value_name = "FILE", default_value = "README.md")]
    readme: PathBuf,
    /// Write nothing; fail if a page is not what the records say, or a record is of a commit that the history does not have
    #[arg(long)]
    check: bool,
}

/// A section of the page.
#[derive(Clone, Copy, Debug)]
struct Entry {
    name: &'static str,
    question: &'static str,
    has_plot: bool,
}

impl From<Benchmark> for Entry {
    fn from(benchmark: Benchmark) -> Self {
        Self { name: benchmark.name(), question: benchmark.question(), has_plot: benchmark.has_plot() }
    }
}

/// The benchmark that runs in Python, because it is about the package: bench/python_vs_sklearn.py.
const PYTHON: Entry = Entry {
    name: "python_vs_sklearn",
    question: "\
        `mercer.KernelPCA` as Python users call it, with default settings, against scikit-learn's class with each of its solvers (the \
        dense one up to 2000 points): the first rows of MNIST, single precision, gaussian kernel of bandwidth 8. Both end with \
        the eigenvectors; `fit_transform` also with the scores. The times of imports are of fresh interpreters that have NumPy \
        already. It is run by `python bench/python_vs_sklearn.py --data DIR --commit HASH` where the package is installed.",
    has_plot: false,
};

/// Makes the page, the figures of the README and the pictures that follow from records, or checks that they are up to date.
pub(crate) fn run(options: &TableOptions) -> Result<()> {
    let read = |entry: Entry| Ok((entry, Record::read(&options.records, entry.name)?));
    let entries = Benchmark::ALL.into_iter().map(Entry::from).chain([PYTHON]);
    let records = entries.map(read).collect::<Result<Vec<_>>>()?;
    let readme = std::fs::read_to_string(&options.readme).map_err(Failure::file(&options.readme))?;
    let there: Vec<&Record> = records.iter().filter_map(|(_, record)| record.as_ref()).collect();
    if options.check {
        history::check(&options.records, &there)?;
    }
    let bars = count_bars(there.iter().flat_map(|record| &record.findings.ratios));
    let readme = figures::insert(&readme, &options.readme, &there, bars)?;
    let mut made = vec![(options.page.clone(), page(&records)), (options.readme.clone(), readme)];
    for benchmark in Benchmark::ALL {
        let record = there.iter().find(|record| record.benchmark == benchmark.name());
        let picture = record.and_then(|record| benchmark.picture(&record.findings));
        let path = options.records.join(format!("{}.svg", benchmark.name()));
        made.extend(picture.map(|picture| (path, picture)));
    }
    for (path, text) in made {
        if !options.check {
            std::fs::write(&path, text).map_err(Failure::file(&path))?;
        } else if std::fs::read_to_string(&path).map_err(Failure::file(&path))? != text {
            return Err(Failure::Stale { path });
        }
    }
    Ok(())
}

/// Bars that are met, and all of them.
fn count_bars<'a>(ratios: impl Iterator<Item = &'a Ratio>) -> (usize, usize) {
    ratios.filter_map(|ratio| ratio.met).fold((0, 0), |(met, all), is_met| (met + usize::from(is_met), all + 1))
}

fn page(records: &[(Entry, Option<Record>)]) -> String {
    let mut text = String::from(
        "# Benchmarks\n\n\
         <!-- Made by `scripts/bench table` from bench/records; edits are lost. -->\n\n\
         Contenders run in turn, with the same number of threads, and count with their best round. Every benchmark \
         checks that the answers agree before it compares times, and fails if they do not. Bars were set beforehand; a \
         missed one stays on this page.\n\n\
         To rerun one: `scripts/bench NAME --data DIR`, where the folder holds `mnist.npz` (arrays `X`, 60000 x 28 x \
         28 bytes, and `X_test`). It writes `bench/records/NAME.json`, which holds every time of every round, and this \
         page. scikit-learn is installed into `.venv`. `scripts/bench NAME --quick` takes seconds, needs no data and \
         shows only that it works.\n",
    );
    for (Entry { name, question, has_plot }, record) in records {
        let _ = write!(text, "\n## {name}\n\n{question}\n\n");
        match record {
            Some(record) => {
                section(&mut text, record);
                if *has_plot {
                    let _ = write!(text, "\n![{name}](../bench/records/{name}.svg)\n");
                }
            }
            None => text.push_str(NOT_RUN),
        }
    }
    text
}

const NOT_RUN: &str = "It has not been run yet.\n";

fn section(text: &mut String, record: &Record) {
    let findings = &record.findings;
    let (met, all) = count_bars(findings.ratios.iter());
    let _ = write!(text, "**{met} of {all} bars met.** {} answers checked.\n\n", findings.answers.len());
    text.push_str("| | measured | ratio | bar | met |\n|---|---|---|---|---|\n");
    findings.ratios.iter().for_each(|ratio| row(text, ratio));
    findings.tables.iter().for_each(|table| grid(text, table));
    text.push('\n');
    for note in &findings.notes {
        let _ = writeln!(text, "- {note}");
    }
    let machine = &record.machine;
    let _ = writeln!(
        text,
        "- {}, {} instructions, {} threads of {} processors, {}; load before the run {:.2}.",
        machine.cpu,
        machine.instruction_set,
        record.threads,
        machine.processors,
        quantity(machine.memory_bytes as f64, "B"),
        machine.load_before
    );
    let versions: Vec<String> = record.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let _ = writeln!(text, "- {}, commit {}; {}.", record.date, record.commit, versions.join(", "));
}

/// A table with its title.
fn grid(text: &mut String, table: &Table) {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = std::iter::once(String::new()).chain(table.columns.iter().cloned()).collect();
    let _ = write!(text, "\n{}:\n\n{}|{}\n", table.what, line(&head), "---|".repeat(head.len()));
    for row in &table.rows {
        let number = |value: &Option<f64>| value.map_or_else(|| "-".to_owned(), significant);
        let cells: Vec<String> = std::iter::once(row.name.clone()).chain(row.values.iter().map(number)).collect();
        text.push_str(&line(&cells));
    }
}

fn row(text: &mut String, ratio: &Ratio) {
    let bar = match ratio.bar {
        Some(Bar::AtMost(limit)) => format!("at most {limit}"),
        Some(Bar::AtLeast(limit)) => format!("at least {limit}"),
        None => "-".to_owned(),
    };
    let met = ratio.met.map_or("-", |met| if met { "yes" } else { "**no**" });
    let side = |side: &Quantity| quantity(side.value, &side.unit);
    let (dividend, divisor) = (side(&ratio.dividend), side(&ratio.divisor));
    let _ =
        writeln!(text, "| {} | {dividend} / {divisor} | {} | {bar} | {met} |", ratio.what, significant(ratio.value));
}

/// A number with its unit, as people write it.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "B" if value >= 1e9 => format!("{} GB", significant(value / 1e9)),
        "B" => format!("{} MB", significant(value / 1e6)),
        "s" if value < 1.0 => format!("{} ms", significant(value * 1e3)),
        "" => significant(value),
        unit => format!("{} {unit}", significant(value)),
    }
}

/// Three significant digits.
fn significant(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let rounded = format!("{value:.*}", (2 - digits).clamp(0, 6) as usize);
    if rounded.contains('.') { rounded.trim_end_matches('0').trim_end_matches('.').to_owned() } else { rounded }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::record::{Findings, SCHEMA};

    pub(crate) fn record() -> Record {
        let mut findings = Findings::default();
        let seconds = |name: &str, value| Quantity::new(name, value, "s");
        findings.ratio("theirs to ours", seconds("theirs", 7.36), seconds("ours", 0.8), Some(Bar::AtLeast(10.0)));
        findings.ratio("tiles to floor", seconds("tiles", 1.65), seconds("floor", 1.5), Some(Bar::AtMost(1.1)));
        findings.note("Memory was warm.");
        findings.check("eigenvalues", 0.0, 1e-4).unwrap();
        let machine = Machine {
            cpu: "Some CPU".to_owned(),
            processors: 2,
            instruction_set: "avx2".to_owned(),
            memory_bytes: 24_000_000_000,
            load_before: 0.1,
        };
        Record {
            schema: SCHEMA,
            benchmark: "tile_floor".to_owned(),
            date: "2026-01-02".to_owned(),
            commit: "abc".to_owned(),
            quick: false,
            threads: 2,
            machine,
            versions: [("mercer".to_owned(), "0.1.0".to_owned())].into(),
            findings,
        }
    }

    #[test]
    fn a_missed_bar_is_said_and_a_met_one_too() {
        let mut text = String::new();
        section(&mut text, &record());
        assert!(text.starts_with("**1 of 2 bars met.** 1 answers checked."), "{text}");
        assert!(text.contains("| theirs to ours | 7.36 s / 800 ms | 9.2 | at least 10 | **no** |"), "{text}");
        assert!(text.contains("| tiles to floor | 1.65 s / 1.5 s | 1.1 | at most 1.1 | yes |"), "{text}");
        assert!(text.contains("- Memory was warm.\n"), "{text}");
        assert!(text.contains("2 threads of 2 processors, 24 GB"), "{text}");
    }

    #[test]
    fn a_table_has_its_title_and_a_dash_for_what_was_not_measured() {
        let mut table = Table::new("Errors", ["k = 5", "k = 10"]);
        table.row("ours", vec![Some(0.0123), None]);
        let mut text = String::new();
        grid(&mut text, &table);
        assert_eq!(text, "\nErrors:\n\n|  | k = 5 | k = 10 |\n|---|---|---|\n| ours | 0.0123 | - |\n");
    }

    #[test]
    fn a_record_survives_its_file_and_a_quick_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        record().write(folder.path()).unwrap();
        assert_eq!(Record::read(folder.path(), "tile_floor").unwrap(), Some(record()));
        let mut with_table = record();
        let mut table = Table::new("Errors", ["k = 5"]);
        table.row("ours", vec![None]);
        with_table.findings.table(table);
        with_table.write(folder.path()).unwrap();
        assert_eq!(Record::read(folder.path(), "tile_floor").unwrap(), Some(with_table));
        assert_eq!(Record::read(folder.path(), "growth").unwrap(), None);
        Record { quick: true, ..record() }.write(folder.path()).unwrap();
        assert!(Record::read(folder.path(), "tile_floor").is_err());
    }

    #[test]
    fn a_stale_page_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let options = |check| TableOptions {
            records: folder.path().into(),
            page: file("page.md"),
            readme: file("README.md"),
            check,
        };
        let place =
            "<!-- Made by `scripts/bench table` from bench/records; edits are lost. -->\n<!-- Here it ends. -->\n";
        std::fs::write(file("README.md"), place).unwrap();
        run(&options(false)).unwrap();
        run(&options(true)).unwrap();
        let stale = |name: &str| {
            let error = run(&options(true)).unwrap_err().to_string();
            assert_eq!(error, format!("{} is stale; `scripts/bench table` makes it anew", file(name).display()));
            run(&options(false)).unwrap();
        };
        record().write(folder.path()).unwrap();
        stale("page.md");
        Record { benchmark: "python_vs_sklearn".to_owned(), ..record() }.write(folder.path()).unwrap();
        stale("page.md");
        let page = std::fs::read_to_string(file("page.md")).unwrap();
        let of_python = page.split_once("## python_vs_sklearn\n").expect("a section").1;
        assert!(of_python.contains("**1 of 2 bars met.** 1 answers checked.\n\n| | measured"), "{page}");
        let readme = std::fs::read_to_string(file("README.md")).unwrap();
        assert!(readme.contains("\n2 of 4 bars that were set beforehand are met."), "{readme}");
        std::fs::write(file("README.md"), readme.replace("2 of 4 ", "4 of 4 ")).unwrap();
        stale("README.md");
    }

    #[test]
    fn numbers_have_three_digits() {
        let cases = [(1.0, "1"), (0.1234, "0.123"), (12.345, "12.3"), (20_000.0, "20000"), (0.0, "0"), (1.996, "2")];
        for (value, expected) in cases {
            assert_eq!(significant(value), expected);
        }
        assert_eq!(quantity(120e6, "B"), "120 MB");
    }
}
