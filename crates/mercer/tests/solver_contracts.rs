//! Every solver against operators whose spectrum is known.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use faer::{Mat, MatMut, MatRef};
use mercer::eigen::{
    BlockKrylov, Dense, EigenPairs, EigenSolver, Lanczos, Order, Outcome, PowerIteration, Request, SubspaceIteration,
};
use mercer::gram::{Counted, SymmetricOperator};
use mercer::watch::{Context, Phase, Threads, Watch};

/// `H D H` with a diagonal `D` and a Householder reflection `H`: eigenvalues are known, eigenvectors are not unit vectors.
struct Reflected {
    diagonal: Vec<f64>,
    normal: Vec<f64>,
}

impl Reflected {
    fn new(diagonal: Vec<f64>) -> Self {
        let n = diagonal.len();
        let raw: Vec<f64> = (0..n).map(|i| 1.0 + (i as f64 * 0.7).sin()).collect();
        let norm = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
        Self { diagonal, normal: raw.into_iter().map(|x| x / norm).collect() }
    }

    fn reflect(&self, x: &mut [f64]) {
        let dot: f64 = x.iter().zip(&self.normal).map(|(a, b)| a * b).sum();
        x.iter_mut().zip(&self.normal).for_each(|(a, b)| *a -= 2.0 * dot * b);
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut y = x.to_vec();
        self.reflect(&mut y);
        y.iter_mut().zip(&self.diagonal).for_each(|(a, d)| *a *= d);
        self.reflect(&mut y);
        y
    }
}

impl SymmetricOperator for Reflected {
    fn dim(&self) -> usize {
        self.diagonal.len()
    }

    fn apply(&self, x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, context: &Context<'_>) -> mercer::Result<()> {
        if context.watch.is_stopped() {
            return Err(mercer::Error::Interrupted { phase: "testing" });
        }
        for j in 0..x.ncols() {
            let column: Vec<f64> = x.col(j).iter().copied().collect();
            for (i, y) in self.times(&column).into_iter().enumerate() {
                out[(i, j)] = y;
            }
        }
        Ok(())
    }
}

fn solvers(k: usize) -> Vec<(&'static str, Box<dyn EigenSolver>)> {
    vec![
        ("dense", Box::new(Dense)),
        ("krylov, wide", Box::new(BlockKrylov::new(k, 2 * k.max(1)))),
        ("krylov, narrow", Box::new(BlockKrylov::new(k, 2))),
        ("lanczos", Box::new(Lanczos::new(k))),
        ("subspace", Box::new(SubspaceIteration::new(k))),
        ("power", Box::new(PowerIteration)),
    ]
}

fn solve(solver: &dyn EigenSolver, a: &dyn SymmetricOperator, request: &Request<'_>) -> EigenPairs {
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    solver.leading(a, request, &Context::new(&threads, &watch, Phase::Solving)).unwrap()
}

/// What every solver promises, checked with products of our own.
#[track_caller]
fn check_pairs(name: &str, a: &Reflected, expected: &[f64], request: &Request<'_>, pairs: &EigenPairs) {
    assert_eq!(pairs.values.len(), expected.len(), "{name}: number of pairs");
    let leading = expected.first().map_or(1.0, |x| x.abs()).max(f64::MIN_POSITIVE);
    for (i, (found, want)) in pairs.values.iter().zip(expected).enumerate() {
        // A residual r bounds the eigenvalue's error by r.
        assert!(
            (found - want).abs() <= 2.0 * request.tolerance * leading + 1e-12 * leading,
            "{name}: value {i}: {found} != {want}"
        );
    }
    let gram = pairs.vectors.transpose() * &pairs.vectors;
    for i in 0..gram.nrows() {
        for j in 0..gram.ncols() {
            let want = if i == j { 1.0 } else { 0.0 };
            assert!((gram[(i, j)] - want).abs() < 1e-10, "{name}: vectors {i} and {j}: {}", gram[(i, j)]);
        }
    }
    for (j, (&value, &residual)) in pairs.values.iter().zip(&pairs.residuals).enumerate() {
        let v: Vec<f64> = pairs.vectors.col(j).iter().copied().collect();
        let norm = a.times(&v).iter().zip(&v).map(|(y, x)| (y - value * x).powi(2)).sum::<f64>().sqrt() / leading;
        assert!((norm - residual).abs() <= 1e-11, "{name}: residual {j} is {norm:e}, but {residual:e} is reported");
        assert!(norm <= request.tolerance.max(1e-12), "{name}: residual {j} is {norm:e}");
    }
    assert_eq!((pairs.outcome, pairs.converged), (Outcome::Converged, expected.len()), "{name}");
}

