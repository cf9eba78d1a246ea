//! What is learned, and how a batch of samples pulls at it.
//!
//! # Notation
//!
//! | here | in \[CHM16\] | shape | meaning |
//! |---|---|---|---|
//! | `encoder`, `decoder` of [`Parameters::Full`] | `A_j`, `B_j` | k forms of d variables | quadratic forms, symmetric unless a start says otherwise |
//! | `encoder`, `decoder` of [`Parameters::Data`] | `Hᵀ`, `Gᵀ` | m × k | coefficients over the span: `A_j = Σ_i h_ji x_i x_iᵀ` |
//! | `codes` | `xᵀ A_j x`, `H k` | k × b | what a sample is encoded as |
//! | `losses` | `‖M‖₂` | b | with `M = Σ_j code_j B_j − x xᵀ` |
//! | `vectors` | `v` | d × b | the eigenvector of the eigenvalue of largest modulus |
//! | `pulls` | `uᵀ B_j v`, `G ∂f/∂z` | k × b | derivative of the loss by the codes |
//!
//! With `s` the sign of that eigenvalue (the printed (24) leaves it out), the derivatives are `∂A_j = s (vᵀ B_j v) x xᵀ`, `∂B_j = s code_j v vᵀ`, and in the
//! span `∂f/∂z = s (X v)²`, `∂G = code (∂f/∂z)ᵀ`, `∂H = (G ∂f/∂z) kᵀ`. The functional gradient multiplies the last two with `K⁻¹` from the
//! right: a step of the coefficients then moves `A_j` exactly, and `B_j` as nearly as the span allows, as a step of the full-span method
//! does.

use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef};
use rayon::prelude::*;

use super::choices::Gradient;
use super::forms::{Forms, Layout, contiguous};
use super::matrix::{Matrix, One, product};
use super::residuals::Residuals;
use super::span::{SPLIT, Span};
use super::start::forms_of;
use crate::eigen::Order;
use crate::eigen::many::{Extremes, Until, extremes};
use crate::error::Result;
use crate::preimage::WeightedCovariances;
use crate::watch::Threads;

/// Samples as columns, and which point of the span each is, if it is one.
pub(super) struct Batch {
    pub(super) x: Mat<f64>,
    pub(super) places: Vec<Option<usize>>,
}

/// How a batch pulls.
pub(super) struct Slopes {
    pub(super) losses: Vec<f64>,
    pub(super) vectors: Mat<f64>,
    pulls: Mat<f64>,
    /// What the decoder's part of a sample is weighted by: codes, with the sign of the eigenvalue where `sides` do not have it.
    weights: Mat<f64>,
    sides: Sides,
}

enum Sides {
    /// Left singular vectors; `vectors` are the right ones.
    Forms(Mat<f64>),
    /// Kernel values of the samples and `∂f/∂z`, one row per point of the span.
    Span { kernel: Mat<f64>, slope: Mat<f64> },
}

/// What is learned.
#[derive(Clone, Debug)]
pub(super) enum Parameters {
    Full { encoder: Forms, decoder: Forms },
    Data { span: Arc<Span>, encoder: Mat<f64>, decoder: Mat<f64>, gradient: Gradient },
}

/// Numbers of the matrices that a thread works on at a time.
const MATRIX_NUMBERS: usize = 1 << 23;
/// Samples that a thread works on at a time, at most and at least.
const CHUNK: (usize, usize) = (32, 4);
/// Products that decoding a code takes, about.
const PRODUCTS: f64 = 20.0;
/// Numbers of forms that are made only to decode with, at most: 256 MiB.
const FORM_NUMBERS: f64 = (1_u32 << 25) as f64;

/// Samples that are worked on together if each takes so many numbers.
fn chunk_of(each: usize) -> usize {
    (MATRIX_NUMBERS / each.max(1)).clamp(CHUNK.1, CHUNK.0)
}

