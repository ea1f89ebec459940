//! What the agent says of itself in `status.json`, for `tierscope status` and for people.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use tierscope_clock::{rfc3339, wall_ns};

use crate::bounds::Bounds;
use crate::bounds::budget::Usage;

/// Figures and times, which change all the time, are written at most this often.
const FIGURES_EVERY: Duration = Duration::from_secs(5);

/// The document. Times are RFC 3339 in UTC; absent means not yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Status {
    pub(crate) pid: u32,
    pub(crate) agent_version: String,
    /// `enrolling`, `running`, `paused` or `stopped`.
    pub(crate) state: &'static str,
    pub(crate) server: Option<String>,
    pub(crate) host_id: Option<String>,
    pub(crate) started_at: String,
    pub(crate) written_at: String,
    pub(crate) interval_seconds: u32,
    pub(crate) last_collected_at: Option<String>,
    pub(crate) last_delivered_at: Option<String>,
    /// The same times as numbers, for `/metrics`.
    #[serde(skip)]
    pub(crate) last_collected_wall_ns: Option<i64>,
    #[serde(skip)]
    pub(crate) last_delivered_wall_ns: Option<i64>,
    pub(crate) counters: usize,
    pub(crate) heat_rows: usize,
    pub(crate) spool: SpoolStatus,
    /// The back end that measures heat; absent while none does.
    pub(crate) heat_rung: Option<&'static str>,
    /// Services whose heat is measured, as `namespace/name`.
    pub(crate) heat_services: Vec<String>,
    /// Patterns of the settings that fit no process; empty while all fit one.
    pub(crate) heat_warnings: Vec<String>,
    /// Why the guard pauses heat; absent while it does not.
    pub(crate) guard_paused: Option<String>,
    /// Intervals without heat because the host was busy, since the stream began.
    pub(crate) guard_paused_intervals: u64,
    pub(crate) budget: BudgetStatus,
    /// Where `/metrics` is served; absent where it is not.
    pub(crate) metrics_listen: Option<String>,
    /// Why everything rests; absent while nothing does.
    pub(crate) paused_by: Option<String>,
    /// Why queued batches wait although the service may be there; absent when they do not.
    pub(crate) upload_held: Option<String>,
    /// Why the daily change of the credential failed; absent when it succeeded or is not due.
    pub(crate) credential_error: Option<String>,
    /// Why the last attempt to deliver failed; absent when it succeeded.
    pub(crate) delivery_error: Option<String>,
    /// Why the last collection failed in part; absent when it succeeded.
    pub(crate) collection_error: Option<String>,
}

/// What the agent used in the last interval, and what it may do.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct BudgetStatus {
    /// `within`, `backed_off` or `stopped`.
    pub(crate) state: &'static str,
    /// Why it does less than the settings allow; "" while it does not.
    pub(crate) reason: String,
    /// Processor time of its threads, as a share of one core; absent before the second interval.
    pub(crate) cpu_ratio: Option<f64>,
    /// Processor time of kernel threads that work for it, likewise.
    pub(crate) kernel_cpu_ratio: Option<f64>,
    pub(crate) rss_bytes: i64,
    /// Compressed bytes that were queued in the interval.
    pub(crate) queued_bytes: i64,
}

impl BudgetStatus {
    /// What `bounds` say after this use.
    pub(crate) fn of(bounds: &Bounds, usage: Usage) -> Self {
        let share = |ns: i64| (usage.elapsed_ns > 0).then(|| ns as f64 / usage.elapsed_ns as f64);
        let (level, reason) = bounds.standing();
        Self {
            state: level.name(),
            reason: reason.to_owned(),
            cpu_ratio: share(usage.cpu_ns),
            kernel_cpu_ratio: share(usage.kernel_cpu_ns),
            rss_bytes: usage.rss_bytes,
            queued_bytes: usage.queued_bytes,
        }
    }
}

/// The queue on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SpoolStatus {
    pub(crate) batches: u64,
    pub(crate) bytes: u64,
    pub(crate) dropped_batches: u64,
    pub(crate) damaged_records: u64,
    pub(crate) rejected_batches: u64,
}

