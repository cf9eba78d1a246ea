//! Rows that are equal, or nearly so, in single precision: what is left of sums of large numbers.

use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::{Center, ErrorKind, Kernel, KernelPca, Points};
use mercer_testkit::generate::Random;

use super::RULES;

fn kernels() -> [Kernel; 4] {
    [
        Kernel::polynomial(0.1, 1.0, 3).unwrap(),
        Kernel::linear(),
        Kernel::gaussian(0.3).unwrap(),
        Kernel::exponential(0.3).unwrap(),
    ]
}

#[test]
fn equal_rows_in_single_precision_have_no_component_however_many_there_are() {
    for n in [100, 600, 1152, 3000] {
        for value in [1.0_f32, 0.3, 0.7, 2.1, 10.0] {
            let points = Points::from_f32(vec![value; 3 * n], n, 3).unwrap();
            let near = Points::from_f32(vec![value + 0.1; 15], 5, 3).unwrap();
            for kernel in kernels() {
                for rule in RULES.into_iter().chain([Landmarks::Given(near.clone())]) {
                    let what = format!("{n} times {value}, {}, {rule}", kernel.name());
                    let mut settings = Nystrom::new(kernel.clone()).landmarks(rule.clone());
                    if !matches!(rule, Landmarks::Given(_)) {
                        settings = settings.n_landmarks(20);
                    }
                    let error = NystromPca::new(settings).fit(&points).map(|model| model.eigenvalues()[0]);
                    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidInput, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_small_variance_about_a_large_mean_is_found_in_single_precision() {
    let n = 3000;
    let mut random = Random::new(4);
    let values: Vec<f32> = (0..3 * n).map(|_| 1.0 + 0.01 * random.normal() as f32).collect();
    let single = Points::from_f32(values.clone(), n, 3).unwrap();
    let double = Points::from_f64(values.into_iter().map(f64::from).collect::<Vec<_>>(), n, 3).unwrap();
    // The last has a corner, which twenty landmarks leave much of.
    for kernel in kernels().into_iter().take(3) {
        for center in [Center::Yes, Center::No] {
            let settings = Nystrom::new(kernel.clone()).n_landmarks(20);
            let found = NystromPca::new(settings).center(center).n_components(3).fit(&single).unwrap();
            let exact = KernelPca::new(kernel.clone()).center(center).n_components(3).fit(&double).unwrap();
            assert_eq!(found.n_components(), 3, "{}", kernel.name());
            let noise = 0.02 * exact.eigenvalues()[0];
            for (found, exact) in found.eigenvalues().iter().zip(exact.eigenvalues()) {
                assert!((found - exact).abs() <= noise, "{} {center:?}: {found} and {exact}", kernel.name());
            }
            let explained = &found.record().explained_variance_ratio;
            let sum = explained.iter().sum::<f64>();
            assert!(explained.iter().all(|&share| share > 0.0) && sum < 1.0 + 1e-6, "{explained:?}");
        }
    }
}
