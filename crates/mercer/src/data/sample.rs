//! Random samples of rows.

use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// `size` different rows of `n`, drawn uniformly and in increasing order; all of them if there are no more.
///
/// The same seed gives the same rows on every machine.
///
/// ```
/// let rows = mercer::data::sample_rows(1000, 3, 42);
/// assert_eq!(rows, mercer::data::sample_rows(1000, 3, 42));
/// assert!(rows.is_sorted() && rows.len() == 3);
/// assert_eq!(mercer::data::sample_rows(2, 3, 42), [0, 1]);
/// ```
pub fn sample_rows(n: usize, size: usize, seed: u64) -> Vec<usize> {
    if size >= n {
        return (0..n).collect();
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = index::sample(&mut random, n, size).into_vec();
    rows.sort_unstable();
    rows
}
