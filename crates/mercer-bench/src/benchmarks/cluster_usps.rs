//! How much faster, and with how much less memory, is spectral clustering than scikit-learn's, and are the clusters the same?

use std::path::PathBuf;

use mercer::agreement::{Contingency, variation_of_information};

use crate::child::{ClusterAnswer, ClusterOnce};
use crate::digit_sets;
use crate::failure::{Failure, Result};
use crate::harness::{Contender, Finished, alternate};
use crate::points_file::{PIXELS, PointsFile};
use crate::record::{Bar, Findings, Quantity};
use crate::rival::Rival;
use crate::setup::Setup;
use crate::usps;

use super::GAMMA;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    All 7291 training digits of USPS in ten clusters, Gaussian kernel of bandwidth 8, ten eigenvectors, ten restarts of k-means, against \
    scikit-learn's `SpectralClustering` with the same affinity. Times are from points in memory to clusters; memory is the peak beyond what was \
    resident before. The variation of information is that of the clusters and the digits; it must be that of eigenvectors which \
    Lanczos finds to residual 1e-11 in double precision. scikit-learn's embedding is another one (rows are not brought to unit length), so its clusters are only \
    reported. All 60000 training digits of MNIST (784 pixels from 0 to 1, as bytes) are clustered in the same way; nobody else is asked to.";

/// How far the variation of information may be from that of exact eigenvectors.
const INFORMATION_LIMIT: f64 = 0.01;
const SPEED_BAR: f64 = 5.0;
const MEMORY_BAR: f64 = 0.1;
const CLUSTERS: usize = 10;
/// Seconds for all of MNIST.
const ALLOWED: f64 = 300.0;
/// How far the clusters of all of MNIST may be from the digits: one less the normalised mutual information.
const AGREEMENT_LIMIT: f64 = 0.7;
/// Our ways: automatic, and without keeping tiles, which is held against the memory bar.
const OUR_GRAMS: [&str; 2] = ["auto", "tiled"];

type Answered = (ClusterAnswer, Option<String>);

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let (values, digits) = usps::all_digits(setup, 400)?;
    let points = PointsFile::write_f32(setup.scratch_file("usps.f32"), &values, usps::PIXELS)?;
    findings.setting("points", points.rows);
    findings.setting("clusters", CLUSTERS);
    findings.setting("gamma", GAMMA);
    findings.setting("data", if setup.options.quick { "made-up pictures" } else { "USPS, training part" });

    let ours = OUR_GRAMS.iter().map(|gram| our_contender(setup, &points, gram)).collect::<Result<Vec<_>>>()?;
    let theirs = (!setup.options.no_rival).then(|| rival(setup, &points));
    let finished = alternate(ours.into_iter().chain(theirs).collect(), setup.rounds(3))?;
    findings.timings(&finished);
    let exact = ClusterOnce { exact: true, ..once(setup, &points, "auto", "exact")? }.spawn()?;
    let expected = information(setup, "exact", &digits)?;
    findings.quantity("variation of information of exact eigenvectors", expected, "");
    findings.quantity("time of exact eigenvectors", exact.seconds, "s");
    for (contender, file) in finished.iter().zip(["auto", "tiled", "sklearn"]) {
        describe(findings, contender, information(setup, file, &digits)?);
    }
    let (ours, theirs) = finished.split_at(OUR_GRAMS.len());
    for (contender, gram) in ours.iter().zip(OUR_GRAMS) {
        findings.check(
            format!("{}: variation of information from that of exact eigenvectors", contender.timing.name),
            (information(setup, gram, &digits)? - expected).abs(),
            INFORMATION_LIMIT,
        )?;
    }
    all_of_mnist(setup, findings)?;
    let [auto, tiled] = ours else { unreachable!("as many as there are ways of making products") };
    let Some(theirs) = theirs.first() else {
        findings.note("scikit-learn was left out");
        return Ok(());
    };
    findings.ratio("scikit-learn to auto", theirs, auto, Some(Bar::AtLeast(SPEED_BAR)));
    findings.ratio("scikit-learn to tiled", theirs, tiled, Some(Bar::AtLeast(SPEED_BAR)));
    for (name, contender, bar) in [("auto", auto, None), ("tiled", tiled, Some(Bar::AtMost(MEMORY_BAR)))] {
        let peak_of = |contender: &Finished<Answered>| {
            Quantity::new(format!("peak of {}", contender.timing.name), peak(contender), "B")
        };
        findings.ratio(format!("memory of {name} to scikit-learn's"), peak_of(contender), peak_of(theirs), bar);
    }
    Ok(())
}

