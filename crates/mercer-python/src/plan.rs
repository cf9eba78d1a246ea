//! What a fit would do.

use mercer::{Precision, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::points;
use crate::error::to_python;
use crate::settings::{Settings, precision};

/// What data a plan is made for: an array, or its shape and type.
#[derive(FromPyObject)]
enum Data<'py> {
    Shape(usize, usize, String),
    Array(Bound<'py, PyAny>),
}

/// The plan of a fit, as JSON and as text.
#[pyfunction]
pub(crate) fn plan(py: Python<'_>, data: &Bound<'_, PyAny>, settings: Settings<'_>) -> PyResult<(String, String)> {
    let pca = settings.kernel_pca()?;
    let plan: Result<mercer::Plan> = match data.extract()? {
        Data::Shape(n_samples, n_features, dtype) => {
            let precision: Precision = precision(&dtype)?;
            py.detach(|| pca.plan_shape(n_samples, n_features, precision))
        }
        Data::Array(array) => {
            let (points, scaling) = (points(&array)?, settings.scaling);
            py.detach(|| match scaling {
                None => pca.plan(&points),
                Some(scaling) => pca.plan(&scaling.resolve(&points)?.apply(&points)?),
            })
        }
    };
    let plan = plan.map_err(to_python)?;
    let json = serde_json::to_string(&plan).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((json, plan.to_string()))
}
