//! `perf.data`: a header, the attributes of the events, and the records of the kernel's rings in a row.
//!
//! Format: tools/perf/Documentation/perf.data-file-format.txt of the kernel. Files of this byte order, version 2, plain
//! or compressed (`perf record -z`) are read; a stream (`perf record -o -`) is not.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use tierscope_perf::Served;
use tierscope_perf::record::{self, Layout, Record, Records, sample_type};
use tierscope_perf::served;

use crate::perf_samples::{
    PerfAccess, PerfEvent, PerfFileError, PerfLimits, PerfRecording, PerfSample, ProcessChange, TimedChange,
};

const MAGIC: &[u8; 8] = b"PERFILE2";
const MAGIC_OTHER_ORDER: &[u8; 8] = b"2ELIFREP";
/// A file header has 104 bytes, a stream's 16.
const FILE_HEADER_BYTES: u64 = 104;
/// Bits of the header that say which feature sections follow the data.
const FEATURE_BYTES: usize = 32;
const FEATURE_EVENT_NAMES: usize = 12;
/// Shortest attribute: the first published version.
const ATTR_BYTES: u64 = 64;
const MAX_EVENTS: u64 = 4096;
const SAMPLE_RECORD: u32 = 9;
/// Records of perf itself, from 64 on.
const FIRST_USER_RECORD: u32 = 64;
const AUXTRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;
const RECORD_HEADER_BYTES: usize = 8;

/// Whether a file begins as `perf.data` does.
pub(crate) fn has_magic(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || head.starts_with(MAGIC_OTHER_ORDER)
}

/// An event as the file describes it.
struct Described {
    layout: Layout,
    event: PerfEvent,
    ids: Vec<u64>,
}

pub(crate) fn read(bytes: &[u8], limits: PerfLimits) -> Result<PerfRecording, PerfFileError> {
    if bytes.starts_with(MAGIC_OTHER_ORDER) {
        return Err(PerfFileError::Form(
            "was recorded on a host with the other byte order: print it there with `perf script`",
        ));
    }
    let file = Bytes(bytes);
    if file.u64(8)? < FILE_HEADER_BYTES {
        return Err(PerfFileError::Form(
            "is a stream of perf: record into a file, or pass it through `perf inject -o`",
        ));
    }
    let described = describe(&file)?;
    let mut reading = Reading::new(described, limits);
    let data = file.section(40)?;
    reading.records(data, file.u64(40)?)?;
    reading.inflate()?;
    let mut recording = reading.recording;
    recording.sort();
    Ok(recording)
}

/// Bytes with checked access.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn slice(&self, at: u64, length: u64) -> Result<&'a [u8], PerfFileError> {
        let end = at.checked_add(length).and_then(|end| usize::try_from(end).ok());
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        end.and_then(|end| self.0.get(start..end))
            .ok_or(PerfFileError::Damaged {
                at,
                problem: "the file ends before",
            })
    }

    fn u64(&self, at: u64) -> Result<u64, PerfFileError> {
        let bytes = self.slice(at, 8)?;
        Ok(u64::from_ne_bytes(std::array::from_fn(|index| bytes[index])))
    }

    fn u32(&self, at: u64) -> Result<u32, PerfFileError> {
        let bytes = self.slice(at, 4)?;
        Ok(u32::from_ne_bytes(std::array::from_fn(|index| bytes[index])))
    }

    /// The bytes that an (offset, length) pair at `at` points to.
    fn section(&self, at: u64) -> Result<&'a [u8], PerfFileError> {
        self.slice(self.u64(at)?, self.u64(at + 8)?)
    }
}

/// The events: attributes and ids from their section, names from the feature section.
fn describe(file: &Bytes<'_>) -> Result<Vec<Described>, PerfFileError> {
    let entry_bytes = file.u64(16)?;
    let (attrs_at, attrs_bytes) = (file.u64(24)?, file.u64(32)?);
    if entry_bytes < ATTR_BYTES + 16 || attrs_bytes / entry_bytes > MAX_EVENTS {
        return Err(PerfFileError::Damaged {
            at: 16,
            problem: "the attributes of the events have no possible size",
        });
    }
    let mut described = Vec::new();
    for index in 0..attrs_bytes / entry_bytes {
        let at = attrs_at.saturating_add(index * entry_bytes);
        let attr = Bytes(file.slice(at, entry_bytes - 16)?);
        let ids = file.section(at.saturating_add(entry_bytes - 16))?;
        let (ids, _) = ids.as_chunks::<8>();
        described.push(Described {
            layout: layout(&attr)?,
            event: PerfEvent::named(&unnamed(&attr)?, period(&attr)?),
            ids: ids.iter().map(|id| u64::from_ne_bytes(*id)).collect(),
        });
    }
    if let Some(section) = feature(file, FEATURE_EVENT_NAMES)? {
        let names = event_names(&Bytes(section))?;
        for (described, name) in described.iter_mut().zip(names) {
            described.event = PerfEvent::named(&name, described.event.period);
        }
    }
    Ok(described)
}

