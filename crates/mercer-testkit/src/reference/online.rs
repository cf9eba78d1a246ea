//! Online kernel PCA as Kashima printed it, with his errors corrected: neurons whose outputs follow the recursion of `ψ`, and updates of
//! explicit vectors in a feature space.

use faer::Mat;
use mercer::online::Rule;

use super::{Textbook, orthonormalize};

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "lengths of an inner product");
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `ψ(τ, t)`, the product of `1 − η y(v)²` for `v = τ+1 … t`, where `y[v]` is the output at row `v`.
fn psi(eta: f64, y: &[f64], tau: usize, t: usize) -> f64 {
    (tau + 1..=t).map(|v| 1.0 - eta * y[v] * y[v]).product()
}

/// One neuron that learns by Oja's rule or, given what others say of a row, by the rule APEX.
#[derive(Clone, Debug)]
pub struct PsiNeuron {
    kernel: Textbook,
    eta: f64,
    /// The start point, then the rows that were learned.
    rows: Vec<Vec<f64>>,
    /// The output at each of them; none at the start point.
    y: Vec<f64>,
    /// Lateral weights: as many as there are neurons before it.
    pub lateral: Vec<f64>,
}

impl PsiNeuron {
    /// A neuron at a start point, with `before` neurons before it.
    pub fn new(kernel: Textbook, eta: f64, start: &[f64], before: usize) -> Self {
        Self { kernel, eta, rows: vec![start.to_vec()], y: vec![0.0], lateral: vec![0.0; before] }
    }

    /// The coefficients over the start point and the rows: `ψ(0, t) / √K(x(0), x(0))`, then `η y(τ) ψ(τ, t)`.
    pub fn coefficients(&self) -> Vec<f64> {
        let t = self.rows.len() - 1;
        let first = psi(self.eta, &self.y, 0, t) / self.kernel.value(&self.rows[0], &self.rows[0]).sqrt();
        let later = (1..=t).map(|tau| self.eta * self.y[tau] * psi(self.eta, &self.y, tau, t));
        std::iter::once(first).chain(later).collect()
    }

    /// `w·φ(x)`.
    pub fn product(&self, x: &[f64]) -> f64 {
        self.coefficients().iter().zip(&self.rows).map(|(a, row)| a * self.kernel.value(row, x)).sum()
    }

    /// Learns from a row of which the neurons before say this, and returns its own output.
    pub fn learn(&mut self, x: &[f64], before: &[f64]) -> f64 {
        let y = self.product(x) + dot(&self.lateral, before);
        for (a, other) in self.lateral.iter_mut().zip(before) {
            *a -= self.eta * y * (other + y * *a);
        }
        self.rows.push(x.to_vec());
        self.y.push(y);
        y
    }
}

/// Neurons that learn at once by the simultaneous rule: each from `x̃ = φ − β Σ_{j<p} y_j w_j`, which is the image of no point.
#[derive(Clone, Debug)]
pub struct PsiTogether {
    kernel: Textbook,
    eta: f64,
    beta: f64,
    start: Vec<Vec<f64>>,
    /// The rows that were learned, from the place 1 on.
    rows: Vec<Vec<f64>>,
    /// For each neuron, its output at each of them.
    y: Vec<Vec<f64>>,
}

impl PsiTogether {
    /// Neurons at their start points.
    pub fn new(kernel: Textbook, eta: f64, beta: f64, start: Vec<Vec<f64>>) -> Self {
        let y = vec![vec![0.0]; start.len()];
        Self { kernel, eta, beta, start, rows: vec![Vec::new()], y }
    }

    /// Learns from a row and returns all outputs.
    pub fn learn(&mut self, x: &[f64]) -> Vec<f64> {
        let t = self.rows.len();
        let outputs: Vec<f64> = (0..self.start.len()).map(|p| self.product(p, t, x)).collect();
        self.rows.push(x.to_vec());
        self.y.iter_mut().zip(&outputs).for_each(|(y, output)| y.push(*output));
        outputs
    }

    /// `w_p(t)·φ(x)`, the neuron having learned the rows before `t`.
    fn product(&self, p: usize, t: usize, x: &[f64]) -> f64 {
        let scale = self.kernel.value(&self.start[p], &self.start[p]).sqrt();
        let first = psi(self.eta, &self.y[p], 0, t - 1) * self.kernel.value(&self.start[p], x) / scale;
        let later = (1..t).map(|tau| {
            // x̃(τ)·φ(x)
            let taken: f64 = (0..p).map(|j| self.y[j][tau] * self.product(j, tau, x)).sum();
            let seen = self.kernel.value(&self.rows[tau], x) - self.beta * taken;
            self.eta * self.y[p][tau] * psi(self.eta, &self.y[p], tau, t - 1) * seen
        });
        first + later.sum::<f64>()
    }

