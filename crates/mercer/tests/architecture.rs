//! The invariants of ARCHITECTURE.md, checked against the sources.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each module may use, apart from itself. Modules not named on the left may use anything.
const ALLOWED: &[(&str, &[&str])] = &[
    ("scalar", &["simd"]),
    ("simd", &["scalar"]),
    ("error", &["scalar"]),
    ("memory", &[]),
    ("aside", &[]),
    ("watch", &["error"]),
    ("data", &["error", "scalar", "watch"]),
    ("kernel", &["data", "error", "simd"]),
    ("tile", &["data", "error", "kernel", "memory", "scalar", "simd", "watch"]),
    ("gram", &["data", "error", "kernel", "memory", "scalar", "simd", "tile", "watch"]),
    ("expansion", &["choices", "data", "error", "gram", "kernel", "memory", "scalar", "simd", "watch"]),
    ("eigen", &["error", "gram", "simd", "watch"]),
    ("tune", &["choices", "data", "eigen", "error", "gram", "kernel", "scalar", "tile", "watch"]),
    ("choices", &["error", "memory"]),
    ("plan", &["choices", "data", "eigen", "error", "gram", "kernel", "scalar", "simd", "watch"]),
    ("record", &["kernel", "plan", "scalar"]),
    (
        "model",
        &[
            "aside",
            "choices",
            "data",
            "eigen",
            "error",
            "expansion",
            "gram",
            "kernel",
            "memory",
            "plan",
            "record",
            "scalar",
            "simd",
            "watch",
        ],
    ),
    ("product", &["choices", "data", "error", "expansion", "gram", "kernel", "record", "scalar", "watch"]),
    ("preimage", &["choices", "data", "eigen", "error", "gram", "kernel", "model", "plan", "scalar", "watch"]),
    ("autoencoder", &["choices", "data", "eigen", "error", "kernel", "model", "preimage", "scalar", "simd", "watch"]),
    (
        "hebbian",
        &[
            "choices", "data", "eigen", "error", "gram", "kernel", "memory", "model", "plan", "record", "scalar",
            "simd", "tile", "watch",
        ],
    ),
    (
        "nystrom",
        &[
            "choices", "data", "eigen", "error", "gram", "kernel", "memory", "model", "plan", "record", "scalar",
            "watch",
        ],
    ),
    ("agreement", &["error"]),
    ("kmeans", &["error", "simd", "watch"]),
    (
        "cluster",
        &[
            "choices", "data", "eigen", "error", "gram", "hebbian", "kernel", "kmeans", "memory", "model", "nystrom",
            "plan", "record", "scalar", "watch",
        ],
    ),
    ("any", &["autoencoder", "cluster", "error", "hebbian", "model", "online"]),
    ("classify", &["choices", "data", "eigen", "error", "kernel", "model", "simd", "watch"]),
    ("denoise", &["data", "error", "kernel", "model", "nystrom", "preimage", "watch"]),
    ("upscale", &["data", "denoise", "error", "kernel", "model", "preimage", "watch"]),
    (
        "online",
        &[
            "choices", "data", "eigen", "error", "gram", "kernel", "memory", "model", "plan", "record", "scalar",
            "simd", "tile", "watch",
        ],
    ),
    // `gram` is the only part of the crate that `eigen` sees, and of it only the operator.
    ("lib", &[]),
    ("tests", &[]),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file with the name of its module, without the files that hold only tests.
fn files() -> Vec<(String, PathBuf)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let mut all = Vec::new();
    walk(&source(), &mut all);
    all.into_iter()
        .filter(|path| !path.to_string_lossy().contains("tests"))
        .map(|path| {
            let inside = path.strip_prefix(source()).unwrap();
            let first = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
            (first.trim_end_matches(".rs").to_owned(), path)
        })
        .collect()
}

/// The code of a file: no comments, no tests at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Modules of the crate that a piece of code names as `crate::module`.
fn used(code: &str) -> BTreeSet<String> {
    code.split("crate::")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>())
        .filter(|name| name.chars().next().is_some_and(char::is_lowercase))
        .collect()
}

