//! The numbers of one update, and what they do to whatever is linear in the components.

use faer::Mat;

/// The numbers of one update, and the inner products of the row with what there is.
pub(super) struct Update {
    pub(super) keep: Vec<f64>,
    pub(super) take: Vec<f64>,
    pub(super) gain: Vec<f64>,
    /// `w_p·c`.
    pub(super) outputs: Vec<f64>,
    /// The share of the mean that the row replaces.
    pub(super) share: f64,
    /// `c·c` and `c·m` with the new mean.
    pub(super) length_squared: f64,
    pub(super) centered_with_mean: f64,
}

/// Where the image of a row is.
pub(super) enum Place {
    /// In a slot of the memory.
    Slot { slot: usize, is_new: bool },
    /// Near a combination of the rows in memory: the squared distance is `residual`.
    Combination { coefficients: Vec<f64>, residual: f64 },
}

impl Place {
    /// Adds the row, times a factor, to an expansion.
    pub(super) fn add(&self, expansion: &mut [f64], factor: f64) {
        match self {
            Self::Slot { slot, .. } => expansion[*slot] += factor,
            Self::Combination { coefficients, .. } => {
                for (x, coefficient) in expansion.iter_mut().zip(coefficients) {
                    *x += factor * coefficient;
                }
            }
        }
    }
}

impl Update {
    /// `keep_p v_p − take_p Σ_{j<p} y_j v_j` for numbers that belong to the components.
    pub(super) fn transformed(&self, values: &[f64]) -> Vec<f64> {
        let mut before = 0.0;
        values
            .iter()
            .enumerate()
            .map(|(p, &value)| {
                let new = self.keep[p] * value - self.take[p] * before;
                before += self.outputs[p] * value;
                new
            })
            .collect()
    }

    /// Inner products of the components after the update: with `M` the map above and `w' = M w + gain c`,
    /// `w'·w' = M (w·w) Mᵀ + (M y) gainᵀ + gain (M y)ᵀ + c·c gain gainᵀ`.
    pub(super) fn inner_after(&self, inner: &Mat<f64>) -> Mat<f64> {
        let p = inner.nrows();
        let column = |matrix: &Mat<f64>, j: usize| (0..p).map(|i| matrix[(i, j)]).collect::<Vec<_>>();
        let mut half = Mat::zeros(p, p);
        for j in 0..p {
            for (i, value) in self.transformed(&column(inner, j)).into_iter().enumerate() {
                half[(j, i)] = value;
            }
        }
        let mut whole = Mat::zeros(p, p);
        for j in 0..p {
            for (i, value) in self.transformed(&column(&half, j)).into_iter().enumerate() {
                whole[(i, j)] = value;
            }
        }
        let y = self.transformed(&self.outputs);
        Mat::from_fn(p, p, |i, j| {
            // Symmetric by construction; rounding must not build up a difference.
            let (a, b) = (i.max(j), i.min(j));
            whole[(a, b)]
                + y[a] * self.gain[b]
                + self.gain[a] * y[b]
                + self.length_squared * self.gain[a] * self.gain[b]
        })
    }
}
