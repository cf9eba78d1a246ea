//! Everything that can go wrong, with the numbers.

mod kind;
mod words;

use std::path::PathBuf;

pub use kind::ErrorKind;
pub use words::{apart, bytes};
pub(crate) use words::{bytes_at_least, rounded, short};

use crate::scalar::Precision;

/// The result of anything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call could not do what was asked.
///
/// ```
/// use mercer::{Error, ErrorKind, Kernel, KernelPca, Points};
///
/// let one = Points::from_f64(vec![1.0], 1, 1)?;
/// let error = KernelPca::new(Kernel::linear()).fit(&one).err().ok_or("one point has no variance")?;
/// assert!(matches!(error, Error::TooFewRows { needed: 2, found: 1 }));
/// assert_eq!(error.kind(), ErrorKind::InvalidInput);
/// assert_eq!(error.to_string(), "kernel PCA needs at least 2 rows, but there is 1");
///
/// // Whoever writes a kernel has errors of this kind, too.
/// let own = Error::invalid("n_letters", "at least 1", 0);
/// assert_eq!(own.to_string(), "`n_letters` must be at least 1, but it is 0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter lies outside its domain.
    #[error("`{name}` must be {requirement}, but it is {value}")]
    InvalidParameter {
        /// The parameter as users know it.
        name: &'static str,
        /// What is allowed.
        requirement: String,
        /// What was given.
        value: String,
    },

    /// There are too few rows to learn from.
    #[error("{}", words::too_few_rows(*.needed, *.found))]
    TooFewRows {
        /// The least number that would do.
        needed: usize,
        /// The number that was given.
        found: usize,
    },

    /// The points have no coordinates.
    #[error("the data has {n_samples} rows but no columns")]
    NoColumns {
        /// Rows of the data.
        n_samples: usize,
    },

    /// The number of values is not rows times columns.
    #[error("{n_samples} rows of {n_features} columns need {} values, but there are {found}", *.n_samples as u128 * *.n_features as u128)]
    ShapeMismatch {
        /// Rows that were announced.
        n_samples: usize,
        /// Columns that were announced.
        n_features: usize,
        /// Values that were given.
        found: usize,
    },

    /// New points do not look like the ones the model was fitted on.
    #[error("{what} has {found} columns, but the model was fitted on {expected}")]
    FeatureMismatch {
        /// What has the wrong width.
        what: &'static str,
        /// Columns the model knows.
        expected: usize,
        /// Columns that were given.
        found: usize,
    },

    /// A row of a stream has another width than the others.
    #[error("the row has {}, but rows of this stream have {expected}", words::columns(*.found))]
    RowWidth {
        /// Columns of the rows that an online learner has learned, or begins with.
        expected: usize,
        /// Columns of this one.
        found: usize,
    },

    /// A value that no kernel can use.
    #[error("row {row}, column {column} is {value}; kernels need finite numbers")]
    NotFinite {
        /// Row, counted from zero.
        row: usize,
        /// Column, counted from zero.
        column: usize,
        /// The value.
        value: f64,
    },

    /// A point is too far from the others for the arithmetic.
    #[error(
        "row {row} is too large for the kernel's width: its squared distance or inner product overflows {precision}; scale \
         the data, or use a smaller gamma"
    )]
    TooLarge {
        /// Row, counted from zero.
        row: usize,
        /// The precision it overflows.
        precision: Precision,
    },

    /// A landmark that was given is too far from the points for the arithmetic.
    #[error("{}", words::landmark_too_large(*.row, *.precision))]
    LandmarkTooLarge {
        /// Row among the landmarks, counted from zero.
        row: usize,
        /// The precision it overflows.
        precision: Precision,
    },

    /// The kernel of a landmark that was given is too large for the arithmetic.
    #[error("{}", words::landmark_overflow(.kernel, *.row, *.value, *.precision))]
    LandmarkOverflow {
        /// The kernel's name.
        kernel: String,
        /// Row among the landmarks, counted from zero.
        row: usize,
        /// The value.
        value: f64,
        /// The precision it overflows.
        precision: Precision,
    },

    /// A row is too large for the arithmetic of an online learner.
    #[error("row {row} is too large: its {product} overflows f64; {advice}")]
    TooLargeToLearn {
        /// Row, counted from zero.
        row: usize,
        /// What overflows.
        product: &'static str,
        /// What would help.
        advice: &'static str,
    },

    /// Points are so far apart that no width follows from their distances.
    #[error("{}", words::too_far_apart(*.row, *.largest))]
    TooFarApart {
        /// Row, counted from zero.
        row: usize,
        /// The largest modulus in it.
        largest: f64,
    },

    /// Points are so close that no kernel can tell them apart and have a width that is a number.
    #[error(
        "points are too close to one another for a width to be found: what gamma multiplies is {distance:e} for close pairs; scale the \
         data"
    )]
    TooClose {
        /// What `gamma` multiplies, for a pair that is close among all pairs.
        distance: f64,
    },

    /// A point is too large for codes of it, which are squares.
    #[error(
        "row {row} is too large for codes, which are squares of points: products of them overflow f64; scale the data"
    )]
    CodeOverflow {
        /// Row, counted from zero.
        row: usize,
    },

    /// Points are so small that their codes would lose digits.
    #[error("{}", words::code_underflow(*.n_samples, *.largest, *.power))]
    CodeUnderflow {
        /// Rows of the data.
        n_samples: usize,
        /// The largest modulus in them.
        largest: f64,
        /// The power of points that underflows: 2 for codes, 4 for kernel values.
        power: u32,
    },

    /// All points are zero, so there is nothing to learn a code of.
    #[error("all {n_samples} rows are zero: there is nothing to learn a code of")]
    AllZero {
        /// Rows of the data.
        n_samples: usize,
    },

    /// A kernel value is too large for the arithmetic.
    #[error(
        "the {kernel} kernel of row {row} with itself is {value:e}, which overflows {precision} in sums over {n_samples} rows; scale the \
         data, or use a smaller gamma or degree"
    )]
    KernelOverflow {
        /// The kernel's name.
        kernel: String,
        /// Row, counted from zero.
        row: usize,
        /// The value.
        value: f64,
        /// The precision it overflows.
        precision: Precision,
        /// Rows of the data.
        n_samples: usize,
    },

    /// All kernel values are too small for the arithmetic.
    #[error("{}", words::kernel_underflow(.kernel, *.value, *.precision, *.n_samples))]
    KernelUnderflow {
        /// The kernel's name.
        kernel: String,
        /// The largest value.
        value: f64,
        /// The precision that is too coarse for it.
        precision: Precision,
        /// Rows of the data.
        n_samples: usize,
    },

    /// All points are the same to the kernel, so there is no variance to explain.
    #[error("all {n_samples} rows are equal to the kernel: there is no variance to explain")]
    NoVariance {
        /// Rows of the data.
        n_samples: usize,
    },

    /// Landmarks that were given have no kernel values with the points that would tell them apart.
    #[error(
        "the {n_landmarks} landmarks know nothing of the {n_samples} rows: to the kernel, all rows are equally unlike them; give others, or use a \
         wider kernel"
    )]
    BlindLandmarks {
        /// Landmarks that were given.
        n_landmarks: usize,
        /// Rows of the data.
        n_samples: usize,
    },

    /// Points differ, but to the kernel by no more than rounding.
    #[error(
        "to the kernel all {n_samples} rows are equal but for rounding in {precision}, so there is no variance that could be told from it; \
         {advice}"
    )]
    VarianceInRounding {
        /// Rows of the data.
        n_samples: usize,
        /// The precision of the kernel matrix.
        precision: Precision,
        /// What would help.
        advice: &'static str,
    },

    /// A precomputed matrix is not square.
    #[error("the precomputed matrix must be square, but it has {rows} rows and {columns} columns")]
    NotSquare {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
    },

    /// The kernel matrix of landmarks has significant negative eigenvalues, for which an approximation has no place.
    #[error(
        "the {kernel} kernel has significant negative eigenvalues on the landmarks ({}), and features have none; an exact fit can clip \
         or flip them",
        words::beside_the_largest(*.ratio)
    )]
    IndefiniteLandmarks {
        /// The kernel's name.
        kernel: String,
        /// The most negative one, relative to the largest.
        ratio: f64,
    },

    /// The kernel matrix has significant negative eigenvalues and they were not allowed.
    #[error("{}", words::negative_eigenvalues(*.ratio, *.can_flip))]
    NegativeEigenvalues {
        /// The most negative one found, relative to the largest.
        ratio: f64,
        /// Whether components can be ordered by absolute value instead.
        can_flip: bool,
    },

    /// A point has nothing to do with the others, so that its row of the kernel matrix cannot be normalised.
    #[error(
        "row {row} has degree {degree}: the kernel values of a row with all the others must have a positive sum; remove the row, \
         or use a wider kernel, or one without negative values"
    )]
    ZeroDegree {
        /// Row, counted from zero.
        row: usize,
        /// The sum of its kernel values.
        degree: f64,
    },

    /// There are fewer different points than clusters.
    #[error("`n_clusters` must be at most the number of different rows, which is {found}, but it is {needed}")]
    TooFewDistinct {
        /// Clusters that were asked for.
        needed: usize,
        /// Different rows.
        found: usize,
    },

    /// A dense decomposition failed, because the matrix holds numbers that are not finite.
    #[error(
        "a matrix of order {order} could not be decomposed: it holds numbers that are not finite; kernel values that are too large \
         overflow, and squares of those that are too small vanish, so scale the data"
    )]
    Decomposition {
        /// Rows of the matrix.
        order: usize,
    },

    /// The user's kernel returned a number that is not finite.
    #[error("the {kernel} kernel of rows {row} and {column} is {value}; it must be finite")]
    CustomKernel {
        /// The kernel's name.
        kernel: String,
        /// Row of the matrix, counted from zero.
        row: usize,
        /// Column of the matrix, counted from zero.
        column: usize,
        /// The value.
        value: f64,
    },

    /// The user's kernel returned a number that is not finite, for a row and one that an online learner remembers.
    #[error("the {kernel} kernel of row {row} and one that was learned before is {value}; it must be finite")]
    KernelWithLearned {
        /// The kernel's name.
        kernel: String,
        /// Row, counted from zero.
        row: usize,
        /// The value.
        value: f64,
    },

    /// The user's kernel is not symmetric.
    #[error(
        "the {kernel} kernel of rows {row} and {column} is {value}, but of rows {column} and {row} it is {mirrored}; a kernel must be \
         symmetric"
    )]
    AsymmetricKernel {
        /// The kernel's name.
        kernel: String,
        /// Row of the matrix, counted from zero.
        row: usize,
        /// Column of the matrix, counted from zero.
        column: usize,
        /// The value.
        value: f64,
        /// The value with the points exchanged.
        mirrored: f64,
    },

    /// The user's kernel failed.
    #[error("the {kernel} kernel failed: {source}")]
    CustomKernelFailed {
        /// The kernel's name.
        kernel: String,
        /// What it failed with.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// The matrix of a ridge regression is not positive definite.
    #[error(
        "`alpha` must be larger, but it is {alpha}: the kernel matrix of the {n_samples} scores plus alpha on its diagonal is not \
         positive definite"
    )]
    Singular {
        /// The weight of the ridge.
        alpha: f64,
        /// Rows of the matrix.
        n_samples: usize,
    },

    /// The kernel cannot be used in this way.
    #[error("{what} does not work with the {kernel} kernel: {reason}")]
    UnsuitableKernel {
        /// What was asked for.
        what: &'static str,
        /// The kernel's name.
        kernel: String,
        /// Why not.
        reason: &'static str,
    },

    /// Nothing that answers the question fits the memory budget.
    #[error("{what} needs {}, but the memory budget is {}; {advice}", bytes_at_least(*.needed), bytes(*.budget))]
    OverBudget {
        /// What would have to be in memory.
        what: String,
        /// Bytes it takes.
        needed: u64,
        /// Bytes that are allowed.
        budget: u64,
        /// What would fit.
        advice: String,
    },

    /// The solver stopped early, and the caller asked for that to be an error.
    #[error("{}", words::not_converged(*.converged, *.found, *.passes, *.residual, *.tolerance))]
    NotConverged {
        /// Components that reached the tolerance.
        converged: usize,
        /// Components that were found.
        found: usize,
        /// Passes over the matrix.
        passes: usize,
        /// The largest residual.
        residual: f64,
        /// What it should have been.
        tolerance: f64,
    },

    /// The kernel Hebbian algorithm left every bound: its gain is too large.
    #[error("{}", words::diverged(.rule, (*.eta0, *.mu), *.updates, *.died, .advice))]
    Diverged {
        /// The gain rule's name.
        rule: &'static str,
        /// The gain.
        eta0: f64,
        /// The meta-gain, if the rule has one.
        mu: Option<f64>,
        /// Updates after which it was noticed: those of the call, where a learner went on.
        updates: usize,
        /// Whether it stands still where a blow-up has left it, because adapted gains have died.
        died: bool,
        /// What to do.
        advice: &'static str,
    },

    /// A criterion for the width of a kernel only rises or only falls.
    #[error(
        "the criterion \"{criterion}\" has no maximum between bandwidths {low:.3e} and {high:.3e}{}; {advice}",
        words::no_maximum(*.rises, *.n_sampled)
    )]
    NoMaximum {
        /// The criterion's name.
        criterion: &'static str,
        /// The smallest bandwidth that was tried.
        low: f64,
        /// The largest.
        high: f64,
        /// Whether it rises with the bandwidth.
        rises: bool,
        /// Points of the samples that show none; nothing if all pairs were looked at.
        n_sampled: Option<usize>,
        /// What would help.
        advice: &'static str,
    },

    /// Labels that nothing can be learned from.
    #[error("{problem}")]
    Labels {
        /// What is wrong with them.
        problem: String,
    },

    /// The run was stopped from outside before there was anything to return.
    #[error("stopped during {phase}, before there was a result")]
    Interrupted {
        /// What was being done.
        phase: &'static str,
    },

    /// A model file cannot be used.
    #[error("{}: {problem}", .path.display())]
    ModelFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// The operating system refused to read or write.
    #[error("{doing} {}: {source}", .path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
