//! Tiles.

use std::sync::Arc;

use tierscope_sample::tiles::{TileColumn, TileEpoch, TileRow};
use tierscope_wire::proto;

use crate::columns::check_length;
use crate::enums::{backend_from, granularity_from, kind_from};
use crate::error::OpenError;
use crate::texts::Texts;

/// The measures that a cell can hold.
const MEASURES: [&str; 2] = ["active_share", "accesses_per_byte"];

pub(crate) fn decode_epoch(epoch: &proto::TileEpoch, texts: &Texts) -> Result<TileEpoch, OpenError> {
    let count = epoch.kind.len();
    check_length("mapping_ref", epoch.mapping_ref.len(), count)?;
    check_length("offset_bytes", epoch.offset_bytes.len(), count)?;
    check_length("size_bytes", epoch.size_bytes.len(), count)?;
    let mut rows = Vec::with_capacity(count);
    for index in 0..count {
        rows.push(TileRow {
            kind: kind_from(epoch.kind[index])?,
            mapping: texts.get(epoch.mapping_ref[index])?,
            offset_bytes: epoch.offset_bytes[index],
            size_bytes: epoch.size_bytes[index],
        });
    }
    let measure = MEASURES
        .into_iter()
        .find(|measure| *measure == epoch.cell_measure);
    Ok(TileEpoch {
        epoch_id: epoch.epoch_id,
        service: Arc::clone(&texts.get(epoch.service_ref)?),
        group: texts.get(epoch.group_ref)?,
        backend: backend_from(epoch.backend)?,
        granularity: granularity_from(epoch.granularity)?,
        interval_ns: epoch.interval_ns,
        region_bytes: epoch.region_bytes,
        cell_log2_base: epoch.cell_log2_base,
        cell_unit: epoch.cell_unit,
        cell_measure: measure
            .ok_or_else(|| OpenError::Invalid(format!("unknown cell measure {:?}", epoch.cell_measure)))?,
        rows,
        start_wall_ns: epoch.start_wall_ns,
    })
}

pub(crate) fn decode_column(column: proto::TileColumn) -> TileColumn {
    TileColumn {
        epoch_id: column.epoch_id,
        end_wall_ns: column.end_wall_ns,
        cells: column.cells,
    }
}
