//! One simulation, interval by interval.

use thiserror::Error;

use crate::hints::adjusted_threshold;
use crate::metrics::{Interval, Outcome, Place, SwapEvent};
use crate::page::{ACTIVE, COPIED, KINDS, MEMORY_TIERS, Page, SLOT, Tier};
use crate::params::{Params, ParamsError, Policy};
use crate::promote::Fault;
use crate::state::State;
use crate::trace::{Row, RowColumns, Trace};

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

/// Rows that are gone through together, so that what they leave for later stays in the cache.
const PIECE: usize = 1024;

/// A row whose page may take a hint fault, and what the page was before.
#[derive(Debug, Clone, Copy, Default)]
struct Hinted {
    place: u32,
    last: u32,
    demoted: u32,
    flags: u32,
}

impl Hinted {
    fn before(self) -> Page {
        Page {
            last: self.last,
            demoted: self.demoted,
            flags: self.flags as u8,
            ..Page::UNBORN
        }
    }
}

/// What changes when pages in memory are used, and nothing else is.
struct Plain<'a> {
    pages: &'a mut [Page],
    kinds: &'a [u8],
    /// Of the rows of the interval: whose pages are inactive.
    inactive: &'a mut [u64],
    accesses: [[u64; MEMORY_TIERS]; KINDS],
}

impl Plain<'_> {
    /// Touches the pages of a piece of rows, up to the first that asks for more; returns where it stopped, and how many
    /// rows are in `hinted`.
    ///
    /// Whatever differs from row to row is counted and kept without a branch, for none could be foreseen.
    fn touch<const HINTS: bool>(
        &mut self,
        now: u32,
        rows: RowColumns<'_>,
        from: usize,
        hinted: &mut [Hinted],
    ) -> (usize, usize) {
        let until = rows.pages.len().min(from + PIECE);
        let mut count = 0;
        for place in from..until {
            let row = rows.at(place);
            let state = &mut self.pages[row.page as usize];
            let before = *state;
            let is_copied = row.written & before.is(SLOT | COPIED);
            if (row.accesses == 0) | !before.is_in_memory() | is_copied {
                return (place, count);
            }
            state.touch(now);
            if !state.is(ACTIVE) {
                self.inactive[place / 64] |= 1 << (place % 64);
            }
            let kind = usize::from(self.kinds[row.page as usize]);
            self.accesses[kind][before.tier as usize % MEMORY_TIERS] += u64::from(row.accesses);
            if HINTS {
                hinted[count] = Hinted {
                    place: place as u32,
                    last: before.last,
                    demoted: before.demoted,
                    flags: u32::from(before.flags),
                };
                count += usize::from(before.tier == Tier::Slow) & usize::from(before.last < now);
            }
        }
        (until, count)
    }
}

impl State<'_> {
    fn bury(&mut self) {
        for &page in self.trace.deaths(self.now as usize) {
            let units = self.trace.size(page);
            match self.pages[page as usize].tier {
                tier @ (Tier::Dram | Tier::Slow) => {
                    self.leave(page, Tier::Absent);
                    self.out.died_in[tier as usize] += units;
                }
                Tier::Swap | Tier::Dropped => self.away_units -= units,
                Tier::Nowhere => self.nowhere_units -= units,
                Tier::Absent => {}
            }
            self.copy_is_stale(page);
            self.pages[page as usize].tier = Tier::Absent;
            self.out.died += units;
        }
    }

    /// Scores the accesses of each page where it lies, brings it back from swap, and takes its hint fault.
    ///
    /// Most of a simulation is this loop: rows that ask for nothing else go through `touch_plain` in pieces.
    fn access_all(&mut self, faults: &mut Vec<Fault>) {
        let has_hints = self.has_hints();
        if self.kernel_lru.is_some() || !self.groups.is_empty() {
            for (place, row) in self.trace.rows(self.now as usize).enumerate() {
                self.access_row(place, row, has_hints, faults);
            }
        } else if has_hints {
            self.access_pieces::<true>(faults);
        } else {
            self.access_pieces::<false>(faults);
        }
    }

    /// `HINTS`: pages of the slower tier take hint faults.
    fn access_pieces<const HINTS: bool>(&mut self, faults: &mut Vec<Fault>) {
        let (trace, now) = (self.trace, self.now);
        let rows = trace.row_columns(now as usize);
        let mut hinted = vec![Hinted::default(); PIECE];
        let mut at = 0;
        while at < rows.pages.len() {
            let mut plain = Plain {
                pages: &mut self.pages,
                kinds: trace.kinds(),
                inactive: self.inactive.current(),
                accesses: [[0; MEMORY_TIERS]; KINDS],
            };
            let (until, count) = plain.touch::<HINTS>(now, rows, at, &mut hinted);
            let accesses = plain.accesses;
            self.out.touched += (until - at) as u64;
            for (all, own) in self.out.accesses.iter_mut().zip(accesses) {
                all[Place::Dram as usize] += own[Tier::Dram as usize];
                all[Place::Slow as usize] += own[Tier::Slow as usize];
            }
            for found in &hinted[..count] {
                self.take_hint(rows.at(found.place as usize), found.before(), faults);
            }
            let is_whole = until - at == PIECE || until == rows.pages.len();
            at = until;
            if !is_whole {
                self.access_row(at, rows.at(at), HINTS, faults);
                at += 1;
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
        let at = if before.tier == Tier::Dram {
            Place::Dram
        } else {
            Place::Slow
        };
        self.score(page, kind, at, u64::from(row.accesses));
        if has_hints && before.tier == Tier::Slow && before.last < now {
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
        match self.params.armed_units.get(self.now as usize) {
            Some(&units) => self.scanner.arm(units, self.now, self.trace, &self.pages),
            None => self.scanner.advance(self.now),
        }
    }

    /// A written page that is in memory no longer equals its copy. One that thrashes stays on the device.
    fn note_write_in_memory(&mut self, page: u32) {
        if matches!(self.pages[page as usize].tier, Tier::Dram | Tier::Slow) {
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
