//! Findings for people: the table of a run, and the page that is kept of it.

use std::fmt::Write;

use super::findings::{Claim, Figure, Findings};

fn verdict(claim: &Claim) -> &'static str {
    if claim.agrees { "agrees" } else { "differs" }
}

/// The claims, one after the other.
pub(super) fn table(findings: &Findings) -> String {
    let mut text = format!("{}\n{}\n", findings.title, findings.paper);
    if findings.quick {
        text.push_str("a quick look: fewer points, components and passes than in the paper\n");
    }
    for claim in &findings.claims {
        let _ = write!(text, "\n{:<8} {}\n", verdict(claim), claim.what);
        let _ = write!(text, "         paper: {}\n         here:  {}\n", claim.claimed, claim.found);
    }
    for note in &findings.notes {
        let _ = write!(text, "\nnote     {note}\n");
    }
    text
}

/// The page.
pub(super) fn markdown(findings: &Findings) -> String {
    let mut text = format!("# {}\n\n{}.\n\n", findings.title, findings.paper);
    let quick = if findings.quick { " --quick" } else { "" };
    let _ = write!(text, "`mercer reproduce {} --data DIR{quick}` made this page.\n\n", findings.experiment);
    text.push_str("| claim | paper | here | |\n|---|---|---|---|\n");
    for claim in &findings.claims {
        let _ = writeln!(text, "| {} | {} | {} | {} |", claim.what, claim.claimed, claim.found, verdict(claim));
    }
    if !findings.notes.is_empty() {
        text.push('\n');
        for note in &findings.notes {
            let _ = writeln!(text, "- {note}");
        }
    }
    for figure in &findings.figures {
        let Figure { file, caption, shows_data } = figure;
        let _ = if *shows_data {
            write!(
                text,
                "\n{caption} It shows pictures of the data: a run writes it as `{file}`, but it is not kept here.\n"
            )
        } else {
            write!(text, "\n![{caption}]({file})\n\n{caption}\n")
        };
    }
    text.push_str("\n| setting | value |\n|---|---|\n");
    for setting in &findings.settings {
        let value = setting.value.as_str().map_or_else(|| setting.value.to_string(), str::to_owned);
        let _ = writeln!(text, "| {} | {value} |", setting.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn findings() -> Findings {
        let mut findings = Findings::new("toy", "A toy", "Nobody, figure 1", true);
        findings.setting("points", 3);
        findings.setting("kernel", "linear");
        findings.claim("first is better", "twice as good", 0.5, "half as good", false);
        findings.claim("second is worse", "worse", 2.0, "2 times worse", true);
        findings.note("made up");
        findings.figure("one", "What was seen.");
        findings.figure_of_data("two", "Faces.");
        findings
    }

    #[test]
    fn a_table_has_claims_with_what_came_out_and_a_verdict() {
        assert_eq!(
            table(&findings()),
            "A toy\nNobody, figure 1\na quick look: fewer points, components and passes than in the paper\n\n\
             differs  first is better\n         paper: twice as good\n         here:  half as good\n\n\
             agrees   second is worse\n         paper: worse\n         here:  2 times worse\n\n\
             note     made up\n"
        );
    }

    #[test]
    fn a_page_shows_claims_notes_figures_and_settings() {
        let page = markdown(&findings());
        assert!(page.starts_with("# A toy\n\nNobody, figure 1.\n\n`mercer reproduce toy --data DIR --quick` made"));
        assert!(page.contains("| first is better | twice as good | half as good | differs |\n"));
        assert!(page.contains("\n- made up\n\n![What was seen.](toy-one.svg)\n"));
        assert!(page.contains(
            "\nFaces. It shows pictures of the data: a run writes it as `toy-two.svg`, but it is not kept here.\n"
        ));
        assert!(page.ends_with("| points | 3 |\n| kernel | linear |\n"));
    }

    #[test]
    fn findings_with_numbers_that_are_not_finite_are_read_back() {
        let mut findings = findings();
        findings.claim("it arrives", "7 passes", f64::INFINITY, "not within the passes made", false);
        findings.series("errors", vec![1.0, f64::NAN]);
        let text = serde_json::to_string(&findings).unwrap();
        let again: Findings = serde_json::from_str(&text).unwrap();
        assert_eq!(again, findings);
        assert_eq!(markdown(&again), markdown(&findings));
    }

    /// Every page that is kept is what its record says, and comes from a complete run.
    #[test]
    fn pages_are_what_their_records_say() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproductions");
        let mut pages = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "json") {
                let findings: Findings = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
                assert_eq!(markdown(&findings), std::fs::read_to_string(path.with_extension("md")).unwrap());
                assert!(!findings.quick, "{} is of a quick look", path.display());
                for figure in &findings.figures {
                    let is_kept = path.with_file_name(&figure.file).is_file();
                    assert_eq!(is_kept, !figure.shows_data, "{}", figure.file);
                }
                pages += 1;
            }
        }
        assert!(pages > 0, "no page was found");
    }

    /// Whoever has the command only finds out from there which files an experiment reads.
    #[test]
    fn every_experiment_and_every_set_is_in_the_index() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproductions");
        let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
        for experiment in crate::args::Experiment::ALL {
            let name = experiment.name();
            assert!(
                index.contains(&format!("| `{name}` |")) && index.contains(&format!("[{name}.md]({name}.md)")),
                "{name}"
            );
            assert!(folder.join(format!("{name}.md")).is_file(), "{name}");
        }
        for set in crate::UCI_SETS {
            assert!(index.contains(&format!("`{set}`")), "{set}");
        }
    }
}
