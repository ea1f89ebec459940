//! Mappings of processes, folded: which past belongs to which mapping, and the rows and cells that come out.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Beside, Granularity, HeatRow, PageKind};
use tierscope_sample::tile_grid::CellScale;
use tierscope_sample::tiles::{CELL_NOT_COLLECTED, CELL_NOT_RESIDENT};
use tierscope_sample::vma_fold::{ProcessKey, VmaFolder, VmaReading};

const KIB: i64 = 1024;
const MIB: u64 = 1 << 20;

/// A mapping of `size_mib` at `start_mib`, with what is resident and active of it.
fn vma(mapping: &str, kind: PageKind, at_mib: (u64, u64), resident_kib: i64, active_kib: i64) -> VmaReading {
    VmaReading {
        start: at_mib.0 * MIB,
        end: (at_mib.0 + at_mib.1) * MIB,
        offset_bytes: 0,
        mapping: Arc::from(mapping),
        kind,
        page_size_bytes: 4096,
        resident_bytes: resident_kib * KIB,
        referenced_bytes: active_kib * KIB,
        beside: Beside::default(),
    }
}

fn anon(at_mib: (u64, u64), resident_kib: i64, active_kib: i64) -> VmaReading {
    vma("", PageKind::Anon, at_mib, resident_kib, active_kib)
}

struct Run {
    folder: VmaFolder,
    now: i64,
}

impl Run {
    fn new() -> Self {
        let measured = Measured {
            backend: Backend::Referenced,
            granularity: Granularity::Vma,
            interval_ns: 60,
            service: Arc::from("host/db"),
            group: Arc::from("db"),
        };
        Self {
            folder: VmaFolder::new(measured, None, 3),
            now: 0,
        }
    }

    /// One interval with these processes, whether observed, and their mappings.
    fn fold(&mut self, processes: &[(u32, bool, &[VmaReading])]) -> Folded {
        for (pid, observed, readings) in processes {
            let key = ProcessKey {
                pid: *pid,
                start_time_ticks: 1,
            };
            self.folder.observe(key, *observed, readings.to_vec());
        }
        self.now += 60;
        self.folder.finish(IntervalEnd {
            wall_ns: self.now,
            boottime_ns: None,
        })
    }
}

fn row(folded: &Folded, kind: PageKind) -> &HeatRow {
    folded.rows.iter().find(|row| row.kind == kind).unwrap()
}

#[test]
fn a_mapping_keeps_its_past_when_it_grows_and_loses_it_when_it_is_replaced() {
    let mut run = Run::new();
    run.fold(&[(1, true, &[anon((100, 10), 400, 300)])]);
    // Grown downwards, as the kernel places mappings.
    let grown = run.fold(&[(1, true, &[anon((90, 20), 500, 100)])]);
    let heat = row(&grown, PageKind::Anon);
    assert_eq!(heat.age_bytes[..2], [100 * KIB, 200 * KIB]);
    assert_eq!((heat.never_bytes[2], heat.validity), (200 * KIB, 0b11));
    let replaced = run.fold(&[(1, true, &[vma("lib", PageKind::File, (90, 20), 500, 100)])]);
    let heat = row(&replaced, PageKind::File);
    assert_eq!(
        (heat.age_bytes[..2].to_vec(), heat.never_bytes[1]),
        (vec![100 * KIB, 0], 400 * KIB)
    );
}

#[test]
fn a_mapping_that_splits_hands_its_past_to_the_larger_part() {
    let mut run = Run::new();
    run.fold(&[(1, true, &[anon((100, 16), 800, 640)])]);
    let split = run.fold(&[(1, true, &[anon((100, 4), 200, 0), anon((104, 12), 600, 0)])]);
    let heat = row(&split, PageKind::Anon);
    assert_eq!(
        heat.age_bytes[1],
        600 * KIB,
        "no more than is resident of the part"
    );
    assert_eq!((heat.never_bytes[1], heat.resident_bytes), (200 * KIB, 800 * KIB));
}

#[test]
fn a_process_that_was_not_observed_is_unknown_in_a_group_that_was() {
    let mut run = Run::new();
    let (old, new) = ([anon((100, 1), 100, 60)], [anon((100, 1), 300, 300)]);
    run.fold(&[(1, true, &old)]);
    let folded = run.fold(&[(1, true, &old), (2, false, &new)]);
    let heat = row(&folded, PageKind::Anon);
    assert_eq!(
        (heat.age_bytes[0], heat.never_bytes[0], heat.never_bytes[2]),
        (60 * KIB, 300 * KIB, 40 * KIB)
    );
    assert_eq!(heat.active_lo_bytes[0], 60 * KIB);
    assert_eq!(
        heat.active_hi_bytes[0],
        360 * KIB,
        "what was not observed may have been active"
    );
}

