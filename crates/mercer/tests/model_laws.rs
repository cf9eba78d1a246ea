//! Laws that kernel PCA obeys, whatever the implementation.
#![allow(clippy::unwrap_used)]

use faer::{Mat, MatRef};
use mercer::gram::StoreFormat;
use mercer::kernel::PairFunction;
use mercer::{Center, GramChoice, Kernel, KernelPca, MemoryBudget, Model, Negative, Points, Precision, SolverChoice};

/// A smooth cloud of `n` points on three bent strands in `d` dimensions; the same on every machine.
fn cloud(n: usize, d: usize) -> Vec<f64> {
    (0..n)
        .flat_map(|i| {
            let t = i as f64 * 0.618_033_988_75;
            let strand = (i % 3) as f64;
            (0..d).map(move |j| (t * (1.0 + 0.3 * j as f64) + strand).sin() + 0.5 * strand * (j as f64 * 1.7).cos())
        })
        .collect()
}

fn points(n: usize, d: usize) -> Points {
    Points::from_f64(cloud(n, d), n, d).unwrap()
}

/// The largest sine of an angle between the column spans.
fn largest_angle(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    let unit = |m: MatRef<'_, f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)] / m.col(j).norm_l2());
    let (a, b) = (unit(a), unit(b));
    // Columns of scores are orthogonal, so what b leaves outside the span of a is b - a aᵀ b.
    let outside = &b - &a * (a.transpose() * &b);
    outside.col_iter().map(|column| column.norm_l2()).fold(0.0, f64::max)
}

fn gaussian() -> Kernel {
    Kernel::gaussian(0.3).unwrap()
}

#[test]
fn a_linear_kernel_gives_the_principal_components_of_the_data() {
    let (n, d, k) = (60, 5, 3);
    let values = cloud(n, d);
    let model = KernelPca::new(Kernel::linear()).n_components(k).fit(&points(n, d)).unwrap();
    // PCA by its own definition: eigenvectors of the d by d scatter matrix, by power iteration with deflation.
    let mean: Vec<f64> = (0..d).map(|j| (0..n).map(|i| values[i * d + j]).sum::<f64>() / n as f64).collect();
    let x = Mat::from_fn(n, d, |i, j| values[i * d + j] - mean[j]);
    let mut scatter = x.transpose() * &x;
    for c in 0..k {
        let mut v = Mat::from_fn(d, 1, |i, _| 1.0 + i as f64);
        for _ in 0..3000 {
            v = &scatter * &v;
            let norm = v.norm_l2();
            v = Mat::from_fn(d, 1, |i, _| v[(i, 0)] / norm);
        }
        let lambda = (v.transpose() * &scatter * &v)[(0, 0)];
        assert!((lambda - model.eigenvalues()[c]).abs() < 1e-9 * lambda, "eigenvalue {c}");
        let scores = &x * &v;
        let own = model.training_scores();
        let sign = if (0..n).map(|i| scores[(i, 0)] * own[(i, c)]).sum::<f64>() > 0.0 { 1.0 } else { -1.0 };
        for i in 0..n {
            assert!((sign * own[(i, c)] - scores[(i, 0)]).abs() < 1e-6, "score {i} of component {c}");
        }
        scatter = &scatter - &v * v.transpose() * faer::Scale(lambda);
    }
}

#[test]
fn copies_far_from_all_other_points_count_in_single_precision() {
    let mut values: Vec<f32> = cloud(494, 2).into_iter().map(|x| x as f32).collect();
    values.extend([0.3_f32, 3000.7].repeat(6));
    let fit = |points: Points| KernelPca::new(gaussian()).n_components(8).fit(&points).unwrap();
    let wide = values.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    let (single, double) =
        (fit(Points::from_f32(values, 500, 2).unwrap()), fit(Points::from_f64(wide, 500, 2).unwrap()));
    for (found, expected) in single.eigenvalues().iter().zip(double.eigenvalues()) {
        assert!((found - expected).abs() < 1e-5 * double.eigenvalues()[0], "{found} for {expected}");
    }
}

