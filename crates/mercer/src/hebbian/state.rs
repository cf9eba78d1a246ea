//! The state of a run: coefficients, their products with the kernel matrix, and what is small.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::batch::Small;
use crate::eigen::small_product;
use crate::eigen::tall::inner;
use crate::memory::Buffer;
use crate::watch::Threads;

/// Points per partial sum: the number of partial sums, and so the rounding, depends on the number of points only.
pub(super) const CHUNK: usize = 1024;

/// Batches that are put off at most: enough that touching the coefficients is lost in the kernel rows.
pub(super) const MAX_PENDING: usize = 16;
/// And as many as take no more numbers for each row of `S` than the large matrices and their copies: this many times the points. That
/// is decided by shapes alone, because fewer are rounded otherwise, and memory may not decide bits.
const PENDING_NUMBERS: usize = 4;

/// Numbers that `count` batches of `b` samples take for each of the `w` rows of `S`, until they have reached the coefficients: their `T`, and their
/// `C` twice.
fn pending_numbers(count: usize, w: usize, b: usize) -> usize {
    count * (w + 2 * b)
}

/// The most numbers that batches of `b` samples ever take until they have reached the coefficients.
pub(super) fn most_pending(n: usize, w: usize, b: usize) -> u64 {
    let most = pending_numbers(MAX_PENDING, w, b).min(PENDING_NUMBERS * n).max(pending_numbers(1, w, b));
    w as u64 * most as u64
}

/// What a batch does to the coefficients.
#[derive(Clone)]
pub(super) struct Pending {
    /// `T`.
    pub(super) transform: Mat<f64>,
    pub(super) samples: Vec<usize>,
    /// `C`.
    pub(super) coefficients: Mat<f64>,
}

/// `S = [A; B]` and `S K'`, point by point: row `j` of a buffer is column `j` of the matrix, padded to `width` numbers.
///
/// Without meta-descent there is no `B`.
pub(super) struct State {
    pub(super) n: usize,
    /// Components.
    pub(super) r: usize,
    /// Rows of `S`.
    pub(super) w: usize,
    pub(super) width: usize,
    pub(super) coefficients: Buffer<f64>,
    pub(super) images: Buffer<f64>,
    pub(super) small: Small,
    /// Batches that have not reached the coefficients yet: their images have them.
    pub(super) pending: Vec<Pending>,
    /// Updates before the present points were there, or in an order that was given: passes are counted from here.
    pub(super) origin: usize,
    /// Passes over all points before that.
    pub(super) earlier_passes: usize,
}

impl State {
    /// A state with coefficients `A` and their products `A K'` (both as columns of tall matrices), and `B = 0`.
    pub(super) fn new(
        coefficients: MatRef<'_, f64>,
        images: MatRef<'_, f64>,
        adapts: bool,
        rho0: f64,
        padded: usize,
        lanes: usize,
    ) -> Self {
        let (n, r) = (coefficients.nrows(), coefficients.ncols());
        let w = if adapts { 2 * r } else { r };
        let width = w.next_multiple_of(lanes);
        let mut state = Self {
            n,
            r,
            w,
            width,
            coefficients: Buffer::zeroed(padded * width),
            images: Buffer::zeroed(padded * width),
            small: Small {
                log_gains: vec![if adapts { rho0 } else { 0.0 }; r],
                eigenvalues: vec![f64::NAN; r],
                gains: vec![f64::NAN; r],
                products: vec![0.0; w * r],
                squares: Vec::new(),
                images: Vec::new(),
                updates: 0,
            },
            pending: Vec::new(),
            origin: 0,
            earlier_passes: 0,
        };
        state.put(0, coefficients, images);
        state
    }

    /// A state of nothing, in the place of one that is elsewhere.
    pub(super) fn empty() -> Self {
        let nothing = Mat::zeros(0, 1);
        Self::new(nothing.as_ref(), nothing.as_ref(), false, 0.0, 0, 1)
    }

    /// Bytes of the large matrices.
    pub(super) fn size(&self) -> u64 {
        2 * size_of::<f64>() as u64 * self.coefficients.len() as u64
    }

    /// Writes rows `first..` of `S` and `S K'` from columns of tall matrices.
    pub(super) fn put(&mut self, first: usize, coefficients: MatRef<'_, f64>, images: MatRef<'_, f64>) {
        for (buffer, matrix) in [(&mut self.coefficients, coefficients), (&mut self.images, images)] {
            for (j, row) in buffer.chunks_exact_mut(self.width).take(self.n).enumerate() {
                for i in 0..matrix.ncols() {
                    row[first + i] = matrix[(j, i)];
                }
            }
        }
    }

    /// A copy, to come back to.
    pub(super) fn duplicate(&self) -> Self {
        let copy = |buffer: &Buffer<f64>| {
            let mut copy = Buffer::zeroed(buffer.len());
            copy.copy_from_slice(buffer);
            copy
        };
        Self {
            coefficients: copy(&self.coefficients),
            images: copy(&self.images),
            small: self.small.clone(),
            pending: self.pending.clone(),
            ..*self
        }
    }

