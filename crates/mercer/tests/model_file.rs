//! The model file: what goes in comes out, and nothing else is let in.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use mercer::data::{Moments, Scaling};
use mercer::kernel::PairFunction;
use mercer::{Center, ErrorKind, Kernel, KernelPca, Model, Points};

fn data(n: usize) -> Points {
    Points::from_f32((0..3 * n).map(|i| ((i * 37) % 101) as f32 / 10.0).collect::<Vec<_>>(), n, 3).unwrap()
}

fn model() -> Model {
    KernelPca::new(Kernel::gaussian(0.05).unwrap()).n_components(3).fit(&data(50)).unwrap()
}

fn saved(directory: &tempfile::TempDir) -> PathBuf {
    let path = directory.path().join("a.mercer");
    model().save(&path).unwrap();
    path
}

#[test]
fn a_loaded_model_scores_as_the_saved_one_did() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = Points::from_u8((0..120).map(|i| (i * 7 % 256) as u8).collect::<Vec<_>>(), 40, 3, 0.1).unwrap();
    let double = Points::from_f64((0..120).map(|i| f64::from(i * 7 % 50)).collect::<Vec<_>>(), 40, 3).unwrap();
    for (name, points) in [("f32", data(40)), ("u8", bytes), ("f64", double)] {
        for kernel in [
            Kernel::gaussian(0.01).unwrap(),
            Kernel::polynomial(0.01, 1.0, 2).unwrap(),
            Kernel::rational_quadratic(0.1, 1.5).unwrap(),
            Kernel::linear(),
        ] {
            for center in [Center::Yes, Center::No] {
                let before = KernelPca::new(kernel.clone()).n_components(2).center(center).fit(&points).unwrap();
                let path = directory.path().join("model.mercer");
                before.save(&path).unwrap();
                let after = Model::load(&path).unwrap();
                assert_eq!(before.record(), after.record(), "{name}, {}", kernel.name());
                let gap = (before.transform(&points).unwrap() - after.transform(&points).unwrap()).norm_max();
                assert!(gap == 0.0, "{name}, {}: scores differ by {gap:e}", kernel.name());
            }
        }
    }
}

#[test]
fn a_scaling_is_saved_with_the_model_and_applied_to_new_points() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.mercer");
    let bytes = Points::from_u8((0..120).map(|i| (i * 7 % 256) as u8).collect::<Vec<_>>(), 40, 3, 1.0).unwrap();
    let settings = KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(2);
    for points in [data(40), bytes] {
        for scaling in [Scaling::standardizing(&Moments::of(&points)), Scaling::uniform(0.25, 3).unwrap()] {
            let scaled = scaling.apply(&points).unwrap();
            let plain = settings.fit(&scaled).unwrap();
            let expected = plain.transform(&scaled).unwrap();
            let before = settings.fit(&scaled).unwrap().with_scaling(scaling.clone()).unwrap();
            before.save(&path).unwrap();
            let after = Model::load(&path).unwrap();
            assert_eq!(after.scaling(), Some(&scaling));
            assert!((after.transform(&points).unwrap() - expected).norm_max() == 0.0, "{points:?}");
            // Byte scales are part of the basis, not of the scaling: raw bytes are scaled once, not twice.
            assert_eq!(after.basis().byte_scale(), scaled.byte_scale());
        }
    }
}

fn names(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn names_of_features_are_saved_with_the_model() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.mercer");
    for words in [["a", "b", "c"], ["", "größer \"2\"", "a\nb"]] {
        let before = model().with_feature_names(names(&words)).unwrap();
        before.save(&path).unwrap();
        let after = Model::load(&path).unwrap();
        assert_eq!(after.feature_names().unwrap(), words);
        assert!((before.transform(&data(9)).unwrap() - after.transform(&data(9)).unwrap()).norm_max() == 0.0);
        assert_eq!(before.clone().to_bytes().unwrap(), after.to_bytes().unwrap(), "the same model, the same bytes");
    }
    model().save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap().feature_names(), None);
}

#[test]
fn names_that_are_not_those_of_the_features_are_refused() {
    let refusal = |words: &[&str]| model().with_feature_names(names(words)).unwrap_err().to_string();
    assert_eq!(refusal(&["a", "b"]), "`feature_names` must be as many names as there are features (3), but it is 2");
    assert_eq!(
        refusal(&["a", "b", "a"]),
        "`feature_names` must be names that are all different, but it is \"a\" twice"
    );
}

#[test]
fn names_are_covered_by_the_digest() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.mercer");
    model().with_feature_names(names(&["width", "height", "depth"])).unwrap().save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let place = bytes.windows(5).position(|window| window == b"width").unwrap();
    let mut altered = bytes.clone();
    altered[place] = b'W';
    fs::write(&path, altered).unwrap();
    assert!(Model::load(&path).unwrap_err().to_string().contains("altered"));
}

#[test]
fn only_a_model_with_a_scaling_needs_a_newer_program() {
    let directory = tempfile::tempdir().unwrap();
    let version = |model: &Model| {
        let path = directory.path().join("model.mercer");
        model.save(&path).unwrap();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let place = text.find("\\\"format_version\\\":").unwrap() + "\\\"format_version\\\":".len();
        text[place..].chars().next().unwrap()
    };
    assert_eq!(version(&model()), '1');
    assert_eq!(version(&model().with_feature_names(names(&["a", "b", "c"])).unwrap()), '1');
    assert_eq!(version(&model().with_scaling(Scaling::uniform(2.0, 3).unwrap()).unwrap()), '2');
}

