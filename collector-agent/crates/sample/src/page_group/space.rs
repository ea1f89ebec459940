//! The pages of one address space or file, sorted by number, so that a listing in order of address walks along them.
//!
//! 24 bytes a page, in segments of 1 GiB: what comes new is merged in one sweep over its segment.

use std::collections::HashMap;

use crate::history::History;
use crate::marks::Marks;

/// Pages of 4 KiB that a segment spans, as a power of two.
const SEGMENT_BITS: u32 = 18;
const INDEX_MASK: u32 = (1 << SEGMENT_BITS) - 1;
/// Listed in the interval that is being read.
const LISTED: u32 = 1 << SEGMENT_BITS;
const ACTIVE: u32 = 1 << (SEGMENT_BITS + 1);
/// Listed in it by a process whose activity is not known.
const UNOBSERVED: u32 = 1 << (SEGMENT_BITS + 2);
/// Selected for the page sample when it came.
const SAMPLED: u32 = 1 << (SEGMENT_BITS + 3);
/// Level of activity in the interval that is being read, above the flags.
const LEVEL_SHIFT: u32 = SEGMENT_BITS + 4;
/// Highest level that fits.
pub(super) const HIGHEST_LEVEL: u32 = u32::MAX >> LEVEL_SHIFT;

/// One page: its place in the segment, what the running interval said of it so far, and its past.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    word: u32,
    pub(super) marks: Marks,
    pub(super) history: History,
}

impl Page {
    fn new(index: u32, class: u16) -> Self {
        Self {
            word: index,
            marks: Marks::new(class),
            history: History::default(),
        }
    }

    fn index(self) -> u32 {
        self.word & INDEX_MASK
    }

    /// Forgets its past: the memory is another page now.
    pub(super) fn renew(&mut self, class: u16) {
        *self = Self::new(self.index(), class);
    }

    pub(super) fn is_listed(self) -> bool {
        self.word & LISTED != 0
    }

    pub(super) fn is_active(self) -> bool {
        self.word & ACTIVE != 0
    }

    /// Whether the running interval is known for this page: it was seen active, or nobody missed it.
    pub(super) fn is_observed(self) -> bool {
        self.word & (ACTIVE | UNOBSERVED) != UNOBSERVED
    }

    /// The sum of the levels noted in the running interval, at most [`HIGHEST_LEVEL`].
    pub(super) fn level(self) -> u32 {
        self.word >> LEVEL_SHIFT
    }

    pub(super) fn is_sampled(self) -> bool {
        self.word & SAMPLED != 0
    }

    pub(super) fn set_sampled(&mut self, sampled: bool) {
        self.word = if sampled {
            self.word | SAMPLED
        } else {
            self.word & !SAMPLED
        };
    }

    /// Notes a listing; true for the first one of the interval.
    #[inline]
    pub(super) fn list(&mut self, observed: bool) -> bool {
        let first = self.word & LISTED == 0;
        self.word |= if observed { LISTED } else { LISTED | UNOBSERVED };
        first
    }

    /// Notes activity at `level`.
    #[inline]
    pub(super) fn activate(&mut self, level: u32) {
        let sum = (self.level() + level).min(HIGHEST_LEVEL);
        self.word = (self.word & !(HIGHEST_LEVEL << LEVEL_SHIFT)) | sum << LEVEL_SHIFT | ACTIVE;
    }

    /// Ends the running interval.
    #[inline]
    pub(super) fn settle(&mut self) {
        self.word &= INDEX_MASK | SAMPLED;
    }
}

/// Up to 1 GiB of a space.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// Number of its first page, by the size of a segment.
    base: u64,
    pages: Vec<Page>,
    /// Pages that came in the running interval and lie between others; sorted.
    added: Vec<Page>,
}

impl Segment {
    /// The first page at or after `index`, from `from` on.
    fn seek(&self, from: usize, index: u32) -> usize {
        let behind = from > 0 && self.pages.get(from - 1).is_none_or(|page| page.index() >= index);
        let mut at = if behind { 0 } else { from };
        // A listing of every page finds the next one at once; a listing of few searches.
        for _ in 0..4 {
            match self.pages.get(at) {
                Some(page) if page.index() < index => at += 1,
                _ => return at,
            }
        }
        at + self.pages[at..].partition_point(|page| page.index() < index)
    }

