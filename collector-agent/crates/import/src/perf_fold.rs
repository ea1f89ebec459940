//! Folds a recording of perf as live samples are folded: by process group, interval by interval.
//!
//! A recording does not tell what is resident: a page counts as resident from its first sample on, until something else
//! is mapped there. Rules: docs/method/perf.md, "Recordings".

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use tierscope_perf::ServedLoads;
use tierscope_sample::fold::{Folded, IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Granularity, PageKind};
use tierscope_sample::page_group::{Census, PageGroup, PageGroupOptions, PageSize, PageState};
use tierscope_sample::page_size;
use tierscope_sample::tile_grid::EpochIds;
use tierscope_sample::vma_fold::ProcessKey;

use crate::perf_samples::{PerfFileError, PerfRecording, PerfSample, PerfSource, ProcessChange, TimedChange};
use crate::perf_space::AddressSpace;

const SECOND_NS: i64 = 1_000_000_000;
/// Recordings from this length on are folded by the minute, shorter ones by the second.
const LONG_NS: i64 = 30 * 60 * SECOND_NS;
const PAGE_BYTES: u64 = page_size::MODEL_BYTES;

/// What a recording stands for when it is folded.
#[derive(Debug, Clone)]
pub struct PerfIdentity {
    /// `namespace/name`.
    pub service: Arc<str>,
    /// Random; ids of tile epochs come from it.
    pub epoch_seed: u64,
}

/// The intervals of a recording: of one length, the last one ending with its last sample. Samples before the first whole
/// interval are left out, unless there is none.
#[derive(Debug)]
pub struct PerfIntervalPlan<'a> {
    recording: &'a PerfRecording,
    backend: Backend,
    /// Time at which the first interval begins, on the recording's clock; below zero for a short recording.
    begin_ns: i64,
    /// Length of an interval.
    pub interval_ns: i64,
    /// How many there are.
    pub intervals: i64,
}

impl<'a> PerfIntervalPlan<'a> {
    /// Plans the intervals of a recording.
    ///
    /// # Errors
    /// Where no heat can be made of its samples: see [`PerfRecording::heat_source`].
    pub fn new(recording: &'a PerfRecording) -> Result<Self, PerfFileError> {
        let backend = match recording.heat_source()? {
            PerfSource::Pebs => Backend::Pebs,
            PerfSource::Ibs => Backend::Ibs,
            PerfSource::Spe => Backend::Spe,
            PerfSource::Faults => {
                return Err(PerfFileError::FaultsAreNoHeat { event: String::new() });
            }
        };
        Ok(Self::with_backend(recording, backend))
    }

    /// Plans the intervals of any recording, as if `backend` had made it.
    fn with_backend(recording: &'a PerfRecording, backend: Backend) -> Self {
        let ends = recording.samples.first().zip(recording.samples.last());
        let (first_ns, last_ns) = ends.map_or((0, 0), |(first, last)| {
            (first.time_ns.cast_signed(), last.time_ns.cast_signed())
        });
        let length_ns = last_ns.saturating_sub(first_ns);
        let interval_ns = if length_ns >= LONG_NS {
            60 * SECOND_NS
        } else {
            SECOND_NS
        };
        let intervals = (length_ns / interval_ns).max(1);
        Self {
            recording,
            backend,
            // The end belongs to the last interval.
            begin_ns: last_ns.saturating_add(1).saturating_sub(intervals * interval_ns),
            interval_ns,
            intervals,
        }
    }

    /// Folds the intervals so that the last one ends at `last_ns`, and hands over what each gives.
    pub fn fold<E>(
        &self,
        identity: &PerfIdentity,
        last_ns: i64,
        mut emit: impl FnMut(Folded) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut host = Host::new(self, identity);
        let mut samples = self.recording.samples.iter().peekable();
        let mut changes = self.recording.changes.iter().peekable();
        for index in 0..=self.intervals {
            let until_ns = self.begin_ns.saturating_add(index * self.interval_ns);
            let is_before = |time_ns: u64| time_ns.cast_signed() < until_ns;
            loop {
                let sample = samples.peek().filter(|sample| is_before(sample.time_ns));
                let change = changes.peek().filter(|change| is_before(change.time_ns));
                match (sample, change) {
                    (Some(sample), Some(change)) if change.time_ns <= sample.time_ns => {
                        host.change(changes.next());
                    }
                    (Some(_), _) => host.sample(samples.next()),
                    (None, Some(_)) => host.change(changes.next()),
                    (None, None) => break,
                }
            }
            if index == 0 {
                host.forget_samples();
                continue;
            }
            let end = IntervalEnd {
                wall_ns: last_ns - (self.intervals - index) * self.interval_ns,
                boottime_ns: None,
            };
            emit(host.end_interval(end))?;
        }
        Ok(())
    }

