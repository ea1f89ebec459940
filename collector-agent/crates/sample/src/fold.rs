//! What is folded, and what a fold gives.

use std::sync::Arc;

use crate::heat::{Backend, GapRow, Granularity, HeatRow, PageKind};
use crate::page_sample::PageSample;
use crate::tiles::{TileColumn, TileEpoch};

/// Intervals of a block of reuse gaps.
pub const GAP_BLOCK_INTERVALS: u32 = 10;

/// Whose memory is folded, and what measures it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What measures it.
    pub backend: Backend,
    /// At which granularity.
    pub granularity: Granularity,
    /// Nominal length of an interval.
    pub interval_ns: i64,
    /// `namespace/name`.
    pub service: Arc<str>,
    /// Executable.
    pub group: Arc<str>,
}

/// The end of an interval on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntervalEnd {
    /// `CLOCK_REALTIME`, nanoseconds since the Unix epoch.
    pub wall_ns: i64,
    /// `CLOCK_BOOTTIME`; `None` in a recording without it.
    pub boottime_ns: Option<i64>,
}

/// What pages have in common that share a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageClass {
    /// Page kind.
    pub kind: PageKind,
    /// 4096, 2 MiB or 1 GiB.
    pub page_size_bytes: u32,
    /// Tier label, `None` where unknown.
    pub tier: Option<Arc<str>>,
}

/// Everything that one interval of one source gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Folded {
    /// One row per class with resident pages.
    pub rows: Vec<HeatRow>,
    /// Non-empty at the end of each block of [`GAP_BLOCK_INTERVALS`].
    pub gaps: Vec<GapRow>,
    /// New row lists, each before its first column.
    pub tile_epochs: Vec<TileEpoch>,
    /// One column per process group with tiles.
    pub tile_columns: Vec<TileColumn>,
    /// Non-empty at the end of each block of sampled pages.
    pub page_samples: Vec<PageSample>,
}
