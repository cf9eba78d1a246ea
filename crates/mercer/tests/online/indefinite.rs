//! Kernels that are not positive semi-definite: where rows show it, the policy project is refused, and what components explain is spoken of.

use mercer::online::{OnlineKernelPca, OnlineLearner, Policy};
use mercer::{Center, Kernel, KernelPca, Negative, Points};
use mercer_testkit::generate::{Format, gaussian_cloud};

use super::support::refusal;

/// Rows of a single number.
fn line(values: &[f64]) -> Points {
    Points::from_f64(values.to_vec(), values.len(), 1).unwrap()
}

/// What is said of a row at a negative squared distance from those before it.
fn refused(kernel: &Kernel) -> String {
    format!(
        "the policy project does not work with the {} kernel: on these rows it is not positive semi-definite: one is at a negative squared \
         distance from the span of those in memory; use the policy oldest or smallest, or no budget",
        kernel.name()
    )
}

fn sigmoid() -> Kernel {
    Kernel::sigmoid(0.5, 1.0).unwrap()
}

#[test]
fn a_row_at_a_negative_squared_distance_is_refused_instead_of_taken_for_a_dependent_one() {
    let rows = line(&[0.0, 2.0, 1.0]);
    // How many rows have a place: by hand, the next one's squared distance from them is -0.03, -0.02 and -0.08.
    for (kernel, learned) in
        [(sigmoid(), 2), (Kernel::epanechnikov(1.0 / 9.0).unwrap(), 2), (Kernel::polynomial(0.01, -1.0, 2).unwrap(), 1)]
    {
        for center in [Center::Yes, Center::No] {
            let name = kernel.name();
            let settings = OnlineKernelPca::new(kernel.clone()).n_components(1).center(center);
            let projecting = settings.clone().budget(3);
            let mut learner = projecting.learner().unwrap();
            assert_eq!(refusal(learner.learn(&rows)), refused(&kernel));
            assert_eq!(learner.n_seen(), learned, "{name}, {center:?}");
            // Nothing is learned of it, and the same call can be made again.
            let mut same = projecting.learner().unwrap();
            same.learn(&rows.slice(0..learned)).unwrap();
            assert!(learner.to_bytes().unwrap() == same.to_bytes().unwrap(), "{name}, {center:?}");
            assert_eq!(refusal(learner.learn_row(&rows.row(learned))), refused(&kernel));
            // There is room for all of them, and what is advised works.
            for other in [
                settings.clone(),
                settings.clone().budget(3).policy(Policy::Oldest),
                settings.clone().budget(3).policy(Policy::Smallest),
            ] {
                let outputs = other.learner().unwrap().learn(&rows).unwrap();
                assert!(outputs.norm_max().is_finite(), "{name}, {center:?}");
            }
        }
    }
}

#[test]
fn a_kernel_that_is_positive_semi_definite_on_the_rows_that_come_is_not_refused_by_its_name() {
    let points = gaussian_cloud(300, 40, 92).points(Format::F64);
    for coef0 in [0.0, 1.0] {
        let kernel = Kernel::sigmoid(0.001, coef0).unwrap();
        let mut learner = OnlineKernelPca::new(kernel).budget(12).learner().unwrap();
        learner.learn(&points).unwrap();
        assert_eq!((learner.n_seen(), learner.n_remembered()), (300, 12), "coef0 {coef0}");
        let explained: f64 = learner.captured().unwrap().ratio().iter().sum();
        assert!(explained > 0.0 && explained < 1.0, "coef0 {coef0}: {explained}");
        assert_eq!(learner.excess_warning(), None, "coef0 {coef0}");
    }
}

#[test]
fn start_points_at_a_negative_squared_distance_are_refused() {
    let settings = OnlineKernelPca::new(sigmoid()).n_components(3).start(line(&[0.0, 2.0, 1.0]));
    assert_eq!(refusal(settings.clone().budget(4).learner()), refused(&sigmoid()));
    assert!(settings.clone().budget(4).policy(Policy::Oldest).learner().is_ok());
    assert!(settings.learner().is_ok());
    // And so is one that is added.
    let two = OnlineKernelPca::new(sigmoid()).n_components(2).start(line(&[0.0, 2.0])).budget(4).learner().unwrap();
    assert_eq!(refusal(two.next_component(&line(&[1.0]))), refused(&sigmoid()));
}

#[test]
fn a_model_with_basis_points_at_a_negative_squared_distance_is_refused() {
    let fit = KernelPca::new(sigmoid()).n_components(1).negative(Negative::Clip);
    let model = fit.fit(&line(&[0.0, 2.0, 1.0])).unwrap();
    let settings = OnlineKernelPca::for_model(&model);
    assert_eq!(refusal(settings.clone().budget(3).learner_from(&model)), refused(&sigmoid()));
    assert!(settings.clone().budget(3).policy(Policy::Oldest).learner_from(&model).is_ok());
    assert!(settings.learner_from(&model).is_ok());
}

#[test]
fn components_that_explain_more_than_there_is_are_spoken_of() {
    let after_three_rows = |kernel: Kernel| {
        // At such a rate components stay the images of the first two rows.
        let mut learner = OnlineKernelPca::new(kernel).center(Center::No).learning_rate(1e-9).learner().unwrap();
        learner.learn(&line(&[1.0, -1.0, 0.0])).unwrap();
        learner
    };
    let learner = after_three_rows(sigmoid());
    let explained: f64 = learner.captured().unwrap().ratio().iter().sum();
    // By hand: (2 tanh 3/2 + 2 tanh² 1 / (tanh 3/2 + tanh 1/2)) / (2 tanh 3/2 + tanh 1).
    let (half, one, more) = (0.5_f64.tanh(), 1.0_f64.tanh(), 1.5_f64.tanh());
    let want = (2.0 * more + 2.0 * one * one / (more + half)) / (2.0 * more + one);
    assert!((explained - want).abs() < 1e-6, "{explained} for {want}");
    let text = "the components explain 103.4 % of the variance, which is more than there is: the sigmoid kernel is not positive semi-definite, \
                and on these rows it makes variances along other directions negative";
    assert_eq!(learner.warnings(), [text]);
    assert_eq!(after_three_rows(Kernel::gaussian(0.5).unwrap()).warnings(), Vec::<String>::new());
}
