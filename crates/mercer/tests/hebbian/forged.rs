//! Checkpoints that say what no run says, with a digest that fits it: they are refused, and nothing panics.

use std::fmt::Write;

use mercer::{GainRule, HebbianLearner, MemoryBudget, Watch};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{N, points, small};

const KEY: &str = "mercer-hebbian";

/// The file with another header, and the digest of that.
fn forged(bytes: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let mut outer: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let data = &bytes[8 + length..];
    let mut header: Value = serde_json::from_str(outer["__metadata__"][KEY].as_str().unwrap()).unwrap();
    change(&mut header);
    header["digest"] = json!("");
    let mut hasher = Sha256::new();
    hasher.update(header.to_string());
    // Names are in their order: so are the keys of an object.
    for (name, tensor) in outer.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__") {
        let shape: Vec<usize> = serde_json::from_value(tensor["shape"].clone()).unwrap();
        let offsets: [usize; 2] = serde_json::from_value(tensor["data_offsets"].clone()).unwrap();
        hasher.update(format!("{name}{shape:?}"));
        hasher.update(&data[offsets[0]..offsets[1]]);
    }
    let mut digest = String::new();
    hasher.finalize().iter().for_each(|byte| write!(digest, "{byte:02x}").unwrap());
    header["digest"] = json!(digest);
    outer["__metadata__"][KEY] = json!(header.to_string());
    let outer = outer.to_string();
    [&(outer.len() as u64).to_le_bytes(), outer.as_bytes(), data].concat()
}

fn read(bytes: &[u8]) -> mercer::Result<HebbianLearner> {
    HebbianLearner::from_bytes(bytes, &points(), None, MemoryBudget::Auto, Some(1))
}

/// The checkpoint of a run with a rule that has neither a tau nor a meta-gain, and of one that has both.
fn checkpoints() -> [Vec<u8>; 2] {
    let plain = small(GainRule::Eigenvalue).eta0(0.1).fit(&points()).unwrap();
    let adapted = small(GainRule::MetaDescentStar).eta0(0.1).mu(0.01).fit(&points()).unwrap();
    [plain, adapted].map(|learner| learner.to_bytes().unwrap())
}

#[test]
fn what_no_run_writes_is_refused_though_its_digest_fits() {
    let [plain, adapted] = checkpoints();
    let most = u64::MAX;
    let cases = [
        (&plain, "/n_samples", json!(0), "the number of points"),
        (&plain, "/n_samples", json!(N - 1), "the number of points"),
        (&plain, "/n_samples", json!(N + 10), "the number of points"),
        (&plain, "/n_components", json!(0), "the number of components"),
        (&plain, "/n_components", json!(most), "the number of components"),
        (&plain, "/mean", Value::Null, "the mean of the matrix"),
        (&plain, "/center", json!("no"), "the mean of the matrix"),
        (&plain, "/parameters/eta0", json!(0.0), "the gain"),
        (&plain, "/parameters/eta0", json!(-0.5), "the gain"),
        (&plain, "/parameters/tau", json!(5.0), "tau"),
        (&adapted, "/parameters/tau", Value::Null, "tau"),
        (&adapted, "/parameters/tau", json!(-1.0), "tau"),
        (&plain, "/parameters/mu", json!(0.5), "mu"),
        (&adapted, "/parameters/mu", Value::Null, "mu"),
        (&adapted, "/parameters/mu", json!(-0.5), "mu"),
        (&plain, "/limit", json!(0.0), "the limit of squared lengths"),
        (&plain, "/limit", json!(-1.0), "the limit of squared lengths"),
        (&plain, "/updates", json!(most), "the number of updates"),
        (&plain, "/updates", json!(most - 15), "the number of updates"),
        (&plain, "/origin", json!(4 * N + 1), "the number of updates"),
        (&plain, "/earlier_passes", json!(most), "the number of earlier passes"),
        (&plain, "/history/0/updates", json!(10 * N), "the history"),
        (&plain, "/history/3/updates", json!(4 * N + 1), "the history"),
        (&plain, "/history/1/gains", json!([1.0]), "the history"),
    ];
    for (bytes, place, value, what) in cases {
        let altered = forged(bytes, |header| *header.pointer_mut(place).unwrap() = value.clone());
        let error = read(&altered).unwrap_err().to_string();
        assert_eq!(error, format!("checkpoint in memory: {what} is wrong"), "{place} = {value}");
    }
}

#[test]
fn a_forged_header_that_a_run_could_have_written_goes_on() {
    for bytes in checkpoints() {
        let same = forged(&bytes, |_| ());
        let other = forged(&bytes, |header| {
            header["earlier_passes"] = json!(7);
            header["seed"] = json!(8);
            header["limit"] = json!(20.0);
        });
        for bytes in [same, other] {
            read(&bytes).unwrap().partial_fit(None, 1, &Watch::new()).unwrap();
        }
    }
}
