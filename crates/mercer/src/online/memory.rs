//! The rows a learner remembers, and what is written in terms of them.

use std::collections::HashMap;

use super::factor::Factor;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::simd::Isa;
use crate::tile::RowPanels;

/// Rows in memory and expansions over them: the components and the running mean.
///
/// Expansions are as long as the rows' panels, with zeros past the last row, so that loops over them have no loose ends.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) isa: Isa,
    pub(super) rows: RowPanels,
    /// One list of coefficients per component.
    pub(super) components: Vec<Vec<f64>>,
    /// The coefficients of the running mean.
    pub(super) mean: Vec<f64>,
    /// When each row came, counted from one; zero for start points, which are never forgotten.
    pub(super) arrivals: Vec<usize>,
    /// The kernel of each row with itself.
    pub(super) squares: Vec<f64>,
    /// Where rows are, by their bits, so that a repeated row is found again.
    places: HashMap<Vec<u64>, usize>,
    /// Room for the bits of a row.
    key: Vec<u64>,
    /// Present if rows are expressed by one another.
    pub(super) factor: Option<Factor>,
}

impl Memory {
    /// A memory without rows; `most_expressed` is how many of them are to be expressed by one another at once, if they are.
    pub(super) fn new(kernel: Kernel, n_features: usize, n_components: usize, most_expressed: Option<usize>) -> Self {
        Self {
            isa: Isa::detect(),
            rows: RowPanels::new(kernel, n_features),
            components: vec![Vec::new(); n_components],
            mean: Vec::new(),
            arrivals: Vec::new(),
            squares: Vec::new(),
            places: HashMap::new(),
            key: Vec::new(),
            factor: most_expressed.map(Factor::for_at_most),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Rows that count against the budget.
    pub(super) fn n_forgettable(&self) -> usize {
        self.arrivals.iter().filter(|&&arrival| arrival > 0).count()
    }

    /// Slots that may be forgotten.
    pub(super) fn forgettable(&self) -> impl Iterator<Item = usize> {
        self.arrivals.iter().enumerate().filter_map(|(slot, &arrival)| (arrival > 0).then_some(slot))
    }

    /// The kernel of a row with all in memory.
    pub(super) fn kernel_row(&self, x: &[f64]) -> Result<Vec<f64>> {
        let mut k = vec![0.0; self.rows.padded_len()];
        self.rows.kernel_rows(x, self.rows.panels(), &mut k, self.rows.padded_len())?;
        self.rows.check_row(&k, 0)?;
        Ok(k)
    }

    /// Where a row is that has the same bits.
    pub(super) fn place_of(&mut self, x: &[f64]) -> Option<usize> {
        self.key.clear();
        self.key.extend(bits(x));
        self.places.get(&self.key).copied()
    }

    /// Adds a row with no weight in anything yet, whose kernel with itself is `square`.
    pub(super) fn push(&mut self, x: &[f64], square: f64, arrival: usize) -> usize {
        let slot = self.len();
        self.rows.push(x);
        let padded = self.rows.padded_len();
        self.expansions().for_each(|expansion| expansion.resize(padded, 0.0));
        self.arrivals.push(arrival);
        self.squares.push(square);
        // A start point may be repeated; the first of them is the one that is found again.
        self.places.entry(bits(x).collect()).or_insert(slot);
        slot
    }

    /// Forgets a row and what was written with it; the last row takes its place. The factor is left to the caller.
    pub(super) fn swap_remove(&mut self, slot: usize) {
        let last = self.len() - 1;
        let [gone, moved] = [slot, last].map(|slot| bits(&self.rows.row(slot)).collect::<Vec<_>>());
        if self.places.get(&gone) == Some(&slot) {
            self.places.remove(&gone);
        }
        if slot != last && self.places.get(&moved) == Some(&last) {
            self.places.insert(moved, slot);
        }
        self.rows.swap_remove(slot);
        let padded = self.rows.padded_len();
        self.expansions().for_each(|expansion| {
            expansion[slot] = expansion[last];
            expansion[last] = 0.0;
            expansion.truncate(padded);
        });
        self.arrivals.swap_remove(slot);
        self.squares.swap_remove(slot);
    }

    /// The components, then the mean.
    pub(super) fn expansions(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        self.components.iter_mut().chain(std::iter::once(&mut self.mean))
    }
}

/// The bits of a row, with one zero for both.
pub(super) fn bits(x: &[f64]) -> impl Iterator<Item = u64> {
    x.iter().map(|&value| if value == 0.0 { 0 } else { value.to_bits() })
}

/// The inner product of two short lists of numbers.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}
