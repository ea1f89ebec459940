//! The recorded traces, folded, against a recomputation from the definitions that keeps every access.
#![allow(missing_docs, reason = "a test")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a failed unwrap is a failed test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use tierscope_import::page_trace::{PageTraceReader, TraceInterval};
use tierscope_import::trace_fold::{MAPPING_GAP_BYTES, TraceFolder, TraceIdentity};
use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_sample::heat::{GAP_BINS, GapRow, HeatRow, PageKind};
use tierscope_sample::tile_grid::CellScale;
use tierscope_sample::tiles::{CELL_NOT_COLLECTED, CELL_NOT_RESIDENT};

const PAGE_BYTES: i64 = 4096;
const MINUTE_NS: i64 = 60_000_000_000;

fn trace(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../tests/data/page-traces")
        .join(name)
}

fn identity() -> TraceIdentity {
    TraceIdentity {
        service: Arc::from("test/trace"),
        group: Arc::from("program"),
        interval_ns: MINUTE_NS,
        page_size_bytes: 4096,
        tier: None,
        epoch_seed: 1,
        begin_wall_ns: 0,
        sampled_pages: 0,
    }
}

fn end_of(index: usize) -> IntervalEnd {
    IntervalEnd {
        wall_ns: (index as i64 + 1) * MINUTE_NS,
        boottime_ns: None,
    }
}

/// Per page and kind: the intervals with accesses, and the number of loads in each.
type Accessed = BTreeMap<(PageKind, u64), BTreeMap<usize, u64>>;

fn read(name: &str) -> (PageTraceReader, Vec<TraceInterval>) {
    let reader = PageTraceReader::open(&trace(name)).expect("the trace opens");
    let intervals = reader
        .intervals()
        .collect::<Result<Vec<_>, _>>()
        .expect("the trace is sound");
    (reader, intervals)
}

fn accessed(intervals: &[TraceInterval]) -> Accessed {
    let mut accessed = Accessed::new();
    for (index, interval) in intervals.iter().enumerate() {
        for access in &interval.accesses {
            let counts = accessed.entry((access.kind, access.page)).or_default();
            *counts.entry(index).or_default() += u64::from(access.loads);
        }
    }
    accessed
}

/// Bucket by the table in the method's text, written out.
fn bucket(age: usize) -> usize {
    match age {
        0..=2 => age,
        3..=4 => 3,
        5..=9 => 4,
        10..=19 => 5,
        20..=39 => 6,
        40..=63 => 7,
        _ => 8,
    }
}

/// Hot, warm and cold bytes of a row of a trace, in which no interval is missing.
fn classes_of(row: &HeatRow) -> [i64; 3] {
    let sum = |bytes: &[i64]| bytes.iter().sum::<i64>();
    let never = sum(&row.never_bytes[5..]);
    [
        sum(&row.age_bytes[..2]),
        sum(&row.age_bytes[2..5]),
        sum(&row.age_bytes[5..]) + never,
    ]
}

