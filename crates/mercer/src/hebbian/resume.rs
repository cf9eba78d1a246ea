//! Reading a checkpoint.

use std::path::Path;

use faer::{Mat, MatRef};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::Deserialize;

use super::batch::Small;
use super::checkpoint::{FORMAT_VERSION, Header, IN_MEMORY, KEY, fingerprint};
use super::learner::HebbianLearner;
use super::schedule::GainParameters;
use super::settings::KernelHebbianPca;
use super::setup::{Beside, Setup};
use super::state::{MAX_PENDING, Pending, State};
use crate::choices::{Center, MemoryBudget, Negative, Refresh};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::gram::Centering;
use crate::kernel::Kernel;
use crate::model::{Prepared, SpeedsFrom, bad, digest, read_checked, recorded_kernel};
use crate::watch::Watch;

/// More updates than any run makes: counts up to here can be added, and are numbers in double precision.
const MOST_UPDATES: u64 = 1 << 53;

/// What every version of the header has.
#[derive(Deserialize)]
struct VersionOnly {
    format_version: u32,
}

impl HebbianLearner {
    /// Goes on from a checkpoint: `points` are those that were learned from, all of them in their order.
    ///
    /// Memory and threads are of this machine, not of the one that wrote the file; the iterates depend on neither. All other settings are
    /// those of the run, the tolerance included.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not a checkpoint, is damaged, was written by a later version, or belongs to other points.
    pub fn resume(path: &Path, points: &Points, memory: MemoryBudget, threads: Option<usize>) -> Result<Self> {
        let bytes = read_checked(path, &|why: &str| not_one(path, why))?;
        Self::read(path, &bytes, points, None, memory, threads)
    }

    /// As [`resume`](Self::resume), from the bytes of a checkpoint file; `custom` is the kernel of the run, if it was a function.
    ///
    /// # Errors
    ///
    /// As [`resume`](Self::resume), and if the kernel was a function and is not given.
    pub fn from_bytes(
        bytes: &[u8],
        points: &Points,
        custom: Option<Kernel>,
        memory: MemoryBudget,
        threads: Option<usize>,
    ) -> Result<Self> {
        Self::read(Path::new(IN_MEMORY), bytes, points, custom, memory, threads)
    }

    fn read(
        path: &Path,
        bytes: &[u8],
        points: &Points,
        custom: Option<Kernel>,
        memory: MemoryBudget,
        threads: Option<usize>,
    ) -> Result<Self> {
        let not_one = |why: &str| not_one(path, why);
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| not_one(&error.to_string()))?;
        let json = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY));
        let json = json.ok_or_else(|| not_one("its header has no entry \"mercer-hebbian\""))?;
        let unreadable = |error: serde_json::Error| bad(path, format!("the header cannot be read: {error}"));
        let VersionOnly { format_version: version } = serde_json::from_str(json).map_err(unreadable)?;
        if version > FORMAT_VERSION {
            let problem = format!(
                "the file has format {version}, but this version reads only up to {FORMAT_VERSION}; use a newer one"
            );
            return Err(bad(path, problem));
        }
        let header: Header = serde_json::from_str(json).map_err(unreadable)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| not_one(&error.to_string()))?;
        Reader { path, header, tensors, custom }.learner(points, memory, threads)
    }
}

fn not_one(path: &Path, why: &str) -> Error {
    bad(path, format!("not a checkpoint, or cut short ({why})"))
}

/// A file whose header has been read.
struct Reader<'a> {
    path: &'a Path,
    header: Header,
    tensors: SafeTensors<'a>,
    /// The kernel of the run, if it was a function.
    custom: Option<Kernel>,
}

