//! Learners that begin as models.

use faer::Mat;
use faer::linalg::solvers::Solve;
use mercer::data::{Moments, Scaling};
use mercer::nystrom::{Nystrom, NystromPca};
use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Policy, Rule, Schedule};
use mercer::{Center, GainRule, Kernel, KernelHebbianPca, KernelPca, Model, Negative, Points, Precision};
use mercer_testkit::Format;
use mercer_testkit::generate::gaussian_cloud;

use super::support::{captured, plane, refusal, uneven};

pub(super) const K: usize = 3;
const N: usize = 120;

pub(super) fn kernel() -> Kernel {
    Kernel::gaussian(0.5).unwrap()
}

pub(super) fn exact(points: &Points) -> Model {
    KernelPca::new(kernel()).n_components(K).fit(points).unwrap()
}

/// Models of every origin, with how far a learner may be from their scores.
fn models() -> Vec<(&'static str, Model, f64)> {
    let points = plane(N, 70);
    let (mut stream, repeated) = (OnlineKernelPca::new(kernel()).n_components(K).budget(30).learner().unwrap(), {
        let values = [points.rows(0..N).to_f64(), points.rows(0..40).to_f64()].concat();
        Points::from_f64(values, N + 40, 2).unwrap()
    });
    stream.learn(&plane(500, 71)).unwrap();
    let shifted: Vec<f64> =
        points.rows(0..N).to_f64().iter().enumerate().map(|(i, x)| x * [3.0, 0.1][i % 2] + 7.0).collect();
    let shifted = Points::from_f64(shifted, N, 2).unwrap();
    let scaling = Scaling::standardizing(&Moments::of(&shifted));
    let single =
        Points::from_f32(points.rows(0..N).to_f64().iter().map(|&x| x as f32).collect::<Vec<_>>(), N, 2).unwrap();
    let bytes = Points::from_u8((0..2 * N).map(|i| (i * i % 251) as u8).collect::<Vec<_>>(), N, 2, 1.0 / 64.0).unwrap();
    let hebbian = KernelHebbianPca::new(kernel()).n_components(K).gain(GainRule::EigenvalueStar).passes(5);
    let landmarks = |center| NystromPca::new(Nystrom::new(kernel()).n_landmarks(25)).n_components(K).center(center);
    vec![
        ("exact", exact(&points), 1e-9),
        ("not centred", KernelPca::new(kernel()).n_components(K).center(Center::No).fit(&points).unwrap(), 1e-9),
        ("repeated rows", exact(&repeated), 1e-9),
        ("scaled", exact(&scaling.apply(&shifted).unwrap()).with_scaling(scaling).unwrap(), 1e-9),
        ("single precision", exact(&single), 1e-4),
        ("bytes", exact(&bytes), 1e-4),
        ("Hebbian", hebbian.fit(&points).unwrap().model().unwrap(), 1e-9),
        ("landmarks", landmarks(Center::Yes).fit(&points).unwrap(), 1e-9),
        ("landmarks, not centred", landmarks(Center::No).fit(&points).unwrap(), 1e-9),
        ("a stream", stream.model().unwrap(), 1e-9),
    ]
}

/// Rows as a model takes them.
fn queries(model: &Model, seed: u64) -> Points {
    let rows = plane(40, seed);
    model.scaling().map_or_else(|| rows.clone(), |scaling| scaling.undo(&rows).unwrap())
}

#[track_caller]
fn assert_scores(what: &str, learner: &Learner, model: &Model, rows: &Points, slack: f64) {
    let (scores, outputs) = (model.transform(rows).unwrap(), learner.outputs(rows).unwrap());
    let k = model.n_components();
    for (i, j) in (0..rows.n_samples()).flat_map(|i| (0..k).map(move |j| (i, j))) {
        let (score, output) = (scores[(i, j)], outputs[(i, j)]);
        assert!((score - output).abs() < slack, "{what}, row {i}, component {j}: {output} for {score}");
    }
}

