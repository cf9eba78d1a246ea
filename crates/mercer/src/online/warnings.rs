//! What the user should know about what was learned.

use super::learner::Learner;
use super::span::Span;
use crate::error::rounded;

/// A component that has been moved by this share of its length is worth a warning: an angle of about 14 degrees.
const WORTH_SAYING: f64 = 0.25;
/// And a length of a component that should be near one.
const SHRUNK: f64 = 0.5;
/// And what components explain of all, if it is above one by more than this, which rounding does not reach.
const EXCESS: f64 = 1e-6;

impl Learner {
    /// What the user should know about what was learned: components that have not begun or depend on others, or explain more than there is, rates that
    /// had to be made smaller, and what the budget has cost.
    ///
    /// ```
    /// use mercer::online::OnlineKernelPca;
    /// use mercer::{Center, Kernel};
    ///
    /// let settings = OnlineKernelPca::new(Kernel::linear()).n_components(1).center(Center::No);
    /// let mut learner = settings.learning_rate(10.0).learner()?;
    /// for row in 0..50 {
    ///     learner.learn_row(&[f64::from(row % 7), 1.0])?;
    /// }
    /// assert!(learner.warnings()[0].starts_with("the learning rate was made smaller for "));
    /// assert!(learner.n_shrunk() > 0 && learner.last_shrunk().is_some_and(|(wanted, made)| made < wanted));
    /// assert!(learner.budget_warnings().is_empty(), "it has no budget");
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn warnings(&self) -> Vec<String> {
        let components = [self.not_begun(), self.not_learned(), self.dependent(), self.excess_warning()];
        components.into_iter().chain([self.shrunk()]).flatten().chain(self.budget_warnings()).collect()
    }

    /// Those of the [warnings](Self::warnings) that say what the budget has cost, and whether the mean is that of the rows.
    pub fn budget_warnings(&self) -> Vec<String> {
        let (errors, apart) = self.measured().unwrap_or_else(|| (self.followed_error.clone(), None));
        [moved(&errors), self.mean_moved(apart), self.wear_warning()].into_iter().flatten().collect()
    }

    fn not_begun(&self) -> Option<String> {
        let (started, p) = (self.started, self.settings.n_components);
        let verb = if started == 1 { "has" } else { "have" };
        (self.n_seen > 0 && started < p).then(|| {
            let why = match self.settings.rows_per_component {
                Some(rows) => {
                    format!("one learns after the other, each from {rows} rows, and {} have come", self.n_seen)
                }
                None => {
                    "too few rows have come that differ from one another and have a positive kernel with themselves"
                        .to_owned()
                }
            };
            format!("{started} of {p} components {verb} begun to learn: {why}")
        })
    }

    fn not_learned(&self) -> Option<String> {
        (self.finished > 0 && self.n_since == 0)
            .then(|| "the last component has learned from no row: none has come since it was added".to_owned())
    }

    fn dependent(&self) -> Option<String> {
        let (kept, p) = (Span::of(&self.inner).kept().len(), self.settings.n_components);
        let verb = if kept == 1 { "is" } else { "are" };
        (kept < self.started).then(|| {
            format!(
                "{kept} of {p} components {verb} independent: what they all span has no more directions, and so has the model"
            )
        })
    }

    /// The [warning](Self::warnings) that components explain more than all of the variance, if they do: with a kernel that is not positive semi-definite
    /// there are directions along which variances are negative. Nothing if the kernel is a function of the user, which it would take many calls of.
    ///
    /// ```
    /// use mercer::online::OnlineKernelPca;
    /// use mercer::{Center, Kernel};
    ///
    /// let settings = OnlineKernelPca::new(Kernel::sigmoid(0.5, 1.0)?).center(Center::No).learning_rate(1e-9);
    /// let mut learner = settings.learner()?;
    /// for x in [1.0, -1.0, 0.0] {
    ///     learner.learn_row(&[x])?;
    /// }
    /// // Components are the images of the first two rows, and the third is at a negative squared distance from their span.
    /// let warning = learner.excess_warning().expect("they explain more than there is");
    /// assert!(warning.starts_with("the components explain 103.4 % of the variance"), "{warning}");
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn excess_warning(&self) -> Option<String> {
        let kernel = &self.settings.kernel;
        let may_exceed = !kernel.is_positive_definite();
        self.memory.as_ref().filter(|memory| may_exceed && memory.rows.is_vectorised())?;
        let explained: f64 = self.captured().ok()?.ratio().iter().sum();
        (explained > 1.0 + EXCESS).then(|| {
            format!(
                "the components explain {:.1} % of the variance, which is more than there is: the {} kernel is not positive semi-definite, and on \
                 these rows it makes variances along other directions negative",
                100.0 * explained,
                kernel.name()
            )
        })
    }

