//! A block device behind a flash translation layer, and the swap area on it.
//!
//! The device maps logical slots to flash, writes in order into superblocks, and collects garbage greedily: it copies
//! what is live in the superblock with the least of it. It takes a slot for live until the host overwrites or trims it.

use crate::clusters::{Clusters, frees_slot_at_swap_in};
use crate::dies::Dies;
use crate::log::{Log, NONE};
use crate::outcome::Counts;
use crate::params::{BLOCK_STREAMS, Block, Flash, RESERVE, SwapError};

const HOST: u32 = 0;
const COLLECTED: u32 = 1;

pub(crate) struct BlockSwap {
    clusters: Clusters,
    log: Log,
    pub(crate) dies: Dies,
    /// Logical slot to place on flash.
    map: Vec<u32>,
    /// Page to logical slot.
    slots: Vec<u32>,
    how: Block,
    flash: Flash,
}

impl BlockSwap {
    pub(crate) fn new(flash: Flash, how: Block, pages: usize, cpus: u32) -> Self {
        Self {
            clusters: Clusters::new(flash.slots, cpus, how.trim),
            log: Log::new(flash, flash.segments(), BLOCK_STREAMS),
            dies: Dies::new(flash),
            map: vec![NONE; flash.slots as usize],
            slots: vec![NONE; pages],
            how,
            flash,
        }
    }

    pub(crate) fn has_copy(&self, page: u32) -> bool {
        self.slots[page as usize] != NONE
    }

    pub(crate) fn used_ratio(&self) -> f64 {
        self.clusters.used_ratio()
    }

    pub(crate) fn physical_slots(&self) -> u64 {
        self.log.physical_slots()
    }

    /// Writes a page to a slot of its own. Fails with `NoSlot` where the swap area is full.
    pub(crate) fn write(
        &mut self,
        page: u32,
        cpu: u32,
        now_ns: u64,
        counts: &mut Counts,
    ) -> Result<(), SwapError> {
        let slot = self.clusters.allocate(cpu).ok_or(SwapError::NoSlot)?;
        self.slots[page as usize] = slot;
        counts.swap_writes += 1;
        counts.device_writes += 1;
        self.forget(slot);
        self.append(HOST, slot, now_ns, counts)?;
        self.collect(now_ns, counts)
    }

    /// When the page has been read; above the cut-off its slot is freed.
    pub(crate) fn read(&mut self, page: u32, now_ns: u64, counts: &mut Counts) -> u64 {
        let slot = self.slots[page as usize];
        let done_ns = match self.log.die_of(self.map[slot as usize]) {
            Some(die) => self.dies.read(die, now_ns),
            None => now_ns + self.flash.transfer_ns,
        };
        if frees_slot_at_swap_in(self.clusters.used_ratio(), self.how.cutoff_ratio) {
            self.release(page, now_ns, counts);
        }
        done_ns
    }

    /// Frees the slot of a page, if it has one.
    pub(crate) fn release(&mut self, page: u32, now_ns: u64, counts: &mut Counts) {
        let slot = std::mem::replace(&mut self.slots[page as usize], NONE);
        if slot == NONE {
            return;
        }
        let trimmed = self.clusters.release(slot);
        if trimmed.is_empty() {
            return;
        }
        counts.trims += 1;
        counts.trimmed_slots += u64::from(trimmed.end - trimmed.start);
        self.dies
            .add(trimmed.start % self.flash.dies, now_ns, self.how.trim_ns);
        for slot in trimmed {
            self.forget(slot);
        }
    }

    fn forget(&mut self, slot: u32) {
        let place = std::mem::replace(&mut self.map[slot as usize], NONE);
        if place != NONE {
            self.log.kill(place);
        }
    }

    fn append(
        &mut self,
        stream: u32,
        slot: u32,
        now_ns: u64,
        counts: &mut Counts,
    ) -> Result<(), SwapError> {
        let written = self.log.append(stream, slot).ok_or(SwapError::NoFlash)?;
        self.map[slot as usize] = written.place;
        counts.flash_writes += 1;
        if let Some(die) = written.programs {
            self.dies.program(die, now_ns);
        }
        Ok(())
    }

    /// Copies live slots out of superblocks until enough are erased.
    fn collect(&mut self, now_ns: u64, counts: &mut Counts) -> Result<(), SwapError> {
        while self.log.free_segments() < RESERVE {
            let victim = self.log.victim().ok_or(SwapError::NoFlash)?;
            let mut page_read = NONE;
            let live = self.log.reset(victim);
            for (page, slot) in live {
                if page != page_read {
                    page_read = page;
                    self.dies
                        .add(page % self.flash.dies, now_ns, self.flash.read_ns);
                }
                self.append(COLLECTED, slot, now_ns, counts)?;
                counts.device_copies += 1;
            }
            self.dies.erase(now_ns);
            counts.erases += 1;
        }
        Ok(())
    }
}