#[test]
fn copies_among_unscaled_points_count_in_single_precision() {
    for seed in 0..4 {
        let mut values: Vec<f32> =
            cloud(1200, 6).into_iter().map(|x| (500.0 + 250.0 * x) as f32 + seed as f32).collect();
        let row: Vec<f32> = values[600..606].to_vec();
        for copy in [3, 200, 333, 590, 777, 1001] {
            values[6 * copy..6 * copy + 6].copy_from_slice(&row);
        }
        let fit = |points: Points| {
            KernelPca::new(Kernel::gaussian(0.05).unwrap()).n_components(1).fit(&points).unwrap().eigenvalues()[0]
        };
        let wide = values.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        let (single, double) =
            (fit(Points::from_f32(values, 1200, 6).unwrap()), fit(Points::from_f64(wide, 1200, 6).unwrap()));
        assert!((single - double).abs() < 1e-5 * double, "seed {seed}: {single} for {double}");
    }
}

#[test]
fn a_point_at_1e30_leaves_the_others_their_distances() {
    let mut values = cloud(200, 3);
    values.extend([1e30, 0.0, 0.0]);
    let found = KernelPca::new(gaussian()).center(Center::No).n_components(5);
    let found = found.fit(&Points::from_f64(values, 201, 3).unwrap()).unwrap();
    // The point is alone, and its eigenvalue 1; the others are as without it.
    let alone = KernelPca::new(gaussian()).center(Center::No).n_components(5).fit(&points(200, 3)).unwrap();
    for (a, b) in found.eigenvalues().iter().zip(alone.eigenvalues()) {
        assert!((a - b).abs() < 1e-9 * alone.eigenvalues()[0], "{a} for {b}");
    }
}

#[test]
fn residuals_in_single_precision_are_those_of_the_kernel_s_own_matrix() {
    // Narrow to wide kernels: centring takes away more and more of what entries have in common.
    let (n, d) = (400, 6);
    let values: Vec<f32> = cloud(n, d).into_iter().map(|x| x as f32).collect();
    let exact: Vec<f64> = values.iter().map(|x| f64::from(*x)).collect();
    let data = Points::from_f32(values, n, d).unwrap();
    for gamma in [0.3, 1e-2, 1e-4] {
        let kernel = Kernel::gaussian(gamma).unwrap();
        let pca = KernelPca::new(kernel.clone()).n_components(4).solver(SolverChoice::Krylov);
        let model = pca.precision(Precision::F32).tolerance(1e-2).fit(&data).unwrap();
        let gram =
            Mat::from_fn(n, n, |i, j| kernel.evaluate(&exact[i * d..(i + 1) * d], &exact[j * d..(j + 1) * d]).unwrap());
        let means: Vec<f64> = (0..n).map(|j| gram.col(j).iter().sum::<f64>() / n as f64).collect();
        let mean = means.iter().sum::<f64>() / n as f64;
        let centred = Mat::from_fn(n, n, |i, j| gram[(i, j)] - means[i] - means[j] + mean);
        let scores = model.training_scores();
        for (c, (&value, &residual)) in model.eigenvalues().iter().zip(model.residuals()).enumerate() {
            let vector = Mat::from_fn(n, 1, |i, _| scores[(i, c)] / value.sqrt());
            let image = &centred * &vector;
            let norm = (0..n).map(|i| (image[(i, 0)] - value * vector[(i, 0)]).powi(2)).sum::<f64>().sqrt();
            let actual = norm / model.eigenvalues()[0];
            assert!(actual <= 1.5 * residual, "gamma {gamma}, component {c}: {actual:e} is reported as {residual:e}");
        }
    }
}

