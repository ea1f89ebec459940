//! Writes of the processes whose owner asks for it, beside the back end of heat: fills `written_bytes` of its rows.
//!
//! Uses userfaultfd where the kernel has it, else soft-dirty marks. Rules: docs/method/page-bits.md.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tierscope_host::collectors::State;
use tierscope_host::services::Process;
use tierscope_pagetable::mappings::{Mapping, MapsReader};
use tierscope_pagetable::soft_dirty::{SoftDirtyReader, probe_soft_dirty};
use tierscope_pagetable::uffd::attach::attach;
use tierscope_pagetable::uffd::history::WriteHistory;
use tierscope_pagetable::uffd::scan::probe_written;
use tierscope_pagetable::uffd::track::WriteTracker;
use tierscope_rootfs::Root;
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::heat::{Granularity, HeatRow, PageKind, WINDOWS};
use tierscope_sample::page_group::{PageMapping, PageSize};
use tierscope_sample::vma_fold::ProcessKey;

use crate::backend::{HeatProcess, Refusal, is_one_interval};
use crate::programs::is_named;

/// The name of this collector.
pub const NAME: &str = "write_tracking";

/// Tracks the writes of the listed processes.
pub(crate) struct WriteTracking {
    root: Root,
    /// Patterns for paths and names of executables.
    patterns: Vec<String>,
    maps: MapsReader,
    soft_dirty: SoftDirtyReader,
    /// How writes are seen on this host; `None` before the first process.
    means: Option<Result<Means, String>>,
    listed: HashSet<ProcessKey>,
    tracked: HashMap<ProcessKey, Tracked>,
    /// Processes that cannot be tracked, and why. They are not tried again.
    refused: HashMap<ProcessKey, String>,
}

/// How writes are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    Userfault,
    SoftDirty,
}

struct Tracked {
    /// `None` with soft-dirty marks, which need nobody.
    tracker: Option<WriteTracker>,
    history: WriteHistory,
    /// When the running interval began.
    began: IntervalEnd,
    /// Whether the writes of the newest interval are known.
    observed: bool,
}

impl WriteTracking {
    /// Nothing is tried until a process is listed.
    pub(crate) fn new(root: Root, patterns: &[String]) -> Self {
        Self {
            maps: MapsReader::new(root.clone(), Box::new(|_| Arc::from(""))),
            soft_dirty: SoftDirtyReader::new(&root),
            root,
            patterns: patterns.to_vec(),
            means: None,
            listed: HashSet::new(),
            tracked: HashMap::new(),
            refused: HashMap::new(),
        }
    }

    /// Notes which of the processes found are asked for.
    pub(crate) fn list(&mut self, found: &[Process]) {
        let patterns = &self.patterns;
        let is_listed = |process: &&Process| patterns.iter().any(|pattern| is_named(pattern, process));
        self.listed = found
            .iter()
            .filter(is_listed)
            .map(|process| ProcessKey {
                pid: process.pid,
                start_time_ticks: process.start_time,
            })
            .collect();
    }

    /// Ends the interval of the listed processes among those measured, and writes what they wrote into the rows of
    /// their groups. Processes that are no longer measured are let go.
    pub(crate) fn collect(
        &mut self,
        measured: &[HeatProcess],
        end: IntervalEnd,
        interval_ns: i64,
        rows: &mut [HeatRow],
    ) {
        let wanted: HashSet<ProcessKey> = measured
            .iter()
            .map(|process| process.key)
            .filter(|key| self.listed.contains(key))
            .collect();
        self.tracked.retain(|key, _| wanted.contains(key));
        self.refused.retain(|key, _| wanted.contains(key));
        for key in wanted {
            if !self.refused.contains_key(&key)
                && let Err(reason) = self.visit(key, end, interval_ns)
            {
                self.tracked.remove(&key);
                self.refused.insert(key, reason);
            }
        }
        self.fill(measured, rows);
    }

    /// An interval passes without a visit. What is written in it counts for none.
    pub(crate) fn miss(&mut self) {
        for tracked in self.tracked.values_mut() {
            tracked.observed = false;
        }
    }

    /// Lets all processes go.
    pub(crate) fn stop(&mut self) {
        self.tracked.clear();
        self.refused.clear();
    }

    pub(crate) fn state(&self) -> State {
        let refused = self.refused.values().next();
        match (self.tracked.len(), refused) {
            _ if self.patterns.is_empty() => State::off(
                "it weighs on the processes that it tracks, so it is used only where the settings name them",
                "name executables under [heat]: write_tracking = [\"/usr/bin/redis-server\"]",
            ),
            (0, None) => State::off("no process that heat is measured of is named for it", ""),
            (0, Some(reason)) => State::off(
                reason.clone(),
                "end what stands in the way, or leave the process out",
            ),
            (_, None) => State::on(),
            (tracked, Some(reason)) => State {
                active: true,
                reason: format!(
                    "{tracked} processes are tracked; {} are not: {reason}",
                    self.refused.len()
                ),
                hint: String::new(),
            },
        }
    }

