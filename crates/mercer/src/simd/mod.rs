//! Vectors of lanes, and the choice of instruction set at run time.
//!
//! Hot loops are written once, generically over [`Lanes`], and compiled for every instruction set of
//! the architecture. `Isa::run` enters a loop through a function that has the instruction set switched on,
//! so no build flag is needed for full speed.

mod lanes;
mod math;
mod portable;
mod scalar_lanes;
mod several;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

pub use lanes::{ByteLanes, Lanes, Target};
pub(crate) use lanes::{MOST_LANES, fused};
pub(crate) use portable::Portable;
pub(crate) use several::Several;

/// An instruction set that the tile engine is compiled for.
///
/// ```
/// use mercer::simd::Isa;
///
/// let available = Isa::available();
/// assert_eq!(available[0], Isa::detect());
/// assert!(available.contains(&Isa::Portable));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
    /// AVX2 and FMA.
    Avx2,
    /// Plain Rust, vectorised by the compiler for the baseline of the architecture: SSE2 on x86-64, NEON with fused
    /// multiply-add on 64-bit Arm.
    Portable,
}

/// A computation that is generic over the instruction set.
pub(crate) trait Job {
    type Output;

    /// Does the work. Must be `#[inline(always)]`, so that it is compiled with the features of its caller.
    fn run<G: Target>(self) -> Self::Output;
}

impl Isa {
    /// The best instruction set of this machine.
    pub fn detect() -> Self {
        Self::available().first().copied().unwrap_or(Self::Portable)
    }

    /// Every instruction set that this machine can run, best first.
    pub fn available() -> Vec<Self> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
                && is_x86_feature_detected!("fma")
            {
                found.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                found.push(Self::Avx2);
            }
        }
        found.push(Self::Portable);
        found
    }

    /// Runs `job` compiled for this instruction set.
    ///
    /// # Panics
    ///
    /// If the instruction set belongs to another architecture: [`Isa::available`] never lists such a one.
    #[expect(unsafe_code, reason = "functions with target features are unsafe to call")]
    pub(crate) fn run<J: Job>(self, job: J) -> J::Output {
        match self {
            // SAFETY: `Isa` values other than `Portable` come from `available`, which asked the processor.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::run(job) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::run(job) },
            Self::Portable => job.run::<Portable>(),
            #[allow(unreachable_patterns, reason = "which variants are left depends on the architecture")]
            other => panic!("{other:?} does not exist on this architecture"),
        }
    }
}

#[cfg(test)]
mod tests;
