//! The page of a record: everything that it holds, with pictures of what has a shape.
//!
//! [`render`] is a pure function of the record: no clock, no files, no network. The page opens from a disk in ten years, with or without scripts
//! (it has none), on paper and in the dark. Panels are functions from the record to a part of the page, or to none where the record has nothing for
//! them; fields that no panel knows are shown all the same.

mod html;
mod numbers;
mod panels;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::html::Panel;

/// A record as it is read.
pub(crate) type Record = Map<String, Value>;

/// The page of a record.
pub(crate) fn render(record: &Record) -> String {
    let words = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default();
    let subject =
        ["data", "experiment", "image", "known", "model"].into_iter().map(words).find(|name| !name.is_empty());
    let title = match subject {
        Some(subject) => format!("mercer {}: {subject}", words("command")),
        None => format!("mercer {}", words("command")),
    };
    let about = format!(
        "Written by mercer {} from a record of version {}.",
        words("version"),
        numbers::of(&record["record_version"])
    );
    let introduction = html::paragraph("verdict", &verdict(record)) + &html::paragraph("soft", &about);
    let all: [fn(&Record) -> Option<Panel>; 8] = [
        panels::warnings,
        panels::components,
        panels::residuals,
        panels::criterion,
        panels::plan,
        panels::seconds,
        panels::facts,
        panels::others,
    ];
    let shown: Vec<Panel> = all.iter().filter_map(|panel| panel(record)).collect();
    html::page(&title, &introduction, &shown)
}

/// How the run ended, in a sentence.
fn verdict(record: &Record) -> String {
    if let Some(message) = record.get("error").and_then(|error| error["message"].as_str()) {
        return format!("It failed: {message}.");
    }
    let how = match record.get("exit_code").and_then(Value::as_u64) {
        Some(0) => "Done",
        Some(1) => "Done, but not converged or interrupted",
        Some(3) => "It would not have fitted the memory budget",
        Some(130) => "It was interrupted with nothing to save",
        _ => "It did not come to an end",
    };
    let residuals = numbers::list(record.get("residuals"));
    let largest = residuals.iter().copied().fold(0.0, f64::max);
    if residuals.is_empty() {
        return format!("{how}.");
    }
    match asked(record) {
        Some(tolerance) => {
            let (largest, tolerance) = mercer::format_apart(largest, tolerance);
            format!("{how}: the largest residual is {largest}, and {tolerance} was asked for.")
        }
        None => format!("{how}: the largest residual is {largest:.1e}."),
    }
}

/// What residuals had to reach, if anything was asked for: over landmarks nobody has to, and the tolerance is one.
fn asked(record: &Record) -> Option<f64> {
    record.get("tolerance").and_then(Value::as_f64).filter(|&tolerance| tolerance < 1.0)
}
