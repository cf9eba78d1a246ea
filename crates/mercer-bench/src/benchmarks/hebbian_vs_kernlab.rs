//! How much faster is the kernel Hebbian algorithm than the one of R's kernlab, with the same updates?

use std::collections::BTreeMap;
use std::process::Command;

use mercer::hebbian::{RecordError, Start};
use mercer::{GainRule, Kernel, KernelHebbianPca, Points, Precision, Watch};
use serde::Deserialize;

use crate::answers;
use crate::child::read_json;
use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::points_file::PointsFile;
use crate::record::{Bar, Findings, Quantity};
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
    let run_kernlab = || -> Result<(f64, KernlabAnswer)> {
        let mut command = Command::new(&setup.options.r);
        command.arg(setup.options.rivals.join("kernlab_kha.R"));
        command.args([&file.path, &start_file, &end_file]);
        command.args([n, usps::PIXELS, r, passes].map(|number| number.to_string()));
        command.args([GAMMA, ETA].map(|number| number.to_string()));
        let answer: KernlabAnswer = read_json("kernlab_kha.R", &mut command)?;
        Ok((answer.seconds, answer))
    };
    let rival = if setup.options.no_rival { None } else { Some(run_kernlab()?) };
    if rival.is_none() {
        findings.note("kernlab was left out");
    }
    let points = Points::from_f32(pictures, n, usps::PIXELS)?;
    let start = match &rival {
        // R writes column by column: one component after the other.
        Some(_) => answers::read_matrix(&start_file, n)?,
        None => faer::Mat::from_fn(r, n, |i, j| ((i * n + j) as f64 * 0.7).sin() / 4.0),
    };
    let order: Vec<usize> = (0..passes).flat_map(|_| 0..n).collect();
    let settings = KernelHebbianPca::new(Kernel::gaussian(GAMMA)?)
        .n_components(r)
        .gain(GainRule::Constant)
        .eta0(ETA)
        .precision(Precision::F64)
        .record_error(RecordError::No)
        .threads(setup.options.threads);
    let ours = Contender::timed(format!("mercer/n={n}"), || {
        let start = Start { coefficients: Some(start.as_ref()), order: Some(&order), model: None };
        Ok(settings.fit_from(&points, &start, &Watch::new())?)
    });
    let finished = alternate(vec![ours], setup.rounds(3))?;
    findings.timings(&finished);
    let learner = finished[0].answer();
    let drift = (learner.n_updates() as f64 - (n * passes) as f64).abs();
    findings.check("updates more or less than asked for", drift, 0.0)?;
    if let Some((seconds, answer)) = &rival {
        findings.rival_versions(&answer.versions);
        let theirs = answers::read_matrix(&end_file, n)?;
        let ours = learner.coefficients();
        // kernlab scales its components at the end; directions are what can be compared.
        let sine = |i: usize| {
            let (a, b) = (ours.row(i), theirs.row(i));
            let (aa, bb) = (a.norm_l2(), b.norm_l2());
            let cosine = (0..n).map(|j| a[j] * b[j]).sum::<f64>() / (aa * bb);
            (0..n).map(|j| (a[j] / aa - cosine.signum() * b[j] / bb).powi(2)).sum::<f64>().sqrt()
        };
        let worst = (0..r).map(sine).fold(0.0, answers::nan_or_max);
        findings.check("coefficients against kernlab's, as directions", worst, DIRECTION_LIMIT)?;
        let kernlab = Quantity::new(format!("kernlab/n={n}"), *seconds, "s");
        findings.ratio("kernlab to ours", kernlab, &finished[0], Some(Bar::AtLeast(BAR)));
    }
    Ok(())
}
