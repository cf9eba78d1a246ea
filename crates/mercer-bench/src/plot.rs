//! Lines over a logarithmic axis, as SVG.

use std::fmt::Write;

/// A line and its name.
pub(crate) struct Series {
    /// What it is called in the legend.
    pub(crate) name: String,
    /// Its points, from left to right.
    pub(crate) places: Vec<(f64, f64)>,
}

/// What the vertical axis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vertical {
    /// Shares, from the smallest to one.
    Share,
    /// Powers of ten.
    Logarithmic,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 45.0;
/// Colours that stay apart for most eyes.
const COLORS: [&str; 6] = ["#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7"];
/// Lines across a picture of shares.
const TICKS: i32 = 5;

impl Vertical {
    /// Values of the lines across the picture, from the lowest to the highest, for values between the smallest and the largest.
    fn ticks(self, smallest: f64, largest: f64) -> Vec<f64> {
        match self {
            Self::Share => {
                let bottom = ((smallest.min(1.0) * 20.0).floor() / 20.0).min(0.95);
                (0..=TICKS).map(|tick| bottom + (1.0 - bottom) * f64::from(tick) / f64::from(TICKS)).collect()
            }
            Self::Logarithmic => {
                let (low, high) = (smallest.log10().floor() as i32, largest.log10().ceil() as i32);
                (low..=high.max(low + 1)).map(|power| 10.0_f64.powi(power)).collect()
            }
        }
    }

    /// Where a value lies between the lowest (0) and the highest (1).
    fn place(self, value: f64, (lowest, highest): (f64, f64)) -> f64 {
        match self {
            Self::Share => (value - lowest) / (highest - lowest),
            Self::Logarithmic => (value / lowest).ln() / (highest / lowest).ln(),
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Share => format!("{value:.2}"),
            Self::Logarithmic => value.to_string(),
        }
    }
}

/// A picture of lines: `x` on a logarithmic axis with a tick at every value that occurs.
pub(crate) fn line_chart(title: &str, x_label: &str, vertical: Vertical, series: &[Series]) -> String {
    let places = || series.iter().flat_map(|series| &series.places);
    let mut values: Vec<f64> = places().map(|place| place.0).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (low, high) = (values.first().copied().unwrap_or(1.0), values.last().copied().unwrap_or(10.0));
    let extreme = |of: fn(f64, f64) -> f64| places().map(|place| place.1).reduce(of).unwrap_or(1.0);
    let ticks = vertical.ticks(extreme(f64::min), extreme(f64::max));
    let ends = (ticks[0], ticks[ticks.len() - 1]);
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * (value / low).ln() / (high / low).ln().max(f64::MIN_POSITIVE);
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * vertical.place(value, ends);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"22\" font-size=\"14\">{title}</text>\n"
    );
    for value in ticks {
        let (at, end, text) = (y(value), WIDTH - RIGHT, vertical.text(value));
        let _ = writeln!(svg, "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{end}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", LEFT - 8.0, at + 4.0);
    }
    for &value in &values {
        let _ =
            writeln!(svg, "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>", x(value), HEIGHT - 25.0);
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let _ = writeln!(svg, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{x_label}</text>", HEIGHT - 8.0);
    for (index, line) in series.iter().enumerate() {
        let color = COLORS[index % COLORS.len()];
        let points: Vec<String> = line.places.iter().map(|&(a, b)| format!("{:.1},{:.1}", x(a), y(b))).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        for &(a, b) in &line.places {
            let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{color}\"/>", x(a), y(b));
        }
        let (at, from) = (TOP + 14.0 + 18.0 * index as f64, WIDTH - RIGHT + 15.0);
        let _ = writeln!(
            svg,
            "<line x1=\"{from}\" y1=\"{0}\" x2=\"{1}\" y2=\"{0}\" stroke=\"{color}\" stroke-width=\"2\"/>",
            at - 4.0,
            from + 18.0
        );
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{at}\">{}</text>", from + 24.0, line.name);
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_inside_the_picture() {
        let series = [
            Series { name: "one".to_owned(), places: vec![(1.0, 0.42), (3.0, 0.8), (10.0, 0.99)] },
            Series { name: "two".to_owned(), places: vec![(1.0, 0.7), (10.0, 1.0)] },
        ];
        let svg = line_chart("A title", "epochs", Vertical::Share, &series);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (2, 5));
        assert!(svg.contains(">one</text>") && svg.contains("A title") && svg.ends_with("</svg>\n"));
        for part in svg.split("cy=\"").skip(1) {
            let at: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((TOP..=HEIGHT - BOTTOM + 0.1).contains(&at), "{at}");
        }
    }

    #[test]
    fn powers_of_ten_are_equally_far_apart() {
        let series = [Series { name: "one".to_owned(), places: vec![(2.0, 125.0), (8.0, 64_000.0)] }];
        let svg = line_chart("A title", "dimension", Vertical::Logarithmic, &series);
        for text in ["100", "1000", "10000", "100000"] {
            assert!(svg.contains(&format!(">{text}</text>")), "{svg}");
        }
        let lines: Vec<f64> =
            svg.split("y1=\"").skip(1).filter_map(|part| part.split('"').next()?.parse().ok()).collect();
        assert!((lines[0] - lines[1] - (lines[1] - lines[2])).abs() < 0.2, "{lines:?}");
    }
}
