//! The one place where errors of the library become Python exceptions.

use mercer::{Error, ErrorKind};
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    mercer,
    MemoryBudgetError,
    PyMemoryError,
    "What was asked for does not fit the memory budget; the message says what would."
);
pyo3::create_exception!(
    mercer,
    ConvergenceError,
    PyRuntimeError,
    "The answer did not reach the asked accuracy, or the run was stopped before there was one."
);

/// What users of the package call parameters that the library calls otherwise.
const CALLED: [(&str, &str); 14] = [
    ("accuracy", "tolerance"),
    ("codes", "X"),
    ("labels", "labels_pred"),
    ("max_passes", "max_iter"),
    ("memory", "memory_limit"),
    ("model", "reference"),
    ("new data", "X"),
    ("outputs", "X"),
    ("patch", "patch_size"),
    ("points", "X"),
    ("restarts", "n_init"),
    ("scores", "X"),
    ("threads", "n_jobs"),
    ("validation", "validation_fraction"),
];

/// The same error with the name that users of the package know.
fn as_called(error: Error) -> Error {
    match error {
        Error::InvalidParameter { name, requirement, value } => {
            let called = CALLED.iter().find(|(theirs, _)| *theirs == name).map_or(name, |&(_, ours)| ours);
            Error::InvalidParameter { name: called, requirement, value }
        }
        other => other,
    }
}

/// The exception for an error; an exception that a kernel raised is passed on as it is.
pub(crate) fn to_python(error: Error) -> PyErr {
    let error = as_called(error);
    let message = error.to_string();
    let error = match error {
        Error::CustomKernelFailed { source, .. } => match source.downcast::<PyErr>() {
            Ok(raised) => return *raised,
            Err(_) => return PyValueError::new_err(message),
        },
        Error::ModelFile { .. } => return PyValueError::new_err(message),
        other => other,
    };
    match error.kind() {
        ErrorKind::InvalidInput => PyValueError::new_err(sentence(&message)),
        ErrorKind::OverBudget => MemoryBudgetError::new_err(sentence(&message)),
        ErrorKind::NotConverged | ErrorKind::Interrupted => ConvergenceError::new_err(sentence(&message)),
        ErrorKind::Io => match error {
            // With the system's number, so that Python picks its own class for it (FileNotFoundError and the like).
            Error::Io { path, source, .. } => match source.raw_os_error() {
                Some(number) => {
                    let text = source.to_string();
                    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
                    PyOSError::new_err((number, text, path.display().to_string()))
                }
                None => PyOSError::new_err(message),
            },
            _ => PyOSError::new_err(message),
        },
    }
}

/// The message with a capital first letter, as messages are written in Python.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
