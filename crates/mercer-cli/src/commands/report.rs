//! `mercer report`: the page of a record.

use std::fs;
use std::path::Path;

use mercer::record::RECORD_VERSION;
use serde_json::{Map, Value};

use crate::args::PageArgs;
use crate::console::{Console, print};
use crate::failure::{ExitStatus, Failure, InputError, Result};
use crate::{output, report};

/// Runs the command.
pub(super) fn run(args: &PageArgs) -> Result<ExitStatus> {
    let path = args.output.clone().unwrap_or_else(|| args.record.with_extension("html"));
    if path == args.record {
        return Err(Failure::usage(format!("{} is the record: it would be replaced", path.display())));
    }
    let text = fs::read_to_string(&args.record).map_err(Failure::file("reading", &args.record))?;
    let page = report::render(&parsed(&args.record, &text)?);
    if path == Path::new("-") {
        print(&page)?;
    } else {
        output::write_text(&path, &page)?;
        Console::new(args.quiet).note(&format!("report written to {}", path.display()));
    }
    Ok(ExitStatus::Done)
}

/// The fields of a record, or what is wrong with the file.
fn parsed(path: &Path, text: &str) -> Result<Map<String, Value>> {
    let wrong = |problem: String| InputError::new(&path.display().to_string(), problem);
    let hint = "`--record FILE` of any command writes one; `mercer info MODEL --record FILE` that of a model";
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return Err(wrong(format!("it is no JSON: {error}")).hint(hint.to_owned()).into()),
    };
    match value {
        Value::Object(record) if record.get("command").is_some_and(Value::is_string) => {
            match record.get("record_version").and_then(Value::as_u64) {
                Some(version) if version <= u64::from(RECORD_VERSION) => Ok(record),
                Some(version) => Err(wrong(format!(
                    "its record_version is {version}, and this program knows records up to version {RECORD_VERSION}"
                ))
                .into()),
                None => Err(wrong("it has no record_version".to_owned()).hint(hint.to_owned()).into()),
            }
        }
        _ => Err(wrong("it is no record of a command".to_owned()).hint(hint.to_owned()).into()),
    }
}
