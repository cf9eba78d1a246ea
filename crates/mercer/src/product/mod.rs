//! Products with a kernel matrix, without kernel PCA around them.
//!
//! What a solver is made of is useful by itself: to check a method against, and to build others on. [`KernelProduct`] multiplies
//! the kernel matrix of some points, or that between other points and them, with vectors, in bounded memory, and says how far the
//! result is from one computed directly in double precision.

mod check;
mod expanded;
mod record;

use faer::{Mat, MatRef};

pub use self::record::ProductRecord;
use crate::choices::{Center, ExpansionMethod, GramChoice, MemoryBudget};
use crate::data::Points;
use crate::error::{Error, Result, short};
use crate::expansion::CHECKED_ROWS;
use crate::gram::{Element, KernelGram, Store, StoreFormat, SymmetricOperator, slab_product};
use crate::kernel::Kernel;
use crate::record::KernelRecord;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Stopwatch, Threads, Watch};

/// A product with a kernel matrix, as it is asked for.
///
/// ```
/// use faer::Mat;
/// use mercer::{Center, Kernel, KernelProduct, MemoryBudget, Points, Precision, Watch};
///
/// let points = Points::from_f64(vec![0.0, 0.0, 3.0, 4.0], 2, 2)?;
/// let (sums, record) =
///     KernelProduct::new(Kernel::linear()).multiply(&points, Mat::full(2, 1, 1.0).as_ref(), None, &Watch::new())?;
/// assert_eq!((sums[(0, 0)], sums[(1, 0)]), (0.0, 25.0));
/// assert_eq!(record.kernel_entries, 4);
///
/// // Centred in feature space: H K H with H = I − 11ᵀ/2.
/// let said = KernelProduct::new(Kernel::linear()).center(Center::Yes).precision(Precision::F64).tolerance(1e-9);
/// let said = said.checked_rows(1).memory(MemoryBudget::Bytes(1 << 20)).threads(1);
/// let (column, record) = said.multiply(&points, faer::mat![[1.0], [0.0]].as_ref(), None, &Watch::new())?;
/// assert_eq!((column[(0, 0)], column[(1, 0)]), (6.25, -6.25));
/// assert_eq!((record.centered, record.precision, record.checked_rows, record.threads), (true, Precision::F64, 1, 1));
/// assert!(record.measured_error <= Some(1e-9) && record.memory_budget_bytes == 1 << 20);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelProduct {
    kernel: Kernel,
    center: Center,
    gram: GramChoice,
    method: ExpansionMethod,
    precision: Option<Precision>,
    tolerance: Option<f64>,
    checked_rows: usize,
    memory: MemoryBudget,
    threads: Option<usize>,
}

/// Vectors that are multiplied at a time: more than this gain nothing.
const COLUMNS: usize = 256;
/// Rows of queries that are packed at a time.
const QUERIES_AT_ONCE: u64 = 7680;
/// Below this tolerance single precision is not tried.
const F32_TOLERANCE: f64 = 1e-5;

