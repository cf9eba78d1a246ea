//! Records as JSON: one document per run, the same head for every command.
//!
//! docs/records.md describes every field.

use std::collections::BTreeMap;

use mercer::data::Scaling;
use mercer::record::RECORD_VERSION;
use serde::Serialize;

use crate::failure::{ExitStatus, Failure, Result};

/// The record of a run: who made it and how it ended, then what the command has to say.
#[derive(Serialize)]
struct Document<'a, B> {
    command: &'a str,
    exit_code: u8,
    #[serde(flatten)]
    body: &'a B,
}

/// What the records of all commands have that do not fit a model; a fit's own record has the same fields.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Common {
    record_version: u32,
    version: &'static str,
    /// Seconds of each phase, and in all.
    pub(crate) seconds: BTreeMap<String, f64>,
    peak_memory_bytes: u64,
    /// What the user should know about the answer.
    pub(crate) warnings: Vec<String>,
}

impl Common {
    /// The fields as they are at the end of a run.
    pub(crate) fn new(seconds: BTreeMap<String, f64>, warnings: Vec<String>) -> Self {
        Self {
            record_version: RECORD_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            seconds,
            peak_memory_bytes: mercer::peak_memory(),
            warnings,
        }
    }
}

/// What is done to points before a kernel sees them: one factor for all values, or a shift and a factor for each column.
#[derive(Debug, Serialize)]
pub(crate) struct ScalingRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shift: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<&'a [f64]>,
}

impl<'a> From<&'a Scaling> for ScalingRecord<'a> {
    fn from(scaling: &'a Scaling) -> Self {
        match scaling.common_factor() {
            Some(factor) => Self { scale: Some(factor), shift: None, factor: None },
            None => Self { scale: None, shift: Some(scaling.shift()), factor: Some(scaling.factor()) },
        }
    }
}

/// The record of a run that failed.
#[derive(Serialize)]
struct ErrorBody<'a> {
    record_version: u32,
    version: &'static str,
    error: ErrorRecord<'a>,
}

/// Why it failed.
#[derive(Serialize)]
struct ErrorRecord<'a> {
    kind: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// A record as text for machines.
pub(crate) fn document<B: Serialize>(command: &str, status: ExitStatus, body: &B) -> Result<String> {
    let document = Document { command, exit_code: status.code(), body };
    let mut text = serde_json::to_string_pretty(&document)
        .map_err(|error| Failure::usage(format!("the record cannot be written as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// The record of a run that failed.
pub(crate) fn failure(command: &str, failure: &Failure) -> Result<String> {
    error(command, failure.status(), failure.kind(), &failure.to_string(), failure.hint())
}

/// The record of a call that could not be understood.
pub(crate) fn wrong_call(command: &str, message: &str) -> Result<String> {
    error(command, ExitStatus::BadInput, "usage", message, None)
}

fn error(command: &str, status: ExitStatus, kind: &str, message: &str, hint: Option<&str>) -> Result<String> {
    let body = ErrorBody {
        record_version: RECORD_VERSION,
        version: env!("CARGO_PKG_VERSION"),
        error: ErrorRecord { kind, message, hint },
    };
    document(command, status, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_document_with_kind_message_and_exit_code() {
        let text = failure("fit", &Failure::usage("no such thing")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["command"], &value["exit_code"]), (&"fit".into(), &2.into()));
        assert_eq!(value["error"], serde_json::json!({ "kind": "usage", "message": "no such thing" }));
        assert_eq!(value["record_version"], RECORD_VERSION);
    }

    #[test]
    fn the_head_comes_first() {
        let text = document("plan", ExitStatus::Done, &Common::new(BTreeMap::new(), Vec::new())).unwrap();
        assert!(text.starts_with("{\n  \"command\": \"plan\",\n  \"exit_code\": 0,\n  \"record_version\""), "{text}");
    }
}
