//! What is said of an interval as a whole.

use super::tiles::Touch;

/// A mean over the processes that said something.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// What was said of the running interval as a whole.
#[derive(Debug, Default)]
pub(super) struct Interval {
    pub(super) duty: Mean,
    pub(super) period: Mean,
    /// Counts per page, for a back end that counts.
    pub(super) touches: Vec<Touch>,
}
