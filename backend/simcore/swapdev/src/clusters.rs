//! Slots of a swap area on a block device as Linux gives them out (mm/swapfile.c): each CPU fills a cluster of its own,
//! first one that is all free, then the one that has had free slots for the longest time. The device learns of freed
//! slots by TRIM alone.

use std::collections::VecDeque;

use crate::log::NONE;
use crate::params::{CLUSTER_SLOTS, Trim};

/// Contiguous, aligned free slots of one fine TRIM.
pub const FINE_TRIM_SLOTS: u32 = 8;

/// Use of the swap area above which Linux frees a slot when its page is read (`vm_swap_full`).
pub const SWAP_FULL_RATIO: f64 = 0.5;

/// Whether the slot of a page is freed when the page is read: below the cut-off its copy stays while the page is clean.
pub fn frees_slot_at_swap_in(used_ratio: f64, cutoff_ratio: f64) -> bool {
    used_ratio > cutoff_ratio
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    Free,
    Partial,
    Current,
    Full,
}

struct Cluster {
    used: u32,
    listed: Listed,
}

pub(crate) struct Clusters {
    used: Vec<bool>,
    each: Vec<Cluster>,
    free: VecDeque<u32>,
    partial: VecDeque<u32>,
    /// By CPU: its cluster, and where it looks next.
    current: Vec<(u32, u32)>,
    used_slots: u32,
    trim: Trim,
}

impl Clusters {
    /// A swap area of whole clusters.
    pub(crate) fn new(slots: u32, cpus: u32, trim: Trim) -> Self {
        let count = slots / CLUSTER_SLOTS;
        let each = (0..count).map(|_| Cluster {
            used: 0,
            listed: Listed::Free,
        });
        Self {
            used: vec![false; (count * CLUSTER_SLOTS) as usize],
            each: each.collect(),
            free: (0..count).collect(),
            partial: VecDeque::new(),
            current: vec![(NONE, 0); cpus as usize],
            used_slots: 0,
            trim,
        }
    }

    pub(crate) fn used_ratio(&self) -> f64 {
        f64::from(self.used_slots) / self.used.len() as f64
    }

    /// A free slot; None where the area is full.
    pub(crate) fn allocate(&mut self, cpu: u32) -> Option<u32> {
        loop {
            let (cluster, from) = self.current[cpu as usize];
            if cluster != NONE {
                let (start, end) = (
                    cluster * CLUSTER_SLOTS + from,
                    (cluster + 1) * CLUSTER_SLOTS,
                );
                if let Some(slot) = (start..end).find(|slot| !self.used[*slot as usize]) {
                    self.current[cpu as usize].1 = slot % CLUSTER_SLOTS + 1;
                    self.used[slot as usize] = true;
                    self.used_slots += 1;
                    self.each[cluster as usize].used += 1;
                    return Some(slot);
                }
                self.leave(cluster);
            }
            let next = self.free.pop_front().or_else(|| self.partial.pop_front());
            self.current[cpu as usize] = (next.unwrap_or(NONE), 0);
            self.each[next? as usize].listed = Listed::Current;
        }
    }

    /// The end of a CPU's cluster was reached; slots that were freed behind it make it partial again.
    fn leave(&mut self, cluster: u32) {
        let at = &mut self.each[cluster as usize];
        at.listed = match at.used {
            0 => Listed::Free,
            CLUSTER_SLOTS => Listed::Full,
            _ => Listed::Partial,
        };
        match at.listed {
            Listed::Free => self.free.push_back(cluster),
            Listed::Partial => self.partial.push_back(cluster),
            Listed::Current | Listed::Full => {}
        }
    }

    /// Frees a slot; returns the slots that a TRIM tells the device of.
    pub(crate) fn release(&mut self, slot: u32) -> std::ops::Range<u32> {
        self.used[slot as usize] = false;
        self.used_slots -= 1;
        let cluster = slot / CLUSTER_SLOTS;
        let at = &mut self.each[cluster as usize];
        at.used -= 1;
        let empty = at.used == 0 && at.listed != Listed::Current;
        if at.listed == Listed::Full {
            at.listed = Listed::Partial;
            self.partial.push_back(cluster);
        }
        if empty {
            self.partial.retain(|other| *other != cluster);
            self.each[cluster as usize].listed = Listed::Free;
            self.free.push_back(cluster);
        }
        match self.trim {
            Trim::Coarse if empty => cluster * CLUSTER_SLOTS..(cluster + 1) * CLUSTER_SLOTS,
            Trim::Fine => {
                let start = slot - slot % FINE_TRIM_SLOTS;
                let group = start..start + FINE_TRIM_SLOTS;
                if group.clone().any(|other| self.used[other as usize]) {
                    0..0
                } else {
                    group
                }
            }
            Trim::Coarse | Trim::Off => 0..0,
        }
    }
}
