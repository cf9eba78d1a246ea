//! The scatter plot: points in the plane of two components, coloured by label.

use super::axis::Axis;
use super::palette::{AXIS, CLASSES, GRID, INK, NEUTRAL, SOFT_INK};
use super::svg::{Anchor, Style, Svg};

/// A point of a scatter plot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScatterPoint<'a> {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// What the point is, if that is known.
    pub(crate) label: Option<&'a str>,
}

/// What a scatter plot shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scatter<'a> {
    pub(crate) title: &'a str,
    /// The settings, in one line under the title.
    pub(crate) subtitle: &'a str,
    /// What is drawn to the right and upwards.
    pub(crate) axes: (&'a str, &'a str),
    /// What the labels are, over their list.
    pub(crate) legend: &'a str,
    pub(crate) points: &'a [ScatterPoint<'a>],
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 720.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 120.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = HEIGHT - 72.0;

/// Labels beyond the ninth share one name and the last colour when there are more than the palette has.
const OTHERS: &str = "other";

/// Longer names are only in the legend, shortened.
const LONGEST_NAME: usize = 12;

const TICK: Style = Style { size: 13.0, color: SOFT_INK, bold: false, anchor: Anchor::Middle };
const NAME: Style = Style { size: 15.0, color: INK, bold: false, anchor: Anchor::Middle };

/// The points of one label.
struct Class<'a> {
    name: &'a str,
    color: &'static str,
    places: Vec<(f64, f64)>,
}

impl Scatter<'_> {
    /// The picture. Points that are not finite are left out.
    pub(crate) fn to_svg(self) -> String {
        let finite: Vec<ScatterPoint<'_>> =
            self.points.iter().copied().filter(|point| point.x.is_finite() && point.y.is_finite()).collect();
        let description = format!("{} points, {} against {}.", finite.len(), self.axes.1, self.axes.0);
        let mut svg = Svg::new(WIDTH, HEIGHT, self.title, &description);
        svg.text((LEFT, 40.0), self.title, Style { size: 22.0, color: INK, bold: true, anchor: Anchor::Start });
        svg.text((LEFT, 64.0), self.subtitle, Style { anchor: Anchor::Start, ..TICK });

        let horizontal = Axis::around(finite.iter().map(|point| point.x), (LEFT, RIGHT), 6);
        let vertical = Axis::around(finite.iter().map(|point| point.y), (BOTTOM, TOP), 6);
        self.draw_axes(&mut svg, &horizontal, &vertical);

        let classes = classes(&finite, |point| (horizontal.place(point.x), vertical.place(point.y)));
        // Few points can be large; thousands must be small to show how dense they are.
        let radius = (120.0 / (finite.len().max(1) as f64).sqrt()).clamp(1.6, 5.0);
        for class in &classes {
            svg.dots(&class.places, radius, class.color, "#ffffff", 0.85);
        }
        if classes.len() > 1 {
            draw_names(&mut svg, &classes);
            draw_legend(&mut svg, self.legend, &classes);
        }
        svg.finish()
    }

    fn draw_axes(&self, svg: &mut Svg, horizontal: &Axis, vertical: &Axis) {
        for (value, text) in horizontal.ticks() {
            let x = horizontal.place(value);
            svg.line((x, TOP), (x, BOTTOM), GRID, 1.0);
            svg.text((x, BOTTOM + 20.0), &text, TICK);
        }
        for (value, text) in vertical.ticks() {
            let y = vertical.place(value);
            svg.line((LEFT, y), (RIGHT, y), GRID, 1.0);
            svg.text((LEFT - 10.0, y + 4.5), &text, Style { anchor: Anchor::End, ..TICK });
        }
        svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), AXIS, 1.5);
        svg.line((LEFT, TOP), (LEFT, BOTTOM), AXIS, 1.5);
        svg.text((f64::midpoint(LEFT, RIGHT), HEIGHT - 22.0), self.axes.0, NAME);
        svg.upright_text((26.0, f64::midpoint(TOP, BOTTOM)), self.axes.1, NAME);
    }
}

/// The points by label, in the order of the labels (numbers as numbers).
fn classes<'a>(points: &[ScatterPoint<'a>], place: impl Fn(&ScatterPoint<'a>) -> (f64, f64)) -> Vec<Class<'a>> {
    let mut names: Vec<&str> = points.iter().filter_map(|point| point.label).collect();
    names.sort_unstable_by(|a, b| {
        match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => a.total_cmp(&b),
            (a, b) => b.is_ok().cmp(&a.is_ok()),
        }
        .then_with(|| a.cmp(b))
    });
    names.dedup();
    let crowded = names.len() > CLASSES.len();
    if crowded {
        names.truncate(CLASSES.len() - 1);
    }
    let mut classes: Vec<Class<'a>> =
        names.iter().zip(CLASSES).map(|(&name, color)| Class { name, color, places: Vec::new() }).collect();
    let mut others = Class { name: OTHERS, color: NEUTRAL, places: Vec::new() };
    for point in points {
        let class = point.label.and_then(|label| classes.iter_mut().find(|class| class.name == label));
        class.unwrap_or(&mut others).places.push(place(point));
    }
    if !others.places.is_empty() {
        // First, so that it lies under the others.
        classes.insert(0, others);
    }
    classes
}

