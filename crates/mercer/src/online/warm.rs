//! Components that begin as those of a model.
//!
//! # Method
//!
//! A model has its components as combinations `w_p = Σ_i α_pi φ(x_i)` of the images of its basis points, and its centre as another one. Both become
//! those of the learner, with the basis points as the rows in memory; repeated points are one. The points that the model was learned from count as
//! rows that were learned: in the running mean and the running variances, which begin as the model's, and in what schedules count. So a row moves
//! the mean of a model of 1000 points by one part in 1001.
//!
//! With the projecting policy, basis points that depend on others, or that the [budget](OnlineKernelPca::budget) has no room for, are given up: which
//! ones is decided point by point as it is for rows, `O(b²)` each for a budget of `b`. Then each component becomes its projection on the span of
//! those that stay. With `g = K_bm α` its inner products with them and `K_bb = L Lᵀ`, the projection has the coefficients `L⁻ᵀ z`, `L z = g`, and
//! the inner product of two projections is `z·z'`; what is lost of a component has the squared length `w·w − z·z`. The other policies would drop
//! points with their part of the components, so they get a budget for all of them or none.
//!
//! **Cost**: the `m²` kernel values of the basis points with one another, in the tile engine, and `O(m b²)` for a choice of `b` of them.

use std::collections::HashMap;

use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

use super::learner::{DEPENDENT, Learner, ROUNDED};
use super::memory::{Memory, bits};
use super::settings::{OnlineKernelPca, Policy, in_words};
use super::state::LARGEST_COUNT;
use super::step::Workspace;
use crate::choices::Center;
use crate::data::Points;
use crate::eigen::small_product;
use crate::error::{Error, Result};
use crate::gram::slab_product;
use crate::kernel::Kernel;
use crate::model::{Model, digest};
use crate::record::KernelRecord;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Threads, Watch};

/// The model that components began as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Origin {
    /// The points that it was learned from.
    pub(super) n_samples: usize,
    /// A digest of its kernel and its components.
    pub(super) digest: String,
}

impl Origin {
    pub(super) fn of(model: &Model) -> Self {
        let coefficients = model.dual_coefficients();
        let bytes: Vec<u8> =
            coefficients.col_iter().flat_map(|column| column.iter().flat_map(|x| x.to_le_bytes())).collect();
        let shape = [coefficients.nrows(), coefficients.ncols(), model.n_features()];
        let kernel = format!("{:?}", KernelRecord::from(model.kernel()));
        Self {
            n_samples: model.n_samples().clamp(1, LARGEST_COUNT),
            digest: digest(&kernel, std::iter::once(("coefficients", shape.as_slice(), bytes))),
        }
    }
}

impl OnlineKernelPca {
    /// The settings of a learner that begins as a model: its kernel, its centring and as many components. See
    /// [`learner_from`](Self::learner_from).
    pub fn for_model(model: &Model) -> Self {
        let center = if model.centering().is_some() { Center::Yes } else { Center::No };
        Self::new(model.kernel().clone()).n_components(model.n_components()).center(center)
    }

