//! Regions of one snapshot that overlap: each byte belongs to one of them.
//!
//! DAMON's regions never overlap, but records do: where a target's ranges are changed between two events, or records
//! were merged.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::region::DamoRegion;

/// Cuts regions, which are in order of their start, so that none overlap. Where some do, the bytes belong to the one
/// with most accesses, and of equals to the first: an access that any of them saw did happen. O(n log n); at most
/// twice as many regions as there were.
pub(crate) fn clip(regions: &[DamoRegion]) -> Vec<DamoRegion> {
    let mut clipped: Vec<DamoRegion> = Vec::with_capacity(regions.len());
    let mut open = BinaryHeap::new();
    let (mut next, mut at, mut last) = (0, 0, None);
    loop {
        while let Some(region) = regions.get(next).filter(|region| region.start <= at) {
            open.push((region.accesses, Reverse(next)));
            next += 1;
        }
        while open
            .peek()
            .is_some_and(|(_, Reverse(top))| regions[*top].end <= at)
        {
            open.pop();
        }
        let begins = regions.get(next).map(|region| region.start);
        let Some((_, Reverse(top))) = open.peek() else {
            match begins {
                Some(start) => at = start,
                None => return clipped,
            }
            continue;
        };
        let until = regions[*top].end.min(begins.unwrap_or(u64::MAX));
        match clipped.last_mut() {
            Some(piece) if last == Some(*top) && piece.end == at => piece.end = until,
            _ => clipped.push(DamoRegion {
                start: at,
                end: until,
                ..regions[*top]
            }),
        }
        (at, last) = (until, Some(*top));
    }
}

/// The regions that `damo report wss` makes of a snapshot, in its recorded order: bytes belong to the first region with
/// them, and each stretch of such bytes has the accesses of its region plus the most of all others that reach into it
/// (`aggregate_snapshots` of `_damo_records.py`, damo 3.4). So a cold region in which a hot one lies counts whole.
/// O(n log n).
pub(crate) fn as_damo_counts(recorded: &[DamoRegion]) -> Vec<DamoRegion> {
    let begin = |(at, region): (usize, &DamoRegion)| (region.start, true, at);
    let end = |(at, region): (usize, &DamoRegion)| (region.end, false, at);
    let mut events: Vec<_> = recorded.iter().enumerate().map(begin).collect();
    events.extend(recorded.iter().enumerate().map(end));
    events.sort_unstable();
    let (mut by_order, mut by_accesses) = (BTreeSet::new(), BTreeSet::new());
    // Stretches with their region and the most accesses of others.
    let mut stretches: Vec<(u64, u64, usize, u32)> = Vec::new();
    let mut events = events.into_iter().peekable();
    while let Some((address, begins, at)) = events.next() {
        if begins {
            by_order.insert(at);
            by_accesses.insert((recorded[at].accesses, at));
        } else {
            by_order.remove(&at);
            by_accesses.remove(&(recorded[at].accesses, at));
        }
        let until = events.peek().map_or(address, |(next, ..)| *next);
        let Some(owner) = by_order.first().copied().filter(|_| until > address) else {
            continue;
        };
        let most = by_accesses.iter().rev().find(|(_, other)| *other != owner);
        let most = most.map_or(0, |(accesses, _)| *accesses);
        match stretches.last_mut() {
            Some((_, reached, region, others)) if *region == owner && *reached == address => {
                (*reached, *others) = (until, most.max(*others));
            }
            _ => stretches.push((address, until, owner, most)),
        }
    }
    let region = |(start, end, owner, others): (u64, u64, usize, u32)| DamoRegion {
        start,
        end,
        accesses: recorded[owner].accesses.saturating_add(others),
        ..recorded[owner]
    };
    stretches.into_iter().map(region).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn region(start: u64, end: u64, accesses: u32) -> DamoRegion {
        DamoRegion {
            start,
            end,
            accesses,
            age: None,
        }
    }

    #[test]
    fn the_busier_region_keeps_its_bytes_and_the_other_what_is_left() {
        let cold_around = clip(&[region(0, 10, 0), region(4, 6, 3)]);
        assert_eq!(cold_around, [region(0, 4, 0), region(4, 6, 3), region(6, 10, 0)]);
        let hot_around = clip(&[region(0, 10, 3), region(4, 6, 0)]);
        assert_eq!(hot_around, [region(0, 10, 3)]);
        let equal = clip(&[region(0, 6, 1), region(4, 8, 1)]);
        assert_eq!(equal, [region(0, 6, 1), region(6, 8, 1)]);
    }

    fn as_damo(recorded: &[DamoRegion]) -> Vec<DamoRegion> {
        let mut made: Vec<(DamoRegion, u32)> = Vec::new();
        let mut waiting: Vec<_> = recorded.iter().rev().copied().collect();
        while let Some(new) = waiting.pop() {
            let met = made
                .iter_mut()
                .find(|(old, _)| old.start < new.end && new.start < old.end);
            let Some((old, added)) = met else {
                made.push((new, 0));
                continue;
            };
            *added = new.accesses.max(*added);
            let rest = [
                (new.start, old.start.min(new.end)),
                (old.end.max(new.start), new.end),
            ];
            let rest = rest.into_iter().filter(|(start, end)| start < end);
            waiting.extend(rest.map(|(start, end)| DamoRegion { start, end, ..new }));
        }
        made.sort_by_key(|(one, _)| one.start);
        let sum = |(one, added): (DamoRegion, u32)| region(one.start, one.end, one.accesses + added);
        made.into_iter().map(sum).collect()
    }

    proptest! {
        #[test]
        fn damo_counts_as_it_does_region_by_region(
            drawn in proptest::collection::vec((0_u64..60, 1_u64..20, 0_u32..5), 0..12),
        ) {
            let recorded: Vec<_> = drawn.iter().map(|(start, bytes, n)| region(*start, start + bytes, *n)).collect();
            prop_assert_eq!(as_damo_counts(&recorded), as_damo(&recorded));
        }

        #[test]
        fn every_byte_has_the_most_accesses_that_a_region_with_it_saw(
            drawn in proptest::collection::vec((0_u64..60, 1_u64..20, 0_u32..5), 0..12),
        ) {
            let mut regions: Vec<_> = drawn.iter().map(|(start, bytes, n)| region(*start, start + bytes, *n)).collect();
            regions.sort_by_key(|one| one.start);
            let clipped = clip(&regions);
            let seen = |regions: &[DamoRegion], byte: u64| {
                let with = regions.iter().filter(|one| one.start <= byte && byte < one.end);
                with.map(|one| one.accesses).max()
            };
            prop_assert!(clipped.windows(2).all(|pair| pair[0].end <= pair[1].start));
            for byte in 0..80 {
                prop_assert_eq!(seen(&clipped, byte), seen(&regions, byte));
            }
        }
    }
}
