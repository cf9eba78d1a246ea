//! Damaged model files, as they are and with a digest that fits the damage: behind it, what is read must be checked as well.

use std::path::Path;

use mercer::AnyModel;

use super::super::model::{sealed_model, use_model};
use super::{seeds, torment};

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
