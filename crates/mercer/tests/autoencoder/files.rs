//! The file of an autoencoder.

use mercer::autoencoder::{Autoencoder, AutoencoderKernelPca, Codec, SpanChoice};
use mercer::{AnyModel, Kernel, KernelPca, Points, Watch};

use crate::support::{given, pictures};

#[test]
fn a_file_holds_everything_and_learning_goes_on_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codes.mercer");
    let points = pictures(80, 8, 1);
    let skew: Vec<f64> = (0..128).map(|at| (f64::from(at) * 0.37).sin()).collect();
    for settings in [
        AutoencoderKernelPca::new(2),
        AutoencoderKernelPca::new(2).span(SpanChoice::Data).landmarks(40),
        AutoencoderKernelPca::new(2).start(given(&skew, &skew)),
    ] {
        let mut model = settings.epochs(2).batch_size(10).fit(&points).unwrap();
        model.save(&path).unwrap();
        let mut again = Autoencoder::load(&path).unwrap();
        assert_eq!(again.to_bytes().unwrap(), model.to_bytes().unwrap());
        assert_eq!(again.encode(&points).unwrap(), model.encode(&points).unwrap());
        assert_eq!(again.reconstruct(&points).unwrap(), model.reconstruct(&points).unwrap());
        assert_eq!(again.history(), model.history());
        model.partial_fit(&points, &Watch::new()).unwrap();
        again.partial_fit(&points, &Watch::new()).unwrap();
        assert_eq!(again.encoder(), model.encoder());
        assert!(matches!(AnyModel::load(&path).unwrap(), AnyModel::Autoencoder(_)));
    }
}

/// Points whose largest norm is one are divided by it or not, which is the same until others are learned from by somebody who reads the file.
#[test]
fn a_file_tells_whether_points_are_divided_by_a_largest_norm_of_one() {
    let points = Points::from_f64(vec![1.0, 0.0, 0.0, 1.0, 0.6, 0.0], 3, 2).unwrap();
    for scale in [true, false] {
        let model = AutoencoderKernelPca::new(1).epochs(1).scale(scale).fit(&points).unwrap();
        assert_eq!(model.scale().to_bits(), 1.0_f64.to_bits());
        let again = Autoencoder::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!((model.is_scaled(), again.is_scaled()), (scale, scale));
    }
}

#[test]
fn altered_cut_and_foreign_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codes.mercer");
    let points = pictures(20, 5, 2);
    AutoencoderKernelPca::new(2).epochs(1).fit(&points).unwrap().save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let message = Autoencoder::load(&path).unwrap_err().to_string();
        assert!(AnyModel::load(&path).is_err());
        message
    };
    let mut altered = bytes.clone();
    let last = altered.len() - 3;
    altered[last] ^= 1;
    assert!(refused(&altered).contains("altered"));
    assert!(refused(&bytes[..bytes.len() - 10]).contains("cut short"));
    assert!(refused(b"hello").contains("not a Mercer autoencoder"));
    let kernel = KernelPca::new(Kernel::linear()).n_components(2).fit(&points).unwrap();
    kernel.save(&path).unwrap();
    assert!(Autoencoder::load(&path).unwrap_err().to_string().contains("not a Mercer autoencoder"));
    assert!(matches!(AnyModel::load(&path).unwrap(), AnyModel::KernelPca(_)));
}
