//! Classification by one layer on top of kernel PCA.
//!
//! **Use it** to see whether a kernel and its width suit a task without a search over parameters by accuracy (\[NTM\] finds a width in 8 s where the
//! search over a support vector machine's parameters takes 1979 s, for faces); not as the last word in classification.
//!
//! # Method
//!
//! Scores of kernel PCA are nonlinear functions of the points, so a linear unit on them can separate what no plane separates
//! in the input space. Two units ([`Unit`]):
//!
//! - *sigmoid*, that of \[NTM\], equation (29): $1 / (1 + \exp(-w^T\psi - b))$, trained point by point with a fixed learning
//!   rate. The number of epochs and the loss are not given there; here the loss is the cross-entropy. With more than two
//!   classes there is a unit for each, and the largest output wins.
//! - *logistic*, that of \[CHM16\]: multinomial logistic regression with a small quadratic penalty, to its minimum (`logistic`).
//!
//! The width of the kernel is found from the training points alone ([`tune`](crate::tune)), without a look at their labels; or
//! for each class from its own points ([`Widths::PerClass`], the last remark of \[NTM\]), and then each class has components of its own.
//!
//! Accuracy is measured by repeated stratified cross-validation ([`KernelClassifier::cross_validate`]): everything that is learned, scaling
//! and width included, is learned from the other folds. How many components are enough, the criterion does not tell: their number can be chosen by the accuracy on points that were held out
//! ([`KernelClassifier::choose_n_components`]).
//!
//! # References
//!
//! - \[NTM\] Nogayama, Takahashi, Muramatsu: Generalization of kernel PCA and automatic parameter tuning, section 4.
//! - \[CHM16\] Cohen, Hazan, Ma: the classifier of the comparison with kernel PCA.

mod fitted;
mod folds;
mod layer;
mod logistic;
mod regression;
mod settings;
mod sigmoid;

pub use fitted::Classifier;
pub use folds::{ChosenComponents, CrossValidation, stratified_folds};
pub use regression::LogisticRegression;
pub use settings::{KernelClassifier, Unit, Widths};
