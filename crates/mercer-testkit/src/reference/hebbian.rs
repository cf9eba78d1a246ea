//! The kernel Hebbian algorithm, one update at a time, as its equations are printed.
//!
//! Every product is recomputed from the whole matrix at every update, and triangular parts are formed entry by entry.
//! Equation numbers are those of Günter, Schraudolph and Vishwanathan (JMLR 8, 2007).

use faer::{Mat, MatRef};

use super::product;

/// What a run is asked for.
#[derive(Clone, Debug)]
pub struct HebbianReference {
    /// `constant`, `t`, `et*`, `et`, `smd*`, `smd`, `s`, `ts` or `es`.
    pub rule: &'static str,
    /// `pass`, `iteration` or `pass-eigenvalues`.
    pub refresh: &'static str,
    /// Gain.
    pub eta0: f64,
    /// Search time.
    pub tau: f64,
    /// Meta-gain.
    pub mu: f64,
    /// Memory of meta-descent.
    pub xi: f64,
    /// Log-gains at the start.
    pub rho0: f64,
}

/// Where a run has come to.
#[derive(Clone, Debug)]
pub struct HebbianState {
    /// Coefficients, one row per component.
    pub a: Mat<f64>,
    /// Meta-descent's memory.
    pub b: Mat<f64>,
    /// Log-gains.
    pub rho: Vec<f64>,
    /// Scheduled gains of the last update.
    pub eta: Vec<f64>,
    /// Eigenvalue estimates of the last refresh; NaN if there was none.
    pub lambda: Vec<f64>,
    /// `A k'` of the last update.
    pub y: Vec<f64>,
}

impl HebbianReference {
    fn adapts(&self) -> bool {
        ["smd*", "smd", "s", "ts", "es"].contains(&self.rule)
    }

    fn uses_eigenvalues(&self) -> bool {
        ["et*", "et", "smd*", "smd", "es"].contains(&self.rule)
    }

    /// Runs over `order` from the coefficients `a`, on the matrix as it is.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit.
    #[track_caller]
    pub fn run(&self, matrix: MatRef<'_, f64>, a: MatRef<'_, f64>, order: &[usize]) -> HebbianState {
        let (r, n) = (a.nrows(), a.ncols());
        assert_eq!(matrix.nrows(), n, "one column of coefficients per point");
        let mut state = HebbianState {
            a: a.to_owned(),
            b: Mat::zeros(r, n),
            rho: vec![if self.adapts() { self.rho0 } else { 0.0 }; r],
            eta: vec![f64::NAN; r],
            lambda: vec![f64::NAN; r],
            y: vec![f64::NAN; r],
        };
        for (at, &p) in order.iter().enumerate() {
            self.renew_gains(&mut state, matrix, at);
            self.update(&mut state, matrix, p);
        }
        state
    }

    fn renew_gains(&self, state: &mut HebbianState, matrix: MatRef<'_, f64>, at: usize) {
        let n = matrix.nrows();
        let first = at.is_multiple_of(n);
        if self.uses_eigenvalues() && (first || self.refresh == "iteration") {
            state.lambda = eigenvalue_estimates(matrix, state.a.as_ref());
        }
        if first || self.refresh != "pass" || !self.uses_eigenvalues() {
            let (t, l) = ((at + 1) as f64, n as f64);
            let norm = state.lambda.iter().map(|x| x * x).sum::<f64>().sqrt();
            let annealed = self.tau / (t + self.tau);
            for (eta, lambda) in state.eta.iter_mut().zip(&state.lambda) {
                *eta = self.eta0
                    * match self.rule {
                        "constant" | "s" => 1.0,
                        "t" | "ts" => annealed,
                        "et*" | "smd*" => annealed / lambda,
                        "et" | "smd" => l / (t + l) * norm / lambda,
                        "es" => 1.0 / lambda,
                        other => panic!("no gain rule is called {other}"),
                    };
            }
        }
    }

    fn update(&self, state: &mut HebbianState, matrix: MatRef<'_, f64>, p: usize) {
        let (r, n) = (state.a.nrows(), state.a.ncols());
        let k = matrix.subcols(p, 1);
        let y = product(state.a.as_ref(), k);
        let b = product(state.b.as_ref(), k);
        let unit = |j: usize| if j == p { 1.0 } else { 0.0 };
        // (16)
        let l = lower(|i, j| y[(i, 0)] * y[(j, 0)], r);
        let la = product(l.as_ref(), state.a.as_ref());
        let gamma = Mat::from_fn(r, n, |i, j| y[(i, 0)] * unit(j) - la[(i, j)]);
        if self.adapts() {
            // (32)
            let gamma_k = product(gamma.as_ref(), matrix);
            for i in 0..r {
                state.rho[i] += self.mu * (0..n).map(|j| gamma_k[(i, j)] * state.b[(i, j)]).sum::<f64>();
            }
        }
        let gain: Vec<f64> = (0..r).map(|i| state.eta[i] * state.rho[i].exp()).collect();
        if self.adapts() {
            // (36), (35)
            let lb = product(l.as_ref(), state.b.as_ref());
            let mixed = lower(|i, j| b[(i, 0)] * y[(j, 0)] + y[(i, 0)] * b[(j, 0)], r);
            let ma = product(mixed.as_ref(), state.a.as_ref());
            state.b = Mat::from_fn(r, n, |i, j| {
                let differential = b[(i, 0)] * unit(j) - lb[(i, j)] - ma[(i, j)];
                self.xi * state.b[(i, j)] + gain[i] * (gamma[(i, j)] + self.xi * differential)
            });
        }
        // (31)
        state.a = Mat::from_fn(r, n, |i, j| state.a[(i, j)] + gain[i] * gamma[(i, j)]);
        state.y = y.col(0).iter().copied().collect();
    }
}

/// (20): `‖K' a‖ / ‖a‖` of each row of `a`.
pub fn eigenvalue_estimates(matrix: MatRef<'_, f64>, a: MatRef<'_, f64>) -> Vec<f64> {
    let images = product(a, matrix);
    (0..a.nrows()).map(|i| images.row(i).norm_l2() / a.row(i).norm_l2()).collect()
}

/// (38): `‖K' − (A K')ᵀ A K'‖`.
pub fn reconstruction_error(matrix: MatRef<'_, f64>, a: MatRef<'_, f64>) -> f64 {
    let images = product(a, matrix);
    (matrix.to_owned() - product(images.transpose().to_owned().as_ref(), images.as_ref())).norm_l2()
}

fn lower(entry: impl Fn(usize, usize) -> f64, r: usize) -> Mat<f64> {
    Mat::from_fn(r, r, |i, j| if j <= i { entry(i, j) } else { 0.0 })
}
