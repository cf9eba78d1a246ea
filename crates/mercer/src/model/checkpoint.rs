//! Checkpoints: the state of a fit between two passes, in a file, so that a run that was cut off can go on.
//!
//! The file is safetensors, as the model's is. Every matrix of the solver's [`Snapshot`] is kept column by column
//! (`basis.000000`, …), so that no copy of a whole matrix is made for writing; the header's entry `mercer-checkpoint` holds
//! [`Header`] as JSON.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use faer::{Mat, MatRef};
use safetensors::tensor::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::container::write_tensors;
use super::file::{bad, digest, from_bytes, hex, read_checked};
use crate::choices::{Center, Components, Negative};
use crate::data::{Points, RowsRef};
use crate::eigen::{Counts, Keeper, Snapshot};
use crate::error::{Error, Result};
use crate::gram::StoreFormat;
use crate::record::KernelRecord;
use crate::scalar::Precision;
use crate::watch::Stopwatch;

/// Version of the layout.
const FORMAT_VERSION: u32 = 1;
/// The header entry that makes a safetensors file a checkpoint.
pub(crate) const KEY: &str = "mercer-checkpoint";
/// Saving may take one part in this many of the time of a run.
const AT_MOST_ONE_PART_IN: f64 = 20.0;

/// Where a fit keeps its state, and whether it goes on from there.
///
/// ```
/// use mercer::{Checkpoint, Kernel, KernelPca, Points, SolverChoice};
///
/// let folder = std::env::temp_dir().join(format!("mercer-doc-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let points = Points::from_f64((0..600).map(|i| f64::from(i * i % 101)).collect::<Vec<_>>(), 300, 2)?;
/// let settings = KernelPca::new(Kernel::gaussian(1e-3)?).solver(SolverChoice::Lanczos);
/// let checkpoint = Checkpoint::new(folder.join("fit.checkpoint")).every(std::time::Duration::ZERO);
///
/// // A run that is cut short after five passes, and one that goes on from there.
/// settings.clone().max_passes(5).checkpoint(checkpoint.clone()).fit(&points)?;
/// let resumed = settings.clone().checkpoint(checkpoint.clone().resume(true)).fit(&points)?;
/// assert_eq!(resumed.record().resumed_after_passes, Some(5));
/// assert_eq!(resumed.eigenvalues(), settings.fit(&points)?.eigenvalues());
/// assert!(checkpoint.path().exists());
/// checkpoint.remove()?;
/// assert!(!checkpoint.path().exists());
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    path: PathBuf,
    every: Duration,
    resume: bool,
}

impl Checkpoint {
    /// Keeps the state in a file, at most every ten seconds, after a pass.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), every: Duration::from_secs(10), resume: false }
    }

    /// Sets the least time between two states that are kept. Whatever it is, keeping them takes no more than a twentieth of the
    /// run's time, and the first one is kept after the first pass.
    #[must_use]
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// Sets whether the fit goes on from the state in the file. If there is no such file it begins at the beginning. Without this, a
    /// file that is there already is an error, so that nothing is lost.
    #[must_use]
    pub fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// Refuses a file that is there already, unless the fit is to go on from it: what it holds would be lost.
    pub(crate) fn check(&self) -> Result<()> {
        if self.resume || !self.path.exists() {
            return Ok(());
        }
        let requirement = "a new file, or one to resume from: nothing is overwritten";
        Err(Error::invalid("checkpoint", requirement, format!("{}, which exists", self.path.display())))
    }

    /// Whether a run goes on from the file.
    pub(crate) const fn resumes(&self) -> bool {
        self.resume
    }

    /// The least number of seconds between two states, if keeping one took `cost` of them.
    pub(crate) fn least_seconds(&self, cost: f64) -> f64 {
        self.every.as_secs_f64().max(AT_MOST_ONE_PART_IN * cost)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file, if there is one: for when the model it led to has been saved.
    ///
    /// # Errors
    ///
    /// If the file is there and cannot be removed.
    pub fn remove(&self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::Io { doing: "removing", path: self.path.clone(), source })
            }
            _ => Ok(()),
        }
    }
}

