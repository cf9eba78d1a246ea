//! The order in which the tiles of a symmetric matrix are visited.
//!
//! A tile off the diagonal adds to two blocks of the result. Sums in floating point depend on their order, so each
//! block must receive its contributions in an order that does not depend on how many threads there are. The tiles are
//! arranged in rounds, as a tournament is: in a round every block meets one other (the circle method). Threads take tiles in this
//! order and wait until both blocks have finished the round before; no two tiles of a round touch the same block.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::Result;
use crate::watch::Context;

/// A tile: a block of rows and a block of columns, and the round in which they meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meeting {
    pub(super) round: usize,
    pub(super) rows: usize,
    /// `None` if the block of rows has no partner in this round.
    pub(super) columns: Option<usize>,
}

impl Meeting {
    /// The blocks that meet, each once: a tile on the diagonal has one, and so has a block without a partner.
    fn blocks(self) -> impl Iterator<Item = usize> {
        std::iter::once(self.rows).chain(self.columns.filter(move |&columns| columns != self.rows))
    }
}

/// Multiply-adds from which on the threads share them: a quarter of a millisecond for one thread, several times what it takes until
/// all of them are awake.
const SHARED_FROM: f64 = 8e6;

/// All tiles on and below the diagonal of a matrix of `n_blocks` by `n_blocks` blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    n_blocks: usize,
}

impl Schedule {
    pub(super) fn new(n_blocks: usize) -> Self {
        Self { n_blocks }
    }

    /// Blocks, made even by one that does not exist: its partner has a round off.
    fn n_players(self) -> usize {
        self.n_blocks.next_multiple_of(2)
    }

    /// Number of meetings, including those without a partner.
    pub(super) fn len(self) -> usize {
        let players = self.n_players();
        self.n_blocks + (players / 2) * players.saturating_sub(1)
    }

    /// The meeting at a place of the order.
    pub(super) fn meeting(self, place: usize) -> Meeting {
        if place < self.n_blocks {
            return Meeting { round: 0, rows: place, columns: Some(place) };
        }
        let players = self.n_players();
        let (turn, table) = ((place - self.n_blocks) / (players / 2), (place - self.n_blocks) % (players / 2));
        // One player stays; the others move round the circle.
        let circle = players - 1;
        let (a, b) = match table {
            0 => (turn, circle),
            _ => ((turn + table) % circle, (turn + circle - table) % circle),
        };
        let (low, high) = (a.min(b), a.max(b));
        // Rows are the later block: tiles lie below the diagonal.
        let round = turn + 1;
        if high < self.n_blocks {
            Meeting { round, rows: high, columns: Some(low) }
        } else {
            Meeting { round, rows: low, columns: None }
        }
    }

    /// Visits every tile once: `visit(worker, place, rows, columns)`. On all threads, unless `multiply_adds`, what all visits take
    /// together, is less than it takes to wake them up.
    ///
    /// While a tile is visited no other tile of the same block of rows or columns is, and each block sees its tiles in
    /// the order of the schedule. The first error stops all threads. That the first tile is about to begin is reported, and then now and then
    /// the share that is done.
    pub(super) fn visit<W: Send>(
        self,
        context: &Context<'_>,
        multiply_adds: f64,
        new_worker: impl Fn() -> W + Sync,
        visit: impl Fn(&mut W, usize, usize, usize) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let finished: Vec<AtomicUsize> = (0..self.n_blocks).map(|_| AtomicUsize::new(0)).collect();
        let total = self.len();
        // Often enough for a smooth bar, seldom enough to cost nothing.
        let report_every = (total / 200).max(1);

        context.report_fraction(0.0);
        let work = |_| -> Result<()> {
            let _guard = StopOnPanic(&stopped);
            let mut worker = new_worker();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                if place >= total || stopped.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let meeting = self.meeting(place);
                let Meeting { round, rows, columns } = meeting;
                for block in meeting.blocks() {
                    // Tiles are taken in order, so what is waited for is already being worked on.
                    while finished[block].load(Ordering::Acquire) < round {
                        if stopped.load(Ordering::Relaxed) {
                            return Ok(());
                        }
                        std::thread::yield_now();
                    }
                }
                if let Some(columns) = columns {
                    let outcome = context.check().and_then(|()| visit(&mut worker, place, rows, columns));
                    if outcome.is_err() {
                        stopped.store(true, Ordering::Relaxed);
                        return outcome;
                    }
                }
                // Once for each: after a first store, others may have brought the block further.
                for block in meeting.blocks() {
                    finished[block].store(round + 1, Ordering::Release);
                }
                let done = place + 1;
                if done.is_multiple_of(report_every) {
                    context.report_fraction(done as f64 / total as f64);
                }
            }
        };
        if multiply_adds < SHARED_FROM {
            return work(0);
        }
        context.threads.on_each(work).into_iter().collect()
    }
}

