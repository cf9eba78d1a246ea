//! Ascent of several parameters at once, each within a range.
//!
//! # Method
//!
//! The spectral projected gradient \[BMR00\] of the criterion's logarithm, whose steps do not depend on the criterion's scale: along the gradient, as far as the
//! change of the gradient over the last step suggests (the step of Barzilai and Borwein), what would leave a range held at its end, and halved until the criterion rises
//! enough (Armijo's rule). A coordinate goes farther than the others where the change of its own slope over both of the last two steps suggests that: a column that hardly matters has a
//! small slope and far to go, and steps that the others set would take hundreds to get it there. (One such step alone may be by chance: on a ridge, slopes change by what other
//! coordinates do.) No step is longer than [`LONGEST`] in any coordinate: a criterion can have more than one maximum, and the one uphill of the start is meant.
//!
//! # References
//!
//! - \[BMR00\] Birgin, Martínez, Raydan: Nonmonotone spectral projected gradient methods on convex sets; here every step leads up.

use crate::error::{Error, Result};

/// Steps of a climb in several parameters, at most, where nobody says how many: what the command and the Python package take.
///
/// ```
/// use mercer::tune::{CLIMB_STEPS, tune_ard};
/// use mercer::{Points, Watch, watch::Threads};
///
/// let points = Points::from_f64((0..40).map(|i| f64::from(i * i % 7)).collect::<Vec<_>>(), 20, 2)?;
/// let found = tune_ard(&points, &[0.1, 0.1], CLIMB_STEPS, &Threads::new(1)?, &Watch::new())?;
/// assert!(found.converged && found.steps < CLIMB_STEPS);
/// # Ok::<(), mercer::Error>(())
/// ```
pub const CLIMB_STEPS: usize = 500;
/// Halvings of a step before it is given up.
const HALVINGS: usize = 30;
/// The share of the rise that the slope promises which is enough.
const ENOUGH: f64 = 1e-4;
/// The longest step in a coordinate; most coordinates are logarithms.
const LONGEST: f64 = 1.0;
/// The shortest step beside the slope, and one over the longest.
const SHORTEST: f64 = 1e-6;
/// Where rounding lets no step lead up, slopes up to this count as none.
const ROUNDING: f64 = 1e-3;

/// Refuses a climb of no steps.
///
/// # Errors
///
/// As said.
pub(super) fn check_steps(max_steps: usize) -> Result<()> {
    if max_steps == 0 { Err(Error::invalid("max_steps", "at least 1", 0)) } else { Ok(()) }
}

/// A criterion somewhere, and its derivative by each coordinate.
#[derive(Clone, Debug)]
pub(super) struct Slope {
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
}

/// Where an ascent has ended.
#[derive(Clone, Debug)]
pub(super) struct Summit {
    pub(super) place: Vec<f64>,
    pub(super) there: Slope,
    /// The criterion where it began.
    pub(super) start_value: f64,
    pub(super) steps: usize,
    /// Whether nothing within the ranges leads up any more.
    pub(super) converged: bool,
}

impl Summit {
    /// For each coordinate, whether it lies at an end of its range.
    pub(super) fn held(&self, ranges: &[(f64, f64)]) -> Vec<bool> {
        let is_at = |(x, (low, high)): (&f64, &(f64, f64))| *x <= low + 1e-9 || *x >= high - 1e-9;
        self.place.iter().zip(ranges).map(is_at).collect()
    }
}

/// Climbs from `start` within `ranges` until the relative slope is below `tolerance`; `at` gives the criterion at a place.
///
/// # Errors
///
/// As `at`.
pub(super) fn climb(
    start: &[f64],
    ranges: &[(f64, f64)],
    tolerance: f64,
    max_steps: usize,
    mut at: impl FnMut(&[f64]) -> Result<Slope>,
) -> Result<Summit> {
    let mut place = start.to_vec();
    let mut now = at(&place)?;
    let start_value = now.value;
    let mut slopes = relative(&now);
    let ones = vec![1.0; place.len()];
    let (mut steps, mut lengths) = (0, Lengths { all: ones.clone(), own: None });
    let converged = loop {
        // What is left of the slope when directions out of the ranges are taken away.
        let left = norm(&towards(&place, &slopes, &ones, ranges));
        if left <= tolerance || steps == max_steps {
            break left <= tolerance;
        }
        let direction = towards(&place, &slopes, &lengths.all, ranges);
        let rise: f64 = direction.iter().zip(&now.gradient).map(|(step, slope)| step * slope).sum();
        let mut share = 1.0;
        let mut found = None;
        for _ in 0..HALVINGS {
            let next: Vec<f64> = place.iter().zip(&direction).map(|(x, step)| x + share * step).collect();
            let there = at(&next)?;
            if there.value > now.value && there.value >= now.value + ENOUGH * share * rise {
                found = Some((next, there));
                break;
            }
            share *= 0.5;
        }
        let Some((next, there)) = found else { break left <= ROUNDING };
        let changed = relative(&there);
        lengths = lengths.after(&difference(&next, &place), &difference(&changed, &slopes));
        (place, now, slopes) = (next, there, changed);
        steps += 1;
    };
    Ok(Summit { place, there: now, start_value, steps, converged })
}

/// How far a step goes, for every coordinate as a multiple of its slope.
struct Lengths {
    all: Vec<f64>,
    /// What the last step told of each coordinate alone; zero where its slope did not fall.
    own: Option<Vec<f64>>,
}

