//! Autoencoder kernel PCA of digits beside PCA and kernel PCA: reconstruction, denoising, classification.
//!
//! Claims are those of Cohen, Hazan and Ma, section 6, whose results are figures without numbers.

mod digits;
mod judge;
mod measure;
mod pictures;

use std::time::Instant;

use mercer::autoencoder::{AutoencoderKernelPca, Codec, Given, LinearPca, SpanChoice, StartFrom};
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::watch::Threads;
use mercer::{Center, Kernel, KernelPca, Model};

use self::digits::{Digits, Set, Sizes};
use self::measure::{Dealt, Entry, Method, measure};
use super::findings::{Findings, Found};
use super::stage::Stage;
use crate::codecs::distance;
use crate::failure::Result;

const TITLE: &str = "Autoencoder kernel PCA of digits";
const PAPER: &str = "Cohen, Hazan, Ma: Autoencoder kernel PCA, section 6, figures 3 to 11";
/// The sets of the paper.
const NAMES: [&str; 3] = ["short 14x14", "long 14x14", "short 28x28"];
const SHORT: usize = 0;
const LONG: usize = 1;
const WHOLE: usize = 2;

/// Everything that was measured.
struct Results {
    entries: Vec<Entry>,
    components: Vec<usize>,
    /// Numbers of components for which noise is taken away.
    denoised: [usize; 2],
    /// Training errors of PCA that is not centred: set, components, error.
    about_zero: Vec<(usize, usize, f64)>,
}

impl Results {
    fn get(&self, set: usize, method: Method, k: usize) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.set == set && entry.method == method && entry.k == k)
    }

    /// The methods that a set was encoded with, in the order of the claim.
    fn methods(&self, set: usize) -> Vec<Method> {
        let has = |method: &Method| self.get(set, *method, self.components[0]).is_some();
        Method::ALL.into_iter().filter(has).collect()
    }
}

struct Experiment<'a> {
    stage: &'a Stage<'a>,
    threads: Threads,
    dealt: Dealt,
    /// Landmarks of kernel PCA on the long set.
    landmarks: usize,
}

