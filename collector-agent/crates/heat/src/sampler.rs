//! Heat by the processor's own samples of memory accesses: Intel PEBS, AMD IBS, Arm SPE.
//!
//! A thread counts samples by page all the time ([`tierscope_perf::Sampler`]); each round takes the counts of the
//! interval, finds the mappings of the sampled pages and folds them. What the samplers see: docs/method/perf.md.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use tierscope_host::names::NamePolicy;
use tierscope_pagetable::mappings::MapsReader;
use tierscope_pagetable::pagemap::PagemapReader;
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::Unmeasured;
use tierscope_perf::catalogue::Processor;
use tierscope_perf::groups::GroupPlan;
use tierscope_perf::probe::probe as probe_events;
use tierscope_perf::{
    EventSet, IntervalStats, Meaning, PageCount, PerfError, SampleTable, Sampler, SamplerKind,
    SamplerOptions, Scope, ServedLoads,
};
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::heat::Backend;
use tierscope_sample::page_group::{Census, PageSize, PageState};

use crate::backend::{
    Candidate, HeatBackend, HeatProcess, HeatRound, HeatSettings, Reach, Refusal, Sampling, SamplingSettings,
    Started,
};
use crate::huge_pages::HugePages;
use crate::page_groups::{PageGroups, mapping_namer};
use crate::resident;
use crate::tiers::Tiers;

/// Intel.
pub(crate) const PEBS: Candidate = Candidate {
    name: "pebs",
    reach: Reach::Any,
    probe: |root| probe(root, SamplerKind::Pebs),
    make: |root, settings, names| make(root, settings, names, SamplerKind::Pebs),
};
/// AMD.
pub(crate) const IBS: Candidate = Candidate {
    name: "ibs",
    reach: Reach::Any,
    probe: |root| probe(root, SamplerKind::Ibs),
    make: |root, settings, names| make(root, settings, names, SamplerKind::Ibs),
};
/// Arm.
pub(crate) const SPE: Candidate = Candidate {
    name: "spe",
    reach: Reach::Any,
    probe: |root| probe(root, SamplerKind::Spe),
    make: |root, settings, names| make(root, settings, names, SamplerKind::Spe),
};

/// Hosts with more cores are sampled on half of them at a time: a quarter takes loads, another one stores.
const ALWAYS_ON_CORES: usize = 8;
const CORE_GROUPS: usize = 4;
/// Pages that lie closer than this are looked up with one reading of pagemap.
const LOOKUP_GAP_BYTES: u64 = 256 << 10;

/// Measures heat by samples.
pub(crate) struct SamplerBackend {
    name: &'static str,
    sampler: Sampler,
    table: SampleTable,
    status: Reader,
    maps: MapsReader,
    pagemap: PagemapReader,
    huge_pages: HugePages,
    groups: PageGroups,
    tiers: Tiers,
    placement: Placement,
    /// No events are on, because an interval was missed.
    paused: bool,
}

impl SamplerBackend {
    /// Opens the events on all CPUs, for all processes. `backend` is what the rows are marked with.
    pub(crate) fn new(
        root: &Root,
        settings: &HeatSettings,
        names: NamePolicy,
        events: EventSet,
        backend: Backend,
    ) -> Result<Self, PerfError> {
        let name = events.kind.name();
        let events = match settings.sampling.period_events {
            Some(period) => events.with_period(period),
            None => events,
        };
        let mut options = SamplerOptions::new(root, events, Scope::System)?;
        options.plan = plan(&options.events, options.cpus.len(), &settings.sampling);
        options.mini_interval = Duration::from_secs(settings.sampling.mini_interval_seconds);
        options.seed = settings.epoch_seed;
        let mut sampler = Sampler::start(options)?;
        // Until the first round says whom to follow, nobody is.
        sampler.follow(Some(Vec::new()))?;
        let tiers = Tiers::read(root, settings);
        let groups = PageGroups::new(root, backend, Census::Seen, settings);
        Ok(Self {
            name,
            table: sampler.new_table(),
            sampler,
            status: Reader::new(root.clone()),
            maps: MapsReader::new(root.clone(), mapping_namer(names)),
            pagemap: PagemapReader::new(root.clone()),
            huge_pages: HugePages::new(root),
            groups: groups.with_tiers(tiers.labels()),
            tiers,
            placement: Placement::default(),
            paused: false,
        })
    }

    /// Takes the samples of the interval, and follows the processes listed in the next one.
    fn take(&mut self, processes: &[HeatProcess]) -> Result<IntervalStats, PerfError> {
        if std::mem::take(&mut self.paused) {
            self.sampler.pause(false)?;
        }
        let pids = processes.iter().map(|process| process.key.pid).collect();
        self.sampler.follow(Some(pids))?;
        // Last, because this alone waits for the sampling thread: from now on it does what was asked before.
        self.sampler.swap(&mut self.table)
    }

