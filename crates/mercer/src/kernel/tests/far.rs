//! Distances that overflow.

use crate::kernel::{Formula, Kernel, Parameter};
use crate::scalar::Scalar;
use crate::simd::{Isa, Job, Lanes, Target};

/// Value and derivative by the inverse width where the squared distance is this, in all lanes of both precisions.
struct At<F>(F, f64);

impl<F: Formula> At<F> {
    #[inline(always)]
    fn in_lanes<L: Lanes>(&self) -> Vec<f64> {
        let s = L::constant(self.1);
        let mut lanes = vec![L::Elem::from_f64(1.0); 2 * L::COUNT];
        self.0.value(s).write(&mut lanes);
        self.0.derivative(Parameter::Gamma, s).write(&mut lanes[L::COUNT..]);
        lanes.into_iter().map(Scalar::to_f64).collect()
    }
}

impl<F: Formula> Job for At<F> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<G: Target>(self) -> Vec<f64> {
        [self.in_lanes::<G::F32>(), self.in_lanes::<G::F64>()].concat()
    }
}

#[test]
fn matern_kernels_vanish_however_far_points_are_on_every_instruction_set() {
    for kernel in [Kernel::matern32(0.5).unwrap(), Kernel::matern52(0.5).unwrap()] {
        // The first two are finite, but powers of them overflow in single and in double precision.
        for s in [1e38, 1e300, f64::INFINITY] {
            assert_eq!((kernel.value(s), kernel.slope(s).abs()), (0.0, 0.0), "{} at {s}", kernel.name());
            for isa in Isa::available() {
                let far = with_formula!(&kernel, formula => isa.run(At(*formula, s)), else Vec::new());
                assert!(
                    !far.is_empty() && far.iter().all(|&value| value == 0.0),
                    "{kernel:?} on {isa:?} at {s}: {far:?}"
                );
            }
        }
    }
}

#[test]
fn kernels_of_distances_are_finite_where_those_overflow() {
    for textbook in mercer_testkit::Textbook::ALL.iter().filter(|textbook| textbook.knows_distances_only()) {
        let kernel = mercer_testkit::to_kernel!(textbook, Kernel);
        let value = kernel.evaluate(&[1e200, 0.0], &[-1e200, 1.0]).unwrap();
        assert!((0.0..1e-3).contains(&value), "{textbook:?}: {value}");
    }
}
