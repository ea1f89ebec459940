//! The back end on the running kernel; skipped, with the reason printed, where DAMON cannot be had.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::Write as _;

use tierscope_damon::session::Guard;
use tierscope_sample::heat::{Granularity, HeatRow};

use super::*;
use crate::backend::DEFAULT_RSS_LIMIT_BYTES;
use crate::touched_quarter::{MEMORY_BYTES, TouchedQuarter};

const INTERVAL_NS: i64 = 2_000_000_000;
/// Longer than any window takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);
/// Rounds in which the share has to show: on a busy machine the quarter may not be touched in a whole window.
const ROUNDS: i64 = 20;
/// So many that chance moves the share by less than a tenth of what is allowed.
const PANEL_PAGES: usize = 4000;

fn end(intervals: i64) -> IntervalEnd {
    IntervalEnd {
        wall_ns: intervals * INTERVAL_NS,
        boottime_ns: Some(intervals * INTERVAL_NS),
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
        sampling: crate::backend::SamplingSettings::default(),
    }
}

/// The row of anonymous memory in a round, if it has one.
fn anon_row(round: &HeatRound) -> Option<&HeatRow> {
    round.folded.rows.iter().find(|row| row.kind == PageKind::Anon)
}

#[test]
fn a_panel_of_a_process_shows_how_much_of_it_is_touched() {
    let lock = std::fs::File::create("/tmp/tierscope-damon.lock").unwrap();
    lock.lock().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let Some(session) = session(directory.path()) else {
        return;
    };
    let toucher = TouchedQuarter::start();
    let processes = [toucher.heat_process()];
    let policy = NamePolicy::plain();
    let mut backend = DamonPages::new(&Root::live(), &settings(), policy, session, PANEL_PAGES);
    backend.patience = PATIENCE;
    let first = backend.collect(&processes, end(0));
    assert!(
        anon_row(&first).is_none_or(|row| row.validity & 1 == 0),
        "a first visit ends no interval"
    );
    let mut share = 0.0;
    for interval in 1..=ROUNDS {
        let round = backend.collect(&processes, end(interval));
        assert_eq!(
            (round.measured, round.skipped.len()),
            (1, 0),
            "{:?}",
            round.skipped
        );
        let row = anon_row(&round).unwrap();
        assert_eq!(
            (row.backend, row.granularity, row.validity & 1),
            (Backend::DamonPages, Granularity::Page, 1)
        );
        assert!(row.beside.sampled_pages.unwrap() > 1000 && row.samples.is_none());
        assert!(row.resident_bytes >= MEMORY_BYTES as i64);
        share = row.age_bytes[0] as f64 / row.resident_bytes as f64;
        let _ = writeln!(
            std::io::stderr(),
            "{:.3} of {} bytes active, on {:?} pages; agent {} us, kernel {} us",
            share,
            row.resident_bytes,
            row.beside.sampled_pages,
            round.cpu_ns / 1000,
            round.kernel_cpu_ns / 1000
        );
        assert!(share < 0.40, "{share}");
        if share > 0.15 {
            return;
        }
    }
    panic!("{share} of the memory is active after {ROUNDS} rounds");
}

#[test]
fn a_window_is_judged_by_what_was_touched() {
    use tierscope_damon::Region;
    let frames: HashMap<u64, bool> = (0..64).map(|frame| (2 * frame, frame % 2 == 0)).collect();
    let window = |accesses: &dyn Fn(u64) -> u32| Window {
        regions: (0..64)
            .map(|frame| Region {
                range: 2 * frame * 4096..(2 * frame + 1) * 4096,
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
        judge(&window(&|frame| u32::from(frame % 2 == 0)), &frames, 4096),
        Ok(())
    );
    let refused = judge(&window(&|_| 0), &frames, 4096).unwrap_err();
    assert!(
        refused.reason.contains("0 of 32 touched pages"),
        "{}",
        refused.reason
    );
    assert!(judge(&window(&|_| 1), &frames, 4096).is_err());
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
