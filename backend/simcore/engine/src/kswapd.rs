//! Reclaim in the background of an interval, as kswapd does it: woken, it frees page after page until its watermark.

use crate::kernel_lru::{KernelLru, Look};
use crate::page::Tier;
use crate::params::{Kswapd, Policy};
use crate::state::State;

/// Pieces that it frees at most for one (`compact_gap`).
const GAP_PIECES: u64 = 2;

impl Kswapd {
    /// Seconds to demote a page of so many units.
    pub(crate) fn cost_s(&self, units: u64) -> f64 {
        self.page_s + self.unit_s * units as f64
    }
}

impl State<'_> {
    /// Wakes it (`wakeup_kswapd`): an allocation found too little free, or a promotion.
    pub(crate) fn wake_kswapd(&mut self) {
        self.kswapd.is_on = self.params.kswapd.is_some();
    }

    /// Wakes it for a hot page that found no room. A large one needs it in one piece.
    pub(crate) fn wake_for_promotion(&mut self, units: u64) {
        self.wake_kswapd();
        if self.pieces.units > 0 && units == self.pieces.units {
            self.kswapd.piece_gap = GAP_PIECES * units;
        }
    }

    /// Whether DRAM is balanced (`pgdat_balanced`): free up to promo, and in one piece where that was asked for and not
    /// too much was freed for it.
    fn is_balanced(&self) -> bool {
        self.free(Tier::Dram) >= self.params.memory.watermarks.promo as i64
            && (self.kswapd.piece_gap == 0 || self.has_piece(self.pieces.units))
    }

    /// Wakes it where an allocation of so many units finds no more than the low watermark.
    ///
    /// Those of the service go to the slower tier while that has room, and wake nobody then (`get_page_from_freelist`).
    pub(crate) fn wake_for_allocation(&mut self, units: i64) {
        if let Policy::HotPageSelection(hot) = self.params.policy
            && ((hot.allocation_demotes && self.needs_kernel_page(units))
                || self.free(Tier::Slow) < units)
            && self.is_low()
        {
            self.wake_kswapd();
        }
    }

    /// Whether the kernel needs a page for itself now that so many units are allocated, which must come from DRAM.
    fn needs_kernel_page(&mut self, units: i64) -> bool {
        let every = self
            .params
            .kswapd
            .map_or(0, |kswapd| kswapd.kernel_page_units);
        self.kswapd.allocated_units += units as u64;
        let needs = self.kswapd.allocated_units >= every;
        if needs {
            self.kswapd.allocated_units = 0;
        }
        needs
    }

    /// Drops files of the slower tier where little of it is free, as its own kswapd does, so that demotion finds room.
    pub(crate) fn keep_slow_free(&mut self) {
        let Some(kswapd) = self.params.kswapd else {
            return;
        };
        if self.free(Tier::Slow) > kswapd.slow_low_units as i64 {
            return;
        }
        while self.free(Tier::Slow) < kswapd.slow_high_units as i64
            && self.evict_next(Tier::Slow, false)
        {}
    }

    pub(crate) fn is_low(&self) -> bool {
        self.free(Tier::Dram) <= self.params.memory.watermarks.low as i64
    }

    /// Lets it work for so long (`balance_pgdat`): up to the promo watermark, which is that of tiering mode.
    pub(crate) fn run_kswapd(&mut self, seconds: f64, with_current: bool) {
        let (Some(kswapd), true) = (self.params.kswapd, self.kswapd.is_on) else {
            return;
        };
        self.kswapd.seconds += seconds;
        if self.kernel_lru.is_some() {
            return self.run_kswapd_by_lists(kswapd, with_current);
        }
        while !self.is_balanced() {
            let Some(victim) = self.next_demotable(with_current) else {
                break;
            };
            let cost_s = kswapd.cost_s(self.trace.size(victim.page));
            if cost_s > self.kswapd.seconds {
                return;
            }
            self.kswapd.seconds -= cost_s;
            if !self.demote_or_evict(victim, with_current) {
                break;
            }
            self.kswapd.note_freed(self.trace.size(victim.page));
        }
        self.kswapd.sleep();
    }

    /// The same with the kernel's lists: each look takes its time, and pages go on being used meanwhile.
    fn run_kswapd_by_lists(&mut self, kswapd: Kswapd, with_current: bool) {
        let most = self.kernel_lru.as_ref().map_or(0, KernelLru::most_looks);
        let (until, mut passed) = (self.part, 0);
        while !self.is_balanced() && passed < most {
            if self.kswapd.seconds < 0.0 {
                self.part = until;
                return;
            }
            if with_current {
                self.part = (until - (self.kswapd.seconds / self.accessed_s) as f32).max(0.0);
            }
            match self.look() {
                Some(Look::Victim(page)) => {
                    passed = 0;
                    let units = self.trace.size(page);
                    self.kswapd.seconds -= kswapd.cost_s(units) + kswapd.look_s;
                    if !self.demote_or_evict(self.victim_of(page), with_current) {
                        break;
                    }
                    self.kswapd.note_freed(units);
                }
                Some(Look::Passed) => {
                    passed += 1;
                    self.kswapd.seconds -= kswapd.look_s;
                }
                _ => break,
            }
        }
        self.part = until;
        self.kswapd.sleep();
    }
}
