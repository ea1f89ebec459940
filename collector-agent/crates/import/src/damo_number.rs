//! Numbers as damo writes them: text with thousands separators, sometimes with a unit.

/// Units of sizes and times, with the number of bytes or nanoseconds in each.
const UNITS: [(&str, u64); 14] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("", 0),
];

/// A whole number with or without thousands separators; bytes or nanoseconds where a unit follows, in multiples of
/// `unitless` where none does. Whole numbers are exact; fractions are rounded down.
pub(crate) fn parse(text: &str, unitless: u64) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    let scale = match UNITS.iter().find(|(name, _)| *name == unit.trim())?.1 {
        0 => unitless,
        scale => scale,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !whole.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mut number: u64 = 0;
    for byte in whole.bytes().filter(|byte| *byte != b',') {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    number.checked_mul(scale)?.checked_add(part(fraction, scale)?)
}

/// The part of `scale` that the digits after a decimal point stand for.
fn part(fraction: &str, scale: u64) -> Option<u64> {
    let (mut numerator, mut denominator): (u64, u64) = (0, 1);
    // More digits than these change nothing in a whole number of bytes or nanoseconds.
    for byte in fraction.bytes().take(12) {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        numerator = numerator * 10 + digit;
        denominator *= 10;
    }
    let product = u128::from(numerator) * u128::from(scale);
    u64::try_from(product / u128::from(denominator)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_units_and_fractions() {
        let cases = [
            ("1,073,741,824", 1, Some(1 << 30)),
            ("0 B", 1, Some(0)),
            ("19.500000 GiB", 1, Some(39 << 29)),
            ("5 ms", 1, Some(5_000_000)),
            ("5000", 1_000, Some(5_000_000)),
            ("18446744073709551615", 1, Some(u64::MAX)),
            ("18446744073709551616", 1, None),
            ("99,999,999,999 PiB", 1, None),
            ("1.5.5", 1, None),
            ("", 1, None),
            ("-5", 1, None),
            ("5 apples", 1, None),
            (",", 1, None),
            (".5", 1, None),
        ];
        for (text, unitless, number) in cases {
            assert_eq!(parse(text, unitless), number, "{text}");
        }
    }
}
