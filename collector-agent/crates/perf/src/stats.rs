//! What a sampler says about an interval beside its samples.

use crate::catalogue::Meaning;

/// One event in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct EventStats {
    /// Its name.
    pub name: String,
    /// What its samples are.
    pub meaning: Meaning,
    /// Samples that reached the table.
    pub samples: u64,
    /// Share of time and of its CPUs that it was on and counting, without what was throttled.
    pub duty_ratio: f64,
    /// Events for each sample: the mean of the periods in force, weighted by their time. `None` when it was never on.
    pub period_events: Option<f64>,
}

/// One interval of a sampler.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntervalStats {
    /// Time since the interval before was taken.
    pub elapsed_ns: u64,
    /// Processor time of the sampling thread.
    pub cpu_ns: u64,
    /// By event.
    pub events: Vec<EventStats>,
    /// Samples that the kernel delivered.
    pub samples_taken: u64,
    /// Samples that the kernel or the processor reports as lost.
    pub samples_lost: u64,
    /// Samples of processes that are not followed.
    pub samples_unfollowed: u64,
    /// Samples without a data address, or with one of the kernel.
    pub samples_without_address: u64,
    /// Samples of new pages that found the table full.
    pub samples_untabled: u64,
    /// Records that could not be understood.
    pub malformed_records: u64,
    /// How often the kernel stopped an event because it took too much time.
    pub throttles: u64,
    /// For how long, summed over events and CPUs.
    pub throttled_ns: u64,
}

impl IntervalStats {
    /// Share of the samples that were kept of those that should have been: what was lost was not observed.
    pub fn delivered_ratio(&self) -> f64 {
        let missing = self.samples_lost + self.samples_untabled;
        let wanted = self.samples_taken + self.samples_lost;
        if wanted == 0 {
            return 1.0;
        }
        1.0 - missing as f64 / wanted as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_was_not_observed() {
        let stats = IntervalStats {
            samples_taken: 900,
            samples_lost: 100,
            samples_untabled: 50,
            ..IntervalStats::default()
        };
        assert!((stats.delivered_ratio() - 0.85).abs() < 1e-12);
        assert!((IntervalStats::default().delivered_ratio() - 1.0).abs() < 1e-12);
    }
}
