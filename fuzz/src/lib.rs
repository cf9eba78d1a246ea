//! What the fuzz targets have in common: the allocator that counts, and the promise that is checked.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mercer_cli::fuzzing::{Reader, read};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came; numbers are counted beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What may be allocated whatever the input: buffers of readers, threads, messages.
const CONSTANT: usize = 1 << 20;

/// Runs something on an input and checks that no more was in use at once than four times the input, a constant, and `more`.
pub fn within_memory(input: &[u8], more: usize, run: impl FnOnce()) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    run();
    let taken = PEAK.load(Relaxed).saturating_sub(before);
    let allowed = 4 * input.len() + CONSTANT + more;
    assert!(taken <= allowed, "{taken} bytes were allocated for {} bytes of input; {allowed} are allowed", input.len());
}

/// Puts an input through a reader; a message that is not one line is a message nobody can read.
pub fn check_reader(reader: Reader, input: &[u8], more: usize) {
    within_memory(input, more, || match read(reader, input) {
        Ok((rows, columns)) => assert!(rows > 0 && columns > 0),
        Err(message) => assert!(message.lines().count() <= 2, "{message}"),
    });
}
