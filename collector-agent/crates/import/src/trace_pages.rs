//! What a page trace consists of: accesses, intervals and ranges of pages, and how much of them it may have.

use tierscope_sample::heat::PageKind;
use tierscope_sample::page_size;

/// Pages of a trace are folded as pages of this size, and their bytes scaled: a trace may have pages of any size.
pub(crate) const UNIT_BYTES: u64 = page_size::MODEL_BYTES;

/// Page-free gaps longer than this part two mappings of a trace.
pub const MAPPING_GAP_BYTES: u64 = 2 << 20;

/// What a trace may hold at most; more is an error, so that a wrong file cannot take all memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceLimits {
    /// Rows of the file.
    pub rows: u64,
    /// Different pages.
    pub pages: usize,
    /// Intervals from the first to the last, empty ones included.
    pub intervals: i64,
}

impl Default for TraceLimits {
    fn default() -> Self {
        Self {
            rows: 500_000_000,
            pages: 1 << 24,
            intervals: 1_000_000,
        }
    }
}

/// The accesses to one page in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Virtual page number.
    pub page: u64,
    /// Kind of the mapping; heap and stack are anon, shmem is tmpfs.
    pub kind: PageKind,
    /// Loads.
    pub loads: u32,
    /// Stores.
    pub stores: u32,
}

/// One interval of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceInterval {
    /// Its number in the file.
    pub number: i32,
    /// The pages accessed, as the file orders them.
    pub accesses: Vec<Access>,
}

/// Pages in a row, of one kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageRange {
    /// Page kind.
    pub kind: PageKind,
    /// First page number.
    pub first: u64,
    /// Last page number.
    pub last: u64,
}

impl PageRange {
    pub(crate) fn single(kind: PageKind, page: u64) -> Self {
        Self {
            kind,
            first: page,
            last: page,
        }
    }

    /// Pages in the range.
    pub fn pages(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// Ranges of pages by kind, sorted, and joined over gaps of up to `gap_pages` pages.
pub(crate) fn join_ranges(mut ranges: Vec<PageRange>, gap_pages: u64) -> Vec<PageRange> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let joined =
            next.kind == kept.kind && next.first.saturating_sub(kept.last) <= gap_pages.saturating_add(1);
        if joined {
            kept.last = kept.last.max(next.last);
        }
        joined
    });
    ranges
}