    /// The page at `index`, made where there is none; and whether it was.
    #[inline]
    fn page(&mut self, from: &mut usize, index: u32, class: u16) -> (&mut Page, bool) {
        if let Some(last) = self.added.last().map(|page| page.index())
            && index <= last
        {
            if index == last {
                let last = self.added.len() - 1;
                return (&mut self.added[last], false);
            }
            self.merge();
            *from = 0;
        }
        *from = self.seek(*from, index);
        if self.pages.get(*from).is_some_and(|page| page.index() == index) {
            return (&mut self.pages[*from], false);
        }
        let target = if *from == self.pages.len() && self.added.is_empty() {
            &mut self.pages
        } else {
            &mut self.added
        };
        if target.len() == target.capacity() {
            // Doubling would leave up to half of a large segment unused.
            target.reserve_exact((target.len() / 16).max(4));
        }
        target.push(Page::new(index, class));
        let last = target.len() - 1;
        (&mut target[last], true)
    }

    /// Merges the pages that came into the others, from the end backwards, in place.
    fn merge(&mut self) {
        let added = std::mem::take(&mut self.added);
        let (mut old, mut new) = (self.pages.len(), added.len());
        self.pages.reserve_exact(new);
        self.pages.extend_from_slice(&added);
        let mut end = self.pages.len();
        while new > 0 {
            end -= 1;
            if old > 0 && self.pages[old - 1].index() > added[new - 1].index() {
                old -= 1;
                self.pages[end] = self.pages[old];
            } else {
                new -= 1;
                self.pages[end] = added[new];
            }
        }
    }
}

/// Sub-pages of one huge page that were seen active in the newest 2 intervals.
pub(super) fn count_subpages([newest, before]: &SubPages) -> i64 {
    newest
        .iter()
        .zip(before)
        .map(|(a, b)| i64::from((a | b).count_ones()))
        .sum()
}

/// Where a listing has got to in a space.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    segment: usize,
    page: usize,
}

/// Which 4 KiB sub-pages of a huge page were seen active: in the running interval, and in the one before.
type SubPages = [[u64; 8]; 2];

/// The pages of one address space or file.
#[derive(Debug, Default)]
pub(super) struct Space {
    segments: Vec<Segment>,
    subpages: HashMap<u64, SubPages>,
}

impl Space {
    /// The page `number`, made where there is none, and whether it was. Fast when called in order of numbers.
    #[inline]
    pub(super) fn page(&mut self, cursor: &mut Cursor, number: u64, class: u16) -> (&mut Page, bool) {
        let base = number >> SEGMENT_BITS;
        if self
            .segments
            .get(cursor.segment)
            .is_none_or(|segment| segment.base != base)
        {
            let at = self.segments.partition_point(|segment| segment.base < base);
            if self.segments.get(at).is_none_or(|segment| segment.base != base) {
                let segment = Segment {
                    base,
                    ..Segment::default()
                };
                self.segments.insert(at, segment);
            }
            *cursor = Cursor { segment: at, page: 0 };
        }
        self.segments[cursor.segment].page(&mut cursor.page, number as u32 & INDEX_MASK, class)
    }

    /// Merges all pages that came.
    pub(super) fn merge(&mut self) {
        for segment in self
            .segments
            .iter_mut()
            .filter(|segment| !segment.added.is_empty())
        {
            segment.merge();
        }
    }

