#![no_main]

use mercer::online::Learner;
use mercer_cli::fuzzing::{more_memory_of_a_learner, sealed_learner, use_learner};

// Seeds are whole states. Behind a digest that does not fit nothing is read, so what comes after their first line gets one that does.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let sealed = sealed_learner(input);
    let state = sealed.as_deref().unwrap_or(input);
    let read = || Learner::from_bytes(state, None);
    // A learner that is accepted can be used, or says why not.
    if let Ok(learner) = mercer_fuzz::within_memory(state, more_memory_of_a_learner(state), read) {
        let _ = use_learner(learner);
    }
});
