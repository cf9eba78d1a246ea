//! Tiles that are kept in memory between products.

use std::sync::atomic::{AtomicU8, Ordering};

use super::Element;
use crate::memory::{Buffer, Plain};
use crate::simd::Isa;
use crate::tile::fixed16;

/// How a stored tile is kept.
///
/// ```
/// use mercer::gram::StoreFormat;
///
/// assert_eq!(StoreFormat::Full.entry_size(4), 4);
/// assert_eq!(StoreFormat::Fixed16.entry_size(4), 2);
/// assert!(StoreFormat::Fixed16.entry_error() < 1e-5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreFormat {
    /// In the precision it was computed in.
    Full,
    /// As 16-bit fixed point, for kernels with values between 0 and 1: half the memory of single precision, entries
    /// rounded to 1/65535.
    Fixed16,
}

/// How much of a Gram matrix may be kept.
///
/// ```
/// use mercer::gram::{KernelGram, Store, StoreFormat};
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f32((0..600).map(|i| (i % 17) as f32).collect::<Vec<_>>(), 200, 3)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// // Entries that are computed in a first and in a second visit to every tile.
/// let entries = |budget: u64| {
///     let store = Store { budget, format: StoreFormat::Full };
///     let gram = KernelGram::<f32>::new(&points, &Kernel::gaussian(1.0)?, Some(store))?;
///     Ok::<_, mercer::Error>((gram.stored_share(), gram.compute_tiles(&context)?, gram.compute_tiles(&context)?))
/// };
/// let (share, first, second) = entries(1 << 20)?;
/// assert!(share == 1.0 && first >= 200 * 201 / 2 && second == 0, "all of them are kept");
/// let (share, first, second) = entries(0)?;
/// assert!(share == 0.0 && first == second, "none is");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// Bytes that the tiles may take.
    pub budget: u64,
    /// How they are kept.
    pub format: StoreFormat,
}

impl StoreFormat {
    /// Bytes of one entry of a tile computed in elements of `size` bytes.
    pub const fn entry_size(self, size: usize) -> usize {
        match self {
            Self::Full => size,
            Self::Fixed16 => 2,
        }
    }

    /// The largest error that storing adds to an entry.
    pub const fn entry_error(self) -> f64 {
        match self {
            Self::Full => 0.0,
            Self::Fixed16 => 0.5 / fixed16::ONE,
        }
    }

    /// Rounds numbers to what is kept of them.
    pub(crate) fn round<T: Element>(self, isa: Isa, values: &mut [T]) {
        match self {
            Self::Full => {}
            Self::Fixed16 => {
                let mut narrow = vec![0; values.len()];
                fixed16::narrow(isa, values, &mut narrow);
                fixed16::widen(isa, &narrow, values);
            }
        }
    }
}

/// Room for the first `capacity` tiles of a schedule.
pub(super) struct TileStore<T> {
    slots: Slots<T>,
    /// [`EMPTY`], [`CLAIMED`] or [`FULL`] for each slot.
    states: Vec<AtomicU8>,
    isa: Isa,
}

/// Nothing has been stored.
const EMPTY: u8 = 0;
/// One thread is writing; no other may touch the slot.
const CLAIMED: u8 = 1;
/// The slot holds a tile and is never written again.
const FULL: u8 = 2;

enum Slots<T> {
    Full(Memory<T>),
    Fixed16(Memory<u16>),
}

impl<T: Element> TileStore<T> {
    /// A store for tiles of at most `tile_len` entries, of which there are `n_tiles`.
    pub(super) fn new(store: Store, tile_len: usize, n_tiles: usize, isa: Isa) -> Self {
        let tile_size = (tile_len * store.format.entry_size(size_of::<T>())) as u64;
        let capacity = match store.budget.checked_div(tile_size) {
            Some(room) => usize::try_from(room).unwrap_or(usize::MAX).min(n_tiles),
            None => 0,
        };
        let slots = match store.format {
            StoreFormat::Full => Slots::Full(Memory::new(tile_len, capacity)),
            StoreFormat::Fixed16 => Slots::Fixed16(Memory::new(tile_len, capacity)),
        };
        Self { slots, states: (0..capacity).map(|_| AtomicU8::new(EMPTY)).collect(), isa }
    }

    /// Tiles there is room for.
    pub(super) fn capacity(&self) -> usize {
        self.states.len()
    }