#[test]
fn imports_follow_the_arrow() {
    for (module, path) in files() {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == module) else {
            panic!("module {module} has no row in ALLOWED");
        };
        if module == "lib" {
            continue;
        }
        for name in used(&code(&path)) {
            assert!(name == module || allowed.contains(&name.as_str()), "{} uses {name}", path.display());
        }
    }
}

#[test]
fn eigen_sees_only_operators() {
    for (module, path) in files() {
        if module == "eigen" {
            let code = code(&path);
            for word in ["Kernel", "Points", "KernelGram", "Centered"] {
                assert!(!code.contains(word), "{} speaks of {word}", path.display());
            }
        }
    }
}

#[test]
fn every_module_stands_on_the_map() {
    let map = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md")).unwrap();
    for (module, _) in files() {
        assert!(
            module == "lib" || map.contains(&format!("| `{module}` |")),
            "ARCHITECTURE.md does not mention {module}"
        );
    }
}

#[test]
fn only_watch_reads_the_clock_and_nobody_prints() {
    for (module, path) in files() {
        let code = code(&path);
        assert!(module == "watch" || !code.contains("Instant::now"), "{} reads the clock", path.display());
        for word in ["println!", "eprintln!", "print!(", "dbg!", "static mut", "thread_local!"] {
            assert!(!code.contains(word), "{} has {word}", path.display());
        }
    }
}

#[test]
fn a_forked_process_inherits_no_lock_that_all_runs_of_its_parent_take() {
    let bindings = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../mercer-python/src")).unwrap();
    let all = files().into_iter().map(|(_, path)| path).chain(bindings.map(|entry| entry.unwrap().path()));
    for path in all {
        let code = code(&path);
        let lines =
            code.lines().map(|line| line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) "));
        for line in lines.filter(|line| line.starts_with("static ")) {
            for lock in ["Mutex", "RwLock", "Once", "Lazy", "Condvar"] {
                assert!(!line.contains(lock), "{} has a {lock} of the whole process: {line}", path.display());
            }
        }
    }
}

#[test]
fn unsafe_code_stands_where_the_map_says() {
    for (module, path) in files() {
        if code(&path).contains("unsafe ") {
            let allowed = ["simd", "tile", "memory"].contains(&module.as_str()) || path.ends_with("gram/store.rs");
            assert!(allowed, "{} has unsafe code", path.display());
        }
    }
}

#[test]
fn every_reference_is_in_the_bibliography() {
    let bibliography = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../REFERENCES.bib")).unwrap();
    let mut cited = 0;
    for (_, path) in files() {
        // The brackets of a citation are escaped; a list of links is not a list of references.
        for line in fs::read_to_string(&path).unwrap().lines().filter_map(|line| line.strip_prefix("//! - \\[")) {
            let key = line.split('\\').next().unwrap();
            assert!(bibliography.contains(&format!("{{{key},")), "{} cites {key}", path.display());
            cited += 1;
        }
    }
    assert!(cited > 0, "no file cites anything: the search above is broken");
}

#[test]
fn files_are_of_human_size() {
    for (_, path) in files() {
        let lines = code(&path).lines().count();
        assert!(lines <= 500, "{} has {lines} lines of code", path.display());
    }
}

/// A public item with the code of the examples in its documentation.
struct Item {
    /// The type or trait of a method.
    of: Option<String>,
    is_of_trait: bool,
    name: String,
    examples: Vec<String>,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The name that a line declares after one of these beginnings.
fn declared<'a>(line: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    let rest = beginnings.iter().find_map(|beginning| line.strip_prefix(beginning))?;
    rest.split(|c| !is_word(c)).next()
}

/// The type of an `impl` block, unless it is one of a trait.
fn inherent(line: &str) -> Option<&str> {
    let mut rest = line.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let (mut open, mut last) = (0, ' ');
        let end = rest.find(|c| {
            // The head of an arrow ends no list of parameters.
            open += i32::from(c == '<') - i32::from(c == '>' && last != '-');
            last = c;
            open == 0
        })?;
        rest = &rest[end + 1..];
    }
    if rest.contains(" for ") { None } else { declared(rest, &[" "]) }
}

