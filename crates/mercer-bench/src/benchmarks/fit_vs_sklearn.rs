//! How much faster, and with how much less memory, is a fit than scikit-learn's?

use crate::answers;
use crate::child::{FitAnswer, FitOnce};
use crate::failure::Result;
use crate::harness::{Contender, Finished, alternate};
use crate::points_file::{Digits, Part, PointsFile};
use crate::record::{Bar, Findings, Quantity};
use crate::rival::Rival;
use crate::setup::Setup;

use super::GAMMA;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    The first 10000 digits of MNIST in single precision, Gaussian kernel of bandwidth 8 on pixels from 0 to 1, 50 \
    components to residual 1e-4, against scikit-learn's `KernelPCA` with each of its solvers. Times are from points \
    in memory to eigenpairs; memory is the peak beyond what was resident before the fit. \
    Recomputed tiles are tried twice: as fast as they go, and within a budget of 46 MiB. The bars are held against \
    scikit-learn's fastest solver and against its thriftiest one, however accurate they are.";

/// What every residual has to reach.
const TOLERANCE: f64 = 1e-4;
/// Eigenvalues may differ by this share of themselves: residuals of 1e-4 and single precision leave less.
const EIGENVALUE_LIMIT: f64 = 1e-4;
/// Directions that must lie in the space the rival found, and how far (sine of the angle) they may stick out of it.
const LEADING: usize = 10;
const ANGLE_LIMIT: f64 = 1e-2;
const SPEED_BAR: f64 = 10.0;
const MEMORY_BAR: f64 = 0.1;

/// scikit-learn's solvers; the first is the reference for answers.
const RIVAL_SOLVERS: [&str; 3] = ["dense", "arpack", "randomized"];
/// Our ways of making products, and the memory each may take; the last one is held against the memory bar.
const OURS: [(&str, &str, &str); 3] =
    [("auto", "auto", "auto"), ("tiled", "tiled", "auto"), ("lean", "tiled", LEAN_BUDGET)];
/// A little less than a tenth of what the thriftiest of scikit-learn's solvers took when the bar was set.
const LEAN_BUDGET: &str = "46MiB";

type Answered = (FitAnswer, Option<String>);

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let (n, k) = (setup.size(10_000, 600), setup.size(50, 10));
    let points = Digits::prepare(setup, Part::Train, n)?.f32;
    findings.setting("points", n);
    findings.setting("components", k);
    findings.setting("gamma", GAMMA);
    findings.setting("tolerance", TOLERANCE);
    findings.setting("data", if setup.options.quick { "made-up pictures" } else { "MNIST, training part, first rows" });

    let ours = OURS.iter().map(|way| our_contender(setup, &points, k, *way)).collect::<Result<Vec<_>>>()?;
    let theirs =
        RIVAL_SOLVERS.iter().filter(|_| !setup.options.no_rival).map(|solver| rival(setup, &points, k, solver));
    let finished = alternate(ours.into_iter().chain(theirs).collect(), setup.rounds(3))?;
    findings.timings(&finished);
    for contender in &finished {
        describe(findings, contender);
    }
    let (ours, theirs) = finished.split_at(OURS.len());
    for contender in ours {
        let what = format!("{}: largest residual", contender.timing.name);
        findings.check(what, contender.answer().0.largest_residual, TOLERANCE)?;
    }
    let [auto, tiled, lean] = ours else { unreachable!("as many as there are ways of making products") };
    for (way, (name, ..)) in ours.iter().zip(OURS).skip(1) {
        findings.check(
            format!("{name} and auto: eigenvalues, relative to themselves"),
            answers::eigenvalue_difference(&way.answer().0.eigenvalues, &auto.answer().0.eigenvalues),
            EIGENVALUE_LIMIT,
        )?;
    }
    if theirs.is_empty() {
        findings.note("scikit-learn was left out");
        return Ok(());
    }
    check_against_reference(setup, findings, ours, k)?;
    compare(findings, [auto, tiled, lean], theirs);
    Ok(())
}

fn our_contender<'a>(
    setup: &Setup,
    points: &PointsFile,
    k: usize,
    (name, gram, memory): (&str, &str, &str),
) -> Result<Contender<'a, Answered>> {
    let fit = FitOnce {
        points: points.clone(),
        gamma: GAMMA,
        components: k,
        tolerance: TOLERANCE,
        gram: gram.parse()?,
        solver: mercer::SolverChoice::Auto,
        memory: memory.to_owned(),
        threads: setup.options.threads,
        scores: Some(setup.scratch_file(&format!("mercer_{name}"))),
    };
    Ok(Contender::new(format!("mercer_{name}/n={}", points.rows), move || {
        let answer = fit.spawn()?;
        Ok((answer.seconds, (answer, None)))
    }))
}

