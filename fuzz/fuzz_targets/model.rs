#![no_main]

use std::io::Write;

use mercer::Model;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut file = tempfile::NamedTempFile::new_in("/dev/shm").expect("memory for a file");
    file.write_all(input).expect("memory for a file");
    mercer_fuzz::within_memory(input, 0, || {
        // A model that is accepted can be used.
        if let Ok(model) = Model::load(file.path()) {
            assert!(model.n_components() <= model.n_samples());
        }
    });
});