#[test]
fn components_begin_as_those_of_any_model_and_stay_at_a_rate_of_nearly_zero() {
    for (what, model, slack) in models() {
        let rows = queries(&model, 72);
        for (label, settings) in [
            ("all", OnlineKernelPca::for_model(&model)),
            ("project", OnlineKernelPca::for_model(&model).budget(300)),
            ("oldest", OnlineKernelPca::for_model(&model).budget(300).policy(Policy::Oldest)),
            ("apex", OnlineKernelPca::for_model(&model).rule(Rule::Apex)),
        ] {
            let what = format!("{what}, {label}");
            // What dependent points are projected to is within a ten-thousandth of a row's length, and mostly far nearer.
            let slack = if label == "project" { slack.max(1e-5) } else { slack };
            let mut learner = settings.learning_rate(1e-12).learner_from(&model).unwrap();
            assert_eq!(learner.n_before(), model.n_samples(), "{what}");
            assert!(learner.began_as(&model) && learner.n_seen() == 0, "{what}");
            assert_scores(&what, &learner, &model, &rows, slack);
            // Novelty is what the model says, too.
            let errors = model.novelty(&rows).unwrap().reconstruction_error;
            for (seen, error) in learner.look_at_rows(&rows).unwrap().iter().zip(errors) {
                assert!((seen.novelty - error).abs() < 30.0 * slack, "{what}: {} for {error}", seen.novelty);
            }
            // Learning moves the mean only, by what rows have of it.
            let (basis, before) = (learner.basis(), learner.coefficients());
            learner.learn(&rows).unwrap();
            if label != "project" {
                let after = learner.coefficients();
                for (slot, row) in basis.iter().enumerate() {
                    let now = learner.basis().iter().position(|other| other == row).unwrap();
                    let moved = (0..K).map(|p| (after[(p, now)] - before[(p, slot)]).abs()).fold(0.0, f64::max);
                    assert!(moved < 1e-9, "{what}: {moved}");
                }
            }
        }
    }
}

#[test]
fn the_model_comes_back_as_it_was_and_few_rows_do_not_turn_it() {
    for (what, model, slack) in models() {
        let rows = queries(&model, 73);
        let mut learner = OnlineKernelPca::for_model(&model).learning_rate(1e-12).learner_from(&model).unwrap();
        for n in [0, 5] {
            learner.learn(&rows.slice(0..n)).unwrap();
            let back = Model::from_bytes(&learner.model().unwrap().to_bytes().unwrap(), None).unwrap();
            assert_eq!(back.n_samples(), model.n_samples() + n, "{what}");
            assert_eq!(back.scaling(), model.scaling(), "{what}");
            let (share, own) = (back.explained_variance_ratio(), model.explained_variance_ratio());
            // Five rows count as such among 512, or as many as the model has.
            let most = if n == 0 { 1e-6 } else { 0.1 };
            assert!(
                share.iter().zip(own).all(|(a, b)| (a - b).abs() < most),
                "{what}, {n} rows: {share:?} for {own:?}"
            );
            let (scores, now) = (model.transform(&rows).unwrap(), back.transform(&rows).unwrap());
            for j in 0..K {
                let product: f64 = scores.col(j).iter().zip(now.col(j).iter()).map(|(a, b)| a * b).sum();
                let cosine = product.abs() / (scores.col(j).norm_l2() * now.col(j).norm_l2());
                let least = if n == 0 { 1.0 - slack } else { 0.9 };
                assert!(cosine > least, "{what}, {n} rows, component {j}: {cosine}");
            }
        }
    }
}

