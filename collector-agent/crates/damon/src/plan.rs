//! What DAMON is to watch, and how.

use std::ops::Range;
use std::time::Duration;

use crate::DamonError;

/// Shortest time between two checks of a region; below it the kernel thread is never idle.
const SHORTEST_SAMPLE: Duration = Duration::from_millis(5);
/// Checks of a page in a window: its frequency is a number from 0 to this one.
pub const CHECKS_PER_WINDOW: u32 = 100;
/// Smallest limit of regions that kernels accept.
const FEWEST_REGIONS: usize = 3;

/// Which addresses DAMON watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations {
    /// Physical addresses of the host.
    Paddr,
    /// Virtual addresses of processes.
    Vaddr,
}

impl Operations {
    /// As the kernel writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paddr => "paddr",
            Self::Vaddr => "vaddr",
        }
    }
}

/// The times of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intervals {
    /// Between two checks of a region.
    pub sample: Duration,
    /// Over which checks are summed; results are those of whole aggregations.
    pub aggregation: Duration,
}

impl Intervals {
    /// Checks in an aggregation: the highest number of accesses of a region.
    pub fn checks(self) -> u32 {
        let checks = self.aggregation.as_micros() / self.sample.as_micros().max(1);
        u32::try_from(checks.max(1)).unwrap_or(u32::MAX)
    }
}

/// The memory of one process, or of the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// The process whose virtual addresses are watched; `None` for physical addresses.
    pub pid: Option<u32>,
    /// Addresses, sorted and apart. Empty for a process as a whole.
    pub regions: Vec<Range<u64>>,
}

/// What is read of each region: every file of a region costs a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Start and accesses, for regions of one page of so many bytes.
    Pages(u64),
    /// Start, end and the bytes accessed since the aggregation before, counted page by page.
    Young,
    /// Start, end, accesses and age.
    Adaptive,
}

/// A configuration of DAMON that measures and changes nothing: its only scheme is `stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Which addresses.
    pub operations: Operations,
    /// Times.
    pub intervals: Intervals,
    /// Fewest and most regions that DAMON splits the targets in.
    pub limits: (usize, usize),
    /// What is watched.
    pub targets: Vec<Target>,
    /// What is read of its regions.
    pub reading: Reading,
}

impl Plan {
    /// One region for each frame of `page_bytes`: with its frequency, from 0 to [`Intervals::checks`]. Frames next to another are
    /// left out ([`apart`]), because DAMON would merge their regions. The window is one aggregation.
    pub fn pages(frames: &[u64], page_bytes: u64, window: Duration) -> Result<Self, DamonError> {
        Self::pages_with(frames, page_bytes, window, CHECKS_PER_WINDOW)
    }

    /// As [`Plan::pages`], with a number of checks in the window: the fewer, the less the kernel thread has to do.
    pub fn pages_with(
        frames: &[u64],
        page_bytes: u64,
        window: Duration,
        checks: u32,
    ) -> Result<Self, DamonError> {
        let regions: Vec<_> = apart(frames)
            .into_iter()
            .map(|frame| frame * page_bytes..(frame + 1) * page_bytes)
            .collect();
        let sample = (window / checks.max(1)).max(SHORTEST_SAMPLE).min(window);
        Self::fixed(regions, sample, window, Reading::Pages(page_bytes))
    }

    /// Exact bytes accessed in the window, for each range of frames of `page_bytes`. Ranges are sorted and merged.
    pub fn young(frames: &[Range<u64>], page_bytes: u64, window: Duration) -> Result<Self, DamonError> {
        let regions = merged(frames)
            .into_iter()
            .map(|range| range.start * page_bytes..range.end * page_bytes)
            .collect();
        // One check per window: the check of a page clears its accessed bit, which the count would then miss.
        Self::fixed(regions, window, window, Reading::Young)
    }

