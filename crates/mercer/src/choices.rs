//! Choices that people make by name.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::memory;

/// Gives an enum of named choices its names, in one place.
macro_rules! named {
    ($type:ident, $parameter:literal, $($variant:ident => $name:literal),+) => {
        impl $type {
            /// The names that can be asked for.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The choice's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(text: &str) -> $crate::error::Result<Self> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    other => Err($crate::error::Error::invalid($parameter, format!("one of {}", Self::NAMES.join(", ")), format!("\"{other}\""))),
                }
            }
        }
    };
}

pub(crate) use named;

/// How products with the Gram matrix are made.
///
/// ```
/// use mercer::GramChoice;
///
/// assert_eq!("stored".parse::<GramChoice>()?, GramChoice::Stored);
/// assert_eq!(GramChoice::Tiled.to_string(), "tiled");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GramChoice {
    /// Whatever the plan finds best.
    #[default]
    Auto,
    /// Every tile is recomputed in every pass.
    Tiled,
    /// As many tiles as the budget allows are kept, the others recomputed. Where they take more than 1 GiB or do not all fit, they are kept in 16-bit
    /// fixed point if the tolerance permits that, whatever the precision they are made in.
    Stored,
    /// An expansion: time proportional to the number of points, to a stated error. See [`expansion`](crate::expansion).
    Expansion,
}
named!(GramChoice, "gram", Auto => "auto", Tiled => "tiled", Stored => "stored", Expansion => "expansion");

/// How an expansion of the kernel is made.
///
/// ```
/// use mercer::ExpansionMethod;
///
/// assert_eq!("grid".parse::<ExpansionMethod>()?, ExpansionMethod::Grid);
/// assert_eq!(ExpansionMethod::Series.to_string(), "series");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExpansionMethod {
    /// The cheapest that reaches the tolerance, tiles among them.
    #[default]
    Auto,
    /// Monomials: exact, for polynomial kernels.
    Polynomial,
    /// A truncated series about one centre, for the Gaussian.
    Series,
    /// Truncated series about many centres, for the Gaussian.
    Clusters,
    /// A regular grid and Fourier transforms, in up to three dimensions.
    Grid,
}
named!(
    ExpansionMethod, "method",
    Auto => "auto", Polynomial => "polynomial", Series => "series", Clusters => "clusters", Grid => "grid"
);

/// How eigenpairs are found.
///
/// ```
/// use mercer::SolverChoice;
///
/// assert_eq!("lanczos".parse::<SolverChoice>()?, SolverChoice::Lanczos);
/// assert!("fastest".parse::<SolverChoice>().is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SolverChoice {
    /// Whatever the plan finds best.
    #[default]
    Auto,
    /// [`Dense`](crate::eigen::Dense).
    Dense,
    /// [`Lanczos`](crate::eigen::Lanczos).
    Lanczos,
    /// [`BlockKrylov`](crate::eigen::BlockKrylov).
    Krylov,
    /// [`SubspaceIteration`](crate::eigen::SubspaceIteration).
    Subspace,
    /// [`PowerIteration`](crate::eigen::PowerIteration).
    Power,
}
named!(
    SolverChoice, "solver",
    Auto => "auto", Dense => "dense", Lanczos => "lanczos", Krylov => "krylov", Subspace => "subspace", Power => "power"
);

/// What is done with significant negative eigenvalues, which kernels that are not positive semi-definite have.
///
/// ```
/// use mercer::{Kernel, KernelPca, Negative, Points};
///
/// // Not a matrix of inner products: its eigenvalues are 3 and -1.
/// let matrix = Points::from_f64(vec![1.0, 2.0, 2.0, 1.0], 2, 2)?;
/// let pca = KernelPca::new(Kernel::Precomputed).center(mercer::Center::No);
/// assert!(pca.fit(&matrix).is_err());
/// let model = pca.negative(Negative::Flip).fit(&matrix)?;
/// assert!((model.eigenvalues()[1] + 1.0).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Negative {
    /// They are an error.
    #[default]
    Error,
    /// They are treated as zero: such components are not returned.
    Clip,
    /// They count with their absolute value: components are ordered by it, and scores use its root. Records show the sign.
    Flip,
}
named!(Negative, "negative", Error => "error", Clip => "clip", Flip => "flip");