#[test]
fn the_points_of_a_model_count_as_rows_that_were_learned() {
    let (points, rows) = (plane(N, 74), plane(30, 75));
    let model = exact(&points);
    let mut learner = OnlineKernelPca::for_model(&model).learning_rate(1e-9).learner_from(&model).unwrap();
    learner.learn(&rows).unwrap();
    // The mean of all of them, old and new.
    let (basis, mean) = (learner.basis(), learner.mean_coefficients());
    for i in 0..N {
        let slot = basis.iter().position(|row| *row == points.row(i)).unwrap();
        assert!((mean[slot] - 1.0 / 150.0).abs() < 1e-12, "{}", mean[slot]);
    }
    for i in 0..30 {
        let slot = basis.iter().position(|row| *row == rows.row(i)).unwrap();
        assert!((mean[slot] - 1.0 / 150.0).abs() < 1e-12);
    }
    // Variances go on from the model's; total and along components.
    let outputs = learner.outputs(&rows).unwrap();
    for (p, &variance) in learner.variances().iter().enumerate() {
        let new = outputs.col(p).iter().map(|y| y * y).sum::<f64>() / 30.0;
        let want = (model.eigenvalues()[p] + 30.0 * new) / 150.0;
        assert!((variance / want - 1.0).abs() < 0.05, "component {p}: {variance} for {want}");
    }
    assert!((learner.total_variance() * N as f64 / model.total_variance() - 1.0).abs() < 0.2);

    // The schedule counts them: the first row has a rate of η / (n + 1).
    let settings = OnlineKernelPca::for_model(&model).learning_rate(0.9);
    let mut falling = settings.clone().schedule(Schedule::Inverse).learner_from(&model).unwrap();
    let mut constant = settings.learning_rate(0.9 / 121.0).learner_from(&model).unwrap();
    falling.learn_row(&rows.row(0)).unwrap();
    constant.learn_row(&rows.row(0)).unwrap();
    assert!((falling.coefficients() - constant.coefficients()).norm_max() < 1e-14);
}

#[test]
fn rows_of_the_same_kind_do_not_make_components_worse() {
    let kernel = Kernel::gaussian(0.05).unwrap();
    let (past, present, probes) = (uneven(400, 76), uneven(6000, 77), uneven(500, 78));
    let model = KernelPca::new(kernel.clone()).n_components(4).fit(&past).unwrap();
    for (label, settings, slack) in [
        ("all at once", OnlineKernelPca::for_model(&model), 0.02),
        ("falling", OnlineKernelPca::for_model(&model).schedule(Schedule::Inverse), 0.0),
        ("budget", OnlineKernelPca::for_model(&model).budget(100), 0.02),
        ("falling, budget", OnlineKernelPca::for_model(&model).budget(100).schedule(Schedule::Inverse), 0.0),
        ("apex", OnlineKernelPca::for_model(&model).rule(Rule::Apex).budget(100), 0.02),
    ] {
        let mut learner = settings.learner_from(&model).unwrap();
        let before = captured(&learner, &probes, &kernel);
        assert!(before > 0.9, "{label}: {before}");
        // A constant rate keeps following single rows, which costs what it always does; a falling one ends better than it began.
        for part in 0..4 {
            learner.learn(&present.slice(part * 1500..(part + 1) * 1500)).unwrap();
            let after = captured(&learner, &probes, &kernel);
            assert!(after > before - slack - 0.01, "{label}, part {part}: {before}, then {after}");
        }
        let after = captured(&learner, &probes, &kernel);
        assert!(after > before - slack, "{label}: {before}, then {after}");
        // And a learner that begins with nothing has not come further.
        assert_eq!(learner.n_shrunk(), 0, "{label}");
    }
}

/// The squared length of what of a component is outside the span of some points, and its projection's coefficients over them.
fn projected(model: &Model, basis: &[Vec<f64>], component: usize) -> (f64, Vec<f64>) {
    let (kernel, points, alpha) = (model.kernel(), model.basis(), model.dual_coefficients());
    let (m, n) = (basis.len(), points.n_samples());
    // Centred models of training points have their components orthogonal to the constant: coefficients less their mean.
    let mean = if model.centering().is_some() { alpha.col(component).iter().sum::<f64>() / n as f64 } else { 0.0 };
    let alpha = Mat::from_fn(n, 1, |i, _| alpha[(i, component)] - mean);
    let gram = Mat::from_fn(m, m, |i, j| kernel.evaluate(&basis[i], &basis[j]).unwrap());
    let cross = Mat::from_fn(m, n, |i, j| kernel.evaluate(&basis[i], &points.row(j)).unwrap());
    let whole = Mat::from_fn(n, n, |i, j| kernel.evaluate(&points.row(i), &points.row(j)).unwrap());
    let image = &cross * &alpha;
    let solution = faer::linalg::solvers::Llt::new(gram.as_ref(), faer::Side::Lower).unwrap().solve(&image);
    let length = (alpha.transpose() * &whole * &alpha)[(0, 0)];
    (length - (image.transpose() * &solution)[(0, 0)], (0..m).map(|i| solution[(i, 0)]).collect())
}

