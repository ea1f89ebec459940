//! Flash that is written in order: segments with a write pointer, what is live in them, and the choice of the one to
//! reclaim. A segment is a superblock of a block device (one erase block of every die), or a zone.

use std::collections::VecDeque;

use crate::params::Flash;

/// No key, no place.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct Segment {
    /// What each slot holds, up to the write pointer; `NONE` where that is dead.
    keys: Vec<u32>,
    live: u32,
    /// Live slots that reclaim need not copy.
    spared: u32,
    open: bool,
}

/// Slots of flash, numbered through: a place is segment x slots + offset.
pub(crate) struct Log {
    flash: Flash,
    slots: u32,
    segments: Vec<Segment>,
    free: VecDeque<u32>,
    open: Vec<Option<u32>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Written {
    pub(crate) place: u32,
    /// Die whose flash page is complete with this slot, and is programmed now.
    pub(crate) programs: Option<u32>,
}

impl Log {
    pub(crate) fn new(flash: Flash, segments: u32, streams: u32) -> Self {
        let slots = flash.segment_slots();
        let empty = Segment {
            keys: Vec::with_capacity(slots as usize),
            live: 0,
            spared: 0,
            open: false,
        };
        Self {
            flash,
            slots,
            segments: vec![empty; segments as usize],
            free: (0..segments).collect(),
            open: vec![None; streams as usize],
        }
    }

    pub(crate) fn free_segments(&self) -> usize {
        self.free.len()
    }

    pub(crate) fn physical_slots(&self) -> u64 {
        u64::from(self.slots) * self.segments.len() as u64
    }

    /// Writes at the pointer of the stream's segment, or of another open one where no segment is free.
    pub(crate) fn append(&mut self, stream: u32, key: u32) -> Option<Written> {
        let segment = self.segment_for(stream)?;
        let at = &mut self.segments[segment as usize];
        let offset = at.keys.len() as u32;
        at.keys.push(key);
        at.live += 1;
        if offset + 1 == self.slots {
            at.open = false;
            for open in &mut self.open {
                if *open == Some(segment) {
                    *open = None;
                }
            }
        }
        let page = offset / self.flash.slots_per_page;
        let complete = (offset + 1).is_multiple_of(self.flash.slots_per_page);
        Some(Written {
            place: segment * self.slots + offset,
            programs: complete.then_some(page % self.flash.dies),
        })
    }

    fn segment_for(&mut self, stream: u32) -> Option<u32> {
        if let Some(segment) = self.open[stream as usize] {
            return Some(segment);
        }
        let segment = match self.free.pop_front() {
            Some(segment) => segment,
            None => self.open.iter().flatten().next().copied()?,
        };
        self.segments[segment as usize].open = true;
        self.open[stream as usize] = Some(segment);
        Some(segment)
    }

    /// Die to read a slot from; None while its flash page is still in the write buffer.
    pub(crate) fn die_of(&self, place: u32) -> Option<u32> {
        let (segment, offset) = (place / self.slots, place % self.slots);
        let page = offset / self.flash.slots_per_page;
        let written = self.segments[segment as usize].keys.len() as u32;
        ((page + 1) * self.flash.slots_per_page <= written).then_some(page % self.flash.dies)
    }

    /// What a slot holds is not wanted any more.
    pub(crate) fn kill(&mut self, place: u32) {
        let segment = &mut self.segments[(place / self.slots) as usize];
        let key = &mut segment.keys[(place % self.slots) as usize];
        if *key != NONE {
            *key = NONE;
            segment.live -= 1;
        }
    }

    /// Whether reclaim may drop a live slot instead of copying it.
    pub(crate) fn spare(&mut self, place: u32, spared: bool) {
        let segment = &mut self.segments[(place / self.slots) as usize];
        if spared {
            segment.spared += 1;
        } else {
            segment.spared -= 1;
        }
    }

    /// The full segment with the fewest slots to copy (greedy); None where reclaim would gain nothing.
    pub(crate) fn victim(&self) -> Option<u32> {
        let copied = |segment: &Segment| segment.live - segment.spared;
        let full = |segment: &&Segment| !segment.open && segment.keys.len() as u32 == self.slots;
        let numbered = self.segments.iter().enumerate();
        let (number, least) = numbered
            .filter(|(_, segment)| full(segment))
            .min_by_key(|(_, segment)| copied(segment))?;
        (copied(least) < self.slots).then_some(number as u32)
    }

    /// Empties a segment; returns its live slots as (flash page, key), in order. It is erased and free from now on.
    pub(crate) fn reset(&mut self, segment: u32) -> Vec<(u32, u32)> {
        let at = &mut self.segments[segment as usize];
        let keys = std::mem::take(&mut at.keys);
        at.live = 0;
        at.spared = 0;
        self.free.push_back(segment);
        let numbered = keys.iter().enumerate();
        let live = numbered.filter(|(_, key)| **key != NONE);
        live.map(|(offset, key)| (offset as u32 / self.flash.slots_per_page, *key))
            .collect()
    }
}
