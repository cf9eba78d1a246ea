//! Where a run starts: coefficients, and the order of samples.

use faer::{Mat, MatRef};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::checkpoint::fingerprint;
use super::settings::Start;
use crate::data::{Points, RowsRef};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::{Model, digest};
use crate::record::KernelRecord;
use crate::watch::{Threads, Watch};

/// Sizes of a component, the geometric mean of its coefficients' and its scores', that arithmetic has room around: it ends with one.
const SIZES: std::ops::RangeInclusive<f64> = 1e-100..=1e50;

/// The start coefficients, one column per component, and which of them are given.
pub(super) fn coefficients(
    start: &Start<'_>,
    n_components: usize,
    points: &Points,
    seed: u64,
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<(Mat<f64>, Vec<bool>)> {
    if let Some(given) = start.coefficients {
        return Ok((given.transpose().to_owned(), vec![true; n_components]));
    }
    let mut random = random(points.n_samples(), n_components, seed);
    if let Some(model) = start.model {
        let known = of_model(model, points, threads, watch)?;
        // A component of eigenvalue zero is no direction.
        let is_given = |j: usize| j < known.ncols() && known.col(j).iter().any(|&x| x != 0.0);
        let given: Vec<bool> = (0..n_components).map(is_given).collect();
        for j in (0..n_components).filter(|&j| given[j]) {
            random.col_mut(j).copy_from(known.col(j));
        }
        return Ok((random, given));
    }
    Ok((random, vec![false; n_components]))
}

/// Refuses components that are given and are nothing in feature space, or of a size that no arithmetic has room for. `noise` is what
/// rounding makes of coefficients of length one that the matrix takes to zero.
pub(super) fn check_given(
    start: &Start<'_>,
    given: &[bool],
    coefficients: MatRef<'_, f64>,
    images: MatRef<'_, f64>,
    noise: f64,
) -> Result<()> {
    let (name, what) =
        if start.coefficients.is_some() { ("initial_coefficients", "row") } else { ("initial_model", "component") };
    for j in (0..given.len()).filter(|&j| given[j]) {
        let (length, image) = (length(coefficients, j), length(images, j));
        if SIZES.contains(&length) && image <= noise * length {
            let requirement = format!(
                "{what}s that differ from zero in feature space, or they would stay zero forever (where points are centred, a constant is zero)"
            );
            return Err(Error::invalid(name, requirement, format!("zero in {what} {j}")));
        }
        let size = length.sqrt() * image.sqrt();
        if !SIZES.contains(&size) {
            let requirement = format!("{what}s whose length in feature space can be squared: they end with one");
            return Err(Error::invalid(name, requirement, format!("of length {size:.1e} in {what} {j}")));
        }
    }
    Ok(())
}

/// The length of a column, whatever its size.
fn length(matrix: MatRef<'_, f64>, column: usize) -> f64 {
    let largest =
        matrix.col(column).iter().fold(0.0_f64, |most, x| if x.is_nan() { f64::NAN } else { most.max(x.abs()) });
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * matrix.col(column).iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
}

impl Start<'_> {
    /// Whether there is anything but a random start.
    pub(super) fn is_given(&self) -> bool {
        self.coefficients.is_some() || self.model.is_some()
    }

    /// A digest of what is given; nothing if the start is random.
    pub(super) fn fingerprint(&self) -> Option<String> {
        let of = |what: &str, matrix: MatRef<'_, f64>| {
            let shape = [matrix.nrows(), matrix.ncols()];
            let bytes: Vec<u8> =
                (0..matrix.ncols()).flat_map(|j| matrix.col(j).iter().flat_map(|x| x.to_le_bytes())).collect();
            digest(what, std::iter::once(("start", shape.as_slice(), bytes)))
        };
        match (self.coefficients, self.model) {
            (Some(coefficients), _) => Some(of("coefficients", coefficients)),
            (None, Some(model)) => {
                let kernel = KernelRecord::from(model.kernel());
                let what = format!("model {kernel:?} of {}", fingerprint(model.basis()));
                Some(of(&what, model.dual_coefficients()))
            }
            (None, None) => None,
        }
    }

    /// Refuses a model whose directions are of another feature space than the kernel's, or of points before a scaling.
    pub(super) fn check_model(&self, kernel: &Kernel) -> Result<()> {
        let Some(model) = self.model else { return Ok(()) };
        if model.scaling().is_some() {
            let requirement = "a model without a scaling, of points that were scaled as these are: what it scales would not be what is learned from";
            return Err(Error::invalid("initial_model", requirement, "one that scales its points itself"));
        }
        let (there, here) = (KernelRecord::from(model.kernel()), KernelRecord::from(kernel));
        if there == here {
            return Ok(());
        }
        let requirement =
            format!("of the kernel that is learned with ({here}): directions of another one mean nothing to it");
        Err(Error::invalid("initial_model", requirement, format!("of {there}")))
    }
}

