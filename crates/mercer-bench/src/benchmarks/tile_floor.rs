//! What does a kernel cost beyond the bare matrix product, and how fast is the whole matrix made?
//!
//! A Gaussian tile cannot be had without the inner products of its points, so the linear kernel's tiles are the floor.
//! scikit-learn fills the same matrix with `rbf_kernel`.

use std::collections::BTreeMap;

use faer::Mat;
use mercer::gram::{EntryAccess, KernelGram, Store, StoreFormat, SymmetricOperator};
use mercer::watch::{Context, Phase, Threads, Watch};
use mercer::{Kernel, Points};
use serde::Deserialize;

use crate::answers;
use crate::failure::Result;
use crate::harness::{Contender, Finished, alternate};
use crate::points_file::{BYTE_SCALE, PointsFile, random_bytes};
use crate::record::{Bar, Findings};
use crate::rival::Rival;
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    Gaussian tiles of random points against tiles of bare inner products, made by the same engine and thrown away; \
    then the whole matrix, kept, against scikit-learn's `rbf_kernel` (ours keeps the tiles on and below the \
    diagonal, which is what a symmetric matrix needs; scikit-learn's array has both halves). Single precision.";

/// Features, and how much slower than the bare product tiles may be.
const CASES: [(usize, f64); 4] = [(784, 1.1), (64, 1.3), (16, 1.6), (3, 2.2)];
/// How many times faster than scikit-learn the whole matrix must be.
const RIVAL_BAR: f64 = 5.0;
/// Entries are single-precision results of up to 784 products, so a few dozen units in the last place may be lost.
const ENTRY_LIMIT: f64 = 1e-5;

/// What the rival's script answers.
#[derive(Clone, Debug, Deserialize)]
struct KernelMatrixAnswer {
    seconds: f64,
    peak_growth_bytes: u64,
    entries: Vec<f64>,
    versions: BTreeMap<String, String>,
}

/// One number of features.
struct Case<'a> {
    setup: &'a Setup,
    threads: &'a Threads,
    n: usize,
    d: usize,
    bar: f64,
    bytes: Points,
    floats: Points,
    file: PointsFile,
}

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let n = setup.size(20_000, 700);
    findings.setting("points", n);
    findings.setting("features", CASES.map(|(d, _)| d).to_vec());
    findings.setting("data", "random multiples of 1/255 between 0 and 1");
    findings.setting("gamma", "6 / features, so that a typical entry is exp(-1)");
    let threads = Threads::new(setup.options.threads)?;
    for (d, bar) in CASES {
        let bytes = random_bytes(n * d, d as u64);
        let floats: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
        let case = Case {
            setup,
            threads: &threads,
            n,
            d,
            bar,
            file: PointsFile::write_f32(setup.scratch_file(&format!("random-{d}.f32")), &floats, d)?,
            bytes: Points::from_u8(bytes, n, d, BYTE_SCALE)?,
            floats: Points::from_f32(floats, n, d)?,
        };
        case.tiles(findings)?;
        case.whole_matrix(findings)?;
    }
    if setup.options.no_rival {
        findings.note("scikit-learn was left out");
    }
    Ok(())
}