impl Reader<'_> {
    fn learner(self, points: &Points, memory: MemoryBudget, threads: Option<usize>) -> Result<HebbianLearner> {
        self.check_digest()?;
        let header = &self.header;
        if header.points != fingerprint(points) {
            return Err(bad(self.path, "the checkpoint belongs to other points, or to these in another order"));
        }
        self.check_header(points)?;
        let settings = self.settings(memory, threads)?;
        settings.validate()?;
        let prepared = Prepared::new(&settings.common, points, SpeedsFrom::WhateverIsCheap, &Watch::new())?;
        let Setup { mut engine, store_bytes, memory_bytes } = settings.set_up(&prepared, points, Beside::default())?;
        prepared.threads.rest();
        let (n, r) = (header.n_samples, header.n_components);
        if let Some(mean) = header.mean {
            engine.set_centering(Centering { column_means: self.finite("column_means", &[n])?, mean, weights: None });
        }
        let adapts = header.rule.adapts();
        let w = if adapts { 2 * r } else { r };
        let (coefficients, images) = (self.finite("coefficients", &[n, w])?, self.finite("images", &[n, w])?);
        let rows = |values| MatRef::from_row_major_slice(values, n, w);
        let (coefficients, images) = (rows(&coefficients), rows(&images));
        let (padded, lanes) = engine.geometry();
        let mut state = State::new(coefficients.subcols(0, r), images.subcols(0, r), adapts, 0.0, padded, lanes);
        state.put(r, coefficients.subcols(r, w - r), images.subcols(r, w - r));
        state.small = self.small(r, w)?;
        state.pending = self.pending(n, w)?;
        (state.origin, state.earlier_passes) = (header.origin, header.earlier_passes);
        Ok(HebbianLearner {
            settings,
            prepared,
            points: points.clone(),
            engine,
            state,
            parameters: header.parameters,
            limit: header.limit,
            start: header.start.clone(),
            start_standing: header.start_standing,
            history: header.history.clone(),
            store_bytes,
            memory_bytes,
            seconds: header.seconds,
            error_seconds: header.error_seconds.unwrap_or(0.0),
            stopped: header.stopped,
            keeping: None,
            records: true,
            resumed_after: None,
            points_digest: header.points.clone().into(),
            own_points: 0,
            taken: 0,
            earlier_entries: 0,
        })
    }

    fn check_digest(&self) -> Result<()> {
        let mut names: Vec<&str> = self.tensors.names();
        names.sort_unstable();
        let views: Vec<(&str, TensorView<'_>)> =
            names.iter().filter_map(|name| self.tensors.tensor(name).ok().map(|view| (*name, view))).collect();
        let json = Header { digest: String::new(), ..self.header.clone() }.sorted_json(self.path)?;
        let parts = views.iter().map(|(name, view)| (*name, view.shape(), view.data()));
        if digest(&json, parts) == self.header.digest {
            Ok(())
        } else {
            Err(bad(self.path, "the file has been altered: its contents do not match its digest"))
        }
    }

    /// Refuses what no run writes, though the digest fits it: what follows relies on it.
    fn check_header(&self, points: &Points) -> Result<()> {
        let header = &self.header;
        let GainParameters { eta0, tau, mu } = header.parameters;
        let is_positive = |number: f64| number > 0.0 && number.is_finite();
        let is_there = |number: Option<f64>, expected: bool| number.is_some() == expected;
        let is_count = |number: usize| number as u64 <= MOST_UPDATES;
        let checks = [
            ("the number of points", header.n_samples == points.n_samples()),
            ("the number of components", (1..=header.n_samples).contains(&header.n_components)),
            (
                "the mean of the matrix",
                is_there(header.mean, header.center == Center::Yes) && header.mean.is_none_or(f64::is_finite),
            ),
            ("the gain", is_positive(eta0)),
            ("tau", is_there(tau, header.rule.uses_tau()) && tau.is_none_or(is_positive)),
            ("mu", is_there(mu, header.rule.adapts()) && mu.is_none_or(|mu| mu == 0.0 || is_positive(mu))),
            ("the limit of squared lengths", is_positive(header.limit)),
            ("the number of updates", header.origin <= header.updates && is_count(header.updates)),
            ("the number of earlier passes", is_count(header.earlier_passes)),
            ("the history", self.has_sound_history()),
        ];
        match checks.into_iter().find(|(_, is_right)| !is_right) {
            None => Ok(()),
            Some((what, _)) => Err(bad(self.path, format!("{what} is wrong"))),
        }
    }

    /// Whether the history is one of as many components, up to where the run is.
    fn has_sound_history(&self) -> bool {
        let (r, updates) = (self.header.n_components, self.header.updates);
        let entries = &self.header.history;
        entries.is_sorted_by_key(|entry| entry.updates)
            && entries.iter().all(|entry| {
                entry.updates <= updates && entry.eigenvalue_estimates.len() == r && entry.gains.len() == r
            })
    }

    fn settings(&self, memory: MemoryBudget, threads: Option<usize>) -> Result<KernelHebbianPca> {
        let header = &self.header;
        let kernel = match &self.custom {
            Some(kernel) => kernel.clone(),
            None => recorded_kernel(&header.kernel).map_err(|error| bad(self.path, error.to_string()))?,
        };
        let mut settings = KernelHebbianPca::new(kernel)
            .n_components(header.n_components)
            .center(header.center)
            .gain(header.rule)
            .refresh(header.refresh)
            .eta0(header.eta0)
            .mu(header.mu)
            .xi(header.xi)
            .rho0(header.rho0)
            .passes(header.passes)
            .record_error(header.record_error)
            .negative(header.negative.parse::<Negative>()?)
            .gram(header.gram.parse()?)
            .precision(header.precision)
            .seed(header.seed)
            .memory(memory);
        settings.tau = header.tau;
        settings.updates = header.updates_asked;
        settings.batch_size = header.batch_size;
        settings.record_every = header.record_every;
        if let Some(tolerance) = header.tolerance {
            settings = settings.tolerance(tolerance);
        }
        Ok(match threads {
            Some(threads) => settings.threads(threads),
            None => settings,
        })
    }

    fn small(&self, r: usize, w: usize) -> Result<Small> {
        let follows = self.header.rule.uses_eigenvalues() && self.header.refresh == Refresh::Iteration;
        let followed = |name| if follows { self.finite(name, &[r, r]) } else { Ok(Vec::new()) };
        Ok(Small {
            log_gains: self.finite("log_gains", &[r])?,
            // Gain rules without estimates have none.
            eigenvalues: self.numbers("eigenvalues", &[r])?,
            gains: self.finite("gains", &[r])?,
            products: self.finite("products", &[w, r])?,
            squares: followed("squares")?,
            images: followed("second_moments")?,
            updates: self.header.updates,
        })
    }

    /// Batches that have not reached the coefficients; none at the end of a pass.
    fn pending(&self, n: usize, w: usize) -> Result<Vec<Pending>> {
        let Ok(sizes) = self.tensors.tensor("pending_sizes") else { return Ok(Vec::new()) };
        let wrong = || bad(self.path, "its batches do not fit together");
        let m = sizes.shape().first().copied().filter(|m| (1..MAX_PENDING).contains(m)).ok_or_else(wrong)?;
        let whole = |x: &f64, most: usize| {
            (*x >= 0.0 && *x <= most as f64 && x.fract() == 0.0).then_some(*x as usize).ok_or_else(wrong)
        };
        let sizes = self.finite("pending_sizes", &[m])?.iter().map(|x| whole(x, n)).collect::<Result<Vec<usize>>>()?;
        if sizes.contains(&0) {
            return Err(wrong());
        }
        let s = sizes.iter().sum();
        let samples = self.finite("pending_samples", &[s])?;
        let samples = samples.iter().map(|x| whole(x, n.saturating_sub(1))).collect::<Result<Vec<usize>>>()?;
        let transforms = self.finite("pending_transforms", &[m, w, w])?;
        let coefficients = self.finite("pending_coefficients", &[s, w])?;
        let mut first = 0;
        let batch = |(size, transform): (&usize, &[f64])| {
            let range = first..first + size;
            first = range.end;
            Pending {
                transform: Mat::from_fn(w, w, |i, j| transform[i * w + j]),
                samples: samples[range.clone()].to_vec(),
                coefficients: Mat::from_fn(w, range.len(), |i, t| coefficients[(range.start + t) * w + i]),
            }
        };
        Ok(sizes.iter().zip(transforms.chunks_exact(w * w)).map(batch).collect())
    }

    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let view = self.tensors.tensor(name);
        let view = view.map_err(|_| bad(self.path, format!("the tensor \"{name}\" is missing")))?;
        if view.dtype() != Dtype::F64 || view.shape() != shape {
            let (found, dtype) = (view.shape(), view.dtype());
            return Err(bad(
                self.path,
                format!("the tensor \"{name}\" is {dtype:?} {found:?} instead of F64 {shape:?}"),
            ));
        }
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("chunks have eight bytes"));
        Ok(view.data().chunks_exact(8).map(number).collect())
    }

    fn finite(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let values = self.numbers(name, shape)?;
        if values.iter().all(|x| x.is_finite()) {
            return Ok(values);
        }
        Err(bad(self.path, format!("the tensor \"{name}\" holds numbers that are not finite")))
    }
}
