//! A record for people: what was done, how good it is, and the first components.

use std::fmt::Write;

use mercer::data::Scaling;
use mercer::gram::StoreFormat;
use mercer::record::KernelRecord;
use mercer::{Plan, Precision, RunRecord};

use super::table::{Column, Side, Table, terminal_width};

/// Components that a table shows; the others are in the record.
const SHOWN: usize = 10;
/// The share of the training points whose limits a table shows.
const SHOWN_LEVEL: f64 = 0.99;

/// A compact table of a record.
pub(crate) fn summary(record: &RunRecord) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<10}  {value}");
    };
    line("points", format!("{} of {}", record.n_samples, counted(record.n_features, "feature")));
    line("kernel", kernel(&record.kernel, record.centered));
    line("method", method(record));
    line("residual", residual(record));
    let explained: f64 = record.explained_variance_ratio.iter().sum();
    let explain = if record.n_components == 1 { "explains" } else { "explain" };
    line("variance", format!("{} {explain} {}", counted(record.n_components, "component"), percent(explained)));
    if let Some(time) = time(record) {
        line("time", time);
    }
    line("memory", format!("{} at most", mercer::format_bytes(record.peak_memory_bytes)));
    if let Some(limit) = record.control_limits.as_ref().and_then(|limits| limits.at(SHOWN_LEVEL)) {
        let (error, t_squared) = (short(limit.reconstruction_error), short(limit.t_squared));
        line("limits", format!("{} within reconstruction error {error}, T² {t_squared}", level(SHOWN_LEVEL)));
    }
    for warning in &record.warnings {
        line("warning", warning.clone());
    }
    text.push('\n');
    text.push_str(&components_table(record));
    text
}

/// A line with the names of the columns that were learned from, if they had names; as many as fit on it.
pub(crate) fn columns(names: Option<&[String]>) -> String {
    const WIDTH: usize = 60;
    let Some(names) = names else { return String::new() };
    let mut text = String::new();
    for (place, name) in names.iter().enumerate() {
        let next = format!("{}{}", if place == 0 { "" } else { ", " }, name.escape_debug());
        if text.chars().count() + next.chars().count() > WIDTH && place > 0 {
            let _ = write!(text, ", … ({} in all)", names.len());
            break;
        }
        text.push_str(&next);
    }
    format!("{:<10}  {text}\n", "columns")
}

/// A line that says what is done to new points first, if anything is.
pub(crate) fn scaling(scaling: Option<&Scaling>) -> String {
    let Some(scaling) = scaling else { return String::new() };
    let text = match scaling.common_factor() {
        Some(factor) => format!("every value times {}", short(factor)),
        None => "each column less a shift of its own, times a factor of its own, as by --standardize".to_owned(),
    };
    format!("{:<10}  {text}\n", "scaling")
}

/// A kernel with its parameters.
pub(crate) fn kernel(kernel: &KernelRecord, centered: bool) -> String {
    let degree = kernel.degree.map(f64::from);
    let parameters = [("gamma", kernel.gamma), ("degree", degree), ("coef0", kernel.coef0), ("alpha", kernel.alpha)];
    let mut text = kernel.name.clone();
    for (name, value) in parameters.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        let _ = write!(text, ", {name} {}", short(value));
    }
    if !centered {
        text.push_str(", not centred");
    }
    text
}

/// Whether a model was learned from rows that were seen once, so that nothing could be measured on all of them.
pub(crate) fn is_of_a_stream(record: &RunRecord) -> bool {
    record.residuals.is_empty()
}

fn method(record: &RunRecord) -> String {
    if is_of_a_stream(record) {
        return format!("{} rule, rows seen once, in {}", record.solver, record.precision);
    }
    let passes = counted(record.passes, "pass");
    format!("{} solver, {}, {passes}", record.solver, matrix(&record.gram, record.precision, &record.plan))
}

/// How the entries of a kernel matrix are made and kept.
pub(crate) fn matrix(gram: &str, precision: Precision, plan: &Plan) -> String {
    if plan.store_bytes > 0 && plan.store_format == StoreFormat::Fixed16 {
        return format!("{gram} matrix in 16 bits, made in {precision}");
    }
    format!("{gram} matrix in {precision}")
}

fn residual(record: &RunRecord) -> String {
    if record.residuals.is_empty() {
        return "unknown: rows were seen once".to_owned();
    }
    let largest = record.residuals.iter().copied().fold(0.0, f64::max);
    // Over landmarks nobody has to ask for an accuracy.
    if record.tolerance >= 1.0 {
        return format!("{largest:.1e} at most{}", if record.converged { "" } else { ": not converged" });
    }
    let verdict = if record.converged { "converged" } else { "not converged" };
    let (largest, tolerance) = mercer::format_apart(largest, record.tolerance);
    format!("{largest} at most, asked for {tolerance}: {verdict}")
}