    /// A learner whose components begin as those of a model, and its running mean as the model's centre.
    ///
    /// The points that the model was learned from count as rows that were learned, in the mean, the variances and the schedule
    /// ([`Learner::n_before`]). Rows go through the model's scaling. Components that the model does not have begin at the first rows that differ.
    /// With a [budget](Self::budget) below the number of basis points and the policy `project`, some are given up at once, and
    /// [`budget_error`](Learner::budget_error) begins with what that costs.
    ///
    /// ```
    /// use mercer::online::OnlineKernelPca;
    /// use mercer::{Kernel, KernelPca, Points};
    ///
    /// let rows = Points::from_f64((0..400).map(|i| f64::from(i * i % 101) * 0.02).collect::<Vec<_>>(), 200, 2)?;
    /// let model = KernelPca::new(Kernel::gaussian(0.5)?).n_components(3).fit(&rows)?;
    /// let mut learner = OnlineKernelPca::for_model(&model).budget(40).learner_from(&model)?;
    /// let (scores, outputs) = (model.transform(&rows)?, learner.look_at_rows(&rows)?);
    /// assert!((scores[(7, 0)] - outputs[7].outputs[0]).abs() < 1e-3);
    /// learner.learn_row(&[0.3, 1.1])?;
    /// assert_eq!((learner.n_before(), learner.n_remembered()), (200, 40));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`learner`](Self::learner), and if the model has another kernel or centring than the settings, or more components; if components
    /// are to start at given points or take turns; if a component has no positive length in feature space, as those of negative
    /// eigenvalues; if rows would have to be dropped at once, by another policy than `project`; or if the kernel is not positive semi-definite
    /// and `project` finds a basis point at a negative squared distance from the others.
    pub fn learner_from(&self, model: &Model) -> Result<Learner> {
        self.learner_from_watched(model, &Threads::all()?, &Watch::new())
    }

    /// As [`learner_from`](Self::learner_from), on given threads, with somebody looking on who may stop it.
    ///
    /// ```
    /// use mercer::online::{Learner, OnlineKernelPca};
    /// use mercer::watch::{Threads, Watch};
    /// use mercer::{Kernel, KernelPca, Points};
    ///
    /// let rows = Points::from_f64((0..100).map(|i| f64::from(i * i % 101) * 0.02).collect::<Vec<_>>(), 50, 2)?;
    /// let model = KernelPca::new(Kernel::gaussian(0.5)?).fit(&rows)?;
    /// let settings = OnlineKernelPca::for_model(&model);
    /// let learner: Learner = settings.learner_from_watched(&model, &Threads::new(1)?, &Watch::new())?;
    /// assert!(learner.began_as(&model) && learner.n_before() == 50);
    /// let seen = learner.look_at_rows(&rows)?;
    /// assert!((seen[7].outputs[0] - model.training_scores()[(7, 0)]).abs() < 1e-6);
    /// // It did not begin as another model of the same points.
    /// assert!(!learner.began_as(&KernelPca::new(Kernel::gaussian(0.25)?).fit(&rows)?));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`learner_from`](Self::learner_from), and [`Error::Interrupted`].
    pub fn learner_from_watched(&self, model: &Model, threads: &Threads, watch: &Watch<'_>) -> Result<Learner> {
        if matches!(model.kernel(), Kernel::Precomputed) {
            return Err(Error::UnsuitableKernel {
                what: "online learning",
                kernel: model.kernel().name().to_owned(),
                reason: "rows that are still to come have no place in a matrix",
            });
        }
        self.validate()?;
        self.check_model(model)?;
        let mut learner = Learner::new(self.clone())?;
        learner.begin_as(model, &Context::new(threads, watch, Phase::Starting))?;
        Ok(learner)
    }

    /// Refuses settings that contradict a model.
    fn check_model(&self, model: &Model) -> Result<()> {
        let (here, there) = (KernelRecord::from(&self.kernel), KernelRecord::from(model.kernel()));
        if here != there {
            let requirement =
                format!("that of the model ({}), whose components mean nothing to another", in_words(model.kernel()));
            return Err(Error::invalid("kernel", requirement, in_words(&self.kernel)));
        }
        let (asked, is_centered) = (self.center == Center::Yes, model.centering().is_some());
        if asked != is_centered {
            let requirement = format!("as in the model, which is {}centred", if is_centered { "" } else { "not " });
            return Err(Error::invalid("center", requirement, if asked { "yes" } else { "no" }));
        }
        let (p, least) = (self.n_components, model.n_components());
        if p < least {
            return Err(Error::invalid("n_components", format!("at least those of the model ({least})"), p));
        }
        if let Some(start) = &self.start {
            let requirement = "left out where components begin as those of a model";
            return Err(Error::invalid("start", requirement, format!("{} points", start.n_samples())));
        }
        if let Some(rows) = self.rows_per_component {
            let requirement = "left out where components begin as those of a model, all at once";
            return Err(Error::invalid("rows_per_component", requirement, rows));
        }
        Ok(())
    }
}