impl Case<'_> {
    /// `1 / (expected squared distance)` of points with independent uniform coordinates.
    fn gamma(&self) -> f64 {
        6.0 / self.d as f64
    }

    fn name(&self, variant: &str) -> String {
        format!("{variant}/n={},d={}", self.n, self.d)
    }

    /// Tiles that are made and thrown away.
    fn tiles(&self, findings: &mut Findings) -> Result<()> {
        let watch = Watch::new();
        let context = Context::new(self.threads, &watch, Phase::Solving);
        let gaussian = Kernel::gaussian(self.gamma())?;
        let bare = KernelGram::<f32>::new(&self.floats, &Kernel::linear(), None)?;
        let kernel = KernelGram::<f32>::new(&self.floats, &gaussian, None)?;
        let bytes = KernelGram::<f32>::new(&self.bytes, &gaussian, None)?;
        self.check_rows(findings, "bare_f32", &bare, &context, |i, j| answers::inner_product(&self.floats, i, j))?;
        for (variant, gram) in [("gaussian_f32", &kernel), ("gaussian_u8", &bytes)] {
            self.check_rows(findings, variant, gram, &context, |i, j| {
                answers::gaussian(&self.bytes, i, j, self.gamma())
            })?;
        }

        let contender = |variant: &str, gram| -> Contender<'_, u64> {
            let gram: &KernelGram<f32> = gram;
            Contender::timed(self.name(variant), move || Ok(gram.compute_tiles(&context)?))
        };
        let contenders =
            vec![contender("bare_f32", &bare), contender("gaussian_f32", &kernel), contender("gaussian_u8", &bytes)];
        // Few features make a round last a few hundredths of a second: more rounds cost nothing and find the best one.
        let rounds = self.setup.rounds(if self.d > 100 { 5 } else { 25 });
        let finished = alternate(contenders, rounds)?;
        findings.timings(&finished);
        let [bare, kernel, bytes] = &finished[..] else { unreachable!("three contenders") };
        let what = |what: &str| format!("d = {}: {what}", self.d);
        findings.ratio(what("Gaussian tiles to bare products"), kernel, bare, Some(Bar::AtMost(self.bar)));
        findings.ratio(what("tiles from bytes to tiles from f32"), bytes, kernel, None);
        Ok(())
    }

    /// The whole matrix, kept: from points in memory to entries in memory.
    fn whole_matrix(&self, findings: &mut Findings) -> Result<()> {
        let watch = Watch::new();
        let context = Context::new(self.threads, &watch, Phase::Solving);
        let gaussian = Kernel::gaussian(self.gamma())?;
        let store = Store { budget: 8 * (self.n * self.n) as u64, format: StoreFormat::Full };
        let build = || -> Result<KernelGram<f32>> {
            let gram = KernelGram::<f32>::new(&self.floats, &gaussian, Some(store))?;
            gram.compute_tiles(&context)?;
            Ok(gram)
        };
        self.check_stored(findings, &build()?, &context)?;

        let ours = Contender::timed(self.name("matrix_f32"), || build().map(|_| None));
        let probes = self.probes().iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let rival = Rival::new("rbf_kernel.py", &self.file).argument("gamma", self.gamma()).argument("probes", probes);
        let theirs = Contender::new(self.name("sklearn_rbf_kernel"), || {
            let (answer, note): (KernelMatrixAnswer, _) = rival.run(self.setup)?;
            Ok((answer.seconds, Some((answer, note))))
        });
        let contenders = if self.setup.options.no_rival { vec![ours] } else { vec![ours, theirs] };
        let finished = alternate(contenders, self.setup.rounds(3))?;
        findings.timings(&finished);
        let [ours, theirs] = &finished[..] else { return Ok(()) };
        self.check_rival(findings, theirs)?;
        let what = format!("d = {}: scikit-learn's rbf_kernel to the whole matrix", self.d);
        findings.ratio(what, theirs, ours, Some(Bar::AtLeast(RIVAL_BAR)));
        Ok(())
    }

    /// Points whose entries are checked.
    fn probes(&self) -> [usize; 4] {
        [0, self.n / 3, self.n / 2, self.n - 1]
    }

    /// Compares whole rows, read entry by entry, with the formula in double precision.
    fn check_rows(
        &self,
        findings: &mut Findings,
        variant: &str,
        gram: &KernelGram<f32>,
        context: &Context<'_>,
        formula: impl Fn(usize, usize) -> f64,
    ) -> Result<()> {
        let probes = self.probes();
        let mut rows = Mat::zeros(probes.len(), self.n);
        gram.rows(&probes, rows.as_mut(), context)?;
        let difference = self.largest_difference(|i, j| rows[(i, j)], formula);
        findings.check(self.name(&format!("{variant}: rows against the formula")), difference, ENTRY_LIMIT)
    }

    /// Compares tiles that were kept with the formula: the product with a unit vector is a column of the matrix.
    fn check_stored(&self, findings: &mut Findings, gram: &KernelGram<f32>, context: &Context<'_>) -> Result<()> {
        let probes = self.probes();
        let units = Mat::from_fn(self.n, probes.len(), |i, j| if i == probes[j] { 1.0 } else { 0.0 });
        let mut columns = Mat::zeros(self.n, probes.len());
        gram.apply(units.as_ref(), columns.as_mut(), context)?;
        findings.check(self.name("matrix_f32: share of tiles that are not kept"), 1.0 - gram.stored_share(), 0.0)?;
        let formula = |i, j| answers::gaussian(&self.floats, i, j, self.gamma());
        let difference = self.largest_difference(|i, j| columns[(j, i)], formula);
        findings.check(self.name("matrix_f32: kept columns against the formula"), difference, ENTRY_LIMIT)
    }

    fn check_rival(
        &self,
        findings: &mut Findings,
        theirs: &Finished<Option<(KernelMatrixAnswer, Option<String>)>>,
    ) -> Result<()> {
        let Some((answer, note)) = theirs.answer() else { return Ok(()) };
        findings.note_if(note.as_deref());
        findings.rival_versions(&answer.versions);
        findings.quantity(self.name("peak growth of sklearn_rbf_kernel"), answer.peak_growth_bytes as f64, "B");
        let (probes, count) = (self.probes(), self.probes().len());
        let formula = |i: usize, j: usize| answers::gaussian(&self.floats, probes[i], probes[j], self.gamma());
        let entry =
            |k: usize| answer.entries.get(k).map_or(f64::NAN, |found| (found - formula(k / count, k % count)).abs());
        let difference = (0..count * count).map(entry).fold(0.0, answers::nan_or_max);
        findings.check(self.name("sklearn_rbf_kernel: entries against the formula"), difference, ENTRY_LIMIT)
    }

    /// The largest difference of entries (number of the probe, point) from the formula, relative to the entry where
    /// that exceeds 1.
    fn largest_difference(&self, entry: impl Fn(usize, usize) -> f64, formula: impl Fn(usize, usize) -> f64) -> f64 {
        let step = (self.n / 200).max(1);
        let mut worst = 0.0;
        for (i, &probe) in self.probes().iter().enumerate() {
            for j in (0..self.n).step_by(step) {
                let expected = formula(probe, j);
                worst = answers::nan_or_max(worst, (entry(i, j) - expected).abs() / expected.abs().max(1.0));
            }
        }
        worst
    }
}
