//! Packets of Arm's Statistical Profiling Extension, as they stand in the auxiliary buffer of its events.
//!
//! Encoding: Arm Architecture Reference Manual, chapter D18; the same as in the kernel's
//! tools/perf/util/arm-spe-decoder. Packets of one operation follow each other and end with END or a time stamp.

/// Headers of one byte.
const PADDING: u8 = 0x00;
const END: u8 = 0x01;
const TIMESTAMP: u8 = 0x71;
/// Header bits 7:6 and 3:0.
const MASK_EVENTS: u8 = 0xcf;
const EVENTS: u8 = 0x42;
const DATA_SOURCE: u8 = 0x43;
/// Header bits 7:2.
const MASK_CONTEXT: u8 = 0xfc;
const CONTEXT: u8 = 0x64;
const OPERATION: u8 = 0x48;
const EXTENDED: u8 = 0x20;
/// Header bits 7:3; the low bits are the index.
const MASK_ADDRESS: u8 = 0xf8;
const ADDRESS: u8 = 0xb0;
const COUNTER: u8 = 0x98;
/// The second byte of an extended header that pads to a boundary.
const ALIGNMENT: u8 = 0x00;

const CLASS_MEMORY: u8 = 1;
const OPERATION_STORE: u8 = 1;
const ADDRESS_DATA_VIRTUAL: u8 = 2;
const ADDRESS_DATA_PHYSICAL: u8 = 3;
/// Bits 55:0 of an address; the highest byte carries tags and attributes.
const ADDRESS_MASK: u64 = (1 << 56) - 1;

/// One sampled operation that reached memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpeOperation {
    /// Whether it wrote; it read otherwise.
    pub store: bool,
    /// Virtual address of the data.
    pub virtual_address: Option<u64>,
    /// Physical address; only where the event asks for it.
    pub physical_address: Option<u64>,
    /// The context register: the process (in the kernel's numbering), where the kernel writes it.
    pub context: Option<u32>,
    /// Where a load found its data, in the processor's own code; Neoverse: 0xd remote, 0xe DRAM. None for stores.
    pub data_source: Option<u16>,
    /// Bit mask of what happened: bit 4 missed the last-level cache, bit 5 missed the TLB.
    pub events: u64,
    /// The processor's own clock, ticks.
    pub timestamp_ticks: Option<u64>,
}

/// One packet: its header byte (the second one of an extended header) and its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packet {
    Padding,
    End,
    Timestamp(u64),
    Events(u64),
    DataSource(u16),
    Context(u32),
    Operation { class: u8, payload: u8 },
    Address { index: u8, value: u64 },
    Counter,
}

/// Iterates over the operations in a stretch of an auxiliary buffer that begins at a packet.
///
/// Bytes that are no packet are passed over one by one, as after an overwritten begin; [`Operations::bad_bytes`] counts
/// them.
#[derive(Debug, Clone)]
pub struct Operations<'a> {
    rest: &'a [u8],
    consumed: usize,
    bad_bytes: usize,
}

impl<'a> Operations<'a> {
    /// Over the bytes of an auxiliary buffer.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            consumed: 0,
            bad_bytes: 0,
        }
    }

    /// Bytes so far that were no packet.
    pub fn bad_bytes(&self) -> usize {
        self.bad_bytes
    }

    fn packet(&mut self) -> Option<Packet> {
        loop {
            let (packet, length) = match decode(self.rest, self.consumed) {
                Decoded::Packet(packet, length) => (Some(packet), length),
                Decoded::Unknown => (None, 1),
                Decoded::Cut => {
                    self.rest = &[];
                    return None;
                }
            };
            self.rest = &self.rest[length..];
            self.consumed += length;
            match packet {
                Some(packet) => return Some(packet),
                None => self.bad_bytes += 1,
            }
        }
    }
}

