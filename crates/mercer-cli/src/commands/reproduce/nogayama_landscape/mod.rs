//! A star with three wings: how the variances of components change with the width of the kernel, and where they differ most.
//!
//! Claims are those of Nogayama, Takahashi and Muramatsu, sections 2.3 and 3, who show their star without saying how large it is or how many points it
//! has. Section 3 exchanges "too large" and "too small"; what is checked is section 2.3, which has them right.

mod pictures;
mod star;

use faer::MatRef;
use mercer::kernel::KernelSpec;
use mercer::tune::{Ascent, KernelTuner, Landscape, TuneMethod, Tuning, landscape};
use mercer::watch::Threads;
use mercer::{Center, Kernel, KernelPca, Model, Points, Precision};

use self::star::{LENGTHS, ROOT, star};
use super::findings::{Findings, Found};
use super::groups::explained;
use super::plane;
use super::stage::Stage;
use crate::failure::Result;

const TITLE: &str = "Variances of components over the width of the kernel";
const PAPER: &str =
    "Nogayama, Takahashi, Muramatsu: Generalization of kernel PCA and automatic parameter tuning, figures 5 to 10";
/// Components whose variances are drawn, and that are shown over the plane.
const DRAWN: usize = 8;
const SHOWN: usize = 5;
/// The plane is shown this far from the middle of the star.
const HALF_SIDE: f64 = 4.0;
/// Natural logarithms of the narrowest and the widest kernel of the scan, and of those shown beside the best.
const SCAN: (f64, f64) = (-5.0, 5.0);
const ASIDE: (f64, f64) = (-2.0, 3.0);
/// Where the paper's maximum is: the logarithm of the width.
const CLAIMED: f64 = 0.7;
/// The fixed step of the ascent, and where it starts: the paper draws starts from 1 to 20.
const STEP: f64 = 200.0;
const STARTS: [f64; 5] = [1.0, 2.0, 5.0, 10.0, 20.0];

struct Experiment<'a> {
    stage: &'a Stage<'a>,
    points: Points,
    wings: Vec<usize>,
    threads: Threads,
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Found> {
    let each = stage.size(50, 20);
    let (points, wings) = star(each)?;
    let experiment = Experiment { stage, points, wings, threads: Threads::new(stage.threads)? };
    let mut findings = Findings::new("nogayama-landscape", TITLE, PAPER, stage.quick);
    findings.setting("points", 3 * each);
    findings.setting("lengths of the wings", LENGTHS.map(|length| length.to_string()).join(", "));
    findings.setting("half the width of a wing at its root", ROOT);
    let steps = stage.size(50, 20);
    let sigmas: Vec<f64> =
        (0..=steps).map(|at| (SCAN.0 + (SCAN.1 - SCAN.0) * at as f64 / steps as f64).exp()).collect();
    findings.setting("widths of the scan", format!("{}, from e^{} to e^{}", sigmas.len(), SCAN.0, SCAN.1));

    stage.begin("the criterion");
    let spec = KernelSpec::new("gaussian");
    let tuner = KernelTuner::new(spec.clone()).method(TuneMethod::Exact).bandwidths(sigmas.clone());
    let tuning = stage.watched(|watch| tuner.tune_watched(&experiment.points, &experiment.threads, watch))?;
    stage.begin("variances of the components");
    let centered =
        stage.watched(|watch| landscape(&experiment.points, &spec, &sigmas, DRAWN, 0, &experiment.threads, watch))?;
    let plain: Vec<Vec<f64>> =
        sigmas.iter().map(|&sigma| experiment.variances_about_zero(sigma)).collect::<Result<_>>()?;

    let models = [ASIDE.0.exp(), tuning.best_bandwidth, ASIDE.1.exp()]
        .map(|sigma| experiment.fit(sigma, Center::Yes, SHOWN).map(|model| (sigma, model)));
    let [narrow, best, wide] = models;
    let models = [narrow?, best?, wide?];
    experiment.judge_components(&mut findings, &models)?;
    judge_variances(&mut findings, &centered, &plain);
    judge_criterion(&mut findings, &tuning);
    experiment.judge_ascent(&mut findings, tuning.best_bandwidth)?;
    findings.note(
        "The paper's star is not published. The best width grows with the star as a whole: its logarithm says how large the star was, not whether \
         the criterion is right.",
    );

    for component in 0..DRAWN.min(3) {
        let line = |rows: &[Vec<f64>]| rows.iter().map(|row| row[component]).collect::<Vec<f64>>();
        findings.series(format!("variance of component {}", component + 1), line(&centered.variances));
        findings.series(format!("variance of component {}, not centred", component + 1), line(&plain));
    }
    findings.series("widths", sigmas);
    findings.series("criterion", tuning.values.clone());
    findings.series("its derivative", tuning.gradients.clone());
    findings.figure("star", "The points: a star with three wings (figures 3 and 4).");
    findings.figure(
        "components",
        "Figure 5: components over the plane, for a narrow kernel, the best one and a wide one; bands of equal grey are equal scores.",
    );
    findings.figure("variances", "Figures 6 and 7: variances of the components over the width of the kernel.");
    findings.figure("criterion", "Figures 9 and 10: the criterion and its derivative. The line is the maximum.");
    let figures = vec![
        pictures::scatter(&experiment.points, &experiment.wings),
        pictures::gallery(&models)?,
        pictures::variances(&centered, &plain, tuning.best_bandwidth),
        pictures::criterion(&tuning),
    ];
    Ok((findings, figures))
}

