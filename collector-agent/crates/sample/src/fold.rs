//! Folds the pages of a process group, one interval after the other, to rows of heat and blocks of reuse gaps.
//!
//! Definitions: docs/method/heat.md. Cost per interval: one pass over the resident pages, one look-up per touched page.

use std::sync::Arc;

use crate::gap_tally::GapTally;
use crate::gaps::{GapEnd, censored_by_next, closed_gap, end_by_unmap, open_gap};
use crate::heat::{Backend, GAP_BINS, GapRow, Granularity, HeatRow, OVERLAP_LAGS, PageKind};
use crate::history::{History, mask};
use crate::page_sample::PageSample;
use crate::page_table::{MAX_CLASSES, PageTable, Slot};
use crate::page_tally::PageTally;
use crate::tiles::{TileColumn, TileEpoch};

/// Intervals of a block of reuse gaps.
pub const GAP_BLOCK_INTERVALS: u32 = 10;

/// Whose memory is folded, and what measures it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What measures it.
    pub backend: Backend,
    /// At which granularity.
    pub granularity: Granularity,
    /// Nominal length of an interval.
    pub interval_ns: i64,
    /// `namespace/name`.
    pub service: Arc<str>,
    /// Executable.
    pub group: Arc<str>,
}

/// The end of an interval on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntervalEnd {
    /// `CLOCK_REALTIME`, nanoseconds since the Unix epoch.
    pub wall_ns: i64,
    /// `CLOCK_BOOTTIME`; `None` in a recording without it.
    pub boottime_ns: Option<i64>,
}

/// What pages have in common that share a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageClass {
    /// Page kind.
    pub kind: PageKind,
    /// 4096, 2 MiB or 1 GiB.
    pub page_size_bytes: u32,
    /// Tier label, `None` where unknown.
    pub tier: Option<Arc<str>>,
}

impl PageClass {
    /// Whether a page can go over to `other` and stay the same page: it then differs in its tier alone.
    fn is_same_mapping(&self, other: &Self) -> bool {
        (self.kind, self.page_size_bytes) == (other.kind, other.page_size_bytes)
    }
}

/// A [`PageClass`] of one [`PageFolder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassId(u16);

/// Activity of one page in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// Tells the page from all that are resident at the same time.
    pub key: u64,
    /// Its class. A key that comes back with another kind or page size is another page.
    pub class: ClassId,
    /// Loads seen.
    pub loads: u32,
    /// Stores seen.
    pub stores: u32,
}

/// What happened in one interval, in this order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changes<'a> {
    /// Pages unmapped; their keys may be used again by `appeared` and `touched`.
    pub freed: &'a [u64],
    /// Pages that became resident. Those in `touched` need not be listed.
    pub appeared: &'a [(u64, ClassId)],
    /// Pages active in the interval and resident at its end, in any order; `None` when activity was not observed.
    pub touched: Option<&'a [Touch]>,
}

/// Everything that one interval of one source gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Folded {
    /// One row per class with resident pages.
    pub rows: Vec<HeatRow>,
    /// Non-empty at the end of each block of [`GAP_BLOCK_INTERVALS`].
    pub gaps: Vec<GapRow>,
    /// New row lists, each before its first column.
    pub tile_epochs: Vec<TileEpoch>,
    /// One column per process group with tiles.
    pub tile_columns: Vec<TileColumn>,
    /// Non-empty at the end of each block of sampled pages.
    pub page_samples: Vec<PageSample>,
}

#[derive(Debug)]
struct Class {
    page: PageClass,
    tally: PageTally,
    gaps: GapTally,
}

/// Histories of the pages of one process group, and the statistics over them.
#[derive(Debug)]
pub struct PageFolder {
    measured: Measured,
    classes: Vec<Class>,
    pages: PageTable,
    /// Validity of the whole source, over all intervals folded.
    validity: u64,
    intervals_in_block: u32,
}

impl PageFolder {
    /// A folder without pages.
    pub fn new(measured: Measured) -> Self {
        Self {
            measured,
            classes: Vec::new(),
            pages: PageTable::default(),
            validity: 0,
            intervals_in_block: 0,
        }
    }

    /// The id of `page`, the same for equal classes.
    ///
    /// # Panics
    /// With more than 4,096 classes; three kinds, three page sizes and the tiers of a host make a few dozen.
    pub fn class(&mut self, page: &PageClass) -> ClassId {
        let known = self.classes.iter().position(|class| class.page == *page);
        let index = known.unwrap_or_else(|| {
            assert!(
                self.classes.len() < MAX_CLASSES,
                "more than {MAX_CLASSES} page classes"
            );
            let (tally, gaps) = (PageTally::default(), GapTally::default());
            self.classes.push(Class {
                page: page.clone(),
                tally,
                gaps,
            });
            self.classes.len() - 1
        });
        ClassId(index as u16)
    }

    /// Whose memory it is.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// Resident pages.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Key and class of each resident page, in no order.
    pub fn resident(&self) -> impl Iterator<Item = (u64, &PageClass)> {
        let classes = &self.classes;
        self.pages
            .keys()
            .iter()
            .zip(&self.pages.marks)
            .map(|(&key, marks)| (key, &classes[marks.class()].page))
    }

    /// The history of a resident page.
    pub fn history(&self, key: u64) -> Option<History> {
        self.pages.find(key).map(|slot| self.pages.history[slot])
    }

