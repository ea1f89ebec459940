//! Attribution of touched bytes, and the back end on the running kernel; the latter is skipped, with the reason printed,
//! where DAMON cannot be had.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use tierscope_damon::session::Guard;

use super::*;
use crate::backend::DEFAULT_RSS_LIMIT_BYTES;
use crate::touched_quarter::{TOUCHED_BYTES, TouchedQuarter};
use std::io::Write as _;

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
        beside: Beside::default(),
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
    watched.touch(&(7 * 4096..10 * 4096), 3 * 4096, 4096);
    watched.touch(&(20 * 4096..21 * 4096), 4096, 4096);
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

const INTERVAL_NS: i64 = 2_000_000_000;
/// Longer than any window takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);
/// Rounds in which all touched bytes have to show: on a busy machine some are not touched in a whole window.
const ROUNDS: i64 = 20;
/// What the process touches beside the quarter: its stack, its program and its libraries' data.
const BESIDE_BYTES: i64 = 4 << 20;

fn end(intervals: i64) -> IntervalEnd {
    IntervalEnd {
        wall_ns: intervals * INTERVAL_NS,
        boottime_ns: Some(intervals * INTERVAL_NS),
    }
}

fn settings() -> HeatSettings {
    HeatSettings {
        interval_ns: INTERVAL_NS,
        rss_limit_bytes: DEFAULT_RSS_LIMIT_BYTES,
        tier: None,
        epoch_seed: 7,
        sampling: crate::backend::SamplingSettings::default(),
    }
}

#[test]
fn touched_bytes_of_a_process_are_counted() {
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
    let settings = settings();
    let toucher = TouchedQuarter::start();
    let processes = [toucher.heat_process()];
    let mut backend = DamonRegions::new(&Root::live(), &settings, NamePolicy::plain(), session);
    backend.patience = PATIENCE;
    let expected = TOUCHED_BYTES as i64;
    let mut found = 0;
    for interval in 0..ROUNDS {
        let round = backend.collect(&processes, end(interval));
        let lacking = round
            .skipped
            .iter()
            .find(|(_, reason)| reason.contains("sz_ops_filter_passed"));
        if let Some((_, reason)) = lacking {
            let _ = writeln!(std::io::stderr(), "skipped: {reason}");
            return;
        }
        assert_eq!(round.measured, 1, "{:?}", round.skipped);
        let rows = round.folded.rows.iter().filter(|row| row.kind == PageKind::Anon);
        let row = rows.max_by_key(|row| row.resident_bytes).unwrap();
        assert_eq!(row.granularity, Granularity::Region);
        // What was touched before the first window began is of no interval.
        if row.validity & 1 == 0 {
            assert!(interval < 2, "interval {interval} is not valid");
            continue;
        }
        found = row.age_bytes[0];
        let _ = writeln!(
            std::io::stderr(),
            "{} of {} bytes touched by the process, {} found; agent {} us, kernel {} us",
            expected,
            row.resident_bytes,
            found,
            round.cpu_ns / 1000,
            round.kernel_cpu_ns / 1000
        );
        assert!(found < expected + BESIDE_BYTES, "{found} of {expected} bytes");
        if found >= expected {
            return;
        }
    }
    panic!("{found} of {expected} bytes after {ROUNDS} rounds");
}
