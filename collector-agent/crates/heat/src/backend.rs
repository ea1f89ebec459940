//! What every back end of heat takes and gives.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use tierscope_perf::ServedLoads;
use tierscope_rootfs::Root;
use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_sample::vma_fold::ProcessKey;

use tierscope_host::names::NamePolicy;

/// Largest process that a back end visits page by page unless the owner says otherwise: a visit costs some 50 ms per
/// GiB, and `clear_refs` keeps the process from mapping memory meanwhile.
pub const DEFAULT_RSS_LIMIT_BYTES: u64 = 16 << 30;
/// Shares of the nominal interval between which a visit's activity counts as that of one interval.
const INTERVAL_SHARES: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// A process whose heat is to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeatProcess {
    /// The process for good.
    pub key: ProcessKey,
    /// `namespace/name` of its service.
    pub service: Arc<str>,
    /// Its executable, as it may leave the host.
    pub group: Arc<str>,
}

/// How heat is measured.
#[derive(Debug, Clone)]
pub struct HeatSettings {
    /// Nominal length of an interval.
    pub interval_ns: i64,
    /// Processes above it are measured by back ends of any reach alone.
    pub rss_limit_bytes: u64,
    /// Label of the one memory tier of the host; `None` where it has several, because placement is not read.
    pub tier: Option<Arc<str>>,
    /// Random; ids of tile epochs come from it.
    pub epoch_seed: u64,
    /// How hardware samplers sample.
    pub sampling: SamplingSettings,
}

impl HeatSettings {
    /// Nominal length of an interval.
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval_ns.unsigned_abs())
    }
}

/// How hardware samplers sample: one in so many events, on groups of cores that take turns (Chameleon, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingSettings {
    /// Events per sample, varied by a few per cent; without it each source's own: 200 misses, or 200,000 operations.
    pub period_events: Option<u64>,
    /// Seconds after which the groups of cores take turns.
    pub mini_interval_seconds: u64,
    /// Groups that the cores are dealt to; without it 1 on hosts of up to 8 cores, else 4.
    pub core_groups: Option<usize>,
    /// Groups that sample at a time; without it all of one group, else one for each set of events.
    pub active_core_groups: Option<usize>,
}

impl Default for SamplingSettings {
    fn default() -> Self {
        Self {
            period_events: None,
            mini_interval_seconds: 5,
            core_groups: None,
            active_core_groups: None,
        }
    }
}

/// What one round gave.
#[derive(Debug, Default)]
pub struct HeatRound {
    /// Rows and tiles of all process groups.
    pub folded: Folded,
    /// Processes whose next interval has begun.
    pub measured: usize,
    /// Processes left out, and why.
    pub skipped: Vec<(HeatProcess, String)>,
    /// Processor time of the round.
    pub cpu_ns: i64,
    /// Bytes read from `/proc`.
    pub bytes_read: u64,
    /// Processor time of kernel threads that work for it, such as kdamond, since the round before.
    pub kernel_cpu_ns: i64,
    /// Samples taken, lost and throttled; `None` for back ends that do not sample.
    pub sampling: Option<Sampling>,
    /// Sampled loads of each measured service by what served them; `None` where the back end cannot tell.
    pub served: Option<BTreeMap<Arc<str>, ServedLoads>>,
    /// What stands in the way of exactness although the round was measured, in words.
    pub note: Option<String>,
}

/// What a hardware sampler says of its own losses, over one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sampling {
    /// Samples read.
    pub taken: u64,
    /// Samples that the kernel reports as lost.
    pub lost: u64,
    /// Times that the kernel throttled an event.
    pub throttles: u64,
}

/// Measures heat of the processes given, interval by interval. Dropping it leaves no state in the kernel.
pub trait HeatBackend {
    /// Its name in the inventory and in the settings, such as `referenced`.
    fn name(&self) -> &'static str;

    /// Ends the interval that began with the call before and begins the next one. Processes that are no longer listed
    /// are forgotten.
    fn collect(&mut self, processes: &[HeatProcess], end: IntervalEnd) -> HeatRound;

    /// Notes that an interval passes without a visit: it is missing, not idle. Until the next visit nothing is sampled
    /// and the kernel works for nobody: the host is too busy.
    fn miss(&mut self);
}

/// Why a back end cannot measure on this host, and what would change that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What stands in the way.
    pub reason: String,
    /// What to do; "" where nothing helps.
    pub hint: String,
}

/// A back end, or why there is none.
pub type Started = Result<Box<dyn HeatBackend>, Refusal>;

/// Which processes a back end can measure at a bounded cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Of any size: it samples.
    Any,
    /// Up to the limit of the settings: it visits every page.
    Limited,
}

/// A back end of this program.
#[derive(Clone, Copy)]
pub struct Candidate {
    /// Its name in the settings.
    pub name: &'static str,
    /// Which processes it measures.
    pub reach: Reach,
    /// Tries it on this process's own memory.
    pub probe: fn(&Root) -> Result<(), Refusal>,
    /// Makes one that has measured nothing yet.
    pub make: fn(&Root, &HeatSettings, &NamePolicy) -> Started,
}

/// Whether the time from `began` to `end` counts as one interval of nominally `interval_ns`.
pub fn is_one_interval(began: IntervalEnd, end: IntervalEnd, interval_ns: i64) -> bool {
    let elapsed_ns = match (began.boottime_ns, end.boottime_ns) {
        (Some(began), Some(end)) => end - began,
        _ => end.wall_ns - began.wall_ns,
    };
    INTERVAL_SHARES.contains(&(elapsed_ns as f64 / interval_ns as f64))
}
