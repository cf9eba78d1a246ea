//! Curves over the same axis, such as errors pass by pass.

use super::axis::Axis;
use super::palette::{AXIS, CLASSES, GRID, INK, NEUTRAL, SOFT_INK};
use super::svg::{Anchor, Style, Svg};

/// One curve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve<'a> {
    /// Its name, which stands at its end.
    pub(crate) name: &'a str,
    pub(crate) points: &'a [(f64, f64)],
}

/// What a picture of curves shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curves<'a> {
    pub(crate) title: &'a str,
    /// Where it comes from, in one line under the title.
    pub(crate) subtitle: &'a str,
    /// What is drawn to the right and upwards.
    pub(crate) axes: (&'a str, &'a str),
    /// Whether the vertical axis shows powers of ten; values that are not positive are then left out.
    pub(crate) logarithmic: bool,
    /// A line across the picture.
    pub(crate) level: Option<f64>,
    pub(crate) lines: &'a [Curve<'a>],
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = WIDTH - 110.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = HEIGHT - 72.0;
/// Names at the ends of curves keep this distance.
const NAME_GAP: f64 = 17.0;
/// More decades than this are not all written.
const MOST_DECADES: i32 = 12;

const TICK: Style = Style { size: 13.0, color: SOFT_INK, bold: false, anchor: Anchor::Middle };
const NAME: Style = Style { size: 15.0, color: INK, bold: false, anchor: Anchor::Middle };

impl Curves<'_> {
    /// The picture. Values that are not finite are left out.
    pub(crate) fn to_svg(self) -> String {
        let visible = |&(x, y): &(f64, f64)| x.is_finite() && y.is_finite() && (!self.logarithmic || y > 0.0);
        let height = |y: f64| if self.logarithmic { y.log10() } else { y };
        let curves: Vec<Vec<(f64, f64)>> = self
            .lines
            .iter()
            .map(|curve| curve.points.iter().filter(|point| visible(point)).map(|&(x, y)| (x, height(y))).collect())
            .collect();
        let all = || curves.iter().flatten();
        let description = format!("{} curves of {} against {}.", curves.len(), self.axes.1, self.axes.0);
        let mut svg = Svg::new(WIDTH, HEIGHT, self.title, &description);
        svg.text((LEFT, 40.0), self.title, Style { size: 22.0, color: INK, bold: true, anchor: Anchor::Start });
        svg.text((LEFT, 64.0), self.subtitle, Style { anchor: Anchor::Start, ..TICK });
        let horizontal = Axis::around(all().map(|point| point.0), (LEFT, RIGHT), 8);
        let level = self.level.filter(|&y| visible(&(0.0, y))).map(height);
        let vertical = Axis::around(all().map(|point| point.1).chain(level), (BOTTOM, TOP), 6);
        self.draw_axes(&mut svg, &horizontal, &vertical);
        if let Some(level) = level {
            let y = vertical.place(level);
            svg.line((LEFT, y), (RIGHT, y), NEUTRAL, 2.0);
        }
        let mut ends = Vec::new();
        for ((curve, points), color) in self.lines.iter().zip(&curves).zip(CLASSES.iter().cycle()) {
            let places: Vec<(f64, f64)> =
                points.iter().map(|&(x, y)| (horizontal.place(x), vertical.place(y))).collect();
            svg.polyline(&places, color, 2.0);
            if let Some(&(x, y)) = places.last() {
                ends.push((y, x, curve.name, *color));
            }
        }
        draw_names(&mut svg, ends);
        svg.finish()
    }

    fn draw_axes(&self, svg: &mut Svg, horizontal: &Axis, vertical: &Axis) {
        for (value, text) in horizontal.ticks() {
            let x = horizontal.place(value);
            svg.line((x, TOP), (x, BOTTOM), GRID, 1.0);
            svg.text((x, BOTTOM + 20.0), &text, TICK);
        }
        for (value, text) in self.vertical_ticks(vertical) {
            let y = vertical.place(value);
            svg.line((LEFT, y), (RIGHT, y), GRID, 1.0);
            svg.text((LEFT - 10.0, y + 4.5), &text, Style { anchor: Anchor::End, ..TICK });
        }
        svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), AXIS, 1.5);
        svg.line((LEFT, TOP), (LEFT, BOTTOM), AXIS, 1.5);
        svg.text((f64::midpoint(LEFT, RIGHT), HEIGHT - 22.0), self.axes.0, NAME);
        svg.upright_text((26.0, f64::midpoint(TOP, BOTTOM)), self.axes.1, NAME);
    }

    /// Round values; whole powers of ten on a logarithmic axis that has room for them.
    fn vertical_ticks(&self, axis: &Axis) -> Vec<(f64, String)> {
        if !self.logarithmic {
            return axis.ticks();
        }
        let inside = |power: i32| {
            let y = axis.place(f64::from(power));
            (TOP..=BOTTOM).contains(&y)
        };
        let decades: Vec<i32> = (-300..=300).filter(|&power| inside(power)).collect();
        let every = (decades.len() as i32 / MOST_DECADES + 1).max(1);
        if decades.len() < 2 {
            return axis
                .ticks()
                .into_iter()
                .map(|(value, _)| (value, format!("{:.2e}", 10.0_f64.powf(value))))
                .collect();
        }
        let shown = decades.into_iter().filter(|power| power % every == 0);
        shown.map(|power| (f64::from(power), format!("1e{power}").replace('-', "\u{2212}"))).collect()
    }
}

