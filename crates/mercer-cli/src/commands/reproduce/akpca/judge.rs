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
/// The methods of the paper, and those that they are compared with.
const OURS: [Method; 2] = [Method::Akpca, Method::DataSpan];
const OTHERS: [Method; 2] = [Method::Pca, Method::Kpca];

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
    hours(findings, results);
}

fn hours(findings: &mut Findings, results: &Results) {
    let [own, span] = OURS.map(|method| {
        let seconds = results.entries.iter().filter(|entry| entry.method == method).map(|entry| entry.seconds);
        seconds.fold(0.0, f64::max)
    });
    let words = crate::output::summary::seconds;
    findings.claim(
        "AKPCA and DS-AKPCA take hours",
        "hours",
        own.min(span),
        format!("AKPCA learns in {} at most, DS-AKPCA in {}", words(own), words(span)),
        own.min(span) > 3600.0,
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

/// Levels of one kind of noise, and the errors at each.
#[derive(Clone, Copy)]
struct OfNoise {
    levels: [f64; 4],
    errors: fn(&Entry) -> &Vec<f64>,
}

/// Cases in which a method is the best of a set.
fn best_is(
    results: &Results,
    sets: &[usize],
    noise: OfNoise,
    is_meant: fn(f64) -> bool,
    wanted: Method,
) -> Vec<(String, bool)> {
    let mut cases = Vec::new();
    for (set, k, at, level) in conditions(results, sets, noise, is_meant) {
        if let Some(found) = best(results, set, k, |entry| (noise.errors)(entry).get(at).copied()) {
            let case = format!("{} with {k} at {level}, where {} is best", NAMES[set], found.name());
            cases.push((case, found == wanted));
        }
    }
    cases
}

/// Cases in which each of some methods is better than both that it is compared with.
fn beats_others(
    results: &Results,
    sets: &[usize],
    noise: OfNoise,
    is_meant: fn(f64) -> bool,
    methods: &[Method],
) -> Vec<(String, bool)> {
    let mut cases = Vec::new();
    for (set, k, at, level) in conditions(results, sets, noise, is_meant) {
        let error = |method: Method| (noise.errors)(results.get(set, method, k)?).get(at).copied();
        for &method in methods {
            let others = OTHERS.into_iter().filter_map(error).fold(f64::INFINITY, f64::min);
            if let Some(own) = error(method) {
                let case = format!("{}, {} with {k} at {level} ({own:.4} and {others:.4})", method.name(), NAMES[set]);
                cases.push((case, own < others));
            }
        }
    }
    cases
}

/// Sets, numbers of components and levels of noise, with their places, that a claim is about.
fn conditions(
    results: &Results,
    sets: &[usize],
    noise: OfNoise,
    is_meant: fn(f64) -> bool,
) -> Vec<(usize, usize, usize, f64)> {
    let levels = noise.levels.into_iter().enumerate().filter(|&(_, level)| is_meant(level));
    let of_set = |&set: &usize| {
        let levels = levels.clone();
        results.denoised.into_iter().flat_map(move |k| levels.clone().map(move |(at, level)| (set, k, at, level)))
    };
    sets.iter().flat_map(of_set).collect()
}

fn gaussian(findings: &mut Findings, results: &Results) {
    let noise = OfNoise { levels: GAUSSIAN, errors: |entry| &entry.gaussian };
    let cases = best_is(results, &[SHORT, LONG], noise, |level| level > 0.0 && level <= MUCH, Method::Akpca);
    all(findings, "Gaussian noise up to 0.04, 14x14: AKPCA denoises best".to_owned(), "always", &cases);
    // Above that, the paper has kernel PCA ahead.
    let cases =
        beats_others(results, &[SHORT, WHOLE], noise, |level| (MUCH..=MUCH).contains(&level), &[Method::DataSpan]);
    let claim = "Gaussian noise of 0.04, short sets: DS-AKPCA denoises better than PCA and kernel PCA".to_owned();
    all(findings, claim, "in the high noise regime", &cases);
    let cases = best_is(results, &[SHORT, LONG, WHOLE], noise, |level| level > MUCH, Method::Kpca);
    all(findings, "Gaussian noise above 0.04: kernel PCA denoises best".to_owned(), "generally", &cases);
}

fn speckle(findings: &mut Findings, results: &Results) {
    let noise = OfNoise { levels: SPECKLE, errors: |entry| &entry.speckle };
    let cases = beats_others(results, &[SHORT, LONG], noise, |level| level > 0.0, &OURS);
    let claim = "speckle, 14x14: AKPCA and DS-AKPCA denoise better than PCA and kernel PCA".to_owned();
    all(findings, claim, "under all conditions", &cases);
    let is_moderate = |level: f64| level > 0.0 && level <= MODERATE;
    let cases = beats_others(results, &[WHOLE], noise, is_moderate, &[Method::DataSpan]);
    let claim = "speckle up to 0.3, 28x28: DS-AKPCA denoises better than PCA and kernel PCA".to_owned();
    all(findings, claim, "low to moderate noise", &cases);
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
    fn both_methods_of_the_paper_must_beat_both_others_at_speckle() {
        let speckle_of = |errors: [f64; 4]| {
            let mut findings = Findings::new("e", "t", "p", false);
            speckle(&mut findings, &results(errors));
            findings.claims[0].clone()
        };
        assert!(speckle_of([0.1, 0.2, 0.3, 0.4]).agrees);
        let claim = speckle_of([0.1, 0.35, 0.3, 0.4]);
        assert!(!claim.agrees && claim.found.contains("not DS-AKPCA, short 14x14 with 5 at 0.2 (0.3500 and 0.3000)"));
    }

    #[test]
    fn hours_are_those_of_both_methods() {
        let mut findings = Findings::new("e", "t", "p", false);
        let mut results = results([0.1, 0.2, 0.3, 0.4]);
        for entry in results.entries.iter_mut().filter(|entry| entry.method == Method::Akpca) {
            entry.seconds = 7200.0;
        }
        hours(&mut findings, &results);
        assert!(!findings.claims[0].agrees && findings.claims[0].value == Some(2.0), "{:?}", findings.claims);
    }

    #[test]
    fn every_claim_is_judged() {
        let mut findings = Findings::new("e", "t", "p", false);
        judge(&mut findings, &results([0.1, 0.2, 0.3, 0.4]));
        assert_eq!(findings.claims.len(), 18);
        assert!(findings.claims.iter().all(|claim| claim.value.is_some()));
    }
}
