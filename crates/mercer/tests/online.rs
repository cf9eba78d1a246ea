//! Online learners: the reference values, the laws, and what bad input gets.
#![allow(clippy::unwrap_used)]

use std::fs::File;

use faer::Mat;
use faer::linalg::solvers::Solve;
use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Policy, Rule, Schedule};
use mercer::{Center, Kernel, Model, Points};
use mercer_testkit::generate::Random;
use npyz::npz::NpzArchive;

/// A case of the reference vectors.
struct Case {
    archive: NpzArchive<std::io::BufReader<File>>,
}

impl Case {
    fn open(name: &str) -> Self {
        let path = format!("{}/../../testdata/reference/{name}.npz", env!("CARGO_MANIFEST_DIR"));
        Self { archive: NpzArchive::open(path).unwrap() }
    }

    fn values(&mut self, name: &str) -> (Vec<u64>, Vec<f64>) {
        let array = self.archive.by_name(name).unwrap().unwrap();
        (array.shape().to_vec(), array.into_vec::<f64>().unwrap())
    }

    fn points(&mut self, name: &str) -> Points {
        let (shape, values) = self.values(name);
        Points::from_f64(values, shape[0] as usize, shape[1] as usize).unwrap()
    }
}

/// |got - want| <= 1e-8 max|want| + 1e-13.
#[track_caller]
fn assert_agrees(what: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= 1e-8 * scale + 1e-13, "{what}[{i}]: {got} instead of {want}");
    }
}

fn row_major(matrix: &Mat<f64>) -> Vec<f64> {
    (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| (i, j))).map(|place| matrix[place]).collect()
}

const P: usize = 3;

/// Coefficients of all components over all rows of `z`, zero for rows that are not remembered.
fn over_all_rows(learner: &Learner, z: &Points) -> Vec<f64> {
    let (basis, coefficients) = (learner.basis(), learner.coefficients());
    let mut all = vec![0.0; coefficients.nrows() * z.n_samples()];
    for (slot, row) in basis.iter().enumerate() {
        let place = (0..z.n_samples()).find(|&i| z.row(i) == *row).unwrap();
        for p in 0..coefficients.nrows() {
            all[p * z.n_samples() + place] = coefficients[(p, slot)];
        }
    }
    all
}

fn cases() -> Vec<(&'static str, Kernel, f64)> {
    vec![
        ("kashima_gauss1", Kernel::gaussian(0.5).unwrap(), 0.2),
        ("kashima_poly2_c1", Kernel::polynomial(1.0, 1.0, 2).unwrap(), 0.05),
    ]
}

#[test]
fn reference_vectors_come_out() {
    for (name, kernel, eta) in cases() {
        let mut case = Case::open(name);
        let z = case.points("in_Z");
        let stream = z.slice(P..z.n_samples());
        let settings = OnlineKernelPca::new(kernel.clone()).center(Center::No).learning_rate(eta);
        let three = settings.clone().n_components(P).start(z.slice(0..P));
        for (label, settings) in [
            ("sim_beta1", three.clone()),
            ("sim_beta2", three.clone().beta(2.0)),
            ("budget8", three.clone().budget(8).policy(Policy::Oldest)),
            ("centred", three.clone().center(Center::Yes)),
        ] {
            let mut learner = settings.learner().unwrap();
            let outputs = learner.learn(&stream).unwrap();
            assert_agrees(
                &format!("{name} {label} Y"),
                &row_major(&outputs),
                &case.values(&format!("out_{label}_Y")).1,
            );
            let alpha = over_all_rows(&learner, &z);
            assert_agrees(&format!("{name} {label} alpha"), &alpha, &case.values(&format!("out_{label}_alpha")).1);
        }

        let oja = settings.clone().n_components(1).rule(Rule::Oja).start(z.slice(0..1));
        let mut first = oja.learner().unwrap();
        let y = first.learn(&stream).unwrap();
        assert_agrees(&format!("{name} oja y"), &row_major(&y), &case.values("out_oja_y").1);
        let alpha = row_major(&first.coefficients());
        assert_agrees(&format!("{name} oja alpha"), &alpha, &case.values("out_oja_alpha").1);

        // The second neuron of APEX after the first has finished, which stands still.
        let mut second = first.next_component(&z.slice(1..2)).unwrap();
        let outputs = second.learn(&stream).unwrap();
        let before: Vec<f64> = outputs.col(0).iter().copied().collect();
        let learned: Vec<f64> = outputs.col(1).iter().copied().collect();
        assert_agrees(&format!("{name} apex yprev"), &before, &case.values("out_apex_yprev").1);
        assert_agrees(&format!("{name} apex ytilde"), &learned, &case.values("out_apex_ytilde").1);
        let n = z.n_samples();
        let alpha = over_all_rows(&second, &z);
        assert_agrees(&format!("{name} apex alpha"), &alpha[n..], &case.values("out_apex_alpha").1);
        assert_agrees(&format!("{name} apex a"), &second.lateral()[1], &case.values("out_apex_a").1);
    }
}