#[test]
fn hugetlb_memory_is_resident_and_never_observed() {
    let mut run = Run::new();
    let huge = VmaReading {
        page_size_bytes: 2 << 20,
        ..anon((100, 4), 4096, 0)
    };
    let folded = run.fold(&[(1, true, &[anon((50, 1), 100, 60), huge])]);
    let sizes: Vec<_> = folded
        .rows
        .iter()
        .map(|row| (row.page_size_bytes, row.validity))
        .collect();
    assert_eq!(sizes, [(4096, 1), (2 << 20, 0)]);
}

#[test]
fn no_gaps_samples_or_overlaps_are_made_up() {
    let mut run = Run::new();
    for _ in 0..25 {
        let folded = run.fold(&[(1, true, &[anon((100, 10), 400, 300)])]);
        let heat = row(&folded, PageKind::Anon);
        assert!(folded.gaps.is_empty() && heat.samples.is_none() && heat.distinct_pages.is_none());
        assert!(heat.hot_overlap_bytes.is_none() && heat.f1_pages.is_none());
    }
}

#[test]
fn unnamed_mappings_are_numbered_by_size_class_and_show_the_share_that_was_active() {
    let mut run = Run::new();
    let mappings = [
        anon((10, 1), 512, 128),
        anon((20, 64), 65536, 0),
        vma("heap", PageKind::Anon, (200, 2), 1024, 1024),
        vma("db.so", PageKind::File, (400, 1), 256, 64),
    ];
    let folded = run.fold(&[(1, true, &mappings)]);
    let (epoch, column) = (&folded.tile_epochs[0], &folded.tile_columns[0]);
    assert_eq!(
        (epoch.cell_measure, epoch.granularity),
        ("active_share", Granularity::Vma)
    );
    let scale = CellScale {
        base: epoch.cell_log2_base,
        unit: epoch.cell_unit,
    };
    for (name, share) in [("anon-1", 0.0), ("anon-2", 0.25), ("heap", 1.0), ("db.so", 0.25)] {
        let cells = epoch
            .rows
            .iter()
            .zip(&column.cells)
            .filter(|(row, _)| *row.mapping == *name);
        let shares: Vec<_> = cells.map(|(_, cell)| scale.activity(*cell).unwrap()).collect();
        assert!(
            !shares.is_empty() && shares.iter().all(|shown| (shown - share).abs() < 0.01),
            "{name} {shares:?}"
        );
    }
    let covered: i64 = epoch.rows.iter().map(|row| row.size_bytes).sum();
    assert_eq!(covered, 68 << 20);
}

#[test]
fn rows_are_cut_anew_when_more_than_five_percent_of_the_bytes_change() {
    let mut run = Run::new();
    let base = anon((100, 100), 100_000, 50_000);
    let small = |kib| anon((300, 100), kib, 0);
    let first = run.fold(&[(1, true, std::slice::from_ref(&base))]);
    let within = run.fold(&[(1, true, &[base.clone(), small(5_000)])]);
    assert!(within.tile_epochs.is_empty());
    let beyond = run.fold(&[(1, true, &[base.clone(), small(6_000)])]);
    assert_eq!(beyond.tile_epochs.len(), 1);
    assert_ne!(beyond.tile_epochs[0].epoch_id, first.tile_epochs[0].epoch_id);
    assert_eq!(beyond.tile_columns[0].epoch_id, beyond.tile_epochs[0].epoch_id);
    let gone = run.fold(&[(1, true, &[base])]);
    assert_eq!(gone.tile_epochs.len(), 1, "more than 5 % went away");
}

#[test]
fn cells_tell_not_resident_and_not_collected_apart() {
    let mut run = Run::new();
    let heap = |kib| vma("heap", PageKind::Anon, (100, 100), kib, 0);
    let lib = |kib| vma("lib", PageKind::File, (300, 1), kib, 0);
    let unobserved = run.fold(&[(1, false, &[heap(100_000), lib(100)])]);
    assert!(
        unobserved.tile_columns[0]
            .cells
            .iter()
            .all(|cell| *cell == CELL_NOT_COLLECTED)
    );
    let partly = run.fold(&[(1, true, &[heap(100_000), lib(0)])]);
    assert!(partly.tile_epochs.is_empty());
    let cells = &partly.tile_columns[0].cells;
    assert_eq!(
        (cells.first(), cells.last()),
        (Some(&0), Some(&CELL_NOT_RESIDENT))
    );
}

#[test]
fn a_missed_interval_is_a_hole_in_the_history() {
    let mut run = Run::new();
    run.fold(&[(1, true, &[anon((100, 10), 400, 300)])]);
    run.folder.miss();
    let folded = run.fold(&[(1, true, &[anon((100, 10), 400, 100)])]);
    let heat = row(&folded, PageKind::Anon);
    assert_eq!(
        (heat.validity, heat.age_bytes[0], heat.age_bytes[2]),
        (0b101, 100 * KIB, 200 * KIB)
    );
    assert_eq!(heat.active_hi_bytes[1], 400 * KIB);
}
