//! How close to the floor of its matrix products is a fit of all of MNIST, and what do stored tiles and bytes save?

use std::cell::RefCell;

use mercer::{GramChoice, SolverChoice};

use crate::answers;
use crate::child::{FitAnswer, FitOnce, ProductAnswer, ProductOnce};
use crate::failure::Result;
use crate::harness::{Contender, Finished, alternate};
use crate::memory;
use crate::points_file::{Digits, Part, PointsFile};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

use super::GAMMA;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    All 60000 digits of MNIST, Gaussian kernel of bandwidth 8 on pixels from 0 to 1, 50 components to residual 1e-4, \
    within 2 GiB (tiles are recomputed in every pass) and within 12 GiB (tiles are kept, with 16 bits for an entry, \
    which this tolerance permits), from single-precision numbers and from bytes. (Pixels divided by 255 would be taken \
    for the bytes that they were, so one of the single-precision numbers is no such pixel.) The floor is the number of \
    passes times one pass of the bare matrix products: the linear kernel on the same points and as many vectors.";

/// What every residual has to reach.
const TOLERANCE: f64 = 1e-4;
/// Eigenvalues of the four fits may differ by this share of the first one.
const EIGENVALUE_LIMIT: f64 = 1e-5;
/// Sums of 784 single-precision products, and of 60000 of those in double precision.
const PRODUCT_LIMIT: f64 = 1e-5;
const FLOOR_BAR: f64 = 1.3;
const PASSES_BAR: f64 = 4.0;
const STORED_BAR: f64 = 0.4;
const BYTES_TILED_BAR: f64 = 0.5;
const BYTES_STORED_BAR: f64 = 0.75;
/// Bytes touched beforehand: more than a fit takes that keeps tiles as they are, and twice what one takes in 16 bits.
const TOUCHED: usize = 8_000_000_000;
/// And this share of them again.
const TOUCHED_AGAIN: usize = 8;
/// One thread touches warm memory in small pages faster than this many bytes per second, and cold memory more slowly.
const WARM: f64 = 1.5e9;

/// A fit, or the product that is its floor.
enum Answered {
    Fit(Box<FitAnswer>),
    Product(ProductAnswer),
}

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let (n, k) = (setup.size(60_000, 900), setup.size(50, 10));
    let digits = Digits::prepare(setup, Part::Train, n)?;
    findings.setting("points", n);
    findings.setting("components", k);
    findings.setting("gamma", GAMMA);
    findings.setting("tolerance", TOLERANCE);
    findings.setting("data", if setup.options.quick { "made-up pictures" } else { "MNIST, training part" });
    let (bytes, touches) = (setup.size(TOUCHED, 64 << 20), RefCell::new(Touches::default()));
    let warm = |fit: FitOnce| {
        let (cold, touches) = (setup.options.cold, &touches);
        move || {
            if !cold {
                touches.borrow_mut().warm_up(bytes);
            }
            fit.spawn()
        }
    };

    let fit = |points: &PointsFile, gram, memory: &str| FitOnce {
        points: points.clone(),
        gamma: GAMMA,
        components: k,
        tolerance: TOLERANCE,
        gram,
        solver: SolverChoice::Krylov,
        memory: memory.to_owned(),
        threads: setup.options.threads,
        scores: None,
    };
    let tiled = fit(&digits.numbers, GramChoice::Tiled, "2GiB");
    let columns = tiled.settings()?.plan(&digits.numbers.load()?)?.block;
    let tiled_bytes = fit(&digits.u8, GramChoice::Tiled, "2GiB");
    findings.setting("columns of the floor", columns);
    let floor = ProductOnce { points: digits.numbers.clone(), columns, threads: setup.options.threads };
    let contenders = vec![
        Contender::new(format!("bare_product_f32/n={n}"), move || {
            let answer = floor.spawn()?;
            Ok((answer.seconds, Answered::Product(answer)))
        }),
        contender(format!("tiled_f32/n={n}"), move || tiled.spawn()),
        contender(format!("stored_f32/n={n}"), warm(fit(&digits.numbers, GramChoice::Stored, "12GiB"))),
        contender(format!("tiled_u8/n={n}"), move || tiled_bytes.spawn()),
        contender(format!("stored_u8/n={n}"), warm(fit(&digits.u8, GramChoice::Stored, "12GiB"))),
    ];
    let finished = alternate(contenders, setup.rounds(3))?;
    findings.timings(&finished);
    touches.borrow().tell(bytes, findings);
    check(findings, &finished)?;
    compare(findings, &finished);
    Ok(())
}

