//! Which memory tier a page frame is in, by the memory blocks of the NUMA nodes.

use std::ops::Range;

use tierscope_rootfs::Reader;
use tierscope_sample::page_group::TierIndex;

use crate::PAGE_BYTES;

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

    /// Reads which frames belong to the nodes given. Frames of other nodes are in no known tier. Blocks come and go with
    /// hot-plugged memory, so this is read again from time to time.
    pub fn read(reader: &mut Reader, nodes: &[(u32, TierIndex)]) -> Self {
        let block_bytes = reader.value("/sys/devices/system/memory/block_size_bytes");
        let block_bytes = block_bytes
            .ok()
            .and_then(|text| u64::from_str_radix(text, 16).ok());
        let block_pages = block_bytes.map_or(0, |bytes| bytes / PAGE_BYTES);
        let mut ranges = Vec::new();
        for (node, tier) in nodes {
            let names = reader.list(&format!("/sys/devices/system/node/node{node}"));
            for name in names.unwrap_or_default() {
                let block = name
                    .strip_prefix("memory")
                    .and_then(|index| index.parse::<u64>().ok());
                let start = block.and_then(|block| block.checked_mul(block_pages));
                if let Some(start) = start.filter(|_| block_pages > 0) {
                    ranges.push((start..start.saturating_add(block_pages), *tier));
                }
            }
        }
        Self {
            only: None,
            ranges: join(ranges),
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
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_rootfs::Root;

    #[test]
    fn frames_are_found_in_the_blocks_of_their_nodes() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/devices/system/memory/block_size_bytes", "8000000\n");
        for block in [
            "node0/memory0",
            "node0/memory1",
            "node0/memory10",
            "node1/memory2",
        ] {
            write(&format!("sys/devices/system/node/{block}/state"), "online\n");
        }
        write("sys/devices/system/node/node0/memory_failure", "");
        let mut reader = Reader::new(Root::new(directory.path()));
        let placement = Placement::read(&mut reader, &[(0, TierIndex(0)), (1, TierIndex(1))]);
        let block = 0x800_0000 / PAGE_BYTES;
        assert_eq!(placement.ranges.len(), 3, "neighbours are joined");
        let cases = [
            (0, Some(TierIndex(0))),
            (2 * block - 1, Some(TierIndex(0))),
            (2 * block, Some(TierIndex(1))),
            (3 * block, None),
            (10 * block, Some(TierIndex(0))),
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