/// A user's kernel may panic; the other threads must not wait for its tile forever.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::thread::ThreadId;

    use super::*;
    use crate::watch::{Phase, Progress, Threads, Watch};

    #[test]
    fn what_is_soon_done_is_done_where_it_is_and_the_rest_by_all_threads() {
        let (threads, watch) = (Threads::new(3).expect("three threads"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Solving);
        let workers = |multiply_adds: f64| -> (HashSet<ThreadId>, usize) {
            let seen = Mutex::new((HashSet::new(), 0));
            let visit = |(): &mut (), _, _, _| {
                let mut seen = seen.lock().expect("nobody panics");
                seen.0.insert(std::thread::current().id());
                seen.1 += 1;
                Ok(())
            };
            let made = || {
                seen.lock().expect("nobody panics").0.insert(std::thread::current().id());
            };
            Schedule::new(6).visit(&context, multiply_adds, made, visit).expect("no visit fails");
            seen.into_inner().expect("nobody panics")
        };
        assert_eq!(workers(SHARED_FROM - 1.0), (HashSet::from([std::thread::current().id()]), 21));
        let (shared, tiles) = workers(SHARED_FROM);
        assert_eq!((shared.len(), tiles), (3, 21), "every thread makes a worker, and every tile is visited once");
    }

    #[test]
    fn that_the_first_tile_begins_is_said_before_it_is_made() {
        let said = Mutex::new(Vec::new());
        let observer = |progress: &Progress| {
            said.lock().expect("nobody panics").push(Some(progress.fraction));
        };
        let (threads, watch) = (Threads::new(1).expect("a thread"), Watch::new().observer(&observer));
        let context = Context::new(&threads, &watch, Phase::Solving);
        let visit = |(): &mut (), _, _, _| {
            said.lock().expect("nobody panics").push(None);
            Ok(())
        };
        Schedule::new(2).visit(&context, 0.0, || (), visit).expect("no visit fails");
        // A tile is none of what is said; after each comes the share that is done.
        let share = |done: f64| Some(done / 3.0);
        assert_eq!(
            said.into_inner().expect("nobody panics"),
            [share(0.0), None, share(1.0), None, share(2.0), None, share(3.0)]
        );
    }

    #[test]
    fn threads_that_are_interrupted_anywhere_do_not_wait_for_each_other_forever() {
        // Many more threads than processors, and next to nothing to do: they are interrupted at every place.
        let (threads, watch) = (Threads::new(12).expect("twelve threads"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Solving);
        for n_blocks in [1, 3, 6, 7] {
            for _ in 0..300 {
                let visited = AtomicUsize::new(0);
                let visit = |(): &mut (), _, _, _| {
                    visited.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                };
                Schedule::new(n_blocks).visit(&context, SHARED_FROM, || (), visit).expect("no visit fails");
                assert_eq!(visited.into_inner(), n_blocks * (n_blocks + 1) / 2);
            }
        }
    }

    #[test]
    fn every_pair_of_blocks_meets_once_and_no_block_twice_in_a_round() {
        for n_blocks in 0..12 {
            let schedule = Schedule::new(n_blocks);
            let mut pairs = HashSet::new();
            let mut busy = HashSet::new();
            for place in 0..schedule.len() {
                let meeting = schedule.meeting(place);
                let Meeting { round, rows, columns } = meeting;
                for block in meeting.blocks() {
                    assert!(busy.insert((round, block)), "block {block} meets twice in round {round}");
                }
                if let Some(columns) = columns {
                    assert!(columns <= rows && rows < n_blocks);
                    assert!(pairs.insert((rows, columns)), "blocks {rows} and {columns} meet twice");
                }
            }
            assert_eq!(pairs.len(), n_blocks * (n_blocks + 1) / 2);
            // Nobody is left out of a round: the waiting in `visit` relies on it.
            let n_rounds = if n_blocks == 0 { 0 } else { n_blocks.next_multiple_of(2) };
            assert_eq!(busy.len(), n_blocks * n_rounds);
        }
    }
}
