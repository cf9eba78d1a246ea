//! Kernels as the textbooks write them.

use faer::Mat;
use mercer::Kernel;
use mercer::kernel::Parameter;

/// A kernel with its parameters, evaluated straight from its definition.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the symbols of the formulas")]
pub enum Textbook {
    /// `x·y`
    Linear,
    /// `(gamma x·y + coef0)^degree`
    Polynomial { gamma: f64, coef0: f64, degree: i32 },
    /// `exp(-gamma |x - y|²)`
    Gaussian { gamma: f64 },
    /// `exp(-gamma Σ|x_k - y_k|)`
    Laplacian { gamma: f64 },
    /// `exp(-gamma |x - y|)`
    Exponential { gamma: f64 },
    /// `(1 + a) exp(-a)`, `a = √3 gamma |x - y|`
    Matern32 { gamma: f64 },
    /// `(1 + a + a²/3) exp(-a)`, `a = √5 gamma |x - y|`
    Matern52 { gamma: f64 },
    /// `(1 + gamma |x - y|² / alpha)^(-alpha)`
    RationalQuadratic { gamma: f64, alpha: f64 },
    /// `max(0, 1 - gamma |x - y|²)`
    Epanechnikov { gamma: f64 },
    /// `x·y / (|x| |y|)`, zero if a point is zero
    Cosine,
    /// `tanh(gamma x·y + coef0)`
    Sigmoid { gamma: f64, coef0: f64 },
}

impl Textbook {
    /// One of every kernel, with parameters at which no factor happens to be one.
    pub const ALL: [Self; 11] = [
        Self::Linear,
        Self::Polynomial { gamma: 0.4, coef0: 1.5, degree: 3 },
        Self::Gaussian { gamma: 0.3 },
        Self::Laplacian { gamma: 0.35 },
        Self::Exponential { gamma: 0.45 },
        Self::Matern32 { gamma: 0.55 },
        Self::Matern52 { gamma: 0.65 },
        Self::RationalQuadratic { gamma: 0.7, alpha: 1.7 },
        Self::Epanechnikov { gamma: 0.08 },
        Self::Cosine,
        Self::Sigmoid { gamma: 0.25, coef0: -0.6 },
    ];

    /// The kernel of a pair of points.
    pub fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        self.of_scalar(self.scalar(x, y))
    }

    /// What the formula reads off the pair: inner product, squared distance, sum of absolute differences, or cosine.
    pub fn scalar(&self, x: &[f64], y: &[f64]) -> f64 {
        let sum = |term: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(&a, &b)| term(a, b)).sum::<f64>();
        match self {
            Self::Linear | Self::Polynomial { .. } | Self::Sigmoid { .. } => sum(&|a, b| a * b),
            Self::Laplacian { .. } => sum(&|a, b| (a - b).abs()),
            Self::Cosine => {
                let norms = sum(&|a, _| a * a).sqrt() * sum(&|_, b| b * b).sqrt();
                if norms == 0.0 { 0.0 } else { sum(&|a, b| a * b) / norms }
            }
            _ => sum(&|a, b| (a - b).powi(2)),
        }
    }

    /// The kernel where [`scalar`](Self::scalar) is `s`.
    pub fn of_scalar(&self, s: f64) -> f64 {
        match *self {
            Self::Linear | Self::Cosine => s,
            Self::Polynomial { gamma, coef0, degree } => (gamma * s + coef0).powi(degree),
            Self::Gaussian { gamma } | Self::Laplacian { gamma } => (-gamma * s).exp(),
            Self::Exponential { gamma } => (-gamma * s.sqrt()).exp(),
            Self::Matern32 { gamma } => {
                let a = 3.0_f64.sqrt() * gamma * s.sqrt();
                (1.0 + a) * (-a).exp()
            }
            Self::Matern52 { gamma } => {
                let a = 5.0_f64.sqrt() * gamma * s.sqrt();
                (1.0 + a + a * a / 3.0) * (-a).exp()
            }
            Self::RationalQuadratic { gamma, alpha } => (1.0 + gamma * s / alpha).powf(-alpha),
            Self::Epanechnikov { gamma } => (1.0 - gamma * s).max(0.0),
            Self::Sigmoid { gamma, coef0 } => (gamma * s + coef0).tanh(),
        }
    }

    /// Whether the kernel does not change when both points are moved alike.
    pub fn knows_distances_only(&self) -> bool {
        !matches!(self, Self::Linear | Self::Polynomial { .. } | Self::Sigmoid { .. } | Self::Cosine)
    }

    /// The same kernel with one parameter changed.
    ///
    /// # Panics
    ///
    /// If it has no such parameter.
    #[must_use]
    pub fn with(mut self, parameter: Parameter, value: f64) -> Self {
        let place = match (&mut self, parameter) {
            (Self::Polynomial { coef0, .. } | Self::Sigmoid { coef0, .. }, Parameter::Coef0) => coef0,
            (Self::RationalQuadratic { alpha, .. }, Parameter::Alpha) => alpha,
            (
                Self::Polynomial { gamma, .. }
                | Self::Gaussian { gamma }
                | Self::Laplacian { gamma }
                | Self::Exponential { gamma }
                | Self::Matern32 { gamma }
                | Self::Matern52 { gamma }
                | Self::RationalQuadratic { gamma, .. }
                | Self::Epanechnikov { gamma }
                | Self::Sigmoid { gamma, .. },
                Parameter::Gamma,
            ) => gamma,
            (kernel, parameter) => panic!("{kernel:?} has no {parameter:?}"),
        };
        *place = value;
        self
    }

    /// The library's kernel of the same name and parameters.
    ///
    /// # Panics
    ///
    /// If the library refuses a parameter.
    #[track_caller]
    pub fn to_kernel(&self) -> Kernel {
        crate::to_kernel!(self, Kernel)
    }

    /// The kernel of every pair of a row of `x` and a row of `y`.
    pub fn matrix(&self, x: &[Vec<f64>], y: &[Vec<f64>]) -> Mat<f64> {
        Mat::from_fn(x.len(), y.len(), |i, j| self.value(&x[i], &y[j]))
    }
}

/// The kernel of a [`Textbook`] entry as a value of the given type: the library's, or the one of the library's own unit
/// tests, which is another type to the compiler.
#[macro_export]
macro_rules! to_kernel {
    ($textbook:expr, $kernel:ty) => {
        match *$textbook {
            $crate::Textbook::Linear => Ok(<$kernel>::linear()),
            $crate::Textbook::Polynomial { gamma, coef0, degree } => {
                <$kernel>::polynomial(gamma, coef0, degree.unsigned_abs())
            }
            $crate::Textbook::Gaussian { gamma } => <$kernel>::gaussian(gamma),
            $crate::Textbook::Laplacian { gamma } => <$kernel>::laplacian(gamma),
            $crate::Textbook::Exponential { gamma } => <$kernel>::exponential(gamma),
            $crate::Textbook::Matern32 { gamma } => <$kernel>::matern32(gamma),
            $crate::Textbook::Matern52 { gamma } => <$kernel>::matern52(gamma),
            $crate::Textbook::RationalQuadratic { gamma, alpha } => <$kernel>::rational_quadratic(gamma, alpha),
            $crate::Textbook::Epanechnikov { gamma } => <$kernel>::epanechnikov(gamma),
            $crate::Textbook::Cosine => Ok(<$kernel>::cosine()),
            $crate::Textbook::Sigmoid { gamma, coef0 } => <$kernel>::sigmoid(gamma, coef0),
        }
        .expect("the parameters are in their domain")
    };
}
