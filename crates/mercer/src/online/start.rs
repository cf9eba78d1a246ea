//! Where components start.

use faer::Mat;

use super::block::Block;
use super::learner::{Learner, ROUNDED};
use super::memory::Memory;
use super::passes;
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
        next.settings.beta = None;
        next.finished = p;
        next.n_since = 0;
        for numbers in [&mut next.with_mean, &mut next.variances, &mut next.followed_error] {
            numbers.push(0.0);
        }
        next.lateral.push(vec![0.0; p]);
        next.inner = Mat::from_fn(p + 1, p + 1, |i, j| if i < p && j < p { self.inner[(i, j)] } else { 0.0 });
        let (kernel, factored) = (self.settings.kernel.clone(), self.is_factored());
        let mut memory = match next.memory.take() {
            Some(memory) => memory,
            None => Memory::new(kernel, x.len(), p, factored),
        };
        memory.components.push(vec![0.0; memory.rows.padded_len()]);
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
        let k = memory.kernel_row(x)?;
        let scale = 1.0 / square.sqrt();
        let expansions = memory.components.iter().take(component).chain(std::iter::once(&memory.mean));
        let mut products = Vec::with_capacity(component + 1);
        passes::products(memory.isa, expansions, &k, &mut products);
        for product in &mut products {
            *product *= scale;
        }
        for (j, &product) in products[..component].iter().enumerate() {
            self.inner[(component, j)] = product;
            self.inner[(j, component)] = product;
        }
        self.inner[(component, component)] = 1.0;
        self.with_mean[component] = products[component];
        let slot = if let Some(slot) = memory.place_of(x) {
            slot
        } else {
            if let Some(factor) = &mut memory.factor {
                let mut half = Vec::with_capacity(factor.len());
                factor.forward(1, |slot, _| k[slot], &mut half);
                let (mut combination, mut coefficients) = (half.clone(), vec![0.0; factor.len()]);
                factor.backward(1, &mut combination);
                factor.by_slot(&combination, 0, 1, &mut coefficients);
                // Start points are kept even if they depend on others; the factor then has a short last row.
                let residual = square - half.iter().map(|z| z * z).sum::<f64>();
                factor.push(&half, residual.max(ROUNDED * square), &coefficients);
            }
            memory.push(x, square, 0)
        };
        memory.arrivals[slot] = 0;
        memory.components[component][slot] += scale;
        Ok(())
    }

    /// The next component starts at row `i` of a block, which has just been learned, if it is not like those that others started from.
    pub(super) fn start_component(&mut self, place: Place<'_>, block: &Block, i: usize, square: f64) {
        let is_new = !matches!(place, Place::Slot { is_new: false, .. });
        if self.started == self.settings.n_components || !is_new || square <= 0.0 {
            return;
        }
        let memory = self.memory.as_mut().expect("made before the first row");
        let k = block.values(i, memory);
        let scale = 1.0 / square.sqrt();
        let p = self.started;
        let expansions = memory.components.iter().take(p).chain(std::iter::once(&memory.mean));
        let mut products = Vec::with_capacity(p + 1);
        passes::products(memory.isa, expansions, k, &mut products);
        for product in &mut products {
            *product *= scale;
        }
        for (j, &product) in products[..p].iter().enumerate() {
            self.inner[(p, j)] = product;
            self.inner[(j, p)] = product;
        }
        let lost = match place {
            Place::Slot { .. } => 0.0,
            Place::Combination { residual, .. } => residual / square,
        };
        self.inner[(p, p)] = 1.0 - lost;
        self.with_mean[p] = products[p];
        memory.components[p].fill(0.0);
        place.add(&mut memory.components[p], scale);
        self.started += 1;
    }
}
