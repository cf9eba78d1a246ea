//! The numbers of one update, and what they do to whatever is linear in the components.

use faer::Mat;

use super::passes::count;

/// The numbers of one update, and the inner products of the row with what there is.
#[derive(Clone, Debug, Default)]
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
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// In a slot of the memory.
    Slot { slot: usize, is_new: bool },
    /// Near a combination of the rows in memory: the squared distance is `residual`.
    Combination { coefficients: &'a [f64], residual: f64 },
}

impl Place<'_> {
    /// Adds the row, times a factor, to an expansion.
    #[inline(always)]
    pub(super) fn add(&self, expansion: &mut [f64], factor: f64) {
        match self {
            Self::Slot { slot, .. } => expansion[*slot] += factor,
            Self::Combination { coefficients, .. } => {
                for (x, coefficient) in expansion.iter_mut().zip(*coefficients) {
                    *x += factor * coefficient;
                }
            }
        }
    }
}

impl Update {
    /// `v_p ← keep_p v_p − take_p Σ_{j<p} y_j v_j` for numbers that belong to the components.
    pub(super) fn transform<'v>(&self, values: impl Iterator<Item = &'v mut f64>) {
        let mut before = 0.0;
        for (p, value) in values.enumerate() {
            let old = *value;
            *value = self.keep[p] * old - self.take[p] * before;
            before += self.outputs[p] * old;
        }
    }

    /// Inner products of the components after the update: with `M` the map above and `w' = M w + gain c`,
    /// `w'·w' = M (w·w) Mᵀ + (M y) gainᵀ + gain (M y)ᵀ + c·c gain gainᵀ`. `y` is room for as many numbers as there are components.
    pub(super) fn follow(&self, inner: &mut Mat<f64>, y: &mut Vec<f64>) {
        let p = inner.nrows();
        count(3 * p * p);
        for j in 0..p {
            self.transform(inner.col_mut(j).iter_mut());
        }
        for i in 0..p {
            self.transform(inner.row_mut(i).iter_mut());
        }
        y.clone_from(&self.outputs);
        self.transform(y.iter_mut());
        for a in 0..p {
            for b in 0..=a {
                // Symmetric by construction; rounding must not build up a difference.
                let value = inner[(a, b)]
                    + y[a] * self.gain[b]
                    + self.gain[a] * y[b]
                    + self.length_squared * self.gain[a] * self.gain[b];
                inner[(a, b)] = value;
                inner[(b, a)] = value;
            }
        }
    }
}
