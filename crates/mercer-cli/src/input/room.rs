//! Room in memory for what files hold: a file that is larger than the memory is refused, where the allocator would end the process.

use crate::failure::Failure;

/// The system has no room for so many bytes; of what grows, nobody knows how many there will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom {
    bytes: Option<u64>,
}

impl NoRoom {
    /// For `map_err`: the failure that this is while a file is read.
    pub(super) fn reading(file: &str) -> impl FnOnce(Self) -> Failure {
        move |Self { bytes }| Failure::NoMemory { file: file.to_owned(), needed: bytes }
    }
}

pub(super) type Result<T> = std::result::Result<T, NoRoom>;

/// Makes room for `more` values, and no more than that.
pub(super) fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    values.try_reserve_exact(more).map_err(|_| {
        let n = (values.len() as u64).saturating_add(more as u64);
        NoRoom { bytes: Some(n.saturating_mul(size_of::<T>() as u64)) }
    })
}

/// Makes room for `more` values in a list that grows from part to part.
pub(super) fn grow<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    values.try_reserve(more).map_err(|_| NoRoom { bytes: None })
}

/// All values of an iterator that gives `n` of them.
pub(super) fn collect<T>(n: usize, values: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut collected = Vec::new();
    reserve(&mut collected, n)?;
    collected.extend(values);
    Ok(collected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_its_size() {
        let mut values = vec![0.0_f64; 4];
        assert_eq!(reserve(&mut values, 1 << 58), Err(NoRoom { bytes: Some(((1 << 58) + 4) * 8) }));
        assert_eq!(grow(&mut values, 1 << 58), Err(NoRoom { bytes: None }));
        assert_eq!(collect(usize::MAX, std::iter::empty::<f64>()), Err(NoRoom { bytes: Some(u64::MAX) }));
        assert_eq!(collect(3, [1, 2, 3].into_iter()), Ok(vec![1, 2, 3]));
        let failure = NoRoom::reading("x.csv")(NoRoom { bytes: Some(3 << 40) });
        assert_eq!(failure.to_string(), "x.csv: what it holds takes 3.0 TiB, and there is not so much memory");
        assert_eq!(failure.status().code(), 3);
    }
}
