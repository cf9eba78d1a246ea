//! `mercer report`: a page for every record.

use super::support::{Directory, bent_line};

#[test]
fn a_record_becomes_a_page_beside_it_or_where_it_is_wanted() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -n 3 -o p.mercer --record run.json").done();
    let outcome = directory.run("report run.json").done();
    assert_eq!(outcome.stderr, "report written to run.html\n");
    let page = std::fs::read_to_string(directory.path("run.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Variance that components explain"), "{page}");
    assert_eq!(directory.run("report run.json -o -").done().stdout, page);
    let quiet = directory.run("report run.json -o other.html -q").done();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    // The record of a model, of a comparison and of an error have pages, too.
    for (call, expected) in [
        ("info p.mercer --json", "mercer info"),
        ("compare points.csv --label half -n 2 --json -q", "<h3>methods</h3>"),
        ("plan points.csv --label half -n 2 --json", "because"),
        ("fit none.csv -o x.mercer --json", "It failed: "),
    ] {
        directory.write("r.json", directory.run(call).stdout);
        let page = directory.run("report r.json -o -").done().stdout;
        assert!(page.contains(expected), "{call}: {page}");
    }
}

#[test]
fn what_is_no_record_is_refused_and_nothing_is_written() {
    let directory = Directory::new();
    directory.write("a.json", "{\"command\": ");
    directory.write("b.json", "[1, 2]");
    directory.write("c.json", "{\"command\": \"fit\"}");
    directory.write("d.json", "{\"command\": \"fit\", \"record_version\": 99}");
    for (file, expected) in [
        ("a.json", "a.json: it is no JSON: "),
        ("b.json", "b.json: it is no record of a command"),
        ("c.json", "c.json: it has no record_version"),
        ("d.json", "d.json: its record_version is 99, and this program knows records up to version "),
        ("e.json", "reading e.json: "),
    ] {
        let outcome = directory.run(&format!("report {file} -o page.html"));
        assert_eq!(outcome.code, Some(2), "{file}");
        assert!(outcome.stderr.contains(expected), "{file}: {}", outcome.stderr);
        assert!(!directory.path("page.html").exists());
    }
    let own = directory.run("report c.json -o c.json");
    assert_eq!((own.code, own.stderr.as_str()), (Some(2), "error: c.json is the record: it would be replaced\n"));
    assert_eq!(std::fs::read_to_string(directory.path("c.json")).unwrap(), "{\"command\": \"fit\"}");
}
