//! `mercer cluster --model`, and what can be done with its file.

use mercer::{ClusterModel, Points};
use serde_json::Value;

use super::support::{Directory, bent_line, npy, numbers};

/// Two heaps of five points each and their names.
fn heaps() -> String {
    let rows = (0..10).map(|i| {
        let (heap, step) = (i % 2, f64::from(i / 2) / 10.0);
        format!("{},{},{}\n", f64::from(heap) * 5.0 + step, step * step, if heap == 0 { "left" } else { "right" })
    });
    std::iter::once("x,y,side\n".to_owned()).chain(rows).collect()
}

/// Clusters of the heaps, in clusters.csv and clusters.mercer.
fn clustered(flags: &str) -> Directory {
    let directory = Directory::new();
    directory.write("heaps.csv", heaps());
    let words = "cluster heaps.csv -k 2 --label side --gamma 1 -o clusters.csv --model clusters.mercer";
    let outcome = directory.run(&format!("{words} {flags}")).done();
    assert!(outcome.stderr.contains("model saved as clusters.mercer"), "{}", outcome.stderr);
    directory
}

#[test]
fn the_rows_that_were_clustered_get_the_clusters_they_have() {
    for flags in ["", "--standardize", "--scale 1/2", "--precision f32"] {
        let directory = clustered(flags);
        let outcome = directory.run("transform clusters.mercer heaps.csv --label side -o again.csv").done();
        assert_eq!(directory.read("again.csv"), directory.read("clusters.csv"), "{flags}");
        let expected = "10 rows in 2 clusters of 5, 5 written to again.csv";
        assert!(outcome.stderr.contains(expected), "{flags}: {}", outcome.stderr);
    }
}

#[test]
fn new_rows_get_the_clusters_that_the_library_predicts() {
    let directory = clustered("");
    // Columns are found by their names.
    directory.write("new.csv", "name,y,x\na,0.1,5.2\nb,0.3,-0.4\nc,0,0.1\nd,0.2,4.7\n");
    let outcome = directory.run("transform clusters.mercer new.csv --id name -o new_clusters.csv --json").done();
    assert_eq!(directory.read("new_clusters.csv"), "name,cluster\na,1\nb,0\nc,0\nd,1\n");
    let model = ClusterModel::load(&directory.path("clusters.mercer")).unwrap();
    let points = Points::from_f64(vec![5.2, 0.1, -0.4, 0.3, 0.1, 0.0, 4.7, 0.2], 4, 2).unwrap();
    assert_eq!(model.predict(&points).unwrap(), [1, 0, 0, 1]);
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["n_clusters"], &record["cluster_sizes"]), (&2.into(), &serde_json::json!([2, 2])));
}

#[test]
fn a_kernel_matrix_and_bytes_can_be_clustered_and_used() {
    let directory = Directory::new();
    directory.write("matrix.csv", "1,0.9,0.1,0\n0.9,1,0,0.1\n0.1,0,1,0.9\n0,0.1,0.9,1\n");
    directory.run("cluster matrix.csv --kernel precomputed -k 2 -o m.csv --model m.mercer").done();
    assert_eq!(directory.run("transform m.mercer matrix.csv").done().stdout, directory.read("m.csv"));
    directory.write("images.npy", npy("|u1", "(4, 2)", &[0, 9, 200, 30, 7, 2, 180, 50]));
    directory.run("cluster images.npy --scale 1/255 --gamma 2 -k 2 -o i.csv --model i.mercer").done();
    let plain = directory.run("transform i.mercer images.npy").done();
    assert_eq!(numbers(&plain.stdout).concat(), [0.0, 1.0, 0.0, 1.0]);
    assert!(!plain.stderr.contains("warning"), "{}", plain.stderr);
    let other = directory.run("transform i.mercer images.npy --scale 1/2");
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("by itself: leave --scale out"), "{}", other.stderr);
}

#[test]
fn info_tells_clusters_columns_and_method() {
    let directory = clustered("");
    let table = directory.run("info clusters.mercer").done().stdout;
    for line in [
        "columns     x, y\n",
        "points      10 of 2 features\n",
        "clusters    2 clusters of 5, 5\n",
        "gaussian, gamma 1\n",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }
    let record: Value = serde_json::from_str(&directory.run("info clusters.mercer --json").done().stdout).unwrap();
    assert_eq!((&record["command"], &record["n_clusters"]), (&"info".into(), &2.into()));
    assert_eq!(record["feature_names"], serde_json::json!(["x", "y"]));
}

