//! A page trace as heat, by the same fold as a live source.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use tierscope_clock::SECOND_NS;
use tierscope_import::page_trace::PageTraceReader;
use tierscope_import::trace_fold::{MAPPING_GAP_BYTES, TraceFolder, TraceIdentity};
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::page_sample::MAX_SAMPLED_PAGES;
use tierscope_wire::Content;

use super::source::{Gather, HeatSource, Identity};

/// Length of an interval of a trace that does not say.
const DEFAULT_INTERVAL_SECONDS: f64 = 60.0;

/// A trace before it is folded.
pub(crate) struct Trace {
    reader: PageTraceReader,
    interval_ns: i64,
    intervals: i64,
}

impl Trace {
    /// Opens a trace and counts its intervals.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let reader = PageTraceReader::open(path)?;
        let seconds = reader.interval_seconds().unwrap_or(DEFAULT_INTERVAL_SECONDS);
        let mut intervals = 0;
        for interval in reader.intervals() {
            interval?;
            intervals += 1;
        }
        Ok(Self {
            reader,
            interval_ns: (seconds * SECOND_NS as f64) as i64,
            intervals,
        })
    }
}

impl HeatSource for Trace {
    fn kind(&self) -> &'static str {
        "page-trace"
    }

    fn rule(&self) -> &'static str {
        "imported page trace"
    }

    fn intervals(&self) -> i64 {
        self.intervals
    }

    fn duration_ns(&self) -> i64 {
        self.interval_ns * self.intervals
    }

    fn fold(
        &self,
        identity: &Identity,
        last_ns: i64,
        emit: &mut dyn FnMut(Content) -> Result<()>,
    ) -> Result<()> {
        let identity = TraceIdentity {
            service: Arc::clone(&identity.service),
            group: Arc::clone(&identity.group),
            interval_ns: self.interval_ns,
            page_size_bytes: self.reader.page_size_bytes(),
            tier: None,
            epoch_seed: identity.epoch_seed,
            begin_wall_ns: last_ns - self.duration_ns(),
            sampled_pages: MAX_SAMPLED_PAGES,
        };
        let mut folder = TraceFolder::new(&identity, &self.reader.page_ranges(MAPPING_GAP_BYTES)?);
        let mut gather = Gather::new(emit);
        let mut end = IntervalEnd {
            wall_ns: last_ns - self.duration_ns(),
            boottime_ns: None,
        };
        for interval in self.reader.intervals() {
            end.wall_ns += self.interval_ns;
            gather.add(folder.fold(end, &interval?.accesses))?;
        }
        gather.add(folder.finish())?;
        gather.finish()
    }
}
