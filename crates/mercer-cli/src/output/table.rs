//! Text for people, no wider than their terminal: columns that have no room are left out, lines that are too long go on below.

use std::io;

/// Columns of the terminal that standard output is, or that the variable `COLUMNS` tells; `None` if there is no limit.
pub(crate) fn terminal_width() -> Option<usize> {
    /// Below that nothing can be read, whatever is done.
    const LEAST: usize = 20;
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let found = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    told.filter(|&width| width > 0).or_else(found).map(|width: usize| width.max(LEAST))
}

/// A column: what stands above it, how wide it is, and how soon it is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) width: usize,
    pub(crate) side: Side,
    /// Columns of the highest rank go first; those of rank 0 stay.
    pub(crate) rank: u8,
}

/// Where in its column a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A table that is being filled.
pub(crate) struct Table {
    columns: Vec<Column>,
    between: &'static str,
    /// Which columns have room.
    shown: Vec<bool>,
    width: Option<usize>,
    text: String,
}

impl Table {
    /// An empty table of columns with this between them, no wider than `width`.
    pub(crate) fn new(columns: &[Column], between: &'static str, width: Option<usize>) -> Self {
        let mut shown = vec![true; columns.len()];
        let total = |shown: &[bool]| {
            let widths: Vec<usize> =
                columns.iter().zip(shown).filter(|(_, shown)| **shown).map(|(c, _)| c.width).collect();
            widths.iter().sum::<usize>() + between.len() * widths.len().saturating_sub(1)
        };
        while width.is_some_and(|width| total(&shown) > width) {
            let least = (0..columns.len()).filter(|&at| shown[at] && columns[at].rank > 0);
            let Some(at) = least.max_by_key(|&at| columns[at].rank) else { break };
            shown[at] = false;
        }
        let mut table = Self { columns: columns.to_vec(), between, shown, width, text: String::new() };
        let names: Vec<String> = columns.iter().map(|column| column.name.to_owned()).collect();
        table.row(&names, "");
        table
    }

    /// A row: a value for each column, and words after them.
    pub(crate) fn row(&mut self, values: &[String], after: &str) {
        let cells = self.columns.iter().zip(values).zip(&self.shown).filter(|(_, shown)| **shown);
        let cells: Vec<String> = cells
            .map(|((column, value), _)| match column.side {
                Side::Left => format!("{value:<width$}", width = column.width),
                Side::Right => format!("{value:>width$}", width = column.width),
            })
            .collect();
        let line = format!("{}{after}", cells.join(self.between));
        self.text.push_str(&wrapped(line.trim_end(), self.width));
        self.text.push('\n');
    }

    /// The table, and which columns it has no room for.
    pub(crate) fn finish(mut self) -> String {
        let hidden: Vec<&str> =
            self.columns.iter().zip(&self.shown).filter(|(_, shown)| !**shown).map(|(column, _)| column.name).collect();
        if !hidden.is_empty() {
            let line = format!("(no room for {}; --json has all)", hidden.join(", "));
            self.text.push_str(&wrapped(&line, self.width));
            self.text.push('\n');
        }
        self.text
    }
}

/// Lines that are too long go on below, under their second column if they have two; words and numbers stay whole.
pub(crate) fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let lines: Vec<String> = text.split('\n').map(|line| wrapped_line(line, width)).collect();
    lines.join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let indent = second_column(line).filter(|&indent| indent < width / 2).unwrap_or(0);
    let start: String = line.chars().take(indent).collect();
    let rest: String = line.chars().skip(indent).collect();
    let mut out = start;
    let mut used = indent;
    for word in rest.split(' ') {
        let length = word.chars().count();
        if used > indent && used + 1 + length > width {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > indent {
            out.push(' ');
            used += 1;
        }
        // Blanks that only held columns apart are not carried over to the next line.
        if used > indent || length > 0 {
            out.push_str(word);
            used += length;
        }
    }
    out
}

/// Where the second column of a line such as `kernel      gaussian` begins, in characters.
fn second_column(line: &str) -> Option<usize> {
    let characters: Vec<char> = line.chars().collect();
    let gap = characters.windows(2).position(|pair| pair == [' ', ' '])?;
    characters.iter().skip(gap).position(|&c| c != ' ').map(|blanks| gap + blanks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [
        Column { name: "method", width: 8, side: Side::Left, rank: 0 },
        Column { name: "passes", width: 7, side: Side::Right, rank: 1 },
        Column { name: "residual", width: 9, side: Side::Right, rank: 0 },
    ];

    fn table(width: Option<usize>) -> String {
        let mut table = Table::new(&COLUMNS, " ", width);
        table.row(&["dense".to_owned(), "1".to_owned(), "5.3e-8".to_owned()], "  not converged");
        table.finish()
    }

    #[test]
    fn columns_that_have_no_room_are_left_out_and_named() {
        let whole = "method    passes  residual\ndense          1    5.3e-8  not converged\n";
        assert_eq!(table(None), whole);
        assert_eq!(table(Some(80)), whole);
        let narrow = "method    residual\ndense       5.3e-8\nnot converged\n(no room for passes;\n--json has all)\n";
        assert_eq!(table(Some(22)), narrow);
    }

    #[test]
    fn long_lines_go_on_under_their_second_column_with_words_whole() {
        let line = "limits      99 % within reconstruction error 0.51234, T2 4";
        assert_eq!(wrapped(line, None), line);
        assert_eq!(
            wrapped(line, Some(34)),
            "limits      99 % within\n            reconstruction error\n            0.51234, T2 4"
        );
        assert_eq!(wrapped("one two three", Some(8)), "one two\nthree");
        assert_eq!(wrapped("a-word-that-is-too-long", Some(8)), "a-word-that-is-too-long", "it stays whole");
        for width in 1..70 {
            let found = wrapped(line, Some(width));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&found), words(line), "no word is lost or cut at {width}");
        }
    }
}
