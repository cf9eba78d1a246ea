//! Whatever a model file holds.

use std::path::Path;

use super::model::Autoencoder;
use crate::error::{Error, Result};
use crate::model::{Model, bad, read_checked};

/// A model of either kind, as its file tells.
///
/// ```
/// use mercer::{AnyModel, AutoencoderKernelPca, Points};
///
/// # let folder = std::env::temp_dir().join(format!("mercer-any-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("codes.mercer");
/// let points = Points::from_f64((0..40).map(|i| f64::from(i % 7)).collect::<Vec<_>>(), 10, 4)?;
/// AutoencoderKernelPca::new(2).epochs(1).fit(&points)?.save(&path)?;
/// assert!(matches!(AnyModel::load(&path)?, AnyModel::Autoencoder(_)));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum AnyModel {
    /// Components in feature space.
    KernelPca(Box<Model>),
    /// An encoder and a decoder.
    Autoencoder(Box<Autoencoder>),
}

impl AnyModel {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is neither, is damaged, or was written by a later version.
    pub fn load(path: &Path) -> Result<Self> {
        let foreign = |why: &str| -> Error { bad(path, format!("not a Mercer model, or cut short ({why})")) };
        let bytes = read_checked(path, &foreign)?;
        Ok(if Autoencoder::is_in(&bytes) {
            Self::Autoencoder(Box::new(Autoencoder::read(path, &bytes)?))
        } else {
            Self::KernelPca(Box::new(Model::read(path, &bytes, None)?))
        })
    }
}
