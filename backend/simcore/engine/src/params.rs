//! Policies and their settings, with the defaults of the kernel, of the papers, or our assumptions where neither says.

use thiserror::Error;

use crate::tenant::{MAX_TENANTS, Tenant};

/// How long after the scan a page is first touched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HintTime {
    /// The expected time: interval / (accesses + 1).
    Expected,
    /// Drawn from the exponential distribution with the page's rate; none beyond the interval.
    Drawn {
        /// Which draw.
        seed: u64,
    },
}

/// Free units of DRAM at which the kernel acts, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// Allocations go elsewhere at this much or less.
    pub low: u64,
    /// Reclaim ends here.
    pub high: u64,
    /// Reclaim ends here in tiering mode.
    pub promo: u64,
}

impl Watermarks {
    /// 0.2, 0.3 and 0.4 % of DRAM [assumption].
    pub fn of(dram_units: u64) -> Self {
        let share = |ten_thousandths: u64| {
            (u128::from(dram_units) * u128::from(ten_thousandths) / 10_000) as u64
        };
        Self {
            low: share(20),
            high: share(30),
            promo: share(40),
        }
    }
}

/// What a swap device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwapDevice {
    /// Above half full the kernel frees a slot when its page is read, so that the page is written again.
    BlockSsd,
    /// Zoned: a slot is kept while its page is clean, at any use.
    Zns,
}

/// A swap device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swap {
    /// Its kind.
    pub device: SwapDevice,
    /// Its size.
    pub units: u64,
}

/// How the scanner that arms hint faults goes over the pages, in order of birth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scan {
    /// Intervals that the first pass takes; at 1 or less every page is scanned in every interval.
    pub pass_intervals: f64,
    /// Intervals up to which passes grow, each after one in which pages were promoted (`task_scan_max`); at
    /// `pass_intervals` or less all passes are as long as the first.
    pub longest_pass_intervals: f64,
    /// Length of a pass after one in which pages were promoted, in lengths of that one (`update_task_scan_period`).
    pub pass_growth: f64,
    /// Pages scanned at once (`scan_size_mb`), where a pass is longer than an interval.
    pub size_pages: u32,
}

impl Scan {
    /// Every page once in every interval.
    pub const EVERY_INTERVAL: Self = Self {
        pass_intervals: 1.0,
        longest_pass_intervals: 1.0,
        pass_growth: 1.0,
        size_pages: 1,
    };

    /// Whether all pages are scanned in every interval.
    pub(crate) fn is_every_interval(&self) -> bool {
        self.pass_intervals <= 1.0 && self.longest_pass_intervals <= 1.0
    }
}

/// Sizes of what pages can lie on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// DRAM.
    pub dram_units: u64,
    /// The slower tier; 0 = none.
    pub slow_units: u64,
    /// Swap; None = off, so that anonymous pages are never evicted.
    pub swap: Option<Swap>,
    /// Watermarks of DRAM.
    pub watermarks: Watermarks,
}

/// Weights of pages placed in turn, DRAM first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interleave {
    /// Pages to DRAM in a row.
    pub dram_weight: u32,
    /// Then pages to the slower tier.
    pub slow_weight: u32,
}

/// Hot-page selection by hint-fault latency (`kernel.numa_balancing` = 2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HotPageSelection {
    /// `hot_threshold_ms`, in seconds.
    pub threshold_s: f64,
    /// `numa_balancing_promote_rate_limit_MBps`, in units a second.
    pub limit_units_per_s: f64,
    /// Whether the kernel moves the threshold towards the limit.
    pub automatic_threshold: bool,
    /// Intervals after which it does (`scan_period_max_ms`).
    pub threshold_intervals: u32,
    /// Free DRAM above the promo watermark at which every touched page is promoted: max(1 GiB, 1/16 of the node).
    pub free_fast_path_units: u64,
    /// Whether allocation below the low watermark wakes demotion too, as a kernel with `demotion_enabled` does.
    pub allocation_demotes: bool,
    /// Whether promotion is refused unless the high watermark stays free, which wakes demotion up to promo instead.
    pub needs_free: bool,
}

