//! Lines in one or many panels, as SVG.

use std::fmt::Write;

/// A line and its name.
pub(crate) struct Series {
    /// What it is called in the legend.
    pub(crate) name: String,
    /// Its points, from left to right.
    pub(crate) places: Vec<(f64, f64)>,
}

/// How a horizontal axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Linear,
    Logarithmic,
}

/// What the vertical axis shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Vertical {
    /// From the lowest to the highest value, in equal steps.
    Range(f64, f64),
    /// Whole powers of ten around what is shown.
    PowersOfTen,
}

impl Vertical {
    /// Values of the lines across a panel, from the lowest to the highest, for values between the smallest and the largest.
    fn ticks(self, smallest: f64, largest: f64) -> Vec<f64> {
        match self {
            Self::Range(low, high) => {
                (0..=TICKS).map(|tick| low + (high - low) * f64::from(tick) / f64::from(TICKS)).collect()
            }
            Self::PowersOfTen => {
                let (low, high) = (smallest.log10().floor() as i32, largest.log10().ceil() as i32);
                (low..=high.max(low + 1)).map(|power| 10.0_f64.powi(power)).collect()
            }
        }
    }

    /// Where a value lies between the lowest (0) and the highest (1).
    fn place(self, value: f64, (lowest, highest): (f64, f64)) -> f64 {
        match self {
            Self::Range(..) => (value - lowest) / (highest - lowest),
            Self::PowersOfTen => (value / lowest).ln() / (highest / lowest).ln(),
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Range(low, high) if high - low < 0.2 => format!("{value:.3}"),
            Self::Range(..) => format!("{value:.2}"),
            Self::PowersOfTen => value.to_string(),
        }
    }
}

/// Lines over one axis, with a tick at every value of `x` that occurs.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x_label: String,
    pub(crate) axis: Axis,
    pub(crate) vertical: Vertical,
    pub(crate) series: Vec<Series>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 45.0;
/// Colours that stay apart for most eyes.
const COLORS: [&str; 9] =
    ["#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#000000", "#8c6d31", "#999999"];
/// Lines across the picture.
const TICKS: i32 = 5;

