//! Explicit coefficients against the printed recursion of ψ (errata K2 to K8), on data that nobody chose.

use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Rule};
use mercer::{Center, Points};
use mercer_testkit::generate::{Random, gaussian_cloud};
use mercer_testkit::reference::{PsiNeuron, PsiTogether};
use mercer_testkit::{Format, Textbook};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Kernels whose values with themselves are positive at every point.
const KERNELS: [Textbook; 9] = [
    Textbook::Polynomial { gamma: 0.4, coef0: 1.5, degree: 2 },
    Textbook::Gaussian { gamma: 0.3 },
    Textbook::Laplacian { gamma: 0.35 },
    Textbook::Exponential { gamma: 0.45 },
    Textbook::Matern32 { gamma: 0.55 },
    Textbook::Matern52 { gamma: 0.65 },
    Textbook::RationalQuadratic { gamma: 0.7, alpha: 1.7 },
    Textbook::Cosine,
    Textbook::Linear,
];

/// Components, and the rows they start from and then learn.
#[derive(Clone, Debug)]
struct Case {
    kernel: Textbook,
    eta: f64,
    start: Points,
    rows: Points,
}

impl Case {
    fn settings(&self) -> OnlineKernelPca {
        OnlineKernelPca::new(self.kernel.to_kernel()).center(Center::No).learning_rate(self.eta)
    }

    fn starts(&self) -> Vec<Vec<f64>> {
        (0..self.start.n_samples()).map(|i| self.start.row(i)).collect()
    }

    /// The coefficients of a component over the start points and the rows, zero for those that are not remembered.
    fn coefficients(&self, learner: &Learner, component: usize) -> Vec<f64> {
        let (basis, coefficients) = (learner.basis(), learner.coefficients());
        let all = self.starts().into_iter().chain((0..self.rows.n_samples()).map(|i| self.rows.row(i)));
        all.map(|row| basis.iter().position(|slot| *slot == row).map_or(0.0, |slot| coefficients[(component, slot)]))
            .collect()
    }
}

/// A case with up to three components and rows of any width; the rate keeps η y² below its bound.
fn case() -> impl Strategy<Value = Case> {
    (0..KERNELS.len(), 1_usize..4, 1_usize..14, 1_usize..6, any::<u64>()).prop_map(|(kernel, p, n, d, seed)| {
        let (kernel, mut random) = (KERNELS[kernel], Random::new(seed));
        let points = gaussian_cloud(p + n, d, seed).points(Format::F64);
        let largest = (0..p + n).map(|i| kernel.value(&points.row(i), &points.row(i))).fold(0.0, f64::max);
        let eta = (0.02 + 0.3 * random.uniform()) / largest;
        Case { kernel, eta, start: points.slice(0..p), rows: points.slice(p..p + n) }
    })
}

/// Sums of a few dozen products of numbers of this size, in another order.
#[track_caller]
fn agree(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1e-3_f64, |m, x| m.max(x.abs()));
    for (i, (got, want)) in found.iter().zip(expected).enumerate() {
        assert!((got - want).abs() <= 1e-11 * scale, "{what}[{i}]: {got} instead of {want}");
    }
}

