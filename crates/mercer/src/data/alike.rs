//! What the numbers of a set of points have in common: columns that do not vary, bytes in the guise of floating-point numbers.

use rayon::prelude::*;

use super::{Points, RowsRef, Values};
use crate::watch::is_on_a_pool;

/// How a byte is written as a number in single precision. Pictures mostly come so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guise {
    /// As it is: pixels, counts, categories.
    Whole,
    /// Divided by 255.
    Of255,
    /// Multiplied by 1/255, which rounds differently.
    Times255th,
    /// Divided by 256.
    Of256,
}

impl Guise {
    const ALL: [Self; 4] = [Self::Whole, Self::Of255, Self::Times255th, Self::Of256];

    /// What a byte is multiplied by.
    fn scale(self) -> f64 {
        match self {
            Self::Whole => 1.0,
            Self::Of255 | Self::Times255th => 1.0 / 255.0,
            Self::Of256 => 1.0 / 256.0,
        }
    }

    /// The byte that a number is, if it is one.
    #[inline]
    pub(crate) fn byte(self, x: f32) -> u8 {
        let times = match self {
            Self::Whole => x,
            Self::Of255 | Self::Times255th => x * 255.0,
            Self::Of256 => x * 256.0,
        };
        // At this size the last bit of a number is one, so adding rounds.
        (times + 8_388_608.0).to_bits() as u8
    }

    /// Whether all numbers are bytes. Whatever is not between 0 and 255 is taken for one of them, which it is not. On a thread of a pool all of
    /// its threads look.
    fn fits(self, values: &[f32]) -> bool {
        #[expect(clippy::float_cmp, reason = "a number is a byte or it is none")]
        fn all(values: &[f32], guise: Guise, number: impl Fn(f32) -> f32 + Sync) -> bool {
            const CHUNK: usize = 4096;
            let are_bytes =
                |some: &[f32]| some.iter().fold(true, |all, &x| all & (number(f32::from(guise.byte(x))) == x));
            if is_on_a_pool() { values.par_chunks(CHUNK).all(are_bytes) } else { values.chunks(CHUNK).all(are_bytes) }
        }
        match self {
            Self::Whole => all(values, self, |byte| byte),
            Self::Of255 => all(values, self, |byte| byte / 255.0),
            Self::Times255th => all(values, self, |byte| byte * (1.0 / 255.0)),
            Self::Of256 => all(values, self, |byte| byte / 256.0),
        }
    }
}

impl Points {
    /// The columns in which all points are the same.
    pub(crate) fn constant_columns(&self) -> Vec<usize> {
        fn constant<T: Copy + PartialEq>(values: &[T], d: usize) -> Vec<usize> {
            let mut rows = values.chunks_exact(d);
            let Some(first) = rows.next() else { return Vec::new() };
            let mut columns: Vec<usize> = (0..d).collect();
            for row in rows {
                columns.retain(|&column| row[column] == first[column]);
                if columns.is_empty() {
                    break;
                }
            }
            columns
        }
        let d = self.n_features;
        match self.rows(0..self.n_samples) {
            RowsRef::F32(values) => constant(values, d),
            RowsRef::F64(values) => constant(values, d),
            RowsRef::U8 { values, .. } => constant(values, d),
        }
    }

    /// The same points, which know if each of their numbers, in single precision, is a byte or a byte divided by 255 or 256: then tiles are
    /// made of the bytes, faster and with less rounding. The numbers stay what they are.
    pub(crate) fn recognised(&self) -> Self {
        self.with_guise_among(Guise::ALL)
    }

    /// The same points as tiles of bytes times `scale` take them, if each of their numbers is such a one.
    pub(crate) fn in_tile_bytes(&self, scale: f64) -> Option<Self> {
        let same = |points: &Self| points.tile_bytes().is_some_and(|found| found.to_bits() == scale.to_bits());
        if same(self) {
            return Some(self.clone());
        }
        let found =
            self.with_guise_among(Guise::ALL.into_iter().filter(|guise| guise.scale().to_bits() == scale.to_bits()));
        same(&found).then_some(found)
    }

