//! The search: from points to a curve and its maxima.

use super::dense::Sample;
use super::grid::{DIGITS, Distances, bandwidth, check_bandwidths, check_points, gamma, of_all, with_some_width};
use super::maxima::{Bracket, Peak, brackets, closer};
use super::pass::Evaluator;
use super::result::{Maximum, Tuning};
use super::rounding::{self, Trust};
use super::settings::{Criterion, KernelTuner, TuneMethod};
use super::spectrum::{Graded, Sums};
use super::{rivals, sampled};
use crate::data::{Points, sample_rows};
use crate::error::{Error, Result, rounded};
use crate::kernel::{Kernel, Parameter, Width};
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Stopwatch, Threads, Watch};

/// Points up to which every pair is looked at if nothing else is said.
const EXACT_UP_TO: usize = 10_000;
/// And up to which it is where samples do not tell enough: sixteen times as many pairs.
const EXACT_AT_MOST: usize = 40_000;
/// Octaves by which a grid without a maximum is made longer at the end that rises, at most.
const EXTENSIONS: [i32; 3] = [0, 4, 8];

/// Octaves beyond the data's distances in which it is seen what rounding does to wider and to narrower kernels. Those farther out are computed in double precision.
const WIDER: i32 = 16;
const NARROWER: i32 = 8;

/// What all kinds of search need.
pub(super) struct Task<'a> {
    pub(super) settings: &'a KernelTuner,
    pub(super) points: &'a Points,
    /// The kernel with some width.
    pub(super) kernel: Kernel,
    /// The data's distances, if there is a search over them.
    pub(super) distances: Option<Distances>,
    pub(super) precision: Precision,
    /// What single precision and interpolation are right for.
    pub(super) trust: Trust,
    /// Whether who asks can say which bandwidths to try.
    pub(super) takes_bandwidths: bool,
    pub(super) context: Context<'a>,
}

/// A curve over inverse widths, and its maxima.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    /// Positions: logarithms of bandwidths, in increasing order.
    pub(super) positions: Vec<f64>,
    /// Value and slope by the position.
    pub(super) points: Vec<Graded>,
    pub(super) standard_errors: Vec<f64>,
    /// Maxima with the standard error of their position.
    pub(super) peaks: Vec<(Peak, f64)>,
    pub(super) n_used: usize,
    pub(super) passes: usize,
    pub(super) pairs: u64,
    /// How narrow the interval of the best had to be, if anything decides about that.
    pub(super) tolerance: Option<f64>,
    pub(super) converged: bool,
    pub(super) warnings: Vec<String>,
}

impl Curve {
    /// The place of the highest value. On a plain that reaches an end of the curve it is the place farthest from that end: beyond lies nothing
    /// that is better.
    fn highest(&self, noise: f64) -> usize {
        let value = |place: usize| self.points[place].value;
        // What is no number is worse than any.
        let order = |&i: &usize, &j: &usize| {
            value(j).is_nan().cmp(&value(i).is_nan()).then(value(i).total_cmp(&value(j))).then(j.cmp(&i))
        };
        let count = self.points.len();
        let best = (0..count).max_by(order).expect("a curve has at least one point");
        let is_as_high = |&place: &usize| value(best) - value(place) <= noise * value(best).abs();
        if (0..best).all(|place| is_as_high(&place)) {
            return (best..count).take_while(is_as_high).last().unwrap_or(best);
        }
        if (best..count).all(|place| is_as_high(&place)) {
            return (0..=best).rev().take_while(is_as_high).last().unwrap_or(best);
        }
        best
    }
}