/// The feature map of (x·y + 1)² in the plane.
fn features(x: &[f64]) -> Vec<f64> {
    let root = 2.0_f64.sqrt();
    vec![1.0, root * x[0], root * x[1], x[0] * x[0], x[1] * x[1], root * x[0] * x[1]]
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The rules on explicit vectors: outputs and squared distances from the span, row by row.
struct Explicit {
    rule: Rule,
    weights: Vec<Vec<f64>>,
    lateral: Vec<Vec<f64>>,
    mean: Option<Vec<f64>>,
    t: usize,
}

impl Explicit {
    fn new(rule: Rule, start: &Points, center: bool) -> Self {
        let unit = |i| {
            let phi = features(&start.row(i));
            let norm = inner(&phi, &phi).sqrt();
            phi.iter().map(|x| x / norm).collect::<Vec<_>>()
        };
        let p = start.n_samples();
        let lateral = (0..p).map(|p| vec![0.0; p]).collect();
        Self { rule, weights: (0..p).map(unit).collect(), lateral, mean: center.then(|| vec![0.0; 6]), t: 0 }
    }

    fn learn(&mut self, x: &[f64], eta: f64, beta: f64) -> (Vec<f64>, f64) {
        self.t += 1;
        let mut c = features(x);
        if let Some(mean) = &mut self.mean {
            for (mean, phi) in mean.iter_mut().zip(&c) {
                *mean += (phi - *mean) / self.t as f64;
            }
            c.iter_mut().zip(mean).for_each(|(c, mean)| *c -= *mean);
        }
        let raw: Vec<f64> = self.weights.iter().map(|w| inner(w, &c)).collect();
        let mut rest = c.clone();
        for (w, y) in self.weights.iter().zip(&raw) {
            rest.iter_mut().zip(w).for_each(|(rest, w)| *rest -= y * w);
        }
        let mut outputs: Vec<f64> = Vec::new();
        let old = self.weights.clone();
        for p in 0..old.len() {
            let lateral = if self.rule == Rule::Apex { inner(&self.lateral[p], &outputs) } else { 0.0 };
            let y = raw[p] + lateral;
            for i in 0..6 {
                let before: f64 = match self.rule {
                    Rule::Simultaneous => (0..p).map(|j| raw[j] * old[j][i]).sum::<f64>() * beta,
                    _ => 0.0,
                };
                self.weights[p][i] += eta * y * (c[i] - before - y * old[p][i]);
            }
            for (a, before) in self.lateral[p].iter_mut().zip(&outputs) {
                *a -= eta * y * (before + y * *a);
            }
            outputs.push(y);
        }
        (outputs, inner(&rest, &rest))
    }
}

fn plane(n: usize, seed: u64) -> Points {
    let mut random = Random::new(seed);
    Points::from_f64((0..2 * n).map(|i| random.normal() * if i % 2 == 0 { 1.0 } else { 0.4 }).collect::<Vec<_>>(), n, 2)
        .unwrap()
}

fn quadratic() -> Kernel {
    Kernel::polynomial(1.0, 1.0, 2).unwrap()
}

#[test]
fn every_rule_is_the_update_of_explicit_vectors_in_feature_space() {
    let (start, stream) = (plane(3, 1), plane(200, 2));
    for center in [Center::No, Center::Yes] {
        for (rule, p, beta) in
            [(Rule::Oja, 1, 1.0), (Rule::Apex, 3, 1.0), (Rule::Simultaneous, 3, 1.0), (Rule::Simultaneous, 3, 2.0)]
        {
            let start = start.slice(0..p);
            let settings = OnlineKernelPca::new(quadratic()).n_components(p).rule(rule).center(center);
            let settings = if rule == Rule::Simultaneous { settings.beta(beta) } else { settings };
            let mut learner = settings.learning_rate(0.01).start(start.clone()).learner().unwrap();
            let mut explicit = Explicit::new(rule, &start, center == Center::Yes);
            for i in 0..stream.n_samples() {
                let seen = learner.learn_row(&stream.row(i)).unwrap();
                let (outputs, distance) = explicit.learn(&stream.row(i), 0.01, beta);
                for (got, want) in seen.outputs.iter().zip(&outputs) {
                    assert!((got - want).abs() < 1e-9, "{rule}, {center:?}, row {i}: {got} instead of {want}");
                }
                let novelty = seen.novelty;
                assert!((novelty - distance).abs() < 1e-8, "{rule}, {center:?}, row {i}: {novelty} for {distance}");
            }
        }
    }
}

#[test]
fn the_printed_recursion_gives_the_same_outputs() {
    // y(t) = η Σ y(τ) ψ(τ, t-1) K(x(τ), x(t)) + ψ(0, t-1) K(x(0), x(t)) / √K(x(0), x(0)), with 1 - η y² in ψ (erratum K2).
    let (kernel, eta, all) = (Kernel::gaussian(0.7).unwrap(), 0.1, plane(120, 5));
    let k = |i: usize, j: usize| kernel.evaluate(&all.row(i), &all.row(j)).unwrap();
    let (mut y, mut psi): (Vec<f64>, Vec<f64>) = (vec![0.0], vec![1.0]);
    for t in 1..all.n_samples() {
        let past: f64 = (1..t).map(|tau| y[tau] * psi[tau] * k(tau, t)).sum();
        let output = eta * past + psi[0] * k(0, t) / k(0, 0).sqrt();
        for psi in &mut psi {
            *psi *= 1.0 - eta * output * output;
        }
        y.push(output);
        psi.push(1.0);
    }
    let settings = OnlineKernelPca::new(kernel.clone()).n_components(1).rule(Rule::Oja).center(Center::No);
    let mut learner = settings.learning_rate(eta).start(all.slice(0..1)).learner().unwrap();
    let outputs = learner.learn(&all.slice(1..all.n_samples())).unwrap();
    for t in 1..all.n_samples() {
        assert!((outputs[(t - 1, 0)] - y[t]).abs() < 1e-12, "row {t}");
    }
}

#[test]
fn how_rows_are_grouped_changes_nothing() {
    // Some rows come again, so that places in memory are found again, too.
    let fresh = plane(600, 3);
    let order: Vec<usize> = (0..900).map(|i| if i % 3 == 2 { i / 7 } else { i * 2 / 3 }).collect();
    let values: Vec<f64> = order.iter().flat_map(|&i| fresh.row(i)).collect();
    let distinct = order.iter().collect::<std::collections::HashSet<_>>().len();
    let (n, stream) = (order.len(), Points::from_f64(values, order.len(), 2).unwrap());
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(2);
    for (label, remembered, settings) in [
        ("project", 13, settings.clone().budget(13)),
        ("few", 3, settings.clone().budget(3).learning_rate(0.3)),
        ("oldest", 12, settings.clone().budget(12).policy(Policy::Oldest)),
        ("smallest", 12, settings.clone().budget(12).policy(Policy::Smallest)),
        ("started", 14, settings.clone().budget(12).start(plane(2, 4))),
        ("apex", 13, settings.clone().budget(13).rule(Rule::Apex)),
        ("all", distinct, settings.clone()),
    ] {
        let learn = |size: usize| {
            let mut learner = settings.learner().unwrap();
            let mut outputs = Vec::new();
            for first in (0..n).step_by(size) {
                outputs.extend(row_major(&learner.learn(&stream.slice(first..n.min(first + size))).unwrap()));
            }
            (outputs, learner.to_bytes().unwrap(), learner.n_remembered())
        };
        let one = learn(1);
        assert!([7, 32, 33, n].into_iter().all(|size| learn(size) == one), "{label}");
        assert_eq!(one.2, remembered, "{label}");
    }
}

/// The share of the variance of the centred images that the span of the components holds, relative to the best span.
fn captured(learner: &Learner, points: &Points, kernel: &Kernel) -> f64 {
    let (n, p) = (points.n_samples(), learner.coefficients().nrows());
    let outputs = learner.outputs(points).unwrap();
    let mean: Vec<f64> = (0..p).map(|j| outputs.col(j).iter().sum::<f64>() / n as f64).collect();
    // Orthonormal directions of the span: inner products of the components from their expansions.
    let basis = learner.basis();
    let coefficients = learner.coefficients();
    let m = basis.len();
    let gram = Mat::from_fn(m, m, |i, j| kernel.evaluate(&basis[i], &basis[j]).unwrap());
    let inner = &coefficients * &gram * coefficients.transpose();
    let inverse = faer::linalg::solvers::Llt::new(inner.as_ref(), faer::Side::Lower).unwrap();
    let mut explained = 0.0;
    for i in 0..n {
        let y = Mat::from_fn(p, 1, |j, _| outputs[(i, j)] - mean[j]);
        explained += (y.transpose() * inverse.solve(&y))[(0, 0)];
    }
    let best = mercer::KernelPca::new(kernel.clone()).n_components(p).fit(points).unwrap();
    explained / best.eigenvalues().iter().sum::<f64>()
}

#[test]
fn components_capture_nearly_the_variance_of_batch_kernel_pca() {
    let points = plane(400, 8);
    let kernel = Kernel::gaussian(0.5).unwrap();
    let settings = OnlineKernelPca::new(kernel.clone()).n_components(3).schedule(Schedule::Anneal).tau(400.0);
    for (label, settings, least) in [
        ("no budget", settings.clone(), 0.98),
        ("project", settings.clone().budget(30), 0.98),
        ("apex", settings.clone().rule(Rule::Apex), 0.98),
        // A row that is dropped takes its part of the components with it.
        ("smallest", settings.clone().budget(100).policy(Policy::Smallest), 0.5),
    ] {
        let mut learner = settings.learning_rate(0.2).learner().unwrap();
        for _ in 0..10 {
            learner.learn(&points).unwrap();
        }
        let share = captured(&learner, &points, &kernel);
        assert!(share > least && share < 1.0 + 1e-9, "{label}: {share}");
        // Rows come ten times; each is remembered once.
        assert!(learner.n_remembered() <= 400, "{label}: {}", learner.n_remembered());
    }
}

#[test]
fn projecting_keeps_more_of_the_variance_than_dropping_and_says_what_it_lost() {
    let (points, kernel) = (plane(600, 9), Kernel::gaussian(0.5).unwrap());
    let settings = OnlineKernelPca::new(kernel.clone()).n_components(2).learning_rate(0.05);
    let learn = |settings: OnlineKernelPca| {
        let mut learner = settings.learner().unwrap();
        learner.learn(&points).unwrap();
        let lost = learner.budget_error().iter().fold(0.0_f64, |m, e| m.max(*e));
        (captured(&learner, &points, &kernel), lost)
    };
    let (whole, nothing) = learn(settings.clone());
    let (project, small) = learn(settings.clone().budget(40));
    let (oldest, _) = learn(settings.clone().budget(40).policy(Policy::Oldest));
    assert!(nothing == 0.0 && small > 0.0, "lost: {nothing} without a budget, {small} with one");
    assert!(project > whole - small && project > oldest + 0.2, "{whole} whole, {project} projected, {oldest} dropped");
}

#[test]
fn a_learner_follows_data_that_change() {
    let kernel = Kernel::gaussian(0.5).unwrap();
    let before = plane(1000, 10);
    let moved: Vec<f64> = before.rows(0..1000).to_f64().chunks(2).flat_map(|x| [x[1] + 4.0, x[0] - 3.0]).collect();
    let after = Points::from_f64(moved, 1000, 2).unwrap();
    let settings = OnlineKernelPca::new(kernel.clone()).n_components(2).budget(40).learning_rate(0.1).forgetting(0.01);
    let mut learner = settings.learner().unwrap();
    learner.learn(&before).unwrap();
    let (old, new) = (captured(&learner, &before, &kernel), captured(&learner, &after, &kernel));
    assert!(old > 0.9 && new < 0.3, "before the change: {old}, {new}");
    learner.learn(&after).unwrap();
    let recovered = captured(&learner, &after, &kernel);
    assert!(recovered > 0.9, "after the change: {recovered}");
}

#[test]
fn what_is_kept_up_to_date_is_what_it_would_be_if_computed_anew() {
    let (points, kernel) = (plane(500, 12), Kernel::gaussian(0.5).unwrap());
    // With this budget the learner has computed everything anew once, 320 removals after the first, and gone on.
    for policy in [Policy::Project, Policy::Oldest, Policy::Smallest] {
        let settings =
            OnlineKernelPca::new(kernel.clone()).n_components(2).budget(10).policy(policy).learning_rate(0.05);
        let mut learner = settings.learner().unwrap();
        learner.learn(&points).unwrap();
        let (basis, alpha) = (learner.basis(), learner.coefficients());
        let m = basis.len();
        let mean = Mat::from_fn(m, 1, |i, _| learner.mean_coefficients()[i]);
        let gram = Mat::from_fn(m, m, |i, j| kernel.evaluate(&basis[i], &basis[j]).unwrap());
        let x = [0.3, -0.2];
        let k = Mat::from_fn(m, 1, |i, _| kernel.evaluate(&basis[i], &x).unwrap());
        let outputs = learner.outputs(&Points::from_f64(x.to_vec(), 1, 2).unwrap()).unwrap();
        let want = &alpha * (&k - &gram * &mean);
        for p in 0..2 {
            assert!(
                (outputs[(0, p)] - want[(p, 0)]).abs() < 1e-9,
                "{policy}: {} for {}",
                outputs[(0, p)],
                want[(p, 0)]
            );
        }
        let centered = 1.0 - 2.0 * (k.transpose() * &mean)[(0, 0)] + (mean.transpose() * &gram * &mean)[(0, 0)];
        let explained =
            2.0 * want.squared_norm_l2() - (want.transpose() * (&alpha * &gram * alpha.transpose()) * &want)[(0, 0)];
        let distance = centered - explained;
        let looked = learner.look(&x).unwrap().novelty;
        assert!((looked - distance).abs() < 1e-9, "{policy}: {looked} for {distance}");
        // When the row is learned its own share is in the mean: c = (1 - r) (φ - m).
        let share = 1.0 - 1.0 / 501.0;
        let then = learner.learn_row(&x).unwrap().novelty;
        assert!((then - share * share * distance).abs() < 1e-9, "{policy}: {then} for {distance}");
    }
}

#[track_caller]
fn refusal<T>(result: mercer::Result<T>) -> String {
    result.err().unwrap().to_string()
}

#[test]
fn bad_settings_are_refused() {
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap());
    let say = |settings: OnlineKernelPca| refusal(settings.learner());
    assert_eq!(say(settings.clone().n_components(0)), "`n_components` must be at least 1, but it is 0");
    assert_eq!(
        say(settings.clone().rule(Rule::Oja)),
        "`n_components` must be 1 for the rule oja, which finds the first component only, but it is 2"
    );
    assert_eq!(say(settings.clone().learning_rate(0.0)), "`learning_rate` must be a positive number, but it is 0");
    assert_eq!(say(settings.clone().beta(-1.0)), "`beta` must be a positive number, but it is -1");
    assert_eq!(say(settings.clone().tau(0.0)), "`tau` must be a positive number, but it is 0");
    assert_eq!(say(settings.clone().forgetting(1.0)), "`forgetting` must be between 0 and 1, but it is 1");
    assert_eq!(
        say(settings.clone().budget(2)),
        "`budget` must be at least one more than the number of components (3), but it is 2"
    );
    assert_eq!(
        say(settings.clone().policy(Policy::Oldest)),
        "`policy` must be left out without a budget, which it is about, but it is oldest"
    );
    assert_eq!(
        say(settings.clone().tau(100.0)),
        "`tau` must be left out with the schedule constant, which does not use it, but it is 100"
    );
    assert_eq!(
        say(settings.clone().tau(100.0).schedule(Schedule::Inverse)),
        "`tau` must be left out with the schedule 1/t, which does not use it, but it is 100"
    );
    assert_eq!(
        say(settings.clone().beta(2.0).rule(Rule::Apex)),
        "`beta` must be left out with the rule apex, which does not use it, but it is 2"
    );
    assert_eq!(say(settings.clone().start(plane(3, 1))), "`start` must be one point per component (2), but it is 3");
    assert_eq!(
        say(OnlineKernelPca::new(Kernel::Precomputed)),
        "online learning does not work with the precomputed kernel: rows that are still to come have no place in a matrix"
    );
    let nothing = Points::from_f64(vec![1.0, 0.0, 0.0, 0.0], 2, 2).unwrap();
    assert_eq!(
        say(OnlineKernelPca::new(Kernel::linear()).start(nothing)),
        "`start` must be points whose kernel with themselves is positive, but it is one with 0 (row 1)"
    );
}

