//! Which columns of a table are the points, and which are label and id.

use std::collections::{HashMap, HashSet};

use super::wanted::Found;
use super::{ColumnNames, ReadOptions, advice};
use crate::args::ColumnName;
use crate::failure::{InputError, Result};

/// The columns that were asked for, by their place in the file.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// Columns of the points, in the order they are used in.
    pub(super) features: Vec<usize>,
    pub(super) label: Option<usize>,
    pub(super) id: Option<usize>,
    /// What the columns are called, where it matters.
    pub(super) names: ColumnNames,
}

impl Selection {
    /// Finds the columns that the options name among those of a file.
    pub(super) fn new(options: &ReadOptions, file: &str, names: Option<&[String]>, n_columns: usize) -> Result<Self> {
        let columns = Columns { file, names, count: n_columns };
        columns.check_names()?;
        let label = options.label.as_ref().map(|label| columns.find(label, "--label")).transpose()?;
        let id = options.id.as_ref().map(|id| columns.find(id, "--id")).transpose()?;
        let wanted = if options.columns.is_empty() {
            (0..n_columns).collect()
        } else {
            columns.find_all(&options.columns, "--columns")?
        };
        let dropped = columns.find_all(&options.drop, "--drop")?;
        if let (Some(place), true) = (label, label == id) {
            let problem = format!("column {} cannot be both --label and --id", columns.shown(place));
            return Err(InputError::new(file, problem).into());
        }
        // A range may reach over what is taken out; who names a column means it.
        for column in options.columns.iter().filter(|column| columns.range(column).is_none()) {
            let place = columns.find(column, "--columns")?;
            let taken_out =
                [("--label", label == Some(place)), ("--id", id == Some(place)), ("--drop", dropped.contains(&place))];
            if let Some((flag, _)) = taken_out.into_iter().find(|(_, is_out)| *is_out) {
                let problem =
                    format!("column {} is asked for by --columns and taken out by {flag}", columns.shown(place));
                return Err(InputError::new(file, problem).hint("name it in one of them").into());
            }
        }
        let is_feature = |place: &usize| Some(*place) != label && Some(*place) != id && !dropped.contains(place);
        let features: Vec<usize> = wanted.into_iter().filter(is_feature).collect();
        if features.is_empty() {
            let problem = match (n_columns, options.label.is_some() || options.id.is_some()) {
                (1, true) => "the label is the only column: there is no data",
                _ => "no column is left for the points",
            };
            return Err(InputError::new(file, problem)
                .hint("use fewer of --label, --id, --drop, or more --columns")
                .into());
        }
        // Only a list can name a column twice, and there may be millions of columns.
        let listed = if options.columns.is_empty() { &[] } else { features.as_slice() };
        if let Some(twice) = first_repeated(listed) {
            let problem = format!("column {} was asked for twice in --columns", columns.shown(twice));
            return Err(InputError::new(file, problem).into());
        }
        let Found { places: features, passed_over } = match (&options.wanted, names) {
            (Some(wanted), Some(names)) => wanted.find(file, names, &features)?,
            _ => Found { places: features, passed_over: Vec::new() },
        };
        let names_of = |places: &[usize]| names.map(|names| places.iter().map(|&place| names[place].clone()).collect());
        let of_features: Option<Vec<String>> = names_of(&features);
        let names = ColumnNames {
            n_without: of_features.as_deref().map_or(0, n_in_the_way),
            features: of_features.filter(|names| has_names(names)),
            passed_over: names_of(&passed_over).unwrap_or_default(),
        };
        Ok(Self { features, label, id, names })
    }

    /// Whether the points are all columns as they stand.
    pub(super) fn is_all(&self, n_columns: usize) -> bool {
        self.features.len() == n_columns && self.features.is_sorted()
    }
}

/// The columns that a list names by number, whatever their names may be.
pub(super) fn numbered(list: &[ColumnName], n_columns: usize) -> Vec<usize> {
    let columns = Columns { file: "", names: None, count: n_columns };
    list.iter().flat_map(|column| columns.find_all(std::slice::from_ref(column), "").unwrap_or_default()).collect()
}

