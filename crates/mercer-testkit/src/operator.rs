//! Gram matrices of either precision behind one type.

use mercer::gram::{EntryAccess, KernelGram, PackedCopy, Store, StoreFormat, SymmetricOperator};
use mercer::simd::Isa;
use mercer::{Kernel, Points, Precision, Result};

/// What [`KernelGram`] can do, whatever its precision.
pub trait Gram: SymmetricOperator + EntryAccess {
    /// See [`KernelGram::entries_computed`].
    fn entries_computed(&self) -> u64;
    /// See [`KernelGram::stored_share`].
    fn stored_share(&self) -> f64;
}

impl Gram for KernelGram<f32> {
    fn entries_computed(&self) -> u64 {
        self.entries_computed()
    }
    fn stored_share(&self) -> f64 {
        self.stored_share()
    }
}

impl Gram for KernelGram<f64> {
    fn entries_computed(&self) -> u64 {
        self.entries_computed()
    }
    fn stored_share(&self) -> f64 {
        self.stored_share()
    }
}

/// The Gram matrix of points in a precision, on the best instruction set.
///
/// # Errors
///
/// As [`KernelGram::new`].
pub fn gram(precision: Precision, points: &Points, kernel: &Kernel, store: Option<Store>) -> Result<Box<dyn Gram>> {
    gram_on(Isa::detect(), precision, points, kernel, store)
}

/// The Gram matrix of points in a precision, on a given instruction set.
///
/// # Errors
///
/// As [`KernelGram::on`].
pub fn gram_on(
    isa: Isa,
    precision: Precision,
    points: &Points,
    kernel: &Kernel,
    store: Option<Store>,
) -> Result<Box<dyn Gram>> {
    Ok(match precision {
        Precision::F32 => Box::new(KernelGram::<f32>::on(isa, points, kernel, store)?),
        Precision::F64 => Box::new(KernelGram::<f64>::on(isa, points, kernel, store)?),
    })
}

/// The Gram matrix of points in a precision, packed tile by tile.
///
/// # Errors
///
/// As [`KernelGram::with_copy`].
pub fn loose_gram(precision: Precision, points: &Points, kernel: &Kernel) -> Result<Box<dyn Gram>> {
    Ok(match precision {
        Precision::F32 => Box::new(KernelGram::<f32>::with_copy(PackedCopy::PerTile, points, kernel, None)?),
        Precision::F64 => Box::new(KernelGram::<f64>::with_copy(PackedCopy::PerTile, points, kernel, None)?),
    })
}

/// A store that holds everything.
pub const fn everything(format: StoreFormat) -> Store {
    Store { budget: u64::MAX, format }
}

/// Rows of a tile of `n` points.
pub fn block_size(precision: Precision, n: usize) -> usize {
    match precision {
        Precision::F32 => mercer::gram::block_size::<f32>(n, Isa::detect()),
        Precision::F64 => mercer::gram::block_size::<f64>(n, Isa::detect()),
    }
}

/// A store with room for `n_tiles` whole tiles of `n` points, in the tiles' own precision.
pub fn room_for(n_tiles: usize, precision: Precision, n: usize) -> Store {
    let tile = block_size(precision, n).pow(2) * precision.size();
    Store { budget: (n_tiles * tile) as u64, format: StoreFormat::Full }
}
