//! Eigenvectors of the normalised matrix over landmarks.
//!
//! # Method
//!
//! Features over landmarks, a row of `F` for each point, have inner products that are nearly kernel values. With `F Fᵀ` in the place of `K`, degrees
//! are `F (Fᵀ 1)`, and eigenvectors of `D^-1/2 F Fᵀ D^-1/2` come from the small matrix `G = Fᵀ D^-1 F`: where `G w = λ w`, they are
//! `v = D^-1/2 F w / √λ`. Nothing has as many rows and columns as there are points.
//!
//! **Cost**: `n m` kernel entries and `2 n m²` multiply-adds; three times the entries and twice the multiply-adds where `n m` features
//! do not fit the memory budget.
//!
//! A new point `x` has features `f(x)` too. What the extension of Nyström makes of `F Fᵀ` at `x` is `f(x)ᵀ w / √λ`, but for the root of its degree, which is
//! `f(x)ᵀ Fᵀ 1`: kernel values with the landmarks are all that it takes.
//!
//! How far a vector is from one of the exact matrix is measured on some of its rows, as for
//! [kernel PCA over landmarks](crate::nystrom::NystromPca): their kernel values with all points are the exact ones, and so is their own degree; the degrees
//! of the others are those of the features.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef};

use super::fit::{Over, Solved};
use crate::choices::MemoryBudget;
use crate::data::{Points, sample_rows};
use crate::eigen::{EigenPairs, Order, Outcome, SPLIT, small_eigen};
use crate::error::{Error, Result};
use crate::gram::{diagonal, inverse_roots, scale_rows, slab_product};
use crate::model::{KernelPca, Prepared, Totals};
use crate::nystrom::{FeatureMap, Nystrom, refuse_indefinite, refuse_precomputed, sampled_rows};
use crate::record::NystromRecord;
use crate::watch::{Context, Phase, Watch};

/// Points whose features are made at a time.
const ROWS_AT_ONCE: usize = 2048;
/// What the record says that residuals have to reach where nobody asks for anything: landmarks reach what they reach.
pub(super) const ANY_RESIDUAL: f64 = 1.0;
/// What tells the sample that residuals are measured on from other random numbers.
const SAMPLE: u64 = 4;

/// Leading eigenvectors of the normalised matrix over the landmarks that are asked for.
pub(super) fn solve(
    asked: &Nystrom,
    problem: &KernelPca,
    prepared: &Prepared,
    points: &Points,
    watch: &Watch<'_>,
) -> Result<Solved> {
    refuse_precomputed(&prepared.kernel, "clustering over landmarks")?;
    let context = Context::new(&prepared.threads, watch, Phase::Starting);
    let (n, k) = (points.n_samples(), problem.n_components_asked().unwrap_or(1));
    let landmarks = landmarks_for(asked, prepared, k, problem.seed);
    let room = room_for_features(&landmarks, prepared, points, k)?;
    let map = landmarks.map_watched(points, watch)?;
    let m = map.n_landmarks();
    if m < k {
        return Err(too_few(asked, k, m));
    }
    refuse_indefinite(map.kernel(), map.landmarks(), prepared.precision, &context)?;

    let context = Context::new(&prepared.threads, watch, Phase::Solving);
    let mut features = Features::new(&map, points, room, &context);
    let Small { degrees, sums, matrix, explained } =
        small_problem(&mut features, &context).map_err(|error| out_of_reach(error, asked, &map, points, &context))?;
    let (values, small_vectors) = context.threads.run(|| small_eigen(matrix.as_ref(), Order::Algebraic))?;
    let found = values.iter().take(k).take_while(|&&value| value > 0.0).count();
    let values = values[..found].to_vec();
    let roots = inverse_roots(&degrees)?;
    let scaled = Mat::from_fn(m, found, |i, j| small_vectors[(i, j)] / values[j].sqrt());
    let vectors = features.times(scaled.as_ref(), &roots)?;
    let passes = features.n_made;

    let rows = sample_rows(n, sampled_rows(m), problem.seed.wrapping_add(SAMPLE));
    let residuals = residuals(prepared, points, &rows, (&values, vectors.as_ref()), &roots, &context)?;
    let is_enough = |residual: f64| problem.tolerance.is_none_or(|tolerance| residual <= tolerance);
    let converged = residuals.iter().take_while(|&&residual| is_enough(residual)).count();
    let outcome = if converged == found { Outcome::Converged } else { Outcome::OutOfPasses };
    let trace = diagonal(&prepared.kernel, points)?.iter().sum::<f64>();
    let nystrom = NystromRecord {
        landmarks: asked.rule().to_owned(),
        n_landmarks: m,
        rank: map.rank(),
        trace,
        trace_error: trace - explained,
        relative_trace_error: if trace > 0.0 { (trace - explained) / trace } else { 0.0 },
        residual_rows: rows.len(),
    };
    let kernel_entries = map.chosen_entries() + (m * m + n * m * passes + n * rows.len()) as u64;
    let weights = context.threads.run(|| weights(&map, scaled.as_ref(), &sums));
    Ok(Solved {
        pairs: EigenPairs { values, residuals, converged, passes, outcome, next: None, most_negative: None, vectors },
        degrees,
        totals: Totals { passes, products: 0, kernel_entries },
        gram: "nystrom".to_owned(),
        solver: "dense".to_owned(),
        plan: None,
        expansion: None,
        nystrom: Some(nystrom),
        over: Some(Over { landmarks: map.landmarks().clone(), weights }),
    })
}

