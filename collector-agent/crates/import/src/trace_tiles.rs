//! Tiles of a page trace: its mappings are the ranges of pages that lie close together, numbered by address.

use std::sync::Arc;

use tierscope_sample::fold::Folded;
use tierscope_sample::heat::PageKind;
use tierscope_sample::page_group::PageGroup;
use tierscope_sample::tile_grid::{CellScale, EPOCH_CHANGE_RATIO, EpochIds, Extent, Grid};
use tierscope_sample::tiles::{CELL_NOT_COLLECTED, CELL_NOT_RESIDENT, TileColumn, TileEpoch};

use crate::trace_pages::{Access, MAPPING_GAP_BYTES, PageRange, UNIT_BYTES, join_ranges};

/// The rows in force.
#[derive(Debug)]
struct Epoch {
    id: u64,
    grid: Grid,
    scale: CellScale,
    /// First and last row of each range.
    rows_of_range: Vec<(usize, usize)>,
    /// Whether a page of the row is resident.
    resident: Vec<bool>,
}

#[derive(Debug)]
pub(crate) struct TraceTiles {
    page_size_bytes: u32,
    ids: EpochIds,
    /// Sorted by kind and address; those that the epoch in force covers.
    ranges: Vec<PageRange>,
    epoch: Option<Epoch>,
    /// Pages outside of all ranges, sorted.
    uncovered: Vec<(PageKind, u64)>,
}

impl TraceTiles {
    pub(crate) fn new(expected: &[PageRange], page_size_bytes: u32, epoch_seed: u64) -> Self {
        let mut ranges = expected.to_vec();
        ranges.sort();
        let ids = EpochIds::new(epoch_seed);
        Self {
            page_size_bytes,
            ids,
            ranges,
            epoch: None,
            uncovered: Vec::new(),
        }
    }

    /// Adds the column of an interval, with a new epoch before it where the rows no longer fit. `accesses` is `None`
    /// when the interval was not observed.
    pub(crate) fn column(
        &mut self,
        pages: &PageGroup,
        end_wall_ns: i64,
        accesses: Option<&[Access]>,
        folded: &mut Folded,
    ) {
        let observed = accesses.is_some();
        let accesses = accesses.unwrap_or_default();
        let outside = accesses
            .iter()
            .filter(|access| find_range(&self.ranges, access.kind, access.page).is_none());
        self.uncovered
            .extend(outside.map(|access| (access.kind, access.page)));
        self.uncovered.sort_unstable();
        self.uncovered.dedup();
        let changed = self.uncovered.len() as f64 > EPOCH_CHANGE_RATIO * pages.pages() as f64;
        if self.epoch.is_none() || changed {
            let start_wall_ns = end_wall_ns - pages.measured().interval_ns;
            folded.tile_epochs.extend(self.begin_epoch(pages, start_wall_ns));
        }
        let Some(epoch) = &mut self.epoch else { return };
        let cells = if observed {
            epoch.cells(&self.ranges, self.page_size_bytes, accesses)
        } else {
            vec![CELL_NOT_COLLECTED; epoch.grid.rows().len()]
        };
        folded.tile_columns.push(TileColumn {
            epoch_id: epoch.id,
            end_wall_ns,
            cells,
        });
    }

    /// Cuts rows over all ranges known and the pages outside of them; none while there are no pages.
    fn begin_epoch(&mut self, pages: &PageGroup, start_wall_ns: i64) -> Option<TileEpoch> {
        let gap_pages = MAPPING_GAP_BYTES / u64::from(self.page_size_bytes);
        let added = self
            .uncovered
            .drain(..)
            .map(|(kind, page)| PageRange::single(kind, page));
        self.ranges.extend(added);
        self.ranges = join_ranges(std::mem::take(&mut self.ranges), gap_pages);
        if self.ranges.is_empty() {
            return None;
        }
        let page_bytes = i64::from(self.page_size_bytes);
        let extents = extents_of(&self.ranges, page_bytes);
        let grid = Grid::cut(&extents, page_bytes);
        let row_at = |extent: &Extent, offset| {
            grid.row_at(extent.kind, &extent.mapping, offset)
                .unwrap_or_default()
        };
        let rows_of_range = extents
            .iter()
            .map(|extent| (row_at(extent, 0), row_at(extent, extent.size_bytes - 1)))
            .collect();
        let scale = CellScale::accesses_per_byte(grid.region_bytes());
        let resident = vec![false; grid.rows().len()];
        let mut epoch = Epoch {
            id: self.ids.next_id(),
            grid,
            scale,
            rows_of_range,
            resident,
        };
        for (kind, address) in pages.resident() {
            if let Some(row) = epoch.row(&self.ranges, self.page_size_bytes, kind, address / UNIT_BYTES) {
                epoch.resident[row] = true;
            }
        }
        let measured = pages.measured();
        let described = TileEpoch {
            epoch_id: epoch.id,
            service: Arc::clone(&measured.service),
            group: Arc::clone(&measured.group),
            backend: measured.backend,
            granularity: measured.granularity,
            interval_ns: measured.interval_ns,
            region_bytes: epoch.grid.region_bytes(),
            cell_log2_base: scale.base,
            cell_unit: scale.unit,
            cell_measure: "accesses_per_byte",
            rows: epoch.grid.rows().to_vec(),
            start_wall_ns,
        };
        self.epoch = Some(epoch);
        Some(described)
    }
}

impl Epoch {
    fn row(&self, ranges: &[PageRange], page_size_bytes: u32, kind: PageKind, page: u64) -> Option<usize> {
        let index = find_range(ranges, kind, page)?;
        let (first, last) = self.rows_of_range[index];
        let offset_bytes = (page - ranges[index].first).cast_signed() * i64::from(page_size_bytes);
        // A range that shares the row of all small mappings has one row, whatever the offset.
        Some(last.min(first + (offset_bytes / self.grid.region_bytes()) as usize))
    }

    fn cells(&mut self, ranges: &[PageRange], page_size_bytes: u32, accesses: &[Access]) -> Vec<u8> {
        let mut counts = vec![0_u64; self.grid.rows().len()];
        for access in accesses {
            if let Some(row) = self.row(ranges, page_size_bytes, access.kind, access.page) {
                counts[row] += u64::from(access.loads) + u64::from(access.stores);
                self.resident[row] = true;
            }
        }
        let rows = self.grid.rows().iter().zip(counts).zip(&self.resident);
        rows.map(|((row, count), resident)| {
            if *resident {
                self.scale.cell(count as f64 / row.size_bytes as f64)
            } else {
                CELL_NOT_RESIDENT
            }
        })
        .collect()
    }
}

fn find_range(ranges: &[PageRange], kind: PageKind, page: u64) -> Option<usize> {
    let index = ranges.partition_point(|range| (range.kind, range.last) < (kind, page));
    let range = ranges.get(index)?;
    (range.kind == kind && range.first <= page).then_some(index)
}

/// The mappings `anon-1`, `file-1` and so on, numbered by address within each kind.
fn extents_of(ranges: &[PageRange], page_bytes: i64) -> Vec<Extent> {
    let mut counts = [0; 3];
    let extent = |range: &PageRange| {
        counts[range.kind as usize] += 1;
        let size_bytes = range.pages().cast_signed() * page_bytes;
        Extent {
            kind: range.kind,
            mapping: Arc::from(format!("{}-{}", range.kind.name(), counts[range.kind as usize])),
            offset_bytes: 0,
            size_bytes,
            resident_bytes: size_bytes,
        }
    };
    ranges.iter().map(extent).collect()
}