/// As [`chunk_of`], where each has a matrix of `d` rows.
pub(super) fn chunk_of_forms(d: usize) -> usize {
    chunk_of(d.saturating_mul(d))
}

/// Codes of samples, and the leading pair of the matrix of each.
struct Pairs {
    codes: Mat<f64>,
    losses: Vec<f64>,
    /// Of the eigenvalues; ones for singular values.
    signs: Vec<f64>,
    vectors: Mat<f64>,
    /// Left singular vectors of forms, or kernel values of the samples over a span.
    beside: Mat<f64>,
}

impl Parameters {
    pub(super) fn n_features(&self) -> usize {
        match self {
            Self::Full { encoder, .. } => encoder.n_features(),
            Self::Data { span, .. } => span.points.nrows(),
        }
    }

    pub(super) fn n_components(&self) -> usize {
        match self {
            Self::Full { encoder, .. } => encoder.n_forms(),
            Self::Data { encoder, .. } => encoder.ncols(),
        }
    }

    /// Samples that are worked on together: their matrices, or their weights over the span, stay in the cache's reach.
    pub(super) fn chunk(&self) -> usize {
        match self {
            Self::Full { .. } => chunk_of_forms(self.n_features()),
            Self::Data { span, .. } => chunk_of(4 * span.points.ncols()),
        }
    }

    /// Codes of samples: one column each.
    pub(super) fn encode(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        match self {
            Self::Full { encoder, .. } => encoder.inner(x, x),
            Self::Data { span, encoder, .. } => product(encoder.transpose(), span.kernel(x).as_ref()),
        }
    }

