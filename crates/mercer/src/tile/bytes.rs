//! Tiles of points that are bytes.
//!
//! # Method
//!
//! As for floating point, with integer multiply-adds: inner products and squared distances are exact, and only the kernel
//! function rounds. The columns of a register block are first turned into the words that the instruction
//! multiplies with, several at once. Groups of features in which all of these columns are zero add the same to all of their sums, which is nothing unless
//! the instruction set multiplies with lowered bytes: it is added up once for all columns. Of handwritten digits that is half of the groups.

use std::ops::Range;
use std::sync::Arc;

use super::{BytePanels, TileSource, for_each_panel};
use crate::error::Result;
use crate::kernel::{Formula, Kernel, Pairing, with_formula, with_raw};
use crate::simd::{ByteLanes, Isa, Job, Lanes, Several, Target};

/// With more features than this a squared distance may not fit 32 bits: `255² · 33 025 < 2³¹`.
const MAX_BYTE_FEATURES: usize = 33_000;

/// Tiles of the kernel between two sets of points that are bytes, which may be the same.
pub(crate) struct ByteTiles {
    kernel: Kernel,
    rows: Arc<BytePanels>,
    columns: Arc<BytePanels>,
    isa: Isa,
}

impl ByteTiles {
    /// The kernel between `rows` and `columns`, both packed for `isa` with the same scale.
    pub(crate) fn new(kernel: Kernel, rows: Arc<BytePanels>, columns: Arc<BytePanels>, isa: Isa) -> Self {
        debug_assert!(rows.scale.to_bits() == columns.scale.to_bits());
        Self { kernel, rows, columns, isa }
    }

    /// Whether tiles can be computed from bytes for this pairing.
    pub(crate) fn suits(pairing: Pairing, n_features: usize) -> bool {
        matches!(pairing, Pairing::SquaredDistance | Pairing::InnerProduct) && n_features <= MAX_BYTE_FEATURES
    }
}

impl TileSource<f32> for ByteTiles {
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [f32]) -> Result<()> {
        with_formula!(&self.kernel, formula => {
            fill_between(&self.rows, &self.columns, self.isa, *formula, (rows, columns), out);
        }, else unreachable!("only kernels with a formula are packed"));
        Ok(())
    }
}

/// Tiles of the scalars that a kernel would be a function of, between points that are bytes and themselves.
pub(crate) struct ByteScalarTiles {
    pairing: Pairing,
    scale: f64,
    points: Arc<BytePanels>,
    isa: Isa,
}

impl ByteScalarTiles {
    /// The scalars of `points`, packed for `isa`, times `scale`.
    pub(crate) fn new(pairing: Pairing, scale: f64, points: Arc<BytePanels>, isa: Isa) -> Self {
        Self { pairing, scale, points, isa }
    }
}

impl TileSource<f32> for ByteScalarTiles {
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [f32]) -> Result<()> {
        with_raw!(self.pairing, self.scale, formula => {
            fill_between(&self.points, &self.points, self.isa, formula, (rows, columns), out);
        });
        Ok(())
    }
}

fn fill_between<F: Formula>(
    rows: &BytePanels,
    columns: &BytePanels,
    isa: Isa,
    formula: F,
    (i, j): (Range<usize>, Range<usize>),
    out: &mut [f32],
) {
    let d = rows.padded_features;
    let a = Block { values: &rows.values[i.start * d..i.end * d], terms: &rows.row_terms[i] };
    let b = Block { values: &columns.values[j.start * d..j.end * d], terms: &columns.column_terms[j] };
    let scale = rows.scale * rows.scale * formula.scale();
    isa.run(Fill { rows: a, columns: b, padded_features: d, scale, formula, out });
}

/// Consecutive panels.
struct Block<'a> {
    values: &'a [u8],
    terms: &'a [i32],
}

/// Fills a tile on some instruction set.
struct Fill<'a, F> {
    rows: Block<'a>,
    columns: Block<'a>,
    padded_features: usize,
    scale: f64,
    formula: F,
    out: &'a mut [f32],
}

impl<F: Formula> Job for Fill<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        match (<G::F32 as Lanes>::BLOCK_PANELS, <G::F32 as Lanes>::BLOCK_COLUMNS) {
            (3, 8) => fill::<G::Bytes, F, 3, 8>(self),
            (2, 6) => fill::<G::Bytes, F, 2, 6>(self),
            shape => unreachable!("no register block of shape {shape:?}"),
        }
    }
}