    /// What bytes are multiplied by, if tiles can be made of bytes.
    pub(crate) fn tile_bytes(&self) -> Option<f64> {
        match self.values {
            Values::U8 { scale, .. } => Some(scale),
            Values::F32(_) => self.guise.map(Guise::scale),
            Values::F64(_) => None,
        }
    }

    fn with_guise_among(&self, guises: impl IntoIterator<Item = Guise>) -> Self {
        let RowsRef::F32(values) = self.rows(0..self.n_samples) else { return self.clone() };
        let guise = guises.into_iter().find(|guise| guise.fits(values));
        // A byte is finite.
        Self { guise, is_finite: self.is_finite || guise.is_some(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(values: Vec<f32>) -> Points {
        let n = values.len() / 2;
        Points::from_f32(values, n, 2).expect("pairs")
    }

    #[test]
    fn bytes_are_recognised_however_they_were_divided() {
        type Way = (f64, fn(u8) -> f32);
        let ways: [Way; 5] = [
            (1.0, f32::from),
            (1.0 / 255.0, |byte| f32::from(byte) / 255.0),
            (1.0 / 255.0, |byte| (f64::from(byte) / 255.0) as f32),
            (1.0 / 255.0, |byte| f32::from(byte) * (1.0 / 255.0)),
            (1.0 / 256.0, |byte| f32::from(byte) / 256.0),
        ];
        for (scale, number) in ways {
            let points = single((0..=255).map(number).collect()).recognised();
            assert_eq!(points.tile_bytes(), Some(scale));
            let guise = points.guise().expect("recognised");
            assert!((0..=255).all(|byte| guise.byte(number(byte)) == byte), "{guise:?}");
            // Parts know it, too, and the numbers are what they were.
            assert_eq!(points.slice(3..9).tile_bytes(), Some(scale));
            assert_eq!(points.select(&[5, 1]).tile_bytes(), Some(scale));
            assert_eq!(points.row(100), [f64::from(number(200)), f64::from(number(201))]);
        }
    }

    #[test]
    fn numbers_that_are_no_bytes_stay_numbers() {
        for other in [-1.0, 256.0, 0.5, 1.0 + f32::EPSILON, 1e30, f32::NAN, f32::INFINITY, -1e30, 16_777_216.0] {
            let mut values = vec![3.0; 10_000];
            values[9_999] = other;
            assert_eq!(single(values).recognised().tile_bytes(), None, "{other}");
        }
        // Close to a 255th, and none.
        assert_eq!(single(vec![0.0, 0.003_921_6]).recognised().tile_bytes(), None);
        let doubles = Points::from_f64(vec![1.0, 2.0], 1, 2).expect("a pair");
        assert_eq!(doubles.recognised().tile_bytes(), None);
    }

    #[test]
    fn numbers_that_are_bytes_of_several_scales_meet_those_of_each() {
        let zeros = single(vec![0.0; 4]);
        for scale in [1.0, 1.0 / 255.0, 1.0 / 256.0] {
            assert_eq!(zeros.in_tile_bytes(scale).and_then(|points| points.tile_bytes()), Some(scale));
        }
        assert!(zeros.in_tile_bytes(0.3).is_none());
        let bytes = Points::from_u8(vec![0, 7], 1, 2, 0.3).expect("a pair");
        assert!(bytes.in_tile_bytes(0.3).is_some() && bytes.in_tile_bytes(1.0).is_none());
    }

    #[test]
    fn columns_are_constant_if_no_point_differs() {
        let values: Vec<f64> = (0..40).flat_map(|i| [2.5, f64::from(i / 39), f64::from(i), 0.0]).collect();
        let points = Points::from_f64(values, 40, 4).expect("fours");
        assert_eq!(points.constant_columns(), [0, 3]);
        assert_eq!(points.slice(0..39).constant_columns(), [0, 1, 3]);
        assert_eq!(points.slice(5..6).constant_columns(), [0, 1, 2, 3]);
        assert_eq!(points.slice(5..5).constant_columns(), [0; 0]);
    }
}
