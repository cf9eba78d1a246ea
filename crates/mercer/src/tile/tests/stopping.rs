//! Packing that is told to stop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::Points;
use crate::error::{Error, Result};
use crate::kernel::Pairing;
use crate::simd::Isa;
use crate::tile::panels::{BETWEEN_LOOKS, for_each_panel};
use crate::tile::{BytePanels, Packing, Panels};
use crate::watch::{Threads, Watch};

fn is_stopped<R>(outcome: &Result<R>) -> bool {
    matches!(outcome, Err(Error::Interrupted { phase: "packing" }))
}

#[test]
fn panels_after_the_wish_to_stop_are_not_packed() {
    // So large that there is a look before each of them.
    let (n_values, n_panels) = (BETWEEN_LOOKS + 1, 4);
    let packed_until_stopped = || {
        let (stop, packed) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (mut values, mut terms) = (vec![0_u8; n_panels * n_values], vec![0_u8; n_panels]);
        let watch = Watch::new().interrupt(&stop);
        let outcome = for_each_panel((&mut values[..], n_values), (&mut terms[..], 1), &watch, |_, values, _| {
            values.fill(1);
            packed.fetch_add(1, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        });
        assert!(is_stopped(&outcome), "{outcome:?}");
        assert_eq!(values.iter().map(|&value| usize::from(value)).sum::<usize>(), n_values);
        packed.into_inner()
    };
    assert_eq!(packed_until_stopped(), 1);
    assert_eq!(Threads::new(1).expect("one thread").run(packed_until_stopped), 1);
}

#[test]
fn points_are_not_packed_for_a_run_that_was_stopped() {
    let numbers = Points::from_f64((0..60).map(f64::from).collect::<Vec<_>>(), 20, 3).expect("threes");
    let bytes = Points::from_u8((0..60).collect::<Vec<u8>>(), 20, 3, 1.0).expect("threes");
    let packing = |points: &Points| Packing::of(Pairing::SquaredDistance, 1.0, points);
    let stop = AtomicBool::new(true);
    let (stopped, free) = (Watch::new().interrupt(&stop), Watch::new());
    for isa in Isa::available() {
        let floats = |watch: &Watch<'_>| Panels::<f64>::pack_watched(&numbers, &packing(&numbers), isa, watch);
        assert!(is_stopped(&floats(&stopped)) && floats(&free).is_ok(), "{isa:?}");
        let looked_at = |watch: &Watch<'_>| Panels::<f64>::check(&numbers, &packing(&numbers), isa, watch);
        assert!(is_stopped(&looked_at(&stopped)) && looked_at(&free).is_ok(), "{isa:?}");
        let integers = |watch: &Watch<'_>| BytePanels::pack_watched(&bytes, &packing(&bytes), isa, watch);
        assert!(is_stopped(&integers(&stopped)) && integers(&free).is_ok(), "{isa:?}");
    }
}
