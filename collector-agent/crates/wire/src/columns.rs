//! Columns of little-endian 64-bit integers, and bitmaps.

use crate::WireError;

/// Appends values to a `bytes` column.
pub(crate) fn push_i64s(column: &mut Vec<u8>, values: &[i64]) {
    for value in values {
        column.extend_from_slice(&value.to_le_bytes());
    }
}

/// Reads a `bytes` column as rows of `N` values; it must hold exactly `rows` of them.
pub(crate) fn read_rows<const N: usize>(
    name: &str,
    column: &[u8],
    rows: usize,
) -> Result<Vec<[i64; N]>, WireError> {
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
) -> Result<Option<Vec<[i64; N]>>, WireError> {
    if column.is_empty() {
        return Ok(None);
    }
    read_rows(name, column, rows).map(Some)
}

/// Reads a `bytes` column of exactly `expected` values.
pub(crate) fn read_i64s(name: &str, column: &[u8], expected: usize) -> Result<Vec<i64>, WireError> {
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
pub(crate) fn check_length(name: &str, length: usize, expected: usize) -> Result<(), WireError> {
    if length == expected {
        Ok(())
    } else {
        Err(wrong_length(name, length, expected))
    }
}

fn wrong_length(name: &str, length: usize, expected: usize) -> WireError {
    WireError::Invalid(format!(
        "column {name} has {length} values where {expected} belong"
    ))
}

/// A bitmap, least significant bit first.
#[derive(Default)]
pub(crate) struct BitmapWriter {
    bytes: Vec<u8>,
    length: usize,
    any_absent: bool,
}

impl BitmapWriter {
    pub(crate) fn push(&mut self, present: bool) {
        if self.length.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if present {
            self.bytes[self.length / 8] |= 1 << (self.length % 8);
        } else {
            self.any_absent = true;
        }
        self.length += 1;
    }

    /// The bitmap, or nothing when every value is present.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        if self.any_absent { self.bytes } else { Vec::new() }
    }
}

/// Whether value `index` is present according to `bitmap`, where an empty one means that all are.
pub(crate) fn is_present(bitmap: &[u8], index: usize) -> bool {
    bitmap.is_empty() || bitmap[index / 8] >> (index % 8) & 1 == 1
}
