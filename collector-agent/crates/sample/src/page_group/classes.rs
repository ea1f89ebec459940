//! The classes of pages of a group: kind, page size and tier in 12 bits, and the counts of each.

use std::sync::Arc;

use super::listed::{PageSize, TierIndex};
use super::unseen::Newest;
use crate::fold::PageClass;
use crate::gap_tally::GapTally;
use crate::gaps::GapEnd;
use crate::heat::{GAP_BINS, PageKind};
use crate::page_tally::PageTally;

const KINDS: [PageKind; 3] = [PageKind::Anon, PageKind::File, PageKind::Tmpfs];
/// Kind and size, without the tier.
const MAPPING_BITS: u16 = 0x1f;

/// The class of a page: bits 0-2 size, 3-4 kind, 5-11 tier index + 1, 0 = unknown.
pub(super) fn class_of(kind: PageKind, size: PageSize, tier: Option<TierIndex>) -> u16 {
    // The last tier that has a number stands for all beyond it.
    let tier = tier.map_or(0, |tier| u16::from(tier.0.min(126)) + 1);
    tier << 5 | (kind as u16) << 3 | size as u16
}

/// Whether a page that goes from one class to the other stays the same page: only its tier differs.
pub(super) fn is_same_mapping(one: u16, other: u16) -> bool {
    one & MAPPING_BITS == other & MAPPING_BITS
}

pub(super) fn kind_of_class(class: usize) -> PageKind {
    KINDS[class >> 3 & 3]
}

pub(super) fn size_of_class(class: usize) -> PageSize {
    PageSize::ALL[class & 7]
}

#[derive(Debug)]
pub(super) struct Class {
    pub(super) page: PageClass,
    pub(super) tally: PageTally,
    pub(super) gaps: GapTally,
    /// Pages by the gap that is open; counted where a block ends.
    pub(super) open: [i64; GAP_BINS],
    /// 4 KiB sub-pages of huge pages that were seen active in the newest 2 intervals.
    pub(super) subpages: i64,
    /// Sampled stores.
    pub(super) stores: Newest<u64>,
}

/// The counts of all classes that there are, by class number.
#[derive(Debug, Default)]
pub(super) struct Classes {
    by_number: Vec<Option<Box<Class>>>,
}

impl Classes {
    /// The counts of a class, begun where there are none.
    #[inline]
    pub(super) fn at(&mut self, number: usize, tiers: &[Arc<str>]) -> &mut Class {
        if number >= self.by_number.len() {
            self.by_number.resize_with(number + 1, || None);
        }
        self.by_number[number].get_or_insert_with(|| Box::new(Class::new(number, tiers)))
    }

    /// Counts the end of a gap of a page of a class.
    pub(super) fn end_gap(&mut self, number: usize, tiers: &[Arc<str>], end: Option<GapEnd>) {
        if let Some(end) = end {
            self.at(number, tiers).gaps.end(end);
        }
    }

    /// All classes with counts, by kind, size and tier.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Class> {
        let mut classes: Vec<_> = self.by_number.iter_mut().flatten().map(AsMut::as_mut).collect();
        classes.sort_by_key(|class| (class.page.kind, class.page.page_size_bytes));
        classes.into_iter()
    }
}

impl Class {
    fn new(number: usize, tiers: &[Arc<str>]) -> Self {
        let tier = (number >> 5).checked_sub(1).and_then(|index| tiers.get(index));
        let page = PageClass {
            kind: kind_of_class(number),
            page_size_bytes: size_of_class(number).bytes(),
            tier: tier.cloned(),
        };
        Self {
            page,
            tally: PageTally::default(),
            gaps: GapTally::default(),
            open: [0; GAP_BINS],
            subpages: 0,
            stores: Newest::of(0),
        }
    }
}
