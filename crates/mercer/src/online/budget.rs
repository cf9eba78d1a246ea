//! Keeping to the budget: which row is forgotten, and what is done about it.

use faer::Mat;

use super::factor::Factor;
use super::learner::{DEPENDENT, Learner};
use super::memory::dot;
use super::settings::Policy;
use crate::error::Result;

/// The factor and all inner products are computed anew after this many times as many removals as there are rows in memory.
const REFRESH_AFTER: usize = 32;

impl Learner {
    /// Forgets rows until the budget is kept.
    pub(super) fn keep_to_budget(&mut self) -> Result<()> {
        let Some(budget) = self.settings.budget else { return Ok(()) };
        let memory = self.memory.as_ref().expect("made before the first row");
        if memory.n_forgettable() <= budget {
            return Ok(());
        }
        match self.settings.policy {
            Policy::Oldest => {
                let forgettable = (0..memory.len()).filter(|&slot| memory.arrivals[slot] > 0);
                let oldest =
                    forgettable.min_by_key(|&slot| memory.arrivals[slot]).expect("there are more than the budget");
                self.drop_row(oldest)?;
            }
            Policy::Smallest => {
                let smallest = self.smallest()?;
                self.drop_row(smallest)?;
            }
            Policy::Project => self.project_one()?,
        }
        self.removals += 1;
        if self.removals >= REFRESH_AFTER * self.n_remembered() {
            self.refresh()?;
        }
        Ok(())
    }

    /// The row with the smallest weight: the squared length of its part of all components.
    fn smallest(&self) -> Result<usize> {
        let memory = self.memory.as_ref().expect("there are rows");
        let mut best = (f64::INFINITY, 0);
        for slot in (0..memory.len()).filter(|&slot| memory.arrivals[slot] > 0) {
            let weight: f64 = memory.components.iter().map(|component| component[slot].powi(2)).sum();
            let weight = weight * memory.square(&self.settings.kernel, slot)?;
            if weight < best.0 {
                best = (weight, slot);
            }
        }
        Ok(best.1)
    }

    /// Drops a row, and with it a part of the components; the mean is that of the rows left.
    fn drop_row(&mut self, slot: usize) -> Result<()> {
        let memory = self.memory.as_mut().expect("there are rows");
        let x = memory.rows.row(slot);
        let mut k = Vec::new();
        memory.kernel_row(&x, &mut k)?;
        let square = self.settings.kernel.evaluate(&x, &x)?;
        let with_components: Vec<f64> = memory.components.iter().map(|component| dot(component, &k)).collect();
        let with_mean = dot(&memory.mean, &k);
        let lost: Vec<f64> = memory.components.iter().map(|component| component[slot]).collect();
        let lost_mean = memory.mean[slot];
        let p = lost.len();
        self.inner = Mat::from_fn(p, p, |i, j| {
            self.inner[(i, j)] - lost[i] * with_components[j] - lost[j] * with_components[i]
                + lost[i] * lost[j] * square
        });
        // The weights of a mean add up to one.
        let rest = if lost_mean < 1.0 { 1.0 / (1.0 - lost_mean) } else { 0.0 };
        for (i, offset) in self.with_mean.iter_mut().enumerate() {
            *offset -= lost[i] * with_mean + lost_mean * with_components[i] - lost[i] * lost_mean * square;
            *offset *= rest;
        }
        self.mean_squared =
            (self.mean_squared - 2.0 * lost_mean * with_mean + lost_mean * lost_mean * square) * rest * rest;
        for (error, lost) in self.budget_error.iter_mut().zip(&lost) {
            *error += lost.abs() * square.max(0.0).sqrt();
        }
        memory.swap_remove(slot);
        memory.mean.iter_mut().for_each(|mean| *mean *= rest);
        Ok(())
    }

    /// Replaces a row by the best combination of the others: the last one or the one of smallest weight, whichever costs less.
    fn project_one(&mut self) -> Result<()> {
        let smallest = self.smallest()?;
        let memory = self.memory.as_mut().expect("there are rows");
        let factor = memory.factor.as_ref().expect("the policy keeps a factor");
        let newest = memory.len() - 1;
        let weight = |slot: usize| memory.components.iter().map(|component| component[slot].powi(2)).sum::<f64>();
        let mut slot = smallest;
        let mut projection = factor.express(smallest);
        if newest != smallest {
            let other = factor.express(newest);
            if weight(newest) * other.residual < weight(smallest) * projection.residual {
                (slot, projection) = (newest, other);
            }
        }
        let residual = projection.residual.max(0.0);
        let lost: Vec<f64> = memory.components.iter().map(|component| component[slot]).collect();
        let lost_mean = memory.mean[slot];
        for (expansion, lost) in
            memory.components.iter_mut().zip(&lost).chain(std::iter::once((&mut memory.mean, &lost_mean)))
        {
            for (x, coefficient) in expansion.iter_mut().zip(&projection.coefficients) {
                *x += lost * coefficient;
            }
        }
        // What is lost is orthogonal to all that is left.
        let p = lost.len();
        self.inner = Mat::from_fn(p, p, |i, j| self.inner[(i, j)] - lost[i] * lost[j] * residual);
        for (i, offset) in self.with_mean.iter_mut().enumerate() {
            *offset -= lost[i] * lost_mean * residual;
        }
        self.mean_squared -= lost_mean * lost_mean * residual;
        for (error, lost) in self.budget_error.iter_mut().zip(&lost) {
            *error += lost.abs() * residual.sqrt();
        }
        memory.swap_remove(slot);
        Ok(())
    }

    /// Computes the factor and all inner products anew, so that rounding does not build up over millions of rows.
    fn refresh(&mut self) -> Result<()> {
        self.removals = 0;
        let memory = self.memory.as_mut().expect("there are rows");
        let (m, p) = (memory.len(), memory.components.len());
        let mut images = vec![vec![0.0; m]; p + 1];
        let mut factor = memory.factor.is_some().then(Factor::default);
        let mut k = Vec::new();
        for i in 0..m {
            let x = memory.rows.row(i);
            memory.kernel_row(&x, &mut k)?;
            for (image, expansion) in
                images.iter_mut().zip(memory.components.iter().chain(std::iter::once(&memory.mean)))
            {
                image[i] = dot(expansion, &k);
            }
            if let Some(factor) = &mut factor {
                let z = factor.forward(&k[..i]);
                let residual = k[i] - dot(&z, &z);
                factor.push(z, residual.max(DEPENDENT * k[i]));
            }
        }
        memory.factor = factor;
        self.inner = Mat::from_fn(p, p, |i, j| dot(&memory.components[i.max(j)], &images[i.min(j)]));
        self.with_mean = memory.components.iter().map(|component| dot(component, &images[p])).collect();
        self.mean_squared = dot(&memory.mean, &images[p]);
        Ok(())
    }
}
