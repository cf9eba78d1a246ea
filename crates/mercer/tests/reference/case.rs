//! Reading the stored cases.

use std::path::PathBuf;

use faer::{Mat, MatRef};
use mercer::{Kernel, Points};
use mercer_testkit::reference::{assert_close, largest_entry};
use npyz::Order;
use npyz::npz::NpzArchive;

/// A stored case and the kernel it was computed with.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) kernel: Kernel,
}

impl Case {
    /// All of them.
    pub(crate) fn all() -> [Self; 3] {
        let sigma: f64 = 1.3;
        [
            Self { name: "kpca_gauss", kernel: Kernel::gaussian(0.5 / (sigma * sigma)).unwrap() },
            Self { name: "kpca_poly", kernel: Kernel::polynomial(1.0, 1.0, 3).unwrap() },
            Self { name: "kpca_lin", kernel: Kernel::linear() },
        ]
    }

    /// An array of the case; vectors come as one column.
    pub(crate) fn array(&self, array: &str) -> Mat<f64> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/reference");
        let mut archive = NpzArchive::open(path.join(self.name).with_extension("npz")).unwrap();
        let npy = archive.by_name(array).unwrap().unwrap_or_else(|| panic!("{} has no {array}", self.name));
        let shape: Vec<usize> = npy.shape().iter().map(|&size| size as usize).collect();
        let (rows, columns) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
        let order = npy.order();
        let values: Vec<f64> = npy.into_vec().unwrap();
        Mat::from_fn(rows, columns, |i, j| match order {
            Order::C => values[i * columns + j],
            Order::Fortran => values[j * rows + i],
        })
    }

    /// The points, or another array of rows.
    pub(crate) fn points(&self, array: &str) -> Points {
        let x = self.array(array);
        let values: Vec<f64> = (0..x.nrows() * x.ncols()).map(|at| x[(at / x.ncols(), at % x.ncols())]).collect();
        Points::from_f64(values, x.nrows(), x.ncols()).unwrap()
    }

    /// Fails unless `found` is the array of that name, to the tolerance of the cases.
    #[track_caller]
    pub(crate) fn check(&self, array: &str, found: MatRef<'_, f64>) {
        let expected = self.array(array);
        let slack = 1e-8 * largest_entry(expected.as_ref()) + 1e-13;
        assert_close(found, expected.as_ref(), |_, _| slack, &format!("{array} of {}", self.name));
    }
}
