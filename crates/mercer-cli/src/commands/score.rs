//! `mercer score`: how unlike the training points other points are.

use std::path::Path;

use faer::Mat;
use mercer::record::ControlLimit;
use mercer::{Kernel, Model, Novelty};
use serde::Serialize;

use super::blocks::{Rows, scale_of_bytes};
use super::session::{Session, threads};
use crate::args::ScoreArgs;
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::output;
use crate::output::summary::{self, counted, level, percent, short};
use crate::records::Common;

/// What the record of a scoring has of its own.
#[derive(Serialize)]
struct ScoreBody {
    #[serde(flatten)]
    common: Common,
    model: String,
    data: String,
    output: String,
    n_samples: usize,
    n_features: usize,
    n_components: usize,
    threads: usize,
    /// The limits that rows were held against; absent if the model has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<LimitRecord>,
    #[serde(flatten)]
    tally: Tally,
}

/// Limits, under names that tell them from the lists of limits that a fit learns.
#[derive(Serialize)]
struct LimitRecord {
    level: f64,
    reconstruction_error_limit: f64,
    t_squared_limit: f64,
}

impl From<ControlLimit> for LimitRecord {
    fn from(limit: ControlLimit) -> Self {
        Self {
            level: limit.level,
            reconstruction_error_limit: limit.reconstruction_error,
            t_squared_limit: limit.t_squared,
        }
    }
}

/// What was found, over all rows.
#[derive(Clone, Debug, Default, Serialize)]
struct Tally {
    /// Rows beyond either limit; absent without limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_novel: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n_beyond_reconstruction_error: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n_beyond_t_squared: Option<usize>,
    largest_reconstruction_error: f64,
    largest_t_squared: f64,
}

/// Runs the command.
pub(super) fn run(args: &ScoreArgs) -> Result<ExitStatus> {
    let session = Session::start("score", &args.report, args.progress.progress)?;
    let mut session = session.on_threads(args.threads);
    session.check_standard_output(&args.output)?;
    let format = output::score_format(&args.output)?;
    let threads = threads(args.threads)?;
    session.check_outputs([args.output.as_path()], &[("data", &args.points), ("model", &args.model)])?;
    let model = session.load(&args.model, "a score")?;
    let limit = limit(&model, args, &mut session)?;
    let (names, scaling) = (model.feature_names(), model.scaling());
    let options = session.query_options(&args.data, model.n_features(), names, scaling)?;
    let (points, output, phase) = (args.points.as_path(), args.output.as_path(), "score");
    let byte_scale = scale_of_bytes(model.basis(), scaling);
    let rows = Rows { points, options, output, format, phase, byte_scale };
    let names = |_: &Data| columns(limit.is_some()).iter().map(|&name| name.to_owned()).collect();
    let mut tally = Tally::default();
    let written = rows.write(&mut session, &names, |points, watch| {
        let novelty = model.novelty_watched(points, &threads, watch)?;
        tally.add(&novelty, limit.as_ref());
        Ok(rows_of(&novelty, limit.as_ref()))
    })?;
    let n = written.n_samples;
    let place =
        if args.output == Path::new("-") { String::new() } else { format!(", written to {}", args.output.display()) };
    session.console.note(&format!("{}{place}", tally.sentence(n, limit.as_ref())));
    let body = ScoreBody {
        common: session.common(),
        model: args.model.display().to_string(),
        data: written.data,
        output: args.output.display().to_string(),
        n_samples: n,
        n_features: written.n_features,
        n_components: model.n_components(),
        threads: threads.count(),
        limit: limit.map(LimitRecord::from),
        tally,
    };
    session.finish(ExitStatus::Done, &body, None)
}

/// The share of the training points that is within the limits, unless another is asked for.
const LEVEL: f64 = 0.99;

/// The model's limits at the level that was asked for. Models of streams and of earlier versions have none, which is said, and no reason to stop
/// unless a level was asked for.
fn limit(model: &Model, args: &ScoreArgs, session: &mut Session<'_>) -> Result<Option<ControlLimit>> {
    let Some(limits) = &model.record().control_limits else {
        if matches!(model.kernel(), Kernel::Precomputed) {
            return Ok(None); // which cannot tell novelty at all, and will say so
        }
        let (which, why) = if summary::is_of_a_stream(model.record()) {
            (
                "the model of a stream has no control limits",
                ": rows that were seen once are not there to learn them from",
            )
        } else {
            ("the model was saved without control limits", "; fit it again to have them")
        };
        if let Some(level) = args.limit {
            let model = args.model.display();
            return Err(Failure::usage(format!("--limit {level} cannot be had from {model}: {which}{why}")));
        }
        session.warn(format!("{which}, so no row is called novel{why}"));
        return Ok(None);
    };
    let level = args.limit.unwrap_or(LEVEL);
    if let Some(limit) = limits.at(level) {
        return Ok(Some(limit));
    }
    let known: Vec<String> = limits.levels.iter().map(ToString::to_string).collect();
    Err(Failure::usage(format!("--limit must be one of {}, but it is {level}", known.join(", "))))
}

