//! Activity of one mapping whose pages are not told apart: how many bytes were active in each interval.
//!
//! Definitions and bounds: docs/method/heat.md, "Mappings".

use crate::heat::{ACTIVE_COUNTS, AGE_BUCKET_STARTS, AGE_BUCKETS, Beside, WINDOWS};
use crate::history::{HISTORY_INTERVALS, age_bucket, mask};

const INTERVALS: usize = HISTORY_INTERVALS as usize;

/// Active bytes of a mapping in each of the newest 64 intervals.
#[derive(Debug, Clone, Default)]
pub(crate) struct VmaHistory {
    /// Bit 0 = the newest interval was observed.
    validity: u64,
    /// Active KiB, newest first; only for mappings that were active at all, which few of many are.
    active_kib: Option<Box<[u32; INTERVALS]>>,
}

/// Sums over mappings that share a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct VmaSums {
    pub(crate) validity: u64,
    pub(crate) resident_bytes: i64,
    pub(crate) age_bytes: [i64; AGE_BUCKETS],
    pub(crate) never_bytes: [i64; AGE_BUCKETS],
    pub(crate) active_count_bytes: [i64; ACTIVE_COUNTS],
    pub(crate) active_lo_bytes: [i64; WINDOWS.len()],
    pub(crate) active_hi_bytes: [i64; WINDOWS.len()],
    /// `None` before the first mapping with memory in it.
    pub(crate) beside: Option<Beside>,
}

impl VmaHistory {
    /// Adds an interval; `None` when it was not observed.
    pub(crate) fn push(&mut self, active_bytes: Option<i64>) {
        self.validity = (self.validity << 1) | u64::from(active_bytes.is_some());
        let active_kib = u32::try_from(active_bytes.unwrap_or(0) >> 10).unwrap_or(u32::MAX);
        if let Some(ring) = &mut self.active_kib {
            ring.copy_within(..INTERVALS - 1, 1);
            ring[0] = active_kib;
        } else if active_kib > 0 {
            let ring = self.active_kib.insert(Box::new([0; INTERVALS]));
            ring[0] = active_kib;
        }
    }

    /// Active bytes in the newest interval; `None` when it was not observed.
    pub(crate) fn newest(&self) -> Option<i64> {
        (self.validity & 1 != 0).then(|| self.active(0))
    }

    fn active(&self, age: usize) -> i64 {
        self.active_kib
            .as_ref()
            .map_or(0, |ring| i64::from(ring[age]) << 10)
    }

    /// Adds this mapping, with what is resident of it now, to the sums of its row.
    pub(crate) fn add_to(&self, resident_bytes: i64, sums: &mut VmaSums) {
        sums.validity |= self.validity;
        sums.resident_bytes += resident_bytes;
        let ages = self.ages(resident_bytes);
        for (sum, bytes) in sums.age_bytes.iter_mut().zip(ages) {
            *sum += bytes;
        }
        let never = resident_bytes - ages.iter().sum::<i64>();
        sums.never_bytes[age_bucket(self.validity.trailing_ones())] += never;
        self.add_counts(resident_bytes, sums);
        for (index, window) in WINDOWS.into_iter().enumerate() {
            let before = ages
                .iter()
                .zip(AGE_BUCKET_STARTS)
                .take_while(|(_, start)| *start < window);
            sums.active_lo_bytes[index] += before.map(|(bytes, _)| bytes).sum::<i64>();
            sums.active_hi_bytes[index] += self.most_active(window, resident_bytes);
        }
    }

    /// Bytes by age when the active sets of the intervals are nested: what the running maximum adds.
    fn ages(&self, resident_bytes: i64) -> [i64; AGE_BUCKETS] {
        let mut ages = [0; AGE_BUCKETS];
        let mut reached = 0;
        for age in 0..INTERVALS {
            let active = self.active(age).min(resident_bytes);
            if active > reached {
                ages[age_bucket(age as u32)] += active - reached;
                reached = active;
            }
        }
        ages
    }

