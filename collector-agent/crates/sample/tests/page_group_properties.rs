//! Process groups against a recomputation that keeps the whole past of every page, on random small histories with
//! processes that come, go and are missed, process ids and addresses that are used again, and files that several
//! processes map.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "whole_past/life.rs"]
mod life;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use life::{Ended, KINDS, Life, Seen};
use proptest::prelude::*;
use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, GAP_BINS, GapRow, Granularity, HeatRow, PageKind};
use tierscope_sample::page_group::{Census, PageGroup, PageGroupOptions, PageMapping, PageSize, PageState};
use tierscope_sample::vma_fold::ProcessKey;

const PAGE: u64 = 4096;
const PAGE_BYTES: i64 = 4096;
/// Address of the anonymous memory of every process.
const HEAP: u64 = 0x10_0000;
/// Address at which a process maps the file.
const TEXT: u64 = 0x80_0000;

/// What one process does in one interval.
#[derive(Debug, Clone)]
struct Turn {
    /// Number of the process; its id is this modulo 3, so that ids are used again.
    process: u64,
    observed: bool,
    /// The reading gave no mapping at all.
    out_of_sight: bool,
    /// Resident pages of the heap, of the file, and of private copies of file pages; with loads.
    heap: BTreeMap<u64, Option<u32>>,
    file: BTreeMap<u64, Option<u32>>,
    copies: BTreeMap<u64, Option<u32>>,
}

#[derive(Debug, Clone)]
enum Minute {
    Missed,
    Read(Vec<Turn>),
}

fn pages() -> impl Strategy<Value = BTreeMap<u64, Option<u32>>> {
    prop::collection::btree_map(0..8_u64, prop::option::weighted(0.4, 0..3_u32), 0..7)
}

fn turn() -> impl Strategy<Value = Turn> {
    let flags = (prop::bool::weighted(0.9), prop::bool::weighted(0.5));
    (0..5_u64, flags, pages(), pages(), pages()).prop_map(|(process, flags, heap, file, copies)| {
        let (observed, out_of_sight) = (flags.0, !flags.0 && flags.1);
        let copies = copies
            .into_iter()
            .filter(|(page, _)| !file.contains_key(page))
            .collect();
        Turn {
            process,
            observed,
            out_of_sight,
            heap,
            file,
            copies,
        }
    })
}

fn minute() -> impl Strategy<Value = Minute> {
    let read = prop::collection::vec(turn(), 0..5).prop_map(|mut turns| {
        let mut seen = BTreeSet::new();
        turns.retain(|turn| seen.insert(turn.process));
        Minute::Read(turns)
    });
    prop_oneof![1 => Just(Minute::Missed), 14 => read]
}

fn minutes() -> impl Strategy<Value = Vec<Minute>> {
    prop::collection::vec(minute(), 1..90)
}

fn group(census: Census) -> PageGroup {
    let measured = Measured {
        backend: Backend::Pebs,
        granularity: Granularity::Page,
        interval_ns: 60,
        service: Arc::from("a/b"),
        group: Arc::from("c"),
    };
    let options = PageGroupOptions {
        census,
        ..PageGroupOptions::default()
    };
    PageGroup::new(measured, options)
}

fn end_of(now: usize) -> IntervalEnd {
    IntervalEnd {
        wall_ns: (now as i64 + 1) * 60,
        boottime_ns: None,
    }
}

fn key_of(process: u64) -> ProcessKey {
    ProcessKey {
        pid: (process % 3) as u32 + 1,
        start_time_ticks: process,
    }
}

fn heap() -> PageMapping {
    PageMapping {
        start: HEAP,
        end: HEAP + 8 * PAGE,
        kind: PageKind::Anon,
        name: Arc::from("[heap]"),
        device: 0,
        inode: 0,
        offset_bytes: 0,
    }
}

/// The file, mapped at an address of its own by each process.
fn text(process: u64) -> PageMapping {
    let start = TEXT + process * 64 * PAGE;
    PageMapping {
        start,
        end: start + 8 * PAGE,
        kind: PageKind::File,
        name: Arc::from("libx.so"),
        device: 7,
        inode: 42,
        offset_bytes: 3 * PAGE,
    }
}

fn states(start: u64, pages: &BTreeMap<u64, Option<u32>>, anon: bool) -> Vec<PageState> {
    let state = |(page, loads): (&u64, &Option<u32>)| PageState {
        address: start + page * PAGE,
        size: PageSize::Small4K,
        anon,
        tier: None,
        active: loads.is_some(),
        loads: loads.unwrap_or_default(),
        stores: 0,
    };
    pages.iter().map(state).collect()
}

