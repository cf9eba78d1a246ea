//! Learners as bytes and as models.

use faer::Mat;
use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Policy, Rule, Schedule};
use mercer::{Center, Kernel, Model, Points};

use super::support::{plane, refusal, row_major};

#[test]
fn a_learner_that_was_saved_goes_on_to_the_same_bits() {
    let stream = plane(300, 14);
    for (rule, policy) in
        [(Rule::Apex, Policy::Oldest), (Rule::Simultaneous, Policy::Project), (Rule::Simultaneous, Policy::Smallest)]
    {
        let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(3).rule(rule).policy(policy);
        let mut learner = settings.budget(15).forgetting(0.01).start(plane(3, 15)).learner().unwrap();
        learner.learn(&stream.slice(0..150)).unwrap();
        let mut other = Learner::from_bytes(&learner.to_bytes().unwrap(), None).unwrap();
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
    let say = |text: &[u8]| refusal(Learner::from_bytes(text, None));
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
    let (_, note) = Learner::from_bytes_with_note(&learner.to_bytes_with_note("row 30").unwrap(), None).unwrap();
    assert_eq!(note, "row 30");
}

#[test]
fn a_kernel_that_is_a_function_has_to_be_given_again() {
    // A function may be called as one of our kernels is.
    let gaussian = |x: &[f64], y: &[f64]| (-0.5 * ((x[0] - y[0]).powi(2) + (x[1] - y[1]).powi(2))).exp();
    let custom = || Kernel::custom(mercer::kernel::PairFunction::new("linear", gaussian));
    let stream = plane(120, 17);
    for (rule, policy) in [(Rule::Apex, Policy::Oldest), (Rule::Simultaneous, Policy::Project)] {
        let settings = OnlineKernelPca::new(custom()).rule(rule).policy(policy).budget(9);
        let mut learner = settings.start(plane(2, 18)).learner().unwrap();
        learner.learn(&stream.slice(0..60)).unwrap();
        let bytes = learner.to_bytes().unwrap();
        assert_eq!(
            refusal(Learner::from_bytes(&bytes, None)),
            "reading a learner by itself does not work with the linear kernel: it is a function, which has to be given again"
        );
        assert_eq!(
            refusal(Learner::from_bytes(&bytes, Some(Kernel::linear()))),
            "`custom` must be a function, as the learner's kernel is, but it is linear"
        );
        let mut other = Learner::from_bytes(&bytes, Some(custom())).unwrap();
        let rest = stream.slice(60..120);
        assert_eq!(learner.learn(&rest).unwrap(), other.learn(&rest).unwrap(), "{rule}, {policy}");
        assert_eq!(learner.to_bytes().unwrap(), other.to_bytes().unwrap());
    }
    let learner = OnlineKernelPca::new(Kernel::linear()).learner().unwrap();
    assert_eq!(
        refusal(Learner::from_bytes(&learner.to_bytes().unwrap(), Some(custom()))),
        "`custom` must be left out: the learner's kernel is linear, which is no function, but it is linear"
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
        let captured = learner.captured().unwrap();
        assert!((model.total_variance() / 2000.0 - captured.total_variance).abs() < 1e-12);
        assert!(model.eigenvalues().iter().zip(&captured.variances).all(|(x, y)| (x / 2000.0 - y).abs() < 1e-12));
        // The last rows are like all the others.
        assert!((captured.total_variance / learner.total_variance() - 1.0).abs() < 0.2, "{policy}: {captured:?}");
        assert!(model.residuals().is_empty() && !model.converged());
    }
}

/// The mean of the squared scores of each component, and the largest mean product of two of them.
fn moments(scores: &Mat<f64>) -> (Vec<f64>, f64) {
    let n = scores.nrows() as f64;
    let product =
        |i: usize, j: usize| scores.col(i).iter().zip(scores.col(j).iter()).map(|(a, b)| a * b).sum::<f64>() / n;
    let p = scores.ncols();
    let mixed = (0..p).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| product(i, j).abs()).fold(0.0, f64::max);
    ((0..p).map(|i| product(i, i)).collect(), mixed)
}

