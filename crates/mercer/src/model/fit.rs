//! The fit: from points to a model.
//!
//! Reads as the steps do: prepare (kernel, budget, plan), pack, start, solve, finish.

use std::collections::BTreeMap;

use super::checkpoint::{Journal, Totals};
use super::finish::Finish;
use super::planned_gram::PlannedGram;
use super::prepared::{Prepared, SpeedsFrom};
use super::solve::{Operator, Run};
use super::spectrum::Spectrum;
use super::{KernelPca, Model, start};
use crate::choices::Components;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::gram::{Counted, Element, Store, StoreFormat, largest_on_diagonal};
use crate::kernel::{Kernel, Pairing};
use crate::plan::Plan;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Stopwatch, Watch};

/// Fits a model.
pub(crate) fn fit(settings: &KernelPca, points: &Points, watch: &Watch<'_>) -> Result<Model> {
    let stopwatch = Stopwatch::start();
    let (prepared, plan, points) = Prepared::with_plan(settings, points, SpeedsFrom::WhateverIsCheap, watch)?;
    let points = &points;
    let mut seconds = BTreeMap::from([("planning".to_owned(), stopwatch.seconds())]);
    // On the pool from here on: a small fit would otherwise spend most of its time on handing its steps over to other threads.
    let (threads, kernel, precision) = (prepared.threads.clone(), prepared.kernel.clone(), prepared.precision);
    let mut model = threads
        .run(|| match precision {
            Precision::F32 => fit_in::<f32>(settings, prepared, plan, points, watch, &mut seconds),
            Precision::F64 => fit_in::<f64>(settings, prepared, plan, points, watch, &mut seconds),
        })
        .map_err(|error| explain(error, &kernel, precision, points))?;
    seconds.insert("total".to_owned(), stopwatch.seconds());
    model.set_seconds(seconds);
    Ok(model)
}

/// Numbers that are not finite, and variances that rounding hides, may come from kernel values that are too large or too small.
fn explain(error: Error, kernel: &Kernel, precision: Precision, points: &Points) -> Error {
    match error {
        Error::Decomposition { .. } | Error::VarianceInRounding { .. } => {
            out_of_range(kernel, precision, points).unwrap_or(error)
        }
        _ => error,
    }
}

/// What is wrong with kernel values, if they are too large for the arithmetic, by the row that has the largest, or all of them too small.
pub(crate) fn out_of_range(kernel: &Kernel, precision: Precision, points: &Points) -> Option<Error> {
    if kernel.pairing() != Some(Pairing::InnerProduct) {
        return None;
    }
    let (smallest, largest) = match precision {
        Precision::F32 => (f64::from(f32::MIN_POSITIVE), precision.largest()),
        // Images of vectors are squared.
        Precision::F64 => (f64::MIN_POSITIVE.sqrt(), precision.largest().sqrt()),
    };
    let (row, value) = largest_on_diagonal(kernel, points).ok()??;
    let (name, n_samples) = (kernel.name().to_owned(), points.n_samples());
    let sum = value.abs() * n_samples as f64;
    if sum > largest {
        Some(Error::KernelOverflow { kernel: name, row, value, precision, n_samples })
    } else if sum < smallest && (sum > 0.0 || have_vanished(kernel, points)) {
        Some(Error::KernelUnderflow { kernel: name, value: value.abs(), precision, n_samples })
    } else {
        None
    }
}

/// Whether kernel values that are all zero have underflowed: the kernel is zero for points that are, and these are not.
fn have_vanished(kernel: &Kernel, points: &Points) -> bool {
    let is_zero = |row: usize| points.row(row).iter().all(|&x| x == 0.0);
    kernel.value(0.0) == 0.0 && !(0..points.n_samples()).all(is_zero)
}

