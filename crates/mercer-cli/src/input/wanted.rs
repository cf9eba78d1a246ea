//! Columns that were learned from, found again by their names.
//!
//! A table with names is taken by them: its columns may stand in another order than at the fit, and there may be more of them. A
//! table without names, or one for a model without, is taken as it stands.

use std::collections::HashMap;

use super::advice;
use crate::failure::{InputError, Result};
use crate::spelling::nearest;

/// Names that a message lists.
const SHOWN: usize = 6;

/// The columns that are wanted, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    names: Vec<String>,
    /// Whose columns they are, as messages call it.
    owner: String,
    /// Whether the command can be told to take columns whatever their names.
    has_by_position: bool,
}

/// Where the columns of a table are that somebody wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Those that are wanted, in the order they are wanted in.
    pub(super) places: Vec<usize>,
    /// The others.
    pub(super) passed_over: Vec<usize>,
}

impl Wanted {
    /// The columns of `owner`: a model, a learner, another file.
    pub(crate) fn new(names: &[String], owner: impl Into<String>) -> Self {
        Self { names: names.to_vec(), owner: owner.into(), has_by_position: true }
    }

    /// The same, for a command without --by-position, which is then not advised.
    pub(crate) fn without_by_position(mut self) -> Self {
        self.has_by_position = false;
        self
    }

    /// Whether all of them are among these fields, which may then be names even if they are numbers.
    pub(super) fn are_among<'f>(&self, fields: impl Iterator<Item = &'f [u8]>) -> bool {
        let fields: std::collections::HashSet<&[u8]> = fields.map(<[u8]>::trim_ascii).collect();
        self.names.iter().all(|name| fields.contains(name.as_bytes()))
    }

    /// Finds them among the columns of a file, of which `free` are not taken for something else.
    pub(super) fn find(&self, file: &str, names: &[String], free: &[usize]) -> Result<Found> {
        let place_of: HashMap<&str, usize> = free.iter().map(|&place| (names[place].as_str(), place)).collect();
        let places: Vec<usize> = self.names.iter().filter_map(|name| place_of.get(name.as_str()).copied()).collect();
        if places.len() < self.names.len() {
            return Err(self.refusal(file, names, free, &place_of, places.is_empty()).into());
        }
        let is_wanted: std::collections::HashSet<usize> = places.iter().copied().collect();
        let passed_over = free.iter().copied().filter(|place| !is_wanted.contains(place)).collect();
        Ok(Found { places, passed_over })
    }

    /// Says which columns are missing, and how to go on.
    fn refusal(
        &self,
        file: &str,
        names: &[String],
        free: &[usize],
        place_of: &HashMap<&str, usize>,
        none_is_here: bool,
    ) -> InputError {
        let missing: Vec<&String> = self.names.iter().filter(|name| !place_of.contains_key(name.as_str())).collect();
        if let Some(taken) = missing.iter().find(|name| names.contains(name)) {
            let problem = format!("{} is a column of {}, but a flag takes it out", quoted(taken), self.owner);
            return InputError::new(file, problem).hint("see to --label, --id, --drop and --columns");
        }
        let here: Vec<String> = free.iter().map(|&place| names[place].clone()).collect();
        if none_is_here {
            let problem = format!(
                "no column has a name of {}, whose columns are {}; here are {}",
                self.owner,
                list(self.names.iter()),
                list(here.iter())
            );
            return InputError::new(file, problem).hint(if !self.has_by_position {
                "give the columns the same names, or none"
            } else if here.len() == self.names.len() {
                "if they are the same columns in the same order, say --by-position"
            } else {
                "if some are the same, name them in their order with --columns, and say --by-position"
            });
        }
        let problem = match missing.as_slice() {
            [only] => format!("there is no column {}, which {} has", quoted(only), self.owner),
            several => format!("there are no columns {}, which {} has", list(several.iter().copied()), self.owner),
        };
        // A column that has its own place is not the missing one under another name.
        let others: Vec<String> = here.into_iter().filter(|name| !self.names.contains(name)).collect();
        let nearest = missing.iter().find_map(|name| nearest(name, others.iter().map(String::as_str)));
        InputError::new(file, problem).hint(match nearest {
            Some(nearest) => format!("there is a column {}: give it the name of the fit", quoted(nearest)),
            None if others.is_empty() => "give the columns of the fit".to_owned(),
            None if !self.has_by_position => format!("the other columns are {}", list(others.iter())),
            None => format!("the other columns are {}; --by-position takes columns as they stand", list(others.iter())),
        })
    }

    /// What is said of columns that nobody wants.
    pub(crate) fn passing_over(&self, file: &str, names: &[String]) -> String {
        let (what, are) = if names.len() == 1 { ("a column", "is") } else { ("columns", "are") };
        format!("{file}: {what} that {} does not have {are} passed over: {}", self.owner, list(names.iter()))
    }
}

