//! Free memory of DRAM in whole pieces: a large page needs one, and smaller ones break them.
//!
//! A piece is as large as the largest page of the trace. What is free is whole pieces and scattered units. Small pages
//! take scattered units before they break a piece, as the buddy allocator does (`expand`), and what they leave is
//! scattered. Nothing is put together again: compaction and neighbours that are free at once are not modelled. Where all
//! pages are of one size, or reclaim has no course within an interval, pieces are not told apart.

/// What is known of free DRAM besides its size.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pieces {
    /// Units of a piece; 0 where they are not told apart.
    pub units: u64,
    /// Free units that no whole piece holds.
    scattered: u64,
}

impl Pieces {
    pub(crate) fn new(units: u64) -> Self {
        Self {
            units,
            scattered: 0,
        }
    }

    /// A page of so many units took room; so many are free now.
    pub(crate) fn take(&mut self, units: u64, free: u64) {
        if units < self.units {
            self.scattered = if self.scattered >= units {
                self.scattered - units
            } else {
                self.scattered + self.units - units
            };
        }
        self.scattered = self.scattered.min(free);
    }

    /// A page of so many units left.
    pub(crate) fn give(&mut self, units: u64) {
        if units < self.units {
            self.scattered += units;
        }
    }

    /// Whether a page of so many units fits into what is free.
    pub(crate) fn holds(&self, units: u64, free: u64) -> bool {
        units < self.units || free.saturating_sub(self.scattered) >= units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pages_break_a_piece_only_where_nothing_is_scattered_and_leave_what_no_large_one_fits_into()
     {
        let mut pieces = Pieces::new(4);
        assert!(pieces.holds(4, 8));
        pieces.take(1, 7);
        assert!(pieces.holds(4, 7));
        for free in [6, 5, 4] {
            pieces.take(1, free);
        }
        // The broken piece is used up, the other one is whole.
        assert!(pieces.holds(4, 4));
        pieces.take(4, 0);
        for _ in 0..4 {
            pieces.give(1);
        }
        assert!(!pieces.holds(4, 4));
        assert!(pieces.holds(1, 4));
        pieces.give(4);
        assert!(pieces.holds(4, 8));
    }
}
