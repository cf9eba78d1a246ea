//! What the tile engine needs of a vector register.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::scalar::Scalar;

/// An instruction set: its vectors for each element type.
pub(crate) trait Target: Copy + 'static {
    /// Vector of single-precision numbers.
    type F32: Lanes<Elem = f32>;
    /// Vector of double-precision numbers.
    type F64: Lanes<Elem = f64>;
    /// Integer dot products of bytes, with as many rows as `F32` has lanes.
    type Bytes: ByteLanes<Floats = Self::F32>;
    /// Whether it multiplies and adds in one instruction.
    const IS_FUSED: bool;
}

/// `a * b + c`, in one rounding where the instruction set can: for loops over arrays, which the compiler turns into vectors.
#[inline(always)]
pub(crate) fn fused<G: Target>(a: f64, b: f64, c: f64) -> f64 {
    // Where there is no such instruction, `f64::mul_add` is a call to a slow library function.
    if G::IS_FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Lanes of the widest vector there is.
pub(crate) const MOST_LANES: usize = 16;

/// A vector of floating-point numbers in one register.
///
/// `f32` and `f64` are themselves vectors of one lane, so a formula written over `Lanes` is also the scalar formula.
///
/// The methods that compute must only be reached through `Isa::run`, which has made sure
/// that the processor knows the instructions.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self> + 'static
{
    /// Type of one lane.
    type Elem: Scalar;
    /// Number of lanes.
    const COUNT: usize;
    /// Panels of rows in the register block of the tile engine.
    const BLOCK_PANELS: usize;
    /// Whether there are registers enough for a kernel function beside the sums of the register block.
    const HAS_ROOM_FOR_FORMULA: bool;
    /// Columns of the register block: `BLOCK_PANELS * BLOCK_COLUMNS` sums, `BLOCK_PANELS` rows and two columns must fit the
    /// registers, or the compiler spills them and the engine runs at a third of its speed.
    const BLOCK_COLUMNS: usize;

    /// The same number in every lane.
    fn splat(x: Self::Elem) -> Self;

    /// Reads `COUNT` numbers.
    ///
    /// # Safety
    ///
    /// `source` must be valid for reading `COUNT` elements.
    #[expect(unsafe_code, reason = "reads through a pointer")]
    unsafe fn load(source: *const Self::Elem) -> Self;

    /// Reads `COUNT` unsigned integers of 16 bits as numbers.
    ///
    /// # Safety
    ///
    /// `source` must be valid for reading `COUNT` integers.
    #[expect(unsafe_code, reason = "reads through a pointer")]
    unsafe fn load_u16(source: *const u16) -> Self;

    /// Writes `COUNT` numbers.
    ///
    /// # Safety
    ///
    /// `target` must be valid for writing `COUNT` elements.
    #[expect(unsafe_code, reason = "writes through a pointer")]
    unsafe fn store(self, target: *mut Self::Elem);

    /// Reads the first `COUNT` numbers of a slice.
    #[inline(always)]
    #[expect(unsafe_code, reason = "reads through a pointer")]
    fn read(source: &[Self::Elem]) -> Self {
        let source = &source[..Self::COUNT];
        // SAFETY: the slice has as many elements.
        unsafe { Self::load(source.as_ptr()) }
    }

    /// Writes to the first `COUNT` numbers of a slice.
    #[inline(always)]
    #[expect(unsafe_code, reason = "writes through a pointer")]
    fn write(self, target: &mut [Self::Elem]) {
        let target = &mut target[..Self::COUNT];
        // SAFETY: the slice has as many elements.
        unsafe { self.store(target.as_mut_ptr()) };
    }

    /// Adds `COUNT` lanes, widened to double precision, to the numbers at `target`.
    ///
    /// # Safety
    ///
    /// `target` must be valid for reading and writing `COUNT` numbers.
    #[expect(unsafe_code, reason = "writes through a pointer")]
    unsafe fn add_to_f64(self, target: *mut f64);

    /// The sum of the lanes of each of four vectors.
    #[inline(always)]
    #[expect(unsafe_code, reason = "writes through a pointer")]
    fn four_sums(vectors: [Self; 4]) -> [f64; 4] {
        const { assert!(Self::COUNT <= MOST_LANES && Self::COUNT.is_power_of_two()) };
        let mut sums = [0.0; 4];
        for (sum, vector) in sums.iter_mut().zip(vectors) {
            let mut lanes = [0.0; MOST_LANES];
            // SAFETY: there is room for the widest vector.
            unsafe { vector.add_to_f64(lanes.as_mut_ptr()) };
            let mut width = Self::COUNT;
            while width > 1 {
                width /= 2;
                for lane in 0..width {
                    lanes[lane] += lanes[width + lane];
                }
            }
            *sum = lanes[0];
        }
        sums
    }

    /// The lanes of two vectors by turns: those of their first halves, and those of their second halves.
    fn interleave(self, other: Self) -> (Self, Self);

    /// Makes columns of the rows of a square of numbers: lane `i` of vector `j` changes places with lane `j` of vector `i`. The first `COUNT`
    /// vectors count.
    #[inline(always)]
    fn transpose(rows: &mut [Self; MOST_LANES]) {
        const { assert!(Self::COUNT <= MOST_LANES && Self::COUNT.is_power_of_two()) };
        // Every step takes the first bit of a lane's number to the end of its vector's number, and the first bit of that to the end of the lane's: after
        // as many steps as there are bits they have changed places.
        let mut done = 1;
        while done < Self::COUNT {
            let before = *rows;
            for i in 0..Self::COUNT / 2 {
                (rows[2 * i], rows[2 * i + 1]) = before[i].interleave(before[Self::COUNT / 2 + i]);
            }
            done *= 2;
        }
    }

    /// `self * factor + addend`, in one rounding where the machine can.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// The larger of each pair.
    fn max(self, other: Self) -> Self;
    /// The smaller of each pair.
    fn min(self, other: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;

    /// Moves the low bits of the number into the exponent field: what [`times_power`](Self::times_power) makes powers of two by.
    fn low_bits_to_exponent(self) -> Self;

    /// For `t <= 0`: `(n, r)` with `|r| <= 1/2` and `t = n + r`, where `n` is whole, in a form that [`times_power`](Self::times_power) takes.
    #[inline(always)]
    fn split_power(self) -> (Self, Self) {
        super::math::split_power(self)
    }

    /// `self`, between `sqrt(1/2)` and `sqrt(2)`, times two to an `n` of [`split_power`](Self::split_power); zero where `n` is less than the least exponent of a
    /// normal number.
    #[inline(always)]
    fn times_power(self, n: Self) -> Self {
        self * n.low_bits_to_exponent()
    }

    /// For `x >= 1`: `(e, m)` with `x = 2^e m` and `m` between `sqrt(1/2)` and `sqrt(2)`.
    fn split_exponent(self) -> (Self, Self);

    /// Two to the power of `x <= 0`; results below half the smallest normal number become zero.
    #[inline(always)]
    fn exp2_nonpositive(self) -> Self {
        super::math::exp2_nonpositive(self)
    }

    /// `exp(x)` for `x <= 0`; results below half the smallest normal number become zero.
    ///
    /// The rounding of `x log2 e` costs `x ε` relative to the result, which is at most `0.37 ε` absolute.
    #[inline(always)]
    fn exp_nonpositive(self) -> Self {
        (self * Self::constant(std::f64::consts::LOG2_E)).exp2_nonpositive()
    }

    /// Natural logarithm of `x >= 1`.
    #[inline(always)]
    fn ln_of_at_least_one(self) -> Self {
        super::math::ln_of_at_least_one(self)
    }

    /// A constant, rounded to the precision of the lanes.
    #[inline(always)]
    fn constant(x: f64) -> Self {
        Self::splat(Self::Elem::from_f64(x))
    }

    /// Hyperbolic tangent.
    #[inline(always)]
    fn tanh(self) -> Self {
        let one = Self::constant(1.0);
        let e = (self.abs() * Self::constant(-2.0)).exp_nonpositive();
        ((one - e) / (one + e)).copysign(self)
    }

    /// `self` to the power of a whole number.
    #[inline(always)]
    fn powi(self, exponent: u32) -> Self {
        let (mut result, mut base, mut left) = (Self::constant(1.0), self, exponent);
        while left > 0 {
            if left & 1 == 1 {
                result = result * base;
            }
            base = base * base;
            left >>= 1;
        }
        result
    }
}

/// Dot products of unsigned bytes, exact in 32-bit integers.
///
/// Bytes of `Floats::COUNT` rows are interleaved in groups of `GROUP` consecutive features: one group of every row makes one load.
pub(crate) trait ByteLanes: Copy + 'static {
    /// The floating-point vector with the same number of lanes.
    type Floats: Lanes<Elem = f32>;
    /// Features that one multiply-add consumes.
    const GROUP: usize;
    /// What the second operand is lowered by before it is multiplied (it has to fit a signed byte on some machines):
    /// [`dot`](Self::dot) adds up `x (y - BIAS)`.
    const BIAS: i32;

    /// A vector of zeros.
    fn zero() -> Self;
    /// The same integer in every lane.
    fn splat(x: i32) -> Self;

    /// Reads one integer per lane.
    ///
    /// # Safety
    ///
    /// `source` must be valid for reading one integer per lane.
    #[expect(unsafe_code, reason = "reads through a pointer")]
    unsafe fn load(source: *const i32) -> Self;

    /// Turns a group of one row's bytes into the word that [`dot`](Self::dot) multiplies with.
    fn word(group: &[u8]) -> i32;

    /// The words of `count` neighbouring rows, from one group of a panel and of the one after it, counted from row `skip` of the first; there must be
    /// room for a vector of them.
    #[inline(always)]
    fn words(first: &[u8], second: &[u8], skip: usize, count: usize, words: &mut [i32]) {
        let lanes = Self::Floats::COUNT;
        for (row, word) in (skip..skip + count).zip(words) {
            let (panel, lane) = if row < lanes { (first, row) } else { (second, row - lanes) };
            *word = Self::word(&panel[lane * Self::GROUP..][..Self::GROUP]);
        }
    }

    /// Adds the products of one group of every row at `rows` with `word` to the lanes.
    ///
    /// # Safety
    ///
    /// `rows` must be valid for reading `GROUP` bytes per lane.
    #[expect(unsafe_code, reason = "reads through a pointer")]
    unsafe fn dot(self, rows: *const u8, word: i32) -> Self;

    /// Lane by lane sum, wrapping around.
    fn add(self, other: Self) -> Self;
    /// Lane by lane difference, wrapping around.
    fn sub(self, other: Self) -> Self;
    /// Rounds each integer to single precision.
    fn to_floats(self) -> Self::Floats;
}
