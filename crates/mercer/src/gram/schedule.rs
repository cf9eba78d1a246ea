//! The order in which the tiles of a symmetric matrix are visited.
//!
//! A tile off the diagonal adds to two blocks of the result. Sums in floating point depend on their order, so each
//! block must receive its contributions in an order that does not depend on how many threads there are. Blocks are put into groups of
//! neighbours, and the groups meet in rounds, as in a tournament: in a round every group meets one other (the circle method). Threads take
//! meetings in this order and wait until both groups have finished the round before; no two meetings of a round touch the same group.
//!
//! In a meeting one thread visits all tiles of the two groups, one row of tiles to the right and the next to the left: from one tile to the
//! next, a block of points, of vectors and of sums stays in the cache, and the others are not far.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::Result;
use crate::watch::Context;

/// A tile: where it stands in the order, and its blocks of rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) place: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The place of the tile that the same thread probably visits next.
    pub(super) next: usize,
}

/// Two groups, or one and itself, and the round in which they meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meeting {
    round: usize,
    rows: usize,
    /// `None` if the group of rows has no partner in this round.
    columns: Option<usize>,
    /// The place of the first tile.
    first: usize,
}

impl Meeting {
    /// The groups that meet, each once: a meeting on the diagonal has one, and so has a group without a partner.
    fn groups(self) -> impl Iterator<Item = usize> {
        std::iter::once(self.rows).chain(self.columns.filter(move |&columns| columns != self.rows))
    }
}

/// Multiply-adds from which on the threads share them: a quarter of a millisecond for one thread, several times what it takes until
/// all of them are awake.
const SHARED_FROM: f64 = 8e6;

/// Half as many threads can work side by side as there are groups.
const FEWEST_GROUPS: usize = 32;
/// Blocks of a group: two groups of points, vectors and sums should fit what a thread has of the third-level cache.
const MOST_BLOCKS: usize = 4;

/// All tiles on and below the diagonal of a matrix of `n_blocks` by `n_blocks` blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    n_blocks: usize,
    /// Blocks of every group but the last, which may have fewer.
    group: usize,
}

impl Schedule {
    /// The order depends on the number of blocks only.
    pub(super) fn new(n_blocks: usize) -> Self {
        Self { n_blocks, group: (n_blocks / FEWEST_GROUPS).clamp(1, MOST_BLOCKS) }
    }

    /// Number of tiles.
    pub(super) fn len(self) -> usize {
        triangle(self.n_blocks)
    }

    fn n_groups(self) -> usize {
        self.n_blocks.div_ceil(self.group)
    }

    /// The blocks of a group.
    fn blocks(self, group: usize) -> Range<usize> {
        group * self.group..((group + 1) * self.group).min(self.n_blocks)
    }

    /// Groups, made even by one that does not exist: its partner has a round off.
    fn n_players(self) -> usize {
        self.n_groups().next_multiple_of(2)
    }

    /// Number of meetings, including those without a partner.
    fn n_meetings(self) -> usize {
        let players = self.n_players();
        self.n_groups() + (players / 2) * players.saturating_sub(1)
    }

    /// The meeting with this number.
    fn meeting(self, number: usize) -> Meeting {
        let n_groups = self.n_groups();
        if number < n_groups {
            return Meeting { round: 0, rows: number, columns: Some(number), first: number * triangle(self.group) };
        }
        let tables = self.n_players() / 2;
        let (turn, table) = ((number - n_groups) / tables, (number - n_groups) % tables);
        // One player stays; the others move round the circle.
        let circle = self.n_players() - 1;
        let (a, b) = match table {
            0 => (turn, circle),
            _ => ((turn + table) % circle, (turn + circle - table) % circle),
        };
        let (low, high) = (a.min(b), a.max(b));
        let first = self.first_of_round(turn) + self.before_table(turn, table);
        // Rows are the later group: tiles lie below the diagonal.
        let round = turn + 1;
        if high < n_groups {
            Meeting { round, rows: high, columns: Some(low), first }
        } else {
            Meeting { round, rows: low, columns: None, first }
        }
    }

