//! What a fit over landmarks would do and cost, before it is made.
//!
//! # Method
//!
//! Nothing is chosen by a measurement: how many landmarks there are follows from the settings and the number of rows alone. The time is
//! that of the kernel entries and multiply-adds that the header of [`nystrom`](super) counts, at the speeds of the machine; the memory is what
//! the fit itself holds against its budget.

use super::adaptive::ROWS_PER_LANDMARK;
use super::blocks::RowBlocks;
use super::choose;
use super::pca::{KERNEL_PCA, NystromPca, refuse_precomputed};
use super::pool::pool_size;
use super::probed::looked_at;
use super::residuals::sampled_rows;
use super::room::{self, RowSize};
use super::settings::Landmarks;
use super::sums::ROWS;
use crate::choices::Center;
use crate::data::Points;
use crate::error::{Error, Result, bytes};
use crate::gram::StoreFormat;
use crate::kernel::Kernel;
use crate::model::{KernelChoice, KernelPca};
use crate::plan::{Plan, Speeds, format_seconds};
use crate::record::{KernelRecord, PlanRecord, RECORD_VERSION};
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Stopwatch, Threads, Watch};

/// Rounds of k-means that an estimate counts.
const ROUNDS: f64 = 10.0;
/// Multiply-adds of the small problem, in cubes of its order: its factor, its second moments, a few leading pairs.
const SMALL: f64 = 4.0;

/// What a plan rests on.
struct Known {
    n: usize,
    d: usize,
    row: RowSize,
    precision: Precision,
    threads: usize,
    speeds: Speeds,
    /// Seconds that were spent on what a fit does, too.
    spent: f64,
}

impl NystromPca {
    /// What [`fit`](Self::fit) would do with these points, and what it would cost.
    ///
    /// ```
    /// use mercer::nystrom::{Nystrom, NystromPca};
    /// use mercer::{Kernel, Points, Watch};
    ///
    /// let points = Points::from_f64((0..9000).map(|i| (f64::from(i) * 0.37).sin()).collect::<Vec<_>>(), 3000, 3)?;
    /// let pca = NystromPca::new(Nystrom::new(Kernel::gaussian(0.5)?).n_landmarks(60));
    /// let record = pca.plan_record(&points, &Watch::new())?;
    /// assert_eq!((record.plan.gram.as_str(), record.plan.n_landmarks), ("nystrom", Some(60)));
    /// assert!(record.plan.expected_memory_bytes <= record.memory_budget_bytes);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), as far as that can be told without fitting.
    pub fn plan_record(&self, points: &Points, watch: &Watch<'_>) -> Result<PlanRecord> {
        self.check(points.n_samples())?;
        let points = &self.as_taken(points);
        let (kernel, known, warnings) = self.known(points, points.n_samples(), watch)?;
        let m = self.nystrom.count(known.n);
        room::check(&self.nystrom, known.n, m, known.row)?;
        self.check_given(known.n, known.d)?;
        let plan = self.planned(m, &known, self.why());
        Ok(self.recorded(&kernel, &known, points.size(), plan, warnings))
    }

