//! Finds out by doing whether an event set delivers samples: on memory of this process itself.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tierscope_rootfs::Root;

use crate::catalogue::EventSet;
use crate::error::PerfError;
use crate::sampler::{Sampler, SamplerOptions, Scope};

/// Memory that is walked through: larger than the last-level cache of most processors.
const MEMORY_BYTES: usize = 64 << 20;
const CACHE_LINE_BYTES: usize = 64;
/// How long samples are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens the events on this process and walks through fresh memory until a sample of it comes. Costs some tens of
/// milliseconds, and 64 MiB for their duration.
///
/// # Errors
/// Why the events cannot be opened, or [`PerfError::NoSamples`].
pub fn probe(root: &Root, events: &EventSet) -> Result<(), PerfError> {
    let scope = Scope::Processes(vec![std::process::id()]);
    let mut options = SamplerOptions::new(root, events.clone(), scope)?;
    options.drain_interval = Duration::from_millis(5);
    let mut sampler = Sampler::start(options)?;
    let mut table = sampler.new_table();
    let began = Instant::now();
    let mut accesses = 0;
    while began.elapsed() < PATIENCE {
        let mut memory = vec![0_u8; MEMORY_BYTES];
        let address = memory.as_ptr() as u64;
        accesses += walk(&mut memory);
        let stats = sampler.swap(&mut table)?;
        let range = address..address + MEMORY_BYTES as u64;
        let pages = table.pages_of(std::process::id());
        if pages.iter().any(|(page, _)| range.contains(page)) && stats.samples_taken > 0 {
            return Ok(());
        }
    }
    Err(PerfError::NoSamples { accesses })
}

/// Stores to each page, in steps that no prefetcher follows, then loads each cache line so.
fn walk(memory: &mut [u8]) -> usize {
    // Odd multipliers go through all places of a power of two.
    let pages = memory.len() / rustix::param::page_size();
    for place in 0..pages {
        let page = place.wrapping_mul(0x9e3b) % pages;
        memory[page * rustix::param::page_size()] = black_box(1);
    }
    let lines = memory.len() / CACHE_LINE_BYTES;
    let mut sum = 0_u64;
    for place in 0..lines {
        let line = place.wrapping_mul(0x9_e377_9b97) % lines;
        sum += u64::from(black_box(memory[line * CACHE_LINE_BYTES]));
    }
    black_box(sum);
    pages + lines
}