    /// Takes back the values of a copy, without taking memory.
    pub(super) fn restore(&mut self, saved: &Self) {
        self.coefficients.copy_from_slice(&saved.coefficients);
        self.images.copy_from_slice(&saved.images);
        self.small = saved.small.clone();
        self.pending.clone_from(&saved.pending);
        (self.origin, self.earlier_passes) = (saved.origin, saved.earlier_passes);
    }

    /// Puts off what a batch does to the coefficients, `S ← T S + C Eᵀ`: nothing reads them before the next refresh.
    pub(super) fn put_off(
        &mut self,
        transform: Mat<f64>,
        samples: &[usize],
        coefficients: Mat<f64>,
        threads: &Threads,
    ) {
        self.pending.push(Pending { transform, samples: samples.to_vec(), coefficients });
        if self.pending.len() >= MAX_PENDING || !self.has_room_for_another(samples.len()) {
            self.settle(threads);
        }
    }

    /// Whether another batch of so many samples can be put off.
    fn has_room_for_another(&self, samples: usize) -> bool {
        let held: usize = self.pending.iter().map(|batch| pending_numbers(1, self.w, batch.samples.len())).sum();
        held + pending_numbers(1, self.w, samples) <= PENDING_NUMBERS * self.n
    }

    /// Does to the coefficients what was put off.
    ///
    /// After batches `1 … m`, `S` is `T_m ⋯ T₁ S + Σ_j (T_m ⋯ T_{j+1}) C_j E_jᵀ`: walking back from the last batch, the product of the
    /// transforms is at hand for each, and all points are touched once.
    pub(super) fn settle(&mut self, threads: &Threads) {
        let pending = std::mem::take(&mut self.pending);
        let Some(last) = pending.last() else { return };
        let mut product = Mat::<f64>::identity(last.transform.nrows(), last.transform.nrows());
        let mut additions = Vec::with_capacity(pending.len());
        for batch in pending.iter().rev() {
            additions.push(small_product(product.as_ref(), batch.coefficients.as_ref()));
            product = small_product(product.as_ref(), batch.transform.as_ref());
        }
        let (width, r) = (self.width, self.r);
        threads.run(|| {
            self.coefficients.par_chunks_mut(CHUNK * width).for_each_init(
                || vec![0.0; CHUNK * width],
                |scratch, points| fold(points, width, r, product.as_ref(), scratch),
            );
        });
        for (batch, addition) in pending.iter().rev().zip(&additions) {
            for (s, &sample) in batch.samples.iter().enumerate() {
                let row = &mut self.coefficients[sample * width..(sample + 1) * width];
                row.iter_mut().zip(addition.col(s).iter()).for_each(|(x, added)| *x += added);
            }
        }
    }

    /// How many updates of the present pass are done.
    pub(super) fn position(&self) -> usize {
        (self.small.updates - self.origin) % self.n
    }

    /// Begins a pass here, whatever the one before it has left out.
    pub(super) fn begin_pass(&mut self) {
        (self.origin, self.earlier_passes) = (self.small.updates, self.pass());
    }

    /// The number of the present pass, counted from zero.
    pub(super) fn pass(&self) -> usize {
        self.earlier_passes + (self.small.updates - self.origin) / self.n
    }

    /// Rows `first..first + count` of `S`, one column each of a tall matrix.
    pub(super) fn coefficients(&self, first: usize, count: usize) -> MatRef<'_, f64> {
        debug_assert!(self.pending.is_empty(), "coefficients are read only when they are settled");
        self.tall(&self.coefficients, first, count)
    }

    /// All of `S` as it stands, without what is put off.
    pub(super) fn unsettled(&self) -> MatRef<'_, f64> {
        self.tall(&self.coefficients, 0, self.w)
    }

    /// Rows `first..first + count` of `S K'`, one column each of a tall matrix.
    pub(super) fn images(&self, first: usize, count: usize) -> MatRef<'_, f64> {
        self.tall(&self.images, first, count)
    }

    fn tall<'a>(&self, buffer: &'a Buffer<f64>, first: usize, count: usize) -> MatRef<'a, f64> {
        let rows = &buffer[..self.n * self.width];
        MatRef::from_row_major_slice_with_stride(rows, self.n, self.width, self.width).subcols(first, count)
    }

    /// Computes the small matrices from the large ones, and the eigenvalue estimates (20).
    pub(super) fn refresh(&mut self, follows: bool, threads: &Threads) {
        self.settle(threads);
        let (r, w) = (self.r, self.w);
        let products = inner(self.images(0, w), self.coefficients(0, r), threads);
        let squares = inner(self.coefficients(0, r), self.coefficients(0, r), threads);
        let images = inner(self.images(0, r), self.images(0, r), threads);
        self.small.products = by_rows(products.as_ref());
        self.small.eigenvalues = (0..r).map(|i| (images[(i, i)] / squares[(i, i)]).sqrt()).collect();
        if follows {
            (self.small.squares, self.small.images) = (by_rows(squares.as_ref()), by_rows(images.as_ref()));
        }
    }

    /// The sum of the squared scores of all points along each component, `(A K' K' Aᵀ)ᵢᵢ`.
    pub(super) fn squared_images(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.r];
        for row in self.images.chunks_exact(self.width).take(self.n) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
        }
        sums
    }

    /// Estimates (20) of the eigenvalues, from the coefficients as they are.
    pub(super) fn eigenvalue_estimates(&self) -> Vec<f64> {
        let norm = |matrix: MatRef<'_, f64>, i: usize| matrix.col(i).iter().map(|x| x * x).sum::<f64>().sqrt();
        let (coefficients, images) = (self.coefficients(0, self.r), self.images(0, self.r));
        (0..self.r).map(|i| norm(images, i) / norm(coefficients, i)).collect()
    }
}

