//! Process groups on worked examples: tiers, sizes, sub-pages, samplers, panels, several bits an interval.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, GAP_BINS, Granularity, HeatRow, PageKind};
use tierscope_sample::page_group::{
    Census, PageGroup, PageGroupOptions, PageMapping, PageSize, PageState, TierIndex,
};
use tierscope_sample::page_sample::PageSampleOptions;
use tierscope_sample::tile_grid::CellScale;
use tierscope_sample::tiles::{CELL_NOT_RESIDENT, CELL_UNSAMPLED};
use tierscope_sample::vma_fold::ProcessKey;

const PAGE: u64 = 4096;
const HUGE: u64 = 2 << 20;
const BASE: u64 = 1 << 40;
const MINUTE_NS: i64 = 60_000_000_000;

fn group(backend: Backend, census: Census) -> PageGroup {
    group_with(
        backend,
        PageGroupOptions {
            census,
            ..PageGroupOptions::default()
        },
    )
}

fn group_with(backend: Backend, options: PageGroupOptions) -> PageGroup {
    let measured = Measured {
        backend,
        granularity: Granularity::Page,
        interval_ns: MINUTE_NS,
        service: Arc::from("a/b"),
        group: Arc::from("c"),
    };
    PageGroup::new(measured, options)
}

fn end_of(now: usize) -> IntervalEnd {
    IntervalEnd {
        wall_ns: (now as i64 + 1) * MINUTE_NS,
        boottime_ns: None,
    }
}

fn process(pid: u32, start_time_ticks: u64) -> ProcessKey {
    ProcessKey {
        pid,
        start_time_ticks,
    }
}

fn heap(bytes: u64) -> PageMapping {
    PageMapping {
        start: BASE,
        end: BASE + bytes,
        kind: PageKind::Anon,
        name: Arc::from(""),
        device: 0,
        inode: 0,
        offset_bytes: 0,
    }
}

fn page(number: u64, loads: u32) -> PageState {
    PageState {
        address: BASE + number * PAGE,
        size: PageSize::Small4K,
        anon: true,
        tier: None,
        active: loads > 0,
        loads,
        stores: 0,
    }
}

/// One interval of one process with a heap of 1 GiB.
fn fold(group: &mut PageGroup, now: usize, pages: &[PageState]) -> Folded {
    group.process(process(1, 1), true).mapping(&heap(1 << 30), pages);
    group.finish(end_of(now))
}

fn row(folded: &Folded) -> &HeatRow {
    assert_eq!(folded.rows.len(), 1, "{:?}", folded.rows);
    &folded.rows[0]
}

/// How many of the last ten intervals a page was active in, where all pages agree.
fn active_count(row: &HeatRow) -> Option<usize> {
    row.active_count_bytes
        .iter()
        .position(|bytes| *bytes == row.resident_bytes)
}

#[test]
fn bytes_and_pages_of_mixed_sizes_tell_opposite_stories() {
    // (activity, huge), all intervals observed: one huge page among five small ones.
    let pages = [
        (0x1_u64, false),
        (0x6, false),
        (0x18, true),
        (0x200, false),
        (0x400, false),
        (0, false),
    ];
    let mut group = group(Backend::AbitWalk, Census::Full);
    let mut rows = Vec::new();
    for age in (0..64).rev() {
        let states: Vec<_> = (0..)
            .zip(pages)
            .map(|(number, (bits, huge))| {
                let size = if huge { PageSize::Huge2M } else { PageSize::Small4K };
                PageState {
                    address: BASE + number * HUGE,
                    size,
                    active: bits >> age & 1 == 1,
                    ..page(0, 0)
                }
            })
            .collect();
        rows = fold(&mut group, 63 - age, &states).rows;
    }
    let total: i64 = rows.iter().map(|row| row.resident_bytes).sum();
    let shares = [0, 1, 2, 3].map(|window| {
        let active: i64 = rows.iter().map(|row| row.active_lo_bytes[window]).sum();
        (active as f64 / total as f64 * 1e6).round() as i64
    });
    assert_eq!(shares, [1934, 3868, 994_197, 996_132]);
    let pages: [i64; 4] = [0, 1, 2, 3].map(|window| {
        rows.iter()
            .map(|row| row.active_lo_bytes[window] / i64::from(row.page_size_bytes))
            .sum()
    });
    assert_eq!(pages, [1, 2, 3, 4]);
    let ages: Vec<_> = rows
        .iter()
        .map(|row| row.age_bytes.map(|bytes| bytes / i64::from(row.page_size_bytes)))
        .collect();
    assert_eq!(ages, [[1, 1, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0]]);
    assert!(
        rows.iter()
            .all(|row| row.samples.is_none() && row.f1_pages.is_none()),
        "accessed bits do not count"
    );
}