    /// The decoder over a span as forms, if it takes less to make them and decode so many codes with them; nothing with full span, where forms are there.
    pub(super) fn forms_to_decode(
        &self,
        n_codes: usize,
        threads: &Threads,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Option<Forms>> {
        let Self::Data { span, decoder, .. } = self else { return Ok(None) };
        let (m, d, k, n) =
            (span.points.ncols() as f64, span.points.nrows() as f64, decoder.ncols() as f64, n_codes as f64);
        let over_span = n * PRODUCTS * 4.0 * m * d;
        let by_forms = 2.0 * k * m * d * d + n * (k + 2.0 * PRODUCTS) * d * d;
        let is_worth_it = m > d && by_forms < over_span && k * d * (d + 1.0) / 2.0 <= FORM_NUMBERS;
        is_worth_it.then(|| forms_of(&span.points, decoder, threads, check)).transpose()
    }

    /// The leading pair of the symmetric part of `Σ_j code_j B_j` for each column of codes, with the eigenvalue that is largest; over a span by forms if
    /// there are some.
    pub(super) fn decode(
        &self,
        forms: Option<&Forms>,
        codes: MatRef<'_, f64>,
        start: MatRef<'_, f64>,
        until: Until,
    ) -> Extremes {
        match (self, forms) {
            (Self::Full { decoder, .. }, _) | (Self::Data { .. }, Some(decoder)) => {
                let sums = decoder.combine(codes);
                let mut found = Extremes::new(start.nrows(), start.ncols());
                for c in 0..codes.ncols() {
                    let packed = decoder.symmetric_part(sums.as_ref(), c);
                    let one = One::new(start.nrows(), Matrix::Packed(&packed), None);
                    found.take(c, &extremes(&one, start.subcols(c, 1), Order::Algebraic, until));
                }
                found
            }
            (Self::Data { span, decoder, .. }, None) => {
                let weights = product(decoder.as_ref(), codes);
                let family = WeightedCovariances { points: span.points.as_ref(), weights: weights.as_ref() };
                extremes(&family, start, Order::Algebraic, until)
            }
        }
    }

    /// Losses of samples, from start vectors for the eigenvectors.
    pub(super) fn losses(
        &self,
        x: MatRef<'_, f64>,
        start: MatRef<'_, f64>,
        until: Until,
        threads: &Threads,
    ) -> Vec<f64> {
        self.in_chunks(x, start, threads, |x, start| self.pairs(x, start, until).losses).concat()
    }

    /// Losses of samples and how they pull, from start vectors for the eigenvectors.
    pub(super) fn slopes(&self, x: MatRef<'_, f64>, start: MatRef<'_, f64>, until: Until, threads: &Threads) -> Slopes {
        join(&self.in_chunks(x, start, threads, |x, start| self.slopes_of_chunk(x, start, until)))
    }

    /// Works on chunks of samples and their start vectors, on all threads.
    fn in_chunks<R: Send>(
        &self,
        x: MatRef<'_, f64>,
        start: MatRef<'_, f64>,
        threads: &Threads,
        work: impl Fn(MatRef<'_, f64>, MatRef<'_, f64>) -> R + Sync,
    ) -> Vec<R> {
        let (n, chunk) = (x.ncols(), self.chunk());
        threads.run(|| {
            (0..n.div_ceil(chunk))
                .into_par_iter()
                .map(|part| {
                    let (first, count) = (part * chunk, chunk.min(n - part * chunk));
                    work(x.subcols(first, count), start.subcols(first, count))
                })
                .collect()
        })
    }

    fn slopes_of_chunk(&self, x: MatRef<'_, f64>, start: MatRef<'_, f64>, until: Until) -> Slopes {
        let Pairs { codes, losses, signs, vectors, beside } = self.pairs(x, start, until);
        match self {
            Self::Full { decoder, .. } => {
                let mut pulls = decoder.inner(beside.as_ref(), vectors.as_ref());
                let mut weights = codes;
                for (c, sign) in signs.iter().enumerate() {
                    pulls.col_mut(c).iter_mut().for_each(|pull| *pull *= sign);
                    weights.col_mut(c).iter_mut().for_each(|code| *code *= sign);
                }
                Slopes { losses, vectors, pulls, weights, sides: Sides::Forms(beside) }
            }
            Self::Data { span, decoder, .. } => {
                // ∂f/∂z = s (X v)²
                let mut slope = product(span.points.transpose(), vectors.as_ref());
                for (c, sign) in signs.iter().enumerate() {
                    slope.col_mut(c).iter_mut().for_each(|along| *along = sign * *along * *along);
                }
                let pulls = product(decoder.transpose(), slope.as_ref());
                Slopes { losses, vectors, pulls, weights: codes, sides: Sides::Span { kernel: beside, slope } }
            }
        }
    }

    /// Codes of samples, and the leading pairs of their matrices.
    fn pairs(&self, x: MatRef<'_, f64>, start: MatRef<'_, f64>, until: Until) -> Pairs {
        let sign = |value: f64| if value < 0.0 { -1.0 } else { 1.0 };
        match self {
            Self::Full { encoder, decoder } => {
                let codes = encoder.inner(x, x);
                let sums = decoder.combine(codes.as_ref());
                let (d, n) = (x.nrows(), x.ncols());
                let (mut left, mut right) = (Mat::zeros(d, n), Mat::zeros(d, n));
                let (mut losses, mut signs) = (Vec::with_capacity(n), Vec::with_capacity(n));
                for c in 0..n {
                    let whole = (decoder.layout == Layout::Square).then(|| decoder.unpack(sums.as_ref(), c));
                    let packed = || Matrix::Packed(contiguous(sums.as_ref(), c));
                    let matrix = whole.as_ref().map_or_else(packed, |whole| Matrix::Whole(whole.as_ref()));
                    let sample: Vec<f64> = x.col(c).iter().copied().collect();
                    let found = One::new(d, matrix, Some(&sample)).leading(start.subcols(c, 1), until);
                    losses.push(found.value.abs());
                    signs.push(sign(found.value));
                    left.col_mut(c).iter_mut().zip(&found.left).for_each(|(to, from)| *to = *from);
                    right.col_mut(c).iter_mut().zip(&found.right).for_each(|(to, from)| *to = *from);
                }
                Pairs { codes, losses, signs, vectors: right, beside: left }
            }
            Self::Data { span, encoder, decoder, .. } => {
                let kernel = span.kernel(x);
                let codes = product(encoder.transpose(), kernel.as_ref());
                let z = product(decoder.as_ref(), codes.as_ref());
                let found = extremes(&Residuals::new(span, z.as_ref(), x, until), start, Order::Modulus, until);
                Pairs {
                    codes,
                    losses: found.values.iter().map(|value| value.abs()).collect(),
                    signs: found.values.iter().map(|&value| sign(value)).collect(),
                    vectors: found.vectors,
                    beside: kernel,
                }
            }
        }
    }

    /// Moves against the mean gradient of a batch, by `rate` times it.
    pub(super) fn step(&mut self, batch: &Batch, slopes: &Slopes, rate: f64, threads: &Threads) -> Result<()> {
        let share = -rate / batch.x.ncols() as f64;
        let scaled = |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |j, c| share * m[(j, c)]);
        let (pulls, weights) = (scaled(&slopes.pulls), scaled(&slopes.weights));
        match (self, &slopes.sides) {
            (Self::Full { encoder, decoder }, Sides::Forms(left)) => {
                encoder.add_outer(batch.x.as_ref(), batch.x.as_ref(), pulls.as_ref(), threads);
                decoder.add_outer(left.as_ref(), slopes.vectors.as_ref(), weights.as_ref(), threads);
            }
            (Self::Data { span, encoder, decoder, gradient }, Sides::Span { kernel, slope }) => {
                let (of_encoder, of_decoder) = match gradient {
                    Gradient::Plain => (kernel.clone(), slope.clone()),
                    Gradient::Functional => {
                        (span.coordinates(kernel, &batch.places, threads)?, span.solve(slope.clone(), threads)?)
                    }
                };
                threads.run(|| {
                    let (of_encoder, of_decoder) = (of_encoder.as_ref(), of_decoder.as_ref());
                    matmul(encoder.as_mut(), Accum::Add, of_encoder, pulls.transpose(), 1.0, SPLIT);
                    matmul(decoder.as_mut(), Accum::Add, of_decoder, weights.transpose(), 1.0, SPLIT);
                });
            }
            _ => unreachable!("slopes come from parameters of the same kind"),
        }
        Ok(())
    }