/// Panels in rows of so many. A name has the same colour in all of them.
pub(crate) fn picture(panels: &[Panel], columns: usize) -> String {
    let (across, down) = (columns.min(panels.len()).max(1), panels.len().div_ceil(columns.max(1)).max(1));
    let (width, height) = (WIDTH * across as f64, HEIGHT * down as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut names: Vec<&str> = Vec::new();
    for line in panels.iter().flat_map(|panel| &panel.series) {
        if !names.contains(&line.name.as_str()) {
            names.push(&line.name);
        }
    }
    for (place, panel) in panels.iter().enumerate() {
        let (x, y) = (WIDTH * (place % across) as f64, HEIGHT * (place / across) as f64);
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
        panel.draw(&mut svg, &names);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

impl Panel {
    /// Draws it; lines have colours by the place of their name among all `names`.
    fn draw(&self, svg: &mut String, names: &[&str]) {
        let mut values: Vec<f64> = self.series.iter().flat_map(|line| &line.places).map(|place| place.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (first, last) = (values.first().copied().unwrap_or(1.0), values.last().copied().unwrap_or(10.0));
        let share = |value: f64| match self.axis {
            Axis::Linear => (value - first) / (last - first).max(f64::MIN_POSITIVE),
            Axis::Logarithmic => (value / first).ln() / (last / first).ln().max(f64::MIN_POSITIVE),
        };
        let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * share(value);
        let shown = || self.series.iter().flat_map(|line| &line.places).map(|place| place.1);
        let ticks =
            self.vertical.ticks(shown().reduce(f64::min).unwrap_or(1.0), shown().reduce(f64::max).unwrap_or(1.0));
        let ends = (ticks[0], ticks[ticks.len() - 1]);
        let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * self.vertical.place(value, ends);
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"22\" font-size=\"14\">{}</text>", self.title);
        for value in ticks {
            let (at, end, before) = (y(value), WIDTH - RIGHT, LEFT - 8.0);
            let _ = writeln!(svg, "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{end}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>");
            let (below, text) = (at + 4.0, self.vertical.text(value));
            let _ = writeln!(svg, "<text x=\"{before}\" y=\"{below:.1}\" text-anchor=\"end\">{text}</text>");
        }
        for &value in &values {
            let (at, below) = (x(value), HEIGHT - 25.0);
            let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{value}</text>");
        }
        let (middle, below) = ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8.0);
        let _ = writeln!(svg, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{}</text>", self.x_label);
        for (index, line) in self.series.iter().enumerate() {
            let place = names.iter().position(|name| *name == line.name).unwrap_or(index);
            let color = COLORS[place % COLORS.len()];
            let points: Vec<String> = line.places.iter().map(|&(a, b)| format!("{:.1},{:.1}", x(a), y(b))).collect();
            let points = points.join(" ");
            let _ =
                writeln!(svg, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>");
            for &(a, b) in &line.places {
                let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{color}\"/>", x(a), y(b));
            }
            let (at, from) = (TOP + 14.0 + 18.0 * index as f64, WIDTH - RIGHT + 15.0);
            let (middle, to, after) = (at - 4.0, from + 18.0, from + 24.0);
            let _ = writeln!(
                svg,
                "<line x1=\"{from}\" y1=\"{middle}\" x2=\"{to}\" y2=\"{middle}\" stroke=\"{color}\" stroke-width=\"2\"/>"
            );
            let _ = writeln!(svg, "<text x=\"{after}\" y=\"{at}\">{}</text>", line.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(axis: Axis) -> Panel {
        let series = vec![
            Series { name: "one".to_owned(), places: vec![(1.0, 0.42), (3.0, 0.8), (10.0, 0.99)] },
            Series { name: "two".to_owned(), places: vec![(1.0, 0.7), (10.0, 1.0)] },
        ];
        Panel {
            title: "A title".to_owned(),
            x_label: "epochs".to_owned(),
            axis,
            vertical: Vertical::Range(0.4, 1.0),
            series,
        }
    }

    /// The numbers of an attribute, in order.
    fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
        let begins = format!("{attribute}=\"");
        svg.split(&begins).skip(1).map(|part| part.split('"').next().unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn every_line_is_drawn_inside_its_panel() {
        let svg = picture(&[panel(Axis::Logarithmic)], 1);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (2, 5));
        assert!(svg.contains(">one</text>") && svg.contains("A title") && svg.ends_with("</svg>\n"));
        assert!(numbers(&svg, "cy").iter().all(|at| (TOP..=HEIGHT - BOTTOM + 0.1).contains(at)));
        assert!(numbers(&svg, "cx").iter().all(|at| (LEFT..=WIDTH - RIGHT).contains(at)));
    }

    #[test]
    fn a_linear_axis_has_equal_steps_and_a_logarithmic_one_equal_factors() {
        let middle = |axis: Axis| {
            let at = numbers(&picture(&[panel(axis)], 1), "cx");
            (at[1] - at[0]) / (at[2] - at[0])
        };
        assert!((middle(Axis::Linear) - 2.0 / 9.0).abs() < 1e-3);
        assert!((middle(Axis::Logarithmic) - 3.0_f64.ln() / 10.0_f64.ln()).abs() < 1e-3);
    }

    #[test]
    fn panels_stand_in_rows_of_as_many_as_were_asked_for() {
        let svg = picture(&[panel(Axis::Linear), panel(Axis::Linear), panel(Axis::Linear)], 2);
        assert!(svg.contains("viewBox=\"0 0 1280 720\""));
        for place in ["translate(0 0)", "translate(640 0)", "translate(0 360)"] {
            assert_eq!(svg.matches(place).count(), 1, "{place}");
        }
    }

    #[test]
    fn a_name_has_the_same_colour_in_every_panel() {
        let only_two = || {
            let mut panel = panel(Axis::Linear);
            panel.series.remove(0);
            panel
        };
        let svg = picture(&[panel(Axis::Linear), only_two()], 2);
        let colors: Vec<&str> =
            svg.split("<polyline").skip(1).filter_map(|line| line.split("stroke=\"").nth(1)).collect();
        let colors: Vec<&str> = colors.iter().filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(colors, [COLORS[0], COLORS[1], COLORS[1]]);
    }

    #[test]
    fn powers_of_ten_are_equally_far_apart() {
        let series = vec![Series { name: "one".to_owned(), places: vec![(2.0, 125.0), (8.0, 64_000.0)] }];
        let svg = picture(&[Panel { vertical: Vertical::PowersOfTen, series, ..panel(Axis::Linear) }], 1);
        for text in ["100", "1000", "10000", "100000"] {
            assert!(svg.contains(&format!(">{text}</text>")), "{svg}");
        }
        let lines = numbers(&svg, "y1");
        assert!((lines[0] - lines[1] - (lines[1] - lines[2])).abs() < 0.2, "{lines:?}");
    }
}