fn rival<'a>(setup: &'a Setup, points: &PointsFile, k: usize, solver: &str) -> Contender<'a, Answered> {
    let script = Rival::new("kernel_pca_fit.py", points)
        .argument("gamma", GAMMA)
        .argument("components", k)
        .argument("solver", solver)
        .argument("scores", setup.scratch_file(solver).display());
    Contender::new(format!("sklearn_{solver}/n={}", points.rows), move || {
        let (answer, note): Answered = script.run(setup)?;
        Ok((answer.seconds, (answer, note)))
    })
}

/// Keeps what a contender used and how good its answer was.
fn describe(findings: &mut Findings, contender: &Finished<Answered>) {
    let (name, (answer, note)) = (&contender.timing.name, contender.answer());
    findings.quantity(format!("peak growth of {name}"), peak(contender), "B");
    findings.quantity(format!("largest residual of {name}"), answer.largest_residual, "");
    if let Some(record) = &answer.record {
        findings.quantity(format!("passes of {name}"), answer.passes(), "");
        findings.quantity(format!("block of {name}"), record.plan.block as f64, "");
    }
    findings.rival_versions(&answer.versions);
    findings.note_if(note.as_deref());
}

/// The least of a contender's peaks: like times, other things only ever make them larger.
fn peak(contender: &Finished<Answered>) -> f64 {
    contender.answers.iter().map(|(answer, _)| answer.peak_growth_bytes as f64).fold(f64::INFINITY, f64::min)
}

/// Our answers must be those of scikit-learn's dense solver.
fn check_against_reference(
    setup: &Setup,
    findings: &mut Findings,
    ours: &[Finished<Answered>],
    k: usize,
) -> Result<()> {
    let reference = answers::read_matrix(&setup.scratch_file(RIVAL_SOLVERS[0]), k)?;
    // Eigenvalues are the squared lengths of columns of scores.
    let expected: Vec<f64> = (0..k).map(|j| reference.col(j).squared_norm_l2()).collect();
    for (contender, (way, ..)) in ours.iter().zip(OURS) {
        let name = &contender.timing.name;
        let difference = answers::eigenvalue_difference(&contender.answer().0.eigenvalues, &expected);
        findings.check(
            format!("{name}: eigenvalues against sklearn_dense, relative to themselves"),
            difference,
            EIGENVALUE_LIMIT,
        )?;
        let scores = answers::read_matrix(&setup.scratch_file(&format!("mercer_{way}")), k)?;
        let angle = answers::angle_out_of(scores.as_ref(), reference.as_ref(), LEADING.min(k));
        findings.check(
            format!("{name}: sine of leading directions out of sklearn_dense's space"),
            angle,
            ANGLE_LIMIT,
        )?;
    }
    Ok(())
}

fn compare(findings: &mut Findings, [auto, tiled, lean]: [&Finished<Answered>; 3], theirs: &[Finished<Answered>]) {
    let fastest = |among: &mut dyn Iterator<Item = &Finished<Answered>>| -> Option<Quantity> {
        among.min_by(|a, b| a.best().total_cmp(&b.best())).map(Quantity::from)
    };
    if let Some(fastest) = fastest(&mut theirs.iter()) {
        findings.ratio("scikit-learn's fastest solver to auto", fastest.clone(), auto, Some(Bar::AtLeast(SPEED_BAR)));
        findings.ratio("scikit-learn's fastest solver to tiled", fastest.clone(), tiled, None);
        findings.ratio(format!("scikit-learn's fastest solver to tiled within {LEAN_BUDGET}"), fastest, lean, None);
    }
    let accurate = |rival: &&Finished<Answered>| rival.answer().0.largest_residual <= TOLERANCE;
    if let Some(fastest) = fastest(&mut theirs.iter().filter(accurate)) {
        findings.ratio("its fastest solver that reaches the residual to auto", fastest, auto, None);
    }
    let peaks = theirs.iter().map(|rival| Quantity::new(format!("peak of {}", rival.timing.name), peak(rival), "B"));
    if let Some(thriftiest) = peaks.min_by(|a, b| a.value.total_cmp(&b.value)) {
        let ours = |name: &str, fit| Quantity::new(format!("peak of mercer_{name}"), peak(fit), "B");
        findings.ratio(
            "memory of tiled to that of its thriftiest solver",
            ours("tiled", tiled),
            thriftiest.clone(),
            None,
        );
        findings.ratio(
            format!("memory of tiled within {LEAN_BUDGET} to that of its thriftiest solver"),
            ours("lean", lean),
            thriftiest,
            Some(Bar::AtMost(MEMORY_BAR)),
        );
    }
}
