//! What rows are to the components as they are, without learning from them.

use super::block::Block;
use super::learner::{Learner, Seen};
use super::memory::Memory;
use super::passes;
use super::span::Span;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Parameter};
use crate::tile::can_be_packed;

/// What the square of an output may be: sums of those of the last rows stay finite.
const LARGEST_OUTPUT_SQUARED: f64 = f64::MAX / 4096.0;
/// And the kernel of a row with itself, which bounds the square of an output of components that are not much longer than one.
const LARGEST_SQUARE: f64 = LARGEST_OUTPUT_SQUARED / 256.0;
/// Where no number of rows that are learned together can lead to overflow: the square root of the largest number, about.
const FAR_FROM_OVERFLOW: f64 = 1e150;

impl Learner {
    /// What a row is to the components as they are, without learning from it.
    ///
    /// # Errors
    ///
    /// As [`learn_row`](Self::learn_row).
    pub fn look(&self, x: &[f64]) -> Result<Seen> {
        self.check(x, 0)?;
        let Some(memory) = self.memory.as_ref().filter(|_| self.has_width()) else { return self.first_look(x, 0) };
        let mut block = Block::default();
        block.load(self.scaled(x.to_vec()), memory)?;
        self.look_at(memory, &mut Span::of(&self.inner), &block, 0, 0)
    }

    /// What rows are to the components as they are, without learning from them.
    ///
    /// # Errors
    ///
    /// As [`learn_row`](Self::learn_row).
    pub fn look_at_rows(&self, points: &Points) -> Result<Vec<Seen>> {
        let n = points.n_samples();
        let (mut seen, mut block, mut span) = (Vec::with_capacity(n), Block::default(), Span::of(&self.inner));
        for first in (0..n).step_by(self.rows_ahead()) {
            let rows = points.rows(first..n.min(first + self.rows_ahead())).to_f64();
            for (i, row) in rows.chunks_exact(points.n_features()).enumerate() {
                self.check(row, first + i)?;
            }
            let rows = self.scaled(rows);
            match self.memory.as_ref().filter(|_| self.has_width()) {
                None => {
                    for (i, row) in rows.chunks_exact(points.n_features()).enumerate() {
                        seen.push(self.first_look(row, first + i)?);
                    }
                }
                Some(memory) => {
                    block.load(rows, memory)?;
                    for i in 0..block.len() {
                        seen.push(self.look_at(memory, &mut span, &block, i, first + i)?);
                    }
                }
            }
        }
        Ok(seen)
    }

    /// What a row is to a learner that has seen none.
    fn first_look(&self, x: &[f64], row: usize) -> Result<Seen> {
        let novelty = self.square(x, row)?;
        Ok(Seen { outputs: vec![0.0; self.settings.n_components], novelty })
    }

    fn look_at(&self, memory: &Memory, span: &mut Span, block: &Block, i: usize, row: usize) -> Result<Seen> {
        let (raw, length_squared) = self.image(memory, block, i, row)?;
        let novelty = self.left(length_squared, span.explained(&raw));
        let mut outputs = Vec::with_capacity(raw.len());
        self.learned_outputs(&raw, &mut outputs);
        Ok(Seen { outputs, novelty })
    }

    /// The outputs of row `i` of a block, and the squared length of its centred image.
    pub(super) fn image(&self, memory: &Memory, block: &Block, i: usize, row: usize) -> Result<(Vec<f64>, f64)> {
        let (x, k) = (block.row(i), block.values(i, memory));
        let square = self.square(x, row)?;
        memory.rows.check_row(k, row)?;
        let mut outputs = Vec::with_capacity(memory.components.len());
        passes::products(memory.isa, memory.components.iter(), k, &mut outputs);
        self.check_products(&outputs, row)?;
        let mut length_squared = square;
        if self.is_centered() {
            outputs.iter_mut().zip(&self.with_mean).for_each(|(output, offset)| *output -= offset);
            let with_mean = passes::product(memory.isa, &memory.mean, k);
            length_squared = square - 2.0 * with_mean + self.mean_squared;
        }
        Ok((outputs, length_squared))
    }

    /// What is left of a squared length of which so much is explained. Where theory says that it is not negative, what rounding leaves
    /// below zero is zero; elsewhere it is what it is.
    pub(super) fn left(&self, length_squared: f64, explained: f64) -> f64 {
        let left = length_squared - explained;
        if self.settings.kernel.is_positive_definite() { left.max(0.0) } else { left }
    }

    /// Refuses rows that [`learn`](super::OnlineLearner::learn) would refuse, before any of them is learned; rows are counted from the first
    /// of these.
    ///
    /// With a kernel that is [positive semi-definite](crate::Kernel::is_positive_definite) nothing else can be wrong with a row, unless its
    /// numbers are near overflow. With others, such as functions, a value with another row may still fail where that with itself does not, and the
    /// policy `project` refuses rows that are at a negative squared distance from those in memory. See [`copy_before`](Self::copy_before).
    ///
    /// ```
    /// use mercer::online::{OnlineKernelPca, OnlineLearner};
    /// use mercer::{Kernel, Points};
    ///
    /// let learner = OnlineKernelPca::new(Kernel::polynomial(1.0, 1.0, 3)?).learner()?;
    /// let rows = Points::from_f64(vec![1.0, 2.0, 3.0, f64::NAN], 2, 2)?;
    /// let error = learner.check_rows(&rows).unwrap_err();
    /// assert_eq!(error.to_string(), "row 1, column 1 is NaN; kernels need finite numbers");
    /// assert!(learner.check_rows(&Points::from_f64(vec![1e60, 1.0], 1, 2)?).is_err(), "its kernel overflows");
    /// assert_eq!(learner.n_seen(), 0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`learn_row`](Self::learn_row).
    pub fn check_rows(&self, points: &Points) -> Result<()> {
        self.largest_square(points).map(drop)
    }

