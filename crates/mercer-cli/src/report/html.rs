//! Just enough HTML.

use std::fmt::Write;

use crate::picture::escaped;

/// What the page looks like, on paper and in both colour schemes; nothing is loaded from elsewhere.
const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6577; --line: #d9dee7; --paper: #ffffff; --accent: #3b6fb6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #a3acbb; --line: #3a4252; --paper: #161a22; --accent: #7aa7e6; } }
body { font: 16px/1.5 Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif; color: var(--ink); background: var(--paper); max-width: 56rem; margin: 2.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0.2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.soft { color: var(--soft); } .verdict { font-size: 1.05rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } th, td { padding: 0.2rem 0.9rem 0.2rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; } .wide { overflow-x: auto; }
.bar { background: var(--accent); height: 0.7rem; border-radius: 2px; min-width: 1px; } td.share { width: 14rem; }
svg { max-width: 100%; height: auto; } li { margin: 0.25rem 0; }
@media print { body { margin: 0; max-width: none; } h2 { break-after: avoid; } svg, tr { break-inside: avoid; } }";

/// A part of the page.
pub(super) struct Panel {
    pub(super) title: String,
    /// What stands under the title.
    pub(super) body: String,
}

impl Panel {
    pub(super) fn new(title: &str, body: String) -> Self {
        Self { title: title.to_owned(), body }
    }
}

/// A whole page.
pub(super) fn page(title: &str, introduction: &str, panels: &[Panel]) -> String {
    let title = escaped(title);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>{title}</h1>\n{introduction}\n"
    );
    for panel in panels {
        let _ = writeln!(text, "<section>\n<h2>{}</h2>\n{}\n</section>", escaped(&panel.title), panel.body);
    }
    text.push_str("</body>\n</html>\n");
    text
}

/// What stands in a place of a table.
pub(super) enum Cell {
    Text(String),
    Number(String),
    /// A bar of this share of the width.
    Bar(f64),
}

/// A table; numbers stand to the right.
pub(super) fn table(names: &[&str], rows: &[Vec<Cell>]) -> String {
    let mut text = String::from("<div class=\"wide\"><table>\n");
    if !names.is_empty() {
        let is_number = |column: usize| rows.iter().any(|row| matches!(row.get(column), Some(Cell::Number(_))));
        let heads = names.iter().enumerate().map(|(column, name)| {
            let class = if is_number(column) { " class=\"number\"" } else { "" };
            format!("<th{class}>{}</th>", escaped(name))
        });
        let _ = writeln!(text, "<tr>{}</tr>", heads.collect::<String>());
    }
    for row in rows {
        let cells = row.iter().map(|cell| match cell {
            Cell::Text(words) => format!("<td>{}</td>", escaped(words)),
            Cell::Number(digits) => format!("<td class=\"number\">{}</td>", escaped(digits)),
            Cell::Bar(share) => {
                let percent = (100.0 * share.clamp(0.0, 1.0)).round();
                format!("<td class=\"share\"><div class=\"bar\" style=\"width: {percent}%\"></div></td>")
            }
        });
        let _ = writeln!(text, "<tr>{}</tr>", cells.collect::<String>());
    }
    text.push_str("</table></div>");
    text
}

/// Sentences, one below the other.
pub(super) fn list(sentences: &[String]) -> String {
    let mut text = String::from("<ul>\n");
    for sentence in sentences {
        let _ = writeln!(text, "<li>{}</li>", escaped(sentence));
    }
    text.push_str("</ul>");
    text
}

/// A paragraph.
pub(super) fn paragraph(class: &str, words: &str) -> String {
    format!("<p class=\"{class}\">{}</p>", escaped(words))
}
