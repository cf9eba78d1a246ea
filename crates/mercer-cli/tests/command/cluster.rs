//! `mercer cluster`.

use serde_json::Value;

use super::support::{Directory, numbers};

/// Two heaps of five points each and their names.
fn heaps() -> String {
    let rows = (0..10).map(|i| {
        let (heap, step) = (i % 2, f64::from(i / 2) / 10.0);
        format!("{},{},{}\n", f64::from(heap) * 5.0 + step, step * step, if heap == 0 { "left" } else { "right" })
    });
    std::iter::once("x,y,side\n".to_owned()).chain(rows).collect()
}

fn directory() -> Directory {
    let directory = Directory::new();
    directory.write("heaps.csv", heaps());
    directory
}

#[test]
fn every_row_gets_the_number_of_its_cluster() {
    let directory = directory();
    let outcome = directory.run("cluster heaps.csv -k 2 --labels side --gamma 1 -o out.csv").done();
    let table = directory.read("out.csv");
    assert!(table.starts_with("cluster,side\n0,left\n1,right\n0,left\n"), "{table}");
    let clusters: Vec<f64> = numbers(&table).iter().map(|row| row[0]).collect();
    assert_eq!(clusters, [0.0, 1.0].repeat(5));
    assert!(outcome.stderr.contains("10 points in 2 clusters of 5, 5, written to out.csv"), "{}", outcome.stderr);
    let expected = "against 2 known classes: variation of information 0.0000, NMI 1.0000, ARI 1.0000";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}

#[test]
fn the_record_has_sizes_residuals_and_agreement() {
    let directory = directory();
    let outcome = directory.run("cluster heaps.csv -k 2 --labels side --gamma 1 -o out.npy --json").done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(record["cluster_sizes"], serde_json::json!([5, 5]));
    assert_eq!(record["agreement"]["variation_of_information"], 0.0);
    assert_eq!((&record["converged"], &record["n_components"]), (&true.into(), &2.into()));
    // Classes that were only set aside are not compared with.
    let outcome = directory.run("cluster heaps.csv -k 2 --label side --gamma 1 -o out.csv --json").done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(record["agreement"].is_null());
    assert!(directory.read("out.csv").starts_with("cluster,side\n"));
}

#[test]
fn solvers_agree_and_standard_output_works() {
    let directory = directory();
    let expected = directory.run("cluster heaps.csv -k 2 --drop side --gamma 1").done().stdout;
    assert!(expected.starts_with("cluster\n0\n1\n0\n1\n"), "{expected}");
    for solver in ["dense", "krylov", "lanczos", "hebbian --passes 30 --tolerance 0.5"] {
        let outcome = directory.run(&format!("cluster heaps.csv -k 2 --drop side --gamma 1 --solver {solver}")).done();
        assert_eq!(outcome.stdout, expected, "{solver}");
    }
}

#[test]
fn the_hebbian_solver_is_held_against_a_hundredth_unless_another_tolerance_is_given() {
    let directory = directory();
    let run = |flags: &str| {
        let outcome =
            directory.run(&format!("cluster heaps.csv -k 2 --drop side --gamma 1 --solver {flags} -o out.csv --json"));
        let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
        (outcome.code, record["tolerance"].as_f64(), record["converged"].as_bool())
    };
    assert_eq!(run("hebbian --passes 30"), (Some(0), Some(0.01), Some(true)));
    assert_eq!(run("hebbian --passes 60 --tolerance 1e-12"), (Some(1), Some(1e-12), Some(false)));
    assert_eq!(run("krylov"), (Some(0), Some(1e-9), Some(true)));
}

