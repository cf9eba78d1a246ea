//! The figures.

use super::super::findings::Findings;
use super::digits::Set;
use super::measure::{Entry, GAUSSIAN, Method, SPECKLE};
use super::{LONG, NAMES, PAPER, Results, SHORT, WHOLE};
use crate::codecs::{Noise, with_noise};
use crate::failure::Result;
use crate::picture::{Curve, Curves, Gallery, Map};

/// Curves with their names.
type Lines = Vec<(String, Vec<(f64, f64)>)>;
/// What was measured at every level of noise.
type OfLevels = fn(&Entry) -> &Vec<f64>;

/// Announces and draws all figures.
pub(super) fn draw(findings: &mut Findings, results: &Results, set: &Set) -> Result<Vec<String>> {
    let mut pages = Pages { findings, svg: Vec::new() };
    for (figure, what, of) in
        [(3, "training", (|entry| entry.training) as fn(&Entry) -> f64), (4, "held-out", |entry| entry.held_out)]
    {
        for at in [SHORT, LONG, WHOLE] {
            let caption = format!("Figure {figure}: mean error of reconstruction of {what} pictures, {}.", NAMES[at]);
            pages.curves(
                &format!("{what}-{}", file(at)),
                &caption,
                ("components", "mean squared error"),
                &over_k(results, at, of),
            );
        }
    }
    for at in [SHORT, LONG] {
        let mut lines = over_k(results, at, |entry| entry.training);
        for line in &mut lines {
            line.0.push_str(" (t)");
        }
        lines.extend(over_k(results, at, |entry| entry.held_out));
        let caption = format!("Figure 5: errors of held-out and of training (t) pictures, {}.", NAMES[at]);
        pages.curves(&format!("overfitting-{}", file(at)), &caption, ("components", "mean squared error"), &lines);
    }
    let mut lines = over_k(results, LONG, |entry| entry.held_out);
    for line in &mut lines {
        line.0.push_str(", long");
    }
    let methods = results.methods(LONG);
    let short = over_k(results, SHORT, |entry| entry.held_out).into_iter();
    lines.extend(short.filter(|line| methods.iter().any(|method| method.name() == line.0)));
    let caption = "Figure 6: errors of held-out pictures after learning from the short and the long set, 14x14.";
    pages.curves("longer", caption, ("components", "mean squared error"), &lines);
    pages.gallery("gaussian-digits", "Figure 7: digits with Gaussian noise.", set, Noise::Gaussian, &GAUSSIAN)?;
    noise(&mut pages, results, 8, "gaussian", "deviation of the noise", (&GAUSSIAN, |entry| &entry.gaussian));
    pages.gallery("speckle-digits", "Figure 9: digits with speckle.", set, Noise::Speckle, &SPECKLE)?;
    noise(&mut pages, results, 10, "speckle", "probability of a pixel to be zero", (&SPECKLE, |entry| &entry.speckle));
    for at in [SHORT, LONG] {
        for (words, of) in [("few", (|entry| entry.few) as fn(&Entry) -> f64), ("many", |entry| entry.many)] {
            let caption = format!("Figure 11: accuracy of a classifier that learns from {words} codes, {}.", NAMES[at]);
            pages.curves(
                &format!("accuracy-{words}-{}", file(at)),
                &caption,
                ("components", "accuracy"),
                &over_k(results, at, of),
            );
        }
    }
    Ok(pages.svg)
}

/// Figures as they are announced.
struct Pages<'a> {
    findings: &'a mut Findings,
    svg: Vec<String>,
}

impl Pages<'_> {
    fn curves(&mut self, suffix: &str, caption: &str, axes: (&str, &str), lines: &Lines) {
        self.findings.figure(suffix, caption);
        let curves: Vec<Curve<'_>> = lines.iter().map(|(name, points)| Curve { name, points }).collect();
        let title = caption.split_once(": ").map_or(caption, |(_, title)| title).trim_end_matches('.');
        let title: String = title.chars().take(1).flat_map(char::to_uppercase).chain(title.chars().skip(1)).collect();
        let picture = Curves { title: &title, subtitle: PAPER, axes, logarithmic: false, level: None, lines: &curves };
        self.svg.push(picture.to_svg());
    }

    /// Some digits without noise and with more and more of it, a digit in each row.
    fn gallery(
        &mut self,
        suffix: &str,
        caption: &str,
        set: &Set,
        noise: fn(f64) -> Noise,
        levels: &[f64],
    ) -> Result<()> {
        const DIGITS: usize = 3;
        self.findings.figure_of_data(suffix, caption);
        let blurred: Vec<_> =
            levels.iter().map(|&level| with_noise(&set.held_out, noise(level), 1.0)).collect::<mercer::Result<_>>()?;
        let (mut values, mut captions) = (Vec::new(), Vec::new());
        for digit in 0..DIGITS.min(set.held_out.n_samples()) {
            for (points, level) in blurred.iter().zip(levels) {
                values.push(points.row(digit));
                captions.push(format!("{level}"));
            }
        }
        let maps: Vec<Map<'_>> =
            values.iter().zip(&captions).map(|(values, caption)| Map { caption, width: set.side, values }).collect();
        let title = caption.split_once(": ").map_or(caption, |(_, title)| title).trim_end_matches('.');
        self.svg.push(Gallery { title, subtitle: PAPER, maps: &maps }.to_svg());
        Ok(())
    }
}

/// Errors over the strength of noise: a figure for every set and number of components.
fn noise(
    pages: &mut Pages<'_>,
    results: &Results,
    figure: usize,
    what: &str,
    axis: &str,
    (levels, of): (&[f64], OfLevels),
) {
    for at in [SHORT, LONG, WHOLE] {
        for k in results.denoised {
            let lines: Lines = results
                .methods(at)
                .into_iter()
                .filter_map(|method| {
                    let entry = results.get(at, method, k)?;
                    let points = levels.iter().copied().zip(of(entry).iter().copied()).collect();
                    Some((method.name().to_owned(), points))
                })
                .collect();
            let caption = format!("Figure {figure}: errors after {what} noise, {} with {k} components.", NAMES[at]);
            pages.curves(&format!("{what}-{}-{k}", file(at)), &caption, (axis, "mean squared error"), &lines);
        }
    }
}

/// One line per method, over the number of components.
fn over_k(results: &Results, set: usize, of: fn(&Entry) -> f64) -> Lines {
    let line = |method: Method| {
        let points = results.components.iter().filter_map(|&k| Some((k as f64, of(results.get(set, method, k)?))));
        (method.name().to_owned(), points.collect())
    };
    results.methods(set).into_iter().map(line).collect()
}

/// A set's name in the name of a file.
fn file(set: usize) -> String {
    NAMES[set].replace(' ', "-")
}
