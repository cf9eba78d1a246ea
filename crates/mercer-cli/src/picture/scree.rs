//! The scree plot: how much of the variance each component explains.

use super::axis::Axis;
use super::palette::{AXIS, BAR, BAR_TEXT, GRID, INK, LINE, SOFT_INK};
use super::svg::{Anchor, Style, Svg};

/// What a scree plot shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scree<'a> {
    pub(crate) title: &'a str,
    /// The settings, in one line under the title.
    pub(crate) subtitle: &'a str,
    /// Share of the variance that each component explains, from 0 to 1.
    pub(crate) explained_variance_ratio: &'a [f64],
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = WIDTH - 76.0;
const TOP: f64 = 104.0;
const BOTTOM: f64 = HEIGHT - 70.0;

/// More bars than this would be thinner than the line that joins them.
const MOST_BARS: usize = 60;
/// Up to this many bars each carries its number.
const MOST_NUMBERS: usize = 15;

const TICK: Style = Style { size: 13.0, color: SOFT_INK, bold: false, anchor: Anchor::Middle };
const NAME: Style = Style { size: 14.0, color: INK, bold: false, anchor: Anchor::Middle };

impl Scree<'_> {
    /// The picture.
    pub(crate) fn to_svg(self) -> String {
        let all: Vec<f64> =
            self.explained_variance_ratio.iter().map(|&r| if r.is_finite() { r.max(0.0) } else { 0.0 }).collect();
        let shares = &all[..all.len().min(MOST_BARS)];
        let cumulative: Vec<f64> = shares
            .iter()
            .scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            })
            .collect();
        let total = cumulative.last().copied().unwrap_or(0.0);

        let description = format!("{} components explain {:.1} percent of the variance.", shares.len(), 100.0 * total);
        let mut svg = Svg::new(WIDTH, HEIGHT, self.title, &description);
        svg.text((LEFT, 40.0), self.title, Style { size: 22.0, color: INK, bold: true, anchor: Anchor::Start });
        svg.text((LEFT, 64.0), self.subtitle, Style { anchor: Anchor::Start, ..TICK });

        let largest = shares.iter().copied().fold(0.0, f64::max);
        let bars = Axis::from_zero(100.0 * largest, (BOTTOM, TOP), 5);
        let sum = Axis::from_zero(100.0 * total.min(1.0), (BOTTOM, TOP), 5);
        draw_frame(&mut svg, &bars, &sum);
        if shares.is_empty() {
            svg.text((f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM)), "no components", NAME);
            return svg.finish();
        }
        draw_bars(&mut svg, shares, &bars);
        draw_cumulative(&mut svg, &cumulative, &sum);
        svg.finish()
    }
}

/// Grid and both vertical axes; each has the colour of what is read off it.
fn draw_frame(svg: &mut Svg, bars: &Axis, sum: &Axis) {
    for (value, text) in bars.ticks() {
        let y = bars.place(value);
        svg.line((LEFT, y), (RIGHT, y), GRID, 1.0);
        svg.text((LEFT - 10.0, y + 4.5), &text, Style { anchor: Anchor::End, ..TICK });
    }
    for (value, text) in sum.ticks() {
        svg.text((RIGHT + 10.0, sum.place(value) + 4.5), &text, Style { anchor: Anchor::Start, ..TICK });
    }
    svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), AXIS, 1.5);
    let middle = f64::midpoint(TOP, BOTTOM);
    svg.upright_text((24.0, middle), "explained variance of each component (%)", Style { color: BAR_TEXT, ..NAME });
    svg.upright_text((WIDTH - 14.0, middle), "cumulative (%)", Style { color: LINE, ..NAME });
    svg.text((f64::midpoint(LEFT, RIGHT), HEIGHT - 20.0), "component", NAME);
}

/// The middle of a component's column.
fn column(index: usize, n: usize) -> f64 {
    LEFT + (index as f64 + 0.5) * (RIGHT - LEFT) / n as f64
}

fn draw_bars(svg: &mut Svg, shares: &[f64], axis: &Axis) {
    let n = shares.len();
    let width = (0.62 * (RIGHT - LEFT) / n as f64).min(90.0);
    let every = n.div_ceil(20);
    for (index, &share) in shares.iter().enumerate() {
        let (x, y) = (column(index, n), axis.place(100.0 * share));
        svg.bar((x - width / 2.0, y), (width, BOTTOM - y), BAR);
        if n <= MOST_NUMBERS && y + 18.0 < BOTTOM {
            let style = Style { size: 12.0, color: "#ffffff", bold: true, anchor: Anchor::Middle };
            svg.text((x, y + 16.0), &format!("{:.1}", 100.0 * share), style);
        }
        if index % every == 0 {
            svg.text((x, BOTTOM + 20.0), &(index + 1).to_string(), TICK);
        }
    }
}

fn draw_cumulative(svg: &mut Svg, cumulative: &[f64], axis: &Axis) {
    let n = cumulative.len();
    let points: Vec<(f64, f64)> = cumulative
        .iter()
        .enumerate()
        .map(|(index, &sum)| (column(index, n), axis.place(100.0 * sum.min(1.0))))
        .collect();
    svg.polyline(&points, LINE, 2.5);
    svg.dots(&points, if n <= 30 { 4.0 } else { 2.0 }, LINE, "#ffffff", 1.0);
    if let (Some(&(x, y)), Some(&total)) = (points.last(), cumulative.last()) {
        let style = Style { size: 14.0, color: LINE, bold: true, anchor: Anchor::Middle };
        svg.label((x, y - 12.0), &format!("{:.1} %", 100.0 * total), style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(shares: &[f64]) -> String {
        Scree { title: "A & B", subtitle: "n < 3", explained_variance_ratio: shares }.to_svg()
    }

    #[test]
    fn bars_stand_for_shares_and_the_line_for_their_sum() {
        let svg = picture(&[0.5, 0.25]);
        assert_eq!(svg.matches(&format!("fill=\"{BAR}\"/>")).count(), 2);
        assert!(svg.contains(">50.0<") && svg.contains(">25.0<"), "{svg}");
        assert!(svg.contains("2 components explain 75.0 percent of the variance."));
        assert!(svg.contains(">75.0 %<"));
    }

    #[test]
    fn titles_are_escaped() {
        let svg = picture(&[1.0]);
        assert!(svg.contains(">A &amp; B<") && svg.contains(">n &lt; 3<"));
    }

    #[test]
    fn none_one_equal_zero_and_wrong_values_all_give_a_picture() {
        for shares in
            [vec![], vec![0.3], vec![0.1; 5], vec![0.0, 0.0], vec![f64::NAN, -1.0, f64::INFINITY], vec![1e-3; 500]]
        {
            let svg = picture(&shares);
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{shares:?}");
        }
    }
}
