//! Columns that rows of heat may lack, on the wire; written by `contract/gen_heat.py` from `contract/heat_columns.toml`.

use tierscope_sample::heat::Beside;

use crate::columns::push_i64s;
use crate::proto::HeatBlock;

/// Adds the columns of all rows of a block. A column that no row has stays empty.
#[rustfmt::skip]
pub(crate) fn push(block: &mut HeatBlock, rows: &[Beside]) {
    if rows.iter().any(|row| row.sampled_pages.is_some()) {
        for row in rows {
            block.sampled_pages.push(row.sampled_pages.unwrap_or(0).cast_unsigned());
        }
    }
    if rows.iter().any(|row| row.written_bytes.is_some()) {
        for row in rows {
            push_i64s(&mut block.written_bytes, &row.written_bytes.unwrap_or([-1; 4]));
        }
    }
    if rows.iter().any(|row| row.subpage_active_bytes.is_some()) {
        for row in rows {
            block.subpage_active_bytes.push(row.subpage_active_bytes.unwrap_or(-1));
        }
    }
    if rows.iter().any(|row| row.dirty_bytes.is_some()) {
        for row in rows {
            block.dirty_bytes.push(row.dirty_bytes.unwrap_or(-1));
        }
    }
}
