//! The fold against a recomputation that keeps the whole past of every page, on random small histories with missing
//! intervals, unmaps and keys that are used again.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tierscope_sample::fold::{Changes, Folded, IntervalEnd, Measured, PageClass, PageFolder, Touch};
use tierscope_sample::heat::{Backend, GAP_BINS, GapRow, Granularity, HeatRow, PageKind};
use tierscope_sample::history::{HISTORY_INTERVALS, Recency};

const KINDS: [PageKind; 3] = [PageKind::Anon, PageKind::File, PageKind::Tmpfs];
const PAGE_BYTES: i64 = 4096;

/// One interval: pages unmapped, pages that appear untouched, and pages touched with their counts.
#[derive(Debug, Clone)]
struct Step {
    observed: bool,
    freed: Vec<u64>,
    appeared: Vec<u64>,
    touched: Vec<(u64, u32, u32)>,
}

/// The kind of a page is fixed by its key.
fn kind_of(key: u64) -> PageKind {
    KINDS[key as usize % KINDS.len()]
}

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

/// What happened to a page in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Seen {
    Missing,
    Idle,
    Active(u64),
}

/// A page's life, from the interval in which it became resident.
#[derive(Debug, Clone, Default)]
struct Life {
    seen: Vec<Seen>,
}

impl Life {
    fn newest(&self, age: usize) -> Option<Seen> {
        self.seen.iter().rev().nth(age).copied()
    }

    fn active(&self, age: usize) -> bool {
        matches!(self.newest(age), Some(Seen::Active(_)))
    }

    fn age(&self) -> Option<usize> {
        (0..HISTORY_INTERVALS as usize).find(|age| self.active(*age))
    }

    fn valid_run(&self) -> usize {
        (0..64)
            .take_while(|age| !matches!(self.newest(*age), None | Some(Seen::Missing)))
            .count()
    }

    fn samples(&self, window: usize) -> u64 {
        let counted = self.seen.iter().rev().take(window);
        counted
            .map(|seen| {
                if let Seen::Active(samples) = seen {
                    *samples
                } else {
                    0
                }
            })
            .sum()
    }

    fn recency(&self) -> Recency {
        let whole = |window: usize| self.valid_in(window) == window;
        if (0..2).any(|age| self.active(age)) {
            Recency::Hot
        } else if !whole(2) {
            Recency::Unknown
        } else if (0..10).any(|age| self.active(age)) {
            Recency::Warm
        } else if !whole(10) {
            Recency::Unknown
        } else {
            Recency::Cold
        }
    }

    fn valid_in(&self, window: usize) -> usize {
        (0..window)
            .filter(|age| !matches!(self.newest(*age), None | Some(Seen::Missing)))
            .count()
    }

    /// Lengths of the gaps that ended, and how; the open one is left to the caller. `unmapped` in the interval after
    /// the life, which was observed or not.
    fn gaps(&self, unmapped: Option<bool>, ended: &mut Ended) {
        let mut last: Option<usize> = None;
        for (now, seen) in self.seen.iter().enumerate() {
            match seen {
                Seen::Missing => {
                    if let Some(start) = last.take() {
                        ended.censor(now - start - 1);
                    }
                }
                Seen::Active(_) => {
                    if let Some(start) = last.replace(now) {
                        if now - start > GAP_BINS {
                            ended.censor(GAP_BINS);
                        } else {
                            ended.closed[now - start - 1] += 1;
                        }
                    }
                }
                Seen::Idle => {}
            }
        }
        let Some(lag) = last.map(|start| self.seen.len() - 1 - start) else {
            return;
        };
        match unmapped {
            Some(true) if lag < GAP_BINS => ended.freed[lag] += 1,
            Some(_) => ended.censor(lag),
            None if lag > GAP_BINS => ended.censor(lag),
            None if lag > 0 => ended.open[lag - 1] += 1,
            None => {}
        }
    }
}

/// Gaps by how they ended; index i counts those of i + 1 intervals.
#[derive(Debug, Clone, PartialEq)]
struct Ended {
    closed: [i64; GAP_BINS],
    freed: [i64; GAP_BINS],
    open: [i64; GAP_BINS],
    censored: [i64; GAP_BINS],
}

impl Ended {
    fn none() -> Self {
        let zero = [0; GAP_BINS];
        Self {
            closed: zero,
            freed: zero,
            open: zero,
            censored: zero,
        }
    }

    fn censor(&mut self, length: usize) {
        if length > 0 {
            self.censored[length.min(GAP_BINS) - 1] += 1;
        }
    }
}

/// The lives of all pages, and the gaps of those that were unmapped.
struct Past {
    lives: BTreeMap<u64, Life>,
    ended: [Ended; 3],
}

impl Past {
    fn new() -> Self {
        Self {
            lives: BTreeMap::new(),
            ended: [Ended::none(), Ended::none(), Ended::none()],
        }
    }

    fn step(&mut self, step: &Step) {
        for key in &step.freed {
            if let Some(life) = self.lives.remove(key) {
                life.gaps(Some(step.observed), &mut self.ended[kind_of(*key) as usize]);
            }
        }
        let idle = if step.observed { Seen::Idle } else { Seen::Missing };
        self.lives.values_mut().for_each(|life| life.seen.push(idle));
        let touched = if step.observed {
            step.touched.as_slice()
        } else {
            &[]
        };
        for key in step.appeared.iter().chain(touched.iter().map(|(key, ..)| key)) {
            self.lives
                .entry(*key)
                .or_insert_with(|| Life { seen: vec![idle] });
        }
        for (key, loads, stores) in touched {
            let newest = self.lives.get_mut(key).unwrap().seen.last_mut().unwrap();
            let before = if let Seen::Active(samples) = newest {
                *samples
            } else {
                0
            };
            *newest = Seen::Active(before + u64::from(loads + stores));
        }
    }

    fn of(&self, kind: PageKind) -> impl Iterator<Item = &Life> {
        self.lives
            .iter()
            .filter(move |(key, _)| kind_of(**key) == kind)
            .map(|(_, life)| life)
    }
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
    let (mut f1, mut f2) = ([0; 4], [0; 4]);
    for life in past.of(row.kind) {
        match life.age() {
            Some(intervals) => age[bucket(intervals)] += PAGE_BYTES,
            None => never[bucket(life.valid_run())] += PAGE_BYTES,
        }
        counts[(0..10).filter(|age| life.active(*age)).count()] += PAGE_BYTES;
        for (index, window) in [1, 2, 5, 10].into_iter().enumerate() {
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
