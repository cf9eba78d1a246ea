//! Scores of new points: products of their kernel values with the components' coefficients.

use std::borrow::Cow;
use std::sync::Arc;

use faer::{Mat, MatRef};

use super::fitted::Model;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::expansion::{Compressed, Expansion, Targets, Wanted};
use crate::gram::{Basis, Slab, slab_product};
use crate::memory;
use crate::scalar::Precision;
use crate::simd::Isa;
use crate::watch::{Context, Phase, Threads, Watch};

/// The basis of a model as products take it, with what its kernel values are multiplied with.
pub(super) enum PackedSlab {
    F32(Slab<f32>),
    F64(Slab<f64>),
    /// Coefficients brought to an expansion's terms: a new point then costs as many multiply-adds, not as many as there are points.
    Expanded(Arc<Expansion>, Compressed),
}

impl Model {
    /// Scores of new points, in memory that does not grow with their number beyond the scores themselves (and a scaled copy of the
    /// points, if the model scales them and they are not bytes that stay bytes).
    ///
    /// For a precomputed kernel, `queries` holds kernel values: one row per new point, one column per training point.
    ///
    /// # Errors
    ///
    /// If the points have another width than the model, or hold values that are not finite.
    pub fn transform(&self, queries: &Points) -> Result<Mat<f64>> {
        self.transform_watched(queries, &Threads::all()?, &Watch::new())
    }

