#![no_main]

use std::io::Write;

use mercer::AnyModel;
use mercer_cli::fuzzing::{sealed_model, use_model};

// Behind a digest that does not fit nothing is read, so what has a place for one gets one that does.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let sealed = sealed_model(input);
    let bytes = sealed.as_deref().unwrap_or(input);
    let mut file = tempfile::NamedTempFile::new_in("/dev/shm").expect("memory for a file");
    file.write_all(bytes).expect("memory for a file");
    // A model that is accepted can be used, or says why not.
    if let Ok(model) = mercer_fuzz::within_memory(bytes, 0, || AnyModel::load(file.path())) {
        let _ = use_model(&model);
    }
});
