//! Tile epochs and columns.

use tierscope_sample::tiles::{TileColumn, TileEpoch};

use crate::heat::{backend_to, granularity_to, kind_to};
use crate::proto;
use crate::strings::StringTable;

pub(crate) fn encode_epoch(epoch: &TileEpoch, strings: &mut StringTable) -> proto::TileEpoch {
    proto::TileEpoch {
        epoch_id: epoch.epoch_id,
        service_ref: strings.refer(&epoch.service),
        group_ref: strings.refer(&epoch.group),
        backend: backend_to(epoch.backend),
        granularity: granularity_to(epoch.granularity),
        interval_ns: epoch.interval_ns,
        region_bytes: epoch.region_bytes,
        cell_log2_base: epoch.cell_log2_base,
        cell_unit: epoch.cell_unit,
        cell_measure: epoch.cell_measure.to_owned(),
        kind: epoch.rows.iter().map(|row| kind_to(row.kind)).collect(),
        mapping_ref: epoch.rows.iter().map(|row| strings.refer(&row.mapping)).collect(),
        offset_bytes: epoch.rows.iter().map(|row| row.offset_bytes).collect(),
        size_bytes: epoch.rows.iter().map(|row| row.size_bytes).collect(),
        start_wall_ns: epoch.start_wall_ns,
    }
}

pub(crate) fn encode_column(column: &TileColumn) -> proto::TileColumn {
    proto::TileColumn {
        epoch_id: column.epoch_id,
        end_wall_ns: column.end_wall_ns,
        cells: column.cells.clone(),
    }
}
