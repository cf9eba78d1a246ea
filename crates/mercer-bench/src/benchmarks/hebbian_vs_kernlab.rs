//! How much faster is the kernel Hebbian algorithm than the one of R's kernlab, with the same updates?

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use faer::Mat;
use mercer::hebbian::{RecordError, Start};
use mercer::{GainRule, HebbianLearner, Kernel, KernelHebbianPca, Points, Precision, Watch};
use serde::Deserialize;

use crate::answers;
use crate::child::read_json;
use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::points_file::PointsFile;
use crate::record::{Bar, Findings};
use crate::setup::Setup;
use crate::usps;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    The first hundred of each digit of USPS (1000 x 256), 16 components, Gaussian kernel of bandwidth 8, constant gain: \
    `kha` of R's kernlab against ours in double precision, from the same start coefficients, over the same samples in the \
    same order, for the same number of passes.";

/// Bandwidth 8: `1 / (2 · 8²)`, which kernlab calls sigma.
const GAMMA: f64 = 1.0 / 128.0;
const ETA: f64 = 0.05;
const BAR: f64 = 100.0;
/// Both compute the same updates in double precision.
const DIRECTION_LIMIT: f64 = 1e-6;

/// What the rival's script answers.
#[derive(Deserialize)]
struct KernlabAnswer {
    seconds: f64,
    versions: BTreeMap<String, String>,
}

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let (each, r, passes) = (setup.size(100, 10), setup.size(16, 4), setup.size(10, 3));
    let pictures = usps::first_of_each_digit(setup, each)?;
    let n = 10 * each;
    findings.setting("points", n);
    findings.setting("components", r);
    findings.setting("passes", passes);
    findings.setting("eta", ETA);
    let file = PointsFile::write_f32(setup.scratch_file("usps.f32"), &pictures, usps::PIXELS)?;
    let (start_file, end_file) = (setup.scratch_file("start.f64"), setup.scratch_file("end.f64"));
    let points = Points::from_f32(pictures, n, usps::PIXELS)?;
    let order: Vec<usize> = (0..passes).flat_map(|_| 0..n).collect();
    let settings = KernelHebbianPca::new(Kernel::gaussian(GAMMA)?)
        .n_components(r)
        .gain(GainRule::Constant)
        .eta0(ETA)
        .precision(Precision::F64)
        .record_error(RecordError::No)
        .threads(setup.options.threads);
    let kernlab = Contender::new(format!("kernlab/n={n}"), || {
        let mut command = Command::new(&setup.options.r);
        command.arg(setup.options.rivals.join("kernlab_kha.R"));
        command.args([&file.path, &start_file, &end_file]);
        command.args([n, usps::PIXELS, r, passes].map(|number| number.to_string()));
        command.args([GAMMA, ETA].map(|number| number.to_string()));
        let answer: KernlabAnswer = read_json("kernlab_kha.R", &mut command)?;
        Ok((answer.seconds, Answered::Kernlab(answer)))
    });
    let ours = Contender::new(format!("mercer/n={n}"), || {
        // Reading kernlab's start, which it wrote column by column, is not part of the work.
        let start = if setup.options.no_rival { made_up_start(r, n) } else { answers::read_matrix(&start_file, n)? };
        let began = Instant::now();
        let start = Start { coefficients: Some(start.as_ref()), order: Some(&order), model: None };
        let learner = settings.fit_from(&points, &start, &Watch::new())?;
        Ok((began.elapsed().as_secs_f64(), Answered::Ours(Box::new(learner))))
    });
    // In turn, with as many rounds each; kernlab first, because its random start is everybody's.
    let contenders = if setup.options.no_rival { vec![ours] } else { vec![kernlab, ours] };
    let finished = alternate(contenders, setup.rounds(3))?;
    findings.timings(&finished);
    let last = finished.last().expect("ours always runs");
    let Answered::Ours(learner) = last.answer() else { unreachable!("ours is the last contender") };
    let drift = (learner.n_updates() as f64 - (n * passes) as f64).abs();
    findings.check("updates more or less than asked for", drift, 0.0)?;
    let Answered::Kernlab(answer) = finished[0].answer() else {
        findings.note("kernlab was left out");
        return Ok(());
    };
    findings.rival_versions(&answer.versions);
    let worst = direction_difference(&learner.coefficients(), &answers::read_matrix(&end_file, n)?);
    findings.check("coefficients against kernlab's, as directions", worst, DIRECTION_LIMIT)?;
    findings.ratio("kernlab to ours", &finished[0], last, Some(Bar::AtLeast(BAR)));
    Ok(())
}

/// What a contender brings home.
enum Answered {
    Kernlab(KernlabAnswer),
    Ours(Box<HebbianLearner>),
}

/// Start coefficients without kernlab.
fn made_up_start(r: usize, n: usize) -> Mat<f64> {
    Mat::from_fn(r, n, |i, j| ((i * n + j) as f64 * 0.7).sin() / 4.0)
}

/// The largest distance between rows brought to unit length and the same sign: kernlab scales its components at the end, so
/// directions are what can be compared.
fn direction_difference(ours: &Mat<f64>, theirs: &Mat<f64>) -> f64 {
    let distance = |i: usize| {
        let (a, b) = (ours.row(i), theirs.row(i));
        let (length_a, length_b) = (a.norm_l2(), b.norm_l2());
        let sign = (0..a.ncols()).map(|j| a[j] * b[j]).sum::<f64>().signum();
        (0..a.ncols()).map(|j| (a[j] / length_a - sign * b[j] / length_b).powi(2)).sum::<f64>().sqrt()
    };
    (0..ours.nrows()).map(distance).fold(0.0, answers::nan_or_max)
}
