//! Numbers of a record as people read them.

use serde_json::Value;

use crate::output::summary::short;

/// A single value as text; what has parts is empty.
pub(super) fn of(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => number.as_f64().map_or_else(|| number.to_string(), short),
        },
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => String::new(),
    }
}

/// A value under its name: sizes in units that people know.
pub(super) fn named(name: &str, value: &Value) -> String {
    match value.as_u64() {
        Some(bytes) if name.ends_with("_bytes") => mercer::format_bytes(bytes),
        _ => of(value),
    }
}

/// The numbers of a list; none if it is no list of numbers.
pub(super) fn list(value: Option<&Value>) -> Vec<f64> {
    let Some(Value::Array(items)) = value else { return Vec::new() };
    items.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>().unwrap_or_default()
}
