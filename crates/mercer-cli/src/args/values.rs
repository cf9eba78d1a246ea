//! Values of flags that are more than a number or a word.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use mercer::kernel::Parameter;
use mercer::tune::ParameterBox;
use mercer::{GramChoice, SolverChoice};

use super::hebbian::HEBBIAN;
use super::nystrom::NYSTROM;
use crate::spelling::nearest;

/// How the width of the kernel was asked for by `--gamma` or `--bandwidth`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gamma {
    /// A number.
    Value(f64),
    /// From the variance of the values.
    Scale,
    /// From the median distance.
    Median,
    /// From the spectrum.
    Auto,
}

impl FromStr for Gamma {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "scale" => Ok(Self::Scale),
            "median" => Ok(Self::Median),
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Value).map_err(|_| {
                let allowed = "give a number, `auto`, `scale` or `median`";
                match nearest(text, ["auto", "scale", "median"]) {
                    Some(near) => format!("{allowed}; `{near}` is similar"),
                    None => allowed.to_owned(),
                }
            }),
        }
    }
}

/// A parameter of a kernel and the range that it is looked for in, such as `gamma=0.001:10`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ParameterRange(pub(crate) ParameterBox);

impl FromStr for ParameterRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const ALL: [Parameter; 3] = [Parameter::Gamma, Parameter::Coef0, Parameter::Alpha];
        let wrong = || "give a name and a range, such as gamma=0.001:10".to_owned();
        let (name, range) = text.split_once('=').ok_or_else(wrong)?;
        let (low, high) = range.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        let Some(parameter) = ALL.into_iter().find(|parameter| parameter.name() == name.trim()) else {
            let allowed = "parameters are `gamma`, `coef0` and `alpha`";
            return Err(match nearest(name, ALL.map(Parameter::name)) {
                Some(near) => format!("{allowed}; `{near}` is similar"),
                None => allowed.to_owned(),
            });
        };
        Ok(Self(ParameterBox { parameter, low: number(low)?, high: number(high)? }))
    }
}

/// What every value is multiplied by, as a number or a fraction such as `1/255`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScaleFactor(pub(crate) f64);

impl FromStr for ScaleFactor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let factor = match text.split_once('/') {
            Some((above, below)) => {
                above.trim().parse::<f64>().ok().zip(below.trim().parse::<f64>().ok()).map(|(a, b)| a / b)
            }
            None => text.trim().parse().ok(),
        };
        match factor {
            Some(factor) if factor > 0.0 && f64::is_finite(factor) => Ok(Self(factor)),
            _ => Err("give a positive number or a fraction such as 1/255".to_owned()),
        }
    }
}

/// A column, by name or by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnName(pub(crate) String);

impl ColumnName {
    /// The column's place among the columns of a file, counted from zero.
    ///
    /// A name wins over a number. Numbers count from one, as messages do; negative ones from the end.
    pub(crate) fn find(&self, names: Option<&[String]>, n_columns: usize) -> Option<usize> {
        if let Some(place) = names.and_then(|names| names.iter().position(|name| *name == self.0)) {
            return Some(place);
        }
        let number: isize = self.0.parse().ok()?;
        let place = match number {
            1.. => number - 1,
            0 => return None,
            _ => number + isize::try_from(n_columns).ok()?,
        };
        usize::try_from(place).ok().filter(|&place| place < n_columns)
    }
}

impl FromStr for ColumnName {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

/// The character between the columns of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delimiter(pub(crate) u8);

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.as_bytes()) {
            ("tab" | "\\t", _) => Ok(Self(b'\t')),
            ("space", _) => Ok(Self(b' ')),
            (_, [b'\n' | b'\r' | b'"' | b'0'..=b'9' | b'.' | b'+' | b'-']) => {
                Err("it cannot be a digit, a sign, a dot, a quote or the end of a line".to_owned())
            }
            (_, &[byte]) if byte.is_ascii() => Ok(Self(byte)),
            _ => Err("give one ASCII character, `tab` or `space`".to_owned()),
        }
    }
}

/// A length of time such as `90`, `90s`, `1.5m`, `2h` or `500ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeLimit(pub(crate) Duration);

