//! Columns of little-endian 64-bit integers, and bitmaps.

use crate::error::OpenError;

/// Reads a `bytes` column as rows of `N` values; it must hold exactly `rows` of them.
pub(crate) fn read_rows<const N: usize>(
    name: &str,
    column: &[u8],
    rows: usize,
) -> Result<Vec<[i64; N]>, OpenError> {
    let values = read_i64s(name, column, rows * N)?;
    Ok(values
        .chunks_exact(N)
        .map(|chunk| std::array::from_fn(|i| chunk[i]))
        .collect())
}

/// Reads a `bytes` column as rows of `N` values, or as absent when it is empty.
pub(crate) fn read_optional_rows<const N: usize>(
    name: &str,
    column: &[u8],
    rows: usize,
) -> Result<Option<Vec<[i64; N]>>, OpenError> {
    if column.is_empty() {
        return Ok(None);
    }
    read_rows(name, column, rows).map(Some)
}

/// Reads a `bytes` column of exactly `expected` values.
pub(crate) fn read_i64s(name: &str, column: &[u8], expected: usize) -> Result<Vec<i64>, OpenError> {
    if column.len() != expected * 8 {
        return Err(wrong_length(name, column.len() / 8, expected));
    }
    Ok(column
        .as_chunks::<8>()
        .0
        .iter()
        .map(|bytes| i64::from_le_bytes(*bytes))
        .collect())
}

/// Checks the length of a repeated field.
pub(crate) fn check_length(name: &str, length: usize, expected: usize) -> Result<(), OpenError> {
    if length == expected {
        Ok(())
    } else {
        Err(wrong_length(name, length, expected))
    }
}

fn wrong_length(name: &str, length: usize, expected: usize) -> OpenError {
    OpenError::Invalid(format!(
        "column {name} has {length} values where {expected} belong"
    ))
}

/// Whether value `index` is present according to `bitmap`, where an empty one means that all are.
pub(crate) fn is_present(bitmap: &[u8], index: usize) -> bool {
    bitmap.is_empty() || bitmap[index / 8] >> (index % 8) & 1 == 1
}