    /// As [`transform`](Self::transform), on given threads, with somebody looking on who may stop it.
    ///
    /// ```
    /// use std::sync::atomic::AtomicBool;
    ///
    /// use mercer::watch::{Threads, Watch};
    /// use mercer::{Error, Kernel, KernelPca, Points};
    ///
    /// let points = Points::from_f64((0..40).map(|i| f64::from(i * i % 17)).collect::<Vec<_>>(), 20, 2)?;
    /// let model = KernelPca::new(Kernel::gaussian(0.01)?).fit(&points)?;
    /// let threads = Threads::new(2)?;
    /// assert_eq!(model.transform_watched(&points, &threads, &Watch::new())?, model.transform(&points)?);
    /// let stop = AtomicBool::new(true);
    /// let stopped = model.transform_watched(&points, &threads, &Watch::new().interrupt(&stop));
    /// assert!(matches!(stopped, Err(Error::Interrupted { .. })));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`transform`](Self::transform), and [`Error::Interrupted`].
    pub fn transform_watched(&self, queries: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Mat<f64>> {
        let context = self.context_for(queries, threads, watch)?;
        self.scores(&*self.scaled(queries)?, &context)
    }

    /// Scores of points as the fit would have seen them.
    pub(super) fn scores(&self, scaled: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        let mut scores = self.slab(context)?.product(scaled, context)?;
        self.subtract_offsets(&mut scores);
        Ok(scores)
    }

    /// Scores of the basis points, in double precision whatever the model's.
    pub(crate) fn scores_of_basis(&self, context: &Context<'_>) -> Result<Mat<f64>> {
        let folded = self.folded_coefficients();
        let mut scores =
            slab_product(self.kernel(), self.basis(), self.basis(), folded.as_ref(), Precision::F64, context)?;
        self.subtract_offsets(&mut scores);
        Ok(scores)
    }

    /// The context of a look at new points, if the model can look at them.
    pub(super) fn context_for<'a>(
        &self,
        queries: &Points,
        threads: &'a Threads,
        watch: &'a Watch<'a>,
    ) -> Result<Context<'a>> {
        let (expected, found) = (self.n_features(), queries.n_features());
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        queries.check_finite()?;
        Ok(Context::new(threads, watch, Phase::Transforming))
    }

    /// Points as the fit would have seen them.
    pub(crate) fn scaled<'a>(&self, queries: &'a Points) -> Result<Cow<'a, Points>> {
        self.scaling().map_or(Ok(Cow::Borrowed(queries)), |scaling| scaling.apply(queries).map(Cow::Owned))
    }

    /// What is left of centring when coefficients are folded.
    pub(super) fn subtract_offsets(&self, scores: &mut Mat<f64>) {
        for (j, &offset) in self.offsets().iter().enumerate() {
            scores.col_mut(j).iter_mut().for_each(|score| *score -= offset);
        }
    }

    /// The packed basis; packed when it is first needed.
    pub(super) fn slab(&self, context: &Context<'_>) -> Result<&PackedSlab> {
        if let Some(slab) = self.slab.get() {
            return Ok(slab);
        }
        let isa = Isa::detect();
        let folded = self.folded_coefficients();
        if let Some(expansion) = self.expansion(context)? {
            let compressed = expansion.compress(folded.as_ref(), context)?;
            return Ok(self.slab.get_or_init(|| PackedSlab::Expanded(Arc::new(expansion), compressed)));
        }
        let (kernel, basis, precision) = (self.kernel(), self.basis(), self.precision());
        let packed = context.threads.run(|| -> Result<PackedSlab> {
            Ok(match precision {
                Precision::F32 => {
                    PackedSlab::F32(Slab::new(Basis::new(&basis.recognised(), kernel, isa)?, folded.as_ref()))
                }
                Precision::F64 => PackedSlab::F64(Slab::new(Basis::new(basis, kernel, isa)?, folded.as_ref())),
            })
        })?;
        Ok(self.slab.get_or_init(|| packed))
    }

    /// The expansion that new points are projected by, if the fit used one and it pays for points that are not known yet.
    fn expansion(&self, context: &Context<'_>) -> Result<Option<Expansion>> {
        let Some(record) = &self.record().expansion else { return Ok(None) };
        let wanted = Wanted {
            method: record.method.parse()?,
            tolerance: record.tolerance,
            targets: Targets::Any,
            columns: self.n_components() + 1,
            memory: memory::available() / 2,
            may_be_tiled: false,
        };
        let expansion = Expansion::new(self.kernel(), self.basis(), &wanted, context)?;
        Ok((!expansion.is_tiled()).then_some(expansion))
    }

    /// Coefficients with the centring of a point's kernel row folded in: subtracting the row's mean from the row is the same as
    /// subtracting the column's mean from each column of coefficients. Components are these combinations of the basis points' images.
    ///
    /// Where the centre is given by weights, only its products with the basis are subtracted from a kernel row, and there is nothing to
    /// fold.
    pub(crate) fn folded_coefficients(&self) -> Mat<f64> {
        let mut folded = self.dual_coefficients().to_owned();
        if self.centering().is_some_and(|centering| centering.weights.is_none()) {
            let n = folded.nrows() as f64;
            for j in 0..folded.ncols() {
                let mean = folded.col(j).iter().sum::<f64>() / n;
                folded.col_mut(j).iter_mut().for_each(|a| *a -= mean);
            }
        }
        folded
    }

    /// What is left of centring: a constant per component, its inner product with the mean.
    pub(crate) fn offsets(&self) -> Vec<f64> {
        let Some(centering) = self.centering() else { return vec![0.0; self.n_components()] };
        let folded = self.folded_coefficients();
        (0..folded.ncols())
            .map(|j| folded.col(j).iter().zip(&centering.column_means).map(|(a, mean)| a * mean).sum())
            .collect()
    }
}

impl PackedSlab {
    /// The product for some queries.
    pub(super) fn product(&self, queries: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        match self {
            Self::F32(slab) => slab.product(queries, context),
            Self::F64(slab) => slab.product(queries, context),
            Self::Expanded(expansion, compressed) => expansion.product(compressed, queries, context),
        }
    }

    /// The same packed basis with other vectors.
    pub(super) fn with_vectors(&self, vectors: MatRef<'_, f64>, context: &Context<'_>) -> Result<Self> {
        Ok(match self {
            Self::F32(slab) => Self::F32(slab.with_vectors(vectors)),
            Self::F64(slab) => Self::F64(slab.with_vectors(vectors)),
            Self::Expanded(expansion, _) => {
                Self::Expanded(Arc::clone(expansion), expansion.compress(vectors, context)?)
            }
        })
    }
}
