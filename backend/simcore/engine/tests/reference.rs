//! The simulator against one that is too simple to be wrong: it sorts all pages whenever it looks for a victim.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a failed unwrap is a failed test; exact results are compared"
)]

mod naive_group;
mod naive_lru;
mod shared_memory;
mod slow_zone;
mod traces;

use naive_lru::{NaiveLru, Uses};
use proptest::prelude::*;
use tierscope_engine::{
    Lru, Memory, Params, Place, Policy, expected_hint_seconds, first_access, simulate,
};
use traces::{Columns, columns, groups, kswapds, lrus, machines, policies, scans, tenants};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum At {
    Dram,
    Slow,
    Dropped,
    Nowhere,
    Absent,
}

#[derive(Debug, Clone, Copy)]
struct Page {
    at: At,
    last: u32,
    active: bool,
    promoted: bool,
    birth: usize,
    /// When the scanner armed it; its next touch takes a hint fault.
    armed: Option<u32>,
    /// Whether each of the last 8 intervals touched it, the current one first.
    touched: [bool; 8],
}

pub(crate) struct Simple<'a> {
    columns: &'a Columns,
    memory: Memory,
    policy: Policy,
    params: Params,
    /// The scanner's place in its pass, the length of the pass, and whether pages were promoted in it.
    place: f64,
    pass_intervals: f64,
    promoted_in_pass: bool,
    /// Whether kswapd is awake, and what it has left of its time.
    awake: bool,
    kswapd_s: f64,
    /// Pages allocated since the kernel needed one for itself.
    allocated: u64,
    high_units: Option<u64>,
    owed: u64,
    /// By tenant; the last for pages of one service.
    hands: [usize; 3],
    /// What was demoted of each tenant in this interval.
    lowered: [u64; 2],
    /// The kernel's lists of DRAM, the accesses that they know of, and the share of the interval that is over.
    lru: Option<NaiveLru>,
    uses: Uses,
    part: f32,
    pages: Vec<Page>,
    now: u32,
    turn: u32,
    threshold_s: f64,
    threshold_candidates: u64,
    /// Hot pages that found no free page in this interval.
    refused: u64,
    /// Pages that kswapd demoted in this interval.
    kswapd_demoted: u64,
}

/// DRAM, slow and away accesses, promotions and demotions of one interval.
type Found = (u64, u64, u64, u64, u64);

