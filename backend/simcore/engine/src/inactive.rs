//! Which rows of the last intervals may have an inactive page: few have, once memory is filled.

use crate::page::INACTIVE_AFTER;

/// Intervals that are remembered: the current one, and those whose pages may be active.
const REMEMBERED: usize = INACTIVE_AFTER as usize;

/// One bit for each row of an interval.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inactive {
    /// By interval, in turn.
    rows: [Vec<u64>; REMEMBERED],
    now: u32,
}

impl Inactive {
    /// Begins an interval of so many rows, none of which is marked.
    pub(crate) fn begin(&mut self, interval: u32, rows: usize) {
        let bits = &mut self.rows[interval as usize % REMEMBERED];
        bits.clear();
        bits.resize(rows.div_ceil(64), 0);
        self.now = interval;
    }

    /// The bits of the current interval's rows.
    pub(crate) fn current(&mut self) -> &mut [u64] {
        &mut self.rows[self.now as usize % REMEMBERED]
    }

    /// Marks a row: its page is inactive after its touch, or turns so when it is demoted. What is long past needs none.
    pub(crate) fn mark(&mut self, interval: u32, place: usize) {
        if self.now - interval < INACTIVE_AFTER {
            self.rows[interval as usize % REMEMBERED][place / 64] |= 1 << (place % 64);
        }
    }

    /// The first marked row from a place on.
    pub(crate) fn next(&self, interval: u32, place: u32) -> Option<u32> {
        let bits = &self.rows[interval as usize % REMEMBERED];
        let mut at = place as usize / 64;
        let mut word = bits.get(at)? & (u64::MAX << (place % 64));
        while word == 0 {
            at += 1;
            word = *bits.get(at)?;
        }
        Some(at as u32 * 64 + word.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_rows_are_found_in_order_until_their_interval_is_forgotten() {
        let mut inactive = Inactive::default();
        inactive.begin(3, 200);
        for place in [0, 63, 64, 199] {
            inactive.mark(3, place);
        }
        let found = |inactive: &Inactive, from| inactive.next(3, from);
        let places = [0, 1, 63, 64, 65, 200].map(|from| found(&inactive, from));
        assert_eq!(
            places,
            [Some(0), Some(63), Some(63), Some(64), Some(199), None]
        );
        inactive.begin(3 + INACTIVE_AFTER, 64);
        assert_eq!(found(&inactive, 0), None);
    }
}
