//! The invariants of ARCHITECTURE.md, checked against the sources.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
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
    ("eigen", &["error", "gram", "watch"]),
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
    ("autoencoder", &["choices", "data", "eigen", "error", "kernel", "model", "preimage", "scalar", "watch"]),
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
            "choices", "data", "eigen", "error", "gram", "hebbian", "kernel", "kmeans", "memory", "model", "plan",
            "record", "scalar", "watch",
        ],
    ),
    ("any", &["autoencoder", "cluster", "error", "hebbian", "model", "online"]),
    ("classify", &["data", "eigen", "error", "kernel", "model", "watch"]),
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

/// Public types, traits, constants and functions that stand by themselves, with whether their documentation has an example.
fn public_items(text: &str) -> Vec<(String, bool)> {
    let (mut items, mut has_example, mut in_attribute) = (Vec::new(), false, false);
    for line in text.lines() {
        if in_attribute || line.trim_start().starts_with("#[") {
            in_attribute = !line.trim_end().ends_with(']');
        } else if let Some(documentation) = line.trim_start().strip_prefix("///") {
            has_example |= documentation.trim_start().starts_with("```");
        } else {
            let kinds = ["struct ", "enum ", "trait ", "fn ", "const fn ", "const "];
            let public =
                line.strip_prefix("pub ").and_then(|rest| kinds.iter().find_map(|kind| rest.strip_prefix(kind)));
            if let Some(rest) = public {
                let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(rest);
                items.push((name.to_owned(), has_example));
            }
            has_example = false;
        }
    }
    items
}

#[test]
fn every_public_item_has_an_example() {
    let without: Vec<String> = files()
        .into_iter()
        .flat_map(|(module, path)| {
            let items = public_items(&fs::read_to_string(path).unwrap());
            items.into_iter().filter(|(_, has)| !has).map(move |(name, _)| format!("{module}::{name}"))
        })
        .collect();
    assert!(without.is_empty(), "no example: {without:?}");
    assert_eq!(
        public_items("/// A.\n///\n/// ```\n/// ```\n#[derive(\n    Clone\n)]\npub struct A;\npub fn b() {}\n"),
        [("A".to_owned(), true), ("b".to_owned(), false)]
    );
}
