//! Work that is left behind when somebody wants to stop.

#![allow(clippy::unwrap_used, reason = "threads can be made, and channels are open")]

use std::sync::mpsc::channel;

use super::*;

fn solving<'a>(threads: &'a Threads, watch: &'a Watch<'a>) -> Context<'a> {
    Context::new(threads, watch, Phase::Solving)
}

#[test]
fn the_result_of_work_on_threads_of_its_own_comes_back() {
    for n_threads in [1, 3] {
        let (threads, watch) = (Threads::new(n_threads).unwrap(), Watch::new());
        let context = solving(&threads, &watch);
        assert_eq!(context.run_unless_stopped(rayon::current_num_threads).unwrap(), n_threads);
        // From inside a pool, too, be it of one thread that waits.
        assert_eq!(threads.run(|| context.run_unless_stopped(|| 7)).unwrap(), 7);
    }
}

#[test]
fn threads_rest_after_the_last_of_their_work_and_start_again() {
    let threads = Threads::new(2).unwrap();
    let is_resting = || threads.lock().running.is_none();
    assert!(!is_resting());
    let (first, second) = (threads.at_work().unwrap(), threads.clone().at_work().unwrap());
    drop(first);
    assert!(!is_resting());
    assert_eq!(threads.run(rayon::current_num_threads), 2);
    drop(second);
    assert!(is_resting());
    let again = threads.at_work().unwrap();
    assert_eq!((threads.count(), threads.on_each(|thread| thread)), (2, vec![0, 1]));
    drop(again);
    assert!(is_resting());
}

#[test]
fn work_that_cannot_be_stopped_is_left_behind_and_ends_by_itself() {
    let threads = Threads::new(1).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let watch = Watch::new().interrupt(&stop);
    let (go_on, gate) = channel::<()>();
    let (wish, dropped) = (Arc::clone(&stop), Arc::new(()));
    let owned = Arc::clone(&dropped);
    // It wishes to stop when it is well under way, and then does not end before it is let go.
    let work = move || {
        wish.store(true, Ordering::Relaxed);
        gate.recv().unwrap();
        owned
    };
    let outcome = solving(&threads, &watch).run_unless_stopped(work);
    assert!(matches!(outcome, Err(Error::Interrupted { phase: "solving" })), "{outcome:?}");
    assert_eq!(Arc::strong_count(&dropped), 2, "it is still at work");
    assert_eq!(threads.run(|| 2 + 2), 4, "the threads of the run are free");
    go_on.send(()).unwrap();
    let from = Instant::now();
    while Arc::strong_count(&dropped) > 1 {
        assert!(from.elapsed() < Duration::from_secs(60), "what it owned is never given back");
        std::thread::yield_now();
    }
}

#[test]
fn work_is_not_begun_after_a_wish_to_stop() {
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new().time_limit(Duration::ZERO));
    let outcome = solving(&threads, &watch).run_unless_stopped::<u8>(|| panic!("it was begun"));
    assert!(matches!(outcome, Err(Error::Interrupted { phase: "solving" })));
}

#[test]
fn a_panic_in_the_work_is_the_callers() {
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    let context = solving(&threads, &watch);
    let caught = catch_unwind(AssertUnwindSafe(|| context.run_unless_stopped::<u8>(|| panic!("a bug")))).unwrap_err();
    assert_eq!(caught.downcast_ref::<&str>(), Some(&"a bug"));
    assert_eq!(context.run_unless_stopped(|| 1).unwrap(), 1, "and the next work is done");
}