/// The largest set of digits: time, memory, and how far clusters are the digits. In a quick run it is made up like the small one.
fn all_of_mnist(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let file = setup.scratch_file("many.points");
    let (points, digits) = if setup.options.quick {
        let (values, digits) = usps::all_digits(setup, 600)?;
        (PointsFile::write_f32(file, &values, usps::PIXELS)?, digits)
    } else {
        let (pictures, digits) = digit_sets::read(setup, 0)?;
        (PointsFile::write_u8(file, &pictures, PIXELS)?, digits)
    };
    let clustering = once(setup, &points, "auto", "many")?;
    let run = Contender::new(format!("mercer_mnist/n={}", points.rows), move || {
        let answer = clustering.spawn()?;
        Ok((answer.seconds, (answer, None)))
    });
    let finished = alternate(vec![run], setup.rounds(1))?;
    findings.timings(&finished);
    let (answer, _): &Answered = finished[0].answer();
    let agreement = Contingency::new(&digits, &read_labels(setup, "many")?)?;
    describe(findings, &finished[0], agreement.variation_of_information());
    findings.quantity("adjusted Rand index of all of MNIST", agreement.adjusted_rand_index(), "");
    let information = agreement.normalized_mutual_information();
    let information = findings.quantity("normalised mutual information of all of MNIST", information, "");
    findings.check("all of MNIST: clusters from digits, 1 - NMI", 1.0 - information.value, AGREEMENT_LIMIT)?;
    if let Some(record) = &answer.record {
        let largest = record.residuals.iter().copied().fold(0.0, f64::max);
        findings.check("all of MNIST: largest residual", largest, record.tolerance)?;
    }
    let allowed = Quantity::new("allowed", ALLOWED, "s");
    findings.ratio("all of MNIST: time to five minutes", &finished[0], allowed, Some(Bar::AtMost(1.0)));
    Ok(())
}

fn labels_file(setup: &Setup, name: &str) -> PathBuf {
    setup.scratch_file(&format!("{name}.labels"))
}

fn once(setup: &Setup, points: &PointsFile, gram: &str, name: &str) -> Result<ClusterOnce> {
    Ok(ClusterOnce {
        points: points.clone(),
        gamma: GAMMA,
        clusters: CLUSTERS,
        gram: gram.parse()?,
        exact: false,
        threads: setup.options.threads,
        labels: labels_file(setup, name),
    })
}

fn our_contender<'a>(setup: &Setup, points: &PointsFile, gram: &str) -> Result<Contender<'a, Answered>> {
    let clustering = once(setup, points, gram, gram)?;
    Ok(Contender::new(format!("mercer_{gram}/n={}", points.rows), move || {
        let answer = clustering.spawn()?;
        Ok((answer.seconds, (answer, None)))
    }))
}

fn rival<'a>(setup: &'a Setup, points: &PointsFile) -> Contender<'a, Answered> {
    let script = Rival::new("spectral_clustering.py", points)
        .argument("gamma", GAMMA)
        .argument("clusters", CLUSTERS)
        .argument("labels", labels_file(setup, "sklearn").display());
    Contender::new(format!("sklearn/n={}", points.rows), move || {
        let (answer, note): Answered = script.run(setup)?;
        Ok((answer.seconds, (answer, note)))
    })
}

/// The variation of information of the digits and the clusters in a file.
fn information(setup: &Setup, name: &str, digits: &[u8]) -> Result<f64> {
    Ok(variation_of_information(digits, &read_labels(setup, name)?)?)
}

fn read_labels(setup: &Setup, name: &str) -> Result<Vec<u8>> {
    let path = labels_file(setup, name);
    std::fs::read(&path).map_err(Failure::file(&path))
}

fn describe(findings: &mut Findings, contender: &Finished<Answered>, information: f64) {
    let (name, (answer, note)) = (&contender.timing.name, contender.answer());
    findings.quantity(format!("peak growth of {name}"), peak(contender), "B");
    findings.quantity(format!("variation of information of {name}"), information, "");
    if let Some(record) = &answer.record {
        findings.quantity(format!("passes of {name}"), record.passes as f64, "");
        let largest = record.residuals.iter().copied().fold(0.0, f64::max);
        findings.quantity(format!("largest residual of {name}"), largest, "");
        let means = record.seconds.get("clustering").copied().unwrap_or(f64::NAN);
        findings.quantity(format!("k-means of {name}"), means, "s");
    }
    findings.rival_versions(&answer.versions);
    findings.note_if(note.as_deref());
}

/// The least of a contender's peaks: like times, other things only ever make them larger.
fn peak(contender: &Finished<Answered>) -> f64 {
    contender.answers.iter().map(|(answer, _)| answer.peak_growth_bytes as f64).fold(f64::INFINITY, f64::min)
}
