//! Attribution of touched bytes, and the back end on the running kernel; the latter is skipped, with the reason printed,
//! where DAMON cannot be had.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::*;
use crate::heat::backend::DEFAULT_RSS_LIMIT_BYTES;
use std::hint::black_box;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use tierscope_damon::session::Guard;
use tierscope_pagetable::process::process_key;

fn stretch(start: u64) -> VmaReading {
    VmaReading {
        start,
        end: start + 8192,
        offset_bytes: 0,
        mapping: Arc::from("heap"),
        kind: PageKind::Anon,
        page_size_bytes: 4096,
        resident_bytes: 8192,
        referenced_bytes: 0,
    }
}

#[test]
fn touched_bytes_go_to_the_stretches_that_lie_there() {
    let mut watched = Watched {
        stretches: vec![stretch(0), stretch(8192)],
        ..Watched::default()
    };
    for (frame, stretch) in [(7, 0), (8, 0), (20, 1), (9, 1)] {
        add_frame(&mut watched.runs, frame, stretch);
    }
    // A second process maps frame 8 too.
    add_frame(&mut watched.runs, 8, 1);
    watched.sort();
    let runs: Vec<_> = watched
        .runs
        .iter()
        .map(|run| (run.frames.clone(), run.stretch))
        .collect();
    assert_eq!(runs, [(7..9, 0), (9..10, 1), (20..21, 1)]);
    watched.touch(&(7 * 4096..10 * 4096), 3 * 4096);
    watched.touch(&(20 * 4096..21 * 4096), 4096);
    let touched: Vec<_> = watched
        .stretches
        .iter()
        .map(|stretch| stretch.referenced_bytes)
        .collect();
    assert_eq!(touched, [8192, 8192]);
}

#[test]
fn names_of_unnamed_memory_keep_and_hide_its_address() {
    assert_eq!(unnamed(0x7f00_0000_0000), unnamed(0x7f00_0000_0000));
    assert_ne!(unnamed(0x7f00_0000_0000), unnamed(0x7f00_0000_1000));
}

const INTERVAL_NS: i64 = 6_000_000_000;
const PAGES: usize = 8192;
const PAGE: usize = 4096;

fn end() -> IntervalEnd {
    IntervalEnd {
        wall_ns: clocks::wall_ns(),
        boottime_ns: Some(clocks::boottime_ns()),
    }
}

/// Rounds of a back end while a thread touches the first quarter of `PAGES` pages again and again.
fn rounds_beside_a_toucher(count: usize, backend: impl FnOnce() -> DamonRegions) -> Vec<HeatRound> {
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
fn touched_bytes_of_this_process_are_counted() {
    let lock = std::fs::File::create("/tmp/tierscope-damon.lock").unwrap();
    lock.lock().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let guard = Guard {
        directory: directory.path().to_owned(),
        watchdog: None,
    };
    let session = match Session::begin(&Root::live(), &guard) {
        Ok(session) => session,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            return;
        }
    };
    let settings = HeatSettings {
        interval_ns: INTERVAL_NS,
        rss_limit_bytes: DEFAULT_RSS_LIMIT_BYTES,
        tier: None,
        epoch_seed: 7,
        sampling: crate::heat::backend::SamplingSettings::default(),
    };
    let rounds = rounds_beside_a_toucher(4, || {
        DamonRegions::new(&Root::live(), &settings, NamePolicy::plain(), session)
    });
    let last = &rounds[3];
    if last
        .skipped
        .iter()
        .any(|(_, reason)| reason.contains("sz_ops_filter_passed"))
    {
        let _ = writeln!(std::io::stderr(), "skipped: {}", last.skipped[0].1);
        return;
    }
    assert_eq!(last.measured, 1, "{:?}", last.skipped);
    let rows = last.folded.rows.iter().filter(|row| row.kind == PageKind::Anon);
    let row = rows.max_by_key(|row| row.resident_bytes).unwrap();
    assert_eq!((row.granularity, row.validity & 1), (Granularity::Region, 1));
    let touched = (PAGES / 4 * PAGE) as i64;
    let _ = writeln!(
        std::io::stderr(),
        "{} of {} bytes touched by the test, {} found; agent {} us, kernel {} us",
        touched,
        row.resident_bytes,
        row.age_bytes[0],
        last.cpu_ns / 1000,
        last.kernel_cpu_ns / 1000
    );
    // Beside the test's own memory there is that of the back end.
    assert!((touched..touched + (4 << 20)).contains(&row.age_bytes[0]));
}