#[test]
fn additive_gaps_of_the_worked_example() {
    let mut group = group(Backend::Trace, Census::Touched);
    for (now, loads) in [1, 0, 1, 1, 0, 0].into_iter().enumerate() {
        let states = if loads > 0 {
            vec![page(0, loads)]
        } else {
            Vec::new()
        };
        assert!(fold(&mut group, now, &states).gaps.is_empty());
    }
    let block = group.end_stream().gaps;
    let bins =
        |bytes: [i64; GAP_BINS]| -> Vec<_> { (1..).zip(bytes).filter(|(_, bytes)| *bytes > 0).collect() };
    assert_eq!(bins(block[0].closed_bytes), [(1, 4096), (2, 4096)]);
    assert_eq!(
        (bins(block[0].open_bytes), block[0].intervals),
        (vec![(2, 4096)], 6)
    );
}

#[test]
fn intervals_missed_before_the_first_one_belong_to_no_block() {
    let mut group = group(Backend::AbitWalk, Census::Full);
    for _ in 0..2000 {
        group.miss();
    }
    let blocks: Vec<u32> = (0..20)
        .flat_map(|now| fold(&mut group, now, &[page(1, 1)]).gaps)
        .map(|block| block.intervals)
        .collect();
    assert_eq!(blocks, [10, 10]);
}

#[test]
fn a_page_that_changes_its_tier_stays_the_same_page_and_one_that_changes_its_size_does_not() {
    let options = PageGroupOptions {
        tiers: vec![Arc::from("dram"), Arc::from("cxl")],
        ..PageGroupOptions::default()
    };
    let mut group = group_with(Backend::AbitWalk, options);
    let state = |tier, size| PageState {
        tier: Some(TierIndex(tier)),
        size,
        active: true,
        ..page(0, 0)
    };
    let steps = [
        (0, PageSize::Small4K),
        (1, PageSize::Small4K),
        (1, PageSize::Huge2M),
    ];
    let mut seen = Vec::new();
    for (now, (tier, size)) in steps.into_iter().enumerate() {
        let folded = fold(&mut group, now, &[state(tier, size)]);
        seen.push((
            row(&folded).tier.clone().unwrap(),
            active_count(row(&folded)),
            row(&folded).resident_bytes,
        ));
    }
    let expected = [("dram", 1, 4096), ("cxl", 2, 4096), ("cxl", 1, 2 << 20)];
    assert_eq!(
        seen,
        expected.map(|(tier, count, bytes)| (Arc::from(tier), Some(count), bytes))
    );
    let block = group.end_stream().gaps;
    assert_eq!((block[0].closed_bytes[0], block[0].freed_bytes[0]), (4096, 4096));
}

#[test]
fn a_process_id_used_again_and_memory_mapped_again_begin_anew() {
    let mut group = group(Backend::AbitWalk, Census::Full);
    fold(&mut group, 0, &[page(0, 1)]);
    fold(&mut group, 1, &[page(0, 1)]);
    group
        .process(process(1, 2), true)
        .mapping(&heap(PAGE), &[page(0, 1)]);
    let folded = group.finish(end_of(2));
    assert_eq!(
        active_count(row(&folded)),
        Some(1),
        "another process with the same id and address"
    );
    group.process(process(1, 2), true).mapping(&heap(PAGE), &[]);
    assert!(group.finish(end_of(3)).rows.is_empty());
    group
        .process(process(1, 2), true)
        .mapping(&heap(PAGE), &[page(0, 1)]);
    let folded = group.finish(end_of(4));
    assert_eq!(
        active_count(row(&folded)),
        Some(1),
        "the page was gone in between"
    );
    let grown = [page(0, 1), page(9, 1)];
    group
        .process(process(1, 2), true)
        .mapping(&heap(10 * PAGE), &grown);
    let folded = group.finish(end_of(5));
    assert_eq!(
        row(&folded).active_count_bytes[..3],
        [0, 4096, 4096],
        "a heap that grows keeps its past"
    );
}