    /// Visits every page in order, with its number; those for which `keep` says no are removed. All are merged.
    #[inline]
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u64, &mut Page) -> bool) {
        for segment in &mut self.segments {
            let first = segment.base << SEGMENT_BITS;
            segment
                .pages
                .retain_mut(|page| keep(first | u64::from(page.index()), page));
            let length = segment.pages.len();
            if segment.pages.capacity() > length + length / 4 + 64 {
                segment.pages.shrink_to(length + length / 16);
            }
        }
        self.segments.retain(|segment| !segment.pages.is_empty());
    }

    /// Notes activity in a sub-page, 0..512, of the huge page `number`.
    pub(super) fn touch_subpage(&mut self, number: u64, subpage: u64) {
        let newest = &mut self.subpages.entry(number).or_default()[0];
        newest[(subpage / 64) as usize % 8] |= 1 << (subpage % 64);
    }

    /// Forgets the sub-pages of a page that is another one now.
    pub(super) fn forget_subpages(&mut self, number: u64) {
        self.subpages.remove(&number);
    }

    /// Takes the maps of sub-pages out, so that they can be ended while the pages are visited.
    pub(super) fn take_subpages(&mut self) -> HashMap<u64, SubPages> {
        std::mem::take(&mut self.subpages)
    }

    /// Puts back those maps that still hold something for the next interval.
    pub(super) fn put_subpages(&mut self, mut maps: HashMap<u64, SubPages>) {
        maps.retain(|_, [newest, before]| {
            *before = *newest;
            *newest = [0; 8];
            *before != [0; 8]
        });
        self.subpages = maps;
    }

    /// Every page in order, with its number. All are merged.
    pub(super) fn pages(&self) -> impl Iterator<Item = (u64, &Page)> {
        self.segments.iter().flat_map(|segment| {
            let first = segment.base << SEGMENT_BITS;
            segment
                .pages
                .iter()
                .map(move |page| (first | u64::from(page.index()), page))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.segments
            .iter()
            .map(|segment| segment.pages.len() + segment.added.len())
            .sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments
            .iter()
            .all(|segment| segment.pages.is_empty() && segment.added.is_empty())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let of_segment = |segment: &Segment| {
            size_of::<Segment>() + (segment.pages.capacity() + segment.added.capacity()) * size_of::<Page>()
        };
        let of_map = size_of::<u64>() + size_of::<SubPages>();
        let maps = self.subpages.capacity() * of_map;
        size_of::<Self>() + maps + self.segments.iter().map(of_segment).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists pages in the order given; the numbers that were new.
    fn list(space: &mut Space, numbers: &[u64]) -> Vec<u64> {
        let mut cursor = Cursor::default();
        let mut new = Vec::new();
        for number in numbers {
            if space.page(&mut cursor, *number, 3).1 {
                new.push(*number);
            }
        }
        new
    }

    fn numbers(space: &Space) -> Vec<u64> {
        space.pages().map(|(number, _)| number).collect()
    }

    #[test]
    fn pages_are_found_again_in_any_order_of_listing() {
        let mut space = Space::default();
        let far = 5 << SEGMENT_BITS;
        assert_eq!(
            list(&mut space, &[4, 8, 12, far, far + 1]),
            [4, 8, 12, far, far + 1]
        );
        assert_eq!(list(&mut space, &[4, 6, 6, 8, 10, 12, far]), [6, 10]);
        // A second listing of what has just come, and one that goes back.
        assert_eq!(list(&mut space, &[5, 6, 10, 11]), [5, 11]);
        assert_eq!(list(&mut space, &[12, 4, 7, 5, 7, far + 1, 3]), [7, 3]);
        space.merge();
        assert_eq!(numbers(&space), [3, 4, 5, 6, 7, 8, 10, 11, 12, far, far + 1]);
        space.retain(|number, _| number % 2 == 1);
        assert_eq!(numbers(&space), [3, 5, 7, 11, far + 1]);
        space.retain(|_, _| false);
        assert!(space.is_empty());
    }

    #[test]
    fn what_the_interval_said_is_kept_until_it_ends() {
        let mut space = Space::default();
        let mut cursor = Cursor::default();
        let (page, _) = space.page(&mut cursor, 77, 9);
        assert!(page.list(true) && page.is_observed());
        assert!(!page.list(false) && !page.is_observed());
        page.activate(3);
        page.activate(HIGHEST_LEVEL);
        assert!(page.is_active() && page.is_observed() && page.level() == HIGHEST_LEVEL);
        page.set_sampled(true);
        page.settle();
        assert!(!page.is_listed() && !page.is_active() && page.level() == 0 && page.is_sampled());
        assert_eq!((page.index(), page.marks.class()), (77, 9));
    }

    #[test]
    fn a_page_costs_at_most_forty_bytes() {
        let mut space = Space::default();
        let all: Vec<u64> = (0..1_000_000).collect();
        list(&mut space, &all);
        assert!(space.memory_bytes() <= 40 * all.len(), "{}", space.memory_bytes());
        // A tenth comes new, at every tenth place of a space that held the others.
        let mut sparse = Space::default();
        let most: Vec<u64> = all.iter().copied().filter(|number| number % 10 != 0).collect();
        list(&mut sparse, &most);
        list(&mut sparse, &all);
        sparse.merge();
        assert_eq!(numbers(&sparse), all);
        assert!(
            sparse.memory_bytes() <= 40 * all.len(),
            "{}",
            sparse.memory_bytes()
        );
    }
}