#[test]
fn a_budget_below_the_basis_projects_components_on_what_stays_and_says_what_that_cost() {
    for center in [Center::Yes, Center::No] {
        let points = gaussian_cloud(N, 4, 79).points(Format::F64);
        let narrow = Kernel::gaussian(0.3).unwrap();
        let model = KernelPca::new(narrow.clone()).n_components(K).center(center).fit(&points).unwrap();
        let mut errors = Vec::new();
        for budget in [10, 30, 90] {
            let learner = OnlineKernelPca::for_model(&model).budget(budget).learner_from(&model).unwrap();
            assert_eq!(learner.n_remembered(), budget);
            let (basis, coefficients) = (learner.basis(), learner.coefficients());
            let said = learner.budget_error().unwrap();
            for p in 0..K {
                let (lost, want) = projected(&model, &basis, p);
                assert!((said[p] - lost.max(0.0).sqrt()).abs() < 1e-7, "{budget} rows: {} for {lost}", said[p]);
                let scale = want.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
                for (slot, want) in want.iter().enumerate() {
                    let found = coefficients[(p, slot)];
                    assert!((found - want).abs() < 1e-8 * scale, "{budget} rows, component {p}: {found} for {want}");
                }
            }
            errors.push(said.iter().fold(0.0_f64, |m, x| m.max(*x)));
        }
        assert!(errors[0] > 2.0 * errors[1] && errors[1] > errors[2] && errors[2] < 0.3, "{center:?}: {errors:?}");
        // Better than as many of the points that come first.
        let first: Vec<Vec<f64>> = (0..30).map(|i| points.row(i)).collect();
        let blind = (0..K).map(|p| projected(&model, &first, p).0.sqrt()).fold(0.0, f64::max);
        assert!(errors[1] < 0.9 * blind, "{center:?}: {} chosen, {blind} not", errors[1]);
        // A budget for all of them costs nothing.
        let whole = OnlineKernelPca::for_model(&model).budget(N).learner_from(&model).unwrap();
        assert_eq!((whole.n_remembered(), whole.budget_error().unwrap()), (N, vec![0.0; K]));
    }
}

#[test]
fn a_large_basis_and_a_small_budget_agree_to_rounding_after_thousands_of_choices() {
    // The factor is computed anew on the way.
    let points = gaussian_cloud(1200, 3, 80).points(Format::F64);
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(2).fit(&points).unwrap();
    let learner = OnlineKernelPca::for_model(&model).budget(12).learner_from(&model).unwrap();
    let (basis, said) = (learner.basis(), learner.budget_error().unwrap());
    for (p, said) in said.into_iter().enumerate() {
        let (lost, _) = projected(&model, &basis, p);
        assert!((said - lost.max(0.0).sqrt()).abs() < 1e-6, "{said} for {lost}");
    }
}

#[test]
fn a_learner_that_began_as_a_model_goes_on_from_its_bytes_to_the_same_bits() {
    for (what, model, _) in models() {
        for settings in [
            OnlineKernelPca::for_model(&model).budget(20),
            OnlineKernelPca::for_model(&model).rule(Rule::Apex).schedule(Schedule::Inverse),
            OnlineKernelPca::for_model(&model).budget(300).policy(Policy::Smallest).forgetting(0.01),
        ] {
            let rows = queries(&model, 81);
            let mut learner = settings.learner_from(&model).unwrap();
            for cut in [0, 15] {
                learner.learn(&rows.slice(0..cut)).unwrap();
                let mut other = Learner::from_bytes(&learner.to_bytes().unwrap(), None).unwrap();
                assert!(other.began_as(&model) && other.n_before() == model.n_samples(), "{what}");
                let rest = rows.slice(15..40);
                let mut one = learner.clone();
                assert_eq!(one.learn(&rest).unwrap(), other.learn(&rest).unwrap(), "{what}");
                assert_eq!(one.to_bytes().unwrap(), other.to_bytes().unwrap(), "{what}");
                assert_eq!(one.model().unwrap().scaling(), model.scaling());
            }
            // And how rows are grouped changes nothing.
            let (mut at_once, mut one_by_one) =
                (settings.learner_from(&model).unwrap(), settings.learner_from(&model).unwrap());
            at_once.learn(&rows).unwrap();
            for i in 0..40 {
                one_by_one.learn_row(&rows.row(i)).unwrap();
            }
            assert_eq!(at_once.to_bytes().unwrap(), one_by_one.to_bytes().unwrap(), "{what}");
        }
    }
}

