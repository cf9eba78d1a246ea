//! What is done with a model whose file was accepted: it must be usable, or say why not. And a digest that fits what was done to a file.

use std::fmt::Write;

use faer::Mat;
use mercer::autoencoder::{Codec, Sign};
use mercer::online::OnlineKernelPca;
use mercer::{AnyModel, Autoencoder, ClusterModel, Model};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::learner::{some_rows, use_learner};

/// Asks a model for all that can be asked of its kind.
///
/// # Errors
///
/// What the user would be told: by the first call that could not do what was asked.
///
/// # Panics
///
/// If the model contradicts itself, which is what fuzzing looks for.
pub fn use_model(model: &AnyModel) -> Result<(), String> {
    match model {
        AnyModel::KernelPca(model) => use_components(model),
        AnyModel::Autoencoder(model) => use_autoencoder(model),
        AnyModel::Clusters(model) => use_clusters(model),
    }
}

fn use_components(model: &Model) -> Result<(), String> {
    // A model of a given matrix has no points.
    let points = model.basis().slice(0..model.basis().n_samples().min(1));
    let scores = model.transform(&points).map_err(|error| error.to_string())?;
    assert_eq!((scores.nrows(), scores.ncols()), (points.n_samples(), model.n_components()));
    let record = serde_json::to_string(model.record()).map_err(|error| error.to_string())?;
    assert!(!record.is_empty());
    // Components can learn on, or it is said why not; with all points, and with fewer than there are.
    let settings = OnlineKernelPca::for_model(model);
    for settings in [settings.clone(), settings.budget(model.n_components() + 2)] {
        use_learner(settings.learner_from(model).map_err(|error| error.to_string())?)?;
    }
    Ok(())
}

fn use_autoencoder(model: &Autoencoder) -> Result<(), String> {
    let (model, said) = (model.clone().with_threads(1), |error: mercer::Error| error.to_string());
    let point = some_rows(1, model.n_features()).map_err(said)?;
    let codes = model.encode(&point).map_err(said)?;
    // A sign that the coordinates decide knows no reference.
    let reference = (model.sign() == Sign::Nearest).then_some(&point);
    let again = model.decode(codes.as_ref(), reference).map_err(said)?;
    let losses = model.losses(&point).map_err(said)?;
    let is_finite = |numbers: &Mat<f64>| numbers.col_iter().all(|column| column.iter().all(|x| x.is_finite()));
    assert!(is_finite(&codes) && is_finite(&again) && losses[0].is_finite(), "{codes:?} {again:?} {losses:?}");
    assert_eq!((again.nrows(), again.ncols(), codes.ncols()), (1, model.n_features(), model.n_components()));
    Ok(())
}

fn use_clusters(model: &ClusterModel) -> Result<(), String> {
    let points = model.basis().slice(0..model.basis().n_samples().min(1));
    let found = model.predict(&points).map_err(|error| error.to_string())?;
    assert!(found.iter().all(|&cluster| cluster < model.record().n_clusters));
    Ok(())
}

/// The same model file with a digest that fits it; `None` if it is damaged so much that it has no place for one.
pub fn sealed_model(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    let (header, tensors) = bytes[8..].split_at_checked(length)?;
    let mut header: Value = serde_json::from_slice(header).ok()?;
    // A model's own entry has a name for every kind of model.
    let key = header["__metadata__"].as_object()?.keys().find(|key| key.starts_with("mercer"))?.clone();
    let mut own: Value = serde_json::from_str(header["__metadata__"][&key].as_str()?).ok()?;
    *own.get_mut("digest")? = "".into();
    let mut hasher = Sha256::new();
    hasher.update(own.to_string());
    // Names are in their order: so are the keys of an object.
    for (name, tensor) in header.as_object()?.iter().filter(|(name, _)| *name != "__metadata__") {
        let numbers = |value: &Value| -> Option<Vec<usize>> {
            value.as_array()?.iter().map(|number| usize::try_from(number.as_u64()?).ok()).collect()
        };
        let offsets = numbers(&tensor["data_offsets"])?;
        hasher.update(format!("{name}{:?}", numbers(&tensor["shape"])?));
        hasher.update(tensors.get(*offsets.first()?..*offsets.get(1)?)?);
    }
    let mut digest = String::new();
    for byte in hasher.finalize() {
        write!(digest, "{byte:02x}").ok()?;
    }
    own["digest"] = digest.into();
    header["__metadata__"][&key] = own.to_string().into();
    let header = header.to_string();
    Some([&(header.len() as u64).to_le_bytes(), header.as_bytes(), tensors].concat())
}
