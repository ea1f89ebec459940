//! What all recordings of heat have in common, whatever made them: no time of the host, and a fold of their own.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use serde::Serialize;
use tierscope_sample::fold::Folded;
use tierscope_wire::{Content, CounterRow};

/// Intervals that are sent together, where the size limits allow.
const INTERVALS_PER_CONTENT: usize = 120;

/// A recording that is folded to heat.
pub(crate) trait HeatSource {
    fn kind(&self) -> &'static str;

    /// What it is, for the service's entry in the inventory.
    fn rule(&self) -> &'static str;

    fn intervals(&self) -> i64;

    /// Time from the first interval's begin to the last one's end.
    fn duration_ns(&self) -> i64;

    /// What could not be used.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// What else the recording says, in words.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Working-set sizes, where the recording gives them: one for each of its targets.
    fn working_sets(&self) -> Vec<WorkingSetSummary> {
        Vec::new()
    }

    /// Folds it so that it ends at `last_ns`, and hands over what it gives, piece by piece.
    fn fold(
        &self,
        identity: &Identity,
        last_ns: i64,
        emit: &mut dyn FnMut(Content) -> Result<()>,
    ) -> Result<()>;
}

/// Reads a file, at most `limit_bytes` after its first `head_bytes`; `None` where those do not match.
pub(crate) fn read_matching(
    path: &Path,
    head_bytes: u64,
    limit_bytes: u64,
    matches: fn(&[u8]) -> bool,
) -> Result<Option<Vec<u8>>> {
    let cannot = || format!("recording {} cannot be read", path.display());
    let mut file = File::open(path).with_context(cannot)?;
    let mut bytes = Vec::new();
    let mut read_up_to = |limit: u64, bytes: &mut Vec<u8>| (&mut file).take(limit).read_to_end(bytes);
    read_up_to(head_bytes, &mut bytes).with_context(cannot)?;
    if !matches(&bytes) {
        return Ok(None);
    }
    read_up_to(limit_bytes, &mut bytes).with_context(cannot)?;
    Ok(Some(bytes))
}

/// Whose recording it is.
pub(crate) struct Identity {
    /// `namespace/name`.
    pub(crate) service: Arc<str>,
    /// Executable, for recordings that do not tell.
    pub(crate) group: Arc<str>,
    /// Ids of tile epochs come from it.
    pub(crate) epoch_seed: u64,
}

/// Working-set size of one record, as `damo report wss` gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WorkingSetSummary {
    /// Number of the target in the record.
    pub(crate) target: u64,
    /// Snapshots that count: all but the first 20.
    pub(crate) snapshots: usize,
    pub(crate) average_bytes: u64,
    /// Percentiles 0, 25, 50, 75 and 100 by size.
    pub(crate) bytes_by_percentile: Vec<u64>,
}

/// Gathers what intervals give into contents of a good size.
pub(crate) struct Gather<'a> {
    emit: &'a mut dyn FnMut(Content) -> Result<()>,
    content: Content,
    intervals: usize,
}

impl<'a> Gather<'a> {
    /// Hands contents to `emit`.
    pub(crate) fn new(emit: &'a mut dyn FnMut(Content) -> Result<()>) -> Self {
        Self {
            emit,
            content: Content::default(),
            intervals: 0,
        }
    }

    /// Adds what one interval gave.
    pub(crate) fn add(&mut self, folded: Folded) -> Result<()> {
        self.content.heat.extend(folded.rows);
        self.content.gaps.extend(folded.gaps);
        self.content.tile_epochs.extend(folded.tile_epochs);
        self.content.tile_columns.extend(folded.tile_columns);
        self.content.page_samples.extend(folded.page_samples);
        self.intervals += 1;
        if self.intervals.is_multiple_of(INTERVALS_PER_CONTENT) {
            (self.emit)(std::mem::take(&mut self.content))?;
        }
        Ok(())
    }

    /// Adds counters, which travel with what comes next.
    pub(crate) fn add_counters(&mut self, rows: Vec<CounterRow>) {
        self.content.counters.extend(rows);
    }

    /// Hands over what is left.
    pub(crate) fn finish(self) -> Result<()> {
        (self.emit)(self.content)
    }
}