    fn visit(
        &mut self,
        process: &HeatProcess,
        end: IntervalEnd,
        observed: Observed,
    ) -> Result<(), Unmeasured> {
        let mappings = self.maps.read(process.key)?;
        let pages = self.table.pages_of(process.key.pid);
        let pagemap = self.pagemap.open(process.key)?;
        let ranges = lookup_ranges(&pages);
        let mut states = look_up(&mut self.pagemap, &pagemap, &pages, &ranges, &self.placement)?;
        self.huge_pages.mark(&pagemap, &ranges, &mut states);
        self.tiers.look_up(process.key.pid, &mut states);
        let resident = resident::by_kind(&mut self.status, process.key.pid);
        // What was read is that of the process only if the id still is.
        self.pagemap.check_identity(&pagemap)?;
        let is_observed = self.groups.is_observed(process.key, end) == Some(true);
        let mut reading = self.groups.reading(process, is_observed);
        let mut rest = states.as_slice();
        for mapping in &mappings {
            let place = &mapping.page_mapping;
            rest = &rest[rest.partition_point(|page| page.address < place.start)..];
            let inside = rest.partition_point(|page| page.address < place.end);
            // A mapping without samples is given too: its pages that were seen before are still mapped.
            reading.mapping(place, &rest[..inside]);
            rest = &rest[inside..];
        }
        for (kind, bytes) in resident {
            reading.resident(kind, bytes);
        }
        reading.duty(observed.duty_ratio);
        if let Some(period_events) = observed.period_events {
            reading.period(period_events);
        }
        self.groups.begin(process.key, end);
        Ok(())
    }
}

impl HeatBackend for SamplerBackend {
    fn name(&self) -> &'static str {
        self.name
    }

    fn collect(&mut self, processes: &[HeatProcess], end: IntervalEnd) -> HeatRound {
        let cpu_before = tierscope_clock::thread_cpu_ns();
        let bytes_before = self.maps.bytes_read() + self.pagemap.bytes_read() + self.status.bytes_read();
        let mut round = HeatRound::default();
        let stats = match self.take(processes) {
            Ok(stats) => stats,
            Err(error) => {
                self.groups.miss();
                let skipped = processes
                    .iter()
                    .map(|process| (process.clone(), error.to_string()));
                round.skipped = skipped.collect();
                return round;
            }
        };
        let observed = Observed::of(&stats);
        self.placement = self.tiers.placement();
        let mut served: BTreeMap<_, ServedLoads> = BTreeMap::new();
        for process in processes {
            match self.visit(process, end, observed) {
                Ok(()) => {
                    let loads = self.table.served_of(process.key.pid);
                    served.entry(process.service.clone()).or_default().merge(&loads);
                }
                Err(reason) => round.skipped.push((process.clone(), reason.to_string())),
            }
        }
        round.served = self.sampler.tells_served().then_some(served);
        (round.folded, round.measured) = self.groups.finish(end);
        round.sampling = Some(Sampling {
            taken: stats.samples_taken,
            lost: stats.samples_lost + stats.samples_untabled,
            throttles: stats.throttles,
        });
        round.cpu_ns = tierscope_clock::thread_cpu_ns() - cpu_before + stats.cpu_ns.cast_signed();
        let bytes_after = self.maps.bytes_read() + self.pagemap.bytes_read() + self.status.bytes_read();
        round.bytes_read = bytes_after - bytes_before;
        round
    }

    fn miss(&mut self) {
        self.groups.miss();
        // A sampler that no longer answers says so in the next round.
        self.paused = self.sampler.pause(true).is_ok();
    }
}

fn plan(events: &EventSet, cores: usize, asked: &SamplingSettings) -> GroupPlan {
    let usual = if cores <= ALWAYS_ON_CORES { 1 } else { CORE_GROUPS };
    let groups = asked.core_groups.unwrap_or(usual).min(cores.max(1));
    if groups == 1 {
        return GroupPlan::always(events.events.len());
    }
    let is_store = |event: &usize| events.events[*event].meaning == Meaning::Store;
    let (stores, others): (Vec<usize>, Vec<usize>) = (0..events.events.len()).partition(is_store);
    let mut sets = vec![others, stores];
    sets.retain(|set| !set.is_empty());
    let active = asked.active_core_groups.unwrap_or(sets.len()).min(groups);
    GroupPlan::in_turn(groups, active, sets)
}

/// How much of the interval the samples stand for.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Observed {
    duty_ratio: f64,
    period_events: Option<f64>,
}

