//! What the first passes make of the picture, by the first rule and by the last: figure 7.

use mercer::GainRule;
use mercer::denoise::{Grid, Image, Part, Patchwork, snr};

use super::super::findings::Findings;
use super::super::rules::{Problem, Rule};
use super::super::stage::Stage;
use super::{PAPER, kept};
use crate::failure::Result;
use crate::picture::{Gallery, Map};

/// The conventional algorithm and KHA-SMD, with the paper's parameters.
const RULES: [Rule; 2] =
    [Rule::new(GainRule::Constant, 0.05, 1.0, 0.0), Rule::new(GainRule::MetaDescent, 0.1, 1.0, 2.0)];
/// Passes after which the picture is looked at: one, two and three.
const PASSES: usize = 3;

/// The picture after each of the first passes, rule by rule.
pub(super) struct Early<'a> {
    pictures: Vec<Patchwork<'a>>,
}

/// The same when all quarters are in their place.
pub(super) struct Seen {
    side: usize,
    pictures: Vec<Image>,
}

impl<'a> Early<'a> {
    pub(super) fn new(noisy: &'a Image, grid: Grid) -> Self {
        Self { pictures: (0..RULES.len() * PASSES).map(|_| Patchwork::new(noisy, grid)).collect() }
    }

    /// Adds one quarter.
    pub(super) fn add(&mut self, part: &Part, problem: &Problem<'_>, stage: &Stage<'_>) -> Result<()> {
        for (at, picture) in self.pictures.iter_mut().enumerate() {
            let (rule, passes) = (RULES[at / PASSES], at % PASSES + 1);
            stage.begin(&format!("{}, {passes} passes", rule.gain));
            let run = problem.run_unmeasured(rule, passes, stage)?;
            picture.put(part, kept(&run.learner.model()?, problem.points, stage)?.as_ref())?;
        }
        Ok(())
    }

    pub(super) fn finish(self, side: usize) -> Result<Seen> {
        let pictures = self.pictures.into_iter().map(Patchwork::image).collect::<mercer::Result<_>>()?;
        Ok(Seen { side, pictures })
    }
}

impl Seen {
    pub(super) fn judge(&self, findings: &mut Findings, clean: &[f64]) -> Result<()> {
        let decibel: Vec<f64> =
            self.pictures.iter().map(|picture| snr(clean, picture.values())).collect::<mercer::Result<_>>()?;
        let (constant, smd) = decibel.split_at(PASSES);
        let words = |values: &[f64]| values.iter().map(|x| format!("{x:.2}")).collect::<Vec<_>>().join(", ");
        findings.claim(
            "after 1, 2 and 3 passes, pictures by KHA-SMD are better than those by constant gain",
            "good quality very quickly, and rather blurred",
            smd[0] - constant[0],
            format!("signal to noise {} dB, and {} dB", words(smd), words(constant)),
            constant.iter().zip(smd).all(|(constant, smd)| smd > constant),
        );
        findings.series("signal to noise in dB after 1, 2, 3 passes: constant gain, smd", decibel);
        Ok(())
    }

    pub(super) fn picture(&self) -> String {
        let caption = |at: usize| format!("{}, pass {}", RULES[at / PASSES].gain, at % PASSES + 1);
        let captions: Vec<String> = (0..self.pictures.len()).map(caption).collect();
        let maps: Vec<Map<'_>> = self
            .pictures
            .iter()
            .zip(&captions)
            .map(|(picture, caption)| Map { caption, width: self.side, values: picture.values() })
            .collect();
        Gallery { title: "The picture after the first passes", subtitle: PAPER, maps: &maps }.to_svg()
    }
}
