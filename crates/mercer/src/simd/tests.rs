//! Every operation on every instruction set of the machine, against the standard library.

#![allow(clippy::float_cmp, reason = "these numbers are exact")]

mod bytes;
mod functions;
mod operations;

use super::{Isa, Job, Lanes, MOST_LANES, Several, Target};
use crate::scalar::Scalar;

/// An operation on three vectors, written once for all of them.
trait Operation: Copy {
    fn on<L: Lanes>(self, a: L, b: L, c: L) -> L;
}

/// Names an operation: `operation!(Plus, |a, b, _c| a + b)`.
macro_rules! operation {
    ($name:ident, |$a:ident, $b:ident, $c:ident| $body:expr) => {
        #[derive(Clone, Copy)]
        struct $name;
        impl Operation for $name {
            #[inline(always)]
            fn on<L: Lanes>(self, $a: L, $b: L, $c: L) -> L {
                $body
            }
        }
    };
}
use operation;

/// Runs an operation over arrays, once with single vectors and once with several together.
struct Map<'a, T, O> {
    operation: O,
    arguments: &'a [[T; 3]],
}

impl<T: Scalar, O: Operation> Job for Map<'_, T, O> {
    type Output = [Vec<T>; 2];

    #[inline(always)]
    fn run<G: Target>(self) -> [Vec<T>; 2] {
        [
            map::<T::On<G>, O>(self.operation, self.arguments),
            map::<Several<T::On<G>, 3>, O>(self.operation, self.arguments),
        ]
    }
}

#[inline(always)]
#[expect(unsafe_code, reason = "loads and stores whole vectors")]
fn map<L: Lanes, O: Operation>(operation: O, arguments: &[[L::Elem; 3]]) -> Vec<L::Elem> {
    let mut results = Vec::new();
    for chunk in arguments.chunks(L::COUNT) {
        // The last vector is filled up with copies of its first argument, which are valid wherever that is.
        let column =
            |k: usize| -> Vec<L::Elem> { (0..L::COUNT).map(|i| chunk.get(i).unwrap_or(&chunk[0])[k]).collect() };
        let (a, b, c) = (column(0), column(1), column(2));
        let mut out = a.clone();
        // SAFETY: each holds COUNT numbers.
        unsafe {
            let result = operation.on(L::load(a.as_ptr()), L::load(b.as_ptr()), L::load(c.as_ptr()));
            result.store(out.as_mut_ptr());
        }
        results.extend_from_slice(&out[..chunk.len()]);
    }
    results
}

/// The results of an operation on every instruction set of the machine; vectors alone and together agree to the bit.
fn everywhere<T: Scalar, O: Operation>(operation: O, arguments: &[[T; 3]]) -> Vec<(Isa, Vec<T>)> {
    Isa::available()
        .into_iter()
        .map(|isa| {
            let [single, several] = isa.run(Map { operation, arguments });
            for (s, t) in single.iter().zip(&several) {
                assert_eq!(s.to_f64().to_bits(), t.to_f64().to_bits(), "several vectors in step on {isa:?}");
            }
            (isa, single)
        })
        .collect()
}

/// The results of an operation of one argument, on every instruction set.
fn everywhere_on<T: Scalar, O: Operation>(operation: O, arguments: &[T]) -> Vec<(Isa, Vec<T>)> {
    let padded: Vec<[T; 3]> = arguments.iter().map(|&x| [x; 3]).collect();
    everywhere(operation, &padded)
}

#[test]
fn the_best_instruction_set_is_detected_and_the_portable_one_always_there() {
    let available = Isa::available();
    assert_eq!(Isa::detect(), available[0]);
    assert_eq!(available.last(), Some(&Isa::PORTABLE));
}
