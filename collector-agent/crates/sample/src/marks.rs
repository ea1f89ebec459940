//! Load samples of a page over the newest ten intervals, and its class, in four bytes.

use crate::heat::{ACTIVE_COUNTS, WINDOWS};

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

#[cfg(test)]
mod tests {
    use super::*;

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
