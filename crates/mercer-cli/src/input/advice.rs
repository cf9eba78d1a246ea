//! What probably went wrong, judged from the text that could not be used.

use super::STANDARD_INPUT;
use super::blocks::line_breaks;
use crate::args::Format;
use crate::failure::{InputError, Place};
use crate::spelling::nearest;

/// The longest piece of a file that is quoted in a message.
const QUOTED_LENGTH: usize = 40;

/// Column names that are listed in a message.
const COLUMNS_SHOWN: usize = 6;

/// Delimiters that files in the wild use.
const DELIMITERS: [u8; 5] = [b',', b';', b'\t', b'|', b' '];
/// One that stands within fields as well, as in a time of day: it separates columns only where nothing else does.
const COLON: u8 = b':';

/// Words that other programs write for a value they do not have.
const MISSING: [&str; 7] = ["na", "n/a", "null", "none", "?", "-", "missing"];

/// A number, with blanks around it ignored.
pub(super) fn number(field: &[u8]) -> Option<f64> {
    fast_float2::parse(field.trim_ascii()).ok()
}

/// Whether a field says that there is no value.
pub(super) fn is_missing(field: &[u8]) -> bool {
    let text = String::from_utf8_lossy(field.trim_ascii()).to_ascii_lowercase();
    text.is_empty() || MISSING.contains(&text.as_str())
}

/// A piece of a file as it can be shown in a message.
pub(super) fn quoted(field: &[u8]) -> String {
    format!("\"{}\"", shown(&String::from_utf8_lossy(field)))
}

/// A name from a file as it can be shown in a message: short, and on one line.
pub(super) fn shown(name: &str) -> String {
    let mut short: String = name.chars().take(QUOTED_LENGTH).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short.escape_debug().to_string()
}

/// Bytes from the beginning of a file that say what it is.
const BEGINNING: usize = 4096;
/// How a file begins that is compressed by gzip.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// What to do about a byte that is no character.
const NUL_HINT: &str = "make the file again; if it is not text, say what it is by --format";

/// The complaint about a file that is no text, judged from its beginning.
pub(super) fn for_foreign_text(file: &str, text: &[u8]) -> Option<InputError> {
    let beginning = &text[..text.len().min(BEGINNING)];
    if let Some((problem, hint)) = for_foreign_file(beginning) {
        let hint = if file == STANDARD_INPUT { for_foreign_pipe(beginning) } else { hint };
        return Some(InputError::new(file, problem).hint(hint));
    }
    let place = memchr::memchr(0, beginning)?;
    let ends_field = |byte: &u8| DELIMITERS.contains(byte) || matches!(byte, b'\n' | b'\r');
    let start = beginning[..place].iter().rposition(ends_field).map_or(0, |at| at + 1);
    let end = beginning[place..].iter().position(ends_field).map_or(beginning.len(), |length| place + length);
    let line = 1 + line_breaks(&beginning[..start]) as u64;
    Some(nul(
        file,
        &beginning[start.max(place.saturating_sub(QUOTED_LENGTH / 2))..end],
        Place { line, ..Place::default() },
    ))
}

/// The complaint about a field with a byte that is no character.
pub(super) fn nul(file: &str, field: &[u8], place: Place) -> InputError {
    InputError::new(file, format!("{} has a NUL byte, which no text has", quoted(field))).at(place).hint(NUL_HINT)
}

/// What a file is, if it begins like something that is known and not text, and what to do about it.
pub(super) fn for_foreign_file(beginning: &[u8]) -> Option<(&'static str, &'static str)> {
    if is_utf16(beginning) {
        return Some(("the file is UTF-16", "save it as UTF-8"));
    }
    let kinds: [(&[u8], _, _); 8] = [
        (b"\x93NUMPY", "the file is a NumPy array", "read it with --format npy"),
        (b"PAR1", "the file is a Parquet file", "read it with --format parquet"),
        (b"ARROW1", "the file is an Arrow file", "read it with --format arrow"),
        (b"PK\x03\x04", "the file is a zip file", "if NumPy made it, read it with --format npz"),
        (&GZIP, "the file is compressed by gzip", "let its name end in .gz, or unpack it with gunzip"),
        (b"BZh", "the file is compressed by bzip2", "unpack it with bunzip2"),
        (b"\xfd7zXZ", "the file is compressed by xz", "unpack it with unxz"),
        (b"\x28\xb5\x2f\xfd", "the file is compressed by zstd", "unpack it with unzstd"),
    ];
    kinds.into_iter().find(|(start, ..)| beginning.starts_with(start)).map(|(_, problem, hint)| (problem, hint))
}

