//! Tiles from every source on every instruction set, and their products.

#![allow(clippy::float_cmp, reason = "these numbers are exact")]

mod bytes;
mod floats;
mod given;
mod product;
mod stopping;
mod sums;

use faer::Mat;
use mercer_testkit::generate::Cloud;

use super::{Geometry, TileSource};
use crate::Points;
use crate::scalar::Scalar;
use crate::simd::Isa;

fn points(cloud: &Cloud) -> Points {
    Points::from_f64(cloud.values.clone(), cloud.n, cloud.d).expect("a cloud has as many values as its shape says")
}

/// A matrix of `shape` rows and columns, put together of tiles of `units.0` by `units.1` register blocks. What lies outside
/// the data must be finite.
fn dense<T: Scalar>(tiles: &dyn TileSource<T>, shape: (usize, usize), isa: Isa, units: (usize, usize)) -> Mat<f64> {
    let geometry = Geometry::of::<T>(isa);
    let (n_rows, n_columns) = shape;
    let mut all = Mat::full(n_rows, n_columns, f64::NAN);
    let blocks = |n: usize, units: usize| {
        let padded = geometry.padded(n);
        (0..padded).step_by(units * geometry.unit).map(move |start| start..padded.min(start + units * geometry.unit))
    };
    for rows in blocks(n_rows, units.0) {
        for columns in blocks(n_columns, units.1) {
            let mut tile = vec![T::from_f64(f64::NAN); rows.len() * columns.len()];
            tiles.fill(rows.clone(), columns.clone(), &mut tile).expect("these sources do not fail");
            assert!(tile.iter().all(|x| x.to_f64().is_finite()), "entries outside the data are finite on {isa:?}");
            for i in rows.start..rows.end.min(n_rows) {
                for j in columns.start..columns.end.min(n_columns) {
                    let at = geometry.index(i - rows.start, j - columns.start, columns.len());
                    all[(i, j)] = tile[at].to_f64();
                }
            }
        }
    }
    all
}

#[test]
fn every_entry_of_a_tile_has_a_place_of_its_own() {
    for isa in Isa::available() {
        let geometry = Geometry::of::<f32>(isa);
        let (rows, columns) = (2 * geometry.unit, geometry.unit);
        let mut places: Vec<usize> =
            (0..rows).flat_map(|i| (0..columns).map(move |j| geometry.index(i, j, columns))).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..rows * columns), "{isa:?}");
        // Rows of a panel are neighbours.
        assert_eq!(geometry.index(1, 0, columns), geometry.index(0, 0, columns) + 1);
    }
}

#[test]
fn blocks_are_padded_to_whole_register_blocks_from_either_side() {
    for isa in Isa::available() {
        for geometry in [Geometry::of::<f32>(isa), Geometry::of::<f64>(isa)] {
            assert!(geometry.unit.is_multiple_of(geometry.lanes));
            let unit = geometry.unit;
            assert_eq!([0, 1, unit, unit + 1].map(|n| geometry.padded(n)), [0, unit, unit, 2 * unit], "{isa:?}");
        }
    }
}