fn fold(group: &mut PageGroup, now: usize, minute: &Minute) -> Folded {
    let Minute::Read(turns) = minute else {
        group.miss();
        return Folded::default();
    };
    for turn in turns {
        let mut reading = group.process(key_of(turn.process), turn.observed);
        if turn.out_of_sight {
            continue;
        }
        reading.mapping(&heap(), &states(HEAP, &turn.heap, true));
        let text = text(turn.process);
        let mut both = states(text.start, &turn.file, false);
        both.extend(states(text.start, &turn.copies, true));
        both.sort_by_key(|state| state.address);
        // In two chunks, as a long mapping comes.
        let (low, high) = both.split_at(both.len() / 2);
        reading.mapping(&text, low);
        reading.mapping(&text, high);
    }
    group.finish(end_of(now))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    Heap(u64, u64),
    Copy(u64, u64),
    File(u64),
}

/// The slow way.
struct Past {
    lives: BTreeMap<Id, Life>,
    ended: [Ended; 3],
    /// Whether the group was observed, newest last.
    observed: Vec<bool>,
    known: BTreeSet<u64>,
}

fn kind_of(id: Id) -> PageKind {
    if matches!(id, Id::File(_)) {
        PageKind::File
    } else {
        PageKind::Anon
    }
}

impl Past {
    fn new() -> Self {
        Self {
            lives: BTreeMap::new(),
            ended: [Ended::none(), Ended::none(), Ended::none()],
            observed: Vec::new(),
            known: BTreeSet::new(),
        }
    }

    fn step(&mut self, minute: &Minute) {
        let Minute::Read(turns) = minute else {
            self.observed.push(false);
            self.lives
                .values_mut()
                .for_each(|life| life.seen.push(Seen::Missing));
            return;
        };
        let observed = turns.iter().any(|turn| turn.observed);
        self.observed.push(observed);
        // Who listed a page, and what was seen of it: (observed by all who list it, loads where active).
        let mut listed: BTreeMap<Id, (bool, Option<u64>)> = BTreeMap::new();
        for turn in turns.iter().filter(|turn| !turn.out_of_sight) {
            let heap = turn
                .heap
                .iter()
                .map(|(page, loads)| (Id::Heap(turn.process, *page), loads));
            let copies = turn
                .copies
                .iter()
                .map(|(page, loads)| (Id::Copy(turn.process, *page), loads));
            let file = turn.file.iter().map(|(page, loads)| (Id::File(*page), loads));
            for (id, loads) in heap.chain(copies).chain(file) {
                let entry = listed.entry(id).or_insert((true, None));
                entry.0 &= turn.observed;
                if let Some(loads) = loads.filter(|_| turn.observed) {
                    entry.1 = Some(entry.1.unwrap_or_default() + u64::from(loads));
                }
            }
        }
        let hidden: BTreeSet<u64> = turns
            .iter()
            .filter(|turn| turn.out_of_sight)
            .map(|turn| turn.process)
            .collect();
        let unlisted: Vec<Id> = self
            .lives
            .keys()
            .filter(|id| !listed.contains_key(id))
            .copied()
            .collect();
        for id in unlisted {
            let turn = match id {
                Id::Heap(process, _) | Id::Copy(process, _) => {
                    turns.iter().find(|turn| turn.process == process)
                }
                Id::File(_) => None,
            };
            let stays = match id {
                Id::File(_) => !hidden.is_empty(),
                _ => turn.is_some_and(|turn| turn.out_of_sight),
            };
            if stays {
                self.lives.get_mut(&id).unwrap().seen.push(Seen::Missing);
                continue;
            }
            let seen = turn.map_or(observed, |turn| turn.observed);
            let life = self.lives.remove(&id).unwrap();
            life.gaps(Some(seen), &mut self.ended[kind_of(id) as usize]);
        }
        for (id, (all, loads)) in listed {
            let seen = match loads {
                Some(loads) => Seen::Active(loads),
                None if all => Seen::Idle,
                None => Seen::Missing,
            };
            self.lives.entry(id).or_default().seen.push(seen);
        }
        self.known = turns.iter().map(|turn| turn.process).collect();
    }

    fn of(&self, kind: PageKind) -> impl Iterator<Item = &Life> {
        self.lives
            .iter()
            .filter(move |(id, _)| kind_of(**id) == kind)
            .map(|(_, life)| life)
    }

    fn run(&self) -> usize {
        self.observed
            .iter()
            .rev()
            .take(64)
            .take_while(|observed| **observed)
            .count()
    }
}

const EDGES: [usize; 9] = [0, 1, 2, 3, 5, 10, 20, 40, 64];

fn bucket(age: usize) -> usize {
    EDGES.iter().rposition(|start| age >= *start).unwrap()
}

