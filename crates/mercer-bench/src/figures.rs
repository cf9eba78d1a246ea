//! The figures of the README, made from the records: what is typed by hand is wrong after the next run.

use std::fmt::Write;
use std::path::Path;

use crate::benchmarks::Benchmark;
use crate::failure::{Failure, Result};
use crate::record::{Quantity, Ratio, Record};
use crate::table::quantity;

/// Between these lines nothing is written by hand.
const BEGIN: &str = "<!-- Made by `scripts/bench table` from bench/records; edits are lost. -->\n";
const END: &str = "<!-- Here it ends. -->\n";

/// A line of the table: a ratio of a record, seen as two numbers.
struct Figure {
    what: &'static str,
    benchmark: Benchmark,
    ratio: &'static str,
    /// Ours, and scikit-learn's if it took part.
    sides: fn(&Ratio) -> (&Quantity, Option<&Quantity>),
}

const FIGURES: [Figure; 5] = [
    Figure {
        what: "fit of 10 000 digits",
        benchmark: Benchmark::FitVsSklearn,
        ratio: "scikit-learn's fastest solver to auto",
        sides: |ratio| (&ratio.divisor, Some(&ratio.dividend)),
    },
    Figure {
        what: "scores of 10 000 new digits",
        benchmark: Benchmark::TransformVsSklearn,
        ratio: "scikit-learn's transform to ours",
        sides: |ratio| (&ratio.divisor, Some(&ratio.dividend)),
    },
    Figure {
        what: "memory that those scores take",
        benchmark: Benchmark::TransformVsSklearn,
        ratio: "memory of ours to scikit-learn's",
        sides: |ratio| (&ratio.dividend, Some(&ratio.divisor)),
    },
    Figure {
        what: "fit of all 60 000 digits within 2 GiB",
        benchmark: Benchmark::MnistFull,
        ratio: "tiled fit to the floor",
        sides: |ratio| (&ratio.dividend, None),
    },
    Figure {
        what: "fit of all 60 000 digits within 12 GiB",
        benchmark: Benchmark::MnistFull,
        ratio: "stored to tiled, f32",
        sides: |ratio| (&ratio.dividend, None),
    },
];

/// The README with its figures made anew; `bars` are those met and all of them.
pub(crate) fn insert(readme: &str, path: &Path, records: &[&Record], bars: (usize, usize)) -> Result<String> {
    let place = readme.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = place else {
        let problem = format!("has no place for figures: a line {:?} and, below it, {:?}", BEGIN.trim(), END.trim());
        return Err(Failure::Data { path: path.to_owned(), problem });
    };
    Ok(format!("{before}{BEGIN}{}{END}{after}", figures(records, bars)?))
}

fn figures(records: &[&Record], (met, all): (usize, usize)) -> Result<String> {
    let mut text =
        String::from("| MNIST digits, gaussian kernel, 50 components | Mercer | scikit-learn |\n|---|---|---|\n");
    let mut machines: Vec<String> = Vec::new();
    for figure in &FIGURES {
        let Some(record) = records.iter().find(|record| record.benchmark == figure.benchmark.name()) else { continue };
        let Some(ratio) = record.findings.ratios.iter().find(|ratio| ratio.what == figure.ratio) else {
            let problem = format!("has no ratio {:?}", figure.ratio);
            return Err(Failure::Data { path: format!("{}.json", record.benchmark).into(), problem });
        };
        let (ours, theirs) = (figure.sides)(ratio);
        let side = |side: &Quantity| quantity(side.value, &side.unit);
        let _ =
            writeln!(text, "| {} | {} | {} |", figure.what, side(ours), theirs.map_or_else(|| "-".to_owned(), side));
        let machine =
            format!("{} threads ({}, {})", record.threads, record.machine.cpu, record.machine.instruction_set);
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let on = if machines.is_empty() { String::new() } else { format!("On {}. ", machines.join("; ")) };
    let _ = write!(text, "\n{on}{met} of {all} bars that were set beforehand are met.\n");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Findings;
    use crate::table::tests::record;

    fn transform() -> Record {
        let mut findings = Findings::default();
        let seconds = |value| Quantity::new("time", value, "s");
        findings.ratio("scikit-learn's transform to ours", seconds(4.2), seconds(1.1), None);
        let bytes = |value| Quantity::new("peak", value, "B");
        findings.ratio("memory of ours to scikit-learn's", bytes(63e6), bytes(778e6), None);
        Record { benchmark: "transform_vs_sklearn".to_owned(), findings, ..record() }
    }

    #[test]
    fn figures_stand_between_their_marks_and_nothing_else_changes() {
        let readme = format!("# Title\n\n{BEGIN}old\n{END}\nThe end.\n");
        let transform = transform();
        let records = [&transform];
        let made = insert(&readme, Path::new("README.md"), &records, (3, 5)).unwrap();
        let expected = "| scores of 10 000 new digits | 1.1 s | 4.2 s |\n| memory that those scores take | 63 MB | 778 MB |\n\n\
                        On 2 threads (Some CPU, avx2). 3 of 5 bars that were set beforehand are met.\n";
        assert!(made.starts_with("# Title\n\n<!-- Made by") && made.ends_with("-->\n\nThe end.\n"), "{made}");
        assert!(made.contains(expected) && !made.contains("old"), "{made}");
        assert_eq!(insert(&made, Path::new("README.md"), &records, (3, 5)).unwrap(), made);
    }

    #[test]
    fn a_readme_without_a_place_and_a_record_without_the_ratio_are_refused() {
        let error = insert("# Title\n", Path::new("README.md"), &[], (0, 0)).unwrap_err().to_string();
        assert!(error.starts_with("README.md: has no place for figures: a line \"<!-- Made by"), "{error}");
        let without = Record { benchmark: "transform_vs_sklearn".to_owned(), ..record() };
        let error = insert(&format!("{BEGIN}{END}"), Path::new("README.md"), &[&without], (0, 0)).unwrap_err();
        assert_eq!(error.to_string(), "transform_vs_sklearn.json: has no ratio \"scikit-learn's transform to ours\"");
    }
}
