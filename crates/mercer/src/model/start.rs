//! Start vectors from the exact solution for a sample of the points.
//!
//! # Method
//!
//! Eigenvectors of the kernel matrix of a random sample are extended to all points by the kernel (the extension of Nyström):
//! `K(points, sample) v`. Their span is close to that of the wanted eigenvectors, so a Krylov solver that starts there saves the
//! passes in which a random start finds its direction. The extension costs as much as one part in `n / (2 m)` of a pass.

use faer::Mat;

use super::KernelPca;
use super::prepared::Prepared;
use crate::choices::{Center, SolverChoice};
use crate::data::{Points, sample_rows};
use crate::eigen::{BlockKrylov, EigenSolver, Request, seekers};
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
    let count = plan.block.saturating_sub(seekers(plan.block)).max(1);
    let vectors = leading_vectors::<T>(settings, prepared, &sample, count, context)?;
    let basis = context.threads.run(|| Basis::<T>::new(&sample, &prepared.kernel, Isa::detect()))?;
    Slab::new(basis, vectors.as_ref()).product(points, context)
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
