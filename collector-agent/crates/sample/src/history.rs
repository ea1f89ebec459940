//! Activity of one page over the newest 64 intervals.
//!
//! Definitions: docs/method/heat.md, "History of a page".

use crate::heat::{AGE_BUCKET_STARTS, AGE_BUCKETS};

/// Intervals that a history reaches back.
pub const HISTORY_INTERVALS: u32 = 64;

/// Two bitmaps; bit 0 is the newest complete interval. A page can only be active in an interval that was observed,
/// so every set bit of `activity` is set in `validity` too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History {
    /// The page was active in the interval.
    pub activity: u64,
    /// The interval was observed.
    pub validity: u64,
}

/// Class of a page in the `recency` scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recency {
    /// Active in the newest 2 intervals.
    Hot,
    /// Active in the newest 10.
    Warm,
    /// Not active in 10 intervals, all of them observed.
    Cold,
    /// Too few intervals observed to tell.
    Unknown,
}

/// The lowest `window` bits; all of them from 64 on.
pub const fn mask(window: u32) -> u64 {
    if window >= HISTORY_INTERVALS {
        u64::MAX
    } else {
        (1 << window) - 1
    }
}

/// The bucket of [`AGE_BUCKET_STARTS`] that `age` intervals fall in.
pub const fn age_bucket(age: u32) -> usize {
    let mut bucket = AGE_BUCKETS - 1;
    while age < AGE_BUCKET_STARTS[bucket] {
        bucket -= 1;
    }
    bucket
}

impl History {
    /// A history whose newest interval has just been observed, idle so far.
    pub const OBSERVED_ONCE: Self = Self {
        activity: 0,
        validity: 1,
    };

    /// Starts a new interval: observed and idle so far, or missing. Missing is never idle.
    pub const fn shift(&mut self, observed: bool) {
        self.activity <<= 1;
        self.validity = (self.validity << 1) | observed as u64;
    }

    /// Marks the page as active in the newest interval.
    pub const fn touch(&mut self) {
        self.activity |= 1;
        self.validity |= 1;
    }

    /// Active in at least one of the newest `window` intervals.
    pub const fn active(self, window: u32) -> bool {
        self.activity & mask(window) != 0
    }

    /// At least one of the newest `window` intervals was not observed.
    pub const fn partial(self, window: u32) -> bool {
        (self.validity & mask(window)).count_ones() < window
    }

    /// Intervals since the last activity; `None` without any in the history.
    pub const fn age(self) -> Option<u32> {
        if self.activity == 0 {
            None
        } else {
            Some(self.activity.trailing_zeros())
        }
    }

    /// Length of the run of observed intervals that ends with the newest one, 0..=64.
    pub const fn valid_run(self) -> u32 {
        self.validity.trailing_ones()
    }

    /// The class in the `recency` scheme.
    pub const fn recency(self) -> Recency {
        if self.active(2) {
            Recency::Hot
        } else if self.partial(2) {
            Recency::Unknown
        } else if self.active(10) {
            Recency::Warm
        } else if self.partial(10) {
            Recency::Unknown
        } else {
            Recency::Cold
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(activity: u64) -> History {
        History {
            activity,
            validity: u64::MAX,
        }
    }

    #[test]
    fn ages_and_windows_of_the_worked_example() {
        let pages = [0x1, 0x6, 0x18, 0x200, 0x400, 0].map(observed);
        let ages: Vec<_> = pages.iter().map(|page| page.age()).collect();
        assert_eq!(ages, [Some(0), Some(1), Some(3), Some(9), Some(10), None]);
        let active = [1, 2, 5, 10].map(|window| pages.iter().filter(|page| page.active(window)).count());
        assert_eq!(active, [1, 2, 3, 4]);
    }

    #[test]
    fn a_missing_interval_is_unknown_rather_than_cold() {
        let mut page = History {
            activity: 0,
            validity: mask(10),
        };
        assert_eq!(page.recency(), Recency::Cold);
        page.shift(false);
        assert_eq!((page.recency(), page.valid_run()), (Recency::Unknown, 0));
        page.shift(true);
        page.touch();
        assert_eq!((page.recency(), page.partial(2)), (Recency::Hot, true));
    }

    #[test]
    fn windows_of_the_whole_history_do_not_overflow_the_shift() {
        assert_eq!((mask(0), mask(1), mask(64), mask(70)), (0, 1, u64::MAX, u64::MAX));
        assert!(!observed(1 << 63).partial(64));
        assert!(observed(1 << 63).active(64));
    }

    #[test]
    fn buckets_begin_at_their_starts() {
        let firsts: Vec<_> = AGE_BUCKET_STARTS.iter().map(|&start| age_bucket(start)).collect();
        assert_eq!(firsts, (0..AGE_BUCKETS).collect::<Vec<_>>());
        assert_eq!([4, 9, 19, 39, 63, 1000].map(age_bucket), [3, 4, 5, 6, 7, 8]);
    }
}
