//! What every kernel and every operator must do.

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use faer::{Mat, MatRef};
use mercer::gram::{EntryAccess, SymmetricOperator};
use mercer::watch::{Context, Phase, Threads};
use mercer::{Error, Kernel, Watch};

use crate::generate::{Cloud, circles, clusters, gaussian_cloud, grid, normal_matrix};
use crate::reference::{Textbook, eigen, largest_entry};
use crate::tolerance::Expected;

/// Numbers of threads that must give the same bits.
pub const THREAD_COUNTS: [usize; 4] = [1, 2, 3, 5];

static POOLS: LazyLock<[Threads; 4]> =
    LazyLock::new(|| THREAD_COUNTS.map(|n| Threads::new(n).expect("a few threads can be started")));
static NOBODY: LazyLock<Watch<'static>> = LazyLock::new(Watch::new);

/// A context that nobody watches, with one of [`THREAD_COUNTS`] threads.
///
/// # Panics
///
/// If there is no pool of that size.
#[track_caller]
pub fn context(n_threads: usize) -> Context<'static> {
    let pool = THREAD_COUNTS.iter().position(|&n| n == n_threads).expect("a number of threads that has a pool");
    Context::new(&POOLS[pool], &NOBODY, Phase::Solving)
}

/// The product of an operator with a block of vectors.
///
/// # Panics
///
/// If the operator fails.
#[track_caller]
pub fn apply(operator: &dyn SymmetricOperator, x: MatRef<'_, f64>, n_threads: usize) -> Mat<f64> {
    // Whatever stood in the result before must not matter.
    let mut out = Mat::full(operator.dim(), x.ncols(), f64::NAN);
    operator.apply(x, out.as_mut(), &context(n_threads)).expect("nothing stops the product");
    out
}