/// Shortens components that start at random, and their images `A K'`, for points that are long in feature space.
///
/// Algorithm 1 of [GSV07](super) takes coefficients of "suitably small variance", `1 / (r n)`, whatever the kernel is: components then have a
/// squared length of the points' mean square over `r`. Kernels up to one make that at most `1 / r`. A dot product need not, and from
/// far above one, where components end, the cubic term of an update sends them to infinity at gains that suit the rest of the
/// run. So coefficients are divided by the root of the mean square, if that exceeds one.
pub(super) fn shorten(given: &[bool], mean_square: f64, coefficients: &mut Mat<f64>, images: &mut Mat<f64>) {
    let factor = 1.0 / mean_square.max(1.0).sqrt();
    if factor < 1.0 {
        for matrix in [coefficients, images] {
            for j in (0..matrix.ncols()).filter(|&j| !given[j]) {
                matrix.col_mut(j).iter_mut().for_each(|x| *x *= factor);
            }
        }
    }
}

/// Independent normal numbers of variance `1 / (r n)`: Algorithm 1, step 1(b) of [GSV07](super).
fn random(n: usize, r: usize, seed: u64) -> Mat<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = move || ((random.next_u64() >> 11) as f64 + 0.5) * 0.5_f64.powi(53);
    let deviation = 1.0 / ((r * n) as f64).sqrt();
    // By Box and Muller; component by component, so that a component does not depend on how many there are but for its scale.
    Mat::from_fn(n, r, |_, _| {
        let radius = (-2.0 * uniform().ln()).sqrt();
        deviation * radius * (std::f64::consts::TAU * uniform()).cos()
    })
}

/// Coefficients over `points` of the directions of a model.
fn of_model(model: &Model, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Mat<f64>> {
    let own = matches!(model.kernel(), Kernel::Precomputed) && model.n_features() == points.n_samples();
    if own || same_points(model.basis(), points) {
        return Ok(model.dual_coefficients().to_owned());
    }
    // A direction's scores s at the points, divided by s·s, are its coefficients if the direction is an eigenvector: with
    // coefficients v/√λ the scores are √λ v. If it nearly is, they are its image under one step of the power method.
    let mut scores = model.transform_watched(points, threads, watch)?;
    for j in 0..scores.ncols() {
        let square: f64 = scores.col(j).iter().map(|s| s * s).sum();
        if square > 0.0 {
            scores.col_mut(j).iter_mut().for_each(|s| *s /= square);
        }
    }
    Ok(scores)
}

fn same_points(a: &Points, b: &Points) -> bool {
    if (a.n_samples(), a.n_features()) != (b.n_samples(), b.n_features()) {
        return false;
    }
    match (a.rows(0..a.n_samples()), b.rows(0..b.n_samples())) {
        (RowsRef::F32(a), RowsRef::F32(b)) => a == b,
        (RowsRef::F64(a), RowsRef::F64(b)) => a == b,
        (RowsRef::U8 { values: a, scale: x }, RowsRef::U8 { values: b, scale: y }) => {
            a == b && x.to_bits() == y.to_bits()
        }
        _ => false,
    }
}

/// The first row in which two sets of as many points differ, by more than single precision where either has it.
pub(super) fn first_difference(a: &Points, b: &Points) -> Option<usize> {
    if same_points(a, b) {
        return None;
    }
    let are_single = [a, b].iter().any(|points| !matches!(points.rows(0..0), RowsRef::F64(_)));
    let least = if are_single { f64::from(f32::EPSILON) } else { 0.0 };
    let same = |(x, y): (&f64, &f64)| (x - y).abs() <= least * y.abs();
    (0..a.n_samples()).find(|&i| {
        let (a, b) = (a.row(i), b.row(i));
        a.len() != b.len() || !a.iter().zip(&b).all(same)
    })
}

/// The order of the samples in a pass: a permutation that depends on seed and pass only.
pub(super) fn permutation(n: usize, seed: u64, pass: usize) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Stream zero is that of the start coefficients.
    random.set_stream(pass as u64 + 1);
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut random);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_coefficients_have_the_variance_of_algorithm_1() {
        let (n, r) = (4000, 5);
        let a = random(n, r, 1);
        let sum: f64 = (0..r).map(|j| a.col(j).iter().map(|x| x * x).sum::<f64>()).sum();
        // 20000 squares of mean 1/20000: the sum is 1 with deviation sqrt(2/20000) = 0.01.
        assert!((sum - 1.0).abs() < 0.05, "{sum}");
    }

    #[test]
    fn random_starts_of_long_points_are_shortened_and_given_ones_are_not() {
        let start = random(30, 2, 4);
        for (given, mean_square, factors) in
            [([false; 2], 0.25, [1.0; 2]), ([false; 2], 16.0, [0.25; 2]), ([true, false], 16.0, [1.0, 0.25])]
        {
            let (mut coefficients, mut images) = (start.clone(), start.clone());
            shorten(&given, mean_square, &mut coefficients, &mut images);
            let expected = Mat::from_fn(30, 2, |i, j| factors[j] * start[(i, j)]);
            assert!(coefficients == expected && images == expected, "{mean_square} {factors:?}");
        }
    }

    #[test]
    fn every_pass_has_a_permutation_of_its_own() {
        let first = permutation(50, 3, 0);
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        assert_eq!(first, permutation(50, 3, 0));
        assert_ne!(first, permutation(50, 3, 1));
        assert_ne!(first, permutation(50, 4, 0));
    }
}
