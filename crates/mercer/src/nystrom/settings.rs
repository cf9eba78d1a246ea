//! What is asked for.

use std::fmt;
use std::str::FromStr;

use super::map::FeatureMap;
use super::{choose, map, room};
use crate::choices::MemoryBudget;
use crate::data::{Points, Scaling};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::KernelChoice;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Threads, Watch};

/// How landmarks are chosen.
///
/// ```
/// use mercer::nystrom::Landmarks;
///
/// assert!(matches!("rpcholesky".parse::<Landmarks>()?, Landmarks::RpCholesky));
/// assert_eq!(Landmarks::KMeans.name(), "kmeans");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub enum Landmarks {
    /// Rows at random, all alike.
    Uniform,
    /// The centres of clusters.
    KMeans,
    /// Rows at random, in proportion to what earlier ones leave of them.
    #[default]
    RpCholesky,
    /// Rows at random, in proportion to their approximate ridge leverage.
    Leverage,
    /// These points, which need not be rows of the data.
    Given(Points),
    /// These rows of the data.
    Rows(Vec<usize>),
}

impl Landmarks {
    /// The names that can be asked for.
    pub const NAMES: &'static [&'static str] = &["uniform", "kmeans", "rpcholesky", "leverage"];

    /// The choice's name; `given` for points or rows that the user chose.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::KMeans => "kmeans",
            Self::RpCholesky => "rpcholesky",
            Self::Leverage => "leverage",
            Self::Given(_) | Self::Rows(_) => "given",
        }
    }

    /// The same among points that go through a scaling first: those that are given as points go through it with them.
    ///
    /// ```
    /// use mercer::{Points, data::Scaling, nystrom::Landmarks};
    ///
    /// let given = Landmarks::Given(Points::from_f64(vec![1.0, 3.0], 2, 1)?);
    /// let Landmarks::Given(scaled) = given.scaled_by(&Scaling::uniform(2.0, 1)?)? else { panic!("points stay points") };
    /// assert_eq!((scaled.row(0), scaled.row(1)), (vec![2.0], vec![6.0]));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If they are points with another number of columns than the scaling, or with numbers that are not finite.
    pub fn scaled_by(self, scaling: &Scaling) -> Result<Self> {
        let Self::Given(landmarks) = &self else { return Ok(self) };
        choose::check_given(landmarks, scaling.n_features())?;
        Ok(Self::Given(scaling.apply(landmarks)?))
    }

    /// How many there are, if that is part of the choice.
    pub(super) fn count(&self) -> Option<usize> {
        match self {
            Self::Given(points) => Some(points.n_samples()),
            Self::Rows(rows) => Some(rows.len()),
            Self::Uniform | Self::KMeans | Self::RpCholesky | Self::Leverage => None,
        }
    }
}

impl fmt::Display for Landmarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Landmarks {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "uniform" => Ok(Self::Uniform),
            "kmeans" => Ok(Self::KMeans),
            "rpcholesky" => Ok(Self::RpCholesky),
            "leverage" => Ok(Self::Leverage),
            other => {
                let requirement = format!("one of {}", Self::NAMES.join(", "));
                Err(Error::invalid("landmarks", requirement, format!("\"{other}\"")))
            }
        }
    }
}

