//! A batch of updates, on small matrices only.
//!
//! # Method
//!
//! See [`super`] for the algebra. The panel has the rows of `S`; its columns are
//!
//! | columns | before update `t` | at the end |
//! |---|---|---|
//! | `b`: one per sample of the batch | `S k'` of samples still to come | coefficients `C` of the samples done |
//! | `w`: one per row of `S` | the product of the maps so far | `T` |
//! | `b`, only if eigenvalues are followed | `S e_p` of samples still to come | — |
//! | `b`, only if eigenvalues are followed | `S K' k'` of samples still to come | — |
//!
//! Every one of these columns is `S` times something that does not change, so each update multiplies all of them by the same `M` and
//! then adds its own `w` where its sample has a part.

use faer::Mat;

use super::schedule::Schedule;
use super::step::{AddMultiple, AddPair, Step, Transpose};
use super::tune::LOOK_EVERY;
use crate::simd::Isa;

/// What is small in the state of a run, and follows every update.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Small {
    /// Log-gains `ρ`.
    pub(super) log_gains: Vec<f64>,
    /// The estimates `λ` of the last refresh; NaN before the first one.
    pub(super) eigenvalues: Vec<f64>,
    /// The gains `η` of the last update, without the adapted part.
    pub(super) gains: Vec<f64>,
    /// `S K' Aᵀ`, row by row.
    pub(super) products: Vec<f64>,
    /// `A Aᵀ`, if eigenvalues are followed.
    pub(super) squares: Vec<f64>,
    /// `A K' K' Aᵀ`, if eigenvalues are followed.
    pub(super) images: Vec<f64>,
    /// Updates so far.
    pub(super) updates: usize,
}

impl Small {
    /// The squared lengths `(A K' Aᵀ)ᵢᵢ` of the components in feature space.
    pub(super) fn squared_lengths(&self) -> impl Iterator<Item = f64> + '_ {
        let r = self.gains.len();
        (0..r).map(move |i| self.products[i * r + i])
    }

    /// Whether no squared length exceeds the limit, of either sign: a kernel with negative eigenvalues has negative ones. What is not a
    /// number is not within it.
    pub(super) fn is_within(&self, limit: f64) -> bool {
        self.squared_lengths().all(|length| length.abs() <= limit)
    }
}

/// What a batch needs to know of the kernel matrix and of the state before it.
pub(super) struct Input<'a> {
    /// Samples of the batch.
    pub(super) samples: &'a [usize],
    /// `K'` between them, row by row.
    pub(super) block: &'a [f64],
    /// `S k'`, one row per sample.
    pub(super) images: &'a [f64],
    /// If eigenvalues are followed.
    pub(super) followed: Option<Followed<'a>>,
    /// Whether the batch begins a pass.
    pub(super) first: bool,
    /// Squared lengths above this are divergence, where they are looked at.
    pub(super) limit: f64,
}

/// What following eigenvalues from update to update needs beyond that.
pub(super) struct Followed<'a> {
    /// `S e_p`, one row per sample.
    pub(super) columns: &'a [f64],
    /// `S K' k'`, one row per sample.
    pub(super) second_images: &'a [f64],
    /// `k'ᵀ k'` between the samples.
    pub(super) inner: &'a [f64],
}

/// What a batch leaves to be done to the large matrices: `S ← T S`, plus `C` at the columns of the samples.
pub(super) struct Output {
    panel: Vec<f64>,
    columns: usize,
    n_samples: usize,
}

impl Output {
    /// `T`.
    pub(super) fn transform(&self) -> Mat<f64> {
        let w = self.panel.len() / self.columns;
        Mat::from_fn(w, w, |i, j| self.panel[i * self.columns + self.n_samples + j])
    }

    /// `C`.
    pub(super) fn coefficients(&self) -> Mat<f64> {
        let w = self.panel.len() / self.columns;
        Mat::from_fn(w, self.n_samples, |i, s| self.panel[i * self.columns + s])
    }
}

