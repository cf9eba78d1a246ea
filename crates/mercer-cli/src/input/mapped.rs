//! Numbers in a file, used where they are.

use std::fs::File;
use std::io;
use std::marker::PhantomData;

use bytemuck::Pod;
use memmap2::Mmap;

/// Maps a file that is only read.
#[expect(unsafe_code, reason = "the system call is unsafe: another process could change the file")]
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is read-only and private to this process. If somebody else changes the file meanwhile, the values
    // read are theirs (any bit pattern is a number); if somebody shortens it, the system ends this process. Both are the
    // usual contract of memory-mapped input, and neither lets wrong memory be read.
    unsafe { Mmap::map(file) }
}

/// Numbers that are in a mapped file or were converted from one.
pub(super) enum Numbers<T> {
    /// The bytes of the file from `start`, which are aligned for `T`.
    Mapped { map: Mmap, start: usize, end: usize, marker: PhantomData<T> },
    /// A converted copy.
    Owned(Vec<T>),
}

impl<T: Pod> Numbers<T> {
    /// The numbers in `map` from byte `start` to `end`; copied only if they are not aligned for their type.
    pub(super) fn in_map(map: Mmap, start: usize, end: usize) -> Self {
        match bytemuck::try_cast_slice::<u8, T>(&map[start..end]) {
            Ok(_) => Self::Mapped { map, start, end, marker: PhantomData },
            Err(_) => {
                Self::Owned(map[start..end].chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
            }
        }
    }
}

impl<T: Pod> AsRef<[T]> for Numbers<T> {
    fn as_ref(&self) -> &[T] {
        match self {
            Self::Mapped { map, start, end, .. } => bytemuck::cast_slice(&map[*start..*end]),
            Self::Owned(values) => values,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn mapped(bytes: &[u8]) -> Mmap {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        map(&file).unwrap()
    }

    #[test]
    fn aligned_numbers_are_not_copied() {
        let numbers = Numbers::<f32>::in_map(mapped(bytemuck::cast_slice(&[0.0_f32, 1.0, 2.0])), 4, 12);
        assert!(matches!(numbers, Numbers::Mapped { .. }));
        assert_eq!(numbers.as_ref(), [1.0, 2.0]);
    }

    #[test]
    fn misaligned_numbers_are_copied() {
        let mut bytes = vec![7];
        bytes.extend_from_slice(&1.5_f64.to_ne_bytes());
        let numbers = Numbers::<f64>::in_map(mapped(&bytes), 1, 9);
        assert!(matches!(numbers, Numbers::Owned(_)));
        assert_eq!(numbers.as_ref(), [1.5]);
    }
}