/// What makes a run the same run; anything else may differ between its parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    n_samples: usize,
    n_features: usize,
    data: String,
    kernel: KernelRecord,
    centered: bool,
    precision: Precision,
    components: String,
    negative: String,
    solver: String,
    seed: u64,
}

impl Identity {
    #[expect(clippy::too_many_arguments, reason = "all that makes a run the same run, and nothing else")]
    pub(super) fn new(
        points: &Points,
        kernel: KernelRecord,
        center: Center,
        precision: Precision,
        components: Components,
        negative: Negative,
        solver: &str,
        seed: u64,
    ) -> Self {
        Self {
            n_samples: points.n_samples(),
            n_features: points.n_features(),
            data: data_digest(points),
            kernel,
            centered: center == Center::Yes,
            precision,
            components: match components {
                Components::Count(k) => format!("{k} components"),
                Components::Variance(share) => format!("{share} of the variance"),
            },
            negative: negative.name().to_owned(),
            solver: solver.to_owned(),
            seed,
        }
    }

    /// The first thing in which `here` differs, in words.
    fn difference(&self, here: &Self) -> Option<String> {
        let differs =
            |what: &str, there: &dyn Display, here: &dyn Display| Some(format!("{what}: {there} there, {here} here"));
        let shape = |of: &Self| format!("({}, {})", of.n_samples, of.n_features);
        match () {
            () if shape(self) != shape(here) => differs("shape of the data", &shape(self), &shape(here)),
            () if self.data != here.data => Some("the data has other numbers in it".to_owned()),
            () if self.kernel != here.kernel => differs("kernel", &self.kernel, &here.kernel),
            () if self.centered != here.centered => differs("centred", &self.centered, &here.centered),
            () if self.precision != here.precision => differs("precision", &self.precision, &here.precision),
            () if self.components != here.components => differs("components", &self.components, &here.components),
            () if self.negative != here.negative => differs("negative", &self.negative, &here.negative),
            () if self.solver != here.solver => differs("solver", &self.solver, &here.solver),
            () if self.seed != here.seed => differs("seed", &self.seed, &here.seed),
            () => None,
        }
    }
}

fn data_digest(points: &Points) -> String {
    let (mut hasher, mut bytes) = (Sha256::new(), Vec::new());
    for row in 0..points.n_samples() {
        bytes.clear();
        match points.rows(row..row + 1) {
            RowsRef::F32(values) => bytes.extend(values.iter().flat_map(|x| x.to_le_bytes())),
            RowsRef::F64(values) => bytes.extend(values.iter().flat_map(|x| x.to_le_bytes())),
            RowsRef::U8 { values, scale } => {
                bytes.extend(scale.to_le_bytes());
                bytes.extend_from_slice(values);
            }
        }
        hasher.update(&bytes);
    }
    hex(hasher)
}

/// What was asked of the Gram matrix up to a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) passes: usize,
    pub(crate) products: usize,
    pub(crate) kernel_entries: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Header {
    format_version: u32,
    version: String,
    run: Identity,
    /// Pairs that the solver is looking for; grows from round to round when a share of the variance is wanted.
    n_pairs: usize,
    counts: Counts,
    totals: Totals,
    /// Whether tiles were kept in 16-bit fixed point: products before and after must be with the same numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    in_fixed_point: bool,
    digest: String,
}

/// What an earlier run left.
pub(super) struct Earlier {
    pub(super) n_pairs: usize,
    pub(super) counts: Counts,
    pub(super) totals: Totals,
    pub(super) store_format: StoreFormat,
    pub(super) row_sums: Option<Vec<f64>>,
    snapshot: RefCell<Option<Snapshot>>,
}

/// A checkpoint in use: the run it belongs to and what an earlier one left.
pub(super) struct Journal {
    checkpoint: Checkpoint,
    identity: Identity,
    pub(super) earlier: Option<Earlier>,
    /// How this run keeps tiles.
    pub(super) store_format: StoreFormat,
    last: Cell<Option<Stopwatch>>,
    cost: Cell<f64>,
}