/// The code of the examples in a piece of documentation. What is marked as another language is not run, so it is none.
fn examples(documentation: &[&str]) -> Vec<String> {
    let (mut found, mut in_example) = (Vec::new(), None);
    for line in documentation.iter().map(|line| line.trim()) {
        if line.starts_with("```") {
            in_example = if in_example.is_some() { None } else { Some(line == "```") };
            found.extend((in_example == Some(true)).then(String::new));
        } else if in_example == Some(true) {
            let code: &mut String = found.last_mut().unwrap();
            code.push_str(line);
            code.push('\n');
        }
    }
    found
}

/// The public items of a file: types, traits, constants, functions; methods that are public, and those of public traits.
///
/// It reads lines as the formatter leaves them: items begin a line, methods stand four spaces in, and the brace that ends a block
/// begins a line. What a macro makes is not seen.
fn public_items(text: &str) -> Vec<Item> {
    let (mut items, mut documentation, mut in_attribute) = (Vec::new(), Vec::new(), false);
    // The type or trait that methods belong to, and whether it is a trait.
    let mut block = None;
    for line in text.lines() {
        let start = line.trim_start();
        if in_attribute || start.starts_with("#[") {
            in_attribute = !line.trim_end().ends_with(']');
            continue;
        }
        if let Some(comment) = start.strip_prefix("///") {
            documentation.push(comment);
            continue;
        }
        let kinds = ["pub struct ", "pub enum ", "pub trait ", "pub fn ", "pub const fn ", "pub const "];
        let mut item = declared(line, &kinds).map(|name| (None, name));
        if let Some(name) = declared(line, &["pub trait "]) {
            block = Some((name, true));
        } else if let Some(name) = inherent(line) {
            block = Some((name, false));
        } else if line.starts_with('}') {
            block = None;
        } else if let Some((of, is_trait)) = block {
            let of_trait = ["    fn ", "    unsafe fn "];
            let of_type = ["    pub fn ", "    pub const fn ", "    pub unsafe fn "];
            let method = if is_trait { declared(line, &of_trait) } else { declared(line, &of_type) };
            item = method.map(|name| (Some(of.to_owned()), name));
        }
        if let Some((of, name)) = item {
            let (is_of_trait, name) = (block.is_some_and(|(_, is_trait)| is_trait), name.to_owned());
            items.push(Item { of, is_of_trait, name, examples: examples(&documentation) });
        }
        documentation.clear();
    }
    items
}

/// All public items with the modules they stand in.
fn all_public_items() -> Vec<(String, Item)> {
    let in_file = |(module, path): (String, PathBuf)| {
        let items = public_items(&fs::read_to_string(path).unwrap());
        items.into_iter().map(move |item| (module.clone(), item))
    };
    let items: Vec<(String, Item)> = files().into_iter().flat_map(in_file).collect();
    let names: BTreeSet<String> =
        items.iter().filter(|(_, item)| item.of.is_none()).map(|(_, item)| item.name.clone()).collect();
    // A method is as public as its type.
    items.into_iter().filter(|(_, item)| item.of.as_ref().is_none_or(|of| names.contains(of))).collect()
}

/// Whether an example that stands on `on`, or on a method of it, shows a method. It does if
///
/// - it calls the method by its path, `Type::method(`; or
/// - it calls `.method(`, and stands on the type, or names it and speaks of none of the `others` that have a method of that name; or
/// - the method is one of a trait that it stands on or names, and it calls `Some::method(`, or writes `fn method(`.
fn shows(example: &str, on: &str, method: &Item, others: &[&str]) -> bool {
    let of = method.of.as_deref().unwrap();
    let speaks_of = |name: &str| on == name || example.split(|c| !is_word(c)).any(|word| word == name);
    let is_meant = on == of || (speaks_of(of) && !others.iter().any(|other| speaks_of(other)));
    example.match_indices(&method.name).any(|(at, name)| {
        let (before, after) = (&example[..at], &example[at + name.len()..]);
        let by_path = before.strip_suffix("::").is_some_and(|path| {
            let path = path.rsplit_once("::<").filter(|_| path.ends_with('>')).map_or(path, |(path, _)| path);
            path.rsplit(|c| !is_word(c)).next() == Some(of)
        });
        let by_trait = method.is_of_trait && speaks_of(of) && (before.ends_with("::") || before.ends_with("fn "));
        let is_call = ["(", "::<", "<"].iter().any(|begin| after.starts_with(begin));
        is_call && (by_path || by_trait || (before.ends_with('.') && is_meant))
    })
}

