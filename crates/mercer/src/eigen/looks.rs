//! When the projected problem of a Krylov solver is looked at.
//!
//! A look decomposes a matrix of the basis' order. Beside passes over a large matrix that is nothing, and the solver looks after every
//! pass, so as not to make one too many. Where the matrix is small the looks are what takes the time; then the next one is made when the
//! residual will probably be small enough.

/// How far a solver has got.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    /// The order of the operator.
    pub(super) n: usize,
    /// Vectors of the basis, of the next block, and pairs that are wanted.
    pub(super) size: usize,
    pub(super) block: usize,
    pub(super) n_pairs: usize,
    /// The largest residual of the wanted pairs, if the basis has as many.
    pub(super) residual: Option<f64>,
    pub(super) tolerance: f64,
}

impl Reached {
    /// Passes until the next look.
    pub(super) fn passes_to_next_look(&self) -> usize {
        let block = self.block.max(1);
        if !self.is_dear(self.size + block) {
            return 1;
        }
        (self.promising_size().saturating_sub(self.size) / block).max(1)
    }

    /// Whether a look at a basis of this size takes longer than the pass before it.
    ///
    /// In nanoseconds on one core of 2020 a decomposition of order `m` takes about `1.5 m³`, a product with `b` vectors `b n² / 30` from
    /// tiles that are kept, and bringing its result to the basis `b n m / 2`.
    fn is_dear(&self, size: usize) -> bool {
        let (n, m, b) = (self.n as f64, size as f64, self.block as f64);
        1.5 * m.powi(3) > b * n * (n / 30.0 + m / 2.0)
    }

    /// The size of the basis at which the tolerance will probably be met: digits grow with the vectors beyond the wanted ones, a
    /// little faster towards the end. At most twice the present size, because such a guess carries no farther.
    fn promising_size(&self) -> usize {
        let digits = |residual: f64| -residual.max(f64::MIN_POSITIVE).log10();
        let size = match self.residual {
            Some(residual) if digits(residual) >= 1.0 => {
                let more = digits(self.tolerance) / digits(residual);
                self.n_pairs as f64 + self.size.saturating_sub(self.n_pairs) as f64 * more
            }
            // Hardly begun.
            _ => 1.5 * self.size as f64,
        };
        (size as usize).min(2 * self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: Reached =
        Reached { n: 60_000, size: 150, block: 31, n_pairs: 50, residual: Some(1e-2), tolerance: 1e-5 };

    #[test]
    fn beside_a_large_matrix_every_pass_is_looked_at() {
        assert_eq!(LARGE.passes_to_next_look(), 1);
        assert_eq!(Reached { residual: None, ..LARGE }.passes_to_next_look(), 1);
    }

    #[test]
    fn beside_a_small_one_looks_wait_for_the_digits_that_are_missing() {
        let small = Reached { n: 500, size: 124, ..LARGE };
        // Two digits from 74 vectors more than there are pairs: five from 185, which are three blocks away.
        assert_eq!(small.passes_to_next_look(), 3);
        // Nearly there, and there: the next pass.
        assert_eq!(Reached { residual: Some(2e-5), ..small }.passes_to_next_look(), 1);
        assert_eq!(Reached { residual: Some(1e-7), ..small }.passes_to_next_look(), 1);
        // Hardly begun: half as many vectors again.
        assert_eq!(Reached { residual: None, ..small }.passes_to_next_look(), 2);
        // However slow, not more than twice as many.
        assert_eq!(Reached { residual: Some(0.09), tolerance: 1e-13, ..small }.passes_to_next_look(), 4);
        // A residual of nothing is no division by zero.
        assert_eq!(Reached { residual: Some(0.0), ..small }.passes_to_next_look(), 1);
    }
}