impl Journal {
    /// Reads what an earlier run left, if the fit is to go on from there.
    pub(super) fn open(checkpoint: &Checkpoint, identity: Identity) -> Result<Self> {
        let earlier = if checkpoint.path.exists() { Some(Earlier::load(&checkpoint.path, &identity)?) } else { None };
        let store_format = earlier.as_ref().map_or(StoreFormat::Full, |earlier| earlier.store_format);
        let checkpoint = checkpoint.clone();
        Ok(Self { checkpoint, identity, earlier, store_format, last: Cell::new(None), cost: Cell::new(0.0) })
    }

    /// What was asked of the Gram matrix by earlier runs.
    pub(super) fn totals(&self) -> Totals {
        self.earlier.as_ref().map_or_else(Totals::default, |earlier| earlier.totals)
    }

    fn is_due(&self) -> bool {
        let least = self.checkpoint.least_seconds(self.cost.get());
        self.last.get().is_none_or(|last| last.seconds() >= least)
    }

    fn save(&self, header: &Header, state: &Snapshot<MatRef<'_, f64>>, row_sums: Option<&[f64]>) -> Result<()> {
        let stopwatch = Stopwatch::start();
        let path = &self.checkpoint.path;
        let columns = columns_of(state, row_sums);
        let json = |header: &Header| {
            serde_json::to_value(header)
                .and_then(|value| serde_json::to_string(&value))
                .map_err(|error| bad(path, format!("the header cannot be written: {error}")))
        };
        let parts = columns.iter().map(|(name, column)| (name.as_str(), column.shape(), column.data()));
        let digest = digest(&json(header)?, parts);
        let metadata = HashMap::from([(KEY.to_owned(), json(&Header { digest, ..header.clone() })?)]);
        write_tensors(path, columns, metadata)?;
        self.cost.set(stopwatch.seconds());
        self.last.set(Some(Stopwatch::start()));
        Ok(())
    }
}

/// Keeps the states of one call of a solver.
pub(super) struct FileKeeper<'a> {
    pub(super) journal: &'a Journal,
    pub(super) n_pairs: usize,
    pub(super) totals: &'a dyn Fn() -> Totals,
    pub(super) row_sums: &'a dyn Fn() -> Option<&'a [f64]>,
}

impl std::fmt::Debug for FileKeeper<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileKeeper").field("path", &self.journal.checkpoint.path).finish_non_exhaustive()
    }
}

impl Keeper for FileKeeper<'_> {
    fn earlier(&self) -> Option<Snapshot> {
        let earlier = self.journal.earlier.as_ref().filter(|earlier| earlier.n_pairs == self.n_pairs)?;
        earlier.snapshot.take()
    }

    fn offer(&self, state: &Snapshot<MatRef<'_, f64>>, is_last: bool) -> Result<()> {
        if !(is_last || self.journal.is_due()) {
            return Ok(());
        }
        let header = Header {
            format_version: FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run: self.journal.identity.clone(),
            n_pairs: self.n_pairs,
            counts: state.counts,
            totals: (self.totals)(),
            in_fixed_point: self.journal.store_format == StoreFormat::Fixed16,
            digest: String::new(),
        };
        self.journal.save(&header, state, (self.row_sums)())
    }
}

/// A column of a matrix as a tensor; its bytes are made when they are asked for.
struct Column<'a> {
    values: &'a [f64],
    shape: [usize; 1],
}

impl View for Column<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F64
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(self.values.iter().flat_map(|x| x.to_le_bytes()).collect())
    }
    fn data_len(&self) -> usize {
        size_of_val(self.values)
    }
}

/// All columns, in the order of their names.
fn columns_of<'a>(state: &Snapshot<MatRef<'a, f64>>, row_sums: Option<&'a [f64]>) -> Vec<(String, Column<'a>)> {
    let matrices =
        [("basis", state.basis), ("block", state.block), ("coupling", state.coupling), ("projected", state.projected)];
    let mut columns = Vec::new();
    for (name, matrix) in matrices {
        for j in 0..matrix.ncols() {
            let values = matrix.col(j).try_as_col_major().expect("columns of these matrices are contiguous").as_slice();
            columns.push((format!("{name}.{j:06}"), Column { values, shape: [values.len()] }));
        }
    }
    if let Some(values) = row_sums {
        columns.push(("row_sums".to_owned(), Column { values, shape: [values.len()] }));
    }
    columns
}

fn foreign(path: &Path, why: &str) -> Error {
    bad(path, format!("not a Mercer checkpoint, or cut short ({why})"))
}

