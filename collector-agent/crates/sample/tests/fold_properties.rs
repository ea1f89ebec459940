//! The fold against a recomputation that keeps the whole past of every page, on random small histories with missing
//! intervals, unmaps and keys that are used again.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod whole_past;

use std::sync::Arc;

use proptest::prelude::*;
use tierscope_sample::fold::{Changes, Folded, IntervalEnd, Measured, PageClass, PageFolder, Touch};
use tierscope_sample::heat::{Backend, GAP_BINS, GapRow, Granularity, HeatRow, PageKind};
use tierscope_sample::history::Recency;
use whole_past::{Ended, KINDS, Life, Past, Step, kind_of};

const PAGE_BYTES: i64 = 4096;

fn step() -> impl Strategy<Value = Step> {
    let keys = || 0..24_u64;
    (
        prop::bool::weighted(0.93),
        prop::collection::vec(keys(), 0..3),
        prop::collection::vec(keys(), 0..2),
        prop::collection::vec((keys(), 0..3_u32, 0..2_u32), 0..8),
    )
        .prop_map(|(observed, freed, appeared, touched)| Step {
            observed,
            freed,
            appeared,
            touched,
        })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..100)
}

fn folder() -> PageFolder {
    PageFolder::new(Measured {
        backend: Backend::Trace,
        granularity: Granularity::Page,
        interval_ns: 60,
        service: Arc::from("a/b"),
        group: Arc::from("c"),
    })
}

fn end_of(now: usize) -> IntervalEnd {
    IntervalEnd {
        wall_ns: now as i64 * 60,
        boottime_ns: None,
    }
}

/// Folds one step for the pages that `mine` picks.
fn fold(folder: &mut PageFolder, now: usize, step: &Step, mine: impl Fn(u64) -> bool) -> Folded {
    let classes = KINDS.map(|kind| {
        folder.class(&PageClass {
            kind,
            page_size_bytes: 4096,
            tier: None,
        })
    });
    let class = |key: u64| classes[kind_of(key) as usize];
    let freed: Vec<_> = step.freed.iter().copied().filter(|key| mine(*key)).collect();
    let appeared: Vec<_> = step
        .appeared
        .iter()
        .filter(|key| mine(**key))
        .map(|key| (*key, class(*key)))
        .collect();
    let touched: Vec<_> = step
        .touched
        .iter()
        .filter(|(key, ..)| mine(*key))
        .map(|&(key, loads, stores)| Touch {
            key,
            class: class(key),
            loads,
            stores,
        })
        .collect();
    let touched = step.observed.then_some(touched.as_slice());
    folder.fold(
        end_of(now),
        &Changes {
            freed: &freed,
            appeared: &appeared,
            touched,
        },
    )
}

fn bucket(age: usize) -> usize {
    [0, 1, 2, 3, 5, 10, 20, 40, 64]
        .iter()
        .rposition(|start| age >= *start)
        .unwrap()
}

/// Hot, warm, cold and unknown bytes of a row, by the rule that readers of rows use.
fn classes(row: &HeatRow) -> [i64; 4] {
    let observed = |window: u32| (row.validity.trailing_ones()) >= window;
    let hot: i64 = row.age_bytes[..2].iter().sum();
    let middle: i64 = row.age_bytes[2..5].iter().sum();
    let old: i64 = row.age_bytes[5..].iter().sum();
    let never_cold: i64 = row.never_bytes[5..].iter().sum();
    let never_unknown: i64 = row.never_bytes[..5].iter().sum();
    let (warm, old_cold) = (
        if observed(2) { middle } else { 0 },
        if observed(10) { old } else { 0 },
    );
    [
        hot,
        warm,
        old_cold + never_cold,
        middle - warm + old - old_cold + never_unknown,
    ]
}

fn check_row(row: &HeatRow, past: &Past) -> Result<(), TestCaseError> {
    let (mut age, mut never, mut counts, mut class) = ([0; 9], [0; 9], [0; 11], [0; 4]);
    let (mut distinct, mut f1, mut f2) = ([0; 4], [0; 4], [0; 4]);
    for life in past.of(row.kind) {
        match life.age() {
            Some(intervals) => age[bucket(intervals)] += PAGE_BYTES,
            None => never[bucket(life.valid_run())] += PAGE_BYTES,
        }
        counts[(0..10).filter(|age| life.active(*age)).count()] += PAGE_BYTES;
        for (index, window) in [1, 2, 5, 10].into_iter().enumerate() {
            distinct[index] += i64::from(life.samples(window) > 0);
            f1[index] += i64::from(life.samples(window) == 1);
            f2[index] += i64::from(life.samples(window) == 2);
        }
        let index = match life.recency() {
            Recency::Hot => 0,
            Recency::Warm => 1,
            Recency::Cold => 2,
            Recency::Unknown => 3,
        };
        class[index] += PAGE_BYTES;
    }
    prop_assert_eq!(row.age_bytes, age);
    prop_assert_eq!(row.never_bytes, never);
    prop_assert_eq!(row.active_count_bytes, counts);
    let samples = row.samples.is_some();
    prop_assert_eq!(row.distinct_pages, samples.then_some(distinct));
    prop_assert_eq!(
        (row.f1_pages, row.f2_pages),
        (samples.then_some(f1), samples.then_some(f2))
    );
    prop_assert_eq!(classes(row), class);
    let total: i64 = row.age_bytes.iter().chain(&row.never_bytes).sum();
    prop_assert_eq!(
        (row.resident_bytes, row.active_count_bytes.iter().sum::<i64>()),
        (total, total)
    );
    for (index, window) in [1, 2, 5, 10].into_iter().enumerate() {
        let active = past
            .of(row.kind)
            .filter(|life| (0..window).any(|age| life.active(age)))
            .count() as i64;
        prop_assert_eq!(
            (row.active_lo_bytes[index], row.active_hi_bytes[index]),
            (active * 4096, active * 4096)
        );
    }
    Ok(())
}