#[test]
fn transforming_the_training_points_gives_their_scores() {
    for kernel in
        [gaussian(), Kernel::linear(), Kernel::laplacian(0.2).unwrap(), Kernel::polynomial(0.1, 1.0, 3).unwrap()]
    {
        for center in [Center::Yes, Center::No] {
            let data = points(150, 4);
            let model = KernelPca::new(kernel.clone()).n_components(4).center(center).fit(&data).unwrap();
            let gap = (model.transform(&data).unwrap() - model.training_scores()).norm_max();
            let size = model.training_scores().norm_max();
            assert!(gap < 1e-8 * size, "{}: {gap:e} of {size}", kernel.name());
        }
    }
}

#[test]
fn moving_all_points_changes_nothing_for_a_gaussian_kernel() {
    let (n, d) = (200, 4);
    let near = cloud(n, d);
    for shift in [1000.0, -12345.0] {
        // Eighths survive the shift in single precision.
        let near: Vec<f32> = near.iter().map(|x| (x * 8.0).round() as f32 / 8.0).collect();
        let far: Vec<f32> = near.iter().map(|x| x + shift).collect();
        let fit = |values: Vec<f32>| {
            KernelPca::new(gaussian()).n_components(4).fit(&Points::from_f32(values, n, d).unwrap()).unwrap()
        };
        let (a, b) = (fit(near), fit(far));
        for (x, y) in a.eigenvalues().iter().zip(b.eigenvalues()) {
            assert!((x - y).abs() < 1e-5 * a.eigenvalues()[0], "shifted by {shift}: {x} became {y}");
        }
    }
}

#[test]
fn the_order_of_the_points_does_not_matter() {
    let (n, d) = (180, 3);
    let values = cloud(n, d);
    let order: Vec<usize> = (0..n).map(|i| (i * 77) % n).collect();
    let shuffled: Vec<f64> = order.iter().flat_map(|&i| values[i * d..(i + 1) * d].to_vec()).collect();
    let fit = |values: Vec<f64>| {
        KernelPca::new(gaussian()).n_components(3).fit(&Points::from_f64(values, n, d).unwrap()).unwrap()
    };
    let (a, b) = (fit(values), fit(shuffled));
    let (a_scores, b_scores) = (a.training_scores(), b.training_scores());
    let back = Mat::from_fn(n, 3, |i, j| b_scores[(order.iter().position(|&o| o == i).unwrap(), j)]);
    assert!(largest_angle(a_scores.as_ref(), back.as_ref()) < 1e-9);
    for (x, y) in a.eigenvalues().iter().zip(b.eigenvalues()) {
        assert!((x - y).abs() < 1e-10 * x);
    }
}

#[test]
fn single_precision_is_close_to_double_precision() {
    let (n, d) = (700, 6);
    let values = cloud(n, d);
    let double = KernelPca::new(gaussian()).n_components(5).fit(&points(n, d)).unwrap();
    let single: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let single = KernelPca::new(gaussian()).n_components(5).fit(&Points::from_f32(single, n, d).unwrap()).unwrap();
    assert_eq!((double.precision(), single.precision()), (Precision::F64, Precision::F32));
    for (x, y) in double.eigenvalues().iter().zip(single.eigenvalues()) {
        assert!((x - y).abs() < 4e-6 * double.eigenvalues()[0], "{x} and {y}");
    }
    assert!(largest_angle(double.training_scores().as_ref(), single.training_scores().as_ref()) < 1e-4);
}

