//! Fields of a protobuf message, one after the other, as slices of the bytes that they came in.

use crate::varint;

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    /// A variable-length integer.
    Integer(u64),
    /// Eight bytes, little-endian.
    Fixed64(u64),
    /// A string, bytes or an inner message, and where in the outer message it begins and ends.
    Bytes(&'a [u8]),
    /// Four bytes; no message of the protocol has them.
    Fixed32,
}

/// A field: its number, what it holds, and where it ends in the message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) number: u64,
    pub(crate) value: Value<'a>,
}

#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where the next field begins.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next field; `Ok(None)` at the end, `Err` where the bytes are no message.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Field<'a>>, ()> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let tag = varint::take(self.bytes, &mut self.at).ok_or(())?;
        let value = match tag & 7 {
            0 => Value::Integer(varint::take(self.bytes, &mut self.at).ok_or(())?),
            1 => {
                let raw: [u8; 8] = self.slice(8)?.try_into().map_err(|_| ())?;
                Value::Fixed64(u64::from_le_bytes(raw))
            }
            2 => {
                let length = varint::take(self.bytes, &mut self.at).ok_or(())?;
                Value::Bytes(self.slice(usize::try_from(length).map_err(|_| ())?)?)
            }
            5 => {
                self.slice(4)?;
                Value::Fixed32
            }
            _ => return Err(()),
        };
        Ok(Some(Field {
            number: tag >> 3,
            value,
        }))
    }

    #[inline]
    fn slice(&mut self, length: usize) -> Result<&'a [u8], ()> {
        let end = self.at.checked_add(length).ok_or(())?;
        let slice = self.bytes.get(self.at..end).ok_or(())?;
        self.at = end;
        Ok(slice)
    }
}
