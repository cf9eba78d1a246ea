//! The Gram matrix of a fit: tiles, or an expansion.

use faer::{MatMut, MatRef};

use super::expanded;
use super::prepared::Prepared;
use crate::choices::GramChoice;
use crate::data::Points;
use crate::error::Result;
use crate::expansion::Expansion;
use crate::gram::{Element, EntryAccess, KernelGram, PackedCopy, Store, SymmetricOperator};
use crate::plan::Plan;
use crate::record::ExpansionRecord;
use crate::watch::Context;

/// The Gram matrix as the plan wants it.
pub(crate) enum PlannedGram<T> {
    Tiles(Box<KernelGram<T>>),
    Expansion(Box<Expansion>, ExpansionRecord),
}

impl<T: Element> PlannedGram<T> {
    /// The matrix; where an expansion turns out not to pay, or not to keep to its bound, `replan` is asked for a plan for tiles.
    pub(crate) fn new(
        prepared: &mut Prepared,
        plan: &mut Plan,
        points: &Points,
        store: Option<Store>,
        seed: u64,
        replan: impl FnOnce(&Prepared) -> Result<Plan>,
        context: &Context<'_>,
    ) -> Result<Self> {
        if plan.gram == GramChoice::Expansion.name() {
            let wanted = expanded::wanted(prepared.tolerance, expanded::COLUMNS, prepared.room);
            let expansion = (prepared.expand)(&prepared.kernel, points, &wanted, context)?;
            if expansion.is_tiled() {
                prepared.warnings.extend_from_slice(expansion.warnings());
            } else {
                let record = expanded::record(&expansion, prepared.tolerance, seed, context)?;
                if record.holds() {
                    plan.method = Some(record.method.clone());
                    return Ok(Self::Expansion(Box::new(expansion), record));
                }
                let reason = format!(
                    "the error of the expansion ({}) was measured to be {:.1e}, beyond its bound of {:.1e}",
                    record.method, record.measured_error, record.bound
                );
                prepared.warnings.push(format!("tiles are computed, because {reason}"));
                prepared.without_expansion = Some(reason);
            }
            // Neither its solver nor its blocks are those for tiles.
            (prepared.gram, prepared.prediction) = (GramChoice::Tiled, None);
            *plan = replan(prepared)?;
        }
        let copy = if plan.packs_per_tile { PackedCopy::PerTile } else { PackedCopy::Kept };
        let tiles = KernelGram::<T>::watched(copy, points, &prepared.kernel, store, context)?;
        Ok(Self::Tiles(Box::new(tiles)))
    }

    pub(super) fn expansion(&self) -> Option<&Expansion> {
        match self {
            Self::Tiles(_) => None,
            Self::Expansion(expansion, _) => Some(expansion),
        }
    }

    pub(crate) fn into_record(self) -> Option<ExpansionRecord> {
        match self {
            Self::Tiles(_) => None,
            Self::Expansion(_, record) => Some(record),
        }
    }

    pub(crate) fn entries_computed(&self) -> u64 {
        match self {
            Self::Tiles(tiles) => tiles.entries_computed(),
            Self::Expansion(expansion, _) => expansion.entries_computed(),
        }
    }

    pub(super) fn diagonal(&self) -> Result<Vec<f64>> {
        match self {
            Self::Tiles(tiles) => tiles.diagonal(),
            Self::Expansion(expansion, _) => expansion.diagonal(),
        }
    }
}

impl<T: Element> SymmetricOperator for PlannedGram<T> {
    fn dim(&self) -> usize {
        match self {
            Self::Tiles(tiles) => SymmetricOperator::dim(&**tiles),
            Self::Expansion(expansion, _) => expansion.dim(),
        }
    }

    fn apply(&self, x: MatRef<'_, f64>, out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        match self {
            Self::Tiles(tiles) => tiles.apply(x, out, context),
            Self::Expansion(expansion, _) => expansion.apply(x, out, context),
        }
    }
}
