//! How much memory is in use at once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{DENSE_LIMIT, Reader};

/// The system's allocator, with a count of what is in use; a program that wants to know makes it its own.
pub struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "what every allocator is")]
// SAFETY: every call goes to the system's allocator as it came; numbers are counted beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: as it came.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as it came.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What may be allocated whatever the input: buffers of readers, threads, messages.
const CONSTANT: usize = 1 << 20;

/// Runs something on an input and checks that no more was in use at once than four times the input, a constant, and `more`. Counts what
/// other threads take as well, and nothing at all unless [`Counting`] is the allocator.
///
/// # Panics
///
/// If more was in use.
pub fn within_memory<T>(input: &[u8], more: usize, run: impl FnOnce() -> T) -> T {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = run();
    let taken = PEAK.load(Relaxed).saturating_sub(before);
    let allowed = 4 * input.len() + CONSTANT + more;
    assert!(taken <= allowed, "{taken} bytes were allocated for {} bytes of input; {allowed} are allowed", input.len());
    result
}

impl Reader {
    /// Bytes that a reader may take beyond four times its input.
    pub fn more_memory(self, input: &[u8]) -> usize {
        match self {
            Self::Csv => 0,
            // Bytes that are not floats become f64 or f32 (eight-fold at most), standardized ones in place.
            Self::Npy | Self::Idx => 4 * input.len(),
            // Packed bytes may become 1032 times as many, which is what deflate can do; no more is believed.
            Self::Npz => 8 * 1032 * input.len(),
            // A sparse line of a few bytes may ask for a long row; the dense matrix has a limit of its own, and a copy for chosen
            // columns.
            Self::Libsvm => 3 * DENSE_LIMIT as usize,
        }
    }
}
