//! Integer dot products of bytes.

use mercer_testkit::generate::bytes;

use super::{Isa, Job, Target};
use crate::simd::{ByteLanes, Lanes};

/// What an instruction set makes of rows of bytes and one column.
struct Dots<'a> {
    /// Row by row, `n_features` each; at least as many rows as lanes.
    rows: &'a [u8],
    column: &'a [u8],
}

/// Dot products as accumulated, and what has to be added to make them inner products.
struct Found {
    lanes: usize,
    bias: i64,
    sums: Vec<i64>,
}

impl Job for Dots<'_> {
    type Output = Found;

    #[inline(always)]
    #[expect(unsafe_code, reason = "loads whole vectors")]
    fn run<G: Target>(self) -> Found {
        let (lanes, group, d) = (<G::F32 as Lanes>::COUNT, G::Bytes::GROUP, self.column.len());
        let mut sums = G::Bytes::zero();
        for start in (0..d).step_by(group) {
            let piece = |row: &[u8]| -> Vec<u8> { row[start..start + group].to_vec() };
            let interleaved: Vec<u8> = self.rows.chunks_exact(d).take(lanes).flat_map(piece).collect();
            assert_eq!(interleaved.len(), lanes * group);
            // SAFETY: GROUP bytes per lane.
            sums = unsafe { sums.dot(interleaved.as_ptr(), G::Bytes::word(&piece(self.column))) };
        }
        Found { lanes, bias: i64::from(G::Bytes::BIAS), sums: stored::<G>(sums) }
    }
}

/// The integers of a vector, through single precision in two halves so that none is rounded.
#[inline(always)]
#[expect(unsafe_code, reason = "stores a whole vector")]
fn stored<G: Target>(sums: G::Bytes) -> Vec<i64> {
    let lanes = <G::F32 as Lanes>::COUNT;
    let read = |vector: G::Bytes| {
        let mut out = vec![0.0_f32; lanes];
        // SAFETY: one number per lane.
        unsafe { vector.to_floats().store(out.as_mut_ptr()) };
        out
    };
    let rounded = read(sums);
    (0..lanes)
        .map(|lane| {
            // What is left after the rounded value is taken off fits single precision exactly.
            let near = rounded[lane] as i32;
            let rest = read(sums.sub(G::Bytes::splat(near)))[lane];
            i64::from(near) + rest as i64
        })
        .collect()
}

fn check(rows: &[u8], column: &[u8]) {
    let d = column.len();
    for isa in Isa::available() {
        let Found { lanes, bias, sums } = isa.run(Dots { rows, column });
        for (lane, row) in rows.chunks_exact(d).take(lanes).enumerate() {
            let expected: i64 = row.iter().zip(column).map(|(&x, &y)| i64::from(x) * (i64::from(y) - bias)).sum();
            assert_eq!(sums[lane], expected, "lane {lane} with {d} features on {isa:?}");
        }
    }
}

#[test]
fn dot_products_of_bytes_are_exact_up_to_the_bias() {
    for d in [4, 8, 12, 100, 784] {
        check(&bytes(16, d, 3), &bytes(1, d, 4));
    }
}

#[test]
fn dot_products_of_extreme_bytes_do_not_saturate() {
    for (x, y) in [(255, 255), (255, 0), (0, 255), (255, 127), (255, 128), (1, 255)] {
        check(&vec![x; 16 * 1000], &vec![y; 1000]);
    }
}

#[test]
fn integers_are_loaded_added_subtracted_and_rounded() {
    struct Arithmetic<'a>(&'a [i32]);
    impl Job for Arithmetic<'_> {
        type Output = [Vec<i64>; 3];
        #[inline(always)]
        #[expect(unsafe_code, reason = "loads a whole vector")]
        fn run<G: Target>(self) -> Self::Output {
            // SAFETY: there are more numbers than lanes.
            let x = unsafe { G::Bytes::load(self.0.as_ptr()) };
            let y = G::Bytes::splat(1000);
            [stored::<G>(x), stored::<G>(x.add(y)), stored::<G>(x.sub(y))]
        }
    }
    let numbers: Vec<i32> = (0..16).map(|i| (i - 8) * 100_000_007).collect();
    for isa in Isa::available() {
        let [same, more, less] = isa.run(Arithmetic(&numbers));
        for (lane, &x) in same.iter().enumerate() {
            assert_eq!(x, i64::from(numbers[lane]), "{isa:?}");
            assert_eq!((more[lane], less[lane]), (x + 1000, x - 1000), "{isa:?}");
        }
    }
}

#[test]
fn integer_sums_wrap_like_the_vector_instructions() {
    // |x|² + |y|² may pass 2³¹ on the way to a squared distance that does not.
    struct Wrap;
    impl Job for Wrap {
        type Output = Vec<i64>;
        #[inline(always)]
        fn run<G: Target>(self) -> Vec<i64> {
            let large = G::Bytes::splat(2_000_000_000);
            stored::<G>(large.add(large).sub(large).sub(large))
        }
    }
    for isa in Isa::available() {
        assert!(isa.run(Wrap).iter().all(|&x| x == 0), "{isa:?}");
    }
}
