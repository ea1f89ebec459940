//! Demotion: what leaves DRAM, and when.

use crate::kernel_lru::Look;
use crate::page::{ACTIVE, KINDS, PROMOTED, Tier};
use crate::params::Policy;
use crate::state::{Lowered, State};
use crate::victims::{Victim, VictimFilter, Victims};

/// Victims that are looked for together.
const MANY: usize = 4096;

impl State<'_> {
    /// Brings DRAM back to what the policy keeps free, after promotions.
    pub(crate) fn demote(&mut self, candidates: u64) {
        self.begin_demotions();
        self.enforce_limits();
        let marks = self.params.memory.watermarks;
        match self.params.policy {
            Policy::Tpp(tpp) if tpp.decoupled => {
                self.demote_below(tpp.demotion_watermark, tpp.demotion_watermark);
            }
            Policy::Tpp(_) => self.demote_below(marks.low + 1, marks.high),
            Policy::HotPageSelection(_) if self.params.kswapd.is_some() => {}
            Policy::HotPageSelection(hot) => {
                if hot.needs_free && self.out.failed_promotions > 0 {
                    self.demote_below(marks.promo, marks.promo);
                } else if candidates > 0 || (hot.allocation_demotes && self.is_low()) {
                    self.demote_below(marks.high, marks.promo);
                }
            }
            Policy::AutoTiering {
                reserve_units,
                refill_units,
                ..
            } => self.refill(reserve_units + marks.low, refill_units),
            Policy::AllDram
            | Policy::FirstTouch
            | Policy::Interleave(_)
            | Policy::NumaBalancing => {}
        }
        self.undo_promotions();
    }

    /// Pages of this interval have been touched: they are looked through anew.
    pub(crate) fn begin_demotions(&mut self) {
        self.demotable.begin();
        for group in &mut self.groups {
            group.demotable.begin();
        }
        self.evictable.iter_mut().for_each(Victims::begin);
    }

    /// Demotes until `until` units are free, if fewer than `below` are.
    fn demote_below(&mut self, below: u64, until: u64) {
        if self.free(Tier::Dram) >= below as i64 {
            return;
        }
        self.demote_many(until);
        while self.free(Tier::Dram) < until as i64 {
            if !self.demote_next() {
                return;
            }
        }
    }

    /// Demotes the next victims together, where a move changes nothing else and the slower tier has room for all.
    fn demote_many(&mut self, until: u64) {
        if !self.is_plain() || self.params.cache_trim_mode || self.params.kswapd.is_some() {
            return;
        }
        let mut found = std::mem::take(&mut self.victims);
        loop {
            let wanted = until as i64 - self.free(Tier::Dram);
            let room = wanted + self.trace.largest() as i64;
            if wanted <= 0 || self.free(Tier::Slow) < room {
                break;
            }
            found.clear();
            let filter = VictimFilter {
                with_current: true,
                ..VictimFilter::of_tier(
                    self.trace,
                    &self.pages,
                    &self.inactive,
                    Tier::Dram,
                    self.now,
                )
            };
            self.demotable
                .collect(filter, wanted as u64, MANY, &mut found);
            self.move_all_down(&found);
            if found.len() < MANY {
                break;
            }
        }
        self.victims = found;
    }

    fn move_all_down(&mut self, victims: &[Victim]) {
        let mut units = [0; KINDS];
        let mut before: Option<Victim> = None;
        for &victim in victims {
            self.pages[victim.page as usize].set_tier(Tier::Slow);
            self.note_demotion(victim);
            // Victims of an interval come in order: its first one puts the search back far enough.
            if before.is_none_or(|before| {
                before.interval != victim.interval || before.place > victim.place
            }) {
                self.evictable[Tier::Slow as usize].put_back(victim, self.now);
            }
            before = Some(victim);
            units[self.trace.kind(victim.page)] += self.trace.size(victim.page);
        }
        for (kind, units) in units.into_iter().enumerate() {
            self.used[Tier::Dram as usize][kind] -= units;
            self.used[Tier::Slow as usize][kind] += units;
            self.out.demoted[kind] += units;
        }
    }

    fn refill(&mut self, wanted: u64, most: u64) {
        let mut moved = 0;
        while self.free(Tier::Dram) < wanted as i64 && moved < most {
            let before = self.free(Tier::Dram);
            if !self.demote_next() {
                return;
            }
            moved += (self.free(Tier::Dram) - before) as u64;
        }
    }

    /// Moves the next victim to the slower tier, or evicts one where that is full. False where nothing is left to go.
    fn demote_next(&mut self) -> bool {
        self.next_demotable(true)
            .is_some_and(|victim| self.demote_or_evict(victim, true))
    }

    pub(crate) fn next_demotable(&mut self, with_current: bool) -> Option<Victim> {
        if !self.groups.is_empty() {
            return self.next_of_tenants(with_current);
        }
        if let Some(lru) = &self.kernel_lru {
            return (0..lru.most_looks()).find_map(|_| match self.look() {
                Some(Look::Victim(page)) => Some(self.victim_of(page)),
                _ => None,
            });
        }
        self.next_listed(None, with_current)
    }

    /// The next page of DRAM by when it was touched: of one tenant, or of all.
    pub(crate) fn next_listed(
        &mut self,
        tenant: Option<usize>,
        with_current: bool,
    ) -> Option<Victim> {
        let wanted = VictimFilter {
            with_current,
            file_first: self.params.cache_trim_mode,
            tenant,
            ..VictimFilter::of_tier(
                self.trace,
                &self.pages,
                &self.inactive,
                Tier::Dram,
                self.now,
            )
        };
        let demotable = match tenant {
            Some(tenant) => &mut self.groups[tenant].demotable,
            None => &mut self.demotable,
        };
        demotable.next(wanted)
    }

    /// A page that the kernel's lists named.
    pub(crate) fn victim_of(&self, page: u32) -> Victim {
        let interval = self.pages[page as usize].last();
        Victim {
            page,
            interval,
            place: self.trace.place_from(interval as usize, page),
        }
    }

    /// `with_current`: a page of this interval may be evicted where the slower tier is full.
    pub(crate) fn demote_or_evict(&mut self, victim: Victim, with_current: bool) -> bool {
        self.keep_slow_free();
        if self.free(Tier::Slow) >= self.trace.size(victim.page) as i64 {
            self.lower(victim);
            return true;
        }
        self.evict_next(Tier::Dram, with_current)
    }

    /// Moves a victim of reclaim down; the hand stands behind one that was used in this interval.
    pub(crate) fn lower(&mut self, victim: Victim) {
        let was_active = self.pages[victim.page as usize].is(ACTIVE);
        self.move_down(victim);
        if victim.interval == self.now && was_active {
            self.demotable_of(victim.page).move_hand(victim.page);
        }
    }

    pub(crate) fn move_down(&mut self, victim: Victim) {
        let (page, units) = (victim.page, self.trace.size(victim.page));
        self.shift(page, Tier::Dram, Tier::Slow);
        self.note_demotion(victim);
        self.evictable[Tier::Slow as usize].put_back(victim, self.now);
        self.out.demoted[self.trace.kind(page)] += units;
        if let Some(group) = self.group_of(page) {
            group.out.demoted += units;
        }
    }

    /// Remembers that a page went down, and what it was before; it is inactive from now on.
    fn note_demotion(&mut self, victim: Victim) {
        let state = &mut self.pages[victim.page as usize];
        let demoted = std::mem::replace(&mut self.demoted[victim.page as usize], self.now);
        self.lowered.push(Lowered {
            victim,
            before: *state,
            demoted,
        });
        state.clear(ACTIVE);
        self.inactive.mark(victim.interval, victim.place as usize);
    }

    /// Takes the latest promotions back while DRAM holds more than it has: nothing else was left to go.
    ///
    /// Where the slower tier has no room for a large page any more, the small ones that took it go back first: with
    /// everything undone, all is where it was and fits.
    fn undo_promotions(&mut self) {
        while self.free(Tier::Dram) < 0 {
            let Some(&page) = self.promoted.last() else {
                return;
            };
            let units = self.trace.size(page);
            if self.free(Tier::Slow) < units as i64 {
                let Some(lowered) = self.lowered.pop() else {
                    return;
                };
                self.undo_demotion(lowered);
                continue;
            }
            self.promoted.pop();
            self.undo_promotion(page);
        }
    }

    /// Takes a page of `promoted` back that found no room.
    pub(crate) fn undo_promotion(&mut self, page: u32) {
        let (kind, units) = (self.trace.kind(page), self.trace.size(page));
        self.shift(page, Tier::Dram, Tier::Slow);
        self.pages[page as usize].clear(PROMOTED);
        self.out.promoted[kind] -= units;
        self.out.failed_promotions += units;
    }

    fn undo_demotion(&mut self, lowered: Lowered) {
        let Lowered {
            victim,
            before,
            demoted,
        } = lowered;
        self.shift(victim.page, Tier::Slow, Tier::Dram);
        self.pages[victim.page as usize] = before;
        self.pages[victim.page as usize].set_tier(Tier::Dram);
        self.demoted[victim.page as usize] = demoted;
        let now = self.now;
        self.demotable_of(victim.page).put_back(victim, now);
        self.evictable[Tier::Dram as usize].put_back(victim, self.now);
        self.coldest.put_back(victim, self.now);
        let units = self.trace.size(victim.page);
        self.out.demoted[self.trace.kind(victim.page)] -= units;
        if let Some(group) = self.group_of(victim.page) {
            group.out.demoted -= units;
        }
    }
}