    /// Refuses rows as [`check_rows`](Self::check_rows) does, and makes a copy of the learner if learning from these rows may fail half-way all
    /// the same: to learn from all rows or from none.
    ///
    /// ```
    /// use mercer::kernel::PairFunction;
    /// use mercer::online::{OnlineKernelPca, OnlineLearner};
    /// use mercer::{Kernel, Points};
    ///
    /// // A function that is not defined everywhere.
    /// let root = PairFunction::new("root", |x: &[f64], y: &[f64]| (1.0 + x[0] * y[0]).sqrt());
    /// let mut learner = OnlineKernelPca::new(Kernel::custom(root)).learner()?;
    /// learner.learn(&Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1)?)?;
    /// let rows = Points::from_f64(vec![0.5, -3.0], 2, 1)?;
    /// let before = learner.copy_before(&rows)?;
    /// if learner.learn(&rows).is_err() {
    ///     assert_eq!(learner.n_seen(), 4, "half of the rows");
    ///     learner = before.expect("a function may fail");
    /// }
    /// assert_eq!(learner.n_seen(), 3);
    /// // This one cannot.
    /// let learner = OnlineKernelPca::new(Kernel::gaussian(0.5)?).learner()?;
    /// assert!(learner.copy_before(&rows)?.is_none());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`check_rows`](Self::check_rows).
    pub fn copy_before(&self, points: &Points) -> Result<Option<Self>> {
        let largest = self.largest_square(points)?;
        // A row that fails is not learned, and leaves all as it was.
        let may_fail = points.n_samples() > 1
            && !(self.settings.kernel.is_positive_definite() && self.largest_product(largest) < FAR_FROM_OVERFLOW);
        Ok(may_fail.then(|| self.clone()))
    }

    /// Checks rows, and finds the largest kernel of one with itself.
    fn largest_square(&self, points: &Points) -> Result<f64> {
        (0..points.n_samples()).try_fold(0.0_f64, |largest, i| {
            let row = points.row(i);
            self.check(&row, i)?;
            Ok(largest.max(self.square(&self.scaled(row), i)?.abs()))
        })
    }

    /// About the largest square of an inner product with a component, while rows are learned whose kernel with themselves is at most this.
    fn largest_product(&self, square: f64) -> f64 {
        let longest = (0..self.inner.nrows()).map(|p| self.inner[(p, p)]).fold(1.0, f64::max);
        // A step adds this to a component, at most: a rate that overshoots is made smaller.
        let (rate, beta) = (self.settings.learning_rate.unwrap_or(0.0), self.settings.beta.unwrap_or(1.0));
        square * (longest * (1.0 + beta) * (1.0 + beta) + 2.0 * rate * square)
    }

    /// The kernel of a row with itself. Rows are finite as they come, but what a model's scaling makes of them may not be.
    pub(super) fn square(&self, x: &[f64], row: usize) -> Result<f64> {
        if self.scaling.is_some() && !x.iter().all(|value| value.is_finite()) {
            let advice = "the model that components began as scales rows, and this one is far from its points";
            return Err(Error::TooLargeToLearn { row, product: "scaled value", advice });
        }
        let kernel = &self.settings.kernel;
        let square = kernel.evaluate(x, x)?;
        if square.abs() <= LARGEST_SQUARE {
            return self.check_distance(x, row).map(|()| square);
        }
        if matches!(kernel, Kernel::Custom(_)) && !square.is_finite() {
            return Err(Error::CustomKernel { kernel: kernel.name().to_owned(), row, column: row, value: square });
        }
        let has_width = kernel.parameter(Parameter::Gamma).is_some();
        let advice = if has_width { "scale the data, or use a smaller gamma" } else { "scale the data" };
        Err(Error::TooLargeToLearn { row, product: "kernel with itself", advice })
    }

    /// Refuses a row that a model could not be used with, though the kernel of the row with itself is a number, as that of any row is where kernels are of
    /// distances.
    fn check_distance(&self, x: &[f64], row: usize) -> Result<()> {
        if can_be_packed(&self.settings.kernel, x) {
            return Ok(());
        }
        let advice = "scale the data, or use a smaller gamma";
        Err(Error::TooLargeToLearn { row, product: "squared norm", advice })
    }

    /// Refuses a row whose inner products with components are too large to be squared.
    pub(super) fn check_products(&self, products: &[f64], row: usize) -> Result<()> {
        // Numbers that are none are refused, too.
        if products.iter().all(|product| product * product <= LARGEST_OUTPUT_SQUARED) {
            return Ok(());
        }
        // What was given for beta may be what makes components long; the one that they have by default does not.
        let advice = if self.settings.beta.is_some() {
            "scale the data, or use a smaller learning rate or a smaller beta"
        } else {
            "scale the data, or use a smaller learning rate"
        };
        Err(Error::TooLargeToLearn { row, product: "inner product with a component", advice })
    }
}
