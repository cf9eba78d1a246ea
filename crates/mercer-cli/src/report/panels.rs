//! The parts of a page, one function each.

use std::fmt::Write;

use serde_json::Value;

use super::html::{Cell, Panel, list, paragraph, table};
use super::{Record, asked, numbers};
use crate::output::summary::{counted, percent, seconds as as_seconds, short};
use crate::picture::{Curve, Curves, Scree, escaped};

/// Rows of a table; what is beyond them is counted.
const MOST_ROWS: usize = 50;
/// Numbers of a list that are written out.
const MOST_NUMBERS: usize = 12;
/// Fields that other panels show, or the head of the page.
const SHOWN: [&str; 11] = [
    "command",
    "exit_code",
    "record_version",
    "version",
    "error",
    "warnings",
    "eigenvalues",
    "explained_variance_ratio",
    "residuals",
    "plan",
    "seconds",
];

/// What the user should know about the answer.
pub(super) fn warnings(record: &Record) -> Option<Panel> {
    let sentences = texts(record.get("warnings"));
    (!sentences.is_empty()).then(|| Panel::new("What to know", list(&sentences)))
}

/// Eigenvalues and what they explain.
pub(super) fn components(record: &Record) -> Option<Panel> {
    let shares = numbers::list(record.get("explained_variance_ratio"));
    let (values, residuals) = (numbers::list(record.get("eigenvalues")), numbers::list(record.get("residuals")));
    if values.is_empty() {
        return None;
    }
    let mut body = String::new();
    if !shares.is_empty() {
        let subtitle = settings(record);
        let title = "Variance that components explain";
        body = Scree { title, subtitle: &subtitle, explained_variance_ratio: &shares }.to_svg();
    }
    let mut cumulative = 0.0;
    let row = |(index, &value): (usize, &f64)| {
        cumulative += shares.get(index).copied().unwrap_or(0.0);
        let share = |share: f64| if shares.is_empty() { "-".to_owned() } else { percent(share) };
        let residual = residuals.get(index).map_or_else(|| "-".to_owned(), |residual| format!("{residual:.1e}"));
        let own = shares.get(index).copied().unwrap_or(0.0);
        [(index + 1).to_string(), short(value), share(own), share(cumulative), residual].map(Cell::Number).into()
    };
    let rows: Vec<Vec<Cell>> = values.iter().enumerate().take(MOST_ROWS).map(row).collect();
    body += &table(&["component", "eigenvalue", "explained", "cumulative", "residual"], &rows);
    Some(Panel::new("Components", body + &more(values.len())))
}

/// How far components are from eigenvectors, where there are enough of them for a curve.
pub(super) fn residuals(record: &Record) -> Option<Panel> {
    let found = numbers::list(record.get("residuals"));
    if found.len() < 3 {
        return None;
    }
    let points: Vec<(f64, f64)> = found.iter().enumerate().map(|(index, &y)| ((index + 1) as f64, y)).collect();
    let level = asked(record);
    let line = if level.is_some() { "; the line is what was asked for" } else { "" };
    let picture = Curves {
        title: "Residual of each component",
        subtitle: &format!("relative to the first eigenvalue{line}"),
        axes: ("component", "residual"),
        logarithmic: true,
        level,
        lines: &[Curve { name: "residual", points: &points }],
    };
    Some(Panel::new("How far to trust them", picture.to_svg()))
}

/// The criterion of `tune` over the bandwidth.
pub(super) fn criterion(record: &Record) -> Option<Panel> {
    let tuning = record.get("tuning")?;
    let [bandwidths, values] = ["bandwidths", "values"].map(|name| numbers::list(tuning.get(name)));
    if bandwidths.len() < 2 || bandwidths.len() != values.len() {
        return None;
    }
    let points: Vec<(f64, f64)> = bandwidths.iter().zip(&values).map(|(&x, &y)| (x.log10(), y)).collect();
    let name = numbers::of(&tuning["criterion"]);
    let picture = Curves {
        title: "The criterion over the bandwidth",
        subtitle: &settings(record),
        axes: ("logarithm of the bandwidth", &name),
        logarithmic: false,
        level: None,
        lines: &[Curve { name: &name, points: &points }],
    };
    let best = record.get("best_bandwidth").map(numbers::of).unwrap_or_default();
    let told = paragraph("soft", &format!("The best bandwidth is {best}."));
    Some(Panel::new("The width of the kernel", picture.to_svg() + &told))
}

/// What was expected, beside what it took.
pub(super) fn plan(record: &Record) -> Option<Panel> {
    let plan = record.get("plan")?.as_object()?;
    let passes = record.get("passes").map(numbers::of);
    let seconds = record.get("seconds").and_then(|seconds| seconds.get("fit").or_else(|| seconds.get("total")));
    let time = |value: Option<&Value>| value.and_then(Value::as_f64).map_or_else(|| "-".to_owned(), as_seconds);
    let memory =
        |name: &str, from: &Record| from.get(name).map_or_else(|| "-".to_owned(), |value| numbers::named(name, value));
    let rows = [
        (
            "passes",
            plan.get("expected_passes").map_or_else(|| "-".to_owned(), numbers::of),
            passes.unwrap_or_else(|| "-".to_owned()),
        ),
        ("time", time(plan.get("expected_seconds")), time(seconds)),
        ("memory", memory("expected_memory_bytes", plan), memory("peak_memory_bytes", record)),
    ];
    let rows: Vec<Vec<Cell>> = rows
        .into_iter()
        .map(|(what, expected, found)| vec![Cell::Text(what.to_owned()), Cell::Number(expected), Cell::Number(found)])
        .collect();
    let body = table(&["", "expected", "it took"], &rows) + &list(&texts(plan.get("reasons")));
    let note = paragraph("soft", "Expected memory is beyond the data, what it took that of the whole process.");
    Some(Panel::new("The plan, and why", body + &note))
}