    /// Adds other parameters times a factor.
    pub(super) fn add(&mut self, other: &Self, factor: f64) {
        match (self, other) {
            (Self::Full { encoder, decoder }, Self::Full { encoder: a, decoder: b }) => {
                encoder.add(a, factor);
                decoder.add(b, factor);
            }
            (Self::Data { encoder, decoder, .. }, Self::Data { encoder: a, decoder: b, .. }) => {
                for (to, from) in [(encoder, a), (decoder, b)] {
                    for j in 0..from.ncols() {
                        to.col_mut(j).iter_mut().zip(from.col(j).iter()).for_each(|(to, from)| *to += factor * from);
                    }
                }
            }
            _ => unreachable!("parameters of one run are of one kind"),
        }
    }

    /// Parameters of the same shape that are zero.
    pub(super) fn zeroed(&self) -> Self {
        match self {
            Self::Full { encoder, decoder } => Self::Full { encoder: encoder.zeroed(), decoder: decoder.zeroed() },
            Self::Data { span, encoder, decoder, gradient } => Self::Data {
                span: Arc::clone(span),
                encoder: Mat::zeros(encoder.nrows(), encoder.ncols()),
                decoder: Mat::zeros(decoder.nrows(), decoder.ncols()),
                gradient: *gradient,
            },
        }
    }
}

