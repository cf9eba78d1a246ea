//! Where components start, and whose turn it is to learn.

use faer::Mat;

use super::block::Block;
use super::learner::{Learner, ROUNDED};
use super::memory::Memory;
use super::passes;
use super::settings::{OnlineKernelPca, Rule};
use super::update::Place;
use crate::data::Points;
use crate::error::{Error, Result, short};
use crate::tile::can_be_packed;

impl Learner {
    /// A learner whose components so far stand still while one more, which starts at `start`, learns what they leave, by the rule APEX: for
    /// components one after the other by hand. Schedules begin anew.
    ///
    /// ```
    /// use mercer::online::{OnlineKernelPca, Rule};
    /// use mercer::{Center, Kernel, Points};
    ///
    /// let row = |i: i32| [f64::from(i % 20) - 9.5, 0.3 * f64::from(i % 3 - 1)];
    /// let settings = OnlineKernelPca::new(Kernel::linear()).n_components(1).rule(Rule::Oja).center(Center::No);
    /// let mut first = settings.learner()?;
    /// for i in 0..200 {
    ///     first.learn_row(&row(i))?;
    /// }
    /// let mut both = first.next_component(&Points::from_f64(vec![0.0, 1.0], 1, 2)?)?;
    /// for i in 0..200 {
    ///     both.learn_row(&row(i))?;
    /// }
    /// // The first one stood still, and the second has a weight for what it leaves to the first.
    /// let (before, after) = (first.look(&[5.0, 1.0])?.outputs, both.look(&[5.0, 1.0])?.outputs);
    /// assert!(after.len() == 2 && (before[0] - after[0]).abs() < 1e-9);
    /// assert_eq!((both.n_finished(), both.lateral().last().map(Vec::len)), (1, Some(1)));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a component has not begun yet, the budget has no room for one more, or `start` is not one point of the stream's width whose kernel with itself is positive.
    pub fn next_component(&self, start: &Points) -> Result<Self> {
        if start.n_samples() != 1 {
            return Err(Error::invalid("start", "one point", start.n_samples()));
        }
        let (p, x) = (self.settings.n_components, start.row(0));
        if self.started < p {
            let requirement =
                format!("at most the number of components that have begun ({}) before one more is added", self.started);
            return Err(Error::invalid("n_components", requirement, p));
        }
        self.check(&x, 0)?;
        let mut next = self.clone();
        next.settings.n_components = p + 1;
        next.settings.rule = Rule::Apex;
        next.settings.beta = None;
        // All before it stand still from now on, whoever's turn it was.
        next.settings.rows_per_component = None;
        next.settings.start = match &self.settings.start {
            Some(points) => Some(with_row(points, &x)?),
            None => None,
        };
        next.settings.validate()?;
        next.finished = p;
        next.n_since = 0;
        for numbers in [&mut next.with_mean, &mut next.variances, &mut next.followed_error] {
            numbers.push(0.0);
        }
        next.unsettled.push(1.0);
        next.began.push(0);
        next.lateral.push(vec![0.0; p]);
        next.inner = Mat::from_fn(p + 1, p + 1, |i, j| if i < p && j < p { self.inner[(i, j)] } else { 0.0 });
        // There is one: components have begun.
        if let Some(memory) = &mut next.memory {
            memory.components.push(vec![0.0; memory.rows.padded_len()]);
        }
        let x = next.scaled(x);
        next.remember_for_ever(&x, p)?;
        next.begin_at(&x)?;
        Ok(next)
    }

    /// Components begin at given points, which stay in memory: all at once, or each when its turn comes.
    pub(super) fn start_from(&mut self, start: &Points) -> Result<()> {
        start.check_finite()?;
        let (p, kernel) = (self.settings.n_components, self.settings.kernel.clone());
        self.memory = Some(Memory::new(kernel, start.n_features(), p, self.settings.most_expressed()));
        for component in 0..p {
            self.remember_for_ever(&start.row(component), component)?;
        }
        let at_once = if self.settings.rows_per_component.is_some() { 1 } else { p };
        (0..at_once).try_for_each(|component| self.begin_at(&start.row(component)))
    }

