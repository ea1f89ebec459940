//! Sealing a content into compressed batches within the size limits, and opening a batch again.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, Read as _};
use std::sync::Arc;

use prost::Message as _;
use zstd::bulk::Compressor;

use crate::layout::HASH_BYTES;
use crate::strings::StringTable;
use crate::{
    Content, Layout, SCHEMA_VERSION, SelfReport, WireError, counters, heat, inventory, page_samples, proto,
    tiles,
};

/// Largest compressed batch.
pub const MAX_BATCH_BYTES: usize = 1 << 20;
/// Largest batch before compression.
pub const MAX_INFLATED_BYTES: usize = 8 << 20;
/// Small tables, and within a few per cent of the slower levels on difference-coded counters.
const ZSTD_LEVEL: i32 = 1;

/// Where the data of a batch comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Measured on this host now.
    Live,
    /// A recording made elsewhere, at its own time.
    Import,
    /// A demonstration or load test.
    Simulated,
}

/// Identity of a batch and its clocks at sealing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Given at enrolment.
    pub host_id: String,
    /// One life of one spool.
    pub stream_id: [u8; 16],
    /// Sequence number of the first batch that is sealed with this header.
    pub seq: u64,
    /// Of the kernel that measured; "" where unknown.
    pub boot_id: String,
    /// Semantic version.
    pub agent_version: String,
    /// Where the data comes from.
    pub origin: Origin,
    /// `CLOCK_REALTIME` at sealing.
    pub sealed_wall_ns: i64,
    /// `CLOCK_BOOTTIME` at sealing; `None` where unknown.
    pub sealed_boottime_ns: Option<i64>,
}

/// A compressed batch, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Its sequence number.
    pub seq: u64,
    /// The zstd frame.
    pub body: Vec<u8>,
    /// Size before compression.
    pub inflated_bytes: usize,
}

/// Seals the batches of one stream. Remembers which layouts the stream has carried.
#[derive(Debug, Default)]
pub struct Sealer {
    sent: HashSet<[u8; HASH_BYTES]>,
}

impl Sealer {
    /// Encodes `content` into as few batches as fit the limits, numbered from `header.seq` on. A layout goes
    /// into the first batch of this sealer that uses it.
    ///
    /// Fails with [`WireError::TooLarge`] when a single item exceeds a batch.
    pub fn seal(&mut self, content: Content, header: &Header) -> Result<Vec<Sealed>, WireError> {
        let mut sealed = Vec::new();
        // The parts still to be sealed, the next one last.
        let mut parts = vec![content];
        while let Some(mut part) = parts.pop() {
            let seq = header.seq + sealed.len() as u64;
            match self.seal_one(&part, header, seq)? {
                Ok(batch) => sealed.push(batch),
                Err(_) if part.items() > 1 => {
                    let rest = part.split();
                    parts.push(rest);
                    parts.push(part);
                }
                Err(bytes) => {
                    return Err(WireError::TooLarge {
                        what: part.kind_of_first(),
                        bytes,
                    });
                }
            }
        }
        Ok(sealed)
    }

    /// One batch, or its size when that exceeds a limit.
    fn seal_one(
        &mut self,
        part: &Content,
        header: &Header,
        seq: u64,
    ) -> Result<Result<Sealed, usize>, WireError> {
        let layouts = self.layouts_for(part);
        let message = encode(part, &layouts, header, seq);
        let inflated_bytes = message.encoded_len();
        if inflated_bytes > MAX_INFLATED_BYTES {
            return Ok(Err(inflated_bytes));
        }
        let body = deflate(&message.encode_to_vec()).map_err(WireError::Deflate)?;
        if body.len() > MAX_BATCH_BYTES {
            return Ok(Err(body.len()));
        }
        self.sent.extend(layouts.iter().map(|layout| layout.hash()));
        Ok(Ok(Sealed {
            seq,
            body,
            inflated_bytes,
        }))
    }

    /// The layouts that `part` must carry: those asked for, and those that it is the first to use.
    fn layouts_for(&self, part: &Content) -> Vec<Arc<Layout>> {
        let mut layouts: Vec<Arc<Layout>> = Vec::new();
        let new = part
            .counters
            .iter()
            .map(|row| &row.layout)
            .filter(|layout| !self.sent.contains(&layout.hash()));
        for layout in part.layouts.iter().chain(new) {
            if layouts.iter().all(|known| known.hash() != layout.hash()) {
                layouts.push(Arc::clone(layout));
            }
        }
        layouts
    }
}

thread_local! {
    /// Kept for each thread: to make its tables costs more than to deflate a batch.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

pub(crate) fn deflate(message: &[u8]) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(ZSTD_LEVEL)?),
        };
        compressor.compress(message)
    })
}

fn encode(part: &Content, layouts: &[Arc<Layout>], header: &Header, seq: u64) -> proto::Batch {
    let mut strings = StringTable::new();
    let heat = heat::encode(&part.heat, &mut strings);
    let gaps = heat::encode_gaps(&part.gaps, &mut strings);
    let tile_epochs = part
        .tile_epochs
        .iter()
        .map(|epoch| tiles::encode_epoch(epoch, &mut strings))
        .collect();
    let page_samples = part
        .page_samples
        .iter()
        .map(|sample| page_samples::encode(sample, &mut strings))
        .collect();
    proto::Batch {
        schema_version: SCHEMA_VERSION,
        host_id: header.host_id.clone(),
        stream_id: header.stream_id.to_vec(),
        seq,
        boot_id: header.boot_id.clone(),
        agent_version: header.agent_version.clone(),
        origin: (match header.origin {
            Origin::Live => proto::Origin::Live,
            Origin::Import => proto::Origin::Import,
            Origin::Simulated => proto::Origin::Simulated,
        }) as i32,
        sealed_wall_ns: header.sealed_wall_ns,
        sealed_boottime_ns: header.sealed_boottime_ns.unwrap_or(0),
        inventory: part.inventory.as_ref().map(inventory::encode),
        layouts: layouts.iter().map(|layout| layout.to_proto()).collect(),
        counters: counters::encode(&part.counters, &header.boot_id),
        heat,
        gaps,
        tile_epochs,
        tile_columns: part.tile_columns.iter().map(tiles::encode_column).collect(),
        page_samples,
        self_: part.self_report.as_ref().map(SelfReport::to_proto),
        strings: strings.into_texts(),
    }
}

/// The hashes of the layouts that the counters of a compressed batch follow.
pub fn layouts_used(body: &[u8]) -> Result<Vec<Vec<u8>>, WireError> {
    let batch = proto::Batch::decode(inflate(body)?.as_slice())?;
    let mut hashes: Vec<Vec<u8>> = batch
        .counters
        .into_iter()
        .map(|block| block.layout_hash)
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

/// Inflates a zstd frame, refusing to go beyond the limit.
pub fn inflate(body: &[u8]) -> Result<Vec<u8>, WireError> {
    let decoder = zstd::stream::read::Decoder::with_buffer(body).map_err(WireError::Inflate)?;
    let mut message = Vec::new();
    let limit = MAX_INFLATED_BYTES as u64;
    decoder
        .take(limit + 1)
        .read_to_end(&mut message)
        .map_err(WireError::Inflate)?;
    if message.len() as u64 > limit {
        return Err(WireError::Inflate(std::io::Error::other(format!(
            "it holds more than {limit} bytes"
        ))));
    }
    Ok(message)
}
