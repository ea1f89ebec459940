//! The page sample of a group: pages whose keyed hash is below a threshold, followed over blocks of an hour. The first
//! of a live group may be shorter.

use std::collections::HashMap;

use crate::fold::{Measured, PageClass};
use crate::heat::PageKind;
use crate::page_sample::{
    BLOCK_NS, MAX_BLOCK_BYTES, MAX_SAMPLED_PAGES, PageSample, PageSampleOptions, SampleRow, SampledPage,
};

/// A lowered rate goes up again when a block used less than this part of its room.
const ROOM_TO_RAISE: usize = 4;

/// The block that is being filled.
#[derive(Debug)]
pub(super) struct Sampler {
    options: PageSampleOptions,
    sampled_ratio: f64,
    /// The rate went up: pages that were not selected may be now.
    pub(super) reselects: bool,
    /// Time that is still to be observed before a block ends whatever the hour; `None` when that has happened.
    until_first_ns: Option<i64>,
    intervals: Vec<(i64, bool)>,
    place_of: HashMap<u64, u32>,
    pages: Vec<SampledPage>,
    rows: Vec<SampleRow>,
    /// Loads and stores in the running interval, by page id.
    running: HashMap<u64, (u32, u32)>,
}

/// What goes with the sample that is not in it yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampleContext<'a> {
    pub(super) measured: &'a Measured,
    pub(super) counts: bool,
    pub(super) period_events: Option<f64>,
    pub(super) duty_ratio: Option<f64>,
}

impl Sampler {
    pub(super) fn new(options: PageSampleOptions) -> Self {
        let sampled_ratio = options.sampled_ratio.clamp(0.0, 1.0);
        Self {
            until_first_ns: options.first_block_ns,
            options,
            sampled_ratio,
            reselects: false,
            intervals: Vec::new(),
            place_of: HashMap::new(),
            pages: Vec::new(),
            rows: Vec::new(),
            running: HashMap::new(),
        }
    }

    pub(super) fn key(&self) -> [u64; 2] {
        self.options.key
    }

    /// Changes how many pages are followed at most, from the end of the interval on.
    pub(super) fn set_max_pages(&mut self, max_pages: usize) {
        self.options.max_pages = max_pages;
    }

    pub(super) fn selects(&self, id: u64) -> bool {
        is_below(id, self.sampled_ratio)
    }

    /// Notes activity of a selected page in the running interval.
    pub(super) fn touch(&mut self, id: u64, loads: u32, stores: u32) {
        let counts = self.running.entry(id).or_default();
        *counts = (counts.0.saturating_add(loads), counts.1.saturating_add(stores));
        while self.running.len() > self.max_pages() {
            self.halve();
        }
    }

    /// Notes that a page is resident in the running interval, if it is in the sample; says whether it is.
    pub(super) fn follow(&mut self, id: u64, page: &PageClass) -> bool {
        let selected = self.selects(id);
        if selected {
            self.stay(id, page.kind, page.page_size_bytes);
        }
        selected
    }

    fn stay(&mut self, id: u64, kind: PageKind, page_size_bytes: u32) {
        let now = self.intervals.len() as u32;
        let place = *self.place_of.entry(id).or_insert_with(|| {
            self.pages.push(SampledPage {
                id,
                kind,
                page_size_bytes,
                first_interval: now,
                last_interval: now,
            });
            self.pages.len() as u32 - 1
        });
        self.pages[place as usize].last_interval = now;
        while self.pages.len() > self.max_pages() {
            self.halve();
        }
    }

