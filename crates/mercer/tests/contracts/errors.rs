//! What wrong calls get.

use faer::Mat;
use mercer::gram::slab_product;
use mercer::kernel::PairFunction;
use mercer::watch::Threads;
use mercer::{ErrorKind, Kernel, Points, Precision};
use mercer_testkit::contract::apply;
use mercer_testkit::generate::gaussian_cloud;
use mercer_testkit::operator::{gram, loose_gram};
use mercer_testkit::{Cloud, Format, context};

#[test]
fn a_point_too_large_for_the_kernel_is_named() {
    let points = Cloud::from_fn(5, 2, |i, k| if (i, k) == (3, 1) { 1e25 } else { 1.0 }).points(Format::F64);
    let expected = "row 3 is too large for the kernel's width: its squared distance or inner product overflows f32; \
                    scale the data, or use a smaller gamma";
    let error = gram(Precision::F32, &points, &Kernel::polynomial(1.0, 1.0, 2).unwrap(), None).err().unwrap();
    assert_eq!((error.to_string().as_str(), error.kind()), (expected, ErrorKind::InvalidInput));
    let error = loose_gram(Precision::F32, &points, &Kernel::polynomial(1.0, 1.0, 2).unwrap()).err().unwrap();
    assert_eq!(error.to_string(), expected);
    assert!(gram(Precision::F64, &points, &Kernel::polynomial(1.0, 1.0, 2).unwrap(), None).is_ok());
    let vectors = Mat::zeros(5, 1);
    let error =
        slab_product(&Kernel::linear(), &points, &points, vectors.as_ref(), Precision::F32, &context(1)).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn queries_of_another_width_are_refused() {
    let (points, queries) = (gaussian_cloud(4, 3, 1).points(Format::F64), gaussian_cloud(2, 5, 2).points(Format::F64));
    let vectors = Mat::zeros(4, 1);
    for kernel in [Kernel::linear(), Kernel::custom(PairFunction::new("one", |_: &[f64], _: &[f64]| 1.0))] {
        let error =
            slab_product(&kernel, &queries, &points, vectors.as_ref(), Precision::F64, &context(1)).unwrap_err();
        assert_eq!(error.to_string(), "the data has 5 columns, but the model was fitted on 3");
    }
}

#[test]
fn a_custom_kernel_that_is_not_finite_is_named_with_its_pair() {
    let points = Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1).unwrap();
    let kernel = Kernel::custom(PairFunction::new("pole", |x: &[f64], y: &[f64]| 1.0 / (x[0] * y[0] - 6.0)));
    let operator = gram(Precision::F64, &points, &kernel, None).unwrap();
    let error = operator.apply(Mat::zeros(3, 1).as_ref(), Mat::zeros(3, 1).as_mut(), &context(1)).unwrap_err();
    assert_eq!(error.to_string(), "the pole kernel of rows 1 and 2 is inf; it must be finite");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn no_threads_and_absurdly_many_are_refused() {
    let error = Threads::new(0).unwrap_err();
    assert_eq!(error.to_string(), "`threads` must be at least 1, but it is 0");
    let error = Threads::new(100_000).unwrap_err();
    assert_eq!(error.to_string(), "`threads` must be at most 1024, but it is 100000");
    assert!(Threads::all().unwrap().count() >= 1 && Threads::new(3).unwrap().count() == 3);
}

#[test]
#[should_panic(expected = "the vectors must have as many rows as the operator")]
fn vectors_of_another_length_are_a_mistake_of_the_caller() {
    let points = gaussian_cloud(4, 3, 3).points(Format::F64);
    apply(&*gram(Precision::F64, &points, &Kernel::linear(), None).unwrap(), Mat::zeros(5, 1).as_ref(), 1);
}

#[test]
#[should_panic(expected = "the result must have as many columns as the vectors")]
fn a_result_of_another_width_is_a_mistake_of_the_caller() {
    let points = gaussian_cloud(4, 3, 4).points(Format::F64);
    let operator = gram(Precision::F64, &points, &Kernel::linear(), None).unwrap();
    let _ = operator.apply(Mat::zeros(4, 1).as_ref(), Mat::zeros(4, 2).as_mut(), &context(1));
}

#[test]
#[should_panic(expected = "one row of vectors per point")]
fn vectors_that_do_not_belong_to_the_points_are_a_mistake_of_the_caller() {
    let points = gaussian_cloud(4, 3, 5).points(Format::F64);
    let _ = slab_product(&Kernel::linear(), &points, &points, Mat::zeros(3, 1).as_ref(), Precision::F64, &context(1));
}
