//! What the agent says of itself in `status.json`, for `tierscope status` and for people.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::clocks::{rfc3339, wall_ns};

/// The document. Times are RFC 3339 in UTC; absent means not yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
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
    pub(crate) counters: usize,
    pub(crate) heat_rows: usize,
    pub(crate) spool: SpoolStatus,
    /// Why the last attempt to deliver failed; absent when it succeeded.
    pub(crate) delivery_error: Option<String>,
    /// Why the last collection failed in part; absent when it succeeded.
    pub(crate) collection_error: Option<String>,
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

/// The document in memory, shared by the threads, and its file.
#[derive(Clone)]
pub(crate) struct StatusFile {
    path: PathBuf,
    status: Arc<Mutex<Status>>,
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
            path: state_dir.join("status.json"),
            status: Arc::new(Mutex::new(status)),
        }
    }

    /// Changes the document and writes it. A failure to write is passed over: the disk's trouble shows elsewhere.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Status)) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut status);
        status.written_at = rfc3339(wall_ns());
        let temporary = self.path.with_extension("new");
        if let Ok(text) = serde_json::to_string_pretty(&*status) {
            let _ = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &self.path));
        }
    }
}
