//! What the measurement of an expansion sees.

use super::{Expansion, Made, Wanted};
use crate::choices::ExpansionMethod;
use crate::data::{Points, sample_rows};
use crate::kernel::Kernel;
use crate::watch::{Context, Phase, Threads, Watch};

impl Expansion {
    /// The same without what is summed up between neighbours: an expansion that does not keep to its bound.
    pub(crate) fn without_neighbours(mut self) -> Self {
        match &mut self.made {
            Made::Fast { fast, .. } => assert!(fast.near.take().is_some(), "this kernel has a corner"),
            Made::Tiles(_) => panic!("an expansion was asked for"),
        }
        self
    }
}

#[test]
fn a_sum_over_a_grid_that_is_not_mended_nearby_is_found_out() {
    // Many points, few of which are near one another: pairs drawn at random would not be.
    let n = 20_000;
    let values: Vec<f64> = (0..2 * n).map(|i| (f64::from(i) * 0.754_877_666).fract()).collect();
    let points = Points::from_f64(values, n as usize, 2).expect("pairs");
    let (threads, watch) = (Threads::new(2).expect("two"), Watch::new());
    let context = Context::new(&threads, &watch, Phase::Multiplying);
    let wanted = Wanted { method: ExpansionMethod::Grid, tolerance: 1e-4, ..Wanted::default() };
    let kernel = Kernel::exponential(5.0).expect("positive");
    let expansion = Expansion::new(&kernel, &points, &wanted, &context).expect("there is a grid");
    let whole = expansion.measure(1, &context).expect("not stopped");
    assert!(whole <= expansion.bound(), "{whole:.1e} of {:.1e}", expansion.bound());
    let expansion = expansion.without_neighbours();
    let broken = expansion.measure(1, &context).expect("not stopped");
    assert!(broken > 10.0 * expansion.bound(), "{broken:.1e} of {:.1e}", expansion.bound());
}

#[test]
fn sources_that_are_not_where_they_should_be_are_found_out_though_no_entry_of_theirs_is_looked_at() {
    let n = 3000;
    let values: Vec<f64> = (0..2 * n).map(|i| (f64::from(i) * 0.754_877_666).fract()).collect();
    let points = Points::from_f64(values.clone(), n as usize, 2).expect("pairs");
    let (threads, watch) = (Threads::new(2).expect("two"), Watch::new());
    let context = Context::new(&threads, &watch, Phase::Multiplying);
    let wanted = Wanted { method: ExpansionMethod::Grid, tolerance: 1e-6, ..Wanted::default() };
    let kernel = Kernel::gaussian(20.0).expect("positive");
    let mut expansion = Expansion::new(&kernel, &points, &wanted, &context).expect("there is a grid");
    let whole = expansion.measure(1, &context).expect("not stopped");
    assert!(whole <= expansion.bound(), "{whole:.1e} of {:.1e}", expansion.bound());
    // Half of the points are taken to be elsewhere than they were when it was made, but for the four whose entries are measured.
    let columns = sample_rows(n as usize, 4, 1);
    let is_moved = |row: usize| row.is_multiple_of(2) && !columns.contains(&row);
    let moved = values.iter().enumerate().map(|(at, x)| if is_moved(at / 2) { 1.0 - x } else { *x });
    expansion.points = Points::from_f64(moved.collect::<Vec<_>>(), n as usize, 2).expect("pairs");
    let broken = expansion.measure(1, &context).expect("not stopped");
    assert!(broken > 10.0 * expansion.bound(), "{broken:.1e} of {:.1e}", expansion.bound());
}