#[test]
fn sub_pages_of_a_huge_page_bound_its_hot_bytes_from_below() {
    let mut group = group(Backend::Pebs, Census::Seen);
    let sample = |subpage: u64| PageState {
        address: BASE + 3 * HUGE + subpage * PAGE + 8,
        size: PageSize::Huge2M,
        ..page(0, 2)
    };
    let folded = fold(&mut group, 0, &[sample(0), sample(7), sample(511)]);
    let first = row(&folded).clone();
    assert_eq!(
        (first.resident_bytes, first.beside.subpage_active_bytes),
        (2 << 20, Some(3 * 4096))
    );
    assert_eq!(first.samples.unwrap().loads, 6, "three samples are of one page");
    assert_eq!(
        (first.distinct_pages, first.f1_pages),
        (Some([1; 4]), Some([0; 4]))
    );
    let second = fold(&mut group, 1, &[sample(7), sample(8)]);
    assert_eq!(
        row(&second).beside.subpage_active_bytes,
        Some(4 * 4096),
        "the newest two intervals together"
    );
    let third = fold(&mut group, 2, &[]);
    assert_eq!(row(&third).beside.subpage_active_bytes, Some(2 * 4096));
    assert_eq!(
        row(&fold(&mut group, 3, &[])).beside.subpage_active_bytes,
        Some(0)
    );
}

#[test]
fn a_sampler_leaves_what_it_never_saw_apart_and_forgets_what_was_long_idle() {
    let mut group = group(Backend::Pebs, Census::Seen);
    let resident = 100 * 4096;
    let minute = |group: &mut PageGroup, now: usize, pages: &[PageState]| {
        let mut reading = group.process(process(1, 1), true);
        reading.mapping(&heap(1 << 20), pages);
        reading.resident(PageKind::Anon, resident);
        reading.period(200.0);
        reading.duty(0.25);
        group.finish(end_of(now))
    };
    let first = minute(&mut group, 0, &[page(1, 3), page(5, 1)]);
    let seen = row(&first);
    assert_eq!(
        (seen.resident_bytes, seen.age_bytes[0], seen.never_bytes[1]),
        (resident, 8192, resident - 8192)
    );
    assert_eq!((seen.period_events, seen.duty_ratio), (Some(200.0), Some(0.25)));
    assert_eq!(
        (seen.distinct_pages.unwrap()[0], seen.f1_pages.unwrap()[0]),
        (2, 1)
    );
    for now in 1..64 {
        minute(&mut group, now, &[page(1, 1)]);
    }
    assert_eq!(group.pages(), 2, "the second page was active 63 intervals ago");
    let last = minute(&mut group, 64, &[page(1, 1)]);
    assert_eq!(group.pages(), 1);
    assert_eq!(row(&last).never_bytes[8], resident - 4096);
    let cells: Vec<_> = last.tile_columns[0].cells.clone();
    assert_eq!(
        cells.iter().filter(|cell| **cell != CELL_UNSAMPLED).count(),
        1,
        "one row has a page"
    );
    let scale = CellScale::accesses_per_byte(4096);
    assert_eq!(
        cells[1],
        scale.cell(800.0 / 4096.0),
        "a sample stands for 200 events on a quarter of the cores"
    );
}

#[test]
fn more_seen_than_resident_means_that_the_oldest_was_freed() {
    let mut group = group(Backend::Pebs, Census::Seen);
    let all: Vec<_> = (0..10).map(|number| page(number, 1)).collect();
    fold(&mut group, 0, &all);
    let mut reading = group.process(process(1, 1), true);
    reading.mapping(&heap(1 << 20), &all[..3]);
    reading.resident(PageKind::Anon, 5 * 4096);
    let folded = group.finish(end_of(1));
    let row = row(&folded);
    assert_eq!(
        (row.resident_bytes, row.age_bytes[0], row.age_bytes[1]),
        (5 * 4096, 3 * 4096, 2 * 4096)
    );
    assert_eq!(row.active_count_bytes.iter().sum::<i64>(), 5 * 4096);
}