impl Observed {
    /// That of the events whose pages are counted and which are no stores, where there are any: rows have one duty cycle, and coverage is judged by
    /// the larger population. What was lost was not observed.
    fn of(stats: &IntervalStats) -> Self {
        let of_pages = || {
            stats
                .events
                .iter()
                .filter(|event| event.meaning != Meaning::Served)
        };
        let has_loads = of_pages().any(|event| event.meaning != Meaning::Store);
        let events = of_pages().filter(|event| !has_loads || event.meaning != Meaning::Store);
        let (mut duties, mut periods, mut on, mut count) = (0.0, 0.0, 0.0, 0.0);
        for event in events {
            duties += event.duty_ratio;
            count += 1.0;
            if let Some(period_events) = event.period_events {
                periods += period_events;
                on += 1.0;
            }
        }
        Self {
            duty_ratio: if count > 0.0 { duties / count } else { 0.0 } * stats.delivered_ratio(),
            period_events: (on > 0.0).then(|| periods / on),
        }
    }
}

/// The sampled pages that are resident, with what pagemap says of them. By address.
fn look_up(
    reader: &mut PagemapReader,
    pagemap: &tierscope_pagetable::pagemap::Pagemap,
    pages: &[(u64, PageCount)],
    ranges: &[Range<u64>],
    placement: &Placement,
) -> Result<Vec<PageState>, Unmeasured> {
    let mut states = Vec::with_capacity(pages.len());
    let mut rest = pages.iter().peekable();
    let page_bytes = reader.page_bytes();
    reader.each(pagemap, ranges.iter().cloned(), |first, entry| {
        // Samples are counted in smaller units than a large base page.
        let inside = first..first + page_bytes;
        while let Some((address, count)) = rest.next_if(|(address, _)| inside.contains(address)) {
            if entry.is_present() {
                states.push(PageState {
                    address: *address,
                    size: PageSize::of_bytes(count.page_size_bytes().unwrap_or(0).max(page_bytes)),
                    anon: !entry.is_file_or_shmem(),
                    tier: placement.tier_of(entry.pfn()),
                    active: true,
                    loads: count.loads,
                    stores: count.stores,
                });
            }
        }
    })?;
    Ok(states)
}

/// Stretches of address space that hold all pages, few and without much between.
fn lookup_ranges(pages: &[(u64, PageCount)]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (address, _) in pages {
        let end = address + u64::from(PageSize::Small4K.bytes());
        match ranges.last_mut() {
            Some(last) if *address - last.end < LOOKUP_GAP_BYTES => last.end = end,
            _ => ranges.push(*address..end),
        }
    }
    ranges
}

fn backend_of(kind: SamplerKind) -> Option<Backend> {
    match kind {
        SamplerKind::Pebs => Some(Backend::Pebs),
        SamplerKind::Ibs => Some(Backend::Ibs),
        SamplerKind::Spe => Some(Backend::Spe),
        SamplerKind::PageFaults => None,
    }
}

fn events_of(root: &Root, wanted: SamplerKind) -> Result<(EventSet, Backend), Refusal> {
    if !root.is_live() {
        return Err(Refusal {
            reason: "a recording has no processor to sample".to_owned(),
            hint: String::new(),
        });
    }
    if let Some(other) = Processor::read(root).sampler().filter(|kind| *kind != wanted) {
        return Err(another_sampler(other));
    }
    let events = EventSet::for_host(root).map_err(|error| refusal(&error))?;
    match backend_of(events.kind) {
        Some(backend) if events.kind == wanted => Ok((events, backend)),
        _ => Err(another_sampler(events.kind)),
    }
}

fn another_sampler(kind: SamplerKind) -> Refusal {
    Refusal {
        reason: format!("processors of this maker sample with {}", kind.name()),
        hint: String::new(),
    }
}

fn probe(root: &Root, kind: SamplerKind) -> Result<(), Refusal> {
    let (events, _) = events_of(root, kind)?;
    probe_events(root, &events).map_err(|error| refusal(&error))
}

fn make(root: &Root, settings: &HeatSettings, names: &NamePolicy, kind: SamplerKind) -> Started {
    let (events, backend) = events_of(root, kind)?;
    let made = SamplerBackend::new(root, settings, names.clone(), events, backend);
    Ok(Box::new(made.map_err(|error| refusal(&error))?))
}

fn refusal(error: &PerfError) -> Refusal {
    let hint = match error {
        PerfError::Privilege { .. } => "give the agent CAP_PERFMON, or run it as root",
        PerfError::NoRing { .. } => "give the agent CAP_IPC_LOCK, or raise kernel.perf_event_mlock_kb",
        PerfError::TooManyFiles { .. } => "raise LimitNOFILE= in the agent's unit",
        PerfError::Busy { .. } => "end the other program that counts or samples on this host",
        PerfError::NoPmu { .. } | PerfError::NoSamples { .. } => {
            "where this is a virtual machine, have its host pass the performance monitoring unit through"
        }
        _ => "",
    };
    Refusal {
        reason: error.to_string(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
