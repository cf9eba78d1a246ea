//! Names of features: what a table calls the columns that a model was learned from.
//!
//! In a model's file they are one tensor of bytes, a JSON array of strings. The digest covers tensors, and programs that do not know this one
//! pass it over: they go by the order of columns, as they always did.

use std::collections::HashSet;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors};

use super::container::Tensor;
use super::file::bad;
use super::fitted::Model;
use crate::error::{Error, Result};

/// The name of the tensor.
const TENSOR: &str = "feature_names";

impl Model {
    /// The model of points whose columns have names: whoever has a table can then find them, in whatever order they stand there.
    ///
    /// ```
    /// use mercer::{Kernel, KernelPca, Points};
    ///
    /// let points = Points::from_f64(vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 5.0, 5.0], 4, 2)?;
    /// let fit = || KernelPca::new(Kernel::gaussian(0.1)?).fit(&points);
    /// let model = fit()?.with_feature_names(vec!["width".to_owned(), "height".to_owned()])?;
    /// assert_eq!(model.feature_names().unwrap(), ["width", "height"]);
    /// assert!(fit()?.with_feature_names(vec!["width".to_owned()]).is_err(), "one name for two columns");
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are not as many names as features, or two are the same.
    pub fn with_feature_names(mut self, names: Vec<String>) -> Result<Self> {
        check(&names, self.n_features())?;
        self.feature_names = Some(names);
        Ok(self)
    }

    /// What the columns of points are called, in their order; `None` if they had no names.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }
}

/// Refuses names that are not as many as there are features, or not all different.
pub(crate) fn check(names: &[String], n_features: usize) -> Result<()> {
    if names.len() != n_features {
        let requirement = format!("as many names as there are features ({n_features})");
        return Err(Error::invalid("feature_names", requirement, names.len()));
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(Error::invalid("feature_names", "names that are all different", format!("{twice:?} twice"))),
        None => Ok(()),
    }
}

/// The tensor that tells names, if there are any.
pub(crate) fn tensor(names: Option<&[String]>) -> Option<Tensor> {
    let data = serde_json::to_vec(names?).expect("strings can always be written");
    Some(Tensor { name: TENSOR, dtype: Dtype::U8, shape: vec![data.len()], data })
}

/// The names that a file tells, if it does.
pub(crate) fn read(tensors: &SafeTensors<'_>, n_features: usize, path: &Path) -> Result<Option<Vec<String>>> {
    let Ok(view) = tensors.tensor(TENSOR) else { return Ok(None) };
    let wrong = |why: String| bad(path, format!("the tensor \"{TENSOR}\" does not hold names: {why}"));
    if view.dtype() != Dtype::U8 {
        return Err(wrong(format!("it has type {:?} instead of U8", view.dtype())));
    }
    let names: Vec<String> = serde_json::from_slice(view.data()).map_err(|error| wrong(error.to_string()))?;
    check(&names, n_features).map_err(|error| wrong(error.to_string()))?;
    Ok(Some(names))
}