/// Whether a text has two bytes for each character: it says so, or of its first characters every second byte is zero and no other.
fn is_utf16(beginning: &[u8]) -> bool {
    const ENOUGH: usize = 32;
    let (pairs, _) = beginning.as_chunks::<2>();
    let pairs = &pairs[..pairs.len().min(ENOUGH)];
    let are_all = |is: fn(&[u8; 2]) -> bool| pairs.len() > 1 && pairs.iter().all(is);
    beginning.starts_with(&[0xff, 0xfe])
        || beginning.starts_with(&[0xfe, 0xff])
        || are_all(|pair| pair[0] != 0 && pair[1] == 0)
        || are_all(|pair| pair[0] == 0 && pair[1] != 0)
}

/// What to do about it if it came from standard input, which is read as text only.
fn for_foreign_pipe(beginning: &[u8]) -> &'static str {
    if beginning.starts_with(&GZIP) {
        "unpack it on the way: gunzip -c FILE | mercer …; or give the file itself"
    } else if is_utf16(beginning) {
        "make it UTF-8 on the way: iconv -f UTF-16 -t UTF-8 FILE | mercer …"
    } else if for_foreign_file(beginning).is_some_and(|(problem, _)| problem.contains("compressed")) {
        "unpack it on the way"
    } else {
        "only CSV and TSV are read from standard input: give the file itself"
    }
}

/// What to do about rows of different length: the delimiter that would give them the same, if there is one.
pub(super) fn for_ragged(first: &[u8], wrong: &[u8], used: u8) -> String {
    let count = |text: &[u8], byte: u8| memchr::memchr_iter(byte, text).count();
    let fits = |&&other: &&u8| {
        // Blanks stand between words as well.
        other != used && other != b' ' && count(first, other) > 0 && count(first, other) == count(wrong, other)
    };
    match DELIMITERS.iter().find(fits) {
        Some(&other) => format!("the columns seem to be separated by {0}: use --delimiter {0}", typed(other)),
        None => "every row needs the same columns; a field with a delimiter in it needs \"quotes\"".to_owned(),
    }
}

/// What to do about points of another width than those of the fit, where the label is no column that `--label` could take out.
pub(super) fn for_other_columns(format: Format) -> Option<&'static str> {
    match format {
        Format::Images => Some(
            "bring the images to the size of those of the fit with --resize WxH, and give --pixels as it was given there",
        ),
        Format::Idx => Some("give points of the same shape as at the fit, or take columns out with --drop"),
        Format::Libsvm => {
            Some("give the same columns as at the fit, counted alike (--index-base), or take columns out with --drop")
        }
        _ => None,
    }
}

/// What a command can do about a column of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// It may be a label, which `--label` takes out.
    Label,
    /// It can be left out with `--drop`: rows of a stream have no labels.
    Drop,
    /// It has had numbers in a stream before, so that the row is wrong and not the column.
    Skip,
}

/// What to do about columns that are aligned: between two blanks there is an empty field.
const SEVERAL_BLANKS: &str = "the columns seem to be separated by several blanks, of which every one counts with --delimiter space: put commas \
                              there: awk '{$1=$1; print}' OFS=, FILE > NEW.csv";

/// What to do about a field that is not a finite number.
///
/// `column` is how flags would name its column, one of `n_columns`.
pub(super) fn for_field(field: &[u8], delimiter: u8, column: &str, n_columns: usize, remedy: Remedy) -> String {
    let trimmed = field.trim_ascii();
    let text = String::from_utf8_lossy(trimmed);
    if is_missing(trimmed) || number(trimmed).is_some() {
        return super::FILL_GAPS.to_owned();
    }
    // With several columns the delimiter is right, and a comma stands where a dot should; so it does within the quotes of a field that commas
    // would have taken apart.
    if n_columns > 1 || delimiter == b',' {
        let dotted = text.replace(',', ".");
        match (number(dotted.as_bytes()), without_thousands(&text)) {
            // Nobody can tell which of the two was meant.
            (Some(_), Some(plain)) => {
                return format!("numbers have no comma: write {dotted}, or {plain} if it separates thousands");
            }
            (Some(_), None) => return "numbers need a decimal dot, not a comma".to_owned(),
            (None, Some(plain)) => return format!("thousands separators have to go: {plain}"),
            (None, None) => {}
        }
    }
    if let Some(other) = likely_delimiter(trimmed, delimiter, n_columns) {
        if other == b' ' && trimmed.windows(2).any(|pair| pair == b"  ") {
            return SEVERAL_BLANKS.to_owned();
        }
        return format!("the columns seem to be separated by {0}: use --delimiter {0}", typed(other));
    }
    match remedy {
        Remedy::Label => {
            format!("if the column is a label, take it out with --label {column}; otherwise remove or encode it")
        }
        Remedy::Drop => format!("if no row has a number there, leave the column out with --drop {column}"),
        Remedy::Skip => {
            "rows before this one have numbers there: mend it, or leave such rows out with --bad-rows skip".to_owned()
        }
    }
}

