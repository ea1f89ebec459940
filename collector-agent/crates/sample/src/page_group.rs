//! Folds the pages of all processes of one (service, executable) group, as a back end lists them interval by interval.
//!
//! A page is known by what it is, not by where it is: anonymous memory by (process start, address), copies of file
//! pages by (process start, file, offset), file pages by (file, offset), so that the reuse of a process id or an
//! address forges no history and a file page that several processes map is one page. Each page has its own validity: a
//! process that was missed for an interval makes its own pages missing there, not cold. Rules: docs/method/heat.md.

mod classes;
mod finish;
mod process;
mod rows;
mod space;

use std::collections::HashMap;
use std::sync::Arc;

use crate::fold::{Folded, GAP_BLOCK_INTERVALS, IntervalEnd, Measured};
use crate::gaps::end_by_unmap;
use crate::heat::{Backend, PageKind};
use crate::history::{FrequencyEncoding, HistoryShape};
use crate::page_sample::PageSampleOptions;
use crate::vma_fold::ProcessKey;
use classes::{Classes, class_of, is_same_mapping};
use finish::Interval;
use process::{KINDS, Process, Visit};
use space::{Cursor, HIGHEST_LEVEL, Space};

/// Pages of 4 KiB are the unit in which places are counted.
const UNIT_SHIFT: u32 = 12;
/// Most bits per interval of a [`PageGroup`]: the history is then 8 intervals.
pub const MAX_BITS_PER_INTERVAL: u8 = 8;

/// A mapping of a process, or a stretch of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMapping {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// Page kind of what is mapped.
    pub kind: PageKind,
    /// Name as it may leave the host; "" for unnamed memory.
    pub name: Arc<str>,
    /// Device number of the file, 0 without one.
    pub device: u64,
    /// Inode of the file, 0 without one: such memory belongs to its process alone.
    pub inode: u64,
    /// Offset of `start` in the file; 0 for memory without one.
    pub offset_bytes: u64,
}

/// Index into [`PageGroupOptions::tiers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TierIndex(pub u8);

/// The size of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PageSize {
    /// 4 KiB.
    Small4K,
    /// 2 MiB.
    Huge2M,
    /// 1 GiB.
    Giant1G,
}

impl PageSize {
    /// Its bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Small4K => 1 << 12,
            Self::Huge2M => 1 << 21,
            Self::Giant1G => 1 << 30,
        }
    }
}

/// What a back end says of one page in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageState {
    /// An address in the page. A back end that samples addresses gives those; several in one page are summed.
    pub address: u64,
    /// Its size.
    pub size: PageSize,
    /// Not a page of the file (pagemap bit 61 clear): a page of anonymous memory, or the private copy of a file page.
    pub anon: bool,
    /// Where it is, `None` where unknown.
    pub tier: Option<TierIndex>,
    /// Active in the interval. Pages with samples are.
    pub active: bool,
    /// Loads seen; for a back end that grades activity, the grade.
    pub loads: u32,
    /// Stores seen.
    pub stores: u32,
}

/// Which pages a back end lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Census {
    /// Every resident page, each interval. One that is not listed is freed.
    #[default]
    Full,
    /// Pages with samples only. The rest of the resident bytes was never seen; pages that were idle for the whole
    /// history are forgotten.
    Seen,
    /// A random panel of pages, each interval; rows are scaled up to the resident bytes of their kind. A page that is
    /// not listed has left the panel.
    Sample,
}

/// How a group is folded.
#[derive(Debug, Clone, PartialEq)]
pub struct PageGroupOptions {
    /// Random; ids of tile epochs come from it.
    pub epoch_seed: u64,
    /// Labels that [`TierIndex`] points to.
    pub tiers: Vec<Arc<str>>,
    /// Which pages are listed.
    pub census: Census,
    /// Bits of history that one interval takes, 1..=[`MAX_BITS_PER_INTERVAL`]; values outside are brought inside.
    pub bits_per_interval: u8,
    /// What the level of an interval stands for, with more than one bit.
    pub frequency: FrequencyEncoding,
    /// The page sample to emit; `None` for none.
    pub page_sample: Option<PageSampleOptions>,
}

impl Default for PageGroupOptions {
    fn default() -> Self {
        Self {
            epoch_seed: 0,
            tiers: Vec::new(),
            census: Census::Full,
            bits_per_interval: 1,
            frequency: FrequencyEncoding::Count,
            page_sample: None,
        }
    }
}

/// What a page belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum SpaceKey {
    /// Anonymous memory of a process, by address.
    Anon(ProcessKey),
    /// Private copies of file pages, by offset in the file.
    Copies(ProcessKey, FileKey),
    /// A file, by offset.
    File(FileKey),
}

