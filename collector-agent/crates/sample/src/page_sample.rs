//! A sample of pages with their activity per interval, from which the service replays placement policies.
//!
//! Pages are selected by a keyed hash (SHARDS), so the same pages are followed from block to block.

use std::sync::Arc;

use crate::heat::{Backend, Granularity, PageKind};

/// Most pages of one service's sample.
pub const MAX_SAMPLED_PAGES: usize = 4096;
/// Most bytes of a service's sample in one block, as it is encoded.
pub const MAX_BLOCK_BYTES: usize = 256 << 10;
/// Length of a block: it ends with the hour (UTC), or with an hour of the recording.
pub const BLOCK_NS: i64 = 3_600_000_000_000;
/// Observed time after which a live group's block ends, whatever the hour: the service can answer from then on.
pub const FIRST_BLOCK_NS: i64 = 600_000_000_000;

/// Which pages are followed, and how many at most.
#[derive(Clone, PartialEq)]
pub struct PageSampleOptions {
    /// Secret of the fleet or host: page ids are hashes under it.
    pub key: [u64; 2],
    /// Share of the pages to begin with, above 0, at most 1. It is halved while a block would be too large.
    pub sampled_ratio: f64,
    /// Most pages of this group, up to [`MAX_SAMPLED_PAGES`] for all groups of a service together.
    pub max_pages: usize,
    /// Observed time since the group began after which a block ends whatever the hour, once; `None` for hours alone.
    pub first_block_ns: Option<i64>,
    /// Instant from which hours are counted: 0 for those of the day (UTC), the beginning of a recording for its own.
    pub block_origin_ns: i64,
}

impl std::fmt::Debug for PageSampleOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageSampleOptions")
            .field("sampled_ratio", &self.sampled_ratio)
            .field("max_pages", &self.max_pages)
            .finish_non_exhaustive()
    }
}

/// The sampled pages of one process group over a block of intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct PageSample {
    /// What measured it.
    pub backend: Backend,
    /// At which granularity.
    pub granularity: Granularity,
    /// Nominal length of an interval.
    pub interval_ns: i64,
    /// `namespace/name`.
    pub service: Arc<str>,
    /// Executable.
    pub group: Arc<str>,
    /// Share of the group's pages that the hash selects, above 0, at most 1.
    pub sampled_ratio: f64,
    /// Whether loads and stores are counts; else 1 in `loads` says that the page was active.
    pub counts: bool,
    /// Events per count; `None` where every access is counted or nothing is.
    pub period_events: Option<f64>,
    /// Share of time and cores observed; `None` where it does not apply.
    pub duty_ratio: Option<f64>,
    /// End of each interval (`CLOCK_REALTIME`, nanoseconds), and whether it was observed. In order of time.
    pub intervals: Vec<(i64, bool)>,
    /// The pages.
    pub pages: Vec<SampledPage>,
    /// Activity, in order of interval, then page.
    pub rows: Vec<SampleRow>,
}

/// One page of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampledPage {
    /// Keyed hash of process, mapping and offset.
    pub id: u64,
    /// Page kind.
    pub kind: PageKind,
    /// 4096, 2 MiB or 1 GiB.
    pub page_size_bytes: u32,
    /// Resident from this interval of the block on ...
    pub first_interval: u32,
    /// ... up to this one.
    pub last_interval: u32,
}

/// Activity of one sampled page in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRow {
    /// Index into [`PageSample::intervals`].
    pub interval: u32,
    /// Index into [`PageSample::pages`].
    pub page: u32,
    /// Loads seen, or 1 for activity.
    pub loads: u32,
    /// Stores seen.
    pub stores: u32,
}