    /// Sampled loads by what served them, from the begin of the first interval to the end of each, with that end's time;
    /// the last one ends at `last_ns`. `None` where the recording has no data sources.
    pub fn served(&self, last_ns: i64) -> Option<Vec<(i64, ServedLoads)>> {
        let samples = &self.recording.samples;
        if samples.iter().all(|sample| sample.served.is_none()) {
            return None;
        }
        let mut samples = samples.iter().peekable();
        let mut total = ServedLoads::default();
        let mut ends = Vec::new();
        for index in 0..=self.intervals {
            let until_ns = self.begin_ns.saturating_add(index * self.interval_ns);
            while let Some(sample) = samples.next_if(|sample| sample.time_ns.cast_signed() < until_ns) {
                // Samples before the first interval are left out, as those of pages are.
                if let Some(served) = sample.served.filter(|_| index > 0) {
                    total.add(served);
                }
            }
            ends.push((last_ns - (self.intervals - index) * self.interval_ns, total));
        }
        Some(ends)
    }

    /// Share of the samples that were delivered, and the mean of the known periods.
    fn sampling(&self) -> (f64, Option<f64>) {
        let taken = self.recording.samples.len() as f64;
        let duty_ratio = taken / (taken + self.recording.lost as f64).max(1.0);
        let periods: Option<Vec<u64>> = self.recording.events.iter().map(|event| event.period).collect();
        let mean = periods
            .filter(|periods| !periods.is_empty())
            .map(|periods| periods.iter().sum::<u64>() as f64 / periods.len() as f64);
        (duty_ratio, mean)
    }
}

/// One program in one process: a new program in the same process is another one.
#[derive(Debug, Default)]
struct Process {
    program: u64,
    name: Arc<str>,
    space: AddressSpace,
    /// Loads and stores of the running interval, by page address.
    counts: BTreeMap<u64, (u32, u32)>,
    /// Pages of its own that were sampled, by address.
    own: BTreeSet<u64>,
}

impl Process {
    /// Forgets what was sampled of pages that are gone.
    fn forget(&mut self, range: Range<u64>) {
        let counted: Vec<u64> = self.counts.range(range.clone()).map(|(page, _)| *page).collect();
        for page in counted {
            self.counts.remove(&page);
        }
        let own: Vec<u64> = self.own.range(range).copied().collect();
        for page in own {
            self.own.remove(&page);
        }
    }
}

/// A page of a file: its name, device and inode, and number.
type FilePage = (Arc<str>, (u64, u64), u64);

/// Pages of the files that a process group was seen to use, and the group.
struct Group {
    pages: PageGroup,
    files: [HashSet<FilePage>; 3],
}

struct Host<'a> {
    plan: &'a PerfIntervalPlan<'a>,
    identity: &'a PerfIdentity,
    epoch_seeds: EpochIds,
    processes: BTreeMap<u32, Process>,
    groups: HashMap<Arc<str>, Group>,
    sampling: (f64, Option<f64>),
}

impl<'a> Host<'a> {
    fn new(plan: &'a PerfIntervalPlan<'a>, identity: &'a PerfIdentity) -> Self {
        Self {
            plan,
            identity,
            epoch_seeds: EpochIds::new(identity.epoch_seed),
            processes: BTreeMap::new(),
            groups: HashMap::new(),
            sampling: plan.sampling(),
        }
    }

    fn sample(&mut self, sample: Option<&PerfSample>) {
        let Some(sample) = sample else { return };
        let process = self.processes.entry(sample.pid).or_default();
        let Some(kind) = process.space.kind_at(sample.address) else {
            return;
        };
        let page = sample.address / PAGE_BYTES * PAGE_BYTES;
        let (loads, stores) = process.counts.entry(page).or_default();
        *loads += u32::from(!sample.is_store);
        *stores += u32::from(sample.is_store);
        if kind == PageKind::Anon {
            process.own.insert(page);
        }
    }

