//! Whether a state that was read can be one that a learner was in.

use super::{LARGEST_COUNT, MemoryState, State};
use crate::online::settings::Policy;

impl State {
    /// Whether all numbers can be written down.
    pub(super) fn is_finite(&self) -> bool {
        let expansions = self.memory.iter().flat_map(|memory| memory.components.iter().chain([&memory.mean]));
        let lists = [&self.with_mean, &self.variances, &self.budget_error, &self.unsettled];
        let mut lists = lists.into_iter().chain(&self.inner).chain(&self.lateral).chain(expansions);
        lists.all(|list| list.iter().all(|x| x.is_finite()))
            && self.mean_squared.is_finite()
            && self.total_variance.is_finite()
    }

    /// Whether rows in memory are expressed by one another, and should be.
    fn has_its_factor(&self) -> bool {
        let settings = &self.settings;
        let projects = settings.policy.as_deref().is_none_or(|policy| policy == Policy::Project.name());
        let factored = settings.budget.is_some() && projects;
        self.memory.as_ref().is_none_or(|memory| memory.factor.is_some() == factored)
    }

    /// Whether rows can have been counted like that.
    fn has_possible_counts(&self) -> bool {
        let before = self.origin.as_ref().map_or(0, |origin| origin.n_samples);
        let counts = [self.n_seen, self.n_since, self.n_shrunk, self.given_up, before];
        counts.iter().all(|&count| count <= LARGEST_COUNT)
            && self.kernel_entries <= LARGEST_COUNT as u64 * 1024
            && self.began.len() == self.settings.n_components
            && self.began.iter().all(|&count| count <= before + self.n_seen)
            && self.memory.iter().flat_map(|memory| &memory.arrivals).all(|&arrival| arrival <= before + self.n_seen)
    }

    /// Whether there are no last rows before the first one, and a memory from then on.
    fn is_new_or_has_rows(&self) -> bool {
        let is_new = self.n_seen == 0 && self.recent.values().is_empty();
        match &self.memory {
            Some(_) => is_new || self.n_seen > 0,
            None => is_new && self.started == 0 && self.origin.is_none(),
        }
    }

    /// Whether so many components can have begun and finished: where they take turns, all before the one that learns have finished, and those that start
    /// from given points begin with the first row in memory, or with their turn.
    fn has_possible_turns(&self) -> bool {
        let (p, started, finished) = (self.settings.n_components, self.started, self.finished);
        // There is always one that learns.
        finished < p
            && match (self.settings.rows_per_component.is_some(), self.start.is_some()) {
                (true, true) => started == finished + 1,
                (true, false) => started == finished || started == finished + 1,
                (false, true) => started == p,
                (false, false) => (finished..=p).contains(&started),
            }
    }

    /// Whether points that components start from are of the right number and width, and where they must be found again, in memory.
    fn has_its_start_points(&self) -> bool {
        let Some(start) = &self.start else { return true };
        let is_kept = |point: &Vec<f64>| {
            let memory = self.memory.iter();
            memory.flat_map(|memory| memory.rows.iter().zip(&memory.arrivals)).any(|(row, &at)| at == 0 && row == point)
        };
        start.len() == self.settings.n_components && start.iter().all(is_kept)
    }

    /// Whether the parts fit together.
    pub(super) fn is_consistent(&self) -> bool {
        let p = self.settings.n_components;
        let square = |rows: &[Vec<f64>]| rows.len() == p && rows.iter().all(|row| row.len() == p);
        let each = [&self.with_mean, &self.variances, &self.budget_error, &self.unsettled];
        each.iter().all(|numbers| numbers.len() == p)
            && self.unsettled.iter().all(|share| (0.0..=1.0).contains(share))
            && square(&self.inner)
            && self.lateral.len() == p
            && self.lateral.iter().enumerate().all(|(i, weights)| weights.len() == i)
            && self.has_possible_turns()
            && self.has_possible_counts()
            && self.is_new_or_has_rows()
            && self.has_its_start_points()
            && self.has_its_factor()
            && self.memory.as_ref().is_none_or(|memory| memory.is_consistent(p))
            && self.recent.is_consistent(self.memory.as_ref().map_or(1, |memory| memory.n_features))
            && self.scaling.as_ref().is_none_or(|scaling| {
                self.memory.as_ref().is_some_and(|memory| scaling.factor.len() == memory.n_features)
            })
    }
}

impl MemoryState {
    fn is_consistent(&self, p: usize) -> bool {
        let m = self.rows.len();
        self.n_features > 0
            && self.rows.iter().all(|row| row.len() == self.n_features && row.iter().all(|x| x.is_finite()))
            && self.components.len() == p
            && self.components.iter().all(|component| component.len() == m)
            && self.mean.len() == m
            && self.arrivals.len() == m
            && self.squares.len() == m
            && self.factor.as_ref().is_none_or(|factor| factor.is_consistent(m))
    }
}