    /// Puts a point that a component starts from in memory, where it stays.
    fn remember_for_ever(&mut self, x: &[f64], component: usize) -> Result<()> {
        let square = self.settings.kernel.evaluate(x, x)?;
        if square <= 0.0 || !square.is_finite() {
            return Err(Error::invalid(
                "start",
                "points whose kernel with themselves is positive",
                format!("one with {square} (point {})", component + 1),
            ));
        }
        if !can_be_packed(&self.settings.kernel, x) {
            let largest = x.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
            let value = format!("one with {} (point {})", short(largest), component + 1);
            return Err(Error::invalid("start", "points whose squared norms do not overflow f64", value));
        }
        let memory = self.memory.as_mut().expect("made before components start");
        let slot = if let Some(slot) = memory.place_of(x) {
            slot
        } else {
            let k = memory.kernel_row(x)?;
            memory.enter_factor(&k, square, &self.settings)?;
            memory.push(x, square, 0)
        };
        memory.arrivals[slot] = 0;
        Ok(())
    }

    /// The next component begins at a point in memory.
    fn begin_at(&mut self, x: &[f64]) -> Result<()> {
        let memory = self.memory.as_mut().expect("made before components start");
        let slot = memory.place_of(x).expect("start points stay in memory");
        let (k, square) = (memory.kernel_row(x)?, memory.squares[slot]);
        self.begin(&k, square, Place::Slot { slot, is_new: false });
        Ok(())
    }

    /// The next component starts at row `i` of a block, which has just been learned: if it is not like those that others started from, or if
    /// components take turns and it is this one's.
    pub(super) fn start_component(&mut self, place: Place<'_>, block: &Block, i: usize, square: f64) {
        let takes_turns = self.settings.rows_per_component.is_some();
        let is_its_turn = if takes_turns {
            self.started == self.finished
        } else {
            !matches!(place, Place::Slot { is_new: false, .. })
        };
        if self.started == self.settings.n_components || !is_its_turn || square <= 0.0 {
            return;
        }
        let k = block.values(i, self.memory.as_ref().expect("made before the first row"));
        self.begin(k, square, place);
        if takes_turns {
            // Its rows are counted from this one on.
            self.n_since = 1;
        }
    }

    /// The next component begins as the image of a point, divided by its length; `k` are the kernel values of the point with those in memory.
    fn begin(&mut self, k: &[f64], square: f64, place: Place<'_>) {
        let (memory, p) = (self.memory.as_mut().expect("there are rows"), self.started);
        let scale = 1.0 / square.sqrt();
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
        self.began[p] = self.n_counted();
        self.started += 1;
    }

    /// Once the component whose turn it is has had its rows, the next one has: where components learn one after the other.
    pub(super) fn take_turns(&mut self) -> Result<()> {
        let Some(rows) = self.settings.rows_per_component else { return Ok(()) };
        let has_learned = self.started > self.finished && self.n_since >= rows;
        if !has_learned || self.finished + 1 == self.settings.n_components {
            return Ok(());
        }
        self.finished += 1;
        self.n_since = 0;
        let start = self.settings.start.as_ref().map(|start| start.row(self.finished));
        start.map_or(Ok(()), |x| self.begin_at(&x))
    }
}

impl Memory {
    /// Takes a point whose kernel values with those in memory are `k` into the factor, if there is one, before it gets the next slot. Start
    /// points are kept even if they depend on others; the factor then has a short last row.
    fn enter_factor(&mut self, k: &[f64], square: f64, settings: &OnlineKernelPca) -> Result<()> {
        if self.factor.is_none() {
            return Ok(());
        }
        let (half, coefficients) = self.solution(k);
        let residual = square - half.iter().map(|z| z * z).sum::<f64>();
        settings.check_residual(residual, square, square)?;
        self.factor.as_mut().expect("there is one").push(&half, residual.max(ROUNDED * square), &coefficients);
        Ok(())
    }
}

/// Points and one more.
fn with_row(points: &Points, x: &[f64]) -> Result<Points> {
    let mut values = points.rows(0..points.n_samples()).to_f64();
    values.extend_from_slice(x);
    Points::from_f64(values, points.n_samples() + 1, points.n_features())
}
