//! Progress for people, on standard error, so that standard output stays free for the report.

use std::io::Write as _;
use std::sync::Mutex;
use std::time::Instant;

/// Prints lines with the time since the start.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    gate: Mutex<()>,
}

impl Progress {
    /// Starts the clock.
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            gate: Mutex::new(()),
        }
    }

    /// Prints one line. A closed standard error is no reason to stop.
    pub(crate) fn say(&self, line: &str) {
        let _held = self.gate.lock();
        let seconds = self.start.elapsed().as_secs();
        let _ = writeln!(std::io::stderr(), "[{seconds:>4} s] {line}");
    }
}
