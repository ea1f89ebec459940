//! Folds pages of one process for some intervals, and prints what an interval costs as one line of JSON: seconds on the
//! processor, so that other programs do not count.
//!
//! `cargo run --release -p tierscope-sample --example fold_bench [PAGES] [INTERVALS]`. Each interval lists every page,
//! a third of them active, a hundredth of them unmapped or mapped anew, as the walk of page tables does.

#![allow(clippy::print_stdout, reason = "its result is what it prints")]
#![allow(clippy::expect_used, reason = "without the clock there is no result")]

use std::sync::Arc;
use std::time::Duration;

use tierscope_sample::fold::{IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Granularity, PageKind};
use tierscope_sample::page_group::{
    PageGroup, PageGroupOptions, PageMapping, PageSize, PageState, TierIndex,
};
use tierscope_sample::vma_fold::ProcessKey;

/// Pages handed over at a time, as a reader of page tables does.
const CHUNK_PAGES: usize = 4096;
const PAGE_BYTES: u64 = 4096;
const START: u64 = 0x7f00_0000_0000;
const MINUTE_NS: i64 = 60_000_000_000;

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse::<u64>().ok());
    let pages = numbers.next().unwrap_or(10_000_000);
    let intervals = numbers.next().unwrap_or(12);
    let measured = Measured {
        backend: Backend::AbitWalk,
        granularity: Granularity::Page,
        interval_ns: MINUTE_NS,
        service: Arc::from("bench/pages"),
        group: Arc::from("program"),
    };
    let options = PageGroupOptions {
        tiers: vec![Arc::from("dram"), Arc::from("cxl")],
        ..PageGroupOptions::default()
    };
    let mut group = PageGroup::new(measured, options);
    let (mut slowest, mut total) = (Duration::ZERO, Duration::ZERO);
    let mut bytes_per_page = 0.0_f64;
    for interval in 0..intervals {
        let spent = fold(&mut group, pages, interval);
        if interval > 0 {
            slowest = slowest.max(spent);
            total += spent;
        }
        bytes_per_page = bytes_per_page.max(group.memory_bytes() as f64 / group.pages() as f64);
    }
    println!(
        "{{\"pages\": {pages}, \"intervals\": {intervals}, \"seconds_mean\": {:.4}, \"seconds_max\": {:.4}, \
         \"bytes_per_page\": {bytes_per_page:.2}}}",
        total.as_secs_f64() / (intervals - 1).max(1) as f64,
        slowest.as_secs_f64()
    );
}

/// Folds one interval; the time spent in the fold alone, without making up the pages.
fn fold(group: &mut PageGroup, pages: u64, interval: u64) -> Duration {
    let mapping = PageMapping {
        start: START,
        end: START + pages * PAGE_BYTES,
        kind: PageKind::Anon,
        name: Arc::from(""),
        device: 0,
        inode: 0,
        offset_bytes: 0,
    };
    let process = ProcessKey {
        pid: 1,
        start_time_ticks: 1,
    };
    let numbers = 0..pages;
    let states: Vec<_> = numbers
        .filter(|page| !spread(*page ^ (interval / 4) << 40).is_multiple_of(100))
        .map(|page| state(page, interval))
        .collect();
    let started = on_processor();
    for chunk in states.chunks(CHUNK_PAGES) {
        group.process(process, true).mapping(&mapping, chunk);
    }
    let end = IntervalEnd {
        wall_ns: (interval as i64 + 1) * MINUTE_NS,
        boottime_ns: None,
    };
    let folded = group.finish(end);
    let spent = on_processor().saturating_sub(started);
    assert!(!folded.rows.is_empty(), "every interval has rows");
    spent
}

/// Time that this thread was on a processor, to about a clock tick; it has one thread.
fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    let ns = first.and_then(|field| field.parse().ok());
    Duration::from_nanos(ns.expect("/proc/thread-self/schedstat begins with nanoseconds"))
}

fn state(page: u64, interval: u64) -> PageState {
    let mixed = spread(page ^ interval << 48);
    PageState {
        address: START + page * PAGE_BYTES,
        size: PageSize::Small4K,
        anon: true,
        tier: Some(TierIndex(u8::from(page.is_multiple_of(5)))),
        active: mixed.is_multiple_of(3),
        loads: 0,
        stores: 0,
    }
}

/// Spreads numbers, so that activity follows no pattern.
fn spread(number: u64) -> u64 {
    let mixed = (number ^ (number >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}
