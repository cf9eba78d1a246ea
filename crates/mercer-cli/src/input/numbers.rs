//! Numbers in a file, used where they are.

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::Pod;

use super::room::{self, Result};
use super::source::Bytes;

/// Numbers that are among the bytes of a file or were converted from them.
pub(super) enum Numbers<T> {
    /// The bytes of the file from `start`, which are aligned for `T`.
    InPlace { bytes: Bytes, start: usize, end: usize, marker: PhantomData<T> },
    /// A converted copy.
    Owned(Vec<T>),
}

impl<T: Pod> Numbers<T> {
    /// The numbers from byte `start` to `end`; copied only if they are not aligned for their type.
    pub(super) fn in_place(bytes: Bytes, start: usize, end: usize) -> Result<Self> {
        if bytemuck::try_cast_slice::<u8, T>(&bytes[start..end]).is_ok() {
            return Ok(Self::InPlace { bytes, start, end, marker: PhantomData });
        }
        let each = bytes[start..end].chunks_exact(size_of::<T>());
        room::collect(each.len(), each.map(bytemuck::pod_read_unaligned)).map(Self::Owned)
    }

    /// Only the numbers of this range.
    pub(super) fn part(self, range: Range<usize>) -> Self {
        match self {
            Self::InPlace { bytes, start, .. } => {
                let (first, last) = (start + range.start * size_of::<T>(), start + range.end * size_of::<T>());
                Self::InPlace { bytes, start: first, end: last, marker: PhantomData }
            }
            Self::Owned(mut values) => {
                values.truncate(range.end);
                values.drain(..range.start);
                Self::Owned(values)
            }
        }
    }

    /// The numbers, free to be changed; copied only if they are in a file.
    pub(super) fn into_owned(self) -> Result<Self> {
        match &self {
            Self::InPlace { .. } => room::collect(self.as_ref().len(), self.as_ref().iter().copied()).map(Self::Owned),
            Self::Owned(_) => Ok(self),
        }
    }

    /// The numbers as a list.
    pub(super) fn into_vec(self) -> Vec<T> {
        match self {
            Self::InPlace { .. } => self.as_ref().to_vec(),
            Self::Owned(values) => values,
        }
    }
}

impl<T: Pod> AsRef<[T]> for Numbers<T> {
    fn as_ref(&self) -> &[T] {
        match self {
            Self::InPlace { bytes, start, end, .. } => bytemuck::cast_slice(&bytes[*start..*end]),
            Self::Owned(values) => values,
        }
    }
}

/// Whether double precision rounds a whole number of this magnitude: from its first binary digit that is not zero to its last there are
/// more than 53.
pub(super) fn is_rounded(magnitude: u64) -> bool {
    magnitude.checked_shr(magnitude.trailing_zeros()).is_some_and(|digits| digits >> f64::MANTISSA_DIGITS > 0)
}

#[cfg(test)]
mod tests {
    use super::super::source::Packing;
    use super::*;

    fn mapped(contents: &[u8]) -> Bytes {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        std::fs::write(&path, contents).unwrap();
        Bytes::open(&path, "x", Packing::None).unwrap()
    }

    #[test]
    fn a_whole_number_is_rounded_if_it_comes_back_as_another() {
        let large = 1_u64 << 53;
        for number in [0, 1, large - 1, large, large + 2, 3 << 60] {
            assert!(!is_rounded(number) && number as f64 as u64 == number, "{number}");
        }
        for number in [large + 1, large + 3, (1 << 60) + 1, u64::MAX - 1, u64::MAX] {
            assert!(is_rounded(number) && number as f64 as u128 != u128::from(number), "{number}");
        }
    }

    #[test]
    fn aligned_numbers_are_not_copied() {
        let numbers = Numbers::<f32>::in_place(mapped(bytemuck::cast_slice(&[0.0_f32, 1.0, 2.0, 3.0])), 4, 16).unwrap();
        assert!(matches!(numbers, Numbers::InPlace { .. }));
        assert_eq!(numbers.as_ref(), [1.0, 2.0, 3.0]);
        let part = numbers.part(1..2);
        assert!(matches!(part, Numbers::InPlace { .. }));
        assert_eq!(part.as_ref(), [2.0]);
    }

    #[test]
    fn misaligned_numbers_are_copied() {
        let mut bytes = vec![7];
        bytes.extend_from_slice(&1.5_f64.to_ne_bytes());
        bytes.extend_from_slice(&2.5_f64.to_ne_bytes());
        let numbers = Numbers::<f64>::in_place(mapped(&bytes), 1, 17).unwrap();
        assert!(matches!(numbers, Numbers::Owned(_)));
        assert_eq!(numbers.as_ref(), [1.5, 2.5]);
        assert_eq!(numbers.part(1..2).into_vec(), [2.5]);
    }
}
