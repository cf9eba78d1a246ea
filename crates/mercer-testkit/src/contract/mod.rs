//! What every kernel, every operator and every solver must do.

mod kernel;
mod solver;

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use faer::{Mat, MatRef};
pub use kernel::check_kernel;
use mercer::gram::{EntryAccess, SymmetricOperator};
use mercer::watch::{Context, Phase, Threads};
use mercer::{Error, Watch};
pub use solver::check_eigensolver;

use crate::generate::normal_matrix;
use crate::reference::largest_entry;
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
    let reads = [1, 3].map(|n_threads| {
        let mut out = Mat::full(rows.len(), n, f64::NAN);
        entries.rows(&rows, out.as_mut(), &context(n_threads)).expect("nothing stops the rows");
        out
    });
    expected.rows(&rows).check_entries(reads[0].as_ref(), "rows");
    assert!(reads.iter().all(|read| same_bits(read.as_ref(), reads[0].as_ref())), "rows depend on the threads");
    entries.rows(&[], Mat::zeros(0, n).as_mut(), &context(1)).expect("no rows are no trouble");
}
