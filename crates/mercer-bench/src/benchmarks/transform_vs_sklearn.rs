//! How much faster are new points transformed than by scikit-learn?

use faer::Mat;

use crate::answers;
use crate::child::{FitOnce, TransformAnswer, TransformOnce};
use crate::failure::Result;
use crate::harness::{Contender, Finished, alternate};
use crate::points_file::{Digits, Part, PointsFile};
use crate::record::{Bar, Findings, Quantity};
use crate::rival::Rival;
use crate::setup::Setup;

use super::GAMMA;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    Scores of the 10000 test digits of MNIST under a model of the first 10000 training digits (Gaussian kernel of \
    bandwidth 8, 50 components, single precision) against scikit-learn's `KernelPCA.transform`. The first transform \
    of a model is timed, so ours packs the model's points within the time. Memory is the peak beyond what was \
    resident before.";

/// Both models are solved well beyond what is compared, so that scores differ by the transform alone.
const TOLERANCE: f64 = 1e-6;
/// Scores may differ by this share: single precision, and the last component may turn towards the next one.
const SCORE_LIMIT: f64 = 1e-3;
const EIGENVALUE_LIMIT: f64 = 1e-4;
const SPEED_BAR: f64 = 5.0;
/// Files of scores.
const OUR_SCORES: &str = "mercer";
const THEIR_SCORES: &str = "sklearn";

type Answered = (TransformAnswer, Option<String>);

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let (n, k) = (setup.size(10_000, 600), setup.size(50, 10));
    let points = Digits::prepare(setup, Part::Train, n)?.f32;
    let queries = Digits::prepare(setup, Part::Test, n)?.f32;
    findings.setting("points", n);
    findings.setting("queries", n);
    findings.setting("components", k);
    findings.setting("gamma", GAMMA);
    findings.setting("data", if setup.options.quick { "made-up pictures" } else { "MNIST" });

    let mut contenders = vec![ours(setup, &points, &queries, k)];
    if setup.options.no_rival {
        findings.note("scikit-learn was left out");
    } else {
        contenders.push(theirs(setup, &points, &queries, k));
    }
    let finished = alternate(contenders, setup.rounds(5))?;
    findings.timings(&finished);
    let (ours, theirs) = (&finished[0], finished.get(1));
    let scores = answers::read_matrix(&setup.scratch_file(OUR_SCORES), ours.answer().0.eigenvalues.len())?;
    findings.check("mercer: scores that are not finite", count_not_finite(&scores), 0.0)?;
    let growth = findings.quantity("peak growth of mercer", ours.answer().0.peak_growth_bytes as f64, "B");
    let kernel_matrix = Quantity::new("the kernel matrix of queries and points in f32", 4.0 * (n * n) as f64, "B");
    findings.ratio("memory of a transform to its kernel matrix", growth, kernel_matrix, None);
    match theirs {
        Some(theirs) => compare(setup, findings, ours, theirs, &scores),
        None => Ok(()),
    }
}

fn ours<'a>(setup: &Setup, points: &PointsFile, queries: &PointsFile, k: usize) -> Contender<'a, Answered> {
    let fit = FitOnce {
        points: points.clone(),
        gamma: GAMMA,
        components: k,
        tolerance: TOLERANCE,
        gram: mercer::GramChoice::Auto,
        solver: mercer::SolverChoice::Auto,
        memory: "auto".to_owned(),
        threads: setup.options.threads,
        scores: None,
    };
    let transform = TransformOnce {
        fit,
        queries: queries.path.clone(),
        query_rows: queries.rows,
        query_scores: setup.scratch_file(OUR_SCORES),
    };
    Contender::new(format!("mercer/queries={}", queries.rows), move || {
        let answer = transform.spawn()?;
        Ok((answer.seconds, (answer, None)))
    })
}

fn theirs<'a>(setup: &'a Setup, points: &PointsFile, queries: &PointsFile, k: usize) -> Contender<'a, Answered> {
    let script = Rival::new("kernel_pca_transform.py", points)
        .argument("gamma", GAMMA)
        .argument("components", k)
        .argument("queries", queries.path.display())
        .argument("query-rows", queries.rows)
        .argument("query-scores", setup.scratch_file(THEIR_SCORES).display());
    Contender::new(format!("sklearn/queries={}", queries.rows), move || {
        let (answer, note): Answered = script.run(setup)?;
        Ok((answer.seconds, (answer, note)))
    })
}

fn compare(
    setup: &Setup,
    findings: &mut Findings,
    ours: &Finished<Answered>,
    theirs: &Finished<Answered>,
    scores: &Mat<f64>,
) -> Result<()> {
    let (answer, note) = theirs.answer();
    findings.note_if(note.as_deref());
    findings.rival_versions(&answer.versions);
    let difference = answers::eigenvalue_difference(&ours.answer().0.eigenvalues, &answer.eigenvalues);
    findings.check("eigenvalues of the two models, relative to themselves", difference, EIGENVALUE_LIMIT)?;
    let their_scores = answers::read_matrix(&setup.scratch_file(THEIR_SCORES), scores.ncols())?;
    let difference = answers::score_difference(scores.as_ref(), their_scores.as_ref());
    findings.check("scores of the queries, up to signs and turns", difference, SCORE_LIMIT)?;
    findings.ratio("scikit-learn's transform to ours", theirs, ours, Some(Bar::AtLeast(SPEED_BAR)));
    let growth = Quantity::new("peak growth of mercer", ours.answer().0.peak_growth_bytes as f64, "B");
    let their_growth = findings.quantity("peak growth of sklearn", answer.peak_growth_bytes as f64, "B");
    findings.ratio("memory of ours to scikit-learn's", growth, their_growth, None);
    Ok(())
}

fn count_not_finite(scores: &Mat<f64>) -> f64 {
    let columns = scores.col_iter().map(|column| column.iter().filter(|score| !score.is_finite()).count());
    columns.sum::<usize>() as f64
}
