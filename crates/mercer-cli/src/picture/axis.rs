//! Axes: round numbers, and where they fall.

/// A range of values and the pixels it is drawn on.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    step: f64,
}

impl Axis {
    /// An axis on which all finite `values` fit with a little room, drawn from pixel `from` to pixel `to`.
    ///
    /// Values that are all equal (or none at all) get an axis around them.
    pub(super) fn around(values: impl IntoIterator<Item = f64>, (from, to): (f64, f64), about_ticks: usize) -> Self {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = if low > high { (0.0, 0.0) } else { (low, high) };
        // A spread that rounding could have made is no spread.
        let spread = high - low;
        let room = match low.abs().max(high.abs()) {
            largest if spread > 1e-9 * largest => 0.04 * spread,
            largest if largest > 0.0 => 0.5 * largest,
            _ => 0.5,
        };
        let (low, high) = (low - room, high + room);
        Self { low, high, from, to, step: round_step((high - low) / about_ticks.max(1) as f64) }
    }

    /// An axis from zero to a round number at or above `high`.
    pub(super) fn from_zero(high: f64, (from, to): (f64, f64), about_ticks: usize) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = round_step(high / about_ticks.max(1) as f64);
        // The slack keeps 0.3 = 3 * 0.1 from becoming four steps by rounding.
        let steps = (high / step - 1e-9).ceil();
        Self { low: 0.0, high: steps * step, from, to, step }
    }

    /// The first and the last value that is on it.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Where a value is drawn.
    pub(super) fn place(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values on the axis, with their text.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.low / self.step - 1e-9).ceil() as i64;
        let last = (self.high / self.step + 1e-9).floor() as i64;
        let decimals = (-self.step.log10().floor()).clamp(0.0, 12.0) as usize;
        (first..=last)
            .map(|count| {
                let value = count as f64 * self.step;
                let is_plain = self.high.abs().max(self.low.abs()) < 1e6 && self.step >= 1e-6;
                let text = if is_plain { format!("{value:.decimals$}") } else { format!("{value:e}") };
                (value, text.replace('-', "\u{2212}"))
            })
            .collect()
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10.0_f64.powf(step.log10().floor());
    let factor = step / power;
    let round = [1.0, 2.0, 5.0].into_iter().find(|&round| factor <= round + 1e-9).unwrap_or(10.0);
    round * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_include_zero() {
        let axis = Axis::around([-0.31, 0.52], (0.0, 100.0), 5);
        assert_eq!(texts(&axis), ["\u{2212}0.2", "0.0", "0.2", "0.4"]);
        let axis = Axis::from_zero(17.0, (100.0, 0.0), 5);
        assert_eq!(texts(&axis), ["0", "5", "10", "15", "20"]);
        assert!((axis.place(20.0) - 0.0).abs() < 1e-9 && (axis.place(0.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_top_that_is_round_already_stays() {
        assert_eq!(texts(&Axis::from_zero(0.3, (0.0, 1.0), 3)), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(texts(&Axis::from_zero(100.0, (0.0, 1.0), 5)), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn equal_no_and_infinite_values_give_an_axis_all_the_same() {
        for values in [vec![3.0, 3.0], vec![], vec![f64::NAN, f64::INFINITY], vec![0.0], vec![1e300], vec![-1e-300]] {
            let axis = Axis::around(values.clone(), (0.0, 10.0), 5);
            assert!(axis.high > axis.low, "{values:?}");
            let n = axis.ticks().len();
            assert!((1..20).contains(&n), "{values:?} has {n} ticks");
        }
        assert_eq!(texts(&Axis::from_zero(0.0, (0.0, 1.0), 5)).first().map(String::as_str), Some("0.0"));
    }

    #[test]
    fn a_single_value_has_an_axis_of_its_own_size() {
        for value in [0.03, 0.5, -7.0, 2e-9] {
            let (low, high) = Axis::around([value], (0.0, 10.0), 5).ends();
            assert!(low < value && value < high && high - low < 1.1 * f64::abs(value), "{value}: {low} to {high}");
        }
    }

    #[test]
    fn large_and_tiny_values_are_written_with_exponents() {
        assert_eq!(texts(&Axis::from_zero(2e9, (0.0, 1.0), 2)), ["0e0", "1e9", "2e9"]);
    }
}
