//! What a mistyped word was probably meant to be.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Cli;

/// The name that a mistyped one may have meant, however it is capitalised.
pub(crate) fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    /// A third of the letters may be wrong.
    const LIKENESS: f64 = 0.66;
    let wanted = wanted.trim().to_lowercase();
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(&name.trim().to_lowercase(), &wanted);
    let names = names.into_iter().map(|name| (likeness(name), name)).filter(|(likeness, _)| *likeness >= LIKENESS);
    names.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}

/// The command, or the one among other topics of `mercer help`, that a mistyped word may have meant.
pub(crate) fn nearest_topic(wanted: &str, topics: &[&str]) -> Option<String> {
    let cli = Cli::command();
    let commands = cli.get_subcommands().map(clap::Command::get_name);
    nearest(wanted, commands.chain(topics.iter().copied())).map(str::to_owned)
}

/// What clap has to say, with the nearest command or value where it has not found one: its measure misses short words with two
/// letters exchanged.
pub(crate) fn advised(mut message: clap::Error) -> clap::Error {
    let word = |message: &clap::Error, kind| match message.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    match message.kind() {
        ErrorKind::InvalidValue if message.get(ContextKind::SuggestedValue).is_none() => {
            let found = match (word(&message, ContextKind::InvalidValue), message.get(ContextKind::ValidValue)) {
                (Some(wrong), Some(ContextValue::Strings(names))) => {
                    nearest(&wrong, names.iter().map(String::as_str)).map(str::to_owned)
                }
                _ => None,
            };
            if let Some(found) = found {
                message.insert(ContextKind::SuggestedValue, ContextValue::String(found));
            }
        }
        ErrorKind::InvalidSubcommand if message.get(ContextKind::SuggestedSubcommand).is_none() => {
            let found = word(&message, ContextKind::InvalidSubcommand).and_then(|wrong| nearest_topic(&wrong, &[]));
            if let Some(found) = found {
                message.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![found]));
            }
        }
        _ => {}
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_letters_may_be_wrong() {
        let formats = ["csv", "tsv", "npy"];
        assert_eq!(nearest("cvs", formats), Some("csv"), "two letters exchanged are one mistake");
        assert_eq!(nearest(" NPY", formats), Some("npy"));
        assert_eq!(nearest("json", formats), None);
        assert_eq!(nearest("csv", []), None);
    }

    #[test]
    fn a_topic_is_a_command_or_one_of_those_that_are_given() {
        assert_eq!(nearest_topic("comapre", &["kernels"]).as_deref(), Some("compare"));
        assert_eq!(nearest_topic("kernal", &["kernels"]).as_deref(), Some("kernels"));
        assert_eq!(nearest_topic("weather", &["kernels"]), None);
    }
}
