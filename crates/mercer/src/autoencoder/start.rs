//! Where learning starts.

use std::sync::Arc;

use faer::Mat;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::choices::{Given, SpanChoice, StartFrom};
use super::forms::{Forms, Layout};
use super::parameters::Parameters;
use super::settings::AutoencoderKernelPca;
use super::span::{SPLIT, Span};
use crate::choices::{Center, ZeroComponents};
use crate::data::{Points, sample_rows};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Kernel, Parameter};
use crate::model::{KernelPca, Model};
use crate::preimage::is_quadratic;
use crate::scalar::Precision;
use crate::watch::{Threads, Watch};

/// Points whose kernel PCA is the start with full span; more of them make no better start.
const SAMPLE: usize = 4000;
/// Residual of the components of a start, relative to the first eigenvalue.
const TOLERANCE: f64 = 1e-8;
/// The size of a component that the points do not have, relative to one that they have.
const EMPTY: f64 = 1e-2;
/// The stream of random numbers that starts come from; those of permutations are counted up from one.
const STREAM: u64 = 0;

/// Points, as columns, divided by `scale`.
pub(super) fn gather(points: &Points, rows: &[usize], scale: f64) -> Mat<f64> {
    let mut x = Mat::zeros(points.n_features(), rows.len());
    for (c, &row) in rows.iter().enumerate() {
        for (to, from) in x.col_mut(c).iter_mut().zip(points.row(row)) {
            *to = from / scale;
        }
    }
    x
}

impl Given {
    /// Whether all matrices of encoder and decoder, of `d` columns, are symmetric, so that half of each says it all.
    pub(super) fn is_symmetric(&self, d: usize) -> bool {
        [&self.encoder, &self.decoder].into_iter().all(|values| Layout::of(values, d) == Layout::Packed)
    }

    /// The leading components of kernel PCA with the kernel `(γ x·y)²`, not centred, as encoder and decoder of full span, whether the model is exact, over
    /// landmarks, or was learned by iteration. Without an epoch what is learned from them is that kernel PCA, with a decoder.
    ///
    /// ```
    /// use mercer::autoencoder::{AutoencoderKernelPca, Codec, Given, StartFrom};
    /// use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
    /// use mercer::watch::Threads;
    /// use mercer::{Center, Kernel, Points};
    ///
    /// let points = Points::from_f64((0..300).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 100, 3)?;
    /// let landmarks = Nystrom::new(Kernel::polynomial(1.0, 0.0, 2)?).landmarks(Landmarks::Uniform).n_landmarks(30);
    /// let model = NystromPca::new(landmarks).n_components(2).center(Center::No).fit(&points)?;
    /// let start = StartFrom::Given(Given::of_model(&model, 2, &Threads::all()?)?);
    /// let codec = AutoencoderKernelPca::new(2).start(start).epochs(0).fit(&points)?;
    /// let (codes, scores) = (codec.encode(&points)?, model.transform(&points)?);
    /// assert!((codes[(7, 1)] - scores[(7, 1)]).abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the model has another kernel, is centred, scales its points, or has fewer components.
    pub fn of_model(model: &Model, n_components: usize, threads: &Threads) -> Result<Self> {
        if !is_quadratic(model.kernel()) {
            return Err(Error::UnsuitableKernel {
                what: "making quadratic forms of components",
                kernel: model.kernel().name().to_owned(),
                reason: "components are forms with the polynomial kernel of degree 2 and coef0 = 0",
            });
        }
        let changed = [("centred", model.centering().is_some()), ("scales its points", model.scaling().is_some())];
        if let Some((found, _)) = changed.into_iter().find(|(_, is_so)| *is_so) {
            return Err(Error::invalid("model", "not centred and without a scaling", found));
        }
        let most = model.n_components();
        if n_components == 0 || n_components > most {
            let requirement = format!("between 1 and the components of the model ({most})");
            return Err(Error::invalid("n_components", requirement, n_components));
        }
        let basis = model.basis();
        let x = gather(basis, &(0..basis.n_samples()).collect::<Vec<_>>(), 1.0);
        // The image of x is γ x xᵀ.
        let gamma = model.kernel().parameter(Parameter::Gamma).unwrap_or(1.0);
        let coefficients = model.dual_coefficients();
        let coefficients = Mat::from_fn(x.ncols(), n_components, |i, j| gamma * coefficients[(i, j)]);
        let forms = forms_of(&x, &coefficients, threads, &|| Ok(()))?.to_matrices();
        Ok(Self { encoder: forms.clone(), decoder: forms })
    }
}