/// Overlap of the hot sets now and some intervals ago, where all intervals that it looks at were observed.
fn check_overlap(row: &HeatRow, past: &Past) -> Result<(), TestCaseError> {
    let lags = [10, 30, 60];
    let known = lags.map(|lag| (row.validity & 3) == 3 && (row.validity >> lag & 3) == 3);
    prop_assert_eq!(row.hot_overlap_bytes.is_some(), known.contains(&true));
    for (index, lag) in lags.into_iter().enumerate() {
        let hot = |life: &Life, age: usize| life.active(age) || life.active(age + 1);
        let (mut both, mut either) = (0, 0);
        for life in past.of(row.kind).filter(|_| known[index]) {
            both += i64::from(hot(life, 0) && hot(life, lag)) * PAGE_BYTES;
            either += i64::from(hot(life, 0) || hot(life, lag)) * PAGE_BYTES;
        }
        prop_assert_eq!(row.hot_overlap_bytes.unwrap_or_default()[index], (both, either));
    }
    Ok(())
}

fn sum_of(blocks: &[GapRow], kind: PageKind) -> Ended {
    let mut sum = Ended::none();
    for block in blocks.iter().filter(|block| block.kind == kind) {
        for bin in 0..GAP_BINS {
            sum.closed[bin] += block.closed_bytes[bin] / PAGE_BYTES;
            sum.freed[bin] += block.freed_bytes[bin] / PAGE_BYTES;
            sum.censored[bin] += block.censored_bytes[bin] / PAGE_BYTES;
        }
        sum.open = block.open_bytes.map(|bytes| bytes / PAGE_BYTES);
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn rows_equal_the_recomputation(steps in steps()) {
        let (mut folder, mut past) = (folder(), Past::new());
        for (now, step) in steps.iter().enumerate() {
            let folded = fold(&mut folder, now, step, |_| true);
            past.step(step);
            for kind in KINDS {
                let row = folded.rows.iter().find(|row| row.kind == kind);
                prop_assert_eq!(row.is_some(), past.of(kind).next().is_some());
                if let Some(row) = row {
                    check_row(row, &past)?;
                    check_overlap(row, &past)?;
                }
            }
        }
    }

    #[test]
    fn every_gap_ends_once_and_in_one_way(steps in steps()) {
        let (mut folder, mut past) = (folder(), Past::new());
        let mut blocks = Vec::new();
        for (now, step) in steps.iter().enumerate() {
            blocks.extend(fold(&mut folder, now, step, |_| true).gaps);
            past.step(step);
        }
        let last = folder.end_gap_block(end_of(steps.len()));
        prop_assert_eq!(last.is_empty(), steps.len().is_multiple_of(10));
        blocks.extend(last);
        for kind in KINDS {
            let mut expected = past.ended[kind as usize].clone();
            for life in past.of(kind) {
                life.gaps(None, &mut expected);
            }
            prop_assert_eq!(sum_of(&blocks, kind), expected);
        }
    }

    #[test]
    fn disjoint_sets_of_pages_add_up_to_the_whole(steps in steps()) {
        let (mut whole, mut low, mut high) = (folder(), folder(), folder());
        for (now, step) in steps.iter().enumerate() {
            let all = fold(&mut whole, now, step, |_| true);
            let parts = [fold(&mut low, now, step, |key| key < 9), fold(&mut high, now, step, |key| key >= 9)];
            for row in &all.rows {
                let merged = parts.iter().flat_map(|part| &part.rows).filter(|part| part.kind == row.kind).cloned();
                let merged = merged.reduce(|mut sum, part| {
                    assert!(sum.absorb(&part));
                    sum
                });
                prop_assert_eq!(Some(row), merged.as_ref());
            }
        }
    }
}

#[test]
fn additive_gaps_of_the_worked_example() {
    let mut folder = folder();
    let mut blocks = Vec::new();
    for (now, active) in [true, false, true, true, false, false].into_iter().enumerate() {
        let touched = if active { vec![(0, 1, 0)] } else { Vec::new() };
        let step = Step {
            observed: true,
            freed: Vec::new(),
            appeared: Vec::new(),
            touched,
        };
        blocks.extend(fold(&mut folder, now, &step, |_| true).gaps);
    }
    blocks.extend(folder.end_gap_block(end_of(6)));
    let sum = sum_of(&blocks, PageKind::Anon);
    let bins =
        |counts: [i64; GAP_BINS]| -> Vec<_> { (1..).zip(counts).filter(|(_, count)| *count > 0).collect() };
    assert_eq!(
        (bins(sum.closed), bins(sum.open)),
        (vec![(1, 1), (2, 1)], vec![(2, 1)])
    );
    assert_eq!(blocks[0].intervals, 6);
}

#[test]
fn a_page_that_changes_its_tier_stays_the_same_page_and_one_that_changes_its_kind_does_not() {
    let mut folder = folder();
    let page = |kind, tier: &str| PageClass {
        kind,
        page_size_bytes: 4096,
        tier: Some(Arc::from(tier)),
    };
    let classes = [
        (PageKind::Anon, "dram"),
        (PageKind::Anon, "cxl"),
        (PageKind::File, "cxl"),
    ];
    let mut rows = Vec::new();
    for (now, (kind, tier)) in classes.into_iter().enumerate() {
        let class = folder.class(&page(kind, tier));
        let touched = [Touch {
            key: 5,
            class,
            loads: 1,
            stores: 0,
        }];
        let changes = Changes {
            touched: Some(&touched),
            ..Changes::default()
        };
        rows.extend(folder.fold(end_of(now), &changes).rows);
    }
    let counts: Vec<_> = rows
        .iter()
        .map(|row| row.active_count_bytes.iter().position(|bytes| *bytes > 0))
        .collect();
    assert_eq!(counts, [Some(1), Some(2), Some(1)]);
    let block = folder.end_gap_block(end_of(3));
    let anon = block.iter().find(|row| row.kind == PageKind::Anon).unwrap();
    assert_eq!(
        (anon.closed_bytes[0], anon.freed_bytes[0]),
        (PAGE_BYTES, PAGE_BYTES)
    );
}

#[test]
fn a_page_that_is_touched_and_then_mapped_anew_in_one_interval_ends_its_gap_once() {
    let mut folder = folder();
    let [anon, file] = [PageKind::Anon, PageKind::File].map(|kind| {
        folder.class(&PageClass {
            kind,
            page_size_bytes: 4096,
            tier: None,
        })
    });
    let touch = |class| Touch {
        key: 5,
        class,
        loads: 1,
        stores: 0,
    };
    for (now, touched) in [vec![touch(anon)], vec![], vec![touch(anon), touch(file)]]
        .iter()
        .enumerate()
    {
        folder.fold(
            end_of(now),
            &Changes {
                touched: Some(touched),
                ..Changes::default()
            },
        );
    }
    let block = folder.end_gap_block(end_of(3));
    let anon = block.iter().find(|row| row.kind == PageKind::Anon).unwrap();
    assert_eq!(
        (anon.closed_bytes[1], anon.freed_bytes),
        (PAGE_BYTES, [0; GAP_BINS])
    );
}

#[test]
fn bytes_and_pages_of_mixed_sizes_tell_opposite_stories() {
    // Pages (activity, KiB), all intervals observed: fed as touches, oldest first.
    let pages = [
        (0x1_u64, 4),
        (0x6, 4),
        (0x18, 2048),
        (0x200, 4),
        (0x400, 4),
        (0, 4),
    ];
    let mut folder = folder();
    let class = |folder: &mut PageFolder, kib: u32| {
        folder.class(&PageClass {
            kind: PageKind::Anon,
            page_size_bytes: kib << 10,
            tier: None,
        })
    };
    let classes = pages.map(|(_, kib)| class(&mut folder, kib));
    let appeared: Vec<_> = (0..).zip(classes).collect();
    let mut rows = Vec::new();
    for age in (0..64).rev() {
        let active = (0..).zip(pages).filter(|(_, (bits, _))| bits >> age & 1 == 1);
        let touched: Vec<_> = active
            .map(|(key, _)| Touch {
                key,
                class: classes[key as usize],
                loads: 1,
                stores: 0,
            })
            .collect();
        let appeared = if age == 63 { appeared.as_slice() } else { &[] };
        rows = folder
            .fold(
                end_of(0),
                &Changes {
                    freed: &[],
                    appeared,
                    touched: Some(&touched),
                },
            )
            .rows;
    }
    let total: i64 = rows.iter().map(|row| row.resident_bytes).sum();
    let shares = [0, 1, 2, 3].map(|window| {
        let active: i64 = rows.iter().map(|row| row.active_lo_bytes[window]).sum();
        (active as f64 / total as f64 * 1e6).round() as i64
    });
    assert_eq!(shares, [1934, 3868, 994_197, 996_132]);
    let active_pages: [i64; 4] =
        [0, 1, 2, 3].map(|window| rows.iter().map(|row| row.distinct_pages.unwrap()[window]).sum());
    assert_eq!(active_pages, [1, 2, 3, 4]);
}
