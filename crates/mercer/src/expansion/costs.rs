//! What the methods cost, in nanoseconds of one thread.
//!
//! Constants of tiles, features and grids are fitted to runs of `mercer-bench fast_choice`, `fast_sum_3d` and `fast_vs_direct` on two cores of an
//! AMD EPYC with AVX2; those of distances, clusters, factors, neighbours and single entries count operations at the same speed. `fast_choice` runs every method
//! beside the one that is chosen. Another machine has other speeds, but of all methods; where two cost nearly the same, the choice may be the
//! slower one. It never touches the error, which has a bound whatever the method.

/// An entry of a tile in double precision: what it takes however few features there are, and for each feature.
const TILE_ENTRY: f64 = 1.35;
const TILE_FEATURE: f64 = 0.06;
/// An entry times an entry of a vector, for a vector.
const TILE_VECTOR: f64 = 0.12;

/// A feature of a point: to make it, and to multiply it with an entry of a vector.
const FEATURE: f64 = 0.3;
const FEATURE_VECTOR: f64 = 0.1;
/// What is added when a block of so many features of points leaves the cache before it is multiplied.
const FEATURE_OUTSIDE: f64 = 0.7;
const FEATURES_INSIDE: usize = 6000;

/// The distance of a point from a centre, for a coordinate.
const DISTANCE: f64 = 0.5;
/// A cluster, however few points it has.
const CLUSTER: f64 = 5e3;

/// A value of a point that is spread or gathered, however wide the window is.
const GRID_POINT: f64 = 15.0;
/// A power of four of a window's values.
const GRID_POWER: f64 = 0.4;
/// Four nodes of a row that a window touches.
const GRID_ROW: f64 = 0.5;
/// A node of a grid, with the transforms.
const GRID_NODE: f64 = 17.0;
/// A factor of a wave, for a Gaussian of the mixture: once for all products.
const FACTOR: f64 = 0.4;
/// A pair of neighbours, and its product with an entry of a vector.
const PAIR: f64 = 8.0;
const PAIR_VECTOR: f64 = 0.3;

/// An entry that is computed by itself, as the kernel is defined: what it takes however few features there are, and for each feature.
const SINGLE_ENTRY: f64 = 20.0;
const SINGLE_FEATURE: f64 = 1.0;

/// A product by tiles: entries that are computed, and products with entries of `columns` vectors.
pub(super) fn tiles(computed: f64, products: f64, n_features: usize, columns: f64) -> f64 {
    computed * (TILE_ENTRY + TILE_FEATURE * n_features as f64) + products * columns * TILE_VECTOR
}

/// Entries that are computed one at a time.
pub(super) fn single_entries(computed: f64, n_features: usize) -> f64 {
    computed * (SINGLE_ENTRY + SINGLE_FEATURE * n_features as f64)
}

/// Sums over `terms` features of points.
pub(super) fn features(points: f64, terms: usize, columns: f64) -> f64 {
    let outside = if terms > FEATURES_INSIDE { FEATURE_OUTSIDE } else { 0.0 };
    points * terms as f64 * (FEATURE + FEATURE_VECTOR * columns + outside)
}

/// Distances of points from centres, and what the clusters themselves take.
pub(super) fn clusters(distances: f64, n_features: usize, count: usize) -> f64 {
    distances * DISTANCE * (n_features + 2) as f64 + CLUSTER * count as f64
}

/// A product by a grid of so many nodes, for `points` sources and targets, whose windows have `width` values along each of `d` axes, kept as
/// `lanes`.
pub(super) fn grid(nodes: f64, points: f64, columns: f64, d: usize, (width, lanes): (usize, usize)) -> f64 {
    let (fours, rows) = (lanes as f64 / 4.0, (width as f64).powi(d as i32 - 1));
    // A polynomial of six more powers than the window is wide, along three axes in any case.
    let of_window = GRID_POWER * 3.0 * fours * (width + 7) as f64;
    points * (of_window + columns * (GRID_POINT + GRID_ROW * rows * fours)) + columns * GRID_NODE * nodes
}

/// The factors of so many waves of a mixture of some Gaussians.
pub(super) fn factors(waves: f64, gaussians: usize) -> f64 {
    FACTOR * waves * gaussians as f64
}

/// Pairs of neighbours whose difference from the grid's kernel is summed up.
pub(super) fn neighbours(pairs: f64, columns: f64) -> f64 {
    pairs * (PAIR + PAIR_VECTOR * columns)
}
