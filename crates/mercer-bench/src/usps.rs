//! The USPS digits.

use std::path::PathBuf;

use npyz::npz::NpzArchive;

use crate::failure::{Failure, Result};
use crate::setup::Setup;

/// Pixels of a picture.
pub(crate) const PIXELS: usize = 256;

/// All training pictures in their order, or the first `rows` of made-up ones in a quick run.
pub(crate) fn all(setup: &Setup, rows: usize) -> Result<Vec<f32>> {
    if setup.options.quick {
        return Ok(made_up(rows));
    }
    read(setup).map(|(pictures, _)| pictures)
}

/// The first `each` pictures of every digit, grey values from -1 to 1, digit by digit; in a quick run made-up ones.
pub(crate) fn first_of_each_digit(setup: &Setup, each: usize) -> Result<Vec<f32>> {
    if setup.options.quick {
        return Ok(made_up(10 * each));
    }
    let (pictures, labels) = read(setup)?;
    let mut chosen = Vec::with_capacity(10 * each * PIXELS);
    for digit in 0..10 {
        let rows = labels.iter().enumerate().filter(|(_, label)| **label == digit).map(|(row, _)| row);
        for row in rows.take(each) {
            chosen.extend_from_slice(&pictures[row * PIXELS..(row + 1) * PIXELS]);
        }
    }
    if chosen.len() != 10 * each * PIXELS {
        let problem = format!("there are not {each} pictures of every digit");
        return Err(Failure::Data { path: path(setup), problem });
    }
    Ok(chosen)
}

/// All pictures and what they show; in a quick run so many made-up ones.
pub(crate) fn all_digits(setup: &Setup, quick: usize) -> Result<(Vec<f32>, Vec<u8>)> {
    if setup.options.quick {
        return Ok((made_up(quick), (0..quick).map(|row| (row % 10) as u8).collect()));
    }
    read(setup)
}

fn path(setup: &Setup) -> PathBuf {
    setup.options.data.join("usps.npz")
}

fn read(setup: &Setup) -> Result<(Vec<f32>, Vec<u8>)> {
    let path = path(setup);
    let wrong = |problem: &str| Failure::Data { path: path.clone(), problem: problem.to_owned() };
    let mut archive = NpzArchive::open(&path).map_err(Failure::file(&path))?;
    let missing = |key: &str| wrong(&format!("there is no array {key}"));
    let labels = archive.by_name("y").map_err(Failure::file(&path))?.ok_or_else(|| missing("y"))?;
    let labels = labels.into_vec::<u8>().map_err(Failure::file(&path))?;
    let pictures = archive.by_name("X").map_err(Failure::file(&path))?.ok_or_else(|| missing("X"))?;
    let pictures = pictures.into_vec::<f32>().map_err(Failure::file(&path))?;
    if pictures.len() != labels.len() * PIXELS {
        return Err(wrong("X is not one row of 256 pixels per label"));
    }
    Ok((pictures, labels))
}

/// Ten kinds of waves with a phase that varies.
fn made_up(rows: usize) -> Vec<f32> {
    (0..rows * PIXELS)
        .map(|at| {
            let (row, pixel) = (at / PIXELS, at % PIXELS);
            let phase = (row * 37 % 101) as f32 / 101.0;
            (pixel as f32 * (1.0 + (row % 10) as f32) / 40.0 + phase).sin()
        })
        .collect()
}
