//! Eviction to swap and disk, and faults from there.

use tierscope_swapdev::{SWAP_FULL_RATIO, Step, frees_slot_at_swap_in};

use crate::metrics::SwapEvent;
use crate::page::{COPIED, Kind, MEMORY_TIERS, SLOT, Tier};
use crate::params::{Offload, SwapDevice};
use crate::state::State;
use crate::victims::{Victim, VictimFilter};

impl State<'_> {
    fn log_swap(&mut self, page: u32, step: Step) {
        if let Some(log) = &mut self.swap_log {
            log.push(SwapEvent {
                interval: self.now,
                page,
                units: self.trace.size(page) as u32,
                step,
            });
        }
    }

    /// Evicts the next victim of a tier. False where none is left that may be evicted.
    pub(crate) fn evict_next(&mut self, tier: Tier, with_current: bool) -> bool {
        match self.next_evictable(tier, with_current) {
            Some(victim) => self.evict(victim.page),
            None => false,
        }
    }

    pub(crate) fn next_evictable(&mut self, tier: Tier, with_current: bool) -> Option<Victim> {
        let with_anon = self.can_evict(Kind::Anon as usize);
        let wanted = VictimFilter {
            with_current,
            with_anon,
            file_first: self.params.cache_trim_mode,
            ..VictimFilter::of_tier(self.trace, &self.pages, &self.inactive, tier, self.now)
        };
        self.evictable[tier as usize].next(wanted)
    }

    /// Drops a file page, or writes another one to swap unless a slot still holds it. False where swap is full.
    pub(crate) fn evict(&mut self, page: u32) -> bool {
        let (units, tier) = (self.trace.size(page), self.pages[page as usize].tier());
        if self.trace.kind(page) == Kind::File as usize {
            self.leave(page, Tier::Dropped);
            self.out.dropped += units;
        } else {
            let Some(swap) = self.params.memory.swap else {
                return false;
            };
            if !self.pages[page as usize].is(SLOT) {
                if self.swap_used + units > swap.units {
                    return false;
                }
                self.swap_used += units;
                self.pages[page as usize].set(SLOT);
                self.out.swap_written += units;
            }
            self.pages[page as usize].set(COPIED);
            self.log_swap(page, Step::Out);
            self.leave(page, Tier::Swap);
            self.out.swapped_out += units;
        }
        self.out.evicted[tier as usize] += units;
        self.away_units += units;
        true
    }

    /// A touched page comes back from swap or disk. None where that would push out a page of this interval: it thrashes.
    pub(crate) fn fault_in(&mut self, page: u32) -> Option<Tier> {
        let (units, from) = (self.trace.size(page), self.pages[page as usize].tier());
        let tier = self.find_room(page)?;
        self.place(page, tier);
        if from != Tier::Nowhere {
            self.with_lru(|lru, seen| lru.note_cost(page, seen.trace));
        }
        match from {
            Tier::Nowhere => self.nowhere_units -= units,
            Tier::Swap => {
                self.away_units -= units;
                self.out.swapped_in += units;
                self.log_swap(page, Step::In);
                if self.frees_slots() {
                    self.free_slot(page);
                }
            }
            _ => {
                self.away_units -= units;
                self.out.refaulted += units;
            }
        }
        Some(tier)
    }

    /// Above half full, Linux gives the slot of a block device back when its page is read.
    fn frees_slots(&self) -> bool {
        let Some(swap) = self.params.memory.swap else {
            return false;
        };
        let used_ratio = self.swap_used as f64 / swap.units as f64;
        swap.device == SwapDevice::BlockSsd && frees_slot_at_swap_in(used_ratio, SWAP_FULL_RATIO)
    }

    /// What the page had on the device is stale: it was written to, or is gone.
    pub(crate) fn copy_is_stale(&mut self, page: u32) {
        if self.pages[page as usize].is(COPIED) {
            self.pages[page as usize].clear(COPIED);
            self.log_swap(page, Step::Stale);
        }
        self.free_slot(page);
    }

    /// The slot on the device is not wanted any more.
    fn free_slot(&mut self, page: u32) {
        if self.pages[page as usize].is(SLOT) {
            self.pages[page as usize].clear(SLOT);
            self.swap_used -= self.trace.size(page);
        }
    }

    /// Units in DRAM and on the slower tier.
    pub(crate) fn in_memory(&self) -> u64 {
        self.used[..MEMORY_TIERS].iter().flatten().sum()
    }
}

/// Writes that so many evictions cause, `clean` of which are of pages that a slot held before.
///
/// A block device above half full has given the slot back when the page was read; a zoned one keeps it.
pub fn writes_of_evictions(evictions: u64, clean: u64, used_ratio: f64, device: SwapDevice) -> u64 {
    let keeps = device == SwapDevice::Zns || !frees_slot_at_swap_in(used_ratio, SWAP_FULL_RATIO);
    if keeps {
        evictions - clean.min(evictions)
    } else {
        evictions
    }
}

/// Units that one step of offloading takes at a pressure (share of time stalled), of so many resident.
pub fn offload_units(resident_units: f64, pressure: f64, offload: &Offload) -> f64 {
    resident_units * offload.reclaim_ratio * (1.0 - pressure / offload.pressure_target).max(0.0)
}
