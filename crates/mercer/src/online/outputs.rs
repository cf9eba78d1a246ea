//! From outputs of components to scores under the model.
//!
//! # Method
//!
//! Outputs are inner products `w_p · c` of components with a centred image `c`, and with the rule APEX what lateral weights add to them, which is taken
//! away again from the first component to the last. A direction of the [model](Learner::model) is a combination `Σ_p u_p w_p` of components, so its score is the
//! same combination of the inner products, with the sign that the model gives it.

use faer::{Mat, MatRef};

use super::learner::Learner;
use super::memory::dot;
use super::settings::Rule;
use crate::eigen::small_product;
use crate::error::{Error, Result, short};
use crate::model::fix_signs;

impl Learner {
    /// The scores under the [model](Self::model) of rows that have these outputs, one row each: what their pre-images are searched with.
    ///
    /// ```
    /// use faer::Mat;
    /// use mercer::online::{OnlineKernelPca, OnlineLearner};
    /// use mercer::{Kernel, Points};
    ///
    /// let rows = Points::from_f64((0..400).map(|i| f64::from(i * i % 101) * 0.02).collect::<Vec<_>>(), 200, 2)?;
    /// let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5)?).n_components(2).learner()?;
    /// learner.learn(&rows)?;
    /// let seen = learner.look_at_rows(&rows)?;
    /// let outputs = Mat::from_fn(200, 2, |i, p| seen[i].outputs[p]);
    /// let (scores, expected) = (learner.scores_of_outputs(outputs.as_ref())?, learner.model()?.transform(&rows)?);
    /// assert!((&scores - &expected).norm_max() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`model`](Self::model), and if there is not one output per component, or one is not finite, or so large
    /// that scores are not.
    pub fn scores_of_outputs(&self, outputs: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let p = self.settings.n_components;
        if outputs.ncols() != p {
            return Err(Error::invalid("outputs", format!("of {p} columns, one per component"), outputs.ncols()));
        }
        for (column, values) in outputs.col_iter().enumerate() {
            if let Some((row, &value)) = values.iter().enumerate().find(|(_, x)| !x.is_finite()) {
                return Err(Error::NotFinite { row, column, value });
            }
        }
        let (memory, directions) = self.directions()?;
        let is_turned = fix_signs(&mut directions.coefficients(memory));
        let mut inner_products = Mat::zeros(outputs.nrows(), p);
        for i in 0..outputs.nrows() {
            let row: Vec<f64> = outputs.row(i).iter().copied().collect();
            for (component, inner) in self.inner_products(&row).into_iter().enumerate() {
                inner_products[(i, component)] = inner;
            }
        }
        let mut scores = small_product(inner_products.as_ref(), directions.combinations.as_ref());
        for (j, _) in is_turned.iter().enumerate().filter(|(_, turned)| **turned) {
            scores.col_mut(j).iter_mut().for_each(|score| *score = -*score);
        }
        check_scores(scores.as_ref(), outputs)?;
        Ok(scores)
    }

    /// What components learned outputs of: the opposite of [`learned_outputs`](Self::learned_outputs).
    fn inner_products(&self, learned: &[f64]) -> Vec<f64> {
        let without = |(p, (y, lateral)): (usize, (&f64, &Vec<f64>))| {
            let inhibited = self.settings.rule == Rule::Apex && p >= self.finished;
            y - if inhibited { dot(lateral, learned) } else { 0.0 }
        };
        learned.iter().zip(&self.lateral).enumerate().map(without).collect()
    }
}

/// Refuses outputs that are numbers, but whose combinations are none.
fn check_scores(scores: MatRef<'_, f64>, outputs: MatRef<'_, f64>) -> Result<()> {
    let overflows = |row: &usize| scores.row(*row).iter().any(|score| !score.is_finite());
    let Some(row) = (0..scores.nrows()).find(overflows) else { return Ok(()) };
    let largest = outputs.row(row).iter().fold(0.0, |largest: f64, x| x.abs().max(largest));
    let requirement = "small enough for scores under the model, which are sums of them and overflow f64";
    Err(Error::invalid("outputs", requirement, format!("{} in row {row}", short(largest))))
}
