//! Products by an expansion, verified on some rows.
//!
//! # Method
//!
//! Errors are told relative to the sum of the absolute values of the vectors as they were given. With centring it is `H u` that is multiplied, whose sum
//! may be twice as large, and a mean is subtracted, whose error is at most as large again: the entries' error is that much smaller.

use faer::{Mat, MatRef};

use super::check::CHECK_SEED;
use super::{KernelProduct, Made, ProductRecord, column_means, subtract, subtract_column_means};
use crate::choices::{Center, GramChoice};
use crate::data::Points;
use crate::error::{Error, Result, short};
use crate::expansion::{
    self, Expansion, LEAST_TOLERANCE, LOOK_FROM_POINTS, Targets, TilesInstead, Wanted, checked_rows, exact_rows,
};
use crate::gram::SymmetricOperator;
use crate::record::KernelRecord;
use crate::scalar::Precision;
use crate::watch::{Context, Stopwatch};

/// What an expansion's error is at most if nothing is said.
const DEFAULT_TOLERANCE: f64 = 1e-6;

/// Vectors as they are multiplied, and what errors are relative to.
struct Vectors<'a> {
    multiplied: MatRef<'a, f64>,
    /// The sums of the absolute values of those that were given.
    norms: Vec<f64>,
}

/// A product before centring, what centring subtracts from its columns, and what was promised of it.
struct Sums {
    made: Made,
    means: Vec<f64>,
    method: &'static str,
    terms: usize,
    /// Of an entry, relative to the largest, which follows.
    bound: f64,
    scale: f64,
    warnings: Vec<String>,
}

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
        let norms: Vec<f64> = vectors.col_iter().map(|column| column.norm_l1()).collect();
        let wanted = self.wanted(points, vectors, queries)?;
        self.check_reach(&wanted)?;
        let centered = self.centered(vectors);
        let vectors = Vectors { multiplied: centered.as_ref().map_or(vectors, Mat::as_ref), norms };
        let sums = match Expansion::find(&self.kernel, points, &wanted, context)? {
            Ok(expansion) => self.sums(&expansion, points, vectors.multiplied, queries, context)?,
            Err(instead) => self.sums_of_tiles(instead, points, vectors.multiplied, queries, context)?,
        };
        let mut seconds = stopwatch.seconds();
        let (error, checked_rows) = self.certify(&sums, points, &vectors, queries, context)?;
        let stopwatch = Stopwatch::start();
        let mut product = sums.made.product;
        subtract(&mut product, &sums.means);
        seconds += stopwatch.seconds();
        let measured_error = error.map(|error| self.errors_of_a_product() * error);
        let bound = self.errors_of(&wanted) * sums.bound;
        let mut warnings = sums.warnings;
        warnings.extend(self.judge(bound, measured_error)?);
        let record = ProductRecord {
            n_rows: product.nrows(),
            n_samples: n,
            n_features: points.n_features(),
            n_vectors: b,
            kernel: KernelRecord::from(&self.kernel),
            centered: self.center == Center::Yes,
            gram: sums.made.gram.to_owned(),
            method: sums.method.to_owned(),
            terms: Some(sums.terms),
            bound: Some(bound),
            precision: Precision::F64,
            measured_error,
            checked_rows,
            kernel_entries: sums.made.entries,
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
    ) -> Result<Sums> {
        let means = |product: &Mat<f64>| if self.center == Center::Yes { column_means(product) } else { Vec::new() };
        let (product, means) = if let Some(queries) = queries {
            let compressed = expansion.compress(vectors, context)?;
            let means = match self.center {
                Center::Yes => means(&expansion.product(&compressed, points, context)?),
                Center::No => Vec::new(),
            };
            (expansion.product(&compressed, queries, context)?, means)
        } else {
            let mut product = Mat::zeros(points.n_samples(), vectors.ncols());
            expansion.apply(vectors, product.as_mut(), context)?;
            let means = means(&product);
            (product, means)
        };
        Ok(Sums {
            made: Made { product, entries: expansion.entries_computed(), gram: "expansion" },
            means,
            method: expansion.method(),
            terms: expansion.terms(),
            bound: expansion.bound(),
            scale: expansion.scale(),
            warnings: expansion.warnings().to_vec(),
        })
    }

    /// The same by tiles, within the memory budget.
    fn sums_of_tiles(
        &self,
        instead: TilesInstead,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: Option<&Points>,
        context: &Context<'_>,
    ) -> Result<Sums> {
        let mut made = self.tiles(Precision::F64, points, vectors, queries, context)?;
        let means = match (self.center, queries) {
            (Center::No, _) => Vec::new(),
            (Center::Yes, None) => column_means(&made.product),
            (Center::Yes, Some(_)) => {
                let (means, entries) = self.offsets(Precision::F64, points, vectors, &made.product, context)?;
                made.entries += entries;
                means
            }
        };
        let TilesInstead { warning, bound, scale } = instead;
        Ok(Sums { made, means, method: "tiled", terms: 0, bound, scale, warnings: vec![warning] })
    }

    /// What there is to say of the bound of the product's error; an error that was measured beyond the tolerance is refused.
    fn judge(&self, bound: f64, measured_error: Option<f64>) -> Result<Option<String>> {
        let tolerance = self.tolerance.unwrap_or(DEFAULT_TOLERANCE);
        if let Some(error) = measured_error.filter(|&error| error > tolerance) {
            return Err(Error::invalid(
                "tolerance",
                format!("at least {error:.1e}, which is what was measured"),
                short(tolerance),
            ));
        }
        Ok((bound > tolerance).then(|| {
            format!(
                "rounding may take the error to {bound:.1e}, beyond the tolerance {}; what was measured is within it",
                short(tolerance)
            )
        }))
    }

    /// Whether the product is made by an expansion that nobody asked for: an error is allowed, and it costs much less than tiles do.
    pub(super) fn is_worth_expanding(
        &self,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: Option<&Points>,
        context: &Context<'_>,
    ) -> Result<bool> {
        let is_open = self.gram == GramChoice::Auto && self.tolerance.is_some() && self.precision.is_none();
        let (n, d) = (points.n_samples(), points.n_features());
        if !is_open || n < LOOK_FROM_POINTS || !expansion::knows(&self.kernel, d) {
            return Ok(false);
        }
        let wanted = match self.wanted(points, vectors, queries) {
            // Tiles take less.
            Err(Error::OverBudget { .. }) => return Ok(false),
            wanted => wanted?,
        };
        // Tiles may do what no expansion promises.
        if wanted.tolerance < LEAST_TOLERANCE {
            return Ok(false);
        }
        let found = context.threads.run(|| expansion::predict(&self.kernel, points, &wanted, context))?;
        Ok(found.is_ok_and(|found| found.is_worth_while()))
    }

    /// The vectors as they are multiplied with centring.
    pub(super) fn centered(&self, vectors: MatRef<'_, f64>) -> Option<Mat<f64>> {
        (self.center == Center::Yes).then(|| {
            let mut centered = vectors.to_owned();
            subtract_column_means(&mut centered);
            centered
        })
    }

    /// Errors of sums that add up in the product: centring subtracts a mean, whose error is at most as large again.
    fn errors_of_a_product(&self) -> f64 {
        if self.center == Center::Yes { 2.0 } else { 1.0 }
    }

    /// Errors of entries that add up in the product, for what is wanted of them.
    fn errors_of(&self, wanted: &Wanted<'_>) -> f64 {
        self.tolerance.unwrap_or(DEFAULT_TOLERANCE) / wanted.tolerance
    }

    /// Refuses a tolerance whose share for entries, with centring, is below rounding.
    fn check_reach(&self, wanted: &Wanted<'_>) -> Result<()> {
        let Some(tolerance) = self.tolerance.filter(|_| self.center == Center::Yes) else { return Ok(()) };
        if wanted.tolerance >= LEAST_TOLERANCE {
            return Ok(());
        }
        // Up to the next tenth that is enough.
        let least = (10.0 * self.errors_of(wanted)).ceil() / 10.0 * LEAST_TOLERANCE;
        let requirement =
            format!("at least {least:.1e} for an expansion and these vectors, centred: less is below rounding");
        Err(Error::invalid("tolerance", requirement, short(tolerance)))
    }

    /// What is asked of an expansion; refused if vectors and products alone do not fit the budget.
    fn wanted<'a>(&self, points: &Points, vectors: MatRef<'_, f64>, queries: Option<&'a Points>) -> Result<Wanted<'a>> {
        let (n, budget, columns) = (points.n_samples(), self.memory.bytes(), vectors.ncols());
        let held = (8 * (2 * n + queries.map_or(n, Points::n_samples)) * columns) as u64;
        if held > budget {
            let what = format!("a product of {n} points with {columns} vectors");
            let advice = format!("a budget of {} would do", crate::error::bytes_at_least(2 * held));
            return Err(Error::OverBudget { what, needed: held, budget, advice });
        }
        let longer = if self.center == Center::Yes { growth(vectors) } else { 1.0 };
        Ok(Wanted {
            method: self.method,
            tolerance: self.tolerance.unwrap_or(DEFAULT_TOLERANCE) / (longer * self.errors_of_a_product()),
            targets: queries.map_or(Targets::Sources, Targets::Known),
            columns,
            memory: budget - held,
            may_be_tiled: true,
        })
    }

    /// The largest error of some rows, relative to the sum of the vector's absolute values and the kernel's largest value.
    fn certify(
        &self,
        sums: &Sums,
        points: &Points,
        vectors: &Vectors<'_>,
        queries: Option<&Points>,
        context: &Context<'_>,
    ) -> Result<(Option<f64>, usize)> {
        let targets = queries.unwrap_or(points);
        let rows = checked_rows(targets, self.checked_rows, CHECK_SEED);
        if rows.is_empty() {
            return Ok((None, 0));
        }
        let (sample, product) = (targets.select(&rows), &sums.made.product);
        let exact = exact_rows(&self.kernel, &sample, points, vectors.multiplied, context)?;
        let mut worst = 0.0_f64;
        for (j, &norm) in vectors.norms.iter().enumerate() {
            let errors = rows.iter().enumerate().map(|(i, &row)| (product[(row, j)] - exact[(i, j)]).abs());
            // What is no number is no answer.
            let error =
                errors.fold(0.0_f64, |worst, error| if error.is_nan() { f64::INFINITY } else { worst.max(error) });
            if norm > 0.0 {
                worst = worst.max(error / (norm * sums.scale));
            }
        }
        Ok((Some(worst), rows.len()))
    }
}

/// By which factor centring makes the sum of absolute values of a column larger, at most: a number from one to two.
fn growth(vectors: MatRef<'_, f64>) -> f64 {
    let n = vectors.nrows() as f64;
    let of = |column: faer::ColRef<'_, f64>| {
        let (mean, norm) = (column.iter().sum::<f64>() / n, column.norm_l1());
        let centered: f64 = column.iter().map(|x| (x - mean).abs()).sum();
        if norm > 0.0 && centered.is_finite() { centered / norm } else { 1.0 }
    };
    vectors.col_iter().map(of).fold(1.0, f64::max).min(2.0)
}
