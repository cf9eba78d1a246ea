//! What a fit would do.

use mercer::data::Scaling;
use mercer::nystrom::NystromPca;
use mercer::preimage::RidgePreimage;
use mercer::watch::{Threads, Watch};
use mercer::{KernelPca, Plan, Points, Precision};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::points;
use crate::error::to_python;
use crate::nystrom::PcaSettings;
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
/// Without `exact` it is that of a fit over landmarks, with `exact` and `rough` of one to an accuracy. `copied` is how many bytes the package takes
/// for copies of the data, which are not in the budget of the settings any more. A shape is that of the data as the kernel will see it.
#[pyfunction]
#[pyo3(signature = (data, exact, rough, *, learns_inverse=false, copied=0))]
pub(crate) fn plan(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    exact: Option<Settings<'_>>,
    rough: Option<PcaSettings<'_>>,
    learns_inverse: bool,
    copied: u64,
) -> PyResult<(String, String)> {
    let common = exact.as_ref().map(|exact| (&exact.memory_limit, exact.threads, &exact.scaling));
    let common = common.or_else(|| rough.as_ref().map(|rough| (&rough.memory_limit, rough.threads, &rough.scaling)));
    let (limit, threads, scaling) = common.unwrap_or((&None, None, &None));
    let (memory, threads) = (memory(limit.as_deref())?, threads.unwrap_or_else(Threads::available));
    let scaling = scaling.clone();
    let wanted = match (exact, rough) {
        (Some(exact), None) => Wanted::Exact(exact.kernel_pca()?),
        (Some(exact), Some(rough)) => Wanted::ToAccuracy(Box::new((exact.kernel_pca()?, rough.pca()?))),
        (None, Some(rough)) => Wanted::Landmarks(rough.pca()?),
        (None, None) => return Err(PyValueError::new_err("settings of a fit are needed")),
    };
    let (mut plan, shape): (Plan, _) = match data.extract()? {
        Data::Shape(n, d, dtype) => (py.detach(|| wanted.of_shape(n, d, &dtype)).map_err(to_python)?, (n, d)),
        Data::Array(array) => {
            let points = points(&array)?;
            let shape = (points.n_samples(), points.n_features());
            let plan = run_through(py, None, None, move |watch| match scaling {
                None => wanted.of_points(&points, watch),
                Some(scaling) => {
                    let scaling = scaling.resolve(&points)?;
                    wanted.scaled_by(&scaling)?.of_points(&scaling.apply(&points)?, watch)
                }
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

/// Which fit is planned.
enum Wanted {
    Exact(KernelPca),
    Landmarks(NystromPca),
    ToAccuracy(Box<(KernelPca, NystromPca)>),
}

impl Wanted {
    /// The same of points that go through a scaling first.
    fn scaled_by(self, scaling: &Scaling) -> mercer::Result<Self> {
        match self {
            Self::Landmarks(rough) => rough.scaled_by(scaling).map(Self::Landmarks),
            // Nobody gives the landmarks of a fit to an accuracy.
            Self::Exact(_) | Self::ToAccuracy(_) => Ok(self),
        }
    }

    fn of_points(&self, points: &Points, watch: &Watch<'_>) -> mercer::Result<Plan> {
        match self {
            Self::Exact(exact) => exact.plan_watched(points, watch),
            Self::Landmarks(rough) => Ok(rough.plan_record(points, watch)?.plan),
            Self::ToAccuracy(both) => Ok(both.1.plan_record_to_accuracy(&both.0, points, watch)?.plan),
        }
    }

    fn of_shape(&self, n: usize, d: usize, dtype: &str) -> mercer::Result<Plan> {
        let precision = if dtype == "float64" { Precision::F64 } else { Precision::F32 };
        match self {
            Self::Exact(exact) if dtype == "uint8" => exact.plan_bytes(n, d),
            Self::Exact(exact) => exact.plan_shape(n, d, precision),
            Self::Landmarks(rough) => rough.plan_shape(n, d, precision),
            Self::ToAccuracy(both) => both.1.plan_shape_to_accuracy(&both.0, n, d, precision),
        }
    }
}