    /// Bytes active in exactly k of the newest ten intervals when the active sets are nested: the k-th largest interval
    /// less the next one.
    fn add_counts(&self, resident_bytes: i64, sums: &mut VmaSums) {
        const LAST: usize = ACTIVE_COUNTS - 1;
        let mut largest: [i64; LAST] = std::array::from_fn(|age| self.active(age).min(resident_bytes));
        largest.sort_unstable_by(|a, b| b.cmp(a));
        sums.active_count_bytes[0] += resident_bytes - largest[0];
        for (count, &bytes) in (1..).zip(&largest) {
            sums.active_count_bytes[count] += bytes - largest.get(count).copied().unwrap_or(0);
        }
    }

    /// Most bytes that can have been active in the window: other pages in every interval, and all of them in one that
    /// was not observed.
    fn most_active(&self, window: u32, resident_bytes: i64) -> i64 {
        if (self.validity & mask(window)).count_ones() < window {
            return resident_bytes;
        }
        let sum: i64 = (0..window as usize).map(|age| self.active(age)).sum();
        sum.min(resident_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIB: i64 = 1024;

    fn summed(intervals_oldest_first: &[Option<i64>], resident_kib: i64) -> VmaSums {
        let mut history = VmaHistory::default();
        for active_kib in intervals_oldest_first {
            history.push(active_kib.map(|kib| kib * KIB));
        }
        let mut sums = VmaSums::default();
        history.add_to(resident_kib * KIB, &mut sums);
        sums
    }

    #[test]
    fn bounds_and_ages_of_the_worked_example() {
        // Resident 100 KiB; active, newest first: 20, 50, 10, 60.
        let sums = summed(&[Some(60), Some(10), Some(50), Some(20)], 100);
        assert_eq!(
            sums.age_bytes,
            [20, 30, 0, 10, 0, 0, 0, 0, 0].map(|kib| kib * KIB)
        );
        assert_eq!(sums.never_bytes[age_bucket(4)], 40 * KIB);
        assert_eq!(sums.active_lo_bytes, [20, 50, 60, 60].map(|kib| kib * KIB));
        // Windows of 5 and 10 reach beyond the four intervals observed.
        assert_eq!(sums.active_hi_bytes, [20, 70, 100, 100].map(|kib| kib * KIB));
        assert_eq!(
            sums.active_count_bytes,
            [40, 10, 30, 10, 10, 0, 0, 0, 0, 0, 0].map(|kib| kib * KIB)
        );
        assert_eq!(sums.validity, 0b1111);
    }

    #[test]
    fn a_mapping_that_shrank_has_no_more_active_than_resident_bytes() {
        let sums = summed(&[Some(80), Some(5)], 30);
        assert_eq!(sums.age_bytes[..2], [5 * KIB, 25 * KIB]);
        assert_eq!(sums.active_hi_bytes[1], 30 * KIB);
    }

    /// Page sets over time that give the active bytes: which pages were active is known here and hidden from the fold.
    fn page_sets() -> impl Strategy<Value = Vec<Option<Vec<bool>>>> {
        let pages = proptest::collection::vec(any::<bool>(), 12);
        proptest::collection::vec(proptest::option::weighted(0.9, pages), 1..80)
    }

    proptest! {
        #[test]
        fn the_truth_lies_between_the_bounds(sets in page_sets()) {
            let active: Vec<_> = sets.iter().map(|set| {
                set.as_ref().map(|pages| pages.iter().filter(|active| **active).count() as i64 * 4)
            }).collect();
            let resident = 12 * 4;
            let sums = summed(&active, resident);
            for (index, window) in WINDOWS.into_iter().enumerate() {
                let newest = sets.iter().rev().take(window as usize).flatten();
                let touched = newest.fold(vec![false; 12], |any, pages| {
                    any.iter().zip(pages).map(|(a, b)| *a || *b).collect()
                });
                let truth = touched.iter().filter(|active| **active).count() as i64 * 4 * KIB;
                prop_assert!(sums.active_lo_bytes[index] <= truth);
                prop_assert!(truth <= sums.active_hi_bytes[index]);
            }
            let total = sums.age_bytes.iter().chain(&sums.never_bytes).sum::<i64>();
            prop_assert_eq!(total, resident * KIB);
            prop_assert_eq!(sums.active_count_bytes.iter().sum::<i64>(), resident * KIB);
        }
    }
}
