//! The truth of the minutes that the hosts of the twin have given.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use tierscope_twin::laws::Laws;
use tierscope_twin::truth::{ServedTruth, Truth, WindowTruth};

/// Gathers what all hosts tell of their windows: the same run, so that truth and data cannot differ by chance.
#[derive(Debug, Default)]
pub(crate) struct TruthRecorder(Mutex<Option<Truth>>);

impl TruthRecorder {
    fn held(&self) -> MutexGuard<'_, Option<Truth>> {
        // Whoever panicked while it was held has ended the run.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes when the twin's time begins: by `laws`, which are those of all hosts.
    pub(crate) fn begin(&self, laws: &Laws, seed: u64) {
        self.held().get_or_insert_with(|| Truth::new(laws, seed));
    }

    /// Adds windows of a host that has begun.
    pub(crate) fn add(&self, windows: Vec<WindowTruth>) {
        if let Some(truth) = self.held().as_mut() {
            truth.windows.extend(windows);
        }
    }

    /// Puts what DRAM would serve on a host in the place of what was told of it before.
    pub(crate) fn replace_served(&self, rows: Vec<ServedTruth>) {
        if let (Some(truth), Some(first)) = (self.held().as_mut(), rows.first()) {
            truth.served.retain(|row| row.host != first.host);
            truth.served.extend(rows);
        }
    }

    /// What is known so far, in order of hosts, services and time; `None` before any host has begun.
    pub(crate) fn truth(&self) -> Option<Truth> {
        let mut truth = self.held().clone()?;
        truth.windows.sort_by(|one, other| {
            (&one.host, &one.service)
                .cmp(&(&other.host, &other.service))
                .then(one.end_unix_s.total_cmp(&other.end_unix_s))
        });
        truth
            .served
            .sort_by(|one, other| (&one.host, &one.service).cmp(&(&other.host, &other.service)));
        Some(truth)
    }

    /// Writes it as `tierscope-twin` does.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let truth = self.truth().context("no host of the twin has begun")?;
        let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
        let mut out = BufWriter::new(file);
        serde_json::to_writer(&mut out, &truth)?;
        out.flush()
            .with_context(|| format!("{} cannot be written", path.display()))
    }
}
