//! Reclaim of the service's control group: `memory.reclaim` and `memory.high`.

use crate::kernel_lru::Look;
use crate::page::{Kind, Tier};
use crate::params::Kswapd;
use crate::state::State;

impl State<'_> {
    /// Does what was asked of the group in this interval, and what its limit asks for.
    pub(crate) fn reclaim_group(&mut self) {
        if self.params.group.is_empty() {
            return;
        }
        self.begin_demotions();
        if let (Some(kswapd), true) = (self.params.kswapd, self.kernel_lru.is_some()) {
            return self.reclaim_group_by_lists(kswapd);
        }
        while let Some(event) = self.params.group.get(self.group_events_done).copied()
            && event.interval <= self.now
        {
            self.group_high_units = event.high_units;
            let wanted = event.reclaim_units;
            self.group_events_done += 1;
            self.take_from_group(wanted);
        }
        // Pages that were demoted count as reclaimed, but are charged to the group as before (`reclaim_high`).
        while let Some(high) = self.group_high_units
            && self.in_memory() > high
            && self.take_from_group(self.in_memory() - high) > 0
        {}
    }

    /// The same where pages are looked at, which takes its time: what is not done by then goes on in the next interval.
    ///
    /// Each page is looked at once at most, for nothing is used between two looks at one moment. Where all that is left
    /// is in use, reclaim gives up (`MAX_RECLAIM_RETRIES`); a limit is tried again in the next interval, as allocations
    /// of the group do (`mem_cgroup_handle_over_high`).
    fn reclaim_group_by_lists(&mut self, kswapd: Kswapd) {
        while let Some(event) = self.params.group.get(self.group_events_done).copied()
            && event.interval <= self.now
        {
            self.group_high_units = event.high_units;
            self.group_events_done += 1;
            self.group_owed_units += event.reclaim_units;
        }
        let (mut left_s, mut looks) = (self.params.interval_s, self.pages_in_dram());
        while self.group_wants() > 0 && looks > 0 && left_s > 0.0 {
            looks -= 1;
            match self.look() {
                Some(Look::Victim(page)) => {
                    let units = self.trace.size(page);
                    left_s -= kswapd.cost_s(units) + kswapd.look_s;
                    if !self.demote_or_evict(self.victim_of(page), true) {
                        break;
                    }
                    self.group_owed_units = self.group_owed_units.saturating_sub(units);
                }
                Some(Look::Passed) => left_s -= kswapd.look_s,
                _ => break,
            }
        }
        if looks == 0 {
            self.group_owed_units = 0;
        }
    }

    /// Units that are still to be reclaimed: what was asked for, or what is above the limit.
    fn group_wants(&self) -> u64 {
        let high = self.group_high_units.unwrap_or(u64::MAX);
        let above = self.in_memory().saturating_sub(high);
        self.group_owed_units.max(above)
    }

    fn pages_in_dram(&self) -> usize {
        let in_dram = self.pages.iter().filter(|page| page.tier() == Tier::Dram);
        in_dram.count()
    }

    /// Reclaims so much from both tiers, from each by the size of its lists (`shrink_node`). Returns what went.
    fn take_from_group(&mut self, wanted: u64) -> u64 {
        let dram = self.used[Tier::Dram as usize].iter().sum::<u64>();
        let slow = self.evictable_units(Tier::Slow);
        if wanted == 0 || dram + slow == 0 {
            return 0;
        }
        let wanted = wanted.min(dram + slow);
        let from_dram =
            (u128::from(wanted) * u128::from(dram)).div_ceil(u128::from(dram + slow)) as u64;
        let mut taken = 0;
        while taken < from_dram
            && let Some(victim) = self.next_demotable(true)
        {
            let units = self.trace.size(victim.page);
            if !self.demote_or_evict(victim, true) {
                break;
            }
            taken += units;
        }
        let mut evicted = 0;
        while evicted < wanted - from_dram {
            let before = self.in_memory();
            if !self.evict_next(Tier::Slow, true) {
                break;
            }
            evicted += before - self.in_memory();
        }
        taken + evicted
    }

    fn evictable_units(&self, tier: Tier) -> u64 {
        [Kind::Anon, Kind::File, Kind::Tmpfs]
            .into_iter()
            .filter(|&kind| self.can_evict(kind as usize))
            .map(|kind| self.used[tier as usize][kind as usize])
            .sum()
    }
}