impl KernelProduct {
    /// Products with this kernel, not centred.
    pub fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            center: Center::No,
            gram: GramChoice::Auto,
            method: ExpansionMethod::Auto,
            precision: None,
            tolerance: None,
            checked_rows: CHECKED_ROWS,
            memory: MemoryBudget::Auto,
            threads: None,
        }
    }

    /// Sets whether the points are centred in feature space (default: they are not).
    #[must_use]
    pub fn center(mut self, center: Center) -> Self {
        self.center = center;
        self
    }

    /// Sets how tiles are had when there are more vectors than are multiplied at a time.
    #[must_use]
    pub fn gram(mut self, gram: GramChoice) -> Self {
        self.gram = gram;
        self
    }

    /// Sets how an expansion is made (default: in the cheapest way); only with [`GramChoice::Expansion`].
    ///
    /// ```
    /// use faer::Mat;
    /// use mercer::{ExpansionMethod, GramChoice, Kernel, KernelProduct, Points, Watch};
    ///
    /// let points = Points::from_f64((0..3000).map(|i| (f64::from(i) * 0.37).cos()).collect::<Vec<_>>(), 1000, 3)?;
    /// let product = KernelProduct::new(Kernel::gaussian(0.5)?).gram(GramChoice::Expansion).method(ExpansionMethod::Grid);
    /// let (_, record) = product.multiply(&points, Mat::full(1000, 1, 1.0).as_ref(), None, &Watch::new())?;
    /// assert_eq!(record.method, "grid");
    /// assert!(record.measured_error <= record.bound && record.bound <= Some(1e-6));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn method(mut self, method: ExpansionMethod) -> Self {
        self.method = method;
        self
    }

    /// Sets the precision of tiles (default: that of the data, or what the tolerance needs).
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = Some(precision);
        self
    }

    /// Sets how many rows are computed directly to measure the error (default: [`CHECKED_ROWS`]); none if zero.
    #[must_use]
    pub fn checked_rows(mut self, rows: usize) -> Self {
        self.checked_rows = rows;
        self
    }

    /// Sets what the measured error must not exceed (for an expansion, 1e-6 if nothing is said).
    ///
    /// Where an error is allowed, and no precision is asked for, products of many points in few dimensions are made by an expansion if that
    /// costs much less than tiles do.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Sets how much memory the product may take beyond the data (default: 70 % of what is available).
    #[must_use]
    pub fn memory(mut self, memory: MemoryBudget) -> Self {
        self.memory = memory;
        self
    }

    /// Sets the number of threads (default: one per processor). The answer does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// `K(points, points) vectors`, or `K(queries, points) vectors`, with a record.
    ///
    /// For a precomputed kernel `points` is the kernel matrix and `queries` holds kernel values, one column per point.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, shapes do not fit, a number is not finite, the product does not fit the memory budget
    /// or cannot be had to the tolerance, a custom kernel failed, or the run was stopped.
    pub fn multiply(
        &self,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: Option<&Points>,
        watch: &Watch<'_>,
    ) -> Result<(Mat<f64>, ProductRecord)> {
        self.check(points, vectors, queries)?;
        let threads = self.threads.map_or_else(Threads::all, Threads::new)?;
        let context = Context::new(&threads, watch, Phase::Multiplying);
        let asked = self.gram == GramChoice::Expansion;
        if asked || self.is_worth_expanding(points, vectors, queries, &context)? {
            return self.multiply_expanded(points, vectors, queries, &context);
        }
        let data = points.precision();
        let first = self.precision.unwrap_or(match self.tolerance {
            Some(tolerance) if tolerance < F32_TOLERANCE => Precision::F64,
            _ => data,
        });
        let (product, record) = self.multiply_in(first, points, vectors, queries, &context)?;
        if let Some(error) = self.overflow(&product, first, points) {
            if first == Precision::F32 && self.precision.is_none() {
                return Self { precision: Some(Precision::F64), ..self.clone() }
                    .multiply(points, vectors, queries, watch);
            }
            return Err(error);
        }
        let (Some(tolerance), Some(error)) = (self.tolerance, record.measured_error) else {
            return Ok((product, record));
        };
        if error <= tolerance {
            return Ok((product, record));
        }
        if first == Precision::F32 && self.precision.is_none() {
            return Self { precision: Some(Precision::F64), ..self.clone() }.multiply(points, vectors, queries, watch);
        }
        let requirement = format!("at least {error:.1e}, which is what {first} leaves");
        Err(Error::invalid("tolerance", requirement, short(tolerance)))
    }

    fn check(&self, points: &Points, vectors: MatRef<'_, f64>, queries: Option<&Points>) -> Result<()> {
        let n = points.n_samples();
        if let Some(tolerance) = self.tolerance
            && !(tolerance > 0.0 && tolerance < 1.0)
        {
            return Err(Error::invalid("tolerance", "between 0 and 1", tolerance));
        }
        if self.gram != GramChoice::Expansion && self.method != ExpansionMethod::Auto {
            return Err(Error::invalid("method", "left out unless `gram` is \"expansion\"", self.method));
        }
        if self.gram == GramChoice::Expansion && self.precision == Some(Precision::F32) {
            return Err(Error::invalid("precision", "double with an expansion, which has no other", Precision::F32));
        }
        if self.tolerance.is_some() && self.checked_rows == 0 {
            return Err(Error::invalid("checked_rows", "at least 1 where there is a tolerance", 0));
        }
        if matches!(self.kernel, Kernel::Precomputed) && points.n_features() != n {
            return Err(Error::NotSquare { rows: n, columns: points.n_features() });
        }
        if vectors.nrows() != n {
            return Err(Error::invalid("vectors", format!("of {n} rows, one per point"), vectors.nrows()));
        }
        for (column, values) in vectors.col_iter().enumerate() {
            if let Some((row, &value)) = values.iter().enumerate().find(|(_, x)| !x.is_finite()) {
                return Err(not_finite("vectors", Error::NotFinite { row, column, value }));
            }
        }
        points.check_finite().map_err(|error| not_finite("points", error))?;
        if queries.is_some() && self.gram == GramChoice::Stored {
            return Err(Error::invalid("gram", "auto or tiled with `queries`: no tile is used twice", self.gram));
        }
        if let Some(queries) = queries {
            let (expected, found) = (points.n_features(), queries.n_features());
            if expected != found {
                return Err(Error::invalid("queries", format!("of {expected} columns, as the points are"), found));
            }
            queries.check_finite().map_err(|error| not_finite("queries", error))?;
        }
        Ok(())
    }

    fn multiply_in(
        &self,
        precision: Precision,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: Option<&Points>,
        context: &Context<'_>,
    ) -> Result<(Mat<f64>, ProductRecord)> {
        let stopwatch = Stopwatch::start();
        let centered = self.centered(vectors);
        let vectors = centered.as_ref().map_or(vectors, Mat::as_ref);
        let made = self.tiles(precision, points, vectors, queries, context)?;
        let mut seconds = stopwatch.seconds();
        let measured = self.measure(&made.product, points, vectors, queries, context)?;
        let stopwatch = Stopwatch::start();
        let mut entries = made.entries;
        let mut product = made.product;
        match (self.center, queries) {
            (Center::No, _) => {}
            (Center::Yes, None) => subtract_column_means(&mut product),
            (Center::Yes, Some(_)) => {
                let (means, of_means) = self.offsets(precision, points, vectors, &product, context)?;
                subtract(&mut product, &means);
                entries += of_means;
            }
        }
        seconds += stopwatch.seconds();
        let (measured_error, checked_rows) = (measured.relative(&product, self.center), measured.rows.len());
        let record = ProductRecord {
            n_rows: product.nrows(),
            n_samples: points.n_samples(),
            n_features: points.n_features(),
            n_vectors: product.ncols(),
            kernel: KernelRecord::from(&self.kernel),
            centered: self.center == Center::Yes,
            gram: made.gram.to_owned(),
            method: made.gram.to_owned(),
            terms: None,
            bound: None,
            precision,
            measured_error,
            checked_rows,
            kernel_entries: entries,
            seconds,
            memory_budget_bytes: self.memory.bytes(),
            threads: context.threads.count(),
            warnings: Vec::new(),
        };
        Ok((product, record))
    }

    /// The kernel matrix times the vectors, which are centred if they are to be.
    fn tiles(
        &self,
        precision: Precision,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: Option<&Points>,
        context: &Context<'_>,
    ) -> Result<Made> {
        match (precision, queries) {
            (Precision::F32, None) => self.square::<f32>(points, vectors, 0, context),
            (Precision::F64, None) => self.square::<f64>(points, vectors, 0, context),
            (_, Some(queries)) => self.slab(precision, points, vectors, queries, context),
        }
    }

    /// Bytes of the vectors after centring, which are no others without it.
    fn centered_bytes(&self, n: usize, b: usize) -> usize {
        if self.center == Center::Yes { 8 * n * b } else { 0 }
    }

    /// The kernel matrix of the points times the vectors, some columns at a time, beside so many bytes that are in memory.
    fn square<T: Element>(
        &self,
        points: &Points,
        vectors: MatRef<'_, f64>,
        held: usize,
        context: &Context<'_>,
    ) -> Result<Made> {
        let (n, b, budget) = (points.n_samples(), vectors.ncols(), self.memory.bytes());
        let matrix = (n as u64).pow(2) * size_of::<T>() as u64;
        // Packed points and the answer; per column: the vector in the tiles' precision, its sums, its result and its place in the answer.
        let packed = n * (points.n_features() + 1) * size_of::<T>();
        let fixed = (packed + 8 * n * b + self.centered_bytes(n, b) + held) as u64;
        let per_column = (n * (size_of::<T>() + 24)) as u64;
        let columns = (budget.saturating_sub(fixed) / per_column.max(1)).min(COLUMNS as u64) as usize;
        if columns == 0 {
            let needed = fixed + per_column;
            let advice = format!("a budget of {} would do", crate::error::bytes_at_least(needed));
            let what = format!("a product of {n} points with {b} vectors");
            return Err(Error::OverBudget { what, needed, budget, advice });
        }
        let given = matches!(self.kernel, Kernel::Precomputed);
        let left = budget - fixed - per_column * columns.min(b) as u64;
        // Tiles are worth keeping only if they are used again.
        let keep = match self.gram {
            GramChoice::Stored => left.min(matrix),
            GramChoice::Auto if b > columns => left.min(matrix),
            GramChoice::Auto | GramChoice::Tiled | GramChoice::Expansion => 0,
        };
        let store = (keep > 0 && !given).then_some(Store { budget: keep, format: StoreFormat::Full });
        let gram = context.threads.run(|| KernelGram::<T>::new(points, &self.kernel, store))?;
        let mut product = Mat::zeros(n, b);
        for first in (0..b).step_by(columns) {
            let width = columns.min(b - first);
            gram.apply(vectors.subcols(first, width), product.as_mut().subcols_mut(first, width), context)?;
        }
        let name = match (given, store.is_some()) {
            (true, _) => "precomputed",
            (false, true) => "stored",
            (false, false) => "tiled",
        };
        Ok(Made { product, entries: gram.entries_computed(), gram: name })
    }

    /// The kernel matrix between the queries and the points times the vectors.
    fn slab(
        &self,
        precision: Precision,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: &Points,
        context: &Context<'_>,
    ) -> Result<Made> {
        let (n, b, q) = (points.n_samples() as u64, vectors.ncols() as u64, queries.n_samples() as u64);
        let size = precision.size() as u64;
        // Packed points and vectors, the result, and as many packed queries as are worked on at once.
        let needed = self.centered_bytes(points.n_samples(), vectors.ncols()) as u64
            + n * (points.n_features() as u64 + 1 + b) * size
            + 8 * q * b
            + q.min(QUERIES_AT_ONCE) * (points.n_features() as u64 + 1) * size;
        let budget = self.memory.bytes();
        if needed > budget {
            let advice = format!("a budget of {} would do", crate::error::bytes_at_least(needed));
            let what = format!("a product of {q} queries and {n} points with {b} vectors");
            return Err(Error::OverBudget { what, needed, budget, advice });
        }
        let product = slab_product(&self.kernel, queries, points, vectors, precision, context)?;
        let entries = queries.n_samples() as u64 * points.n_samples() as u64;
        let gram = if matches!(self.kernel, Kernel::Precomputed) { "precomputed" } else { "tiled" };
        Ok(Made { product, entries, gram })
    }

    /// What centring leaves to subtract from a product with queries, the mean over the points of what they would have got, and the kernel entries that it took.
    fn offsets(
        &self,
        precision: Precision,
        points: &Points,
        vectors: MatRef<'_, f64>,
        product: &Mat<f64>,
        context: &Context<'_>,
    ) -> Result<(Vec<f64>, u64)> {
        let held = 8 * product.nrows() * product.ncols();
        let own = match precision {
            Precision::F32 => self.square::<f32>(points, vectors, held, context)?,
            Precision::F64 => self.square::<f64>(points, vectors, held, context)?,
        };
        Ok((column_means(&own.product), own.entries))
    }
}

/// A number that is not finite, said of the argument it stands in: there are rows and columns in all of them.
fn not_finite(name: &'static str, error: Error) -> Error {
    match error {
        Error::NotFinite { row, column, value } => {
            Error::invalid(name, "finite", format!("{value} in row {row}, column {column}"))
        }
        other => other,
    }
}

/// A product before centring, and what it took.
struct Made {
    product: Mat<f64>,
    entries: u64,
    gram: &'static str,
}

/// `x ← H x` with `H = I - 11ᵀ/n`.
fn subtract_column_means(x: &mut Mat<f64>) {
    let means = column_means(x);
    subtract(x, &means);
}

fn column_means(x: &Mat<f64>) -> Vec<f64> {
    let n = x.nrows() as f64;
    x.col_iter().map(|column| column.iter().sum::<f64>() / n).collect()
}

/// Subtracts a number from each column; nothing if there are none.
fn subtract(x: &mut Mat<f64>, numbers: &[f64]) {
    for (j, number) in numbers.iter().enumerate() {
        x.col_mut(j).iter_mut().for_each(|value| *value -= number);
    }
}