/// A file for good, as far as the kernel's list of mappings tells.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct FileKey {
    device: u64,
    inode: u64,
    name: Arc<str>,
}

impl SpaceKey {
    /// The process that alone has these pages.
    fn process(&self) -> Option<ProcessKey> {
        match self {
            Self::Anon(process) | Self::Copies(process, _) => Some(*process),
            Self::File(_) => None,
        }
    }
}

#[derive(Debug)]
struct KeyedSpace {
    key: SpaceKey,
    space: Space,
}

/// Pages of the processes of one (service, executable) group, and the statistics over them.
#[derive(Debug)]
pub struct PageGroup {
    measured: Measured,
    options: PageGroupOptions,
    shape: HistoryShape,
    processes: HashMap<ProcessKey, Process>,
    spaces: Vec<KeyedSpace>,
    space_of: HashMap<SpaceKey, usize>,
    classes: Classes,
    /// Bit 0: at least one process was observed in the newest interval.
    validity: u64,
    intervals_in_block: u32,
    /// End of the newest interval; nominal where it was missed.
    last_wall_ns: Option<i64>,
    interval: Interval,
    /// By kind: resident bytes that one byte of the sample stands for.
    scales: [f64; KINDS],
    /// Blocks of gaps that ended in a missed interval.
    pending: Folded,
}

impl PageGroup {
    /// A group without processes.
    pub fn new(measured: Measured, options: PageGroupOptions) -> Self {
        let bits = options.bits_per_interval.clamp(1, MAX_BITS_PER_INTERVAL);
        Self {
            measured,
            options,
            shape: HistoryShape::new(bits),
            processes: HashMap::new(),
            spaces: Vec::new(),
            space_of: HashMap::new(),
            classes: Classes::default(),
            validity: 0,
            intervals_in_block: 0,
            last_wall_ns: None,
            interval: Interval::default(),
            scales: [1.0; KINDS],
            pending: Folded::default(),
        }
    }

    /// Begins the reading of a process for the interval that ends with the next [`PageGroup::finish`]. `observed` says
    /// whether the activity of the whole interval is known; where it is not (a first visit, a late one), activity and
    /// samples are left out and the pages of the process are missing for this interval. With `observed` false and no
    /// mapping given, its pages stay as they are: it could not be listed.
    pub fn process(&mut self, process: ProcessKey, observed: bool) -> ProcessReading<'_> {
        let visit = &mut self.processes.entry(process).or_default().visit;
        let before = visit.get_or_insert(Visit {
            observed,
            listed: false,
        });
        before.observed &= observed;
        ProcessReading {
            group: self,
            process,
            observed,
        }
    }

    /// Notes that an interval passes unobserved for all. What was read for it is dropped, and it gives no rows: what
    /// was resident in it is unknown.
    pub fn miss(&mut self) {
        self.merge_spaces();
        self.miss_interval();
        self.validity = self.shape_window(self.validity << 1);
        self.interval = Interval::default();
        self.last_wall_ns = self.last_wall_ns.map(|end| end + self.measured.interval_ns);
        self.intervals_in_block += 1;
        if let Some(end) = self.last_wall_ns
            && self.intervals_in_block >= GAP_BLOCK_INTERVALS
        {
            self.count_open_gaps();
            let gaps = self.end_gap_block(end);
            self.pending.gaps.extend(gaps);
        }
    }

    /// Ends the interval. Processes that were not read in it are gone, and their memory with them.
    pub fn finish(&mut self, end: IntervalEnd) -> Folded {
        self.merge_spaces();
        let observed = self
            .processes
            .values()
            .any(|process| process.visit.is_some_and(|visit| visit.observed));
        self.validity = self.shape_window(self.validity << 1 | u64::from(observed));
        self.last_wall_ns = Some(end.wall_ns);
        self.intervals_in_block += 1;
        let block_ends = self.intervals_in_block >= GAP_BLOCK_INTERVALS;
        self.fold_interval(observed, block_ends);
        let mut folded = std::mem::take(&mut self.pending);
        folded.rows = self.rows(end);
        if block_ends {
            let gaps = self.end_gap_block(end.wall_ns);
            folded.gaps.extend(gaps);
        }
        self.forget_the_gone();
        self.interval = Interval::default();
        folded
    }

    /// Whether no process is left.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Pages tracked.
    pub fn pages(&self) -> usize {
        self.spaces.iter().map(|keyed| keyed.space.pages().count()).sum()
    }

    /// Memory that the tracked pages take.
    pub fn memory_bytes(&self) -> usize {
        self.spaces.iter().map(|keyed| keyed.space.memory_bytes()).sum()
    }

    /// Whether the back end counts what it sees. Others tell active from idle, or grade it.
    fn counts(&self) -> bool {
        use Backend::{Ibs, Pebs, Spe, Trace};
        matches!(self.measured.backend, Pebs | Ibs | Spe | Trace)
    }

    /// The intervals of a bitmap of one bit each that the history reaches back to.
    fn shape_window(&self, bits: u64) -> u64 {
        bits & crate::history::mask(self.shape.intervals())
    }

    fn merge_spaces(&mut self) {
        for keyed in &mut self.spaces {
            keyed.space.merge();
        }
    }

    /// The position of a space, made where there is none.
    fn space_at(&mut self, key: SpaceKey) -> usize {
        if let Some(&at) = self.space_of.get(&key) {
            return at;
        }
        let at = self.spaces.len();
        self.space_of.insert(key.clone(), at);
        self.spaces.push(KeyedSpace {
            key,
            space: Space::default(),
        });
        at
    }
}