#[test]
fn the_model_is_ordered_and_orthonormal_whatever_the_components_are() {
    // Components that start the wrong way round and not orthogonal, and hardly learn.
    let (points, kernel) = (plane(400, 30), Kernel::polynomial(0.5, 1.0, 2).unwrap());
    let start = mercer::Points::from_f64(vec![0.0, 1.0, 0.3, -1.0, 1.0, 0.1], 3, 2).unwrap();
    for (rule, p, center) in [
        (Rule::Simultaneous, 3, Center::Yes),
        (Rule::Simultaneous, 3, Center::No),
        (Rule::Apex, 3, Center::Yes),
        (Rule::Oja, 1, Center::Yes),
    ] {
        let settings = OnlineKernelPca::new(kernel.clone()).rule(rule).n_components(p).center(center);
        let mut learner = settings.learning_rate(1e-6).start(start.slice(0..p)).learner().unwrap();
        learner.learn(&points).unwrap();
        let outputs = learner.outputs(&points).unwrap();
        let (raw, _) = moments(&outputs);
        assert!(p == 1 || raw.windows(2).any(|pair| pair[0] < pair[1]), "{rule}: the components are ordered: {raw:?}");

        let model = learner.model().unwrap();
        let scores = model.transform(&points).unwrap();
        // All rows are among the last ones, so what the record says is exact.
        let (variances, mixed) = moments(&scores);
        assert!(variances.windows(2).all(|pair| pair[0] >= pair[1]), "{rule}: {variances:?}");
        assert!(mixed < 1e-9 * variances[0], "{rule}: scores are correlated by {mixed}");
        for (variance, eigenvalue) in variances.iter().zip(model.eigenvalues()) {
            assert!((400.0 * variance - eigenvalue).abs() < 1e-9 * model.eigenvalues()[0], "{rule}: {eigenvalue}");
        }
        let share: f64 = model.explained_variance_ratio().iter().sum();
        assert!(share > 0.0 && share <= 1.0 + 1e-12, "{rule}: {share}");
        let (basis, alpha) = (model.basis(), model.dual_coefficients());
        let m = basis.n_samples();
        let gram = Mat::from_fn(m, m, |i, j| kernel.evaluate(&basis.row(i), &basis.row(j)).unwrap());
        let inner = alpha.transpose() * &gram * alpha;
        assert!((&inner - Mat::<f64>::identity(p, p)).norm_max() < 1e-9, "{rule}: {inner:?}");
        for j in 0..p {
            let largest = alpha.col(j).iter().fold(0.0_f64, |m, &x| if x.abs() > m.abs() { x } else { m });
            assert!(largest > 0.0, "{rule}: the sign of component {j}");
        }
        // Nothing of that changes what the learner itself says.
        assert_eq!(learner.outputs(&points).unwrap(), outputs, "{rule}");
    }
}

#[test]
fn variances_are_those_of_the_last_rows_under_the_components_of_today() {
    let kernel = Kernel::gaussian(0.5).unwrap();
    let mut learner = OnlineKernelPca::new(kernel).n_components(2).budget(40).forgetting(0.01).learner().unwrap();
    learner.learn(&plane(1000, 31)).unwrap();
    let before = learner.captured().unwrap();
    // The same rows, much closer together.
    let near: Vec<f64> = plane(1000, 32).rows(0..1000).to_f64().iter().map(|x| 0.1 * x).collect();
    learner.learn(&mercer::Points::from_f64(near, 1000, 2).unwrap()).unwrap();
    let after = learner.captured().unwrap();
    assert!(after.total_variance < 0.1 * before.total_variance, "{before:?} {after:?}");
    assert!(after.ratio().iter().sum::<f64>() <= 1.0, "{after:?}");
    let again = Learner::from_bytes(&learner.to_bytes().unwrap(), None).unwrap();
    assert_eq!(again.captured().unwrap(), after, "the last rows are saved");
}

#[test]
fn a_model_of_fewer_rows_than_components_has_a_direction_for_each_row() {
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(4).learner().unwrap();
    assert_eq!(refusal(learner.model()), "kernel PCA needs at least 1 row, but there are 0");
    let rows = plane(3, 1);
    for n in 1..=3 {
        learner.learn(&rows.slice(n - 1..n)).unwrap();
        let model = Model::from_bytes(&learner.model().unwrap().to_bytes().unwrap(), None).unwrap();
        assert_eq!((model.n_components(), learner.captured().unwrap().variances.len()), (n, n));
        let warnings = &model.record().warnings;
        assert!(warnings[0].starts_with(&format!("{n} of 4 components ha")), "{warnings:?}");
        let (seen, scores) = (learner.outputs(&rows).unwrap(), model.transform(&rows).unwrap());
        assert_eq!((seen.ncols(), scores.ncols()), (4, n));
        let expected = learner.scores_of_outputs(seen.as_ref()).unwrap();
        assert!((&scores - &expected).norm_max() < 1e-9, "{n} rows: {scores:?} and {expected:?}");
    }
}

