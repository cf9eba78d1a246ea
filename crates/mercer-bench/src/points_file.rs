//! Points as plain numbers in a file: what our child processes and the rivals' scripts read, so that all see the same
//! bits.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mercer::Points;
use npyz::npz::NpzArchive;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::failure::{Failure, Result};
use crate::setup::Setup;

/// Pixels of a picture of a digit.
pub(crate) const PIXELS: usize = SIDE * SIDE;
const SIDE: usize = 28;

/// The scale that turns bytes into numbers from 0 to 1.
pub(crate) const BYTE_SCALE: f64 = 1.0 / 255.0;

/// How numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Single precision, from 0 to 1.
    F32,
    /// Bytes that stand for themselves divided by 255.
    U8,
}

impl Format {
    /// The name that flags and scripts use.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::U8 => "u8",
        }
    }
}

/// Points in a file, row by row, without a header.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PointsFile {
    /// File of plain numbers
    #[arg(long = "points")]
    pub(crate) path: PathBuf,
    /// How the numbers are kept
    #[arg(long)]
    pub(crate) format: Format,
    /// Points
    #[arg(long)]
    pub(crate) rows: usize,
    /// Coordinates of each
    #[arg(long)]
    pub(crate) features: usize,
}

impl PointsFile {
    /// Writes single-precision points.
    pub(crate) fn write_f32(path: PathBuf, values: &[f32], features: usize) -> Result<Self> {
        write(&path, bytemuck::cast_slice(values))?;
        Ok(Self { path, format: Format::F32, rows: values.len() / features, features })
    }

    /// Writes bytes.
    pub(crate) fn write_u8(path: PathBuf, values: &[u8], features: usize) -> Result<Self> {
        write(&path, values)?;
        Ok(Self { path, format: Format::U8, rows: values.len() / features, features })
    }

    /// The same file, of which only the first rows are used.
    pub(crate) fn first(&self, rows: usize) -> Self {
        Self { rows: rows.min(self.rows), ..self.clone() }
    }

    /// The points in memory. Exactly their own size is allocated, so that a peak measured later is not that of reading.
    pub(crate) fn load(&self) -> Result<Points> {
        use std::io::Read;
        let mut file = std::fs::File::open(&self.path).map_err(Failure::file(&self.path))?;
        let (n, d) = (self.rows, self.features);
        let points = match self.format {
            Format::F32 => {
                let mut values = vec![0_f32; n * d];
                file.read_exact(bytemuck::cast_slice_mut(&mut values)).map_err(Failure::file(&self.path))?;
                Points::from_f32(values, n, d)
            }
            Format::U8 => {
                let mut values = vec![0_u8; n * d];
                file.read_exact(&mut values).map_err(Failure::file(&self.path))?;
                Points::from_u8(values, n, d, BYTE_SCALE)
            }
        };
        Ok(points?)
    }

    /// Flags that tell a child process of this file.
    pub(crate) fn flags(&self) -> Vec<String> {
        let text = [self.path.display().to_string(), self.format.name().to_owned()];
        let [path, format] = text;
        let flag = |name: &str, value: String| [format!("--{name}"), value];
        [
            flag("points", path),
            flag("format", format),
            flag("rows", self.rows.to_string()),
            flag("features", self.features.to_string()),
        ]
        .concat()
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(Failure::file(path))
}

/// Handwritten digits in both formats.
pub(crate) struct Digits {
    /// Single precision, pixels divided by 255.
    pub(crate) f32: PointsFile,
    /// The same but for one number that is no 255th, so that nobody can take them for bytes.
    pub(crate) numbers: PointsFile,
    /// The bytes themselves.
    pub(crate) u8: PointsFile,
}

/// Which pictures of the data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The 60000 to learn from.
    Train,
    /// The 10000 to test with.
    Test,
}

impl Digits {
    /// The first `rows` digits of MNIST; in a quick run made-up pictures, so that it needs no data.
    pub(crate) fn prepare(setup: &Setup, part: Part, rows: usize) -> Result<Self> {
        let (key, seed) = match part {
            Part::Train => ("X", 0),
            Part::Test => ("X_test", 1),
        };
        let bytes = if setup.options.quick { blobs(rows, seed) } else { read_npz(&setup.mnist(), key, rows)? };
        let mut scaled: Vec<f32> = bytes.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
        let f32 = PointsFile::write_f32(setup.scratch_file(&format!("{key}.f32")), &scaled, PIXELS)?;
        if let Some(first) = scaled.first_mut() {
            *first += 1e-4;
        }
        Ok(Self {
            f32,
            numbers: PointsFile::write_f32(setup.scratch_file(&format!("{key}.numbers")), &scaled, PIXELS)?,
            u8: PointsFile::write_u8(setup.scratch_file(&format!("{key}.u8")), &bytes, PIXELS)?,
        })
    }
}

/// The first `rows` pictures of an array of bytes in an `.npz` archive.
fn read_npz(path: &Path, key: &str, rows: usize) -> Result<Vec<u8>> {
    let wrong = |problem: String| Failure::Data { path: path.to_owned(), problem };
    let mut archive = NpzArchive::open(path).map_err(Failure::file(path))?;
    let array = archive.by_name(key).map_err(Failure::file(path))?;
    let array = array.ok_or_else(|| wrong(format!("there is no array {key}")))?;
    let shape = array.shape().to_vec();
    let [n, height, width] = shape[..] else { return Err(wrong(format!("{key} has shape {shape:?}"))) };
    if (height * width) as usize != PIXELS || (n as usize) < rows {
        return Err(wrong(format!("{key} has shape {shape:?}, but {rows} pictures of {SIDE} x {SIDE} are needed")));
    }
    let mut values = array.into_vec::<u8>().map_err(Failure::file(path))?;
    values.truncate(rows * PIXELS);
    Ok(values)
}

/// Made-up pictures: three soft spots each, at random places.
fn blobs(rows: usize, seed: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut place = || f64::from(random.next_u32() % 20) + 4.0;
    let mut pictures = Vec::with_capacity(rows * PIXELS);
    for _ in 0..rows {
        let spots = [(); 3].map(|()| (place(), place()));
        for pixel in 0..PIXELS {
            let (y, x) = ((pixel / SIDE) as f64, (pixel % SIDE) as f64);
            let light = |(v, u): (f64, f64)| (-((y - v).powi(2) + (x - u).powi(2)) / 12.0).exp();
            pictures.push((255.0 * spots.map(light).iter().sum::<f64>().min(1.0)) as u8);
        }
    }
    pictures
}

/// Made-up points: a bent sheet of four dimensions in a space of `features`, with a little noise.
pub(crate) fn sheet(rows: usize, features: usize, seed: u64) -> Vec<f32> {
    const LATENT: usize = 4;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = || f64::from(random.next_u32()) / f64::from(u32::MAX);
    let slopes: Vec<f64> = (0..features * LATENT).map(|_| 4.0 * uniform() - 2.0).collect();
    let mut points = Vec::with_capacity(rows * features);
    for _ in 0..rows {
        let place = [(); LATENT].map(|()| uniform());
        for slopes in slopes.chunks_exact(LATENT) {
            let along: f64 = slopes.iter().zip(place).map(|(slope, at)| slope * at).sum();
            points.push(((2.0 * along).sin() + 0.1 * (uniform() - 0.5)) as f32);
        }
    }
    points
}

/// Random bytes, for benchmarks that only need some points.
pub(crate) fn random_bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; count];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
