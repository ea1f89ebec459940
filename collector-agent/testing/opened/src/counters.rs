//! Blocks of counters.

use std::sync::Arc;

use tierscope_wire::{CounterRow, Layout, proto};

use crate::columns::{check_length, is_present, read_i64s};
use crate::error::OpenError;

/// Reads a block; `layouts` are the ones known to the reader.
pub(crate) fn decode(
    block: &proto::CounterBlock,
    layouts: &[Arc<Layout>],
    batch_boot_id: &Arc<str>,
) -> Result<Vec<CounterRow>, OpenError> {
    let layout = layouts
        .iter()
        .find(|layout| layout.hash()[..] == block.layout_hash)
        .ok_or_else(|| unknown(&block.layout_hash))?;
    let (rows, width) = (block.end_wall_ns.len(), layout.keys().len());
    let differences = read_i64s("values", &block.values, rows * width)?;
    if !block.validity.is_empty() {
        check_length(
            "validity (bytes)",
            block.validity.len(),
            (rows * width).div_ceil(8),
        )?;
    }
    if !block.end_boottime_ns.is_empty() {
        check_length("end_boottime_ns", block.end_boottime_ns.len(), rows)?;
    }
    if !block.boot_ids.is_empty() {
        check_length("boot_ids", block.boot_ids.len(), rows)?;
    }
    let mut current = vec![0_i64; width];
    let mut decoded = Vec::with_capacity(rows);
    for (index, row) in differences.chunks_exact(width.max(1)).enumerate().take(rows) {
        let mut values = Vec::with_capacity(width);
        for (column, difference) in row.iter().enumerate() {
            current[column] = current[column].wrapping_add(*difference);
            values.push(is_present(&block.validity, index * width + column).then_some(current[column]));
        }
        decoded.push(CounterRow {
            layout: Arc::clone(layout),
            end_wall_ns: block.end_wall_ns[index],
            end_boottime_ns: block.end_boottime_ns.get(index).copied(),
            boot_id: block
                .boot_ids
                .get(index)
                .map_or_else(|| Arc::clone(batch_boot_id), |id| Arc::from(id.as_str())),
            values,
        });
    }
    Ok(decoded)
}

fn unknown(hash: &[u8]) -> OpenError {
    OpenError::UnknownLayout(
        hash.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .concat(),
    )
}
