//! The reference values.

use std::fs::File;

use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Policy, Rule};
use mercer::{Center, Kernel, Points};
use npyz::npz::NpzArchive;

use super::support::row_major;

/// A case of the reference vectors.
struct Case {
    archive: NpzArchive<std::io::BufReader<File>>,
}

impl Case {
    fn open(name: &str) -> Self {
        let path = format!("{}/../../testdata/reference/{name}.npz", env!("CARGO_MANIFEST_DIR"));
        Self { archive: NpzArchive::open(path).unwrap() }
    }

    fn values(&mut self, name: &str) -> (Vec<u64>, Vec<f64>) {
        let array = self.archive.by_name(name).unwrap().unwrap();
        (array.shape().to_vec(), array.into_vec::<f64>().unwrap())
    }

    fn points(&mut self, name: &str) -> Points {
        let (shape, values) = self.values(name);
        Points::from_f64(values, shape[0] as usize, shape[1] as usize).unwrap()
    }
}

/// |got - want| <= 1e-8 max|want| + 1e-13.
#[track_caller]
fn assert_agrees(what: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= 1e-8 * scale + 1e-13, "{what}[{i}]: {got} instead of {want}");
    }
}

const P: usize = 3;

/// Coefficients of all components over all rows of `z`, zero for rows that are not remembered.
fn over_all_rows(learner: &Learner, z: &Points) -> Vec<f64> {
    let (basis, coefficients) = (learner.basis(), learner.coefficients());
    let mut all = vec![0.0; coefficients.nrows() * z.n_samples()];
    for (slot, row) in basis.iter().enumerate() {
        let place = (0..z.n_samples()).find(|&i| z.row(i) == *row).unwrap();
        for p in 0..coefficients.nrows() {
            all[p * z.n_samples() + place] = coefficients[(p, slot)];
        }
    }
    all
}

fn cases() -> Vec<(&'static str, Kernel, f64)> {
    vec![
        ("kashima_gauss1", Kernel::gaussian(0.5).unwrap(), 0.2),
        ("kashima_poly2_c1", Kernel::polynomial(1.0, 1.0, 2).unwrap(), 0.05),
    ]
}

#[test]
fn reference_vectors_come_out() {
    for (name, kernel, eta) in cases() {
        let mut case = Case::open(name);
        let z = case.points("in_Z");
        let stream = z.slice(P..z.n_samples());
        let settings = OnlineKernelPca::new(kernel.clone()).center(Center::No).learning_rate(eta);
        let three = settings.clone().n_components(P).start(z.slice(0..P));
        for (label, settings) in [
            ("sim_beta1", three.clone()),
            ("sim_beta2", three.clone().beta(2.0)),
            ("budget8", three.clone().budget(8).policy(Policy::Oldest)),
            ("centred", three.clone().center(Center::Yes)),
        ] {
            let mut learner = settings.learner().unwrap();
            let outputs = learner.learn(&stream).unwrap();
            assert_agrees(
                &format!("{name} {label} Y"),
                &row_major(&outputs),
                &case.values(&format!("out_{label}_Y")).1,
            );
            let alpha = over_all_rows(&learner, &z);
            assert_agrees(&format!("{name} {label} alpha"), &alpha, &case.values(&format!("out_{label}_alpha")).1);
        }

        let oja = settings.clone().n_components(1).rule(Rule::Oja).start(z.slice(0..1));
        let mut first = oja.learner().unwrap();
        let y = first.learn(&stream).unwrap();
        assert_agrees(&format!("{name} oja y"), &row_major(&y), &case.values("out_oja_y").1);
        let alpha = row_major(&first.coefficients());
        assert_agrees(&format!("{name} oja alpha"), &alpha, &case.values("out_oja_alpha").1);

        // The second neuron of APEX after the first has finished, which stands still.
        let mut second = first.next_component(&z.slice(1..2)).unwrap();
        let outputs = second.learn(&stream).unwrap();
        let before: Vec<f64> = outputs.col(0).iter().copied().collect();
        let learned: Vec<f64> = outputs.col(1).iter().copied().collect();
        assert_agrees(&format!("{name} apex yprev"), &before, &case.values("out_apex_yprev").1);
        assert_agrees(&format!("{name} apex ytilde"), &learned, &case.values("out_apex_ytilde").1);
        let n = z.n_samples();
        let alpha = over_all_rows(&second, &z);
        assert_agrees(&format!("{name} apex alpha"), &alpha[n..], &case.values("out_apex_alpha").1);
        assert_agrees(&format!("{name} apex a"), &second.lateral()[1], &case.values("out_apex_a").1);
    }
}
