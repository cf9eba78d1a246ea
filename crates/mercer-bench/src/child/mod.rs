//! Measurements that need a process of their own, so that its peak of memory is theirs alone.
//!
//! The benchmark starts its own program again with a hidden command; what the child measured comes back as JSON on its
//! standard output, in the same shape as from the rivals' scripts.

mod cluster_once;
mod fit_once;
mod plan_once;
mod product_once;
mod read_once;
mod transform_once;

use std::io::Write;
use std::process::Command;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use cluster_once::{ClusterAnswer, ClusterOnce};
pub(crate) use fit_once::{FitAnswer, FitOnce};
pub(crate) use plan_once::{PlanAnswer, PlanOnce};
pub(crate) use product_once::{ProductAnswer, ProductOnce};
pub(crate) use read_once::{ReadAnswer, ReadOnce};
pub(crate) use transform_once::{TransformAnswer, TransformOnce};

use crate::failure::{Failure, Result};

/// Prints what a child measured, for its parent to read.
pub(crate) fn print(answer: &impl Serialize) -> Result<()> {
    let json = |source| Failure::Json { what: "the answer".to_owned(), source };
    let text = serde_json::to_string(answer).map_err(json)?;
    writeln!(std::io::stdout(), "{text}").map_err(Failure::file("standard output".as_ref()))
}

/// Runs this program again and reads what it measured.
fn run_self<A: DeserializeOwned>(arguments: &[String]) -> Result<A> {
    let program = std::env::current_exe().map_err(Failure::file("this program".as_ref()))?;
    let name = arguments.first().map_or("child", String::as_str);
    read_json(name, Command::new(program).args(arguments))
}

/// Runs a process to its end and reads the JSON that it printed.
pub(crate) fn read_json<A: DeserializeOwned>(name: &str, command: &mut Command) -> Result<A> {
    let process = |problem: String| Failure::Process { process: name.to_owned(), problem };
    let output = command.output().map_err(|error| process(format!("cannot be started: {error}")))?;
    if !output.status.success() {
        let talk = String::from_utf8_lossy(&output.stderr);
        return Err(process(format!("{}\n{}", output.status, talk.trim_end())));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|source| Failure::Json { what: format!("the answer of {name}"), source })
}

/// `--name value` as a child's arguments.
fn flag(name: &str, value: impl std::fmt::Display) -> [String; 2] {
    [format!("--{name}"), format!("{value}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_a_process_is_read() {
        let answer: Vec<u32> = read_json("printf", Command::new("printf").arg("[1, 2]")).unwrap();
        assert_eq!(answer, [1, 2]);
    }

    #[test]
    fn a_process_that_fails_says_why() {
        let failure = read_json::<u32>("sh", Command::new("sh").args(["-c", "echo no such solver >&2; exit 3"]));
        assert_eq!(failure.unwrap_err().to_string(), "sh: exit status: 3\nno such solver");
    }
}
