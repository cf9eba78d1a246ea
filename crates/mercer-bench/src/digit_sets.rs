//! The three versions of MNIST of Cohen, Hazan and Ma: so many pictures of every digit, whole or one pixel of four.

use mercer::Points;
use npyz::npz::NpzArchive;

use crate::failure::{Failure, Result};
use crate::points_file::{Digits, PIXELS, Part};
use crate::setup::Setup;

const SIDE: usize = 28;

/// Pictures and what they show, grey values divided by 255.
pub(crate) struct DigitSet {
    pub(crate) points: Points,
    pub(crate) labels: Vec<u8>,
}

/// The first `each` pictures of every digit to learn from, and the next `held_out` of each; every pixel, or one of four.
pub(crate) fn digit_sets(setup: &Setup, each: usize, held_out: usize, quarter: bool) -> Result<[DigitSet; 2]> {
    let (pictures, labels) = read(setup, 10 * (each + held_out))?;
    let mut seen = [0; 10];
    let mut parts = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for (picture, &label) in pictures.chunks_exact(PIXELS).zip(&labels) {
        let place = &mut seen[usize::from(label)];
        *place += 1;
        let part = match *place {
            place if place <= each => &mut parts[0],
            place if place <= each + held_out => &mut parts[1],
            _ => continue,
        };
        let step = if quarter { 2 } else { 1 };
        for row in (0..SIDE).step_by(step) {
            for column in (0..SIDE).step_by(step) {
                part.0.push(picture[row * SIDE + column]);
            }
        }
        part.1.push(label);
    }
    let side = if quarter { SIDE / 2 } else { SIDE };
    let set = |(pixels, labels): (Vec<u8>, Vec<u8>)| -> Result<DigitSet> {
        let n = labels.len();
        Ok(DigitSet { points: Points::from_u8(pixels, n, side * side, 1.0 / 255.0)?, labels })
    };
    let [learned, held] = parts;
    Ok([set(learned)?, set(held)?])
}

/// All training pictures as bytes, and what they show; in a quick run so many made-up ones.
pub(crate) fn read(setup: &Setup, quick_rows: usize) -> Result<(Vec<u8>, Vec<u8>)> {
    if setup.options.quick {
        let points = Digits::prepare(setup, Part::Train, quick_rows)?.u8.load()?;
        let mercer::data::RowsRef::U8 { values, .. } = points.rows(0..quick_rows) else {
            unreachable!("bytes were asked for")
        };
        return Ok((values.to_vec(), (0..quick_rows).map(|row| (row % 10) as u8).collect()));
    }
    let path = setup.mnist();
    let mut archive = NpzArchive::open(&path).map_err(Failure::file(&path))?;
    let mut array = |key: &str| -> Result<Vec<u8>> {
        let missing = || Failure::Data { path: path.clone(), problem: format!("there is no array {key}") };
        let array = archive.by_name(key).map_err(Failure::file(&path))?.ok_or_else(missing)?;
        array.into_vec::<u8>().map_err(Failure::file(&path))
    };
    Ok((array("X")?, array("y")?))
}

/// The largest norm of a point.
pub(crate) fn largest_norm(points: &Points) -> f64 {
    let norm = |i: usize| points.row(i).iter().map(|x| x * x).sum::<f64>();
    (0..points.n_samples()).map(norm).fold(0.0, f64::max).sqrt()
}
