//! The kernel of one point with many that come and go: for learners that see one row at a time.
//!
//! # Method
//!
//! Points are kept in panels as the tile engine has them, one lane per point, so that a row of kernel values is made by whole
//! registers. Distances are sums of differences and not of norms and products: with one query at a time the
//! difference costs one more instruction and loses no digits, however far from the origin the data lies.

use crate::error::{Error, Result};
use crate::kernel::{Formula, Kernel, Pairing, with_formula};
use crate::simd::{Isa, Job, Lanes, Target};

/// Points in double precision to which single points are compared.
#[derive(Clone, Debug)]
pub(crate) struct RowPanels {
    kernel: Kernel,
    isa: Isa,
    lanes: usize,
    n_features: usize,
    len: usize,
    /// Panel by panel, within a panel feature by feature, one number per point.
    values: Vec<f64>,
}

impl RowPanels {
    /// No points yet.
    pub(crate) fn new(kernel: Kernel, n_features: usize) -> Self {
        let isa = Isa::detect();
        Self { kernel, isa, lanes: isa.run(LaneCount), n_features, len: 0, values: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn n_features(&self) -> usize {
        self.n_features
    }

    /// A point.
    pub(crate) fn row(&self, index: usize) -> Vec<f64> {
        (0..self.n_features).map(|k| self.values[self.place(index, k)]).collect()
    }

    /// Adds a point at the end.
    pub(crate) fn push(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.n_features, "a row of the same width");
        if self.len.is_multiple_of(self.lanes) {
            self.values.resize(self.values.len() + self.lanes * self.n_features, 0.0);
        }
        self.len += 1;
        self.write(self.len - 1, row);
    }

    /// Puts the last point in the place of another, which is forgotten.
    pub(crate) fn swap_remove(&mut self, index: usize) {
        let last = self.row(self.len - 1);
        self.write(index, &last);
        self.len -= 1;
        if self.len.is_multiple_of(self.lanes) {
            self.values.truncate(self.len * self.n_features);
        }
    }

    /// Writes the kernel of `query` with every point.
    ///
    /// # Errors
    ///
    /// If a value is not finite, which only a custom kernel or numbers beyond the range can cause.
    pub(crate) fn kernel_row(&self, query: &[f64], out: &mut Vec<f64>) -> Result<()> {
        assert_eq!(query.len(), self.n_features, "a row of the same width");
        out.clear();
        out.resize(self.len.next_multiple_of(self.lanes), 0.0);
        match &self.kernel {
            Kernel::Custom(_) | Kernel::Precomputed => {
                for (index, value) in out.iter_mut().take(self.len).enumerate() {
                    *value = self.kernel.evaluate(&self.row(index), query)?;
                }
            }
            kernel => {
                with_formula!(kernel, formula => {
                    self.isa.run(Fill { panels: self, query, formula: *formula, out });
                }, else unreachable!("matched above"));
            }
        }
        out.truncate(self.len);
        match out.iter().position(|value| !value.is_finite()) {
            Some(column) => {
                Err(Error::CustomKernel { kernel: self.kernel.name().to_owned(), row: 0, column, value: out[column] })
            }
            None => Ok(()),
        }
    }

    fn place(&self, index: usize, feature: usize) -> usize {
        (index / self.lanes * self.n_features + feature) * self.lanes + index % self.lanes
    }

    fn write(&mut self, index: usize, row: &[f64]) {
        for (k, &x) in row.iter().enumerate() {
            let place = self.place(index, k);
            self.values[place] = x;
        }
    }
}

struct LaneCount;

impl Job for LaneCount {
    type Output = usize;
    #[inline(always)]
    fn run<G: Target>(self) -> usize {
        G::F64::COUNT
    }
}

struct Fill<'a, F> {
    panels: &'a RowPanels,
    query: &'a [f64],
    formula: F,
    out: &'a mut [f64],
}

impl<F: Formula> Job for Fill<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let size = G::F64::COUNT * self.query.len();
        let query_norm = self.query.iter().map(|x| x * x).sum::<f64>().sqrt();
        for (panel, out) in self.panels.values.chunks_exact(size.max(1)).zip(self.out.chunks_exact_mut(G::F64::COUNT)) {
            let scalar = scalars::<G::F64>(panel, self.query, query_norm, F::PAIRING);
            // SAFETY: a chunk of the result is one vector.
            #[expect(unsafe_code, reason = "raw stores of whole vectors")]
            unsafe {
                self.formula.value(scalar).store(out.as_mut_ptr());
            }
        }
    }
}

/// The scalar of the query with each point of a panel.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads of whole vectors")]
fn scalars<L: Lanes<Elem = f64>>(panel: &[f64], query: &[f64], query_norm: f64, pairing: Pairing) -> L {
    let zero = L::constant(0.0);
    // Two chains of sums, so that one need not wait for the other.
    let (mut sums, mut norms) = ([zero; 2], [zero; 2]);
    for (k, (points, &x)) in panel.chunks_exact(L::COUNT).zip(query).enumerate() {
        // SAFETY: a chunk of the panel is one vector.
        let points = unsafe { L::load(points.as_ptr()) };
        let x = L::splat(x);
        let sum = &mut sums[k % 2];
        match pairing {
            Pairing::InnerProduct => *sum = points.mul_add(x, *sum),
            Pairing::SquaredDistance => {
                let difference = points - x;
                *sum = difference.mul_add(difference, *sum);
            }
            Pairing::ManhattanDistance => *sum = *sum + (points - x).abs(),
            Pairing::Cosine => {
                *sum = points.mul_add(x, *sum);
                norms[k % 2] = points.mul_add(points, norms[k % 2]);
            }
        }
    }
    let sum = sums[0] + sums[1];
    match pairing {
        Pairing::Cosine => {
            // Points of no length have no direction: their inner products are zero, and stay so.
            let norm = (norms[0] + norms[1]).sqrt() * L::splat(query_norm);
            sum / norm.max(L::constant(f64::MIN_POSITIVE))
        }
        _ => sum,
    }
}
