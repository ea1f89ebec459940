//! Columns of little-endian 64-bit integers, and bitmaps.

/// Appends values to a `bytes` column.
pub(crate) fn push_i64s(column: &mut Vec<u8>, values: &[i64]) {
    for value in values {
        column.extend_from_slice(&value.to_le_bytes());
    }
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