#[test]
fn a_sampler_drops_memory_that_a_file_took_the_place_of() {
    let mut group = group(Backend::Pebs, Census::Seen);
    fold(&mut group, 0, &[page(1, 1), page(500, 1)]);
    let file = PageMapping {
        kind: PageKind::File,
        name: Arc::from("libx.so"),
        inode: 9,
        ..heap(16 * PAGE)
    };
    let state = PageState {
        anon: false,
        ..page(1, 4)
    };
    group.process(process(1, 1), true).mapping(&file, &[state]);
    let folded = group.finish(end_of(1));
    let kinds: Vec<_> = folded
        .rows
        .iter()
        .map(|row| (row.kind, row.resident_bytes, row.age_bytes[0]))
        .collect();
    assert_eq!(kinds, [(PageKind::Anon, 4096, 0), (PageKind::File, 4096, 4096)]);
    assert_eq!(group.pages(), 2);
}

#[test]
fn a_panel_is_scaled_up_to_the_resident_bytes() {
    let mut group = group(Backend::DamonPages, Census::Sample);
    let panel: Vec<_> = (0..7)
        .map(|number| page(number * 31, u32::from(number < 3)))
        .collect();
    let resident = 1_000_003 * 4096;
    let mut folded = Folded::default();
    for now in 0..10 {
        let mut reading = group.process(process(1, 1), true);
        reading.mapping(&heap(1 << 30), if now == 9 { &panel[1..] } else { &panel });
        reading.resident(PageKind::Anon, resident);
        reading.resident(PageKind::File, 4096);
        folded = group.finish(end_of(now));
    }
    assert_eq!(folded.rows.len(), 2);
    let anon = &folded.rows[0];
    assert_eq!(
        (anon.resident_bytes, anon.beside.sampled_pages),
        (resident, Some(6))
    );
    let sum = |bytes: &[i64]| bytes.iter().sum::<i64>();
    assert_eq!(sum(&anon.age_bytes) + sum(&anon.never_bytes), resident);
    assert_eq!(sum(&anon.active_count_bytes), resident);
    assert!(
        (anon.age_bytes[0] - resident / 3).abs() <= 1,
        "2 of 6 pages are hot"
    );
    assert_eq!(
        (anon.active_lo_bytes, anon.samples, anon.f1_pages),
        (anon.active_hi_bytes, None, None)
    );
    let file = &folded.rows[1];
    assert_eq!(
        (file.kind, file.resident_bytes, file.never_bytes[0]),
        (PageKind::File, 4096, 4096)
    );
    let gaps = &folded.gaps[0];
    let of_page = resident as f64 / 6.0;
    assert!((gaps.closed_bytes[0] as f64 / of_page / (9.0 * 2.0 + 8.0) - 1.0).abs() < 1e-6);
    assert_eq!(
        gaps.freed_bytes, [0; GAP_BINS],
        "a page that left the panel was not freed"
    );
}

#[test]
fn several_bits_an_interval_shorten_the_history_and_leave_one_bit_figures_alone() {
    let options = PageGroupOptions {
        bits_per_interval: 4,
        ..PageGroupOptions::default()
    };
    let (mut graded, mut plain) = (
        group_with(Backend::AbitWalk, options),
        group(Backend::AbitWalk, Census::Full),
    );
    for now in 0..40 {
        let loads = if now % 7 == 0 { 9 } else { 0 };
        let states = [page(0, loads), page(1, u32::from(now == 3))];
        let (graded, plain) = (fold(&mut graded, now, &states), fold(&mut plain, now, &states));
        let (graded, plain) = (row(&graded).clone(), row(&plain).clone());
        assert_eq!((graded.bits_per_interval, plain.bits_per_interval), (4, 1));
        assert_eq!(graded.active_lo_bytes, plain.active_lo_bytes);
        assert_eq!(graded.active_count_bytes, plain.active_count_bytes);
        if now < 3 + 16 {
            assert_eq!(graded.age_bytes, plain.age_bytes, "at {now}");
        } else {
            assert_eq!(
                (graded.age_bytes[5], graded.never_bytes[5]),
                (0, 4096),
                "idle for the 16 intervals there are"
            );
        }
        assert_eq!(graded.validity, plain.validity & 0xffff);
    }
}