fn layout(attr: &Bytes<'_>) -> Result<Layout, PerfFileError> {
    let optional = |at| attr.u64(at).unwrap_or(0);
    Ok(Layout {
        sample_type: attr.u64(24)?,
        read_format: attr.u64(32)?,
        branch_sample_type: optional(72),
        user_registers: optional(80),
        interrupt_registers: optional(96),
        trailer: attr.u64(40)? >> 18 & 1 != 0,
    })
}

/// A fixed period; with a frequency it varies.
fn period(attr: &Bytes<'_>) -> Result<Option<u64>, PerfFileError> {
    let is_frequency = attr.u64(40)? >> 10 & 1 != 0;
    Ok((!is_frequency)
        .then_some(attr.u64(16)?)
        .filter(|period| *period > 0))
}

/// A name for an event that the file does not name.
fn unnamed(attr: &Bytes<'_>) -> Result<String, PerfFileError> {
    let (kind, config) = (attr.u32(0)?, attr.u64(8)?);
    Ok(match (kind, config) {
        (1, 2) => "page-faults".to_owned(),
        (1, 5) => "minor-faults".to_owned(),
        (1, 6) => "major-faults".to_owned(),
        (1, 9) => "dummy".to_owned(),
        (4, config) => format!("r{config:x}"),
        (kind, config) => format!("event {kind}/{config:#x}"),
    })
}

/// The section of a feature; they follow the data in order of their bits.
fn feature<'a>(file: &Bytes<'a>, wanted: usize) -> Result<Option<&'a [u8]>, PerfFileError> {
    let bits = file.slice(72, FEATURE_BYTES as u64)?;
    let is_set = |bit: usize| bits[bit / 8] >> (bit % 8) & 1 != 0;
    if !is_set(wanted) {
        return Ok(None);
    }
    let before = (0..wanted).filter(|bit| is_set(*bit)).count() as u64;
    let table = file.u64(40)?.saturating_add(file.u64(48)?);
    file.section(table.saturating_add(16 * before)).map(Some)
}

/// Names in order of the attributes: count, size of an attribute; then attribute, number of ids, text, ids.
fn event_names(section: &Bytes<'_>) -> Result<Vec<String>, PerfFileError> {
    let (count, attr_bytes) = (section.u32(0)?, u64::from(section.u32(4)?));
    let mut at = 8_u64;
    let mut names = Vec::new();
    for _ in 0..u64::from(count).min(MAX_EVENTS) {
        at = at.saturating_add(attr_bytes);
        let (ids, text_bytes) = (u64::from(section.u32(at)?), u64::from(section.u32(at + 4)?));
        let text = section.slice(at + 8, text_bytes)?;
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        names.push(String::from_utf8_lossy(&text[..end]).into_owned());
        at = at.saturating_add(8 + text_bytes + 8 * ids);
    }
    Ok(names)
}

/// The records as they are taken.
struct Reading {
    layouts: Vec<Layout>,
    event_of_id: HashMap<u64, usize>,
    limits: PerfLimits,
    recording: PerfRecording,
    /// Compressed stretches in their order: one stream.
    compressed: Vec<u8>,
}

impl Reading {
    fn new(described: Vec<Described>, limits: PerfLimits) -> Self {
        let mut reading = Self {
            layouts: Vec::new(),
            event_of_id: HashMap::new(),
            limits,
            recording: PerfRecording::default(),
            compressed: Vec::new(),
        };
        for (index, described) in described.into_iter().enumerate() {
            reading
                .event_of_id
                .extend(described.ids.iter().map(|id| (*id, index)));
            reading.layouts.push(described.layout);
            reading.recording.events.push(described.event);
        }
        reading
    }

    /// Takes records in a row, which stand at byte `at` of the file.
    fn records(&mut self, mut bytes: &[u8], at: u64) -> Result<(), PerfFileError> {
        let begin = bytes.len();
        while let Some(raw) = Records::new(bytes).next() {
            let place = at + (begin - bytes.len()) as u64;
            let raw = raw.map_err(|_| PerfFileError::Damaged {
                at: place,
                problem: "a record has no possible size",
            })?;
            let mut length = RECORD_HEADER_BYTES + raw.body.len();
            match raw.kind {
                AUXTRACE => {
                    // Bytes of the auxiliary buffer follow, which the record's size leaves out.
                    let following = Bytes(raw.body).u64(0)?;
                    length = length.saturating_add(usize::try_from(following).unwrap_or(usize::MAX));
                }
                COMPRESSED => self.compressed.extend(raw.body),
                COMPRESSED2 => {
                    let body = Bytes(raw.body);
                    self.compressed.extend(body.slice(8, body.u64(0)?)?);
                }
                FIRST_USER_RECORD.. => {}
                _ => self.record(&raw)?,
            }
            bytes = bytes.get(length..).unwrap_or_default();
        }
        Ok(())
    }