/// The statistics of the pages of `kind` at the end of interval `now`, from first principles.
fn expect_row(accessed: &Accessed, kind: PageKind, now: usize, row: &HeatRow) {
    let (mut resident, mut classes) = (0, [0; 3]);
    let (mut age_bytes, mut never_bytes, mut count_bytes) = ([0; 9], [0; 9], [0; 11]);
    let (mut active, mut overlap) = ([0; 4], [(0, 0); 3]);
    let (mut distinct, mut f1, mut f2) = ([0; 4], [0; 4], [0; 4]);
    for (_, counts) in accessed.iter().filter(|((page_kind, _), _)| *page_kind == kind) {
        let seen: Vec<usize> = counts.range(..=now).map(|(interval, _)| *interval).collect();
        let (Some(first), Some(last)) = (seen.first(), seen.last()) else {
            continue;
        };
        resident += PAGE_BYTES;
        // A page is known from its first access on; before that it missed the window of ten intervals.
        let class = match now - last {
            0..2 => 0,
            2..10 => 1,
            _ => 2,
        };
        classes[class] += PAGE_BYTES;
        if now - last < 64 {
            age_bytes[bucket(now - last)] += PAGE_BYTES;
        } else {
            never_bytes[bucket((now + 1 - first).min(64))] += PAGE_BYTES;
        }
        count_bytes[seen.iter().filter(|interval| now - **interval < 10).count()] += PAGE_BYTES;
        for (index, window) in [1, 2, 5, 10].into_iter().enumerate() {
            let samples: u64 = counts
                .range(..=now)
                .filter(|(at, _)| now - *at < window)
                .map(|(_, n)| n)
                .sum();
            active[index] += i64::from(now - last < window) * PAGE_BYTES;
            distinct[index] += i64::from(samples > 0);
            f1[index] += i64::from(samples == 1);
            f2[index] += i64::from(samples == 2);
        }
        for (index, lag) in [10, 30, 60].into_iter().enumerate().filter(|(_, lag)| now > *lag) {
            let hot = |end: usize| seen.contains(&end) || seen.contains(&(end - 1));
            overlap[index].0 += i64::from(hot(now) && hot(now - lag)) * PAGE_BYTES;
            overlap[index].1 += i64::from(hot(now) || hot(now - lag)) * PAGE_BYTES;
        }
    }
    assert_eq!(row.resident_bytes, resident, "{kind:?} at {now}");
    assert_eq!(classes_of(row), classes, "{kind:?} at {now}");
    assert_eq!(
        (row.age_bytes, row.never_bytes),
        (age_bytes, never_bytes),
        "{kind:?} at {now}"
    );
    assert_eq!(row.active_count_bytes, count_bytes, "{kind:?} at {now}");
    assert_eq!(
        (row.active_lo_bytes, row.active_hi_bytes),
        (active, active),
        "{kind:?} at {now}"
    );
    assert_eq!(
        (row.distinct_pages, row.f1_pages, row.f2_pages),
        (Some(distinct), Some(f1), Some(f2)),
        "{kind:?} at {now}"
    );
    assert_eq!(
        row.hot_overlap_bytes,
        (now > 10).then_some(overlap),
        "{kind:?} at {now}"
    );
}

fn fold_all(reader: &PageTraceReader, intervals: &[TraceInterval]) -> Vec<Folded> {
    let ranges = reader.page_ranges(MAPPING_GAP_BYTES).expect("ranges");
    let mut folder = TraceFolder::new(&identity(), &ranges);
    intervals
        .iter()
        .enumerate()
        .map(|(index, interval)| folder.fold(end_of(index), &interval.accesses))
        .collect()
}

struct Whole {
    intervals: Vec<TraceInterval>,
    pages: Accessed,
    folded: Vec<Folded>,
}

impl Whole {
    fn open(name: &str) -> Self {
        let (reader, intervals) = read(name);
        Self {
            pages: accessed(&intervals),
            folded: fold_all(&reader, &intervals),
            intervals,
        }
    }
}

// Several tests ask these.
static SQLITE: LazyLock<Whole> = LazyLock::new(|| Whole::open("sqlite.parquet"));
static SQLITE_MISS: LazyLock<Whole> = LazyLock::new(|| Whole::open("sqlite.miss.parquet"));
static REDIS_MISS: LazyLock<Whole> = LazyLock::new(|| Whole::open("redis-zipf.miss.parquet"));

fn check_rows(trace: &Whole, checked: &[usize]) {
    let Whole {
        intervals,
        pages,
        folded,
    } = trace;
    for &now in checked {
        let kinds: Vec<_> = folded[now].rows.iter().map(|row| row.kind).collect();
        assert!(
            kinds.contains(&PageKind::Anon) && kinds.contains(&PageKind::File),
            "{kinds:?}"
        );
        for row in &folded[now].rows {
            expect_row(pages, row.kind, now, row);
            let accesses = intervals[now]
                .accesses
                .iter()
                .filter(|access| access.kind == row.kind);
            let (loads, stores) = accesses.fold((0, 0), |(loads, stores), access| {
                (loads + u64::from(access.loads), stores + u64::from(access.stores))
            });
            assert_eq!(
                row.samples.map(|samples| (samples.loads, samples.stores)),
                Some((loads, stores))
            );
        }
    }
}

#[test]
fn rows_of_the_redis_trace_equal_the_recomputation() {
    check_rows(
        &Whole::open("redis-zipf.parquet"),
        &[0, 1, 11, 31, 63, 64, 75, 119],
    );
}

#[test]
fn rows_of_the_sqlite_trace_equal_the_recomputation() {
    check_rows(&SQLITE, &[0, 2, 12, 40, 62, 66, 89]);
}

#[test]
fn rows_of_the_redis_miss_trace_equal_the_recomputation() {
    check_rows(&REDIS_MISS, &[0, 9, 58, 60, 64, 80, 119]);
}

#[test]
fn rows_of_the_sqlite_miss_trace_equal_the_recomputation() {
    check_rows(&SQLITE_MISS, &[0, 1, 10, 33, 63, 64, 65, 89]);
}