#[test]
fn bad_rows_are_refused_and_the_rows_before_them_are_learned() {
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learner().unwrap();
    let rows = Points::from_f64(vec![0.0, 1.0, 2.0, f64::NAN], 2, 2).unwrap();
    assert_eq!(refusal(learner.learn(&rows)), "row 1, column 1 is NaN; kernels need finite numbers");
    assert_eq!(learner.n_seen(), 1);
    let wide = Points::from_f64(vec![0.0; 3], 1, 3).unwrap();
    assert_eq!(refusal(learner.learn(&wide)), "the stream has 3 columns, but the model was fitted on 2");
    assert_eq!(learner.n_seen(), 1);
}

#[test]
fn a_rate_that_would_overshoot_is_made_smaller_and_counted() {
    let settings = OnlineKernelPca::new(Kernel::linear()).n_components(1).center(Center::No).learning_rate(10.0);
    let mut learner = settings.learner().unwrap();
    let outputs = learner.learn(&plane(200, 4)).unwrap();
    assert!(learner.n_shrunk() > 0);
    assert!(outputs.norm_max() < 100.0, "the outputs explode: {}", outputs.norm_max());
    // At a rate that never overshoots nothing is counted.
    let mut calm = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learning_rate(0.1).learner().unwrap();
    calm.learn(&plane(200, 4)).unwrap();
    assert_eq!(calm.n_shrunk(), 0);
}

