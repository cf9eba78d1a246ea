//! Kernel parameters from the spectrum: where the variances of the components differ most.
//!
//! **Use it** when nothing tells how wide a kernel should be. A kernel that is too narrow makes all points equally unlike, and
//! every component explains as little as every other; one that is too wide makes all points alike, and there is nothing to
//! explain. In between, a few components carry most of the variance.
//!
//! | here | in \[NTM\] | |
//! |---|---|---|
//! | `n` | $l$ | points |
//! | `G` | $G$ | centred kernel matrix, $G = HKH$ |
//! | variances | $\lambda_i = \mu_i / l$ | eigenvalues of $G$ over $l$ |
//! | value | $E(\theta)$, equation (21) | $\frac1l \sum_i (\lambda_i - \bar\lambda)^2$ |
//! | bandwidth | $\sigma$ | $k = \exp(-\lVert x-y\rVert^2 / 2\sigma^2)$, so $\gamma = 1/(2\sigma^2)$ |
//!
//! # Method
//!
//! No eigenproblem is solved. With $\lVert G \rVert_F^2 = \sum \mu_i^2$ and $\operatorname{tr} G = \sum \mu_i$,
//!
//! $$E = \frac{\lVert G\rVert_F^2}{l^3} - \frac{(\operatorname{tr} G)^2}{l^4}, \qquad
//!   \lVert G\rVert_F^2 = \sum_{ij} k_{ij}^2 - \frac2l \sum_i r_i^2 + \frac{S^2}{l^2}, \qquad
//!   \operatorname{tr} G = \operatorname{tr} K - \frac Sl,$$
//!
//! where $r_i$ are the row sums of $K$ and $S$ is their sum. The derivative needs the row sums of $dK/d\theta$ beside them. So a
//! pass over the tiles of squared distances is enough for as many bandwidths as are wanted (the tile engine takes them all over the same tile), without
//! the matrix, and repeated eigenvalues do no harm (in the published algorithm they divide zero by zero).
//!
//! For many points the sums are estimated from samples, without bias and with a standard error (`sampled`). The
//! maximum is looked for on a grid over the distances that the data has, and refined by a secant method in the logarithm of the
//! bandwidth that is never allowed out of its bracket (`maxima`). There can be more than one maximum: all are reported.
//!
//! No criterion is right for every task: [`Criterion`] has others, found by the same call.
//!
//! # References
//!
//! - \[NTM\] Nogayama, Takahashi, Muramatsu: Generalization of kernel PCA and automatic parameter tuning. Printed with errors
//!   that matter: the algorithm's box has half the factor of equation (24); section 3 exchanges "too large" and "too small".
//! - \[AF14\] Alam, Fukumizu: Hyperparameter selection in kernel principal component analysis (the idea of held-out reconstruction).

mod ard;
mod ascent;
mod between;
mod chains;
mod climb;
mod dense;
mod grid;
mod landscape;
mod maxima;
mod pass;
mod resolve;
mod result;
mod rivals;
mod rounding;
mod sampled;
mod scan;
mod search;
mod settings;
mod several;
mod spectrum;

pub use ard::{ArdGradient, ArdTuning, ard_gradient, tune_ard};
pub use ascent::{Ascent, StepFactor};
pub use climb::CLIMB_STEPS;
pub use landscape::{Landscape, landscape};
pub use result::{Maximum, Tuning};
pub use scan::Scan;
pub use settings::{Criterion, KernelTuner, TuneMethod};
pub use several::{ParameterBox, ParameterTuning, Parameters, check_ranges, evaluate, tune_parameters};