/// Which negative eigenvalues [`Negative`] is about, and by what components are ordered.
///
/// ```
/// use mercer::{Center, Kernel, KernelPca, Negative, NegativeScope, Points};
///
/// // Eigenvalues 3 and -1; only the first is asked for.
/// let matrix = Points::from_f64(vec![1.0, 2.0, 2.0, 1.0], 2, 2)?;
/// let pca = KernelPca::new(Kernel::Precomputed).center(Center::No).n_components(1).negative(Negative::Error);
/// assert!(pca.clone().fit(&matrix).is_err());
/// assert!(pca.negative_scope(NegativeScope::Asked).fit(&matrix).is_ok());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NegativeScope {
    /// All that the solver saw: what was not asked for speaks about the kernel, too.
    #[default]
    Seen,
    /// Those among the components asked for, which are the largest: as in scikit-learn.
    Asked,
    /// Those among the components asked for, which are the largest by absolute value: as with scikit-learn's randomised solver.
    AskedByModulus,
}

/// What is done with components whose eigenvalue cannot be told from zero.
///
/// ```
/// use mercer::{Kernel, KernelPca, Points, ZeroComponents};
///
/// // Three points on a line have one direction.
/// let points = Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1)?;
/// let pca = KernelPca::new(Kernel::linear()).n_components(2);
/// assert_eq!(pca.clone().fit(&points)?.n_components(), 1);
/// let kept = pca.zero_components(ZeroComponents::Keep).fit(&points)?;
/// assert_eq!(kept.eigenvalues()[1], 0.0);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ZeroComponents {
    /// They are not returned; if no other is left, that is an error.
    #[default]
    Drop,
    /// They are not returned, even if no other is left.
    DropAll,
    /// They are returned with an eigenvalue of exactly zero and scores of zero, so that there are as many as were asked for.
    Keep,
}

/// The gain that each component of the kernel Hebbian algorithm learns with: which factors it is made of.
///
/// `η₀` and `τ` are parameters, `n` is the number of points, `t` counts updates from one, `λᵢ` is the estimate of a component's
/// eigenvalue, and `ρᵢ` its log-gain, which stochastic meta-descent adapts.
///
/// ```
/// use mercer::GainRule;
///
/// assert_eq!("smd*".parse::<GainRule>()?, GainRule::MetaDescentStar);
/// assert_eq!(GainRule::default().to_string(), "et*");
/// // What a rule has use for.
/// assert!(GainRule::MetaDescentStar.adapts() && !GainRule::EigenvalueStar.adapts());
/// assert!(GainRule::Eigenvalue.uses_eigenvalues() && !GainRule::Annealed.uses_eigenvalues());
/// assert!(GainRule::Annealed.uses_tau() && !GainRule::Eigenvalue.uses_tau());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum GainRule {
    /// `η₀`.
    #[serde(rename = "constant")]
    Constant,
    /// `η₀ τ / (t + τ)`.
    #[serde(rename = "t")]
    Annealed,
    /// `η₀ τ / ((t + τ) λᵢ)`: the default, because it is the easiest to tune.
    #[default]
    #[serde(rename = "et*")]
    EigenvalueStar,
    /// `η₀ n ‖λ‖ / ((t + n) λᵢ)`.
    #[serde(rename = "et")]
    Eigenvalue,
    /// The gain of `et*` times `exp ρᵢ`.
    #[serde(rename = "smd*")]
    MetaDescentStar,
    /// The gain of `et` times `exp ρᵢ`.
    #[serde(rename = "smd")]
    MetaDescent,
    /// `η₀ exp ρᵢ`.
    #[serde(rename = "s")]
    MetaDescentOnly,
    /// `η₀ τ exp(ρᵢ) / (t + τ)`.
    #[serde(rename = "ts")]
    AnnealedMetaDescent,
    /// `η₀ exp(ρᵢ) / λᵢ`.
    #[serde(rename = "es")]
    EigenvalueMetaDescent,
}
named!(
    GainRule, "gain",
    Constant => "constant", Annealed => "t", EigenvalueStar => "et*", Eigenvalue => "et", MetaDescentStar => "smd*",
    MetaDescent => "smd", MetaDescentOnly => "s", AnnealedMetaDescent => "ts", EigenvalueMetaDescent => "es"
);

/// When the kernel Hebbian algorithm refreshes its eigenvalue estimates and the gains made from them.
///
/// ```
/// use mercer::{GainRule, Kernel, KernelHebbianPca, Refresh};
///
/// // The estimates follow every update, as in the paper's experiments on MNIST.
/// let settings = KernelHebbianPca::new(Kernel::gaussian(0.1)?).gain(GainRule::Eigenvalue).refresh(Refresh::Iteration);
/// assert_eq!("iteration".parse::<Refresh>()?, Refresh::Iteration);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refresh {
    /// Estimates and gains once per pass: annealing stands still within a pass. Gains without estimates are annealed at every
    /// update all the same.
    #[default]
    Pass,
    /// Both at every update.
    Iteration,
    /// Estimates once per pass, annealing at every update.
    PassEigenvalues,
}
named!(Refresh, "refresh", Pass => "pass", Iteration => "iteration", PassEigenvalues => "pass-eigenvalues");

