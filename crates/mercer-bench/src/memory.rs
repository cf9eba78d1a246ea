//! Memory of this process, and whether the machine's memory is warm.

use std::hint::black_box;
use std::time::Instant;

/// How the peak of a stretch of work is found: from a mark before it to the peak after it.
pub(crate) struct PeakMark {
    before: u64,
}

impl PeakMark {
    /// Starts a stretch: forgets earlier peaks where the system can, and otherwise counts from the last one.
    pub(crate) fn set() -> Self {
        // Linux: "5" resets the peak to what is resident now.
        let reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
        Self { before: if reset { resident() } else { mercer::peak_memory() } }
    }

    /// Bytes by which the peak has risen above what was resident at the mark.
    pub(crate) fn growth(&self) -> u64 {
        mercer::peak_memory().saturating_sub(self.before)
    }
}

/// Bytes resident now; zero where the system does not tell.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kibibytes(&status, "VmRSS:").unwrap_or(0)
}

/// Bytes of memory that the machine has, or could still give, by the name of the line in `/proc/meminfo`.
pub(crate) fn of_machine(label: &str) -> Option<u64> {
    kibibytes(&std::fs::read_to_string("/proc/meminfo").ok()?, label)
}

/// The number of kibibytes in a line of one of the kernel's files, as bytes.
fn kibibytes(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

/// Bytes between two writes: the smallest page.
const PAGE: usize = 4096;

/// Writes to every page of `bytes` new bytes, gives them back, and returns the rate in bytes per second.
///
/// A virtual machine gets memory from its host at the first touch and slowly; what was touched a moment ago is given
/// back fast.
pub(crate) fn touch(bytes: usize) -> f64 {
    let start = Instant::now();
    let mut memory = vec![0_u8; bytes];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    black_box(&memory);
    bytes as f64 / start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read_as_bytes() {
        assert_eq!(kibibytes("VmPeak:\t 9 kB\nVmRSS:\t  12 kB\n", "VmRSS:"), Some(12 * 1024));
        assert_eq!(kibibytes("VmRSS:\t  12 MB\n", "VmRSS:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_peak_is_seen_after_the_memory_is_gone() {
        let mark = PeakMark::set();
        touch(64 << 20);
        let growth = mark.growth();
        assert!(growth >= 50 << 20, "64 MiB were touched, but the peak rose by {growth} bytes only");
    }
}