    fn visit(&mut self, key: ProcessKey, end: IntervalEnd, interval_ns: i64) -> Result<(), String> {
        let root = &self.root;
        let means = self.means.get_or_insert_with(|| find_means(root)).clone()?;
        let mappings = self.maps.read(key).map_err(|error| error.to_string())?;
        if let Some(tracked) = self.tracked.get_mut(&key) {
            let observed = is_one_interval(tracked.began, end, interval_ns);
            tracked.end_interval(key, &mappings, &mut self.soft_dirty, observed)?;
            tracked.began = end;
            return Ok(());
        }
        let tracker = match means {
            Means::Userfault => Some(attach(root, key).map_err(|error| error.to_string())?),
            Means::SoftDirty => None,
        };
        let mut begun = Tracked {
            tracker,
            history: WriteHistory::default(),
            began: end,
            observed: false,
        };
        begun.end_interval(key, &mappings, &mut self.soft_dirty, false)?;
        self.tracked.insert(key, begun);
        Ok(())
    }

    /// Writes the sums of groups all of whose processes are known into their rows.
    fn fill(&self, measured: &[HeatProcess], rows: &mut [HeatRow]) {
        if self.tracked.is_empty() {
            return;
        }
        let mut groups: HashMap<(&str, &str), Option<Vec<&WriteHistory>>> = HashMap::new();
        for process in measured {
            let histories = groups
                .entry((&process.service, &process.group))
                .or_insert_with(|| Some(Vec::new()));
            match self.tracked.get(&process.key).filter(|tracked| tracked.observed) {
                Some(tracked) => histories
                    .iter_mut()
                    .for_each(|known| known.push(&tracked.history)),
                None => *histories = None,
            }
        }
        let several: HashSet<_> = {
            let mut seen = HashSet::new();
            rows.iter()
                .map(row_key)
                .filter(|key| !seen.insert(key.clone()))
                .collect()
        };
        for row in rows {
            // Which tier the written pages of a kind are in is not known.
            if several.contains(&row_key(row)) {
                continue;
            }
            if let Some(Some(histories)) = groups.get(&(&*row.service, &*row.group)) {
                row.beside.written_bytes = sum(histories, row);
            }
        }
    }
}

type RowKey = (Arc<str>, Arc<str>, PageKind, u32);

fn row_key(row: &HeatRow) -> RowKey {
    let (service, group) = (Arc::clone(&row.service), Arc::clone(&row.group));
    (service, group, row.kind, row.page_size_bytes)
}

/// Bytes written of the pages of a row: at most those resident, because a page may be freed after it was written.
fn sum(histories: &[&WriteHistory], row: &HeatRow) -> Option<[i64; WINDOWS.len()]> {
    let size = PageSize::ALL
        .into_iter()
        .find(|size| size.bytes() == row.page_size_bytes)?;
    let size = (row.granularity == Granularity::Page).then_some(size);
    let mut sums = [0; WINDOWS.len()];
    for history in histories {
        let bytes = history.bytes(row.kind, size);
        sums.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
    }
    Some(sums.map(|bytes| bytes.min(row.resident_bytes)))
}

impl Tracked {
    /// Reads what was written, and marks all pages as unwritten.
    fn end_interval(
        &mut self,
        key: ProcessKey,
        mappings: &[Mapping],
        soft_dirty: &mut SoftDirtyReader,
        observed: bool,
    ) -> Result<(), String> {
        let history = &mut self.history;
        let writable: Vec<PageMapping> = if let Some(tracker) = &mut self.tracker {
            tracker.cover(mappings);
            let result = tracker.written(observed, |written| {
                history.note(written.range.clone(), written.page_size, written.kind);
            });
            result.map_err(|error| error.to_string())?;
            tracker.covered().cloned().collect()
        } else {
            let writable = mappings.iter().filter(|mapping| mapping.writable);
            read_soft_dirty(key, writable.clone(), soft_dirty, history)?;
            writable.map(|mapping| mapping.page_mapping.clone()).collect()
        };
        self.history.end_interval(observed, &writable);
        self.observed = observed;
        Ok(())
    }
}

fn read_soft_dirty<'a>(
    key: ProcessKey,
    mappings: impl Iterator<Item = &'a Mapping>,
    reader: &mut SoftDirtyReader,
    history: &mut WriteHistory,
) -> Result<(), String> {
    let base = PageSize::of_bytes(reader.page_bytes());
    for mapping in mappings {
        let place = &mapping.page_mapping;
        let kind = if mapping.shared {
            place.kind
        } else {
            PageKind::Anon
        };
        let ranges = std::iter::once(place.start..place.end);
        let read = reader.read(key, ranges, |address| {
            history.note(address..address + 1, base, kind);
        });
        read.map_err(|error| error.to_string())?;
    }
    reader.clear(key).map_err(|error| error.to_string())
}

/// Tries both ways of seeing writes on memory of this process itself.
pub fn probe(root: &Root) -> Result<(), Refusal> {
    find_means(root).map(drop).map_err(|reason| Refusal {
        reason,
        hint: "use a kernel with userfaultfd and PAGEMAP_SCAN (6.7 or later), or with CONFIG_MEM_SOFT_DIRTY"
            .to_owned(),
    })
}

/// Finds out by doing how writes are seen here.
fn find_means(root: &Root) -> Result<Means, String> {
    let Err(no_userfault) = probe_written(root) else {
        return Ok(Means::Userfault);
    };
    match probe_soft_dirty(root) {
        Ok(()) => Ok(Means::SoftDirty),
        Err(no_marks) => Err(format!("{no_userfault}; {no_marks}")),
    }
}

#[cfg(test)]
mod tests;