    /// Ends the running interval. Gives the blocks that are complete: one that reached its hour with this interval, one
    /// with which a new group was observed long enough to answer, or one that the interval no longer belongs to.
    pub(super) fn end_interval(
        &mut self,
        end_wall_ns: i64,
        observed: bool,
        context: SampleContext,
    ) -> Vec<PageSample> {
        let origin = self.options.block_origin_ns;
        let hour = |end: i64| (end - 1 - origin).div_euclid(BLOCK_NS);
        let mut complete = Vec::new();
        if let Some(&(first, _)) = self.intervals.first()
            && hour(first) != hour(end_wall_ns)
        {
            complete.extend(self.split_off(context));
        }
        let now = self.intervals.len() as u32;
        let running = std::mem::take(&mut self.running);
        if !observed && self.is_beginning() {
            return complete;
        }
        self.intervals.push((end_wall_ns, observed));
        let active = running
            .into_iter()
            .filter_map(|(id, counts)| Some((*self.place_of.get(&id)?, counts)));
        let first_row = self.rows.len();
        self.rows.extend(active.map(|(page, (loads, stores))| SampleRow {
            interval: now,
            page,
            loads,
            stores,
        }));
        self.rows[first_row..].sort_unstable_by_key(|row| row.page);
        while (self.encoded_bytes() > self.max_bytes() || self.pages.len() > self.max_pages())
            && self.pages.len() > 1
        {
            self.halve();
        }
        let is_first_due = observed && self.is_first_due(context.measured.interval_ns);
        if (end_wall_ns - origin).rem_euclid(BLOCK_NS) == 0 || is_first_due {
            complete.extend(self.end_block(context));
        }
        complete
    }

    /// Whether a live group was never observed so far: it begins with its first observed interval, and misses none before.
    fn is_beginning(&self) -> bool {
        self.intervals.is_empty()
            && self.until_first_ns.is_some()
            && self.until_first_ns == self.options.first_block_ns
    }

    /// Whether the group has now been observed long enough for an answer. Says so once.
    fn is_first_due(&mut self, interval_ns: i64) -> bool {
        let left_ns = self.until_first_ns.map(|left_ns| left_ns - interval_ns);
        self.until_first_ns = left_ns.filter(|left_ns| *left_ns > 0);
        left_ns.is_some_and(|left_ns| left_ns <= 0)
    }

    /// Ends the block; none without pages.
    pub(super) fn end_block(&mut self, context: SampleContext) -> Option<PageSample> {
        let (used_bytes, used_pages) = (self.encoded_bytes(), self.pages.len());
        let intervals = std::mem::take(&mut self.intervals);
        let pages = std::mem::take(&mut self.pages);
        let rows = std::mem::take(&mut self.rows);
        self.place_of.clear();
        let sampled_ratio = self.sampled_ratio;
        let spare =
            used_bytes * ROOM_TO_RAISE <= self.max_bytes() && used_pages * ROOM_TO_RAISE <= self.max_pages();
        if spare && self.sampled_ratio < self.options.sampled_ratio {
            self.sampled_ratio = (self.sampled_ratio * 2.0).min(self.options.sampled_ratio);
            self.reselects = true;
        }
        (!pages.is_empty()).then(|| PageSample {
            backend: context.measured.backend,
            granularity: context.measured.granularity,
            interval_ns: context.measured.interval_ns,
            service: context.measured.service.clone(),
            group: context.measured.group.clone(),
            sampled_ratio,
            counts: context.counts,
            period_events: context.period_events,
            duty_ratio: context.duty_ratio,
            intervals,
            pages,
            rows,
        })
    }

    /// Ends a block of an earlier hour. Pages of the running interval, which are noted already, go to the next one.
    fn split_off(&mut self, context: SampleContext) -> Option<PageSample> {
        let now = self.intervals.len() as u32;
        let running: Vec<SampledPage> = self
            .pages
            .iter()
            .filter(|page| page.last_interval == now)
            .copied()
            .collect();
        for page in &mut self.pages {
            page.last_interval = page.last_interval.min(now.saturating_sub(1));
        }
        self.drop_pages(|page| page.first_interval < now);
        let block = self.end_block(context);
        for page in running {
            self.stay(page.id, page.kind, page.page_size_bytes);
        }
        block
    }

    fn max_pages(&self) -> usize {
        self.options.max_pages.clamp(1, MAX_SAMPLED_PAGES)
    }

    /// The share of the block's bytes that goes with the share of the pages.
    fn max_bytes(&self) -> usize {
        MAX_BLOCK_BYTES * self.max_pages() / MAX_SAMPLED_PAGES
    }