/// A gain parameter of the kernel Hebbian algorithm: a number, or the largest one that does not diverge.
///
/// ```
/// use mercer::Gain;
///
/// assert_eq!("auto".parse::<Gain>()?, Gain::Auto);
/// assert_eq!("0.5".parse::<Gain>()?, Gain::Fixed(0.5));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// Found by trying: from 500 down, until a run does not diverge.
    #[default]
    Auto,
    /// This number.
    Fixed(f64),
}

impl From<f64> for Gain {
    fn from(value: f64) -> Self {
        Self::Fixed(value)
    }
}

impl FromStr for Gain {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let wrong = || Error::invalid("gain parameter", "\"auto\" or a number", format!("\"{text}\""));
        text.parse().map(Self::Fixed).map_err(|_| wrong())
    }
}

/// Whether the points are centred in feature space.
///
/// ```
/// use mercer::{Center, Kernel, KernelPca, Points};
///
/// let points = Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1)?;
/// let pca = KernelPca::new(Kernel::linear()).n_components(1);
/// // About the mean, and about zero.
/// assert!((pca.fit(&points)?.eigenvalues()[0] - 2.0).abs() < 1e-12);
/// assert!((pca.center(Center::No).fit(&points)?.eigenvalues()[0] - 14.0).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Center {
    /// The mean of the points' images is subtracted, as in PCA.
    #[default]
    Yes,
    /// It is not: eigenpairs of the kernel matrix as it is.
    No,
}

/// How many components are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Components {
    /// This many.
    Count(usize),
    /// The fewest that explain this share of the variance.
    Variance(f64),
}

/// How much memory a fit may take beyond the data.
///
/// ```
/// use mercer::MemoryBudget;
///
/// assert_eq!("2GiB".parse::<MemoryBudget>()?.bytes(), 2 << 30);
/// assert_eq!("1.5 GB".parse::<MemoryBudget>()?.bytes(), 1_500_000_000);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MemoryBudget {
    /// 70 % of what the machine has available when the fit starts.
    #[default]
    Auto,
    /// This many bytes.
    Bytes(u64),
    /// This share of what the machine has available when the fit starts.
    Share(f64),
}

/// The share that [`MemoryBudget::Auto`] takes.
const AUTO_SHARE: f64 = 0.7;

impl MemoryBudget {
    /// The budget in bytes, now.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Auto => (memory::available() as f64 * AUTO_SHARE) as u64,
            Self::Bytes(bytes) => bytes,
            Self::Share(share) => (memory::available() as f64 * share) as u64,
        }
    }

    /// What is left of the budget beside `what`, which takes this many bytes of it.
    ///
    /// ```
    /// use mercer::MemoryBudget;
    ///
    /// let budget = MemoryBudget::Bytes(1000);
    /// assert_eq!(budget.beside("a copy", 400, "make none")?, MemoryBudget::Bytes(600));
    /// assert!(budget.beside("a copy", 1001, "make none").is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] with this advice, if it takes more than there is.
    pub fn beside(self, what: &str, needed: u64, advice: &str) -> Result<Self> {
        let budget = self.bytes();
        match budget.checked_sub(needed) {
            None => Err(Error::OverBudget { what: what.to_owned(), needed, budget, advice: advice.to_owned() }),
            Some(_) if needed == 0 => Ok(self),
            Some(left) => Ok(Self::Bytes(left)),
        }
    }
}

impl FromStr for MemoryBudget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let requirement = "\"auto\", a share such as 50%, or a size such as 500MB or 4GiB";
            Error::invalid("memory", requirement, format!("\"{text}\""))
        };
        let trimmed = text.trim();
        if trimmed == "auto" {
            return Ok(Self::Auto);
        }
        let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let scale = match unit.trim() {
            "%" if number > 0.0 && number <= 100.0 => return Ok(Self::Share(number / 100.0)),
            "" | "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "TB" => 1e12,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        let bytes = number * scale;
        if bytes >= 1.0 { Ok(Self::Bytes(bytes as u64)) } else { Err(wrong()) }
    }
}
