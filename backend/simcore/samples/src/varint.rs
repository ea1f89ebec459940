//! Variable-length integers: seven bits a byte, least significant first.

/// Appends `value`.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed value, small where it is near zero.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Reads a value at `at` and moves behind it; `None` where the bytes end or no 64 bits hold it.
#[inline]
pub(crate) fn take(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    let mut place = *at + 1;
    let mut shift = 7;
    loop {
        let byte = *bytes.get(place)?;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        place += 1;
        if byte < 0x80 {
            *at = place;
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

/// Reads what `put_signed` wrote.
pub(crate) fn take_signed(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let raw = take(bytes, at)?;
    Some(((raw >> 1) as i64) ^ -((raw & 1) as i64))
}