#[test]
fn components_that_the_model_does_not_have_begin_at_rows() {
    let points = plane(N, 82);
    let model = exact(&points);
    let mut learner = OnlineKernelPca::for_model(&model).n_components(K + 2).learner_from(&model).unwrap();
    assert_eq!(learner.n_started(), K);
    assert_eq!(learner.model().unwrap().n_components(), K);
    learner.learn(&points.slice(0..10)).unwrap();
    assert_eq!(learner.n_started(), K, "these are in memory already");
    learner.learn(&plane(3000, 83)).unwrap();
    assert_eq!((learner.n_started(), learner.model().unwrap().n_components()), (K + 2, K + 2));
    let share = captured(&learner, &points, &kernel());
    assert!(share > 0.95, "{share}");
}

#[test]
fn a_model_whose_last_components_are_nothing_begins_them_anew() {
    // Two directions are all that a linear kernel has in the plane.
    let points = plane(50, 84);
    let settings = KernelPca::new(Kernel::linear()).n_components(4).center(Center::No);
    let model = settings.zero_components(mercer::ZeroComponents::Keep).fit(&points).unwrap();
    assert_eq!(model.n_components(), 4);
    let mut learner = OnlineKernelPca::for_model(&model).learner_from(&model).unwrap();
    assert_eq!((learner.n_components(), learner.n_started()), (4, 2));
    learner.learn(&plane(30, 85)).unwrap();
    assert_eq!(learner.n_started(), 4);
    assert_eq!(learner.model().unwrap().n_components(), 2, "there are no more");
}

#[test]
fn the_model_of_a_stream_carries_its_weight_on() {
    let settings = OnlineKernelPca::new(kernel()).n_components(K).budget(30);
    let mut first = settings.learner().unwrap();
    first.learn(&plane(200, 86)).unwrap();
    let model = first.model().unwrap();
    let mut second = OnlineKernelPca::for_model(&model).budget(30).learner_from(&model).unwrap();
    second.learn(&plane(100, 87)).unwrap();
    let record = second.model().unwrap().record().clone();
    assert_eq!((record.n_samples, second.n_before(), second.n_seen()), (300, 200, 100));
    assert!(record.plan.reasons.iter().any(|text| text.contains("a model of 200 points")), "{:?}", record.plan.reasons);
    assert!(!second.began_as(&second.model().unwrap()) && second.began_as(&model));
}