#[test]
fn a_learner_that_was_saved_goes_on_to_the_same_bits() {
    let stream = plane(300, 14);
    for (rule, policy) in
        [(Rule::Apex, Policy::Oldest), (Rule::Simultaneous, Policy::Project), (Rule::Simultaneous, Policy::Smallest)]
    {
        let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(3).rule(rule).policy(policy);
        let mut learner = settings.budget(15).forgetting(0.01).start(plane(3, 15)).learner().unwrap();
        learner.learn(&stream.slice(0..150)).unwrap();
        let mut other = Learner::from_bytes(&learner.to_bytes().unwrap()).unwrap();
        let rest = stream.slice(150..300);
        assert_eq!(learner.learn(&rest).unwrap(), other.learn(&rest).unwrap(), "{rule}, {policy}");
        assert_eq!(learner.coefficients(), other.coefficients());
        assert_eq!(learner.to_bytes().unwrap(), other.to_bytes().unwrap());
    }
}

#[test]
fn bytes_that_are_no_learner_are_refused() {
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).budget(6).learner().unwrap();
    learner.learn(&plane(30, 16)).unwrap();
    let whole = String::from_utf8(learner.to_bytes().unwrap()).unwrap();
    let say = |text: &[u8]| refusal(Learner::from_bytes(text));
    let altered = "`state` must be that of an online learner, but it is not readable (it has been altered or ends too early: \
                   its contents do not match its digest)";
    assert_eq!(say(&whole.as_bytes()[..whole.len() / 2]), altered);
    assert_eq!(say(whole.replace("\"n_seen\":30", "\"n_seen\":31").as_bytes()), altered);
    assert_eq!(
        say(b"mercer learner"),
        "`state` must be that of an online learner, but it is not readable (it ends too early)"
    );
    assert_eq!(
        say(b"x,y\n1,2\n"),
        "`state` must be that of an online learner, but it is not readable (it does not begin as one does)"
    );
    assert_eq!(
        say(&[0xff, 0xfe]),
        "`state` must be that of an online learner, but it is not readable (it is not text)"
    );
    let (_, note) = Learner::from_bytes_with_note(&learner.to_bytes_with_note("row 30").unwrap()).unwrap();
    assert_eq!(note, "row 30");
    let custom = Kernel::custom(mercer::kernel::PairFunction::new("one", |_: &[f64], _: &[f64]| 1.0));
    let learner = OnlineKernelPca::new(custom).learner().unwrap();
    assert_eq!(
        refusal(learner.to_bytes()),
        "saving a learner does not work with the one kernel: a function cannot be written to a file"
    );
}

