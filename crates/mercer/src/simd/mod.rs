//! Vectors of lanes, and the choice of instruction set at run time.
//!
//! Hot loops are written once, generically over `Lanes`, and compiled for every instruction set of
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

pub(crate) use lanes::{ByteLanes, Lanes, MOST_LANES, Target, fused};
pub(crate) use portable::Portable;
pub(crate) use several::Several;

/// An instruction set that the tile engine is compiled for and that this machine has.
///
/// Values come from [`detect`](Self::detect) and [`available`](Self::available), which ask the processor, and
/// [`PORTABLE`](Self::PORTABLE) runs everywhere: whoever holds one may run its instructions.
///
/// ```
/// use mercer::simd::Isa;
///
/// let available = Isa::available();
/// assert_eq!(available[0], Isa::detect());
/// assert_eq!(available.last(), Some(&Isa::PORTABLE));
/// assert_eq!(Isa::PORTABLE.name(), "portable");
/// ```
///
/// One that the processor may lack cannot be written down:
///
/// ```compile_fail,E0599
/// let isa = mercer::simd::Isa::Avx512;
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Isa(Set);

/// Which one it is. Private: an [`Isa`] is a promise that the processor has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Set {
    /// AVX-512 F, BW, DQ, VL and VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Plain Rust, vectorised by the compiler for the baseline of the architecture.
    Portable,
}

impl std::fmt::Debug for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.0, f)
    }
}

/// A computation that is generic over the instruction set.
pub(crate) trait Job {
    type Output;

    /// Does the work. Must be `#[inline(always)]`, so that it is compiled with the features of its caller.
    fn run<G: Target>(self) -> Self::Output;
}

impl Isa {
    /// Plain Rust, vectorised by the compiler for the baseline of the architecture: SSE2 on x86-64, NEON with fused
    /// multiply-add on 64-bit Arm.
    pub const PORTABLE: Self = Self(Set::Portable);

    /// The best instruction set of this machine.
    pub fn detect() -> Self {
        Self::available().first().copied().unwrap_or(Self::PORTABLE)
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
                found.push(Self(Set::Avx512));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                found.push(Self(Set::Avx2));
            }
        }
        found.push(Self::PORTABLE);
        found
    }

    /// Its name: `avx512` (F, BW, DQ, VL and VNNI), `avx2` (with FMA) or `portable`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            Set::Portable => "portable",
        }
    }

    /// Runs `job` compiled for this instruction set.
    #[expect(unsafe_code, reason = "functions with target features are unsafe to call")]
    pub(crate) fn run<J: Job>(self, job: J) -> J::Output {
        match self.0 {
            // SAFETY: only `available` makes this value, after it has asked the processor; the field is private to this module.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { avx512::run(job) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { avx2::run(job) },
            Set::Portable => job.run::<Portable>(),
        }
    }
}

#[cfg(test)]
mod tests;
