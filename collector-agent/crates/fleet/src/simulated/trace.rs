//! A stretch of a page trace in memory, folded anew for each host.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use tierscope_import::page_trace::{Access, PageRange, PageTraceReader};
use tierscope_import::trace_fold::{MAPPING_GAP_BYTES, TraceFolder, TraceIdentity};
use tierscope_sample::fold::{Folded, IntervalEnd};

use crate::simulated::spec::TraceSpec;

/// Most sampled pages of a service on a host: enough for a curve, and little beside the rest of a simulated history.
const SAMPLED_PAGES: usize = 256;

/// The intervals of a trace that stand for minutes, shared by all hosts.
#[derive(Debug)]
pub(crate) struct Trace {
    minutes: Vec<Vec<Access>>,
    ranges: Vec<PageRange>,
    page_size_bytes: u32,
}

impl Trace {
    /// Reads the stretch that the specification names.
    pub(crate) fn load(spec: &TraceSpec) -> anyhow::Result<Self> {
        let reader = PageTraceReader::open(&spec.file)?;
        let mut minutes = Vec::new();
        let mut current: Vec<Access> = Vec::new();
        for (index, interval) in reader
            .intervals()
            .skip(spec.first)
            .take(spec.intervals)
            .enumerate()
        {
            let interval = interval?;
            current.extend(interval.accesses);
            if (index + 1) % spec.stride == 0 {
                minutes.push(merge(std::mem::take(&mut current)));
            }
        }
        ensure!(
            !minutes.is_empty(),
            "{} has no {} intervals from {} on",
            spec.file.display(),
            spec.stride,
            spec.first
        );
        let ranges = reader
            .page_ranges(MAPPING_GAP_BYTES)
            .with_context(|| format!("reading the mappings of {}", spec.file.display()))?;
        Ok(Self {
            minutes,
            ranges,
            page_size_bytes: reader.page_size_bytes(),
        })
    }

    /// A trace of these minutes, whose pages have no known mappings.
    #[cfg(test)]
    pub(crate) fn of(minutes: Vec<Vec<Access>>) -> Self {
        Self {
            minutes,
            ranges: Vec::new(),
            page_size_bytes: 4096,
        }
    }

    /// Starts a host's own page state.
    pub(crate) fn start(
        self: &Arc<Self>,
        service: &str,
        group: &str,
        seed: u64,
        interval_ns: i64,
    ) -> Playing {
        let identity = TraceIdentity {
            service: Arc::from(service),
            group: Arc::from(group),
            interval_ns,
            page_size_bytes: self.page_size_bytes,
            tier: None,
            epoch_seed: seed,
            sampled_pages: SAMPLED_PAGES,
        };
        Playing {
            trace: Arc::clone(self),
            folder: TraceFolder::new(&identity, &self.ranges),
            next: seed as usize % self.minutes.len(),
        }
    }
}

/// One host's progress through a trace.
#[derive(Debug)]
pub(crate) struct Playing {
    trace: Arc<Trace>,
    folder: TraceFolder,
    next: usize,
}

impl Playing {
    /// Minutes until the trace begins anew.
    pub(crate) fn turn(&self) -> usize {
        self.trace.minutes.len()
    }

    /// Folds the next minute of the loop.
    pub(crate) fn minute(&mut self, end: IntervalEnd) -> Folded {
        let folded = self.folder.fold(end, &self.trace.minutes[self.next]);
        self.next = (self.next + 1) % self.trace.minutes.len();
        folded
    }
}

/// One entry per page: counts of merged intervals add up.
fn merge(mut accesses: Vec<Access>) -> Vec<Access> {
    accesses.sort_by_key(|access| access.page);
    accesses.dedup_by(|later, kept| {
        let same = later.page == kept.page;
        if same {
            kept.loads = kept.loads.saturating_add(later.loads);
            kept.stores = kept.stores.saturating_add(later.stores);
        }
        same
    });
    accesses
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_sample::heat::PageKind;

    #[test]
    fn merged_intervals_have_one_entry_per_page() {
        let access = |page, loads, stores| Access {
            page,
            kind: PageKind::Anon,
            loads,
            stores,
        };
        let merged = merge(vec![access(2, 1, 0), access(1, 5, 1), access(2, 3, 4)]);
        assert_eq!(merged, vec![access(1, 5, 1), access(2, 4, 4)]);
    }
}
