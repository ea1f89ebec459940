//! Records of damo: their types, what they may hold at most, and numbers as damo writes them.

use std::borrow::Cow;

mod overlap;
mod region;

use overlap::{as_damo_counts, clip};
pub use region::DamoRegion;

/// Names of the events that lines of the text form bear: that of each region of a snapshot, and the one with more fields
/// that later kernels have. `perf script` puts `damon:` before them, `trace-cmd report` and the kernel's own `trace` do not.
pub(crate) const TRACEPOINTS: [&str; 2] = ["damon_region_aggregated:", "damon_aggregated:"];

/// What stands before and after the name of the event in a line; `None` for lines of other events.
pub(crate) fn split_at_event(line: &str) -> Option<(&str, &str)> {
    TRACEPOINTS.iter().find_map(|name| {
        let (before, after) = line.split_once(name)?;
        let before = before.strip_suffix("damon:").unwrap_or(before);
        before.ends_with([' ', '\t']).then_some((before, after))
    })
}
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

/// What a record may hold at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamoLimits {
    /// Bytes of text, after inflating.
    pub text_bytes: u64,
    /// Regions of all snapshots together.
    pub regions: u64,
}

impl Default for DamoLimits {
    fn default() -> Self {
        Self {
            text_bytes: 512 << 20,
            regions: 4_000_000,
        }
    }
}

/// What one target of one context did, snapshot by snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct DamoRecord {
    /// Which kdamond.
    pub kdamond: u32,
    /// Which of its contexts.
    pub context: u32,
    /// Which of the context's targets.
    pub target: u64,
    /// `None` in the text form, which does not say.
    pub intervals: Option<DamoIntervals>,
    /// By time; at least one.
    pub snapshots: Vec<DamoSnapshot>,
}

/// How DAMON was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamoIntervals {
    /// Between two checks of a region. Above zero.
    pub sample_ns: u64,
    /// Over which checks are summed. Above zero.
    pub aggregation_ns: u64,
}

/// The regions at the end of one aggregation interval.
#[derive(Debug, Clone, PartialEq)]
pub struct DamoSnapshot {
    /// Monotonic clock of the recorded host.
    pub start_ns: i64,
    /// After `start_ns`.
    pub end_ns: i64,
    /// Sorted by address; none overlaps another.
    pub regions: Vec<DamoRegion>,
    /// The regions as they were recorded and in that order, where some overlap; else empty.
    overlapping: Vec<DamoRegion>,
}

/// Regions of a record that overlap another of their snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DamoOverlaps {
    /// Snapshots with such regions.
    pub snapshots: usize,
    /// Regions that begin before one ahead of them ends.
    pub regions: usize,
    /// Bytes that were recorded more than once, over all snapshots.
    pub bytes: u128,
}

impl DamoRecord {
    /// What was clipped when the record was read; all zero where no regions overlap.
    pub fn overlaps(&self) -> DamoOverlaps {
        let mut sum = DamoOverlaps::default();
        for snapshot in self.snapshots.iter().filter(|one| !one.overlapping.is_empty()) {
            let mut recorded = snapshot.overlapping.clone();
            recorded.sort_by_key(|region| region.start);
            let mut reached = 0;
            for region in &recorded {
                sum.regions += usize::from(region.start < reached);
                reached = reached.max(region.end);
            }
            let bytes =
                |regions: &[DamoRegion]| -> u128 { regions.iter().map(|one| u128::from(one.bytes())).sum() };
            sum.bytes += bytes(&snapshot.overlapping) - bytes(&snapshot.regions);
            sum.snapshots += 1;
        }
        sum
    }
}

impl DamoSnapshot {
    /// A snapshot of regions in any order. Overlapping ones are clipped, so that each byte belongs to one.
    pub(crate) fn new(
        start_ns: i64,
        end_ns: i64,
        mut regions: Vec<DamoRegion>,
    ) -> Result<Self, &'static str> {
        if regions.iter().any(|region| region.start >= region.end) {
            return Err("a region ends before it begins");
        }
        if regions.iter().any(|region| region.end > i64::MAX.unsigned_abs()) {
            return Err("an address is beyond 2^63");
        }
        let recorded = regions.clone();
        regions.sort_by_key(|region| region.start);
        let overlaps = regions.windows(2).any(|pair| pair[1].start < pair[0].end);
        let (regions, overlapping) = if overlaps {
            (clip(&regions), recorded)
        } else {
            (regions, Vec::new())
        };
        Ok(Self {
            start_ns,
            end_ns,
            regions,
            overlapping,
        })
    }

    /// The regions that `damo report wss` counts: these, unless some overlap.
    pub(crate) fn as_damo_counts(&self) -> Cow<'_, [DamoRegion]> {
        if self.overlapping.is_empty() {
            Cow::Borrowed(&self.regions)
        } else {
            Cow::Owned(as_damo_counts(&self.overlapping))
        }
    }
}

/// A record that cannot be read, and why.
#[derive(Debug, thiserror::Error)]
pub enum DamoError {
    /// It has none of the known forms.
    #[error("is no record of damo: expected its JSON, that compressed with zlib, or lines of `perf script` or `trace-cmd report` with {}", TRACEPOINTS[1])]
    Unknown,
    /// The zlib stream is damaged.
    #[error("is not readable as zlib: {0}; record it again")]
    Zlib(std::io::Error),
    /// The JSON is damaged, or not that of a record.
    #[error("is not readable as the JSON of damo: {0}")]
    Json(serde_json::Error),
    /// A line of the text form is wrong.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// A value of the JSON is wrong.
    #[error("record {record}, snapshot {snapshot}: {problem}")]
    Snapshot {
        /// Counted from 1.
        record: usize,
        /// Counted from 1.
        snapshot: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// More than a limit allows.
    #[error("has more than {limit} {what}: record for a shorter time, or with fewer regions")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: u64,
    },
    /// No snapshot is in it.
    #[error("holds no snapshot: record for longer than one aggregation interval")]
    Empty,
}

/// A whole number with or without thousands separators; bytes or nanoseconds where a unit follows, in multiples of
/// `unitless` where none does. Whole numbers are exact; fractions are rounded down.
pub(crate) fn parse_number(text: &str, unitless: u64) -> Option<u64> {
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
            assert_eq!(parse_number(text, unitless), number, "{text}");
        }
    }
}
