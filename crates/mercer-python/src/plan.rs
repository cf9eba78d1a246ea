//! What a fit would do.

use mercer::preimage::RidgePreimage;
use mercer::watch::Threads;
use mercer::{Plan, Precision};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::points;
use crate::error::to_python;
use crate::run::run_through;
use crate::settings::{Settings, memory};

/// What data a plan is made for: an array, or its shape and type.
#[derive(FromPyObject)]
enum Data<'py> {
    Shape(usize, usize, String),
    Array(Bound<'py, PyAny>),
}

/// The plan of a fit, as JSON and as text; with `learns_inverse`, of a fit after which the way back from scores is learned.
///
/// `copied` is how many bytes the package takes for copies of the data, which are not in the budget of the settings any more. A shape is that
/// of the data as the kernel will see it.
#[pyfunction]
#[pyo3(signature = (data, settings, *, learns_inverse=false, copied=0))]
pub(crate) fn plan(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    settings: Settings<'_>,
    learns_inverse: bool,
    copied: u64,
) -> PyResult<(String, String)> {
    let (pca, memory) = (settings.kernel_pca()?, memory(settings.memory_limit.as_deref())?);
    let threads = settings.threads.unwrap_or_else(Threads::available);
    let (mut plan, shape): (Plan, _) = match data.extract()? {
        Data::Shape(n_samples, n_features, dtype) => {
            let plan = py.detach(|| match dtype.as_str() {
                "uint8" => pca.plan_bytes(n_samples, n_features),
                "float32" => pca.plan_shape(n_samples, n_features, Precision::F32),
                _ => pca.plan_shape(n_samples, n_features, Precision::F64),
            });
            (plan.map_err(to_python)?, (n_samples, n_features))
        }
        Data::Array(array) => {
            let (points, scaling) = (points(&array)?, settings.scaling);
            let shape = (points.n_samples(), points.n_features());
            let plan = run_through(py, None, None, move |watch| match scaling {
                None => pca.plan_watched(&points, watch),
                Some(scaling) => pca.plan_watched(&scaling.resolve(&points)?.apply(&points)?, watch),
            });
            (plan?, shape)
        }
    };
    if learns_inverse {
        plan = RidgePreimage::plan_after(plan, shape.0, shape.1, memory, threads).map_err(to_python)?;
    }
    let plan = plan.beside(copied, "what is made of the data before the kernel sees it");
    let json = serde_json::to_string(&plan).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((json, plan.to_string()))
}
