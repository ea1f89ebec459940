use std::convert::Infallible;
use std::path::Path;

use tierscope_perf::Served;

use super::*;
use crate::perf_recording::{self, PerfEvent, PerfLimits};

const SECOND: u64 = 1_000_000_000;

fn sample(seconds: f64, pid: u32, address: u64, event: usize) -> PerfSample {
    PerfSample {
        time_ns: (seconds * SECOND as f64) as u64,
        pid,
        address,
        is_store: event == 1,
        served: (event == 0).then_some(Served::DramLocal),
        event,
    }
}

fn change(seconds: f64, pid: u32, change: ProcessChange) -> TimedChange {
    TimedChange {
        time_ns: (seconds * SECOND as f64) as u64,
        pid,
        change,
    }
}

fn mapped(seconds: f64, pid: u32, start: u64, size_bytes: u64, name: &str) -> TimedChange {
    let inode = u64::from(name.starts_with('/') && !name.starts_with("//"));
    let mapped = ProcessChange::Mapped {
        start,
        size_bytes,
        offset_bytes: 0,
        file: (inode, inode),
        name: Arc::from(name),
    };
    change(seconds, pid, mapped)
}

fn named(seconds: f64, pid: u32, name: &str, exec: bool) -> TimedChange {
    let name = Arc::from(name);
    change(seconds, pid, ProcessChange::Named { name, exec })
}

fn recording(samples: Vec<PerfSample>, changes: Vec<TimedChange>) -> PerfRecording {
    let mut recording = PerfRecording {
        events: vec![
            PerfEvent::named("cpu/mem-loads/P", Some(190)),
            PerfEvent::named("cpu/mem-stores/P", Some(210)),
        ],
        samples,
        changes,
        ..PerfRecording::default()
    };
    recording.sort();
    recording
}

fn fold(plan: &PerfIntervalPlan<'_>) -> Vec<Folded> {
    let identity = PerfIdentity {
        service: Arc::from("import/shop"),
        epoch_seed: 3,
    };
    let mut all = Vec::new();
    plan.fold(&identity, 1_000_000 * SECOND as i64, |folded| {
        all.push(folded);
        Ok::<(), Infallible>(())
    })
    .unwrap();
    all
}

#[test]
fn samples_become_rows_of_their_process_groups() {
    let changes = vec![
        named(0.0, 7, "server", false),
        mapped(0.0, 7, 0x1000, 0x10_0000, "[heap]"),
        mapped(0.0, 7, 0x7f00_0000_0000, 0x10_0000, "/usr/lib/libz.so"),
        named(0.0, 8, "worker", false),
    ];
    let samples = vec![
        sample(10.0, 7, 0x2010, 0),
        sample(10.1, 7, 0x2020, 1),
        sample(10.2, 7, 0x7f00_0000_2000, 0),
        sample(10.3, 8, 0x5000, 0),
        sample(11.5, 7, 0x2fff, 0),
        sample(12.0, 8, 0x9000, 0),
    ];
    let recording = recording(samples, changes);
    let plan = PerfIntervalPlan::new(&recording).unwrap();
    assert_eq!((plan.intervals, plan.interval_ns), (2, SECOND as i64));
    let folded = fold(&plan);
    let row = |interval: usize, group: &str, kind| {
        let rows = folded[interval].rows.iter();
        let mut found = rows.filter(|row| &*row.group == group && row.kind == kind);
        found.next().cloned()
    };
    // The sample at 10.0 lies before the first whole interval: it shows what is resident, and no activity.
    let heap = row(0, "server", PageKind::Anon).unwrap();
    let seen = heap.samples.unwrap();
    assert_eq!((seen.loads, seen.stores), (0, 1));
    assert_eq!((heap.resident_bytes, heap.age_bytes[0]), (4096, 4096));
    assert_eq!((heap.backend, heap.period_events), (Backend::Pebs, Some(200.0)));
    assert_eq!((heap.end_wall_ns, heap.validity), (999_999 * SECOND as i64, 1));
    let library = row(0, "server", PageKind::File).unwrap();
    assert_eq!((library.resident_bytes, library.age_bytes[0]), (4096, 4096));
    let worker = row(1, "worker", PageKind::Anon).unwrap();
    assert_eq!((worker.resident_bytes, worker.age_bytes[0]), (8192, 4096));
    assert_eq!(row(1, "server", PageKind::File).unwrap().age_bytes[1], 4096);
    assert!(
        folded[0]
            .tile_epochs
            .iter()
            .any(|epoch| { epoch.rows.iter().any(|row| &*row.mapping == "libz.so") })
    );
}