fn columns(with_limit: bool) -> &'static [&'static str] {
    let all = &["reconstruction_error", "t_squared", "novel"];
    if with_limit { all } else { &all[..2] }
}

/// The rows of the table.
fn rows_of(novelty: &Novelty, limit: Option<&ControlLimit>) -> Mat<f64> {
    let beyond = limit.map(|limit| novelty.is_beyond(limit)).unwrap_or_default();
    Mat::from_fn(novelty.t_squared.len(), columns(limit.is_some()).len(), |i, j| match j {
        0 => novelty.reconstruction_error[i],
        1 => novelty.t_squared[i],
        _ => f64::from(u8::from(beyond[i])),
    })
}

impl Tally {
    fn add(&mut self, novelty: &Novelty, limit: Option<&ControlLimit>) {
        let largest = |values: &[f64], so_far: f64| values.iter().copied().fold(so_far, f64::max);
        self.largest_reconstruction_error = largest(&novelty.reconstruction_error, self.largest_reconstruction_error);
        self.largest_t_squared = largest(&novelty.t_squared, self.largest_t_squared);
        let Some(limit) = limit else { return };
        let count = |values: &[f64], limit: f64| values.iter().filter(|&&value| value > limit).count();
        for (sum, more) in [
            (&mut self.n_novel, novelty.is_beyond(limit).into_iter().filter(|&beyond| beyond).count()),
            (&mut self.n_beyond_reconstruction_error, count(&novelty.reconstruction_error, limit.reconstruction_error)),
            (&mut self.n_beyond_t_squared, count(&novelty.t_squared, limit.t_squared)),
        ] {
            *sum = Some(sum.unwrap_or(0) + more);
        }
    }

    /// What was found, for people.
    fn sentence(&self, n: usize, limit: Option<&ControlLimit>) -> String {
        let (Some(limit), Some(novel)) = (limit, self.n_novel) else {
            return format!(
                "{}; largest reconstruction error {}, largest T² {}",
                counted(n, "row"),
                short(self.largest_reconstruction_error),
                short(self.largest_t_squared)
            );
        };
        format!(
            "{novel} of {} ({}) {} novel: {} beyond reconstruction error {}, {} beyond T² {} (limits of {} of the \
             training points)",
            counted(n, "row"),
            percent(novel as f64 / n.max(1) as f64),
            if novel == 1 { "is" } else { "are" },
            self.n_beyond_reconstruction_error.unwrap_or(0),
            short(limit.reconstruction_error),
            self.n_beyond_t_squared.unwrap_or(0),
            short(limit.t_squared),
            level(limit.level)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn novelty() -> Novelty {
        Novelty { scores: Mat::zeros(3, 1), reconstruction_error: vec![0.1, 0.5, 0.9], t_squared: vec![9.0, 1.0, 9.0] }
    }

    const LIMIT: ControlLimit = ControlLimit { level: 0.95, reconstruction_error: 0.5, t_squared: 4.0 };

    #[test]
    fn a_row_on_the_limit_is_within_it_and_one_beyond_both_counts_once() {
        let mut tally = Tally::default();
        tally.add(&novelty(), Some(&LIMIT));
        tally.add(&novelty(), Some(&LIMIT));
        assert_eq!(
            (tally.n_novel, tally.n_beyond_reconstruction_error, tally.n_beyond_t_squared),
            (Some(4), Some(2), Some(4))
        );
        assert_eq!(
            tally.sentence(6, Some(&LIMIT)),
            "4 of 6 rows (66.7 %) are novel: 2 beyond reconstruction error 0.5, 4 beyond T² 4 (limits of 95 % of the \
             training points)"
        );
    }

    #[test]
    fn a_single_row_is_one_row() {
        let tally = Tally { n_novel: Some(1), ..Tally::default() };
        assert!(tally.sentence(1, Some(&LIMIT)).starts_with("1 of 1 row (100.0 %) is novel: "));
    }

    #[test]
    fn without_limits_nothing_is_called_novel() {
        let mut tally = Tally::default();
        tally.add(&novelty(), None);
        assert_eq!(tally.n_novel, None);
        assert_eq!(tally.sentence(3, None), "3 rows; largest reconstruction error 0.9, largest T² 9");
        assert_eq!(tally.sentence(1, None), "1 row; largest reconstruction error 0.9, largest T² 9");
        assert_eq!(rows_of(&novelty(), None).ncols(), 2);
        assert_eq!(rows_of(&novelty(), Some(&LIMIT)).col(2).iter().copied().collect::<Vec<_>>(), [1.0, 0.0, 1.0]);
    }
}