#[test]
fn bad_calls_and_bad_points_are_named_and_leave_nothing() {
    let directory = directory();
    directory.write("twice.csv", "x\n1\n1\n2\n2\n");
    directory.write("matrix.csv", "1,0,0\n0,0,0\n0,0,1\n");
    directory.write("single.csv", "1,2\n");
    for (words, message) in [
        ("heaps.csv --label side -k 0", "--n-clusters must be between 1 and the number of samples (10), but it is 0"),
        ("heaps.csv --label side -k 11", "--n-clusters must be between 1 and the number of samples (10), but it is 11"),
        ("single.csv -k 1", "single.csv: kernel PCA needs at least 2 rows, but there is 1"),
        ("heaps.csv --label side -k 2 --restarts 0", "--restarts must be at least 1, but it is 0"),
        (
            "twice.csv -k 3",
            "twice.csv: --n-clusters must be at most the number of different rows, which is 2, but it is 3",
        ),
        ("matrix.csv --no-header --kernel precomputed -k 2", "matrix.csv, line 2: the row has degree 0"),
        ("heaps.csv --label side -k 2 --variance 0.9", "--variance is not for clusters"),
        ("heaps.csv --label side -k 2 --no-center", "--no-center is not for clusters"),
        ("heaps.csv --label side -k 2 --negative clip", "--negative is not for clusters"),
        ("heaps.csv --label side -k 2 --eta0 1", "--eta0 is for --solver hebbian only"),
        ("heaps.csv --label side -k 2 --solver hebbian --max-passes 3", "--max-passes is not for --solver hebbian"),
        ("heaps.csv --label side -k 2 --solver hebbian --mu 3", "--mu is not for --gain et*"),
        ("heaps.csv --label side --labels side -k 2", "cannot be used with"),
    ] {
        let outcome = directory.run(&format!("cluster {words} -o out.csv"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
        assert!(!directory.path("out.csv").exists(), "{words}");
    }
}

#[test]
fn clusters_over_landmarks_have_their_record() {
    let directory = directory();
    let expected = directory.run("cluster heaps.csv -k 2 --drop side --gamma 1").done().stdout;
    let words = "cluster heaps.csv -k 2 --drop side --gamma 1 --gram nystrom";
    for landmarks in ["", " --n-landmarks 6", " --landmarks uniform --n-landmarks 8"] {
        let outcome = directory.run(&format!("{words}{landmarks} --record run.json")).done();
        assert_eq!(outcome.stdout, expected, "{landmarks}");
        let record: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
        assert_eq!((&record["gram"], &record["solver"]), (&"nystrom".into(), &"dense".into()), "{landmarks}");
        assert!(record["nystrom"]["relative_trace_error"].as_f64().unwrap() < 0.1, "{record}");
    }
    directory.run(&format!("{words} --n-landmarks 6 --model heaps.mercer -o out.csv")).done();
    let shown = directory.run("info heaps.mercer").done().stdout;
    assert!(shown.contains("landmarks   6 by rpcholesky, which miss "), "{shown}");
    for (flags, said) in [
        ("--n-landmarks 6", "--n-landmarks is for --gram nystrom only"),
        (
            "--gram nystrom --solver hebbian",
            "--solver hebbian is not for clusters over landmarks: it learns from every row",
        ),
        (
            "--gram nystrom --max-passes 3",
            "--max-passes is not for clusters over landmarks: they take as many as they take",
        ),
    ] {
        let outcome = directory.run(&format!("cluster heaps.csv -k 2 --drop side --gamma 1 {flags}"));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), format!("error: {said}\n").as_str()));
    }
}

#[test]
fn all_rows_are_in_one_cluster_if_one_is_asked_for() {
    let outcome = directory().run("cluster heaps.csv -k 1 --drop side --gamma 1").done();
    assert_eq!(outcome.stdout, format!("cluster\n{}", "0\n".repeat(10)));
}

#[test]
fn fewer_clusters_than_were_asked_for_are_not_what_was_asked_for() {
    let directory = Directory::new();
    let rows = (0..60).map(|i| format!("{},{}\n", f64::from(i * 37 % 101), f64::from(i * 53 % 97)));
    directory.write("points.csv", rows.collect::<String>());
    // So wide a kernel that single precision tells one eigenvector from rounding.
    let outcome = directory.run("cluster points.csv --precision f32 -k 10 --gamma 1e-12 -o out.csv --json");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let warning = "there are 1 clusters and not 10: no more embedded points are different";
    assert!(outcome.stderr.contains(&format!("warning: {warning}")), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("60 points in 1 cluster of 60, written to out.csv"), "{}", outcome.stderr);
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["n_clusters"], &record["n_clusters_asked"]), (&1.into(), &10.into()));
    assert_eq!(record["exit_code"], 1);
    assert!(record["warnings"].as_array().unwrap().contains(&warning.into()), "{record}");
    assert_eq!(directory.read("out.csv").lines().count(), 61, "what there is, is written");
}

#[test]
fn a_hebbian_clustering_that_has_not_converged_says_so() {
    let words = "cluster heaps.csv -k 2 --drop side --gamma 1 --solver hebbian --passes 30 --tolerance 1e-8";
    let outcome = directory().run(words);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("0 of 2 eigenvectors converged"), "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("cluster\n0\n1\n"), "{}", outcome.stdout);
}

#[test]
fn a_hebbian_clustering_with_good_eigenvectors_is_not_said_to_have_failed() {
    // What is left of the random start in the coefficients is large; of the eigenvectors it is a ten-thousandth.
    let outcome = directory().run("cluster heaps.csv -k 2 --drop side --gamma 1 --solver hebbian --passes 30").done();
    assert!(!outcome.stderr.contains("converged"), "{}", outcome.stderr);
}

#[test]
fn clusters_of_eigenvectors_that_did_not_converge_say_so() {
    let directory = Directory::new();
    let rows = (0..300).map(|i| format!("{},{}\n", f64::from(i * 37 % 101), f64::from(i * 53 % 97)));
    directory.write("noise.csv", rows.collect::<String>());
    let words = "cluster noise.csv --no-header -k 3 --gamma 1e-3 --solver lanczos --max-passes 4 -o out.csv";
    let outcome = directory.run(words);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("eigenvectors converged; largest residual"), "{}", outcome.stderr);
    assert_eq!(directory.read("out.csv").lines().count(), 301);
}

#[test]
fn the_help_has_no_flags_that_are_refused() {
    let help = directory().run("cluster --help").done().stdout;
    for flag in ["--variance", "--no-center", "--negative"] {
        assert!(!help.contains(flag), "{help}");
    }
    assert!(help.contains("[default: the number of clusters]"), "{help}");
}