/// Names beside the ends of curves, moved apart where ends are close: down, and up again where they would leave the picture.
fn draw_names(svg: &mut Svg, mut ends: Vec<(f64, f64, &str, &'static str)>) {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut above = f64::NEG_INFINITY;
    for end in &mut ends {
        end.0 = end.0.max(above + NAME_GAP);
        above = end.0;
    }
    let mut below = BOTTOM + NAME_GAP;
    for end in ends.iter_mut().rev() {
        end.0 = end.0.min(below - NAME_GAP);
        below = end.0;
    }
    for (y, x, name, color) in ends {
        svg.line((x + 3.0, y), (x + 13.0, y), color, 4.0);
        svg.label((x + 17.0, y + 4.5), name, Style { size: 14.0, color: INK, bold: false, anchor: Anchor::Start });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(logarithmic: bool, points: &[(f64, f64)]) -> String {
        let curves = [Curve { name: "one & two", points }];
        let axes = ("passes", "error");
        Curves { title: "T", subtitle: "S", axes, logarithmic, level: Some(2.0), lines: &curves }.to_svg()
    }

    #[test]
    fn decades_are_written_on_a_logarithmic_axis() {
        let svg = picture(true, &[(1.0, 10.0), (2.0, 0.1), (3.0, 0.0), (4.0, f64::NAN), (5.0, 1e-3)]);
        for text in [">1e0<", ">1e\u{2212}2<", "one &amp; two"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn empty_curves_and_one_value_make_a_picture_all_the_same() {
        for points in [&[][..], &[(1.0, 3.0)], &[(1.0, f64::INFINITY)]] {
            for logarithmic in [false, true] {
                let svg = picture(logarithmic, points);
                assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{points:?}");
            }
        }
    }

    #[test]
    fn names_of_close_ends_are_moved_apart_inside_the_picture() {
        // All end at the bottom: the first is drawn there, the others above it.
        let lines: Vec<[(f64, f64); 2]> = (1..=8).map(|i| [(0.0, f64::from(i)), (1.0, 0.0)]).collect();
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let curves: Vec<Curve<'_>> = names.iter().zip(&lines).map(|(name, points)| Curve { name, points }).collect();
        let svg =
            Curves { title: "T", subtitle: "S", axes: ("x", "y"), logarithmic: false, level: None, lines: &curves }
                .to_svg();
        let height = |name: &str| -> f64 {
            let line = svg.lines().find(|line| line.ends_with(&format!(">{name}</text>"))).unwrap();
            line.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        let mut heights = names.map(height);
        heights.sort_by(f64::total_cmp);
        assert!(heights.windows(2).all(|two| two[1] - two[0] >= NAME_GAP - 0.02), "{heights:?}");
        assert!(heights[0] > TOP && heights[7] <= BOTTOM + 5.0, "{heights:?}");
    }
}
