//! Products by an expansion, verified on some rows.

use faer::{Mat, MatRef};

use super::check::CHECK_SEED;
use super::{KernelProduct, ProductRecord, column_means, subtract, subtract_column_means};
use crate::choices::{Center, GramChoice};
use crate::data::Points;
use crate::error::{Error, Result, short};
use crate::expansion::{self, Expansion, LOOK_FROM_POINTS, Targets, Wanted, checked_rows, exact_rows};
use crate::gram::SymmetricOperator;
use crate::record::KernelRecord;
use crate::scalar::Precision;
use crate::watch::{Context, Stopwatch};

/// What an expansion's error is at most if nothing is said.
const DEFAULT_TOLERANCE: f64 = 1e-6;

impl KernelProduct {
    /// The product by the expansion that is wanted.
    pub(super) fn multiply_expanded(
        &self,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: Option<&Points>,
        context: &Context<'_>,
    ) -> Result<(Mat<f64>, ProductRecord)> {
        let stopwatch = Stopwatch::start();
        let (n, b) = (points.n_samples(), vectors.ncols());
        let centered = self.center == Center::Yes;
        let mut vectors = vectors.to_owned();
        if centered {
            subtract_column_means(&mut vectors);
        }
        let wanted = self.wanted(points, b, queries)?;
        let expansion = Expansion::new(&self.kernel, points, &wanted, context)?;
        let (mut product, means) = self.sums(&expansion, points, vectors.as_ref(), queries, context)?;
        let mut seconds = stopwatch.seconds();
        let (error, checked_rows) = self.certify(&expansion, &product, points, vectors.as_ref(), queries, context)?;
        let stopwatch = Stopwatch::start();
        subtract(&mut product, &means);
        seconds += stopwatch.seconds();
        let measured_error = error.map(|error| self.errors_of_a_product() * error);
        let (bound, warnings) = self.judge(&expansion, measured_error)?;
        // Those of the tiles between two sets of points are not counted by the expansion; the means are those of the points themselves.
        let of_means = if centered { n } else { 0 };
        let direct = queries.filter(|_| expansion.is_tiled()).map_or(0, |to| ((to.n_samples() + of_means) * n) as u64);
        let gram = if expansion.is_tiled() { "tiled" } else { "expansion" };
        let record = ProductRecord {
            n_rows: product.nrows(),
            n_samples: n,
            n_features: points.n_features(),
            n_vectors: b,
            kernel: KernelRecord::from(&self.kernel),
            centered,
            gram: gram.to_owned(),
            method: expansion.method().to_owned(),
            terms: Some(expansion.terms()),
            bound: Some(bound),
            precision: Precision::F64,
            measured_error,
            checked_rows,
            kernel_entries: expansion.entries_computed() + direct,
            seconds,
            memory_budget_bytes: self.memory.bytes(),
            threads: context.threads.count(),
            warnings,
        };
        Ok((product, record))
    }

    /// The sums before they are centred, and what centring subtracts from each column: the mean of the product with the points themselves.
    fn sums(
        &self,
        expansion: &Expansion,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: Option<&Points>,
        context: &Context<'_>,
    ) -> Result<(Mat<f64>, Vec<f64>)> {
        let centered = self.center == Center::Yes;
        let Some(queries) = queries else {
            let mut product = Mat::zeros(points.n_samples(), vectors.ncols());
            expansion.apply(vectors, product.as_mut(), context)?;
            let means = if centered { column_means(&product) } else { Vec::new() };
            return Ok((product, means));
        };
        let compressed = expansion.compress(vectors, context)?;
        let means = if centered { column_means(&expansion.product(&compressed, points, context)?) } else { Vec::new() };
        Ok((expansion.product(&compressed, queries, context)?, means))
    }