#[test]
fn where_the_points_of_a_model_are_dropped_the_mean_is_that_of_what_is_left() {
    // Over landmarks the centre of a model has the coefficients of a projection.
    let narrow = Kernel::gaussian(5.0).unwrap();
    let landmarks = NystromPca::new(Nystrom::new(narrow.clone()).n_landmarks(25)).n_components(K);
    let model = landmarks.fit(&plane(N, 93)).unwrap();
    let m = model.basis().n_samples();
    let settings = OnlineKernelPca::for_model(&model).budget(m).policy(Policy::Oldest);
    let mut learner = settings.learner_from(&model).unwrap();
    let sum = learner.mean_coefficients().iter().sum::<f64>();
    assert!((sum - 1.0).abs() > 1e-6, "a centre that is no mean of landmarks: {sum}");
    // What the centre counts for, of which each landmark takes a part along, and what each row does, which came with one part in as many.
    let (centre, rows) = (learner.mean_coefficients().to_vec(), plane(3 * m, 94));
    let (mut of_centre, mut weights, share) = (1.0, vec![0.0; 3 * m], 1.0 / m as f64);
    for i in 0..3 * m {
        learner.learn(&rows.slice(i..i + 1)).unwrap();
        of_centre *= 1.0 - share;
        for weight in &mut weights {
            *weight *= 1.0 - share;
        }
        weights[i] = share;
        if i < m {
            let left: f64 = centre[i + 1..].iter().map(|x| x.abs()).sum();
            of_centre *= left / (left + centre[i].abs());
        } else {
            weights[i - m] = 0.0;
        }
        let all = of_centre + weights.iter().sum::<f64>();
        of_centre /= all;
        for weight in &mut weights {
            *weight /= all;
        }
        let mut n_found = 0;
        for (x, found) in learner.basis().iter().zip(learner.mean_coefficients()) {
            let Some(row) = (0..=i).find(|&row| rows.row(row) == *x) else { continue };
            n_found += 1;
            assert!((found - weights[row]).abs() < 1e-9, "after row {i}: {found} for {}", weights[row]);
        }
        assert_eq!(n_found, m.min(i + 1), "as many landmarks have gone");
        assert_outputs_are_those_of_the_expansions(&learner, &narrow);
    }
}

/// Inner products that are followed from row to row are what they would be if computed anew.
#[track_caller]
fn assert_outputs_are_those_of_the_expansions(learner: &Learner, kernel: &Kernel) {
    let (basis, alpha, x) = (learner.basis(), learner.coefficients(), [0.3, -0.2]);
    let m = basis.len();
    let mean = Mat::from_fn(m, 1, |i, _| learner.mean_coefficients()[i]);
    let gram = Mat::from_fn(m, m, |i, j| kernel.evaluate(&basis[i], &basis[j]).unwrap());
    let k = Mat::from_fn(m, 1, |i, _| kernel.evaluate(&basis[i], &x).unwrap());
    let want = &alpha * (&k - &gram * &mean);
    for (p, found) in learner.look(&x).unwrap().outputs.into_iter().enumerate() {
        assert!((found - want[(p, 0)]).abs() < 1e-9, "component {p}: {found} for {}", want[(p, 0)]);
    }
}

#[test]
fn rows_are_judged_as_they_come_and_not_as_the_model_scales_them() {
    let values: Vec<f64> = plane(N, 92).rows(0..N).to_f64().iter().map(|x| 0.01 * x).collect();
    let near = Points::from_f64(values, N, 2).unwrap();
    let scaling = Scaling::standardizing(&Moments::of(&near));
    let model = exact(&scaling.apply(&near).unwrap()).with_scaling(scaling).unwrap();
    let said = |bad: f64, row: usize| {
        if bad.is_finite() {
            format!(
                "row {row} is too large: its scaled value overflows f64; the model that components began as scales rows, and this one is \
                 far from its points"
            )
        } else {
            format!("row {row}, column 1 is inf; kernels need finite numbers")
        }
    };
    for bad in [1e308, f64::INFINITY] {
        let rows = Points::from_f64(vec![0.01, 0.0, 0.0, bad], 2, 2).unwrap();
        let mut learner = OnlineKernelPca::for_model(&model).learner_from(&model).unwrap();
        assert_eq!(refusal(learner.check_rows(&rows)), said(bad, 1));
        assert_eq!(refusal(learner.look_at_rows(&rows)), said(bad, 1));
        assert_eq!(refusal(learner.look(&[0.0, bad])), said(bad, 0));
        assert_eq!(refusal(learner.learn(&rows)), said(bad, 1));
        assert_eq!(learner.n_seen(), 1, "the row before it is learned");
        assert_eq!(refusal(learner.learn_row(&[0.0, bad])), said(bad, 1));
    }
}