/// A number that has separators of thousands, as it is to be written.
fn without_thousands(text: &str) -> Option<String> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    [(',', '.'), ('.', ','), ('\'', '.')].into_iter().find_map(|(separator, point)| {
        let whole = unsigned.split_once(point).map_or(unsigned, |(whole, _)| whole);
        let mut groups = whole.split(separator);
        let is_first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
        let mut others = groups.peekable();
        let is_grouped = is_first && others.peek().is_some() && others.all(|group| group.len() == 3);
        let plain = text.replace(separator, "").replace(point, ".");
        (is_grouped && number(plain.as_bytes()).is_some()).then_some(plain)
    })
}

/// The delimiter that would split the text into numbers, or, if it is all that a row has, into fields of which some are.
fn likely_delimiter(text: &[u8], used: u8, n_columns: usize) -> Option<u8> {
    // Where fields are quoted, what was not taken apart has its quotes, but for those around all of it.
    let unquoted = |field: &[u8]| -> Vec<u8> { field.iter().copied().filter(|&byte| byte != b'"').collect() };
    // Columns are aligned by as many blanks as it takes.
    let fields = |delimiter: u8| {
        text.split(move |&byte| byte == delimiter).filter(move |field| delimiter != b' ' || !field.is_empty())
    };
    let numbers = |delimiter: u8| fields(delimiter).map(move |field| number(&unquoted(field)).is_some());
    let others = || DELIMITERS.into_iter().filter(|&other| other != used && text.contains(&other));
    let colon = (n_columns == 1 && used != COLON && text.contains(&COLON)).then_some(COLON);
    let all = others().chain(colon).find(|&other| numbers(other).all(|is_number| is_number));
    // Words have blanks between them, and numbers among them.
    let some = || others().find(|&other| other != b' ' && numbers(other).any(|is_number| is_number));
    all.or_else(|| if n_columns == 1 { some() } else { None })
}

/// A delimiter as it is typed in a shell.
fn typed(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "tab".to_owned(),
        b' ' => "space".to_owned(),
        other => format!("'{}'", char::from(other)),
    }
}

/// The names that a mistyped column may have meant, or simply the names.
pub(super) fn similar_columns(wanted: &str, names: &[String]) -> String {
    // A header that was not taken apart.
    if let [only] = names
        && let Some(other) =
            DELIMITERS.into_iter().chain([COLON]).find(|&other| other != b' ' && only.as_bytes().contains(&other))
    {
        return format!("the columns seem to be separated by {0}: use --delimiter {0}", typed(other));
    }
    similar("column", wanted, names)
}

