use std::fs;

use faer::mat;

use super::*;
use crate::args::DataArgs;
use crate::input::ReadOptions;

fn words(name: &str, values: [&str; 2]) -> Labels {
    Labels { name: name.to_owned(), values: values.map(str::to_owned).to_vec() }
}

fn data(labels: Option<&Labels>, ids: Option<&Labels>) -> Data {
    let points = mercer::Points::from_f64(vec![0.0; 2], 2, 1).unwrap();
    let mut data = Data::of_points("x", points);
    (data.labels, data.ids) = (labels.cloned(), ids.cloned());
    data
}

fn write_rows(path: &Path, n_samples: Option<usize>, labels: Option<&Labels>, ids: Option<&Labels>) -> Result<()> {
    let (format, data) = (score_format(path)?, data(labels, ids));
    let file = OutputFile::create_uncertain(path)?;
    let mut writer = ScoreWriter::new(file, format, component_names(2), n_samples, &data)?;
    writer.write(mat![[0.5, -1e-20]].as_ref(), Words::of(&data, 0..1))?;
    writer.write(mat![[0.1, 0.0]].as_ref(), Words::of(&data, 1..2))?;
    writer.finish()
}

fn write_to(path: &Path, labels: Option<&Labels>, ids: Option<&Labels>) -> Result<()> {
    write_rows(path, Some(2), labels, ids)
}

#[test]
fn a_file_is_the_same_whether_its_length_was_known_or_not() {
    let directory = tempfile::tempdir().unwrap();
    let (labels, ids) = (words("kind", ["3", "4"]), words("name", ["one", "two"]));
    for name in ["x.csv", "x.tsv", "x.parquet", "x.arrow", "x.npy", "x.libsvm"] {
        assert!(is_open_ended(score_format(Path::new(name)).unwrap()), "{name}");
        let path = directory.path().join(name);
        let bytes = [Some(2), None].map(|n_samples| {
            write_rows(&path, n_samples, Some(&labels), Some(&ids)).unwrap();
            fs::read(&path).unwrap()
        });
        assert!(bytes[0] == bytes[1], "{name}");
    }
    assert!(!is_open_ended(Format::Npz));
}

fn written(name: &str, labels: Option<&Labels>, ids: Option<&Labels>) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    write_to(&path, labels, ids).unwrap();
    fs::read(&path).unwrap()
}

#[test]
fn text_has_a_header_the_id_first_and_the_label_last() {
    let (labels, ids) = (words("kind", ["a,b", "c"]), words("name", ["one", "two"]));
    let csv = written("x.csv", Some(&labels), Some(&ids));
    assert_eq!(String::from_utf8(csv).unwrap(), "name,pc1,pc2,kind\none,0.5,-1e-20,\"a,b\"\ntwo,0.1,0,c\n");
    let tsv = written("x.tsv", None, None);
    assert_eq!(String::from_utf8(tsv).unwrap(), "pc1\tpc2\n0.5\t-1e-20\n0.1\t0\n");
}

#[test]
fn an_array_has_a_head_that_numpy_reads_and_the_rows_as_doubles() {
    let npy = written("x.npy", None, None);
    assert_eq!(npy.len() % 64, 32, "the head is a multiple of 64, the four values take 32 bytes");
    let text = String::from_utf8_lossy(&npy[10..128]);
    assert!(text.starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }"), "{text}");
    let values: Vec<f64> = npy[128..].chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(values, [0.5, -1e-20, 0.1, 0.0]);
}

#[test]
fn what_is_written_is_read_back_bit_by_bit_with_ids_and_labels() {
    let (labels, ids) = (words("kind", ["größer", "c"]), words("name", ["one", "two"]));
    for name in ["x.csv", "x.tsv", "x.parquet", "x.arrow", "x.npz"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        write_to(&path, Some(&labels), Some(&ids)).unwrap();
        let column = |name: &str| Some(crate::args::ColumnName(name.to_owned()));
        let args = DataArgs { label: column("kind"), id: column("name"), ..DataArgs::default() };
        let data = input::read(&path, &ReadOptions::from(&args)).unwrap();
        assert_eq!(data.points.rows(0..2).to_f64(), [0.5, -1e-20, 0.1, 0.0], "{name}");
        assert_eq!((data.labels.as_ref(), data.ids.as_ref()), (Some(&labels), Some(&ids)), "{name}");
    }
}

#[test]
fn libsvm_takes_labels_that_are_numbers() {
    let text = written("x.libsvm", Some(&words("kind", ["3", "-1"])), None);
    assert_eq!(String::from_utf8(text).unwrap(), "3 1:0.5 2:-1e-20\n-1 1:0.1 2:0\n");
    let text = written("x.svm", None, None);
    assert!(text.starts_with(b"0 1:0.5 2:"), "no label is 0");
    let directory = tempfile::tempdir().unwrap();
    let failure = write_to(&directory.path().join("x.svm"), Some(&words("kind", ["3", "b"])), None).unwrap_err();
    let expected = "labels in a libsvm file are numbers, but \"b\" is none: write .csv or .parquet instead";
    assert_eq!(failure.to_string(), expected);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn arrays_of_an_archive_have_names_of_their_own() {
    let (one, other) = (words("scores", ["a", "b"]), words("scores_column", ["c", "d"]));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.npz");
    write_to(&path, Some(&one), Some(&one)).unwrap();
    let failure = write_to(&path, Some(&one), Some(&other)).unwrap_err().to_string();
    assert!(failure.contains("would have two columns called \"scores_column\": the label has a name"), "{failure}");
    assert!(failure.ends_with("rename the column in x, or do not take it as the label"), "{failure}");
}

#[test]
fn what_a_format_has_no_place_for_is_said() {
    let some = words("kind", ["1", "2"]);
    let note = left_out(Format::Npy, Some(&some), Some(&some)).unwrap();
    assert_eq!(note, "labels and ids are not written: a .npy array of scores has no place for them");
    assert!(left_out(Format::Libsvm, Some(&some), None).is_none());
    assert!(left_out(Format::Npz, Some(&some), Some(&some)).is_none());
}

#[test]
fn names_that_no_scores_are_written_under_are_refused() {
    for (name, expected) in [
        ("x.idx", "scores are not written as IDX; let the name end in "),
        ("x.csv.gz", "x.csv.gz: scores are not compressed; leave .gz out"),
        ("x.dat", "the name x.dat does not say what format the scores are to have; let it end in .csv, "),
    ] {
        let message = score_format(Path::new(name)).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn numbers_read_back_exactly() {
    for x in [0.1, -1.0 / 3.0, 1e300, 5e-324, 0.0, 123_456_789.123_456_78] {
        assert_eq!(number(x).parse::<f64>().unwrap().to_bits(), x.to_bits());
        assert!(number(x).len() < 26, "{}", number(x));
    }
}