    /// Tiles before a round. The last group may be smaller than the others, and so may one meeting of the round.
    fn first_of_round(self, turn: usize) -> usize {
        let n_groups = self.n_groups();
        let last = self.blocks(n_groups - 1).len();
        let diagonal = (n_groups - 1) * triangle(self.group) + triangle(last);
        let full = ((n_groups / 2) * self.group).saturating_sub(self.group);
        diagonal + turn * (full + if n_groups > 1 { last } else { 0 }) * self.group
    }

    /// Tiles of a round before a table.
    fn before_table(self, turn: usize, table: usize) -> usize {
        if table == 0 {
            return 0;
        }
        let n_groups = self.n_groups();
        let full = self.group * self.group;
        let less = full - self.group * self.blocks(n_groups - 1).len();
        if n_groups.is_multiple_of(2) {
            // The last group stays, at the first table.
            return table * full - less;
        }
        // At the first table somebody has a round off. The last group moves, and is off in the last round.
        let of_last = (n_groups - 1 - turn).min(turn + 1);
        let has_passed = turn + 1 < n_groups && of_last < table;
        (table - 1) * full - if has_passed { less } else { 0 }
    }

    /// The tiles of a meeting, in the order in which they are visited.
    fn tiles(self, meeting: Meeting, next: usize) -> impl Iterator<Item = Tile> {
        let Meeting { rows, columns, first, .. } = meeting;
        let blocks = columns.into_iter().flat_map(move |columns| {
            self.blocks(rows).enumerate().flat_map(move |(offset, row)| {
                let Range { start, end } = self.blocks(columns);
                let end = end.min(row + 1);
                let is_back = offset % 2 == 1;
                (start..end).map(move |column| (row, if is_back { start + end - 1 - column } else { column }))
            })
        });
        let count = match columns {
            None => 0,
            Some(columns) if columns == rows => triangle(self.blocks(rows).len()),
            Some(columns) => self.blocks(rows).len() * self.blocks(columns).len(),
        };
        blocks.enumerate().map(move |(offset, (rows, columns))| {
            let place = first + offset;
            Tile { place, rows, columns, next: if offset + 1 < count { place + 1 } else { next } }
        })
    }

    /// Visits every tile once: `visit(worker, tile)`. On all threads, unless `multiply_adds`, what all visits take
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
        visit: impl Fn(&mut W, Tile) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let finished: Vec<AtomicUsize> = (0..self.n_groups()).map(|_| AtomicUsize::new(0)).collect();
        let (total, n_meetings) = (self.len(), self.n_meetings());
        let n_threads = if multiply_adds < SHARED_FROM { 1 } else { context.threads.count() };
        // Often enough for a smooth bar, seldom enough to cost nothing.
        let report_every = (total / 200).max(1);

        context.report_fraction(0.0);
        let work = |_| -> Result<()> {
            let _guard = StopOnPanic(&stopped);
            let mut worker = new_worker();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= n_meetings || stopped.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let meeting = self.meeting(number);
                for group in meeting.groups() {
                    // Meetings are taken in order, so what is waited for is already being worked on.
                    while finished[group].load(Ordering::Acquire) < meeting.round {
                        if stopped.load(Ordering::Relaxed) {
                            return Ok(());
                        }
                        std::thread::yield_now();
                    }
                }
                // Threads take meetings in turn, so this thread's next one is probably as many further on as there are threads.
                let after = Some(number + n_threads).filter(|&number| number < n_meetings);
                let after = after.map_or(total, |number| self.meeting(number).first);
                for tile in self.tiles(meeting, after) {
                    let outcome = context.check().and_then(|()| visit(&mut worker, tile));
                    if outcome.is_err() {
                        stopped.store(true, Ordering::Relaxed);
                        return outcome;
                    }
                    let done = tile.place + 1;
                    if done.is_multiple_of(report_every) {
                        context.report_fraction(done as f64 / total as f64);
                    }
                }
                // Once for each: after a first store, others may have brought the group further.
                for group in meeting.groups() {
                    finished[group].store(meeting.round + 1, Ordering::Release);
                }
            }
        };
        if n_threads == 1 {
            return work(0);
        }
        context.threads.on_each(work).into_iter().collect()
    }
}

