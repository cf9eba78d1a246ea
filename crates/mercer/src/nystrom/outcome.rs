//! The record of a fit over landmarks.

use super::NystromPca;
use super::factor::Factor;
use super::pca::Task;
use super::room;
use super::sums::Sums;
use crate::error::apart;
use crate::gram::Element;
use crate::memory;
use crate::plan::Plan;
use crate::record::{ControlLimits, KernelRecord, NystromRecord, RECORD_VERSION, RunRecord};

/// What was found.
pub(super) struct Outcomes {
    pub(super) values: Vec<f64>,
    pub(super) residuals: Vec<f64>,
    /// Pairs that the solver returned, before those that are rounding were dropped.
    pub(super) found: usize,
    pub(super) solver: &'static str,
    pub(super) limits: ControlLimits,
    /// What was added to the diagonal of the landmarks' matrix, relative to its mean.
    pub(super) shift: f64,
}

impl NystromPca {
    pub(super) fn record<T: Element>(
        &self,
        task: &Task<'_>,
        factor: &Factor,
        sums: &Sums<'_, T>,
        center: Option<&[f64]>,
        outcome: Outcomes,
        threads: usize,
    ) -> RunRecord {
        let (n, m, r) = (task.n, task.chosen.points.n_samples(), factor.rank());
        let (settings, name) = (&self.nystrom, self.nystrom.landmarks.name());
        let missing = sums.trace - sums.explained;
        // Of a kernel that has no negative eigenvalues it is less than nothing only by rounding.
        let beyond = if task.kernel.is_positive_definite() { missing.max(0.0) } else { missing };
        let total = sums.varied + beyond;
        let tolerance = self.accuracy.unwrap_or(1.0);
        let converged = outcome.residuals.iter().all(|&residual| residual <= tolerance);
        let warnings = self.warnings(task, r, &outcome, (!converged).then_some(tolerance));
        RunRecord {
            record_version: RECORD_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            n_samples: n,
            n_features: task.chosen.points.n_features(),
            n_components: outcome.values.len(),
            kernel: KernelRecord::from(task.kernel),
            centered: center.is_some(),
            gram: "nystrom".to_owned(),
            solver: outcome.solver.to_owned(),
            precision: task.precision,
            explained_variance_ratio: outcome.values.iter().map(|value| value / total).collect(),
            eigenvalues: outcome.values,
            total_variance: total,
            residuals: outcome.residuals,
            tolerance,
            converged,
            passes: 1,
            products: 0,
            kernel_entries: task.chosen.entries
                + task.probed.entries
                + (m * m) as u64
                + n as u64 * (r + sums.probe.len()) as u64,
            resumed_after_passes: None,
            seconds: task.seconds.clone(),
            peak_memory_bytes: memory::peak(),
            memory_budget_bytes: settings.memory.bytes(),
            threads,
            seed: settings.seed,
            plan: self.plan(task, r, outcome.solver, threads),
            warnings,
            control_limits: Some(outcome.limits),
            expansion: None,
            nystrom: Some(NystromRecord {
                landmarks: name.to_owned(),
                n_landmarks: m,
                rank: r,
                trace: sums.trace,
                trace_error: missing,
                relative_trace_error: if sums.trace > 0.0 { missing / sums.trace } else { 0.0 },
                residual_rows: sums.probe.len(),
            }),
        }
    }

    /// What the user should know of components over landmarks of this rank, and of a tolerance that they `missed`.
    fn warnings(&self, task: &Task<'_>, rank: usize, outcome: &Outcomes, missed: Option<f64>) -> Vec<String> {
        let (m, precision) = (task.chosen.points.n_samples(), task.precision);
        let mut warnings = task.warnings.clone();
        warnings.extend(self.nystrom.warning_of_few_rows(task.n));
        if rank < m {
            let left_out = m - rank;
            warnings.push(format!(
                "{left_out} of {m} landmarks are left out: to rounding in {precision}, they are combinations of the others"
            ));
        }
        if outcome.shift > 0.0 {
            warnings.push(format!(
                "landmarks are so nearly combinations of the others that rounding in {precision} would grow: {:.1e} of the mean diagonal was \
                 added to their kernel matrix",
                outcome.shift
            ));
        }
        let kept = outcome.values.len();
        if kept < outcome.found || outcome.found < self.n_components {
            warnings.push(format!(
                "{kept} of {} components are returned: the other eigenvalues cannot be told from rounding in {precision}",
                self.n_components
            ));
        }
        if let Some(tolerance) = missed {
            let (residual, tolerance) = apart(outcome.residuals.iter().copied().fold(0.0, f64::max), tolerance);
            let asked = self.accuracy.map_or_else(String::new, |_| format!(", not the {tolerance} asked for"));
            warnings.push(format!(
                "the largest residual against the exact matrix is {residual}{asked}: more landmarks would bring it down"
            ));
        }
        warnings
    }

    /// What was done, as a plan.
    fn plan(&self, task: &Task<'_>, rank: usize, solver: &str, threads: usize) -> Plan {
        let landmarks = &task.chosen.points;
        let (n, m, d) = (task.n, landmarks.n_samples(), landmarks.n_features());
        let row = room::row_size(landmarks, task.kernel, task.precision);
        let why = match self.accuracy {
            Some(_) if self.nystrom.n_landmarks.is_none() => "for the accuracy that was asked for",
            _ => self.why(),
        };
        Plan {
            expected_seconds: self.typical_seconds(m, (n, d), task.precision, threads),
            expected_memory_bytes: room::needed(&self.nystrom.landmarks, n, m, row),
            ..self.described(m, rank, solver, task.precision, why)
        }
    }
}
