//! Settings: from the dictionary that the package makes to the library's.

use mercer::data::{Moments, Scaling};
use mercer::kernel::{KernelSpec, Parameter, Width};
use mercer::watch::Threads;
use mercer::{
    Center, GramChoice, Kernel, KernelChoice, KernelPca, MemoryBudget, Negative, NegativeScope, Points, Precision,
    SolverChoice, Watch, ZeroComponents,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_python;
use crate::kernel::callable;

/// A kernel as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct KernelSettings<'py> {
    /// A name or a function.
    kernel: Bound<'py, PyAny>,
    /// Whether a function takes blocks of points.
    takes_blocks: bool,
    /// Arguments of a function.
    keywords: Option<Bound<'py, PyDict>>,
    gamma: Option<Gamma>,
    bandwidth: Option<f64>,
    degree: Option<u32>,
    coef0: Option<f64>,
    /// The tail exponent of the rational quadratic kernel.
    tail: Option<f64>,
}

/// How the width is found.
#[derive(FromPyObject)]
enum Gamma {
    Number(f64),
    Name(String),
}

impl KernelSettings<'_> {
    /// Whether anything was said of the width.
    pub(crate) fn has_width(&self) -> bool {
        self.gamma.is_some() || self.bandwidth.is_some()
    }

    /// The kernel or its specification. Parameters that a kernel does not have are left out, as scikit-learn does.
    pub(crate) fn choice(&self) -> PyResult<KernelChoice> {
        let Ok(name) = self.kernel.extract::<String>() else {
            let function = callable(&self.kernel, self.keywords.clone(), self.takes_blocks);
            return Ok(KernelChoice::Known(function));
        };
        let specimen = KernelSpec::specimen(&name).map_err(to_python)?;
        let has = |parameter| specimen.parameters().contains(&parameter);
        let mut spec = KernelSpec::new(name.clone());
        match (self.width()?, has(Parameter::Gamma)) {
            (Some(width), true) => spec = spec.width(width),
            // A number is what scikit-learn's users may leave in place when they change the kernel.
            (None | Some(Width::Gamma(_)), _) => {}
            (Some(width), false) => {
                return Err(PyValueError::new_err(format!(
                    "the {name} kernel has no width: gamma and bandwidth must be left out, but the width is {width}"
                )));
            }
        }
        if let (Some(degree), Kernel::Polynomial(_)) = (self.degree, &specimen) {
            spec = spec.degree(degree);
        }
        if let (Some(coef0), true) = (self.coef0, has(Parameter::Coef0)) {
            spec = spec.coef0(coef0);
        }
        if let Some(tail) = self.tail {
            spec = spec.alpha(tail);
        }
        Ok(KernelChoice::Spec(spec))
    }

    /// The kernel for these points, if nothing has to be searched for: that is long work, and [`kernel_for`]'s.
    pub(crate) fn resolve(&self, points: &Points) -> PyResult<Kernel> {
        match self.choice()? {
            KernelChoice::Known(kernel) => Ok(kernel),
            KernelChoice::Spec(spec) => spec.resolve(points).map_err(to_python),
        }
    }

    /// The kernel if it is a function.
    pub(crate) fn custom(&self) -> PyResult<Option<Kernel>> {
        Ok(match self.choice()? {
            KernelChoice::Known(kernel) => Some(kernel),
            KernelChoice::Spec(_) => None,
        })
    }

    fn width(&self) -> PyResult<Option<Width>> {
        match (&self.gamma, self.bandwidth) {
            (Some(_), Some(_)) => {
                Err(PyValueError::new_err("gamma and bandwidth say the same thing: give one of them"))
            }
            (None, Some(bandwidth)) => Ok(Some(Width::Bandwidth(bandwidth))),
            (None, None) => Ok(None),
            (Some(Gamma::Number(gamma)), None) => Ok(Some(Width::Gamma(*gamma))),
            (Some(Gamma::Name(name)), None) => match name.as_str() {
                "scale" => Ok(Some(Width::Scale)),
                "median" => Ok(Some(Width::Median)),
                "auto" => Ok(Some(Width::Auto)),
                other => Err(PyValueError::new_err(format!(
                    "`gamma` must be a positive number, None, \"auto\", \"scale\" or \"median\", but it is \"{other}\""
                ))),
            },
        }
    }
}

/// The kernel for these points, with what a search for its width has to say; long work if there is one.
pub(crate) fn kernel_for(
    choice: KernelChoice,
    points: &Points,
    threads: &Threads,
    watch: &Watch<'_>,
) -> mercer::Result<(Kernel, Vec<String>)> {
    match choice {
        KernelChoice::Known(kernel) => Ok((kernel, Vec::new())),
        // Neither products nor features have a seed for the search.
        KernelChoice::Spec(spec) => spec.resolve_told(points, 0, threads, watch),
    }
}