#[test]
fn what_was_learned_is_a_model_like_any_other() {
    let (points, kernel) = (plane(2000, 20), Kernel::gaussian(0.5).unwrap());
    for (center, policy) in
        [(Center::Yes, Policy::Project), (Center::No, Policy::Project), (Center::Yes, Policy::Smallest)]
    {
        let settings = OnlineKernelPca::new(kernel.clone()).n_components(3).center(center).budget(60).policy(policy);
        let mut learner = settings.learner().unwrap();
        learner.learn(&points).unwrap();
        let model = Model::from_bytes(&learner.model().unwrap().to_bytes().unwrap(), None).unwrap();
        assert_eq!((model.n_components(), model.basis().n_samples(), model.n_samples()), (3, 60, 2000));
        assert_eq!(model.basis_kind(), mercer::BasisKind::Representatives);
        // The model's components are orthonormal and span what the learner's do.
        let (basis, alpha) = (model.basis(), model.dual_coefficients());
        let gram = Mat::from_fn(60, 60, |i, j| kernel.evaluate(&basis.row(i), &basis.row(j)).unwrap());
        let inner = alpha.transpose() * &gram * alpha;
        assert!((&inner - Mat::<f64>::identity(3, 3)).norm_max() < 1e-9, "{policy}: {inner:?}");
        let queries = plane(50, 21);
        let scores = model.transform(&queries).unwrap();
        let outputs = learner.outputs(&queries).unwrap();
        let map = learner.coefficients() * &gram * alpha;
        assert!(
            (&outputs - &scores * map.transpose()).norm_max() < 1e-9,
            "{policy}: outputs are combinations of scores"
        );
        // Their distance from the span is computed from the scores alone, as for any model.
        let novelty = model.novelty(&queries).unwrap();
        assert!(novelty.reconstruction_error.iter().all(|&error| (0.0..1.5).contains(&error)));
        let shares = model.explained_variance_ratio();
        assert!(shares.iter().sum::<f64>() < 1.0 && shares.iter().all(|&share| share > 0.0), "{shares:?}");
        assert!((model.total_variance() / 2000.0 - learner.total_variance()).abs() < 1e-12);
        assert!(model.residuals().is_empty() && !model.converged());
    }
}

