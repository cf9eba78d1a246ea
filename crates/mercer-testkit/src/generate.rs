//! Data sets that are the same on every machine.

use faer::Mat;
use mercer::{Points, Precision};

/// Random numbers by the `SplitMix64` recurrence: written out here, so that no update of a library changes the data.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for every seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// All 64-bit numbers are equally likely.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform between zero (included) and one.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * f64::EPSILON * 0.5
    }

    /// Normal with mean zero and variance one, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// How the values of a data set are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Bytes; see [`Cloud::points`].
    U8,
}

impl Format {
    /// All three.
    pub const ALL: [Self; 3] = [Self::F32, Self::F64, Self::U8];

    /// The precision tiles of such points are usually made in.
    pub const fn precision(self) -> Precision {
        match self {
            Self::F32 | Self::U8 => Precision::F32,
            Self::F64 => Precision::F64,
        }
    }
}

/// Points in double precision, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloud {
    /// The coordinates.
    pub values: Vec<f64>,
    /// Number of points.
    pub n: usize,
    /// Number of coordinates of each.
    pub d: usize,
}

impl Cloud {
    /// `value(i, k)` is coordinate `k` of point `i`.
    pub fn from_fn(n: usize, d: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let values = (0..n * d).map(|at| value(at / d, at % d)).collect();
        Self { values, n, d }
    }

    /// One point.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.d..(i + 1) * self.d]
    }

    /// Every coordinate moved by `shift`.
    #[must_use]
    pub fn shifted(mut self, shift: f64) -> Self {
        self.values.iter_mut().for_each(|x| *x += shift);
        self
    }

    /// The points in a format. For bytes, the range from -4 to 4 is cut into 256 levels of `1/32`, and zero is where -4 was:
    /// kernels that know distances only see the same data as in the other formats, up to that rounding.
    ///
    /// # Panics
    ///
    /// If the cloud has no columns.
    #[track_caller]
    pub fn points(&self, format: Format) -> Points {
        let (n, d) = (self.n, self.d);
        match format {
            Format::F32 => Points::from_f32(self.values.iter().map(|&x| x as f32).collect::<Vec<_>>(), n, d),
            Format::F64 => Points::from_f64(self.values.clone(), n, d),
            Format::U8 => Points::from_u8(self.bytes(), n, d, 1.0 / 32.0),
        }
        .expect("a cloud has as many values as its shape says")
    }

    /// The levels that [`points`](Self::points) makes of the coordinates.
    pub fn bytes(&self) -> Vec<u8> {
        self.values.iter().map(|&x| ((x + 4.0) * 32.0).round().clamp(0.0, 255.0) as u8).collect()
    }
}

/// Normally distributed points about the origin.
pub fn gaussian_cloud(n: usize, d: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    Cloud::from_fn(n, d, |_, _| random.normal())
}

/// Two noisy circles about the origin, of radius 1 and 3: what linear methods cannot part.
pub fn circles(n: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    let values = (0..n)
        .flat_map(|i| {
            let radius = [1.0, 3.0][i % 2] + 0.1 * random.normal();
            let angle = std::f64::consts::TAU * random.uniform();
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    Cloud { values, n, d: 2 }
}

/// Tight clusters (deviation 0.1) about `n_clusters` random centres; point `i` belongs to cluster `i % n_clusters`.
pub fn clusters(n: usize, d: usize, n_clusters: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    let centres = Cloud::from_fn(n_clusters, d, |_, _| random.normal());
    Cloud::from_fn(n, d, |i, k| centres.row(i % n_clusters)[k] + 0.1 * random.normal())
}

/// The points of a square lattice with `side` points along each side, one apart: many equal distances.
pub fn grid(side: usize) -> Cloud {
    Cloud::from_fn(side * side, 2, |i, k| [i / side, i % side][k] as f64)
}

/// A cloud in which every point occurs `times` times, the copies far apart.
pub fn duplicated(n_distinct: usize, times: usize, d: usize, seed: u64) -> Cloud {
    let once = gaussian_cloud(n_distinct, d, seed);
    Cloud::from_fn(n_distinct * times, d, |i, k| once.row(i % n_distinct)[k])
}

/// A cloud whose columns with odd numbers hold one value each.
pub fn constant_columns(n: usize, d: usize, seed: u64) -> Cloud {
    let mut random = Random::new(seed);
    Cloud::from_fn(n, d, |_, k| if k % 2 == 1 { k as f64 } else { random.normal() })
}

/// Bytes of all values, the smallest and the largest among them.
pub fn bytes(n: usize, d: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..n * d)
        .map(|at| match at % 7 {
            0 => 0,
            3 => 255,
            _ => random.bits() as u8,
        })
        .collect()
}

/// A matrix of independent normal numbers.
pub fn normal_matrix(n_rows: usize, n_columns: usize, seed: u64) -> Mat<f64> {
    let mut random = Random::new(seed);
    Mat::from_fn(n_rows, n_columns, |_, _| random.normal())
}
