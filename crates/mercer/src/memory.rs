//! Large zeroed buffers, and what the machine has.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Numbers for which every bit pattern is a value and all zeros is zero.
pub(crate) trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($t:ty),*) => { $( impl Plain for $t {} )* };
}
plain!(u8, u16, i32, f32, f64);

/// A cache line: what every buffer is aligned to, so that no vector load touches two lines.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

const LINE: usize = size_of::<Line>();

/// From this size on a buffer is mapped instead of allocated: the system hands out zeroed pages when they are first
/// touched, by the threads that touch them, and in huge pages.
const MAPPED_FROM: usize = 1 << 20;

/// A zeroed slice that is aligned to cache lines.
pub(crate) struct Buffer<T> {
    memory: Memory,
    len: usize,
    marker: PhantomData<T>,
}

enum Memory {
    Lines(Vec<Line>),
    Mapped(MmapMut),
}

impl<T: Plain> Buffer<T> {
    /// `len` zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        let bytes = len * size_of::<T>();
        let lines = || Memory::Lines(vec![Line([0; 8]); bytes.div_ceil(LINE)]);
        let memory = if bytes < MAPPED_FROM { lines() } else { map(bytes).map_or_else(lines, Memory::Mapped) };
        Self { memory, len, marker: PhantomData }
    }
}

/// Fresh zeroed pages, or nothing if the system will not map them.
fn map(bytes: usize) -> Option<MmapMut> {
    let map = MmapMut::map_anon(bytes).ok()?;
    // Huge pages are only faster: a system without them gives ordinary ones.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Some(map)
}

#[expect(unsafe_code, reason = "reinterprets zeroed memory as plain numbers")]
impl<T: Plain> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let start: *const T = match &self.memory {
            Memory::Lines(lines) => lines.as_ptr().cast(),
            Memory::Mapped(map) => map.as_ptr().cast(),
        };
        // SAFETY: the memory holds at least `len * size_of::<T>()` initialised bytes, starts at a multiple of 64, and every
        // bit pattern is a `T`.
        unsafe { std::slice::from_raw_parts(start, self.len) }
    }
}

#[expect(unsafe_code, reason = "reinterprets zeroed memory as plain numbers")]
impl<T: Plain> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let start: *mut T = match &mut self.memory {
            Memory::Lines(lines) => lines.as_mut_ptr().cast(),
            Memory::Mapped(map) => map.as_mut_ptr().cast(),
        };
        // SAFETY: as in `deref`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(start, self.len) }
    }
}

/// What is assumed to be available where the system does not tell.
const ASSUMED_AVAILABLE: u64 = 4 << 30;

/// Bytes of memory that this process could still take.
///
/// On Linux: what the kernel calls available, or what is left of the control group's limit if that is less.
/// Elsewhere 4 GiB is assumed.
pub(crate) fn available() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| kibibytes(&text, "MemAvailable:"));
    let group = group_left();
    machine.map_or(ASSUMED_AVAILABLE, |machine| group.map_or(machine, |group| machine.min(group)))
}

/// What is left of the limit of the control group that is mounted here (a container's own), if it has one.
fn group_left() -> Option<u64> {
    let text = |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    Some(left_of(number("max")?, number("current")?, &text("stat").unwrap_or_default()))
}

/// What is left of a control group's limit, of which so much is taken.
///
/// What is taken counts the files that were read lately. The system gives up those that nobody has used since (`inactive_file` in `stat`) when somebody wants the
/// memory: reading a large file does not leave a group without any.
fn left_of(limit: u64, taken: u64, stat: &str) -> u64 {
    let files = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let given_up = files.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
    limit.saturating_sub(taken.saturating_sub(given_up))
}

/// The largest amount of memory this process has had resident, in bytes; zero where the system does not tell.
///
/// ```
/// let before = mercer::peak_memory();
/// let block = vec![1_u8; 1 << 20];
/// assert!(mercer::peak_memory() >= before);
/// # drop(block);
/// ```
pub fn peak() -> u64 {
    std::fs::read_to_string("/proc/self/status").ok().and_then(|text| kibibytes(&text, "VmHWM:")).unwrap_or(0)
}

/// Forgets earlier peaks, so that [`peak`] counts from what is resident now; `false` where the system cannot.
///
/// ```
/// let block = vec![1_u8; 64 << 20];
/// let high = mercer::peak_memory();
/// drop(block);
/// if mercer::reset_peak_memory() {
///     assert!(mercer::peak_memory() < high);
/// }
/// ```
pub fn reset_peak() -> bool {
    // Linux: "5" sets the peak to what is resident.
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// The number of kibibytes in a line of one of the kernel's files, as bytes.
fn kibibytes(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_read_do_not_leave_a_control_group_without_memory() {
        let stat = "anon 300\nfile 650\ninactive_anon 7\nactive_file 50\ninactive_file 600\n";
        assert_eq!(left_of(1000, 990, stat), 610);
        assert_eq!(left_of(1000, 990, ""), 10, "where the system does not tell, all of it is taken");
        // The two numbers are not of the same moment.
        assert_eq!(left_of(1000, 500, stat), 1000);
        assert_eq!(left_of(1000, 1700, stat), 0);
    }

    #[test]
    fn a_peak_that_is_forgotten_is_lower_afterwards() {
        let mut buffer = Buffer::<u8>::zeroed(256 << 20);
        buffer.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        let high = peak();
        drop(buffer);
        assert!(reset_peak());
        // Half of what was given back: other tests of this process take memory meanwhile.
        assert!(peak() + (128 << 20) < high, "{} is not far below {high}", peak());
    }
}