impl Lengths {
    /// The lengths that follow from a step and the change of the slopes over it.
    fn after(&self, step: &[f64], change: &[f64]) -> Self {
        let bends: Vec<f64> = step.iter().zip(change).map(|(step, change)| -step * change).collect();
        let secant = |square: f64, bend: f64| (square / bend).clamp(SHORTEST, 1.0 / SHORTEST);
        let (square, bend): (f64, f64) = (step.iter().map(|step| step * step).sum(), bends.iter().sum());
        let common = if bend > 0.0 { secant(square, bend) } else { 1.0 / SHORTEST };
        let of_one = |(step, &bend): (&f64, &f64)| if bend > 0.0 { secant(step * step, bend) } else { 0.0 };
        let own: Vec<f64> = step.iter().zip(&bends).map(of_one).collect();
        let before = self.own.as_ref().unwrap_or(&own);
        let all = own.iter().zip(before).map(|(own, before)| own.min(*before).max(common)).collect();
        Self { all, own: Some(own) }
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The derivatives of the criterion's logarithm.
fn relative(slope: &Slope) -> Vec<f64> {
    let scale = slope.value.abs().max(f64::MIN_POSITIVE);
    slope.gradient.iter().map(|x| x / scale).collect()
}

/// The way along some slopes that stays within the ranges, shortened to what one step may be. What stands at the end of its range and would leave it does not
/// count: the others would hardly move beside a slope that is large there.
fn towards(place: &[f64], slopes: &[f64], lengths: &[f64], ranges: &[(f64, f64)]) -> Vec<f64> {
    let is_held =
        |i: usize| (slopes[i] < 0.0 && place[i] <= ranges[i].0) || (slopes[i] > 0.0 && place[i] >= ranges[i].1);
    let free: Vec<f64> = (0..place.len()).map(|i| if is_held(i) { 0.0 } else { lengths[i] * slopes[i] }).collect();
    let largest = free.iter().fold(0.0_f64, |largest, step| largest.max(step.abs()));
    let factor = (LONGEST / largest).min(1.0);
    (0..place.len()).map(|i| (place[i] + factor * free[i]).clamp(ranges[i].0, ranges[i].1) - place[i]).collect()
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long ridge, askew: its top is at (1, 2).
    fn ridge(x: &[f64]) -> Slope {
        let (u, v) = (x[0] - 1.0 + (x[1] - 2.0), x[0] - 1.0 - (x[1] - 2.0));
        let value = (-(50.0 * u * u + 0.5 * v * v)).exp();
        Slope { value, gradient: vec![-value * (100.0 * u + v), -value * (100.0 * u - v)] }
    }

    fn climbed(start: &[f64], ranges: &[(f64, f64)], max_steps: usize, of: impl Fn(&[f64]) -> Slope) -> Summit {
        climb(start, ranges, 1e-8, max_steps, |x| Ok(of(x))).expect("nothing fails")
    }

    #[test]
    fn the_top_of_a_ridge_is_found_in_few_steps() {
        let found = climbed(&[0.0, 1.5], &[(-5.0, 5.0); 2], 200, ridge);
        assert!(found.converged && found.steps <= 60, "{found:?}");
        assert!((found.place[0] - 1.0).abs() < 1e-7 && (found.place[1] - 2.0).abs() < 1e-7, "{found:?}");
    }

    #[test]
    fn what_lies_beyond_a_range_is_held_at_its_end() {
        let found = climbed(&[0.0, 1.5], &[(-5.0, 0.5), (-5.0, 5.0)], 200, ridge);
        // Best with the first at its end: the slope by the second is 100 u - v = 0 there.
        let v = -0.5 / 101.0 * 99.0;
        assert!(found.converged && (found.place[0] - 0.5).abs() < 1e-15, "{found:?}");
        assert!((found.place[1] - (2.0 - v)).abs() < 1e-7, "{found:?}");
    }

    #[test]
    fn a_steep_coordinate_at_its_end_does_not_hold_the_others_back() {
        let slope = |x: &[f64]| {
            let value = (1000.0 * x[0] - 0.01 * (x[1] - 3.0) * (x[1] - 3.0)).exp();
            Slope { value, gradient: vec![1000.0 * value, -0.02 * (x[1] - 3.0) * value] }
        };
        let found = climbed(&[0.0, 0.0], &[(-1.0, 0.1), (-5.0, 5.0)], 20, slope);
        assert!(
            found.converged && (found.place[0] - 0.1).abs() < 1e-15 && (found.place[1] - 3.0).abs() < 1e-5,
            "{found:?}"
        );
    }

    #[test]
    fn a_coordinate_of_small_slope_and_far_to_go_gets_there_beside_steep_ones() {
        // Three coordinates end at 1; what the last one has to gain falls with its exponential, down to the end of its range.
        let slope = |x: &[f64]| {
            let pulls: Vec<f64> = [1.0, 2.0, 4.0].iter().zip(x).map(|(bend, x)| bend * (1.0 - x)).collect();
            let tail = 0.1 * x[3].exp();
            let loss: f64 = pulls.iter().zip(x).map(|(pull, x)| 0.5 * pull * (1.0 - x)).sum();
            let value = (-loss - tail).exp();
            Slope { value, gradient: pulls.iter().chain(&[-tail]).map(|slope| slope * value).collect() }
        };
        let ranges = [(-9.0, 9.0); 4];
        let found = climbed(&[0.0; 4], &ranges, 50, slope);
        assert!(found.converged && (0..3).all(|i| (found.place[i] - 1.0).abs() < 1e-6), "{found:?}");
        assert_eq!(found.held(&ranges), [false, false, false, true], "{found:?}");
    }

    #[test]
    fn a_climb_that_was_cut_off_says_so() {
        let found = climbed(&[0.0, 1.5], &[(-5.0, 5.0); 2], 2, ridge);
        assert!(!found.converged && found.steps == 2);
    }
}
