//! Scan over bandwidths: what a search for a kernel's width has seen.

use super::axis::Axis;
use super::palette::{AXIS, BAR_TEXT, GRID, INK, LINE, SOFT_INK};
use super::svg::{Anchor, Style, Svg};

/// What the picture shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    pub(crate) title: &'a str,
    /// The settings, in one line or two under the title.
    pub(crate) subtitle: &'a str,
    /// Positive, in increasing order; drawn by their logarithms.
    pub(crate) bandwidths: &'a [f64],
    /// One below the other.
    pub(crate) panels: &'a [Panel<'a>],
    /// Bandwidths that are marked.
    pub(crate) marks: &'a [f64],
    /// The one of them that is named.
    pub(crate) best: f64,
}

/// Lines that share a vertical axis, one value per bandwidth each. The first is drawn strongest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panel<'a> {
    pub(crate) name: &'a str,
    pub(crate) lines: &'a [Vec<f64>],
}

const WIDTH: f64 = 860.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = WIDTH - 40.0;
const TOP: f64 = 104.0;
const PANEL: f64 = 250.0;
const GAP: f64 = 30.0;
const FOOT: f64 = 66.0;
/// From one line of the subtitle to the next.
const LINE_HEIGHT: f64 = 18.0;

const TICK: Style = Style { size: 13.0, color: SOFT_INK, bold: false, anchor: Anchor::Middle };
const NAME: Style = Style { size: 14.0, color: INK, bold: false, anchor: Anchor::Middle };

impl Scan<'_> {
    /// The picture.
    pub(crate) fn to_svg(self) -> String {
        let n = self.panels.len().max(1) as f64;
        let bottom = TOP + n * PANEL + (n - 1.0) * GAP;
        let description = format!("{} bandwidths; the best is {:.4}.", self.bandwidths.len(), self.best);
        let mut svg = Svg::new(WIDTH, bottom + FOOT, self.title, &description);
        svg.text((LEFT, 40.0), self.title, Style { size: 22.0, color: INK, bold: true, anchor: Anchor::Start });
        for (index, line) in self.subtitle.lines().enumerate() {
            svg.text((LEFT, 64.0 + LINE_HEIGHT * index as f64), line, Style { anchor: Anchor::Start, ..TICK });
        }

        let logs: Vec<f64> = self.bandwidths.iter().map(|sigma| sigma.max(f64::MIN_POSITIVE).log10()).collect();
        let across = Axis::around(padded(&logs), (LEFT, RIGHT), 6);
        for (index, panel) in self.panels.iter().enumerate() {
            let top = TOP + index as f64 * (PANEL + GAP);
            draw_panel(&mut svg, panel, &logs, &across, (top + PANEL, top));
        }
        for (log, text) in if logs.is_empty() { Vec::new() } else { round_bandwidths(across.ends()) } {
            svg.text((across.place(log), bottom + 20.0), &text, TICK);
        }
        svg.text((f64::midpoint(LEFT, RIGHT), bottom + 46.0), "bandwidth (logarithmic)", NAME);
        for &mark in self.marks {
            let x = across.place(mark.max(f64::MIN_POSITIVE).log10());
            svg.line((x, TOP), (x, bottom), LINE, if is_same(mark, self.best) { 2.0 } else { 1.0 });
        }
        if self.best > 0.0 && self.best.is_finite() && !logs.is_empty() {
            let x = across.place(self.best.log10());
            let style = Style { size: 14.0, color: LINE, bold: true, anchor: Anchor::Middle };
            svg.label((x.clamp(LEFT + 30.0, RIGHT - 30.0), TOP - 8.0), &significant(self.best), style);
        }
        svg.finish()
    }
}

fn draw_panel(svg: &mut Svg, panel: &Panel<'_>, logs: &[f64], across: &Axis, (bottom, top): (f64, f64)) {
    let all = || panel.lines.iter().flatten().copied().filter(|value| value.is_finite());
    // Ticks of ordinary size, and the power of ten beside the name.
    let largest = all().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let power = if largest > 0.0 { largest.log10().floor() } else { 0.0 };
    let power = if (-2.0..4.0).contains(&power) { 0.0 } else { power };
    let unit = 10.0_f64.powf(power);
    let axis = Axis::around(all().map(|value| value / unit), (bottom, top), 5);
    let is_known = all().next().is_some();
    for (value, text) in axis.ticks().into_iter().filter(|_| is_known) {
        let y = axis.place(value);
        svg.line((LEFT, y), (RIGHT, y), GRID, 1.0);
        svg.text((LEFT - 10.0, y + 4.5), &text, Style { anchor: Anchor::End, ..TICK });
    }
    svg.line((LEFT, bottom), (RIGHT, bottom), AXIS, 1.5);
    let name = if power == 0.0 { panel.name.to_owned() } else { format!("{} · 10^{power}", panel.name) };
    svg.upright_text((24.0, f64::midpoint(top, bottom)), &name, Style { color: BAR_TEXT, ..NAME });
    if !is_known {
        svg.text((f64::midpoint(LEFT, RIGHT), f64::midpoint(top, bottom)), "not known for this criterion", NAME);
    }
    // The strongest last, on top of the others.
    for (index, line) in panel.lines.iter().enumerate().rev() {
        let points: Vec<(f64, f64)> = logs
            .iter()
            .zip(line)
            .filter(|(_, value)| value.is_finite())
            .map(|(&log, value)| (across.place(log), axis.place(value / unit)))
            .collect();
        let width = if index == 0 { 2.5 } else { 1.5 };
        let color = if index == 0 { BAR_TEXT } else { SOFT_INK };
        // A line through one point is nothing.
        if let [only] = points[..] {
            svg.dots(&[only], 2.0 * width, color, color, 1.0);
        } else {
            svg.polyline(&points, color, width);
        }
        if panel.lines.len() > 1 && index < 3 {
            let highest = points.iter().copied().fold(None, |best: Option<(f64, f64)>, point| match best {
                Some(best) if best.1 <= point.1 => Some(best),
                _ => Some(point),
            });
            if let Some((x, y)) = highest {
                let style = Style { size: 12.0, color: INK, bold: true, anchor: Anchor::Middle };
                svg.label((x, y - 5.0), &(index + 1).to_string(), style);
            }
        }
    }
}