#[test]
fn a_few_rows_do_not_make_the_mean_look_wrong() {
    let (points, kernel) = (gaussian_cloud(500, 8, 88).points(Format::F64), Kernel::gaussian(0.05).unwrap());
    let model = KernelPca::new(kernel).n_components(2).fit(&points).unwrap();
    for seed in 0..30 {
        let mut learner = OnlineKernelPca::for_model(&model).learner_from(&model).unwrap();
        learner.learn(&gaussian_cloud(4, 8, 200 + seed).points(Format::F64)).unwrap();
        assert_eq!(learner.warnings(), Vec::<String>::new(), "seed {seed}");
    }
    // Where rows have moved, a few dozen tell.
    let mut learner = OnlineKernelPca::for_model(&model).learner_from(&model).unwrap();
    let moved: Vec<f64> =
        gaussian_cloud(40, 8, 300).points(Format::F64).rows(0..40).to_f64().iter().map(|x| x + 3.0).collect();
    learner.learn(&Points::from_f64(moved, 40, 8).unwrap()).unwrap();
    let warnings = learner.warnings();
    assert!(warnings.iter().any(|text| text.starts_with("the running mean is ")), "{warnings:?}");
}

#[test]
fn settings_that_contradict_a_model_are_refused() {
    let model = exact(&plane(N, 89));
    let settings = OnlineKernelPca::for_model(&model);
    let say = |settings: OnlineKernelPca| refusal(settings.learner_from(&model));
    assert_eq!(
        say(OnlineKernelPca::new(Kernel::gaussian(0.7).unwrap()).n_components(K)),
        "`kernel` must be that of the model (gaussian 0.5), whose components mean nothing to another, but it is gaussian 0.7"
    );
    assert_eq!(
        say(settings.clone().center(Center::No)),
        "`center` must be as in the model, which is centred, but it is no"
    );
    assert_eq!(
        say(settings.clone().n_components(2)),
        "`n_components` must be at least those of the model (3), but it is 2"
    );
    assert_eq!(
        say(settings.clone().start(plane(K, 1))),
        "`start` must be left out where components begin as those of a model, but it is 3 points"
    );
    assert_eq!(
        say(settings.clone().rule(Rule::Apex).rows_per_component(9)),
        "`rows_per_component` must be left out where components begin as those of a model, all at once, but it is 9"
    );
    assert_eq!(
        say(settings.clone().budget(50).policy(Policy::Oldest)),
        "`budget` must be at least the number of the model's basis points (120) with the policy oldest, which would drop some with their \
         part of the components; project keeps what it can, but it is 50"
    );
    assert_eq!(
        say(settings.rule(Rule::Oja)),
        "`n_components` must be 1 for the rule oja, which finds the first component only, but it is 3"
    );
    let rows = plane(20, 1);
    let matrix: Vec<f64> =
        (0..400).map(|at| kernel().evaluate(&rows.row(at / 20), &rows.row(at % 20)).unwrap()).collect();
    let given =
        KernelPca::new(Kernel::Precomputed).n_components(2).fit(&Points::from_f64(matrix, 20, 20).unwrap()).unwrap();
    assert_eq!(
        refusal(OnlineKernelPca::for_model(&given).learner_from(&given)),
        "online learning does not work with the precomputed kernel: rows that are still to come have no place in a matrix"
    );
    let indefinite = KernelPca::new(Kernel::sigmoid(0.8, -1.5).unwrap()).n_components(8).negative(Negative::Flip);
    let flipped = indefinite.center(Center::No).fit(&plane(40, 2)).unwrap();
    assert!(flipped.eigenvalues().iter().any(|&value| value < 0.0), "{:?}", flipped.eigenvalues());
    assert_eq!(
        refusal(OnlineKernelPca::for_model(&flipped).learner_from(&flipped)),
        "learning on from a model does not work with the sigmoid kernel: a component has no positive length in its inner product"
    );
}

#[test]
fn a_single_precision_model_learns_on_in_double() {
    let single =
        Points::from_f32(plane(N, 90).rows(0..N).to_f64().iter().map(|&x| x as f32).collect::<Vec<_>>(), N, 2).unwrap();
    let model = exact(&single);
    assert_eq!(model.precision(), Precision::F32);
    let learner = OnlineKernelPca::for_model(&model).learner_from(&model).unwrap();
    assert_eq!(learner.model().unwrap().precision(), Precision::F64);
}
