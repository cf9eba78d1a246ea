use serde_json::{Value, json};

use super::render;

fn page(record: &Value) -> String {
    render(record.as_object().expect("a record has fields"))
}

fn fit() -> Value {
    json!({
        "command": "fit", "exit_code": 0, "record_version": 2, "version": "0.1.0", "data": "a <b>.csv",
        "n_samples": 100, "n_features": 3, "n_components": 3, "kernel": { "name": "gaussian", "gamma": 0.25 },
        "eigenvalues": [40.0, 20.0, 10.0], "explained_variance_ratio": [0.5, 0.25, 0.125],
        "residuals": [1e-7, 2e-7, 3e-6], "tolerance": 1e-5, "converged": true, "passes": 4,
        "seconds": { "fit": 0.75, "read": 0.25, "total": 1.0 }, "peak_memory_bytes": 1_048_576,
        "plan": { "expected_passes": 5, "expected_seconds": 1.5, "expected_memory_bytes": 2048, "reasons": ["because it is small"] },
        "warnings": ["look twice"]
    })
}

#[test]
fn a_fit_has_its_verdict_its_components_its_plan_and_its_warnings() {
    let page = page(&fit());
    for expected in [
        "<h1>mercer fit: a &lt;b&gt;.csv</h1>",
        "Done: the largest residual is 3.0e-6, and 1.0e-5 was asked for.",
        "<li>look twice</li>",
        "3 components explain 87.5 percent of the variance.",
        "<td class=\"number\">40</td><td class=\"number\">50.0 %</td><td class=\"number\">50.0 %</td><td class=\"number\">1.0e-7</td>",
        "<td class=\"number\">87.5 %</td><td class=\"number\">3.0e-6</td>",
        "Residual of each component",
        "<td>passes</td><td class=\"number\">5</td><td class=\"number\">4</td>",
        "<li>because it is small</li>",
        "style=\"width: 75%\"",
        "<td>kernel</td><td>gamma 0.25; name gaussian</td>",
    ] {
        assert!(page.contains(expected), "{expected} is not in\n{page}");
    }
    assert_eq!(page.matches("<section>").count(), page.matches("</section>").count());
    // It is complete in itself: nothing is loaded, and nothing runs.
    assert!(
        !page.contains("<script") && !page.contains("src=") && !page.contains("@import") && !page.contains("href=")
    );
}

#[test]
fn what_is_not_in_the_record_is_not_on_the_page() {
    let record =
        json!({ "command": "transform", "exit_code": 0, "record_version": 2, "version": "0.1.0", "n_samples": 7 });
    let page = page(&record);
    assert!(
        page.contains("<h1>mercer transform</h1>") && page.contains("Done.") && page.contains("<td>7</td>"),
        "{page}"
    );
    for absent in ["Components", "The plan", "Time", "What to know", "trust", "In detail"] {
        assert!(!page.contains(absent), "{absent}");
    }
}

#[test]
fn an_error_is_told_and_a_run_that_was_stopped_too() {
    let error = json!({ "command": "fit", "exit_code": 2, "record_version": 2, "version": "0.1.0", "error": { "kind": "usage", "message": "no such file" } });
    assert!(page(&error).contains("It failed: no such file."));
    let mut stopped = fit();
    stopped["exit_code"] = json!(1);
    assert!(page(&stopped).contains("Done, but not converged or interrupted: the largest residual"));
    // One that is just above what was asked for does not look like it.
    stopped["residuals"] = json!([1e-7, 2e-7, 1.004e-5]);
    assert!(page(&stopped).contains("the largest residual is 1.004e-5, and 1.000e-5 was asked for."));
}

#[test]
fn where_nothing_was_asked_for_the_residual_is_told_without_it() {
    // Landmarks without an accuracy.
    let mut record = fit();
    record["tolerance"] = json!(1.0);
    let page = page(&record);
    assert!(page.contains("Done: the largest residual is 3.0e-6.") && !page.contains("asked for"), "{page}");
}

#[test]
fn lists_of_entries_become_tables_whatever_their_fields() {
    let record = json!({
        "command": "compare", "exit_code": 0, "record_version": 2, "version": "0.1.0",
        "methods": [{ "method": "tiled", "passes": 3 }, { "method": "dense", "problem": "<too large>" }],
        "hebbian": { "gain": "et", "history": [{ "updates": 10, "gains": [1.0, 2.0] }] }
    });
    let page = page(&record);
    assert!(page.contains("<th>method</th><th class=\"number\">passes</th><th>problem</th>"), "{page}");
    assert!(page.contains("<tr><td>dense</td><td></td><td>&lt;too large&gt;</td></tr>"), "{page}");
    assert!(page.contains("<h3>hebbian: history</h3>") && page.contains("<td>1, 2</td>"), "{page}");
    assert!(page.contains("<td>gain et</td>"), "{page}");
}

#[test]
fn long_lists_are_cut_and_counted() {
    let mut record = fit();
    record["eigenvalues"] = json!(vec![1.0; 60]);
    record["numbers"] = json!((0..40).collect::<Vec<_>>());
    let page = page(&record);
    assert!(page.contains("10 more are in the record.") && page.contains("11, … (40 in all)"), "{page}");
}

#[test]
fn the_curve_of_a_search_is_drawn_over_the_logarithm() {
    let record = json!({
        "command": "tune", "exit_code": 0, "record_version": 2, "version": "0.1.0", "best_bandwidth": 10.0,
        "tuning": { "criterion": "variance", "bandwidths": [1.0, 10.0, 100.0], "values": [0.1, 0.3, 0.2] }
    });
    let page = page(&record);
    assert!(page.contains("The criterion over the bandwidth") && page.contains("The best bandwidth is 10."), "{page}");
    assert!(page.contains("<polyline"), "{page}");
}

#[test]
fn odd_values_do_no_harm() {
    let record = json!({
        "command": "fit", "exit_code": "?", "record_version": 2, "version": 3, "eigenvalues": [null, 1.0], "residuals": "none",
        "explained_variance_ratio": [], "seconds": { "total": null }, "plan": 7, "warnings": [1, 2], "tuning": [], "x": { "y": { "z": [1] } }
    });
    assert!(page(&record).contains("It did not come to an end."));
}