impl Experiment<'_> {
    fn fit(&self, sigma: f64, center: Center, n_components: usize) -> Result<Model> {
        self.stage.begin(&format!("width {sigma:.3}"));
        let pca = KernelPca::new(Kernel::gaussian(0.5 / (sigma * sigma))?)
            .center(center)
            .n_components(n_components)
            .precision(Precision::F64)
            .threads(self.stage.threads);
        Ok(self.stage.watched(|watch| pca.fit_watched(&self.points, watch))?)
    }

    /// The variances of components about the origin of feature space; those that cannot be told from rounding are zero.
    fn variances_about_zero(&self, sigma: f64) -> Result<Vec<f64>> {
        let model = self.fit(sigma, Center::No, DRAWN)?;
        let n = self.points.n_samples() as f64;
        Ok((0..DRAWN).map(|at| model.eigenvalues().get(at).map_or(0.0, |value| value / n)).collect())
    }

    /// What the components of a narrow kernel, the best and a wide one are about.
    fn judge_components(&self, findings: &mut Findings, models: &[(f64, Model); 3]) -> Result<()> {
        let [(_, narrow), (_, best), (_, wide)] = models;
        let (near, far) = (self.reach(narrow)?, self.reach(best)?);
        findings.claim(
            format!("a kernel that is too narrow (e^{}) gives features in the neighbourhood of the data only", ASIDE.0),
            "neighbourhood only",
            near,
            format!(
                "away from the points the first component varies by {:.1} % of its range; by {:.0} % with the best width",
                100.0 * near,
                100.0 * far
            ),
            near < 0.05,
        );
        let linear = self.fit_linear()?;
        let axes = linear.training_scores();
        let scores = wide.training_scores();
        let share = (0..2).map(|j| linear_share(scores.as_ref(), j, axes.as_ref())).fold(f64::INFINITY, f64::min);
        findings.claim(
            format!("one that is too wide (e^{}) is too crude", ASIDE.1),
            "too crude",
            share,
            format!("the first two components are linear functions to {:.2} %: those of PCA", 100.0 * share),
            share > 0.99,
        );
        let wings = [narrow, best, wide].map(|model| {
            let scores = model.training_scores();
            let share = |j: usize| explained(&scores.col(j).iter().copied().collect::<Vec<f64>>(), &self.wings);
            0.5 * (share(0) + share(1))
        });
        findings.claim(
            "the best width is between them: its first components tell the wings apart",
            "in between",
            wings[1],
            format!(
                "the wing explains {:.0} % of the first two components, {:.0} % with the narrow kernel, {:.0} % with the wide one",
                100.0 * wings[1],
                100.0 * wings[0],
                100.0 * wings[2]
            ),
            wings[1] > wings[0] && wings[1] > wings[2],
        );
        Ok(())
    }

    fn fit_linear(&self) -> Result<Model> {
        let pca = KernelPca::new(Kernel::linear()).n_components(2).precision(Precision::F64);
        Ok(self.stage.watched(|watch| pca.threads(self.stage.threads).fit_watched(&self.points, watch))?)
    }

    /// The range of the first component over cells of the plane that are away from all points, relative to its whole range.
    fn reach(&self, model: &Model) -> Result<f64> {
        const AWAY: f64 = 0.8;
        let cells = plane::cells(HALF_SIDE)?;
        let rows: Vec<Vec<f64>> = (0..self.points.n_samples()).map(|i| self.points.row(i)).collect();
        let is_away = |cell: usize| {
            let at = cells.row(cell);
            rows.iter().all(|row| (row[0] - at[0]).hypot(row[1] - at[1]) > AWAY)
        };
        let scores = &plane::scores(model, HALF_SIDE, 1)?[0];
        let away = scores.iter().enumerate().filter(|&(cell, _)| is_away(cell)).map(|(_, &score)| score);
        let own: Vec<f64> = model.training_scores().col(0).iter().copied().collect();
        Ok(range(away) / range(scores.iter().copied().chain(own)))
    }

    /// Where an ascent ends; `None` if a step leaves the positive numbers, which is a finding and not a failure.
    fn ascend(&self, start: f64, eta: f64, steps: usize) -> Result<Option<f64>> {
        let ascent = Ascent::new(start, eta).steps(steps);
        match self.stage.watched(|watch| ascent.run_watched(&self.points, &self.threads, watch)) {
            Ok(path) => Ok(path.last().copied()),
            Err(mercer::Error::InvalidParameter { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn judge_ascent(&self, findings: &mut Findings, best: f64) -> Result<()> {
        let steps = self.stage.size(1000, 200);
        self.stage.begin("the ascent with a fixed step");
        let mut ends = Vec::new();
        for start in STARTS {
            ends.push((start, self.ascend(start, STEP, steps)?));
        }
        let there = |end: Option<f64>| end.is_some_and(|end| (end / best).ln().abs() < 0.01);
        let count = ends.iter().filter(|&&(_, end)| there(end)).count();
        let words: Vec<String> = ends
            .iter()
            .map(|&(start, end)| {
                format!("{start} to {}", end.map_or_else(|| "none".to_owned(), |end| format!("{end:.2}")))
            })
            .collect();
        findings.claim(
            "gradient ascent with a fixed step finds the maximum from starts between 1 and 20",
            "finds it",
            count as f64,
            format!("{count} of {} starts are there after {steps} steps ({})", STARTS.len(), words.join(", ")),
            count == STARTS.len(),
        );
        findings.setting("step of the ascent", STEP);
        findings.note(match self.ascend(STARTS[1], 10_000.0, steps)? {
            Some(end) => format!(
                "With the step of the paper's faces, 10000, the ascent from {} is at {end:.2} after {steps} steps.",
                STARTS[1]
            ),
            None => format!(
                "With the step of the paper's faces, 10000, the ascent from {} leaves the positive numbers: a good step depends on the number of \
                 points and the scale of the data.",
                STARTS[1]
            ),
        });
        Ok(())
    }
}

/// The share of a component's variance that a linear function explains; `axes` are uncorrelated and span all of them.
fn linear_share(scores: MatRef<'_, f64>, component: usize, axes: MatRef<'_, f64>) -> f64 {
    let score = scores.col(component);
    let square = score.squared_norm_l2();
    axes.col_iter().map(|axis| (axis.transpose() * score).powi(2) / (axis.squared_norm_l2() * square)).sum()
}

fn range(values: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    (high - low).max(0.0)
}

fn judge_variances(findings: &mut Findings, centered: &Landscape, plain: &[Vec<f64>]) {
    let (narrowest, widest) = (&centered.variances[0], &centered.variances[centered.variances.len() - 1]);
    let equal = narrowest[0] / narrowest[narrowest.len() - 1];
    findings.claim(
        "figure 7, centred: small widths give equal variances",
        "equal",
        equal,
        format!("the largest of {} is {equal:.4} times the smallest at e^{}", narrowest.len(), SCAN.0),
        equal < 1.05,
    );
    findings.claim(
        "figure 7, centred: large widths give variances of zero",
        "zero",
        widest[0],
        format!("the largest is {:.1e} at e^{}", widest[0], SCAN.1),
        widest[0] < 1e-3,
    );
    let left = plain[plain.len() - 1][0];
    findings.claim(
        "figure 6, not centred: this cannot be seen, one variance stays",
        "not zero",
        left,
        format!("the largest is {left:.4} at e^{}", SCAN.1),
        left > 0.9,
    );
}

fn judge_criterion(findings: &mut Findings, tuning: &Tuning) {
    let count = tuning.maxima.len();
    findings.claim(
        "figure 9: the criterion has one maximum",
        "one",
        count as f64,
        format!("{count} between e^{} and e^{}", SCAN.0, SCAN.1),
        count == 1,
    );
    let best = tuning.best_bandwidth.ln();
    findings.claim(
        "figure 9: it is at the width e^0.7",
        format!("{CLAIMED}"),
        best,
        format!("e^{best:.2}; a star {:.1} times as large has it at e^{CLAIMED}", (CLAIMED - best).exp()),
        (best - CLAIMED).abs() < 0.1,
    );
    let (place, crossings) = falls(&tuning.bandwidths, &tuning.gradients);
    let apart = place.map_or(f64::MAX, |place| (place - best).abs());
    let step = (tuning.bandwidths[1] / tuning.bandwidths[0]).ln();
    findings.claim(
        "figure 10: the derivative is zero there",
        "zero at the maximum",
        apart,
        match place {
            Some(place) => format!(
                "it changes its sign {crossings} time{}, at e^{place:.2} between the widths of the scan",
                if crossings == 1 { "" } else { "s" }
            ),
            None => "it does not change its sign".to_owned(),
        },
        crossings == 1 && apart < step,
    );
}

/// Where a derivative first goes from positive to negative, as the logarithm of the width, and how often it changes its sign. The
/// place is that of the straight line between two widths. What is too small to be seen in a figure beside the largest is taken for zero.
fn falls(sigmas: &[f64], gradients: &[f64]) -> (Option<f64>, usize) {
    const UNSEEN: f64 = 1e-4;
    let largest = gradients.iter().filter(|gradient| gradient.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
    let (mut first, mut crossings) = (None, 0);
    let signed: Vec<(f64, f64)> = sigmas
        .iter()
        .zip(gradients)
        .filter(|(_, gradient)| gradient.abs() > UNSEEN * largest && gradient.is_finite())
        .map(|(sigma, &gradient)| (sigma.ln(), gradient))
        .collect();
    for pair in signed.windows(2) {
        let [(left, before), (right, after)] = [pair[0], pair[1]];
        if before * after < 0.0 {
            crossings += 1;
            if before > 0.0 && first.is_none() {
                first = Some(left + (right - left) * before / (before - after));
            }
        }
    }
    (first, crossings)
}

#[cfg(test)]
mod tests {
    use faer::mat;

    use super::*;

    #[test]
    fn a_derivative_crosses_zero_where_the_line_between_two_widths_does() {
        let sigmas = [1.0, 1.0_f64.exp(), 2.0_f64.exp(), 3.0_f64.exp()];
        let (place, crossings) = falls(&sigmas, &[0.0, 3.0, -1.0, -2.0]);
        assert!((place.unwrap() - 1.75).abs() < 1e-12);
        assert_eq!(crossings, 1);
        assert_eq!(falls(&sigmas, &[-1.0, 2.0, -2.0, 1.0]).1, 3);
        assert_eq!(falls(&sigmas, &[1.0, 2.0, f64::NAN, 1.0]), (None, 0));
        assert_eq!(falls(&sigmas, &[-1e-6, 3.0, -1.0, -2.0]).1, 1);
    }

    #[test]
    fn linear_functions_are_told_from_others() {
        let axes = mat![[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
        let scores = mat![[3.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-3.0, 1.0]];
        assert!((linear_share(scores.as_ref(), 0, axes.as_ref()) - 1.0).abs() < 1e-12);
        assert!(linear_share(scores.as_ref(), 1, axes.as_ref()).abs() < 1e-12);
    }
}