    /// The coefficients of a neuron over the start points and the rows.
    pub fn coefficients(&self, p: usize) -> Vec<f64> {
        self.coefficients_at(p, self.rows.len())
    }

    fn coefficients_at(&self, p: usize, t: usize) -> Vec<f64> {
        let n = self.start.len();
        let mut all = vec![0.0; n + self.rows.len() - 1];
        all[p] = psi(self.eta, &self.y[p], 0, t - 1) / self.kernel.value(&self.start[p], &self.start[p]).sqrt();
        for tau in 1..t {
            let weight = self.eta * self.y[p][tau] * psi(self.eta, &self.y[p], tau, t - 1);
            all[n + tau - 1] += weight;
            for j in 0..p {
                let taken = weight * self.beta * self.y[j][tau];
                all.iter_mut().zip(self.coefficients_at(j, tau)).for_each(|(sum, other)| *sum -= taken * other);
            }
        }
        all
    }
}

/// Components as vectors of a feature space.
#[derive(Clone, Debug)]
pub struct ExplicitOnline {
    rule: Rule,
    /// The learning rate at the next row.
    pub eta: f64,
    beta: f64,
    /// The components.
    pub weights: Vec<Vec<f64>>,
    lateral: Vec<Vec<f64>>,
    mean: Option<Vec<f64>>,
    t: usize,
}

impl ExplicitOnline {
    /// Components that start at the images of points, scaled to unit length; `beta` is for the simultaneous rule.
    pub fn new(rule: Rule, eta: f64, beta: f64, start: &[Vec<f64>], centered: bool) -> Self {
        let mean = centered.then(|| vec![0.0; start[0].len()]);
        let mut learner = Self { rule, eta, beta, weights: Vec::new(), lateral: Vec::new(), mean, t: 0 };
        for phi in start {
            learner.start(phi);
        }
        learner
    }

    /// One more component starts at the image of a point.
    pub fn start(&mut self, phi: &[f64]) {
        self.lateral.push(vec![0.0; self.weights.len()]);
        self.weights.push(phi.iter().map(|x| x / dot(phi, phi).sqrt()).collect());
    }

    /// The image of a row less the mean.
    fn centered(&self, phi: &[f64]) -> Vec<f64> {
        let mean = |i: usize| self.mean.as_ref().map_or(0.0, |mean| mean[i]);
        phi.iter().enumerate().map(|(i, x)| x - mean(i)).collect()
    }

    /// The squared distance of an image, less the mean, from the span of the components: it is projected onto an orthonormal basis.
    pub fn distance(&self, phi: &[f64]) -> f64 {
        let columns = Mat::from_fn(phi.len(), self.weights.len(), |i, j| self.weights[j][i]);
        let basis = orthonormalize(columns.as_ref());
        let mut rest = self.centered(phi);
        for j in 0..basis.ncols() {
            let along: f64 = rest.iter().enumerate().map(|(i, x)| x * basis[(i, j)]).sum();
            rest.iter_mut().enumerate().for_each(|(i, x)| *x -= along * basis[(i, j)]);
        }
        dot(&rest, &rest)
    }

    /// Learns from the image of a row; returns the outputs, and its distance from the span before that, with its share of the mean.
    pub fn learn(&mut self, phi: &[f64]) -> (Vec<f64>, f64) {
        self.t += 1;
        if let Some(mean) = &mut self.mean {
            mean.iter_mut().zip(phi).for_each(|(mean, x)| *mean += (x - *mean) / self.t as f64);
        }
        let (c, distance) = (self.centered(phi), self.distance(phi));
        let old = self.weights.clone();
        let raw: Vec<f64> = old.iter().map(|w| dot(w, &c)).collect();
        let mut outputs: Vec<f64> = Vec::new();
        for p in 0..old.len() {
            let help = if self.rule == Rule::Apex { dot(&self.lateral[p], &outputs) } else { 0.0 };
            let y = raw[p] + help;
            for (i, c) in c.iter().enumerate() {
                let before = match self.rule {
                    Rule::Simultaneous => (0..p).map(|j| raw[j] * old[j][i]).sum::<f64>() * self.beta,
                    _ => 0.0,
                };
                self.weights[p][i] += self.eta * y * (c - before - y * old[p][i]);
            }
            for (a, before) in self.lateral[p].iter_mut().zip(&outputs) {
                *a -= self.eta * y * (before + y * *a);
            }
            outputs.push(y);
        }
        (outputs, distance)
    }
}