    fn encoded_bytes(&self) -> usize {
        let varint = |value: u32| (u32::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize;
        let of_row = |row: &SampleRow| {
            varint(row.interval) + varint(row.page) + varint(row.loads) + varint(row.stores)
        };
        let of_page = |page: &SampledPage| {
            8 + 1 + varint(page.page_size_bytes) + varint(page.first_interval) + varint(page.last_interval)
        };
        let of_intervals = 10 * self.intervals.len();
        of_intervals
            + self.pages.iter().map(of_page).sum::<usize>()
            + self.rows.iter().map(of_row).sum::<usize>()
    }

    /// Halves the rate, and drops what it no longer selects.
    fn halve(&mut self) {
        self.sampled_ratio /= 2.0;
        let sampled_ratio = self.sampled_ratio;
        self.running.retain(|id, _| is_below(*id, sampled_ratio));
        self.drop_pages(|page| is_below(page.id, sampled_ratio));
    }

    fn drop_pages(&mut self, keep: impl Fn(&SampledPage) -> bool) {
        let mut place = Vec::with_capacity(self.pages.len());
        let mut kept = 0;
        for page in &self.pages {
            place.push(keep(page).then_some(kept));
            kept += u32::from(keep(page));
        }
        self.pages.retain(keep);
        self.place_of = (0..).zip(&self.pages).map(|(at, page)| (page.id, at)).collect();
        self.rows.retain_mut(|row| {
            let at = place[row.page as usize];
            row.page = at.unwrap_or_default();
            at.is_some()
        });
    }
}

/// Whether a hash is among the share `rate` of all hashes that is selected.
fn is_below(hash: u64, sampled_ratio: f64) -> bool {
    sampled_ratio >= 1.0 || hash < (sampled_ratio * 2.0_f64.powi(64)) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::heat::{Backend, Granularity};
    use crate::page_group::keyed_hash::keyed_hash;
    use crate::page_sample::FIRST_BLOCK_NS;

    const MINUTE_NS: i64 = 60_000_000_000;

    fn measured() -> Measured {
        Measured {
            backend: Backend::Pebs,
            granularity: Granularity::Page,
            interval_ns: MINUTE_NS,
            service: Arc::from("a/b"),
            group: Arc::from("c"),
        }
    }

    fn per_mille(sampled_ratio: f64) -> u32 {
        (sampled_ratio * 1000.0) as u32
    }

    fn sampler(sampled_ratio: f64, max_pages: usize) -> Sampler {
        let key = [3, 4];
        Sampler::new(PageSampleOptions {
            key,
            sampled_ratio,
            max_pages,
            first_block_ns: None,
            block_origin_ns: 0,
        })
    }

    /// Runs `minutes` with `pages` pages of which every third is active each minute; from minute `first` on.
    fn run(sampler: &mut Sampler, first: i64, minutes: i64, pages: u64, loads: u32) -> Vec<PageSample> {
        let measured = measured();
        let context = SampleContext {
            measured: &measured,
            counts: true,
            period_events: Some(200.0),
            duty_ratio: None,
        };
        let mut blocks = Vec::new();
        for minute in first..first + minutes {
            for page in 0..pages {
                let id = keyed_hash(sampler.key(), &[page]);
                if sampler.selects(id) && page % 3 == 0 {
                    sampler.touch(id, loads, 0);
                }
                if sampler.selects(id) {
                    sampler.stay(id, PageKind::Anon, 4096);
                }
            }
            blocks.extend(sampler.end_interval((minute + 1) * MINUTE_NS, true, context));
        }
        blocks
    }

    /// Minutes in which blocks of a live group end that begins with minute `first`, and their lengths.
    fn live_blocks(first: i64, minutes: i64) -> Vec<(i64, usize)> {
        let mut sampler = Sampler::new(PageSampleOptions {
            key: [3, 4],
            sampled_ratio: 1.0,
            max_pages: 4096,
            first_block_ns: Some(FIRST_BLOCK_NS),
            block_origin_ns: 0,
        });
        let measured = measured();
        let context = SampleContext {
            measured: &measured,
            counts: false,
            period_events: None,
            duty_ratio: None,
        };
        let mut lengths = Vec::new();
        for minute in first..first + minutes {
            sampler.stay(7, PageKind::Anon, 4096);
            // The first visit shows what is resident, and one is missed.
            let observed = minute != first && minute != first + 5;
            let blocks = sampler.end_interval((minute + 1) * MINUTE_NS, observed, context);
            lengths.extend(blocks.iter().map(|block| (minute, block.intervals.len())));
        }
        lengths
    }

    #[test]
    fn a_live_group_sends_a_block_after_ten_observed_minutes_whatever_the_hour() {
        assert_eq!(
            live_blocks(3, 67),
            [(14, 11), (59, 45)],
            "the next one ends with the hour"
        );
        let over_the_hour = [(59, 1), (69, 10), (119, 50)];
        assert_eq!(
            live_blocks(58, 70),
            over_the_hour,
            "a stub at the hour is no answer"
        );
    }

    #[test]
    fn blocks_end_with_their_hour_and_hold_every_row() {
        let blocks = run(&mut sampler(1.0, 4096), 50, 75, 30, 7);
        let lengths: Vec<_> = blocks.iter().map(|block| block.intervals.len()).collect();
        assert_eq!(lengths, [10, 60], "ten minutes to the hour, then an hour");
        let hour = &blocks[1];
        assert_eq!(
            (per_mille(hour.sampled_ratio), hour.pages.len(), hour.rows.len()),
            (1000, 30, 600)
        );
        assert!(hour.rows.iter().all(|row| row.loads == 7));
        assert!(hour.rows.is_sorted_by_key(|row| (row.interval, row.page)));
        assert!(
            hour.pages
                .iter()
                .all(|page| (page.first_interval, page.last_interval) == (0, 59))
        );
    }

    #[test]
    fn an_interval_that_jumps_over_the_hour_begins_the_next_block() {
        let mut sampler = sampler(1.0, 4096);
        assert_eq!(run(&mut sampler, 57, 2, 9, 1), []);
        let early = run(&mut sampler, 61, 1, 9, 1);
        assert_eq!(
            (early.len(), early[0].intervals.len(), early[0].rows.len()),
            (1, 2, 6)
        );
        assert!(early[0].pages.iter().all(|page| page.last_interval == 1));
        let late = run(&mut sampler, 119, 1, 9, 1);
        assert_eq!(
            (late.len(), late[0].intervals.len(), late[0].pages.len()),
            (1, 2, 9)
        );
    }

    #[test]
    fn too_many_pages_or_bytes_halve_the_rate_and_leave_the_same_pages() {
        let mut by_pages = sampler(1.0, 1000);
        let blocks = run(&mut by_pages, 50, 10, 5000, 1);
        assert_eq!((blocks.len(), per_mille(blocks[0].sampled_ratio)), (1, 125));
        let expected: Vec<_> = (0..5000)
            .map(|page| keyed_hash([3, 4], &[page]))
            .filter(|id| id >> 61 == 0)
            .collect();
        let mut ids: Vec<_> = blocks[0].pages.iter().map(|page| page.id).collect();
        ids.sort_unstable();
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        assert_eq!(ids, sorted);
        assert!(blocks[0].rows.iter().all(|row| row.page < ids.len() as u32));

        let mut by_bytes = sampler(1.0, 4096);
        let blocks = run(&mut by_bytes, 0, 60, 4000, u32::MAX);
        assert!(
            blocks[0].sampled_ratio < 1.0,
            "4,000 pages with wide counts do not fit"
        );
        assert!(by_bytes.pages.is_empty());
    }

    #[test]
    fn a_lowered_rate_goes_up_again_when_there_is_room() {
        let mut sampler = sampler(1.0, 100);
        assert_eq!(per_mille(run(&mut sampler, 50, 10, 500, 1)[0].sampled_ratio), 125);
        assert!(!sampler.reselects);
        let small = run(&mut sampler, 60, 60, 20, 1);
        assert!(sampler.reselects || small.is_empty());
        assert_eq!(per_mille(sampler.sampled_ratio), 250);
    }
}
