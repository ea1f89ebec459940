//! Records of DAMON as `damo record` writes them: JSON, the same compressed with zlib, and the text of `perf script` or
//! `trace-cmd report`.
//!
//! All forms give the same types. The form is told by the content, never by the name. Numbers in the JSON forms are
//! text with thousands separators. Rules: docs/method/damon.md, "Records".

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::ZlibDecoder;

use crate::damo_record::TRACEPOINTS;
pub use crate::damo_record::{
    DamoError, DamoIntervals, DamoLimits, DamoOverlaps, DamoRecord, DamoRegion, DamoSnapshot,
};
use crate::{damo_json, damo_text};

/// Bytes of a file in which its form must show.
const HEAD_BYTES: usize = 4096;

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

/// The bytes of a file that may be a record: as many as `limits` allow, and one more where there are more.
pub fn read_file(path: &Path, limits: DamoLimits) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(limits.text_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
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
        _ if TRACEPOINTS.iter().any(|name| contains(head, name)) => Some(Form::Text),
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