/// The names that a mistyped one may have meant, or simply the names; `kind` is what they name.
pub(super) fn similar(kind: &str, wanted: &str, names: &[String]) -> String {
    if let Some(name) = nearest(wanted, names.iter().map(String::as_str)) {
        return format!(
            "there is {} {kind} {}",
            if kind.starts_with('a') { "an" } else { "a" },
            quoted(name.as_bytes())
        );
    }
    let mut list = names.iter().take(COLUMNS_SHOWN).map(|name| quoted(name.as_bytes())).collect::<Vec<_>>().join(", ");
    if names.len() > COLUMNS_SHOWN {
        list.push_str(", …");
    }
    let are = if names.len() == 1 { format!("the only {kind} is") } else { format!("the {kind}s are") };
    format!("{are} {list}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_blanks_signs_and_exponents() {
        for (text, value) in [(" 1.5 ", 1.5), ("-2e3", -2000.0), ("+4", 4.0), (".5", 0.5), ("5.", 5.0)] {
            assert_eq!(number(text.as_bytes()), Some(value), "{text:?}");
        }
        for text in ["", "1.5x", "1,5", "0x10", "--1", "one"] {
            assert_eq!(number(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn a_long_or_odd_text_is_shown_short_and_escaped() {
        assert_eq!(quoted(b"a\tb"), "\"a\\tb\"");
        assert_eq!(quoted("x".repeat(50).as_bytes()), format!("\"{}…\"", "x".repeat(40)));
        assert_eq!(quoted(b"caf\xe9"), "\"caf\u{fffd}\"");
    }

    #[test]
    fn each_kind_of_trouble_gets_its_own_advice() {
        let advice = |text: &str, delimiter| for_field(text.as_bytes(), delimiter, "2", 3, Remedy::Label);
        assert!(advice("", b',').contains("fill the gap"));
        assert!(advice("NA", b',').contains("fill the gap"));
        assert!(advice("nan", b',').contains("fill the gap"));
        assert!(advice("1;2;3", b',').ends_with("use --delimiter ';'"));
        assert!(advice("1\t2", b',').ends_with("use --delimiter tab"));
        assert!(advice("1,5", b';').contains("decimal dot"));
        assert!(advice("1,5", b',').contains("decimal dot"), "between quotes");
        assert!(for_field(b"1,5", b',', "1", 1, Remedy::Label).contains("decimal dot"), "between quotes, alone");
        assert!(advice("1.5 2.5", b',').ends_with("use --delimiter space"));
        for (text, plain) in
            [("1,000.5", "1000.5"), ("-1,234,567", "-1234567"), ("1.000,5", "1000.5"), ("12'000", "12000")]
        {
            assert_eq!(advice(text, b';'), format!("thousands separators have to go: {plain}"));
        }
        assert!(
            for_field(b"1,234,567", b';', "1", 1, Remedy::Label).ends_with("use --delimiter ','"),
            "the only column"
        );
        assert_eq!(advice("1,000", b','), "numbers have no comma: write 1.000, or 1000 if it separates thousands");
        assert!(advice("1,00,000.5", b';').contains("--delimiter ','"), "no groups of three");
        assert!(advice("1.5   2.5", b',').contains("several blanks"));
        assert!(advice("one  2", b',').contains("--label 2"), "words have blanks between them");
        assert!(advice("setosa", b',').contains("--label 2"));
        assert!(for_field(b"setosa", b',', "2", 3, Remedy::Drop).ends_with("--drop 2"));
        assert!(for_field(b"setosa", b',', "2", 3, Remedy::Skip).ends_with("--bad-rows skip"));
        assert!(for_field(b"1,5", b';', "1", 1, Remedy::Label).ends_with("use --delimiter ','"), "the only column");
        let quoted = for_field(b"row 0;\"0.0\";\"-2.0\";\"low\"", b',', "1", 1, Remedy::Label);
        assert!(quoted.ends_with("use --delimiter ';'"), "{quoted}");
        assert!(advice("say \"1\"", b',').contains("--label 2"), "a word with a quoted number is no row");
        assert!(for_field(b"1:2.5", b',', "1", 1, Remedy::Label).ends_with("use --delimiter ':'"));
        let words = for_field(b"note: 5", b',', "1", 1, Remedy::Label);
        assert!(words.contains("--label 1"), "a colon stands after words, too: {words}");
        assert!(advice("12:30", b',').contains("--label 2"), "a time of day in a column of its own");
    }

    #[test]
    fn rows_that_another_delimiter_would_even_out_say_so() {
        assert!(for_ragged(b"1,5;2,5", b"3;4,5", b',').ends_with("use --delimiter ';'"));
        assert!(for_ragged(b"a\tb", b"1,5\t2", b',').ends_with("use --delimiter tab"));
        assert!(for_ragged(b"1;2", b"3;4;5", b',').starts_with("every row needs"), "that would not help");
        assert!(for_ragged(b"1 2,3", b"4 5", b',').starts_with("every row needs"), "a blank is no sign");
    }

    #[test]
    fn what_comes_through_a_pipe_gets_advice_for_pipes() {
        assert!(for_foreign_pipe(b"\x1f\x8b\x08").contains("gunzip -c"));
        assert!(for_foreign_pipe(b"\xff\xfe1\x00").contains("iconv"));
        assert!(for_foreign_pipe(b"\x93NUMPY\x01").ends_with("give the file itself"));
        assert_eq!(for_foreign_pipe(b"BZh9"), "unpack it on the way");
    }

    #[test]
    fn files_that_are_not_text_are_recognised() {
        for (beginning, expected) in [
            (b"\xff\xfe1\x00".as_slice(), "UTF-16"),
            (b"\x93NUMPY\x01", "NumPy"),
            (b"\x1f\x8b\x08", "compressed"),
            (b"PK\x03\x04\x00", "zip"),
            (b"\x28\xb5\x2f\xfd\x00", "zstd"),
            (b"1\x00,\x00", "UTF-16"),
            (b"\x001\x00,\x00", "UTF-16"),
        ] {
            let (problem, _) = for_foreign_file(beginning).unwrap();
            assert!(problem.contains(expected), "{problem}");
        }
        for beginning in [b"1.5".as_slice(), b"1\x00", b"1\x00,\x002,", b"\x00\x00\x08\x03", b""] {
            assert_eq!(for_foreign_file(beginning), None, "{beginning:?}");
        }
    }

    #[test]
    fn the_nearest_column_is_suggested() {
        let names = ["Species".to_owned(), "width".to_owned()];
        assert_eq!(similar_columns("widht", &names), "there is a column \"width\"");
        assert_eq!(similar_columns("species", &names), "there is a column \"Species\"");
        assert_eq!(similar_columns("colour", &names), "the columns are \"Species\", \"width\"");
        assert!(similar_columns("b", &["a:b".to_owned()]).ends_with("use --delimiter ':'"));
    }
}