fn check_row(row: &HeatRow, past: &Past) -> Result<(), TestCaseError> {
    let (mut age, mut never, mut counts) = ([0; 9], [0; 9], [0; 11]);
    let (mut active, mut distinct, mut f1, mut f2) = ([0; 4], [0; 4], [0; 4], [0; 4]);
    for life in past.of(row.kind) {
        let run = life.valid_run();
        match life.age() {
            // The page was missed since, and its group was not: nobody can say that it was idle.
            Some(intervals) if EDGES[bucket(intervals)] > run && past.run() > run => {
                never[bucket(run)] += PAGE_BYTES;
            }
            Some(intervals) => age[bucket(intervals)] += PAGE_BYTES,
            None => never[bucket(run)] += PAGE_BYTES,
        }
        counts[(0..10).filter(|age| life.active(*age)).count()] += PAGE_BYTES;
        for (index, window) in [1, 2, 5, 10].into_iter().enumerate() {
            active[index] += i64::from((0..window).any(|age| life.active(age))) * PAGE_BYTES;
            distinct[index] += i64::from(life.samples(window) > 0);
            f1[index] += i64::from(life.samples(window) == 1);
            f2[index] += i64::from(life.samples(window) == 2);
        }
    }
    prop_assert_eq!((row.age_bytes, row.never_bytes), (age, never));
    prop_assert_eq!(row.active_count_bytes, counts);
    let total: i64 = age.iter().chain(&never).sum();
    prop_assert_eq!(row.resident_bytes, total);
    prop_assert_eq!(row.active_lo_bytes, active);
    // The sampler does not say which share of the events it takes: where it looked, it may have missed any page.
    for (index, window) in [1, 2, 5, 10].into_iter().enumerate() {
        let looked = row.validity & ((1 << window) - 1) != 0;
        prop_assert_eq!(
            row.active_hi_bytes[index],
            if looked { total } else { active[index] }
        );
    }
    if row.validity & 1 != 0 {
        prop_assert_eq!(
            (row.distinct_pages, row.f1_pages, row.f2_pages),
            (Some(distinct), Some(f1), Some(f2))
        );
    }
    Ok(())
}

/// No byte of a page that missed an interval is ever read as idle: cold by a threshold means seen idle for that long.
fn check_never_cold_by_mistake(row: &HeatRow, past: &Past) -> Result<(), TestCaseError> {
    for threshold in [2, 3, 5, 10, 20, 40] {
        let from = EDGES.iter().position(|edge| *edge == threshold).unwrap();
        let by_age: i64 = if past.run() >= threshold {
            row.age_bytes[from..].iter().sum()
        } else {
            0
        };
        let cold: i64 = by_age + row.never_bytes[from..].iter().sum::<i64>();
        let truly = past
            .of(row.kind)
            .filter(|life| (0..threshold).all(|age| matches!(life.newest(age), Some(Seen::Idle))));
        prop_assert!(
            cold <= truly.count() as i64 * PAGE_BYTES,
            "threshold {}",
            threshold
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
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rows_equal_the_recomputation(minutes in minutes()) {
        let (mut group, mut past) = (group(Census::Full), Past::new());
        for (now, minute) in minutes.iter().enumerate() {
            let folded = fold(&mut group, now, minute);
            past.step(minute);
            if matches!(minute, Minute::Missed) {
                prop_assert!(folded.rows.is_empty());
                continue;
            }
            for kind in KINDS {
                let row = folded.rows.iter().find(|row| row.kind == kind);
                prop_assert_eq!(row.is_some(), past.of(kind).next().is_some());
                if let Some(row) = row {
                    check_row(row, &past)?;
                    check_never_cold_by_mistake(row, &past)?;
                }
            }
            prop_assert_eq!(group.pages(), past.lives.len());
            prop_assert_eq!(group.is_empty(), past.known.is_empty());
        }
    }

    #[test]
    fn every_gap_ends_once_and_in_one_way(minutes in minutes()) {
        let (mut group, mut past) = (group(Census::Full), Past::new());
        let mut blocks = Vec::new();
        for (now, minute) in minutes.iter().enumerate() {
            blocks.extend(fold(&mut group, now, minute).gaps);
            past.step(minute);
        }
        blocks.extend(group.end_stream().gaps);
        let ends: BTreeSet<i64> = blocks.iter().map(|block| block.end_wall_ns).collect();
        prop_assert!(blocks.iter().all(|block| block.intervals <= 10));
        for kind in KINDS {
            let mut expected = past.ended[kind as usize].clone();
            for life in past.of(kind) {
                life.gaps(None, &mut expected);
            }
            let mut got = sum_of(&blocks, kind);
            // A kind that is gone at the last block's end has no row there, and nothing open.
            let last = blocks.iter().rfind(|block| block.kind == kind).map(|block| block.end_wall_ns);
            if last != ends.last().copied() {
                got.open = [0; GAP_BINS];
            }
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn columns_are_as_long_as_the_rows_of_their_epoch(minutes in minutes()) {
        let mut group = group(Census::Full);
        let mut rows = 0;
        for (now, minute) in minutes.iter().enumerate() {
            let folded = fold(&mut group, now, minute);
            for epoch in &folded.tile_epochs {
                rows = epoch.rows.len();
                prop_assert!(rows <= 1024 && epoch.region_bytes == PAGE_BYTES);
            }
            for column in &folded.tile_columns {
                prop_assert_eq!(column.cells.len(), rows);
            }
        }
    }
}
