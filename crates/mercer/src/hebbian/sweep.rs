//! Sweeps over all points for a batch: kernel rows as tiles, each used while it is in the cache.
//!
//! Steps are those of [`engine`](super::engine).

use std::sync::Mutex;

use faer::MatRef;
use rayon::prelude::*;

use super::engine::TileEngine;
use super::rows::{Ahead, BatchRows};
use super::state::{State, fold};
use crate::error::Result;
use crate::gram::Element;
use crate::memory::Buffer;
use crate::tile::{Side, accumulate};
use crate::watch::Context;

/// Tiles of a batch that are kept from the first sweep to the second.
pub(super) type KeptTiles<T> = Vec<Mutex<Buffer<T>>>;

/// Partial sums of the first sweep: as many, whatever the number of threads.
const PARTS: usize = 16;

/// Products that following eigenvalues needs.
pub(super) struct Products {
    pub(super) second_images: Vec<f64>,
    pub(super) inner: Vec<f64>,
}

impl<T: Element> TileEngine<T> {
    /// Step 2: makes and keeps the rows; `S K' k'` and `k'ᵀ k'`.
    pub(super) fn first_sweep(
        &self,
        state: &State,
        rows: &BatchRows<'_, T>,
        b: usize,
        context: &Context<'_>,
    ) -> Result<(KeptTiles<T>, Products)> {
        let (isa, geometry, block) = (self.gram.basis().isa, self.gram.basis().geometry(), self.gram.block());
        let (height, width) = (rows.height(), state.width);
        let total = width + height;
        let starts: Vec<usize> = (0..self.padded).step_by(block).collect();
        let kept: KeptTiles<T> =
            starts.iter().map(|&first| Mutex::new(Buffer::zeroed(height * self.block_columns(first).len()))).collect();
        let per_part = starts.len().div_ceil(PARTS);
        let parts: Vec<Result<Vec<f64>>> = context.threads.run(|| {
            (0..starts.len().div_ceil(per_part))
                .into_par_iter()
                .map(|part| {
                    let mut sums = vec![0.0; height * total];
                    let mut vectors = Buffer::<T>::zeroed(block * total);
                    for at in part * per_part..((part + 1) * per_part).min(starts.len()) {
                        context.check()?;
                        let columns = self.block_columns(starts[at]);
                        let mut tile = kept[at].lock().expect("no thread panics with a tile");
                        rows.fill(&columns, &mut tile)?;
                        for (j, vector) in vectors.chunks_exact_mut(total).take(columns.len()).enumerate() {
                            let column = columns.start + j;
                            let images = &state.images[column * width..(column + 1) * width];
                            // Columns past the data are no points: nothing of them may count.
                            let inside = column < self.n;
                            vector[..width].iter_mut().zip(images).for_each(|(v, &x)| *v = T::from_f64(x));
                            for (panel, lanes) in vector[width..].chunks_exact_mut(geometry.lanes).enumerate() {
                                let start = geometry.index(panel * geometry.lanes, j, columns.len());
                                lanes.copy_from_slice(&tile[start..start + geometry.lanes]);
                            }
                            if !inside {
                                vector.fill(T::default());
                            }
                        }
                        let shape = (height, columns.len());
                        accumulate(isa, Side::Rows, &tile, shape, &vectors[..columns.len() * total], total, &mut sums);
                    }
                    Ok(sums)
                })
                .collect()
        });
        let mut sums = vec![0.0; height * total];
        for part in parts {
            sums.iter_mut().zip(part?).for_each(|(sum, part)| *sum += part);
        }
        let second_images = sums.chunks_exact(total).take(b).flat_map(|row| &row[..state.w]).copied().collect();
        let inner = sums.chunks_exact(total).take(b).flat_map(|row| &row[width..width + b]).copied().collect();
        Ok((kept, Products { second_images, inner }))
    }

    /// Step 4, with `T` and `C` of the batch; meanwhile the next batch is made ready.
    pub(super) fn second_sweep(
        &self,
        state: &mut State,
        (rows, kept): (&BatchRows<'_, T>, Option<&KeptTiles<T>>),
        (transform, added): (MatRef<'_, f64>, MatRef<'_, f64>),
        next: &[usize],
        context: &Context<'_>,
    ) -> Result<Option<Ahead<T>>> {
        let (isa, block) = (self.gram.basis().isa, self.gram.block());
        let (height, width) = (rows.height(), state.width);
        let mut coefficients = Buffer::<T>::zeroed(height * width);
        for (row, added) in coefficients.chunks_exact_mut(width).zip(added.col_iter()) {
            row.iter_mut().zip(added.iter()).for_each(|(x, &added)| *x = T::from_f64(added));
        }
        let (chunk, n, r) = (block * width, self.n, state.r);
        // Threads hand on what they have finished with: memory that is new to every block would have to be cleared for every block.
        let spare: Mutex<Vec<Scratch<T>>> = Mutex::new(Vec::new());
        let work = |(at, images): (usize, &mut [f64])| -> Result<()> {
            let columns = self.block_columns(at * block);
            let shape = (height, columns.len());
            let handed = spare.lock().expect("no thread panics with the scratch").pop();
            let mut scratch =
                handed.unwrap_or_else(|| Scratch::new(if kept.is_some() { 0 } else { height * block }, chunk));
            fold(images, width, r, transform, &mut scratch.folded);
            if let Some(kept) = kept {
                let tile = kept[at].lock().expect("no thread panics with a tile");
                accumulate(isa, Side::Columns, &tile, shape, &coefficients, width, images);
            } else {
                let tile = &mut scratch.tile[..shape.0 * shape.1];
                rows.fill(&columns, tile)?;
                accumulate(isa, Side::Columns, tile, shape, &coefficients, width, images);
            }
            // Entries of a tile outside the data are arbitrary; what they left must not grow from batch to batch.
            images[(n.min(columns.end) - columns.start) * width..].fill(0.0);
            spare.lock().expect("no thread panics with the scratch").push(scratch);
            Ok(())
        };
        let images = &mut state.images;
        let sweep = || images.par_chunks_mut(chunk).enumerate().with_max_len(1).try_for_each(work);
        let (ahead, swept) = context.threads.run(|| rayon::join(|| self.make_ready(next), sweep));
        swept.map(|()| ahead)
    }

    /// What the next batch needs of the kernel, where that is to be computed: no update has a part in it, so threads that have nothing to do before the
    /// updates of a batch are through have done it before. What cannot be made is left to that batch, which says why.
    fn make_ready(&self, next: &[usize]) -> Option<Ahead<T>> {
        let basis = self.gram.basis();
        let is_ours = !next.is_empty() && self.store.is_none() && basis.kernel.pairing().is_some();
        is_ours.then(|| Ahead::new(basis, self.terms.as_ref(), next).ok()).flatten()
    }
}

struct Scratch<T> {
    tile: Buffer<T>,
    folded: Vec<f64>,
}

impl<T: Element> Scratch<T> {
    fn new(tile: usize, folded: usize) -> Self {
        Self { tile: Buffer::zeroed(tile), folded: vec![0.0; folded] }
    }
}