#[test]
fn every_solver_finds_the_leading_pairs_of_a_known_spectrum() {
    let diagonal: Vec<f64> = (0..300).map(|i| 10.0 * 0.8_f64.powi(i)).collect();
    let a = Reflected::new(diagonal.clone());
    let request = Request { tolerance: 1e-9, max_passes: 5000, ..Request::new(6) };
    for (name, solver) in solvers(6) {
        check_pairs(name, &a, &diagonal[..6], &request, &solve(solver.as_ref(), &a, &request));
    }
}

#[test]
fn matrices_of_order_one_two_k_and_k_plus_one_are_solved() {
    for n in [1, 2, 4, 5, 6] {
        let diagonal: Vec<f64> = (0..n).map(|i| (n - i) as f64).collect();
        let a = Reflected::new(diagonal.clone());
        for k in [1, 4, 5] {
            let request = Request { tolerance: 1e-10, max_passes: 20_000, ..Request::new(k) };
            for (name, solver) in solvers(k) {
                let pairs = solve(solver.as_ref(), &a, &request);
                check_pairs(&format!("{name}, n = {n}, k = {k}"), &a, &diagonal[..k.min(n)], &request, &pairs);
            }
        }
    }
}

#[test]
fn huge_and_tiny_matrices_are_solved_like_others() {
    for scale in [1e-20, 1e20] {
        let diagonal: Vec<f64> = (0..200).map(|i| scale * 0.8_f64.powi(i)).collect();
        let a = Reflected::new(diagonal.clone());
        let request = Request { tolerance: 1e-9, max_passes: 5000, ..Request::new(4) };
        for (name, solver) in solvers(4) {
            let pairs = solve(solver.as_ref(), &a, &request);
            check_pairs(&format!("{name} at {scale:e}"), &a, &diagonal[..4], &request, &pairs);
        }
    }
}

#[test]
fn no_pairs_and_no_matrix_give_nothing() {
    let empty = Reflected { diagonal: vec![], normal: vec![] };
    let some = Reflected::new(vec![2.0, 1.0]);
    for (name, solver) in solvers(1) {
        assert!(solve(solver.as_ref(), &empty, &Request::new(3)).values.is_empty(), "{name}");
        assert!(solve(solver.as_ref(), &some, &Request::new(0)).values.is_empty(), "{name}");
    }
}

#[test]
fn repeated_eigenvalues_come_with_all_their_copies() {
    // Seven copies of the leading eigenvalue: a single start vector sees only one direction of them.
    let mut diagonal = vec![5.0; 7];
    diagonal.extend((0..200).map(|i| 4.0 * 0.9_f64.powi(i)));
    let a = Reflected::new(diagonal.clone());
    let request = Request { tolerance: 1e-8, max_passes: 5000, ..Request::new(8) };
    for (name, solver) in solvers(8) {
        check_pairs(name, &a, &diagonal[..8], &request, &solve(solver.as_ref(), &a, &request));
    }
}

#[test]
fn a_matrix_of_low_rank_gives_its_zeros_too() {
    let mut diagonal = vec![0.0; 90];
    diagonal[..3].copy_from_slice(&[3.0, 2.0, 1.0]);
    let a = Reflected::new(diagonal.clone());
    let request = Request { tolerance: 1e-9, max_passes: 5000, ..Request::new(6) };
    for (name, solver) in solvers(6) {
        check_pairs(name, &a, &diagonal[..6], &request, &solve(solver.as_ref(), &a, &request));
    }
}

#[test]
fn negative_eigenvalues_count_by_modulus_or_not_at_all() {
    let mut diagonal: Vec<f64> = (0..100).map(|i| 3.0 * 0.7_f64.powi(i)).collect();
    diagonal[50] = -8.0;
    diagonal[51] = -2.0;
    let a = Reflected::new(diagonal);
    for (name, solver) in solvers(4) {
        for (order, expected) in [(Order::Algebraic, [3.0, 2.1, 1.47, 1.029]), (Order::Modulus, [-8.0, 3.0, 2.1, -2.0])]
        {
            let request = Request { tolerance: 1e-9, max_passes: 20_000, order, ..Request::new(4) };
            let pairs = solve(solver.as_ref(), &a, &request);
            // Relative to the leading value of that order, so looser in absolute terms for the modulus.
            check_pairs(name, &a, &expected, &request, &pairs);
            let lowest = pairs.most_negative.unwrap_or(0.0);
            assert!((lowest + 8.0).abs() < 1e-6, "{name}: the most negative value seen is {lowest}");
        }
    }
}

