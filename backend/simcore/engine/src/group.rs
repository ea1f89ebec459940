//! Reclaim of the service's control group: `memory.reclaim` and `memory.high`.

use crate::page::{Kind, Tier};
use crate::state::State;

impl State<'_> {
    /// Does what was asked of the group in this interval, and what its limit asks for.
    pub(crate) fn reclaim_group(&mut self) {
        if self.params.group.is_empty() {
            return;
        }
        self.begin_demotions();
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
