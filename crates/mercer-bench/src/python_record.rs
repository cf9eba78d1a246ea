//! What `bench/python_vs_sklearn.py` wrote, for the page of results.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::failure::{Failure, Result};
use crate::record::{Bar, Quantity, Ratio};

/// The name of the record.
pub(crate) const NAME: &str = "python_vs_sklearn";

/// For the page of results.
pub(crate) const QUESTION: &str = "\
    `fit` and `fit_transform` of the Python class `mercer.KernelPCA` against scikit-learn's on the first n digits of \
    MNIST (single precision, Gaussian kernel of bandwidth 8 on pixels from 0 to 1), everything else at its default. The rival is the \
    fastest of scikit-learn's solvers for that size. Imports are timed in fresh interpreters that have NumPy already. \
    `python bench/python_vs_sklearn.py --data DIR` reruns it; eigenvalues must agree before times are compared.";

/// From this many digits on, ours has to be several times as fast,
const FASTER_FROM: usize = 5000;
/// and up to this many it must not be slower.
const NOT_SLOWER_UP_TO: usize = 500;
/// Seconds that `import mercer` may take beyond those of `import numpy`.
const IMPORT_SECONDS: f64 = 0.15;

/// One run of the script.
#[derive(Debug, Deserialize)]
pub(crate) struct PythonRecord {
    /// When it began: a date and a time.
    pub(crate) started: String,
    /// The load of the machine before it, over one, five and fifteen minutes.
    pub(crate) load_before: Vec<f64>,
    /// Processors of the machine.
    pub(crate) processors: usize,
    /// Rounds, the best of which counts.
    pub(crate) rounds: usize,
    /// Versions of everything that bears on times.
    pub(crate) versions: BTreeMap<String, String>,
    import_seconds_beyond_numpy: BTreeMap<String, f64>,
    results: Vec<Comparison>,
}

/// Times for one size of the problem.
#[derive(Debug, Deserialize)]
struct Comparison {
    n_samples: usize,
    n_components: usize,
    fit_seconds: BTreeMap<String, Vec<f64>>,
    fit_transform_seconds: BTreeMap<String, Vec<f64>>,
    fastest_rival: String,
}

impl PythonRecord {
    /// The record in a folder, if the script has been run.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(format!("{NAME}.json"));
        if !path.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path).map_err(Failure::file(&path))?;
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|source| Failure::Json { what: path.display().to_string(), source })
    }

    /// What it is for.
    pub(crate) fn ratios(&self) -> Result<Vec<Ratio>> {
        let mut ratios = Vec::new();
        for comparison in &self.results {
            for (call, times) in
                [("fit", &comparison.fit_seconds), ("fit_transform", &comparison.fit_transform_seconds)]
            {
                let what = format!(
                    "n = {}, k = {}: scikit-learn's {call} to ours",
                    comparison.n_samples, comparison.n_components
                );
                let (theirs, ours) = (best(times, &comparison.fastest_rival)?, best(times, "mercer")?);
                ratios.push(Ratio::new(what, theirs, ours, bar(comparison.n_samples)));
            }
        }
        let import = |name: &str| {
            let found = self.import_seconds_beyond_numpy.get(name).copied();
            found.map(|seconds| Quantity::new(name, seconds, "s")).ok_or_else(|| missing(name))
        };
        let limit = Quantity::new("what is allowed", IMPORT_SECONDS, "s");
        let own = Some(Bar::AtMost(1.0));
        ratios.push(Ratio::new("import mercer to 0.15 s".to_owned(), import("import mercer")?, limit, own));
        let (with_sklearn, sklearn) = (import("from mercer import KernelPCA")?, import("import sklearn.base")?);
        let what = "from mercer import KernelPCA to import sklearn.base".to_owned();
        ratios.push(Ratio::new(what, with_sklearn, sklearn, None));
        Ok(ratios)
    }
}

fn bar(n_samples: usize) -> Option<Bar> {
    match n_samples {
        n if n >= FASTER_FROM => Some(Bar::AtLeast(5.0)),
        n if n <= NOT_SLOWER_UP_TO => Some(Bar::AtLeast(1.0)),
        _ => None,
    }
}

/// The best round of a contender.
fn best(times: &BTreeMap<String, Vec<f64>>, name: &str) -> Result<Quantity> {
    let best = times.get(name).and_then(|rounds| rounds.iter().copied().min_by(f64::total_cmp));
    best.map(|seconds| Quantity::new(name, seconds, "s")).ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Failure {
    Failure::Data { path: format!("{NAME}.json").into(), problem: format!("has no time of {name}") }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const STORED: &str = r#"{
        "question": "?", "started": "2026-01-02T03:04:05+00:00", "load_before": [0.25, 0.1, 0.1], "processors": 2, "rounds": 2,
        "versions": {"mercer": "0.1.0"},
        "import_seconds_beyond_numpy": {"import mercer": 0.003, "from mercer import KernelPCA": 1.5, "import sklearn.base": 1.2},
        "results": [
            {"n_samples": 500, "n_components": 2, "fastest_rival": "scikit-learn dense",
             "fit_seconds": {"mercer": [0.04, 0.02], "scikit-learn dense": [0.03, 0.05], "scikit-learn arpack": [1.0, 1.0]},
             "fit_transform_seconds": {"mercer": [0.02], "scikit-learn dense": [0.01]}},
            {"n_samples": 2000, "n_components": 2, "fastest_rival": "scikit-learn arpack",
             "fit_seconds": {"mercer": [0.1], "scikit-learn arpack": [0.3]},
             "fit_transform_seconds": {"mercer": [0.1], "scikit-learn arpack": [0.3]}},
            {"n_samples": 5000, "n_components": 2, "fastest_rival": "scikit-learn arpack",
             "fit_seconds": {"mercer": [0.1], "scikit-learn arpack": [0.6]},
             "fit_transform_seconds": {"mercer": [0.1], "scikit-learn arpack": [0.3]}}
        ]
    }"#;

    #[test]
    fn the_best_round_of_the_fastest_rival_counts_against_the_bar_of_its_size() {
        let folder = tempfile::tempdir().unwrap();
        assert!(PythonRecord::read(folder.path()).unwrap().is_none());
        std::fs::write(folder.path().join("python_vs_sklearn.json"), STORED).unwrap();
        let ratios = PythonRecord::read(folder.path()).unwrap().unwrap().ratios().unwrap();
        let met: Vec<Option<bool>> = ratios.iter().map(|ratio| ratio.met).collect();
        let expected = [Some(true), Some(false), None, None, Some(true), Some(false), Some(true), None];
        assert_eq!(met, expected);
        assert_eq!(ratios[0].what, "n = 500, k = 2: scikit-learn's fit to ours");
        assert!((ratios[0].value - 1.5).abs() < 1e-12 && (ratios[4].value - 6.0).abs() < 1e-12);
    }

    #[test]
    fn a_record_without_the_rival_it_names_is_refused() {
        let broken = STORED.replace("\"fastest_rival\": \"scikit-learn dense\"", "\"fastest_rival\": \"nobody\"");
        let record: PythonRecord = serde_json::from_str(&broken).unwrap();
        assert_eq!(record.ratios().unwrap_err().to_string(), "python_vs_sklearn.json: has no time of nobody");
    }
}