#[test]
fn the_page_sample_follows_the_same_pages_and_its_ids_need_the_key() {
    let sample = |key| {
        let page_sample = Some(PageSampleOptions {
            key,
            sampled_ratio: 0.5,
            max_pages: 4096,
            first_block_ns: None,
            block_origin_ns: 0,
        });
        let mut group = group_with(
            Backend::Pebs,
            PageGroupOptions {
                page_sample,
                ..PageGroupOptions::default()
            },
        );
        let mut blocks = Vec::new();
        for now in 0..60 {
            let states: Vec<_> = (0..400)
                .map(|number| page(number, u32::from(number % 4 == now as u64 % 4) * 5))
                .collect();
            let listed = if now < 30 { &states[..] } else { &states[..200] };
            blocks.extend(fold(&mut group, now, listed).page_samples);
        }
        assert_eq!(blocks.len(), 1, "the hour ends once");
        blocks.remove(0)
    };
    let block = sample([1, 2]);
    assert_eq!((block.intervals.len(), block.counts), (60, true));
    assert!(
        (150..250).contains(&block.pages.len()),
        "half of 400: {}",
        block.pages.len()
    );
    let stayed = block.pages.iter().filter(|page| page.last_interval == 59).count();
    let left = block.pages.iter().filter(|page| page.last_interval == 29).count();
    assert_eq!(stayed + left, block.pages.len());
    // Every page is active in every fourth interval: 15 times in an hour, 7 or 8 times in half of one.
    assert!((stayed * 15 + left * 7..=stayed * 15 + left * 8).contains(&block.rows.len()));
    assert!(block.rows.iter().all(|row| row.loads == 5));
    let ids = |block: &tierscope_sample::page_sample::PageSample| {
        block.pages.iter().map(|page| page.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&block), ids(&sample([1, 2])));
    assert!(ids(&sample([1, 3])).iter().all(|id| !ids(&block).contains(id)));
}

#[test]
fn tiles_name_unnamed_memory_by_size_and_show_what_left() {
    let mut group = group(Backend::AbitWalk, Census::Full);
    let small = PageMapping {
        start: BASE - 64 * PAGE,
        end: BASE - 60 * PAGE,
        ..heap(0)
    };
    let below = PageState {
        address: BASE - 62 * PAGE,
        active: true,
        ..page(0, 0)
    };
    let minute = |group: &mut PageGroup, now: usize, pages: u64| {
        let mut reading = group.process(process(1, 1), true);
        reading.mapping(&small, &[below]);
        reading.mapping(
            &heap(100 * PAGE),
            &(0..pages).map(|number| page(number, 0)).collect::<Vec<_>>(),
        );
        group.finish(end_of(now))
    };
    let first = minute(&mut group, 0, 100);
    let rows = &first.tile_epochs[0].rows;
    assert_eq!(
        (rows.len(), &*rows[0].mapping, &*rows[100].mapping),
        (101, "anon-1", "anon-2")
    );
    assert_eq!(rows[100].offset_bytes, 2 * 4096);
    assert_eq!(
        (first.tile_columns[0].cells[0], first.tile_columns[0].cells[100]),
        (0, 250)
    );
    let second = minute(&mut group, 1, 98);
    assert!(second.tile_epochs.is_empty(), "2 % of the bytes went");
    assert_eq!(
        second.tile_columns[0].cells[98..],
        [CELL_NOT_RESIDENT, CELL_NOT_RESIDENT, 250]
    );
    let third = minute(&mut group, 2, 80);
    assert_eq!(third.tile_epochs.len(), 1, "20 % went");
    assert_eq!(third.tile_columns[0].cells.len(), 81);
}