/// `1 + 2 + … + n`.
fn triangle(n: usize) -> usize {
    n * (n + 1) / 2
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
            let visit = |(): &mut (), _| {
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
        let visit = |(): &mut (), _| {
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
                let visit = |(): &mut (), _| {
                    visited.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                };
                Schedule::new(n_blocks).visit(&context, SHARED_FROM, || (), visit).expect("no visit fails");
                assert_eq!(visited.into_inner(), n_blocks * (n_blocks + 1) / 2);
            }
        }
    }

    #[test]
    fn each_block_sees_its_tiles_one_by_one_and_in_the_same_order_on_any_number_of_threads() {
        let visits_by_block = |schedule: Schedule, count: usize| {
            let (threads, watch) = (Threads::new(count).expect("some threads"), Watch::new());
            let context = Context::new(&threads, &watch, Phase::Solving);
            let blocks: Vec<Mutex<Vec<usize>>> = (0..schedule.n_blocks).map(|_| Mutex::new(Vec::new())).collect();
            let visit = |(): &mut (), tile: Tile| {
                let mut own = blocks[tile.rows].try_lock().expect("no other tile of these rows is visited");
                own.push(tile.place);
                if tile.rows != tile.columns {
                    let mut other = blocks[tile.columns].try_lock().expect("no other tile of these columns is visited");
                    std::thread::yield_now();
                    other.push(tile.place);
                }
                Ok(())
            };
            schedule.visit(&context, SHARED_FROM, || (), visit).expect("no visit fails");
            blocks.into_iter().map(|visits| visits.into_inner().expect("nobody panics")).collect::<Vec<_>>()
        };
        for (n_blocks, group) in (9..15).flat_map(|n_blocks| (1..=4).map(move |group| (n_blocks, group))) {
            let schedule = Schedule { n_blocks, group };
            let expected = visits_by_block(schedule, 1);
            assert!(expected.iter().all(|visits| visits.len() == n_blocks));
            for _ in 0..20 {
                assert_eq!(visits_by_block(schedule, 12), expected, "{n_blocks} blocks in groups of {group}");
            }
        }
    }

    #[test]
    fn many_blocks_are_visited_in_groups_of_neighbours() {
        let group = |n_blocks| Schedule::new(n_blocks).group;
        assert_eq!([0, 1, 63, 64, 95, 96, 128, 100_000].map(group), [1, 1, 1, 2, 2, 3, 4, 4]);
    }

    #[test]
    fn every_pair_of_blocks_is_a_tile_with_a_place_of_its_own_and_no_group_meets_twice_in_a_round() {
        for (n_blocks, group) in (0..40).flat_map(|n_blocks| (1..=4).map(move |group| (n_blocks, group))) {
            let schedule = Schedule { n_blocks, group };
            let mut pairs = HashSet::new();
            let mut places = Vec::new();
            let mut busy = HashSet::new();
            for number in 0..schedule.n_meetings() {
                let meeting = schedule.meeting(number);
                for group in meeting.groups() {
                    assert!(
                        busy.insert((meeting.round, group)),
                        "group {group} meets twice in round {}",
                        meeting.round
                    );
                }
                for Tile { place, rows, columns, .. } in schedule.tiles(meeting, 0) {
                    assert!(columns <= rows && rows < n_blocks);
                    assert!(pairs.insert((rows, columns)), "blocks {rows} and {columns} meet twice");
                    places.push(place);
                }
            }
            assert_eq!(pairs.len(), n_blocks * (n_blocks + 1) / 2);
            assert!(places.into_iter().eq(0..schedule.len()), "{n_blocks} blocks in groups of {group}");
            // Nobody is left out of a round: the waiting in `visit` relies on it.
            let n_rounds = if n_blocks == 0 { 0 } else { schedule.n_groups().next_multiple_of(2) };
            assert_eq!(busy.len(), schedule.n_groups() * n_rounds);
        }
    }

    #[test]
    fn neighbouring_tiles_share_a_block_and_know_the_next() {
        let schedule = Schedule { n_blocks: 15, group: 4 };
        for number in 0..schedule.n_meetings() {
            let tiles: Vec<Tile> = schedule.tiles(schedule.meeting(number), 1000).collect();
            for pair in tiles.windows(2) {
                assert!(
                    pair[0].rows == pair[1].rows
                        || pair[0].columns == pair[1].columns
                        || pair[1].columns == pair[1].rows
                );
                assert_eq!(pair[0].next, pair[1].place);
            }
            assert!(tiles.last().is_none_or(|last| last.next == 1000));
        }
    }
}