/// What kernel values of a new point with the landmarks are multiplied with: to give what it has of each eigenvector, and, in the last column, its degree.
fn weights(map: &FeatureMap, scaled: MatRef<'_, f64>, sums: &[f64]) -> Mat<f64> {
    let (m, k) = (scaled.nrows(), scaled.ncols());
    let of_features = Mat::from_fn(m, k + 1, |i, j| if j < k { scaled[(i, j)] } else { sums[i] });
    let mut weights = Mat::zeros(m, k + 1);
    matmul(weights.as_mut(), Accum::Replace, map.normalization().transpose(), of_features.as_ref(), 1.0, SPLIT);
    weights
}

/// The small matrix `Fᵀ D^-1 F`.
struct Small {
    degrees: Vec<f64>,
    /// The sum of each feature over all points, `Fᵀ 1`.
    sums: Vec<f64>,
    matrix: Mat<f64>,
    /// The trace of `F Fᵀ`.
    explained: f64,
}

fn small_problem(features: &mut Features<'_>, context: &Context<'_>) -> Result<Small> {
    let (n, m) = (features.points.n_samples(), features.map.n_landmarks());
    let (mut sums, mut explained) = (vec![0.0; m], 0.0);
    features.each(|_, block| {
        for (sum, column) in sums.iter_mut().zip(block.col_iter()) {
            *sum += column.iter().sum::<f64>();
        }
        explained += block.squared_norm_l2();
        Ok(())
    })?;
    let (mut degrees, mut matrix) = (vec![0.0; n], Mat::zeros(m, m));
    features.each(|first, block| {
        let own = &mut degrees[first..first + block.nrows()];
        for (sum, column) in sums.iter().zip(block.col_iter()) {
            own.iter_mut().zip(column.iter()).for_each(|(degree, x)| *degree += sum * x);
        }
        let roots = inverse_roots(own).map_err(|error| match error {
            Error::ZeroDegree { row, degree } => Error::ZeroDegree { row: first + row, degree },
            other => other,
        })?;
        let mut scaled = block.to_owned();
        scale_rows(scaled.as_mut(), &roots);
        context.threads.run(|| {
            matmul(matrix.as_mut(), Accum::Add, scaled.transpose(), scaled.as_ref(), 1.0, SPLIT);
        });
        Ok(())
    })?;
    Ok(Small { degrees, sums, matrix, explained })
}

/// Why there cannot be `k` eigenvectors over `m` landmarks, in words for how these came about.
fn too_few(asked: &Nystrom, k: usize, m: usize) -> Error {
    if asked.is_given() {
        Error::invalid("landmarks", format!("at least as many as eigenvectors ({k})"), counted(m))
    } else {
        Error::invalid("n_landmarks", format!("at least the number of eigenvectors ({k})"), m)
    }
}

/// A number of points in words.
fn counted(n: usize) -> String {
    if n == 1 { "1 point".to_owned() } else { format!("{n} points") }
}

/// Why a row has no degree over the landmarks: it has none of its own, or they are too few for it.
fn out_of_reach(error: Error, asked: &Nystrom, map: &FeatureMap, points: &Points, context: &Context<'_>) -> Error {
    let Error::ZeroDegree { row, degree } = error else { return error };
    let (n, own) = (points.n_samples(), points.select(&[row]));
    let mut exact = 0.0;
    for first in (0..n).step_by(ROWS_AT_ONCE) {
        let block = points.slice(first..n.min(first + ROWS_AT_ONCE));
        let one = Mat::full(1, 1, 1.0);
        match slab_product(map.kernel(), &block, &own, one.as_ref(), map.precision(), context) {
            Ok(values) => exact += values.col(0).iter().sum::<f64>(),
            Err(error) => return error,
        }
    }
    if exact.is_nan() || exact <= 0.0 {
        return Error::ZeroDegree { row, degree: exact };
    }
    if asked.is_given() {
        let requirement = format!(
            "points near every row, or the kernel wider: over these, row {row} has degree {degree}, where its own is {exact}"
        );
        return Error::invalid("landmarks", requirement, format!("{} that are not", counted(map.n_landmarks())));
    }
    let requirement = format!(
        "larger, or the kernel wider: over these landmarks row {row} has degree {degree}, where its own is {exact}"
    );
    Error::invalid("n_landmarks", requirement, map.n_landmarks())
}

/// The landmarks that are asked for, as all else is that the clustering is asked for.
fn landmarks_for(asked: &Nystrom, prepared: &Prepared, n_components: usize, seed: u64) -> Nystrom {
    asked
        .clone()
        .of_kernel(prepared.kernel.clone())
        .enough_for(n_components)
        .precision(prepared.precision)
        .memory(MemoryBudget::Bytes(prepared.budget))
        .threads(prepared.threads.count())
        .seed(seed)
}