/// Transparent page placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tpp {
    /// File and tmpfs pages are allocated on the slower tier first.
    pub type_aware: bool,
    /// Demotion goes on above the watermark of allocation, and promotions ignore that one.
    pub decoupled: bool,
    /// A first hint fault only activates an inactive page.
    pub active_lru_filter: bool,
    /// Free units that demotion keeps: `demote_scale_factor`, 2 % of DRAM unless set.
    pub demotion_watermark: u64,
}

/// Where pages are born, and what moves them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Policy {
    /// Everything in DRAM of any size: the reference.
    AllDram,
    /// Default Linux: DRAM while there is some, then the slower tier; nothing moves between tiers.
    FirstTouch,
    /// Static interleave by weights.
    Interleave(Interleave),
    /// Classic NUMA balancing on a tiered host: the first hint fault promotes while DRAM has room.
    NumaBalancing,
    /// Hot-page selection with its rate limit.
    HotPageSelection(HotPageSelection),
    /// `AutoTiering`: a reserve for promotions, exchange with the coldest page when it is used up.
    AutoTiering {
        /// Free units that births leave alone.
        reserve_units: u64,
        /// Units by which the reserve is refilled in an interval.
        refill_units: u64,
        /// Most units that are exchanged in an interval.
        exchange_units: u64,
    },
    /// Transparent page placement.
    Tpp(Tpp),
}

/// TMO-style offloading to swap by pressure, on top of a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offload {
    /// Seconds between steps.
    pub step_s: f64,
    /// Share of resident memory that a step takes without pressure.
    pub reclaim_ratio: f64,
    /// Pressure (share of time stalled) at which a step takes nothing.
    pub pressure_target: f64,
    /// Stall of one fault from swap or disk.
    pub fault_s: f64,
}

/// How fast kswapd frees DRAM. Nothing is for free at 0: it takes no time then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kswapd {
    /// Seconds for a page of any size.
    pub page_s: f64,
    /// Seconds on top for each of its units.
    pub unit_s: f64,
    /// Seconds to look at a page of any size, whether it goes or stays: its accessed bit is one. Where victims are
    /// known exactly nothing is looked at.
    pub look_s: f64,
    /// Free units of the slower tier at which files there are dropped: low of its zones.
    pub slow_low_units: u64,
    /// Free units up to which they are: high of its zones.
    pub slow_high_units: u64,
    /// Units born for each page that the kernel needs for itself, such as one of a page table: only those wake kswapd.
    pub kernel_page_units: u64,
}

/// How reclaim of DRAM finds its victims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lru {
    /// By exact last access, which no kernel knows.
    Exact,
    /// Active and inactive lists with a second chance.
    Classic,
    /// The multi-generation LRU.
    MultiGeneration,
}

/// What is asked of the service's control group from an interval on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupEvent {
    /// When, at the end of the interval.
    pub interval: u32,
    /// Units to reclaim once (`memory.reclaim`).
    pub reclaim_units: u64,
    /// Limit of its units in memory (`memory.high`).
    pub high_units: Option<u64>,
}

/// One simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The policy.
    pub policy: Policy,
    /// Sizes.
    pub memory: Memory,
    /// Offloading, if any.
    pub offload: Option<Offload>,
    /// Length of an interval.
    pub interval_s: f64,
    /// How pages are scanned.
    pub scan: Scan,
    /// Reclaim of hot-page selection within an interval; None: once at its end, in no time.
    pub kswapd: Option<Kswapd>,
    /// Whether files that were touched once go first (`cache_trim_mode` of `prepare_scan_control`).
    pub cache_trim_mode: bool,
    /// How victims of DRAM are found.
    pub lru: Lru,
    /// Reclaim of the service's control group, in order of interval.
    pub group: Vec<GroupEvent>,
    /// Services that share the memory, by their number in the trace; none: the trace is one service.
    pub tenants: Vec<Tenant>,
    /// Units of the slower tier that a recorded scanner armed in each interval (`numa_pte_updates`), in place of `scan`;
    /// empty where none was recorded.
    pub armed_units: Vec<u64>,
    /// How hint faults are timed.
    pub hint_time: HintTime,
    /// Longest distance, in intervals, of a demotion and a promotion that make a round trip; a short and a long one.
    pub round_trip_intervals: [u32; 2],
}

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name} must be {wanted}")]
pub struct ParamsError {
    name: &'static str,
    wanted: &'static str,
}

