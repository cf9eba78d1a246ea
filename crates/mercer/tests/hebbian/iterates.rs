//! Batches give the iterates of one update at a time.

use faer::Mat;
use mercer::hebbian::RecordError;
use mercer::kernel::PairFunction;
use mercer::{Center, GramChoice, Kernel, MemoryBudget, Points, Precision, Watch};
use mercer_testkit::generate::{Random, gaussian_cloud};
use mercer_testkit::reference::{HebbianReference, center};
use mercer_testkit::{Format, Textbook};

use crate::support::{close, column, precomputed, run, settings};

const RULES: [(&str, f64); 9] = [
    ("constant", 0.3),
    ("t", 0.4),
    ("et*", 1.0),
    ("et", 0.1),
    ("smd*", 1.0),
    ("smd", 0.1),
    ("s", 0.3),
    ("ts", 0.4),
    ("es", 0.6),
];
const REFRESHES: [&str; 3] = ["pass", "iteration", "pass-eigenvalues"];
const R: usize = 5;
const N: usize = 60;

fn reference(rule: &'static str, eta0: f64, refresh: &'static str) -> HebbianReference {
    HebbianReference { rule, refresh, eta0, tau: 80.0, mu: 0.3, xi: 0.95, rho0: 0.1 }
}

fn matrix() -> (Points, Mat<f64>, Kernel) {
    let cloud = gaussian_cloud(N, 4, 3);
    let rows: Vec<Vec<f64>> = (0..N).map(|i| cloud.row(i).to_vec()).collect();
    let gram = Textbook::Gaussian { gamma: 0.2 }.matrix(&rows, &rows);
    (cloud.points(Format::F64), gram, Kernel::gaussian(0.2).unwrap())
}

fn start() -> Mat<f64> {
    let mut random = Random::new(8);
    Mat::from_fn(R, N, |_, _| random.normal() / ((R * N) as f64).sqrt())
}

/// Samples drawn with repetition, some of them twice in a row: a batch holds the same index several times.
fn order() -> Vec<usize> {
    let mut random = Random::new(5);
    (0..150).map(|t| if t % 10 == 9 { 7 } else { random.bits() as usize % N }).flat_map(|p| [p, p]).take(150).collect()
}

fn check(centered: bool, given: bool) {
    let (points, gram, kernel) = matrix();
    let target = if centered { center(gram.as_ref()) } else { gram.clone() };
    let (a, order) = (start(), order());
    let (points, kernel) = if given { (precomputed(gram.as_ref()), Kernel::Precomputed) } else { (points, kernel) };
    for (rule, eta0) in RULES {
        for refresh in REFRESHES {
            let reference = reference(rule, eta0, refresh);
            let expected = reference.run(target.as_ref(), a.as_ref(), &order);
            for batch in [1, 7, 50] {
                let settings = settings(&reference, kernel.clone(), R)
                    .center(if centered { Center::Yes } else { Center::No })
                    .batch_size(batch);
                let learner = run(&settings, &points, a.as_ref(), &order);
                let what = format!("{rule}, {refresh}, batches of {batch}, centred {centered}, given {given}");
                close(learner.coefficients().as_ref(), expected.a.as_ref(), 1e-10, &what);
                close(column(learner.log_gains()).as_ref(), column(&expected.rho).as_ref(), 1e-10, &what);
                if let Some(memory) = learner.memory_coefficients() {
                    close(memory.as_ref(), expected.b.as_ref(), 1e-10, &what);
                }
            }
        }
    }
}

#[test]
fn batches_give_the_iterates_of_single_updates_centred() {
    check(true, false);
}

#[test]
fn batches_give_the_iterates_of_single_updates_uncentred() {
    check(false, false);
}

#[test]
fn batches_give_the_iterates_of_single_updates_on_a_given_matrix() {
    check(true, true);
    check(false, true);
}

