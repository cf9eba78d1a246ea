//! Logistic regression on rows of numbers, such as codes, without kernel PCA below it.

use faer::{Mat, MatRef};

use super::layer::Layer;
use super::logistic;
use super::settings::count_classes;
use crate::error::{Error, Result};
use crate::watch::{Context, Phase, Threads, Watch};

/// Multinomial logistic regression, the classifier of \[CHM16\]. Columns are given mean 0 and variance 1 first, by the rows learned from.
///
/// ```
/// use faer::Mat;
/// use mercer::classify::LogisticRegression;
/// use mercer::watch::Threads;
///
/// let rows = Mat::from_fn(40, 2, |i, k| if k == 0 { (i % 2) as f64 } else { (i as f64).sin() });
/// let labels: Vec<usize> = (0..40).map(|i| i % 2).collect();
/// let found = LogisticRegression::fit(rows.as_ref(), &labels, 0.1, &Threads::new(1)?)?;
/// assert_eq!(found.predict(rows.as_ref())?, labels);
/// assert!(found.converged());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LogisticRegression {
    shift: Vec<f64>,
    factor: Vec<f64>,
    layer: Layer,
    converged: bool,
}

impl LogisticRegression {
    /// Learns from rows and the number of the class of each, counted from zero; `penalty` multiplies half the sum of the squared weights.
    ///
    /// # Errors
    ///
    /// If there is not one label per row, there is only one class, the penalty is not positive, or a value is not finite.
    pub fn fit(rows: MatRef<'_, f64>, labels: &[usize], penalty: f64, threads: &Threads) -> Result<Self> {
        let n_classes = count_classes(rows.nrows(), labels)?.len();
        Error::require_positive("penalty", penalty)?;
        check_finite(rows)?;
        let n = rows.nrows() as f64;
        let (shift, factor): (Vec<f64>, Vec<f64>) = rows
            .col_iter()
            .map(|column| {
                let mean = column.iter().sum::<f64>() / n;
                let variance = column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
                (mean, if variance > 0.0 { 1.0 / variance.sqrt() } else { 1.0 })
            })
            .unzip();
        let scaled = Mat::from_fn(rows.nrows(), rows.ncols(), |i, k| (rows[(i, k)] - shift[k]) * factor[k]);
        let watch = Watch::new();
        let context = Context::new(threads, &watch, Phase::Classifying);
        let (layer, converged) = threads
            .run(|| logistic::train(scaled.as_ref(), labels, n_classes, penalty, logistic::MAX_STEPS, &context))?;
        Ok(Self { shift, factor, layer, converged })
    }

    /// Whether the minimum was reached before the last step that it may take.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// The class of each row.
    ///
    /// # Errors
    ///
    /// If rows have another width than those learned from, or a value is not finite.
    pub fn predict(&self, rows: MatRef<'_, f64>) -> Result<Vec<usize>> {
        let (expected, found) = (self.shift.len(), rows.ncols());
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        check_finite(rows)?;
        let scaled = Mat::from_fn(rows.nrows(), rows.ncols(), |i, k| (rows[(i, k)] - self.shift[k]) * self.factor[k]);
        let sums = self.layer.sums(scaled.as_ref());
        let best = |i: usize| {
            (1..sums.ncols()).fold(0, |best, class| if sums[(i, class)] > sums[(i, best)] { class } else { best })
        };
        Ok((0..sums.nrows()).map(best).collect())
    }
}

fn check_finite(rows: MatRef<'_, f64>) -> Result<()> {
    for (column, values) in rows.col_iter().enumerate() {
        if let Some((row, &value)) = values.iter().enumerate().find(|(_, x)| !x.is_finite()) {
            return Err(Error::NotFinite { row, column, value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn angles() -> (Mat<f64>, Vec<usize>) {
        let labels: Vec<usize> = (0..90).map(|i| i % 3).collect();
        let rows = Mat::from_fn(90, 2, |i, k| {
            let angle = labels[i] as f64 * 2.0 + 0.1 * (i as f64).sin();
            if k == 0 { angle.cos() } else { angle.sin() }
        });
        (rows, labels)
    }

    #[test]
    fn the_scale_of_a_column_changes_nothing() {
        let (rows, labels) = angles();
        let threads = Threads::new(1).expect("one thread");
        let scaled = Mat::from_fn(90, 2, |i, k| if k == 0 { 1e6 * rows[(i, 0)] - 3.0 } else { 1e-6 * rows[(i, 1)] });
        let fit = |rows: &Mat<f64>| LogisticRegression::fit(rows.as_ref(), &labels, 0.1, &threads).expect("a fit");
        assert_eq!(fit(&rows).predict(rows.as_ref()).expect("classes"), labels);
        assert_eq!(fit(&scaled).predict(scaled.as_ref()).expect("classes"), labels);
    }

    #[test]
    fn what_cannot_be_learned_from_is_refused() {
        let (mut rows, labels) = angles();
        let threads = Threads::new(1).expect("one thread");
        assert!(LogisticRegression::fit(rows.as_ref(), &labels[1..], 0.1, &threads).is_err());
        assert!(LogisticRegression::fit(rows.as_ref(), &[0; 90], 0.1, &threads).is_err());
        assert!(LogisticRegression::fit(rows.as_ref(), &labels, 0.0, &threads).is_err());
        let found = LogisticRegression::fit(rows.as_ref(), &labels, 0.1, &threads).expect("a fit");
        assert!(found.converged());
        assert!(found.predict(Mat::zeros(1, 3).as_ref()).is_err());
        rows[(4, 1)] = f64::NAN;
        assert!(found.predict(rows.as_ref()).is_err());
        assert!(LogisticRegression::fit(rows.as_ref(), &labels, 0.1, &threads).is_err());
    }
}
