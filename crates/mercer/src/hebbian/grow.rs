//! More points: a run goes on over old and new ones together.
//!
//! # Memory
//!
//! The points are put together in a copy, which counts in the budget, and so do the old coefficients, to come back to on an error. Old
//! points that are packed do not stay beside the new ones: they can be packed again.

use faer::Mat;

use super::engine::Engine;
use super::learner::HebbianLearner;
use super::run::Order;
use super::schedule::GainParameters;
use super::setup::{Beside, Setup, engine_of, packed_size};
use super::state::State;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::gram::Centering;
use crate::kernel::Kernel;
use crate::watch::{Context, Phase, Stopwatch, Watch};

/// How long a run goes on.
#[derive(Clone, Copy)]
pub(super) enum Amount {
    Passes(usize),
    Updates(usize),
}

impl Amount {
    /// The samples of the run over `n` points.
    pub(super) fn order(self, n: usize) -> Order<'static> {
        match self {
            Self::Passes(passes) => Order::passes(passes, n),
            Self::Updates(updates) => Order::Permutations(updates),
        }
    }
}

/// Everything that is as it was, if a run over more points comes to nothing.
struct Before {
    state: State,
    points: Points,
    parameters: GainParameters,
    centering: Option<Centering>,
    store_bytes: u64,
    memory_bytes: u64,
    own_points: u64,
    history: usize,
}

impl HebbianLearner {
    /// Learns from old and new points together, and makes something of it.
    pub(super) fn with_more_points<T, E: From<Error>>(
        &mut self,
        new: &Points,
        amount: Amount,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
        make: impl FnOnce(&Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        if matches!(self.prepared.kernel, Kernel::Precomputed) {
            return Err(Error::UnsuitableKernel {
                what: "learning from more points",
                kernel: "precomputed".to_owned(),
                reason: "the kernel of new points with old ones is not known",
            }
            .into());
        }
        self.points.check_followed_by(new)?;
        new.check_finite()?;
        let joined = self.points.size() + new.size();
        let beside = Beside {
            taken: self.taken,
            always: self.own_points + joined + self.state.size(),
            while_packing: packed_size(&self.prepared, &self.points),
        };
        self.settings.check_room(&self.prepared, (&self.points, new), beside)?;
        let points = self.points.followed_by(new)?;
        // The budget is for one set of rows.
        self.engine.give_back_room();
        let n_before = self.points.n_samples();
        let setup = self.settings.set_up(&self.prepared, &points, beside).map_err(|error| {
            self.engine.make_room();
            // Whoever gave the new points counts them from zero.
            error.with_row(|row| row.checked_sub(n_before).unwrap_or(row))
        })?;
        let before = self.take_over(setup, points, joined);
        let order = amount.order(self.points.n_samples());
        let outcome = self.over(&before, order, watch, stopwatch).map_err(E::from).and_then(|()| make(self));
        if outcome.is_err() {
            self.come_back(before);
        }
        outcome
    }

    /// Makes more points the learner's own, but for what has been learned.
    fn take_over(&mut self, setup: Setup, points: Points, joined: u64) -> Before {
        let Setup { engine, store_bytes, memory_bytes } = setup;
        let (entries, n) = (self.kernel_entries(), points.n_samples());
        let parameters = GainParameters { tau: self.tau(n), ..self.parameters };
        self.points_digest.take();
        self.earlier_entries = entries;
        let old: Box<dyn Engine> = std::mem::replace(&mut self.engine, engine);
        Before {
            centering: old.centering().cloned(),
            state: std::mem::replace(&mut self.state, State::empty()),
            points: std::mem::replace(&mut self.points, points),
            parameters: std::mem::replace(&mut self.parameters, parameters),
            store_bytes: std::mem::replace(&mut self.store_bytes, store_bytes),
            memory_bytes: std::mem::replace(&mut self.memory_bytes, memory_bytes),
            own_points: std::mem::replace(&mut self.own_points, joined),
            history: self.history.len(),
        }
    }

    /// Goes on over the points, of which the first are those of before.
    fn over(&mut self, before: &Before, order: Order<'_>, watch: &Watch<'_>, stopwatch: Stopwatch) -> Result<()> {
        let context = Context::new(&self.prepared.threads, watch, Phase::Learning);
        let (old, n, w) = (&before.state, self.points.n_samples(), before.state.w);
        let mut coefficients = Mat::zeros(n, w);
        coefficients.as_mut().subrows_mut(0, old.n).copy_from(old.coefficients(0, w));
        if before.centering.is_some() {
            // Directions do not depend on the mean of the points, which is another one from now on, if coefficients sum to zero;
            // and as long as it is the mean of these points, subtracting a constant from them changes nothing.
            for j in 0..w {
                let mean = old.coefficients(j, 1).col(0).iter().sum::<f64>() / old.n as f64;
                coefficients.col_mut(j).iter_mut().take(old.n).for_each(|x| *x -= mean);
            }
        }
        let images = self.engine.start(coefficients.as_ref(), self.settings.common.center, &context)?;
        let (padded, lanes) = self.engine.geometry();
        let r = old.r;
        let mut state = State::new(coefficients.subcols(0, r), images.subcols(0, r), w > r, 0.0, padded, lanes);
        state.put(r, coefficients.subcols(r, w - r), images.subcols(r, w - r));
        drop((coefficients, images));
        state.small.log_gains.clone_from(&old.small.log_gains);
        state.small.updates = old.small.updates;
        (state.origin, state.earlier_passes) = (old.small.updates, old.pass());
        self.state = state;
        let saved = (self.state.duplicate(), before.history);
        self.go_on_from(&saved, order, watch, stopwatch)
    }

    /// Makes everything as it was.
    fn come_back(&mut self, before: Before) {
        self.engine.give_back_room();
        self.state = State::empty();
        let again = engine_of(&self.prepared, &before.points, before.store_bytes);
        self.engine = again.expect("points that were packed before can be packed again");
        before.centering.into_iter().for_each(|centering| self.engine.set_centering(centering));
        (self.state, self.points, self.parameters) = (before.state, before.points, before.parameters);
        (self.store_bytes, self.memory_bytes) = (before.store_bytes, before.memory_bytes);
        // The entries of before are earlier ones now: those of the rows are made again.
        self.own_points = before.own_points;
        self.points_digest.take();
        self.history.truncate(before.history);
    }
}
