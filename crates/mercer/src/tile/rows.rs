//! The kernel of a few points with many that come and go: for learners that see one row at a time.
//!
//! # Method
//!
//! Points are kept in panels as the tile engine has them, one lane per point, so that a row of kernel values is made by whole
//! registers. Distances are sums of differences and not of norms and products: the difference costs one more instruction and
//! loses no digits, however far from the origin the data lies. Several queries share the loads of a panel, which stays in
//! the first-level cache for all of them; the sums of each pair have the same order with one query as with many, so a
//! value does not depend on what it was computed together with.

use std::ops::Range;

use super::{factor_of, has_room};
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

    /// Points of a panel.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// The number of points, rounded up to whole panels.
    pub(crate) fn padded_len(&self) -> usize {
        self.len.next_multiple_of(self.lanes)
    }

    /// The panels there are.
    pub(crate) fn panels(&self) -> Range<usize> {
        0..self.padded_len() / self.lanes
    }

    /// The panel that a point is in.
    pub(crate) fn panel_of(&self, index: usize) -> Range<usize> {
        index / self.lanes..index / self.lanes + 1
    }

    /// Whether values can be computed for several queries together: the user's own function is called for one at a time.
    pub(crate) fn is_vectorised(&self) -> bool {
        !matches!(self.kernel, Kernel::Custom(_) | Kernel::Precomputed)
    }

    /// Writes the kernel of every query with every point of some panels: that of query `q` with point `i` to place
    /// `q stride + i`. Lanes past the last point get finite numbers that mean nothing.
    ///
    /// # Errors
    ///
    /// If the user's function fails. Values that are not finite are left to [`check_row`](Self::check_row).
    pub(crate) fn kernel_rows(
        &self,
        queries: &[f64],
        panels: Range<usize>,
        out: &mut [f64],
        stride: usize,
    ) -> Result<()> {
        assert!(queries.len().is_multiple_of(self.n_features), "whole rows of the same width");
        assert!(panels.end * self.lanes <= stride, "room for a row of the result");
        assert!(queries.len() / self.n_features * stride <= out.len(), "room for the result");
        match &self.kernel {
            _ if panels.is_empty() => {}
            Kernel::Custom(custom) => {
                let points = panels.start * self.lanes..self.len.min(panels.end * self.lanes);
                let rows: Vec<f64> = points.clone().flat_map(|index| self.row(index)).collect();
                for (query, out) in queries.chunks_exact(self.n_features).zip(out.chunks_exact_mut(stride)) {
                    custom.fill(query, &rows, self.n_features, &mut out[points.clone()])?;
                }
            }
            kernel => {
                with_formula!(kernel, formula => {
                    let panels = panels.clone();
                    self.isa.run(Fill { points: self, panels, queries, formula: *formula, out: &mut *out, stride });
                }, else unreachable!("learners refuse given matrices"));
                if kernel.pairing() == Some(Pairing::Cosine) {
                    self.mend_cosines(queries, panels, out, stride)?;
                }
            }
        }
        Ok(())
    }

    /// Computes those cosines anew that squares of large or small coordinates have spoiled, by the same rule for every pair.
    fn mend_cosines(&self, queries: &[f64], panels: Range<usize>, out: &mut [f64], stride: usize) -> Result<()> {
        let points = panels.start * self.lanes..self.len.min(panels.end * self.lanes);
        let odd: Vec<bool> = points.clone().map(|index| squares_are_lost(&self.row(index))).collect();
        for (query, out) in queries.chunks_exact(self.n_features).zip(out.chunks_exact_mut(stride)) {
            let query_is_odd = squares_are_lost(query);
            for (index, &point_is_odd) in points.clone().zip(&odd) {
                if query_is_odd || point_is_odd {
                    out[index] = self.kernel.evaluate(&self.row(index), query)?;
                }
            }
        }
        Ok(())
    }

    /// Refuses a row of values that are not finite, which only a custom kernel or numbers beyond the range can cause.
    pub(crate) fn check_row(&self, values: &[f64], row: usize) -> Result<()> {
        match values[..self.len].iter().position(|value| !value.is_finite()) {
            Some(column) => {
                let (kernel, value) = (self.kernel.name().to_owned(), values[column]);
                Err(Error::KernelWithLearned { kernel, row, value })
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

/// How much larger the square of a row's distance from the middle of several can be than the largest square of their norms: the middle may be as far from the
/// origin as the farthest of them or, where it is made of medians, by the root of two farther.
const FROM_THE_MIDDLE: f64 = 6.0;

/// Whether a row can be packed in double precision together with any others that can: whatever is learned with it, its model has finite kernels.
pub(crate) fn can_be_packed(kernel: &Kernel, row: &[f64]) -> bool {
    fn with<F: Formula>(formula: &F, row: &[f64]) -> bool {
        let factor = factor_of(F::PAIRING, formula.scale());
        let square = || row.iter().map(|x| (x * factor).powi(2)).sum::<f64>();
        match F::PAIRING {
            // Points are divided by their lengths.
            Pairing::Cosine => true,
            Pairing::InnerProduct => has_room::<f64>(square()),
            Pairing::SquaredDistance | Pairing::ManhattanDistance => has_room::<f64>(FROM_THE_MIDDLE * square()),
        }
    }
    with_formula!(kernel, formula => with(formula, row), else true)
}

/// Whether squares of the coordinates, or products with others that are not so, overflow or vanish.
fn squares_are_lost(row: &[f64]) -> bool {
    let largest = row.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    largest > 0.0 && !(1e-70..1e150).contains(&largest)
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
    points: &'a RowPanels,
    panels: Range<usize>,
    queries: &'a [f64],
    formula: F,
    out: &'a mut [f64],
    stride: usize,
}

/// Queries that share the loads of a panel: with two chains of sums each, they keep both multipliers busy.
const TOGETHER: usize = 4;

impl<F: Formula> Job for Fill<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(mut self) {
        let d = self.points.n_features;
        let norms: Vec<f64> = match F::PAIRING {
            Pairing::Cosine => {
                self.queries.chunks_exact(d).map(|query| query.iter().map(|x| x * x).sum::<f64>().sqrt()).collect()
            }
            _ => vec![0.0; self.queries.len() / d],
        };
        for panel in self.panels.clone() {
            let mut first = 0;
            while first + TOGETHER <= norms.len() {
                self.fill::<G::F64, TOGETHER>(panel, first, &norms);
                first += TOGETHER;
            }
            while first < norms.len() {
                self.fill::<G::F64, 1>(panel, first, &norms);
                first += 1;
            }
        }
    }
}

impl<F: Formula> Fill<'_, F> {
    /// The values of `N` queries, from `first` on, with the points of a panel.
    #[inline(always)]
    fn fill<L: Lanes<Elem = f64>, const N: usize>(&mut self, panel: usize, first: usize, norms: &[f64]) {
        let d = self.points.n_features;
        let points = &self.points.values[panel * L::COUNT * d..][..L::COUNT * d];
        let queries: [&[f64]; N] = std::array::from_fn(|q| &self.queries[(first + q) * d..][..d]);
        let scalars = scalars::<L, N>(points, queries, &norms[first..], F::PAIRING);
        for (q, scalar) in scalars.into_iter().enumerate() {
            let out = &mut self.out[(first + q) * self.stride + panel * L::COUNT..][..L::COUNT];
            // SAFETY: the slice is as long as a vector.
            #[expect(unsafe_code, reason = "raw stores of whole vectors")]
            unsafe {
                self.formula.value(scalar).store(out.as_mut_ptr());
            }
        }
    }
}

/// The scalar of each query with each point of a panel.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads of whole vectors")]
fn scalars<L: Lanes<Elem = f64>, const N: usize>(
    panel: &[f64],
    queries: [&[f64]; N],
    query_norms: &[f64],
    pairing: Pairing,
) -> [L; N] {
    let zero = L::constant(0.0);
    // Two chains of sums per query, even and odd features, so that one need not wait for the other.
    let (mut even, mut odd) = ([zero; N], [zero; N]);
    let mut norms = [zero; 2];
    let d = queries[0].len();
    let load = |k: usize| {
        let points = &panel[k * L::COUNT..][..L::COUNT];
        // SAFETY: the slice is as long as a vector.
        unsafe { L::load(points.as_ptr()) }
    };
    let mut k = 0;
    while k + 1 < d {
        let points = [load(k), load(k + 1)];
        if pairing == Pairing::Cosine {
            norms = [points[0].mul_add(points[0], norms[0]), points[1].mul_add(points[1], norms[1])];
        }
        for q in 0..N {
            even[q] = with_feature(points[0], queries[q][k], even[q], pairing);
            odd[q] = with_feature(points[1], queries[q][k + 1], odd[q], pairing);
        }
        k += 2;
    }
    if k < d {
        let points = load(k);
        if pairing == Pairing::Cosine {
            norms[0] = points.mul_add(points, norms[0]);
        }
        for q in 0..N {
            even[q] = with_feature(points, queries[q][k], even[q], pairing);
        }
    }
    std::array::from_fn(|q| {
        let sum = even[q] + odd[q];
        if pairing == Pairing::Cosine {
            // Points of no length have no direction: their inner products are zero, and stay so.
            let norm = (norms[0] + norms[1]).sqrt() * L::splat(query_norms[q]);
            sum / norm.max(L::constant(f64::MIN_POSITIVE))
        } else {
            sum
        }
    })
}

/// A sum with the part of one more feature.
#[inline(always)]
fn with_feature<L: Lanes<Elem = f64>>(points: L, x: f64, sum: L, pairing: Pairing) -> L {
    let x = L::splat(x);
    match pairing {
        Pairing::InnerProduct | Pairing::Cosine => points.mul_add(x, sum),
        Pairing::SquaredDistance => {
            let difference = points - x;
            difference.mul_add(difference, sum)
        }
        Pairing::ManhattanDistance => sum + (points - x).abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panels(kernel: Kernel, isa: Isa) -> RowPanels {
        let mut panels = RowPanels::new(kernel, 3);
        (panels.isa, panels.lanes) = (isa, isa.run(LaneCount));
        for i in 0..11 {
            panels.push(&row(i));
        }
        panels
    }

    fn row(i: usize) -> Vec<f64> {
        (0..3).map(|k| ((i * 7 + k * 5) % 13) as f64 * 0.25 - 1.0).collect()
    }

    #[test]
    fn values_are_those_of_the_kernel_and_do_not_depend_on_their_company() {
        let queries: Vec<f64> = (20..29).flat_map(row).collect();
        let kernels = [
            Kernel::gaussian(0.3).expect("finite numbers"),
            Kernel::laplacian(0.2).expect("finite numbers"),
            Kernel::polynomial(0.5, 1.0, 3).expect("finite numbers"),
            Kernel::cosine(),
        ];
        for (kernel, isa) in
            kernels.iter().flat_map(|kernel| Isa::available().into_iter().map(move |isa| (kernel, isa)))
        {
            let mut panels = panels(kernel.clone(), isa);
            panels.swap_remove(4);
            let points: Vec<Vec<f64>> = (0..10).map(|i| panels.row(i)).collect();
            assert_eq!(points[4], row(10));
            let stride = panels.padded_len();
            let mut together = vec![0.0; 9 * stride];
            panels.kernel_rows(&queries, panels.panels(), &mut together, stride).expect("finite numbers");
            for (q, query) in queries.chunks(3).enumerate() {
                let mut alone = vec![0.0; stride];
                panels.kernel_rows(query, panels.panels(), &mut alone, stride).expect("finite numbers");
                for i in 0..10 {
                    let want = kernel.evaluate(&points[i], query).expect("finite numbers");
                    let got = together[q * stride + i];
                    assert!((got - want).abs() <= 8.0 * f64::EPSILON * want.abs().max(1.0), "{kernel:?}, {isa:?}");
                    assert_eq!(got.to_bits(), alone[i].to_bits(), "{kernel:?}, {isa:?}, query {q}, point {i}");
                }
            }
        }
    }

    #[test]
    fn cosines_do_not_depend_on_lengths() {
        for isa in Isa::available() {
            let plain = panels(Kernel::cosine(), isa);
            let mut scaled = RowPanels { len: 0, values: Vec::new(), ..plain.clone() };
            for i in 0..11 {
                let factor = [1.0, 1e300, 1e-300, 1e-160, 1e160][i % 5];
                scaled.push(&row(i).iter().map(|x| x * factor).collect::<Vec<_>>());
            }
            let stride = plain.padded_len();
            let (mut want, mut got) = (vec![0.0; stride], vec![0.0; stride]);
            for (q, factor) in (20..29).flat_map(|q| [1.0, 1e305, 1e-250].map(|factor| (q, factor))) {
                plain.kernel_rows(&row(q), plain.panels(), &mut want, stride).expect("finite numbers");
                let query: Vec<f64> = row(q).iter().map(|x| x * factor).collect();
                scaled.kernel_rows(&query, scaled.panels(), &mut got, stride).expect("finite numbers");
                for (got, want) in got.iter().zip(&want).take(11) {
                    assert!((got - want).abs() < 16.0 * f64::EPSILON, "{isa:?}: {got} for {want}");
                }
            }
        }
    }
}
