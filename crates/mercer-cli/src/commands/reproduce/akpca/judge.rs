//! What the paper says about the errors and accuracies, and whether they do.

use super::super::findings::Findings;
use super::measure::{Entry, GAUSSIAN, Method, SPECKLE};
use super::{LONG, NAMES, Results, SHORT, WHOLE};

/// Above this deviation of the noise, kernel PCA is best.
const MUCH: f64 = 0.04;
/// Up to this probability, speckle is low to moderate.
const MODERATE: f64 = 0.3;
/// From so many components on others classify better than AKPCA.
const MANY: usize = 20;

/// All claims.
pub(super) fn judge(findings: &mut Findings, results: &Results) {
    for set in [SHORT, LONG, WHOLE] {
        order(findings, results, set, "training", |entry| entry.training);
    }
    for set in [SHORT, LONG, WHOLE] {
        order(findings, results, set, "held-out", |entry| entry.held_out);
    }
    centring(findings, results);
    overfitting(findings, results);
    longer(findings, results);
    gaussian(findings, results);
    speckle(findings, results);
    classification(findings, results);
    let slowest = results.entries.iter().filter(|entry| entry.method == Method::Akpca).map(|entry| entry.seconds);
    let slowest = slowest.fold(0.0, f64::max);
    findings.claim(
        "AKPCA and DS-AKPCA take hours",
        "hours",
        slowest,
        format!("AKPCA learns in {} at most", crate::output::summary::seconds(slowest)),
        slowest > 3600.0,
    );
}

/// The claim that something holds in all cases: how many of them it does hold in, and where it does not.
fn all(findings: &mut Findings, claim: String, claimed: &str, cases: &[(String, bool)]) {
    let held = cases.iter().filter(|(_, holds)| *holds).count();
    let not: Vec<&str> = cases.iter().filter(|(_, holds)| !holds).map(|(case, _)| case.as_str()).collect();
    let found = if not.is_empty() {
        format!("in all {} cases", cases.len())
    } else {
        format!("in {held} of {} cases; not {}", cases.len(), not.join("; not "))
    };
    findings.claim(claim, claimed, held as f64 / cases.len().max(1) as f64, found, not.is_empty());
}

/// Errors in the order of the methods, for every number of components.
fn order(findings: &mut Findings, results: &Results, set: usize, what: &str, of: fn(&Entry) -> f64) {
    let methods = results.methods(set);
    let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let mut cases = Vec::new();
    for &k in &results.components {
        for pair in methods.windows(2) {
            let (Some(less), Some(more)) = (results.get(set, pair[0], k), results.get(set, pair[1], k)) else {
                continue;
            };
            let case =
                format!("{} ({:.4}) below {} ({:.4}) with {k}", pair[0].name(), of(less), pair[1].name(), of(more));
            cases.push((case, of(less) < of(more)));
        }
    }
    let claim = format!("{}: {what} error in the order {}", NAMES[set], names.join(" < "));
    all(findings, claim, "for all numbers of components", &cases);
}

fn centring(findings: &mut Findings, results: &Results) {
    let cases: Vec<(String, bool)> = results
        .about_zero
        .iter()
        .filter_map(|&(set, k, plain)| {
            let centred = results.get(set, Method::Pca, k)?.training;
            Some((format!("{} with {k} ({centred:.4} and {plain:.4})", NAMES[set]), centred < plain))
        })
        .collect();
    all(findings, "centred PCA has a smaller error than PCA that is not centred".to_owned(), "for all k", &cases);
}

/// How much larger the error is on pictures that were not learned from.
fn gap(entry: &Entry) -> f64 {
    entry.held_out - entry.training
}

