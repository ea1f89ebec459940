//! The truth of the minutes that the hosts of the twin have given.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use tierscope_twin::host::{Host, HostInterval};
use tierscope_twin::laws::Laws;
use tierscope_twin::truth::{ServedCounts, ServedTruth, Truth, WindowTruth, Windows};

/// What DRAM would serve is told of whole hours.
const HOUR_INTERVALS: u32 = 60;

#[derive(Debug)]
pub(super) struct Teller {
    recorder: Arc<TruthRecorder>,
    windows: Option<Windows>,
    served: ServedCounts,
}

impl Teller {
    /// A host that has told nothing yet.
    pub(super) fn new(recorder: Arc<TruthRecorder>) -> Self {
        Self {
            recorder,
            windows: None,
            served: ServedCounts::default(),
        }
    }

    /// Begins anew, at this time.
    pub(super) fn begin(&mut self, start_unix_s: u64) {
        self.recorder.begin(start_unix_s);
        (self.windows, self.served) = (None, ServedCounts::default());
    }

    /// Writes down the truth of an interval, after which the host is as given.
    pub(super) fn tell(&mut self, laws: &Laws, host: &Host, interval: &HostInterval) {
        let windows = self.windows.get_or_insert_with(|| Windows::new(host));
        self.recorder.add(windows.add(laws, host, interval));
        self.served.add(host, laws.clock.interval_s);
        if self.served.intervals().is_multiple_of(HOUR_INTERVALS) {
            self.recorder.replace_served(self.served.rows(host));
        }
    }
}

/// Gathers what all hosts tell of their windows: the same run, so that truth and data cannot differ by chance.
#[derive(Debug)]
pub(crate) struct TruthRecorder {
    /// Laws of all hosts.
    laws: Laws,
    seed: u64,
    truth: Mutex<Option<Truth>>,
}

impl TruthRecorder {
    /// Nothing told of the hosts of these laws yet.
    pub(crate) fn new(laws: Laws, seed: u64) -> Self {
        Self {
            laws,
            seed,
            truth: Mutex::default(),
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Truth>> {
        // Whoever panicked while it was held has ended the run.
        self.truth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes when the time of all hosts begins.
    fn begin(&self, start_unix_s: u64) {
        self.held().get_or_insert_with(|| {
            let mut laws = self.laws.clone();
            laws.clock.start_unix_s = start_unix_s;
            Truth::new(&laws, self.seed)
        });
    }

    /// Adds windows of a host that has begun.
    fn add(&self, windows: Vec<WindowTruth>) {
        if let Some(truth) = self.held().as_mut() {
            truth.windows.extend(windows);
        }
    }

    /// Puts what DRAM would serve on a host in the place of what was told of it before.
    fn replace_served(&self, rows: Vec<ServedTruth>) {
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

    /// Writes it as `tierscope-fleet truth` does.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let truth = self.truth().context("no host of the twin has begun")?;
        let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
        let mut out = BufWriter::new(file);
        serde_json::to_writer(&mut out, &truth)?;
        out.flush()
            .with_context(|| format!("{} cannot be written", path.display()))
    }
}