fn contender<'a>(name: String, mut run: impl FnMut() -> Result<FitAnswer> + 'a) -> Contender<'a, Answered> {
    Contender::new(name, move || {
        let answer = run()?;
        Ok((answer.seconds, Answered::Fit(Box::new(answer))))
    })
}

/// The first touch of memory before fits that keep tiles, in bytes per second.
#[derive(Default)]
struct Touches {
    /// Of more than a fit takes.
    first: Vec<f64>,
    /// Of some of it again: what the fit will find.
    again: Vec<f64>,
}

impl Touches {
    fn warm_up(&mut self, bytes: usize) {
        self.first.push(memory::touch(bytes));
        self.again.push(memory::touch(bytes / TOUCHED_AGAIN));
    }

    /// Says how warm memory was.
    fn tell(&self, bytes: usize, findings: &mut Findings) {
        let least = |rates: &[f64]| rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        if self.again.is_empty() {
            findings.note("Memory was not touched beforehand: first touch of cold memory is within the times.");
            return;
        }
        findings.quantity("slowest touch of memory before a fit", least(&self.first), "B/s");
        findings.quantity("slowest touch of some of it again", least(&self.again), "B/s");
        let verdict = if least(&self.again) >= WARM {
            "Memory was warm"
        } else {
            "Memory was touched beforehand but slow all the same"
        };
        findings.note(format!(
            "{verdict}: immediately before every fit that keeps tiles {:.1} GB were written to and given back, at {:.1} to {:.1} GB/s, and some of it \
             again, at {:.1} to {:.1} GB/s.",
            bytes as f64 / 1e9,
            least(&self.first) / 1e9,
            most(&self.first) / 1e9,
            least(&self.again) / 1e9,
            most(&self.again) / 1e9
        ));
    }
}

/// The fits among the contenders.
fn fits(finished: &[Finished<Answered>]) -> impl Iterator<Item = (&str, &FitAnswer)> {
    finished.iter().filter_map(|contender| match contender.answer() {
        Answered::Fit(answer) => Some((contender.timing.name.as_str(), answer.as_ref())),
        Answered::Product(_) => None,
    })
}

fn check(findings: &mut Findings, finished: &[Finished<Answered>]) -> Result<()> {
    for contender in finished {
        if let Answered::Product(answer) = contender.answer() {
            findings.check(format!("{}: against X (Xᵀ 1)", contender.timing.name), answer.difference, PRODUCT_LIMIT)?;
        }
    }
    let mut expected: Option<&[f64]> = None;
    for (name, answer) in fits(finished) {
        findings.check(format!("{name}: largest residual"), answer.largest_residual, TOLERANCE)?;
        let expected = *expected.get_or_insert(&answer.eigenvalues);
        let difference = answers::eigenvalue_difference_of_first(&answer.eigenvalues, expected);
        findings.check(
            format!("{name}: eigenvalues against tiled_f32, relative to the first"),
            difference,
            EIGENVALUE_LIMIT,
        )?;
        findings.quantity(format!("peak growth of {name}"), answer.peak_growth_bytes as f64, "B");
        findings.quantity(format!("passes of {name}"), answer.passes(), "");
        if let Some(record) = &answer.record {
            findings.quantity(format!("block of {name}"), record.plan.block as f64, "");
            findings.quantity(format!("share of tiles kept by {name}"), record.plan.stored_share, "");
            findings.quantity(format!("tiles kept by {name}"), record.plan.store_bytes as f64, "B");
            for (phase, seconds) in &record.seconds {
                findings.quantity(format!("{phase} of {name}, last round"), *seconds, "s");
            }
        }
    }
    Ok(())
}

fn compare(findings: &mut Findings, finished: &[Finished<Answered>]) {
    let [product, tiled, stored, tiled_bytes, stored_bytes] = finished else { unreachable!("five contenders") };
    let passes = fits(finished).next().map_or(f64::NAN, |(_, answer)| answer.passes());
    let floor = Quantity::new(format!("{passes} x {}", product.timing.name), passes * product.best(), "s");
    findings.ratio("tiled fit to the floor", tiled, floor, Some(Bar::AtMost(FLOOR_BAR)));
    let (passes, one) = (Quantity::new("passes of tiled_f32", passes, ""), Quantity::new("one pass", 1.0, ""));
    findings.ratio("passes of the tiled fit", passes, one, Some(Bar::AtMost(PASSES_BAR)));
    findings.ratio("stored to tiled, f32", stored, tiled, Some(Bar::AtMost(STORED_BAR)));
    findings.ratio("bytes to f32, tiled", tiled_bytes, tiled, Some(Bar::AtMost(BYTES_TILED_BAR)));
    findings.ratio("bytes to f32, stored", stored_bytes, stored, Some(Bar::AtMost(BYTES_STORED_BAR)));
}
