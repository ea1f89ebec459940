//! Records of a perf ring: bytes in, events out. Pure, and total: any bytes give records or an error.
//!
//! Layouts follow `enum perf_event_type` of `include/uapi/linux/perf_event.h`.

#[cfg(test)]
pub(crate) mod build;
mod fields;
mod layout;
mod sample;
#[cfg(test)]
mod tests;

pub use layout::Layout;
pub use sample::{Sample, sample_type};

use fields::Fields;

/// Bytes of a record's header: type, misc, size.
const HEADER_BYTES: usize = 8;
/// `PERF_RECORD_MISC_COMM_EXEC`: a name that came with a new program.
const MISC_COMM_EXEC: u16 = 1 << 13;
/// The low bits of `misc`: where the processor was.
const MISC_CPU_MODE: u16 = 7;
const MISC_KERNEL: u16 = 1;

pub(crate) mod kind {
    pub(crate) const MMAP: u32 = 1;
    pub(crate) const LOST: u32 = 2;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const THROTTLE: u32 = 5;
    pub(crate) const UNTHROTTLE: u32 = 6;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const AUX: u32 = 11;
    pub(crate) const ITRACE_START: u32 = 12;
    pub(crate) const LOST_SAMPLES: u32 = 13;
}

/// One record, not yet understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawRecord<'a> {
    /// `PERF_RECORD_*`.
    pub kind: u32,
    /// Flags.
    pub misc: u16,
    /// What follows the header.
    pub body: &'a [u8],
}

/// Bytes that are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A record says that it is shorter than its header or longer than what is there.
    #[error("a record of {size_bytes} bytes, where {available_bytes} are left")]
    Size {
        /// What it says.
        size_bytes: usize,
        /// What is there.
        available_bytes: usize,
    },
    /// A record ends before its fields do.
    #[error("a record of type {kind} ends before its fields do")]
    Short {
        /// `PERF_RECORD_*`.
        kind: u32,
    },
}

/// Who and when, as records that are no samples tell it at their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trailer {
    /// The event's clock, nanoseconds.
    pub time_ns: Option<u64>,
    /// The event's id.
    pub id: Option<u64>,
}

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// One sample.
    Sample(Sample<'a>),
    /// Records that found no room in the ring.
    Lost {
        /// How many since the last such record.
        records: u64,
    },
    /// Samples that the processor dropped.
    LostSamples {
        /// How many.
        samples: u64,
    },
    /// The kernel stopped an event because it took too much time, or started it again.
    Throttle {
        /// Whether it was stopped.
        stopped: bool,
        /// When, nanoseconds of the event's clock.
        time_ns: u64,
        /// The event.
        id: u64,
    },
    /// A mapping that is new.
    Mmap {
        /// Process.
        pid: u32,
        /// First byte.
        start: u64,
        /// Its length.
        size_bytes: u64,
        /// Offset of its begin in the file.
        offset_bytes: u64,
        /// Device (major << 32 | minor) and inode of the file, where the record tells them.
        file: Option<(u64, u64)>,
        /// Name as the kernel writes it.
        name: &'a [u8],
        /// When.
        trailer: Trailer,
    },
    /// A process has a new name.
    Comm {
        /// Process.
        pid: u32,
        /// Whether it also runs a new program, with a new address space.
        exec: bool,
        /// The name.
        name: &'a [u8],
        /// When.
        trailer: Trailer,
    },
    /// A process or thread begins.
    Fork {
        /// Process of the new thread.
        pid: u32,
        /// Process that made it.
        parent_pid: u32,
        /// When, nanoseconds of the event's clock.
        time_ns: u64,
    },
    /// A thread ends.
    Exit {
        /// Its process.
        pid: u32,
        /// The thread; equal to `pid` for the first one.
        tid: u32,
    },
    /// Bytes were added to the auxiliary buffer.
    Aux {
        /// Where they begin, counted since the buffer was made.
        offset: u64,
        /// How many.
        size_bytes: u64,
        /// `PERF_AUX_FLAG_*`; bit 0: some were dropped.
        flags: u64,
    },
    /// The auxiliary buffer begins to carry the accesses of a process.
    TraceStart {
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
    },
    /// A type that is not used here.
    Other,
}

/// Cuts bytes into records. After an error it ends, because what follows cannot be found.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    /// Over the bytes of a ring or of the data section of a file, in the byte order of this machine.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RawRecord<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let available = self.rest.len();
        if available == 0 {
            return None;
        }
        let Some(header) = self.rest.first_chunk::<HEADER_BYTES>() else {
            self.rest = &[];
            return Some(Err(RecordError::Size {
                size_bytes: HEADER_BYTES,
                available_bytes: available,
            }));
        };
        let [k0, k1, k2, k3, m0, m1, s0, s1] = *header;
        let size = usize::from(u16::from_ne_bytes([s0, s1]));
        if size < HEADER_BYTES || size > available {
            self.rest = &[];
            return Some(Err(RecordError::Size {
                size_bytes: size,
                available_bytes: available,
            }));
        }
        let (record, rest) = self.rest.split_at(size);
        self.rest = rest;
        Some(Ok(RawRecord {
            kind: u32::from_ne_bytes([k0, k1, k2, k3]),
            misc: u16::from_ne_bytes([m0, m1]),
            body: &record[HEADER_BYTES..],
        }))
    }
}

