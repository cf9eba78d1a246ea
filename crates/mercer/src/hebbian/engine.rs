//! Batches on the large matrices.
//!
//! # Method
//!
//! One batch is, in the notation of [`super`]:
//!
//! 1. `K'` between the samples, and their columns of `S K'`: small.
//! 2. If eigenvalues are followed: the rows of `K'` are made and kept for step 4, and `S K' k'` and `k'ᵀ k'` come from them.
//! 3. The updates, on small matrices ([`batch`]).
//! 4. One sweep over blocks of columns `J`: `(S K')_J ← T (S K')_J + C K'_{samples, J}`. Each tile of `K'` is made in the cache and used
//!    there. Meanwhile the next batch's step 1 is done, as far as the kernel is concerned.
//! 5. `S ← T S + C Eᵀ` is put off, for a few batches at most: nothing reads `S` before the next refresh ([`State::settle`]).
//!
//! Blocks of columns are independent, so threads share them and the result does not depend on how many there are.

use std::ops::Range;
use std::sync::OnceLock;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use super::batch::{self, Diverged, Followed, Input};
use super::rows::{Ahead, BatchRows, CenteringTerms, RowStore};
use super::schedule::Schedule;
use super::state::{Before, State};
use crate::choices::Center;
use crate::data::Points;
use crate::error::Result;
use crate::gram::{Centered, Centering, Element, EntryAccess, KernelGram, SymmetricOperator};
use crate::kernel::Kernel;
use crate::watch::Context;

/// What a run needs of the kernel matrix, in either precision of its entries.
pub(super) trait Engine: Send + Sync {
    /// Runs one batch of updates. A batch that diverged leaves the large matrices as they were, and one that was stopped inside, or whose
    /// kernel failed, everything.
    fn batch(
        &mut self,
        state: &mut State,
        task: &Task<'_>,
        context: &Context<'_>,
    ) -> Result<std::result::Result<(), Diverged>>;

    /// Computes what centring subtracts, if it is wanted, and `K' x`, in one pass over the matrix.
    fn start(&mut self, x: MatRef<'_, f64>, center: Center, context: &Context<'_>) -> Result<Mat<f64>>;

    /// `K' x`, in one pass over the matrix.
    fn product(&self, x: MatRef<'_, f64>, context: &Context<'_>) -> Result<Mat<f64>>;

    /// Takes centring terms that were computed before.
    fn set_centering(&mut self, centering: Centering);

    /// The squared Frobenius norm of `K' − scores scoresᵀ`.
    fn squared_error(&self, scores: MatRef<'_, f64>, context: &Context<'_>) -> Result<f64>;

    /// The diagonal of the matrix before centring. It is computed once: a function of the user's may take any time, and when a run was
    /// stopped it is not called any more.
    fn diagonal(&self) -> Result<&[f64]>;

    /// What centring subtracts.
    fn centering(&self) -> Option<&Centering>;

    /// Entries of the matrix computed so far.
    fn entries_computed(&self) -> u64;

    /// Points rounded up to whole register blocks, and lanes of a vector.
    fn geometry(&self) -> (usize, usize);

    /// Gives back the memory of rows that are kept; none are until [`make_room`](Self::make_room).
    fn give_back_room(&mut self);

    /// Takes the memory for rows again, which are computed anew.
    fn make_room(&mut self);

    /// The share of the rows that there is room to keep.
    fn stored_share(&self) -> f64;
}

/// The updates of a batch.
pub(super) struct Task<'a> {
    pub(super) schedule: &'a Schedule,
    pub(super) samples: &'a [usize],
    /// Those of the batch after it, as far as they are known.
    pub(super) next: &'a [usize],
    /// Squared lengths above this are divergence.
    pub(super) limit: f64,
}

/// The engine for entries of type `T`.
pub(super) struct TileEngine<T> {
    pub(super) gram: KernelGram<T>,
    centering: Option<Centering>,
    pub(super) terms: Option<CenteringTerms<T>>,
    pub(super) store: Option<RowStore<T>>,
    /// What the next batch needs, if it is the one that was expected.
    ahead: Option<Ahead<T>>,
    pub(super) n: usize,
    pub(super) padded: usize,
    row_entries: u64,
    /// The diagonal, once it was asked for.
    diagonal: OnceLock<Vec<f64>>,
}

impl<T: Element> TileEngine<T> {
    /// Packs the points; keeps rows as far as `store_budget` bytes reach.
    pub(super) fn new(points: &Points, kernel: &Kernel, store_budget: u64) -> Result<Self> {
        let gram = KernelGram::new(points, kernel, None)?;
        let n = points.n_samples();
        let padded = gram.basis().geometry().padded(n);
        let store = RowStore::new(n, padded, gram.block(), store_budget);
        let diagonal = OnceLock::new();
        Ok(Self { gram, centering: None, terms: None, store, ahead: None, n, padded, row_entries: 0, diagonal })
    }

    pub(super) fn block_columns(&self, first: usize) -> Range<usize> {
        first..self.padded.min(first + self.gram.block())
    }

    /// What a batch that fails has to give back.
    ///
    /// Only a function of the user's fails, or is stopped, while the images are being changed.
    fn before(&self, state: &State) -> Option<Before> {
        if matches!(self.gram.basis().kernel, Kernel::Custom(_)) {
            return Some(Before::with_images(state));
        }
        (state.position() == 0).then(|| Before::without_images(state))
    }

