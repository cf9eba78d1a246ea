//! Where components start.

use faer::Mat;

use super::learner::{DEPENDENT, Learner};
use super::memory::{Memory, dot};
use super::settings::Rule;
use super::update::Place;
use crate::data::Points;
use crate::error::{Error, Result};

impl Learner {
    /// A learner whose components so far stand still while one more, which starts at `start`, learns what they leave, by the rule APEX: for
    /// components one after the other. Schedules begin anew.
    ///
    /// # Errors
    ///
    /// If `start` is not one point of the stream's width whose kernel with itself is positive.
    pub fn next_component(&self, start: &Points) -> Result<Self> {
        if start.n_samples() != 1 {
            return Err(Error::invalid("start", "one point", start.n_samples()));
        }
        let mut next = self.clone();
        let (p, x) = (self.settings.n_components, start.row(0));
        next.check(&x, 0)?;
        next.settings.n_components = p + 1;
        next.settings.rule = Rule::Apex;
        next.finished = p;
        next.n_since = 0;
        for numbers in [&mut next.with_mean, &mut next.variances, &mut next.budget_error] {
            numbers.push(0.0);
        }
        next.lateral.push(vec![0.0; p]);
        next.inner = Mat::from_fn(p + 1, p + 1, |i, j| if i < p && j < p { self.inner[(i, j)] } else { 0.0 });
        let (kernel, factored) = (self.settings.kernel.clone(), self.is_factored());
        let mut memory = match next.memory.take() {
            Some(memory) => memory,
            None => Memory::new(kernel, x.len(), p, factored),
        };
        memory.components.push(vec![0.0; memory.len()]);
        next.memory = Some(memory);
        next.pin(&x, p)?;
        next.started = p + 1;
        Ok(next)
    }

    /// Components begin at given points, which stay in memory.
    pub(super) fn start_from(&mut self, start: &Points) -> Result<()> {
        start.check_finite()?;
        let (p, kernel) = (self.settings.n_components, self.settings.kernel.clone());
        self.memory = Some(Memory::new(kernel, start.n_features(), p, self.is_factored()));
        for component in 0..p {
            self.pin(&start.row(component), component)?;
        }
        self.started = p;
        Ok(())
    }

    /// A component begins at a point, which stays in memory.
    fn pin(&mut self, x: &[f64], component: usize) -> Result<()> {
        let square = self.settings.kernel.evaluate(x, x)?;
        if square <= 0.0 || !square.is_finite() {
            return Err(Error::invalid(
                "start",
                "points whose kernel with themselves is positive",
                format!("one with {square} (row {component})"),
            ));
        }
        let memory = self.memory.as_mut().expect("made before components start");
        let mut k = Vec::new();
        memory.kernel_row(x, &mut k)?;
        let scale = 1.0 / square.sqrt();
        for j in 0..component {
            let product = scale * dot(&memory.components[j], &k);
            self.inner[(component, j)] = product;
            self.inner[(j, component)] = product;
        }
        self.inner[(component, component)] = 1.0;
        self.with_mean[component] = scale * dot(&memory.mean, &k);
        let slot = if let Some(slot) = memory.place_of(x) {
            slot
        } else {
            if let Some(factor) = &mut memory.factor {
                let z = factor.forward(&k);
                // Start points are kept even if they depend on others; the factor then has a short last row.
                let residual = (square - dot(&z, &z)).max(DEPENDENT * square);
                factor.push(z, residual);
            }
            memory.push(x, 0)
        };
        memory.arrivals[slot] = 0;
        memory.components[component][slot] += scale;
        Ok(())
    }

    /// The next component starts at a row that is not like those that others started from.
    pub(super) fn start_component(&mut self, place: &Place, k: &[f64], square: f64) {
        let is_new = !matches!(place, Place::Slot { is_new: false, .. });
        if self.started == self.settings.n_components || !is_new || square <= 0.0 {
            return;
        }
        let memory = self.memory.as_mut().expect("made before the first row");
        let scale = 1.0 / square.sqrt();
        let p = self.started;
        for j in 0..p {
            let product = scale * dot(&memory.components[j], k);
            self.inner[(p, j)] = product;
            self.inner[(j, p)] = product;
        }
        self.inner[(p, p)] = 1.0;
        self.with_mean[p] = scale * dot(&memory.mean, k);
        memory.components[p].fill(0.0);
        place.add(&mut memory.components[p], scale);
        self.started += 1;
    }
}
