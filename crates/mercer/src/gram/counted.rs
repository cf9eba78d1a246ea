//! Counting what a solver asks of an operator.

use std::sync::atomic::{AtomicUsize, Ordering};

use faer::{Mat, MatMut, MatRef};

use super::{EntryAccess, SymmetricOperator};
use crate::error::Result;
use crate::watch::Context;

/// Forwards to an operator and counts what was asked of it: the cost measures of the literature.
///
/// ```
/// use faer::Mat;
/// use mercer::eigen::{BlockKrylov, EigenSolver, Request};
/// use mercer::gram::{Counted, EntryAccess, KernelGram, SymmetricOperator};
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let counted = Counted::new(&gram);
/// let pairs = BlockKrylov::new(1, 2).leading(&counted, &Request::new(1), &context)?;
/// assert_eq!(counted.passes(), pairs.passes);
///
/// let counted = Counted::new(&gram);
/// counted.apply(Mat::full(3, 2, 1.0).as_ref(), Mat::zeros(3, 2).as_mut(), &context)?;
/// counted.rows(&[0, 2], Mat::zeros(2, 3).as_mut(), &context)?;
/// assert_eq!((counted.passes(), counted.products(), counted.entries()), (1, 2, 6));
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct Counted<'a, A: ?Sized> {
    inner: &'a A,
    passes: AtomicUsize,
    products: AtomicUsize,
    entries: AtomicUsize,
}

impl<'a, A: ?Sized> Counted<'a, A> {
    /// Counts what is asked of `inner` from now on.
    pub fn new(inner: &'a A) -> Self {
        Self { inner, passes: AtomicUsize::new(0), products: AtomicUsize::new(0), entries: AtomicUsize::new(0) }
    }

    /// Products with blocks of vectors: passes over the matrix.
    pub fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// Products with single vectors, that is columns of those blocks.
    pub fn products(&self) -> usize {
        self.products.load(Ordering::Relaxed)
    }

    /// Entries that were read through [`EntryAccess`].
    pub fn entries(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }
}

impl<A: SymmetricOperator + ?Sized> SymmetricOperator for Counted<'_, A> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn apply(&self, x: MatRef<'_, f64>, out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.products.fetch_add(x.ncols(), Ordering::Relaxed);
        self.inner.apply(x, out, context)
    }

    /// The operator's own, which counts as a pass with as many products as it has columns.
    fn to_dense(&self, context: &Context<'_>) -> Result<Mat<f64>> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.products.fetch_add(self.inner.dim(), Ordering::Relaxed);
        self.inner.to_dense(context)
    }
}

impl<A: EntryAccess + ?Sized> EntryAccess for Counted<'_, A> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn diagonal(&self) -> Result<Vec<f64>> {
        self.entries.fetch_add(self.inner.dim(), Ordering::Relaxed);
        self.inner.diagonal()
    }

    fn rows(&self, rows: &[usize], out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        self.entries.fetch_add(rows.len() * self.inner.dim(), Ordering::Relaxed);
        self.inner.rows(rows, out, context)
    }
}