#[test]
fn bytes_give_the_same_model_as_the_numbers_they_stand_for() {
    let (n, d) = (600, 20);
    let bytes: Vec<u8> = (0..n * d).map(|i| ((i * i / 7 + i / d * 31) % 256) as u8).collect();
    let floats: Vec<f64> = bytes.iter().map(|&x| f64::from(x) / 255.0).collect();
    for kernel in [Kernel::gaussian(0.1).unwrap(), Kernel::linear(), Kernel::laplacian(0.05).unwrap(), Kernel::cosine()]
    {
        let pca = KernelPca::new(kernel.clone()).n_components(4);
        let a = pca.fit(&Points::from_u8(bytes.clone(), n, d, 1.0 / 255.0).unwrap()).unwrap();
        let b = pca.fit(&Points::from_f64(floats.clone(), n, d).unwrap()).unwrap();
        for (x, y) in a.eigenvalues().iter().zip(b.eigenvalues()) {
            assert!((x - y).abs() < 4e-6 * b.eigenvalues()[0], "{}: {x} and {y}", kernel.name());
        }
        // Queries between the bytes meet the same model.
        let queries = Points::from_f64(floats[..5 * d].to_vec(), 5, d).unwrap();
        let gap = (a.transform(&queries).unwrap() - a.training_scores().subrows(0, 5)).norm_max();
        assert!(gap < 1e-4 * a.training_scores().norm_max(), "{}: {gap:e}", kernel.name());
    }
}

#[test]
fn stored_tiles_give_the_same_components_as_recomputed_ones() {
    let data = points(900, 8);
    let fit = |gram: GramChoice| {
        let pca = KernelPca::new(gaussian()).n_components(5).solver(SolverChoice::Krylov).gram(gram);
        pca.fit(&data).unwrap()
    };
    let (tiled, stored) = (fit(GramChoice::Tiled), fit(GramChoice::Stored));
    assert_eq!((tiled.record().gram.as_str(), stored.record().gram.as_str()), ("tiled", "stored"));
    assert!(stored.record().kernel_entries < tiled.record().kernel_entries);
    assert!(largest_angle(tiled.training_scores().as_ref(), stored.training_scores().as_ref()) < 1e-7);
}

