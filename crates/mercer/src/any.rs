//! Whatever a model file holds.

use std::path::Path;

use crate::autoencoder::Autoencoder;
use crate::cluster::ClusterModel;
use crate::error::{Error, Result};
use crate::model::{Model, bad, read_checked};

/// A model of any kind, as its file tells.
///
/// ```
/// use mercer::{AnyModel, Kernel, Points, SpectralClustering};
///
/// # let folder = std::env::temp_dir().join(format!("mercer-any-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("clusters.mercer");
/// let points = Points::from_f64(vec![0.0, 0.1, 7.0, 7.1], 4, 1)?;
/// SpectralClustering::new(Kernel::gaussian(1.0)?, 2).fit(&points)?.save(&path)?;
/// assert!(matches!(AnyModel::load(&path)?, AnyModel::Clusters(_)));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum AnyModel {
    /// Components in feature space.
    KernelPca(Box<Model>),
    /// An encoder and a decoder.
    Autoencoder(Box<Autoencoder>),
    /// Clusters of points.
    Clusters(Box<ClusterModel>),
}

impl AnyModel {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is none of them, is damaged, or was written by a later version.
    pub fn load(path: &Path) -> Result<Self> {
        let foreign = |why: &str| -> Error { bad(path, format!("not a Mercer model, or cut short ({why})")) };
        let bytes = read_checked(path, &foreign)?;
        Ok(if Autoencoder::is_in(&bytes) {
            Self::Autoencoder(Box::new(Autoencoder::read(path, &bytes)?))
        } else if ClusterModel::is_in(&bytes) {
            Self::Clusters(Box::new(ClusterModel::read(path, &bytes, None)?))
        } else {
            Self::KernelPca(Box::new(Model::read(path, &bytes, None)?))
        })
    }
}
