//! Folds a page trace as a live source is folded. A trace says nothing about pages before their first access, so a
//! page counts as resident from that access on, and for good.

use std::sync::Arc;

use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, GapRow, Granularity, HeatRow, PageKind};
use tierscope_sample::page_group::{
    Census, PageGroup, PageGroupOptions, PageMapping, PageSize, PageState, TierIndex,
};
use tierscope_sample::page_sample::PageSampleOptions;
use tierscope_sample::vma_fold::ProcessKey;

pub use crate::trace_pages::MAPPING_GAP_BYTES;
use crate::trace_pages::{Access, PageRange, UNIT_BYTES};
use crate::trace_tiles::TraceTiles;

const KINDS: [PageKind; 3] = [PageKind::Anon, PageKind::File, PageKind::Tmpfs];
const PROCESS: ProcessKey = ProcessKey {
    pid: 0,
    start_time_ticks: 0,
};
/// Recordings have no secret of their own: one trace has one sample of pages, wherever and whenever it is folded.
const SAMPLE_KEY: [u64; 2] = [1, 2];
/// Highest page number that has an address.
pub(crate) const LAST_PAGE: u64 = u64::MAX / UNIT_BYTES;

/// What a trace stands for when it is folded.
#[derive(Debug, Clone)]
pub struct TraceIdentity {
    /// `namespace/name`.
    pub service: Arc<str>,
    /// Executable.
    pub group: Arc<str>,
    /// Nominal length of an interval.
    pub interval_ns: i64,
    /// Page size of the trace.
    pub page_size_bytes: u32,
    /// Tier label of all pages, `None` where unknown.
    pub tier: Option<Arc<str>>,
    /// Random; ids of tile epochs come from it.
    pub epoch_seed: u64,
    /// Begin of the first interval: hours of its sampled pages are counted from here, so that they do not depend on when
    /// a trace is folded.
    pub begin_wall_ns: i64,
    /// Most pages of the sample of pages; 0 for none.
    pub sampled_pages: usize,
}

/// Folds the intervals of one trace, or of one trace again and again: page state goes on from interval to interval.
#[derive(Debug)]
pub struct TraceFolder {
    group: PageGroup,
    page_size_bytes: u32,
    tier: Option<TierIndex>,
    tiles: TraceTiles,
    /// Pages of the running interval, by kind.
    states: [Vec<PageState>; 3],
}

impl TraceFolder {
    /// A folder without pages. `expected` are the ranges of the trace ([`crate::page_trace::PageTraceReader::page_ranges`]
    /// with [`MAPPING_GAP_BYTES`]), so that its tiles keep their rows; without them rows follow the pages seen.
    pub fn new(identity: &TraceIdentity, expected: &[PageRange]) -> Self {
        let measured = Measured {
            backend: Backend::Trace,
            granularity: Granularity::Page,
            interval_ns: identity.interval_ns,
            service: Arc::clone(&identity.service),
            group: Arc::clone(&identity.group),
        };
        let options = PageGroupOptions {
            census: Census::Touched,
            tiers: identity.tier.iter().cloned().collect(),
            page_sample: (identity.sampled_pages > 0).then_some(PageSampleOptions {
                key: SAMPLE_KEY,
                sampled_ratio: 1.0,
                max_pages: identity.sampled_pages,
                first_block_ns: None,
                block_origin_ns: identity.begin_wall_ns,
            }),
            ..PageGroupOptions::default()
        };
        Self {
            group: PageGroup::new(measured, options),
            page_size_bytes: identity.page_size_bytes,
            tier: identity.tier.is_some().then_some(TierIndex(0)),
            tiles: TraceTiles::new(expected, identity.page_size_bytes, identity.epoch_seed),
            states: Default::default(),
        }
    }

    /// Folds the next interval of the trace.
    pub fn fold(&mut self, end: IntervalEnd, accesses: &[Access]) -> Folded {
        for access in accesses {
            self.states[access.kind as usize].push(PageState {
                address: (access.page & LAST_PAGE) * UNIT_BYTES,
                size: PageSize::Small4K,
                anon: access.kind == PageKind::Anon,
                tier: self.tier,
                active: true,
                loads: access.loads,
                stores: access.stores,
            });
        }
        let mut reading = self.group.process(PROCESS, true);
        for (kind, states) in KINDS.into_iter().zip(&mut self.states) {
            states.sort_unstable_by_key(|state| state.address);
            reading.mapping(&mapping_of(kind), states);
            states.clear();
        }
        let mut folded = self.end_interval(end);
        self.tiles
            .column(&self.group, end.wall_ns, Some(accesses), &mut folded);
        folded
    }

    /// Folds an interval that was not observed.
    pub fn skip(&mut self, end: IntervalEnd) -> Folded {
        self.group.process(PROCESS, false);
        let mut folded = self.end_interval(end);
        self.tiles.column(&self.group, end.wall_ns, None, &mut folded);
        folded
    }

    /// The unfinished blocks of gaps and of sampled pages at the end of the stream; empty when one has just ended.
    pub fn finish(&mut self) -> Folded {
        let mut folded = self.group.end_stream();
        self.scale_folded(&mut folded);
        folded
    }

    /// Memory that the tracked pages take.
    pub fn memory_bytes(&self) -> usize {
        self.group.memory_bytes()
    }

    fn end_interval(&mut self, end: IntervalEnd) -> Folded {
        let mut folded = self.group.finish_without_tiles(end);
        self.scale_folded(&mut folded);
        folded
    }

    fn scale_folded(&self, folded: &mut Folded) {
        for row in &mut folded.rows {
            self.scale_row(row);
        }
        for row in &mut folded.gaps {
            self.scale_gaps(row);
        }
        for page in folded
            .page_samples
            .iter_mut()
            .flat_map(|sample| &mut sample.pages)
        {
            page.page_size_bytes = self.page_size_bytes;
        }
    }

    /// Bytes of the trace's pages that one byte of the fold stands for.
    fn scale(&self) -> i64 {
        i64::from(self.page_size_bytes) / UNIT_BYTES.cast_signed()
    }

    fn scale_row(&self, row: &mut HeatRow) {
        row.page_size_bytes = self.page_size_bytes;
        let overlaps = row.hot_overlap_bytes.iter_mut().flatten();
        let overlaps = overlaps.flat_map(|(both, either)| [both, either]);
        let histograms = row.age_bytes.iter_mut().chain(&mut row.never_bytes);
        let histograms = histograms.chain(&mut row.active_count_bytes);
        let windows = row.active_lo_bytes.iter_mut().chain(&mut row.active_hi_bytes);
        for bytes in histograms
            .chain(windows)
            .chain(overlaps)
            .chain([&mut row.resident_bytes])
        {
            *bytes *= self.scale();
        }
    }

    fn scale_gaps(&self, row: &mut GapRow) {
        let ended = row.closed_bytes.iter_mut().chain(&mut row.freed_bytes);
        for bytes in ended.chain(&mut row.open_bytes).chain(&mut row.censored_bytes) {
            *bytes *= self.scale();
        }
    }
}

/// All addresses there are, as memory of one kind; page numbers are kept as they are.
fn mapping_of(kind: PageKind) -> PageMapping {
    PageMapping {
        start: 0,
        end: u64::MAX,
        kind,
        name: Arc::from(""),
        device: 0,
        inode: kind as u64,
        offset_bytes: 0,
    }
}