    /// Memory that the page table takes.
    pub fn memory_bytes(&self) -> usize {
        self.pages.memory_bytes()
    }

    /// Folds the next interval.
    pub fn fold(&mut self, end: IntervalEnd, changes: &Changes) -> Folded {
        let observed = changes.touched.is_some();
        for &key in changes.freed {
            if let Some(slot) = self.pages.find(key) {
                self.unmap(slot, self.pages.history[slot], observed);
            }
        }
        self.start_interval(observed);
        for &(key, class) in changes.appeared {
            self.slot_of(key, class);
        }
        for touch in changes.touched.unwrap_or_default() {
            self.touch(touch);
        }
        let rows = self.rows(end);
        self.intervals_in_block += 1;
        let block_ends = self.intervals_in_block == GAP_BLOCK_INTERVALS;
        let gaps = if block_ends {
            self.end_gap_block(end)
        } else {
            Vec::new()
        };
        Folded {
            rows,
            gaps,
            ..Folded::default()
        }
    }

    /// Ends the block of gaps early, at the end of a stream. Empty when nothing was folded since the last block.
    pub fn end_gap_block(&mut self, end: IntervalEnd) -> Vec<GapRow> {
        let intervals = std::mem::take(&mut self.intervals_in_block);
        if intervals == 0 {
            return Vec::new();
        }
        let mut open = vec![[0; GAP_BINS]; self.classes.len()];
        for (history, marks) in self.pages.history.iter().zip(&self.pages.marks) {
            if let Some(gap) = open_gap(*history) {
                open[marks.class()][gap as usize - 1] += 1;
            }
        }
        let mut rows = Vec::new();
        for (class, open) in self.classes.iter_mut().zip(&open) {
            let ended = std::mem::take(&mut class.gaps);
            ended.add_to(
                &mut rows,
                &self.measured,
                (end.wall_ns, intervals),
                &class.page,
                open,
            );
        }
        rows
    }

    /// Shifts all histories; gaps that the shift puts out of sight are censored.
    fn start_interval(&mut self, observed: bool) {
        for (history, marks) in self.pages.history.iter().zip(&self.pages.marks) {
            if let Some(gap) = censored_by_next(*history, observed) {
                self.classes[marks.class()].gaps.end(GapEnd::Censored(gap));
            }
        }
        self.pages.shift(observed);
        self.validity = (self.validity << 1) | u64::from(observed);
    }

    /// Removes a page in an interval; `before` is its history without that interval.
    fn unmap(&mut self, slot: Slot, before: History, observed: bool) {
        let class = self.pages.marks[slot].class();
        if let Some(end) = end_by_unmap(before, observed) {
            self.classes[class].gaps.end(end);
        }
        self.pages.remove(slot);
    }

    /// The slot of a page, newly made where the key is unknown or now belongs to a page of another kind or size.
    fn slot_of(&mut self, key: u64, class: ClassId) -> Slot {
        if let Some(slot) = self.pages.find(key) {
            let (old, new) = (self.pages.marks[slot].class(), usize::from(class.0));
            if old == new {
                return slot;
            }
            if self.classes[old].page.is_same_mapping(&self.classes[new].page) {
                self.pages.marks[slot].set_class(class.0);
                return slot;
            }
            self.remap(slot);
        }
        let history = History {
            activity: 0,
            validity: self.validity & 1,
        };
        self.pages.insert(key, class.0, history)
    }

    /// Removes a page after the histories were shifted to the interval of its unmap.
    fn remap(&mut self, slot: Slot) {
        let History { activity, validity } = self.pages.history[slot];
        // A missing interval has censored the gap already, and a touch in this interval has closed it.
        if self.validity & 1 != 0 && activity & 1 == 0 {
            let before = History {
                activity: activity >> 1,
                validity: validity >> 1,
            };
            self.unmap(slot, before, true);
        } else {
            self.pages.remove(slot);
        }
    }

    fn touch(&mut self, touch: &Touch) {
        let slot = self.slot_of(touch.key, touch.class);
        let class = &mut self.classes[usize::from(touch.class.0)];
        let history = &mut self.pages.history[slot];
        if history.activity & 1 == 0 {
            history.touch();
            if let Some(gap) = closed_gap(*history) {
                class.gaps.end(GapEnd::Closed(gap));
            }
        }
        self.pages.marks[slot].count(u64::from(touch.loads));
        class.tally.samples.loads += u64::from(touch.loads);
        class.tally.samples.stores += u64::from(touch.stores);
    }

    fn rows(&mut self, end: IntervalEnd) -> Vec<HeatRow> {
        let lags = OVERLAP_LAGS.map(|lag| {
            let both = mask(2) | mask(2) << lag;
            self.validity & both == both
        });
        for (history, marks) in self.pages.history.iter().zip(&self.pages.marks) {
            self.classes[marks.class()]
                .tally
                .add(*history, *marks, self.validity);
        }
        let (measured, validity) = (&self.measured, self.validity);
        let taken = self
            .classes
            .iter_mut()
            .map(|class| (&class.page, std::mem::take(&mut class.tally)));
        taken
            .filter(|(_, tally)| tally.pages > 0)
            .map(|(page, tally)| tally.row(measured, end, page, validity, lags))
            .collect()
    }
}
