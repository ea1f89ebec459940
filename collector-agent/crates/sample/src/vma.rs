//! Mappings of processes.

use std::sync::Arc;

use crate::heat::{Beside, PageKind};
use crate::vma_history::VmaHistory;

/// What was read of one mapping of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmaReading {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// Offset in the file; 0 for memory without one.
    pub offset_bytes: i64,
    /// Name as it may leave the host; "" for unnamed memory.
    pub mapping: Arc<str>,
    /// Page kind.
    pub kind: PageKind,
    /// 4096, or that of a hugetlb mapping.
    pub page_size_bytes: u32,
    /// Resident bytes, shared pages in parts.
    pub resident_bytes: i64,
    /// Bytes accessed since the clearing, shared pages in the same parts.
    pub referenced_bytes: i64,
    /// What else is known of its resident bytes, shared pages in the same parts.
    pub beside: Beside,
}

/// A process for good: its id and its start time in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessKey {
    /// Process id.
    pub pid: u32,
    /// Start time, ticks since boot.
    pub start_time_ticks: u64,
}

/// A mapping as it is now, with its past.
#[derive(Debug)]
pub(crate) struct Vma {
    pub(crate) reading: VmaReading,
    pub(crate) history: VmaHistory,
    /// Name in the tile epoch, for unnamed memory; `None` for mappings that came later.
    pub(crate) tile_name: Option<Arc<str>>,
}
