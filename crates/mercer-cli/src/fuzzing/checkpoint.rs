//! What is done with a run of the kernel Hebbian algorithm whose checkpoint was accepted: it must go on, or say why not. A digest that fits is
//! that of a model file ([`sealed_model`](super::sealed_model)).

use mercer::{HebbianLearner, MemoryBudget, Points, Watch};

use super::learner::some_rows;

/// Memory that a run may take, rows that are kept included: reading a checkpoint packs the points and makes room for rows.
const BUDGET: u64 = 1 << 18;

/// The points that the seeds were learned from, which are not in a checkpoint.
///
/// # Errors
///
/// None: they are points.
pub fn points_of_checkpoints() -> mercer::Result<Points> {
    some_rows(12, 3)
}

/// The run of a checkpoint over [those points](points_of_checkpoints).
///
/// # Errors
///
/// What is wrong with the checkpoint.
pub fn read_checkpoint(bytes: &[u8], points: &Points) -> mercer::Result<HebbianLearner> {
    HebbianLearner::from_bytes(bytes, points, None, MemoryBudget::Bytes(BUDGET), Some(1))
}

/// Goes on for a pass over the same points and for one over more, and asks for what there is then.
///
/// # Errors
///
/// What the user would be told: by the first call that could not do what was asked.
///
/// # Panics
///
/// If the run contradicts itself, which is what fuzzing looks for.
pub fn use_checkpoint(mut learner: HebbianLearner) -> Result<(), String> {
    let (n, watch) = (learner.points().n_samples(), Watch::new());
    let mut first = Ok(());
    let mut note = |result: mercer::Result<()>| {
        if first.is_ok() {
            first = result.map_err(|error| error.to_string());
        }
    };
    note(learner.model().map(drop));
    note(learner.feature_error().map(drop));
    note(learner.reconstruction_error(&watch).map(drop));
    let before = learner.n_updates();
    let went_on = learner.partial_fit(None, 1, &watch);
    assert_eq!(learner.n_updates(), before + if went_on.is_ok() { n } else { 0 });
    note(went_on);
    note(some_rows(4, learner.points().n_features()).and_then(|more| learner.partial_fit(Some(&more), 1, &watch)));
    assert_eq!(learner.coefficients().ncols(), learner.points().n_samples());
    // What can be written down can be read back.
    let points = learner.points().clone();
    note(learner.to_bytes().and_then(|bytes| read_checkpoint(&bytes, &points)).map(drop));
    first
}