/// What kernel PCA is asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings<'py> {
    kernel: KernelSettings<'py>,
    n_components: Option<usize>,
    /// The share of the variance to be explained, instead of a number of components.
    variance: Option<f64>,
    center: bool,
    gram: String,
    solver: String,
    precision: Option<String>,
    tolerance: Option<f64>,
    max_passes: Option<usize>,
    pub(crate) memory_limit: Option<String>,
    pub(crate) threads: Option<usize>,
    seed: u64,
    negative: String,
    negative_scope: String,
    zero_components: String,
    pub(crate) scaling: Option<ScalingSettings>,
}

/// What is done to the columns before a kernel sees them, as the package describes it.
#[derive(Clone, Debug, FromPyObject, IntoPyObject)]
pub(crate) enum ScalingSettings {
    /// A factor for all columns.
    By(f64),
    /// "standardize", which is the only name.
    Named(String),
}

impl ScalingSettings {
    /// What the settings mean for these points.
    pub(crate) fn resolve(&self, points: &Points) -> mercer::Result<Scaling> {
        match self {
            Self::By(factor) => Scaling::uniform(*factor, points.n_features()),
            Self::Named(_) => Ok(Scaling::standardizing(&Moments::of(points))),
        }
    }
}

impl From<&Scaling> for ScalingSettings {
    fn from(scaling: &Scaling) -> Self {
        scaling.common_factor().map_or_else(|| Self::Named("standardize".to_owned()), Self::By)
    }
}

impl Settings<'_> {
    pub(crate) fn kernel_pca(&self) -> PyResult<KernelPca> {
        let mut pca = KernelPca::new(self.kernel.choice()?)
            .center(center(self.center))
            .gram(self.gram.parse::<GramChoice>().map_err(to_python)?)
            .solver(self.solver.parse::<SolverChoice>().map_err(to_python)?)
            .memory(memory(self.memory_limit.as_deref())?)
            .seed(self.seed)
            .negative(self.negative.parse::<Negative>().map_err(to_python)?)
            .negative_scope(match self.negative_scope.as_str() {
                "asked" => NegativeScope::Asked,
                "asked-by-modulus" => NegativeScope::AskedByModulus,
                _ => NegativeScope::Seen,
            })
            .zero_components(match self.zero_components.as_str() {
                "keep" => ZeroComponents::Keep,
                _ => ZeroComponents::DropAll,
            });
        if let Some(n_components) = self.n_components {
            pca = pca.n_components(n_components);
        }
        if let Some(share) = self.variance {
            pca = pca.variance(share);
        }
        if let Some(name) = &self.precision {
            pca = pca.precision(precision(name)?);
        }
        if let Some(tolerance) = self.tolerance {
            pca = pca.tolerance(tolerance);
        }
        if let Some(max_passes) = self.max_passes {
            pca = pca.max_passes(max_passes);
        }
        if let Some(threads) = self.threads {
            pca = pca.threads(threads);
        }
        Ok(pca)
    }
}

pub(crate) const fn center(center: bool) -> Center {
    if center { Center::Yes } else { Center::No }
}

pub(crate) fn precision(name: &str) -> PyResult<Precision> {
    match name {
        "float32" => Ok(Precision::F32),
        "float64" => Ok(Precision::F64),
        other => Err(PyValueError::new_err(format!(
            "`precision` must be None, \"float32\" or \"float64\", but it is \"{other}\""
        ))),
    }
}

/// A budget.
pub(crate) fn memory(limit: Option<&str>) -> PyResult<MemoryBudget> {
    limit.map_or(Ok(MemoryBudget::Auto), |limit| limit.parse().map_err(to_python))
}

/// What is left of a budget beside something that takes so many bytes of it, as text; raises if that is more than there is.
#[pyfunction]
pub(crate) fn memory_beside(limit: Option<&str>, what: &str, size: u64, advice: &str) -> PyResult<Option<String>> {
    let left = memory(limit)?.beside(what, size, advice).map_err(to_python)?;
    Ok(match left {
        MemoryBudget::Bytes(bytes) => Some(format!("{}B", bytes.max(1))),
        _ => limit.map(str::to_owned),
    })
}

/// A number of bytes as people read it.
#[pyfunction]
pub(crate) fn format_bytes(size: u64) -> String {
    mercer::format_bytes(size)
}
