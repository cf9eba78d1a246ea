//! Figures made of sticks, one over the other: a body as it is, and as it was measured.

use super::palette::{INK, LINE, SOFT_INK};
use super::svg::{Anchor, Style, Svg};

/// A stick from one point of the plane to another; upwards is upwards.
pub(crate) type Stick = ((f64, f64), (f64, f64));

/// A figure, and another one drawn over it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pose<'a> {
    pub(crate) caption: &'a str,
    pub(crate) sticks: &'a [Stick],
    pub(crate) over: &'a [Stick],
}

/// Figures side by side, at one scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poses<'a> {
    pub(crate) title: &'a str,
    /// Where it comes from, in one line under the title.
    pub(crate) subtitle: &'a str,
    pub(crate) side_by_side: &'a [Pose<'a>],
}

const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 32.0;
const TOP: f64 = 92.0;
const MARGIN: f64 = 16.0;
const CAPTION: f64 = 36.0;

impl Poses<'_> {
    /// The picture.
    pub(crate) fn to_svg(self) -> String {
        let width = (2.0 * LEFT + WIDTH * self.side_by_side.len() as f64).max(640.0);
        let height = TOP + HEIGHT + CAPTION;
        let mut svg =
            Svg::new(width, height, self.title, &format!("{} figures made of sticks.", self.side_by_side.len()));
        svg.text((LEFT, 40.0), self.title, Style { size: 22.0, color: INK, bold: true, anchor: Anchor::Start });
        let soft = Style { size: 13.0, color: SOFT_INK, bold: false, anchor: Anchor::Start };
        svg.text((LEFT, 64.0), self.subtitle, soft);
        let ends = || {
            let sticks = self.side_by_side.iter().flat_map(|pose| pose.sticks.iter().chain(pose.over));
            sticks.flat_map(|&(from, to)| [from, to]).filter(|(x, y)| x.is_finite() && y.is_finite())
        };
        let range = |of: fn((f64, f64)) -> f64| {
            ends().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
        };
        let (across, up) = (range(|(x, _)| x), range(|(_, y)| y));
        let size = |(low, high): (f64, f64)| (high - low).max(f64::MIN_POSITIVE);
        let scale = ((WIDTH - 2.0 * MARGIN) / size(across)).min((HEIGHT - 2.0 * MARGIN) / size(up));
        let middle = (f64::midpoint(across.0, across.1), f64::midpoint(up.0, up.1));
        for (at, pose) in self.side_by_side.iter().enumerate() {
            let (x, y) = (LEFT + WIDTH * (at as f64 + 0.5), TOP + HEIGHT / 2.0);
            let place = |(a, b): (f64, f64)| (x + scale * (a - middle.0), y - scale * (b - middle.1));
            for (sticks, color, thick) in [(pose.sticks, INK, 4.0), (pose.over, LINE, 2.0)] {
                for &(from, to) in sticks {
                    svg.line(place(from), place(to), color, thick);
                }
            }
            let style = Style { size: 14.0, color: INK, bold: false, anchor: Anchor::Middle };
            svg.text((x, TOP + HEIGHT + 18.0), pose.caption, style);
        }
        svg.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_side_by_side_at_one_scale_and_upright() {
        let (small, tall) = ([((0.0, 0.0), (1.0, 1.0))], [((0.0, 0.0), (0.0, 4.0))]);
        let poses =
            [Pose { caption: "one", sticks: &small, over: &[] }, Pose { caption: "two", sticks: &small, over: &tall }];
        let svg = Poses { title: "T", subtitle: "S", side_by_side: &poses }.to_svg();
        assert_eq!(svg.matches("<line").count(), 3);
        assert!(svg.contains(">one</text>") && svg.contains(">two</text>"));
        let numbers = |attribute: &str| -> Vec<f64> {
            let begins = format!(" {attribute}=\"");
            let parts =
                svg.lines().filter(|line| line.starts_with("<line")).map(|line| line.split(&begins).nth(1).unwrap());
            parts.map(|part| part.split('"').next().unwrap().parse().unwrap()).collect()
        };
        let (x1, y1, y2) = (numbers("x1"), numbers("y1"), numbers("y2"));
        assert!(y2[2] < y1[2] && (y1[2] - y2[2] - (HEIGHT - 2.0 * MARGIN)).abs() < 0.1, "upwards is upwards");
        assert!(((y1[0] - y2[0]) * 4.0 - (y1[2] - y2[2])).abs() < 0.1 && (x1[1] - x1[0] - WIDTH).abs() < 0.1);
    }

    #[test]
    fn no_figures_are_an_empty_picture() {
        assert!(Poses { title: "T", subtitle: "S", side_by_side: &[] }.to_svg().ends_with("</svg>\n"));
    }
}