/// How many columns a file without names has, if the flags leave so many of them for the points: as many, those that are taken out, and none
/// beyond the last one that is named.
pub(super) fn count_for(options: &ReadOptions, n_features: usize) -> usize {
    let span = |column: &ColumnName| -> Option<(usize, usize)> {
        let (first, last) = column.0.split_once('-').unwrap_or((&column.0, &column.0));
        first.parse().ok().zip(last.parse().ok()).filter(|(first, last)| 1 <= *first && first <= last)
    };
    let taken_out = || options.drop.iter().chain(&options.id);
    let last_named = options.columns.iter().chain(taken_out()).filter_map(span).map(|(_, last)| last).max();
    let mut n = n_features;
    if options.columns.is_empty() {
        let mut spans: Vec<(usize, usize)> = taken_out().filter_map(span).collect();
        spans.sort_unstable();
        // Spans may overlap, and are never written out: they may be of any length.
        let mut end = 0;
        for (first, last) in spans {
            n = n.saturating_add(last.saturating_sub(end.max(first - 1)));
            end = end.max(last);
        }
        let from_the_end: HashSet<&str> =
            taken_out().map(|it| it.0.as_str()).filter(|it| it.starts_with('-')).collect();
        n = n.saturating_add(from_the_end.len());
    }
    n.max(last_named.unwrap_or(0))
}

/// The columns of a file.
struct Columns<'a> {
    file: &'a str,
    names: Option<&'a [String]>,
    count: usize,
}

impl Columns<'_> {
    /// Refuses a header in which a name stands twice. Columns without a name are no trouble.
    fn check_names(&self) -> Result<()> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (place, name) in self.names.unwrap_or_default().iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if let Some(first) = places.insert(name, place) {
                let shown = advice::quoted(name.as_bytes());
                let problem = format!("two columns are called {shown}: {} and {}", first + 1, place + 1);
                return Err(InputError::new(self.file, problem).hint("give each column a name of its own").into());
            }
        }
        Ok(())
    }

    fn find(&self, wanted: &ColumnName, flag: &str) -> Result<usize> {
        if let Some(place) = wanted.find(self.names, self.count) {
            return Ok(place);
        }
        let n = self.count;
        let among = if n == 1 { "the only column".to_owned() } else { format!("the {n} columns") };
        let problem = format!("there is no column \"{}\" among {among}", wanted.0);
        let error = InputError::new(self.file, problem);
        Err(match self.names {
            Some(names) => error.hint(advice::similar_columns(&wanted.0, names)),
            None => error.hint(format!("without a header, {flag} takes a number: 1 is the first column, -1 the last")),
        }
        .into())
    }

    /// The places of several columns; `3-10` stands for all from 3 to 10 unless a column is called so.
    fn find_all(&self, wanted: &[ColumnName], flag: &str) -> Result<Vec<usize>> {
        let mut places = Vec::new();
        for column in wanted {
            match self.range(column) {
                Some((first, last)) => {
                    if first < 1 || last < first || last > self.count {
                        let problem =
                            format!("there are no columns {first} to {last} among the {} columns", self.count);
                        return Err(InputError::new(self.file, problem).hint("columns are counted from 1").into());
                    }
                    places.extend(first - 1..last);
                }
                None => places.push(self.find(column, flag)?),
            }
        }
        Ok(places)
    }

    /// First and last number of a range, if the word is one.
    fn range(&self, column: &ColumnName) -> Option<(usize, usize)> {
        let (first, last) = column.0.split_once('-')?;
        let range = first.parse().ok().zip(last.parse().ok())?;
        self.names.is_none_or(|names| !names.contains(&column.0)).then_some(range)
    }

    fn shown(&self, place: usize) -> String {
        match self.names.and_then(|names| names.get(place)) {
            Some(name) => format!("{} ({})", place + 1, advice::shown(name)),
            None => (place + 1).to_string(),
        }
    }
}

/// Whether columns can be told apart by their names: at most one has none. (Those that have one have different ones.)
fn has_names(names: &[String]) -> bool {
    names.iter().filter(|name| name.is_empty()).count() <= 1
}

/// How many columns without a name are in the way of those that have one.
fn n_in_the_way(names: &[String]) -> usize {
    let n_without = names.iter().filter(|name| name.is_empty()).count();
    if has_names(names) || n_without == names.len() { 0 } else { n_without }
}