impl Iterator for Operations<'_> {
    type Item = SpeOperation;

    fn next(&mut self) -> Option<SpeOperation> {
        let mut operation = SpeOperation::default();
        let mut is_memory = false;
        while let Some(packet) = self.packet() {
            match packet {
                Packet::End | Packet::Timestamp(_) => {
                    if let Packet::Timestamp(ticks) = packet {
                        operation.timestamp_ticks = Some(ticks);
                    }
                    if is_memory {
                        return Some(operation);
                    }
                    operation = SpeOperation::default();
                }
                Packet::Events(events) => operation.events = events,
                Packet::DataSource(source) => operation.data_source = Some(source),
                Packet::Context(context) => operation.context = Some(context),
                Packet::Operation { class, payload } => {
                    is_memory = class == CLASS_MEMORY;
                    operation.store = is_memory && payload & OPERATION_STORE != 0;
                }
                Packet::Address { index, value } => match index {
                    ADDRESS_DATA_VIRTUAL => operation.virtual_address = Some(value),
                    ADDRESS_DATA_PHYSICAL => operation.physical_address = Some(value),
                    _ => {}
                },
                Packet::Padding | Packet::Counter => {}
            }
        }
        None
    }
}

/// What stands at the begin of some bytes.
enum Decoded {
    /// A packet, and its length.
    Packet(Packet, usize),
    /// A byte that begins no packet.
    Unknown,
    /// The begin of a packet whose end is missing, or nothing.
    Cut,
}

/// The packet at the begin of `bytes`, which stand `position` bytes into the buffer.
fn decode(bytes: &[u8], position: usize) -> Decoded {
    let Some(&first) = bytes.first() else {
        return Decoded::Cut;
    };
    match first {
        PADDING => return Decoded::Packet(Packet::Padding, 1),
        END => return Decoded::Packet(Packet::End, 1),
        _ => {}
    }
    let is_extended = first & MASK_CONTEXT == EXTENDED;
    let header = match (is_extended, bytes.get(1)) {
        (false, _) => first,
        (true, Some(second)) => *second,
        (true, None) => return Decoded::Cut,
    };
    if is_extended && header == ALIGNMENT {
        return alignment(bytes, first, position);
    }
    let begin = if is_extended { 2 } else { 1 };
    let size = 1_usize << (header >> 4 & 3);
    let payload = bytes.get(begin..begin + size).map(little_endian);
    let index = (if is_extended { (first & 3) << 3 } else { 0 }) | header & 7;
    let packet: fn(u8, u64) -> Packet = if header & MASK_ADDRESS == ADDRESS {
        |index, payload| Packet::Address {
            index,
            value: address(index, payload),
        }
    } else if header & MASK_ADDRESS == COUNTER {
        |_, _| Packet::Counter
    } else if is_extended {
        return Decoded::Unknown;
    } else if first == TIMESTAMP {
        |_, payload| Packet::Timestamp(payload)
    } else if first & MASK_EVENTS == EVENTS {
        |_, payload| Packet::Events(payload)
    } else if first & MASK_EVENTS == DATA_SOURCE {
        |_, payload| Packet::DataSource(payload as u16)
    } else if first & MASK_CONTEXT == CONTEXT {
        |_, payload| Packet::Context(payload as u32)
    } else if first & MASK_CONTEXT == OPERATION {
        |index, payload| Packet::Operation {
            class: index & 3,
            payload: payload as u8,
        }
    } else {
        return Decoded::Unknown;
    };
    payload.map_or(Decoded::Cut, |payload| {
        Decoded::Packet(packet(index, payload), begin + size)
    })
}

/// Padding to a boundary of the buffer, in powers of two.
fn alignment(bytes: &[u8], first: u8, position: usize) -> Decoded {
    let boundary = 1_usize << ((first & 0xf) + 1);
    let length = boundary - position % boundary;
    if length < 2 {
        Decoded::Unknown
    } else if length > bytes.len() {
        Decoded::Cut
    } else {
        Decoded::Packet(Packet::Padding, length)
    }
}