    /// Whether the tile at `place` has been stored.
    pub(super) fn holds(&self, place: usize) -> bool {
        self.states.get(place).is_some_and(|state| state.load(Ordering::Acquire) == FULL)
    }

    /// Keeps the tile at `place`, unless there is no room or another thread is at it, and rounds it to what is kept: every
    /// product must use the same numbers, or the operator would change under the solver, and tiles that there is no room for the same as
    /// others, or it would depend on how much memory there is.
    pub(super) fn put(&self, place: usize, tile: &mut [T]) {
        let claim =
            |state: &AtomicU8| state.compare_exchange(EMPTY, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok();
        let claimed = self.states.get(place).filter(|&state| claim(state));
        match &self.slots {
            Slots::Full(memory) if claimed.is_some() => memory.slot(place, tile.len()).copy_from_slice(tile),
            Slots::Full(_) => {}
            Slots::Fixed16(memory) if claimed.is_some() => {
                let slot = memory.slot(place, tile.len());
                fixed16::narrow(self.isa, tile, slot);
                fixed16::widen(self.isa, slot, tile);
            }
            Slots::Fixed16(_) => StoreFormat::Fixed16.round(self.isa, tile),
        }
        if let Some(state) = claimed {
            state.store(FULL, Ordering::Release);
        }
    }

    /// The bytes of the tile at `place`, if it is stored: to be fetched before it is wanted.
    pub(super) fn bytes(&self, place: usize) -> &[u8] {
        if !self.holds(place) {
            return &[];
        }
        match &self.slots {
            Slots::Full(memory) => memory.bytes(place),
            Slots::Fixed16(memory) => memory.bytes(place),
        }
    }

    /// Calls `with` on the stored tile at `place`, widened into `scratch` if it is not kept as it is.
    ///
    /// # Panics
    ///
    /// If the tile is not stored.
    pub(super) fn with_tile<R>(&self, place: usize, scratch: &mut [T], with: impl FnOnce(&[T]) -> R) -> R {
        assert!(self.holds(place), "tile {place} is not stored");
        match &self.slots {
            Slots::Full(memory) => with(memory.slot(place, scratch.len())),
            Slots::Fixed16(memory) => {
                fixed16::widen(self.isa, memory.slot(place, scratch.len()), scratch);
                with(scratch)
            }
        }
    }
}

/// Slots of equal length, each written once and then read.
struct Memory<U> {
    /// Keeps the memory alive; accessed only through `start`.
    _owner: Buffer<U>,
    start: *mut U,
    slot_len: usize,
    n_slots: usize,
}

// SAFETY: a slot is written only by the thread that moved its state from `EMPTY` to `CLAIMED`, and read only after the state
// was seen to be `FULL`, which that thread sets with release order when it is done; slots do not overlap. Full slots
// are never written, so references to them are shared, although `slot` hands out exclusive ones.
#[expect(unsafe_code, reason = "slots of one buffer are written from several threads")]
unsafe impl<U: Plain> Sync for Memory<U> {}
// SAFETY: the memory belongs to the value and plain numbers may move between threads.
#[expect(unsafe_code, reason = "slots of one buffer are written from several threads")]
unsafe impl<U: Plain> Send for Memory<U> {}

impl<U: Plain> Memory<U> {
    fn new(slot_len: usize, n_slots: usize) -> Self {
        let mut owner = Buffer::zeroed(slot_len * n_slots);
        let start = owner.as_mut_ptr();
        Self { _owner: owner, start, slot_len, n_slots }
    }

    #[expect(unsafe_code, reason = "slots of one buffer are written from several threads")]
    fn bytes(&self, slot: usize) -> &[u8] {
        assert!(slot < self.n_slots);
        // SAFETY: in bounds by the assertion; plain numbers have no padding; the caller has seen that the slot is full.
        unsafe {
            std::slice::from_raw_parts(self.start.add(slot * self.slot_len).cast(), self.slot_len * size_of::<U>())
        }
    }

    #[expect(unsafe_code, reason = "slots of one buffer are written from several threads")]
    #[expect(clippy::mut_from_ref, reason = "see the comment on `Sync`")]
    fn slot(&self, slot: usize, len: usize) -> &mut [U] {
        assert!(slot < self.n_slots && len <= self.slot_len);
        // SAFETY: in bounds by the assertion; nobody else has the slot by the comment on `Sync`.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(slot * self.slot_len), len) }
    }
}
