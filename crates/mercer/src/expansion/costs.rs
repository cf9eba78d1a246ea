//! What the methods cost, in nanoseconds of one thread.
//!
//! Constants count operations at the speed of an AMD EPYC with AVX2. They never touch the error, which has a bound whatever the method.

/// An entry of a tile in double precision: what it takes however few features there are, and for each feature.
const TILE_ENTRY: f64 = 2.0;
const TILE_FEATURE: f64 = 0.1;
/// An entry times an entry of a vector, for a vector.
const TILE_VECTOR: f64 = 0.12;

/// A feature of a point: to make it, and to multiply it with an entry of a vector.
const FEATURE: f64 = 0.3;
const FEATURE_VECTOR: f64 = 0.1;

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
const GRID_NODE: f64 = 12.0;
/// A pair of neighbours, and its product with an entry of a vector.
const PAIR: f64 = 8.0;
const PAIR_VECTOR: f64 = 0.3;

/// A product by tiles: entries that are computed, and products with entries of `columns` vectors.
pub(super) fn tiles(computed: f64, products: f64, n_features: usize, columns: f64) -> f64 {
    computed * (TILE_ENTRY + TILE_FEATURE * n_features as f64) + products * columns * TILE_VECTOR
}

/// Sums over so many features of points.
pub(super) fn features(count: f64, columns: f64) -> f64 {
    count * (FEATURE + FEATURE_VECTOR * columns)
}

/// Distances of points from centres, and what the clusters themselves take.
pub(super) fn clusters(distances: f64, n_features: usize, count: usize) -> f64 {
    distances * DISTANCE * (n_features + 2) as f64 + CLUSTER * count as f64
}

/// A product with one vector by a grid of so many nodes, for `points` sources and targets, whose windows have `width` values along
/// each of `d` axes, kept as `lanes`.
pub(super) fn grid(nodes: f64, points: f64, d: usize, (width, lanes): (usize, usize)) -> f64 {
    let (fours, rows) = (lanes as f64 / 4.0, (width as f64).powi(d as i32 - 1));
    // A polynomial of six more powers than the window is wide, along three axes in any case.
    let of_window = GRID_POWER * 3.0 * fours * (width + 7) as f64;
    points * (GRID_POINT + of_window + GRID_ROW * rows * fours) + GRID_NODE * nodes
}

/// Pairs of neighbours whose difference from the grid's kernel is summed up.
pub(super) fn neighbours(pairs: f64, columns: f64) -> f64 {
    pairs * (PAIR + PAIR_VECTOR * columns)
}
