//! Where a page goes when it is allocated: at its birth, and when it comes back from swap or disk.

use crate::page::{Kind, Tier};
use crate::params::{Interleave, Policy};
use crate::state::State;

impl State<'_> {
    /// Places all pages born in this interval. `last` is their birth, so that an untouched one has an age.
    ///
    /// Births and accesses are spread evenly over the interval. Returns the seconds that are left after the births.
    pub(crate) fn bear(&mut self) -> f64 {
        let born = self.trace.born(self.now as usize);
        let events = born.len() + self.trace.row_count(self.now as usize);
        let each_s = self.params.interval_s / events.max(1) as f64;
        let left_s = self.params.interval_s - each_s * born.len() as f64;
        for page in born {
            self.run_kswapd(each_s, false);
            self.pages[page as usize].set_last(self.now);
            self.out.born += self.trace.size(page);
            if let Some(tier) = self.find_room(page) {
                self.place(page, tier);
            } else {
                self.pages[page as usize].set_tier(Tier::Nowhere);
                self.nowhere_units += self.trace.size(page);
                self.out.failed_allocations += self.trace.size(page);
            }
        }
        left_s
    }

    /// The tier on which a page is allocated: the policy's choice, then the other one, then whatever reclaim frees.
    pub(crate) fn find_room(&mut self, page: u32) -> Option<Tier> {
        let units = self.trace.size(page) as i64;
        self.wake_for_allocation(units);
        let first = if self.is_limited(page) {
            Tier::Slow
        } else {
            self.first_choice(page)
        };
        let second = if first == Tier::Dram {
            Tier::Slow
        } else {
            Tier::Dram
        };
        if first == Tier::Slow {
            self.keep_slow_free();
        }
        let found = [first, second].into_iter().find(|&tier| {
            self.free(tier) >= units && (tier != Tier::Dram || self.has_piece(units as u64))
        });
        self.turn += 1;
        found.or_else(|| self.reclaim_for(units))
    }

    /// Puts a page that lay nowhere, on swap or on disk into memory.
    pub(crate) fn place(&mut self, page: u32, tier: Tier) {
        self.enter(page, tier);
        self.out.placed[tier as usize] += self.trace.size(page);
    }

    fn first_choice(&self, page: u32) -> Tier {
        let marks = self.params.memory.watermarks;
        let above = |free: u64| {
            let left = self.free(Tier::Dram);
            let units = self.trace.size(page);
            if left > free as i64 && left >= units as i64 && self.has_piece(units) {
                Tier::Dram
            } else {
                Tier::Slow
            }
        };
        match self.params.policy {
            Policy::AllDram => Tier::Dram,
            Policy::FirstTouch | Policy::NumaBalancing | Policy::HotPageSelection(_) => {
                above(marks.low)
            }
            Policy::AutoTiering { reserve_units, .. } => above(marks.low + reserve_units),
            Policy::Tpp(tpp) if tpp.type_aware && self.trace.kind(page) != Kind::Anon as usize => {
                Tier::Slow
            }
            Policy::Tpp(tpp) => above(if tpp.decoupled { marks.high } else { marks.low }),
            Policy::Interleave(weights) => turn(weights, self.turn),
        }
    }

    /// Evicts until a page fits: from the slower tier where there is one, else from DRAM. Never a page of this interval.
    fn reclaim_for(&mut self, units: i64) -> Option<Tier> {
        let tier = if self.capacity(Tier::Slow) > 0 {
            Tier::Slow
        } else {
            Tier::Dram
        };
        while self.free(tier) < units {
            if !self.evict_next(tier, false) {
                return None;
            }
        }
        Some(tier)
    }
}

/// Whose turn it is: so many pages to DRAM, then so many to the slower tier.
fn turn(weights: Interleave, turn: u64) -> Tier {
    let (dram, slow) = (
        u64::from(weights.dram_weight),
        u64::from(weights.slow_weight),
    );
    if turn % (dram + slow) < dram {
        Tier::Dram
    } else {
        Tier::Slow
    }
}