    /// As [`plan_record`](Self::plan_record), of a fit of rows that come block by block: the first of its two passes is made.
    ///
    /// ```
    /// use mercer::nystrom::{Nystrom, NystromPca};
    /// use mercer::{Kernel, Points, Watch};
    ///
    /// let mut rows = Points::from_f64((0..9000).map(|i| (f64::from(i) * 0.37).sin()).collect::<Vec<_>>(), 3000, 3)?;
    /// let pca = NystromPca::new(Nystrom::new(Kernel::gaussian(0.5)?).n_landmarks(60));
    /// let record = pca.plan_record_of_blocks(&mut rows, &Watch::new())?;
    /// assert_eq!((record.n_samples, record.plan.expected_passes), (3000, 2));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`fit_blocks`](Self::fit_blocks), as far as that can be told without fitting.
    pub fn plan_record_of_blocks(&self, source: &mut dyn RowBlocks, watch: &Watch<'_>) -> Result<PlanRecord> {
        let (threads, whole) = (self.nystrom.thread_pool()?, Stopwatch::start());
        let context = Context::new(&threads, watch, Phase::Starting);
        let (pool, n) = self.sample(source, &context)?;
        self.check(n)?;
        let read = whole.seconds();
        let (kernel, known, warnings) = self.known(&pool, n, watch)?;
        let m = self.nystrom.count(n);
        let beside = self.beside(&pool);
        room::check(&beside, pool.n_samples(), m, known.row)?;
        self.check_given(n, known.d)?;
        let mut plan = self.planned(m, &known, self.why());
        // Both passes read the rows, and the sample is held beside the rest.
        plan.expected_passes = 2;
        plan.expected_seconds += 2.0 * read;
        plan.expected_memory_bytes =
            room::needed(&beside.landmarks, pool.n_samples(), m, known.row).saturating_add(pool.size());
        plan.reasons.push("rows are read twice, block by block, and not kept".to_owned());
        let size = pool.size() / pool.n_samples().max(1) as u64 * n as u64;
        Ok(self.recorded(&kernel, &known, size, plan, warnings))
    }

    /// As [`plan_record`](Self::plan_record) for points of this shape and precision, at the speed of a typical machine.
    ///
    /// ```
    /// use mercer::nystrom::{Nystrom, NystromPca};
    /// use mercer::{Kernel, Precision};
    ///
    /// let pca = NystromPca::new(Nystrom::new(Kernel::gaussian(0.5)?)).n_components(50);
    /// let plan = pca.plan_shape(1_000_000, 784, Precision::F32)?;
    /// assert_eq!((plan.gram.as_str(), plan.n_landmarks), ("nystrom", Some(500)));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), as far as that can be told from the shape.
    pub fn plan_shape(&self, n_samples: usize, n_features: usize, precision: Precision) -> Result<Plan> {
        self.check(n_samples)?;
        let known = self.known_shape(n_samples, n_features, precision)?;
        let m = self.nystrom.count(n_samples);
        room::check(&self.nystrom, n_samples, m, known.row)?;
        self.check_given(n_samples, n_features)?;
        Ok(self.planned(m, &known, self.why()))
    }

    /// What [`fit_to_accuracy`](Self::fit_to_accuracy) would do with these points, and `exact` if that brings nothing: with how many landmarks it
    /// would begin, and what follows.
    ///
    /// ```
    /// use mercer::nystrom::{Nystrom, NystromPca};
    /// use mercer::{Kernel, KernelPca, Points, Watch};
    ///
    /// let points = Points::from_f64((0..9000).map(|i| (f64::from(i) * 0.37).sin()).collect::<Vec<_>>(), 3000, 3)?;
    /// let kernel = Kernel::gaussian(0.5)?;
    /// let (pca, exact) = (NystromPca::new(Nystrom::new(kernel.clone())).accuracy(0.05), KernelPca::new(kernel));
    /// let record = pca.plan_record_to_accuracy(&exact, &points, &Watch::new())?;
    /// assert_eq!((record.plan.n_landmarks, record.tolerance), (Some(100), 0.05));
    /// // Of so few points landmarks would be no small part.
    /// let few = pca.plan_record_to_accuracy(&exact, &points.slice(0..500), &Watch::new())?;
    /// assert_eq!((few.plan.n_landmarks, few.plan.solver.as_str()), (None, "krylov"));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`fit_to_accuracy`](Self::fit_to_accuracy) and that of `exact`, as far as that can be told without fitting.
    pub fn plan_record_to_accuracy(&self, exact: &KernelPca, points: &Points, watch: &Watch<'_>) -> Result<PlanRecord> {
        self.check_accuracy(points.n_samples())?;
        let taken = &self.as_taken(points);
        let exact_record = || exact.plan_record(points);
        if let Err(reason) = self.may_try(taken.n_samples()) {
            let mut record = exact_record()?;
            record.plan.reasons.push(reason);
            return Ok(record);
        }
        let (kernel, known, warnings) = self.known(taken, taken.n_samples(), watch)?;
        match self.tries(&known) {
            Ok(tries) => {
                let plan = self.tried(&tries, &known, exact_record().map(|record| record.plan))?;
                Ok(self.recorded(&kernel, &known, taken.size(), plan, warnings))
            }
            Err(reason) => {
                let mut record = exact_record()?;
                record.plan.reasons.push(reason);
                Ok(record)
            }
        }
    }