    /// Takes the records that were compressed.
    fn inflate(&mut self) -> Result<(), PerfFileError> {
        let compressed = std::mem::take(&mut self.compressed);
        if compressed.is_empty() {
            return Ok(());
        }
        let damaged = |_| PerfFileError::Damaged {
            at: 0,
            problem: "its compressed part is not readable as zstd",
        };
        let limit = self.limits.bytes;
        let decoder = zstd::stream::read::Decoder::new(&compressed[..]).map_err(damaged)?;
        let mut inflated = Vec::new();
        let read = decoder.take(limit + 1).read_to_end(&mut inflated);
        // perf flushes the stream and never ends it.
        let cut = read
            .as_ref()
            .is_err_and(|error| error.kind() == std::io::ErrorKind::UnexpectedEof);
        if !cut {
            read.map_err(damaged)?;
        }
        if inflated.len() as u64 > limit {
            return Err(PerfFileError::TooLarge {
                what: "bytes after inflating",
                limit,
            });
        }
        self.records(&inflated, 0)
    }

    fn record(&mut self, raw: &record::RawRecord<'_>) -> Result<(), PerfFileError> {
        let Some(index) = self.event_of(raw) else {
            return Ok(());
        };
        // A record that cannot be understood is one sample less, not a damaged file.
        let Ok(record) = record::parse(raw, &self.layouts[index]) else {
            self.recording.lost += 1;
            return Ok(());
        };
        let change = match record {
            Record::Sample(sample) => return self.sample(&sample, index),
            Record::Lost { records } => {
                self.recording.lost += records;
                return Ok(());
            }
            Record::LostSamples { samples } => {
                self.recording.lost += samples;
                return Ok(());
            }
            other => change_of(other),
        };
        self.recording.changes.extend(change);
        Ok(())
    }

    /// The event of a record. Where samples begin with its id, other records end with it.
    fn event_of(&self, raw: &record::RawRecord<'_>) -> Option<usize> {
        let first = self.layouts.first()?;
        if self.layouts.len() == 1 || first.sample_type & sample_type::IDENTIFIER == 0 {
            return Some(0);
        }
        let id = if raw.kind == SAMPLE_RECORD {
            raw.body.first_chunk::<8>()
        } else {
            raw.body.last_chunk::<8>()
        };
        let id = id.map(|id| u64::from_ne_bytes(*id));
        // What perf itself puts in at the begin has no id.
        Some(id.and_then(|id| self.event_of_id.get(&id)).copied().unwrap_or(0))
    }

    fn sample(&mut self, sample: &record::Sample<'_>, index: usize) -> Result<(), PerfFileError> {
        let event = sample.id.and_then(|id| self.event_of_id.get(&id));
        let event = event.copied().unwrap_or(index);
        let (Some(time_ns), Some(pid), Some(address)) = (sample.time_ns, sample.pid, sample.address) else {
            self.recording.without_address += 1;
            return Ok(());
        };
        let is_store = match self.recording.events[event].access {
            PerfAccess::Loads => false,
            PerfAccess::Stores => true,
            PerfAccess::Either => sample.data_src.is_some_and(served::is_store),
        };
        let served = sample.data_src.filter(|_| !is_store).map(Served::of_data_src);
        let sample = PerfSample {
            time_ns,
            pid,
            address,
            is_store,
            served,
            event,
        };
        self.recording.add(sample, self.limits)
    }
}

fn change_of(record: Record<'_>) -> Option<TimedChange> {
    let text = |bytes| Arc::from(String::from_utf8_lossy(bytes).as_ref());
    match record {
        Record::Mmap {
            pid,
            start,
            size_bytes,
            offset_bytes,
            file,
            name,
            trailer,
        } => Some(TimedChange {
            time_ns: trailer.time_ns.unwrap_or(0),
            pid,
            change: ProcessChange::Mapped {
                start,
                size_bytes,
                offset_bytes,
                file: file.unwrap_or((0, 0)),
                name: text(name),
            },
        }),
        Record::Comm {
            pid,
            exec,
            name,
            trailer,
        } => Some(TimedChange {
            time_ns: trailer.time_ns.unwrap_or(0),
            pid,
            change: ProcessChange::Named {
                name: text(name),
                exec,
            },
        }),
        Record::Fork {
            pid,
            parent_pid,
            time_ns,
        } if pid != parent_pid => Some(TimedChange {
            time_ns,
            pid,
            change: ProcessChange::Forked { parent_pid },
        }),
        _ => None,
    }
}