#[test]
fn what_clusters_cannot_do_is_said_and_nothing_is_written() {
    let directory = clustered("");
    let before = directory.files();
    for (words, what) in [
        ("score clusters.mercer heaps.csv --label side -o out.csv", "a score"),
        ("reconstruct clusters.mercer heaps.csv --label side -o out.csv", "a reconstruction"),
        ("fit heaps.csv --label side --solver hebbian --initial-model clusters.mercer -o out.mercer", "a start"),
    ] {
        let outcome = directory.run(words);
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        let expected = format!(
            "clusters.mercer holds clusters (2 of 10 points), and {what} needs components of kernel PCA; `mercer transform` tells the clusters"
        );
        assert!(outcome.stderr.contains(&expected), "{words}: {}", outcome.stderr);
    }
    assert_eq!(directory.files(), before);
}

#[test]
fn files_that_are_damaged_or_of_another_kind_are_refused() {
    let directory = clustered("");
    let whole = std::fs::read(directory.path("clusters.mercer")).unwrap();
    let mut altered = whole.clone();
    *altered.last_mut().unwrap() ^= 1;
    directory.write("altered.mercer", &altered);
    directory.write("short.mercer", &whole[..whole.len() - 3]);
    directory.write("stump.mercer", &whole[..40]);
    for (file, message) in [
        ("altered.mercer", "the file has been altered: its contents do not match its digest"),
        ("short.mercer", "cut short"),
        ("stump.mercer", "not a Mercer model, or cut short"),
    ] {
        let outcome = directory.run(&format!("transform {file} heaps.csv --label side -o out.csv"));
        assert_eq!(outcome.code, Some(2), "{file}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{file}: {}", outcome.stderr);
        assert!(!directory.path("out.csv").exists(), "{file}");
    }
    directory.run("fit heaps.csv --label side -o components.mercer --quiet").done();
    let refused = ClusterModel::load(&directory.path("components.mercer")).unwrap_err().to_string();
    assert!(refused.contains("not a Mercer clustering"), "{refused}");
    let refused = mercer::Model::load(&directory.path("clusters.mercer")).unwrap_err().to_string();
    assert!(refused.contains("not a Mercer model"), "{refused}");
}

#[test]
fn rows_of_other_columns_or_that_belong_nowhere_are_refused() {
    let directory = clustered("");
    directory.write("points.csv", bent_line().replace("x,y,half", "u,v,half"));
    directory.write("wide.csv", "1,2,3\n");
    directory.write("far.csv", "x,y\n0,0\n1e6,0\n");
    for (words, message) in [
        ("points.csv --label half", "points.csv"),
        ("wide.csv", "wide.csv: the data has 3 columns, but the model was fitted on 2"),
        ("far.csv", "far.csv, line 3: the row has degree 0"),
        ("heaps.csv --label side --standardize", "--standardize belongs to the fit"),
    ] {
        let outcome = directory.run(&format!("transform clusters.mercer {words} -o out.csv"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
        assert!(!directory.path("out.csv").exists(), "{words}");
    }
}

#[test]
fn a_clustering_that_fails_leaves_no_model() {
    let directory = Directory::new();
    directory.write("heaps.csv", heaps());
    let before = directory.files();
    for (words, message) in [
        ("-k 11 -o out.csv --model out.mercer", "between 1 and the number of samples"),
        ("-k 2 -o out.csv --model out.csv", "out.csv is named for two outputs"),
        ("-k 2 -o out.csv --model heaps.csv", "heaps.csv is the data: it would be replaced"),
        ("-k 2 -o out.csv --model -", "a model is not text: give the name of a file with --model"),
        ("-k 2 -o out.csv --model none/out.mercer", "none/out.mercer"),
    ] {
        let outcome = directory.run(&format!("cluster heaps.csv --label side --gamma 1 {words}"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
        assert_eq!(directory.files(), before, "{words}");
    }
}