#[inline(always)]
#[expect(unsafe_code, reason = "raw loads and stores of whole vectors")]
fn fill<B: ByteLanes, F: Formula, const PANELS: usize, const COLUMNS: usize>(job: Fill<'_, F>) {
    let Fill { rows, columns, padded_features: d, scale, formula, out } = job;
    let lanes = B::Floats::COUNT;
    let (n_rows, n_columns, groups) = (rows.terms.len(), columns.terms.len(), d / B::GROUP);
    assert_eq!(rows.values.len(), n_rows * d);
    assert_eq!(columns.values.len(), n_columns * d);
    assert_eq!(out.len(), n_rows * n_columns);
    assert!(d.is_multiple_of(B::GROUP));
    assert!(n_rows.is_multiple_of(PANELS * lanes) && n_columns.is_multiple_of(COLUMNS));

    let scale = Several::<B::Floats, COLUMNS>::constant(scale);
    // With room for a vector behind the last group.
    let mut words = vec![0_i32; groups * COLUMNS + lanes];
    // Where the groups that are multiplied begin in a panel, and those that are zero.
    let (mut places, mut zeros) = (Vec::with_capacity(groups), Vec::with_capacity(groups));
    let zero = B::word(&[0; 8]);
    for j in (0..n_columns).step_by(COLUMNS) {
        let step = lanes * B::GROUP;
        let panel = |column: usize| columns.values[column / lanes * lanes * d..][..lanes * d].chunks_exact(step);
        places.clear();
        zeros.clear();
        for (g, (first, second)) in panel(j).zip(panel(j + COLUMNS - 1)).enumerate() {
            let words = &mut words[places.len() * COLUMNS..];
            B::words(first, second, j % lanes, COLUMNS, words);
            let is_zero = words[..COLUMNS].iter().fold(0, |bits, &word| bits | (word ^ zero)) == 0;
            if is_zero { &mut zeros } else { &mut places }.push(g * step);
        }
        for i in (0..n_rows).step_by(PANELS * lanes) {
            let x = rows.values[i * d..].as_ptr();
            // SAFETY: `x` starts PANELS panels of lanes * d bytes, groups begin within the first of them, and there are COLUMNS words for
            // each, by the assertions above; j + c < n_columns and i + (m + 1) * lanes <= n_rows, so terms and tile are in bounds.
            unsafe {
                let starts = accumulate_zeros::<B, PANELS>(x, lanes * d, &zeros);
                let sums = accumulate_block::<B, PANELS, COLUMNS>(x, lanes * d, words.as_ptr(), &places, &starts);
                let target = out.as_mut_ptr().add(i * n_columns + j * lanes);
                for_each_panel::<PANELS>(
                    #[inline(always)]
                    |m| {
                        let row_term = B::load(rows.terms.as_ptr().add(i + m * lanes));
                        let mut s = [B::Floats::constant(0.0); COLUMNS];
                        for (c, s) in s.iter_mut().enumerate() {
                            let terms = row_term.add(B::splat(*columns.terms.get_unchecked(j + c)));
                            let exact = match F::PAIRING {
                                Pairing::SquaredDistance => terms.sub(sums[m][c]).sub(sums[m][c]),
                                _ => terms.add(sums[m][c]),
                            };
                            *s = exact.to_floats();
                        }
                        formula.shape(Several(s) * scale).store(target.add(m * lanes * n_columns));
                    },
                );
            }
        }
    }
}

/// What groups in which a column is zero add to its sums: nothing, or what the column is lowered by.
///
/// # Safety
///
/// `x` must start `PANELS` panels of `panel` bytes with a group at each of the `zeros`.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads of whole vectors")]
unsafe fn accumulate_zeros<B: ByteLanes, const PANELS: usize>(
    x: *const u8,
    panel: usize,
    zeros: &[usize],
) -> [B; PANELS] {
    let mut sums = [[B::zero(); 2]; PANELS];
    if B::BIAS != 0 {
        let word = B::word(&[0; 8]);
        // Two sums in turn, which need not wait for each other.
        for pair in zeros.chunks(2) {
            for (turn, &place) in pair.iter().enumerate() {
                for (m, sums) in sums.iter_mut().enumerate() {
                    // SAFETY: the caller's promise.
                    sums[turn] = unsafe { sums[turn].dot(x.add(m * panel + place), word) };
                }
            }
        }
    }
    sums.map(|[even, odd]| even.add(odd))
}

/// Integer sums over the features, for a few panels of rows and a few columns, beginning with one number per row.
///
/// # Safety
///
/// `x` must start `PANELS` panels of `panel` bytes with a group at each of the `places`, and there must be `COLUMNS` words for each of these.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads of whole vectors")]
unsafe fn accumulate_block<B: ByteLanes, const PANELS: usize, const COLUMNS: usize>(
    x: *const u8,
    panel: usize,
    words: *const i32,
    places: &[usize],
    starts: &[B; PANELS],
) -> [[B; COLUMNS]; PANELS] {
    let mut sums = [[B::zero(); COLUMNS]; PANELS];
    for (sums, &start) in sums.iter_mut().zip(starts) {
        *sums = [start; COLUMNS];
    }
    for (g, &place) in places.iter().enumerate() {
        for c in 0..COLUMNS {
            // SAFETY: the caller's promise.
            unsafe {
                let word = *words.add(g * COLUMNS + c);
                for (m, sums) in sums.iter_mut().enumerate() {
                    sums[c] = sums[c].dot(x.add(m * panel + place), word);
                }
            }
        }
    }
    sums
}
