//! One record in a segment: `magic · length · crc32 · seq · payload`, little-endian. The checksum covers length,
//! sequence number and payload.

/// Marks the start of a record, so that reading can resume behind damage.
const MAGIC: [u8; 4] = *b"TSr1";
/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = 20;
/// Largest payload; a length beyond it is damage.
pub const MAX_RECORD_BYTES: usize = 4 << 20;

pub(crate) fn encode(seq: u64, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u32;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&checksum(length, seq, payload).to_le_bytes());
    bytes.extend_from_slice(&seq.to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

fn checksum(length: u32, seq: u64, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(&seq.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// The sequence number and the payload at the start of `bytes`, if a whole and sound record is there.
pub(crate) fn decode(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let length = word(4);
    if header[..4] != MAGIC || length as usize > MAX_RECORD_BYTES {
        return None;
    }
    let payload = rest.get(..length as usize)?;
    let seq = u64::from(word(12)) | u64::from(word(16)) << 32;
    (checksum(length, seq, payload) == word(8)).then_some((seq, payload))
}

/// Where the next record may start at or behind `from`.
pub(crate) fn find_start(bytes: &[u8], from: usize) -> Option<usize> {
    let tail = bytes.get(from..)?;
    tail.windows(MAGIC.len())
        .position(|window| window == MAGIC)
        .map(|position| from + position)
}
