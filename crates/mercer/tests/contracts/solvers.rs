//! Every solver on Gram matrices, against Jacobi's method.

use mercer::eigen::{BlockKrylov, Dense, EigenSolver, Lanczos, Order, PowerIteration, Request, SubspaceIteration};
use mercer::gram::{Centered, StoreFormat};
use mercer::{Points, Precision};
use mercer_testkit::generate::{circles, clusters, duplicated, gaussian_cloud};
use mercer_testkit::operator::{everything, gram};
use mercer_testkit::{Cloud, Expected, Format, Textbook, check_eigensolver};

/// Every solver, made for `k` pairs. Power iteration is checked where eigenvalues are far apart: elsewhere it takes minutes.
fn solvers(k: usize) -> Vec<(&'static str, Box<dyn EigenSolver>)> {
    vec![
        ("dense", Box::new(Dense)),
        ("krylov, wide", Box::new(BlockKrylov::new(k, 2 * k))),
        ("krylov, narrow", Box::new(BlockKrylov::new(k, 2))),
        ("lanczos", Box::new(Lanczos::new(k))),
        ("subspace", Box::new(SubspaceIteration::new(k))),
    ]
}

fn check(textbook: &Textbook, cloud: &Cloud, format: Format, precision: Precision, request: &Request<'_>) {
    check_some(solvers(request.n_pairs), textbook, &cloud.points(format), precision, request);
}

fn check_some(
    solvers: Vec<(&str, Box<dyn EigenSolver>)>,
    textbook: &Textbook,
    points: &Points,
    precision: Precision,
    request: &Request<'_>,
) {
    let expected = Expected::gram(textbook, points, precision);
    let store = Some(everything(StoreFormat::Full));
    let operator = gram(precision, points, &textbook.to_kernel(), store).unwrap();
    let centered = Centered::new(&*operator);
    // Every solver sees the same state: no product carries the ones along.
    centered.centering(&mercer_testkit::context(1)).unwrap();
    for (name, solver) in solvers {
        let what = format!("{name} with {textbook:?} of {points:?} in {precision}");
        check_eigensolver(&what, solver.as_ref(), &centered, request, 4.0 * expected.one_rounding());
    }
}

#[test]
fn power_iteration_keeps_its_contract_where_eigenvalues_are_far_apart() {
    // Deviations 4, 2 and 1 along the axes: eigenvalues in the ratio 16 : 4 : 1.
    let round = gaussian_cloud(60, 3, 8);
    let cloud = Cloud::from_fn(60, 3, |i, k| round.row(i)[k] * [4.0, 2.0, 1.0][k]);
    let request = Request { tolerance: 1e-6, max_passes: 20_000, ..Request::new(2) };
    for precision in [Precision::F32, Precision::F64] {
        let power = vec![("power", Box::new(PowerIteration) as Box<dyn EigenSolver>)];
        check_some(power, &Textbook::Linear, &cloud.points(Format::F64), precision, &request);
    }
}

#[test]
fn every_solver_keeps_its_contract_on_gram_matrices_in_double_precision() {
    let request = Request { tolerance: 1e-8, max_passes: 20_000, ..Request::new(3) };
    for textbook in [
        Textbook::Linear,
        Textbook::Gaussian { gamma: 0.3 },
        Textbook::Polynomial { gamma: 0.4, coef0: 1.5, degree: 2 },
        Textbook::Laplacian { gamma: 0.35 },
    ] {
        check(&textbook, &gaussian_cloud(60, 4, 1), Format::F64, Precision::F64, &request);
    }
    check(&Textbook::Gaussian { gamma: 0.3 }, &clusters(60, 3, 4, 2), Format::F64, Precision::F64, &request);
    check(&Textbook::Gaussian { gamma: 0.3 }, &circles(60, 3), Format::U8, Precision::F64, &request);
}

#[test]
fn every_solver_keeps_its_contract_on_gram_matrices_in_single_precision() {
    let request = Request { tolerance: 1e-4, max_passes: 20_000, ..Request::new(3) };
    for format in Format::ALL {
        check(&Textbook::Gaussian { gamma: 0.3 }, &gaussian_cloud(60, 4, 4), format, Precision::F32, &request);
        check(&Textbook::Matern52 { gamma: 0.6 }, &duplicated(20, 3, 3, 5), format, Precision::F32, &request);
    }
}

#[test]
fn every_solver_keeps_its_contract_on_indefinite_matrices_in_either_order() {
    for order in [Order::Algebraic, Order::Modulus] {
        let request = Request { tolerance: 1e-7, max_passes: 20_000, order, ..Request::new(2) };
        let kernel = Textbook::Sigmoid { gamma: 0.8, coef0: -0.6 };
        check(&kernel, &gaussian_cloud(50, 3, 6), Format::F64, Precision::F64, &request);
    }
}

#[test]
fn every_solver_keeps_its_contract_on_the_smallest_matrices() {
    for n in [1, 2, 3] {
        for k in 1..=3 {
            let request = Request { tolerance: 1e-8, max_passes: 20_000, ..Request::new(k) };
            let cloud = gaussian_cloud(n, 2, 7);
            check(&Textbook::Gaussian { gamma: 0.5 }, &cloud, Format::F64, Precision::F64, &request);
        }
    }
}