impl fmt::Display for TimeLimit {
    /// As it can be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = self.0.as_nanos() as f64;
        if self.0.as_secs() > 0 { write!(f, "{}s", nanoseconds / 1e9) } else { write!(f, "{}ms", nanoseconds / 1e6) }
    }
}

impl FromStr for TimeLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let complaint = || "give a time above zero, such as 90s, 1.5m or 2h".to_owned();
        let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let seconds = match unit {
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(complaint()),
        };
        let number: f64 = number.trim().parse().map_err(|_| complaint())?;
        if number <= 0.0 {
            return Err(complaint());
        }
        Duration::try_from_secs_f64(number * seconds).map(Self).map_err(|_| complaint())
    }
}

/// A method as it is asked for: how products are made, if that was said, and how eigenpairs are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MethodName {
    pub(crate) gram: GramChoice,
    pub(crate) solver: SolverChoice,
}

impl MethodName {
    /// The method of these two choices.
    pub(crate) const fn new(gram: GramChoice, solver: SolverChoice) -> Self {
        Self { gram, solver }
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gram {
            GramChoice::Auto => self.solver.fmt(f),
            gram => write!(f, "{gram}/{}", self.solver),
        }
    }
}

/// A method that can be compared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparedMethod {
    /// By eigenpairs of the kernel matrix.
    Eigen(MethodName),
    /// Over landmarks.
    Nystrom,
    /// By the kernel Hebbian algorithm.
    Hebbian,
}

impl fmt::Display for ComparedMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eigen(method) => method.fmt(f),
            Self::Nystrom => f.write_str(NYSTROM),
            Self::Hebbian => f.write_str(HEBBIAN),
        }
    }
}

/// The methods that can be asked for by name; clap suggests the nearest name for a wrong one.
pub(crate) fn method_names() -> impl TypedValueParser<Value = ComparedMethod> {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| all_methods().map(|method| method.to_string()).collect());
    PossibleValuesParser::new(NAMES.iter().map(String::as_str)).map(|name| {
        let found = all_methods().find(|method| method.to_string() == name);
        found.expect("the parser lets only these names through")
    })
}

fn all_methods() -> impl Iterator<Item = ComparedMethod> {
    let grams = [GramChoice::Auto, GramChoice::Tiled, GramChoice::Stored, GramChoice::Expansion];
    let solvers = SolverChoice::NAMES.iter().filter_map(|name| name.parse().ok());
    let eigen = solvers.flat_map(move |solver| grams.map(|gram| ComparedMethod::Eigen(MethodName { gram, solver })));
    eigen.chain([ComparedMethod::Nystrom, ComparedMethod::Hebbian])
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Text with commas.
    #[value(help = None)]
    Csv,
    /// Text with tabs.
    #[value(help = None)]
    Tsv,
    /// Apache Parquet.
    #[value(help = None)]
    Parquet,
    /// Arrow IPC, file or stream; Feather version 2.
    #[value(help = None)]
    Arrow,
    /// One array of `NumPy`.
    #[value(help = None)]
    Npy,
    /// Several arrays of `NumPy`.
    #[value(help = None)]
    Npz,
    /// The format of the MNIST files.
    #[value(help = None)]
    Idx,
    /// Sparse text, a label first.
    #[value(help = None)]
    Libsvm,
    /// A folder of images, or a list of them.
    #[value(help = None)]
    Images,
}

/// What a pixel becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Pixels {
    /// One grey value.
    #[default]
    #[value(help = None)]
    Grey,
    /// Red, green and blue.
    #[value(help = None)]
    Color,
}

/// Width and height of an image in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageSize {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl ImageSize {
    /// Pixels that an image may have along a side; no data set of points has larger ones.
    const MAX: u32 = 1 << 14;
}

impl FromStr for ImageSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text.split_once(['x', 'X']).and_then(|(w, h)| w.parse().ok().zip(h.parse().ok()));
        match sides {
            Some((width, height)) if (1..=Self::MAX).contains(&width) && (1..=Self::MAX).contains(&height) => {
                Ok(Self { width, height })
            }
            _ => Err(format!("give width and height from 1 to {}, such as 32x32", Self::MAX)),
        }
    }
}

impl std::fmt::Display for ImageSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.width, self.height)
    }
}

/// Rows `start..end`, counted from zero; without an end, all from `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowRange {
    pub(crate) start: usize,
    pub(crate) end: Option<usize>,
}

