#![no_main]

use mercer::online::Learner;
use mercer_cli::fuzzing::{more_memory_of_a_learner, use_learner};

// Seeds are whole states. Behind a digest that does not fit nothing is read, so what comes after their first line gets one that does.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let json = input.iter().position(|&byte| byte == b'\n').map_or(input, |end| &input[end + 1..]);
    let state = mercer_fuzz::sealed_learner(json);
    let read = || Learner::from_bytes(&state, None);
    // A learner that is accepted can be used, or says why not.
    if let Ok(learner) = mercer_fuzz::within_memory(&state, more_memory_of_a_learner(&state), read) {
        let _ = use_learner(learner);
    }
});
