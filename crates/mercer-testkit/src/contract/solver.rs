//! What every eigen-solver must do.

use std::sync::atomic::AtomicBool;

use faer::{Mat, MatRef};
use mercer::eigen::{EigenPairs, EigenSolver, Order, Outcome, Request};
use mercer::gram::{Counted, SymmetricOperator};
use mercer::watch::{Context, Phase};
use mercer::{Error, Watch};

use super::{apply, context, same_bits};
use crate::reference::{Spectrum, eigen, product, sines_of_angles};

/// Checks that a solver finds the leading pairs of an operator, by comparison with Jacobi's method on its dense matrix.
///
/// `one_rounding` is what rounding the largest entry may cost, before anything cancels: a product is off by as much per term.
///
/// # Panics
///
/// If the contract is broken, or the solver gives up.
#[track_caller]
pub fn check_eigensolver(
    what: &str,
    solver: &dyn EigenSolver,
    operator: &dyn SymmetricOperator,
    request: &Request<'_>,
    one_rounding: f64,
) {
    let n = operator.dim();
    let dense = apply(operator, Mat::identity(n, n).as_ref(), 1);
    let dense = Mat::from_fn(n, n, |i, j| 0.5 * (dense[(i, j)] + dense[(j, i)]));
    let Spectrum { values, vectors } = leading(&eigen(dense.as_ref()), request.order);

    let counted = Counted::new(operator);
    let found = solver.leading(&counted, request, &context(1)).expect("nothing stops the solver");
    let k = request.n_pairs.min(n);
    assert_eq!(found.values.len(), k, "{what}: number of pairs");
    assert_eq!((found.vectors.nrows(), found.vectors.ncols(), found.residuals.len()), (n, k, k), "{what}: shapes");
    assert_eq!((found.outcome, found.converged), (Outcome::Converged, k), "{what}: residuals {:?}", found.residuals);
    assert_eq!(found.passes, counted.passes(), "{what}: passes reported and made");

    // Orthonormal to a few roundings of sums of n products.
    let angles = product(found.vectors.transpose(), found.vectors.as_ref());
    for (i, j) in (0..k).flat_map(|i| (0..k).map(move |j| (i, j))) {
        let gap = (angles[(i, j)] - f64::from(u8::from(i == j))).abs();
        assert!(
            gap <= 16.0 * n as f64 * f64::EPSILON,
            "{what}: vectors {i} and {j} are off from orthonormal by {gap:e}"
        );
    }
    // An error of every entry moves a product by n of them, and its sums of n terms lose another √n on average.
    check_residuals(what, &found, dense.as_ref(), request.tolerance, (n as f64).powf(1.5) * one_rounding);

    // An eigenvalue is no further off than its residual (Weyl), and no further than rounding has moved the matrix.
    let size = values.first().map_or(0.0, |value| value.abs());
    let slack = request.tolerance * size + n as f64 * one_rounding;
    for (j, (value, expected)) in found.values.iter().zip(&values).enumerate() {
        assert!((value - expected).abs() <= slack, "{what}: eigenvalue {j} is {value}, not {expected}");
    }
    // The subspace is no further off than the residuals over the gap that ends it (Davis and Kahan).
    if k > 0 && k < n {
        let gap = match request.order {
            Order::Algebraic => values[k - 1] - values[k],
            Order::Modulus => values[k - 1].abs() - values[k].abs(),
        };
        let bound = (k as f64).sqrt() * slack / gap;
        let largest = sines_of_angles(found.vectors.as_ref(), vectors.subcols(0, k))[0];
        assert!(bound >= 1.0 || largest <= bound, "{what}: the subspace is off by {largest:e} > {bound:e}");
    }
    check_bits_and_stop(what, solver, operator, request, &found);
}

/// The pairs in the order asked for.
fn leading(spectrum: &Spectrum, order: Order) -> Spectrum {
    let n = spectrum.values.len();
    let mut places: Vec<usize> = (0..n).collect();
    if order == Order::Modulus {
        places.sort_by(|&i, &j| spectrum.values[j].abs().total_cmp(&spectrum.values[i].abs()));
    }
    Spectrum {
        values: places.iter().map(|&place| spectrum.values[place]).collect(),
        vectors: Mat::from_fn(n, n, |i, j| spectrum.vectors[(i, places[j])]),
    }
}

/// Residuals must be what they are said to be, up to the rounding of a product, and within the tolerance.
#[track_caller]
fn check_residuals(what: &str, found: &EigenPairs, dense: MatRef<'_, f64>, tolerance: f64, rounding: f64) {
    let image = product(dense, found.vectors.as_ref());
    let size = found.values.first().map_or(0.0, |value| value.abs()).max(f64::MIN_POSITIVE);
    for (j, (&value, &reported)) in found.values.iter().zip(&found.residuals).enumerate() {
        let squares = (0..dense.nrows()).map(|i| (image[(i, j)] - value * found.vectors[(i, j)]).powi(2));
        let computed = squares.sum::<f64>().sqrt() / size;
        let gap = (computed - reported).abs();
        assert!(gap <= rounding / size, "{what}: residual {j} is {computed:e}, but {reported:e} is reported");
        assert!(reported <= tolerance, "{what}: residual {j} is {reported:e}");
    }
}

#[track_caller]
fn check_bits_and_stop(
    what: &str,
    solver: &dyn EigenSolver,
    operator: &dyn SymmetricOperator,
    request: &Request<'_>,
    first: &EigenPairs,
) {
    for n_threads in [1, 3] {
        let again = solver.leading(operator, request, &context(n_threads)).expect("nothing stops the solver");
        let same = again.values.iter().zip(&first.values).all(|(a, b)| a.to_bits() == b.to_bits());
        let same = same && same_bits(again.vectors.as_ref(), first.vectors.as_ref());
        assert!(same, "{what}: {n_threads} threads give other bits than 1");
    }
    if operator.dim() > 0 && request.n_pairs > 0 {
        let stop = AtomicBool::new(true);
        let watch = Watch::new().interrupt(&stop);
        let stopped = Context::new(context(1).threads, &watch, Phase::Solving);
        let outcome = solver.leading(operator, request, &stopped);
        assert!(
            matches!(outcome, Err(Error::Interrupted { .. })),
            "{what}: a run stopped before its first product gave {outcome:?}"
        );
    }
}