#[test]
fn a_good_start_saves_passes() {
    let diagonal: Vec<f64> = (0..400).map(|i| 1.0 / f64::from(i + 1)).collect();
    let a = Reflected::new(diagonal);
    let solver = BlockKrylov::new(5, 10);
    let request = Request { tolerance: 1e-6, ..Request::new(5) };
    let cold = solve(&solver, &a, &request);
    let warm = solve(&solver, &a, &Request { start: Some(cold.vectors.as_ref()), ..request });
    // Even the answer has to hold out against random vectors, until those have shown what else there is.
    assert!(2 * warm.passes <= cold.passes, "{} passes from the answer, {} from nothing", warm.passes, cold.passes);
}

#[test]
fn an_invariant_start_does_not_hide_larger_eigenvalues() {
    let diagonal: Vec<f64> = (0..60).map(|i| f64::from(60 - i)).collect();
    let a = Reflected::new(diagonal);
    // Exact eigenvectors 4 and 5: their span is invariant, and the three leading pairs are not in it.
    let unit = |i: usize| {
        let mut e = vec![0.0; 60];
        e[i] = 1.0;
        a.reflect(&mut e);
        e
    };
    let (four, five) = (unit(3), unit(4));
    let start = Mat::from_fn(60, 2, |i, j| if j == 0 { four[i] } else { five[i] });
    let request = Request { tolerance: 1e-9, start: Some(start.as_ref()), ..Request::new(2) };
    let pairs = solve(&BlockKrylov::new(2, 2), &a, &request);
    check_pairs("krylov", &a, &[60.0, 59.0], &request, &pairs);
}

#[test]
fn a_start_that_is_blind_to_a_direction_does_not_hide_it() {
    // Two parts that do not know of each other: whatever grows from a start in the first never leaves it.
    let (n, hidden) = (400, 5);
    let own: Vec<f64> = (0..n - hidden).map(|i| 10.0 * 0.7_f64.powi(i as i32)).collect();
    let diagonal: Vec<f64> = own.iter().copied().chain([6.0; 5]).collect();
    let a = Reflected::new(diagonal);
    for seed in 0..5 {
        let start = Mat::from_fn(n, 8, |i, j| if i < n - hidden { ((i * (j + 1)) as f64).sin() } else { 0.0 });
        let mut columns: Vec<Vec<f64>> = (0..8).map(|j| start.col(j).iter().copied().collect()).collect();
        for column in &mut columns {
            a.reflect(column);
        }
        let start = Mat::from_fn(n, 8, |i, j| columns[j][i]);
        let request = Request { tolerance: 1e-8, start: Some(start.as_ref()), seed, ..Request::new(7) };
        let pairs = solve(&BlockKrylov::new(7, 8), &a, &request);
        check_pairs("krylov", &a, &[10.0, 7.0, 6.0, 6.0, 6.0, 6.0, 6.0], &request, &pairs);
    }
}

#[test]
fn the_same_request_gives_the_same_bits_on_any_number_of_threads() {
    let diagonal: Vec<f64> = (0..3000).map(|i| 10.0 / f64::from(i + 1)).collect();
    let a = Reflected::new(diagonal);
    for (name, solver) in [
        ("krylov", Box::new(BlockKrylov::new(5, 12)) as Box<dyn EigenSolver>),
        ("lanczos", Box::new(Lanczos::new(5))),
        ("subspace", Box::new(SubspaceIteration::new(5))),
    ] {
        let bits = |n_threads: usize| {
            let (threads, watch) = (Threads::new(n_threads).unwrap(), Watch::new());
            let request = Request { tolerance: 1e-4, ..Request::new(5) };
            let pairs = solver.leading(&a, &request, &Context::new(&threads, &watch, Phase::Solving)).unwrap();
            let vectors: Vec<u64> = pairs.vectors.col_iter().flat_map(|c| c.iter().map(|x| x.to_bits())).collect();
            (pairs.values.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), vectors)
        };
        let one = bits(1);
        for n_threads in [2, 3, 5] {
            assert!(bits(n_threads) == one, "{name} differs between 1 and {n_threads} threads");
        }
    }
}

