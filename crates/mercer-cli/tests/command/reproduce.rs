//! `mercer reproduce`.

use std::io::Write;

use serde_json::Value;

use super::support::{Directory, npy};

fn record(directory: &Directory, words: &str) -> Value {
    serde_json::from_str(&directory.run(&format!("reproduce {words} --quick --json")).done().stdout).unwrap()
}

/// The verdicts, in order.
fn verdicts(record: &Value) -> Vec<bool> {
    record["claims"].as_array().unwrap().iter().map(|claim| claim["agrees"].as_bool().unwrap()).collect()
}

/// A setting by its name.
fn setting<'a>(record: &'a Value, name: &str) -> &'a Value {
    let settings = record["settings"].as_array().unwrap();
    &settings.iter().find(|setting| setting["name"] == name).unwrap()["value"]
}

#[test]
fn circles_are_separated_without_centring_only() {
    let directory = Directory::new();
    let record = record(&directory, "toy-circles --out circles");
    assert_eq!(verdicts(&record), [true, true, false]);
    // Eigenvalues over the number of points: those of a by-hand computation with integrals over both circles.
    let values = |at: usize| -> Vec<f64> {
        record["series"][at]["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    for (found, expected) in values(0).iter().zip([0.265_625, 0.132_812_5, 0.132_812_5]) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }
    for (found, expected) in values(1).iter().zip([0.132_812_5, 0.132_812_5, 0.070_312_5]) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }
    let page = directory.read("circles/toy-circles.md");
    assert!(page.contains("| separated | gap of 0.") && page.contains("| differs |"), "{page}");
    for figure in record["figures"].as_array().unwrap() {
        let svg = directory.read(&format!("circles/{}", figure["file"].as_str().unwrap()));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
    let kept: Value = serde_json::from_str(&directory.read("circles/toy-circles.json")).unwrap();
    assert_eq!((&kept["claims"], &kept["command"]), (&record["claims"], &"reproduce".into()));
}

#[test]
fn components_of_an_annulus_follow_it() {
    let directory = Directory::new();
    let record = record(&directory, "toy-annulus");
    assert_eq!(verdicts(&record), [true, true], "{record:#}");
    assert!(directory.read("reproduce-toy-annulus/toy-annulus-kernel.svg").contains("<path"));
}

/// Made-up pictures in the layout of the data folder: ten kinds of waves, and their numbers.
fn usps(directory: &Directory, each: usize) {
    let rows = 10 * each;
    let mut values = Vec::new();
    for row in 0..rows {
        for pixel in 0..256_u16 {
            let phase = (row * 37 % 101) as f32 / 101.0;
            let wave = (f32::from(pixel) * (1.0 + (row % 10) as f32) / 40.0 + phase).sin();
            values.extend_from_slice(&wave.to_le_bytes());
        }
    }
    let labels: Vec<u8> = (0..rows).map(|row| (row % 10) as u8).collect();
    write_npz(
        directory,
        "usps.npz",
        &[
            ("X.npy", npy("<f4", &format!("({rows}, 256)"), &values)),
            ("y.npy", npy("|u1", &format!("({rows},)"), &labels)),
        ],
    );
}

fn write_npz(directory: &Directory, name: &str, arrays: &[(&str, Vec<u8>)]) {
    let mut archive = zip::ZipWriter::new(std::fs::File::create(directory.path(name)).unwrap());
    for (array, bytes) in arrays {
        archive.start_file(*array, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

#[test]
fn usps_experiments_run_on_a_folder_in_the_layout_of_the_data() {
    let directory = Directory::new();
    usps(&directory, 40);
    let record = record(&directory, "usps-kpca --data . --out out");
    assert_eq!(verdicts(&record).len(), 14);
    assert_eq!(record["figures"].as_array().unwrap().len(), 5);
    assert_eq!(setting(&record, "points"), 200);
    let record = self::record(&directory, "usps-spectral --data . --out out");
    assert_eq!(verdicts(&record).len(), 10);
    // Ten equal classes: twice ln 10.
    let random = record["claims"][0]["value"].as_f64().unwrap();
    assert!((random - 2.0 * 10.0_f64.ln()).abs() < 1e-12);
    for file in ["usps-spectral-vi.svg", "usps-spectral.md", "usps-kpca-RBF.svg", "usps-kpca.json"] {
        assert!(directory.path("out").join(file).is_file(), "{file}");
    }
}

#[test]
fn mnist_runs_on_a_folder_in_the_layout_of_the_data() {
    let directory = Directory::new();
    let rows = 300;
    let pixels: Vec<u8> =
        (0..rows * 784_usize).map(|at| ((at / 784 * 31 + at % 784 * (1 + at / 784 % 7)) % 256) as u8).collect();
    let labels: Vec<u8> = (0..rows).map(|row| (row % 10) as u8).collect();
    write_npz(
        &directory,
        "mnist.npz",
        &[
            ("X.npy", npy("|u1", &format!("({rows}, 28, 28)"), &pixels)),
            ("y.npy", npy("|u1", &format!("({rows},)"), &labels)),
        ],
    );
    let record = record(&directory, "mnist-hebbian --data .");
    assert_eq!(verdicts(&record).len(), 5);
    assert_eq!(setting(&record, "points"), 300);
}

#[test]
fn a_noisy_picture_is_denoised_in_quarters() {
    let directory = Directory::new();
    std::fs::create_dir(directory.path("images")).unwrap();
    let pixel = |x: u32, y: u32| {
        let (x, y) = (f64::from(x), f64::from(y));
        (110.0 + 60.0 * (x / 23.0).sin() * (y / 31.0).cos() + if (x - y).abs() < 30.0 { 60.0 } else { 0.0 }) as u8
    };
    let picture = image::GrayImage::from_fn(160, 150, |x, y| image::Luma([pixel(x, y)]));
    picture.save(directory.path("images/lena_512.png")).unwrap();
    let record = record(&directory, "lena-denoising --data . --out out");
    assert_eq!(verdicts(&record).len(), 4);
    assert_eq!(setting(&record, "patches in each of four quarters"), 196);
    let decibel: Vec<f64> = record["series"].as_array().unwrap().last().unwrap()["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_f64().unwrap())
        .collect();
    assert!(decibel[3] > decibel[0] + 3.0, "{decibel:?}");
    assert!(directory.path("out/lena-denoising-pictures.svg").is_file());
    let outcome = directory.run("reproduce lena-denoising --data none --out out");
    assert!(outcome.stderr.contains("lena_512.png"), "{}", outcome.stderr);
}

#[test]
fn small_faces_are_made_large() {
    let directory = Directory::new();
    let rows = 200_usize;
    let mut pixels = Vec::new();
    for row in 0..rows {
        let (across, down) = ((row * 7 % 30) as f64, (row * 11 % 36) as f64);
        for at in 0..48 * 42 {
            let (x, y) = (f64::from(at % 42), f64::from(at / 42));
            let light = 220.0 * (-((x - across - 6.0).powi(2) + (y - down - 6.0).powi(2)) / 60.0).exp();
            pixels.push((light + x / 2.0) as u8);
        }
    }
    let labels: Vec<u8> = (0..rows).map(|row| (row / 20) as u8).collect();
    write_npz(
        &directory,
        "yaleb_cropped_48x42.npz",
        &[
            ("X.npy", npy("|u1", &format!("({rows}, 48, 42)"), &pixels)),
            ("y.npy", npy("|u1", &format!("({rows},)"), &labels)),
        ],
    );
    let record = record(&directory, "face-superresolution --data . --out out");
    assert_eq!(verdicts(&record).len(), 4);
    assert_eq!(
        (setting(&record, "test pictures"), setting(&record, "pictures to learn from")),
        (&10.into(), &40.into())
    );
    assert!(directory.path("out/face-superresolution-faces.svg").is_file());
}

#[test]
fn a_walk_is_denoised() {
    let directory = Directory::new();
    let (frames, joints) = (60_usize, 38);
    let mut values = Vec::new();
    for frame in 0..frames {
        for joint in 0..joints {
            let angle = frame as f32 / 8.0 + joint as f32;
            for k in 0..3_u8 {
                let place = joint as f32 * (0.3 + f32::from(k)) + (angle + f32::from(k)).sin();
                values.extend_from_slice(&place.to_le_bytes());
            }
        }
    }
    let trials: Vec<u8> = (0..frames).map(|frame| if frame < 50 { 2 } else { 1 }).collect();
    write_npz(
        &directory,
        "cmu_mocap_walk_run.npz",
        &[
            ("X.npy", npy("<f4", &format!("({frames}, {})", 3 * joints), &values)),
            ("trial.npy", npy("|u1", &format!("({frames},)"), &trials)),
        ],
    );
    let record = record(&directory, "motion --data . --out out");
    assert_eq!((verdicts(&record).len(), setting(&record, "frames")), (4, &50.into()));
    let share = record["claims"][3]["value"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&share), "{record:#}");
    assert!(directory.path("out/motion-excess.svg").is_file());
}

#[test]
fn what_is_missing_or_unknown_is_named() {
    let directory = Directory::new();
    let outcome = directory.run("reproduce nothing");
    assert_eq!(outcome.code, Some(2));
    for name in [
        "usps-kpca",
        "usps-spectral",
        "lena-denoising",
        "face-superresolution",
        "motion",
        "mnist-hebbian",
        "toy-circles",
        "toy-annulus",
    ] {
        assert!(outcome.stderr.contains(name), "{}", outcome.stderr);
    }
    let outcome = directory.run("reproduce usps-kpca --quick --out out");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("say with --data where the folder with usps.npz is"), "{}", outcome.stderr);
    let outcome = directory.run("reproduce usps-kpca --quick --data none --out out");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("none/usps.npz"), "{}", outcome.stderr);
    usps(&directory, 5);
    let outcome = directory.run("reproduce usps-kpca --quick --data . --out out");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("there are not 20 pictures of the digit 0"), "{}", outcome.stderr);
}
