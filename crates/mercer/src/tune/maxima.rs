//! Local maxima of a curve whose slope is known: brackets on a grid, then a safeguarded secant method.
//!
//! Positions are logarithms of bandwidths. Every step asks for three positions at once, because a pass over the pairs of points
//! costs nearly the same for three as for one: the secant's guess, and one on either side at the distance that its error should
//! stay below. If the root lies between them the bracket shrinks quadratically; if not, it still shrinks.

use super::spectrum::Graded;
use crate::error::Result;

/// A place where the slope changes from rising to falling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bracket {
    pub(super) low: (f64, Graded),
    pub(super) high: (f64, Graded),
}

/// A local maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peak {
    pub(super) position: f64,
    pub(super) value: f64,
}

/// Steps of a refinement, at most: more than any bracket needs even by halving.
const MOST_STEPS: usize = 60;

/// Positions between two of a grid that are tried on either side of a place where a maximum could hide.
const CLOSER: usize = 7;

/// A slope relative to its value.
fn relative(point: &Graded) -> f64 {
    point.slope / point.value.abs().max(f64::MIN_POSITIVE)
}

/// Every bracket on a grid of positions in increasing order. Slopes that are smaller than `noise` times the value are none.
pub(super) fn brackets(positions: &[f64], curve: &[Graded], noise: f64) -> Vec<Bracket> {
    let mut found = Vec::new();
    let mut rising: Option<usize> = None;
    for (index, point) in curve.iter().enumerate() {
        let relative = relative(point);
        if relative > noise {
            rising = Some(index);
        } else if relative < -noise
            && let Some(start) = rising.take()
        {
            found.push(Bracket { low: (positions[start], curve[start]), high: (positions[index], *point) });
        }
    }
    found
}

/// Positions between those of a grid, in increasing order, at which a maximum and a dip would be seen that lie between two of them: around every place where a slope
/// that keeps its sign is flatter than before and after. Slopes that are smaller than `noise` times the value have no sign.
pub(super) fn closer(positions: &[f64], curve: &[Graded], noise: f64) -> Vec<f64> {
    let slopes: Vec<f64> = curve.iter().map(relative).collect();
    let is_flattest = |slopes: &[f64]| {
        let keeps_sign = slopes.iter().all(|&slope| slope > noise) || slopes.iter().all(|&slope| slope < -noise);
        keeps_sign && slopes[1].abs() + noise < slopes[0].abs().min(slopes[2].abs())
    };
    let between =
        |low: f64, high: f64| (1..=CLOSER).map(move |step| low + (high - low) * step as f64 / (CLOSER + 1) as f64);
    slopes
        .windows(3)
        .zip(positions.windows(3))
        .filter(|(slopes, _)| is_flattest(slopes))
        .flat_map(|(_, around)| between(around[0], around[1]).chain(between(around[1], around[2])))
        .collect()
}

impl Bracket {
    fn width(&self) -> f64 {
        self.high.0 - self.low.0
    }

    /// Whether a position lies inside.
    pub(super) fn holds(&self, position: f64) -> bool {
        (self.low.0..=self.high.0).contains(&position)
    }