    fn shrunk(&self) -> Option<String> {
        let last = self.last_shrunk.map(|(from, to)| format!(": last from {} to {}", digits(from), digits(to)));
        (self.n_shrunk > 0).then(|| {
            format!(
                "the learning rate was made smaller for {} of {} rows, which it would have overshot at{}",
                self.n_shrunk,
                self.n_seen,
                last.unwrap_or_default()
            )
        })
    }

    /// What is measured on the last rows: what the budget has cost each component, and how far the mean is from theirs if that is clearly more
    /// than noise. Nothing if it would take a quarter of a million calls of a function of the user.
    fn measured(&self) -> Option<(Vec<f64>, Option<f64>)> {
        let memory = self.memory.as_ref().filter(|memory| memory.rows.is_vectorised())?;
        let (errors, (apart, is_clear)) = self.losses(memory).ok()?;
        Some((errors, is_clear.then_some(apart)))
    }

    fn mean_moved(&self, apart: Option<f64>) -> Option<String> {
        let apart = apart.filter(|&apart| apart > WORTH_SAYING)?;
        let remedy = match (self.settings.budget, self.settings.forgetting) {
            (Some(_), None) => {
                "if the rows have changed, forgetting would follow them; otherwise a larger budget would keep it"
            }
            (Some(_), Some(_)) => {
                "if the rows have changed, more forgetting would follow them; otherwise a larger budget would keep it"
            }
            (None, _) => "if the rows have changed, forgetting would follow them",
        };
        Some(format!("the running mean is {apart:.2} from that of the last rows, where one is their spread: {remedy}"))
    }

    /// The [warning](Self::warnings) that a component has become short, because rows are dropped with their part of it, if one has. It costs
    /// next to nothing, so that it can be asked for after every row: what is left of such a component soon says nothing any more.
    ///
    /// ```
    /// use mercer::Kernel;
    /// use mercer::online::{OnlineKernelPca, Policy};
    ///
    /// let settings = OnlineKernelPca::new(Kernel::gaussian(0.5)?).n_components(2).budget(8).policy(Policy::Oldest);
    /// let mut learner = settings.learner()?;
    /// let mut worn_at = None;
    /// for row in 0..100 {
    ///     learner.learn_row(&[(f64::from(row) * 0.7).sin(), (f64::from(row) * 1.1).cos()])?;
    ///     worn_at = worn_at.or(learner.wear_warning().map(|_| row));
    /// }
    /// assert!(worn_at.is_some_and(|row| row >= 8), "nothing is dropped before");
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn wear_warning(&self) -> Option<String> {
        // By some rules components are short at first, too, before any part of them has gone with a row.
        let worn = (0..self.started).filter(|&p| self.drops_rows() && self.followed_error[p] > 0.0);
        let shortest = worn.map(|p| self.inner[(p, p)].max(0.0).sqrt()).fold(f64::INFINITY, f64::min);
        (shortest < SHRUNK).then(|| {
            format!(
                "a component has shrunk to {shortest:.1e} of unit length, because rows are dropped faster than it learns: a larger budget or \
                 the policy project would keep it"
            )
        })
    }
}

fn moved(errors: &[f64]) -> Option<String> {
    let lost = errors.iter().copied().fold(0.0, f64::max);
    (lost > WORTH_SAYING).then(|| {
        format!("the budget has moved a component by {lost:.2}, where one is its length: a larger one would cost less")
    })
}

/// A number in three digits.
fn digits(value: f64) -> String {
    rounded(value, 3)
}
