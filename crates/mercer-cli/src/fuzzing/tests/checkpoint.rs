//! Damaged checkpoints of the kernel Hebbian algorithm, as they are and with a digest that fits the damage.

use std::collections::BTreeSet;

use mercer::{GainRule, HebbianLearner, Kernel, KernelHebbianPca, Refresh};

use super::super::checkpoint::{points_of_checkpoints, read_checkpoint, use_checkpoint};
use super::super::model::sealed_model;
use super::{layout, seeds, torment};

#[test]
fn damaged_checkpoints_are_read_or_refused() {
    let points = points_of_checkpoints().unwrap();
    torment("checkpoint", |bytes, numbers, promise| {
        let sealed = if numbers.next(8) > 0 { sealed_model(bytes) } else { None };
        let bytes = sealed.as_deref().unwrap_or(bytes);
        let learner = promise.keep(bytes, 0, || read_checkpoint(bytes, &points));
        use_checkpoint(learner.map_err(|error| error.to_string())?)
    });
}

#[test]
fn a_seal_of_a_checkpoint_is_the_one_that_is_checked() {
    let points = points_of_checkpoints().unwrap();
    for whole in seeds("checkpoint") {
        let mut altered = whole.clone();
        let place = altered.len() - 3;
        altered[place] ^= 1;
        let refused = read_checkpoint(&altered, &points).unwrap_err().to_string();
        assert!(refused.ends_with("its contents do not match its digest"), "{refused}");
        let outcome = read_checkpoint(&sealed_model(&altered).unwrap(), &points);
        assert!(outcome.is_ok(), "{:?}", outcome.err());
    }
}

/// The checkpoints of small runs of every kind, in the formats that are written now: at the end of a pass and in the middle of one.
fn checkpoints_of_every_kind() -> Vec<(&'static str, Vec<u8>)> {
    let points = points_of_checkpoints().unwrap();
    let run = |rule: GainRule| {
        KernelHebbianPca::new(Kernel::gaussian(0.5).unwrap()).n_components(2).gain(rule).eta0(0.1).mu(0.01).passes(1)
    };
    let bytes = |learner: HebbianLearner| learner.to_bytes().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let halfway = run(GainRule::MetaDescent).batch_size(4).updates(8);
    let halfway = halfway.checkpoint(mercer::Checkpoint::new(&path));
    halfway.fit(&points).unwrap();
    vec![
        ("plain", bytes(run(GainRule::Constant).center(mercer::Center::No).fit(&points).unwrap())),
        ("adapted", bytes(run(GainRule::MetaDescentStar).fit(&points).unwrap())),
        ("followed", bytes(run(GainRule::EigenvalueStar).refresh(Refresh::Iteration).fit(&points).unwrap())),
        ("halfway", std::fs::read(&path).unwrap()),
    ]
}

#[test]
fn seeds_are_of_every_kind_of_checkpoint() {
    let points = points_of_checkpoints().unwrap();
    let seeds = seeds("checkpoint");
    let layouts: Vec<BTreeSet<String>> = seeds.iter().map(|bytes| layout(bytes)).collect();
    for (kind, bytes) in checkpoints_of_every_kind() {
        let layout = layout(&bytes);
        assert!(layouts.contains(&layout), "{kind} checkpoints have {layout:?}, and no seed does");
    }
    for bytes in seeds {
        assert_eq!(use_checkpoint(read_checkpoint(&bytes, &points).unwrap()), Ok(()));
    }
}