/// The parts of a batch, side by side.
fn join(parts: &[Slopes]) -> Slopes {
    fn beside<'a>(parts: &'a [Slopes], of: impl Fn(&'a Slopes) -> &'a Mat<f64>) -> Mat<f64> {
        let columns: usize = parts.iter().map(|part| of(part).ncols()).sum();
        let mut all = Mat::zeros(parts.first().map_or(0, |part| of(part).nrows()), columns);
        let mut first = 0;
        for part in parts {
            let part = of(part);
            all.as_mut().subcols_mut(first, part.ncols()).copy_from(part);
            first += part.ncols();
        }
        all
    }
    fn span(part: &Slopes) -> (&Mat<f64>, &Mat<f64>) {
        match &part.sides {
            Sides::Span { kernel, slope } => (kernel, slope),
            Sides::Forms(left) => (left, left),
        }
    }
    let sides = match parts.first().map(|part| &part.sides) {
        Some(Sides::Span { .. }) => {
            Sides::Span { kernel: beside(parts, |part| span(part).0), slope: beside(parts, |part| span(part).1) }
        }
        _ => Sides::Forms(beside(parts, |part| span(part).0)),
    };
    Slopes {
        losses: parts.iter().flat_map(|part| part.losses.iter().copied()).collect(),
        vectors: beside(parts, |part| &part.vectors),
        pulls: beside(parts, |part| &part.pulls),
        weights: beside(parts, |part| &part.weights),
        sides,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without structure, from -1 to 1.
    fn random(n: usize, columns: usize, seed: usize) -> Mat<f64> {
        Mat::from_fn(n, columns, |i, j| ((i * i * 7 + i * j * 5 + 13 * j + 29 * seed) as f64 * 0.9).sin())
    }

    #[test]
    fn codes_over_a_span_are_decoded_by_forms_where_that_takes_less_and_to_the_same_points() {
        let (d, k, threads) = (40, 3, Threads::new(2).expect("two threads"));
        let over = |m: usize| Parameters::Data {
            span: Arc::new(Span::new(random(d, m, 1))),
            encoder: random(m, k, 2),
            decoder: random(m, k, 3),
            gradient: Gradient::Functional,
        };
        let forms = |parameters: &Parameters, n: usize| {
            parameters.forms_to_decode(n, &threads, &|| Ok(())).expect("nobody stops it")
        };
        let parameters = over(200);
        assert!(forms(&parameters, 1).is_none(), "one code is not worth it");
        assert!(forms(&over(40), 1000).is_none(), "no more points than columns");
        let made = forms(&parameters, 1000).expect("many codes are");
        let (codes, start) = (random(k, 5, 4), random(d, 5, 5));
        let until = Until { tolerance: 1e-11, max_steps: 300 };
        let found = parameters.decode(Some(&made), codes.as_ref(), start.as_ref(), until);
        let expected = parameters.decode(None, codes.as_ref(), start.as_ref(), until);
        assert_eq!((found.converged, expected.converged), (vec![true; 5], vec![true; 5]));
        for c in 0..5 {
            assert!((found.values[c] - expected.values[c]).abs() < 1e-10 * expected.values[c].abs(), "code {c}");
            let along = found.vectors.col(c).iter().zip(expected.vectors.col(c).iter());
            let cosine: f64 = along.map(|(a, b)| a * b).sum();
            assert!(cosine.abs() > 1.0 - 1e-9, "code {c}: {cosine}");
        }
    }

    #[test]
    fn losses_alone_are_those_that_come_with_slopes() {
        let (d, k, threads) = (36, 2, Threads::new(2).expect("two threads"));
        let span = Arc::new(Span::new(random(d, 50, 1)));
        let data = Parameters::Data {
            span,
            encoder: random(50, k, 2),
            decoder: random(50, k, 3),
            gradient: Gradient::Functional,
        };
        let forms = |seed| Forms::new(Layout::Packed, d, random(Layout::Packed.len(d), k, seed));
        let full = Parameters::Full { encoder: forms(2), decoder: forms(3) };
        let (x, until) = (random(d, 70, 4), Until { tolerance: 1e-8, max_steps: 300 });
        for parameters in [data, full] {
            let alone = parameters.losses(x.as_ref(), x.as_ref(), until, &threads);
            assert_eq!(alone, parameters.slopes(x.as_ref(), x.as_ref(), until, &threads).losses);
        }
    }
}