fn overfitting(findings: &mut Findings, results: &Results) {
    let (mut sizes, mut methods) = (Vec::new(), Vec::new());
    for &k in &results.components {
        for method in results.methods(LONG) {
            if let (Some(short), Some(long)) = (results.get(SHORT, method, k), results.get(LONG, method, k)) {
                let case = format!("{} with {k} ({:.4} and {:.4})", method.name(), gap(short), gap(long));
                sizes.push((case, gap(short) > gap(long)));
            }
        }
        let Some(own) = results.get(SHORT, Method::Akpca, k) else { continue };
        for method in [Method::DataSpan, Method::Pca, Method::Kpca] {
            if let Some(other) = results.get(SHORT, method, k) {
                let case = format!("than {} with {k} ({:.4} and {:.4})", method.name(), gap(own), gap(other));
                methods.push((case, gap(own) > gap(other)));
            }
        }
    }
    all(findings, "14x14: overfitting is greater with the short training set".to_owned(), "much greater", &sizes);
    all(findings, "short 14x14: AKPCA overfits a bit more than the others".to_owned(), "a bit more", &methods);
}

fn longer(findings: &mut Findings, results: &Results) {
    let mut cases = Vec::new();
    for &k in &results.components {
        for method in results.methods(LONG) {
            if let (Some(short), Some(long)) = (results.get(SHORT, method, k), results.get(LONG, method, k)) {
                let case = format!("{} with {k} ({:.4} and {:.4})", method.name(), short.held_out, long.held_out);
                cases.push((case, long.held_out < short.held_out));
            }
        }
    }
    all(
        findings,
        "14x14: the longer training set has the smaller held-out error".to_owned(),
        "for all algorithms",
        &cases,
    );
}

/// The method with the smallest error at a level of noise.
fn best(results: &Results, set: usize, k: usize, of: impl Fn(&Entry) -> Option<f64>) -> Option<Method> {
    let errors = results.methods(set).into_iter().filter_map(|method| {
        let error = of(results.get(set, method, k)?)?;
        Some((method, error))
    });
    errors.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(method, _)| method)
}

/// Cases in which the best of a set is one of some methods.
fn best_is(
    results: &Results,
    set: usize,
    levels: &[f64],
    is_meant: impl Fn(f64) -> bool,
    of: fn(&Entry) -> &Vec<f64>,
    wanted: &[Method],
) -> Vec<(String, bool)> {
    let mut cases = Vec::new();
    for k in results.denoised {
        for (at, &level) in levels.iter().enumerate().filter(|&(_, &level)| is_meant(level)) {
            if let Some(found) = best(results, set, k, |entry| of(entry).get(at).copied()) {
                let case = format!("{} with {k} at {level}, where {} is best", NAMES[set], found.name());
                cases.push((case, wanted.contains(&found)));
            }
        }
    }
    cases
}

fn gaussian(findings: &mut Findings, results: &Results) {
    let of: fn(&Entry) -> &Vec<f64> = |entry| &entry.gaussian;
    let own = |is_meant: fn(f64) -> bool, wanted: &[Method]| -> Vec<(String, bool)> {
        [SHORT, LONG].iter().flat_map(|&set| best_is(results, set, &GAUSSIAN, is_meant, of, wanted)).collect()
    };
    let cases = own(|level| level > 0.0 && level <= MUCH, &[Method::Akpca]);
    all(findings, "Gaussian noise up to 0.04, 14x14: AKPCA denoises best".to_owned(), "always", &cases);
    let cases = own(|level| level > MUCH, &[Method::Kpca]);
    all(findings, "Gaussian noise above 0.04, 14x14: kernel PCA denoises best".to_owned(), "generally", &cases);
}

fn speckle(findings: &mut Findings, results: &Results) {
    let of: fn(&Entry) -> &Vec<f64> = |entry| &entry.speckle;
    let ours = [Method::Akpca, Method::DataSpan];
    let cases: Vec<(String, bool)> =
        [SHORT, LONG].iter().flat_map(|&set| best_is(results, set, &SPECKLE, |level| level > 0.0, of, &ours)).collect();
    all(findings, "speckle, 14x14: AKPCA and DS-AKPCA denoise best".to_owned(), "under all conditions", &cases);
    let cases = best_is(results, WHOLE, &SPECKLE, |level| level > 0.0 && level <= MODERATE, of, &ours);
    all(findings, "speckle up to 0.3, 28x28: DS-AKPCA denoises best".to_owned(), "low to moderate noise", &cases);
}

