//! How well are digits reconstructed, denoised and told apart from their codes, and how long does learning take?

use faer::Mat;
use mercer::autoencoder::{Autoencoder, AutoencoderKernelPca, Codec, LinearPca, SpanChoice};
use mercer::{Center, Points};

use crate::digit_sets::{DigitSet, Noise, digit_sets, largest_norm, with_noise};
use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;
use crate::softmax::accuracy;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    The experiments of Cohen, Hazan and Ma (2016) on MNIST: 300 pictures of every digit, whole (28 x 28) and with one pixel of four (14 x 14), and 3500 of every digit \
    with 14 x 14; held-out pictures are the 300 of every digit after them. PCA is centred, kernel PCA has the kernel (x . y)^2, not centred, of up to 4000 of the pictures (it is also where the others \
    start), AKPCA and DS-AKPCA are the autoencoders of full span and over a span of the data. Errors are mean squared distances for pictures whose largest norm is one; denoising is \
    that of held-out pictures with gaussian noise of deviation 0.04 or with 30 % of the pixels at zero; accuracy is that of a softmax classifier of the codes of held-out pictures, half of \
    them to learn from. The report shows figures without numbers, and says that learning took hours.";

/// Components: all of the report's, or the one of a first look.
const COMPONENTS: [usize; 5] = [5, 10, 15, 20, 25];

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let short = setup.size(300, 6);
    // With --points the long set has so many pictures of every digit, and only one number of components is looked at.
    let long = setup.points(3500, 8);
    let components: Vec<usize> = match (setup.options.quick, setup.options.points) {
        (true, _) => vec![3],
        (false, Some(_)) => vec![25],
        (false, None) => COMPONENTS.to_vec(),
    };
    findings.setting("points", 10 * short);
    findings.setting("points of the long set", 10 * long);
    findings.setting("data", if setup.options.quick { "made-up pictures" } else { "MNIST, training part" });
    let held_out = setup.size(300, 4);
    for &k in &components {
        let small = digit_sets(setup, short, held_out, true)?;
        of_set(setup, findings, "short 14x14", &small, k, &[Method::Full, Method::Data])?;
        let large = digit_sets(setup, long, held_out, true)?;
        of_set(setup, findings, "long 14x14", &large, k, &[Method::Full])?;
        let whole = digit_sets(setup, short, held_out, false)?;
        of_set(setup, findings, "short 28x28", &whole, k, &[Method::Data, Method::Full])?;
    }
    Ok(())
}

/// An autoencoder of either span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Full,
    Data,
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Full => "AKPCA",
            Self::Data => "DS-AKPCA",
        }
    }

    fn settings(self, k: usize, threads: usize) -> AutoencoderKernelPca {
        let span = if self == Self::Full { SpanChoice::Full } else { SpanChoice::Data };
        AutoencoderKernelPca::new(k).span(span).threads(threads)
    }
}

fn of_set(
    setup: &Setup,
    findings: &mut Findings,
    name: &str,
    [learned, held_out]: &[DigitSet; 2],
    k: usize,
    methods: &[Method],
) -> Result<()> {
    let largest = largest_norm(&learned.points);
    let pca = LinearPca::fit(&learned.points, k, Center::Yes)?;
    let kernel = Method::Full.settings(k, setup.options.threads).epochs(0).fit(&learned.points)?;
    let label = |method: &str, what: &str| format!("{name}, k = {k}, {method}: {what}");
    let linear = look(findings, &label, "PCA", &pca, learned, held_out, largest)?;
    look(findings, &label, "KPCA", &kernel, learned, held_out, largest)?;
    for &method in methods {
        let settings = method.settings(k, setup.options.threads);
        let run = Contender::timed(format!("{}/{name},k={k}", method.name()), || Ok(settings.fit(&learned.points)?));
        let finished = alternate(vec![run], 1)?;
        let model = finished[0].answer();
        findings.check(label(method.name(), "loss after learning relative to before"), gain(model), 1.0)?;
        let error = look(findings, &label, method.name(), model, learned, held_out, largest)?;
        let ours = Quantity::new(method.name(), error, "");
        let what = format!("{name}, k = {k}: training error of {} to that of PCA", method.name());
        findings.ratio(what, ours, Quantity::new("PCA", linear, ""), None);
        if let Some(limit) = limit(name, method) {
            let seconds = Quantity::new(
                label(method.name(), "seconds to within 1 % of the final loss"),
                seconds_to_end(model),
                "s",
            );
            let bar = (k == 25).then_some(Bar::AtMost(1.0));
            let what = format!("{name}, k = {k}: time of {} to {limit} s", method.name());
            findings.ratio(what, seconds, Quantity::new("allowed", limit, "s"), bar);
        }
        let times = finished[0].timing.clone();
        findings.quantity(label(method.name(), "seconds in all"), times.best(), "s");
        findings.timings(&finished);
    }
    Ok(())
}

