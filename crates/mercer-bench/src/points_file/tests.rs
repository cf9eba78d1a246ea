use npyz::WriterBuilder;
use npyz::npz::NpzWriter;

use super::*;

/// An archive with two pictures, all pixels of which are their number plus one.
fn archive(folder: &Path) -> PathBuf {
    let path = folder.join("digits.npz");
    let mut archive = NpzWriter::create(&path).unwrap();
    let array = archive.array("X", zip_options()).unwrap();
    let mut writer = array.default_dtype().shape(&[2, SIDE as u64, SIDE as u64]).begin_nd().unwrap();
    for picture in 1..=2_u8 {
        writer.extend(std::iter::repeat_n(picture, PIXELS)).unwrap();
    }
    writer.finish().unwrap();
    drop(archive);
    path
}

fn zip_options() -> npyz::zip::write::FileOptions {
    npyz::zip::write::FileOptions::default()
}

#[test]
fn pictures_are_read_from_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = archive(folder.path());
    let both = read_npz(&path, "X", 2).unwrap();
    assert_eq!((both.len(), both[0], both[2 * PIXELS - 1]), (2 * PIXELS, 1, 2));
    assert_eq!(read_npz(&path, "X", 1).unwrap(), [1; PIXELS]);
}

#[test]
fn an_archive_with_too_few_pictures_or_without_the_array_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = archive(folder.path());
    let too_few = read_npz(&path, "X", 3).unwrap_err().to_string();
    assert!(too_few.ends_with("X has shape [2, 28, 28], but 3 pictures of 28 x 28 are needed"), "{too_few}");
    let missing = read_npz(&path, "X_test", 1).unwrap_err().to_string();
    assert!(missing.ends_with("there is no array X_test"), "{missing}");
}

#[test]
fn points_come_back_from_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f32> = (0..12_u8).map(f32::from).collect();
    let file = PointsFile::write_f32(folder.path().join("x.f32"), &values, 3).unwrap();
    let points = file.first(2).load().unwrap();
    assert_eq!((points.n_samples(), points.row(1)), (2, vec![3.0, 4.0, 5.0]));
    let bytes = PointsFile::write_u8(folder.path().join("x.u8"), &[0, 255, 51, 0], 2).unwrap();
    assert_eq!(bytes.load().unwrap().row(0), [0.0, 255.0 * BYTE_SCALE]);
}

#[test]
fn made_up_pictures_are_the_same_every_time_and_differ_from_each_other() {
    let pictures = blobs(2, 7);
    assert_eq!(pictures, blobs(2, 7));
    assert_ne!(pictures[..PIXELS], pictures[PIXELS..]);
    assert!(pictures.contains(&255) && pictures.contains(&0));
}
