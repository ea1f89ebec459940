//! How to sample.

use std::ops::RangeInclusive;
use std::time::Duration;

use tierscope_rootfs::{Root, text};

use crate::catalogue::EventSet;
use crate::error::PerfError;
use crate::groups::GroupPlan;

/// Memory of all rings together, as far as their smallest and largest sizes allow. A ring of 1 MiB holds half a second of
/// 50,000 samples/s.
const RINGS_BYTES: usize = 8 << 20;
const RING_BYTES: RangeInclusive<usize> = 64 << 10..=1 << 20;
/// Pages of a table: about 60 MiB when full.
pub const DEFAULT_MAX_PAGES: usize = 2 << 20;
/// Time between rotations of core groups.
pub const MINI_INTERVAL: Duration = Duration::from_secs(5);
/// Periods vary by this share to both sides.
pub const PERIOD_JITTER: f64 = 0.05;
/// Longest time that samples stay in a ring.
const DRAIN_INTERVAL: Duration = Duration::from_millis(100);
/// Whose accesses are sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Those of all processes: one event for each CPU. Needs `CAP_PERFMON`. [`Sampler::follow`] chooses what is kept.
    System,
    /// Those of these processes: one event for each of their threads and each CPU. For users without privilege, and
    /// small processes.
    Processes(Vec<u32>),
}

/// How to sample.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplerOptions {
    /// The events.
    pub events: EventSet,
    /// Whose accesses.
    pub scope: Scope,
    /// On which CPUs.
    pub cpus: Vec<u32>,
    /// Which events are on, where, and when.
    pub plan: GroupPlan,
    /// Time between rotations.
    pub mini_interval: Duration,
    /// Size of each CPU's ring, a power of two of pages.
    pub ring_bytes: usize,
    /// Most pages of an interval.
    pub max_pages: usize,
    /// Share by which periods vary to both sides.
    pub period_jitter: f64,
    /// Longest time that samples stay in a ring; shorter where it fills faster.
    pub drain_interval: Duration,
    /// For the random periods.
    pub seed: u64,
}

impl SamplerOptions {
    /// All events on all online CPUs, all the time.
    pub fn new(root: &Root, events: EventSet, scope: Scope) -> Result<Self, PerfError> {
        let cpus = online_cpus(root)?;
        Ok(Self {
            plan: GroupPlan::always(events.events.len()),
            ring_bytes: ring_bytes(cpus.len()),
            cpus,
            events,
            scope,
            mini_interval: MINI_INTERVAL,
            max_pages: DEFAULT_MAX_PAGES,
            period_jitter: PERIOD_JITTER,
            drain_interval: DRAIN_INTERVAL,
            seed: 0,
        })
    }

    pub(crate) fn check(&self) -> Result<(), PerfError> {
        let page_bytes = rustix::param::page_size();
        let ring_pages = self.ring_bytes / page_bytes;
        let problem = if let Some(problem) = self.plan.problem(self.events.events.len()) {
            problem
        } else if self.cpus.is_empty() {
            "no CPU to sample on".to_owned()
        } else if !ring_pages.is_power_of_two() || !self.ring_bytes.is_multiple_of(page_bytes) {
            format!(
                "a ring of {} bytes is not a power of two of pages of {page_bytes} bytes",
                self.ring_bytes
            )
        } else {
            return Ok(());
        };
        Err(PerfError::Option(problem))
    }
}

/// Size of each ring where there are `cpus`: a power of two.
fn ring_bytes(cpus: usize) -> usize {
    let share = (RINGS_BYTES / cpus.max(1)).max(1);
    (1 << share.ilog2()).clamp(*RING_BYTES.start(), *RING_BYTES.end())
}

fn online_cpus(root: &Root) -> Result<Vec<u32>, PerfError> {
    let path = "/sys/devices/system/cpu/online";
    let fail = |problem: String| PerfError::Pmu {
        path: path.to_owned(),
        problem,
    };
    let mut reader = tierscope_rootfs::Reader::new(root.clone());
    let value = reader.value(path).map_err(|missing| fail(missing.to_string()))?;
    text::list(value).map_err(|error| fail(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_share_their_memory_among_cpus() {
        let sizes = [1, 2, 8, 9, 64, 500].map(|cpus| ring_bytes(cpus) >> 10);
        assert_eq!(sizes, [1024, 1024, 1024, 512, 128, 64]);
    }
}
