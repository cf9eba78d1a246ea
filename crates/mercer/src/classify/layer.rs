//! One layer of linear units.

use faer::{Mat, MatRef};

use crate::eigen::small_product;

/// Weights and biases of some units on the same inputs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    /// One column per unit; the last row is the bias.
    pub(super) weights: Mat<f64>,
}

impl Layer {
    /// Inputs of a unit.
    pub(super) fn n_inputs(&self) -> usize {
        self.weights.nrows() - 1
    }

    /// What each unit sums up for each row of inputs.
    pub(super) fn sums(&self, inputs: MatRef<'_, f64>) -> Mat<f64> {
        let p = inputs.ncols();
        let mut sums = small_product(inputs, self.weights.as_ref().subrows(0, p));
        for j in 0..sums.ncols() {
            let bias = self.weights[(p, j)];
            sums.col_mut(j).iter_mut().for_each(|sum| *sum += bias);
        }
        sums
    }
}

/// $1 / (1 + e^{-u})$, without overflow.
pub(super) fn sigmoid(u: f64) -> f64 {
    if u >= 0.0 { 1.0 / (1.0 + (-u).exp()) } else { u.exp() / (1.0 + u.exp()) }
}
