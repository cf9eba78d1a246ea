#![no_main]

use mercer_cli::fuzzing::{points_of_checkpoints, read_checkpoint, sealed_model, use_checkpoint};

// Seeds are whole checkpoints, which have their digest where models have it.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Ok(points) = points_of_checkpoints() else { return };
    let sealed = sealed_model(input);
    let bytes = sealed.as_deref().unwrap_or(input);
    // A run that is accepted can go on, or says why not.
    if let Ok(learner) = mercer_fuzz::within_memory(bytes, 0, || read_checkpoint(bytes, &points)) {
        let _ = use_checkpoint(learner);
    }
});
