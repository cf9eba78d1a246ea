//! What is said of a stream when it has ended: its record, and the same for people.

use mercer::online::OnlineRecord;
use serde::Serialize;

use crate::output::summary::{counted, percent, short};
use crate::records::Common;

/// What the record of a stream has of its own.
#[derive(Serialize)]
pub(super) struct StreamBody {
    #[serde(flatten)]
    pub(super) common: Common,
    #[serde(flatten)]
    pub(super) settings: Option<OnlineRecord>,
    pub(super) rows_read: u64,
    pub(super) bad_rows: u64,
    pub(super) n_samples: usize,
    pub(super) n_features: usize,
    pub(super) n_components: usize,
    pub(super) threads: usize,
    pub(super) n_remembered: usize,
    pub(super) variances: Vec<f64>,
    pub(super) explained_variance_ratio: Vec<f64>,
    pub(super) total_variance: f64,
    pub(super) budget_error: Vec<f64>,
    pub(super) mean_drift: Option<f64>,
    pub(super) n_shrunk: usize,
    pub(super) began_with: Option<String>,
    pub(super) n_before: usize,
    pub(super) resumed_after_rows: Option<usize>,
    pub(super) interrupted: bool,
    pub(super) model: Option<String>,
    pub(super) checkpoint: Option<String>,
}

/// The record for people.
pub(super) fn table(body: &StreamBody) -> String {
    let explained = body.explained_variance_ratio.iter().fold(0.0, |sum, share| sum + share);
    let lost = body.budget_error.iter().fold(0.0_f64, |m, error| m.max(*error));
    // Those that the model has: others may not have begun, or depend on these.
    let found = body.explained_variance_ratio.len();
    let explain = if found == 1 { "explains" } else { "explain" };
    let mut lines = vec![
        format!("rows        {} of {}, {} bad", body.n_samples, counted(body.n_features, "feature"), body.bad_rows),
        format!("remembered  {}", counted(body.n_remembered, "row")),
        format!("variance    {} {} {}", counted(found, "component"), explain, percent(explained)),
    ];
    if let Some(model) = &body.began_with {
        lines.insert(0, format!("begun       as {model}, a model of {}", counted(body.n_before, "point")));
    }
    if let Some(settings) = &body.settings {
        let rate = settings.learning_rate.map_or_else(|| "automatic".to_owned(), short);
        let turns = settings.rows_per_component.map(|rows| format!(", {} per component", counted(rows, "row")));
        let learning = format!("learning    {} rule, {} rate {rate}", settings.rule, settings.schedule);
        lines.insert(lines.len() - 2, learning + &turns.unwrap_or_default());
        if settings.budget.is_some() {
            lines.push(format!("budget      has moved a component by about {} of its length at most", percent(lost)));
            if let Some(apart) = body.mean_drift.filter(|_| settings.centered) {
                lines.push(format!("mean        is {} of their spread from that of the last rows", percent(apart)));
            }
        }
    }
    lines.push(String::new());
    lines.join("\n")
}
