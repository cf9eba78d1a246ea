//! Just enough SVG.

use std::fmt::Write;

/// Fonts that look alike on the systems people have.
const FONT: &str = "'Inter', 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

/// A picture under construction.
pub(super) struct Svg {
    body: String,
    width: f64,
    height: f64,
}

/// Which end of a text its position means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) size: f64,
    pub(super) color: &'static str,
    pub(super) bold: bool,
    pub(super) anchor: Anchor,
}

impl Svg {
    /// An empty white picture; `title` and `description` are what a screen reader says.
    pub(super) fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let (title, description) = (escaped(title), escaped(description));
        let body = format!(
            "<title>{title}</title>\n<desc>{description}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        Self { body, width, height }
    }

    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), color: &str, width: f64) {
        let [x1, y1, x2, y2, width] = [x1, y1, x2, y2, width].map(number);
        self.push(&format!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{color}\" stroke-width=\"{width}\"/>"
        ));
    }

    /// A bar with a soft upper edge.
    pub(super) fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), color: &str) {
        let radius = number(2.0_f64.min(width / 4.0).min(height / 2.0).max(0.0));
        let [x, y, width, height] = [x, y, width, height].map(number);
        self.push(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\" fill=\"{color}\"/>"
        ));
    }

    pub(super) fn polyline(&mut self, points: &[(f64, f64)], color: &str, width: f64) {
        let mut path = String::new();
        for &(x, y) in points {
            let _ = write!(path, "{},{} ", number(x), number(y));
        }
        let (path, width) = (path.trim_end(), number(width));
        self.push(&format!(
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"/>"
        ));
    }

    /// Dots of one colour. `edge` is drawn around each, so that neighbours can be told apart.
    pub(super) fn dots(&mut self, centers: &[(f64, f64)], radius: f64, fill: &str, edge: &str, opacity: f64) {
        let (radius, opacity) = (number(radius), number(opacity));
        self.push(&format!("<g fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"0.5\" opacity=\"{opacity}\">"));
        for &(x, y) in centers {
            self.push(&format!("<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\"/>", number(x), number(y)));
        }
        self.push("</g>");
    }

    /// A square of cells in shades of grey, from black to white; runs of equal cells are drawn as one.
    pub(super) fn shades(&mut self, (x, y): (f64, f64), size: f64, width: usize, cells: &[usize], n_shades: usize) {
        let scale = size / width.max(1) as f64;
        self.push(&format!(
            "<g transform=\"translate({} {}) scale({scale:.4})\" shape-rendering=\"crispEdges\">",
            number(x),
            number(y)
        ));
        for shade in 0..n_shades {
            let mut path = String::new();
            for (row, line) in cells.chunks(width.max(1)).enumerate() {
                let mut column = 0;
                for run in line.chunk_by(|a, b| a == b) {
                    if run[0] == shade {
                        let _ = write!(path, "M{column} {row}h{}v1h-{}z", run.len(), run.len());
                    }
                    column += run.len();
                }
            }
            if !path.is_empty() {
                let grey = 255 * shade / (n_shades - 1).max(1);
                self.push(&format!("<path fill=\"#{grey:02x}{grey:02x}{grey:02x}\" d=\"{path}\"/>"));
            }
        }
        self.push("</g>");
    }

    pub(super) fn text(&mut self, at: (f64, f64), text: &str, style: Style) {
        self.push_text(at, text, style, "");
    }

    /// Text that reads upwards.
    pub(super) fn upright_text(&mut self, (x, y): (f64, f64), text: &str, style: Style) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", number(x), number(y));
        self.push_text((x, y), text, style, &turn);
    }

    /// Text with a white rim, legible on top of anything. The rim is a text of its own: not every program knows `paint-order`.
    pub(super) fn label(&mut self, at: (f64, f64), text: &str, style: Style) {
        let rim = " stroke=\"#ffffff\" stroke-width=\"5\" stroke-linejoin=\"round\" stroke-opacity=\"0.9\" aria-hidden=\"true\"";
        self.push_text(at, text, Style { color: "#ffffff", ..style }, rim);
        self.text(at, text, style);
    }

    /// A white disc with a coloured edge.
    pub(super) fn disc(&mut self, (x, y): (f64, f64), radius: f64, edge: &str) {
        let [x, y, radius] = [x, y, radius].map(number);
        self.push(&format!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"#ffffff\" fill-opacity=\"0.92\" stroke=\"{edge}\" \
             stroke-width=\"2.5\"/>"
        ));
    }

    fn push_text(&mut self, (x, y): (f64, f64), text: &str, style: Style, extra: &str) {
        let anchor = match style.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if style.bold { " font-weight=\"600\"" } else { "" };
        let ([x, y, size], color, text) = ([x, y, style.size].map(number), style.color, escaped(text));
        self.push(&format!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{color}\" text-anchor=\"{anchor}\"{weight}{extra}>{text}</text>"
        ));
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// The finished picture.
    pub(super) fn finish(self) -> String {
        let [width, height] = [self.width, self.height].map(number);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" font-family=\"{FONT}\">\n{}</svg>\n",
            self.body
        )
    }
}

/// A coordinate to a hundredth of a pixel, without zeros that say nothing.
fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// Text that means itself between tags and in attributes; characters that XML does not allow are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                safe.push('\u{fffd}');
            }
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_control_characters_are_replaced() {
        assert_eq!(escaped("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
        assert_eq!(escaped("bell\u{7}"), "bell\u{fffd}");
        let picture = Svg::new(10.0, 10.0, "<title>", "x & y").finish();
        assert!(picture.contains("<title>&lt;title&gt;</title>\n<desc>x &amp; y</desc>"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(1.0), "1");
        assert_eq!(number(1.25), "1.25");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(100.0), "100");
    }
}