/// The reading of one process for the running interval.
#[derive(Debug)]
pub struct ProcessReading<'a> {
    group: &'a mut PageGroup,
    process: ProcessKey,
    observed: bool,
}

/// Where the pages of a mapping are kept, and how far its listing has got.
#[derive(Default)]
struct Places {
    file: Option<(usize, Cursor)>,
    own: Option<(usize, Cursor)>,
}

impl ProcessReading<'_> {
    /// Takes pages of a mapping, in order of address. A mapping may come in several consecutive chunks.
    pub fn mapping(&mut self, mapping: &PageMapping, pages: &[PageState]) {
        if let Some(process) = self.group.processes.get_mut(&self.process) {
            process.list(mapping);
        }
        let mut places = Places::default();
        let inside = pages
            .iter()
            .filter(|page| (mapping.start..mapping.end).contains(&page.address));
        for page in inside {
            self.page(mapping, &mut places, page);
        }
    }

    /// Adds resident bytes of the process, for back ends that do not list every page.
    pub fn resident(&mut self, kind: PageKind, bytes: i64) {
        if let Some(process) = self.group.processes.get_mut(&self.process) {
            process.resident_bytes[kind as usize] += bytes.max(0);
        }
    }

    /// Says which share of time and cores was observed, for back ends that sample.
    pub fn duty(&mut self, ratio: f64) {
        self.group.interval.duty.add(ratio);
    }

    /// Says how many events one sample stands for.
    pub fn period(&mut self, events: f64) {
        self.group.interval.period.add(events);
    }

    #[inline]
    fn page(&mut self, mapping: &PageMapping, places: &mut Places, page: &PageState) {
        let kind = if page.anon { PageKind::Anon } else { mapping.kind };
        let class = class_of(kind, page.size, page.tier);
        let in_file = mapping.inode != 0;
        let place = if in_file && !page.anon {
            &mut places.file
        } else {
            &mut places.own
        };
        let group = &mut *self.group;
        let (space, cursor) = place.get_or_insert_with(|| {
            let key = key_of(self.process, mapping, page.anon);
            (group.space_at(key), Cursor::default())
        });
        let offset = if in_file {
            mapping.offset_bytes + (page.address - mapping.start)
        } else {
            page.address
        };
        let number = (offset & !(u64::from(page.size.bytes()) - 1)) >> UNIT_SHIFT;
        let (tracked, _) = group.spaces[*space].space.page(cursor, number, class);
        let old = tracked.marks.class() as u16;
        if old != class && !tracked.is_listed() {
            if is_same_mapping(old, class) {
                tracked.marks.set_class(class);
            } else {
                let end = end_by_unmap(group.shape.flatten(tracked.history), self.observed);
                tracked.renew(class);
                group.classes.end_gap(usize::from(old), &group.options.tiers, end);
            }
        }
        if tracked.list(self.observed) {
            tracked.marks.shift();
        }
        if self.observed && (page.active || page.loads | page.stores != 0) {
            let samples = u64::from(page.loads.max(page.stores).max(1));
            let level = group.shape.level(samples, group.options.frequency);
            tracked.activate((level as u32).min(HIGHEST_LEVEL));
            let class = tracked.marks.class();
            if page.loads | page.stores != 0 {
                tracked.marks.count(u64::from(page.loads));
                let tally = &mut group.classes.at(class, &group.options.tiers).tally;
                tally.samples.loads += u64::from(page.loads);
                tally.samples.stores += u64::from(page.stores);
            }
        }
    }
}

/// The space that a page of a mapping belongs to.
fn key_of(process: ProcessKey, mapping: &PageMapping, anon: bool) -> SpaceKey {
    if mapping.inode == 0 {
        return SpaceKey::Anon(process);
    }
    let file = FileKey {
        device: mapping.device,
        inode: mapping.inode,
        name: Arc::clone(&mapping.name),
    };
    if anon {
        SpaceKey::Copies(process, file)
    } else {
        SpaceKey::File(file)
    }
}
