//! The outcome of a replay, for people and for programs.

use std::path::PathBuf;

use serde::Serialize;

use super::deliver::Delivered;
use super::source::WorkingSetSummary;

/// The outcome of a replay, as it is printed.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) host: String,
    pub(crate) host_id: Option<String>,
    pub(crate) recordings: Vec<RecordingSummary>,
    /// Absent after a dry run.
    pub(crate) delivered: Option<Delivered>,
}

/// One recording of a [`Summary`].
#[derive(Debug, Serialize)]
pub(crate) struct RecordingSummary {
    pub(crate) path: PathBuf,
    /// `snapshots`, `page-trace`, `perf-data`, `perf-script` or `field-kit`.
    pub(crate) kind: &'static str,
    /// Snapshots, intervals of a recording of heat, or batches of a field kit.
    pub(crate) samples: usize,
    /// Different counter names; absent for a recording of heat.
    pub(crate) counters: Option<usize>,
    pub(crate) from: String,
    pub(crate) to: String,
    /// Added to the recorded times; absent where none are recorded.
    pub(crate) shift_seconds: Option<f64>,
    /// Lines that could not be understood.
    pub(crate) problems: Vec<String>,
    /// What else the recording says; absent where nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// Of a record of damo, one for each target; absent for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) working_sets: Vec<WorkingSetSummary>,
}

pub(crate) fn describe(summary: &Summary) -> String {
    let mut lines = vec![format!(
        "host {} ({})",
        summary.host,
        summary.host_id.as_deref().unwrap_or("not sent")
    )];
    for recording in &summary.recordings {
        let counters = recording
            .counters
            .map_or_else(String::new, |counters| format!(" of {counters} counters"));
        lines.push(format!(
            "{}: {} samples{counters}, {} to {}",
            recording.path.display(),
            recording.samples,
            recording.from,
            recording.to
        ));
        if let Some(shift) = recording.shift_seconds.filter(|shift| *shift != 0.0) {
            lines.push(format!(
                "  sent {shift:.0} s from its recorded time, because the service keeps raw data for 7 days"
            ));
        }
        lines.extend(recording.working_sets.iter().map(|set| {
            format!(
                "  working set of target {}: {} bytes on average over {} snapshots, {} at most",
                set.target,
                set.average_bytes,
                set.snapshots,
                set.bytes_by_percentile.last().copied().unwrap_or(0)
            )
        }));
        lines.extend(recording.notes.iter().map(|note| format!("  {note}")));
        lines.extend(recording.problems.iter().map(|problem| format!("  {problem}")));
    }
    if let Some(delivered) = &summary.delivered {
        lines.push(format!(
            "{} batches stored, {} were stored before, {} bytes sent; too late {}, set aside {}",
            delivered.accepted,
            delivered.duplicates,
            delivered.sent_bytes,
            delivered.too_late,
            delivered.set_aside
        ));
        lines.extend(delivered.warnings.iter().map(|warning| format!("  {warning}")));
    }
    lines.join("\n")
}