#[test]
fn a_fit_gives_the_same_bits_on_any_number_of_threads() {
    let data = points(1100, 5);
    for solver in ["dense", "krylov", "lanczos"] {
        let bits = |threads: usize| -> Vec<u64> {
            let pca = KernelPca::new(gaussian()).n_components(4).threads(threads).solver(solver.parse().unwrap());
            let model = pca.fit(&data).unwrap();
            model
                .dual_coefficients()
                .col_iter()
                .flat_map(|c| c.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
                .collect()
        };
        let one = bits(1);
        for threads in [2, 3] {
            assert!(bits(threads) == one, "{solver}: 1 and {threads} threads differ");
        }
    }
}

#[test]
fn a_precomputed_matrix_gives_the_same_model_as_its_kernel() {
    let (n, d, m) = (120, 3, 7);
    let (data, queries) = (points(n, d), points(m + n, d).slice(n..n + m));
    let kernel = gaussian();
    let entries = |rows: &Points| -> Vec<f64> {
        (0..rows.n_samples())
            .flat_map(|i| (0..n).map(|j| kernel.evaluate(&rows.row(i), &data.row(j)).unwrap()).collect::<Vec<_>>())
            .collect()
    };
    let matrix = Points::from_f64(entries(&data), n, n).unwrap();
    let a = KernelPca::new(kernel.clone()).n_components(3).fit(&data).unwrap();
    let b = KernelPca::new(Kernel::Precomputed).n_components(3).fit(&matrix).unwrap();
    assert_eq!(b.record().gram, "precomputed");
    let from_rows = b.transform(&Points::from_f64(entries(&queries), m, n).unwrap()).unwrap();
    assert!((a.transform(&queries).unwrap() - from_rows).norm_max() < 1e-9);
}

#[test]
fn a_kernel_of_ones_own_gives_the_same_model_as_the_built_in_one() {
    let data = points(100, 3);
    let own = Kernel::custom(PairFunction::new("own", |x: &[f64], y: &[f64]| {
        (-0.3 * x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp()
    }));
    let a = KernelPca::new(gaussian()).n_components(3).fit(&data).unwrap();
    let b = KernelPca::new(own).n_components(3).fit(&data).unwrap();
    assert!((a.training_scores() - b.training_scores()).norm_max() < 1e-9);
}

fn explained(model: &Model) -> f64 {
    model.explained_variance_ratio().iter().sum()
}

#[test]
fn a_share_of_the_variance_is_reached_with_the_fewest_components() {
    for (n, share) in [(80, 0.5), (80, 0.95), (700, 0.9), (700, 0.999)] {
        let model = KernelPca::new(gaussian()).variance(share).fit(&points(n, 4)).unwrap();
        let k = model.n_components();
        assert!(explained(&model) >= share, "n = {n}, share {share}: {} is explained", explained(&model));
        let without_last: f64 = model.explained_variance_ratio()[..k - 1].iter().sum();
        assert!(without_last < share, "n = {n}, share {share}: {k} components are more than needed");
    }
}

#[test]
fn a_share_of_the_variance_is_not_of_a_trace_that_negative_eigenvalues_diminish() {
    // Eigenvalues 1, 2, …, 20, whose sum is 210, and -0.5, -1.5, …, -19.5: the trace is 10.
    let n = 40;
    let eigenvalue = |i: usize| if i < 20 { (i + 1) as f64 } else { 19.5 - i as f64 };
    let entry = |at: usize| if at.is_multiple_of(n + 1) { eigenvalue(at / n) } else { 0.0 };
    let data = Points::from_f64((0..n * n).map(entry).collect::<Vec<_>>(), n, n).unwrap();
    let fit = |negative, share| {
        let pca = KernelPca::new(Kernel::Precomputed).variance(share).center(Center::No).negative(negative);
        let model = pca.fit(&data).unwrap();
        assert!(model.converged() && (model.total_variance() - 10.0).abs() < 1e-9);
        (model.n_components(), explained(&model))
    };
    for (negative, share, expected) in [
        (Negative::Clip, 0.88, (14, 189.0 / 210.0)),
        (Negative::Clip, 0.99, (19, 209.0 / 210.0)),
        (Negative::Flip, 0.5, (12, 207.0 / 410.0)),
    ] {
        let (count, ratio) = fit(negative, share);
        assert_eq!(count, expected.0, "{negative:?}, share {share}");
        assert!((ratio - expected.1).abs() < 1e-9, "{negative:?}, share {share}: {ratio} is explained");
    }
}

#[test]
fn a_share_that_memory_does_not_suffice_for_has_not_converged() {
    // A narrow kernel has a flat spectrum: half of the variance takes hundreds of components.
    let data = points(1000, 4);
    let pca = |memory| {
        KernelPca::new(Kernel::gaussian(500.0).unwrap())
            .variance(0.5)
            .gram(GramChoice::Tiled)
            .tolerance(1e-4)
            .threads(1)
            .memory(memory)
    };
    let model = pca(MemoryBudget::Bytes(5 << 19)).fit(&data).unwrap();
    assert!(!model.converged() && explained(&model) < 0.5);
    assert!(model.residuals().iter().all(|&residual| residual <= model.record().tolerance));
    let warnings = &model.record().warnings;
    assert!(warnings.iter().any(|warning| warning.contains("would not fit the memory budget")), "{warnings:?}");
    assert!(pca(MemoryBudget::Auto).fit(&data).unwrap().converged());
}

#[test]
fn all_of_the_variance_takes_all_components() {
    let model = KernelPca::new(gaussian()).variance(1.0).fit(&points(60, 4)).unwrap();
    assert!((explained(&model) - 1.0).abs() < 1e-9);
}

#[test]
fn a_small_budget_keeps_fewer_tiles_and_gives_the_same_answer() {
    let data = points(2000, 30);
    let fit = |memory: &str| {
        let pca = KernelPca::new(Kernel::gaussian(0.05).unwrap()).n_components(4);
        pca.memory(memory.parse::<MemoryBudget>().unwrap()).fit(&data).unwrap()
    };
    let (small, large) = (fit("8MB"), fit("1GB"));
    assert!(small.record().plan.stored_share < 0.5 && large.record().plan.stored_share >= 1.0);
    assert!(small.record().kernel_entries > large.record().kernel_entries);
    assert!(largest_angle(small.training_scores().as_ref(), large.training_scores().as_ref()) < 1e-6);
}

/// Points on strands that are apart, whose tiles take 5.2 MB in single precision and 8.1 in double, and a fit within 6 MB.
fn tight_fit(gamma: f64, precision: Precision) -> (Points, KernelPca) {
    let (n, d) = (1200, 30);
    let apart = |i: usize| if i % d < 4 { 2.0 * (i / d % 3) as f64 } else { 0.0 };
    let values: Vec<f64> = cloud(n, d).into_iter().enumerate().map(|(i, x)| x + apart(i)).collect();
    let data = match precision {
        Precision::F32 => Points::from_f32(values.into_iter().map(|x| x as f32).collect::<Vec<_>>(), n, d),
        Precision::F64 => Points::from_f64(values, n, d),
    };
    let pca = KernelPca::new(Kernel::gaussian(gamma).unwrap()).n_components(4).tolerance(1e-4).gram(GramChoice::Stored);
    (data.unwrap(), pca.threads(2).memory("6MB".parse().unwrap()))
}

fn exact(pca: &KernelPca, data: &Points) -> Model {
    let pca = pca.clone().precision(Precision::F64).solver(SolverChoice::Dense).memory(MemoryBudget::Auto);
    pca.gram(GramChoice::Tiled).fit(data).unwrap()
}

#[test]
fn tiles_that_do_not_fit_are_kept_in_fixed_point_with_residuals_that_say_what_it_costs() {
    for (precision, center) in
        [(Precision::F32, Center::Yes), (Precision::F32, Center::No), (Precision::F64, Center::Yes)]
    {
        let (data, pca) = tight_fit(0.02, precision);
        let pca = pca.center(center);
        let (fixed, exact) = (pca.fit(&data).unwrap(), exact(&pca, &data));
        let plan = &fixed.record().plan;
        assert_eq!(plan.store_format, StoreFormat::Fixed16, "{plan:?}");
        assert!(plan.reasons.iter().any(|r| r.starts_with("16-bit fixed point, because it changes")), "{plan:?}");
        assert!(fixed.converged());
        let first = exact.eigenvalues()[0];
        // Errors of half a level that have nothing to do with one another.
        let least = 2.0 * StoreFormat::Fixed16.entry_error() / 3.0_f64.sqrt() * 1200.0_f64.sqrt() / first;
        for ((x, y), &residual) in exact.eigenvalues().iter().zip(fixed.eigenvalues()).zip(fixed.residuals()) {
            assert!((x - y).abs() <= residual * first, "{x} and {y}, which is to be within {residual:e} of {first}");
            assert!((least..=1e-4).contains(&residual), "{residual:e}, and the rounding alone is {least:e}");
        }
    }
}

#[test]
fn tiles_of_a_kernel_that_fixed_point_is_too_coarse_for_are_kept_as_they_are() {
    // All its values lie within some levels of one another.
    let (data, pca) = tight_fit(1e-5, Precision::F32);
    let (model, exact) = (pca.fit(&data).unwrap(), exact(&pca, &data));
    let plan = &model.record().plan;
    assert!(plan.store_format == StoreFormat::Full && (0.0..1.0).contains(&plan.stored_share), "{plan:?}");
    assert!(plan.reasons.iter().any(|r| r.starts_with("no 16-bit fixed point, because it would change")), "{plan:?}");
    assert!(model.converged());
    for (x, y) in exact.eigenvalues().iter().zip(model.eigenvalues()) {
        assert!((x - y).abs() <= 1e-4 * exact.eigenvalues()[0], "{x} and {y}");
    }
}

#[test]
fn fixed_point_tiles_stay_within_the_tolerance_that_permits_them() {
    let (n, d) = (3000, 30);
    let values: Vec<f32> = cloud(n, d).into_iter().map(|x| x as f32).collect();
    let data = Points::from_f32(values, n, d).unwrap();
    let pca = KernelPca::new(Kernel::gaussian(0.05).unwrap()).n_components(4).tolerance(2e-3).gram(GramChoice::Stored);
    let exact = pca.clone().fit(&data).unwrap();
    let fixed = pca.memory("24MB".parse().unwrap()).fit(&data).unwrap();
    assert!(fixed.record().plan.reasons.iter().any(|r| r.contains("16-bit fixed point")), "{:?}", fixed.record().plan);
    for (x, y) in exact.eigenvalues().iter().zip(fixed.eigenvalues()) {
        assert!((x - y).abs() < 1e-4 * exact.eigenvalues()[0], "{x} and {y}");
    }
}

#[test]
fn negative_eigenvalues_are_an_error_clipped_or_flipped_as_asked() {
    // [[0, 1], [1, 0]] blown up: eigenvalues n/2 and -n/2.
    let n = 40;
    let matrix: Vec<f64> = (0..n * n).map(|i| if (i / n + i % n) % 2 == 1 { 1.0 } else { 0.0 }).collect();
    let data = Points::from_f64(matrix, n, n).unwrap();
    let pca = KernelPca::new(Kernel::Precomputed).n_components(2).center(Center::No);
    let error = pca.clone().fit(&data).unwrap_err().to_string();
    assert!(error.starts_with("there are significant negative eigenvalues (1.0e0 of the largest)"), "{error}");
    let clipped = pca.clone().negative(Negative::Clip).fit(&data).unwrap();
    assert_eq!(clipped.n_components(), 1);
    let flipped = pca.negative(Negative::Flip).fit(&data).unwrap();
    assert_eq!(flipped.n_components(), 2);
    assert!(
        (flipped.eigenvalues()[0].abs() - 20.0).abs() < 1e-9 && (flipped.eigenvalues()[1].abs() - 20.0).abs() < 1e-9
    );
    let gap = (flipped.transform(&data).unwrap() - flipped.training_scores()).norm_max();
    assert!(gap < 1e-9, "scores of a flipped component differ by {gap:e}");
}

#[test]
fn pixels_in_single_precision_are_the_bytes_that_they_were() {
    let (n, d) = (300, 12);
    // Pictures with a margin.
    let bytes: Vec<u8> =
        cloud(n, d).iter().enumerate().map(|(at, x)| if at % d < 2 { 0 } else { (60.0 * (x + 2.0)) as u8 }).collect();
    let pixels: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
    let as_bytes = Points::from_u8(bytes, n, d, 1.0 / 255.0).unwrap();
    let as_numbers = Points::from_f32(pixels.clone(), n, d).unwrap();
    for kernel in [gaussian(), Kernel::linear(), Kernel::polynomial(0.5, 1.0, 2).unwrap()] {
        let pca = KernelPca::new(kernel).n_components(4).solver(SolverChoice::Krylov).gram(GramChoice::Tiled);
        let (a, b) = (pca.fit(&as_bytes).unwrap(), pca.fit(&as_numbers).unwrap());
        assert_eq!(a.eigenvalues(), b.eigenvalues());
        assert_eq!(b.basis().row(17), as_numbers.row(17), "the model keeps the numbers");
        // Queries that are bytes, and queries between them, whatever came first.
        let between = Points::from_f32(pixels.iter().map(|x| 0.9 * x + 0.01).collect::<Vec<_>>(), n, d).unwrap();
        let exact = pca.precision(Precision::F64).fit(&as_numbers).unwrap();
        for queries in [&as_numbers, &between, &as_bytes, &as_numbers] {
            let (found, expected) = (b.transform(queries).unwrap(), exact.transform(queries).unwrap());
            let largest = expected.col_iter().map(|column| column.norm_max()).fold(0.0, f64::max);
            // A thousand roundings of the largest score.
            assert!((&found - &expected).norm_max() < 1e3 * f64::from(f32::EPSILON) * largest);
        }
    }
}
