//! The back end on the running kernel; skipped, with the reason printed, where DAMON cannot be had.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::heat::backend::DEFAULT_RSS_LIMIT_BYTES;
use tierscope_damon::session::Guard;
use tierscope_sample::heat::Granularity;

const INTERVAL_NS: i64 = 10_000_000_000;
const PAGE: usize = PAGE_BYTES as usize;
/// 32 MiB, of which the first quarter is touched.
const PAGES: usize = 8192;

fn end() -> IntervalEnd {
    IntervalEnd {
        wall_ns: clocks::wall_ns(),
        boottime_ns: Some(clocks::boottime_ns()),
    }
}

fn session(directory: &std::path::Path) -> Option<Session> {
    let guard = Guard {
        directory: directory.to_owned(),
        watchdog: None,
    };
    Session::begin(&Root::live(), &guard)
        .inspect_err(|error| {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
        })
        .ok()
}

fn settings() -> HeatSettings {
    HeatSettings {
        interval_ns: INTERVAL_NS,
        rss_limit_bytes: DEFAULT_RSS_LIMIT_BYTES,
        tier: Some(Arc::from("dram")),
        epoch_seed: 7,
        sampling: crate::heat::backend::SamplingSettings::default(),
    }
}

/// Rounds of a back end while a thread touches the first quarter of `PAGES` pages again and again.
fn rounds_beside_a_toucher(count: usize, backend: impl FnOnce() -> DamonPages) -> Vec<HeatRound> {
    let processes = [HeatProcess {
        key: process_key(&Root::live(), std::process::id()).unwrap(),
        service: Arc::from("host/shop"),
        group: Arc::from("server"),
    }];
    let ended = AtomicBool::new(false);
    let mut rounds = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut memory = vec![1_u8; PAGES * PAGE];
            while !ended.load(Ordering::Relaxed) {
                for page in memory.chunks_mut(PAGE).take(PAGES / 4) {
                    page[0] = black_box(page[0].wrapping_add(1));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        std::thread::sleep(Duration::from_secs(1));
        let mut backend = backend();
        for _ in 0..count {
            rounds.push(backend.collect(&processes, end()));
            std::thread::sleep(Duration::from_nanos(INTERVAL_NS.unsigned_abs()));
        }
        ended.store(true, Ordering::Relaxed);
    });
    rounds
}

#[test]
fn a_panel_of_this_process_shows_how_much_of_it_is_touched() {
    let lock = std::fs::File::create("/tmp/tierscope-damon.lock").unwrap();
    lock.lock().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let Some(session) = session(directory.path()) else {
        return;
    };
    let rounds = rounds_beside_a_toucher(3, || {
        DamonPages::new(&Root::live(), &settings(), NamePolicy::plain(), session, 500)
    });
    let rows = |round: usize| {
        let rows = rounds[round].folded.rows.iter();
        rows.filter(|row| row.kind == PageKind::Anon)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (rounds[2].measured, rounds[2].skipped.len()),
        (1, 0),
        "{:?}",
        rounds[2].skipped
    );
    assert!(
        rows(0).iter().all(|row| row.validity & 1 == 0),
        "a first visit ends no interval"
    );
    let row = rows(2).remove(0);
    assert_eq!(
        (row.backend, row.granularity),
        (Backend::DamonPages, Granularity::Page)
    );
    assert!(row.sampled_pages.unwrap() > 200 && row.samples.is_none());
    let share = row.age_bytes[0] as f64 / row.resident_bytes as f64;
    let _ = writeln!(
        std::io::stderr(),
        "{:.3} of {} bytes active, on {:?} pages; agent {} us, kernel {} us",
        share,
        row.resident_bytes,
        row.sampled_pages,
        rounds[2].cpu_ns / 1000,
        rounds[2].kernel_cpu_ns / 1000
    );
    assert!(row.resident_bytes >= (PAGES * PAGE) as i64);
    assert!((0.15..0.40).contains(&share), "{share}");
}

#[test]
fn a_window_is_judged_by_what_was_touched() {
    use tierscope_damon::Region;
    let frames: HashMap<u64, bool> = (0..64).map(|frame| (2 * frame, frame % 2 == 0)).collect();
    let window = |accesses: &dyn Fn(u64) -> u32| Window {
        regions: (0..64)
            .map(|frame| Region {
                range: 2 * frame * PAGE_BYTES..(2 * frame + 1) * PAGE_BYTES,
                accesses: Some(accesses(frame)),
                age: None,
                young_bytes: None,
            })
            .collect(),
        checks: 20,
        kernel_cpu_ns: 0,
        cpu_ns: 0,
    };
    assert_eq!(
        judge(&window(&|frame| u32::from(frame % 2 == 0)), &frames),
        Ok(())
    );
    let refused = judge(&window(&|_| 0), &frames).unwrap_err();
    assert!(
        refused.reason.contains("0 of 32 touched pages"),
        "{}",
        refused.reason
    );
    assert!(judge(&window(&|_| 1), &frames).is_err());
}

#[test]
fn a_host_without_damon_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let refused = probe(&Root::new(directory.path())).unwrap_err();
    assert!(
        refused.reason.contains("CONFIG_DAMON_SYSFS"),
        "{}",
        refused.reason
    );
    let used = refusal(&DamonError::InUse {
        user: "1 kdamond".to_owned(),
    });
    assert!(used.hint.contains("other use of DAMON"));
}