fn unreadable(path: &Path) -> impl Fn(serde_json::Error) -> Error {
    move |error| bad(path, format!("the header cannot be read: {error}"))
}

/// The header of a file, if it is in the layout that this version knows.
fn header_of(bytes: &[u8], path: &Path) -> Result<Header> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| foreign(path, &error.to_string()))?;
    let json = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY));
    let json = json.ok_or_else(|| foreign(path, "its header has no entry \"mercer-checkpoint\""))?;
    let header: Header = serde_json::from_str(json).map_err(unreadable(path))?;
    if header.format_version != FORMAT_VERSION {
        let found = header.format_version;
        return Err(bad(path, format!("the file has format {found}, but this version reads format {FORMAT_VERSION}")));
    }
    Ok(header)
}

/// The columns of a file.
struct Stored<'a>(SafeTensors<'a>);

impl Stored<'_> {
    /// Refuses columns that are not those of this header.
    fn check_digest(&self, header: &Header, path: &Path) -> Result<()> {
        let mut names: Vec<&str> = self.0.names();
        names.sort_unstable();
        let views: Vec<_> = names.iter().filter_map(|name| Some((*name, self.0.tensor(name).ok()?))).collect();
        let unsigned = Header { digest: String::new(), ..header.clone() };
        let unsigned = serde_json::to_value(&unsigned).and_then(|value| serde_json::to_string(&value));
        let parts = views.iter().map(|(name, view)| (*name, view.shape(), view.data()));
        if digest(&unsigned.map_err(unreadable(path))?, parts) == header.digest {
            return Ok(());
        }
        Err(bad(path, "the file has been altered: its contents do not match its digest"))
    }

    fn column(&self, name: &str) -> Option<Vec<f64>> {
        let view = self.0.tensor(name).ok().filter(|view| view.dtype() == Dtype::F64)?;
        Some(from_bytes(view.data(), f64::from_le_bytes))
    }

    fn matrix(&self, name: &str, n_rows: usize) -> Option<Mat<f64>> {
        let start = format!("{name}.");
        let count = self.0.names().iter().filter(|tensor| tensor.starts_with(&start)).count();
        let mut matrix = Mat::zeros(n_rows, count);
        for j in 0..count {
            let values = self.column(&format!("{name}.{j:06}")).filter(|values| values.len() == n_rows)?;
            matrix.col_mut(j).iter_mut().zip(values).for_each(|(to, from)| *to = from);
        }
        Some(matrix)
    }

    /// The state of a solver for `n` points.
    fn snapshot(&self, n: usize, counts: Counts) -> Option<Snapshot> {
        let (basis, block) = (self.matrix("basis", n)?, self.matrix("block", n)?);
        let (projected, coupling) = (self.matrix("projected", basis.ncols())?, self.matrix("coupling", block.ncols())?);
        let snapshot = Snapshot { basis, block, projected, coupling, counts };
        snapshot.is_consistent(n).then_some(snapshot)
    }
}

impl Earlier {
    /// Reads a checkpoint of the run `here`.
    fn load(path: &Path, here: &Identity) -> Result<Self> {
        let bytes = read_checked(path, &|why| foreign(path, why))?;
        let header = header_of(&bytes, path)?;
        let stored = Stored(SafeTensors::deserialize(&bytes).map_err(|error| foreign(path, &error.to_string()))?);
        stored.check_digest(&header, path)?;
        if let Some(difference) = header.run.difference(here) {
            return Err(bad(path, format!("the checkpoint belongs to another run ({difference})")));
        }
        let n = here.n_samples;
        let row_sums = stored.column("row_sums");
        let fits = row_sums.as_ref().map_or(!here.centered, |sums| here.centered && sums.len() == n);
        match stored.snapshot(n, header.counts) {
            Some(snapshot) if fits => Ok(Self {
                n_pairs: header.n_pairs,
                counts: header.counts,
                totals: header.totals,
                store_format: if header.in_fixed_point { StoreFormat::Fixed16 } else { StoreFormat::Full },
                row_sums,
                snapshot: RefCell::new(Some(snapshot)),
            }),
            _ => Err(bad(path, "its matrices do not fit together")),
        }
    }
}