/// Where the time went.
pub(super) fn seconds(record: &Record) -> Option<Panel> {
    let phases = record.get("seconds")?.as_object()?;
    let total = phases.get("total").and_then(Value::as_f64)?;
    let mut rows: Vec<(&String, f64)> =
        phases.iter().filter_map(|(phase, value)| Some((phase, value.as_f64()?))).collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let rows: Vec<Vec<Cell>> = rows
        .into_iter()
        .map(|(phase, value)| {
            let share = if total > 0.0 { value / total } else { 0.0 };
            vec![Cell::Text(phase.clone()), Cell::Number(as_seconds(value)), Cell::Bar(share)]
        })
        .collect();
    Some(Panel::new("Time", table(&["phase", "time", ""], &rows)))
}

/// Everything that is one value, or a list of such.
pub(super) fn facts(record: &Record) -> Option<Panel> {
    let text = |name: &str, value: &Value| match value {
        Value::Object(_) => None,
        Value::Array(items) => items.iter().all(is_single).then(|| few(items)),
        single => Some(numbers::named(name, single)),
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (name, value) in record.iter().filter(|(name, _)| !SHOWN.contains(&name.as_str())) {
        let whole = match value {
            Value::Object(parts) => {
                let parts = parts.iter().filter_map(|(part, value)| Some(format!("{part} {}", text(part, value)?)));
                Some(parts.collect::<Vec<_>>().join("; ")).filter(|parts| !parts.is_empty())
            }
            other => text(name, other),
        };
        rows.extend(whole.map(|whole| vec![Cell::Text(name.replace('_', " ")), Cell::Text(whole)]));
    }
    (!rows.is_empty()).then(|| Panel::new("Settings and counts", table(&[], &rows)))
}

fn is_single(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// Lists whose entries have parts: methods that were compared, claims, the history of a learner.
pub(super) fn others(record: &Record) -> Option<Panel> {
    let mut body = String::new();
    let parts = |name: &String, value: &Value| match value {
        Value::Array(items) => vec![(name.clone(), items.clone())],
        Value::Object(inner) => {
            let lists =
                inner.iter().filter_map(|(part, value)| Some((format!("{name}: {part}"), value.as_array()?.clone())));
            lists.collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in record.iter().filter(|(name, _)| !SHOWN.contains(&name.as_str())) {
        for (name, items) in parts(name, value) {
            if items.iter().any(Value::is_object) {
                let name = escaped(&name.replace('_', " "));
                let _ = write!(body, "<h3>{name}</h3>{}", of_objects(&items));
            }
        }
    }
    (!body.is_empty()).then(|| Panel::new("In detail", body))
}

/// A table of entries that have the same parts, mostly.
fn of_objects(items: &[Value]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for part in items.iter().filter_map(Value::as_object).flat_map(|item| item.keys()) {
        if !names.contains(&part.as_str()) {
            names.push(part);
        }
    }
    let cell = |item: &Value, name: &str| match &item[name] {
        Value::Null if item.get(name).is_none() => Cell::Text(String::new()),
        Value::Array(parts) => Cell::Text(few(parts)),
        value @ Value::Number(_) => Cell::Number(numbers::named(name, value)),
        value => Cell::Text(numbers::of(value)),
    };
    let rows: Vec<Vec<Cell>> =
        items.iter().take(MOST_ROWS).map(|item| names.iter().map(|name| cell(item, name)).collect()).collect();
    let heads: Vec<String> = names.iter().map(|name| name.replace('_', " ")).collect();
    table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), &rows) + &more(items.len())
}

/// The first values of a list, and how many there are.
fn few(items: &[Value]) -> String {
    let shown: Vec<String> = items.iter().take(MOST_NUMBERS).map(numbers::of).collect();
    let rest = if items.len() > MOST_NUMBERS { format!(", … ({} in all)", items.len()) } else { String::new() };
    shown.join(", ") + &rest
}

/// What a table has no room for.
fn more(n: usize) -> String {
    if n <= MOST_ROWS {
        String::new()
    } else {
        paragraph("soft", &format!("{} more are in the record.", n - MOST_ROWS))
    }
}

/// Data and kernel, in a line.
fn settings(record: &Record) -> String {
    let mut parts = Vec::new();
    let count = |name: &str| record.get(name).and_then(Value::as_u64).map(|n| n as usize);
    if let (Some(n), Some(d)) = (count("n_samples"), count("n_features")) {
        parts.push(format!("{} with {}", counted(n, "point"), counted(d, "feature")));
    }
    if let Some(kernel) = record.get("kernel").and_then(Value::as_object) {
        let gamma = kernel.get("gamma").map(|gamma| format!(", gamma {}", numbers::of(gamma))).unwrap_or_default();
        parts.push(format!("{} kernel{gamma}", kernel.get("name").map(numbers::of).unwrap_or_default()));
    }
    parts.join(", ")
}

fn texts(value: Option<&Value>) -> Vec<String> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