    /// The steps of a batch. Where it fails, they may have come to any point.
    fn steps(
        &mut self,
        state: &mut State,
        task: &Task<'_>,
        context: &Context<'_>,
    ) -> Result<std::result::Result<(), Diverged>> {
        let (samples, w, width) = (task.samples, state.w, state.width);
        let follows = task.schedule.follows_eigenvalues();
        let first = state.position() == 0;
        if first {
            state.refresh(follows, context.threads);
        }
        let gather = |buffer: &[f64]| -> Vec<f64> {
            samples.iter().flat_map(|&sample| buffer[sample * width..][..w].iter().copied()).collect()
        };
        let ahead = self.ahead.take();
        let (basis, store, terms) = (self.gram.basis(), self.store.as_ref(), self.terms.as_ref());
        let (rows, block) = context.threads.run(|| BatchRows::with_block(basis, store, terms, samples, ahead))?;
        let images = gather(&state.images);
        let mut input = Input { samples, block: &block, images: &images, followed: None, first, limit: task.limit };
        let kept;
        let (columns, products);
        let isa = self.gram.basis().isa;
        let outcome = if follows {
            (kept, products) = {
                let (kept, products) = self.first_sweep(state, &rows, samples.len(), context)?;
                (Some(kept), products)
            };
            columns = gather(&state.coefficients);
            input.followed =
                Some(Followed { columns: &columns, second_images: &products.second_images, inner: &products.inner });
            batch::run(isa, task.schedule, &mut state.small, &input)
        } else {
            kept = None;
            batch::run(isa, task.schedule, &mut state.small, &input)
        };
        let output = match outcome {
            Ok(output) => output,
            Err(diverged) => return Ok(Err(diverged)),
        };
        let (transform, added) = (output.transform(), output.coefficients());
        let changes = (transform.as_ref(), added.as_ref());
        self.ahead = self.second_sweep(state, (&rows, kept.as_ref()), changes, task.next, context)?;
        state.put_off(transform, samples, added, context.threads);
        if follows {
            // The next batch reads columns of the coefficients.
            state.settle(context.threads);
        }
        self.row_entries += rows.computed_entries();
        let kept_rows = rows.kept();
        if let Some(store) = &mut self.store {
            store.note(&kept_rows);
        }
        Ok(Ok(()))
    }
}

impl<T: Element> Engine for TileEngine<T> {
    fn batch(
        &mut self,
        state: &mut State,
        task: &Task<'_>,
        context: &Context<'_>,
    ) -> Result<std::result::Result<(), Diverged>> {
        let before = self.before(state);
        let outcome = self.steps(state, task, context);
        if let (Err(_), Some(before)) = (&outcome, before) {
            before.give_back(state);
        }
        outcome
    }

    fn start(&mut self, x: MatRef<'_, f64>, center: Center, context: &Context<'_>) -> Result<Mat<f64>> {
        let mut out = Mat::zeros(self.n, x.ncols());
        match center {
            Center::No => self.gram.apply(x, out.as_mut(), context)?,
            Center::Yes => {
                let centered = Centered::new(&self.gram);
                centered.apply(x, out.as_mut(), context)?;
                let centering = centered.centering(context)?;
                self.set_centering(centering);
            }
        }
        Ok(out)
    }

    fn product(&self, x: MatRef<'_, f64>, context: &Context<'_>) -> Result<Mat<f64>> {
        let mut out = Mat::zeros(self.n, x.ncols());
        match &self.centering {
            None => self.gram.apply(x, out.as_mut(), context)?,
            Some(centering) => {
                let sums = centering.column_means.iter().map(|mean| mean * self.n as f64).collect();
                Centered::with_row_sums(&self.gram, sums).apply(x, out.as_mut(), context)?;
            }
        }
        Ok(out)
    }

    fn set_centering(&mut self, centering: Centering) {
        self.terms = Some(CenteringTerms::new(&centering, self.padded));
        self.ahead = None;
        self.centering = Some(centering);
    }

    fn squared_error(&self, scores: MatRef<'_, f64>, context: &Context<'_>) -> Result<f64> {
        let geometry = self.gram.basis().geometry();
        let mean = |i: usize| self.centering.as_ref().map_or(0.0, |centering| centering.column_means[i]);
        let all = self.centering.as_ref().map_or(0.0, |centering| centering.mean);
        self.gram.sum_over_tiles(context, |(row, column), shape, tile| {
            let (rows, columns) = (shape.0.min(self.n - row), shape.1.min(self.n - column));
            let mut model = Mat::<f64>::zeros(rows, columns);
            let (left, right) = (scores.subrows(row, rows), scores.subrows(column, columns));
            matmul(model.as_mut(), Accum::Replace, left, right.transpose(), 1.0, Par::Seq);
            let mut sum = 0.0;
            for j in 0..columns {
                let shift = mean(column + j) - all;
                for (i, model) in model.col(j).iter().enumerate() {
                    let entry = tile[geometry.index(i, j, shape.1)].to_f64() - mean(row + i) - shift;
                    sum += (entry - model) * (entry - model);
                }
            }
            sum
        })
    }

    fn diagonal(&self) -> Result<&[f64]> {
        if let Some(diagonal) = self.diagonal.get() {
            return Ok(diagonal);
        }
        let diagonal = self.gram.diagonal()?;
        Ok(self.diagonal.get_or_init(|| diagonal))
    }

    fn centering(&self) -> Option<&Centering> {
        self.centering.as_ref()
    }

    fn entries_computed(&self) -> u64 {
        self.gram.entries_computed() + self.row_entries
    }

    fn geometry(&self) -> (usize, usize) {
        (self.padded, self.gram.basis().geometry().lanes)
    }

    fn give_back_room(&mut self) {
        if let Some(store) = &mut self.store {
            store.give_back();
        }
    }

    fn make_room(&mut self) {
        if let Some(store) = &mut self.store {
            store.make_room();
        }
    }

    fn stored_share(&self) -> f64 {
        self.store.as_ref().map_or(0.0, |store| store.capacity() as f64 / self.n as f64)
    }
}
