//! Exact bytes touched, by stretch of each process's memory, with DAMON's filter for accessed pages. Rules:
//! docs/method/damon.md.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tierscope_damon::DamonError;
use tierscope_damon::plan::Plan;
use tierscope_damon::session::Session;
use tierscope_damon::window::{Watcher, Window};
use tierscope_host::names::NamePolicy;
use tierscope_pagetable::mappings::MapsReader;
use tierscope_pagetable::pagemap::PagemapReader;
use tierscope_pagetable::process::Unmeasured;
use tierscope_rootfs::Root;
use tierscope_sample::fold::{IntervalEnd, Measured};
use tierscope_sample::heat::{Backend, Beside, Granularity, PageKind};
use tierscope_sample::tile_grid::EpochIds;
use tierscope_sample::vma_fold::{ProcessKey, VmaFolder, VmaReading};

use crate::backend::{HeatBackend, HeatProcess, HeatRound, HeatSettings, Refusal, Started, is_one_interval};
use crate::damon_guard;
use crate::damon_pages::{WINDOW_SHARE, probe as probe_pages, refusal};
use crate::page_groups::mapping_namer;

/// The name of this back end.
pub(crate) const NAME: &str = "damon_regions";

/// Most runs of page frames that are watched: reading the result of each takes the kernel and the agent some 10 us.
const MAX_RUNS: usize = 40_000;
/// Mappings are cut in stretches of this size, so that the place of the heat shows; 64 of them at most.
const SMALLEST_STRETCH_BYTES: u64 = 4 << 20;
const MAX_STRETCHES: u64 = 64;

/// Pages with successive frames that belong to one stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    frames: Range<u64>,
    /// Place in the list of stretches.
    stretch: usize,
}

#[derive(Debug, Default)]
struct Watched {
    /// Sorted by frame; a frame that several processes map belongs to the first.
    runs: Vec<Run>,
    /// Stretches of each process: first and number.
    processes: HashMap<ProcessKey, Range<usize>>,
    stretches: Vec<VmaReading>,
}

impl Watched {
    /// Stretches of a process, by address.
    fn of(&self, process: ProcessKey) -> &[VmaReading] {
        let range = self.processes.get(&process).cloned().unwrap_or_default();
        &self.stretches[range]
    }

    /// Sorts the runs, and leaves frames of several processes to the first.
    fn sort(&mut self) {
        self.runs.sort_by_key(|run| (run.frames.start, run.stretch));
        let mut reached = 0;
        for run in &mut self.runs {
            run.frames.start = run.frames.start.max(reached).min(run.frames.end);
            reached = reached.max(run.frames.end);
        }
        self.runs.retain(|run| !run.frames.is_empty());
    }

    /// Adds touched bytes of physical addresses to the stretches that lie there. Where the kernel joined runs of
    /// several stretches, each gets its part by size.
    fn touch(&mut self, addresses: &Range<u64>, bytes: u64, page_bytes: u64) {
        let frames = addresses.start / page_bytes..addresses.end.div_ceil(page_bytes);
        let first = self.runs.partition_point(|run| run.frames.end <= frames.start);
        let all = frames.end - frames.start;
        for run in self.runs[first..]
            .iter()
            .take_while(|run| run.frames.start < frames.end)
        {
            let common = run.frames.end.min(frames.end) - run.frames.start.max(frames.start);
            let part = u128::from(bytes) * u128::from(common) / u128::from(all.max(1));
            self.stretches[run.stretch].referenced_bytes += part as i64;
        }
    }
}

/// Measures how many bytes of each stretch are touched.
pub(crate) struct DamonRegions {
    watcher: Watcher,
    /// How long the end of a window is waited for.
    patience: Duration,
    maps: MapsReader,
    pagemap: PagemapReader,
    settings: HeatSettings,
    groups: HashMap<(Arc<str>, Arc<str>), VmaFolder>,
    epoch_seeds: EpochIds,
    /// When the running interval of each process began.
    begun: HashMap<ProcessKey, IntervalEnd>,
    /// Processes whose accessed bits were cleared at the end of a window: what is set after it is of the next one.
    cleared: HashSet<ProcessKey>,
    watched: Watched,
}

impl DamonRegions {
    /// One that has DAMON and watches nothing yet. `names` says how mapped files may be called.
    pub(crate) fn new(root: &Root, settings: &HeatSettings, names: NamePolicy, session: Session) -> Self {
        Self {
            watcher: Watcher::new(session),
            patience: settings.interval().mul_f64(1.0 - WINDOW_SHARE),
            maps: MapsReader::new(root.clone(), mapping_namer(names)),
            pagemap: PagemapReader::new(root.clone()),
            epoch_seeds: EpochIds::new(settings.epoch_seed),
            settings: settings.clone(),
            groups: HashMap::new(),
            begun: HashMap::new(),
            cleared: HashSet::new(),
            watched: Watched::default(),
        }
    }

