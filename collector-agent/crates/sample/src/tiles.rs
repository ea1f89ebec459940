//! Heat tiles: activity by time and address region.

use std::sync::Arc;

use crate::heat::{Backend, Granularity, PageKind};

/// Cell: resident, nothing sampled.
pub const CELL_UNSAMPLED: u8 = 253;
/// Cell: not resident.
pub const CELL_NOT_RESIDENT: u8 = 254;
/// Cell: not collected.
pub const CELL_NOT_COLLECTED: u8 = 255;
/// Most rows of an epoch.
pub const MAX_ROWS: usize = 1024;

/// One row of the tiles of an epoch: a stretch of a mapping.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TileRow {
    /// Page kind.
    pub kind: PageKind,
    /// Mapping name; unnamed mappings are numbered by order of size class (`anon-1`).
    pub mapping: Arc<str>,
    /// Offset of the stretch within the mapping.
    pub offset_bytes: i64,
    /// Its length.
    pub size_bytes: i64,
}

/// A row list that stays in force until more than 5 % of the bytes change.
#[derive(Debug, Clone, PartialEq)]
pub struct TileEpoch {
    /// Random id.
    pub epoch_id: u64,
    /// `namespace/name`.
    pub service: Arc<str>,
    /// Executable.
    pub group: Arc<str>,
    /// What measured it.
    pub backend: Backend,
    /// At which granularity.
    pub granularity: Granularity,
    /// Nominal length of an interval.
    pub interval_ns: i64,
    /// The power of two in force.
    pub region_bytes: i64,
    /// The base of the scale, such as 2^(1/8): a value v in 1..=250 stands for `cell_log2_base^(v-1) * cell_unit`.
    pub cell_log2_base: f64,
    /// Activity that the value 1 stands for.
    pub cell_unit: f64,
    /// What activity is, such as `active_share` or `accesses_per_byte`.
    pub cell_measure: &'static str,
    /// Rows in order of kind, mapping and offset; at most [`MAX_ROWS`].
    pub rows: Vec<TileRow>,
    /// When the epoch began.
    pub start_wall_ns: i64,
}

/// One interval of an epoch: one cell per row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileColumn {
    /// The epoch whose rows these are.
    pub epoch_id: u64,
    /// The interval's end.
    pub end_wall_ns: i64,
    /// 0 idle, 1..=250 log scale, or one of the `CELL_` codes.
    pub cells: Vec<u8>,
}
