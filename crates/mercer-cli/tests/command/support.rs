//! A directory to run the command in, and what came of it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The binary under test, with nothing of the caller's terminal in its environment.
pub(crate) fn mercer() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mercer"));
    command.env_remove("COLUMNS").env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// A fresh directory that goes away with the test.
pub(crate) struct Directory(TempDir);

/// What a run of the command left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Directory {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// Runs the command until a file appears, and kills it then: a process has no say in SIGKILL.
    #[cfg(unix)]
    pub(crate) fn kill_when_there_is(&self, name: &str, words: &str) {
        use std::time::{Duration, Instant};

        let mut child = mercer()
            .args(words.split_whitespace())
            .current_dir(self.root())
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let from = Instant::now();
        while !self.path(name).exists() {
            assert!(from.elapsed() < Duration::from_secs(60), "no {name} appears");
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    /// Runs `mercer` by a shell that allows files of at most so many blocks of 512 bytes; exit code and standard error.
    #[cfg(unix)]
    pub(crate) fn run_with_small_disk(&self, blocks: usize, words: &str) -> (Option<i32>, String) {
        let script = format!("ulimit -f {blocks}; exec \"$0\" {words}");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_mercer")])
            .current_dir(self.root())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// Runs `mercer` here; words are separated by blanks.
    pub(crate) fn run(&self, words: &str) -> Outcome {
        self.run_with_input(words, b"")
    }

    pub(crate) fn run_with_input(&self, words: &str, input: &[u8]) -> Outcome {
        let mut child = mercer()
            .args(words.split_whitespace())
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that fails early does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Outcome {
    /// The same outcome, if the command did all it was asked to.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }
}

/// A file of `testdata/formats`, which other programs wrote.
pub(crate) fn example(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats").join(name)).unwrap()
}

/// Twelve points on a bent line with a label, as CSV with a header.
pub(crate) fn bent_line() -> String {
    let rows = (0..12).map(|i| {
        let t = f64::from(i) / 4.0;
        format!("{t},{},{}\n", t * t, if i < 6 { "low" } else { "high" })
    });
    std::iter::once("x,y,half\n".to_owned()).chain(rows).collect()
}

/// A `.npy` file (version 1.0) of values in rows.
pub(crate) fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&u16::try_from(text.len()).unwrap().to_le_bytes());
    file.extend_from_slice(text.as_bytes());
    file.extend_from_slice(values);
    file
}

/// The numbers of a CSV file, without its header and without columns that are not numbers.
pub(crate) fn numbers(csv: &str) -> Vec<Vec<f64>> {
    csv.lines().skip(1).map(|line| line.split(',').filter_map(|field| field.parse().ok()).collect()).collect()
}