    /// As [`plan_record_to_accuracy`](Self::plan_record_to_accuracy) for points of this shape and precision, at the speed of a typical machine.
    ///
    /// ```
    /// use mercer::nystrom::{Nystrom, NystromPca};
    /// use mercer::{Kernel, KernelPca, Precision};
    ///
    /// let kernel = Kernel::gaussian(0.5)?;
    /// let (pca, exact) = (NystromPca::new(Nystrom::new(kernel.clone())).accuracy(0.05), KernelPca::new(kernel));
    /// let plan = pca.plan_shape_to_accuracy(&exact, 1_000_000, 784, Precision::F32)?;
    /// assert_eq!(plan.n_landmarks, Some(100));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`plan_record_to_accuracy`](Self::plan_record_to_accuracy).
    pub fn plan_shape_to_accuracy(
        &self,
        exact: &KernelPca,
        n_samples: usize,
        n_features: usize,
        precision: Precision,
    ) -> Result<Plan> {
        self.check_accuracy(n_samples)?;
        let exact_plan = || exact.plan_shape(n_samples, n_features, precision);
        let known = self.known_shape(n_samples, n_features, precision)?;
        match self.may_try(n_samples).and_then(|()| self.tries(&known)) {
            Ok(tries) => self.tried(&tries, &known, exact_plan()),
            Err(reason) => Ok(exact_plan()?.because(Some(reason))),
        }
    }

    /// Points as a fit takes them: rows that are bytes are compared as such, where the landmarks are rows; centres of clusters lie between
    /// the bytes.
    pub(super) fn as_taken(&self, points: &Points) -> Points {
        match self.nystrom.landmarks {
            Landmarks::KMeans | Landmarks::Given(_) => points.clone(),
            _ => points.recognised(),
        }
    }

    /// Refuses landmarks that are given and do not go with `n` rows of `d` columns.
    fn check_given(&self, n: usize, d: usize) -> Result<()> {
        match &self.nystrom.landmarks {
            Landmarks::Given(landmarks) => choose::check_given(landmarks, d),
            Landmarks::Rows(rows) => choose::check_rows(rows, n),
            Landmarks::Uniform | Landmarks::KMeans | Landmarks::RpCholesky | Landmarks::Leverage => Ok(()),
        }
    }

    /// What a plan for `n` rows like these rests on, with their kernel.
    fn known(&self, points: &Points, n: usize, watch: &Watch<'_>) -> Result<(Kernel, Known, Vec<String>)> {
        let (threads, stopwatch) = (self.nystrom.thread_pool()?, Stopwatch::start());
        let context = Context::new(&threads, watch, Phase::Starting);
        let (kernel, warnings) = self.kernel_for(points, &context)?;
        let precision = self.nystrom.precision_of(points);
        if let Landmarks::Given(landmarks) = &self.nystrom.landmarks {
            choose::check_against(landmarks, points, &kernel, precision, &context)?;
        }
        let spent = stopwatch.seconds();
        let known = Known {
            n,
            d: points.n_features(),
            row: room::row_size(points, &kernel, precision),
            precision,
            threads: threads.count(),
            speeds: Speeds::measure(points, &kernel, precision, &threads)?,
            spent,
        };
        Ok((kernel, known, warnings))
    }