impl RawRecord<'_> {
    /// Whether the processor was in the kernel.
    pub fn in_kernel(&self) -> bool {
        self.misc & MISC_CPU_MODE == MISC_KERNEL
    }
}

/// What a record says, for events of one layout.
pub fn parse<'a>(raw: &RawRecord<'a>, layout: &Layout) -> Result<Record<'a>, RecordError> {
    let short = RecordError::Short { kind: raw.kind };
    parse_fields(raw, layout).ok_or(short)
}

fn parse_fields<'a>(raw: &RawRecord<'a>, layout: &Layout) -> Option<Record<'a>> {
    let mut fields = Fields::new(raw.body);
    let record = match raw.kind {
        kind::SAMPLE => Record::Sample(Sample::read(&mut fields, layout)?),
        kind::LOST => {
            fields.u64()?;
            Record::Lost {
                records: fields.u64()?,
            }
        }
        kind::LOST_SAMPLES => Record::LostSamples {
            samples: fields.u64()?,
        },
        kind::THROTTLE | kind::UNTHROTTLE => Record::Throttle {
            stopped: raw.kind == kind::THROTTLE,
            time_ns: fields.u64()?,
            id: fields.u64()?,
        },
        kind::MMAP | kind::MMAP2 => mmap(raw, layout)?,
        kind::COMM => comm(raw, layout)?,
        kind::FORK | kind::EXIT => task(raw.kind, &mut fields)?,
        kind::AUX => Record::Aux {
            offset: fields.u64()?,
            size_bytes: fields.u64()?,
            flags: fields.u64()?,
        },
        kind::ITRACE_START => Record::TraceStart {
            pid: fields.u32()?,
            tid: fields.u32()?,
        },
        _ => Record::Other,
    };
    Some(record)
}

fn task(kind: u32, fields: &mut Fields<'_>) -> Option<Record<'static>> {
    let (pid, parent_pid) = (fields.u32()?, fields.u32()?);
    let (tid, _parent_tid, time_ns) = (fields.u32()?, fields.u32()?, fields.u64()?);
    Some(if kind == kind::FORK {
        Record::Fork {
            pid,
            parent_pid,
            time_ns,
        }
    } else {
        Record::Exit { pid, tid }
    })
}

fn mmap<'a>(raw: &RawRecord<'a>, layout: &Layout) -> Option<Record<'a>> {
    let (body, trailer) = split_trailer(raw.body, layout)?;
    let mut fields = Fields::new(body);
    let (pid, _tid) = (fields.u32()?, fields.u32()?);
    let (start, size_bytes, offset_bytes) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let mut file = None;
    if raw.kind == kind::MMAP2 {
        let (major, minor, inode) = (fields.u32()?, fields.u32()?, fields.u64()?);
        let _generation = fields.u64()?;
        let _protection_and_flags = fields.u64()?;
        // With a build id in their place these fields name no file.
        let is_build_id = raw.misc & MISC_MMAP_BUILD_ID != 0;
        file = (!is_build_id).then_some((u64::from(major) << 32 | u64::from(minor), inode));
    }
    Some(Record::Mmap {
        pid,
        start,
        size_bytes,
        offset_bytes,
        file,
        name: fields.text(),
        trailer,
    })
}

/// `PERF_RECORD_MISC_MMAP_BUILD_ID`.
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;

fn comm<'a>(raw: &RawRecord<'a>, layout: &Layout) -> Option<Record<'a>> {
    let (body, trailer) = split_trailer(raw.body, layout)?;
    let mut fields = Fields::new(body);
    let (pid, _tid) = (fields.u32()?, fields.u32()?);
    Some(Record::Comm {
        pid,
        exec: raw.misc & MISC_COMM_EXEC != 0,
        name: fields.text(),
        trailer,
    })
}

/// Parts the identity of the event from the fields before it. In order: thread, time, id, stream id, CPU, identifier.
fn split_trailer<'a>(body: &'a [u8], layout: &Layout) -> Option<(&'a [u8], Trailer)> {
    if !layout.trailer {
        return Some((body, Trailer::default()));
    }
    let has = |bit: u64| layout.sample_type & bit != 0;
    let bits = [
        sample_type::TID,
        sample_type::TIME,
        sample_type::ID,
        sample_type::STREAM_ID,
        sample_type::CPU,
        sample_type::IDENTIFIER,
    ];
    let length = 8 * bits.iter().filter(|bit| has(**bit)).count();
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(length)?)?;
    let mut fields = Fields::new(trailer);
    let mut values = [None; 6];
    for (value, bit) in values.iter_mut().zip(bits) {
        if has(bit) {
            *value = Some(fields.u64()?);
        }
    }
    let trailer = Trailer {
        time_ns: values[1],
        id: values[5].or(values[2]),
    };
    Some((body, trailer))
}