impl Simple<'_> {
    fn free(&self, at: At) -> i64 {
        let size = if at == At::Dram {
            self.memory.dram_units
        } else {
            self.memory.slow_units
        };
        size as i64 - self.pages.iter().filter(|page| page.at == at).count() as i64
    }

    fn is_active(&self, page: usize) -> bool {
        self.pages[page].active && self.now - self.pages[page].last < 10
    }

    /// Inactive before active, oldest first, then in order of birth.
    fn victims(&self, at: At, with_current: bool, file_only: bool) -> Vec<usize> {
        let mut found: Vec<usize> = (0..self.pages.len())
            .filter(|&page| self.pages[page].at == at && !self.pages[page].promoted)
            .filter(|&page| with_current || self.pages[page].last < self.now)
            .filter(|&page| !file_only || self.columns.kinds[page] == 1)
            .collect();
        found.sort_by_key(|&page| {
            let is_first = self.params.cache_trim_mode && self.columns.kinds[page] == 1;
            (
                !is_first || self.is_active(page),
                self.is_active(page),
                self.pages[page].last,
                self.pages[page].birth,
            )
        });
        found
    }

    /// Demotes the next page, or drops a file where the slower tier is full. Says whether it was demoted.
    fn lower_next(&mut self, with_current: bool) -> Option<bool> {
        let next = if self.lru.is_some() {
            self.next_of_lists()?
        } else {
            self.demotable(with_current).first().copied()?
        };
        self.lower_this(next, with_current)
    }

    fn lower_this(&mut self, next: usize, with_current: bool) -> Option<bool> {
        self.keep_slow_free();
        if self.free(At::Slow) < 1 {
            let dropped = self
                .victims(At::Dram, with_current, true)
                .first()
                .copied()?;
            self.set(dropped, At::Dropped);
            return Some(false);
        }
        self.lower_victim(next);
        Some(true)
    }

    /// Lets kswapd work for so long, if it is awake.
    fn run_kswapd(&mut self, seconds: f64, with_current: bool, accessed_s: f64) {
        let (Some(kswapd), true) = (self.params.kswapd, self.awake) else {
            return;
        };
        self.kswapd_s += seconds;
        if self.lru.is_some() {
            return self.run_kswapd_by_lists(kswapd, with_current, accessed_s);
        }
        let cost_s = kswapd.page_s + kswapd.unit_s;
        while self.free(At::Dram) < self.memory.watermarks.promo as i64 {
            if self.demotable(with_current).is_empty() {
                break;
            }
            if cost_s > self.kswapd_s {
                return;
            }
            self.kswapd_s -= cost_s;
            let Some(demoted) = self.lower_next(with_current) else {
                break;
            };
            self.kswapd_demoted += u64::from(demoted);
        }
        (self.awake, self.kswapd_s) = (false, 0.0);
    }

    fn room(&mut self, page: usize) -> Option<At> {
        if let Policy::HotPageSelection(hot) = self.policy
            && ((hot.allocation_demotes && self.needs_kernel_page()) || self.free(At::Slow) < 1)
            && self.free(At::Dram) <= self.memory.watermarks.low as i64
        {
            self.awake = self.params.kswapd.is_some();
        }
        let marks = self.memory.watermarks;
        let above = |free: u64, left: i64| {
            if left > free as i64 && left >= 1 {
                At::Dram
            } else {
                At::Slow
            }
        };
        let left = self.free(At::Dram);
        let mut first = match self.policy {
            Policy::FirstTouch | Policy::NumaBalancing | Policy::HotPageSelection(_) => {
                above(marks.low, left)
            }
            Policy::Tpp(tpp) if tpp.type_aware && self.columns.kinds[page] != 0 => At::Slow,
            Policy::Tpp(tpp) => above(if tpp.decoupled { marks.high } else { marks.low }, left),
            Policy::AutoTiering { reserve_units, .. } => above(marks.low + reserve_units, left),
            Policy::Interleave(weights) => {
                let place = self.turn % (weights.dram_weight + weights.slow_weight);
                if place < weights.dram_weight {
                    At::Dram
                } else {
                    At::Slow
                }
            }
            Policy::AllDram => unreachable!("not modelled"),
        };
        if self.is_limited(page) {
            first = At::Slow;
        }
        self.turn += 1;
        if first == At::Slow {
            self.keep_slow_free();
        }
        let second = if first == At::Dram {
            At::Slow
        } else {
            At::Dram
        };
        if let Some(found) = [first, second].into_iter().find(|&at| self.free(at) >= 1) {
            return Some(found);
        }
        let at = if self.memory.slow_units > 0 {
            At::Slow
        } else {
            At::Dram
        };
        let victim = self.victims(at, false, true).first().copied()?;
        self.set(victim, At::Dropped);
        Some(at)
    }

    fn lower(&mut self, page: usize) {
        let tenant = self.tenant(page);
        if let Some(lowered) = self.lowered.get_mut(tenant) {
            *lowered += 1;
        }
        self.set(page, At::Slow);
        self.pages[page].active = false;
        self.pages[page].armed = None;
    }

    /// Frees up to so many pages until so much is free. Returns those that were demoted, not dropped.
    fn demote_until(&mut self, free: u64, most: u64) -> u64 {
        let mut demoted = 0;
        for _ in 0..most {
            if self.free(At::Dram) >= free as i64 {
                break;
            }
            let Some(was_demoted) = self.lower_next(true) else {
                break;
            };
            demoted += u64::from(was_demoted);
        }
        demoted
    }

    /// The scanner comes to the pages of the slower tier whose place falls into this interval.
    fn arm(&mut self) {
        let scan = self.params.scan;
        if scan.pass_intervals <= 1.0 && scan.longest_pass_intervals <= 1.0 {
            self.arm_between(0.0, 1.0);
            return;
        }
        let mut left = 1.0;
        while left > 0.0 {
            let until = self.place + left / self.pass_intervals;
            self.arm_between(self.place, until.min(1.0));
            if until < 1.0 {
                self.place = until;
                return;
            }
            left -= (1.0 - self.place) * self.pass_intervals;
            self.place = 0.0;
            if self.promoted_in_pass {
                self.pass_intervals = (self.pass_intervals * scan.pass_growth)
                    .min(scan.longest_pass_intervals.max(scan.pass_intervals));
            }
            self.promoted_in_pass = false;
        }
    }

    fn arm_between(&mut self, from: f64, until: f64) {
        let size = f64::from(self.params.scan.size_pages);
        let pieces = self.pages.len() as f64 / size;
        for page in &mut self.pages {
            let piece = (page.birth as f64 / size).floor();
            if page.at == At::Slow
                && (from * pieces).ceil() <= piece
                && piece < (until * pieces).ceil()
            {
                page.armed = Some(self.now);
            }
        }
    }

    fn touch(&mut self, page: usize, accesses: u32) {
        let now = self.now;
        self.uses.accesses.insert((page, now), accesses);
        let state = &mut self.pages[page];
        state.active |= state.last < now;
        state.last = now;
        state.touched[0] = true;
    }

    fn interval(&mut self) -> Found {
        let now = self.now;
        self.lowered = [0; 2];
        self.part = 0.0;
        self.uses.promoted.clear();
        self.arm();
        for page in &mut self.pages {
            page.touched.rotate_right(1);
            page.touched[0] = false;
        }
        for page in 0..self.pages.len() {
            if self.columns.last[page] + 1 == now {
                self.set(page, At::Absent);
            }
        }
        let mut born: Vec<usize> = (0..self.pages.len())
            .filter(|&page| self.columns.first[page] == now)
            .collect();
        born.sort_by_key(|&page| self.pages[page].birth);
        self.kswapd_demoted = 0;
        let rows_now = self.columns.rows.iter().filter(|row| row.0 == now).count();
        let untouched = |&&page: &&usize| {
            !self
                .columns
                .rows
                .iter()
                .any(|row| row.0 == now && row.1 as usize == page)
        };
        let events = born.len() + rows_now + born.iter().filter(untouched).count();
        let each_s = 60.0 / events.max(1) as f64;
        let left_s = 60.0 - each_s * born.len() as f64;
        for page in born {
            self.run_kswapd(each_s, false, 60.0);
            self.pages[page].last = now;
            let at = self.room(page);
            self.set(page, at.unwrap_or(At::Nowhere));
        }
        let mut rows: Vec<_> = self
            .columns
            .rows
            .iter()
            .filter(|row| row.0 == now)
            .copied()
            .collect();
        rows.sort_by_key(|row| self.pages[row.1 as usize].birth);
        let (mut dram, mut slow, mut away) = (0, 0, 0);
        let mut faults: Vec<(f64, usize, bool)> = Vec::new();
        let mut parts: Vec<f32> = Vec::new();
        for (_, page, accesses, _) in rows {
            let (page, count) = (page as usize, u64::from(accesses));
            match self.pages[page].at {
                At::Dram => dram += count,
                At::Slow => {
                    if let Some(scanned) = self.pages[page].armed.take() {
                        let within = expected_hint_seconds(accesses, 60.0) as f32;
                        let seconds = within + 60.0 * (now - scanned) as f32;
                        faults.push((f64::from(seconds), page, self.is_active(page)));
                        parts.push(first_access(self.pages[page].birth as u32, now, accesses) as f32);
                    }
                    slow += count;
                }
                _ => {
                    away += 1;
                    let at = self.room(page);
                    match at {
                        Some(At::Dram) => dram += count - 1,
                        Some(_) => slow += count - 1,
                        None => away += count - 1,
                    }
                    let was = self.pages[page].at;
                    self.set(page, at.unwrap_or(was));
                    if at.is_some()
                        && was == At::Dropped
                        && let Some(lru) = &mut self.lru
                    {
                        lru.note_cost(self.columns.kinds[page] == 1);
                    }
                    // It is mapped anew: an arming from before it was dropped is gone.
                    self.pages[page].armed = None;
                }
            }
            self.touch(page, accesses);
        }
        let faults = self.in_order(&faults, &parts);
        let (mut promoted, candidates, exchanged) = self.promote(&faults, left_s);
        self.part = 1.0;
        self.promoted_in_pass |= !promoted.is_empty();
        let limited = self.enforce_limits(&mut promoted);
        let mut demoted = exchanged + limited + self.demote(candidates) + self.kswapd_demoted;
        let mut kept = promoted.len();
        while self.free(At::Dram) < 0 {
            kept -= 1;
            self.set(promoted[kept], At::Slow);
            self.pages[promoted[kept]].promoted = false;
        }
        demoted += self.reclaim_group();
        for page in &mut self.pages {
            page.promoted = false;
        }
        (dram, slow, away, kept as u64, demoted)
    }

    /// Faults with the share of the interval that is over: where kswapd works beside them by that, else by how long
    /// after they were armed they come, and evenly spread.
    fn in_order(
        &self,
        faults: &[(f64, usize, bool)],
        parts: &[f32],
    ) -> Vec<(f64, usize, bool, f32)> {
        let mut found: Vec<_> = faults
            .iter()
            .zip(parts)
            .map(|(&(seconds, page, active), &part)| (seconds, page, active, part))
            .collect();
        let birth = |page: usize| self.pages[page].birth;
        if self.params.kswapd.is_some() && matches!(self.policy, Policy::HotPageSelection(_)) {
            found.sort_by(|a, b| a.3.total_cmp(&b.3).then(birth(a.1).cmp(&birth(b.1))));
            return found;
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(birth(a.1).cmp(&birth(b.1))));
        let all = found.len() as f64 + 1.0;
        for (at, fault) in found.iter_mut().enumerate() {
            fault.3 = ((at as f64 + 1.0) / all) as f32;
        }
        found
    }

    /// The coldest page of DRAM by the intervals that touched it, the longest untouched first.
    fn coldest(&self) -> Option<(usize, usize)> {
        let score = |page: usize| {
            self.pages[page]
                .touched
                .iter()
                .filter(|&&touched| touched)
                .count()
        };
        let found = self.victims(At::Dram, true, false).into_iter();
        let coldest = found.min_by_key(|&page| {
            let idle = self.now - self.pages[page].last >= 8;
            (
                !idle,
                score(page),
                self.pages[page].last,
                self.pages[page].birth,
            )
        });
        coldest.map(|page| (page, score(page)))
    }

    /// Pages that went up, candidates, and pages that made room for them.
    fn promote(
        &mut self,
        faults: &[(f64, usize, bool, f32)],
        left_s: f64,
    ) -> (Vec<usize>, u64, u64) {
        let mut over_s = 0.0;
        let marks = self.memory.watermarks;
        let (mut promoted, mut candidates, mut exchanged) = (Vec::new(), 0, 0);
        self.refused = 0;
        let mut tokens = match self.policy {
            Policy::HotPageSelection(hot) => hot.limit_units_per_s * 60.0,
            _ => 0.0,
        };
        for &(seconds, page, active, part) in faults {
            let room = self.free(At::Dram) > marks.high as i64 + 1;
            let goes = match self.policy {
                Policy::NumaBalancing => room,
                Policy::Tpp(tpp) => (active || !tpp.active_lru_filter) && (tpp.decoupled || room),
                Policy::HotPageSelection(hot) => {
                    self.part = part;
                    self.run_kswapd(f64::from(part) * left_s - over_s, true, left_s);
                    over_s = f64::from(part) * left_s;
                    if self.free(At::Dram) > (marks.promo + hot.free_fast_path_units) as i64 {
                        true
                    } else if seconds < self.threshold_s {
                        candidates += 1;
                        tokens -= 1.0;
                        let lacks = hot.needs_free && self.free(At::Dram) <= marks.high as i64 + 1;
                        self.refused += u64::from(tokens >= 0.0 && lacks);
                        self.awake |= tokens >= 0.0 && lacks && self.params.kswapd.is_some();
                        tokens >= 0.0 && !lacks
                    } else {
                        false
                    }
                }
                Policy::AutoTiering { exchange_units, .. } => {
                    let score = self.pages[page]
                        .touched
                        .iter()
                        .filter(|&&touched| touched)
                        .count();
                    if self.free(At::Dram) >= 1 {
                        true
                    } else if exchanged >= exchange_units {
                        false
                    } else {
                        let victim = self.coldest().filter(|found| found.1 < score);
                        if let Some((victim, _)) = victim {
                            self.lower(victim);
                            exchanged += 1;
                        }
                        victim.is_some()
                    }
                }
                _ => false,
            };
            if goes {
                self.set(page, At::Dram);
                self.pages[page].promoted = true;
                self.uses.promoted.push(page);
                promoted.push(page);
            }
        }
        if matches!(self.policy, Policy::HotPageSelection(_)) {
            self.part = 1.0;
            self.run_kswapd(left_s - over_s, true, left_s);
        }
        (promoted, candidates, exchanged)
    }

    fn demote(&mut self, candidates: u64) -> u64 {
        let (marks, free) = (self.memory.watermarks, self.free(At::Dram));
        match self.policy {
            Policy::Tpp(tpp) if tpp.decoupled => {
                self.demote_until(tpp.demotion_watermark, u64::MAX)
            }
            Policy::Tpp(_) if free <= marks.low as i64 => self.demote_until(marks.high, u64::MAX),
            Policy::AutoTiering {
                reserve_units,
                refill_units,
                ..
            } => self.demote_until(marks.low + reserve_units, refill_units),
            Policy::HotPageSelection(hot) => {
                let woken = candidates > 0 || (hot.allocation_demotes && free <= marks.low as i64);
                self.threshold_candidates += candidates;
                if hot.automatic_threshold && (self.now + 1).is_multiple_of(hot.threshold_intervals)
                {
                    let seconds = 60.0 * f64::from(hot.threshold_intervals);
                    self.threshold_s = tierscope_engine::adjusted_threshold(
                        self.threshold_s,
                        hot.threshold_s,
                        self.threshold_candidates as f64,
                        hot.limit_units_per_s * seconds,
                    );
                    self.threshold_candidates = 0;
                }
                if self.params.kswapd.is_some() {
                    0
                } else if self.refused > 0 || (woken && free < marks.high as i64) {
                    self.demote_until(marks.promo, u64::MAX)
                } else {
                    0
                }
            }
            _ => 0,
        }
    }
}

