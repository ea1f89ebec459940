//! Which memory tier a page frame is in, by ranges of physical memory.

use std::ops::Range;

use tierscope_sample::page_group::TierIndex;

/// Tiers of page frames.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// The tier of all frames, on hosts with but one.
    only: Option<TierIndex>,
    /// Frames by number, sorted and joined.
    ranges: Vec<(Range<u64>, TierIndex)>,
}

impl Placement {
    /// All frames are in one tier; `None` leaves all tiers unknown.
    pub fn only(tier: Option<TierIndex>) -> Self {
        Self {
            only: tier,
            ranges: Vec::new(),
        }
    }

    /// Tiers of ranges of physical memory: (first byte, bytes, tier), in frames of `page_bytes`. Frames outside of them are
    /// in no known tier.
    pub fn of_ranges(ranges: impl IntoIterator<Item = (u64, u64, TierIndex)>, page_bytes: u64) -> Self {
        let frames = |(start, bytes, tier): (u64, u64, TierIndex)| {
            let end = start.saturating_add(bytes);
            (start / page_bytes..end / page_bytes, tier)
        };
        Self {
            only: None,
            ranges: join(ranges.into_iter().map(frames).collect()),
        }
    }

    /// The tier of a page frame; `None` where it is unknown.
    #[inline]
    pub fn tier_of(&self, pfn: Option<u64>) -> Option<TierIndex> {
        if self.only.is_some() {
            return self.only;
        }
        let pfn = pfn?;
        let after = self.ranges.partition_point(|(range, _)| range.start <= pfn);
        let (range, tier) = self.ranges.get(after.checked_sub(1)?)?;
        range.contains(&pfn).then_some(*tier)
    }
}

/// Sorts ranges and joins neighbours of one tier.
fn join(mut ranges: Vec<(Range<u64>, TierIndex)>) -> Vec<(Range<u64>, TierIndex)> {
    ranges.sort_by_key(|(range, _)| range.start);
    ranges.dedup_by(|(next, next_tier), (range, tier)| {
        let joins = range.end == next.start && tier == next_tier;
        if joins {
            range.end = next.end;
        }
        joins
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE_BYTES;

    #[test]
    fn frames_are_found_in_their_ranges() {
        const BLOCK: u64 = 128 << 20;
        let (dram, cxl) = (TierIndex(0), TierIndex(1));
        let blocks = [(10, dram), (0, dram), (2, cxl), (1, dram)];
        let placement = Placement::of_ranges(
            blocks.map(|(block, tier)| (block * BLOCK, BLOCK, tier)),
            PAGE_BYTES,
        );
        assert_eq!(placement.ranges.len(), 3, "neighbours are joined");
        let block = BLOCK / PAGE_BYTES;
        let cases = [
            (0, Some(dram)),
            (2 * block - 1, Some(dram)),
            (2 * block, Some(cxl)),
            (3 * block, None),
            (10 * block, Some(dram)),
            (11 * block, None),
        ];
        for (pfn, tier) in cases {
            assert_eq!(placement.tier_of(Some(pfn)), tier, "frame {pfn}");
        }
        assert_eq!(placement.tier_of(None), None);
    }

    #[test]
    fn one_tier_needs_no_frames() {
        assert_eq!(
            Placement::only(Some(TierIndex(3))).tier_of(None),
            Some(TierIndex(3))
        );
        assert_eq!(Placement::only(None).tier_of(Some(1)), None);
    }
}