fn first_repeated(places: &[usize]) -> Option<usize> {
    let mut seen = HashSet::new();
    places.iter().copied().find(|place| !seen.insert(*place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::DataArgs;

    fn names() -> Vec<String> {
        ["name", "a", "b", "3-4", "kind"].map(str::to_owned).to_vec()
    }

    fn list(words: &[&str]) -> Vec<ColumnName> {
        words.iter().map(|word| ColumnName((*word).to_owned())).collect()
    }

    fn select(args: &DataArgs) -> std::result::Result<Selection, String> {
        Selection::new(&ReadOptions::from(args), "x.csv", Some(&names()), 5).map_err(|error| error.to_string())
    }

    #[test]
    fn label_id_and_dropped_columns_are_no_features() {
        let args = DataArgs {
            label: Some(ColumnName("kind".to_owned())),
            id: Some(ColumnName("1".to_owned())),
            drop: list(&["b"]),
            ..DataArgs::default()
        };
        let found = select(&args).unwrap();
        assert_eq!((found.features.as_slice(), found.label, found.id), ([1, 3].as_slice(), Some(4), Some(0)));
        assert_eq!(found.names.features.unwrap(), ["a", "3-4"]);
    }

    #[test]
    fn columns_come_in_the_order_they_are_asked_for_and_in_ranges() {
        let columns = |words: &[&str]| select(&DataArgs { columns: list(words), ..DataArgs::default() });
        assert_eq!(columns(&["b", "a"]).unwrap().features, [2, 1]);
        assert_eq!(columns(&["2-3", "-1"]).unwrap().features, [1, 2, 4]);
        assert_eq!(columns(&["3-4"]).unwrap().features, [3], "the column of that name");
        assert_eq!(columns(&["b", "3"]).unwrap_err(), "x.csv: column 3 (b) was asked for twice in --columns");
        assert_eq!(columns(&["2-9"]).unwrap_err(), "x.csv: there are no columns 2 to 9 among the 5 columns");
    }

    #[test]
    fn a_column_is_not_asked_for_and_taken_out() {
        let kind = || Some(ColumnName("kind".to_owned()));
        let cases = [
            (DataArgs { label: kind(), ..DataArgs::default() }, "--label"),
            (DataArgs { id: kind(), ..DataArgs::default() }, "--id"),
            (DataArgs { drop: list(&["kind"]), ..DataArgs::default() }, "--drop"),
        ];
        for (args, flag) in cases {
            let named = DataArgs { columns: list(&["a", "-1"]), ..args.clone() };
            let expected = format!("x.csv: column 5 (kind) is asked for by --columns and taken out by {flag}");
            assert_eq!(select(&named).unwrap_err(), expected);
            let range = DataArgs { columns: list(&["2-5"]), ..args };
            assert_eq!(select(&range).unwrap().features, [1, 2, 3], "a range may reach over it");
        }
        let both = DataArgs { label: kind(), id: kind(), ..DataArgs::default() };
        assert_eq!(select(&both).unwrap_err(), "x.csv: column 5 (kind) cannot be both --label and --id");
    }

    #[test]
    fn columns_that_cannot_be_told_apart_have_no_names_and_that_is_said() {
        let options = ReadOptions::from(&DataArgs::default());
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let names = Selection::new(&options, "x.csv", Some(&names), names.len()).unwrap().names;
            (options.remark_on("x.csv", &names), names.features)
        };
        assert_eq!(named(&["", "a"]), (None, Some(vec![String::new(), "a".to_owned()])));
        let said = "x.csv: 2 columns have no name, so the names of the others are not used, and columns are taken as they stand; give them names, or \
                    leave them out with --drop";
        assert_eq!(named(&["", "a", ""]), (Some(said.to_owned()), None));
        assert_eq!(named(&["", "", ""]), (None, None), "there are none to lose");
    }

    #[test]
    fn something_must_be_left() {
        let error = select(&DataArgs { drop: list(&["1-5"]), ..DataArgs::default() }).unwrap_err();
        assert_eq!(error, "x.csv: no column is left for the points");
    }

    #[test]
    fn a_name_that_stands_twice_is_refused() {
        let names = ["a", "", "b", "", "a"].map(str::to_owned);
        let options = ReadOptions::from(&DataArgs::default());
        let error = Selection::new(&options, "x.csv", Some(&names), 5).unwrap_err();
        assert_eq!(error.to_string(), "x.csv: two columns are called \"a\": 1 and 5");
    }

    #[test]
    fn columns_that_are_taken_out_are_counted_with_those_that_are_left() {
        let count = |columns: &[&str], drop: &[&str], id: Option<&str>, n_features| {
            let args = DataArgs {
                columns: list(columns),
                drop: list(drop),
                id: id.map(|id| ColumnName(id.to_owned())),
                ..DataArgs::default()
            };
            count_for(&ReadOptions::from(&args), n_features)
        };
        assert_eq!(count(&[], &[], None, 4), 4);
        assert_eq!(count(&[], &["3"], None, 4), 5);
        assert_eq!(count(&[], &["3-5", "4-6", "1"], Some("2"), 4), 10);
        assert_eq!(count(&[], &["-1", "-2"], Some("1"), 4), 7);
        assert_eq!(count(&["2-4", "9"], &[], None, 4), 9);
        assert_eq!(count(&[], &["9"], None, 4), 9, "a column that is named is there");
        assert_eq!(count(&[], &["2-18446744073709551615"], None, 4), usize::MAX);
    }
}