/// Bytes that features may take: what landmarks, and `k` vectors with their images, leave of the budget.
fn room_for_features(landmarks: &Nystrom, prepared: &Prepared, points: &Points, k: usize) -> Result<u64> {
    let n = points.n_samples();
    let vectors = (2 * k as u64 + 1).saturating_mul(n as u64).saturating_mul(size_of::<f64>() as u64);
    let needed = landmarks.needed_bytes(points, &prepared.kernel).saturating_add(vectors);
    prepared.budget.checked_sub(needed).ok_or_else(|| Error::OverBudget {
        what: format!("{k} eigenvectors of {n} points over landmarks"),
        needed,
        budget: prepared.budget,
        advice: "fewer landmarks need less".to_owned(),
    })
}

/// Features of all points, kept if there is room for them.
struct Features<'a> {
    map: &'a FeatureMap,
    points: &'a Points,
    /// Those of one block of points after the other; nothing if there is no room.
    kept: Option<Vec<Mat<f64>>>,
    /// How often they were made.
    n_made: usize,
    context: &'a Context<'a>,
}

impl<'a> Features<'a> {
    fn new(map: &'a FeatureMap, points: &'a Points, room: u64, context: &'a Context<'a>) -> Self {
        let numbers = (points.n_samples() as u64).saturating_mul(map.n_landmarks() as u64);
        let has_room = numbers.saturating_mul(size_of::<f64>() as u64) <= room;
        Self { map, points, kept: has_room.then(Vec::new), n_made: 0, context }
    }

    /// Calls `visit` with the first point of every block and the features of its points.
    fn each(&mut self, mut visit: impl FnMut(usize, MatRef<'_, f64>) -> Result<()>) -> Result<()> {
        let n = self.points.n_samples();
        let is_made = self.kept.as_ref().is_some_and(|kept| !kept.is_empty());
        self.n_made += usize::from(!is_made);
        for (at, first) in (0..n).step_by(ROWS_AT_ONCE).enumerate() {
            self.context.check()?;
            self.context.report_fraction(first as f64 / n as f64);
            if let Some(block) = self.kept.as_ref().and_then(|kept| kept.get(at)) {
                visit(first, block.as_ref())?;
                continue;
            }
            let rows = self.points.slice(first..n.min(first + ROWS_AT_ONCE));
            let block = self.map.transform_watched(&rows, self.context.threads, &self.context.watch.unseen())?;
            visit(first, block.as_ref())?;
            if let Some(kept) = &mut self.kept {
                kept.push(block);
            }
        }
        Ok(())
    }

    /// `D^-1/2 F x`, with one over the roots of the degrees.
    fn times(&mut self, x: MatRef<'_, f64>, roots: &[f64]) -> Result<Mat<f64>> {
        let (threads, mut product) = (self.context.threads, Mat::zeros(self.points.n_samples(), x.ncols()));
        self.each(|first, block| {
            let mut own = product.as_mut().subrows_mut(first, block.nrows());
            threads.run(|| matmul(own.as_mut(), Accum::Replace, block, x, 1.0, SPLIT));
            scale_rows(own, &roots[first..first + block.nrows()]);
            Ok(())
        })?;
        Ok(product)
    }
}

/// `‖P v − λ v‖ / λ₁` of each vector, from some rows of the exact matrix: exact if they are all there are.
fn residuals(
    prepared: &Prepared,
    points: &Points,
    rows: &[usize],
    (values, vectors): (&[f64], MatRef<'_, f64>),
    roots: &[f64],
    context: &Context<'_>,
) -> Result<Vec<f64>> {
    let (n, k) = (points.n_samples(), values.len());
    let some = points.select(rows);
    let mut images = Mat::<f64>::zeros(rows.len(), k + 1);
    // Block by block, so that no copy of all points is made.
    for first in (0..n).step_by(ROWS_AT_ONCE) {
        let count = ROWS_AT_ONCE.min(n - first);
        // The last column is for the degrees of these rows.
        let weighted =
            Mat::from_fn(count, k + 1, |i, j| if j < k { vectors[(first + i, j)] * roots[first + i] } else { 1.0 });
        let block = points.slice(first..first + count);
        images += slab_product(&prepared.kernel, &some, &block, weighted.as_ref(), prepared.precision, context)?;
    }
    if let Some(i) = (0..rows.len()).find(|&i| images[(i, k)].is_nan() || images[(i, k)] <= 0.0) {
        return Err(Error::ZeroDegree { row: rows[i], degree: images[(i, k)] });
    }
    let share = n as f64 / rows.len() as f64;
    let residual = |j: usize| {
        let rest = |(i, &row): (usize, &usize)| images[(i, j)] / images[(i, k)].sqrt() - values[j] * vectors[(row, j)];
        (share * rows.iter().enumerate().map(rest).map(|x| x * x).sum::<f64>()).sqrt() / values[0]
    };
    Ok((0..k).map(residual).collect())
}
