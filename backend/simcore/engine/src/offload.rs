//! TMO-style offloading: the coldest pages of all tiers go to swap and disk, less of them the more faults stall.

use crate::page::Tier;
use crate::params::Offload;
use crate::state::State;
use crate::swap::offload_units;

impl State<'_> {
    /// Takes what the steps of one interval take, at the pressure that the interval's own faults made.
    pub(crate) fn offload(&mut self, offload: &Offload) {
        let interval_s = self.params.interval_s;
        let pressure = self.out.major_faults as f64 * offload.fault_s / interval_s;
        let steps = interval_s / offload.step_s;
        let due = offload_units(self.in_memory() as f64, pressure, offload) * steps;
        let wanted = (due + self.offload_owed) as u64;
        self.offload_owed = (due + self.offload_owed).fract();
        let mut taken = 0;
        while taken < wanted {
            let before = self.in_memory();
            let Some(tier) = self.colder_tier() else {
                return;
            };
            if !self.evict_next(tier, true) {
                return;
            }
            taken += before - self.in_memory();
        }
        self.out.offloaded = taken;
    }

    /// The tier whose next victim was touched longer ago; the slower one on a tie.
    fn colder_tier(&mut self) -> Option<Tier> {
        let slow = self
            .next_evictable(Tier::Slow, true)
            .map(|victim| victim.interval);
        let dram = self
            .next_evictable(Tier::Dram, true)
            .map(|victim| victim.interval);
        match (slow, dram) {
            (Some(slow), Some(dram)) => Some(if slow <= dram { Tier::Slow } else { Tier::Dram }),
            (Some(_), None) => Some(Tier::Slow),
            (None, Some(_)) => Some(Tier::Dram),
            (None, None) => None,
        }
    }
}