#[test]
fn there_is_no_model_before_all_components_have_begun() {
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(3).learner().unwrap();
    assert_eq!(refusal(learner.model()), "kernel PCA needs at least 3 rows, but there are 0");
    learner.learn(&plane(2, 1)).unwrap();
    assert_eq!(refusal(learner.model()), "kernel PCA needs at least 3 rows, but there are 2");
    // Two directions are all that a linear kernel has in the plane.
    let settings = OnlineKernelPca::new(Kernel::linear()).n_components(3).center(Center::No);
    let mut learner = settings.learner().unwrap();
    learner.learn(&plane(50, 1)).unwrap();
    assert_eq!(
        refusal(learner.model()),
        "`n_components` must be small enough for components that do not depend on one another, but it is 3"
    );
}

#[test]
fn the_automatic_rate_suits_any_kernel_and_scale() {
    let points = plane(3000, 22);
    let moved = |factor: f64| {
        let values: Vec<f64> = points.rows(0..3000).to_f64().iter().map(|x| factor * x).collect();
        Points::from_f64(values, 3000, 2).unwrap()
    };
    // Outputs scale with the images of the rows, and the rate with one over their square: the same learner at any scale.
    let share = |factor: f64| {
        let settings = OnlineKernelPca::new(Kernel::linear()).n_components(1);
        let mut learner = settings.learner().unwrap();
        learner.learn(&moved(factor)).unwrap();
        assert_eq!(learner.n_shrunk(), 0);
        learner.variances()[0] / learner.total_variance()
    };
    let (small, large) = (share(1e-3), share(1e3));
    assert!((small - large).abs() < 1e-6 && small > 0.7, "{small} and {large}");
    for (label, kernel) in [
        ("wide", Kernel::gaussian(1e-3).unwrap()),
        ("narrow", Kernel::gaussian(0.5).unwrap()),
        ("cubic", Kernel::polynomial(2.0, 1.0, 3).unwrap()),
    ] {
        let mut learner = OnlineKernelPca::new(kernel.clone()).budget(60).learner().unwrap();
        learner.learn(&points).unwrap();
        let captured = captured(&learner, &points, &kernel);
        assert!(captured > 0.9, "{label}: {captured}");
    }
}

#[test]
fn a_custom_kernel_learns_what_its_own_kind_learns() {
    let stream = plane(120, 23);
    let gaussian = |x: &[f64], y: &[f64]| (-0.5 * ((x[0] - y[0]).powi(2) + (x[1] - y[1]).powi(2))).exp();
    let custom = Kernel::custom(mercer::kernel::PairFunction::new("own", gaussian));
    let learn = |kernel: Kernel| {
        let mut learner = OnlineKernelPca::new(kernel).budget(20).learner().unwrap();
        let outputs = learner.learn(&stream).unwrap();
        (outputs, learner.basis())
    };
    let (own, built_in) = (learn(custom), learn(Kernel::gaussian(0.5).unwrap()));
    assert!((&own.0 - &built_in.0).norm_max() < 1e-9);
    assert_eq!(own.1, built_in.1);
}