/// Kernel PCA with the largest number of components, of which the leading ones are that with fewer, and how long it took.
struct Known {
    model: Model,
    seconds: f64,
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Found> {
    let digits = Digits::read(stage)?;
    let short = Sizes { learned: stage.size(300, 8), held_out: stage.size(300, 4), classified: stage.size(1900, 16) };
    let long = Sizes { learned: stage.size(3500, 24), ..short };
    let few = stage.size(18, 4);
    let dealt = Dealt { few: short.classified / few, many: stage.size(12, 4), looks: stage.size(5, 2) };
    let landmarks = stage.size(15_000, 100);
    let experiment = Experiment { stage, threads: Threads::new(stage.threads)?, dealt, landmarks };
    let (components, denoised) = if stage.quick { (vec![3, 6], [3, 6]) } else { (vec![5, 10, 15, 20, 25], [10, 20]) };
    let mut findings = Findings::new("akpca", TITLE, PAPER, stage.quick);
    findings.setting("data", "mnist.npz, training part");
    findings.setting("pictures of every digit, short and long", format!("{}, {}", short.learned, long.learned));
    findings.setting(
        "held-out pictures of every digit, reconstructed and classified",
        format!("{}, {}", short.held_out, short.classified),
    );
    findings.setting(
        "pictures of every digit that the classifier learns from",
        format!("{few}, {}", short.classified - short.classified / experiment.dealt.many),
    );
    findings.setting("landmarks of kernel PCA on the long set", landmarks);
    findings.setting("components", components.iter().map(usize::to_string).collect::<Vec<_>>().join(", "));

    let mut results = Results { entries: Vec::new(), components, denoised, about_zero: Vec::new() };
    let mut shown = None;
    for (at, sizes, is_quarter) in [(SHORT, short, true), (LONG, long, true), (WHOLE, short, false)] {
        let set = digits.set(sizes, is_quarter)?;
        let known = experiment.kernel_pca(at, &set, results.components.iter().copied().max().unwrap_or(1))?;
        for k in results.components.clone() {
            experiment.look(at, &set, &known, k, &mut results)?;
        }
        shown = shown.or(Some(set));
    }
    judge::judge(&mut findings, &results);
    findings.note(
        "Kernel PCA has the kernel (x.y)^2 and is not centred: exact on the short sets, over landmarks drawn at random on the long one, as in the paper. Its seconds are those of \
         the largest number of components.",
    );
    findings.note("As in the paper, AKPCA is not run on 28x28 and DS-AKPCA not on the long set.");
    for entry in &results.entries {
        findings.series(
            format!(
                "{}, {}, {} components: training, held-out, accuracy from few and many, seconds",
                NAMES[entry.set],
                entry.method.name(),
                entry.k
            ),
            vec![entry.training, entry.held_out, entry.few, entry.many, entry.seconds],
        );
    }
    let figures = match &shown {
        Some(set) => pictures::draw(&mut findings, &results, set)?,
        None => Vec::new(),
    };
    Ok((findings, figures))
}

impl Experiment<'_> {
    /// Kernel PCA of a set: exact, or by Nyström's method on the long one.
    fn kernel_pca(&self, at: usize, set: &Set, k: usize) -> Result<Known> {
        self.stage.begin(&format!("{}, {k} components, {}", NAMES[at], Method::Kpca.name()));
        let (start, kernel) = (Instant::now(), Kernel::polynomial(1.0, 0.0, 2)?);
        let model = if at == LONG {
            let nystrom = Nystrom::new(kernel).landmarks(Landmarks::Uniform).n_landmarks(self.landmarks);
            let pca = NystromPca::new(nystrom.threads(self.stage.threads)).n_components(k).center(Center::No);
            self.stage.watched(|watch| pca.fit_watched(&set.learned, watch))?
        } else {
            let pca = KernelPca::new(kernel).n_components(k).center(Center::No).threads(self.stage.threads);
            self.stage.watched(|watch| pca.fit_watched(&set.learned, watch))?.require_converged()?
        };
        Ok(Known { model, seconds: start.elapsed().as_secs_f64() })
    }

    /// All ways of encoding that the paper has for a set.
    fn look(&self, at: usize, set: &Set, known: &Known, k: usize, results: &mut Results) -> Result<()> {
        let is_denoised = results.denoised.contains(&k);
        let methods =
            [(Method::Pca, true), (Method::Kpca, true), (Method::Akpca, at != WHOLE), (Method::DataSpan, at != LONG)];
        for (method, is_run) in methods {
            if !is_run {
                continue;
            }
            self.stage.begin(&format!("{}, {k} components, {}", NAMES[at], method.name()));
            let start = Instant::now();
            let codec = self.learn(method, set, known, k)?;
            let seconds = if method == Method::Kpca { known.seconds } else { start.elapsed().as_secs_f64() };
            results.entries.push(measure(
                codec.as_ref(),
                set,
                (at, method),
                is_denoised,
                self.dealt,
                (&self.threads, seconds),
            )?);
        }
        let plain = LinearPca::fit(&set.learned, k, Center::No)?;
        results.about_zero.push((at, k, distance(&plain.reconstruct(&set.learned)?, &set.learned)));
        Ok(())
    }

    fn learn(&self, method: Method, set: &Set, known: &Known, k: usize) -> Result<Box<dyn Codec>> {
        let settings = AutoencoderKernelPca::new(k).threads(self.stage.threads);
        let settings = match method {
            Method::Pca => return Ok(Box::new(LinearPca::fit(&set.learned, k, Center::Yes)?)),
            Method::Kpca => {
                let components = Given::of_model(&known.model, k, &self.threads)?;
                settings.start(StartFrom::Given(components)).epochs(0)
            }
            Method::Akpca => settings.span(SpanChoice::Full),
            Method::DataSpan => settings.span(SpanChoice::Data),
        };
        let settings =
            if self.stage.quick && method != Method::Kpca { settings.epochs(4).batch_size(32) } else { settings };
        Ok(Box::new(self.stage.watched(|watch| settings.fit_watched(&set.learned, watch))?))
    }
}
