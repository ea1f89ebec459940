//! Folds the pages of all processes of one (service, executable) group, as a back end lists them interval by interval.
//!
//! A page is known by what it is, not by where it is: anonymous memory by (process start, address), copies of file
//! pages by (process start, file, offset), file pages by (file, offset), so that the reuse of a process id or an
//! address forges no history and a file page that several processes map is one page. Each page has its own validity: a
//! process that was missed for an interval makes its own pages missing there, not cold. Rules: docs/method/heat.md.

mod classes;
mod finish;
mod interval;
mod keyed_hash;
mod keyed_space;
mod listed;
mod process;
mod reading;
mod rows;
mod sampler;
mod space;
mod tiles;
mod unseen;

use std::collections::HashMap;
use std::sync::Arc;

use crate::fold::{Folded, GAP_BLOCK_INTERVALS, IntervalEnd, Measured};
use crate::heat::{Backend, PageKind};
use crate::history::{FrequencyEncoding, HistoryShape};
use crate::page_sample::{PageSample, PageSampleOptions};
use crate::vma::ProcessKey;
use classes::{Classes, kind_of_class};
use interval::Interval;
use keyed_space::{KeyedSpace, SpaceKey};
use listed::UNIT_SHIFT;
pub use listed::{Census, PageMapping, PageSize, PageState, TierIndex};
use process::{KINDS, Process, Visit};
use sampler::{SampleContext, Sampler};
use space::Space;
use tiles::{PageTiles, TileContext};
use unseen::Newest;

/// Most bits per interval of a [`PageGroup`]: the history is then 8 intervals.
pub const MAX_BITS_PER_INTERVAL: u8 = 8;

/// How a group is folded.
#[derive(Debug, Clone, PartialEq)]
pub struct PageGroupOptions {
    /// Random; ids of tile epochs come from it.
    pub epoch_seed: u64,
    /// Labels that [`TierIndex`] points to.
    pub tiers: Vec<Arc<str>>,
    /// The base page of the host: the size of memory whose pages were never seen.
    pub base_page: PageSize,
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
            base_page: PageSize::Small4K,
            census: Census::Full,
            bits_per_interval: 1,
            frequency: FrequencyEncoding::Count,
            page_sample: None,
        }
    }
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
    /// With which probability a sampler took an event, interval by interval; 0 where it did not say.
    chances: Newest<f64>,
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
            chances: Newest::of(1.0),
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
        // What passes before the first interval of the stream belongs to no block.
        let Some(before) = self.last_wall_ns else { return };
        let end = before + self.measured.interval_ns;
        self.last_wall_ns = Some(end);
        self.intervals_in_block += 1;
        let samples = self.end_sampled_interval(end, false);
        self.pending.page_samples.extend(samples);
        if self.intervals_in_block >= GAP_BLOCK_INTERVALS {
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

    /// Changes how many pages its page sample follows at most.
    pub fn set_max_sampled_pages(&mut self, max_pages: usize) {
        if let Some(sampler) = &mut self.sampler {
            sampler.set_max_pages(max_pages);
        }
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

    /// Whether the back end samples events at addresses: sub-pages of huge pages are told apart, and pages are missed.
    fn samples_events(&self) -> bool {
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
