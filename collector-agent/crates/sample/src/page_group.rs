//! Folds the pages of all processes of one (service, executable) group, as a back end lists them interval by interval.
//!
//! A page is known by what it is, not by where it is: anonymous memory by (process start, address), copies of file
//! pages by (process start, file, offset), file pages by (file, offset), so that the reuse of a process id or an
//! address forges no history and a file page that several processes map is one page. Each page has its own validity: a
//! process that was missed for an interval makes its own pages missing there, not cold. Rules: docs/method/heat.md.

mod classes;
mod finish;
mod keyed_hash;
mod process;
mod reading;
mod rows;
mod sampler;
mod space;
mod tiles;

use std::collections::HashMap;
use std::sync::Arc;

use crate::fold::{Folded, GAP_BLOCK_INTERVALS, IntervalEnd, Measured};
use crate::heat::{Backend, PageKind};
use crate::history::{FrequencyEncoding, HistoryShape};
use crate::page_sample::{PageSample, PageSampleOptions};
use crate::vma_fold::ProcessKey;
use classes::{Classes, kind_of_class};
use finish::Interval;
use keyed_hash::{keyed_hash, words_of};
use process::{KINDS, Process, Visit};
use sampler::{SampleContext, Sampler};
use space::Space;
use tiles::{PageTiles, TileContext};

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
    /// Pages with accesses only, every access there is, and nothing else: a page is resident from its first access on,
    /// and for good. This is what a page trace says.
    Touched,
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

    /// A hash under a secret, of which page ids are made.
    fn keyed_hash(&self, key: [u64; 2]) -> u64 {
        let of_process = self
            .process()
            .map(|process| [u64::from(process.pid), process.start_time_ticks]);
        let mut words = vec![u64::from(of_process.is_some())];
        words.extend(of_process.into_iter().flatten());
        if let Self::Copies(_, file) | Self::File(file) = self {
            words.extend([file.device, file.inode]);
            words.extend(words_of(&file.name));
        }
        keyed_hash(key, &words)
    }
}

#[derive(Debug)]
struct KeyedSpace {
    key: SpaceKey,
    /// [`SpaceKey::keyed_hash`], where pages are sampled.
    hash: u64,
    space: Space,
}

/// Pages of the processes of one (service, executable) group, and the statistics over them.
#[derive(Debug)]
pub struct PageGroup {
    measured: Measured,
    options: PageGroupOptions,
    shape: HistoryShape,
    /// The back end counts what it sees. Others tell active from idle, or grade it.
    counts: bool,
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
    sampler: Option<Sampler>,
    tiles: PageTiles,
    /// Blocks of gaps and page samples that ended in a missed interval.
    pending: Folded,
}

impl PageGroup {
    /// A group without processes.
    pub fn new(measured: Measured, options: PageGroupOptions) -> Self {
        let bits = options.bits_per_interval.clamp(1, MAX_BITS_PER_INTERVAL);
        let sampler = options.page_sample.clone().map(Sampler::new);
        let tiles = PageTiles::new(options.epoch_seed);
        let counts = matches!(
            measured.backend,
            Backend::Pebs | Backend::Ibs | Backend::Spe | Backend::Trace
        );
        Self {
            measured,
            options,
            shape: HistoryShape::new(bits),
            counts,
            processes: HashMap::new(),
            spaces: Vec::new(),
            space_of: HashMap::new(),
            classes: Classes::default(),
            validity: 0,
            intervals_in_block: 0,
            last_wall_ns: None,
            interval: Interval::default(),
            scales: [1.0; KINDS],
            sampler,
            tiles,
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
        if let Some(end) = self.last_wall_ns {
            let samples = self.end_sampled_interval(end, false);
            self.pending.page_samples.extend(samples);
        }
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
        let (mut folded, observed) = self.end_interval(end);
        self.tile_column(end.wall_ns, observed, &mut folded);
        self.forget_the_gone();
        self.interval = Interval::default();
        folded
    }

    /// As [`PageGroup::finish`], for a caller that draws its own tiles.
    pub fn finish_without_tiles(&mut self, end: IntervalEnd) -> Folded {
        let (folded, _) = self.end_interval(end);
        self.forget_the_gone();
        self.interval = Interval::default();
        folded
    }

    /// Folds the interval; also says whether any process was observed in it.
    fn end_interval(&mut self, end: IntervalEnd) -> (Folded, bool) {
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
        folded
            .page_samples
            .extend(self.end_sampled_interval(end.wall_ns, observed));
        (folded, observed)
    }

    /// The unfinished blocks of gaps and of the page sample, at the end of a stream.
    pub fn end_stream(&mut self) -> Folded {
        let mut folded = std::mem::take(&mut self.pending);
        if let Some(end) = self.last_wall_ns
            && self.intervals_in_block > 0
        {
            self.count_open_gaps();
            folded.gaps.extend(self.end_gap_block(end));
        }
        let block = self.sampler.take().and_then(|mut sampler| {
            let block = sampler.end_block(self.sample_context());
            self.sampler = Some(sampler);
            block
        });
        folded.page_samples.extend(block);
        folded
    }

    /// Whether no process is left.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Pages tracked.
    pub fn pages(&self) -> usize {
        self.spaces.iter().map(|keyed| keyed.space.len()).sum()
    }

    /// Kind, and address or file offset, of every page tracked, by process and file. To be called between intervals.
    pub fn resident(&self) -> impl Iterator<Item = (PageKind, u64)> {
        let pages = self.spaces.iter().flat_map(|keyed| keyed.space.pages());
        pages.map(|(number, page)| (kind_of_class(page.marks.class()), number << UNIT_SHIFT))
    }

    /// Whose memory it is.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// Memory that the tracked pages take.
    pub fn memory_bytes(&self) -> usize {
        self.spaces.iter().map(|keyed| keyed.space.memory_bytes()).sum()
    }

    /// Whether addresses are those of samples, so that sub-pages of huge pages are told apart.
    fn sees_subpages(&self) -> bool {
        self.counts && self.measured.backend != Backend::Trace
    }

    fn sample_context(&self) -> SampleContext<'_> {
        SampleContext {
            measured: &self.measured,
            counts: self.counts,
            period_events: self.interval.period.value(),
            duty_ratio: self.interval.duty.value(),
        }
    }

    fn end_sampled_interval(&mut self, end_wall_ns: i64, observed: bool) -> Vec<PageSample> {
        let Some(mut sampler) = self.sampler.take() else {
            return Vec::new();
        };
        let complete = sampler.end_interval(end_wall_ns, observed, self.sample_context());
        self.sampler = Some(sampler);
        complete
    }

    fn tile_column(&mut self, end_wall_ns: i64, observed: bool, folded: &mut Folded) {
        let interval = &self.interval;
        let events_per_sample = interval.period.value().unwrap_or(1.0) / interval.duty.value().unwrap_or(1.0);
        let context = TileContext {
            measured: &self.measured,
            census: self.options.census,
            end_wall_ns,
            touches: self
                .counts
                .then_some((interval.touches.as_slice(), events_per_sample)),
            observed,
            newest_bits: self.shape.highest_level(),
        };
        self.tiles.column(&self.spaces, &self.processes, context, folded);
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
        let hash = self
            .sampler
            .as_ref()
            .map_or(0, |sampler| key.keyed_hash(sampler.key()));
        self.spaces.push(KeyedSpace {
            key,
            hash,
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