/// A run that was seen to diverge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Diverged {
    /// Updates after which it was seen.
    pub(super) updates: usize,
    /// Whether it is gains that died, and not a component that grew.
    pub(super) died: bool,
}

impl Diverged {
    /// A component was seen to be too long.
    pub(super) fn grown(updates: usize) -> Self {
        Self { updates, died: false }
    }

    /// A gain was seen to be dead.
    pub(super) fn died(updates: usize) -> Self {
        Self { updates, died: true }
    }
}

/// Runs a batch of updates.
pub(super) fn run(isa: Isa, schedule: &Schedule, small: &mut Small, input: &Input<'_>) -> Result<Output, Diverged> {
    let mut work = Work::new(isa, schedule, small, input);
    for s in 0..input.samples.len() {
        let t = small.updates + 1;
        let first = input.first && s == 0;
        if schedule.renews_gains(first) {
            if schedule.follows_eigenvalues() {
                estimate(&small.images, &small.squares, &mut small.eigenvalues);
            }
            schedule.gains(t, &small.eigenvalues, &mut small.gains);
        }
        work.update(small, schedule, input, s);
        small.updates = t;
        let limit = if t.is_multiple_of(LOOK_EVERY) { input.limit } else { f64::MAX };
        if !small.is_within(limit) {
            return Err(Diverged::grown(t));
        }
    }
    Ok(work.output())
}

/// (20): `λᵢ = ‖K' aᵢ‖ / ‖aᵢ‖`, from the diagonals of two matrices.
fn estimate(images: &[f64], squares: &[f64], eigenvalues: &mut [f64]) {
    let r = eigenvalues.len();
    for (i, lambda) in eigenvalues.iter_mut().enumerate() {
        *lambda = (images[i * r + i] / squares[i * r + i]).sqrt();
    }
}

struct Work {
    isa: Isa,
    step: Step,
    panel: Vec<f64>,
    columns: usize,
    /// Samples of the batch.
    b: usize,
    /// Rows of `S` and of `A`.
    w: usize,
    r: usize,
    /// `D y` and, below it, `D (y + ξ b)`.
    weights: Vec<f64>,
    /// `M S k'`.
    moved: Vec<f64>,
    transposed: Vec<f64>,
}

impl Work {
    fn new(isa: Isa, schedule: &Schedule, small: &Small, input: &Input<'_>) -> Self {
        let (b, r) = (input.samples.len(), small.gains.len());
        let adapts = schedule.rule.adapts();
        let w = if adapts { 2 * r } else { r };
        let columns = b + w + if input.followed.is_some() { 2 * b } else { 0 };
        let mut panel = vec![0.0; w * columns];
        for (i, row) in panel.chunks_exact_mut(columns).enumerate() {
            row[..b].iter_mut().zip(input.images.chunks_exact(w)).for_each(|(x, images)| *x = images[i]);
            row[b + i] = 1.0;
            if let Some(followed) = &input.followed {
                for s in 0..b {
                    row[b + w + s] = followed.columns[s * w + i];
                    row[2 * b + w + s] = followed.second_images[s * w + i];
                }
            }
        }
        Self {
            isa,
            step: Step::new(r, adapts, schedule.xi, columns.max(w)),
            panel,
            columns,
            b,
            w,
            r,
            weights: vec![0.0; w],
            moved: vec![0.0; w],
            transposed: vec![0.0; w * r],
        }
    }

    /// Update number `s` of the batch.
    fn update(&mut self, small: &mut Small, schedule: &Schedule, input: &Input<'_>, s: usize) {
        let (r, columns) = (self.r, self.columns);
        for i in 0..r {
            self.step.y[i] = self.panel[i * columns + s];
        }
        for i in r..self.w {
            self.step.b[i - r] = self.panel[i * columns + s];
        }
        if let Some(mu) = schedule.parameters.mu {
            self.adapt(small, mu);
        }
        for i in 0..r {
            self.step.d[i] = small.gains[i] * small.log_gains[i].exp();
            self.weights[i] = self.step.d[i] * self.step.y[i];
        }
        for i in r..self.w {
            self.weights[i] = self.step.d[i - r] * (self.step.y[i - r] + schedule.xi * self.step.b[i - r]);
        }
        self.step.apply(self.isa, &mut self.panel, columns);
        for i in 0..self.w {
            self.moved[i] = self.panel[i * columns + s];
        }
        self.follow(small, input, s);
        self.add_sample(input, s);
    }