/// Landmarks, as they are asked for.
///
/// ```
/// use mercer::nystrom::{Landmarks, Nystrom};
/// use mercer::{Kernel, MemoryBudget, Points, Precision, Watch};
///
/// let points = Points::from_f64((0..600).map(|i| f64::from(i % 61) / 30.0).collect::<Vec<_>>(), 200, 3)?;
/// let nystrom = Nystrom::new(Kernel::gaussian(0.5)?).landmarks(Landmarks::RpCholesky).n_landmarks(40);
/// let map = nystrom.map(&points)?;
/// // Inner products of features are nearly kernel values, and the sum of what is missing is known.
/// let features = map.transform(&points)?;
/// assert_eq!((features.nrows(), features.ncols()), (200, 40));
/// assert!(map.trace_error(&points)? < 1e-3 * 200.0);
///
/// // What would be chosen can be said; another seed draws other landmarks.
/// let said = Nystrom::new(Kernel::gaussian(0.5)?).n_landmarks(5).precision(Precision::F32).seed(3);
/// let said = said.memory(MemoryBudget::Bytes(64 << 20)).threads(1);
/// let map = said.map_watched(&points, &Watch::new())?;
/// assert_eq!((map.n_landmarks(), map.precision()), (5, Precision::F32));
/// assert_ne!(map.rows(), said.seed(4).map(&points)?.rows());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Nystrom {
    pub(super) kernel: KernelChoice,
    pub(super) landmarks: Landmarks,
    pub(super) n_landmarks: Option<usize>,
    /// How many there are where nobody says how many.
    pub(super) default_landmarks: usize,
    pub(super) precision: Option<Precision>,
    pub(super) memory: MemoryBudget,
    pub(super) threads: Option<usize>,
    pub(super) seed: u64,
}

/// Landmarks for each component where nobody says how many there are.
const LANDMARKS_PER_COMPONENT: usize = 10;

impl Nystrom {
    /// Landmarks where nobody says how many; more for more than ten components ([`NystromPca`](super::NystromPca)).
    pub const DEFAULT_LANDMARKS: usize = 100;

    /// A hundred landmarks by randomly pivoted Cholesky.
    pub fn new(kernel: impl Into<KernelChoice>) -> Self {
        Self {
            kernel: kernel.into(),
            landmarks: Landmarks::default(),
            n_landmarks: None,
            default_landmarks: Self::DEFAULT_LANDMARKS,
            precision: None,
            memory: MemoryBudget::Auto,
            threads: None,
            seed: 0,
        }
    }

    /// Sets how landmarks are chosen.
    #[must_use]
    pub fn landmarks(mut self, landmarks: Landmarks) -> Self {
        self.landmarks = landmarks;
        self
    }

    /// Sets how many landmarks there are (default 100; of a [`NystromPca`](super::NystromPca) ten for each component, but at
    /// least 100). If there are fewer rows, every row is one.
    #[must_use]
    pub fn n_landmarks(mut self, n_landmarks: usize) -> Self {
        self.n_landmarks = Some(n_landmarks);
        self
    }