/// The rows of a span: all of them or, where there are too many, some that are not zero, if there are any, because nothing is a combination of zeros.
pub(super) fn span_rows(settings: &AutoencoderKernelPca, points: &Points, rows: &[usize]) -> Vec<usize> {
    let count = settings.landmarks.unwrap_or(super::settings::LANDMARKS);
    let chosen =
        |rows: &[usize]| sample_rows(rows.len(), count, settings.seed).into_iter().map(|at| rows[at]).collect();
    if count >= rows.len() {
        return chosen(rows);
    }
    let is_something = |row: &usize| points.row(*row).iter().any(|&x| x != 0.0);
    let some: Vec<usize> = rows.iter().copied().filter(is_something).collect();
    chosen(if some.is_empty() { rows } else { &some })
}

/// The parameters that learning starts with: points are divided by `scale`, and given coefficients over a span go with points that are not.
pub(super) fn start(
    settings: &AutoencoderKernelPca,
    points: &Points,
    rows: &[usize],
    scale: f64,
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<Parameters> {
    let (d, k) = (points.n_features(), settings.n_components);
    match settings.span {
        SpanChoice::Full => {
            let (encoder, decoder) = match &settings.start {
                StartFrom::Given(given) => forms_given(given, k, d)?,
                StartFrom::Random => {
                    let mut random = Normal::new(settings.seed);
                    let p = Layout::Packed.len(d);
                    let mut forms = || {
                        let deviation = 1.0 / (p as f64).sqrt();
                        Forms::new(Layout::Packed, d, Mat::from_fn(p, k, |_, _| deviation * random.next()))
                    };
                    (forms(), forms())
                }
                StartFrom::KernelPca => {
                    let some: Vec<usize> =
                        sample_rows(rows.len(), SAMPLE, settings.seed).into_iter().map(|at| rows[at]).collect();
                    let x = gather(points, &some, scale);
                    let coefficients = kernel_pca(settings, &x, watch)?;
                    let mut forms = forms_of(&x, &coefficients, threads, &|| Ok(()))?;
                    let deviation = EMPTY / (forms.values.nrows() as f64).sqrt();
                    fill_empty(&mut forms.values, deviation, settings.seed);
                    (forms.clone(), forms)
                }
            };
            Ok(Parameters::Full { encoder, decoder })
        }
        SpanChoice::Data => {
            let chosen = span_rows(settings, points, rows);
            let x = gather(points, &chosen, scale);
            let m = chosen.len();
            let (encoder, decoder) = match &settings.start {
                StartFrom::Given(given) => coefficients_given(given, k, m, scale)?,
                StartFrom::Random => {
                    let mut random = Normal::new(settings.seed);
                    let mut matrix = || Mat::from_fn(m, k, |_, _| random.next() / (m as f64 * k as f64).sqrt());
                    (matrix(), matrix())
                }
                StartFrom::KernelPca => {
                    let mut coefficients = kernel_pca(settings, &x, watch)?;
                    fill_empty(&mut coefficients, EMPTY / (m as f64 * k as f64).sqrt(), settings.seed);
                    (coefficients.clone(), coefficients)
                }
            };
            Ok(Parameters::Data { span: Arc::new(Span::new(x)), encoder, decoder, gradient: settings.gradient })
        }
    }
}

/// Expansion coefficients of the leading components of the kernel `(x·y)²` over the columns of `x`, not centred. Components that the points do not
/// have are zero.
fn kernel_pca(settings: &AutoencoderKernelPca, x: &Mat<f64>, watch: &Watch<'_>) -> Result<Mat<f64>> {
    let (n, d, k) = (x.ncols(), x.nrows(), settings.n_components);
    if n == 1 {
        // One point is its own component: its image divided by its length.
        let length: f64 = x.col(0).iter().map(|x| x * x).sum();
        return Ok(Mat::from_fn(1, k, |_, j| if j == 0 && length > 0.0 { 1.0 / length } else { 0.0 }));
    }
    let rows = Points::from_f64((0..n * d).map(|at| x[(at % d, at / d)]).collect::<Vec<_>>(), n, d)?;
    let mut pca = KernelPca::new(Kernel::polynomial(1.0, 0.0, 2)?)
        .n_components(k.min(n))
        .center(Center::No)
        .precision(Precision::F64)
        .tolerance(TOLERANCE)
        .memory(settings.memory)
        .seed(settings.seed)
        .zero_components(ZeroComponents::Keep);
    if let Some(threads) = settings.threads {
        pca = pca.threads(threads);
    }
    let model = pca.fit_watched(&rows, watch)?;
    let found = model.dual_coefficients();
    Ok(Mat::from_fn(n, k, |i, j| if j < found.ncols() { found[(i, j)] } else { 0.0 }))
}

/// Gives columns of zeros small random numbers: a component that is zero in encoder and decoder pulls at neither, and would stay so.
fn fill_empty(values: &mut Mat<f64>, deviation: f64, seed: u64) {
    let mut random = Normal::new(seed);
    for j in 0..values.ncols() {
        if values.col(j).iter().all(|&x| x == 0.0) {
            values.col_mut(j).iter_mut().for_each(|x| *x = deviation * random.next());
        }
    }
}

/// `Σ_i a_ij x_i x_iᵀ` for each column of coefficients; `check` may end it before each.
pub(super) fn forms_of(
    x: &Mat<f64>,
    coefficients: &Mat<f64>,
    threads: &Threads,
    check: &dyn Fn() -> Result<()>,
) -> Result<Forms> {
    let (d, k) = (x.nrows(), coefficients.ncols());
    let mut values = Mat::zeros(Layout::Packed.len(d), k);
    for j in 0..k {
        check()?;
        let weighted = Mat::from_fn(d, x.ncols(), |r, i| x[(r, i)] * coefficients[(i, j)]);
        let mut matrix = Mat::zeros(d, d);
        threads.run(|| {
            use faer::linalg::matmul::matmul;
            matmul(matrix.as_mut(), faer::Accum::Replace, weighted.as_ref(), x.transpose(), 1.0, SPLIT);
        });
        // The product is symmetric up to rounding; the form is so exactly.
        let entries: Vec<f64> = (0..d * d)
            .map(|at| {
                let (r, s) = (at / d, at % d);
                0.5 * matrix[(r, s)] + 0.5 * matrix[(s, r)]
            })
            .collect();
        values.col_mut(j).copy_from(Forms::from_matrices(Layout::Packed, &entries, d).values.col(0));
    }
    Ok(Forms::new(Layout::Packed, d, values))
}

fn forms_given(given: &Given, k: usize, d: usize) -> Result<(Forms, Forms)> {
    check_given(given, k.saturating_mul(d).saturating_mul(d), &format!("{k} matrices of {d} x {d}"))?;
    let layout = if given.is_symmetric(d) { Layout::Packed } else { Layout::Square };
    Ok((Forms::from_matrices(layout, &given.encoder, d), Forms::from_matrices(layout, &given.decoder, d)))
}

/// Coefficients over points that are divided by `scale` are `scale²` times those over the points themselves.
fn coefficients_given(given: &Given, k: usize, m: usize, scale: f64) -> Result<(Mat<f64>, Mat<f64>)> {
    check_given(given, k.saturating_mul(m), &format!("{k} x {m} coefficients, one column per point of the span"))?;
    let transposed = |values: &[f64]| Mat::from_fn(m, k, |i, j| scale * scale * values[j * m + i]);
    Ok((transposed(&given.encoder), transposed(&given.decoder)))
}

fn check_given(given: &Given, expected: usize, what: &str) -> Result<()> {
    for values in [&given.encoder, &given.decoder] {
        if values.len() != expected {
            let found = format!("{} numbers", values.len());
            return Err(Error::invalid("start", format!("{what}, for the encoder and for the decoder"), found));
        }
        if let Some(value) = values.iter().find(|x| !x.is_finite()) {
            return Err(Error::invalid("start", "made of finite numbers", value));
        }
    }
    Ok(())
}

/// Whether an error only says that the run was stopped.
pub(super) fn is_stop(error: &Error) -> bool {
    error.kind() == ErrorKind::Interrupted
}

/// Independent normal numbers, by Box and Muller.
struct Normal(ChaCha8Rng);

impl Normal {
    fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(STREAM);
        Self(random)
    }

    fn next(&mut self) -> f64 {
        let mut uniform = || ((self.0.next_u64() >> 11) as f64 + 0.5) * 0.5_f64.powi(53);
        let radius = (-2.0 * uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * uniform()).cos()
    }
}