#[test]
fn every_public_item_has_an_example() {
    let items = all_public_items();
    let without: Vec<String> = items
        .iter()
        .filter(|(_, item)| item.of.is_none() && item.examples.is_empty())
        .map(|(module, item)| format!("{module}::{}", item.name))
        .collect();
    assert!(without.is_empty(), "no example: {without:?}");
}

#[test]
fn every_public_method_stands_in_an_example() {
    let items = all_public_items();
    let is_shown = |method: &Item| {
        let same_name = items.iter().filter(|(_, other)| other.name == method.name && other.of != method.of);
        let others: Vec<&str> = same_name.filter_map(|(_, other)| other.of.as_deref()).collect();
        items.iter().any(|(_, item)| {
            let on = item.of.as_ref().unwrap_or(&item.name);
            item.examples.iter().any(|example| shows(example, on, method, &others))
        })
    };
    let mut without = BTreeMap::<String, Vec<&str>>::new();
    for (module, item) in &items {
        if let Some(of) = &item.of
            && item.examples.is_empty()
            && !is_shown(item)
        {
            without.entry(format!("{module}::{of}")).or_default().push(&item.name);
        }
    }
    let n_without: usize = without.values().map(Vec::len).sum();
    assert!(without.is_empty(), "{n_without} methods that no example shows: {without:#?}");
}

#[test]
fn every_example_asserts_something() {
    let idle: Vec<String> = all_public_items()
        .into_iter()
        .filter(|(_, item)| item.examples.iter().any(|example| !example.contains("assert")))
        .map(|(module, item)| format!("{module}::{}::{}", item.of.unwrap_or_default(), item.name))
        .collect();
    assert!(idle.is_empty(), "examples that assert nothing: {idle:#?}");
}

#[test]
fn the_search_for_examples_reads_what_is_written() {
    const TEXT: &str = r"
/// ```
/// A::<u8>::made().called();
/// ```
#[derive(
    Clone
)]
pub struct A<T>;

impl<T: Fn() -> Vec<u8>> A<T> {
    pub fn made() -> Self {}

    pub const fn called(&self) {}

    /// ```text
    /// A::drawn()
    /// ```
    pub fn drawn() {}

    fn private() {}
}

impl<T> Clone for A<T> {
    pub fn of_a_trait() {}
}

/// ```
/// impl B for u8 {
///     fn written() {}
/// }
/// let a = 0.other();
/// ```
pub trait B {
    fn written();
}

pub fn c() {}
";
    let items = public_items(TEXT);
    let paths: Vec<String> = items
        .iter()
        .map(|item| item.of.iter().chain([&item.name]).map(String::as_str).collect::<Vec<_>>().join("::"))
        .collect();
    assert_eq!(paths, ["A", "A::made", "A::called", "A::drawn", "B", "B::written", "c"]);
    let counts: Vec<usize> = items.iter().map(|item| item.examples.len()).collect();
    assert_eq!(counts, [1, 0, 0, 0, 1, 0, 0]);

    let shown = |example: usize, on: &str, of: &str, is_of_trait, name: &str| {
        let method = Item { of: Some(of.to_owned()), is_of_trait, name: name.to_owned(), examples: Vec::new() };
        shows(&items[example].examples[0], on, &method, &["D"])
    };
    // By its path; by its name where it stands on its type, or names that alone of those that have such a method.
    assert!(shown(0, "c", "A", false, "made") && shown(0, "c", "A", false, "called"));
    assert!(shown(4, "D", "D", false, "other") && !shown(4, "B", "E", false, "other"));
    assert!(!shown(0, "D", "A", false, "called") && shown(0, "D", "A", false, "made"));
    assert!(!shown(0, "D", "D", false, "made") && !shown(0, "A", "A", false, "call"));
    // By being written, if it is of a trait.
    assert!(shown(4, "B", "B", true, "written") && !shown(4, "B", "B", false, "written"));
}
