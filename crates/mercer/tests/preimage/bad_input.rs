//! Wrong calls: what is said.

use faer::Mat;
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{Error, Kernel, KernelPca, Model, Points, Watch};

use crate::support::circle;

#[test]
fn wrong_calls_are_refused_by_name() {
    let (noisy, _) = circle(30, 0.1);
    let fit = |kernel: Kernel| KernelPca::new(kernel).n_components(2).fit(&noisy).unwrap();
    let gaussian = fit(Kernel::gaussian(0.5).unwrap());
    let refused = |settings: Preimage, model: &Model| settings.prepare(model, &Watch::new()).unwrap_err().to_string();
    assert_eq!(
        refused(Preimage::new(PreimageMethod::Distance).restarts(3), &gaussian),
        "`restarts` must be left out with the method distance, which does not read it, but it is given"
    );
    assert_eq!(
        refused(Preimage::new(PreimageMethod::FixedPoint).neighbors(3), &gaussian),
        "`neighbors` must be left out with the method fixed-point, which does not read it, but it is given"
    );
    assert_eq!(
        refused(Preimage::new(PreimageMethod::FixedPoint), &fit(Kernel::linear())),
        "the fixed point of pre-images does not work with the linear kernel: it is that of the gaussian kernel; use gradient"
    );
    assert_eq!(
        refused(Preimage::new(PreimageMethod::Gradient), &fit(Kernel::laplacian(0.5).unwrap())),
        "finding pre-images by descent does not work with the laplacian kernel: it has no derivative that could be followed; use ridge"
    );
    // What is advised is not refused in turn: the laplacian kernel has no slope to descend.
    for method in [PreimageMethod::FixedPoint, PreimageMethod::Distance, PreimageMethod::Polynomial] {
        let said = refused(Preimage::new(method), &fit(Kernel::laplacian(0.5).unwrap()));
        assert!(said.ends_with("; use ridge"), "{said}");
    }
    assert!(
        refused(Preimage::new(PreimageMethod::Distance), &fit(Kernel::polynomial(1.0, 1.0, 2).unwrap()))
            .contains("distances")
    );
    assert!(
        refused(Preimage::new(PreimageMethod::Polynomial), &fit(Kernel::polynomial(1.0, 1.0, 2).unwrap()))
            .contains("coef0 = 0")
    );
    for (settings, name) in [
        (Preimage::new(PreimageMethod::FixedPoint).tolerance(0.0), "tolerance"),
        (Preimage::new(PreimageMethod::FixedPoint).max_iterations(0), "max_iterations"),
        (Preimage::new(PreimageMethod::Distance).neighbors(1), "neighbors"),
        (Preimage::new(PreimageMethod::Ridge).alpha(-1.0), "alpha"),
        (Preimage::new(PreimageMethod::Ridge).threads(0), "threads"),
    ] {
        assert!(refused(settings, &gaussian).contains(&format!("`{name}`")), "{name}");
    }
    let method = Preimage::new(PreimageMethod::FixedPoint);
    let wrong = method.of_scores(&gaussian, Mat::zeros(1, 3).as_ref(), &Watch::new()).unwrap_err();
    assert_eq!(wrong.to_string(), "`scores` must be of 2 columns, one per component, but it is 3");
    let wrong = method.of_scores(&gaussian, Mat::full(1, 2, f64::NAN).as_ref(), &Watch::new()).unwrap_err();
    assert!(matches!(wrong, Error::NotFinite { row: 0, column: 0, .. }));
    let matrix = Points::from_f64(vec![2.0, 1.0, 1.0, 2.0], 2, 2).unwrap();
    let given = KernelPca::new(Kernel::Precomputed).n_components(1).fit(&matrix).unwrap();
    for method in ["fixed-point", "distance", "ridge", "gradient", "polynomial"] {
        let method: PreimageMethod = method.parse().unwrap();
        assert!(refused(Preimage::new(method), &given).contains("precomputed"));
    }
}
