//! The rows a learner remembers, and what is written in terms of them.

use std::collections::HashMap;

use super::factor::Factor;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::tile::RowPanels;

/// Rows in memory and expansions over them: the components and the running mean.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) rows: RowPanels,
    /// One list of coefficients per component.
    pub(super) components: Vec<Vec<f64>>,
    /// The coefficients of the running mean.
    pub(super) mean: Vec<f64>,
    /// When each row came, counted from one; zero for start points, which are never forgotten.
    pub(super) arrivals: Vec<usize>,
    /// Where rows are, by their bits, so that a repeated row is found again.
    places: HashMap<Vec<u64>, usize>,
    /// Present if rows are expressed by one another.
    pub(super) factor: Option<Factor>,
}

impl Memory {
    pub(super) fn new(kernel: Kernel, n_features: usize, n_components: usize, factored: bool) -> Self {
        Self {
            rows: RowPanels::new(kernel, n_features),
            components: vec![Vec::new(); n_components],
            mean: Vec::new(),
            arrivals: Vec::new(),
            places: HashMap::new(),
            factor: factored.then(Factor::default),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Rows that count against the budget.
    pub(super) fn n_forgettable(&self) -> usize {
        self.arrivals.iter().filter(|&&arrival| arrival > 0).count()
    }

    pub(super) fn kernel_row(&self, x: &[f64], out: &mut Vec<f64>) -> Result<()> {
        self.rows.kernel_row(x, out)
    }

    /// The kernel of a row with itself.
    pub(super) fn square(&self, kernel: &Kernel, slot: usize) -> Result<f64> {
        let x = self.rows.row(slot);
        kernel.evaluate(&x, &x)
    }

    /// Where a row is that has the same bits.
    pub(super) fn place_of(&self, x: &[f64]) -> Option<usize> {
        self.places.get(&bits(x)).copied()
    }

    /// Adds a row with no weight in anything yet.
    pub(super) fn push(&mut self, x: &[f64], arrival: usize) -> usize {
        let slot = self.len();
        self.rows.push(x);
        self.components.iter_mut().for_each(|component| component.push(0.0));
        self.mean.push(0.0);
        self.arrivals.push(arrival);
        // A start point may be repeated; the first of them is the one that is found again.
        self.places.entry(bits(x)).or_insert(slot);
        slot
    }

    /// Forgets a row and what was written with it; the last row takes its place.
    pub(super) fn swap_remove(&mut self, slot: usize) {
        let last = self.len() - 1;
        let (gone, moved) = (bits(&self.rows.row(slot)), bits(&self.rows.row(last)));
        if self.places.get(&gone) == Some(&slot) {
            self.places.remove(&gone);
        }
        if slot != last && self.places.get(&moved) == Some(&last) {
            self.places.insert(moved, slot);
        }
        self.rows.swap_remove(slot);
        self.components.iter_mut().for_each(|component| {
            component.swap_remove(slot);
        });
        self.mean.swap_remove(slot);
        self.arrivals.swap_remove(slot);
        if let Some(factor) = &mut self.factor {
            factor.swap_remove(slot);
        }
    }
}

/// The bits of a row, with one zero for both.
fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|&value| if value == 0.0 { 0 } else { value.to_bits() }).collect()
}

/// The inner product of two lists of numbers.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}
