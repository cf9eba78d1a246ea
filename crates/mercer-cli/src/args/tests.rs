use std::path::Path;

use clap::{CommandFactory, Parser};

use super::{Cli, ColumnName, Command, FitArgs, FitGram, Gamma};

fn parse(words: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("mercer").chain(words.iter().copied()))
}

fn fit(words: &[&str]) -> FitArgs {
    let all: Vec<&str> = ["fit", "points.csv", "-o", "out.mercer"].into_iter().chain(words.iter().copied()).collect();
    match parse(&all).unwrap().command {
        Command::Fit(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn complaint(words: &[&str]) -> String {
    parse(words).unwrap_err().to_string()
}

#[test]
fn the_definition_of_the_flags_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn a_fit_needs_only_data_and_a_place_for_the_model() {
    let args = fit(&[]);
    assert_eq!(args.points, Path::new("points.csv"));
    assert_eq!(args.output.as_deref(), Some(Path::new("out.mercer")));
    assert_eq!(args.kernel.name(), "gaussian");
    assert_eq!(args.solve.n_components, None);
    assert_eq!(args.gram, FitGram::Exact(mercer::GramChoice::Auto));
    assert!(!args.report.json && !args.report.quiet && !args.dry_run);
}

#[test]
fn short_kernel_names_are_accepted() {
    assert_eq!(fit(&["--kernel", "rbf"]).kernel.name(), "rbf");
    assert_eq!(fit(&["--kernel", "poly"]).kernel.name(), "poly");
}

#[test]
fn widths_and_labels_may_start_with_a_minus() {
    // A negative width is wrong, but the library says so better than "unexpected argument '-1'" would.
    assert_eq!(fit(&["--gamma", "-1"]).kernel.gamma, Some(Gamma::Value(-1.0)));
    assert_eq!(fit(&["--label", "-1"]).data.label, Some(ColumnName("-1".to_owned())));
}

#[test]
fn a_wrong_choice_gets_the_nearest_one_suggested() {
    let message = complaint(&["fit", "x.csv", "-o", "m", "--solver", "krilov"]);
    assert!(message.contains("a similar value exists: 'krylov'"), "{message}");
    let message = complaint(&["fit", "x.csv", "-o", "m", "--kernel", "gausian"]);
    assert!(message.contains("a similar value exists: 'gaussian'"), "{message}");
    for (command, flag, wrong, right) in [
        ("fit x.csv -o m", "--gram", "storred", "stored"),
        ("fit x.csv -o m", "--negative", "clp", "clip"),
        ("fit x.csv -o m", "--precision", "f322", "f32"),
        ("fit x.csv -o m", "--progress", "plane", "plain"),
        ("compare x.csv", "--methods", "tiled/krilov", "tiled/krylov"),
        ("completions", "--", "bahs", "bash"),
    ] {
        let words: Vec<&str> = command.split(' ').chain([flag, wrong]).collect();
        let message = complaint(&words);
        assert!(message.contains(&format!("similar value exists: '{right}'")), "{message}");
    }
}

#[test]
fn a_fit_needs_a_place_for_the_model_unless_it_is_only_planned() {
    assert!(complaint(&["fit", "x.csv"]).contains("--output"), "or who would know");
    assert!(parse(&["fit", "x.csv", "--dry-run"]).is_ok());
}

#[test]
fn methods_are_separated_by_commas() {
    let Command::Compare(args) = parse(&["compare", "x.csv", "--methods", "dense,tiled/krylov"]).unwrap().command
    else {
        panic!("another command");
    };
    let names: Vec<String> = args.methods.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["dense", "tiled/krylov"]);
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for words in [
        ["--gamma", "1", "--bandwidth", "2"].as_slice(),
        &["--n-components", "3", "--variance", "0.9"],
        &["--header", "--no-header"],
    ] {
        let all: Vec<&str> = ["fit", "x.csv", "-o", "m"].into_iter().chain(words.iter().copied()).collect();
        let message = complaint(&all);
        assert!(message.contains("cannot be used with"), "{message}");
    }
}

#[test]
fn a_wrong_memory_size_says_what_one_looks_like() {
    let message = complaint(&["fit", "x.csv", "-o", "m", "--memory", "lots"]);
    assert!(message.contains("500MB or 4GiB"), "{message}");
}

/// The words of a line as a shell would hand them over: up to a comment, a pipe or a redirection, without quotes.
fn words_of(line: &str) -> Vec<&str> {
    let line = [" #", " |", " <", " >"].iter().fold(line, |line, end| line.split(end).next().unwrap_or(line));
    line.split_whitespace().map(|word| word.trim_matches('\'')).collect()
}

/// The command lines in the code blocks of a page.
fn command_lines(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    blocks.flat_map(str::lines).filter(|line| line.starts_with("mercer "))
}

#[test]
fn every_command_line_in_the_documentation_is_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documentation = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = documentation.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut understood = 0;
    for page in pages.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in command_lines(&text) {
            let words = words_of(line);
            if let Err(error) = parse(&words[1..]) {
                panic!("{}: {line}\n{error}", page.display());
            }
            understood += 1;
        }
    }
    assert!(understood >= 25, "{understood} lines: the search for them is broken, or the pages are");
}