    /// Where a straight line through the slopes at both ends is zero.
    pub(super) fn secant(&self) -> f64 {
        let (a, b) = (self.low.1.slope, self.high.1.slope);
        let share = a / (a - b);
        self.low.0 + self.width() * if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 }
    }

    /// The maximum inside, and whether it is known to `tolerance`; `curve` gives value and slope at some positions.
    ///
    /// # Errors
    ///
    /// As `curve`.
    pub(super) fn refine(
        mut self,
        tolerance: f64,
        mut curve: impl FnMut(&[f64]) -> Result<Vec<Graded>>,
    ) -> Result<(Peak, bool)> {
        let mut best = if self.low.1.value > self.high.1.value { self.low } else { self.high };
        for _ in 0..MOST_STEPS {
            let (width, guess) = (self.width(), self.secant());
            if width <= tolerance {
                break;
            }
            // The error of a secant is of the order of the square of the bracket; not less than a part of it at first.
            let reach = (width * width.min(0.25)).max(0.25 * tolerance);
            let mut asked: Vec<f64> = [guess - reach, guess, guess + reach]
                .into_iter()
                .filter(|&x| x > self.low.0 && x < self.high.0)
                .collect();
            if asked.is_empty() {
                asked.push(f64::midpoint(self.low.0, self.high.0));
            }
            let found = curve(&asked)?;
            for (&position, graded) in asked.iter().zip(&found) {
                if graded.value > best.1.value {
                    best = (position, *graded);
                }
            }
            // The first place where the slope is no longer positive ends the new bracket.
            let mut points = vec![self.low];
            points.extend(asked.into_iter().zip(found));
            points.push(self.high);
            let end = (1..points.len()).find(|&i| points[i].1.slope <= 0.0).unwrap_or(points.len() - 1);
            self = Self { low: points[end - 1], high: points[end] };
            if self.width() > 0.5 * width {
                // No progress to speak of: halve.
                let middle = f64::midpoint(self.low.0, self.high.0);
                let graded = curve(&[middle])?[0];
                if graded.slope > 0.0 {
                    self.low = (middle, graded);
                } else {
                    self.high = (middle, graded);
                }
            }
        }
        Ok((Peak { position: self.secant(), value: best.1.value }, self.width() <= tolerance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve with maxima at 1 and 4, the second one higher.
    fn two_hills(x: f64) -> Graded {
        let hill = |at: f64, height: f64| {
            let e = height * (-(x - at) * (x - at)).exp();
            (e, -2.0 * (x - at) * e)
        };
        let ((a, da), (b, db)) = (hill(1.0, 1.0), hill(4.0, 2.0));
        Graded { value: a + b, slope: da + db }
    }

    #[test]
    fn both_hills_are_found_and_refined_in_few_steps() {
        let grid: Vec<f64> = (0..30).map(|i| -1.0 + 0.25 * f64::from(i)).collect();
        let curve: Vec<Graded> = grid.iter().map(|&x| two_hills(x)).collect();
        let found = brackets(&grid, &curve, 1e-12);
        assert_eq!(found.len(), 2);
        for (bracket, at) in found.into_iter().zip([1.0, 4.0]) {
            let mut calls = 0;
            let (peak, is_known) = bracket
                .refine(1e-9, |xs| {
                    calls += 1;
                    Ok(xs.iter().map(|&x| two_hills(x)).collect())
                })
                .expect("the curve never fails");
            assert!(is_known && (peak.position - at).abs() < 1e-2, "{peak:?}");
            assert!(two_hills(peak.position).slope.abs() < 1e-7, "{peak:?}");
            assert!(calls <= 8, "{calls} passes");
        }
    }

    #[test]
    fn a_flat_start_and_a_slope_that_only_falls_are_no_maxima() {
        let flat = Graded { value: 1.0, slope: 1e-14 };
        let falling = Graded { value: 0.5, slope: -0.3 };
        assert!(brackets(&[0.0, 1.0, 2.0, 3.0], &[flat, flat, falling, falling], 1e-9).is_empty());
        assert!(brackets(&[0.0, 1.0], &[falling, falling], 1e-9).is_empty());
    }

    #[test]
    fn a_dip_between_two_positions_is_looked_for_where_the_slope_is_flattest() {
        let grid = [0.0, 1.0, 2.0, 3.0, 4.0];
        let closer = |slopes: [f64; 5], noise| {
            closer(&grid, &slopes.map(|slope| Graded { value: 2.0, slope: 2.0 * slope }), noise)
        };
        let found = closer([0.5, 0.4, 0.1, 0.3, -0.2], 1e-3);
        let expected: Vec<f64> = (9..24).filter(|&step| step != 16).map(|step| f64::from(step) / 8.0).collect();
        assert_eq!(found, expected, "around the third position, which is known itself");
        assert_eq!(closer([-0.5, -0.4, -0.1, -0.3, 0.2], 1e-3), expected, "where the curve falls, too");
        // A slope that only grows, one that changes its sign, and one that rounding or chance could have made.
        assert!(closer([0.1, 0.2, 0.3, 0.4, 0.5], 1e-3).is_empty());
        assert!(closer([0.5, 0.4, -0.1, 0.3, 0.4], 1e-3).is_empty());
        assert!(closer([0.5, 0.4, 0.1, 0.3, 0.4], 0.2).is_empty());
        assert!(closer([0.5, 0.4, 0.0, 0.3, 0.4], 0.0).is_empty());
        assert!(closer([-4.0, -3.0, -3.0 + 1e-12, -3.0 - 1e-13, -4.0], 1e-11).is_empty(), "rounding");
    }

    #[test]
    fn a_curve_with_a_corner_is_refined_by_halving() {
        let corner = |x: f64| Graded { value: -x.abs(), slope: if x < 0.3 { 1.0 } else { -1e-6 } };
        let bracket = Bracket { low: (-1.0, corner(-1.0)), high: (2.0, corner(2.0)) };
        let refined = |bracket: Bracket| {
            bracket.refine(1e-6, |xs| Ok(xs.iter().map(|&x| corner(x)).collect())).expect("never fails")
        };
        let (peak, is_known) = refined(bracket);
        assert!(is_known);
        // So wide that sixty steps do not come to an end.
        let wide = Bracket { low: (-1e300, corner(-1.0)), high: (1e300, corner(2.0)) };
        assert!(!refined(wide).1);
        assert!((peak.position - 0.3).abs() < 1e-5, "{peak:?}");
    }
}
