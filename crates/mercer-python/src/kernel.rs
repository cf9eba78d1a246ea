//! Kernels that are Python functions.

use std::fmt;

use mercer::kernel::CustomKernel;
use mercer::{Error, Kernel};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::block;
use crate::run::nobody_waits;
use crate::shared::called_by_work;

/// A Python function, called with two points or with two blocks of points.
struct Callable {
    name: String,
    function: Py<PyAny>,
    keywords: Option<Py<PyDict>>,
    takes_blocks: bool,
}

/// The kernel that calls `function`, with `keywords`: for each pair of points, or once for two blocks of them.
pub(crate) fn callable(function: &Bound<'_, PyAny>, keywords: Option<Bound<'_, PyDict>>, takes_blocks: bool) -> Kernel {
    let name = function.getattr("__name__").and_then(|name| name.extract()).unwrap_or_else(|_| "custom".to_owned());
    let (function, keywords) = (function.clone().unbind(), keywords.map(Bound::unbind));
    Kernel::custom(Callable { name, function, keywords, takes_blocks })
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callable").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CustomKernel for Callable {
    fn name(&self) -> &str {
        &self.name
    }

    fn fill(&self, rows: &[f64], columns: &[f64], n_features: usize, out: &mut [f64]) -> mercer::Result<()> {
        Python::attach(|py| {
            let filled = if self.takes_blocks {
                self.fill_block(py, rows, columns, n_features, out)
            } else {
                self.fill_pairs(py, rows, columns, n_features, out)
            };
            filled.map_err(|failure| match failure {
                Failure::Stopped => Error::Interrupted { phase: "calling a kernel" },
                Failure::Raised(error) => {
                    Error::CustomKernelFailed { kernel: self.name.clone(), source: Box::new(error) }
                }
            })
        })
    }
}

/// Why there are no kernel values.
enum Failure {
    /// Nobody waits for them any more.
    Stopped,
    /// An exception.
    Raised(PyErr),
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl Callable {
    /// Calls the function, unless the run was stopped: the calls of one tile may take minutes.
    fn call<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        if nobody_waits() {
            return Err(Failure::Stopped);
        }
        let keywords = self.keywords.as_ref().map(|keywords| keywords.bind(py));
        Ok(called_by_work(|| self.function.bind(py).call((x, y), keywords))?)
    }

    fn fill_pairs(
        &self,
        py: Python<'_>,
        rows: &[f64],
        columns: &[f64],
        n_features: usize,
        out: &mut [f64],
    ) -> Result<(), Failure> {
        let points = |values: &[f64]| -> PyResult<Vec<Py<PyAny>>> {
            let block = block(py, values, n_features)?;
            (0..values.len() / n_features).map(|i| Ok(block.get_item(i)?.unbind())).collect()
        };
        let (rows, columns) = (points(rows)?, points(columns)?);
        for (x, line) in rows.iter().zip(out.chunks_exact_mut(columns.len())) {
            for (y, value) in columns.iter().zip(line) {
                *value = self.call(py, x.bind(py), y.bind(py))?.extract().map_err(|_| {
                    PyTypeError::new_err(format!(
                        "the kernel {} must return a number for two points; wrap it in mercer.block_kernel if it takes two \
                         blocks of points",
                        self.name
                    ))
                })?;
            }
        }
        Ok(())
    }

    fn fill_block(
        &self,
        py: Python<'_>,
        rows: &[f64],
        columns: &[f64],
        n_features: usize,
        out: &mut [f64],
    ) -> Result<(), Failure> {
        let (x, y) = (block(py, rows, n_features)?, block(py, columns, n_features)?);
        let shape = [rows.len() / n_features, columns.len() / n_features];
        let values = self.call(py, &x, &y)?;
        let asarray = py.import("numpy")?.getattr("asarray")?;
        let values = asarray.call1((values, "float64"))?;
        let values: PyReadonlyArray2<'_, f64> = values.extract().map_err(|_| self.wrong_shape(shape, "another"))?;
        if values.shape() != shape {
            return Err(self.wrong_shape(shape, &format!("{:?}", values.shape())).into());
        }
        out.iter_mut().zip(values.as_array()).for_each(|(to, &from)| *to = from);
        Ok(())
    }

    fn wrong_shape(&self, expected: [usize; 2], found: &str) -> PyErr {
        PyValueError::new_err(format!(
            "the kernel {} must return one value per pair of points, an array of shape {expected:?}, but its shape is {found}",
            self.name
        ))
    }
}