/// Looks for the best width. `takes_bandwidths` says whether who asks can say which bandwidths to try, and so may be advised to.
pub(super) fn tune(
    settings: &KernelTuner,
    points: &Points,
    takes_bandwidths: bool,
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<Tuning> {
    let stopwatch = Stopwatch::start();
    settings.validate()?;
    check_points(points)?;
    let kernel = with_some_width(&settings.kernel, points)?;
    let precision = settings.precision.unwrap_or_else(|| points.precision());
    let context = Context::new(threads, watch, Phase::Tuning);
    let is_heuristic = settings.criterion.is_heuristic();
    let distances = if is_heuristic { None } else { distances(settings, points, &kernel, takes_bandwidths)? };
    check_bandwidths("bandwidths", settings.bandwidths.as_deref().unwrap_or_default(), distances.as_ref())?;
    let trust = Trust::DIRECT;
    let mut task = Task { settings, points, kernel, distances, precision, trust, takes_bandwidths, context };
    let coarse = task.settle_precision().map_err(|error| of_all(error, points))?;
    let found = match settings.criterion {
        Criterion::Median | Criterion::Scale => task.heuristic(),
        Criterion::Variance if task.wants_sampling() => task.sampled_curve(),
        Criterion::Variance => task.exact(points, Sums::graded_variance).map(|curve| (curve, TuneMethod::Exact)),
        Criterion::EffectiveRank => task.effective_rank(),
        Criterion::Leading => rivals::leading(&task),
        Criterion::Reconstruction => rivals::reconstruction(&task),
    };
    let (mut curve, method) = found.map_err(|error| of_all(error, points))?;
    curve.warnings.extend(coarse);
    Ok(task.tuning(curve, method, stopwatch))
}

/// The data's distances; for kernels of another kind only the bandwidths asked for can be tried, which is said to those who can ask for them.
fn distances(
    settings: &KernelTuner,
    points: &Points,
    kernel: &Kernel,
    takes_bandwidths: bool,
) -> Result<Option<Distances>> {
    match Distances::of(points, kernel) {
        Ok(distances) => Ok(Some(distances)),
        Err(Error::UnsuitableKernel { .. }) if settings.bandwidths.is_some() => Ok(None),
        Err(Error::UnsuitableKernel { what, kernel, .. }) if takes_bandwidths => Err(Error::UnsuitableKernel {
            what,
            kernel,
            reason: "it is not a function of a distance: say with `bandwidths` which widths to try",
        }),
        Err(error) => Err(error),
    }
}

impl Task<'_> {
    /// A typical scalar of a pair.
    pub(super) fn unit(&self) -> f64 {
        self.distances.map_or(1.0, |distances| distances.unit(&self.kernel))
    }

    fn wants_sampling(&self) -> bool {
        match self.settings.method {
            TuneMethod::Sampled => true,
            TuneMethod::Exact => false,
            TuneMethod::Auto => self.points.n_samples() > EXACT_UP_TO && self.has_unit_diagonal(),
        }
    }

    /// Whether all pairs may be looked at where samples do not tell enough.
    pub(super) fn may_be_exact(&self) -> bool {
        self.settings.method == TuneMethod::Auto && self.points.n_samples() <= EXACT_AT_MOST
    }

    /// The curve from samples; from all pairs where those do not tell enough, nobody asked for samples, and there are not too many pairs.
    fn sampled_curve(&self) -> Result<(Curve, TuneMethod)> {
        match sampled::curve(self) {
            Ok(curve) if self.may_be_exact() && !curve.converged => {}
            Err(Error::NoMaximum { .. }) if self.may_be_exact() => {}
            outcome => return outcome.map(|curve| (curve, TuneMethod::Sampled)),
        }
        Ok((self.exact(self.points, Sums::graded_variance)?, TuneMethod::Exact))
    }

    /// The curve of [`Criterion::EffectiveRank`], for which there is no estimate: of very many points, it is that of some of them.
    fn effective_rank(&self) -> Result<(Curve, TuneMethod)> {
        let (points, method) = self.not_too_many();
        let mut curve = self.exact(&points, Sums::graded_concentration)?;
        if method == TuneMethod::Sampled {
            curve.warnings.push(of_some(points.n_samples(), self.points.n_samples()));
        }
        Ok((curve, method))
    }

    /// Points of which every pair can be looked at: all, if that was asked for or they are not too many.
    fn not_too_many(&self) -> (Points, TuneMethod) {
        let n = self.points.n_samples();
        if self.settings.method == TuneMethod::Exact || n <= EXACT_UP_TO {
            return (self.points.clone(), TuneMethod::Exact);
        }
        (self.points.select(&sample_rows(n, EXACT_UP_TO, self.settings.seed)), TuneMethod::Sampled)
    }

    /// Turns to double precision for few points, and where single precision would be too coarse for the curve, unless it was asked for: then that is said. Sees which widths
    /// must be computed directly, and which in double precision.
    fn settle_precision(&mut self) -> Result<Option<String>> {
        let has_sums = matches!(self.settings.criterion, Criterion::Variance | Criterion::EffectiveRank);
        if self.precision != Precision::F32 || !has_sums {
            return Ok(None);
        }
        let is_free = self.settings.precision.is_none();
        if is_free && self.points.n_samples() <= rounding::FEW {
            self.precision = Precision::F64;
            return Ok(None);
        }
        let gammas = self.gammas(0, 0);
        let (trust, change) = if let Some(distances) = self.distances {
            let (low, high) = distances.ends(WIDER, NARROWER);
            let most = gammas.iter().copied().fold(0.0, f64::max).clamp(low, high);
            let least = gammas.iter().copied().fold(f64::INFINITY, f64::min).clamp(low, high);
            Trust::of(self.points, &self.kernel, self.unit(), (least, most), &self.context)?
        } else {
            (Trust::DIRECT, self.change_by_single(&gammas)?)
        };
        if is_free {
            let n_hard = gammas.iter().filter(|&&gamma| !trust.takes_single(gamma)).count();
            // A pass over half of them in double precision is hardly less than one over all.
            if change > rounding::MOST || 2 * n_hard > gammas.len() {
                self.precision = Precision::F64;
            }
            self.trust = trust;
            return Ok(None);
        }
        self.trust = Trust { single: Trust::DIRECT.single, ..trust };
        let too_coarse =
            format!("single precision changes the curve by {change:.1e} of its maximum; double precision does not");
        Ok((change > rounding::MOST).then_some(too_coarse))
    }

    /// The largest change that single precision makes to the criterion at some inverse widths, relative to its highest value; infinite if it overflows.
    fn change_by_single(&self, gammas: &[f64]) -> Result<f64> {
        let kernels = gammas.iter().map(|&gamma| self.kernel.with(Parameter::Gamma, gamma));
        if rounding::leaves_single(self.points, &kernels.collect::<Result<Vec<_>>>()?)? {
            return Ok(f64::INFINITY);
        }
        let sums = |evaluator: &Evaluator| evaluator.at_gammas(&self.kernel, gammas, &self.context);
        rounding::of_single_precision(self.points, &self.kernel, self.unit(), &self.context, sums)
    }

    /// Whether every point's kernel with itself is one, whatever the width.
    pub(super) fn has_unit_diagonal(&self) -> bool {
        self.kernel.pairing().is_some_and(crate::kernel::Pairing::is_translation_invariant)
    }

    /// Slopes below this share of the value are rounding.
    pub(super) fn noise(&self) -> f64 {
        match self.precision {
            Precision::F32 => 1e-5,
            Precision::F64 => 1e-11,
        }
    }

    /// Inverse widths by decreasing size, so that bandwidths increase: those asked for, or a grid of the data's distances with
    /// some octaves more.
    pub(super) fn gammas(&self, wider: i32, narrower: i32) -> Vec<f64> {
        match (&self.settings.bandwidths, &self.distances) {
            (Some(own), _) => in_order(own).into_iter().map(gamma).collect(),
            (None, Some(distances)) => {
                let mut gammas = distances.gammas(wider, narrower);
                gammas.reverse();
                gammas
            }
            (None, None) => Vec::new(),
        }
    }

    /// The curve of a criterion over all pairs of some points.
    fn exact(&self, points: &Points, criterion: impl Fn(&Sums) -> Graded) -> Result<Curve> {
        let evaluator = Evaluator::new(points, &self.kernel, self.unit(), self.precision, &self.context)?;
        let evaluator = evaluator.trusting(self.trust);
        let (mut passes, n) = (0, points.n_samples());
        let mut at = |gammas: &[f64]| {
            passes += evaluator.passes(&self.kernel, gammas);
            let mut context = self.context;
            context.progress.pass = passes;
            let sums = evaluator.finite_at_gammas(&self.kernel, gammas, &context)?;
            Ok(sums.iter().zip(gammas).map(|(sums, &gamma)| by_position(criterion(sums), gamma)).collect::<Vec<_>>())
        };
        let (positions, points, found) = self.scan(&mut at)?;
        let tolerance = self.settings.tolerance.unwrap_or(match self.precision {
            Precision::F32 => 1e-5,
            Precision::F64 => 1e-8,
        });
        let (mut peaks, mut converged) = (Vec::new(), true);
        for bracket in found {
            let (peak, is_known) =
                bracket.refine(tolerance, |xs| at(&xs.iter().map(|&x| gamma(x.exp())).collect::<Vec<_>>()))?;
            converged &= is_known;
            peaks.push((peak, 0.0));
        }
        let pairs = passes as u64 * (n as u64 * (n as u64 - 1) / 2);
        let standard_errors = vec![0.0; points.len()];
        Ok(Curve {
            positions,
            points,
            standard_errors,
            peaks,
            n_used: n,
            passes,
            pairs,
            tolerance: Some(tolerance),
            converged,
            warnings: if converged { Vec::new() } else { vec![too_narrow(tolerance)] },
        })
    }

    /// The brackets whose ends do rise and fall, computed directly: whether a scan may interpolate was seen on a sample, and a maximum that is none would be refined
    /// to a place without meaning.
    fn confirmed(
        &self,
        found: Vec<Bracket>,
        at: &mut impl FnMut(&[f64]) -> Result<Vec<Graded>>,
    ) -> Result<Vec<Bracket>> {
        if self.precision == Precision::F64 {
            return Ok(found);
        }
        let mut confirmed = Vec::new();
        for bracket in found {
            let ends = [bracket.low.0, bracket.high.0];
            let curve = at(&ends.map(|position| gamma(position.exp())))?;
            confirmed.extend(brackets(&ends, &curve, self.noise()));
        }
        Ok(confirmed)
    }

    /// The same curve with more positions where a maximum could lie between two of the data's own grid: of many scales it has few for each.
    fn looked_closer(
        &self,
        positions: Vec<f64>,
        curve: Vec<Graded>,
        at: &mut impl FnMut(&[f64]) -> Result<Vec<Graded>>,
    ) -> Result<(Vec<f64>, Vec<Graded>)> {
        let more = closer(&positions, &curve, self.noise());
        if more.is_empty() || self.settings.bandwidths.is_some() {
            return Ok((positions, curve));
        }
        let found = at(&more.iter().map(|&x| gamma(x.exp())).collect::<Vec<_>>())?;
        let mut all: Vec<(f64, Graded)> = positions.into_iter().zip(curve).chain(more.into_iter().zip(found)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(all.into_iter().unzip())
    }

    /// Positions, the curve there, and its brackets. The data's own grid is made longer if it does not hold a maximum.
    ///
    /// # Errors
    ///
    /// [`Error::NoMaximum`] if that does not help.
    pub(super) fn scan(
        &self,
        at: &mut impl FnMut(&[f64]) -> Result<Vec<Graded>>,
    ) -> Result<(Vec<f64>, Vec<Graded>, Vec<Bracket>)> {
        let (mut wider, mut narrower) = (0, 0);
        let mut failure = None;
        for extension in EXTENSIONS {
            let gammas = self.gammas(extension.min(wider), extension.min(narrower));
            let positions: Vec<f64> = gammas.iter().map(|&gamma| bandwidth(gamma).ln()).collect();
            let curve = at(&gammas)?;
            let (positions, curve) = self.looked_closer(positions, curve, at)?;
            let found = self.confirmed(brackets(&positions, &curve, self.noise()), at)?;
            if !found.is_empty() || self.settings.bandwidths.is_some() {
                return Ok((positions, curve, found));
            }
            let rises = curve.last().is_some_and(|last| last.slope > 0.0);
            (wider, narrower) = if rises { (i32::MAX, 0) } else { (0, i32::MAX) };
            let ends = (positions.first().map_or(0.0, |x| x.exp()), positions.last().map_or(0.0, |x| x.exp()));
            let advice = if self.takes_bandwidths { "give bandwidths to try" } else { "give the kernel a width" };
            let criterion = self.settings.criterion.name();
            failure = Some(Error::NoMaximum { criterion, low: ends.0, high: ends.1, rises, n_sampled: None, advice });
        }
        Err(failure.expect("the loop has run"))
    }

    /// A width without a search: a curve of one point, whose value is that of the variance there, for comparison. Of many points that is estimated.
    fn heuristic(&mut self) -> Result<(Curve, TuneMethod)> {
        let width = if self.settings.criterion == Criterion::Median { Width::Median } else { Width::Scale };
        let kernel = self.settings.kernel.clone().width(width).resolve_directly(self.points)?;
        let best = kernel.parameter(Parameter::Gamma).expect("a kernel without a width was refused");
        // One value is not worth looking whether single precision would do.
        self.precision = self.settings.precision.unwrap_or(Precision::F64);
        let n = self.points.n_samples();
        let is_exact = self.settings.method == TuneMethod::Exact;
        if n > sampled::LEAST_FOR_A_VALUE && self.has_unit_diagonal() && !is_exact {
            return Ok((sampled::value(self, best)?, TuneMethod::Sampled));
        }
        // There is no estimate for kernels of another diagonal: of very many points, the value is that of some of them.
        let (points, method) = self.not_too_many();
        let n_used = points.n_samples();
        let evaluator = Evaluator::new(&points, &self.kernel, 1.0 / best, self.precision, &self.context)?;
        let sums = evaluator.finite_at_gammas(&self.kernel, &[best], &self.context)?;
        let curve = Curve {
            positions: vec![bandwidth(best).ln()],
            points: vec![by_position(sums[0].graded_variance(), best)],
            standard_errors: vec![0.0],
            n_used,
            passes: 1,
            pairs: n_used as u64 * (n_used as u64 - 1) / 2,
            converged: true,
            ..Curve::default()
        };
        Ok((curve, method))
    }

    /// At most `size` of the points, for dense matrices.
    pub(super) fn sample(&self, size: usize) -> Result<Sample> {
        let n = self.points.n_samples();
        if self.settings.method == TuneMethod::Exact && n > size {
            let requirement = format!("auto for the criterion {} and more than {size} points", self.settings.criterion);
            return Err(Error::invalid("method", requirement, self.settings.method));
        }
        Sample::draw(self.points, &self.kernel, size, self.settings.seed)
    }

    fn tuning(&self, curve: Curve, method: TuneMethod, stopwatch: Stopwatch) -> Tuning {
        // As they were given: a logarithm there and back changes the last digit. `places` says where each stands on the curve.
        let (bandwidths, places): (Vec<f64>, Vec<usize>) = match &self.settings.bandwidths {
            Some(own) => {
                let sorted = in_order(own);
                (own.clone(), own.iter().map(|sigma| sorted.partition_point(|other| other < sigma)).collect())
            }
            None => curve.positions.iter().map(|x| x.exp()).zip(0..).unzip(),
        };
        let maxima = maxima(&curve.peaks);
        let highest = maxima.iter().copied().max_by(|a, b| a.value.total_cmp(&b.value));
        let place = curve.highest(self.noise());
        let value = curve.points[place].value;
        // A value that chance or rounding has put above a maximum is no better.
        let slack = 2.0 * curve.standard_errors[place] + self.noise() * value.abs();
        let best = highest.filter(|peak| value.is_nan() || value <= peak.value + slack).unwrap_or_else(|| {
            let index = places.iter().position(|&own| own == place).expect("every place has its bandwidth");
            let (sigma, standard_error) = (bandwidths[index], 0.0);
            Maximum { bandwidth: sigma, gamma: gamma(sigma), value, standard_error }
        });
        let mut warnings = curve.warnings;
        warnings.extend(at_the_edge(best.bandwidth, &bandwidths, self.takes_bandwidths));
        Tuning {
            kernel: self.kernel.name().to_owned(),
            criterion: self.settings.criterion,
            method,
            n_samples: self.points.n_samples(),
            n_used: curve.n_used,
            values: places.iter().map(|&place| curve.points[place].value).collect(),
            // dE/dσ from dE/d(ln σ).
            gradients: places
                .iter()
                .zip(&bandwidths)
                .map(|(&place, sigma)| curve.points[place].slope / sigma)
                .collect(),
            standard_errors: places.iter().map(|&place| curve.standard_errors[place]).collect(),
            bandwidths,
            maxima,
            best_bandwidth: best.bandwidth,
            best_gamma: best.gamma,
            best_value: best.value,
            standard_error: best.standard_error,
            tolerance: curve.tolerance,
            converged: curve.converged,
            passes: curve.passes,
            pairs: curve.pairs,
            seconds: stopwatch.seconds(),
            warnings,
        }
    }
}

/// Peaks as they are reported, by increasing bandwidth.
fn maxima(peaks: &[(Peak, f64)]) -> Vec<Maximum> {
    let of = |(peak, standard_error): &(Peak, f64)| {
        let sigma = peak.position.exp();
        Maximum { bandwidth: sigma, gamma: gamma(sigma), value: peak.value, standard_error: sigma * standard_error }
    };
    let mut maxima: Vec<Maximum> = peaks.iter().map(of).collect();
    maxima.sort_by(|a, b| a.bandwidth.total_cmp(&b.bandwidth));
    maxima
}

/// What is to be said if the best of the bandwidths that were tried has none better beside it because it is the last; with what to do about it, if that can be done.
fn at_the_edge(best: f64, bandwidths: &[f64], takes_bandwidths: bool) -> Option<String> {
    const SAME: f64 = 1e-9;
    let narrowest = bandwidths.iter().copied().fold(f64::INFINITY, f64::min);
    let widest = bandwidths.iter().copied().fold(0.0, f64::max);
    let is = |sigma: f64| (best - sigma).abs() <= SAME * sigma;
    let which = match (is(narrowest), is(widest)) {
        (true, false) => "narrowest",
        (false, true) => "widest",
        // Somewhere between, or the only one there is.
        _ => return None,
    };
    let advice = if takes_bandwidths { "; say with `bandwidths` where to look" } else { "" };
    Some(format!(
        "the best bandwidth {} is the {which} that was tried: the criterion may be better beyond it{advice}",
        rounded(best, DIGITS)
    ))
}

/// What is to be said of a criterion that comes from some of the points, without an estimate of its error.
pub(super) fn of_some(n_used: usize, n: usize) -> String {
    format!("the criterion was taken from {n_used} of the {n} points, and its error is not known")
}

/// What is to be said where rounding has ended a search before its bracket was narrow enough.
pub(super) fn too_narrow(tolerance: f64) -> String {
    format!(
        "the interval of the bandwidth could not be made as narrow as {tolerance:e}: rounding ends the search before"
    )
}

/// Bandwidths in increasing order, each once.
fn in_order(bandwidths: &[f64]) -> Vec<f64> {
    let mut sorted = bandwidths.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted
}

/// A derivative by the logarithm of the bandwidth from one by the inverse width: `γ = exp(-2x) / 2`.
pub(super) fn by_position(graded: Graded, gamma: f64) -> Graded {
    Graded { value: graded.value, slope: -2.0 * gamma * graded.slope }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_advised_only_to_those_who_can_say_them() {
        let told = |takes_bandwidths| at_the_edge(2.0, &[0.5, 1.0, 2.0], takes_bandwidths).expect("the widest");
        assert!(told(true).ends_with("; say with `bandwidths` where to look"));
        assert!(told(false).ends_with("may be better beyond it"), "{}", told(false));
        assert_eq!(at_the_edge(1.0, &[0.5, 1.0, 2.0], true), None);
    }

    #[test]
    fn a_bandwidth_in_a_warning_has_no_more_digits_than_one_in_a_table() {
        let best = 20.319_585_143_287_04;
        let told = at_the_edge(best, &[1.0, best], true).expect("the widest");
        assert!(told.starts_with("the best bandwidth 20.32 is the widest"), "{told}");
    }
}
