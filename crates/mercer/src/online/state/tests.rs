//! States of this version, of older ones, and such that are none.

use super::*;
use crate::online::OnlineLearner as _;

fn bytes(json: &str) -> Vec<u8> {
    format!("{MAGIC} {}\n{json}", checksum(json)).into_bytes()
}

fn rows() -> Points {
    Points::from_f64((0..24).map(f64::from).collect::<Vec<_>>(), 12, 2).expect("twelve rows of two")
}

fn settings() -> OnlineKernelPca {
    OnlineKernelPca::new(Kernel::gaussian(0.1).expect("positive"))
}

/// A learner of those rows, and its state.
fn learned(settings: &OnlineKernelPca) -> (Learner, String) {
    let mut learner = settings.learner().expect("the settings fit together");
    learner.learn(&rows()).expect("finite rows");
    let whole = String::from_utf8(learner.to_bytes().expect("no function")).expect("JSON");
    let (_, json) = whole.split_once('\n').expect("a line before the JSON");
    (learner, json.to_owned())
}

/// The state as an older version wrote it.
fn of_version(json: &str, version: u32) -> String {
    let (from, to) = (format!("\"format_version\":{FORMAT_VERSION}"), format!("\"format_version\":{version}"));
    assert!(json.contains(&from), "{json}");
    json.replacen(&from, &to, 1)
}

/// The state without one of its lists of numbers.
fn lacking(json: &str, field: &str) -> String {
    let (before, list) = json.split_once(&format!("\"{field}\":[")).expect("the list is there");
    let (_, after) = list.split_once("],").expect("something comes after it");
    format!("{before}{after}")
}

#[test]
fn states_of_older_versions_go_on_learning() {
    let (learner, json) = learned(&settings().budget(5));
    assert!(learner.followed_error.iter().all(|&lost| lost > 0.0), "{:?}", learner.followed_error);
    assert!(learner.unsettled.iter().all(|&share| share > 0.0 && share < 1.0), "{:?}", learner.unsettled);
    let third = lacking(&of_version(&json, 3), "unsettled");
    let second = lacking(&lacking(&of_version(&json, 2), "unsettled"), "began");
    for older in [third, second] {
        let mut other = Learner::from_bytes(&bytes(&older), None).expect("an older version is read");
        assert_eq!(other.unsettled, [0.0, 0.0], "what has lost something counts as settled");
        let (said, known) = (other.budget_error().expect("no function"), learner.budget_error().expect("no function"));
        assert!(said.iter().zip(&known).all(|(said, known)| said >= known), "{said:?} for {known:?}");
        let more = Points::from_f64(vec![3.5, 4.0, 1.0, 2.5, 30.0, 31.0], 3, 2).expect("three rows of two");
        let expected = learner.clone().learn(&more).expect("finite rows");
        assert_eq!(other.learn(&more).expect("finite rows"), expected);
        assert_eq!(other.n_seen(), 15);
    }
}

#[test]
fn components_that_have_lost_nothing_are_all_that_they_were_in_older_versions_too() {
    let (learner, json) = learned(&settings());
    let older = lacking(&of_version(&json, 3), "unsettled");
    let other = Learner::from_bytes(&bytes(&older), None).expect("an older version is read");
    assert_eq!(
        (other.unsettled.as_slice(), learner.unsettled.as_slice()),
        ([1.0, 1.0].as_slice(), [1.0, 1.0].as_slice())
    );
}

#[test]
fn the_third_version_may_have_what_the_fourth_has() {
    let (learner, json) = learned(&settings().budget(5));
    let other = Learner::from_bytes(&bytes(&of_version(&json, 3)), None).expect("an older version is read");
    assert_eq!(other.unsettled, learner.unsettled);
    assert_eq!(other.to_bytes().expect("no function"), bytes(&json), "it is saved in the present version");
}

#[test]
fn whole_bytes_of_another_version_or_of_parts_that_do_not_fit_are_refused() {
    let (_, json) = learned(&settings().budget(5));
    assert!(Learner::from_bytes(&bytes(&json), None).is_ok());
    let say = |from: &str, to: &str| {
        assert!(json.contains(from), "{from}");
        Learner::from_bytes(&bytes(&json.replacen(from, to, 1)), None)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let refused = |why: &str| format!("`state` must be that of an online learner, but it is not readable ({why})");
    assert_eq!(
        say("\"format_version\":4", "\"format_version\":5"),
        refused("it has format 5, but this version reads formats 2 to 4")
    );
    assert_eq!(say("\"n_components\":2", "\"n_components\":3"), refused("its parts do not fit together"));
    assert_eq!(say("\"started\":2", "\"started\":5"), refused("its parts do not fit together"));
    assert!(say("\"n_seen\"", "\"n_saw\"").contains("unknown field `n_saw`"));
    // A factor that the policy needs and is not there, and one that is there without a use.
    let (from, _) = json.split_once("\"factor\":").expect("there is one");
    let (_, after) = json.split_once("]}},").expect("something comes after the memory");
    let without = format!("{from}\"factor\":null}},{after}");
    let refusal = Learner::from_bytes(&bytes(&without), None).err().map(|error| error.to_string());
    assert_eq!(refusal, Some(refused("its parts do not fit together")), "{without}");
    assert_eq!(say("\"policy\":null", "\"policy\":\"oldest\""), refused("its parts do not fit together"));
    // The present version says how far every component has settled.
    let refusal = Learner::from_bytes(&bytes(&lacking(&json, "unsettled")), None).err().map(|error| error.to_string());
    assert_eq!(refusal, Some(refused("its parts do not fit together")));
}

#[test]
fn a_state_in_which_it_is_the_turn_of_no_component_is_refused() {
    let turns = settings().n_components(3).rule(crate::online::Rule::Apex).rows_per_component(4);
    let start = Points::from_f64(vec![1.0, 0.5, 8.0, 9.0, 20.0, 21.0], 3, 2).expect("three points");
    let refusal = "`state` must be that of an online learner, but it is not readable (its parts do not fit together)";
    let plain = settings().n_components(3);
    for settings in [turns.clone(), turns.start(start.clone()), plain.clone(), plain.start(start)] {
        let fits = |started: usize, finished: usize| {
            let begun = match (settings.rows_per_component.is_some(), settings.start.is_some()) {
                (true, false) => finished..=finished + 1,
                (true, true) => finished + 1..=finished + 1,
                (false, true) => 3..=3,
                (false, false) => finished..=3,
            };
            finished < 3 && begun.contains(&started)
        };
        let (learner, json) = learned(&settings);
        assert_eq!(learner.n_started(), 3);
        for (started, finished) in (0..5).flat_map(|started| (0..5).map(move |finished| (started, finished))) {
            let from = format!("\"started\":3,\"finished\":{}", learner.n_finished());
            assert!(json.contains(&from), "{json}");
            let changed = json.replacen(&from, &format!("\"started\":{started},\"finished\":{finished}"), 1);
            let read = Learner::from_bytes(&bytes(&changed), None);
            assert_eq!(read.is_ok(), fits(started, finished), "{finished} of {started} have finished");
            match read {
                Ok(mut learner) => assert_eq!(learner.learn(&rows()).expect("finite rows").nrows(), 12),
                Err(error) => assert_eq!(error.to_string(), refusal),
            }
        }
    }
}