    /// Sets the precision of kernel values (default: that of the data; single precision for bytes).
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = Some(precision);
        self
    }

    /// Sets how much memory may be taken beyond the data (default: 70 % of what is available).
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

    /// Sets where random numbers come from (default 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same among points that go through a scaling first: landmarks that are given as points go through it with them.
    ///
    /// ```
    /// use mercer::nystrom::{Landmarks, Nystrom};
    /// use mercer::{Kernel, Points, data::Scaling};
    ///
    /// let points = Points::from_f64(vec![0.0, 1.0, 3.0], 3, 1)?;
    /// let given = Nystrom::new(Kernel::gaussian(0.5)?).landmarks(Landmarks::Given(points.slice(1..3)));
    /// let double = Scaling::uniform(2.0, 1)?;
    /// let map = given.scaled_by(&double)?.map(&double.apply(&points)?)?;
    /// assert_eq!((map.landmarks().row(0), map.landmarks().row(1)), (vec![2.0], vec![6.0]));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If such landmarks have another number of columns than the scaling, or numbers that are not finite.
    pub fn scaled_by(mut self, scaling: &Scaling) -> Result<Self> {
        self.landmarks = self.landmarks.scaled_by(scaling)?;
        Ok(self)
    }

    /// The same landmarks of another kernel.
    pub(crate) fn of_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel.into();
        self
    }

    /// So many as are enough for this number of components, where nobody says how many there are: ten for each.
    pub(crate) fn enough_for(mut self, n_components: usize) -> Self {
        let enough = LANDMARKS_PER_COMPONENT.saturating_mul(n_components);
        self.default_landmarks = Self::DEFAULT_LANDMARKS.max(enough);
        self
    }

    /// Bytes that landmarks among these points take.
    pub(crate) fn needed_bytes(&self, points: &Points, kernel: &Kernel) -> u64 {
        let (n, precision) = (points.n_samples(), self.precision_of(points));
        room::needed(&self.landmarks, n, self.count(n), room::row_size(points, kernel, precision))
    }

    /// What is to be said where more landmarks are asked for than there are rows.
    pub(crate) fn warning_of_few_rows(&self, n: usize) -> Option<String> {
        let (asked, m) = (self.n_landmarks?, self.count(n));
        (asked > m)
            .then(|| format!("{asked} landmarks were asked for, but there are only {m} rows: each of them is one"))
    }

    /// Whether somebody has said which points landmarks are, so that their number is not for a rule to choose.
    pub(crate) fn is_given(&self) -> bool {
        self.landmarks.count().is_some()
    }

    /// The name of the rule that landmarks are chosen by.
    pub(crate) fn rule(&self) -> &'static str {
        self.landmarks.name()
    }

    /// Chooses landmarks among the points and makes the map to their features.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, the points cannot be used, or the landmarks do not fit the memory budget.
    pub fn map(&self, points: &Points) -> Result<FeatureMap> {
        self.map_watched(points, &Watch::new())
    }

    /// As [`map`](Self::map), with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map), and [`Error::Interrupted`].
    pub fn map_watched(&self, points: &Points, watch: &Watch<'_>) -> Result<FeatureMap> {
        let threads = self.thread_pool()?;
        let context = Context::new(&threads, watch, Phase::Starting);
        let (kernel, warnings) = self.kernel_for(points, &context)?;
        let precision = self.precision_of(points);
        let chosen = choose::landmarks(self, points, &kernel, precision, &context)?;
        map::new(kernel, chosen, points, precision, warnings, &context)
    }

    pub(super) fn thread_pool(&self) -> Result<Threads> {
        self.threads.map_or_else(Threads::all, Threads::new)
    }

    pub(super) fn precision_of(&self, points: &Points) -> Precision {
        self.precision.unwrap_or_else(|| points.precision())
    }

    /// The kernel for these points, after everything that can be told from the settings has been checked, and what a search for its width has
    /// to say.
    pub(super) fn kernel_for(&self, points: &Points, context: &Context<'_>) -> Result<(Kernel, Vec<String>)> {
        self.check()?;
        if points.n_samples() == 0 {
            return Err(Error::TooFewRows { needed: 1, found: 0 });
        }
        points.check_finite_on(context.threads)?;
        let (kernel, told) = match &self.kernel {
            KernelChoice::Known(kernel) => (kernel.clone(), Vec::new()),
            KernelChoice::Spec(spec) => spec.resolve_told(points, self.seed, context.threads, context.watch)?,
        };
        if matches!(kernel, Kernel::Precomputed) && points.n_features() != points.n_samples() {
            return Err(Error::NotSquare { rows: points.n_samples(), columns: points.n_features() });
        }
        Ok((kernel, told))
    }

    pub(super) fn check(&self) -> Result<()> {
        match (self.landmarks.count(), self.n_landmarks) {
            (Some(given), Some(asked)) if given != asked => {
                let requirement = format!("left out, or the number of landmarks that are given ({given})");
                Err(Error::invalid("n_landmarks", requirement, asked))
            }
            (Some(0), _) => Err(Error::invalid("landmarks", "at least one point", "empty")),
            (None, Some(0)) => Err(Error::invalid("n_landmarks", "at least 1", 0)),
            _ => Ok(()),
        }
    }

    /// How many landmarks there are among `n` rows.
    pub(super) fn count(&self, n: usize) -> usize {
        self.landmarks.count().unwrap_or_else(|| self.n_landmarks.unwrap_or(self.default_landmarks).min(n))
    }
}
