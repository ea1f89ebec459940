//! The pages of one process group: history, recent sample counts and class of each, found by key.
//!
//! Struct of arrays, at most about 40 bytes a page: 8 key, 16 history, 4 marks, 6-11 index.

use hashbrown::HashTable;

use crate::heat::{ACTIVE_COUNTS, WINDOWS};
use crate::history::History;

/// Intervals of sample counts kept per page.
const RING_INTERVALS: u32 = ACTIVE_COUNTS as u32 - 1;
const RING_BITS: u32 = 2 * RING_INTERVALS;
const RING_MASK: u32 = (1 << RING_BITS) - 1;
/// Sum of five two-bit counts.
const SUM_OF_FIVE: [u8; 1 << 10] = {
    let mut table = [0; 1 << 10];
    let mut counts = 0;
    while counts < table.len() {
        let low = (counts & 3) + (counts >> 2 & 3) + (counts >> 4 & 3);
        table[counts] = (low + (counts >> 6 & 3) + (counts >> 8)) as u8;
        counts += 1;
    }
    table
};
/// Classes that fit beside the ring.
pub(crate) const MAX_CLASSES: usize = 1 << (u32::BITS - RING_BITS);

/// Load samples of the newest ten intervals (two bits each, newest lowest, 3 = three or more), and the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks(u32);

impl Marks {
    pub(crate) fn new(class: u16) -> Self {
        Self(u32::from(class) << RING_BITS)
    }

    pub(crate) fn class(self) -> usize {
        (self.0 >> RING_BITS) as usize
    }

    pub(crate) fn set_class(&mut self, class: u16) {
        self.0 = (self.0 & RING_MASK) | u32::from(class) << RING_BITS;
    }

    /// Adds samples to the newest interval.
    pub(crate) fn count(&mut self, samples: u64) {
        let sum = (u64::from(self.0 & 3) + samples).min(3) as u32;
        self.0 = (self.0 & !3) | sum;
    }

    /// Starts a new interval without samples.
    pub(crate) fn shift(&mut self) {
        self.0 = (self.0 & !RING_MASK) | ((self.0 << 2) & RING_MASK);
    }

    /// Samples in the newest 1, 2, 5 and 10 intervals; right where below 3, else at least 3.
    pub(crate) fn samples(self) -> [u8; WINDOWS.len()] {
        let ring = (self.0 & RING_MASK) as usize;
        let one = (ring & 3) as u8;
        let two = one + (ring >> 2 & 3) as u8;
        let five = two + SUM_OF_FIVE[ring >> 4 & 0x3f];
        [one, two, five, five + SUM_OF_FIVE[ring >> 10]]
    }

    /// Takes back what was counted in the newest interval.
    pub(crate) fn forget_newest(&mut self) {
        self.0 &= !3;
    }

    /// No sample in the newest ten intervals.
    pub(crate) fn is_silent(self) -> bool {
        self.0 & RING_MASK == 0
    }
}

/// Position of a page in the table; valid until the next removal.
pub(crate) type Slot = usize;

#[derive(Debug, Default)]
pub(crate) struct PageTable {
    keys: Vec<u64>,
    pub(crate) history: Vec<History>,
    pub(crate) marks: Vec<Marks>,
    index: HashTable<u32>,
}

/// Spreads the key over all bits: page numbers are dense and the index uses both ends of the hash.
fn hash(key: u64) -> u64 {
    let mixed = (key ^ (key >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}

impl PageTable {
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub(crate) fn find(&self, key: u64) -> Option<Slot> {
        let keys = &self.keys;
        self.index
            .find(hash(key), |&slot| keys[slot as usize] == key)
            .map(|&slot| slot as Slot)
    }

    /// Adds a page that is not in the table yet.
    pub(crate) fn insert(&mut self, key: u64, class: u16, history: History) -> Slot {
        let slot = self.keys.len();
        if slot == self.keys.capacity() {
            // Doubling would leave up to half of a large table unused.
            let more = (slot / 16).max(64);
            self.keys.reserve_exact(more);
            self.history.reserve_exact(more);
            self.marks.reserve_exact(more);
        }
        self.keys.push(key);
        self.history.push(history);
        self.marks.push(Marks::new(class));
        let keys = &self.keys;
        self.index
            .insert_unique(hash(key), slot as u32, |&other| hash(keys[other as usize]));
        slot
    }

    /// Removes a page; the last one takes its slot.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let (last, key) = (self.keys.len() - 1, self.keys[slot]);
        if let Ok(entry) = self.index.find_entry(hash(key), |&other| other as Slot == slot) {
            entry.remove();
        }
        if slot != last
            && let Some(moved) = self
                .index
                .find_mut(hash(self.keys[last]), |&other| other as Slot == last)
        {
            *moved = slot as u32;
        }
        self.keys.swap_remove(slot);
        self.history.swap_remove(slot);
        self.marks.swap_remove(slot);
    }

    /// Starts a new interval for every page.
    pub(crate) fn shift(&mut self, observed: bool) {
        for history in &mut self.history {
            history.shift(observed);
        }
        for marks in &mut self.marks {
            marks.shift();
        }
    }

    /// Bytes allocated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<u64>()
            + self.history.capacity() * size_of::<History>()
            + self.marks.capacity() * size_of::<Marks>()
            + self.index.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_keeps_every_other_page_findable() {
        let mut table = PageTable::default();
        for key in 0..1000u64 {
            table.insert(key << 12, (key % 3) as u16, History::OBSERVED_ONCE);
        }
        for key in (0..1000u64).step_by(2) {
            let slot = table.find(key << 12).expect("was inserted");
            table.remove(slot);
        }
        assert_eq!(table.len(), 500);
        for key in 0..1000u64 {
            let found = table
                .find(key << 12)
                .map(|slot| (table.keys()[slot], table.marks[slot].class() as u64));
            assert_eq!(found, (key % 2 == 1).then_some((key << 12, key % 3)));
        }
    }

    #[test]
    fn a_page_costs_at_most_forty_bytes() {
        let mut table = PageTable::default();
        for key in 0..1_000_000u64 {
            table.insert(key, 0, History::OBSERVED_ONCE);
        }
        assert!(
            table.memory_bytes() <= 40 * table.len(),
            "{} bytes a page",
            table.memory_bytes() / table.len()
        );
    }

    #[test]
    fn one_and_two_samples_are_told_from_more() {
        let mut marks = Marks::new(5);
        assert!(marks.is_silent());
        marks.count(1);
        assert_eq!(marks.samples(), [1, 1, 1, 1]);
        for _ in 0..4 {
            marks.shift();
        }
        marks.count(1);
        assert_eq!(marks.samples(), [1, 1, 2, 2]);
        marks.count(1);
        assert_eq!(marks.samples(), [2, 2, 3, 3]);
        marks.count(u64::MAX / 2);
        assert_eq!(marks.samples(), [3, 3, 4, 4]);
        for _ in 0..5 {
            marks.shift();
        }
        assert_eq!(
            marks.samples(),
            [0, 0, 0, 4],
            "the first sample is nine intervals old"
        );
        marks.shift();
        assert_eq!(marks.samples(), [0, 0, 0, 3]);
        for _ in 0..4 {
            marks.shift();
        }
        assert!(marks.is_silent());
        assert_eq!(marks.class(), 5);
    }
}
