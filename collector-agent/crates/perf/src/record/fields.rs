//! A cursor over the fields of a record.

/// Takes fields from the front; `None` once they end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (value, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(u64::from_ne_bytes(*value))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (value, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_ne_bytes(*value))
    }

    pub(crate) fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Passes over `count` values of `size_bytes` each.
    pub(crate) fn skip(&mut self, count: u64, size_bytes: u64) -> Option<()> {
        self.bytes(count.checked_mul(size_bytes)?).map(|_| ())
    }

    /// The rest as a text that ends at its first zero byte.
    pub(crate) fn text(&self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0);
        &self.rest[..end.unwrap_or(self.rest.len())]
    }
}
