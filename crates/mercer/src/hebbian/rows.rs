//! Rows of the centred kernel matrix for the samples of a batch, a block of columns at a time.
//!
//! Rows are computed when they are needed. A [`RowStore`] keeps as many of them as a budget allows, so that later passes read them.
//! Rows of a tile stand in the order of the batch wherever they come from, so that keeping rows does not change a bit of any sum.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;

use crate::error::Result;
use crate::gram::{Basis, Centering, Element};
use crate::kernel::Kernel;
use crate::memory::Buffer;
use crate::tile::{Geometry, PanelRows, TileSource, lay_rows, subtract_terms};

/// Up to so many features, kernel values between samples are made again: gathered from kept rows, each would be waited for.
const MADE_AGAIN_UP_TO: usize = 1024;

/// What is subtracted from an entry of a row and column: `mean of the row − mean of all`, and `mean of the column`.
pub(super) struct CenteringTerms<T> {
    rows: Vec<T>,
    columns: Vec<T>,
}

impl<T: Element> CenteringTerms<T> {
    /// The terms for `padded` rows and columns.
    pub(super) fn new(centering: &Centering, padded: usize) -> Self {
        let term = |i: usize, shift: f64| centering.column_means.get(i).map_or(0.0, |mean| mean - shift);
        Self {
            rows: (0..padded).map(|i| T::from_f64(term(i, centering.mean))).collect(),
            columns: (0..padded).map(|j| T::from_f64(term(j, 0.0))).collect(),
        }
    }
}

/// Kept rows, block of columns by block of columns.
///
/// A block is only ever at one thread, so its lock is never waited for.
pub(super) struct RowStore<T> {
    /// Where a sample's row is kept.
    slots: Vec<Option<usize>>,
    used: usize,
    capacity: usize,
    blocks: Vec<Mutex<Buffer<T>>>,
    block: usize,
    padded: usize,
}

impl<T: Element> RowStore<T> {
    /// Room for as many of the `n` rows as `budget` bytes hold; `None` if that is not even one.
    pub(super) fn new(n: usize, padded: usize, block: usize, budget: u64) -> Option<Self> {
        let capacity = (budget / (padded * size_of::<T>()).max(1) as u64).min(n as u64) as usize;
        let mut store = Self { slots: vec![None; n], used: 0, capacity, blocks: Vec::new(), block, padded };
        store.make_room();
        (capacity > 0).then_some(store)
    }

    /// Takes memory for rows, none of which is kept yet.
    pub(super) fn make_room(&mut self) {
        let widths = (0..self.padded).step_by(self.block).map(|first| self.block.min(self.padded - first));
        self.blocks = widths.map(|width| Mutex::new(Buffer::zeroed(self.capacity * width))).collect();
    }

    /// Forgets all rows and gives back their memory. Nothing is read or kept before [`make_room`](Self::make_room).
    pub(super) fn give_back(&mut self) {
        self.blocks = Vec::new();
        self.slots.fill(None);
        self.used = 0;
    }

    /// Rows that there is room for.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Columns of a block.
    fn width(&self, block: usize) -> usize {
        self.block.min(self.padded - block * self.block)
    }
}

/// The rows of a batch.
pub(super) struct BatchRows<'a, T> {
    basis: &'a Basis<T>,
    store: Option<&'a RowStore<T>>,
    terms: Option<&'a CenteringTerms<T>>,
    /// The point at each row of the tile, without padding.
    points: Vec<usize>,
    height: usize,
    /// Rows of the tile that have to be computed, in the order in which the source has them.
    missing: Vec<usize>,
    source: Option<Box<dyn TileSource<T>>>,
    /// The kernel between the samples, if they are packed for their rows anyway.
    among: Option<Box<dyn TileSource<T>>>,
    /// Rows of the tile that are to be kept, and where.
    pending: Vec<(usize, usize)>,
    /// Entries computed for [`block`](Self::block), beside those of the rows.
    block_entries: u64,
}

/// Whether kernel values are made again rather than gathered from kept rows: they are no function of the user's, which may take any time.
pub(super) fn makes_again(kernel: &Kernel, n_features: usize) -> bool {
    kernel.pairing().is_some() && n_features <= MADE_AGAIN_UP_TO
}

/// What a batch needs of the kernel, all of whose rows are computed.
pub(super) struct Ahead<T> {
    points: Vec<usize>,
    source: Option<Box<dyn TileSource<T>>>,
    block: Vec<f64>,
}

impl<T: Element> Ahead<T> {
    /// Packs the samples of a batch and computes the entries between them.
    pub(super) fn new(basis: &Basis<T>, terms: Option<&CenteringTerms<T>>, samples: &[usize]) -> Result<Self> {
        let (rows, block) = BatchRows::with_block(basis, None, terms, samples, None)?;
        Ok(Self { points: rows.points, source: rows.source, block })
    }
}

