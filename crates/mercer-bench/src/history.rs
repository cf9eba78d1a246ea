//! Whether the history has the commits that records name: only then can what was measured be built again.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};
use crate::record::Record;

/// What `scripts/bench` adds to a commit whose sources were changed before they were built.
const CHANGED: &str = "+changes";

/// Refuses records of this folder that were not measured at a commit of the history.
///
/// Where git is missing, the folder is no checkout, or its history is not whole, there is nothing to ask, and nothing is refused.
pub(crate) fn check(folder: &Path, records: &[&Record]) -> Result<()> {
    if git(folder, &["rev-parse", "--is-shallow-repository"]).as_deref() != Some("false") {
        return Ok(());
    }
    let is_past = |commit: &str| git(folder, &["merge-base", "--is-ancestor", commit, "HEAD"]).is_some();
    for record in records {
        if let Some(problem) = problem(&record.commit, is_past) {
            return Err(Failure::Data { path: folder.join(format!("{}.json", record.benchmark)), problem });
        }
    }
    Ok(())
}

/// What git answers in this folder, if it does and comes to a good end.
fn git(folder: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(words).stderr(Stdio::null()).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| answer.trim().to_owned())
}

/// Why nobody can build what was measured at this commit, if that is so.
fn problem(commit: &str, is_past: impl FnOnce(&str) -> bool) -> Option<String> {
    if let Some(commit) = commit.strip_suffix(CHANGED) {
        return Some(format!("was measured with changes that are not in commit {commit}: measure what is committed"));
    }
    let is_hash = commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let known = is_hash && is_past(commit);
    (!known).then(|| format!("was measured at commit {commit:?}, which is not in the history: measure it anew"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::record;

    #[test]
    fn a_record_of_a_commit_that_the_history_does_not_have_is_refused() {
        let said = |commit: &str| problem(commit, |commit| commit == "abcdef012345").unwrap_or_default();
        assert_eq!(said("abcdef012345"), "");
        let missing = "was measured at commit \"0123456789ab\", which is not in the history: measure it anew";
        assert_eq!(said("0123456789ab"), missing);
        let changed = "was measured with changes that are not in commit abcdef012345: measure what is committed";
        assert_eq!(said("abcdef012345+changes"), changed);
    }

    #[test]
    fn git_is_asked_for_nothing_that_is_no_commit() {
        for commit in ["unknown", "", "HEAD", "--all", "main~1 ", "abc"] {
            assert!(problem(commit, |_| unreachable!("it is no hash")).is_some(), "{commit}");
        }
    }

    #[test]
    fn nothing_is_refused_where_there_is_no_history() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), &[&record()]).unwrap();
        check(&folder.path().join("missing"), &[&record()]).unwrap();
    }
}
