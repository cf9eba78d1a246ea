//! Points that several files cluster.

use faer::Mat;
use mercer::{Kernel, Points, SpectralClustering};
use mercer_testkit::Format;
use mercer_testkit::generate::clusters;

pub(crate) fn points_of(rows: &Mat<f64>) -> Points {
    let values: Vec<f64> = rows.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()).collect();
    Points::from_f64(values, rows.nrows(), rows.ncols()).unwrap()
}

pub(crate) fn four_heaps() -> (Points, SpectralClustering) {
    let points = clusters(600, 5, 4, 7).points(Format::F64);
    (points, SpectralClustering::new(Kernel::gaussian(0.5).unwrap(), 4))
}
