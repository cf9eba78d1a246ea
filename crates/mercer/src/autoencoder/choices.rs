//! What can be chosen of an autoencoder, by name or by numbers.

use serde::{Deserialize, Serialize};

use crate::choices::named;

/// What encoder and decoder are made of.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::{AutoencoderKernelPca, SpanChoice};
///
/// let points = Points::from_f64((0..60).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 20, 3)?;
/// let over = |span| AutoencoderKernelPca::new(2).span(span).epochs(1).fit(&points);
/// // Two forms of 3 x 3 numbers, or two combinations of 20 points.
/// assert_eq!(over(SpanChoice::Full)?.encoder().len(), 2 * 3 * 3);
/// assert_eq!(over(SpanChoice::Data)?.encoder().len(), 2 * 20);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SpanChoice {
    /// All quadratic forms.
    #[default]
    Full,
    /// Combinations of `x xᵀ` of points that are learned from.
    Data,
}
named!(SpanChoice, "span", Full => "full", Data => "data");

/// How the objective is descended.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::{AutoencoderKernelPca, Optimizer, StartFrom};
///
/// let points = Points::from_f64((0..200).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 50, 4)?;
/// let learn = AutoencoderKernelPca::new(2).start(StartFrom::Random).epochs(5);
/// for optimizer in [Optimizer::Sgd, Optimizer::Svrg] {
///     let model = learn.clone().optimizer(optimizer).fit(&points)?;
///     let losses: Vec<f64> = model.history().iter().map(|entry| entry.loss).collect();
///     assert!(losses[losses.len() - 1] < losses[0], "{losses:?}");
/// }
/// assert_eq!("svrg".parse::<Optimizer>()?, Optimizer::Svrg);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Optimizer {
    /// By stochastic gradients.
    #[default]
    Sgd,
    /// By stochastic gradients with the mean gradient at the start of each epoch taken for reference \[JZ13\].
    Svrg,
}
named!(Optimizer, "optimizer", Sgd => "sgd", Svrg => "svrg");

/// Which gradient moves the coefficients over a span.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::{AutoencoderKernelPca, Gradient, SpanChoice};
///
/// let points = Points::from_f64((0..60).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 20, 3)?;
/// let plain = AutoencoderKernelPca::new(1).gradient(Gradient::Plain).epochs(1);
/// assert!(plain.clone().span(SpanChoice::Data).fit(&points).is_ok());
/// // With full span there are no coefficients that a second gradient could be of.
/// assert!(plain.fit(&points).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Gradient {
    /// The one that moves the forms as a step with full span would, as nearly as the span allows.
    #[default]
    Functional,
    /// That of the coefficients, which is the other one times the kernel matrix and as badly conditioned.
    Plain,
}
named!(Gradient, "gradient", Functional => "functional", Plain => "plain");

/// Which of `x` and `−x` a code is decoded to: both have the same code.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::{AutoencoderKernelPca, Codec, Sign};
///
/// // All on a line through the origin, on its negative side.
/// let points = Points::from_f64((1..21).flat_map(|i| [-f64::from(i), -2.0 * f64::from(i)]).collect::<Vec<_>>(), 20, 2)?;
/// let decoded = |sign| {
///     let model = AutoencoderKernelPca::new(1).sign(sign).epochs(0).fit(&points)?;
///     Ok::<_, mercer::Error>(model.decode(model.encode(&points)?.as_ref(), None)?[(9, 1)])
/// };
/// // The code of a point is that of its mirror image, too.
/// assert!((decoded(Sign::Nearest)? + 20.0).abs() < 1e-6);
/// assert!((decoded(Sign::Nonnegative)? - 20.0).abs() < 1e-6);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Sign {
    /// The one nearer to a reference; to the mean of the points learned from if there is none.
    #[default]
    Nearest,
    /// The one whose coordinates have a sum that is not negative.
    Nonnegative,
}
named!(Sign, "sign", Nearest => "nearest", Nonnegative => "nonnegative");

/// The step of the first update.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::{AutoencoderKernelPca, LearningRate};
///
/// assert_eq!(LearningRate::from(0.5), LearningRate::Fixed(0.5));
/// let points = Points::from_f64((0..60).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 20, 3)?;
/// let found = AutoencoderKernelPca::new(1).epochs(2).fit(&points)?.learning_rate();
/// assert!(found > 0.0);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LearningRate {
    /// Found by trying on a sample; halved when an epoch makes things worse.
    #[default]
    Auto,
    /// This one.
    Fixed(f64),
}

impl From<f64> for LearningRate {
    fn from(rate: f64) -> Self {
        Self::Fixed(rate)
    }
}

/// Matrices to start from, row by row, one after the other: `k` of `d × d` with full span, one of `k × m` over a span.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::{AutoencoderKernelPca, Codec, Given, StartFrom};
///
/// // The code is the square of the first coordinate, and what is decoded lies along it.
/// let first = vec![1.0, 0.0, 0.0, 0.0];
/// let start = StartFrom::Given(Given { encoder: first.clone(), decoder: first });
/// let points = Points::from_f64(vec![3.0, 1.0, 2.0, 0.0], 2, 2)?;
/// let model = AutoencoderKernelPca::new(1).start(start).epochs(0).fit(&points)?;
/// assert!((model.encode(&points)?[(0, 0)] - 9.0).abs() < 1e-9);
/// let again = model.reconstruct(&points)?;
/// assert!((again[(0, 0)] - 3.0).abs() < 1e-6 && again[(0, 1)].abs() < 1e-6);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// `A_j`, or `H`.
    pub encoder: Vec<f64>,
    /// `B_j`, or `G`.
    pub decoder: Vec<f64>,
}

/// Where learning starts.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::{AutoencoderKernelPca, StartFrom};
///
/// let points = Points::from_f64((0..200).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 50, 4)?;
/// // Without an epoch the start is what is learned.
/// let loss = |start| {
///     let model = AutoencoderKernelPca::new(3).start(start).epochs(0).fit(&points)?;
///     Ok::<_, mercer::Error>(model.losses(&points)?.iter().sum::<f64>())
/// };
/// assert!(loss(StartFrom::KernelPca)? < loss(StartFrom::Random)?);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum StartFrom {
    /// The kernel PCA solution with the kernel `(x·y)²`, not centred, of all points or a sample of them.
    #[default]
    KernelPca,
    /// Forms with independent normal entries.
    Random,
    /// These.
    Given(Given),
}