impl Learner {
    /// Points that the model was learned from which components [began as](OnlineKernelPca::learner_from): they count as rows that were learned.
    /// Zero if there was none.
    pub fn n_before(&self) -> usize {
        self.origin.as_ref().map_or(0, |origin| origin.n_samples)
    }

    /// Whether components [began as](OnlineKernelPca::learner_from) those of this model.
    pub fn began_as(&self, model: &Model) -> bool {
        self.origin.as_ref() == Some(&Origin::of(model))
    }

    /// Rows that count in means: those of a model, and those that were learned.
    pub(super) fn n_counted(&self) -> usize {
        self.n_before().saturating_add(self.n_seen)
    }

    fn begin_as(&mut self, model: &Model, context: &Context<'_>) -> Result<()> {
        let start = Start::of(model)?;
        let m = start.points.n_samples();
        if let Some(budget) = self.settings.budget.filter(|&budget| budget < m && self.drops_rows()) {
            let requirement = format!(
                "at least the number of the model's basis points ({m}) with the policy {}, which would drop some with their part of the \
                 components; {} keeps what it can",
                self.settings.policy.unwrap_or_default(),
                Policy::Project
            );
            return Err(Error::invalid("budget", requirement, budget));
        }
        let kernel = self.settings.kernel.clone();
        let images =
            slab_product(&kernel, &start.points, &start.points, start.expansions.as_ref(), Precision::F64, context)?;
        let products = small_product(start.expansions.transpose(), images.as_ref());
        let is_finite = |matrix: &Mat<f64>| matrix.col_iter().all(|column| column.iter().all(|x| x.is_finite()));
        if !is_finite(&images) || !is_finite(&products) {
            return Err(Error::invalid(
                "model",
                "one whose components have finite lengths",
                "one of which some have not",
            ));
        }
        self.begin_with_lengths(model, &products)?;
        self.origin = Some(Origin::of(model));
        self.scaling = model.scaling().cloned();
        self.n_since = self.n_before();
        let (d, p) = (model.n_features(), self.settings.n_components);
        self.memory = Some(Memory::new(kernel, d, p, self.settings.most_expressed()));
        self.take_in(&start, images.as_ref(), &products, context)?;
        if self.n_remembered() == m {
            self.write(start.expansions.as_ref(), products.as_ref());
            return Ok(());
        }
        self.project_on_what_stays(&start, images.as_ref(), &products)
    }

    /// Takes note of how many components have a length, and of the variances along them.
    fn begin_with_lengths(&mut self, model: &Model, products: &Mat<f64>) -> Result<()> {
        let k = model.n_components();
        let has_length = |p: usize| products[(p, p)] > DEPENDENT;
        self.started = (0..k).take_while(|&p| has_length(p)).count();
        let is_odd = |p: usize| has_length(p) || products[(p, p)] < -DEPENDENT;
        if self.started == 0 || (self.started..k).any(is_odd) {
            return Err(Error::UnsuitableKernel {
                what: "learning on from a model",
                kernel: model.kernel().name().to_owned(),
                reason: "a component has no positive length in its inner product",
            });
        }
        let share = 1.0 / model.n_samples().max(1) as f64;
        for (variance, eigenvalue) in self.variances.iter_mut().zip(model.eigenvalues()).take(self.started) {
            *variance = (share * eigenvalue).max(0.0);
        }
        self.total_variance = (share * model.total_variance()).max(0.0);
        Ok(())
    }

