//! Damaged model files, as they are and with a digest that fits the damage: behind it, what is read must be checked as well.

use std::collections::BTreeSet;
use std::path::Path;

use mercer::autoencoder::{AutoencoderKernelPca, Sign, SpanChoice};
use mercer::data::Scaling;
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::{AnyModel, Kernel, KernelPca, Points, SpectralClustering};

use super::super::model::{sealed_model, use_model};
use super::{layout, seeds, torment};

#[test]
fn damaged_models_are_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.mercer");
    torment("model", |bytes, numbers, promise| {
        let sealed = if numbers.next(4) > 0 { sealed_model(bytes) } else { None };
        let bytes = sealed.as_deref().unwrap_or(bytes);
        std::fs::write(&path, bytes).unwrap();
        let loaded = promise.keep(bytes, 0, || AnyModel::load(&path));
        use_model(&loaded.map_err(|error| error.to_string())?)
    });
}

#[test]
fn a_seal_is_the_one_that_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.mercer");
    let load = |path: &Path, bytes: &[u8]| {
        std::fs::write(path, bytes).unwrap();
        AnyModel::load(path)
    };
    for whole in seeds("model") {
        let mut altered = whole.clone();
        // Within a number, or within a name: at the end of a file of names stands what ends the list.
        let place = altered.len() - 3;
        altered[place] ^= 1;
        let Err(refused) = load(&path, &altered) else { panic!("its digest does not fit, and it was accepted") };
        assert!(refused.to_string().ends_with("its contents do not match its digest"), "{refused}");
        let outcome = load(&path, &sealed_model(&altered).unwrap());
        assert!(outcome.is_ok(), "{:?}", outcome.err());
    }
}

/// The bytes of a small model of every kind, in the format that is written now.
fn models_of_every_kind() -> Vec<(&'static str, Vec<u8>)> {
    let values = vec![0.0, 0.0, 0.25, 0.5, 3.0, 2.0, 3.5, 2.25, 0.5, 0.25, 3.25, 2.5];
    let points = Points::from_f64(values, 6, 2).unwrap();
    let kernel = Kernel::gaussian(0.5).unwrap();
    let scaling = || Scaling::uniform(0.5, 2).unwrap();
    let over = || Nystrom::new(kernel.clone()).landmarks(Landmarks::Uniform).n_landmarks(3);
    let model = KernelPca::new(kernel.clone()).n_components(1).fit(&points).unwrap();
    let clusters = SpectralClustering::new(kernel.clone(), 2);
    let codes = AutoencoderKernelPca::new(1).epochs(1);
    let on_span = codes.clone().span(SpanChoice::Data).sign(Sign::Nonnegative);
    let named = model.clone().with_feature_names(vec!["x".to_owned(), "y".to_owned()]).unwrap();
    let scaled = clusters.clone().fit(&points).unwrap().with_scaling(scaling()).unwrap();
    let over_landmarks = clusters.landmarks(over()).fit(&points).unwrap().with_scaling(scaling()).unwrap();
    vec![
        ("plain", model.to_bytes().unwrap()),
        ("named", named.to_bytes().unwrap()),
        ("standardized", model.with_scaling(scaling()).unwrap().to_bytes().unwrap()),
        ("landmarks", NystromPca::new(over()).n_components(1).fit(&points).unwrap().to_bytes().unwrap()),
        ("clusters", scaled.to_bytes().unwrap()),
        ("clusters_over_landmarks", over_landmarks.to_bytes().unwrap()),
        ("autoencoder", codes.fit(&points).unwrap().to_bytes().unwrap()),
        ("autoencoder_span", on_span.fit(&points).unwrap().to_bytes().unwrap()),
    ]
}

#[test]
fn seeds_are_of_every_kind_of_model() {
    let seeds: Vec<BTreeSet<String>> = seeds("model").iter().map(|bytes| layout(bytes)).collect();
    for (kind, bytes) in models_of_every_kind() {
        let layout = layout(&bytes);
        assert!(seeds.contains(&layout), "{kind} models have {layout:?}, and no seed does");
    }
}

#[test]
fn seeds_of_models_can_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.mercer");
    for bytes in seeds("model") {
        std::fs::write(&path, bytes).unwrap();
        let model = AnyModel::load(&path).unwrap();
        // Some components cannot learn on, and say so.
        if !matches!(model, AnyModel::KernelPca(_)) {
            assert_eq!(use_model(&model), Ok(()));
        }
    }
}