/// What a batch changes before its end: to come back to where it began, if it does not get there.
pub(super) struct Before {
    small: Small,
    images: Option<Buffer<f64>>,
}

impl Before {
    /// For a batch that may fail at any point.
    pub(super) fn with_images(state: &State) -> Self {
        let mut images = Buffer::zeroed(state.images.len());
        images.copy_from_slice(&state.images);
        Self { images: Some(images), ..Self::without_images(state) }
    }

    /// For one that fails before it touches the images, but maybe after the refresh at the beginning of a pass.
    pub(super) fn without_images(state: &State) -> Self {
        Self { small: state.small.clone(), images: None }
    }

    pub(super) fn give_back(self, state: &mut State) {
        state.small = self.small;
        if let Some(images) = self.images {
            state.images = images;
        }
    }
}

/// The entries of a matrix, row by row.
pub(super) fn by_rows(matrix: MatRef<'_, f64>) -> Vec<f64> {
    matrix.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()).collect()
}

/// Rows of a transform that are multiplied at once: enough for the registers of a matrix product, few enough that what they share above the
/// diagonal is little.
const STRIP: usize = 24;
/// Fewer rows than this are no strip of their own.
const LEAST_STRIP: usize = 12;

/// Multiplies every point's `width` numbers, of which the first as many as the transform has count, by the transform.
///
/// The transform is made of blocks of `r` rows and columns, those of `A` and `B`. An update of a component reads only those before it, and `A` is learned
/// without `B`: blocks are triangles, and the one above the diagonal is nothing. What is zero is left out, as far as strips allow.
pub(super) fn fold(rows: &mut [f64], width: usize, r: usize, transform: MatRef<'_, f64>, scratch: &mut [f64]) {
    let (n, w) = (rows.len() / width, transform.nrows());
    let scratch = &mut scratch[..n * width];
    // Column by column, because faer 0.24 mixes up the strides of mutable views row by row.
    let from = MatRef::from_column_major_slice(rows, width, n);
    let mut into = MatMut::from_column_major_slice_mut(scratch, width, n);
    for block in (0..w).step_by(r) {
        let mut first = 0;
        while first < r {
            let end = if r - first < STRIP + LEAST_STRIP { r } else { first + STRIP };
            for earlier in (0..=block).step_by(r) {
                let part = transform.submatrix(block + first, earlier, end - first, end);
                let into = into.as_mut().subrows_mut(block + first, end - first);
                let accum = if earlier == 0 { Accum::Replace } else { Accum::Add };
                matmul(into, accum, part, from.subrows(earlier, end), 1.0, Par::Seq);
            }
            first = end;
        }
    }
    rows.copy_from_slice(scratch);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_is_multiplying_by_the_whole_transform() {
        let value = |at: usize| ((at * 37 + 11) % 19) as f64 / 7.0 - 1.2;
        for (r, blocks) in [(1, 1), (5, 2), (24, 1), (35, 2), (36, 2), (50, 1), (50, 2), (61, 2)] {
            let (w, n) = (r * blocks, 9);
            let width = w + 3;
            let is_zero = |i: usize, j: usize| j / r > i / r || j % r > i % r;
            let transform = Mat::from_fn(w, w, |i, j| if is_zero(i, j) { 0.0 } else { value(i * w + j) });
            let before = Mat::from_fn(w, n, |i, j| value(i * n + j + 5));
            let expected = &transform * &before;
            let mut rows = vec![0.0; n * width];
            for (j, row) in rows.chunks_exact_mut(width).enumerate() {
                row.iter_mut().zip(before.col(j).iter()).for_each(|(x, &before)| *x = before);
            }
            fold(&mut rows, width, r, transform.as_ref(), &mut vec![0.0; n * width]);
            for (j, row) in rows.chunks_exact(width).enumerate() {
                for (i, found) in row[..w].iter().enumerate() {
                    let expected = expected[(i, j)];
                    assert!((found - expected).abs() < 1e-12, "{r} x {blocks}, ({i}, {j}): {found} {expected}");
                }
                assert!(row[w..].iter().all(|&x| x == 0.0), "{r} x {blocks}: padding stays nothing");
            }
        }
    }
}
