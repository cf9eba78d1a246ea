//! Start vectors from the exact solution for a sample of the points.
//!
//! # Method
//!
//! Eigenvectors of the kernel matrix of a random sample are extended to all points by the kernel (the extension of Nyström):
//! `K(points, sample) v`. Their span is close to that of the wanted eigenvectors, so a Krylov solver that starts there saves the
//! passes in which a random start finds its direction. The extension costs as much as one part in `n / (2 m)` of a pass.
//!
//! A block that is narrower than what is wanted cannot hold all of these vectors. Its own are random combinations of them then, so that what grows
//! from it finds all of the span, and little of what lies beside it: on digits as many passes are saved as by a wide block.

use faer::Mat;

use super::KernelPca;
use super::prepared::Prepared;
use crate::choices::{Center, SolverChoice};
use crate::data::{Points, sample_rows};
use crate::eigen::{BlockKrylov, EigenSolver, Request, seekers, tall};
use crate::error::Result;
use crate::gram::{Basis, Centered, Element, KernelGram, Slab, Store, StoreFormat, SymmetricOperator};
use crate::plan::Plan;
use crate::scalar::Precision;
use crate::simd::Isa;
use crate::watch::Context;

/// The sample's solution only has to point the way.
const TOLERANCE: f64 = 1e-2;
/// And if it does not get there quickly, it points well enough.
const MAX_PASSES: usize = 6;

/// Vectors that are this much shorter than the longest are rounding, of which nothing goes into a mixture.
const ROUNDED: f64 = 1e-6;

/// Start vectors, if the plan asks for them.
pub(crate) fn from_sample(
    settings: &KernelPca,
    prepared: &Prepared,
    plan: &Plan,
    points: &Points,
    context: &Context<'_>,
) -> Result<Option<Mat<f64>>> {
    if plan.start_sample == 0 || plan.solver != SolverChoice::Krylov.name() {
        return Ok(None);
    }
    match prepared.precision {
        Precision::F32 => extended::<f32>(settings, prepared, plan, points, context).map(Some),
        Precision::F64 => extended::<f64>(settings, prepared, plan, points, context).map(Some),
    }
}

fn extended<T: Element>(
    settings: &KernelPca,
    prepared: &Prepared,
    plan: &Plan,
    points: &Points,
    context: &Context<'_>,
) -> Result<Mat<f64>> {
    let sample = points.select(&sample_rows(points.n_samples(), plan.start_sample, settings.seed));
    let count = plan.block.saturating_sub(seekers(plan.block)).max(1).min(sample.n_samples());
    let wanted = settings.first_components(points.n_samples()).clamp(count, sample.n_samples());
    let vectors = leading_vectors::<T>(settings, prepared, &sample, wanted, context)?;
    let basis = context.threads.run(|| Basis::<T>::new(&sample, &prepared.kernel, Isa::detect()))?;
    let extended = Slab::new(basis, vectors.as_ref()).product(points, context)?;
    if extended.ncols() <= count {
        return Ok(extended);
    }
    Ok(mixed(extended, count, settings, context))
}

/// As many random combinations of vectors, each of which counts as much as the others.
fn mixed(mut vectors: Mat<f64>, count: usize, settings: &KernelPca, context: &Context<'_>) -> Mat<f64> {
    let mut lengths = Vec::with_capacity(vectors.ncols());
    for j in 0..vectors.ncols() {
        // What all points share is none of the centred matrix's directions, and would be in every combination.
        let mean = match settings.center {
            Center::Yes => vectors.col(j).iter().sum::<f64>() / vectors.nrows() as f64,
            Center::No => 0.0,
        };
        vectors.col_mut(j).iter_mut().for_each(|x| *x -= mean);
        lengths.push(vectors.col(j).norm_l2());
    }
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    for (j, length) in lengths.into_iter().enumerate() {
        let factor = if length > ROUNDED * longest { 1.0 / length } else { 0.0 };
        vectors.col_mut(j).iter_mut().for_each(|x| *x *= factor);
    }
    let weights = tall::random(vectors.ncols(), count, settings.seed);
    tall::product(vectors.as_ref(), weights.as_ref(), context.threads)
}

/// Leading eigenvectors of the sample's kernel matrix.
fn leading_vectors<T: Element>(
    settings: &KernelPca,
    prepared: &Prepared,
    sample: &Points,
    count: usize,
    context: &Context<'_>,
) -> Result<Mat<f64>> {
    let m = sample.n_samples();
    let store = Store { budget: (m * m * size_of::<T>()) as u64, format: StoreFormat::Full };
    let gram = context.threads.run(|| KernelGram::<T>::new(sample, &prepared.kernel, Some(store)))?;
    let request = Request {
        tolerance: TOLERANCE,
        max_passes: MAX_PASSES,
        order: settings.order(),
        seed: settings.seed,
        ..Request::new(count)
    };
    let solver = BlockKrylov::new(count, count.div_ceil(2));
    let solve = |operator: &dyn SymmetricOperator| solver.leading(operator, &request, context);
    let pairs = match settings.center {
        Center::Yes => solve(&Centered::new(&gram)),
        Center::No => solve(&gram),
    }?;
    Ok(pairs.vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::watch::{Phase, Threads, Watch};

    #[test]
    fn mixtures_are_of_all_vectors_but_of_no_rounding_and_of_nothing_that_all_points_share() {
        let (threads, watch) = (Threads::new(1).expect("a thread"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Starting);
        // Three waves of very different lengths over a large constant, and one that is nothing beside them.
        let n = 64;
        let wave = |i: usize, j: usize| (std::f64::consts::TAU * (i * (j + 1)) as f64 / n as f64).sin();
        let lengths = [1.0, 1e-2, 1e-4, 1e-9];
        let constant = |center: Center| if center == Center::Yes { 3.0 } else { 0.0 };
        for center in [Center::Yes, Center::No] {
            let settings = KernelPca::new(Kernel::linear()).center(center);
            let vectors = Mat::from_fn(n, 4, |i, j| constant(center) + lengths[j] * wave(i, j));
            let mixtures = mixed(vectors, 2, &settings, &context);
            assert_eq!((mixtures.nrows(), mixtures.ncols()), (n, 2));
            for c in 0..2 {
                let share = |j: usize| (0..n).map(|i| mixtures[(i, c)] * wave(i, j)).sum::<f64>().abs();
                let all = mixtures.col(c).norm_l2();
                assert!((0..3).all(|j| share(j) > 1e-3 * all), "every vector has a part in mixture {c}");
                assert!(share(3) < 1e-9 * all, "but the one that is rounding");
                assert!(mixtures.col(c).iter().sum::<f64>().abs() < 1e-9 * all, "and the constant");
            }
        }
    }
}