/// Points whose kernel between samples is made again, read from kept rows because they have too many features, and read because a function gives it.
fn kinds_of_kernel() -> [(&'static str, Points, Kernel); 3] {
    let (points, _, kernel) = matrix();
    let function = PairFunction::new("gaussian", |x: &[f64], y: &[f64]| {
        (-0.2 * x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>()).exp()
    });
    let wide = gaussian_cloud(N, 1025, 3).points(Format::F64);
    [
        ("few features", points.clone(), kernel),
        ("many features", wide, Kernel::gaussian(1e-3).unwrap()),
        ("a function", points, Kernel::custom(function)),
    ]
}

#[test]
fn kept_rows_give_the_same_bits_as_computed_ones() {
    let (a, order) = (start(), order());
    for (what, points, kernel) in kinds_of_kernel() {
        for (refresh, batch) in [("pass", 7), ("pass", 50), ("iteration", 7)] {
            let settings = settings(&reference("smd*", 1.0, refresh), kernel.clone(), R).batch_size(batch);
            let tiled = run(&settings.clone().gram(GramChoice::Tiled), &points, a.as_ref(), &order);
            assert!(tiled.stored_share() == 0.0);
            let stored = run(&settings.clone().gram(GramChoice::Stored), &points, a.as_ref(), &order);
            assert!(stored.stored_share() >= 1.0);
            assert!(stored.kernel_entries() < tiled.kernel_entries());
            assert_eq!(tiled.coefficients(), stored.coefficients(), "{what}, {refresh}, {batch}");
            assert_eq!(tiled.images(), stored.images(), "{what}, {refresh}, {batch}");
        }
    }
}

#[test]
fn entries_between_the_samples_of_a_batch_count_wherever_they_are_computed() {
    let n = N as u64;
    for (what, points, kernel) in kinds_of_kernel() {
        for gram in [GramChoice::Tiled, GramChoice::Stored] {
            let settings = settings(&reference("et*", 0.5, "pass"), kernel.clone(), R).batch_size(20).gram(gram);
            let mut learner = settings.passes(1).record_error(RecordError::No).fit(&points).unwrap();
            let before = learner.kernel_entries();
            learner.partial_fit(None, 1, &Watch::new()).unwrap();
            let rows = if gram == GramChoice::Tiled { n * n } else { 0 };
            let are_read = gram == GramChoice::Stored && what != "few features";
            let between = if are_read { 0 } else { 3 * 20 * 20 };
            assert_eq!(learner.kernel_entries() - before, rows + between, "{what}, {gram}");
        }
    }
}

#[test]
fn rows_of_which_some_are_kept_give_the_iterates_too() {
    let (points, gram, kernel) = matrix();
    let (a, order) = (start(), order());
    let reference = reference("et*", 1.0, "pass");
    let expected = reference.run(center(gram.as_ref()).as_ref(), a.as_ref(), &order);
    // Whatever the run itself needs, and a little more: the least budget under which rows are kept but not all.
    let settings = settings(&reference, kernel, R).batch_size(20).gram(GramChoice::Stored);
    let partly = (0..4000)
        .map(|step| settings.clone().memory(MemoryBudget::Bytes(20_000 + 1000 * step)))
        .filter_map(|settings| {
            let start = mercer::hebbian::Start { coefficients: Some(a.as_ref()), order: Some(&order), model: None };
            settings.fit_from(&points, &start, &mercer::Watch::new()).ok()
        })
        .find(|learner| learner.stored_share() > 0.3)
        .unwrap();
    assert!(partly.stored_share() < 1.0, "{}", partly.stored_share());
    close(partly.coefficients().as_ref(), expected.a.as_ref(), 1e-10, "partly kept rows");
}

#[test]
fn threads_do_not_change_a_bit() {
    let (points, _, kernel) = matrix();
    let (a, order) = (start(), order());
    for refresh in ["pass", "iteration"] {
        let settings = settings(&reference("smd", 0.1, refresh), kernel.clone(), R).batch_size(50);
        let one = run(&settings.clone().threads(1), &points, a.as_ref(), &order);
        let three = run(&settings.clone().threads(3), &points, a.as_ref(), &order);
        assert_eq!(one.coefficients(), three.coefficients(), "{refresh}");
        assert_eq!(one.log_gains(), three.log_gains(), "{refresh}");
    }
}

#[test]
fn single_precision_and_bytes_follow_the_reference_as_far_as_their_rounding_allows() {
    let cloud = gaussian_cloud(N, 4, 3);
    let rows: Vec<Vec<f64>> = (0..N).map(|i| cloud.row(i).to_vec()).collect();
    let gram = Textbook::Gaussian { gamma: 0.2 }.matrix(&rows, &rows);
    let (a, order) = (start(), order());
    let reference = reference("smd*", 1.0, "iteration");
    let expected = reference.run(center(gram.as_ref()).as_ref(), a.as_ref(), &order);
    let settings = settings(&reference, Kernel::gaussian(0.2).unwrap(), R).batch_size(50);
    let single = run(&settings, &cloud.points(Format::F32), a.as_ref(), &order);
    // 150 updates with entries rounded to 6e-8.
    close(single.coefficients().as_ref(), expected.a.as_ref(), 1e-4, "single precision");
    // Coordinates are rounded to 1/64: the bytes' own matrix is another one, so they are compared with themselves in double
    // precision.
    let bytes = cloud.points(Format::U8);
    let found = run(&settings, &bytes, a.as_ref(), &order);
    let exact = run(&settings.precision(Precision::F64), &bytes, a.as_ref(), &order);
    close(found.coefficients().as_ref(), exact.coefficients().as_ref(), 1e-4, "bytes");
}
