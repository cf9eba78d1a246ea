//! Updates in feature space as they are printed, on explicit vectors and by their recursion.

use mercer::online::{OnlineKernelPca, OnlineLearner, Rule};
use mercer::{Center, Kernel, Points};

use super::support::plane;

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
