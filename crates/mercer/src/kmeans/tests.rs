//! k-means finds what is there, says what is not, and does not depend on the number of threads.

#![allow(clippy::unwrap_used, reason = "a test that stops there says where")]

use faer::{Mat, mat};

use super::*;
use crate::watch::{Phase, Threads, Watch};

fn fit(settings: KMeans, rows: MatRef<'_, f64>, threads: usize) -> Result<Partition> {
    let (threads, watch) = (Threads::new(threads).unwrap(), Watch::new());
    settings.fit(rows, &Context::new(&threads, &watch, Phase::Clustering))
}

/// Three heaps of points on a spiral around three places.
fn heaps(n: usize) -> Mat<f64> {
    let places = [[0.0, 0.0], [8.0, 1.0], [3.0, 9.0]];
    Mat::from_fn(n, 2, |i, j| {
        let (angle, radius) = (i as f64 * 0.7, 1.0 + (i % 7) as f64 / 7.0);
        places[i % 3][j] + radius * if j == 0 { angle.cos() } else { angle.sin() }
    })
}

#[test]
fn heaps_are_found_and_numbered_in_the_order_of_their_first_rows() {
    let rows = heaps(300);
    let found = fit(KMeans::new(3), rows.as_ref(), 2).unwrap();
    assert!(found.converged && found.restarts == 10);
    assert_eq!(found.labels, (0..300).map(|i| i % 3).collect::<Vec<_>>());
    // The sum of squared distances from the means, the slow way.
    let slow: f64 = (0..3)
        .flat_map(|heap| (0..2).map(move |j| (heap, j)))
        .map(|(heap, j)| {
            let column: Vec<f64> = (0..100).map(|i| rows[(3 * i + heap, j)]).collect();
            let mean = column.iter().sum::<f64>() / 100.0;
            assert!((found.centers[(heap, j)] - mean).abs() < 1e-12);
            column.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
        })
        .sum();
    assert!((found.inertia - slow).abs() < 1e-9 * slow, "{} instead of {slow}", found.inertia);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let rows = heaps(5000);
    let one = fit(KMeans::new(7).seed(5), rows.as_ref(), 1).unwrap();
    let three = fit(KMeans::new(7).seed(5), rows.as_ref(), 3).unwrap();
    assert_eq!((one.labels, one.inertia.to_bits()), (three.labels, three.inertia.to_bits()));
    assert_eq!(one.centers, three.centers);
}

#[test]
fn more_restarts_are_never_worse() {
    let rows = heaps(500);
    let inertia = |restarts| fit(KMeans::new(9).restarts(restarts), rows.as_ref(), 2).unwrap().inertia;
    let (few, many) = (inertia(1), inertia(20));
    assert!(many <= few);
}

#[test]
fn every_cluster_has_a_row_even_where_most_rows_are_equal() {
    let mut rows = Mat::zeros(50, 1);
    (rows[(10, 0)], rows[(20, 0)], rows[(30, 0)]) = (1.0, 2.0, 30.0);
    for seed in 0..20 {
        let found = fit(KMeans::new(4).restarts(1).seed(seed), rows.as_ref(), 1).unwrap();
        let mut sizes = [0; 4];
        for &label in &found.labels {
            sizes[label] += 1;
        }
        assert!(sizes.iter().all(|&size| size > 0), "{sizes:?} with seed {seed}");
    }
}

#[test]
fn as_many_clusters_as_rows_leave_nothing() {
    let rows = heaps(12);
    let found = fit(KMeans::new(12), rows.as_ref(), 2).unwrap();
    assert_eq!(found.labels, (0..12).collect::<Vec<_>>());
    assert!(found.inertia < 1e-20);
}

#[test]
fn fewer_different_rows_than_clusters_are_named() {
    let rows = mat![[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0]];
    let error = fit(KMeans::new(3), rows.as_ref(), 1).unwrap_err();
    assert_eq!(error.to_string(), "`n_clusters` must be at most the number of different rows, which is 2, but it is 3");
}

#[test]
fn settings_out_of_their_domain_are_named() {
    let rows = heaps(5);
    let message = |settings: KMeans| fit(settings, rows.as_ref(), 1).unwrap_err().to_string();
    assert_eq!(message(KMeans::new(0)), "`n_clusters` must be between 1 and the number of rows (5), but it is 0");
    assert_eq!(message(KMeans::new(6)), "`n_clusters` must be between 1 and the number of rows (5), but it is 6");
    assert_eq!(message(KMeans::new(2).restarts(0)), "`restarts` must be at least 1, but it is 0");
    assert_eq!(message(KMeans::new(2).max_rounds(0)), "`max_rounds` must be at least 1, but it is 0");
    let error = fit(KMeans::new(1), mat![[0.0], [f64::NAN]].as_ref(), 1).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 1, column: 0, .. }));
}

#[test]
fn a_stop_before_the_first_restart_is_an_error() {
    let stop = std::sync::atomic::AtomicBool::new(true);
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new().interrupt(&stop));
    let context = Context::new(&threads, &watch, Phase::Clustering);
    let error = KMeans::new(2).fit(heaps(10).as_ref(), &context).unwrap_err();
    assert_eq!(error.to_string(), "stopped during clustering, before there was a result");
}

#[test]
fn a_stop_in_a_restart_gives_its_rounds_so_far() {
    let rows = heaps(500);
    let stop = std::sync::atomic::AtomicBool::new(false);
    // What has been done of all restarts is no longer nothing after the first round.
    let observer = |progress: &crate::watch::Progress| {
        stop.fetch_or(progress.fraction > 0.0, std::sync::atomic::Ordering::Relaxed);
    };
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new().interrupt(&stop).observer(&observer));
    let context = Context::new(&threads, &watch, Phase::Clustering);
    let found = KMeans::new(9).fit(rows.as_ref(), &context).unwrap();
    assert_eq!((found.restarts, found.rounds, found.converged), (1, 1, false));
    // Every cluster has rows, and its centre is their mean.
    for (cluster, center) in found.centers.row_iter().enumerate() {
        let members: Vec<usize> = (0..500).filter(|&i| found.labels[i] == cluster).collect();
        assert!(!members.is_empty());
        for (j, &c) in center.iter().enumerate() {
            let mean = members.iter().map(|&i| rows[(i, j)]).sum::<f64>() / members.len() as f64;
            assert!((c - mean).abs() < 1e-12, "{c} instead of {mean}");
        }
    }
}