impl<'a, T: Element> BatchRows<'a, T> {
    /// Sorts the samples of a batch into those whose row is kept and those whose row has to be computed.
    fn new(
        basis: &'a Basis<T>,
        store: Option<&'a RowStore<T>>,
        terms: Option<&'a CenteringTerms<T>>,
        samples: &[usize],
    ) -> Result<Self> {
        let is_missing = |row: &usize| store.is_none_or(|store| store.slots[samples[*row]].is_none());
        let missing: Vec<usize> = (0..samples.len()).filter(is_missing).collect();
        let computed: Vec<usize> = missing.iter().map(|&row| samples[row]).collect();
        let (source, among) = if missing.is_empty() {
            (None, None)
        } else {
            let (source, among) = basis.against_and_among(&basis.points.select(&computed))?;
            (Some(source), among.filter(|_| missing.len() == samples.len()))
        };
        let mut pending: Vec<(usize, usize)> = Vec::new();
        if let Some(store) = store {
            let mut claimed = HashSet::new();
            for &row in &missing {
                let slot = store.used + pending.len();
                if slot < store.capacity && claimed.insert(samples[row]) {
                    pending.push((row, slot));
                }
            }
        }
        let height = basis.geometry().padded(samples.len());
        let points = samples.to_vec();
        Ok(Self { basis, store, terms, points, height, missing, source, among, pending, block_entries: 0 })
    }

    /// The rows of a batch and the entries between its samples, [`block`](Self::block), as they were made ready if it was for these samples.
    pub(super) fn with_block(
        basis: &'a Basis<T>,
        store: Option<&'a RowStore<T>>,
        terms: Option<&'a CenteringTerms<T>>,
        samples: &[usize],
        ahead: Option<Ahead<T>>,
    ) -> Result<(Self, Vec<f64>)> {
        if let Some(Ahead { points, source, block }) = ahead.filter(|ahead| ahead.points == samples) {
            let (height, missing) = (basis.geometry().padded(points.len()), (0..points.len()).collect());
            let (among, pending, block_entries) = (None, Vec::new(), block.len() as u64);
            let store = None;
            let rows = Self { basis, store, terms, points, height, missing, source, among, pending, block_entries };
            return Ok((rows, block));
        }
        let mut rows = Self::new(basis, store, terms, samples)?;
        if let Some(block) = rows.gathered() {
            return Ok((rows, block));
        }
        let block = rows.block()?;
        rows.block_entries = block.len() as u64;
        Ok((rows, block))
    }

    /// Rows of a tile, padding included; the first ones are those of the samples.
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Entries that a whole sweep computes, and those between the samples that were computed for it.
    pub(super) fn computed_entries(&self) -> u64 {
        self.missing.len() as u64 * self.basis.n_columns() as u64 + self.block_entries
    }

    /// Writes the tile of centred entries in these columns.
    pub(super) fn fill(&self, columns: &Range<usize>, tile: &mut [T]) -> Result<()> {
        let (geometry, width) = (self.basis.geometry(), columns.len());
        if let Some(source) = &self.source {
            if self.missing.len() == self.points.len() {
                source.fill(0..self.height, columns.clone(), tile)?;
                self.correct(columns, tile);
            } else {
                let height = geometry.padded(self.missing.len());
                let mut computed = Buffer::zeroed(height * width);
                source.fill(0..height, columns.clone(), &mut computed)?;
                self.correct(columns, &mut computed);
                for (from, &row) in self.missing.iter().enumerate() {
                    for j in 0..width {
                        tile[geometry.index(row, j, width)] = computed[geometry.index(from, j, width)];
                    }
                }
            }
        }
        if let Some(store) = self.store
            && (self.missing.len() < self.points.len() || !self.pending.is_empty())
        {
            let mut block = store.blocks[columns.start / store.block].lock().expect("no thread panics with a block");
            for &(row, slot) in &self.pending {
                for (j, entry) in block[slot * width..(slot + 1) * width].iter_mut().enumerate() {
                    *entry = tile[geometry.index(row, j, width)];
                }
            }
            self.read(store, &block, geometry, width, tile);
        }
        Ok(())
    }

    /// [`block`](Self::block), read from kept rows, where all are kept and that is better than to make it again: values of few features are
    /// made before so many places in memory have been read.
    fn gathered(&self) -> Option<Vec<f64>> {
        let (b, basis) = (self.points.len(), self.basis);
        let makes_again = makes_again(&basis.kernel, basis.points.n_features());
        let store = self.store.filter(|_| self.missing.is_empty() && !makes_again)?;
        let mut block = vec![0.0; b * b];
        for (j, &column) in self.points.iter().enumerate() {
            let kept = store.blocks[column / store.block].lock().expect("no thread panics with a block");
            let (first, width) = (column % store.block, store.width(column / store.block));
            for (s, &sample) in self.points.iter().enumerate() {
                let slot = store.slots[sample].expect("no row is missing");
                block[s * b + j] = kept[slot * width + first].to_f64();
            }
        }
        Some(block)
    }