#[test]
fn the_dense_solver_gives_the_same_bits_on_any_number_of_threads() {
    let a = Reflected::new((0..300).map(|i| 10.0 / f64::from(i + 1)).collect());
    let bits = |n_threads: usize| {
        let (threads, watch) = (Threads::new(n_threads).unwrap(), Watch::new());
        let pairs = Dense.leading(&a, &Request::new(50), &Context::new(&threads, &watch, Phase::Solving)).unwrap();
        pairs.vectors.col_iter().flat_map(|c| c.iter().map(|x| x.to_bits()).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let one = bits(1);
    for n_threads in [2, 3, 6] {
        assert!(bits(n_threads) == one, "1 and {n_threads} threads differ");
    }
}

#[test]
fn a_stopped_run_returns_the_best_pairs_so_far() {
    let a = Reflected::new((0..500).map(|i| 1.0 - f64::from(i) * 1e-3).collect());
    let (threads, stop) = (Threads::new(1).unwrap(), AtomicBool::new(false));
    let seen = AtomicUsize::new(0);
    let observer = |progress: &mercer::watch::Progress| {
        if progress.residual.is_some() && seen.fetch_add(1, Ordering::Relaxed) == 2 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let watch = Watch::new().interrupt(&stop).observer(&observer);
    for (name, solver) in [
        ("krylov", Box::new(BlockKrylov::new(3, 2)) as Box<dyn EigenSolver>),
        ("lanczos", Box::new(Lanczos::new(3))),
        ("subspace", Box::new(SubspaceIteration { block: 4 })),
    ] {
        stop.store(false, Ordering::Relaxed);
        seen.store(0, Ordering::Relaxed);
        let request = Request { tolerance: 1e-12, ..Request::new(3) };
        let pairs = solver.leading(&a, &request, &Context::new(&threads, &watch, Phase::Solving)).unwrap();
        assert_eq!((pairs.outcome, pairs.values.len()), (Outcome::Stopped, 3), "{name}");
        assert!(pairs.converged < 3 && pairs.residuals.iter().all(|r| r.is_finite()), "{name}");
    }
}

#[test]
fn a_run_stopped_before_its_first_product_is_an_error() {
    let a = Reflected::new(vec![1.0; 100]);
    let (threads, stop) = (Threads::new(1).unwrap(), AtomicBool::new(true));
    let watch = Watch::new().interrupt(&stop);
    for (name, solver) in solvers(2) {
        let outcome = solver.leading(&a, &Request::new(2), &Context::new(&threads, &watch, Phase::Solving));
        assert!(matches!(outcome, Err(mercer::Error::Interrupted { .. })), "{name}");
    }
}

#[test]
fn a_request_without_passes_still_makes_one() {
    let a = Reflected::new((0..50).map(|i| f64::from(50 - i)).collect());
    for (name, solver) in solvers(2) {
        let pairs = solve(solver.as_ref(), &a, &Request { max_passes: 0, ..Request::new(2) });
        assert!(!pairs.values.is_empty() && pairs.passes >= 1, "{name}");
    }
}

#[test]
fn passes_that_are_used_up_are_reported_with_the_residual_reached() {
    let a = Reflected::new((0..500).map(|i| 1.0 - f64::from(i) * 1e-3).collect());
    for (name, solver) in solvers(3).into_iter().skip(1) {
        let request = Request { tolerance: 1e-12, max_passes: 4, ..Request::new(3) };
        let pairs = solve(solver.as_ref(), &a, &request);
        assert_eq!(pairs.outcome, Outcome::OutOfPasses, "{name}");
        assert!(pairs.passes <= 4 && pairs.residuals.iter().any(|&r| r > 1e-12), "{name}");
    }
}

#[test]
fn krylov_makes_one_product_per_pass_and_no_more_than_its_block() {
    let a = Reflected::new((0..400).map(|i| 1.0 / f64::from(i + 1)).collect());
    let counted = Counted::new(&a);
    let pairs = solve(&BlockKrylov::new(5, 8), &counted, &Request { tolerance: 1e-6, ..Request::new(5) });
    assert_eq!(counted.passes(), pairs.passes);
    assert!(counted.products() <= 8 * pairs.passes);
}
