//! What is written for every row, as soon as it has been learned.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use mercer::online::Seen;

use crate::args::{Emit, EmitFormat};
use crate::failure::{Failure, Result};
use crate::output::number;

/// Writes rows to standard output.
pub(super) struct Emitter {
    what: Vec<Emit>,
    format: EmitFormat,
    text: String,
    has_header: bool,
}

impl Emitter {
    /// An emitter of these things, in this order.
    pub(super) fn new(what: &[Emit], format: EmitFormat) -> Self {
        Self { what: what.to_vec(), format, text: String::new(), has_header: false }
    }

    /// Takes down what a row was; it is written at the next [`flush`](Self::flush).
    pub(super) fn row(&mut self, line: u64, seen: &Seen) {
        match self.format {
            _ if self.what.is_empty() => {}
            EmitFormat::Csv => self.csv(line, seen),
            EmitFormat::Ndjson => self.ndjson(line, seen),
        }
    }

    /// Writes all that was taken down.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let result = stdout.write_all(self.text.as_bytes()).and_then(|()| stdout.flush());
        self.text.clear();
        result.map_err(Failure::StandardOutput)
    }

    fn csv(&mut self, line: u64, seen: &Seen) {
        if !std::mem::replace(&mut self.has_header, true) {
            let names = self.what.iter().flat_map(|what| match what {
                Emit::Line => vec!["line".to_owned()],
                Emit::Scores => (1..=seen.outputs.len()).map(|p| format!("pc{p}")).collect(),
                Emit::Novelty => vec!["novelty".to_owned()],
            });
            self.text.push_str(&names.collect::<Vec<_>>().join(","));
            self.text.push('\n');
        }
        let mut between = "";
        for what in &self.what {
            let fields = match what {
                Emit::Line => vec![line.to_string()],
                Emit::Scores => seen.outputs.iter().map(|&y| number(y)).collect(),
                Emit::Novelty => vec![number(seen.novelty)],
            };
            for field in fields {
                let _ = write!(self.text, "{between}{field}");
                between = ",";
            }
        }
        self.text.push('\n');
    }

    fn ndjson(&mut self, line: u64, seen: &Seen) {
        let fields = self.what.iter().map(|what| match what {
            Emit::Line => format!("\"line\":{line}"),
            Emit::Scores => {
                format!("\"scores\":[{}]", seen.outputs.iter().map(|&y| number(y)).collect::<Vec<_>>().join(","))
            }
            Emit::Novelty => format!("\"novelty\":{}", number(seen.novelty)),
        });
        let _ = writeln!(self.text, "{{{}}}", fields.collect::<Vec<_>>().join(","));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(format: EmitFormat, what: &[Emit]) -> String {
        let mut emitter = Emitter::new(what, format);
        for line in [3, 4] {
            emitter.row(line, &Seen { outputs: vec![0.5, -1e-9], novelty: 2.0 });
        }
        emitter.text
    }

    #[test]
    fn rows_have_what_was_asked_for_in_that_order() {
        assert_eq!(
            text(EmitFormat::Csv, &[Emit::Line, Emit::Scores, Emit::Novelty]),
            "line,pc1,pc2,novelty\n3,0.5,-1e-9,2\n4,0.5,-1e-9,2\n"
        );
        assert_eq!(text(EmitFormat::Csv, &[Emit::Novelty]), "novelty\n2\n2\n");
        let json = text(EmitFormat::Ndjson, &[Emit::Scores, Emit::Novelty]);
        assert_eq!(json.lines().next(), Some("{\"scores\":[0.5,-1e-9],\"novelty\":2}"));
        assert!(json.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{json}");
        assert_eq!(text(EmitFormat::Csv, &[]), "");
    }
}