/// Seconds that learning may take, where somebody asks.
fn limit(name: &str, method: Method) -> Option<f64> {
    match (name, method) {
        ("long 14x14", Method::Full) => Some(300.0),
        ("short 28x28", Method::Data) => Some(180.0),
        _ => None,
    }
}

/// The loss at the end relative to that at the start.
fn gain(model: &Autoencoder) -> f64 {
    let losses: Vec<f64> = model.history().iter().map(|entry| entry.loss).collect();
    losses.last().copied().unwrap_or(f64::NAN) / losses.first().copied().unwrap_or(f64::NAN)
}

/// When the loss was first within one per cent of the last.
fn seconds_to_end(model: &Autoencoder) -> f64 {
    let last = model.history().last().map_or(f64::NAN, |entry| entry.loss);
    model.history().iter().find(|entry| entry.loss <= 1.01 * last).map_or(f64::NAN, |entry| entry.seconds)
}

/// Everything that is said about a way of encoding; its training error comes back.
fn look(
    findings: &mut Findings,
    label: &dyn Fn(&str, &str) -> String,
    method: &str,
    codec: &dyn Codec,
    learned: &DigitSet,
    held_out: &DigitSet,
    largest: f64,
) -> Result<f64> {
    // The reference is always the picture that was encoded: nobody has the clean one.
    let error = |queries: &Points, clean: &Points| -> Result<f64> {
        Ok(distance(&codec.reconstruct(queries)?, clean) / (largest * largest))
    };
    let training = error(&learned.points, &learned.points)?;
    findings.quantity(label(method, "training error"), training, "");
    findings.quantity(label(method, "held-out error"), error(&held_out.points, &held_out.points)?, "");
    for (what, noise) in [("gaussian noise", Noise::Gaussian(0.04)), ("speckle", Noise::Speckle(0.3))] {
        let noisy = with_noise(&held_out.points, noise, largest)?;
        findings.quantity(label(method, &format!("error after {what}")), error(&noisy, &held_out.points)?, "");
    }
    let encoded = codec.encode(&held_out.points)?;
    let half = |odd: usize| -> (Mat<f64>, Vec<u8>) {
        let rows: Vec<usize> = (0..encoded.nrows()).filter(|i| i % 2 == odd).collect();
        let labels = rows.iter().map(|&i| held_out.labels[i]).collect();
        (Mat::from_fn(rows.len(), encoded.ncols(), |i, j| encoded[(rows[i], j)]), labels)
    };
    let (train, test) = (half(0), half(1));
    findings.quantity(label(method, "accuracy"), accuracy((&train.0, &train.1), (&test.0, &test.1)), "");
    Ok(training)
}

/// The mean squared distance between rows.
fn distance(found: &Mat<f64>, points: &Points) -> f64 {
    let square = |i: usize| points.row(i).iter().enumerate().map(|(k, x)| (found[(i, k)] - x).powi(2)).sum::<f64>();
    (0..points.n_samples()).map(square).sum::<f64>() / points.n_samples() as f64
}