proptest! {
    // Seeds of failures are kept beside this file.
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("seeds"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn oja_is_the_printed_recursion(case in case()) {
        let settings = case.settings().n_components(1).rule(Rule::Oja).start(case.start.slice(0..1));
        let mut learner = settings.learner().unwrap();
        let mut neuron = PsiNeuron::new(case.kernel, case.eta, &case.start.row(0), 0);
        let outputs = learner.learn(&case.rows).unwrap();
        let expected: Vec<f64> = (0..case.rows.n_samples()).map(|i| neuron.learn(&case.rows.row(i), &[])).collect();
        agree("outputs", &outputs.col(0).iter().copied().collect::<Vec<_>>(), &expected);
        let one = Case { start: case.start.slice(0..1), ..case };
        agree("coefficients", &one.coefficients(&learner, 0), &neuron.coefficients());
    }

    #[test]
    fn apex_with_all_neurons_at_once_is_the_printed_recursion(case in case()) {
        let p = case.start.n_samples();
        let settings = case.settings().n_components(p).rule(Rule::Apex).start(case.start.clone());
        let mut learner = settings.learner().unwrap();
        let mut neurons: Vec<PsiNeuron> =
            (0..p).map(|j| PsiNeuron::new(case.kernel, case.eta, &case.start.row(j), j)).collect();
        let outputs = learner.learn(&case.rows).unwrap();
        for i in 0..case.rows.n_samples() {
            let mut expected = Vec::new();
            for neuron in &mut neurons {
                let output = neuron.learn(&case.rows.row(i), &expected);
                expected.push(output);
            }
            agree("outputs", &outputs.row(i).iter().copied().collect::<Vec<_>>(), &expected);
        }
        for (j, neuron) in neurons.iter().enumerate() {
            let (own, all) = (neuron.coefficients(), case.coefficients(&learner, j));
            agree("start", &all[j..=j], &own[..1]);
            agree("coefficients", &all[p..], &own[1..]);
            agree("lateral weights", &learner.lateral()[j], &neuron.lateral);
        }
    }

    #[test]
    fn apex_with_one_neuron_after_the_other_is_the_printed_recursion(case in case()) {
        let (p, n) = (case.start.n_samples(), case.rows.n_samples());
        let first = case.settings().n_components(1).rule(Rule::Oja).start(case.start.slice(0..1));
        let mut learner = first.learner().unwrap();
        let mut finished: Vec<PsiNeuron> = Vec::new();
        for j in 0..p {
            if j > 0 {
                learner = learner.next_component(&case.start.slice(j..j + 1)).unwrap();
            }
            let outputs = learner.learn(&case.rows).unwrap();
            let mut neuron = PsiNeuron::new(case.kernel, case.eta, &case.start.row(j), j);
            for i in 0..n {
                let x = case.rows.row(i);
                // Those that have finished stand still.
                let mut expected: Vec<f64> = finished.iter().map(|neuron| neuron.product(&x)).collect();
                let output = neuron.learn(&x, &expected);
                expected.push(output);
                agree("outputs", &outputs.row(i).iter().copied().collect::<Vec<_>>(), &expected);
            }
            agree("coefficients", &case.coefficients(&learner, j)[p..], &neuron.coefficients()[1..]);
            agree("lateral weights", &learner.lateral()[j], &neuron.lateral);
            finished.push(neuron);
        }
    }

    #[test]
    fn apex_with_neurons_that_take_turns_is_the_printed_recursion(case in case()) {
        let (p, n) = (case.start.n_samples(), case.rows.n_samples());
        prop_assume!(p > 1);
        let settings = case.settings().n_components(p).rule(Rule::Apex).start(case.start.clone()).rows_per_component(n);
        let mut learner = settings.learner().unwrap();
        let mut finished: Vec<PsiNeuron> = Vec::new();
        for j in 0..p {
            let outputs = learner.learn(&case.rows).unwrap();
            let mut neuron = PsiNeuron::new(case.kernel, case.eta, &case.start.row(j), j);
            for i in 0..n {
                let x = case.rows.row(i);
                let mut expected: Vec<f64> = finished.iter().map(|neuron| neuron.product(&x)).collect();
                expected.push(neuron.learn(&x, &expected));
                expected.resize(p, 0.0);
                agree("outputs", &outputs.row(i).iter().copied().collect::<Vec<_>>(), &expected);
            }
            agree("coefficients", &case.coefficients(&learner, j)[p..], &neuron.coefficients()[1..]);
            agree("lateral weights", &learner.lateral()[j], &neuron.lateral);
            finished.push(neuron);
        }
    }

    #[test]
    fn the_simultaneous_rule_is_the_printed_recursion(case in case(), double in any::<bool>()) {
        let (p, beta) = (case.start.n_samples(), if double { 2.0 } else { 1.0 });
        let settings = case.settings().n_components(p).beta(beta).start(case.start.clone());
        let mut learner = settings.learner().unwrap();
        let mut neurons = PsiTogether::new(case.kernel, case.eta, beta, case.starts());
        let outputs = learner.learn(&case.rows).unwrap();
        for i in 0..case.rows.n_samples() {
            let expected = neurons.learn(&case.rows.row(i));
            agree("outputs", &outputs.row(i).iter().copied().collect::<Vec<_>>(), &expected);
        }
        for j in 0..p {
            agree("coefficients", &case.coefficients(&learner, j), &neurons.coefficients(j));
        }
    }
}