#[test]
fn a_model_has_the_directions_that_there_are_and_says_how_many() {
    let warned = |learner: &Learner, text: &str| {
        let warnings = learner.model().unwrap().record().warnings.clone();
        assert!(warnings.iter().any(|warning| warning == text), "{warnings:?}");
        assert_eq!(warnings, learner.warnings());
    };
    // Two directions are all that a linear kernel has in the plane.
    let (points, queries) = (plane(50, 1), plane(9, 2));
    let settings = OnlineKernelPca::new(Kernel::linear()).n_components(3).center(Center::No);
    let mut learner = settings.learner().unwrap();
    learner.learn(&points).unwrap();
    warned(
        &learner,
        "2 of 3 components are independent: what they all span has no more directions, and so has the model",
    );
    let model = Model::from_bytes(&learner.model().unwrap().to_bytes().unwrap(), None).unwrap();
    assert_eq!((model.n_components(), model.record().n_components, model.eigenvalues().len()), (2, 2, 2));
    assert_eq!((model.transform(&queries).unwrap().ncols(), learner.outputs(&queries).unwrap().ncols()), (2, 3));
    assert!((model.explained_variance_ratio().iter().sum::<f64>() - 1.0).abs() < 1e-9, "they hold all there is");
    for (seen, error) in
        learner.look_at_rows(&queries).unwrap().iter().zip(model.novelty(&queries).unwrap().reconstruction_error)
    {
        assert!(seen.novelty < 1e-9 && error < 1e-9, "all rows are in the plane: {} and {error}", seen.novelty);
    }

    // Three rows again and again, for five components.
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(5).learner().unwrap();
    for _ in 0..4 {
        learner.learn(&plane(3, 5)).unwrap();
    }
    assert_eq!(learner.n_started(), 3);
    let text = "3 of 5 components have begun to learn: too few rows have come that differ from one another and have a positive kernel with \
                themselves";
    warned(&learner, text);
    assert_eq!(learner.model().unwrap().n_components(), 3);

    // Rows that are dropped so fast that components are soon made of the same few.
    let settings =
        OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(4).budget(5).policy(Policy::Oldest);
    for seed in 0..20 {
        let mut learner = settings.learner().unwrap();
        learner.learn(&plane(300, seed)).unwrap();
        let model = learner.model().unwrap();
        let (k, basis) = (model.n_components(), model.basis());
        assert!((1..=4).contains(&k), "{k} directions");
        let gram = Mat::from_fn(5, 5, |i, j| model.kernel().evaluate(&basis.row(i), &basis.row(j)).unwrap());
        let inner = model.dual_coefficients().transpose() * &gram * model.dual_coefficients();
        assert!((&inner - Mat::<f64>::identity(k, k)).norm_max() < 1e-3, "seed {seed}: {inner:?}");
        let said = learner
            .warnings()
            .iter()
            .any(|warning| warning.starts_with(&format!("{k} of 4 components ")) && warning.contains("independent"));
        assert_eq!(said, k < 4, "seed {seed}: {:?}", learner.warnings());
    }
}

#[test]
fn a_component_that_saw_no_row_is_spoken_of() {
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(1).rule(Rule::Oja);
    let mut first = settings.learner().unwrap();
    first.learn(&plane(50, 1)).unwrap();
    assert_eq!(first.warnings(), Vec::<String>::new());
    let mut second = first.next_component(&plane(1, 2)).unwrap();
    assert_eq!(second.warnings(), ["the last component has learned from no row: none has come since it was added"]);
    second.learn(&plane(5, 3)).unwrap();
    assert_eq!(second.warnings(), Vec::<String>::new());
}

#[test]
fn a_sensor_that_is_stuck_teaches_nothing_and_destroys_nothing() {
    // With forgetting, the variance of the rows soon is too small to be divided by.
    let (usual, stuck) = (plane(300, 16), Points::from_f64([1.25, 2.5].repeat(4000), 4000, 2).unwrap());
    for (kernel, forgetting) in
        [(Kernel::gaussian(0.5).unwrap(), 0.05), (Kernel::gaussian(0.5).unwrap(), 0.5), (Kernel::linear(), 0.5)]
    {
        for schedule in [Schedule::Constant, Schedule::Inverse] {
            let settings = OnlineKernelPca::new(kernel.clone()).budget(20).schedule(schedule).forgetting(forgetting);
            let mut learner = settings.learner().unwrap();
            learner.learn(&usual).unwrap();
            for _ in 0..5 {
                learner.learn(&stuck).unwrap();
            }
            let mut other = Learner::from_bytes(&learner.to_bytes().unwrap(), None).unwrap();
            let outputs = learner.learn(&usual).unwrap();
            assert_eq!(outputs, other.learn(&usual).unwrap(), "{schedule}");
            assert!(row_major(&outputs).iter().all(|y| y.is_finite()), "{schedule}");
        }
    }
    let tiny = Points::from_f64((0..200).map(|i| f64::from(i * i % 37) * 1e-156).collect::<Vec<_>>(), 100, 2).unwrap();
    let mut learner = OnlineKernelPca::new(Kernel::linear()).learner().unwrap();
    learner.learn(&tiny).unwrap();
    assert!(Learner::from_bytes(&learner.to_bytes().unwrap(), None).is_ok());
}
