//! What is done with a learner whose state was accepted: it must take rows, or say why not. And a digest that fits what was done to a state.

use std::fmt::Write;

use mercer::Points;
use mercer::online::{Learner, OnlineLearner};
use sha2::{Digest, Sha256};

/// Bytes that reading the state of a learner may take beyond four times its input. States are text: of an empty list, three bytes, a list in memory
/// takes 24, and three times that while the list that it is in grows. A state that was saved takes less than four times its bytes.
pub fn more_memory_of_a_learner(input: &[u8]) -> usize {
    20 * input.len()
}

/// Learns a few rows, looks at others, and asks for all that can be asked for.
///
/// # Errors
///
/// What the user would be told: by the first call that could not do what was asked.
///
/// # Panics
///
/// If the learner contradicts itself, which is what fuzzing looks for.
pub fn use_learner(mut learner: Learner) -> std::result::Result<(), String> {
    let rows = some_rows(40, learner.n_features().unwrap_or(2)).map_err(|error| error.to_string())?;
    let mut first = Ok(());
    let mut note = |result: mercer::Result<()>| {
        if first.is_ok() {
            first = result.map_err(|error| error.to_string());
        }
    };
    note(learner.look_at_rows(&rows).map(drop));
    note(learner.learn(&rows).map(drop));
    note(learner.learn_row(&rows.row(3)).map(drop));
    note(learner.captured().map(drop));
    note(learner.budget_error().map(drop));
    note(learner.mean_drift().map(drop));
    note(learner.model().and_then(|model| model.transform(&rows)).map(drop));
    note(learner.next_component(&rows.slice(1..2)).map(drop));
    assert!(learner.warnings().iter().all(|warning| warning.lines().count() == 1));
    assert_eq!(learner.coefficients().nrows(), learner.n_components());
    assert!(learner.n_started() <= learner.n_components() && learner.n_finished() <= learner.n_started());
    // What can be written down can be read back.
    if let Ok(bytes) = learner.to_bytes() {
        note(Learner::from_bytes(&bytes, None).map(drop));
    }
    first
}

/// Rows of numbers from -1 to 2, none like another.
pub(super) fn some_rows(n: usize, width: usize) -> mercer::Result<Points> {
    let value = |i: usize| ((i * 7919) % 101) as f64 * 0.03 - 1.0;
    Points::from_f64((0..n * width).map(value).collect::<Vec<_>>(), n, width)
}

/// The same state with a digest that fits it; `None` if it is damaged so much that it has no place for one.
pub fn sealed_learner(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let json = &bytes[end + 1..];
    let mut sealed = "mercer learner ".to_owned();
    for byte in Sha256::digest(json) {
        write!(sealed, "{byte:02x}").ok()?;
    }
    Some([sealed.as_bytes(), b"\n", json].concat())
}
