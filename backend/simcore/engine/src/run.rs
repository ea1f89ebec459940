//! One simulation, interval by interval.

use thiserror::Error;

use crate::hints::adjusted_threshold;
use crate::metrics::{Interval, Outcome, Place, SwapEvent};
use crate::page::{ACTIVE, COPIED, KINDS, MEMORY_TIERS, Page, SLOT, Tier};
use crate::params::{Params, ParamsError, Policy};
use crate::promote::Fault;
use crate::state::State;
use crate::trace::{Row, Trace, is_written, row_page};

/// Why a simulation gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdentityError {
    /// A setting that cannot be.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The books do not balance: a defect of the simulator, never of a trace.
    #[error("interval {interval}: {identity} does not hold")]
    Broken {
        /// When.
        interval: u32,
        /// Which one.
        identity: &'static str,
    },
}

/// Replays a trace.
///
/// # Errors
///
/// A setting that cannot be.
pub fn simulate(trace: &Trace, params: Params) -> Result<Outcome, IdentityError> {
    run(&mut begin(trace, params)?)
}

/// Replays a trace, and says what each page did on swap, in order.
///
/// # Errors
///
/// A setting that cannot be.
pub fn simulate_with_swap(
    trace: &Trace,
    params: Params,
) -> Result<(Outcome, Vec<SwapEvent>), IdentityError> {
    let mut state = begin(trace, params)?;
    state.swap_log = Some(Vec::new());
    let outcome = run(&mut state)?;
    Ok((outcome, state.swap_log.take().unwrap_or_default()))
}

fn begin(trace: &Trace, params: Params) -> Result<State<'_>, ParamsError> {
    params.check()?;
    params.check_tenants(trace.tenants())?;
    Ok(State::new(trace, params))
}

fn run(state: &mut State<'_>) -> Result<Outcome, IdentityError> {
    let trace = state.trace;
    let mut faults = Vec::new();
    let mut intervals: Vec<Interval> = Vec::with_capacity(trace.intervals());
    let mut tenants = Vec::with_capacity(trace.intervals() * state.groups.len());
    for now in 0..trace.intervals() {
        state.now = now as u32;
        state.out = Interval {
            threshold_s: state.threshold_s,
            ..Interval::default()
        };
        state.begin_tenants();
        state.inactive.begin(state.now, trace.row_count(now));
        state.part = 0.0;
        state.scan();
        state.bury();
        let left_s = state.bear();
        faults.clear();
        state.fault_parts.clear();
        state.access_all(&mut faults);
        state.out.hint_faults = faults.len() as u64;
        let candidates = state.promote(&mut faults, left_s);
        state.out.candidates = candidates;
        state.part = 1.0;
        state.demote(candidates);
        state.reclaim_group();
        state.settle_promotions();
        if let Some(offload) = state.params.offload {
            state.offload(&offload);
        }
        state.adjust_threshold(candidates);
        state.close(intervals.last())?;
        intervals.push(state.out);
        tenants.extend(state.groups.iter().map(|group| group.out));
    }
    Ok(Outcome { intervals, tenants })
}

/// Rows that are gone through together: one bit each of a word, as `Inactive` keeps them.
const TOGETHER: usize = u64::BITS as usize;

/// Places for each kind beside each tier of memory, a power of two.
const KINDS_AND_TIERS: usize = (KINDS * MEMORY_TIERS).next_power_of_two();

/// What touches of pages in memory leave of up to 64 rows, by one bit each, and of all before.
struct Touched {
    /// By kind and tier, apart for every other row: sums that follow each other at once wait for each other.
    accesses: [[u64; KINDS_AND_TIERS]; 2],
    /// Rows whose pages are inactive.
    inactive: u64,
    /// Rows whose pages may take a hint fault.
    hinted: u64,
    /// What the page of each row was before.
    before: [Page; TOGETHER],
}

impl Touched {
    fn new() -> Self {
        Self {
            accesses: [[0; KINDS_AND_TIERS]; 2],
            inactive: 0,
            hinted: 0,
            before: [Page::unborn(0); TOGETHER],
        }
    }

