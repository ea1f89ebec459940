//! Columns that rows of heat may lack, read again; written by `contract/gen_heat.py` from `contract/heat_columns.toml`.

use tierscope_sample::heat::Beside;
use tierscope_wire::proto::HeatBlock;

use crate::columns::{check_length, read_optional_rows};
use crate::error::OpenError;

/// What each of the `n` rows of a block has of them.
#[rustfmt::skip]
pub(crate) fn read(block: &HeatBlock, n: usize) -> Result<Vec<Beside>, OpenError> {
    check_length("sampled_pages", block.sampled_pages.len(), if block.sampled_pages.is_empty() { 0 } else { n })?;
    let written_bytes = read_optional_rows::<4>("written_bytes", &block.written_bytes, n)?;
    check_length("subpage_active_bytes", block.subpage_active_bytes.len(), if block.subpage_active_bytes.is_empty() { 0 } else { n })?;
    check_length("dirty_bytes", block.dirty_bytes.len(), if block.dirty_bytes.is_empty() { 0 } else { n })?;
    let row = |i: usize| Beside {
        sampled_pages: block.sampled_pages.get(i).copied().map(u64::cast_signed).filter(|value| *value != 0),
        written_bytes: written_bytes.as_ref().map(|rows| rows[i]).filter(|row| *row != [-1; 4]),
        subpage_active_bytes: block.subpage_active_bytes.get(i).copied().filter(|value| *value != -1),
        dirty_bytes: block.dirty_bytes.get(i).copied().filter(|value| *value != -1),
    };
    Ok((0..n).map(row).collect())
}