    /// Remembers the basis points of a model, or those of them that policy and budget choose.
    fn take_in(
        &mut self,
        start: &Start,
        images: MatRef<'_, f64>,
        products: &Mat<f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        let mut work = Workspace::default();
        let centre = images.ncols() - 1;
        for i in 0..start.points.n_samples() {
            context.check()?;
            let x = start.points.row(i);
            let square = self.square(&x, i)?;
            if !self.is_factored() {
                let memory = self.memory.as_mut().expect("made before this");
                memory.push(&x, square, start.arrivals[i]);
                continue;
            }
            // What is learned from, as of rows that come.
            let centred = square - 2.0 * images[(i, centre)] + products[(centre, centre)];
            let length_squared = if self.is_centered() { centred.min(square) } else { square };
            if self.choose(start, i, (&x, square, length_squared), &mut work)? {
                self.keep_factor()?;
            }
        }
        Ok(())
    }

    /// Takes a basis point in, or gives it up for a combination of those in memory, or one of them; whether one was given up. With the point come its
    /// squared length, and that as far as it is learned from.
    fn choose(
        &mut self,
        start: &Start,
        i: usize,
        (x, square, length_squared): (&[f64], f64, f64),
        work: &mut Workspace,
    ) -> Result<bool> {
        let (budget, of_mean) = (self.settings.budget.unwrap_or(usize::MAX), self.per_variance(square));
        let memory = self.memory.as_mut().expect("made before this");
        let k = memory.kernel_row(x)?;
        let (half, coefficients) = memory.solution(&k);
        let residual = square - half.iter().map(|z| z * z).sum::<f64>();
        self.settings.check_residual(residual, square, length_squared)?;
        // As for rows that come: those that share nearly all of their length with others are told from them by what is left.
        let enough = (DEPENDENT * length_squared).max(ROUNDED * square);
        let own: Vec<f64> = start.expansions.row(i).iter().copied().collect();
        let (mut gone, is_full) = (None, memory.len() >= budget);
        if residual > enough && is_full {
            let (mean, components) = own.split_last().expect("one for the mean");
            let weight = components.iter().map(|x| x * x).sum::<f64>() + of_mean * mean * mean;
            gone = memory.cheapest(weight * residual, residual, &coefficients, of_mean, &mut work.weights);
        }
        if residual <= enough || (is_full && gone.is_none()) {
            memory.add(&own, |expansion, weight| {
                expansion.iter_mut().zip(&coefficients).for_each(|(x, coefficient)| *x += weight * coefficient);
            });
            return Ok(true);
        }
        memory.factor.as_mut().expect("rows are projected").push(&half, residual, &coefficients);
        let slot = memory.push(x, square, start.arrivals[i]);
        memory.add(&own, |expansion, weight| expansion[slot] += weight);
        if let Some(slot) = gone {
            self.project(slot, work);
        }
        Ok(gone.is_some())
    }

    /// The coefficients of components and mean over the rows in memory, and their inner products.
    fn write(&mut self, expansions: MatRef<'_, f64>, products: MatRef<'_, f64>) {
        let memory = self.memory.as_mut().expect("there are rows");
        let (k, padded) = (expansions.ncols() - 1, memory.rows.padded_len());
        let coefficients = |j: usize| {
            let mut all: Vec<f64> = expansions.col(j).iter().copied().collect();
            all.resize(padded, 0.0);
            all
        };
        for (p, component) in memory.components.iter_mut().enumerate() {
            *component = if p < self.started { coefficients(p) } else { vec![0.0; padded] };
        }
        memory.mean = coefficients(k);
        let started = self.started;
        let product = |i: usize, j: usize| if i.max(j) < started { products[(i, j)] } else { 0.0 };
        let p = self.settings.n_components;
        self.inner = Mat::from_fn(p, p, |i, j| product(i.max(j), i.min(j)));
        self.with_mean = (0..p).map(|i| if i < started { products[(i, k)] } else { 0.0 }).collect();
        self.mean_squared = products[(k, k)];
    }