    /// Touches the pages of rows up to the first that asks for more; returns how many it touched.
    ///
    /// Whatever differs from row to row is counted and kept without a branch, for none could be foreseen. Inlined, it
    /// would share registers with all of `run`.
    #[inline(never)]
    fn touch<const HINTS: bool>(
        &mut self,
        pages: &mut [Page],
        words: &[u32],
        accesses: &[u32],
        now: u32,
    ) -> usize {
        let (mut inactive, mut hinted) = (0, 0);
        let rows = words.iter().zip(accesses).zip(&mut self.before);
        let mut done = 0;
        for ((&word, &count), kept) in rows {
            let page = &mut pages[row_page(word) as usize];
            let before = *page;
            if (count == 0) | before.asks_for_more(is_written(word)) {
                break;
            }
            page.touch(now);
            inactive |= u64::from(!page.is(ACTIVE)) << done;
            let (kind, tier) = (before.kind(), before.memory_tier());
            self.accesses[done % 2][(kind * MEMORY_TIERS + tier) % KINDS_AND_TIERS] +=
                u64::from(count);
            if HINTS {
                *kept = before;
                hinted |= (tier as u64 & u64::from(before.last() < now)) << done;
            }
            done += 1;
        }
        (self.inactive, self.hinted) = (inactive, hinted);
        done
    }
}

