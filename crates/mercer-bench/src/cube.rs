//! Points in a cube of side one.

use mercer::Points;
use npyz::npz::NpzArchive;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::failure::{Failure, Result};
use crate::setup::Setup;

/// Uniform points.
pub(crate) fn random_cube(n: usize, d: usize, seed: u64) -> Result<Points> {
    Ok(Points::from_f64(uniform(n * d, seed), n, d)?)
}

/// Uniform points between two opposite corners, so that the cube is the same however many there are.
pub(crate) fn whole_cube(n: usize, d: usize, seed: u64) -> Result<Points> {
    let mut values = uniform(n * d, seed);
    values[..d].fill(0.0);
    values[d..2 * d].fill(1.0);
    Ok(Points::from_f64(values, n, d)?)
}

fn uniform(count: usize, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| f64::from(random.next_u32()) / f64::from(u32::MAX)).collect()
}

/// The colours of skin_segmentation, each channel from 0 to 1.
pub(crate) fn skin(setup: &Setup) -> Result<Points> {
    let path = setup.options.data.join("skin_segmentation.npz");
    let mut archive = NpzArchive::open(&path).map_err(Failure::file(&path))?;
    let missing = || Failure::Data { path: path.clone(), problem: "there is no array X".to_owned() };
    let array = archive.by_name("X").map_err(Failure::file(&path))?.ok_or_else(missing)?;
    let bytes = array.into_vec::<u8>().map_err(Failure::file(&path))?;
    let values: Vec<f64> = bytes.iter().map(|&byte| f64::from(byte) / 255.0).collect();
    let n = values.len() / 3;
    Ok(Points::from_f64(values, n, 3)?)
}