    /// The centred entries between the samples themselves, row by row: those of their rows, to the bit.
    fn block(&self) -> Result<Vec<f64>> {
        let (b, basis) = (self.points.len(), self.basis);
        let mut block = vec![0.0; b * b];
        let (geometry, height) = (basis.geometry(), self.height);
        let mut tile = Buffer::<T>::zeroed(height * height);
        if let Some(among) = &self.among {
            among.fill(0..height, 0..height, &mut tile)?;
        } else if matches!(basis.kernel, Kernel::Precomputed) {
            let some = basis.points.select(&self.points);
            for s in 0..b {
                let row = some.row(s);
                for (j, &sample) in self.points.iter().enumerate() {
                    tile[geometry.index(s, j, height)] = T::from_f64(row[sample]);
                }
            }
        } else {
            basis.among(&basis.points.select(&self.points))?.fill(0..height, 0..height, &mut tile)?;
        }
        if let Some(exact) = self.exact_diagonal() {
            for (s, j) in (0..b).flat_map(|s| (0..b).map(move |j| (s, j))) {
                if self.points[s] == self.points[j] {
                    tile[geometry.index(s, j, height)] = exact;
                }
            }
        }
        if let Some(terms) = self.terms {
            let padded = |of: &[T]| -> Vec<T> {
                let padding = std::iter::repeat(T::default());
                self.points.iter().map(|&point| of[point]).chain(padding).take(height).collect()
            };
            subtract_terms(basis.isa, &mut tile, &padded(&terms.rows), &padded(&terms.columns));
        }
        for (s, entries) in block.chunks_exact_mut(b).enumerate() {
            for (j, x) in entries.iter_mut().enumerate() {
                *x = tile[geometry.index(s, j, height)].to_f64();
            }
        }
        Ok(block)
    }

    /// What a point's kernel with itself is by definition, where a rounded distance says otherwise.
    fn exact_diagonal(&self) -> Option<T> {
        let kernel = &self.basis.kernel;
        let is_distance = kernel.pairing().is_some_and(crate::kernel::Pairing::is_translation_invariant);
        is_distance.then(|| T::from_f64(kernel.value(0.0)))
    }

    /// Makes the diagonal exact and centres the computed rows.
    fn correct(&self, columns: &Range<usize>, tile: &mut [T]) {
        let (geometry, width) = (self.basis.geometry(), columns.len());
        let points = || self.missing.iter().map(|&row| self.points[row]);
        if let Some(exact) = self.exact_diagonal() {
            for (i, point) in points().enumerate().filter(|(_, point)| columns.contains(point)) {
                tile[geometry.index(i, point - columns.start, width)] = exact;
            }
        }
        if let Some(terms) = self.terms {
            let padding = std::iter::repeat(T::default());
            let rows: Vec<T> =
                points().map(|point| terms.rows[point]).chain(padding).take(tile.len() / width).collect();
            subtract_terms(self.basis.isa, tile, &rows, &terms.columns[columns.clone()]);
        }
    }

    /// Reads kept rows into a tile.
    fn read(&self, store: &RowStore<T>, block: &[T], geometry: Geometry, width: usize, tile: &mut [T]) {
        let lanes = geometry.lanes;
        let row_of = |point: &usize| store.slots[*point].map(|slot| &block[slot * width..(slot + 1) * width]);
        let of_panel = |panel: usize| -> PanelRows<'_, T> {
            let points = self.points.iter().skip(panel * lanes).take(lanes);
            let mut rows = PanelRows::default();
            rows.iter_mut().zip(points).for_each(|(row, point)| *row = row_of(point));
            rows
        };
        for (panel, entries) in tile.chunks_exact_mut(lanes * width).enumerate() {
            lay_rows(self.basis.isa, &of_panel(panel), &of_panel(panel + 1), entries);
        }
    }

    /// What has been kept, once every block of columns has been filled.
    pub(super) fn kept(self) -> Vec<(usize, usize)> {
        self.pending.iter().map(|&(row, slot)| (self.points[row], slot)).collect()
    }
}

impl<T> RowStore<T> {
    /// Takes note of rows that have been kept.
    pub(super) fn note(&mut self, kept: &[(usize, usize)]) {
        for &(point, slot) in kept {
            self.slots[point] = Some(slot);
        }
        self.used += kept.len();
    }
}