    /// The bound of the product's error, and what there is to say of it; an error that was measured beyond the tolerance is refused.
    fn judge(&self, expansion: &Expansion, measured_error: Option<f64>) -> Result<(f64, Vec<String>)> {
        let tolerance = self.tolerance.unwrap_or(DEFAULT_TOLERANCE);
        if let Some(error) = measured_error.filter(|&error| error > tolerance) {
            return Err(Error::invalid(
                "tolerance",
                format!("at least {error:.1e}, which is what was measured"),
                short(tolerance),
            ));
        }
        let bound = self.errors_of_a_product() * expansion.bound();
        let mut warnings = expansion.warnings().to_vec();
        if bound > tolerance {
            warnings.push(format!(
                "rounding may take the error to {bound:.1e}, beyond the tolerance {}; what was measured is within it",
                short(tolerance)
            ));
        }
        Ok((bound, warnings))
    }

    /// Whether the product is made by an expansion that nobody asked for: an error is allowed, and it costs much less than tiles do.
    pub(super) fn is_worth_expanding(
        &self,
        points: &Points,
        columns: usize,
        queries: Option<&Points>,
        context: &Context<'_>,
    ) -> Result<bool> {
        let is_open = self.gram == GramChoice::Auto && self.tolerance.is_some() && self.precision.is_none();
        let (n, d) = (points.n_samples(), points.n_features());
        if !is_open || n < LOOK_FROM_POINTS || !expansion::knows(&self.kernel, d) {
            return Ok(false);
        }
        let wanted = match self.wanted(points, columns, queries) {
            // Tiles take less.
            Err(Error::OverBudget { .. }) => return Ok(false),
            wanted => wanted?,
        };
        let found = context.threads.run(|| expansion::predict(&self.kernel, points, &wanted, context))?;
        Ok(found.is_ok_and(|found| found.is_worth_while()))
    }

    /// Errors of an expansion that add up in the product: centring subtracts a mean, whose error is at most as large again.
    fn errors_of_a_product(&self) -> f64 {
        if self.center == Center::Yes { 2.0 } else { 1.0 }
    }

    /// What is asked of an expansion; refused if vectors and products alone do not fit the budget.
    fn wanted<'a>(&self, points: &Points, columns: usize, queries: Option<&'a Points>) -> Result<Wanted<'a>> {
        let (n, budget) = (points.n_samples(), self.memory.bytes());
        let held = (8 * (2 * n + queries.map_or(n, Points::n_samples)) * columns) as u64;
        if held > budget {
            let what = format!("a product of {n} points with {columns} vectors");
            let advice = format!("a budget of {} would do", crate::error::bytes_at_least(2 * held));
            return Err(Error::OverBudget { what, needed: held, budget, advice });
        }
        Ok(Wanted {
            method: self.method,
            tolerance: self.tolerance.unwrap_or(DEFAULT_TOLERANCE) / self.errors_of_a_product(),
            targets: queries.map_or(Targets::Sources, Targets::Known),
            columns,
            memory: budget - held,
            may_be_tiled: true,
        })
    }

    /// The largest error of some rows, relative to the sum of the vector's absolute values and the kernel's largest value.
    fn certify(
        &self,
        expansion: &Expansion,
        product: &Mat<f64>,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: Option<&Points>,
        context: &Context<'_>,
    ) -> Result<(Option<f64>, usize)> {
        let targets = queries.unwrap_or(points);
        let rows = checked_rows(targets, self.checked_rows, CHECK_SEED);
        if rows.is_empty() {
            return Ok((None, 0));
        }
        let sample = targets.select(&rows);
        let exact = exact_rows(&self.kernel, &sample, points, vectors, context)?;
        let mut worst = 0.0_f64;
        for j in 0..vectors.ncols() {
            let norm = vectors.col(j).norm_l1();
            let errors = rows.iter().enumerate().map(|(i, &row)| (product[(row, j)] - exact[(i, j)]).abs());
            // What is no number is no answer.
            let error =
                errors.fold(0.0_f64, |worst, error| if error.is_nan() { f64::INFINITY } else { worst.max(error) });
            if norm > 0.0 {
                worst = worst.max(error / (norm * expansion.scale()));
            }
        }
        Ok((Some(worst), rows.len()))
    }
}
