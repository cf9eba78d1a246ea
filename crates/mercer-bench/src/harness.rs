//! Taking times: contenders run in turn, and each counts with its best round.
//!
//! Other work on the machine only ever makes a run slower, so the best of several rounds is the figure that says most
//! about the program. Running in turn spreads a busy minute over all contenders instead of charging it to one.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::failure::Result;

/// Every time that a contender took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Timing {
    /// What was timed: `variant/size`.
    pub(crate) name: String,
    /// Seconds of each round, in the order they were run.
    pub(crate) seconds: Vec<f64>,
}

impl Timing {
    /// The shortest time; infinite if there is none.
    pub(crate) fn best(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// A run gives its seconds and its answer: some runs happen in other processes, which time themselves.
type Run<'a, T> = Box<dyn FnMut() -> Result<(f64, T)> + 'a>;

/// One of the things that are compared.
pub(crate) struct Contender<'a, T> {
    name: String,
    run: Run<'a, T>,
}

impl<'a, T> Contender<'a, T> {
    /// A contender whose runs time themselves.
    pub(crate) fn new(name: impl Into<String>, run: impl FnMut() -> Result<(f64, T)> + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    /// A contender that is timed from call to return.
    pub(crate) fn timed(name: impl Into<String>, mut run: impl FnMut() -> Result<T> + 'a) -> Self {
        Self::new(name, move || {
            let start = Instant::now();
            let answer = run()?;
            Ok((start.elapsed().as_secs_f64(), answer))
        })
    }
}

/// What a contender brought home.
#[derive(Debug)]
pub(crate) struct Finished<T> {
    /// Its times.
    pub(crate) timing: Timing,
    /// The answer of each round.
    pub(crate) answers: Vec<T>,
}

impl<T> Finished<T> {
    /// The shortest time.
    pub(crate) fn best(&self) -> f64 {
        self.timing.best()
    }

    /// The answer of the last round.
    pub(crate) fn answer(&self) -> &T {
        self.answers.last().expect("there is at least one round")
    }
}

/// Runs the contenders in turn, `rounds` times (at least once), and returns what each brought home, in the same order.
pub(crate) fn alternate<T>(mut contenders: Vec<Contender<'_, T>>, rounds: usize) -> Result<Vec<Finished<T>>> {
    let empty = |contender: &Contender<'_, T>| Finished {
        timing: Timing { name: contender.name.clone(), seconds: Vec::new() },
        answers: Vec::new(),
    };
    let mut finished: Vec<Finished<T>> = contenders.iter().map(empty).collect();
    for round in 1..=rounds.max(1) {
        for (contender, finished) in contenders.iter_mut().zip(&mut finished) {
            let (seconds, answer) = (contender.run)()?;
            eprintln!("  round {round}: {} {seconds:.3} s", contender.name);
            finished.timing.seconds.push(seconds);
            finished.answers.push(answer);
        }
    }
    Ok(finished)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::failure::Failure;

    #[test]
    fn contenders_take_turns_and_the_best_round_counts() {
        let order = RefCell::new(Vec::new());
        let contender = |name: &'static str, times: [f64; 3]| {
            let (order, mut times) = (&order, times.into_iter());
            Contender::new(name, move || {
                order.borrow_mut().push(name);
                Ok((times.next().expect("three rounds"), name.len()))
            })
        };
        let finished = alternate(vec![contender("a", [3.0, 1.0, 2.0]), contender("bb", [5.0, 6.0, 4.0])], 3).unwrap();
        assert_eq!(*order.borrow(), ["a", "bb", "a", "bb", "a", "bb"]);
        assert_eq!(finished[0].timing.seconds, [3.0, 1.0, 2.0]);
        assert_eq!((finished[0].best().to_bits(), finished[1].best().to_bits()), (1_f64.to_bits(), 4_f64.to_bits()));
        assert_eq!(*finished[1].answer(), 2);
    }

    #[test]
    fn a_timed_contender_is_measured() {
        let nap = std::time::Duration::from_millis(20);
        let sleep = || {
            std::thread::sleep(nap);
            Ok(())
        };
        let finished = alternate(vec![Contender::timed("nap", sleep)], 1).unwrap();
        assert!(finished[0].best() >= nap.as_secs_f64());
    }

    #[test]
    fn zero_rounds_are_one() {
        assert_eq!(alternate(vec![Contender::timed("once", || Ok(()))], 0).unwrap()[0].answers.len(), 1);
    }

    #[test]
    fn the_first_failure_ends_the_contest() {
        let fail = || Err(Failure::WrongAnswer { what: "x".to_owned(), found: 1.0, limit: 0.0 });
        assert!(alternate::<()>(vec![Contender::timed("fails", fail)], 3).is_err());
    }
}