    /// Regions that DAMON adapts by itself over ranges of physical memory.
    pub fn physical(
        memory: Vec<Range<u64>>,
        intervals: Intervals,
        limits: (usize, usize),
    ) -> Result<Self, DamonError> {
        let target = Target {
            pid: None,
            regions: memory,
        };
        Self::checked(
            Operations::Paddr,
            intervals,
            limits,
            vec![target],
            Reading::Adaptive,
        )
    }

    /// Regions that DAMON adapts by itself over the virtual addresses of processes.
    pub fn virtual_of(
        pids: &[u32],
        intervals: Intervals,
        limits: (usize, usize),
    ) -> Result<Self, DamonError> {
        let of = |pid: &u32| Target {
            pid: Some(*pid),
            regions: Vec::new(),
        };
        let targets = pids.iter().map(of).collect();
        Self::checked(Operations::Vaddr, intervals, limits, targets, Reading::Adaptive)
    }

    /// Regions that stay as they are: more than half of the most that are allowed are never split.
    fn fixed(
        regions: Vec<Range<u64>>,
        sample: Duration,
        window: Duration,
        reading: Reading,
    ) -> Result<Self, DamonError> {
        let intervals = Intervals {
            sample,
            aggregation: window,
        };
        let limits = (FEWEST_REGIONS, regions.len().max(FEWEST_REGIONS));
        let target = Target { pid: None, regions };
        Self::checked(Operations::Paddr, intervals, limits, vec![target], reading)
    }

    fn checked(
        operations: Operations,
        intervals: Intervals,
        limits: (usize, usize),
        targets: Vec<Target>,
        reading: Reading,
    ) -> Result<Self, DamonError> {
        let watches = |target: &Target| target.pid.is_some() || !target.regions.is_empty();
        if !targets.iter().any(watches) {
            return Err(DamonError::Nothing);
        }
        Ok(Self {
            operations,
            intervals,
            limits,
            targets,
            reading,
        })
    }
}

/// The frames that can be watched one by one: sorted, each once, and none next to another.
pub fn apart(frames: &[u64]) -> Vec<u64> {
    let mut sorted = frames.to_vec();
    sorted.sort_unstable();
    let mut kept: Vec<u64> = Vec::with_capacity(sorted.len());
    for frame in sorted {
        if kept.last().is_none_or(|last| frame > last + 1) {
            kept.push(frame);
        }
    }
    kept
}

/// Sorts ranges and joins those that touch or overlap.
pub fn merged(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<_> = ranges
        .iter()
        .filter(|range| range.start < range.end)
        .cloned()
        .collect();
    sorted.sort_unstable_by_key(|range| range.start);
    sorted.dedup_by(|next, kept| {
        let joined = next.start <= kept.end;
        if joined {
            kept.end = kept.end.max(next.end);
        }
        joined
    });
    sorted
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_watched_page_are_left_out() {
        assert_eq!(apart(&[9, 3, 4, 5, 9, 1]), [1, 3, 5, 9]);
        assert_eq!(merged(&[5..9, 1..2, 9..10, 7..8, 4..4]), [1..2, 5..10]);
    }

    #[test]
    fn fixed_regions_are_too_many_to_be_split() {
        let window = Duration::from_secs(57);
        let plan = Plan::pages(&(0..100).map(|n| n * 10).collect::<Vec<_>>(), 4096, window).unwrap();
        let regions = plan.targets[0].regions.len();
        assert!(regions > plan.limits.1 / 2 && regions <= plan.limits.1);
        assert_eq!(plan.intervals.checks(), CHECKS_PER_WINDOW);
        let short = Plan::pages(&[7], 4096, Duration::from_millis(100)).unwrap();
        assert_eq!(short.intervals.checks(), 20);
        let young = Plan::young(std::slice::from_ref(&(3..5)), 4096, window).unwrap();
        assert_eq!(
            (young.intervals.checks(), young.targets[0].regions[0].clone()),
            (1, 12288..20480)
        );
        assert!(matches!(Plan::pages(&[], 4096, window), Err(DamonError::Nothing)));
    }
}