fn fit_in<T: Element>(
    settings: &KernelPca,
    mut prepared: Prepared,
    mut plan: Plan,
    points: &Points,
    watch: &Watch<'_>,
    seconds: &mut BTreeMap<String, f64>,
) -> Result<Model> {
    let threads = prepared.threads.clone();
    let context = |phase| Context::new(&threads, watch, phase);
    let journal = prepared.journal(settings, &mut plan, points, watch)?;
    let packing = Stopwatch::start();
    // Tiles in fixed point are rounded without room for any, too: a fit that goes on from a checkpoint may have none.
    let is_rounded = plan.store_format == StoreFormat::Fixed16;
    let store =
        (plan.store_bytes > 0 || is_rounded).then_some(Store { budget: plan.store_bytes, format: plan.store_format });
    let replan = |prepared: &Prepared| prepared.plan(settings, points);
    let packing_context = context(Phase::Packing);
    let gram = PlannedGram::<T>::new(&mut prepared, &mut plan, points, store, settings.seed, replan, &packing_context)?;
    context(Phase::Packing).check()?;
    seconds.insert("packing".to_owned(), packing.seconds());

    let starting = Stopwatch::start();
    let start = match journal.as_ref().and_then(|journal| journal.earlier.as_ref()) {
        Some(_) => None,
        None => start::from_sample(settings, &prepared, &plan, points, &context(Phase::Starting))?,
    };
    seconds.insert("starting".to_owned(), starting.seconds());

    let solving = Stopwatch::start();
    let counted = Counted::new(&gram);
    let earlier = journal.as_ref().map_or_else(Totals::default, Journal::totals);
    let totals = || Totals {
        passes: earlier.passes + counted.passes(),
        products: earlier.products + counted.products(),
        kernel_entries: earlier.kernel_entries + gram.entries_computed(),
    };
    let known = journal.as_ref().and_then(|journal| journal.earlier.as_ref()?.row_sums.clone());
    let operator = Operator::new(settings.center, &counted, known);
    let expansion = gram.expansion();
    let run = Run { settings, operator: &operator, expansion, journal: journal.as_ref(), totals: &totals };
    let spectrum = match settings.components {
        Components::Count(k) => {
            let pairs = run.solve(&prepared, &plan, k, start.as_ref(), &context(Phase::Solving))?;
            Spectrum::new(pairs, &gram.diagonal()?, operator.centering(&context(Phase::Solving))?)
        }
        Components::Variance(share) => {
            run.grow(&mut prepared, &mut plan, points, share, start, &gram.diagonal()?, &context)?
        }
    };
    seconds.insert("solving".to_owned(), solving.seconds());
    Finish {
        settings,
        prepared,
        plan,
        points,
        spectrum,
        requested: match settings.components {
            Components::Count(k) => Some(k),
            Components::Variance(_) => None,
        },
        totals: totals(),
        expansion: gram.into_record(),
        resumed_after_passes: journal.as_ref().and_then(|journal| Some(journal.earlier.as_ref()?.totals.passes)),
    }
    .model()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::GramChoice;
    use crate::expansion::Expansion;

    /// Many points in the plane, few of which are near one another.
    fn points(n: u32) -> Points {
        let values: Vec<f64> = (0..2 * n).map(|i| (f64::from(i) * 0.754_877_666).fract()).collect();
        Points::from_f64(values, n as usize, 2).expect("pairs")
    }

    #[test]
    fn an_expansion_that_does_not_keep_to_its_bound_gives_way_to_tiles() {
        let (points, watch) = (points(3000), Watch::new());
        let kernel = Kernel::exponential(4.0).expect("positive");
        let settings = KernelPca::new(kernel).n_components(3).tolerance(1e-4).threads(2);
        let exact = settings.clone().gram(GramChoice::Tiled).fit(&points).expect("a fit by tiles");
        let settings = settings.gram(GramChoice::Expansion);
        let sound = settings.fit(&points).expect("a fit by a grid");
        assert_eq!((sound.record().gram.as_str(), sound.record().warnings.len()), ("expansion", 0));

        let (mut prepared, plan, points) =
            Prepared::with_plan(&settings, &points, SpeedsFrom::WhateverIsCheap, &watch).expect("it fits");
        assert_eq!((plan.gram.as_str(), plan.method.as_deref()), ("expansion", Some("grid")));
        prepared.expand = |kernel, points, wanted, context| {
            Expansion::new(kernel, points, wanted, context).map(Expansion::without_neighbours)
        };
        let mut seconds = BTreeMap::new();
        let model = fit_in::<f64>(&settings, prepared, plan, &points, &watch, &mut seconds).expect("a fit by tiles");
        let record = model.record();
        let warning = "tiles are computed, because the error of the expansion (grid) was measured to be ";
        assert!(record.warnings.iter().any(|said| said.starts_with(warning)), "{:?}", record.warnings);
        // The record is that of a fit by tiles, its plan a new one with a reason.
        assert_eq!((record.gram.as_str(), &record.expansion, model.converged()), ("tiled", &None, true));
        assert_eq!((record.plan.gram.as_str(), &record.plan.method), ("tiled", &None));
        assert_eq!((record.plan.block, record.plan.solver.as_str()), (exact.record().plan.block, "krylov"));
        let reason = "no expansion, because the error of the expansion (grid) was measured to be ";
        assert!(record.plan.reasons.iter().any(|said| said.starts_with(reason)), "{:?}", record.plan.reasons);
        assert!(record.kernel_entries > 0 && record.passes == exact.record().passes);
        // And so is the answer.
        assert_eq!(model.eigenvalues(), exact.eigenvalues());
    }
}