    /// Components and mean become their projections on the span of the rows in memory, and what that costs is noted.
    fn project_on_what_stays(&mut self, start: &Start, images: MatRef<'_, f64>, whole: &Mat<f64>) -> Result<()> {
        self.refresh()?;
        let memory = self.memory.as_mut().expect("there are rows");
        let (columns, m) = (images.ncols(), memory.len());
        let mut places = vec![0; m];
        for i in 0..start.points.n_samples() {
            memory.place_of(&start.points.row(i)).into_iter().for_each(|slot| places[slot] = i);
        }
        let (mut halves, mut coefficients) = (Mat::zeros(m, columns), Mat::zeros(m, columns));
        for j in 0..columns {
            let image: Vec<f64> = places.iter().map(|&i| images[(i, j)]).collect();
            let (half, solution) = memory.solution(&image);
            halves.col_mut(j).iter_mut().zip(half).for_each(|(to, from)| *to = from);
            coefficients.col_mut(j).iter_mut().zip(solution).for_each(|(to, from)| *to = from);
        }
        let products = small_product(halves.transpose(), halves.as_ref());
        self.write(coefficients.as_ref(), products.as_ref());
        for p in 0..self.started {
            self.followed_error[p] = (whole[(p, p)] - products[(p, p)]).max(0.0).sqrt();
        }
        Ok(())
    }
}

impl Memory {
    /// `z` with `L z = k`, in the order of the factor, and the combination of the rows in memory with the inner products `k` with them, by slot.
    pub(super) fn solution(&self, k: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let factor = self.factor.as_ref().expect("rows are projected");
        let mut half = Vec::with_capacity(factor.len());
        factor.forward(1, |slot, _| k[slot], &mut half);
        let (mut solution, mut coefficients) = (half.clone(), vec![0.0; self.rows.padded_len()]);
        factor.backward(1, &mut solution);
        factor.by_slot(&solution, 0, 1, &mut coefficients);
        (half, coefficients)
    }

    /// Adds a point with these weights in the first components and in the mean to their expansions.
    fn add(&mut self, own: &[f64], mut add: impl FnMut(&mut [f64], f64)) {
        let (mean, components) = own.split_last().expect("one for the mean");
        self.components.iter_mut().zip(components).for_each(|(component, &weight)| add(component, weight));
        add(&mut self.mean, *mean);
    }
}

/// A model as combinations of different points.
struct Start {
    points: Points,
    /// When each came last.
    arrivals: Vec<usize>,
    /// One column per component, and the last for the mean.
    expansions: Mat<f64>,
}

impl Start {
    fn of(model: &Model) -> Result<Self> {
        let (basis, components) = (model.basis(), model.folded_coefficients());
        let (m, k, n) = (basis.n_samples(), components.ncols(), model.n_samples().max(1));
        let mean = match model.centering() {
            None => vec![0.0; m],
            Some(centering) => centering.weights.clone().unwrap_or_else(|| vec![1.0 / m as f64; m]),
        };
        let (mut places, mut values) = (HashMap::with_capacity(m), Vec::with_capacity(m * basis.n_features()));
        let (mut arrivals, mut place_of) = (Vec::with_capacity(m), Vec::with_capacity(m));
        for i in 0..m {
            let row = basis.row(i);
            let next = arrivals.len();
            let place = *places.entry(bits(&row).collect::<Vec<u64>>()).or_insert(next);
            if place == next {
                values.extend_from_slice(&row);
                arrivals.push(0);
            }
            // Rows that come are younger.
            arrivals[place] = (i + 1).min(n);
            place_of.push(place);
        }
        let mut expansions = Mat::zeros(arrivals.len(), k + 1);
        for (i, &place) in place_of.iter().enumerate() {
            for j in 0..k {
                expansions[(place, j)] += components[(i, j)];
            }
            expansions[(place, k)] += mean[i];
        }
        let points = Points::from_f64(values, arrivals.len(), basis.n_features())?;
        Ok(Self { points, arrivals, expansions })
    }
}