    fn bytes_read(&self) -> u64 {
        self.maps.bytes_read() + self.pagemap.bytes_read()
    }

    /// Adds the resident memory of a process to what is watched next.
    fn look(&mut self, process: ProcessKey, next: &mut Watched) -> Result<(), Unmeasured> {
        self.maps.check_size(process, self.settings.rss_limit_bytes)?;
        let mappings = self.maps.read(process)?;
        let opened = self.pagemap.open(process)?;
        let page_bytes = self.pagemap.page_bytes();
        let (first, first_run) = (next.stretches.len(), next.runs.len());
        for mapping in &mappings {
            let mapping = &mapping.page_mapping;
            let size = mapping.end - mapping.start;
            let step = SMALLEST_STRETCH_BYTES.max((size / MAX_STRETCHES).next_power_of_two());
            // Unnamed memory of several stretches has to have a name, by which they are one mapping.
            let is_cut = mapping.name.is_empty() && size > step;
            let name = if is_cut {
                unnamed(mapping.start)
            } else {
                Arc::clone(&mapping.name)
            };
            let mut start = mapping.start;
            while start < mapping.end {
                let end = mapping.end.min((start / step + 1) * step);
                let offset = start - mapping.start + mapping.offset_bytes;
                let stretch = next.stretches.len();
                let (mut pages, mut anon) = (0, 0);
                let runs = &mut next.runs;
                self.pagemap
                    .each(&opened, std::iter::once(start..end), |_, entry| {
                        let Some(frame) = entry.pfn() else { return };
                        pages += 1;
                        anon += i64::from(!entry.is_file_or_shmem());
                        add_frame(runs, frame, stretch);
                    })?;
                next.stretches.push(VmaReading {
                    start,
                    end,
                    offset_bytes: offset.cast_signed(),
                    mapping: Arc::clone(&name),
                    kind: if anon == pages && pages > 0 {
                        PageKind::Anon
                    } else {
                        mapping.kind
                    },
                    page_size_bytes: page_bytes as u32,
                    resident_bytes: pages * page_bytes.cast_signed(),
                    referenced_bytes: 0,
                    beside: Beside::default(),
                });
                start = end;
            }
        }
        let gone = self.pagemap.check_identity(&opened).err();
        if let Some(problem) = gone.or_else(|| too_scattered(next.runs.len() - first_run)) {
            next.runs.truncate(first_run);
            next.stretches.truncate(first);
            return Err(problem);
        }
        next.processes.insert(process, first..next.stretches.len());
        Ok(())
    }

    /// Folds what was touched in the stretches of a process, with what is resident of them now.
    fn fold(&mut self, process: &HeatProcess, next: &Watched, is_window: bool, end: IntervalEnd) {
        let key = process.key;
        let began = self.begun.get(&key).copied();
        let in_time = began.is_some_and(|began| is_one_interval(began, end, self.settings.interval_ns));
        let observed = is_window && in_time && self.cleared.contains(&key);
        let touched = self.watched.of(key);
        let mut readings = next.of(key).to_vec();
        for reading in &mut readings {
            let same = touched.binary_search_by_key(&reading.start, |old| old.start);
            let bytes = same.map_or(0, |index| touched[index].referenced_bytes);
            reading.referenced_bytes = bytes.min(reading.resident_bytes);
        }
        let (settings, seeds) = (&self.settings, &mut self.epoch_seeds);
        let group = (Arc::clone(&process.service), Arc::clone(&process.group));
        let folder = self.groups.entry(group).or_insert_with(|| {
            let measured = Measured {
                backend: Backend::DamonRegions,
                granularity: Granularity::Region,
                interval_ns: settings.interval_ns,
                service: Arc::clone(&process.service),
                group: Arc::clone(&process.group),
            };
            VmaFolder::new(measured, settings.tier.clone(), seeds.next_id())
        });
        folder.observe(key, observed, readings);
    }

    /// Waits for the window that ends now.
    fn window(&mut self) -> Option<Result<Window, DamonError>> {
        if self.watched.runs.is_empty() {
            return None;
        }
        self.watcher.take(self.patience)
    }
}

/// Why so many runs of page frames are not watched; `None` for a number that is.
fn too_scattered(runs: usize) -> Option<Unmeasured> {
    (runs > MAX_RUNS).then(|| {
        Unmeasured::Unreadable(format!(
            "its memory lies in {runs} runs of page frames, more than {MAX_RUNS}; choose damon_pages for it"
        ))
    })
}