#[test]
fn every_gap_of_a_trace_is_counted_once() {
    check_gaps("sqlite.parquet", &SQLITE);
    check_gaps("sqlite.miss.parquet", &SQLITE_MISS);
    check_gaps("redis-zipf.miss.parquet", &REDIS_MISS);
}

fn check_gaps(name: &str, trace: &Whole) {
    let Whole {
        intervals,
        pages,
        folded,
    } = trace;
    let blocks: Vec<&GapRow> = folded.iter().flat_map(|folded| &folded.gaps).collect();
    let file_blocks = blocks.iter().filter(|block| block.kind == PageKind::File);
    assert_eq!(file_blocks.count(), intervals.len() / 10, "{name}");
    let last = intervals.len() - 1;
    for kind in [PageKind::Anon, PageKind::File] {
        let (mut closed, mut open, mut censored) = ([0; GAP_BINS], [0; GAP_BINS], [0; GAP_BINS]);
        for (_, counts) in pages.iter().filter(|((page_kind, _), _)| *page_kind == kind) {
            let seen: Vec<_> = counts.keys().copied().collect();
            let next = seen
                .iter()
                .skip(1)
                .map(|next| (*next, true))
                .chain([(last, false)]);
            for (start, (end, reaccessed)) in seen.iter().zip(next) {
                match end - start {
                    0 => {}
                    64.. => censored[GAP_BINS - 1] += PAGE_BYTES,
                    gap if reaccessed => closed[gap - 1] += PAGE_BYTES,
                    gap => open[gap - 1] += PAGE_BYTES,
                }
            }
        }
        let of_kind: Vec<_> = blocks
            .iter()
            .copied()
            .filter(|block| block.kind == kind)
            .collect();
        let sum = |column: fn(&GapRow) -> &[i64; GAP_BINS]| {
            std::array::from_fn::<i64, GAP_BINS, _>(|bin| {
                of_kind.iter().map(|block| column(block)[bin]).sum()
            })
        };
        assert_eq!(sum(|block| &block.closed_bytes), closed, "{kind:?}");
        assert_eq!(sum(|block| &block.censored_bytes), censored, "{kind:?}");
        assert_eq!(of_kind.last().unwrap().open_bytes, open, "{kind:?}");
        assert_eq!(
            sum(|block| &block.freed_bytes),
            [0; GAP_BINS],
            "a trace has no unmaps"
        );
    }
}

#[test]
fn a_trace_known_beforehand_has_one_epoch_whose_cells_give_back_the_accesses() {
    let Whole {
        intervals, folded, ..
    } = &*SQLITE;
    let epochs: Vec<_> = folded.iter().flat_map(|folded| &folded.tile_epochs).collect();
    assert_eq!(epochs.len(), 1);
    let epoch = epochs[0];
    assert!(
        epoch.rows.len() <= 1024 && epoch.rows.len() > 512,
        "{} rows",
        epoch.rows.len()
    );
    let scale = CellScale {
        base: epoch.cell_log2_base,
        unit: epoch.cell_unit,
    };
    for now in [0, 50, 89] {
        let column = &folded[now].tile_columns[0];
        let shown: f64 = column
            .cells
            .iter()
            .zip(&epoch.rows)
            .filter_map(|(cell, row)| Some(scale.activity(*cell)? * row.size_bytes as f64))
            .sum();
        let accesses = intervals[now].accesses.iter();
        let real: u64 = accesses
            .map(|access| u64::from(access.loads) + u64::from(access.stores))
            .sum();
        assert!((shown / real as f64 - 1.0).abs() < 0.05, "{shown} for {real}");
    }
    let not_resident = |now: usize| {
        let cells = &folded[now].tile_columns[0].cells;
        cells
            .iter()
            .map(|cell| u32::from(*cell == CELL_NOT_RESIDENT))
            .sum::<u32>()
    };
    assert!(not_resident(0) > not_resident(89));
}

#[test]
fn rows_that_follow_the_pages_seen_change_only_by_more_than_five_percent() {
    let (_, intervals) = read("sqlite.parquet");
    let mut folder = TraceFolder::new(&identity(), &[]);
    let mut epochs = Vec::new();
    for (index, interval) in intervals.iter().enumerate() {
        let minute = folder.fold(end_of(index), &interval.accesses);
        epochs.extend(minute.tile_epochs.iter().map(|epoch| (index, epoch.epoch_id)));
        let resident: i64 = minute.rows.iter().map(|row| row.resident_bytes).sum();
        assert_eq!(minute.tile_columns[0].epoch_id, epochs.last().unwrap().1);
        assert!(resident > 0);
    }
    assert_eq!(epochs[0].0, 0);
    assert!(epochs.len() > 1 && epochs.len() < 30, "{epochs:?}");
}

