//! The extension module `_mercer` of the Python package `mercer`.
//!
//! Converts, releases the interpreter, calls the library, maps errors; there is no arithmetic in it. What users see is the
//! package in `python/mercer`.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 makes arguments from Python objects and hands them over")]

mod autoencoder;
mod cluster;
mod convert;
mod denoise;
mod error;
mod fourier;
mod hebbian;
mod kernel;
mod model;
mod nystrom;
mod online;
mod plan;
mod preimage;
mod product;
mod ridge;
mod run;
mod settings;
mod shared;
mod tune;
mod upscale;

use pyo3::prelude::*;

/// Kernel PCA that is exact at any size within a memory budget.
// Nobody has tried it without the global lock: an interpreter that could do without it takes it while this module is loaded.
#[pymodule(gil_used = true)]
mod _mercer {
    #[pymodule_export]
    use crate::autoencoder::{Autoencoder, load_any};
    #[pymodule_export]
    use crate::cluster::{ClusterModel, agreement};
    #[pymodule_export]
    use crate::denoise::{denoise_image, denoise_rows, noise_removed, snr};
    #[pymodule_export]
    use crate::error::{ConvergenceError, MemoryBudgetError};
    #[pymodule_export]
    use crate::fourier::{fourier_features, fourier_map};
    #[pymodule_export]
    use crate::hebbian::HebbianLearner;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::nystrom::{nystrom_features, nystrom_map, nystrom_trace_error};
    #[pymodule_export]
    use crate::online::OnlineLearner;
    #[pymodule_export]
    use crate::plan::plan;
    #[pymodule_export]
    use crate::preimage::preimages;
    #[pymodule_export]
    use crate::product::kernel_product;
    #[pymodule_export]
    use crate::ridge::{check_ridge_memory, ridge_coefficients};
    #[pymodule_export]
    use crate::settings::{format_bytes, memory_beside};
    #[pymodule_export]
    use crate::tune::{tune_ard, tune_kernel, tune_parameters, write_text};
    #[pymodule_export]
    use crate::upscale::upscale;

    use super::{Bound, PyDictMethods, PyModule, PyModuleMethods, PyResult};
    use pyo3::types::{PyDict, PyTuple};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Names of choices stand once, in the library.
        for (name, choices) in [
            ("CRITERIA", mercer::tune::Criterion::NAMES),
            ("EXPANSIONS", mercer::ExpansionMethod::NAMES),
            ("GAINS", mercer::GainRule::NAMES),
            ("GRADIENTS", mercer::autoencoder::Gradient::NAMES),
            ("GRAMS", mercer::GramChoice::NAMES),
            ("INVERSES", mercer::preimage::PreimageMethod::NAMES),
            ("LANDMARKS", mercer::nystrom::Landmarks::NAMES),
            ("NEGATIVES", mercer::Negative::NAMES),
            ("OPTIMIZERS", mercer::autoencoder::Optimizer::NAMES),
            ("POLICIES", mercer::online::Policy::NAMES),
            ("REFRESHES", mercer::Refresh::NAMES),
            ("RULES", mercer::online::Rule::NAMES),
            ("SCHEDULES", mercer::online::Schedule::NAMES),
            ("SIGNS", mercer::autoencoder::Sign::NAMES),
            ("SOLVERS", mercer::SolverChoice::NAMES),
            ("SPANS", mercer::autoencoder::SpanChoice::NAMES),
            ("TUNE_METHODS", mercer::tune::TuneMethod::NAMES),
        ] {
            module.add(name, PyTuple::new(module.py(), choices)?)?;
        }
        let options = PyDict::new(module.py());
        for name in mercer::preimage::PreimageMethod::NAMES {
            let method: mercer::preimage::PreimageMethod = name.parse().map_err(crate::error::to_python)?;
            options.set_item(name, PyTuple::new(module.py(), method.settings())?)?;
        }
        module.add("INVERSE_OPTIONS", options)?;
        let kernels = mercer::kernel::NAMES.into_iter().chain(mercer::kernel::ALIASES.map(|(alias, _)| alias));
        module.add("KERNELS", PyTuple::new(module.py(), kernels.chain(["precomputed"]).collect::<Vec<_>>())?)?;
        module.add("DEFAULT_LANDMARKS", mercer::nystrom::Nystrom::DEFAULT_LANDMARKS)?;
        module.add("MOST_THREADS", mercer::watch::Threads::MOST)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("INSTRUCTIONS", mercer::simd::Isa::detect().name())
    }
}
