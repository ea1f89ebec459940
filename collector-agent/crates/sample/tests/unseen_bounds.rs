//! Bounds of active memory against the truth, on pages whose accesses are drawn and then sampled.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Arc;

use tierscope_sample::fold::{IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Granularity, HeatRow, PageKind, WINDOWS};
use tierscope_sample::page_group::{Census, PageGroup, PageGroupOptions, PageMapping, PageSize, PageState};
use tierscope_sample::vma_fold::ProcessKey;

const PAGES: usize = 4000;
const PAGE_BYTES: u64 = 4096;
const MINUTES: usize = 12;
const MINUTE_NS: i64 = 60_000_000_000;

/// Numbers in 0..1 from a seed (splitmix64).
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn poisson(&mut self, mean: f64) -> u32 {
        let (mut left, mut count) = (mean, 0);
        loop {
            left += (1.0 - self.uniform()).ln();
            if left < 0.0 {
                return count;
            }
            count += 1;
        }
    }
}

/// Accesses of page `at` in a minute.
type Law = fn(at: usize) -> f64;

const LAWS: [(&str, Law); 4] = [
    ("zipf", |at| 4000.0 / (at as f64 + 1.0)),
    ("alike", |_| 3.0),
    ("two kinds", |at| if at < 400 { 200.0 } else { 0.02 }),
    ("mostly idle", |at| if at < 40 { 400.0 } else { 0.0 }),
];

/// The newest row after some minutes, and the bytes that were accessed in each window.
fn run(law: Law, period: f64, write_share: f64, seed: u64) -> (HeatRow, [i64; WINDOWS.len()]) {
    let mut draws = Draws(seed);
    let measured = Measured {
        backend: Backend::Pebs,
        granularity: Granularity::Page,
        interval_ns: MINUTE_NS,
        service: Arc::from("a/b"),
        group: Arc::from("c"),
    };
    let options = PageGroupOptions {
        census: Census::Seen,
        ..PageGroupOptions::default()
    };
    let mut group = PageGroup::new(measured, options);
    let mapping = PageMapping {
        start: 1 << 40,
        end: (1 << 40) + PAGES as u64 * PAGE_BYTES,
        kind: PageKind::Anon,
        name: Arc::from(""),
        device: 0,
        inode: 0,
        offset_bytes: 0,
    };
    let (mut last, mut row) = (vec![None; PAGES], None);
    for minute in 0..MINUTES {
        let mut hits = Vec::new();
        for (at, last) in last.iter_mut().enumerate() {
            let mean = law(at);
            let (loads, stores) = (
                draws.poisson(mean * (1.0 - write_share)),
                draws.poisson(mean * write_share),
            );
            if loads + stores > 0 {
                *last = Some(minute);
            }
            let mut sample =
                |events: u32| (0..events).filter(|_| draws.uniform() < 1.0 / period).count() as u32;
            let (loads, stores) = (sample(loads), sample(stores));
            if loads + stores > 0 {
                hits.push(PageState {
                    address: mapping.start + at as u64 * PAGE_BYTES,
                    size: PageSize::Small4K,
                    anon: true,
                    tier: None,
                    active: true,
                    loads,
                    stores,
                });
            }
        }
        let process = ProcessKey {
            pid: 1,
            start_time_ticks: 1,
        };
        let mut reading = group.process(process, true);
        reading.mapping(&mapping, &hits);
        reading.resident(PageKind::Anon, (PAGES as u64 * PAGE_BYTES) as i64);
        reading.period(period);
        reading.duty(1.0);
        let end = IntervalEnd {
            wall_ns: (minute as i64 + 1) * MINUTE_NS,
            boottime_ns: None,
        };
        row = group.finish(end).rows.pop();
    }
    let active = WINDOWS.map(|window| {
        let since = MINUTES - window as usize;
        let pages = last.iter().flatten().filter(|minute| **minute >= since).count();
        pages as i64 * PAGE_BYTES as i64
    });
    (row.unwrap(), active)
}

#[test]
fn accessed_memory_lies_within_the_bounds_whatever_its_spread() {
    let (mut held, mut tried) = (0, 0);
    for (name, law) in LAWS {
        for period in [10.0, 200.0] {
            for write_share in [0.0, 0.3] {
                for seed in 0..4 {
                    let (row, active) = run(law, period, write_share, seed);
                    for (window, bytes) in active.into_iter().enumerate() {
                        let (lo, hi) = (row.active_lo_bytes[window], row.active_hi_bytes[window]);
                        assert!(lo <= bytes, "{name}: what was seen was accessed");
                        held += u32::from(bytes <= hi);
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(f64::from(held) >= 0.95 * f64::from(tried), "{held} of {tried}");
}

#[test]
fn memory_without_accesses_is_still_told_from_the_rest() {
    let (row, active) = run(LAWS[3].1, 10.0, 0.0, 1);
    assert!(
        row.active_hi_bytes[3] < active[3] + row.resident_bytes / 50,
        "no page has one sample: few can have been missed, {:?}",
        row.active_hi_bytes
    );
}

#[test]
fn pages_of_few_accesses_may_all_have_been_missed() {
    let (row, active) = run(LAWS[1].1, 200.0, 0.0, 1);
    assert!(2 * row.active_lo_bytes[1] < active[1], "most were missed");
    assert_eq!(row.active_hi_bytes[1], row.resident_bytes);
}
