//! Prints what a sample costs the agent: processor time of the sampling thread, by page faults at a steady rate.
//!
//! `cargo run --release -p tierscope-perf --example perf_cost [faults per second] [seconds]`
#![allow(clippy::print_stdout, reason = "the result")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tierscope_perf::{EventSet, PerfError, Sampler, SamplerOptions, Scope};
use tierscope_rootfs::Root;

const PAGE_BYTES: usize = 4096;
/// One allocation: large enough that each is mapped anew.
const MEMORY_BYTES: usize = 40 << 20;
/// Allocations that are kept: up to 256,000 pages in the table.
const KEPT: usize = 25;
/// Pages that are touched between two pauses.
const BATCH_PAGES: usize = 500;

fn main() -> Result<(), PerfError> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().ok());
    let faults_per_s: u64 = arguments.next().flatten().unwrap_or(50_000);
    let seconds: u64 = arguments.next().flatten().unwrap_or(5);
    let scope = Scope::Processes(vec![std::process::id()]);
    let options = SamplerOptions::new(&Root::live(), EventSet::page_faults(), scope)?;
    let mut sampler = Sampler::start(options)?;
    let mut table = sampler.new_table();
    sampler.swap(&mut table)?;

    let step = Duration::from_nanos(1_000_000_000 * BATCH_PAGES as u64 / faults_per_s.max(1));
    let began = Instant::now();
    let mut next = began;
    let mut kept = Vec::new();
    while began.elapsed() < Duration::from_secs(seconds) {
        let mut memory = vec![0_u8; MEMORY_BYTES];
        for batch in memory.chunks_mut(BATCH_PAGES * PAGE_BYTES) {
            for page in batch.chunks_mut(PAGE_BYTES) {
                page[0] = black_box(1);
            }
            next += step;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        if kept.len() == KEPT {
            kept.clear();
        }
        kept.push(memory);
    }
    let stats = sampler.swap(&mut table)?;
    let elapsed_s = stats.elapsed_ns as f64 / 1e9;
    println!("samples            {}", stats.samples_taken);
    println!("samples per second {:.0}", stats.samples_taken as f64 / elapsed_s);
    println!("lost               {}", stats.samples_lost);
    println!("pages              {}", table.pages());
    println!(
        "ns per sample      {:.0}",
        stats.cpu_ns as f64 / stats.samples_taken.max(1) as f64
    );
    println!(
        "share of a core    {:.2} %",
        100.0 * stats.cpu_ns as f64 / stats.elapsed_ns as f64
    );
    Ok(())
}