#[test]
fn a_scaling_that_does_not_fit_the_model_is_refused() {
    let error = model().with_scaling(Scaling::uniform(2.0, 4).unwrap()).unwrap_err().to_string();
    assert_eq!(error, "the scaling has 4 columns, but the model was fitted on 3");
    let matrix = Points::from_f64(vec![2.0, 1.0, 1.0, 2.0], 2, 2).unwrap();
    let fitted = || KernelPca::new(Kernel::Precomputed).n_components(1).fit(&matrix).unwrap();
    assert!(fitted().with_scaling(Scaling::uniform(0.5, 2).unwrap()).is_ok());
    let error = fitted().with_scaling(Scaling::standardizing(&Moments::of(&matrix))).unwrap_err().to_string();
    assert_eq!(error, "scaling column by column does not work with the precomputed kernel: its columns are points");
}

#[test]
fn a_precomputed_model_keeps_no_matrix() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.mercer");
    let n = 100;
    let matrix: Vec<f64> = (0..n * n).map(|i| (-((i / n) as f64 - (i % n) as f64).powi(2) / 50.0).exp()).collect();
    let matrix = Points::from_f64(matrix, n, n).unwrap();
    let before = KernelPca::new(Kernel::Precomputed).n_components(2).fit(&matrix).unwrap();
    before.save(&path).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < (n * n) as u64, "the file holds the matrix");
    let after = Model::load(&path).unwrap();
    assert!((before.transform(&matrix).unwrap() - after.transform(&matrix).unwrap()).norm_max() == 0.0);
}

#[test]
fn the_same_model_gives_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let model = model();
    let (a, b) = (directory.path().join("a"), directory.path().join("b"));
    model.save(&a).unwrap();
    model.save(&b).unwrap();
    assert!(fs::read(a).unwrap() == fs::read(b).unwrap());
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(&directory);
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(whole.len() / 40 + 1).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        let error = Model::load(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("not a Mercer model, or cut short"), "{length} bytes: {error}");
    }
}

#[test]
fn a_file_with_one_bit_changed_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(&directory);
    let whole = fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    for place in [header, header + (whole.len() - header) / 2, whole.len() - 1] {
        let mut altered = whole.clone();
        altered[place] ^= 1;
        fs::write(&path, altered).unwrap();
        let error = Model::load(&path).unwrap_err().to_string();
        assert!(error.ends_with("the file has been altered: its contents do not match its digest"), "{error}");
    }
}

#[test]
fn a_header_with_any_byte_changed_is_refused_or_means_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(&directory);
    let original = Model::load(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    for place in 0..header {
        let mut altered = whole.clone();
        altered[place] = altered[place].wrapping_add(1);
        fs::write(&path, altered).unwrap();
        // Blanks that pad the header carry no meaning; everything else does.
        if let Ok(loaded) = Model::load(&path) {
            assert_eq!(loaded.record(), original.record(), "byte {place} of the header changed the model");
        }
    }
}

#[test]
fn an_announced_length_beyond_the_file_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.mercer");
    let mut bytes = (1_u64 << 40).to_le_bytes().to_vec();
    bytes.extend(b"{}");
    fs::write(&path, bytes).unwrap();
    assert!(Model::load(&path).unwrap_err().to_string().contains("not a Mercer model"));
}

#[test]
fn foreign_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.mercer");
    for foreign in [&b"hello, world"[..], b"\x89PNG\r\n\x1a\n0000", b"", b"1,2,3\n4,5,6\n"] {
        fs::write(&path, foreign).unwrap();
        assert!(Model::load(&path).unwrap_err().to_string().contains("not a Mercer model, or cut short"));
    }
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::U8, vec![2], &[1, 2]).unwrap();
    safetensors::serialize_to_file([("weights", view)], None, &path).unwrap();
    let error = Model::load(&path).unwrap_err().to_string();
    assert!(error.ends_with("not a Mercer model, or cut short (its header has no entry \"mercer\")"), "{error}");
}

#[test]
fn a_later_format_is_refused_with_its_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(&directory);
    let mut bytes = fs::read(&path).unwrap();
    let needle = b"\\\"format_version\\\":1";
    let place = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[place + needle.len() - 1] = b'9';
    fs::write(&path, bytes).unwrap();
    let error = Model::load(&path).unwrap_err().to_string();
    assert!(error.ends_with("the file has format 9, but this version reads only up to 3; use a newer one"), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Model::load(std::path::Path::new("no/such/model.mercer")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().starts_with("reading no/such/model.mercer: "), "{error}");
}

#[test]
fn a_save_that_fails_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("taken");
    fs::create_dir(&target).unwrap();
    assert!(model().save(&target).is_err());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(model().save(&directory.path().join("no/such/folder/a.mercer")).is_err());
}

#[test]
fn a_model_with_a_function_for_a_kernel_cannot_be_saved() {
    let kernel = Kernel::custom(PairFunction::new("mine", |x: &[f64], y: &[f64]| x[0] * y[0]));
    let model = KernelPca::new(kernel).n_components(1).fit(&data(10)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let error = model.save(&directory.path().join("a.mercer")).unwrap_err().to_string();
    assert_eq!(error, "saving a model does not work with the mine kernel: a function cannot be written to a file");
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_what_is_no_file_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real.mercer"), directory.path().join("link.mercer"));
    fs::write(&real, "old").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    model().save(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(Model::load(&real).is_ok());
    let refused = model().save(std::path::Path::new("/dev/null")).unwrap_err();
    assert_eq!(refused.to_string(), "/dev/null: this is not a file, so it cannot be replaced by one");
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}
