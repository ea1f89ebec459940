//! Touched pages a second for each policy on a synthetic trace: `cargo run --release --example speed -- PAGES INTERVALS`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement")]

use std::time::Instant;

use tierscope_engine::{
    HintTime, HotPageSelection, Memory, Pages, Params, Policy, Rows, Tpp, Trace, Watermarks,
    oracle_accesses, simulate,
};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let (pages, intervals): (u32, u32) = (
        arguments.next().unwrap_or(10_000_000),
        arguments.next().unwrap_or(12),
    );
    let trace = synthetic(pages, intervals);
    let touched = trace.touched();
    println!(
        "{} pages, {} touched over {} intervals",
        trace.pages(),
        touched,
        trace.intervals()
    );
    let started = Instant::now();
    let mut sum = 0_u64;
    for _ in 0..3 {
        sum += std::hint::black_box(trace.accesses());
    }
    println!(
        "read once: {:.3} s ({sum})",
        started.elapsed().as_secs_f64() / 3.0
    );
    let dram_units = u64::from(pages) / 2;
    let policies = [
        ("first-touch", Policy::FirstTouch),
        ("numa-balancing", Policy::NumaBalancing),
        (
            "hot-page-selection",
            Policy::HotPageSelection(HotPageSelection {
                threshold_s: 1.0,
                limit_units_per_s: 1e9,
                automatic_threshold: true,
                free_fast_path_units: dram_units / 16,
                allocation_demotes: false,
            }),
        ),
        (
            "autotiering",
            Policy::AutoTiering {
                reserve_units: dram_units / 100,
                refill_units: dram_units / 1000,
            },
        ),
        (
            "tpp",
            Policy::Tpp(Tpp {
                type_aware: false,
                decoupled: true,
                active_lru_filter: true,
                demotion_watermark: dram_units / 50,
            }),
        ),
    ];
    for (name, policy) in policies {
        let params = Params {
            policy,
            memory: Memory {
                dram_units,
                slow_units: u64::from(pages),
                swap: None,
                watermarks: Watermarks::of(dram_units),
            },
            offload: None,
            interval_s: 60.0,
            hint_time: HintTime::Expected,
            round_trip_intervals: [1, 10],
        };
        let started = Instant::now();
        let outcome = simulate(&trace, params).unwrap();
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{name}: {:.1} M touched pages/s, local {:.3}, promoted {}",
            touched as f64 / seconds / 1e6,
            outcome.local_ratio().unwrap(),
            outcome.total(|interval| interval.promoted.iter().sum())
        );
    }
    let started = Instant::now();
    let bound: f64 = oracle_accesses(&trace, dram_units).iter().sum();
    println!(
        "oracle: {:.1} M touched pages/s ({bound})",
        touched as f64 / started.elapsed().as_secs_f64() / 1e6
    );
}

/// Half of the pages are touched in each interval: a hot quarter always, the rest by chance.
fn synthetic(pages: u32, intervals: u32) -> Trace {
    let (mut interval, mut page, mut accesses) = (Vec::new(), Vec::new(), Vec::new());
    let mut random = 1_u64;
    for now in 0..intervals {
        for number in 0..pages {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let hot = number % 4 == 3;
            if now == 0 || hot || (random >> 33).is_multiple_of(3) {
                interval.push(now);
                page.push(number);
                accesses.push(if hot { 100 } else { 1 + (random >> 60) as u32 });
            }
        }
    }
    let n = pages as usize;
    let written = vec![false; page.len()];
    Trace::new(
        intervals as usize,
        Pages {
            kinds: &vec![0; n],
            units: &vec![1; n],
            first: &vec![0; n],
            last: &vec![intervals - 1; n],
        },
        Rows {
            interval: &interval,
            page: &page,
            accesses: &accesses,
            written: &written,
        },
    )
    .unwrap()
}
