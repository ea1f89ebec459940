//! Folds a page trace as a live source is folded. A trace says nothing about pages before their first access, so a
//! page counts as resident from that access on, and for good.

use std::sync::Arc;

use tierscope_sample::fold::{Changes, ClassId, Folded, IntervalEnd, Measured, PageClass, PageFolder, Touch};
use tierscope_sample::heat::{Backend, GapRow, Granularity, PageKind};
use tierscope_sample::history::History;

use crate::page_trace::{Access, PageRange};
use crate::trace_tiles::TraceTiles;

/// Page-free gaps longer than this part two mappings of a trace.
pub const MAPPING_GAP_BYTES: u64 = 2 << 20;

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
}

/// Folds the intervals of one trace, or of one trace again and again: page state goes on from interval to interval.
#[derive(Debug)]
pub struct TraceFolder {
    pages: PageFolder,
    /// Classes of anon, file and tmpfs pages.
    classes: [ClassId; 3],
    tiles: TraceTiles,
    touched: Vec<Touch>,
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
        let mut pages = PageFolder::new(measured);
        let classes = [PageKind::Anon, PageKind::File, PageKind::Tmpfs].map(|kind| {
            let (page_size_bytes, tier) = (identity.page_size_bytes, identity.tier.clone());
            pages.class(&PageClass {
                kind,
                page_size_bytes,
                tier,
            })
        });
        let tiles = TraceTiles::new(expected, identity.page_size_bytes, identity.epoch_seed);
        Self {
            pages,
            classes,
            tiles,
            touched: Vec::new(),
        }
    }

    /// Folds the next interval of the trace.
    pub fn fold(&mut self, end: IntervalEnd, accesses: &[Access]) -> Folded {
        self.touched.clear();
        self.touched.extend(accesses.iter().map(|access| Touch {
            key: access.page,
            class: self.classes[access.kind as usize],
            loads: access.loads,
            stores: access.stores,
        }));
        let touched = Some(self.touched.as_slice());
        let mut folded = self.pages.fold(
            end,
            &Changes {
                touched,
                ..Changes::default()
            },
        );
        self.tiles
            .column(&self.pages, end.wall_ns, Some(accesses), &mut folded);
        folded
    }

    /// Folds an interval that was not observed.
    pub fn skip(&mut self, end: IntervalEnd) -> Folded {
        let mut folded = self.pages.fold(end, &Changes::default());
        self.tiles.column(&self.pages, end.wall_ns, None, &mut folded);
        folded
    }

    /// The unfinished block of gaps at the end of the stream; empty when a block has just ended.
    pub fn finish(&mut self, end: IntervalEnd) -> Vec<GapRow> {
        self.pages.end_gap_block(end)
    }

    /// The history of a page, `None` before its first access.
    pub fn history(&self, page: u64) -> Option<History> {
        self.pages.history(page)
    }

    /// Memory that the page table takes.
    pub fn memory_bytes(&self) -> usize {
        self.pages.memory_bytes()
    }
}
