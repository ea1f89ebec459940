//! Samples of memory accesses from the processor, by `perf_event_open`: Intel PEBS, AMD IBS, Arm SPE.
//!
//! What a sampler does and which of its parts were tried on a real processor: docs/method/perf.md. The parsers are
//! plain functions over bytes and never panic; [`parse_any`] runs all of them.

mod attr;
pub mod catalogue;
pub mod counting;
mod error;
pub mod groups;
pub mod ibs;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod kernel_headers;
mod options;
pub mod pmu;
pub mod probe;
pub mod record;
mod ring;
pub mod sampler;
pub mod served;
pub mod spe;
mod stats;
mod stream;
mod sys;
pub mod table;
mod tally;
mod worker;

pub use catalogue::{EventSet, EventSpec, Meaning, SamplerKind};
pub use error::PerfError;
pub use sampler::{Sampler, SamplerOptions, Scope};
pub use served::{Served, ServedLoads};
pub use stats::{EventStats, IntervalStats};
pub use table::{PageCount, SampleTable};

/// Runs every parser of this crate over the same bytes and gives the number of things understood. For seed corpora and
/// fuzzing: it must return, whatever the bytes are.
///
/// The first 8 bytes choose the layout of samples, the rest is parsed: as records, as an IBS payload, and as SPE packets.
pub fn parse_any(bytes: &[u8]) -> usize {
    let (choice, bytes) = bytes.split_at(bytes.len().min(8));
    let mut mask = [0; 8];
    mask[..choice.len()].copy_from_slice(choice);
    let mask = u64::from_le_bytes(mask);
    let layout = record::Layout {
        sample_type: mask,
        read_format: mask >> 32,
        branch_sample_type: mask >> 16,
        user_registers: mask >> 40,
        interrupt_registers: mask >> 48,
        trailer: mask & 1 == 0,
    };
    let records = record::Records::new(bytes).filter(|record| {
        record
            .as_ref()
            .is_ok_and(|raw| record::parse(raw, &layout).is_ok())
    });
    let packets = spe::Operations::new(bytes).count();
    records.count() + packets + usize::from(ibs::decode_op(bytes).is_some())
}
