//! Statistics of activity per (service, process group, kind, page size, tier) and interval.
//!
//! The definitions are those of docs/method/heat.md; the columns match `HeatBlock` and `GapBlock` of the contract.

use std::sync::Arc;

pub use crate::_generated::heat_columns::Beside;
pub use crate::column::ColumnValue;

/// Edges of the nine age buckets: 0, 1, 2, 3-4, 5-9, 10-19, 20-39, 40-63, >= 64 intervals.
pub const AGE_BUCKET_STARTS: [u32; AGE_BUCKETS] = [0, 1, 2, 3, 5, 10, 20, 40, 64];
/// Number of age buckets.
pub const AGE_BUCKETS: usize = 9;
/// Active intervals among the last ten: 0..=10.
pub const ACTIVE_COUNTS: usize = 11;
/// Reuse gaps of 1..=63 intervals.
pub const GAP_BINS: usize = 63;
/// Windows, in intervals, for which active bytes and distinct pages are kept.
pub const WINDOWS: [u32; 4] = [1, 2, 5, 10];
/// Lags, in intervals, of the hot-set overlap.
pub const OVERLAP_LAGS: [u32; 3] = [10, 30, 60];

/// The type of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageKind {
    /// Anonymous memory, heap and stack included.
    Anon,
    /// Page cache of a file.
    File,
    /// shmem, memfd and tmpfs files.
    Tmpfs,
}

impl PageKind {
    /// The name in labels and mappings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anon => "anon",
            Self::File => "file",
            Self::Tmpfs => "tmpfs",
        }
    }
}

/// What measured the activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// Intel precise event sampling: misses, with their addresses.
    Pebs,
    /// AMD instruction-based sampling.
    Ibs,
    /// Arm statistical profiling extension.
    Spe,
    /// Accessed bits of single pages, read from the page tables.
    AbitWalk,
    /// Idle page tracking.
    IdlePage,
    /// DAMON on one-page regions: a random sample of pages.
    DamonPages,
    /// DAMON on adaptive or given regions.
    DamonRegions,
    /// Accessed bits summed per mapping (`clear_refs` + smaps `Referenced`).
    Referenced,
    /// A page trace: every access, exact.
    Trace,
}

/// The smallest unit whose activity is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Granularity {
    /// Single pages.
    Page,
    /// Regions of several pages.
    Region,
    /// Whole mappings: how many bytes were active is exact, which ones is unknown.
    Vma,
}

/// Sampling figures of a row; absent for backends that do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Samples {
    /// Sampled loads in the interval.
    pub loads: u64,
    /// Sampled stores in the interval. A different population: never added to loads.
    pub stores: u64,
}

/// One row of heat: one interval of one (service, group, kind, page size, tier).
#[derive(Debug, Clone, PartialEq)]
pub struct HeatRow {
    /// What measured it.
    pub backend: Backend,
    /// At which granularity.
    pub granularity: Granularity,
    /// Nominal length of the interval.
    pub interval_ns: i64,
    /// The interval's end on both clocks.
    pub end_wall_ns: i64,
    /// `None` in a recording without a boot-time clock.
    pub end_boottime_ns: Option<i64>,
    /// `namespace/name`.
    pub service: Arc<str>,
    /// Executable.
    pub group: Arc<str>,
    /// Page kind.
    pub kind: PageKind,
    /// 4096, 2 MiB or 1 GiB.
    pub page_size_bytes: u32,
    /// Tier label, `None` where unknown.
    pub tier: Option<Arc<str>>,
    /// Bit 0 = this interval was observed, bit 1 = the one before, and so on.
    pub validity: u64,
    /// Resident bytes at the interval's end.
    pub resident_bytes: i64,
    /// Bytes by intervals since last activity.
    pub age_bytes: [i64; AGE_BUCKETS],
    /// Bytes never seen active, by their run of newest valid intervals.
    pub never_bytes: [i64; AGE_BUCKETS],
    /// Bytes by number of active intervals among the last ten.
    pub active_count_bytes: [i64; ACTIVE_COUNTS],
    /// Bytes active in the windows of [`WINDOWS`], lower bound.
    pub active_lo_bytes: [i64; WINDOWS.len()],
    /// Upper bound; equal to the lower one where pages are told apart and none is missed.
    pub active_hi_bytes: [i64; WINDOWS.len()],
    /// `None` for backends that do not count.
    pub samples: Option<Samples>,
    /// Events per sample; `None` for backends that do not sample.
    pub period_events: Option<f64>,
    /// Share of time and cores observed.
    pub duty_ratio: Option<f64>,
    /// Pages with sampled loads in the windows of [`WINDOWS`]; stores are another population.
    pub distinct_pages: Option<[i64; WINDOWS.len()]>,
    /// Pages with exactly one sampled load.
    pub f1_pages: Option<[i64; WINDOWS.len()]>,
    /// Pages with exactly two.
    pub f2_pages: Option<[i64; WINDOWS.len()]>,
    /// (intersection, union) bytes of the hot sets now and [`OVERLAP_LAGS`] ago; (0, 0) for a lag whose windows were
    /// not fully observed, `None` when that holds for all of them or pages are not told apart.
    pub hot_overlap_bytes: Option<[(i64, i64); OVERLAP_LAGS.len()]>,
    /// Bits of history that one interval takes, 1..=64.
    pub bits_per_interval: u8,
    /// What single rows may lack.
    pub beside: Beside,
}

/// Reuse gaps of one (service, group, kind) over a block of ten intervals, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct GapRow {
    /// What measured it.
    pub backend: Backend,
    /// At which granularity.
    pub granularity: Granularity,
    /// Nominal length of an interval.
    pub interval_ns: i64,
    /// The block's end.
    pub end_wall_ns: i64,
    /// Intervals in the block: 10, or fewer at the end of a stream.
    pub intervals: u32,
    /// `namespace/name`.
    pub service: Arc<str>,
    /// Executable.
    pub group: Arc<str>,
    /// Page kind.
    pub kind: PageKind,
    /// Index i: gaps of i + 1 intervals that ended by re-access.
    pub closed_bytes: [i64; GAP_BINS],
    /// Gaps that ended by unmap.
    pub freed_bytes: [i64; GAP_BINS],
    /// Gaps open at the block's end: a state, never summed over blocks.
    pub open_bytes: [i64; GAP_BINS],
    /// Gaps whose re-access can no longer be seen, by the length known: cut by a missing interval in the block, or
    /// longer than 63 intervals.
    pub censored_bytes: [i64; GAP_BINS],
}