impl Params {
    /// Refuses settings that leave tenants of a trace out.
    pub(crate) fn check_tenants(&self, of_trace: usize) -> Result<(), ParamsError> {
        if !self.tenants.is_empty() && self.tenants.len() < of_trace {
            return refuse("settings of tenants", "as many as tenants in the trace");
        }
        Ok(())
    }

    /// The scanner, in pieces of a page where a recorded one is followed.
    pub(crate) fn scan_by_page(&self) -> Scan {
        if self.armed_units.is_empty() {
            return self.scan;
        }
        Scan {
            pass_intervals: f64::INFINITY,
            size_pages: 1,
            ..self.scan
        }
    }

    /// Refuses what no machine has.
    ///
    /// # Errors
    ///
    /// Names the setting and what it must be.
    pub fn check(&self) -> Result<(), ParamsError> {
        positive("interval_s", self.interval_s)?;
        positive("the pass of the scanner", self.scan.pass_intervals)?;
        if self.scan.size_pages == 0 {
            return refuse("scan_size_mb", "at least one page");
        }
        if !(1.0..=16.0).contains(&self.scan.pass_growth) {
            return refuse("the growth of passes", "1 to 16");
        }
        if !self.scan.longest_pass_intervals.is_finite() {
            return refuse("the longest pass of the scanner", "finite");
        }
        if let Some(kswapd) = self.kswapd
            && ![kswapd.page_s, kswapd.unit_s, kswapd.look_s]
                .iter()
                .all(|cost_s| cost_s.is_finite() && *cost_s >= 0.0)
        {
            return refuse("the cost of a demotion", "0 or more seconds");
        }
        if !self.group.is_sorted_by_key(|event| event.interval) {
            return refuse("events of the control group", "in order of interval");
        }
        if self.tenants.len() > MAX_TENANTS {
            return refuse("tenants", "at most 64");
        }
        if !self.tenants.is_empty() && self.lru != Lru::Exact {
            return refuse("lru", "exact where tenants share the memory");
        }
        self.memory.check()?;
        self.policy.check(self.memory.dram_units)?;
        if let Some(offload) = self.offload {
            positive("step_s", offload.step_s)?;
            positive("reclaim_ratio", offload.reclaim_ratio)?;
            positive("pressure_target", offload.pressure_target)?;
            positive("fault_s", offload.fault_s)?;
        }
        Ok(())
    }
}

impl Memory {
    fn check(&self) -> Result<(), ParamsError> {
        let marks = self.watermarks;
        if self.dram_units == 0 {
            return refuse("dram_units", "at least 1");
        }
        if self.dram_units > MOST_UNITS || self.slow_units > MOST_UNITS {
            return refuse("dram_units and slow_units", "at most 2^60");
        }
        if marks.low > marks.high || marks.high > marks.promo || marks.promo > self.dram_units {
            return refuse("watermarks", "low <= high <= promo <= DRAM");
        }
        Ok(())
    }
}

impl Policy {
    fn check(&self, dram_units: u64) -> Result<(), ParamsError> {
        match *self {
            Self::Interleave(weights) if weights.dram_weight == 0 || weights.slow_weight == 0 => {
                refuse("interleave weights", "at least 1")
            }
            Self::HotPageSelection(hot) => {
                positive("hot_threshold_ms", hot.threshold_s)?;
                if hot.threshold_intervals == 0 {
                    return refuse("scan_period_max_ms", "at least one interval");
                }
                if hot.limit_units_per_s.is_finite() && hot.limit_units_per_s >= 0.0 {
                    Ok(())
                } else {
                    refuse("the promotion rate limit", "0 or more")
                }
            }
            Self::Tpp(tpp) if tpp.demotion_watermark > dram_units => {
                refuse("demote_scale_factor", "at most all of DRAM")
            }
            Self::AutoTiering { reserve_units, .. } if reserve_units > dram_units => {
                refuse("the reserve", "at most all of DRAM")
            }
            _ => Ok(()),
        }
    }
}

fn refuse(name: &'static str, wanted: &'static str) -> Result<(), ParamsError> {
    Err(ParamsError { name, wanted })
}

fn positive(name: &'static str, value: f64) -> Result<(), ParamsError> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        refuse(name, "a number above 0")
    }
}

/// Far below what a signed word holds, so that sums of sizes never overflow.
pub(crate) const MOST_UNITS: u64 = 1 << 60;