/// Names in a message: the first of them, if there are many.
fn list<'n>(names: impl ExactSizeIterator<Item = &'n String>) -> String {
    let more = if names.len() > SHOWN { ", …" } else { "" };
    let shown: Vec<String> = names.take(SHOWN).map(|name| quoted(name)).collect();
    format!("{}{more}", shown.join(", "))
}

fn quoted(name: &str) -> String {
    advice::quoted(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    /// What is found, or the message and its hint.
    fn found(wanted: &str, there: &str, free: &[usize]) -> std::result::Result<Found, (String, String)> {
        let wanted = Wanted::new(&names(wanted), "the model");
        wanted.find("x.csv", &names(there), free).map_err(|failure| {
            let hint = failure.hint().unwrap_or_default().to_owned();
            (failure.to_string(), hint)
        })
    }

    #[test]
    fn columns_are_found_in_any_order_and_others_are_passed_over() {
        let all = [0, 1, 2, 3];
        assert_eq!(found("a b", "c b d a", &all), Ok(Found { places: vec![3, 1], passed_over: vec![0, 2] }));
        assert_eq!(found("c b d a", "c b d a", &all), Ok(Found { places: vec![0, 1, 2, 3], passed_over: vec![] }));
    }

    #[test]
    fn a_missing_column_is_named_with_the_nearest_there_is() {
        let (problem, hint) = found("width height", "Width height depth", &[0, 1, 2]).unwrap_err();
        assert_eq!(problem, "x.csv: there is no column \"width\", which the model has");
        assert_eq!(hint, "there is a column \"Width\": give it the name of the fit");
        let (problem, hint) = found("a b c", "b", &[0]).unwrap_err();
        assert_eq!(problem, "x.csv: there are no columns \"a\", \"c\", which the model has");
        assert_eq!(hint, "give the columns of the fit");
        let (_, hint) = found("a b", "b quality", &[0, 1]).unwrap_err();
        assert_eq!(hint, "the other columns are \"quality\"; --by-position takes columns as they stand");
    }

    #[test]
    fn columns_of_other_names_are_not_taken_by_their_place_unasked() {
        let (problem, hint) = found("a b", "p q", &[0, 1]).unwrap_err();
        assert_eq!(
            problem,
            "x.csv: no column has a name of the model, whose columns are \"a\", \"b\"; here are \"p\", \"q\""
        );
        assert_eq!(hint, "if they are the same columns in the same order, say --by-position");
        assert!(found("a b", "p q r", &[0, 1, 2]).unwrap_err().1.contains("--columns"));
    }

    #[test]
    fn a_flag_that_the_command_does_not_have_is_not_advised() {
        let wanted = Wanted::new(&names("a b"), "x.csv").without_by_position();
        for (there, advised) in
            [("p q", "give the columns the same names, or none"), ("b quality", "the other columns are \"quality\"")]
        {
            let failure = wanted.find("y.csv", &names(there), &[0, 1]).unwrap_err();
            assert_eq!(failure.hint(), Some(advised));
        }
    }

    #[test]
    fn a_column_that_a_flag_takes_out_is_not_called_missing() {
        let (problem, hint) = found("a b", "a b", &[0]).unwrap_err();
        assert_eq!(problem, "x.csv: \"b\" is a column of the model, but a flag takes it out");
        assert!(hint.contains("--drop"));
    }

    #[test]
    fn what_is_passed_over_is_listed_but_not_all_of_it() {
        let wanted = Wanted::new(&names("a"), "the model");
        let one = wanted.passing_over("x.csv", &names("id"));
        assert_eq!(one, "x.csv: a column that the model does not have is passed over: \"id\"");
        assert!(wanted.passing_over("x.csv", &names("a b c d e f g")).ends_with("\"e\", \"f\", …"));
    }
}