impl FromStr for RowRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
        let bounds = text.split_once(':').and_then(|(a, b)| number(a.trim()).zip(number(b.trim())));
        match bounds.map(|(start, end)| (start.unwrap_or(0), end)) {
            Some((start, end)) if end.is_none_or(|end| start < end) => Ok(Self { start, end }),
            _ => Err("give the first row and the one after the last, such as 0:1000, 500: or :100".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_is_a_number_or_one_of_three_words() {
        assert_eq!("0.5".parse(), Ok(Gamma::Value(0.5)));
        assert_eq!("median".parse(), Ok(Gamma::Median));
        assert_eq!("scale".parse(), Ok(Gamma::Scale));
        assert_eq!("wide".parse::<Gamma>(), Err("give a number, `auto`, `scale` or `median`".to_owned()));
        let near = "give a number, `auto`, `scale` or `median`; `median` is similar";
        assert_eq!("mdian".parse::<Gamma>(), Err(near.to_owned()));
    }

    #[test]
    fn a_scale_may_be_a_fraction() {
        assert_eq!("1/255".parse(), Ok(ScaleFactor(1.0 / 255.0)));
        assert_eq!("0.25".parse(), Ok(ScaleFactor(0.25)));
        for wrong in ["0", "-1", "1/0", "a/b", "", "nan", "1/2/3"] {
            assert!(wrong.parse::<ScaleFactor>().is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn a_column_is_found_by_name_then_by_number_from_either_end() {
        let names = ["a".to_owned(), "1".to_owned(), "c".to_owned()];
        let find = |text: &str| ColumnName(text.to_owned()).find(Some(&names), 3);
        assert_eq!(find("c"), Some(2));
        assert_eq!(find("1"), Some(1), "the column called 1, not the first");
        assert_eq!(find("3"), Some(2));
        assert_eq!(find("-1"), Some(2));
        assert_eq!(find("-3"), Some(0));
        for wrong in ["0", "4", "-4", "d"] {
            assert_eq!(find(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_delimiter_is_one_character_or_a_word() {
        assert_eq!(";".parse(), Ok(Delimiter(b';')));
        assert_eq!("tab".parse(), Ok(Delimiter(b'\t')));
        for wrong in ["", ";;", "1", ".", "é", "\n"] {
            assert!(wrong.parse::<Delimiter>().is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn a_method_is_a_solver_with_or_without_a_gram_choice() {
        let names: Vec<String> = all_methods().map(|method| method.to_string()).collect();
        for name in ["auto", "dense", "tiled/krylov", "stored/lanczos", "stored/auto"] {
            assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
        }
        assert_eq!(MethodName::new(GramChoice::Tiled, SolverChoice::Power).to_string(), "tiled/power");
    }

    #[test]
    fn a_time_limit_has_an_optional_unit() {
        for (text, milliseconds) in [("2", 2000), ("90s", 90_000), ("1.5m", 90_000), ("2h", 7_200_000), ("250ms", 250)]
        {
            let limit = TimeLimit(Duration::from_millis(milliseconds));
            assert_eq!(text.parse(), Ok(limit), "{text}");
            assert_eq!(limit.to_string().parse(), Ok(limit), "{limit}");
        }
        for wrong in ["", "s", "-1s", "0", "1 fortnight", "1e400", "nan"] {
            assert!(wrong.parse::<TimeLimit>().is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn rows_are_counted_from_zero_and_either_end_may_be_left_out() {
        assert_eq!("2:5".parse(), Ok(RowRange { start: 2, end: Some(5) }));
        assert_eq!(":5".parse(), Ok(RowRange { start: 0, end: Some(5) }));
        assert_eq!("7:".parse(), Ok(RowRange { start: 7, end: None }));
        for wrong in ["", "5", "5:5", "5:2", "-1:3", "a:b", "1:2:3"] {
            assert!(wrong.parse::<RowRange>().is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn an_image_size_is_width_and_height() {
        assert_eq!("32x16".parse(), Ok(ImageSize { width: 32, height: 16 }));
        for wrong in ["", "32", "0x5", "5x0", "-1x5", "5x5x5", "100000x1"] {
            assert!(wrong.parse::<ImageSize>().is_err(), "{wrong:?} was accepted");
        }
    }
}