impl State<'_> {
    fn bury(&mut self) {
        for &page in self.trace.deaths(self.now as usize) {
            let units = self.trace.size(page);
            match self.pages[page as usize].tier() {
                tier @ (Tier::Dram | Tier::Slow) => {
                    self.leave(page, Tier::Absent);
                    self.out.died_in[tier as usize] += units;
                }
                Tier::Swap | Tier::Dropped => self.away_units -= units,
                Tier::Nowhere => self.nowhere_units -= units,
                Tier::Absent => {}
            }
            self.copy_is_stale(page);
            self.pages[page as usize].set_tier(Tier::Absent);
            self.out.died += units;
        }
    }

    /// Scores the accesses of each page where it lies, brings it back from swap, and takes its hint fault.
    ///
    /// Most of a simulation is this loop: rows that ask for nothing else go through `access_words`.
    fn access_all(&mut self, faults: &mut Vec<Fault>) {
        let has_hints = self.has_hints();
        if self.kernel_lru.is_some() || !self.groups.is_empty() {
            for (place, row) in self.trace.rows(self.now as usize).enumerate() {
                self.access_row(place, row, has_hints, faults);
            }
        } else if has_hints {
            self.access_words::<true>(faults);
        } else {
            self.access_words::<false>(faults);
        }
    }

    /// `HINTS`: pages of the slower tier take hint faults.
    fn access_words<const HINTS: bool>(&mut self, faults: &mut Vec<Fault>) {
        let (trace, now) = (self.trace, self.now);
        let rows = trace.row_columns(now as usize);
        let mut touched = Touched::new();
        let mut at = 0;
        while at < rows.pages.len() {
            let until = rows.pages.len().min(at - at % TOGETHER + TOGETHER);
            let (words, accesses) = (&rows.pages[at..until], &rows.accesses[at..until]);
            let count = touched.touch::<HINTS>(&mut self.pages, words, accesses, now);
            self.out.touched += count as u64;
            if touched.inactive != 0 {
                self.inactive.current()[at / TOGETHER] |= touched.inactive << (at % TOGETHER);
            }
            while touched.hinted != 0 {
                let place = touched.hinted.trailing_zeros() as usize;
                touched.hinted &= touched.hinted - 1;
                self.take_hint(rows.at(at + place), touched.before[place], faults);
            }
            at += count;
            if at < until {
                self.access_row(at, rows.at(at), HINTS, faults);
                at += 1;
            }
        }
        for accesses in touched.accesses {
            let by_kind = accesses.chunks_exact(MEMORY_TIERS);
            for (all, own) in self.out.accesses.iter_mut().zip(by_kind) {
                all[Place::Dram as usize] += own[Tier::Dram as usize];
                all[Place::Slow as usize] += own[Tier::Slow as usize];
            }
        }
    }

    fn access_row(&mut self, place: usize, row: Row, has_hints: bool, faults: &mut Vec<Fault>) {
        let (page, now) = (row.page, self.now);
        let before = self.pages[page as usize];
        if row.accesses == 0 {
            self.inactive.mark(now, place);
            return;
        }
        self.out.touched += 1;
        let kind = self.trace.kind(page);
        if !before.is_in_memory() {
            self.access_away(row, kind);
            self.inactive.mark(now, place);
            return;
        }
        let state = &mut self.pages[page as usize];
        state.touch(now);
        if !state.is(ACTIVE) {
            self.inactive.mark(now, place);
        }
        let at = if before.tier() == Tier::Dram {
            Place::Dram
        } else {
            Place::Slow
        };
        self.score(page, kind, at, u64::from(row.accesses));
        if has_hints && before.tier() == Tier::Slow && before.last() < now {
            self.take_hint(row, before, faults);
        }
        self.note_accesses(row);
        if row.written && before.is(SLOT | COPIED) {
            self.copy_is_stale(page);
        }
    }

    fn take_hint(&mut self, row: Row, before: Page, faults: &mut Vec<Fault>) {
        if let Some(fault) = self.hint(row.page, row.accesses, before) {
            faults.push(fault);
            if self.params.kswapd.is_some() {
                let part = self.fault_part(row.page, row.accesses);
                self.fault_parts.push(part);
            }
        }
    }

    /// The first access of a page that is not in memory faults; the others find it where it was brought.
    fn access_away(&mut self, row: Row, kind: usize) {
        self.out.major_faults += 1;
        let place = match self.fault_in(row.page) {
            Some(Tier::Dram) => Place::Dram,
            Some(_) => Place::Slow,
            None => {
                self.out.failed_allocations += self.trace.size(row.page);
                Place::Away
            }
        };
        self.score(row.page, kind, Place::Away, 1);
        self.score(row.page, kind, place, u64::from(row.accesses) - 1);
        self.pages[row.page as usize].touch(self.now);
        self.note_accesses(row);
        if row.written {
            self.note_write_in_memory(row.page);
        }
    }

    fn score(&mut self, page: u32, kind: usize, place: Place, count: u64) {
        self.out.accesses[kind][place as usize] += count;
        if let Some(group) = self.group_of(page) {
            group.out.accesses[place as usize] += count;
        }
    }

    fn note_accesses(&mut self, row: Row) {
        if let Some(lru) = &mut self.kernel_lru {
            lru.note(row.page, row.accesses);
        }
    }

    /// The scanner's work of this interval: what a recorded one did, else by its rule.
    fn scan(&mut self) {
        let (now, trace) = (self.now, self.trace);
        match self.params.armed_units.get(now as usize) {
            Some(&units) => {
                let (pages, demoted) = (&self.pages, &self.demoted);
                self.scanner.arm(units, now, trace, pages, demoted);
            }
            None => self.scanner.advance(now),
        }
    }

    /// A written page that is in memory no longer equals its copy. One that thrashes stays on the device.
    fn note_write_in_memory(&mut self, page: u32) {
        if matches!(self.pages[page as usize].tier(), Tier::Dram | Tier::Slow) {
            self.copy_is_stale(page);
        }
    }

    fn adjust_threshold(&mut self, candidates: u64) {
        if let Policy::HotPageSelection(hot) = self.params.policy
            && hot.automatic_threshold
        {
            self.threshold_candidates += candidates;
            if !(self.now + 1).is_multiple_of(hot.threshold_intervals) {
                return;
            }
            let found = std::mem::take(&mut self.threshold_candidates) as f64;
            let seconds = self.params.interval_s * f64::from(hot.threshold_intervals);
            let target = hot.tokens(seconds);
            self.threshold_s = adjusted_threshold(self.threshold_s, hot.threshold_s, found, target);
        }
    }

    /// Writes the states at the interval's end, and checks that nothing got lost.
    fn close(&mut self, before: Option<&Interval>) -> Result<(), IdentityError> {
        self.out.used = self.used;
        self.out.swap_used = self.swap_used;
        self.out.away = self.away_units;
        self.out.nowhere = self.nowhere_units;
        let broken = |identity| {
            Err(IdentityError::Broken {
                interval: self.now,
                identity,
            })
        };
        if [Tier::Dram, Tier::Slow]
            .into_iter()
            .any(|tier| self.free(tier) < 0)
        {
            return broken("no tier over its capacity");
        }
        self.out.dram_free = self.free(Tier::Dram) as u64;
        let out = &self.out;
        let nothing = Interval::default();
        let before = before.unwrap_or(&nothing);
        let (promoted, demoted) = (
            out.promoted.iter().sum::<u64>(),
            out.demoted.iter().sum::<u64>(),
        );
        let (up, down) = ([promoted, demoted], [demoted, promoted]);
        for tier in 0..2 {
            let held = |interval: &Interval| interval.used[tier].iter().sum::<u64>();
            let came = held(before) + out.placed[tier] + up[tier];
            if came != held(out) + out.evicted[tier] + out.died_in[tier] + down[tier] {
                return broken("what came to a tier and left it makes up what it holds");
            }
        }
        let resident = |interval: &Interval| {
            interval.used.iter().flatten().sum::<u64>() + interval.away + interval.nowhere
        };
        if resident(before) + out.born != resident(out) + out.died {
            return broken("resident memory is what was born and did not die");
        }
        Ok(())
    }
}