fn classification(findings: &mut Findings, results: &Results) {
    let winner = |set: usize, k: usize, of: fn(&Entry) -> f64| best(results, set, k, |entry| Some(-of(entry)));
    let mut cases = Vec::new();
    for &k in &results.components {
        if let Some(found) = winner(SHORT, k, |entry| entry.few) {
            cases.push((format!("with {k}, where {} is", found.name()), found == Method::Akpca));
        }
    }
    let claim = "classification, both training sets small: AKPCA is best".to_owned();
    all(findings, claim, "for all numbers of components", &cases);
    let from = MANY.min(results.components[results.components.len() - 1]);
    let mut cases = Vec::new();
    for (set, words, of) in [
        (SHORT, "short set, many to learn from", (|entry| entry.many) as fn(&Entry) -> f64),
        (LONG, "long set, few to learn from", |entry| entry.few),
        (LONG, "long set, many to learn from", |entry| entry.many),
    ] {
        for &k in results.components.iter().filter(|&&k| k >= from) {
            if let Some(found) = winner(set, k, of) {
                let holds = matches!(found, Method::Pca | Method::Kpca);
                cases.push((format!("{words}, with {k}, where {} is", found.name()), holds));
            }
        }
    }
    let claim = format!("classification otherwise: kernel PCA or PCA is best from {from} components on");
    all(findings, claim, "for large enough k", &cases);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(set: usize, method: Method, k: usize, error: f64) -> Entry {
        let (gaussian, speckle) = (vec![error; 4], vec![error; 4]);
        Entry {
            set,
            method,
            k,
            training: error,
            held_out: 1.5 * error,
            gaussian,
            speckle,
            few: 1.0 - error,
            many: 0.9,
            seconds: 2.0,
        }
    }

    fn results(errors: [f64; 4]) -> Results {
        let entries = (0..3)
            .flat_map(|set| {
                Method::ALL.into_iter().zip(errors).map(move |(method, error)| entry(set, method, 5, error))
            })
            .collect();
        Results { entries, components: vec![5], denoised: [5, 5], about_zero: vec![(0, 5, 0.5)] }
    }

    #[test]
    fn an_order_holds_or_says_where_it_does_not() {
        let mut findings = Findings::new("e", "t", "p", false);
        order(&mut findings, &results([0.1, 0.2, 0.3, 0.4]), SHORT, "training", |entry| entry.training);
        order(&mut findings, &results([0.1, 0.3, 0.2, 0.4]), SHORT, "training", |entry| entry.training);
        let claims = &findings.claims;
        assert!(claims[0].agrees && claims[0].what.ends_with("AKPCA < DS-AKPCA < PCA < KPCA"));
        assert_eq!(claims[1].found, "in 2 of 3 cases; not DS-AKPCA (0.3000) below PCA (0.2000) with 5");
        assert!(!claims[1].agrees && (claims[1].value.unwrap() - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_best_is_the_smallest_error_and_the_largest_accuracy() {
        let results = results([0.2, 0.1, 0.3, 0.4]);
        assert_eq!(best(&results, LONG, 5, |entry| entry.gaussian.get(1).copied()), Some(Method::DataSpan));
        assert_eq!(best(&results, LONG, 5, |entry| Some(-entry.few)), Some(Method::DataSpan));
        assert_eq!(best(&results, LONG, 6, |entry| Some(entry.few)), None);
    }

    #[test]
    fn every_claim_is_judged() {
        let mut findings = Findings::new("e", "t", "p", false);
        judge(&mut findings, &results([0.1, 0.2, 0.3, 0.4]));
        assert_eq!(findings.claims.len(), 17);
        assert!(findings.claims.iter().all(|claim| claim.value.is_some()));
    }
}