/// The address without its tags; virtual addresses of the kernel get their highest byte back.
fn address(index: u8, payload: u64) -> u64 {
    let value = payload & ADDRESS_MASK;
    let is_kernel = index == ADDRESS_DATA_VIRTUAL && value >> 52 & 0xf == 0xf;
    if is_kernel { value | !ADDRESS_MASK } else { value }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn address_packet(index: u8, value: u64) -> Vec<u8> {
        [vec![ADDRESS | index], value.to_le_bytes().to_vec()].concat()
    }

    fn load() -> Vec<u8> {
        [
            vec![CONTEXT, 0x39, 0x30, 0, 0],
            // Events of two bytes: the size bits are 01.
            vec![0x52, 0x16, 0x00],
            vec![OPERATION | CLASS_MEMORY, 0],
            vec![COUNTER, 0x20, 0x01],
            // An instruction address, which is not the data's.
            address_packet(0, 0x40_1000),
            // The highest byte is a tag.
            address_packet(2, 0xaa00_7f12_3456_7890),
            address_packet(3, 0x8000_0012_3456_7000),
            vec![DATA_SOURCE, 0x0e],
            vec![TIMESTAMP, 1, 2, 0, 0, 0, 0, 0, 0],
        ]
        .concat()
    }

    #[test]
    fn a_load_is_put_together_from_its_packets() {
        let bytes = load();
        let mut operations = Operations::new(&bytes);
        assert_eq!(
            operations.next().unwrap(),
            SpeOperation {
                store: false,
                virtual_address: Some(0x7f12_3456_7890),
                physical_address: Some(0x12_3456_7000),
                context: Some(12345),
                data_source: Some(0xe),
                events: 0x16,
                timestamp_ticks: Some(0x201),
            }
        );
        assert_eq!((operations.next(), operations.bad_bytes()), (None, 0));
    }

    #[test]
    fn stores_are_told_and_branches_left_out() {
        let branch = [vec![OPERATION | 2, 1], address_packet(1, 0x40_2000), vec![END]].concat();
        let store = [
            vec![OPERATION | CLASS_MEMORY, OPERATION_STORE],
            address_packet(2, 0x00ff_8000_0000_1000),
            vec![END],
        ]
        .concat();
        let bytes = [branch, vec![PADDING; 5], store].concat();
        let found: Vec<SpeOperation> = Operations::new(&bytes).collect();
        assert_eq!(found.len(), 1);
        assert!(found[0].store && found[0].context.is_none());
        assert_eq!(found[0].virtual_address, Some(0xffff_8000_0000_1000));
    }

    #[test]
    fn padding_to_a_boundary_and_extended_headers_are_understood() {
        let mut bytes = vec![PADDING; 3];
        // Up to a boundary of 16 bytes: 13 bytes from position 3.
        bytes.extend([EXTENDED | 3, ALIGNMENT]);
        bytes.extend([0xff; 11]);
        // An address with index 2 in an extended header.
        bytes.extend([EXTENDED, ADDRESS | 2]);
        bytes.extend(0x7000_u64.to_le_bytes());
        bytes.extend([OPERATION | CLASS_MEMORY, 0, END]);
        let mut operations = Operations::new(&bytes);
        assert_eq!(operations.next().unwrap().virtual_address, Some(0x7000));
        assert_eq!(operations.bad_bytes(), 0);
    }

    #[test]
    fn bytes_that_are_no_packet_are_passed_over() {
        let bytes = [vec![0xff, 0xfe], load()].concat();
        let mut operations = Operations::new(&bytes);
        assert!(operations.next().is_some());
        assert_eq!(operations.bad_bytes(), 2);
    }

    #[test]
    fn a_cut_packet_ends_the_stream() {
        let bytes = load();
        for length in 0..bytes.len() {
            let found = Operations::new(&bytes[..length]).count();
            assert_eq!(found, 0, "at {length}");
        }
    }
}
