//! Tiles of the mappings of a process group: every row of a mapping shows the share of the mapping that was active.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::fold::{Folded, Measured};
use crate::tile_grid::{CellScale, EPOCH_CHANGE_RATIO, EpochIds, Extent, Grid};
use crate::tiles::{CELL_NOT_COLLECTED, CELL_NOT_RESIDENT, TileColumn, TileEpoch};
use crate::vma::{ProcessKey, Vma};

/// Smallest rows that are cut: a mapping of less has one row.
const SMALLEST_REGION_BYTES: i64 = 4096;

type Processes = HashMap<ProcessKey, Vec<Vma>>;

#[derive(Debug)]
struct Epoch {
    id: u64,
    grid: Grid,
    /// Resident bytes of each row when the epoch began.
    resident_bytes: Vec<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct RowBytes {
    active: f64,
    /// Resident in mappings that were observed.
    observed: f64,
    resident: f64,
}

#[derive(Debug)]
pub(crate) struct VmaTiles {
    ids: EpochIds,
    epoch: Option<Epoch>,
}

impl VmaTiles {
    pub(crate) fn new(epoch_seed: u64) -> Self {
        Self {
            ids: EpochIds::new(epoch_seed),
            epoch: None,
        }
    }

    /// Adds the column of an interval, with a new epoch before it where the rows no longer fit.
    pub(crate) fn column(
        &mut self,
        processes: &mut Processes,
        measured: &Measured,
        end_wall_ns: i64,
        folded: &mut Folded,
    ) {
        if !self.epoch.as_ref().is_some_and(|epoch| epoch.fits(processes)) {
            self.epoch = self.begin_epoch(processes);
            let start_wall_ns = end_wall_ns - measured.interval_ns;
            folded.tile_epochs.extend(
                self.epoch
                    .iter()
                    .map(|epoch| epoch.describe(measured, start_wall_ns)),
            );
        }
        let Some(epoch) = &self.epoch else { return };
        let (rows, _) = spread(&epoch.grid, processes);
        let cells = rows.iter().map(RowBytes::cell).collect();
        folded.tile_columns.push(TileColumn {
            epoch_id: epoch.id,
            end_wall_ns,
            cells,
        });
    }

    /// Cuts rows over the resident mappings; `None` while nothing is resident.
    fn begin_epoch(&mut self, processes: &mut Processes) -> Option<Epoch> {
        for vmas in processes.values_mut() {
            number_unnamed(vmas);
        }
        let resident = processes
            .values()
            .flatten()
            .filter(|vma| vma.reading.resident_bytes > 0);
        let extents: Vec<_> = resident.filter_map(extent_of).collect();
        if extents.is_empty() {
            return None;
        }
        let grid = Grid::cut(&extents, SMALLEST_REGION_BYTES);
        let (rows, _) = spread(&grid, processes);
        let resident_bytes = rows.iter().map(|row| row.resident).collect();
        Some(Epoch {
            id: self.ids.next_id(),
            grid,
            resident_bytes,
        })
    }
}

impl Epoch {
    /// Whether no more than 5 % of the bytes lie outside of the rows or have gone from them.
    fn fits(&self, processes: &Processes) -> bool {
        let (rows, outside_bytes) = spread(&self.grid, processes);
        let total: f64 = rows.iter().map(|row| row.resident).sum::<f64>() + outside_bytes;
        let before = self.resident_bytes.iter().zip(&rows);
        let gone_bytes: f64 = before
            .filter(|(_, now)| now.resident <= 0.0)
            .map(|(bytes, _)| bytes)
            .sum();
        outside_bytes + gone_bytes <= EPOCH_CHANGE_RATIO * total
    }

    fn describe(&self, measured: &Measured, start_wall_ns: i64) -> TileEpoch {
        let scale = CellScale::shares();
        TileEpoch {
            epoch_id: self.id,
            service: Arc::clone(&measured.service),
            group: Arc::clone(&measured.group),
            backend: measured.backend,
            granularity: measured.granularity,
            interval_ns: measured.interval_ns,
            region_bytes: self.grid.region_bytes(),
            cell_log2_base: scale.base,
            cell_unit: scale.unit,
            cell_measure: "active_share",
            rows: self.grid.rows().to_vec(),
            start_wall_ns,
        }
    }
}

impl RowBytes {
    fn cell(&self) -> u8 {
        if self.resident <= 0.0 {
            CELL_NOT_RESIDENT
        } else if self.observed <= 0.0 {
            CELL_NOT_COLLECTED
        } else {
            CellScale::shares().cell(self.active / self.observed)
        }
    }
}

/// Spreads the bytes of every mapping evenly over its rows; also gives the resident bytes that lie in no row.
fn spread(grid: &Grid, processes: &Processes) -> (Vec<RowBytes>, f64) {
    let mut rows = vec![RowBytes::default(); grid.rows().len()];
    let mut outside_bytes = 0.0;
    for vma in processes
        .values()
        .flatten()
        .filter(|vma| vma.reading.resident_bytes > 0)
    {
        let resident = vma.reading.resident_bytes as f64;
        let mut inside = 0.0;
        if let Some(extent) = extent_of(vma) {
            let stretch = extent.offset_bytes..extent.offset_bytes + extent.size_bytes;
            for (row, overlap) in grid.covering(extent.kind, &extent.mapping, stretch) {
                let share = overlap as f64 / extent.size_bytes as f64;
                inside += share;
                rows[row].resident += resident * share;
                if let Some(active) = vma.history.newest() {
                    rows[row].observed += resident * share;
                    rows[row].active += active as f64 * share;
                }
            }
        }
        outside_bytes += resident * (1.0 - inside).max(0.0);
    }
    (rows, outside_bytes)
}

/// Where a mapping lies in the tiles; `None` for unnamed memory without a number.
fn extent_of(vma: &Vma) -> Option<Extent> {
    let reading = &vma.reading;
    let mapping = if reading.mapping.is_empty() {
        vma.tile_name.clone()?
    } else {
        Arc::clone(&reading.mapping)
    };
    Some(Extent {
        kind: reading.kind,
        mapping,
        offset_bytes: reading.offset_bytes,
        size_bytes: (reading.end - reading.start).cast_signed(),
        resident_bytes: reading.resident_bytes,
    })
}

/// Names the unnamed resident mappings of a process `anon-1`, `anon-2` and so on, from the largest size class (power of
/// two) to the smallest, by address within a class.
fn number_unnamed(vmas: &mut [Vma]) {
    for vma in vmas.iter_mut() {
        vma.tile_name = None;
    }
    let mut unnamed: Vec<&mut Vma> = vmas
        .iter_mut()
        .filter(|vma| vma.reading.mapping.is_empty() && vma.reading.resident_bytes > 0)
        .collect();
    unnamed.sort_by_key(|vma| {
        let size = vma.reading.end - vma.reading.start;
        (Reverse(size.checked_ilog2()), vma.reading.start)
    });
    for (number, vma) in (1..).zip(unnamed) {
        vma.tile_name = Some(Arc::from(format!("anon-{number}")));
    }
}