    fn known_shape(&self, n: usize, d: usize, precision: Precision) -> Result<Known> {
        if d == 0 {
            return Err(Error::NoColumns { n_samples: n });
        }
        let kernel = match &self.nystrom.kernel {
            KernelChoice::Known(kernel) => kernel.clone(),
            KernelChoice::Spec(spec) => spec.resolve_without_points()?,
        };
        refuse_precomputed(&kernel, KERNEL_PCA)?;
        let threads = self.nystrom.threads.unwrap_or_else(Threads::available);
        Threads::check(threads)?;
        let given = d as u64 * precision.size() as u64;
        let precision = self.nystrom.precision.unwrap_or(precision);
        let row = RowSize { given, packed: d as u64 * precision.size() as u64 };
        Ok(Known { n, d, row, precision, threads, speeds: Speeds::typical(d, threads), spent: 0.0 })
    }

    /// Numbers of landmarks that a fit to an accuracy would try, one after the other; or why it would try none.
    fn tries(&self, known: &Known) -> std::result::Result<Vec<usize>, String> {
        let budget = self.nystrom.memory.bytes();
        let needed = |m: usize| room::needed(&self.nystrom.landmarks, known.n, m, known.row);
        let first = self.nystrom.default_landmarks;
        let tries: Vec<usize> = std::iter::successors(Some(first), |m| m.checked_mul(2))
            .take_while(|&m| Self::is_few(m, known.n) && needed(m) <= budget)
            .collect();
        if tries.is_empty() {
            let (needed, budget) = (bytes(needed(first)), bytes(budget));
            return Err(format!(
                "no landmarks, because {first} of them would take {needed}, and the budget is {budget}"
            ));
        }
        Ok(tries)
    }

    /// Why no landmarks are tried, however much memory there is.
    fn may_try(&self, n: usize) -> std::result::Result<(), String> {
        let first = self.nystrom.default_landmarks;
        if Self::is_few(first, n) {
            return Ok(());
        }
        Err(format!(
            "no landmarks, because {n} rows are fewer than {ROWS_PER_LANDMARK} for each of the {first} that would be tried first"
        ))
    }

    /// The plan of a fit to an accuracy, which an exact one follows if it brings nothing.
    fn tried(&self, tries: &[usize], known: &Known, exact: Result<Plan>) -> Result<Plan> {
        let (first, last) = (tries[0], tries[tries.len() - 1]);
        let accuracy = self.accuracy.unwrap_or(1.0);
        let why = format!("tried first, because an accuracy of {accuracy} allows an approximation");
        let mut plan = self.planned(first, known, &why);
        if first < last {
            let seconds: f64 = known.spent + tries.iter().map(|&m| self.seconds(m, known)).sum::<f64>();
            let needed = room::needed(&self.nystrom.landmarks, known.n, last, known.row);
            plan.reasons.push(format!(
                "twice as many each time until they reach it, at most {last} (about {} and {} with all tries); time and memory here are those \
                 of the first",
                format_seconds(seconds),
                bytes(needed)
            ));
        }
        plan.reasons.push(match exact {
            Ok(exact) => format!(
                "an exact fit follows if they do not reach it: {} solver, {} matrix, about {} and {}",
                exact.solver,
                exact.gram,
                format_seconds(exact.expected_seconds),
                bytes(exact.expected_memory_bytes)
            ),
            Err(Error::OverBudget { needed, .. }) => {
                format!("if they do not reach it there is no fit: an exact one would take {}", bytes(needed))
            }
            Err(error) => return Err(error),
        });
        Ok(plan)
    }

    /// The plan of a fit over `m` landmarks.
    fn planned(&self, m: usize, known: &Known, why: &str) -> Plan {
        let expected_memory_bytes = room::needed(&self.nystrom.landmarks, known.n, m, known.row);
        let solver = if self.is_iterated(m) { "krylov" } else { "dense" };
        Plan {
            expected_seconds: known.spent + self.seconds(m, known),
            expected_memory_bytes,
            ..self.described(m, m, solver, known.precision, why)
        }
    }