#[test]
fn a_skipped_interval_is_missing_and_its_tiles_are_not_collected() {
    let (reader, intervals) = read("sqlite.parquet");
    let ranges = reader.page_ranges(MAPPING_GAP_BYTES).unwrap();
    let mut folder = TraceFolder::new(&identity(), &ranges);
    folder.fold(end_of(0), &intervals[0].accesses);
    let skipped = folder.skip(end_of(1));
    assert!(
        skipped
            .rows
            .iter()
            .all(|row| row.validity == 0b10 && row.samples.is_none())
    );
    assert!(
        skipped.tile_columns[0]
            .cells
            .iter()
            .all(|cell| *cell == CELL_NOT_COLLECTED)
    );
    let looped = folder.fold(end_of(2), &intervals[0].accesses);
    for row in &looped.rows {
        assert_eq!((row.validity, row.age_bytes[0]), (0b101, row.resident_bytes));
        assert_eq!(row.active_count_bytes[2], row.resident_bytes);
    }
    let cut = folder.finish().gaps;
    assert!(
        cut.iter()
            .all(|block| block.intervals == 3 && block.closed_bytes == [0; GAP_BINS])
    );
}

#[test]
fn sampled_pages_of_a_trace_have_its_accesses_and_its_page_size() {
    let (reader, intervals) = read("sqlite.parquet");
    let identity = TraceIdentity {
        page_size_bytes: 16384,
        sampled_pages: 1000,
        ..identity()
    };
    let mut folder = TraceFolder::new(&identity, &reader.page_ranges(MAPPING_GAP_BYTES).unwrap());
    let mut samples = Vec::new();
    for (index, interval) in intervals.iter().enumerate() {
        samples.extend(folder.fold(end_of(index), &interval.accesses).page_samples);
    }
    samples.extend(folder.finish().page_samples);
    assert_eq!(
        samples.iter().map(|sample| sample.intervals.len()).sum::<usize>(),
        intervals.len()
    );
    let pages = accessed(&intervals).len() as f64;
    for sample in &samples {
        assert!(sample.counts && sample.period_events.is_none());
        assert!(sample.pages.len() <= 1000);
        assert!(sample.pages.iter().all(|page| page.page_size_bytes == 16384));
        let expected = pages * sample.sampled_ratio;
        assert!((sample.pages.len() as f64) < expected + 5.0 * expected.sqrt());
    }
    let all_of_them = TraceIdentity {
        sampled_pages: 4096,
        ..identity
    };
    let mut folder = TraceFolder::new(&all_of_them, &[]);
    folder.fold(end_of(0), &intervals[0].accesses);
    let whole = folder.finish().page_samples;
    let seen: u64 = whole[0]
        .rows
        .iter()
        .map(|row| u64::from(row.loads) + u64::from(row.stores))
        .sum();
    let happened: u64 = intervals[0]
        .accesses
        .iter()
        .map(|access| u64::from(access.loads) + u64::from(access.stores))
        .sum();
    assert!((whole[0].sampled_ratio - 1.0).abs() < f64::EPSILON);
    assert_eq!(seen, happened);
}

#[test]
fn one_trace_has_one_sample_of_pages_whenever_it_is_folded() {
    let (_, intervals) = read("sqlite.parquet");
    let sample = |begin_minute: i64, epoch_seed| {
        let begin_wall_ns = begin_minute * MINUTE_NS;
        let identity = TraceIdentity {
            epoch_seed,
            begin_wall_ns,
            sampled_pages: 1000,
            ..identity()
        };
        let mut folder = TraceFolder::new(&identity, &[]);
        let mut samples = Vec::new();
        for (index, interval) in intervals.iter().enumerate() {
            let end = IntervalEnd {
                wall_ns: begin_wall_ns + end_of(index).wall_ns,
                boottime_ns: None,
            };
            samples.extend(folder.fold(end, &interval.accesses).page_samples);
        }
        samples.extend(folder.finish().page_samples);
        for (end, _) in samples.iter_mut().flat_map(|block| &mut block.intervals) {
            *end -= begin_wall_ns;
        }
        samples
    };
    let at_the_hour = sample(0, 1);
    let lengths: Vec<_> = at_the_hour.iter().map(|block| block.intervals.len()).collect();
    assert_eq!(lengths, [60, 30], "hours of the recording");
    assert_eq!(at_the_hour, sample(29_000_017, 2));
}
