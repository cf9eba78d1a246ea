//! What a benchmark ran on. Nothing here names the machine, its user or its folders.

use std::collections::BTreeMap;

use mercer::simd::Isa;
use serde::{Deserialize, Serialize};

use crate::memory;

/// The machine, as far as it bears on times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The processor's own name.
    pub(crate) cpu: String,
    /// Processors that this process may use.
    pub(crate) processors: usize,
    /// The instruction set that the tile engine chose.
    pub(crate) instruction_set: String,
    /// Bytes of memory.
    pub(crate) memory_bytes: u64,
    /// Processes that wanted to run in the minute before the benchmark: near zero on a machine that was left alone.
    pub(crate) load_before: f64,
}

impl Machine {
    /// This machine, now.
    pub(crate) fn detect() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            cpu: model_name(&read("/proc/cpuinfo")).unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            processors: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            instruction_set: Isa::detect().name().to_owned(),
            memory_bytes: memory::of_machine("MemTotal:").unwrap_or(0),
            load_before: read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0),
        }
    }
}

fn model_name(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Versions of what every benchmark uses; a rival adds its own.
pub(crate) fn versions() -> BTreeMap<String, String> {
    let own = [("mercer", env!("CARGO_PKG_VERSION")), ("rustc", env!("MERCER_BENCH_RUSTC"))];
    own.into_iter().map(|(name, version)| (name.to_owned(), version.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_without_padding() {
        assert_eq!(model_name("vendor_id\t: X\nmodel name\t: A B 9\n").as_deref(), Some("A B 9"));
        assert_eq!(model_name("Processor: none"), None);
    }

    #[test]
    fn the_compiler_is_known() {
        assert!(versions()["rustc"].starts_with("1."), "{:?}", versions());
    }
}
