//! A page trace as heat, by the same fold as a live source.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use tierscope_import::page_trace::PageTraceReader;
use tierscope_import::trace_fold::{MAPPING_GAP_BYTES, TraceFolder, TraceIdentity};
use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_wire::Content;

use crate::clocks::SECOND_NS;

/// Length of an interval of a trace that does not say.
const DEFAULT_INTERVAL_SECONDS: f64 = 60.0;
/// Intervals that are sent together, where the size limits allow.
const INTERVALS_PER_CONTENT: usize = 120;

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

    /// Time from the first interval's begin to the last one's end.
    pub(crate) fn duration_ns(&self) -> i64 {
        self.interval_ns * self.intervals
    }

    /// Number of intervals.
    pub(crate) fn intervals(&self) -> i64 {
        self.intervals
    }

    /// Folds the trace so that it ends at `last_ns`, and hands over what it gives, piece by piece.
    pub(crate) fn fold(
        &self,
        identity: &Identity,
        last_ns: i64,
        mut emit: impl FnMut(Content) -> Result<()>,
    ) -> Result<()> {
        let identity = TraceIdentity {
            service: Arc::clone(&identity.service),
            group: Arc::clone(&identity.group),
            interval_ns: self.interval_ns,
            page_size_bytes: self.reader.page_size_bytes(),
            tier: None,
            epoch_seed: identity.epoch_seed,
        };
        let mut folder = TraceFolder::new(&identity, &self.reader.page_ranges(MAPPING_GAP_BYTES)?);
        let mut content = Content::default();
        let mut end = IntervalEnd {
            wall_ns: last_ns - self.duration_ns(),
            boottime_ns: None,
        };
        for (index, interval) in self.reader.intervals().enumerate() {
            end.wall_ns += self.interval_ns;
            add(&mut content, folder.fold(end, &interval?.accesses));
            if (index + 1).is_multiple_of(INTERVALS_PER_CONTENT) {
                emit(std::mem::take(&mut content))?;
            }
        }
        content.gaps.extend(folder.finish(end));
        emit(content)
    }
}

/// Whose trace it is.
pub(crate) struct Identity {
    /// `namespace/name`.
    pub(crate) service: Arc<str>,
    /// Executable.
    pub(crate) group: Arc<str>,
    /// Ids of tile epochs come from it.
    pub(crate) epoch_seed: u64,
}

fn add(content: &mut Content, folded: Folded) {
    content.heat.extend(folded.rows);
    content.gaps.extend(folded.gaps);
    content.tile_epochs.extend(folded.tile_epochs);
    content.tile_columns.extend(folded.tile_columns);
}