/// The time that a run took; nothing if nobody measured it, as with the model of a stream.
fn time(record: &RunRecord) -> Option<String> {
    let total = record.seconds.get("total")?;
    Some(format!("{} on {}", seconds(*total), counted(record.threads, "thread")))
}

fn components_table(record: &RunRecord) -> String {
    let column = |name, width, rank| Column { name, width, side: Side::Right, rank };
    let columns = [
        column("component", 9, 0),
        column("eigenvalue", 12, 0),
        column("explained", 9, 1),
        column("cumulative", 10, 2),
        column("residual", 8, 0),
    ];
    let mut table = Table::new(&columns, "  ", terminal_width());
    let mut cumulative = 0.0;
    let rows = record.eigenvalues.iter().zip(&record.explained_variance_ratio);
    for (index, (&eigenvalue, &share)) in rows.take(SHOWN).enumerate() {
        cumulative += share;
        let residual = record.residuals.get(index).map_or_else(|| "-".to_owned(), |residual| format!("{residual:.1e}"));
        let (share, cumulative) = (percent(share), percent(cumulative));
        table.row(&[(index + 1).to_string(), significant(eigenvalue), share, cumulative, residual], "");
    }
    let mut text = table.finish();
    if record.eigenvalues.len() > SHOWN {
        let _ = writeln!(text, "{:>9}  and {} more in the record", "…", record.eigenvalues.len() - SHOWN);
    }
    text
}

/// So many of something whose name ends in s if they are several.
pub(crate) fn counted(n: usize, what: &str) -> String {
    match (n, what.ends_with('s')) {
        (1, _) => format!("1 {what}"),
        (_, true) => format!("{n} {what}es"),
        (_, false) => format!("{n} {what}s"),
    }
}

/// A share in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A level in per cent, without digits that say nothing.
pub(crate) fn level(level: f64) -> String {
    format!("{} %", short(100.0 * level))
}

/// Five significant digits.
fn significant(x: f64) -> String {
    const DIGITS: i32 = 5;
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let magnitude = x.abs().log10().floor() as i32;
    if !(-5..9).contains(&magnitude) {
        return format!("{x:.4e}");
    }
    let decimals = (DIGITS - 1 - magnitude).clamp(0, 12) as usize;
    format!("{x:.decimals$}")
}

/// Five significant digits without zeros that say nothing.
pub(crate) fn short(x: f64) -> String {
    let text = significant(x);
    let is_plain = text.contains('.') && !text.contains('e');
    if is_plain { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A time with its unit.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.0995 => format!("{:.0} ms", 1000.0 * s),
        s if s < 99.5 => format!("{s:.2} s"),
        s if s < 5940.0 => format!("{:.1} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_five_digits() {
        for (x, text) in [
            (0.125, "0.12500"),
            (195.8, "195.80"),
            (1234.567, "1234.6"),
            (123_456.7, "123457"),
            (0.001_234_567, "0.0012346"),
            (1.5e-7, "1.5000e-7"),
            (2e12, "2.0000e12"),
            (0.0, "0"),
            (-3.0, "-3.0000"),
        ] {
            assert_eq!(significant(x), text);
        }
        assert_eq!([short(0.125), short(100.0), short(1.5e-7)], ["0.125", "100", "1.5000e-7"]);
    }

    #[test]
    fn a_kernel_is_named_with_its_parameters() {
        let polynomial = KernelRecord {
            name: "polynomial".to_owned(),
            gamma: Some(0.5),
            coef0: Some(1.0),
            degree: Some(3),
            alpha: None,
        };
        assert_eq!(kernel(&polynomial, true), "polynomial, gamma 0.5, degree 3, coef0 1");
        let linear = KernelRecord { name: "linear".to_owned(), gamma: None, coef0: None, degree: None, alpha: None };
        assert_eq!(kernel(&linear, false), "linear, not centred");
    }

    #[test]
    fn as_many_names_of_columns_are_shown_as_fit_on_a_line() {
        assert_eq!(columns(None), "");
        assert_eq!(columns(Some(&["a".to_owned(), "b".to_owned()])), "columns     a, b\n");
        let many: Vec<String> = (0..64).map(|i| format!("pixel{i}")).collect();
        let text = columns(Some(&many));
        assert!(text.ends_with("pixel6, … (64 in all)\n"), "{text}");
    }

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(seconds(0.0123), "12 ms");
        assert_eq!(seconds(3.0), "3.00 s");
        assert_eq!((seconds(600.0), seconds(18_000.0)), ("10.0 min".to_owned(), "5.0 h".to_owned()));
        assert_eq!((counted(1, "feature"), counted(2, "feature")), ("1 feature".to_owned(), "2 features".to_owned()));
        assert_eq!([1, 2].map(|n| counted(n, "complete pass")), ["1 complete pass", "2 complete passes"]);
        assert_eq!(mercer::format_bytes(512), "512 B");
        assert_eq!(mercer::format_bytes(3 << 20), "3.0 MiB");
    }
}
