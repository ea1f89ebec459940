//! What AMD's instruction-based sampling puts into the raw part of a sample: a copy of its registers.
//!
//! Layout: arch/x86/events/amd/ibs.c; registers: AMD64 Architecture Programmer's Manual, volume 2, chapter 13. Kernels
//! before 6.1 tell loads from stores only here.

/// `IbsOpData3` and `IbsOpData2`.
const LOAD: u64 = 1;
const STORE: u64 = 1 << 1;
const DATA_CACHE_MISS: u64 = 1 << 7;
const LINEAR_VALID: u64 = 1 << 17;
const PHYSICAL_VALID: u64 = 1 << 18;
const MISS_LATENCY_SHIFT: u32 = 32;
const REMOTE_NODE: u64 = 1 << 4;
/// Registers of an op in order: control, instruction, data, data 2, data 3, linear and physical address.
const REGISTERS: usize = 7;
/// What the capabilities word says about wide data sources (`IBS_CAPS_ZEN4`).
const CAPABILITY_WIDE_SOURCE: u32 = 1 << 11;

/// One sampled op that reached memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "bits of registers")]
pub struct IbsOp {
    /// Whether it read.
    pub load: bool,
    /// Whether it wrote.
    pub store: bool,
    /// Virtual address; `None` where the processor had none.
    pub linear_address: Option<u64>,
    /// Physical address.
    pub physical_address: Option<u64>,
    /// Whether the data was not in the first-level cache.
    pub cache_miss: bool,
    /// Cycles until the data came; 0 for hits and stores.
    pub miss_latency_cycles: u16,
    /// `DataSrc`: 2 near cache, 3 DRAM, 7 I/O, 8 extension memory (CXL). Loads alone have one.
    pub data_source: u8,
    /// Whether the data came from another node.
    pub remote: bool,
}

/// Decodes the raw part of an IBS op sample: a word of capabilities, then the registers. `None` where it is too short, or
/// where the op neither read nor wrote memory.
pub fn decode_op(raw: &[u8]) -> Option<IbsOp> {
    let (capabilities, registers) = raw.split_first_chunk::<4>()?;
    let capabilities = u32::from_ne_bytes(*capabilities);
    let mut values = [0; REGISTERS];
    let (chunks, _padding) = registers.as_chunks::<8>();
    let chunks = chunks.get(..REGISTERS)?;
    for (value, chunk) in values.iter_mut().zip(chunks) {
        *value = u64::from_ne_bytes(*chunk);
    }
    let [_control, _instruction, _data, data2, data3, linear, physical] = values;
    if data3 & (LOAD | STORE) == 0 {
        return None;
    }
    let low = data2 & 7;
    let high = if capabilities & CAPABILITY_WIDE_SOURCE == 0 {
        0
    } else {
        (data2 >> 6 & 3) << 3
    };
    Some(IbsOp {
        load: data3 & LOAD != 0,
        store: data3 & STORE != 0,
        linear_address: (data3 & LINEAR_VALID != 0).then_some(linear),
        physical_address: (data3 & PHYSICAL_VALID != 0).then_some(physical),
        cache_miss: data3 & DATA_CACHE_MISS != 0,
        miss_latency_cycles: (data3 >> MISS_LATENCY_SHIFT) as u16,
        data_source: (low | high) as u8,
        remote: data2 & REMOTE_NODE != 0,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn raw(capabilities: u32, registers: &[u64]) -> Vec<u8> {
        let mut bytes = capabilities.to_ne_bytes().to_vec();
        for register in registers {
            bytes.extend(register.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn a_load_that_missed_has_its_addresses_and_source() {
        let data3 = LOAD | DATA_CACHE_MISS | LINEAR_VALID | PHYSICAL_VALID | 417 << MISS_LATENCY_SHIFT;
        // Source 8 = high bits 1, low bits 0: extension memory, on another node.
        let data2 = 1 << 6 | REMOTE_NODE;
        let registers = [1, 2, 3, data2, data3, 0x7f00_1234_5678, 0x9_8765_4000];
        let op = decode_op(&raw(CAPABILITY_WIDE_SOURCE, &registers)).unwrap();
        assert_eq!(
            op,
            IbsOp {
                load: true,
                store: false,
                linear_address: Some(0x7f00_1234_5678),
                physical_address: Some(0x9_8765_4000),
                cache_miss: true,
                miss_latency_cycles: 417,
                data_source: 8,
                remote: true,
            }
        );
        let narrow = decode_op(&raw(0, &registers)).unwrap();
        assert_eq!(narrow.data_source, 0);
    }

    #[test]
    fn a_store_without_valid_addresses_has_none() {
        let op = decode_op(&raw(0, &[0, 0, 0, 3, STORE, 77, 88, 99])).unwrap();
        assert!(op.store && !op.load);
        assert_eq!((op.linear_address, op.physical_address), (None, None));
    }

    #[test]
    fn ops_without_memory_and_short_payloads_are_none() {
        assert_eq!(decode_op(&raw(0, &[0; 7])), None);
        assert_eq!(decode_op(&raw(0, &[0, 0, 0, 0, LOAD, 1])), None);
        assert_eq!(decode_op(&[1, 2]), None);
    }
}