fn order_of_birth(columns: &Columns) -> Vec<usize> {
    let mut order: Vec<usize> = (0..columns.kinds.len()).collect();
    order.sort_by_key(|&page| {
        let first = columns.first[page];
        let row = columns
            .rows
            .iter()
            .position(|row| row.0 == first && row.1 as usize == page);
        (first, row.unwrap_or(usize::MAX))
    });
    let mut births = vec![0; order.len()];
    for (birth, page) in order.into_iter().enumerate() {
        births[page] = birth;
    }
    births
}

/// Those that the simple one knows.
fn modelled() -> impl Strategy<Value = Policy> {
    policies().prop_map(|policy| match policy {
        Policy::AllDram => Policy::FirstTouch,
        other => other,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_simple_one_agrees(
        columns in columns(1),
        policy in modelled(),
        mut memory in machines(),
        scan in scans(),
        kswapd in kswapds(),
        cache_trim_mode in any::<bool>(),
        lru in lrus(),
        group in groups(),
        tenants in tenants(),
    ) {
        memory.swap = None;
        let lru = if tenants.is_empty() { lru } else { Lru::Exact };
        let params = Params {
            policy,
            memory,
            offload: None,
            interval_s: 60.0,
            kswapd,
            cache_trim_mode,
            lru,
            armed_units: Vec::new(),
            group,
            tenants,
            scan,
            hint_time: tierscope_engine::HintTime::Expected,
            round_trip_intervals: [1, 10],
        };
        let births = order_of_birth(&columns);
        let pages_lru = (lru != Lru::Exact).then(|| NaiveLru::new(lru));
        let threshold_s = match policy {
            Policy::HotPageSelection(hot) => hot.threshold_s,
            _ => 0.0,
        };
        let page = |birth| Page {
            at: At::Absent,
            last: 0,
            active: false,
            promoted: false,
            birth,
            armed: None,
            touched: [false; 8],
        };
        let pages = births.into_iter().map(page).collect();
        let mut simple = Simple {
            columns: &columns,
            memory,
            policy,
            params: params.clone(),
            place: 0.0,
            pass_intervals: scan.pass_intervals,
            promoted_in_pass: false,
            awake: false,
            kswapd_s: 0.0,
            allocated: 0,
            high_units: None,
            owed: 0,
            hands: [0; 3],
            lowered: [0; 2],
            lru: pages_lru,
            uses: Uses::default(),
            part: 0.0,
            kswapd_demoted: 0,
            pages,
            now: 0,
            turn: 0,
            threshold_s,
            threshold_candidates: 0,
            refused: 0,
        };
        let outcome = simulate(&columns.trace(), params).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for (now, interval) in outcome.intervals.iter().enumerate() {
            simple.now = now as u32;
            let found = (
                interval.at(Place::Dram),
                interval.at(Place::Slow),
                interval.at(Place::Away),
                interval.promoted.iter().sum(),
                interval.demoted.iter().sum(),
            );
            prop_assert_eq!(found, simple.interval(), "interval {}", now);
            for (tenant, counted) in outcome.tenants.chunks(2).nth(now).into_iter().flatten().enumerate() {
                let held = [simple.held(tenant, At::Dram), simple.held(tenant, At::Slow)];
                prop_assert_eq!((counted.used, counted.demoted), (held, simple.lowered[tenant]), "interval {}", now);
            }
        }
    }
}
