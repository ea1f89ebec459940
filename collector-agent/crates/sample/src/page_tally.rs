//! Counts of the pages of one class at the end of an interval, and the row of heat that they make.

use std::sync::Arc;

use crate::fold::{IntervalEnd, Measured, PageClass};
use crate::heat::{ACTIVE_COUNTS, AGE_BUCKET_STARTS, AGE_BUCKETS, HeatRow, OVERLAP_LAGS, Samples, WINDOWS};
use crate::history::{HISTORY_INTERVALS, History, age_bucket, mask};
use crate::page_table::Marks;

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
    f1: [i64; WINDOWS.len()],
    f2: [i64; WINDOWS.len()],
    overlap: [(i64, i64); OVERLAP_LAGS.len()],
}

impl PageTally {
    /// Counts one page.
    pub(crate) fn add(&mut self, history: History, marks: Marks) {
        self.pages += 1;
        if history.activity == 0 {
            self.never[usize::from(BUCKET_OF_AGE[history.valid_run() as usize])] += 1;
            self.active_count[0] += 1;
            return;
        }
        self.age[usize::from(BUCKET_OF_AGE[history.activity.trailing_zeros() as usize])] += 1;
        self.active_count[usize::from(BITS_OF_TEN[(history.activity & mask(10)) as usize])] += 1;
        let hot_now = history.active(HOT_WINDOW);
        for (lag, (both, either)) in OVERLAP_LAGS.iter().zip(&mut self.overlap) {
            let hot_then = (history.activity >> lag) & mask(HOT_WINDOW) != 0;
            *both += i64::from(hot_now && hot_then);
            *either += i64::from(hot_now || hot_then);
        }
        if marks.is_silent() {
            return;
        }
        for (index, samples) in marks.samples().into_iter().enumerate() {
            self.f1[index] += i64::from(samples == 1);
            self.f2[index] += i64::from(samples == 2);
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
        let active_pages = WINDOWS.map(|window| {
            let buckets = self.age.iter().zip(AGE_BUCKET_STARTS);
            buckets
                .filter(|(_, start)| *start < window)
                .map(|(pages, _)| pages)
                .sum::<i64>()
        });
        let active_bytes = active_pages.map(|pages| pages * page_bytes);
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
            distinct_pages: observed.then_some(active_pages),
            f1_pages: observed.then_some(self.f1),
            f2_pages: observed.then_some(self.f2),
            hot_overlap_bytes: lags.contains(&true).then_some(overlap),
            bits_per_interval: 1,
            sampled_pages: None,
            written_bytes: None,
            subpage_active_bytes: None,
        }
    }
}
