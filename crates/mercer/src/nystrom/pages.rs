//! Matrices in memory that is handed out in huge pages, when it is first written and by the thread that writes it.
//!
//! A fit over landmarks takes fractions of a second. Were its matrices allocated as others are, a good part of that would be one thread's, for
//! pages of four kilobytes one after the other.

use faer::{MatMut, MatRef};

use crate::gram::Element;
use crate::memory::Buffer;

/// What columns begin at multiples of, as those of other matrices do: a cache line.
const LINE: usize = 64;

/// A matrix, column by column.
pub(super) struct Pages<T> {
    numbers: Buffer<T>,
    rows: usize,
    columns: usize,
    /// Numbers from the beginning of a column to that of the next.
    stride: usize,
}

impl<T: Element> Pages<T> {
    /// A matrix of zeros.
    pub(super) fn zeros(rows: usize, columns: usize) -> Self {
        let stride = rows.next_multiple_of(LINE / size_of::<T>());
        Self { numbers: Buffer::zeroed(stride * columns), rows, columns, stride }
    }

    pub(super) fn as_ref(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice_with_stride(&self.numbers, self.rows, self.columns, self.stride)
    }

    pub(super) fn as_mut(&mut self) -> MatMut<'_, T> {
        MatMut::from_column_major_slice_with_stride_mut(&mut self.numbers, self.rows, self.columns, self.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_of_any_shape_holds_what_is_written_to_it() {
        // No numbers at all, a column that is no multiple of a cache line, and enough for memory that is mapped.
        for (rows, columns) in [(0, 0), (0, 3), (3, 0), (1, 1), (100, 7), (700, 500)] {
            let mut pages = Pages::<f32>::zeros(rows, columns);
            assert_eq!((pages.as_ref().nrows(), pages.as_ref().ncols()), (rows, columns));
            for (j, column) in pages.as_mut().col_iter_mut().enumerate() {
                for (i, number) in column.iter_mut().enumerate() {
                    assert_eq!(number.to_bits(), 0);
                    *number = (i * columns + j) as f32;
                }
            }
            for (j, column) in pages.as_ref().col_iter().enumerate() {
                assert!(column.iter().enumerate().all(|(i, x)| x.to_bits() == ((i * columns + j) as f32).to_bits()));
            }
        }
    }
}
