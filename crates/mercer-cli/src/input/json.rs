//! A line of JSON: what it holds, or why it is none.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::map::{Entry, Map};
use serde_json::{Value, from_slice};

use super::{STANDARD_INPUT, advice};
use crate::failure::{InputError, Place};

/// What a message about a number that f64 does not reach begins with.
const OUT_OF_RANGE: &str = "number out of range";

/// The value that a line is, in which no field of an object stands twice: nobody could say which of the two is meant.
pub(super) fn parsed(text: &[u8], line: u64) -> Result<Value, InputError> {
    let place = || Place { line, ..Place::default() };
    let complaint = |error: serde_json::Error| {
        let (shown, column) = (advice::quoted(&text[..text.len().min(40)]), error.column());
        // It is JSON all the same, of which nothing but these words tells.
        if error.to_string().starts_with(OUT_OF_RANGE) {
            let problem = format!("{shown} has a number that is out of range (column {column})");
            let hint = format!("no number may be beyond {:e}", f64::MAX);
            return InputError::new(STANDARD_INPUT, problem).at(place()).hint(hint);
        }
        InputError::new(STANDARD_INPUT, format!("{shown} is not JSON (column {column})"))
            .at(place())
            .hint("every line must be an array of numbers or an object with numbers")
    };
    if !text.starts_with(b"{") {
        return from_slice(text).map_err(complaint);
    }
    let Fields { fields, repeated } = from_slice(text).map_err(complaint)?;
    match repeated {
        None => Ok(Value::Object(fields)),
        Some(name) => {
            let problem = format!("the field {} is there twice", advice::quoted(name.as_bytes()));
            Err(InputError::new(STANDARD_INPUT, problem).at(place()).hint("give every field of a row once"))
        }
    }
}

/// The fields of an object, and the first that it names again.
#[derive(Default)]
struct Fields {
    fields: Map<String, Value>,
    repeated: Option<String>,
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldByField)
    }
}

/// Takes fields as they come; a map would keep the last of two without a word.
struct FieldByField;

impl<'de> Visitor<'de> for FieldByField {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Fields, A::Error> {
        let mut found = Fields::default();
        while let Some((name, value)) = access.next_entry::<String, Value>()? {
            match found.fields.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(place) => {
                    found.repeated.get_or_insert_with(|| place.key().clone());
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_any_other_reader_takes_it_for() {
        for text in ["{}", "{\"b\": [1, {\"c\": null}], \"a\": -1e3}", "[1, 2.5]", "7", "\"x\"", "null"] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parsed(text.as_bytes(), 1).unwrap(), expected, "{text}");
        }
        for text in ["", "{", "{\"a\"}", "{\"a\": 1} x", "[1", "{1: 2}"] {
            let complaint = parsed(text.as_bytes(), 3).unwrap_err().to_string();
            assert!(complaint.starts_with("standard input, line 3: ") && complaint.contains("not JSON"), "{complaint}");
        }
    }

    #[test]
    fn a_field_that_is_named_twice_is_refused_by_its_name() {
        let repeated = |text: &str| parsed(text.as_bytes(), 2).unwrap_err().to_string();
        for text in
            ["{\"a\": 1, \"b\": 2, \"a\": 1}", "{\"a\": 1, \"\\u0061\": 2}", "{\"a\": 1, \"a\": 2, \"b\": 3, \"b\": 4}"]
        {
            assert_eq!(repeated(text), "standard input, line 2: the field \"a\" is there twice", "{text}");
        }
        // One of another object is another one.
        assert!(parsed(b"{\"a\": 1, \"b\": {\"a\": 2}}", 2).is_ok());
    }
}