impl HeatBackend for DamonRegions {
    fn name(&self) -> &'static str {
        NAME
    }

    fn collect(&mut self, processes: &[HeatProcess], end: IntervalEnd) -> HeatRound {
        let (cpu_before, bytes_before) = (tierscope_clock::thread_cpu_ns(), self.bytes_read());
        let mut round = HeatRound::default();
        let (window, mut problem) = match self.window() {
            Some(Ok(window)) => (Some(window), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        for region in window.iter().flat_map(|window| &window.regions) {
            let bytes = region.young_bytes.unwrap_or(0);
            self.watched
                .touch(&region.range, bytes, self.pagemap.page_bytes());
        }
        let mut next = Watched::default();
        let mut begun = HashMap::new();
        for process in processes {
            match self.look(process.key, &mut next) {
                Ok(()) => {
                    self.fold(process, &next, window.is_some(), end);
                    begun.insert(process.key, end);
                }
                Err(reason) => round.skipped.push((process.clone(), reason.to_string())),
            }
        }
        self.begun = begun;
        self.cleared = if window.is_some() {
            self.watched.processes.keys().copied().collect()
        } else {
            HashSet::new()
        };
        next.sort();
        self.watched = next;
        problem = problem.or(self.watch().err());
        self.finish(end, &mut round);
        if let Some(error) = problem {
            round.measured = 0;
            let left = |process: &HeatProcess| (process.clone(), error.to_string());
            round.skipped = processes.iter().map(left).collect();
        }
        let of_window = window.map_or((0, 0), |window| (window.cpu_ns, window.kernel_cpu_ns));
        round.cpu_ns = tierscope_clock::thread_cpu_ns() - cpu_before + of_window.0;
        round.kernel_cpu_ns = of_window.1;
        round.bytes_read = self.bytes_read() - bytes_before;
        round
    }

    fn miss(&mut self) {
        self.watcher.stop();
        self.watched = Watched::default();
        self.begun.clear();
        self.cleared.clear();
        self.groups.values_mut().for_each(VmaFolder::miss);
    }
}

impl DamonRegions {
    /// Begins the next window.
    fn watch(&mut self) -> Result<(), DamonError> {
        let frames: Vec<_> = self.watched.runs.iter().map(|run| run.frames.clone()).collect();
        let window = self.settings.interval().mul_f64(WINDOW_SHARE);
        match Plan::young(&frames, self.pagemap.page_bytes(), window) {
            Ok(plan) => self.watcher.watch(plan),
            Err(DamonError::Nothing) => self.watcher.stop(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn finish(&mut self, end: IntervalEnd, round: &mut HeatRound) {
        round.measured = self.begun.len();
        for folder in self.groups.values_mut() {
            let folded = folder.finish(end);
            round.folded.rows.extend(folded.rows);
            round.folded.tile_epochs.extend(folded.tile_epochs);
            round.folded.tile_columns.extend(folded.tile_columns);
        }
        self.groups.retain(|_, folder| !folder.is_empty());
    }
}

/// Adds a frame to the last run, or begins one with it.
fn add_frame(runs: &mut Vec<Run>, frame: u64, stretch: usize) {
    match runs.last_mut() {
        Some(last) if last.stretch == stretch && last.frames.end == frame => last.frames.end += 1,
        _ => runs.push(Run {
            frames: frame..frame + 1,
            stretch,
        }),
    }
}

/// A name for unnamed memory that says nothing of its address: a hash of it.
fn unnamed(start: u64) -> Arc<str> {
    let mixed = start.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Arc::from(format!("anon-{:04x}x", mixed >> 48))
}

/// Whether the kernel counts accessed bytes, tried on a page of this process.
pub(crate) fn probe(root: &Root) -> Result<(), Refusal> {
    probe_pages(root)?;
    let mut session = Session::begin(root, &damon_guard::guard()).map_err(|error| refusal(&error))?;
    // Which frame it is makes no difference: what is tried is whether the filter and its counts are there.
    let plan = Plan::young(
        std::slice::from_ref(&(4096..4097)),
        root.page_bytes(),
        Duration::from_millis(50),
    );
    let tried = plan.and_then(|plan| session.start(&plan));
    tried.map_err(|error| refusal(&error))
}

/// One that has DAMON and has measured nothing yet.
pub(crate) fn make(root: &Root, settings: &HeatSettings, names: &NamePolicy) -> Started {
    let session = Session::begin(root, &damon_guard::guard()).map_err(|error| refusal(&error))?;
    Ok(Box::new(DamonRegions::new(
        root,
        settings,
        names.clone(),
        session,
    )))
}

#[cfg(test)]
mod tests;
