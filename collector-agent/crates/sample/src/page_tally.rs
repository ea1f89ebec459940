//! Counts of the pages of one class at the end of an interval, and the row of heat that they make.

use std::sync::Arc;

use crate::fold::{IntervalEnd, Measured, PageClass};
use crate::heat::{
    ACTIVE_COUNTS, AGE_BUCKET_STARTS, AGE_BUCKETS, Beside, HeatRow, OVERLAP_LAGS, Samples, WINDOWS,
};
use crate::history::{HISTORY_INTERVALS, History, age_bucket, mask};
use crate::marks::Marks;

/// [`age_bucket`] of 0..=64, which costs less than the search.
const BUCKET_OF_AGE: [u8; HISTORY_INTERVALS as usize + 1] = {
    let mut table = [0; HISTORY_INTERVALS as usize + 1];
    let mut age = 0;
    while age < table.len() {
        table[age] = age_bucket(age as u32) as u8;
        age += 1;
    }
    table
};

/// Set bits of a number below 1,024: counting them takes a dozen steps where the processor is not asked to.
const BITS_OF_TEN: [u8; 1 << (ACTIVE_COUNTS - 1)] = {
    let mut table = [0; 1 << (ACTIVE_COUNTS - 1)];
    let mut number = 0_usize;
    while number < table.len() {
        table[number] = number.count_ones() as u8;
        number += 1;
    }
    table
};

/// The window of hot pages, in intervals.
const HOT_WINDOW: u32 = 2;

/// Pages of one class, counted.
#[derive(Debug, Default)]
pub(crate) struct PageTally {
    pub(crate) pages: i64,
    pub(crate) samples: Samples,
    age: [i64; AGE_BUCKETS],
    never: [i64; AGE_BUCKETS],
    active_count: [i64; ACTIVE_COUNTS],
    /// Pages with exactly one load sample in the windows.
    pub(crate) f1: [i64; WINDOWS.len()],
    f2: [i64; WINDOWS.len()],
    overlap: [(i64, i64); OVERLAP_LAGS.len()],
    /// Pages with load samples in the windows.
    distinct: [i64; WINDOWS.len()],
    /// Pages active in the windows that `age` does not hold, because they missed an interval since.
    active_before_hole: [i64; WINDOWS.len()],
}

impl PageTally {
    /// Counts one page whose source was observed as `source` says. A page that missed an interval of the source is
    /// told apart here, because the row's validity is the source's.
    #[inline]
    pub(crate) fn add(&mut self, history: History, marks: Marks, source: u64) {
        self.pages += 1;
        let run = history.valid_run();
        if history.activity == 0 {
            self.never[usize::from(BUCKET_OF_AGE[run as usize])] += 1;
            self.active_count[0] += 1;
            return;
        }
        let age = history.activity.trailing_zeros();
        let bucket = usize::from(BUCKET_OF_AGE[age as usize]);
        if run < AGE_BUCKET_STARTS[bucket] && run < source.trailing_ones() {
            self.never[usize::from(BUCKET_OF_AGE[run as usize])] += 1;
            for (pages, window) in self.active_before_hole.iter_mut().zip(WINDOWS) {
                *pages += i64::from(age < window);
            }
        } else {
            self.age[bucket] += 1;
        }
        self.active_count[usize::from(BITS_OF_TEN[(history.activity & mask(10)) as usize])] += 1;
        self.add_overlap(history, source);
        if marks.is_silent() {
            return;
        }
        for (index, samples) in marks.samples().into_iter().enumerate() {
            self.distinct[index] += i64::from(samples > 0);
            self.f1[index] += i64::from(samples == 1);
            self.f2[index] += i64::from(samples == 2);
        }
    }

    /// Adds to the overlap of hot sets, at each lag where the page missed nothing that its source observed.
    #[inline]
    fn add_overlap(&mut self, history: History, source: u64) {
        // Intervals before the page was there are not missing ones.
        let there = u64::MAX >> history.validity.leading_zeros();
        let missed = source & there & !history.validity;
        let hot_now = history.active(HOT_WINDOW);
        for (lag, (both, either)) in OVERLAP_LAGS.iter().zip(&mut self.overlap) {
            let hot_then = (history.activity >> lag) & mask(HOT_WINDOW) != 0;
            if missed & (mask(HOT_WINDOW) | mask(HOT_WINDOW) << lag) == 0 {
                *both += i64::from(hot_now && hot_then);
                *either += i64::from(hot_now || hot_then);
            }
        }
    }

    /// The row of heat of these pages. `lags` tells which overlap lags were fully observed.
    pub(crate) fn row(
        &self,
        measured: &Measured,
        end: IntervalEnd,
        page: &PageClass,
        validity: u64,
        lags: [bool; OVERLAP_LAGS.len()],
    ) -> HeatRow {
        let page_bytes = i64::from(page.page_size_bytes);
        let observed = validity & 1 != 0;
        // Windows end at bucket edges, so the pages active in one are those of the buckets before it.
        let active_bytes = std::array::from_fn(|index| {
            let buckets = self.age.iter().zip(AGE_BUCKET_STARTS);
            let of_window = buckets.filter(|(_, start)| *start < WINDOWS[index]);
            let pages = of_window.map(|(pages, _)| pages).sum::<i64>() + self.active_before_hole[index];
            pages * page_bytes
        });
        let overlap = std::array::from_fn(|lag| {
            let (both, either) = if lags[lag] { self.overlap[lag] } else { (0, 0) };
            (both * page_bytes, either * page_bytes)
        });
        HeatRow {
            backend: measured.backend,
            granularity: measured.granularity,
            interval_ns: measured.interval_ns,
            end_wall_ns: end.wall_ns,
            end_boottime_ns: end.boottime_ns,
            service: Arc::clone(&measured.service),
            group: Arc::clone(&measured.group),
            kind: page.kind,
            page_size_bytes: page.page_size_bytes,
            tier: page.tier.clone(),
            validity,
            resident_bytes: self.pages * page_bytes,
            age_bytes: self.age.map(|pages| pages * page_bytes),
            never_bytes: self.never.map(|pages| pages * page_bytes),
            active_count_bytes: self.active_count.map(|pages| pages * page_bytes),
            active_lo_bytes: active_bytes,
            active_hi_bytes: active_bytes,
            samples: observed.then_some(self.samples),
            period_events: None,
            duty_ratio: None,
            distinct_pages: observed.then_some(self.distinct),
            f1_pages: observed.then_some(self.f1),
            f2_pages: observed.then_some(self.f2),
            hot_overlap_bytes: lags.contains(&true).then_some(overlap),
            bits_per_interval: 1,
            beside: Beside::default(),
        }
    }
}