/// Half a decade on either side of a bandwidth that is alone.
fn padded(logs: &[f64]) -> Vec<f64> {
    match (logs.first(), logs.last()) {
        (Some(first), Some(last)) if last - first < 1e-9 => vec![first - 0.5, last + 0.5],
        _ => logs.to_vec(),
    }
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// Logarithms of round bandwidths within the range, with their text: 1, 2 and 5 times powers of ten, or powers alone.
fn round_bandwidths((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let factors: &[f64] = if high - low < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = ((high - low) / 10.0).ceil().max(1.0) as i64;
    (low.floor() as i64..=high.ceil() as i64)
        .filter(|power| power.rem_euclid(every) == 0)
        .flat_map(|power| factors.iter().map(move |factor| power as f64 + factor.log10()))
        .filter(|log| (low - 1e-9..=high + 1e-9).contains(log))
        .map(|log| (log, significant(10.0_f64.powf(log))))
        .collect()
}

/// A number with four digits, without those that are zero.
fn significant(x: f64) -> String {
    let power = x.abs().max(f64::MIN_POSITIVE).log10().floor();
    if !(-3.0..5.0).contains(&power) {
        return format!("{x:.1e}");
    }
    let decimals = (3.0 - power).max(0.0) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(bandwidths: &[f64], lines: &[Vec<f64>]) -> String {
        let panels = [Panel { name: "value", lines }, Panel { name: "slope", lines: &[] }];
        let (title, subtitle, best) = ("A & B", "n < 3", bandwidths.first().copied().unwrap_or(1.0));
        Scan { title, subtitle, bandwidths, panels: &panels, marks: &[best], best }.to_svg()
    }

    #[test]
    fn every_line_is_drawn_and_the_best_is_named() {
        let svg = picture(&[0.5, 1.0, 2.0], &[vec![1.0, 3.0, 2.0], vec![0.5, 0.4, 0.3]]);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains(">0.5<") && svg.contains(">A &amp; B<") && svg.contains(">n &lt; 3<"), "{svg}");
    }

    #[test]
    fn lines_of_a_subtitle_stand_one_below_the_other() {
        let (bandwidths, line) = ([0.5, 1.0], vec![1.0, 2.0]);
        let panels = [Panel { name: "value", lines: &[line] }];
        let subtitle = "many settings\nof 240 points";
        let scan = Scan { title: "A", subtitle, bandwidths: &bandwidths, panels: &panels, marks: &[], best: 1.0 };
        let svg = scan.to_svg();
        for (y, text) in [("64", "many settings"), ("82", "of 240 points")] {
            let is_there =
                svg.lines().any(|line| line.contains(&format!("y=\"{y}\"")) && line.contains(&format!(">{text}<")));
            assert!(is_there, "{text}: {svg}");
        }
    }

    #[test]
    fn small_values_have_their_power_beside_the_name() {
        let svg = picture(&[0.5, 1.0], &[vec![1e-5, 3e-5]]);
        assert!(svg.contains("value · 10^-5"), "{svg}");
    }

    #[test]
    fn none_one_equal_and_wrong_values_all_give_a_picture() {
        for (bandwidths, line) in [
            (vec![], vec![]),
            (vec![2.0], vec![1.0]),
            (vec![1e-9, 1e9], vec![0.0, 0.0]),
            (vec![1.0, 2.0], vec![f64::NAN, f64::INFINITY]),
        ] {
            let svg = picture(&bandwidths, &[line]);
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{bandwidths:?}: {svg}");
        }
    }

    #[test]
    fn one_value_is_a_dot_over_round_bandwidths() {
        let svg = picture(&[0.37], &[vec![0.05]]);
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (1, 0), "{svg}");
        assert!([">0.2<", ">0.5<", ">1<", ">0.04<"].iter().all(|text| svg.contains(text)), "{svg}");
        // Also where it is the only one of several that is known.
        let svg = picture(&[0.5, 1.0, 2.0], &[vec![f64::NAN, 3.0, f64::NAN]]);
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (1, 0), "{svg}");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.5, 12.0, 1.3947, 123_456.0, 1e-7].map(significant), ["0.5", "12", "1.395", "1.2e5", "1.0e-7"]);
    }
}
