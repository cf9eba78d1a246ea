//! Gains that are as large as possible: Algorithm 2 of \[GSV07\], with a safe test for divergence.
//!
//! # Method
//!
//! A parameter starts so large that the run surely diverges. Each time it does, the state before the run is restored and the
//! parameter takes the next lower of the values 1, 2 and 5 times powers of ten; the first run that does not diverge goes on to its
//! end. `η₀` is found first, without adaptation (`μ = 0`); rules that adapt their gains find it in a trial of the first updates,
//! then `μ` with that `η₀`, in the same trial first.
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
}

impl Descent {
    /// The value that everything starts with: 500.
    pub(super) const START: Self = Self { mantissa: 5, exponent: 2 };
    /// A gain this small changes nothing any more.
    const LOWEST_EXPONENT: i32 = -15;

    /// The largest value that is not above this number, or the lowest there is.
    fn at_most(number: f64) -> Self {
        let mut descent = Self::START;
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
            _ => Self { mantissa: 5, exponent: self.exponent - 1 },
        };
        (next.exponent >= Self::LOWEST_EXPONENT).then_some(next)
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
    pub(super) fn from_value(gain: Gain, value: f64) -> Self {
        match gain {
            Gain::Auto => Self::Trying(Descent::at_most(value)),
            Gain::Fixed(_) => Self::Given(value),
        }
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

impl From<Gain> for Tuned {
    fn from(gain: Gain) -> Self {
        match gain {
            Gain::Auto => Self::Trying(Descent::START),
            Gain::Fixed(value) => Self::Given(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_down_by_ones_twos_and_fives() {
        let mut tuned = Tuned::from(Gain::Auto);
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
        let mut tuned = Tuned::from(Gain::Auto);
        for _ in 0..12 {
            assert_eq!(Tuned::from_value(Gain::Auto, tuned.value()), tuned);
            tuned.lower();
        }
        assert_eq!(Tuned::from_value(Gain::Fixed(0.3), 0.3), Tuned::Given(0.3));
    }

    #[test]
    fn a_given_value_is_never_changed() {
        let mut tuned = Tuned::from(Gain::Fixed(3.0));
        assert!(!tuned.lower());
        assert_eq!(tuned, Tuned::Given(3.0));
    }
}