    /// (32): `ρ ← ρ + μ diag(Γ K' Bᵀ)`, with `Γ K' Bᵀ = y bᵀ − L A K' Bᵀ`.
    fn adapt(&self, small: &mut Small, mu: f64) {
        let (r, y) = (self.r, &self.step.y);
        for i in 0..r {
            let row = &small.products[(r + i) * r..][..=i];
            let sum: f64 = row.iter().zip(y).map(|(g, y)| g * y).sum();
            small.log_gains[i] += mu * y[i] * (self.step.b[i] - sum);
        }
    }

    /// Carries the small matrices over the update. With `S⁺ = M S + w e_pᵀ`,
    /// `S⁺ K' A⁺ᵀ = M (S K' Aᵀ) M₁ᵀ + (M S k') w₁ᵀ + w (M₁ A k')ᵀ + k'_p w w₁ᵀ`, where `M₁` and `w₁` are the part of `A`.
    fn follow(&mut self, small: &mut Small, input: &Input<'_>, s: usize) {
        let (isa, r, w, b) = (self.isa, self.r, self.w, self.b);
        let diagonal = input.block[s * b + s];
        self.step.apply(isa, &mut small.products, r);
        isa.run(Transpose { from: &small.products, columns: r, into: &mut self.transposed });
        self.step.apply_upper(isa, &mut self.transposed, w);
        isa.run(Transpose { from: &self.transposed, columns: w, into: &mut small.products });
        let (moved, weights) = (&self.moved[..], &self.weights[..]);
        isa.run(AddPair { matrix: &mut small.products, moved, weights, square: diagonal, columns: r });
        let Some(followed) = &input.followed else { return };
        for (matrix, offset, square) in
            [(&mut small.squares, b + w, 1.0), (&mut small.images, 2 * b + w, followed.inner[s * b + s])]
        {
            self.step.apply_upper(isa, matrix, r);
            isa.run(Transpose { from: matrix, columns: r, into: &mut self.transposed[..r * r] });
            self.step.apply_upper(isa, &mut self.transposed[..r * r], r);
            matrix.copy_from_slice(&self.transposed[..r * r]);
            let moved: Vec<f64> = (0..r).map(|i| self.panel[i * self.columns + offset + s]).collect();
            let weights = &self.weights[..r];
            isa.run(AddPair { matrix, moved: &moved, weights, square, columns: r });
        }
    }

    /// Adds the sample's own part to the columns of those to come, and puts its coefficients where its image was.
    fn add_sample(&mut self, input: &Input<'_>, s: usize) {
        let (b, w, isa) = (self.b, self.w, self.isa);
        let row = &input.block[s * b + s + 1..(s + 1) * b];
        for (i, panel) in self.panel.chunks_exact_mut(self.columns).enumerate() {
            let factor = self.weights[i];
            isa.run(AddMultiple { row: &mut panel[s + 1..b], other: row, factor });
            panel[s] = factor;
            if let Some(followed) = &input.followed {
                let inner = &followed.inner[s * b + s + 1..(s + 1) * b];
                isa.run(AddMultiple { row: &mut panel[2 * b + w + s + 1..], other: inner, factor });
                for later in s + 1..b {
                    if input.samples[later] == input.samples[s] {
                        panel[b + w + later] += factor;
                    }
                }
            }
        }
    }

    fn output(self) -> Output {
        Output { panel: self.panel, columns: self.columns, n_samples: self.b }
    }
}
