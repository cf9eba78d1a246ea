//! Whatever a model file holds, and files that are taken for one.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use crate::autoencoder::Autoencoder;
use crate::cluster::ClusterModel;
use crate::error::{Error, Result};
use crate::hebbian::CHECKPOINT_KEY as HEBBIAN_KEY;
use crate::model::{CHECKPOINT_KEY, Model, bad, read_checked};
use crate::online;

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
    /// If the file cannot be read, is none of them, is damaged, or was written by a later version. A [`StateFile`] is called what it is.
    pub fn load(path: &Path) -> Result<Self> {
        if let Some(state) = StateFile::at(path) {
            return Err(bad(path, state.problem()));
        }
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

/// A file that holds the state of something unfinished, and so no model.
///
/// ```
/// use mercer::online::OnlineKernelPca;
/// use mercer::{AnyModel, Kernel, StateFile};
///
/// # let path = std::env::temp_dir().join(format!("mercer-state-{}", std::process::id()));
/// let mut learner = OnlineKernelPca::new(Kernel::gaussian(1.0)?).learner()?;
/// learner.learn_row(&[1.0, 2.0])?;
/// std::fs::write(&path, learner.to_bytes()?)?;
/// assert_eq!(StateFile::at(&path), Some(StateFile::Stream));
/// let error = AnyModel::load(&path).unwrap_err().to_string();
/// assert!(error.ends_with("this is the state of a stream, which goes on from it, and not a model"));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateFile {
    /// A fit between two passes: a [`Checkpoint`](crate::Checkpoint).
    Fit,
    /// The kernel Hebbian algorithm between two updates: a [`HebbianLearner`](crate::HebbianLearner).
    Hebbian,
    /// A learner of a stream between two rows: a [`Learner`](crate::online::Learner).
    Stream,
}

/// What is looked at in the header of a safetensors file.
#[derive(Deserialize)]
struct Header {
    #[serde(rename = "__metadata__")]
    entries: HashMap<String, String>,
}

impl StateFile {
    /// What the file at `path` is the state of; nothing if it is of none, or cannot be read.
    pub fn at(path: &Path) -> Option<Self> {
        // A pipe could not be read a second time.
        let length = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        let mut file = File::open(path).ok()?;
        let mut bytes = vec![0; online::STATE_MAGIC.len()];
        file.read_exact(&mut bytes).ok()?;
        if bytes == online::STATE_MAGIC.as_bytes() {
            return Some(Self::Stream);
        }
        // Otherwise safetensors: the length of a header, and the header.
        let end = u64::from_le_bytes(*bytes.first_chunk()?).checked_add(8)?;
        if end > length {
            return None;
        }
        file.take(end.saturating_sub(bytes.len() as u64)).read_to_end(&mut bytes).ok()?;
        let Header { entries } = serde_json::from_slice(&bytes[8..]).ok()?;
        let known = [(CHECKPOINT_KEY, Self::Fit), (HEBBIAN_KEY, Self::Hebbian)];
        known.into_iter().find_map(|(key, state)| entries.contains_key(key).then_some(state))
    }

    /// The file in words.
    const fn problem(self) -> &'static str {
        match self {
            Self::Fit => "this is the checkpoint of a fit, which goes on from it, and not a model",
            Self::Hebbian => {
                "this is the checkpoint of the kernel Hebbian algorithm, which goes on from it, and not a model"
            }
            Self::Stream => "this is the state of a stream, which goes on from it, and not a model",
        }
    }
}
