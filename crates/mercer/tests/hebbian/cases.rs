//! The stored cases, for the reference and for the library at several batch sizes.

use mercer::hebbian::Start;
use mercer::{Center, Kernel, KernelHebbianPca, Watch};
use mercer_testkit::reference::{HebbianReference, eigenvalue_estimates, reconstruction_error};

use crate::case::Case;
use crate::support::{close, column, precomputed, run, settings};

/// Tolerance of the cases, relative to the largest entry.
const SHARE: f64 = 1e-8;

/// Name, rule and refresh of every case of fifty updates.
const CASES: [(&str, &str, &str); 24] = [
    ("const_pass", "constant", "pass"),
    ("KHA_t_pass", "t", "pass"),
    ("KHA_etstar_pass", "et*", "pass"),
    ("KHA_etstar_iter", "et*", "iteration"),
    ("KHA_etstar_pass-lambda", "et*", "pass-eigenvalues"),
    ("KHA_et_pass", "et", "pass"),
    ("KHA_et_iter", "et", "iteration"),
    ("KHA_et_pass-lambda", "et", "pass-eigenvalues"),
    ("KHA_SMDstar_pass", "smd*", "pass"),
    ("KHA_SMDstar_pass_rho1", "smd*", "pass"),
    ("KHA_SMDstar_iter", "smd*", "iteration"),
    ("KHA_SMDstar_pass-lambda", "smd*", "pass-eigenvalues"),
    ("KHA_SMD_pass", "smd", "pass"),
    ("KHA_SMD_pass_rho1", "smd", "pass"),
    ("KHA_SMD_iter", "smd", "iteration"),
    ("KHA_SMD_pass-lambda", "smd", "pass-eigenvalues"),
    ("s_pass", "s", "pass"),
    ("s_pass_rho1", "s", "pass"),
    ("ts_pass", "ts", "pass"),
    ("ts_pass_rho1", "ts", "pass"),
    ("es_pass", "es", "pass"),
    ("es_pass_rho1", "es", "pass"),
    ("es_iter", "es", "iteration"),
    ("es_pass-lambda", "es", "pass-eigenvalues"),
];

fn reference(case: &Case, rule: &'static str, refresh: &'static str) -> HebbianReference {
    let number = |name: &str| case.number(&format!("par_{name}"));
    HebbianReference {
        rule,
        refresh,
        eta0: number("eta0"),
        tau: number("tau"),
        mu: number("mu"),
        xi: number("xi"),
        rho0: number("rho0"),
    }
}

#[test]
fn every_stored_case_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hebbian");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let stored = files.filter(|path| path.extension().is_some_and(|extension| extension == "npz")).count();
    // And the one of automatic gains.
    assert_eq!(stored, CASES.len() + 1);
}

#[test]
fn the_slow_reference_gives_the_stored_cases() {
    for (name, rule, refresh) in CASES {
        let case = Case::open(name);
        let (matrix, a) = (case.array("in_Kc"), case.array("in_A1"));
        let state = reference(&case, rule, refresh).run(matrix.as_ref(), a.as_ref(), &case.order());
        close(state.a.as_ref(), case.array("out_A").as_ref(), SHARE, name);
        close(state.b.as_ref(), case.array("out_B").as_ref(), SHARE, name);
        close(column(&state.rho).as_ref(), case.array("out_rho").as_ref(), SHARE, name);
        close(column(&state.eta).as_ref(), case.array("out_eta").as_ref(), SHARE, name);
        close(column(&state.y).as_ref(), case.array("out_y_last").as_ref(), SHARE, name);
        let lambda = eigenvalue_estimates(matrix.as_ref(), state.a.as_ref());
        close(column(&lambda).as_ref(), case.array("out_lam_final").as_ref(), SHARE, name);
        let error = reconstruction_error(matrix.as_ref(), state.a.as_ref());
        close(column(&[error]).as_ref(), case.array("out_err38").as_ref(), SHARE, name);
    }
}

#[test]
fn every_stored_case_comes_out_at_every_batch_size() {
    for (name, rule, refresh) in CASES {
        let case = Case::open(name);
        let points = precomputed(case.array("in_Kc").as_ref());
        let a = case.array("in_A1");
        for batch in [1, 7, 50] {
            let settings = settings(&reference(&case, rule, refresh), Kernel::Precomputed, a.nrows());
            let settings = settings.center(Center::No).batch_size(batch);
            let learner = run(&settings, &points, a.as_ref(), &case.order());
            let what = |array: &str| format!("{array} of {name}, batches of {batch}");
            let check = |array: &str, found: faer::MatRef<'_, f64>| {
                close(found, case.array(array).as_ref(), SHARE, &what(array));
            };
            assert_eq!(learner.n_updates(), 50);
            check("out_A", learner.coefficients().as_ref());
            check("out_AK", learner.images().as_ref());
            if let Some(memory) = learner.memory_coefficients() {
                check("out_B", memory.as_ref());
            }
            check("out_rho", column(learner.log_gains()).as_ref());
            check("out_eta", column(learner.scheduled_gains()).as_ref());
            check("out_lam_final", column(&learner.eigenvalue_estimates()).as_ref());
            if let Some(lambda) = learner.refreshed_eigenvalues() {
                check("out_lam", column(lambda).as_ref());
            }
            let error = learner.reconstruction_error(&Watch::new()).unwrap();
            check("out_err38", column(&[error]).as_ref());
        }
    }
}

#[test]
fn automatic_gains_are_those_of_the_stored_case() {
    let case = Case::open("autotune");
    let points = precomputed(case.array("in_Kc").as_ref());
    let (a, order) = (case.array("in_A1"), case.order());
    for batch in [1, 7, 50] {
        let settings = KernelHebbianPca::new(Kernel::Precomputed)
            .n_components(a.nrows())
            .center(Center::No)
            .tau(case.number("par_tau"))
            .batch_size(batch);
        let start = Start { coefficients: Some(a.as_ref()), order: Some(&order), ..Start::default() };
        let learner = settings.fit_from(&points, &start, &Watch::new()).unwrap();
        assert_eq!(learner.gain_parameters().eta0.to_bits(), case.number("out_x").to_bits());
        close(learner.coefficients().as_ref(), case.array("out_A").as_ref(), SHARE, "coefficients");
    }
}
