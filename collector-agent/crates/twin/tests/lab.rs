//! The twin against recordings of real kernels (tests/data/kernel-lab): its own error.
//!
//! Inputs are what a recording says of its workload (sizes, popularity, mean operations per second, settings) and how fast
//! its scanner was; outputs are moves and slow accesses after the fill. Guests are too slow for their scanner to keep its
//! period, so its pass is an input: the one with which the twin marks as many pages per second as the kernel did.

use std::fmt::Write as _;

use tierscope_twin::fleet;
use tierscope_twin::laws::{GIB, Laws, PopulationLaw};

/// A recording: what goes in, and what came out.
struct Recording {
    name: &'static str,
    memory_mib: f64,
    ops_per_s: f64,
    scan_pass_s: f64,
    limit_mib_per_s: u64,
    hot_threshold_ms: f64,
    scan_period_max_ms: f64,
    watermark_scale_factor: u64,
    intervals: u32,
    shape: fn(&mut PopulationLaw, f64),
    measured: Figures,
}

/// Pages per second, and the share of slow accesses in the second half.
struct Figures {
    promoted_per_s: f64,
    demoted_per_s: f64,
    candidates_per_s: f64,
    marked_per_s: f64,
    slow_share: f64,
}

const RECORDINGS: [Recording; 4] = [
    Recording {
        name: "03-tiering-steady",
        memory_mib: 1200.0,
        ops_per_s: 99_842.0,
        scan_pass_s: 76.0,
        limit_mib_per_s: 65_536,
        hot_threshold_ms: 1000.0,
        scan_period_max_ms: 60_000.0,
        watermark_scale_factor: 10,
        intervals: 54,
        // Zipf over all 307,200 pages; the top is one page wide.
        shape: |law, _| {
            law.skew = 0.99;
            law.flat_top = 1.0 / 307_200.0;
        },
        measured: Figures {
            promoted_per_s: 108.0,
            demoted_per_s: 81.0,
            candidates_per_s: 146.0,
            marked_per_s: 2522.0,
            slow_share: 0.162,
        },
    },
    Recording {
        name: "04-pingpong",
        memory_mib: 700.0,
        ops_per_s: 42_820.0,
        scan_pass_s: 16.5,
        limit_mib_per_s: 65_536,
        hot_threshold_ms: 5000.0,
        scan_period_max_ms: 1000.0,
        watermark_scale_factor: 100,
        intervals: 79,
        shape: |law, _| law.active_share = 640.0 / 700.0,
        measured: Figures {
            promoted_per_s: 1444.0,
            demoted_per_s: 1433.0,
            candidates_per_s: 2150.0,
            marked_per_s: 2492.0,
            slow_share: 0.189,
        },
    },
    Recording {
        name: "05-ratelimited",
        memory_mib: 700.0,
        ops_per_s: 230_875.0,
        scan_pass_s: 12.5,
        limit_mib_per_s: 2,
        hot_threshold_ms: 5000.0,
        scan_period_max_ms: 1000.0,
        watermark_scale_factor: 100,
        intervals: 48,
        shape: |law, _| law.active_share = 640.0 / 700.0,
        measured: Figures {
            promoted_per_s: 247.0,
            demoted_per_s: 222.0,
            candidates_per_s: 2530.0,
            marked_per_s: 2865.0,
            slow_share: 0.195,
        },
    },
    Recording {
        name: "07b-phase-fastscan",
        memory_mib: 1250.0,
        ops_per_s: 50_518.0,
        scan_pass_s: 49.0,
        limit_mib_per_s: 65_536,
        hot_threshold_ms: 5000.0,
        scan_period_max_ms: 1000.0,
        watermark_scale_factor: 100,
        intervals: 68,
        // 250 MiB are hot, 5 % of the accesses go anywhere; every 40 s the next 250 MiB are.
        shape: |law, ops_per_s| {
            law.active_share = 0.2;
            let anywhere_s = 320_000.0 / (0.05 * ops_per_s);
            law.idle_revisit_s = (anywhere_s, anywhere_s);
            law.phase_s = 40.0;
            law.phase_step = 0.2;
        },
        measured: Figures {
            promoted_per_s: 1332.0,
            demoted_per_s: 1247.0,
            candidates_per_s: 1474.0,
            marked_per_s: 3619.0,
            slow_share: 0.544,
        },
    },
];

fn laws(recording: &Recording) -> Laws {
    let mut laws = Laws::parse(include_str!("lab.toml")).expect("laws of the guest");
    let all_gib = laws.hosts[0].dram_gib + laws.hosts[0].slow.as_ref().map_or(0.0, |slow| slow.gib);
    let gib = recording.memory_mib / 1024.0;
    laws.hosts[0].services[0].share = gib / all_gib;
    let service = &mut laws.services[0];
    service.capacity_ops_per_s_per_gib = recording.ops_per_s / gib;
    (recording.shape)(&mut service.populations[0], recording.ops_per_s);
    if let Some(settings) = laws.settings.get_mut("lab") {
        settings.promote_rate_limit_mib_per_s = recording.limit_mib_per_s;
        settings.hot_threshold_ms = recording.hot_threshold_ms;
        settings.scan_period_max_ms = recording.scan_period_max_ms;
        settings.watermark_scale_factor = recording.watermark_scale_factor;
    }
    laws.kernel_work.scanner_lag = recording.scan_pass_s / (recording.scan_period_max_ms / 1e3);
    laws
}

fn play(recording: &Recording) -> Figures {
    let laws = laws(recording);
    let seconds = f64::from(recording.intervals) * laws.clock.interval_s;
    let (mut first, mut slow, mut all) = (None, 0.0, 0.0);
    let host = fleet::run_host(&laws, 0, 1, recording.intervals, |host, interval| {
        first.get_or_insert_with(|| host.tally());
        if interval.number * 2 >= i64::from(recording.intervals) {
            slow += interval.services[0].accesses[0][1];
            all += interval.services[0].accesses[0].iter().sum::<f64>();
        }
    });
    let done = host.tally().since(&first.expect("an interval"));
    assert!(host.memory.dram.managed as f64 * 4096.0 < 0.64 * GIB);
    Figures {
        promoted_per_s: done.promoted_pages() as f64 / seconds,
        demoted_per_s: done.demoted() as f64 / seconds,
        candidates_per_s: done.candidates as f64 / seconds,
        marked_per_s: done.marked as f64 / seconds,
        slow_share: slow / all,
    }
}

#[test]
fn moves_and_slow_accesses_are_near_those_of_recorded_kernels() {
    let mut table = String::new();
    let mut worst = (0.0_f64, 0.0_f64);
    for recording in &RECORDINGS {
        let (twin, kernel) = (play(recording), &recording.measured);
        let line = [
            (twin.promoted_per_s, kernel.promoted_per_s),
            (twin.demoted_per_s, kernel.demoted_per_s),
            (twin.candidates_per_s, kernel.candidates_per_s),
            (twin.marked_per_s, kernel.marked_per_s),
        ]
        .map(|(twin, kernel)| format!("{twin:.0} / {kernel:.0}"))
        .join(" | ");
        let _ = writeln!(
            table,
            "| {} | {line} | {:.3} / {:.3} |",
            recording.name, twin.slow_share, kernel.slow_share
        );
        worst.0 = worst.0.max((twin.slow_share - kernel.slow_share).abs());
        worst.1 = worst
            .1
            .max((twin.promoted_per_s / kernel.promoted_per_s).ln().abs());
    }
    // docs/twin.md has this table.
    assert!(worst.0 < 0.03 && worst.1 < 1.0, "{worst:?}\n{table}");
}
