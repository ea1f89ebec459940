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
}

/// How many bits of a history one interval takes, and so how far the history reaches back.
///
/// With k bits an interval keeps a level of activity, 0 to `2^k - 1`, and the history is `64 / k` intervals long,
/// rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryShape {
    bits: u32,
}

/// How a number of samples becomes a level of `k` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FrequencyEncoding {
    /// The number itself, at most `2^k - 1`.
    #[default]
    Count,
    /// `floor(log2(1 + number))`, at most `2^k - 1`.
    Log2,
}

impl HistoryShape {
    /// A history of `bits` per interval, 1..=64; values outside are brought inside.
    pub const fn new(bits: u8) -> Self {
        let bits = match bits {
            0 => 1,
            1..=64 => bits as u32,
            _ => 64,
        };
        Self { bits }
    }

    /// Intervals that the history reaches back.
    pub const fn intervals(self) -> u32 {
        HISTORY_INTERVALS / self.bits
    }

    /// Highest level of one interval.
    pub const fn highest_level(self) -> u64 {
        mask(self.bits)
    }

    /// The level that a number of samples stands for; activity without a count is 1 sample.
    pub const fn level(self, samples: u64, encoding: FrequencyEncoding) -> u64 {
        let level = match encoding {
            FrequencyEncoding::Count => samples,
            FrequencyEncoding::Log2 => samples.saturating_add(1).ilog2() as u64,
        };
        if level < self.highest_level() {
            level
        } else {
            self.highest_level()
        }
    }

    /// Starts a new interval: observed and idle so far, or missing. What a torn interval would leave at the old end
    /// is cut off.
    pub const fn shift(self, history: &mut History, observed: bool) {
        let all = mask(self.intervals() * self.bits);
        history.activity = shifted(history.activity, self.bits) & all;
        history.validity = shifted(history.validity, self.bits) & all;
        if observed {
            history.validity |= mask(self.bits);
        }
    }

    /// Sets the level of the newest interval, which becomes an observed one.
    pub const fn set_level(self, history: &mut History, level: u64) {
        history.activity = (history.activity & !mask(self.bits)) | (level & mask(self.bits));
        history.validity |= mask(self.bits);
    }

    /// The level `age` intervals ago.
    pub const fn level_at(self, history: History, age: u32) -> u64 {
        if age >= self.intervals() {
            0
        } else {
            (history.activity >> (age * self.bits)) & mask(self.bits)
        }
    }

    /// Active in at least one of the newest `window` intervals.
    pub const fn active(self, history: History, window: u32) -> bool {
        history.activity & history.validity & mask(window * self.bits) != 0
    }

    /// At least one of the newest `window` intervals was not observed.
    pub const fn partial(self, history: History, window: u32) -> bool {
        (history.validity & mask(window * self.bits)).count_ones() / self.bits < window
    }

    /// Intervals since the last activity; `None` without any in the history.
    pub const fn age(self, history: History) -> Option<u32> {
        if history.activity == 0 {
            None
        } else {
            Some(history.activity.trailing_zeros() / self.bits)
        }
    }

    /// The same history with one bit an interval: active at any level.
    pub const fn flatten(self, history: History) -> History {
        if self.bits == 1 {
            return history;
        }
        let mut flat = History {
            activity: 0,
            validity: 0,
        };
        let mut age = 0;
        while age < self.intervals() {
            let place = age * self.bits;
            flat.activity |= ((self.level_at(history, age) != 0) as u64) << age;
            flat.validity |= (history.validity >> place & 1) << age;
            age += 1;
        }
        flat
    }
}

/// `bits << by` that is 0, not undefined, when everything is shifted out.
const fn shifted(bits: u64, by: u32) -> u64 {
    if by >= u64::BITS { 0 } else { bits << by }
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
        assert_eq!((page.active(10), page.partial(10)), (false, false));
        page.shift(false);
        assert_eq!(
            (page.active(10), page.partial(2), page.valid_run()),
            (false, true, 0)
        );
        page.shift(true);
        page.touch();
        assert_eq!((page.active(2), page.partial(2)), (true, true));
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

    #[test]
    fn several_bits_an_interval_shorten_the_history_and_leave_no_torn_interval() {
        let three = HistoryShape::new(3);
        assert_eq!((three.intervals(), three.highest_level()), (21, 7));
        let mut history = History::default();
        for level in [5, 0, 7] {
            three.shift(&mut history, true);
            if level > 0 {
                three.set_level(&mut history, level);
            }
        }
        assert_eq!(history.activity, 0b101_000_111);
        assert_eq!([0, 1, 2, 3].map(|age| three.level_at(history, age)), [7, 0, 5, 0]);
        three.shift(&mut history, false);
        three.shift(&mut history, true);
        assert_eq!(history.validity, 0b111_111_111_000_111);
        assert_eq!(three.age(history), Some(2));
        assert_eq!([2, 3].map(|window| three.active(history, window)), [false, true]);
        assert_eq!(
            [1, 2, 5].map(|window| three.partial(history, window)),
            [false, true, true]
        );
        let flat = three.flatten(history);
        assert_eq!((flat.activity, flat.validity), (0b1_0100, 0b1_1101));
        for _ in 0..18 {
            three.shift(&mut history, true);
        }
        assert_eq!((three.age(history), history.activity >> 60), (Some(20), 0b111));
        three.shift(&mut history, true);
        assert_eq!(
            (history.activity, history.validity >> 63),
            (0, 0),
            "bit 63 belongs to no interval"
        );
    }

    #[test]
    fn a_history_of_one_bit_is_the_plain_one() {
        let (one_bit, mut shaped, mut plain) = (HistoryShape::new(1), History::default(), History::default());
        for step in 0..200_u32 {
            one_bit.shift(&mut shaped, step % 7 != 0);
            plain.shift(step % 7 != 0);
            if step % 7 != 0 && step % 3 == 0 {
                one_bit.set_level(&mut shaped, 1);
                plain.touch();
            }
            assert_eq!(shaped, plain);
            assert_eq!(one_bit.flatten(shaped), plain);
            assert_eq!(one_bit.age(shaped), plain.age());
            for window in [1, 2, 5, 10, 64] {
                assert_eq!(one_bit.active(shaped, window), plain.active(window));
                assert_eq!(one_bit.partial(shaped, window), plain.partial(window));
            }
        }
    }

    #[test]
    fn levels_are_counts_or_logarithms_up_to_the_highest() {
        let two = HistoryShape::new(2);
        assert_eq!(
            [0, 1, 2, 3, 4, 1000].map(|n| two.level(n, FrequencyEncoding::Count)),
            [0, 1, 2, 3, 3, 3]
        );
        let four = HistoryShape::new(4);
        let samples = [0, 1, 2, 3, 6, 7, 32766, 32767, u64::MAX];
        assert_eq!(
            samples.map(|n| four.level(n, FrequencyEncoding::Log2)),
            [0, 1, 1, 2, 2, 3, 14, 15, 15]
        );
        assert_eq!(
            [HistoryShape::new(0), HistoryShape::new(200)].map(HistoryShape::intervals),
            [64, 1]
        );
        let mut whole = History::default();
        HistoryShape::new(64).set_level(&mut whole, 9);
        HistoryShape::new(64).shift(&mut whole, true);
        assert_eq!((whole.activity, whole.validity), (0, u64::MAX));
    }
}