    fn change(&mut self, timed: Option<&TimedChange>) {
        let Some(TimedChange { pid, change, .. }) = timed else {
            return;
        };
        match change {
            ProcessChange::Mapped {
                start,
                size_bytes,
                offset_bytes,
                file,
                name,
            } => {
                let process = self.processes.entry(*pid).or_default();
                let space = &mut process.space;
                for range in space.map(*start, *size_bytes, *offset_bytes, *file, name) {
                    process.forget(range);
                }
            }
            ProcessChange::Named { name, exec } => {
                let process = self.processes.entry(*pid).or_default();
                if *exec {
                    *process = Process {
                        program: process.program + 1,
                        ..Process::default()
                    };
                }
                process.name = Arc::clone(name);
            }
            ProcessChange::Forked { parent_pid } => {
                let parent = self.processes.get(parent_pid);
                let copy = parent.map(|parent| (Arc::clone(&parent.name), parent.space.clone()));
                let (name, space) = copy.unwrap_or_default();
                let process = self.processes.entry(*pid).or_default();
                *process = Process {
                    program: process.program + 1,
                    name,
                    space,
                    ..Process::default()
                };
            }
        }
    }

    /// Drops the samples before the first interval.
    fn forget_samples(&mut self) {
        for process in self.processes.values_mut() {
            process.counts.clear();
        }
    }

    fn end_interval(&mut self, end: IntervalEnd) -> Folded {
        let mut first_of_group: HashSet<Arc<str>> = HashSet::new();
        let pids: Vec<u32> = self.processes.keys().copied().collect();
        for pid in pids {
            self.read(pid, &mut first_of_group);
        }
        let mut all = Folded::default();
        let mut names: Vec<Arc<str>> = self.groups.keys().cloned().collect();
        names.sort_unstable();
        for name in names {
            let Some(group) = self.groups.get_mut(&name) else {
                continue;
            };
            let folded = group.pages.finish(end);
            all.rows.extend(folded.rows);
            all.gaps.extend(folded.gaps);
            all.tile_epochs.extend(folded.tile_epochs);
            all.tile_columns.extend(folded.tile_columns);
        }
        self.groups.retain(|_, group| !group.pages.is_empty());
        all
    }

    /// Gives the pages of a process that was seen at all to its group.
    fn read(&mut self, pid: u32, first_of_group: &mut HashSet<Arc<str>>) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let counts = std::mem::take(&mut process.counts);
        let key = ProcessKey {
            pid,
            start_time_ticks: process.program,
        };
        let is_known = self.groups.contains_key(&process.name);
        if counts.is_empty() && !is_known {
            return;
        }
        let (plan, identity, seeds) = (self.plan, self.identity, &mut self.epoch_seeds);
        let group = self
            .groups
            .entry(Arc::clone(&process.name))
            .or_insert_with(|| new_group(plan, identity, &process.name, seeds.next_id()));
        let size = PageSize::Small4K;
        let states: Vec<PageState> = counts
            .iter()
            .map(|(address, (loads, stores))| PageState {
                address: *address,
                size,
                anon: process.space.kind_at(*address) == Some(PageKind::Anon),
                tier: None,
                active: true,
                loads: *loads,
                stores: *stores,
            })
            .collect();
        for state in states.iter().filter(|state| !state.anon) {
            if let Some(kind) = process.space.kind_at(state.address) {
                group.files[kind as usize].extend(process.space.file_page(state.address));
            }
        }
        let mut reading = group.pages.process(key, true);
        let mut rest = states.as_slice();
        for mapping in process.space.mappings() {
            rest = &rest[rest.partition_point(|page| page.address < mapping.start)..];
            let inside = rest.partition_point(|page| page.address < mapping.end);
            reading.mapping(&mapping, &rest[..inside]);
        }
        reading.resident(PageKind::Anon, bytes_of(process.own.len()));
        if first_of_group.insert(Arc::clone(&process.name)) {
            for kind in [PageKind::File, PageKind::Tmpfs] {
                reading.resident(kind, bytes_of(group.files[kind as usize].len()));
            }
        }
        reading.duty(self.sampling.0);
        if let Some(period_events) = self.sampling.1 {
            reading.period(period_events);
        }
    }
}

fn bytes_of(pages: usize) -> i64 {
    pages as i64 * PAGE_BYTES.cast_signed()
}

fn new_group(plan: &PerfIntervalPlan<'_>, identity: &PerfIdentity, name: &str, epoch_seed: u64) -> Group {
    let measured = Measured {
        backend: plan.backend,
        granularity: Granularity::Page,
        interval_ns: plan.interval_ns,
        service: Arc::clone(&identity.service),
        group: Arc::from(name),
    };
    let options = PageGroupOptions {
        epoch_seed,
        census: Census::Seen,
        ..PageGroupOptions::default()
    };
    Group {
        pages: PageGroup::new(measured, options),
        files: Default::default(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