/// Whether two matrices are the same, bit by bit.
pub fn same_bits(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> bool {
    let shape = |m: MatRef<'_, f64>| (m.nrows(), m.ncols());
    shape(a) == shape(b) && (0..a.ncols()).all(|j| (0..a.nrows()).all(|i| a[(i, j)].to_bits() == b[(i, j)].to_bits()))
}

/// Checks an operator: symmetric, linear, the same bits on any number of threads and every time, and stopped when the watch says
/// so. Returns the dense matrix.
///
/// `one_rounding` is what rounding the largest entry may cost, before anything cancels: see [`Expected::one_rounding`].
///
/// # Panics
///
/// If the contract is broken.
#[track_caller]
pub fn check_symmetric_operator(operator: &dyn SymmetricOperator, one_rounding: f64) -> Mat<f64> {
    let n = operator.dim();
    let dense = apply(operator, Mat::identity(n, n).as_ref(), 1);
    // Each entry is a sum of n products.
    let slack = (n as f64 + 8.0) * one_rounding;
    for i in 0..n {
        for j in 0..i {
            let gap = (dense[(i, j)] - dense[(j, i)]).abs();
            assert!(gap <= slack, "A[{i},{j}] and A[{j},{i}] differ by {gap:e} > {slack:e}");
        }
    }

    let x = normal_matrix(n, 3, 11);
    let y = apply(operator, x.as_ref(), 1);
    let combination = Mat::from_fn(n, 1, |i, _| 2.0 * x[(i, 0)] - 3.0 * x[(i, 1)]);
    let found = apply(operator, combination.as_ref(), 1);
    // Both sides are sums of n products with numbers no larger than this.
    let size = n as f64 * 5.0 * largest_entry(x.as_ref());
    for i in 0..n {
        let gap = (found[(i, 0)] - (2.0 * y[(i, 0)] - 3.0 * y[(i, 1)])).abs();
        assert!(gap <= slack * size, "A(2x - 3y) and 2Ax - 3Ay differ by {gap:e} in row {i}");
    }

    for n_threads in THREAD_COUNTS {
        let again = apply(operator, x.as_ref(), n_threads);
        assert!(same_bits(again.as_ref(), y.as_ref()), "{n_threads} threads give other bits than 1");
    }
    check_that_it_stops(operator);
    dense
}

#[track_caller]
fn check_that_it_stops(operator: &dyn SymmetricOperator) {
    let n = operator.dim();
    if n == 0 {
        return;
    }
    let stop = AtomicBool::new(true);
    let watch = Watch::new().interrupt(&stop);
    let threads = context(2).threads;
    let mut out = Mat::zeros(n, 1);
    let outcome =
        operator.apply(Mat::full(n, 1, 1.0).as_ref(), out.as_mut(), &Context::new(threads, &watch, Phase::Solving));
    assert!(matches!(outcome, Err(Error::Interrupted { .. })), "a product that should stop gave {outcome:?}");
}

/// Checks that an operator's entries are the expected ones, read in any order and more than once.
///
/// # Panics
///
/// If the contract is broken.
#[track_caller]
pub fn check_entry_access(entries: &dyn EntryAccess, expected: &Expected) {
    let n = entries.dim();
    assert_eq!(n, expected.dense.nrows(), "order of the matrix");
    let diagonal = entries.diagonal().expect("nothing stops the diagonal");
    assert_eq!(diagonal.len(), n);
    for (i, &found) in diagonal.iter().enumerate() {
        let gap = (found - expected.dense[(i, i)]).abs();
        assert!(gap <= expected.tolerance[(i, i)], "diagonal entry {i} is {found:e}, off by {gap:e}");
    }

    // Backwards in steps of three, and the first row again.
    let rows: Vec<usize> = (0..n).rev().step_by(3).chain((n > 0).then_some(0)).collect();
    let reads = THREAD_COUNTS.map(|n_threads| {
        let mut out = Mat::full(rows.len(), n, f64::NAN);
        entries.rows(&rows, out.as_mut(), &context(n_threads)).expect("nothing stops the rows");
        out
    });
    expected.rows(&rows).check_entries(reads[0].as_ref(), "rows");
    assert!(reads.iter().all(|read| same_bits(read.as_ref(), reads[0].as_ref())), "rows depend on the threads");
    entries.rows(&[], Mat::zeros(0, n).as_mut(), &context(1)).expect("no rows are no trouble");
}

/// Checks a kernel against the textbook: values, symmetry, range, derivatives by central differences, and that Gram matrices are
/// positive semi-definite if the kernel says so.
///
/// # Panics
///
/// If the contract is broken.
#[track_caller]
pub fn check_kernel(kernel: &Kernel, textbook: &Textbook) {
    for cloud in [gaussian_cloud(24, 1, 7), gaussian_cloud(24, 3, 8), circles(24, 9), clusters(24, 3, 4, 10), grid(5)] {
        check_gram_of(kernel, textbook, &cloud);
    }
    for s in [0.3, 1.0, 2.5, 7.0] {
        check_derivatives(kernel, textbook, s);
    }
}

#[track_caller]
fn check_gram_of(kernel: &Kernel, textbook: &Textbook, cloud: &Cloud) {
    let name = kernel.name();
    let gram = Mat::from_fn(cloud.n, cloud.n, |i, j| {
        let (x, y) = (cloud.row(i), cloud.row(j));
        let value = kernel.evaluate(x, y).expect("both points have the same coordinates");
        let expected = textbook.value(x, y);
        // The two sum and raise in different orders: a few roundings of the value.
        let slack = 32.0 * f64::EPSILON * expected.abs().max(1.0);
        assert!((value - expected).abs() <= slack, "{name}: {value:e} at points {i} and {j}, not {expected:e}");
        let mirrored = kernel.evaluate(y, x).expect("as above");
        assert_eq!(value.to_bits(), mirrored.to_bits(), "{name} is not symmetric at points {i} and {j}");
        assert!(
            !kernel.has_unit_range() || (0.0..=1.0).contains(&value),
            "{name} claims values between 0 and 1, but has {value}"
        );
        value
    });
    if kernel.is_positive_definite() {
        let values = eigen(gram.as_ref()).values;
        // Jacobi's method and the entries are exact to n ε of the largest eigenvalue.
        let slack = cloud.n as f64 * f64::EPSILON * values[0];
        let lowest = *values.last().expect("the matrix is not empty");
        assert!(lowest >= -slack, "{name} claims to be positive semi-definite, but has the eigenvalue {lowest:e}");
    }
}

/// Step of the central differences: their error is about `step²` from the formula and `ε / step` from rounding, least together here.
const STEP: f64 = 6e-6;

#[track_caller]
fn check_derivatives(kernel: &Kernel, textbook: &Textbook, s: f64) {
    let difference = |f: &dyn Fn(f64) -> f64, at: f64| (f(at + STEP) - f(at - STEP)) / (2.0 * STEP);
    let check = |what: &str, found: f64, expected: f64| {
        // Second derivatives and values of these formulas are below a thousand at the places looked at.
        let slack = 1e3 * STEP * STEP + 1e2 * f64::EPSILON / STEP;
        let size = expected.abs().max(1.0);
        assert!(
            (found - expected).abs() <= slack * size,
            "{}: derivative by {what} at {s} is {found}, central difference {expected}",
            kernel.name()
        );
    };
    check("the pair's scalar", kernel.slope(s), difference(&|t| textbook.of_scalar(t), s));
    for &parameter in kernel.parameters() {
        let at = kernel.parameter(parameter).expect("the kernel lists it");
        let found = kernel.derivative(parameter, s).expect("the kernel lists it");
        check(parameter.name(), found, difference(&|p| textbook.with(parameter, p).of_scalar(s), at));
    }
}
