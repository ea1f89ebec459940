//! Records of DAMON as `damo record` writes them: JSON, the same compressed with zlib, and the text of `perf script`.
//!
//! All forms give the same types. The form is told by the content, never by the name. Numbers in the JSON forms are
//! text with thousands separators. Rules: docs/method/damon.md, "Records".

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::{damo_json, damo_text};

/// The name that every line of the text form bears.
pub(crate) const TRACEPOINT: &str = "damon:damon_aggregated:";
/// Bytes of a file in which its form must show.
const HEAD_BYTES: usize = 4096;

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
    /// Sorted by address.
    pub regions: Vec<DamoRegion>,
}

/// A stretch of addresses that DAMON takes as uniformly accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamoRegion {
    /// First address.
    pub start: u64,
    /// The address after the last; above `start`.
    pub end: u64,
    /// Checks that found an access, of aggregation / sample interval.
    pub accesses: u32,
    /// Aggregation intervals for which the region has been about as it is; `None` where not recorded.
    pub age: Option<u32>,
}

impl DamoRegion {
    /// Length.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

/// A record that cannot be read, and why.
#[derive(Debug, thiserror::Error)]
pub enum DamoError {
    /// It has none of the known forms.
    #[error("is no record of damo: expected its JSON, that compressed with zlib, or lines with {TRACEPOINT}")]
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

/// The form of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Zlib,
    Text,
}

/// Whether a file that begins with `head` (4 KiB of it suffice) is a record of damo.
pub fn looks_like_damo(head: &[u8]) -> bool {
    match form_of(head) {
        Some(Form::Text) => true,
        Some(Form::Json) => shows_json(head),
        Some(Form::Zlib) => {
            let mut inflated = Vec::new();
            // The head ends in the middle of the stream; what was inflated until then is enough.
            let _ = ZlibDecoder::new(head)
                .take(HEAD_BYTES as u64)
                .read_to_end(&mut inflated);
            shows_json(&inflated)
        }
        None => false,
    }
}

/// Reads a record in any form.
pub fn read(bytes: &[u8], limits: DamoLimits) -> Result<Vec<DamoRecord>, DamoError> {
    let records = match form_of(bytes).ok_or(DamoError::Unknown)? {
        Form::Json => read_json(bytes, limits),
        Form::Zlib => read_json(ZlibDecoder::new(bytes), limits),
        Form::Text => damo_text::read(bytes, limits),
    }?;
    if records.is_empty() {
        return Err(DamoError::Empty);
    }
    Ok(records)
}

fn read_json(text: impl Read, limits: DamoLimits) -> Result<Vec<DamoRecord>, DamoError> {
    let mut bounded = Bounded {
        inner: text,
        left: limits.text_bytes,
        exceeded: false,
        damage: None,
    };
    let read = damo_json::read(&mut bounded, limits);
    if let Some(damage) = bounded.damage {
        return Err(DamoError::Zlib(damage));
    }
    if bounded.exceeded {
        return Err(DamoError::TooLarge {
            what: "bytes of text",
            limit: limits.text_bytes,
        });
    }
    read
}

fn form_of(bytes: &[u8]) -> Option<Form> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    match head {
        [0x78, flags, ..] if (0x7800 | u16::from(*flags)).is_multiple_of(31) => Some(Form::Zlib),
        _ if head.trim_ascii_start().starts_with(b"[") => Some(Form::Json),
        _ if contains(head, TRACEPOINT) => Some(Form::Text),
        _ => None,
    }
}

fn shows_json(head: &[u8]) -> bool {
    contains(head, "\"kdamond_idx\"") || contains(head, "\"snapshots\"")
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// A reader that ends after a number of bytes, or at damage, and knows why.
struct Bounded<R> {
    inner: R,
    left: u64,
    exceeded: bool,
    damage: Option<std::io::Error>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = match self.inner.read(buffer) {
            Ok(count) => count,
            Err(error) => {
                self.damage = Some(error);
                return Ok(0);
            }
        };
        let within = count.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.exceeded |= count > within;
        self.left -= within as u64;
        Ok(within)
    }
}

/// Sorts regions by address and checks that they are stretches.
pub(crate) fn checked_regions(mut regions: Vec<DamoRegion>) -> Result<Vec<DamoRegion>, &'static str> {
    if regions.iter().any(|region| region.start >= region.end) {
        return Err("a region ends before it begins");
    }
    if regions.iter().any(|region| region.end > i64::MAX.unsigned_abs()) {
        return Err("an address is beyond 2^63");
    }
    regions.sort_by_key(|region| region.start);
    if regions.windows(2).any(|pair| pair[1].start < pair[0].end) {
        return Err("two regions overlap");
    }
    Ok(regions)
}
