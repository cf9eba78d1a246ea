//! Damaged states of streams, as they are and with a digest that fits the damage.

use mercer::online::{Learner, OnlineKernelPca, OnlineLearner};
use mercer::{Kernel, Points};

use super::super::learner::{more_memory_of_a_learner, sealed_learner, use_learner};
use super::{Promise, seeds, torment};

#[test]
fn damaged_states_are_read_or_refused() {
    torment("learner", |bytes, numbers, promise| {
        if let Promise::Checked = promise
            && numbers.next(1000) == 0
        {
            let large = large();
            promise
                .keep(&large, 0, || Learner::from_bytes(&large, None).map(drop))
                .map_err(|error| error.to_string())?;
        }
        let sealed = if numbers.next(8) > 0 { sealed_learner(bytes) } else { None };
        let bytes = sealed.as_deref().unwrap_or(bytes);
        let learner = promise
            .keep(bytes, more_memory_of_a_learner(bytes), || Learner::from_bytes_with_note(bytes, None))
            .map_err(|error| error.to_string())?
            .0;
        use_learner(learner)
    });
}

/// The state of a stream as there are many: its memory is a factor of 300 rows more than anything else.
fn large() -> Vec<u8> {
    let values: Vec<f64> = (0..4000).map(|i| f64::from((i * 7919) % 1009) * 0.01).collect();
    let rows = Points::from_f64(values, 1000, 4).unwrap();
    let mut learner =
        OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(4).budget(300).learner().unwrap();
    learner.learn(&rows).unwrap();
    learner.to_bytes().unwrap()
}

#[test]
fn a_seal_of_a_state_is_the_one_that_is_checked() {
    for whole in seeds("learner") {
        assert!(Learner::from_bytes(&whole, None).is_ok());
        let text = String::from_utf8(whole).unwrap();
        let altered = text.replacen("\"n_shrunk\":0", "\"n_shrunk\":1", 1).into_bytes();
        let refused = Learner::from_bytes(&altered, None).err().unwrap().to_string();
        assert!(refused.contains("its contents do not match its digest"), "{refused}");
        assert_eq!(Learner::from_bytes(&sealed_learner(&altered).unwrap(), None).unwrap().n_shrunk(), 1);
    }
}

#[test]
fn seeds_are_of_every_kind_of_stream() {
    let learners: Vec<Learner> =
        seeds("learner").iter().map(|bytes| Learner::from_bytes(bytes, None).unwrap()).collect();
    let has = |what: &dyn Fn(&Learner) -> bool| learners.iter().any(what);
    assert!(has(&|learner| learner.n_before() > 0), "one that began as a model");
    assert!(has(&|learner| !learner.start_points().is_empty()), "one with start points");
    assert!(has(&|learner| learner.n_finished() > 0), "one whose components take turns");
    assert!(has(&|learner| learner.settings().record().policy.as_deref() == Some("oldest")), "one that drops rows");
    assert!(has(&|learner| learner.n_seen() > 600), "one whose last rows are all there");
    for learner in learners {
        assert_eq!(use_learner(learner), Ok(()));
    }
}

#[test]
fn seeds_are_of_every_format_of_streams() {
    let format = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let state: serde_json::Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
        state["format_version"].as_u64().unwrap()
    };
    let (present, seeds) = (format(&large()), seeds("learner"));
    let of_format = |wanted: u64| seeds.iter().filter(|bytes| format(bytes) == wanted).count();
    assert!(of_format(present) >= 6, "seeds are of old formats: streams that go on from them write format {present}");
    for older in 2..present {
        assert!(of_format(older) > 0, "no seed is of format {older}, which is still read");
    }
}
