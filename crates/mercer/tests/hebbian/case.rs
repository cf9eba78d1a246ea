//! Reading the stored cases; see `testdata/hebbian/README.md`.

use std::path::{Path, PathBuf};

use faer::Mat;
use npyz::npz::NpzArchive;

/// A stored case.
pub(crate) struct Case {
    pub(crate) name: String,
    path: PathBuf,
}

impl Case {
    /// A case by name.
    pub(crate) fn open(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hebbian");
        Self { name: name.to_owned(), path: folder.join(name).with_extension("npz") }
    }

    /// An array; vectors come as one column, numbers as one entry.
    pub(crate) fn array(&self, array: &str) -> Mat<f64> {
        let mut archive = NpzArchive::open(&self.path).unwrap();
        let npy = archive.by_name(array).unwrap().unwrap_or_else(|| panic!("{} has no {array}", self.name));
        let shape: Vec<usize> = npy.shape().iter().map(|&size| size as usize).collect();
        let (rows, columns) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
        assert_eq!(npy.order(), npyz::Order::C, "{array} of {}", self.name);
        let values: Vec<f64> = npy.into_vec().unwrap();
        Mat::from_fn(rows, columns, |i, j| values[i * columns + j])
    }

    /// A single number.
    pub(crate) fn number(&self, array: &str) -> f64 {
        self.array(array)[(0, 0)]
    }

    /// The order of samples.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut archive = NpzArchive::open(&self.path).unwrap();
        let npy = archive.by_name("in_idx").unwrap().unwrap();
        npy.into_vec::<i64>().unwrap().into_iter().map(|index| usize::try_from(index).unwrap()).collect()
    }
}
