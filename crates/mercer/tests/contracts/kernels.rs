//! The kernels' own contract.

use mercer_testkit::{Textbook, check_kernel};

#[test]
fn every_kernel_keeps_the_kernel_contract() {
    for textbook in &Textbook::ALL {
        check_kernel(&textbook.to_kernel(), textbook);
    }
}

#[test]
fn kernels_with_other_parameters_keep_the_kernel_contract() {
    for textbook in [
        Textbook::Polynomial { gamma: 1.3, coef0: 0.0, degree: 1 },
        Textbook::Polynomial { gamma: 0.5, coef0: 0.2, degree: 2 },
        Textbook::Polynomial { gamma: 0.2, coef0: -0.5, degree: 5 },
        Textbook::Gaussian { gamma: 4.0 },
        Textbook::Laplacian { gamma: 2.0 },
        Textbook::Exponential { gamma: 2.0 },
        Textbook::Matern32 { gamma: 3.0 },
        Textbook::Matern52 { gamma: 0.1 },
        Textbook::RationalQuadratic { gamma: 3.0, alpha: 0.4 },
        Textbook::Epanechnikov { gamma: 1.1 },
        Textbook::Sigmoid { gamma: 1.5, coef0: 0.5 },
    ] {
        check_kernel(&textbook.to_kernel(), &textbook);
    }
}