#[test]
fn new_programs_children_and_new_mappings_carry_no_history() {
    let changes = vec![
        named(0.0, 7, "shell", false),
        mapped(0.0, 7, 0x10_0000, 0x10_0000, "[heap]"),
        change(2.0, 8, ProcessChange::Forked { parent_pid: 7 }),
        named(2.1, 8, "server", true),
        mapped(3.6, 7, 0x10_0000, 0x1000, "/usr/lib/libz.so"),
        mapped(3.7, 7, 0x10_1000, 0x10_0000, "[heap]"),
    ];
    let samples = vec![
        sample(1.0, 7, 0x10_0000, 0),
        sample(2.05, 8, 0x10_0000, 0),
        sample(2.5, 8, 0x10_0000, 0),
        sample(3.5, 7, 0x10_0000, 0),
        sample(4.0, 7, 0x10_1000, 0),
    ];
    let recording = recording(samples, changes);
    let plan = PerfIntervalPlan::new(&recording).unwrap();
    let folded = fold(&plan);
    let last = folded.last().unwrap();
    let of = |group: &str| last.rows.iter().find(|row| &*row.group == group).unwrap();
    let shell = of("shell");
    // What the child touched before its own program, and what was mapped anew, is gone.
    assert_eq!((shell.resident_bytes, shell.age_bytes[0]), (4096, 4096));
    assert_eq!(of("server").age_bytes[1], 4096);
}

#[test]
fn what_served_loads_is_counted_from_the_first_interval_on() {
    let mut recording = recording(
        vec![
            sample(0.1, 1, 0x1000, 0),
            sample(1.0, 1, 0x1000, 0),
            sample(1.2, 1, 0x2000, 0),
            sample(1.3, 1, 0x2000, 1),
            sample(2.5, 1, 0x3000, 0),
        ],
        Vec::new(),
    );
    recording.samples[4].served = Some(Served::Cxl);
    let plan = PerfIntervalPlan::with_backend(&recording, Backend::Pebs);
    let ends = plan.served(100 * SECOND as i64).unwrap();
    let shown: Vec<_> = ends
        .iter()
        .map(|(end_ns, loads)| {
            (
                end_ns / SECOND as i64,
                loads.of(Served::DramLocal),
                loads.of(Served::Cxl),
            )
        })
        .collect();
    // The first sample lies before the first whole interval; the store is none.
    assert_eq!(shown, [(98, 0, 0), (99, 2, 0), (100, 2, 1)]);
    recording
        .samples
        .iter_mut()
        .for_each(|sample| sample.served = None);
    assert_eq!(
        PerfIntervalPlan::with_backend(&recording, Backend::Pebs).served(0),
        None
    );
}

#[test]
fn losses_and_unknown_periods_are_told() {
    let mut recording = recording(
        vec![sample(1.0, 7, 0x1000, 0), sample(1.1, 7, 0x2000, 1)],
        Vec::new(),
    );
    recording.lost = 6;
    recording.events[1].period = None;
    let plan = PerfIntervalPlan::new(&recording).unwrap();
    let folded = fold(&plan);
    let row = &folded[0].rows[0];
    assert_eq!((row.duty_ratio, row.period_events), (Some(0.25), None));
    assert_eq!((plan.intervals, row.resident_bytes), (1, 8192));
}

/// A real recording of page faults. They are no heat, so it is folded as if they were samples of PEBS.
#[test]
fn a_real_file_and_its_text_give_the_same_rows_with_every_page() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/perf");
    let announced = std::fs::read_to_string(directory.join("hotmem.out")).unwrap();
    let words: Vec<&str> = announced.split_ascii_whitespace().collect();
    let pid: u32 = words[0].parse().unwrap();
    let start = u64::from_str_radix(words[1], 16).unwrap();
    let length = u64::from_str_radix(words[2], 16).unwrap();
    let rows = ["page-faults.perf.data", "page-faults.script.txt"].map(|name| {
        let bytes = std::fs::read(directory.join(name)).unwrap();
        let recording = perf_recording::read(&bytes, PerfLimits::default()).unwrap();
        let inside = |sample: &&PerfSample| (start..start + length).contains(&sample.address);
        let mut pages: Vec<u64> = recording
            .samples
            .iter()
            .filter(inside)
            .map(|sample| sample.address / PAGE_BYTES)
            .collect();
        assert_eq!(pages.len(), 256, "{name}");
        pages.sort_unstable();
        pages.dedup();
        assert_eq!(pages.len() as u64, length / PAGE_BYTES);
        assert!(recording.samples.iter().all(|sample| sample.pid == pid));
        let refused = PerfIntervalPlan::new(&recording).unwrap_err();
        assert!(
            matches!(refused, PerfFileError::FaultsAreNoHeat { .. }),
            "{refused}"
        );
        let plan = PerfIntervalPlan::with_backend(&recording, Backend::Pebs);
        let mut rows: Vec<_> = fold(&plan).into_iter().flat_map(|folded| folded.rows).collect();
        assert_eq!(plan.intervals, 1);
        // The area is shared memory: the only one of its kind, and every page of it was touched.
        let shared = rows.iter().find(|row| row.kind == PageKind::Tmpfs).unwrap();
        assert_eq!((shared.resident_bytes, shared.age_bytes[0]), (1 << 20, 1 << 20));
        assert_eq!(&*shared.group, "hotmem");
        for row in &mut rows {
            row.end_wall_ns = 0;
        }
        rows
    });
    assert_eq!(rows[0], rows[1]);
}
