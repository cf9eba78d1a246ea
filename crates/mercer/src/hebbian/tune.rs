//! Gains that are as large as possible: Algorithm 2 of \[GSV07\], with a safe test for divergence.
//!
//! # Method
//!
//! A parameter starts so large that the run surely diverges. Each time it does, the state before the run is restored and the
//! parameter takes the next lower of the values 1, 2 and 5 times powers of ten; the first run that does not diverge goes on to its
//! end. `η₀` is found first, without adaptation (`μ = 0`); rules that adapt their gains find it in a trial of the first updates,
//! then `μ` with that `η₀`, in the same trial first.
//!
//! Where gains are not divided by eigenvalues, or multiplied by their norm as well, `η₀` is as much smaller as the squared lengths of
//! the points in feature space are larger; and so is `μ` for every rule. So where the mean of those is far from one, the first value and
//! the last are divided by its power of ten: what is tried is the same for points in any unit.
//!
//! # Numerics
//!
//! Finite coefficients are not enough: with meta-descent, log-gains can fall so far after a blow-up that useless coefficients stay
//! finite. A component whose squared length in feature space exceeds ten (it converges to one) counts as divergence as well;
//! should the start be longer than one, ten times that. As in the paper, lengths are looked at every hundred updates, and at the end of a
//! run: a component may be long for a moment and come back. Numbers that are not finite do not, and end a run at once. A gain that has
//! [died](super::dying) ends it at the end of a pass. And a run whose components at its end describe the points worse than none at all would has only
//! survived.
//!
//! # References
//!
//! - \[GSV07\] Günter, Schraudolph, Vishwanathan, *Fast iterative kernel principal component analysis*, JMLR 8. Equation and
//!   algorithm numbers are those of the journal version.

use crate::choices::Gain;

/// Squared length, relative to the start's or one, above which a component has diverged.
pub(super) const LENGTH_LIMIT: f64 = 10.0;

/// Updates after which lengths are looked at.
pub(super) const LOOK_EVERY: usize = 100;

/// Updates in which `η₀` is found before `μ` is: as many as divergence ever took in the paper, in numbers or as a share of the points.
pub(super) fn trial_updates(n_samples: usize) -> usize {
    600.max(n_samples.div_ceil(100))
}

/// A gain parameter on its way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descent {
    /// 1, 2 or 5.
    mantissa: u8,
    exponent: i32,
    /// The exponent of the last value.
    lowest: i32,
}

impl Descent {
    /// The first value is 500 times the unit.
    const FIRST_EXPONENT: i32 = 2;
    /// A gain this small changes nothing any more.
    const LOWEST_EXPONENT: i32 = -15;

    /// The value that everything starts with.
    fn start(unit: Unit) -> Self {
        Self { mantissa: 5, exponent: Self::FIRST_EXPONENT + unit.0, lowest: Self::LOWEST_EXPONENT + unit.0 }
    }

    /// The largest value that is not above this number, or the lowest there is.
    fn at_most(number: f64, unit: Unit) -> Self {
        let start = Self::start(unit);
        let mut descent = Self { exponent: start.exponent.max(number.log10().ceil() as i32), ..start };
        while descent.value() > number {
            match descent.lower() {
                Some(next) => descent = next,
                None => break,
            }
        }
        descent
    }

    /// The number itself, correctly rounded.
    pub(super) fn value(self) -> f64 {
        format!("{}e{}", self.mantissa, self.exponent).parse().expect("digits and an exponent are a number")
    }

    /// The next lower value, if it is worth trying.
    pub(super) fn lower(self) -> Option<Self> {
        let next = match self.mantissa {
            5 => Self { mantissa: 2, ..self },
            2 => Self { mantissa: 1, ..self },
            _ => Self { mantissa: 5, exponent: self.exponent - 1, ..self },
        };
        (next.exponent >= self.lowest).then_some(next)
    }
}

/// The power of ten that values are tried in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit(i32);