    /// What is done with `m` landmarks of some rank, as a plan without what it costs.
    pub(super) fn described(&self, m: usize, rank: usize, solver: &str, precision: Precision, why: &str) -> Plan {
        let name = self.nystrom.landmarks.name();
        let reason = match self.nystrom.landmarks.count() {
            Some(_) => format!("{m} landmarks, as they were given"),
            None => format!("{m} landmarks by {name}, {why}"),
        };
        Plan {
            gram: "nystrom".to_owned(),
            method: Some(name.to_owned()),
            n_landmarks: Some(m),
            solver: solver.to_owned(),
            precision,
            tile: ROWS,
            packs_per_tile: false,
            block: m,
            max_subspace: rank,
            store_bytes: 0,
            stored_share: 0.0,
            store_format: StoreFormat::Full,
            start_sample: 0,
            expected_passes: 1,
            expected_seconds: 0.0,
            expected_memory_bytes: 0,
            reasons: vec![reason],
        }
    }

    /// Why there are as many landmarks as there are.
    pub(super) fn why(&self) -> &'static str {
        if self.nystrom.n_landmarks.is_some() { "as asked for" } else { "as many as are taken if nobody says" }
    }

    /// Seconds of a fit of so many rows over `m` landmarks, at a typical machine's speeds.
    pub(super) fn typical_seconds(
        &self,
        m: usize,
        (n, d): (usize, usize),
        precision: Precision,
        threads: usize,
    ) -> f64 {
        let row = RowSize { given: 0, packed: 0 };
        let speeds = Speeds::typical(d, threads);
        self.seconds(m, &Known { n, d, row, precision, threads, speeds, spent: 0.0 })
    }

    /// Seconds of a fit over `m` landmarks.
    fn seconds(&self, m: usize, known: &Known) -> f64 {
        let (rows, order, pool) = (known.n as f64, m as f64, pool_size(known.n, m) as f64);
        let probed = sampled_rows(m).min(known.n) as f64;
        let (chosen_entries, chosen_products) = match self.nystrom.landmarks {
            Landmarks::Uniform | Landmarks::Given(_) | Landmarks::Rows(_) => (0.0, 0.0),
            Landmarks::RpCholesky | Landmarks::Leverage => (pool * order, pool * order * order),
            Landmarks::KMeans => (0.0, ROUNDS * pool * order * known.d as f64),
        };
        // What landmarks leave of rows is known where they were chosen by it.
        let looked_at = match self.nystrom.landmarks {
            Landmarks::RpCholesky => 0.0,
            _ if probed >= rows => 0.0,
            _ => looked_at(m, self.accuracy.is_some()) as f64,
        };
        let (chosen_entries, chosen_products) =
            (chosen_entries + pool * looked_at, chosen_products + pool * looked_at * looked_at);
        let entries = rows * (order + probed) + order * order + chosen_entries;
        // A triangular solve and half of a symmetric product for every row, and its products with the rows that residuals are measured on.
        let products = rows * order * (order + probed) + chosen_products;
        // Twice as many numbers of single precision fill a register; the small problem is in double precision.
        let algebra = known.speeds.algebra * if known.precision == Precision::F32 { 2.0 } else { 1.0 };
        entries / known.speeds.entries + products / algebra + SMALL * order.powi(3) / known.speeds.algebra
    }

    fn recorded(
        &self,
        kernel: &Kernel,
        known: &Known,
        data_bytes: u64,
        plan: Plan,
        warnings: Vec<String>,
    ) -> PlanRecord {
        PlanRecord {
            record_version: RECORD_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            n_samples: known.n,
            n_features: known.d,
            n_components: Some(self.n_components),
            variance: None,
            kernel: KernelRecord::from(kernel),
            centered: self.center == Center::Yes,
            tolerance: self.accuracy.unwrap_or(1.0),
            data_bytes,
            memory_budget_bytes: self.nystrom.memory.bytes(),
            threads: known.threads,
            plan,
            warnings,
        }
    }
}