/// The name of each class at the middle of its points, so that colour is not needed to read the picture.
fn draw_names(svg: &mut Svg, classes: &[Class<'_>]) {
    let ink = Style { size: 16.0, color: INK, bold: true, anchor: Anchor::Middle };
    for class in classes.iter().filter(|class| class.name != OTHERS) {
        let x = median(class.places.iter().map(|place| place.0));
        let y = median(class.places.iter().map(|place| place.1));
        match class.name.chars().count() {
            0..=2 => {
                svg.disc((x, y), 13.0, class.color);
                svg.text((x, y + 5.5), class.name, ink);
            }
            3..=LONGEST_NAME => svg.label((x, y + 5.5), class.name, ink),
            _ => {}
        }
    }
}

/// Medians stay inside a class that has stragglers.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn draw_legend(svg: &mut Svg, title: &str, classes: &[Class<'_>]) {
    const STEP: f64 = 26.0;
    let left = RIGHT + 26.0;
    svg.text((left - 6.0, TOP + 12.0), title, Style { bold: true, anchor: Anchor::Start, color: INK, ..TICK });
    for (row, class) in classes.iter().enumerate() {
        let y = TOP + 38.0 + row as f64 * STEP;
        svg.dots(&[(left, y)], 7.0, class.color, "#ffffff", 1.0);
        let shown: String = class.name.chars().take(LONGEST_NAME).collect();
        svg.text((left + 16.0, y + 5.0), &shown, Style { size: 15.0, color: INK, anchor: Anchor::Start, bold: false });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64, label: &str) -> ScatterPoint<'_> {
        ScatterPoint { x, y, label: Some(label) }
    }

    fn picture(points: &[ScatterPoint<'_>]) -> String {
        Scatter { title: "t", subtitle: "s", axes: ("across <1>", "up & down"), legend: "kind", points }.to_svg()
    }

    #[test]
    fn each_point_is_a_dot_and_each_label_a_colour() {
        let svg = picture(&[point(0.0, 0.0, "a"), point(1.0, 1.0, "b"), point(2.0, 0.5, "a")]);
        assert_eq!(svg.matches("<circle").count(), 3 + 2 + 2, "three points, two names, two entries of the legend");
        assert!(svg.contains(CLASSES[0]) && svg.contains(CLASSES[1]) && !svg.contains(CLASSES[2]));
        assert!(svg.contains(">kind<"));
    }

    #[test]
    fn names_and_axes_are_escaped() {
        let svg = picture(&[point(0.0, 0.0, "<a>"), point(1.0, 1.0, "b&c")]);
        assert!(svg.contains(">across &lt;1&gt;<") && svg.contains(">up &amp; down<"));
        assert!(svg.contains(">&lt;a&gt;<") && svg.contains(">b&amp;c<"));
    }

    #[test]
    fn numeric_labels_are_in_numeric_order() {
        let points = [point(0.0, 0.0, "10"), point(1.0, 1.0, "9"), point(2.0, 2.0, "x")];
        let names: Vec<&str> = classes(&points, |p| (p.x, p.y)).iter().map(|class| class.name).collect();
        assert_eq!(names, ["9", "10", "x"]);
    }

    #[test]
    fn more_labels_than_colours_share_the_last() {
        let labels: Vec<String> = (0..12).map(|label| label.to_string()).collect();
        let points: Vec<ScatterPoint<'_>> = labels.iter().map(|label| point(0.0, 1.0, label)).collect();
        let classes = classes(&points, |p| (p.x, p.y));
        assert_eq!(classes.len(), CLASSES.len());
        assert_eq!((classes[0].name, classes[0].places.len()), (OTHERS, 3));
    }

    #[test]
    fn none_one_equal_and_infinite_points_all_give_a_picture() {
        let unlabelled = ScatterPoint { x: 1.0, y: 2.0, label: None };
        let same = [point(1.0, 1.0, "a"), point(1.0, 1.0, "b")];
        let wrong = [point(f64::NAN, 0.0, "a"), point(0.0, f64::INFINITY, "b")];
        for points in [[].as_slice(), &[unlabelled], &same, &wrong, &[point(1e300, -1e300, "a")]] {
            let svg = picture(points);
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{points:?}");
        }
    }
}
