//! Numbers as they are typed: those with a minus, and whole ones.

use std::ffi::{OsStr, OsString};
use std::str::FromStr;

/// Ties a word such as `-1e-300` to the flag before it, as in `--gamma=-1e-300`, so that it reaches the check that knows what the flag
/// allows.
///
/// Left alone it would be taken for a flag: clap knows `-1` and `-1.5` for numbers, but not `-1e-3`, `-.5`, `-inf`, `-1/255`, `-2GiB` or
/// `-10s`. No flag of ours starts with a digit or a dot.
pub(crate) fn join_negative_values(words: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(words.len());
    let mut only_names_follow = false;
    for word in words {
        match joined.last_mut() {
            Some(flag) if !only_names_follow && is_negative(&word) && takes_the_next_word(flag) => {
                flag.push("=");
                flag.push(word);
            }
            _ => {
                only_names_follow |= word == "--";
                joined.push(word);
            }
        }
    }
    joined
}

/// Whether a word is a number with a minus, or starts like one.
fn is_negative(word: &OsStr) -> bool {
    let Some(rest) = word.to_str().and_then(|word| word.strip_prefix('-')) else { return false };
    rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') || rest.parse::<f64>().is_ok()
}

/// Whether a word is a flag whose value, if it has one, is the next word.
fn takes_the_next_word(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| {
        let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.contains('='))
    })
}

/// A number. Which ones make sense is for the library to say, which knows what the number is of.
pub(super) fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "give a number".to_owned())
}

/// A whole number. Whether zero makes sense is for the library to say, which knows what the number is of.
pub(super) fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "give a whole number that is not negative".to_owned())
}

/// A whole number of something of which there has to be one.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("give a whole number from 1 on".to_owned()),
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: &str) -> Vec<String> {
        let words = words.split(' ').map(OsString::from).collect();
        join_negative_values(words).into_iter().map(|word| word.into_string().expect("it was text before")).collect()
    }

    #[test]
    fn a_word_that_starts_like_a_negative_number_belongs_to_the_flag_before_it() {
        for value in ["-1", "-1e-300", "-.5", "-inf", "-nan", "-1/255", "-2GiB", "-10s", "-1:3", "-3,4", "-1e400"] {
            assert_eq!(
                joined(&format!("mercer fit x.csv --gamma {value} -o m")),
                ["mercer", "fit", "x.csv", &format!("--gamma={value}"), "-o", "m"]
            );
            assert_eq!(joined(&format!("mercer -n {value}")), ["mercer", &format!("-n={value}")]);
        }
    }

    #[test]
    fn nothing_else_is_joined() {
        for words in [
            "mercer fit - --quiet -o m",
            "mercer fit -1 --gamma 2",
            "mercer fit --gamma=-1 -2",
            "mercer fit --gamma --kernel rbf",
            "mercer fit x.csv -- --gamma -1",
            "mercer fit x.csv --gamma 1 -2",
        ] {
            assert_eq!(joined(words), words.split(' ').collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_no_number_is_refused_in_plain_words() {
        assert_eq!((number("-0.5"), number("1e-3")), (Ok(-0.5), Ok(1e-3)));
        for wrong in ["abc", "", "1,5", "1/2"] {
            assert_eq!(number(wrong), Err("give a number".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn a_whole_number_has_no_sign_and_no_fraction() {
        assert_eq!((whole::<usize>("12"), whole::<u64>("0")), (Ok(12), Ok(0)));
        for wrong in ["-3", "1.5", "ten", "", "1e3", "99999999999999999999999"] {
            assert_eq!(whole::<usize>(wrong), Err("give a whole number that is not negative".to_owned()), "{wrong}");
        }
    }
}
