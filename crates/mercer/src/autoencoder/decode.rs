//! From codes back to points.

use faer::{Mat, MatRef};

use super::Codec;
use super::choices::Sign;
use super::fit::columns;
use super::model::{Autoencoder, check_codes, in_chunks};
use super::parameters::chunk_of_forms;
use super::train::start_vectors;
use crate::data::Points;
use crate::eigen::many::Until;
use crate::error::{Error, Result};
use crate::watch::{Context, Phase, Threads, Watch};

/// How exact the eigenpairs of decoded points are.
const DECODED: Until = Until { tolerance: 1e-10, max_steps: 300 };
/// Codes that are larger, relative to the square of the scale, are divided by their size: squares of them would overflow on the way to an eigenpair.
const LARGE: f64 = 1e100;

/// Points of codes, and whether what they are made of was found.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::{AutoencoderKernelPca, Codec, Decoded};
/// use mercer::watch::{Threads, Watch};
///
/// let points = Points::from_f64((0..200).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 50, 4)?;
/// let model = AutoencoderKernelPca::new(2).epochs(1).fit(&points)?;
/// let codes = model.encode(&points)?;
/// let found: Decoded = model.decode_watched(codes.as_ref(), Some(&points), &Threads::all()?, &Watch::new())?;
/// // Eigenpairs of four rows are exact.
/// assert_eq!((found.points.nrows(), found.n_not_converged()), (50, 0));
/// assert!(found.converged.iter().all(|&converged| converged));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoded {
    /// One row per code.
    pub points: Mat<f64>,
    /// Whether the eigenpair that each is made of has a residual of no more than `1e-10` times its value, or than rounding; up to 300 products are made for it.
    pub converged: Vec<bool>,
}

impl Decoded {
    /// How many eigenpairs did not converge.
    pub fn n_not_converged(&self) -> usize {
        self.converged.iter().filter(|&&converged| !converged).count()
    }
}

/// What a code is divided by before it is decoded: the square of the scale, as points are by the scale, or its own size.
fn unit(codes: MatRef<'_, f64>, row: usize, scale: f64) -> f64 {
    let size = (0..codes.ncols()).fold(0.0, |largest: f64, j| largest.max(codes[(row, j)].abs()));
    if size > LARGE * scale * scale { size } else { scale * scale }
}

impl Autoencoder {
    /// Points of codes, as [`Codec::decode`], and whether their eigenpairs have converged, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`Codec::decode`], and [`Error::Interrupted`].
    pub fn decode_watched(
        &self,
        codes: MatRef<'_, f64>,
        reference: Option<&Points>,
        threads: &Threads,
        watch: &Watch<'_>,
    ) -> Result<Decoded> {
        self.check_codes(codes, reference)?;
        let context = Context::new(threads, watch, Phase::Reconstructing);
        let (n, d, scale, parameters) = (codes.nrows(), self.n_features(), self.scale(), self.parameters());
        let forms = parameters.forms_to_decode(n, threads, &|| context.check())?;
        let chunk = forms.as_ref().map_or(parameters.chunk(), |_| chunk_of_forms(d));
        let parts = in_chunks(n, chunk, &context, |first, count| {
            let near = match reference {
                Some(reference) => columns(reference, first, count, 1.0),
                None => Mat::from_fn(d, count, |k, _| self.mean()[k]),
            };
            let units: Vec<f64> = (first..first + count).map(|row| unit(codes, row, scale)).collect();
            let scaled = Mat::from_fn(codes.ncols(), count, |j, c| codes[(first + c, j)] / units[c]);
            let start = start_vectors(&near);
            let pairs = parameters.decode(forms.as_ref(), scaled.as_ref(), start.as_ref(), DECODED);
            let points = Mat::from_fn(d, count, |k, c| {
                let side = self.side(&pairs.vectors, &near, c);
                pairs.vectors[(k, c)] * units[c].sqrt() * pairs.values[c].max(0.0).sqrt() * side
            });
            (points, pairs.converged)
        })?;
        let mut decoded = Decoded { points: Mat::zeros(n, d), converged: Vec::with_capacity(n) };
        for (first, (points, converged)) in parts {
            for c in 0..points.ncols() {
                for k in 0..d {
                    decoded.points[(first + c, k)] = points[(k, c)];
                }
            }
            decoded.converged.extend(converged);
        }
        Ok(decoded)
    }

    /// The factor, 1 or -1, that gives a vector its sign.
    fn side(&self, vectors: &Mat<f64>, near: &Mat<f64>, c: usize) -> f64 {
        let along: f64 = vectors.col(c).iter().zip(near.col(c).iter()).map(|(v, x)| v * x).sum();
        let sum: f64 = vectors.col(c).iter().sum();
        let decides = if self.sign() == Sign::Nearest && along != 0.0 { along } else { sum };
        if decides < 0.0 { -1.0 } else { 1.0 }
    }

    fn check_codes(&self, codes: MatRef<'_, f64>, reference: Option<&Points>) -> Result<()> {
        check_codes(codes, self.n_components())?;
        let Some(reference) = reference else { return Ok(()) };
        if self.sign() == Sign::Nonnegative {
            return Err(Error::invalid("reference", "left out with sign = \"nonnegative\", which needs none", "given"));
        }
        if reference.n_samples() != codes.nrows() {
            let requirement = format!("one point per code ({})", codes.nrows());
            return Err(Error::invalid("reference", requirement, reference.n_samples()));
        }
        self.check(reference)
    }
}