impl Unit {
    /// For what does not depend on how long points are.
    pub(super) const ONE: Self = Self(0);
    /// What leaves room for all values between it and zero or infinity.
    const MOST: i32 = 280;

    /// For what is divided by squared lengths, the mean of which is this.
    pub(super) fn over(mean_square: f64) -> Self {
        let decade = mean_square.abs().log10().floor();
        // Kernels up to one, with what centring leaves of them.
        if !decade.is_finite() || (-1.0..=0.0).contains(&decade) {
            return Self::ONE;
        }
        Self(-(decade as i32).clamp(-Self::MOST, Self::MOST))
    }
}

/// A parameter during tuning: given, or on its way down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tuned {
    Given(f64),
    Trying(Descent),
}

impl Tuned {
    pub(super) fn value(self) -> f64 {
        match self {
            Self::Given(value) => value,
            Self::Trying(descent) => descent.value(),
        }
    }

    /// A parameter of a run that has come as far as `value`: that, or on its way down from there.
    pub(super) fn from_value(gain: Gain, value: f64, unit: Unit) -> Self {
        match gain {
            Gain::Auto => Self::Trying(Descent::at_most(value, unit)),
            Gain::Fixed(_) => Self::Given(value),
        }
    }

    /// A parameter that nothing has been tried for.
    pub(super) fn new(gain: Gain, unit: Unit) -> Self {
        match gain {
            Gain::Auto => Self::Trying(Descent::start(unit)),
            Gain::Fixed(value) => Self::Given(value),
        }
    }

    pub(super) fn is_given(self) -> bool {
        matches!(self, Self::Given(_))
    }

    /// Whether there is a lower value to go on with; takes it if so.
    pub(super) fn lower(&mut self) -> bool {
        match self {
            Self::Given(_) => false,
            Self::Trying(descent) => match descent.lower() {
                Some(next) => {
                    *descent = next;
                    true
                }
                None => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_down_by_ones_twos_and_fives() {
        let mut tuned = Tuned::new(Gain::Auto, Unit::ONE);
        let mut values = vec![tuned.value()];
        while tuned.lower() {
            values.push(tuned.value());
        }
        assert_eq!(values[..8], [500.0, 200.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0]);
        assert!(values.is_sorted_by(|a, b| a > b));
        assert_eq!(values.last(), Some(&1e-15));
    }

    #[test]
    fn the_way_down_goes_on_from_where_a_run_has_come_to() {
        for unit in [Unit::ONE, Unit(-16), Unit(12)] {
            let mut tuned = Tuned::new(Gain::Auto, unit);
            for _ in 0..12 {
                assert_eq!(Tuned::from_value(Gain::Auto, tuned.value(), unit), tuned);
                tuned.lower();
            }
        }
        assert_eq!(Tuned::from_value(Gain::Fixed(0.3), 0.3, Unit::ONE), Tuned::Given(0.3));
        // Points have become so long that nothing would start as high.
        assert_eq!(Tuned::from_value(Gain::Auto, 2e3, Unit(-4)).value().to_bits(), 2e3_f64.to_bits());
    }

    #[test]
    fn values_are_in_the_unit_of_the_points() {
        for (mean_square, unit) in [(0.1, 0), (1.0, 0), (9.9, 0), (0.09, 2), (10.0, -1), (6e16, -16), (6e-12, 12)] {
            assert_eq!(Unit::over(mean_square), Unit(unit), "{mean_square}");
        }
        for nothing in [0.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Unit::over(nothing), Unit::ONE);
        }
        for extreme in [f64::MIN_POSITIVE, f64::MAX] {
            let mut tuned = Tuned::new(Gain::Auto, Unit::over(extreme));
            assert!(tuned.value().is_finite());
            while tuned.lower() {}
            assert!(tuned.value() > 0.0);
        }
    }

    #[test]
    fn a_given_value_is_never_changed() {
        let mut tuned = Tuned::new(Gain::Fixed(3.0), Unit::ONE);
        assert!(!tuned.lower());
        assert_eq!(tuned, Tuned::Given(3.0));
    }
}