impl Status {
    /// What a reader waits for: it is written at once.
    fn news(&self) -> impl PartialEq + use<> {
        (
            (self.state, self.host_id.clone(), self.interval_seconds),
            self.last_delivered_at.is_some(),
            (self.delivery_error.clone(), self.collection_error.clone()),
            (self.heat_rung, self.guard_paused.clone(), self.budget.state),
            (self.heat_services.clone(), self.heat_warnings.clone()),
            (self.paused_by.clone(), self.upload_held.clone()),
            self.credential_error.clone(),
        )
    }
}

/// The document in memory, shared by the threads, and its file.
#[derive(Clone)]
pub(crate) struct StatusFile {
    /// `None` for a document that is kept in memory alone.
    path: Option<PathBuf>,
    document: Arc<Mutex<Document>>,
}

#[derive(Default)]
struct Document {
    status: Status,
    written: Option<Instant>,
    /// Whether the file lacks a change.
    stale: bool,
}

impl StatusFile {
    /// The status of a process that starts now.
    pub(crate) fn new(state_dir: &Path, server: Option<&str>) -> Self {
        let status = Status {
            pid: std::process::id(),
            agent_version: crate::VERSION.to_owned(),
            state: "enrolling",
            server: server.map(str::to_owned),
            started_at: rfc3339(wall_ns()),
            ..Status::default()
        };
        Self {
            path: Some(state_dir.join("status.json")),
            document: Arc::new(Mutex::new(Document {
                status,
                ..Document::default()
            })),
        }
    }

    /// A document that is written nowhere.
    pub(crate) fn in_memory() -> Self {
        Self {
            path: None,
            document: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Document> {
        self.document.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The document as it is now.
    pub(crate) fn snapshot(&self) -> Status {
        self.lock().status.clone()
    }

    /// Changes the document. News are written at once, figures by [`Self::write_when_due`].
    pub(crate) fn update(&self, change: impl FnOnce(&mut Status)) {
        let mut document = self.lock();
        let before = document.status.news();
        change(&mut document.status);
        document.stale = true;
        if document.written.is_none() || document.status.news() != before {
            self.write(&mut document);
        }
    }

    /// Writes what changed if the last writing is long enough ago, else says how long to wait; `None` when there is
    /// nothing to write.
    pub(crate) fn write_when_due(&self) -> Option<Duration> {
        let mut document = self.lock();
        if !document.stale {
            return None;
        }
        let age = document
            .written
            .map_or(FIGURES_EVERY, |written| written.elapsed());
        let wait = FIGURES_EVERY.checked_sub(age).filter(|wait| !wait.is_zero());
        if wait.is_none() {
            self.write(&mut document);
        }
        wait
    }

    /// A failure to write is passed over: the disk's trouble shows elsewhere.
    fn write(&self, document: &mut Document) {
        document.status.written_at = rfc3339(wall_ns());
        document.written = Some(Instant::now());
        document.stale = false;
        let Some(path) = &self.path else { return };
        let temporary = path.with_extension("new");
        if let Ok(text) = serde_json::to_string_pretty(&document.status) {
            let _ = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_written_at_once_and_figures_wait() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = StatusFile::new(directory.path(), None);
        let holds = |text: &str| {
            fs::read_to_string(directory.path().join("status.json")).is_ok_and(|json| json.contains(text))
        };
        file.update(|_| {});
        assert!(holds("enrolling"));
        // The writing before is never long ago, however busy the machine is.
        let hour = Duration::from_secs(3600);
        let move_writing = |to: fn(Instant, Duration) -> Option<Instant>| {
            let mut document = file.lock();
            document.written = document.written.and_then(|written| to(written, hour));
        };
        move_writing(|written, by| written.checked_add(by));
        file.update(|status| status.counters = 4711);
        assert!(!holds("4711"));
        assert!(file.write_when_due().is_some_and(|wait| wait <= FIGURES_EVERY));
        file.update(|status| status.delivery_error = Some("no route".to_owned()));
        assert!(holds("no route") && holds("4711"));
        assert_eq!(file.write_when_due(), None);
        file.update(|status| status.counters = 4712);
        move_writing(|written, by| written.checked_sub(by));
        assert_eq!(file.write_when_due(), None);
        assert!(holds("4712"));
    }
}
