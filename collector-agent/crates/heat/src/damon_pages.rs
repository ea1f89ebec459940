//! Heat of a random panel of pages by DAMON: one region for each page. Rules: docs/method/damon.md.

mod panel;

use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use tierscope_damon::DamonError;
use tierscope_damon::plan::{CHECKS_PER_WINDOW, Plan};
use tierscope_damon::session::Session;
use tierscope_damon::window::{Watcher, Window};
use tierscope_host::names::NamePolicy;
use tierscope_pagetable::mappings::{Mapping, MapsReader};
use tierscope_pagetable::page_draw::{PageDraw, mix};
use tierscope_pagetable::pagemap::PagemapReader;
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::{Unmeasured, process_key};
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::fold::IntervalEnd;
use tierscope_sample::heat::{Backend, PageKind};
use tierscope_sample::page_group::{Census, PageSize, PageState};
use tierscope_sample::tile_grid::EpochIds;
use tierscope_sample::vma_fold::ProcessKey;

use crate::backend::{HeatBackend, HeatProcess, HeatRound, HeatSettings, Refusal, Started};
use crate::damon_guard;
use crate::page_groups::{PageGroups, mapping_namer};
use crate::resident;
use crate::tiers::Tiers;
use panel::{Member, PANEL_PAGES, Panel};

/// The name of this back end.
pub(crate) const NAME: &str = "damon_pages";

/// Share of an interval that a window takes: the rest is for drawing a panel and for delays of the kernel thread.
pub(crate) const WINDOW_SHARE: f64 = 0.94;
/// Shortest time between two checks: the kernel rounds it up to its ticks, so that windows of short ones come late.
const SHORTEST_CHECK: Duration = Duration::from_millis(250);
/// Checks of each page in a window when the kernel thread is too slow for more.
const FEWEST_CHECKS: u32 = 10;
const KINDS: [PageKind; 3] = [PageKind::Anon, PageKind::File, PageKind::Tmpfs];

/// What is known of a process at the end of an interval.
struct Visit {
    mappings: Vec<Mapping>,
    /// By kind.
    resident_bytes: [i64; 3],
    /// Members of the last panel that are still where they were.
    kept: Vec<Member>,
}

/// Measures how often the pages of a panel are touched.
pub(crate) struct DamonPages {
    watcher: Watcher,
    /// How long the end of a window is waited for.
    patience: Duration,
    status: Reader,
    maps: MapsReader,
    pagemap: PagemapReader,
    /// Which pages of large processes are looked at.
    draws: HashMap<ProcessKey, PageDraw>,
    secret: u64,
    groups: PageGroups,
    tiers: Tiers,
    /// Where memory lies in this round.
    placement: Placement,
    panel: Panel,
    /// The pages that are being watched, by process and address.
    watched: Vec<Member>,
    numbers: HashMap<(Arc<str>, Arc<str>), usize>,
    /// Checks of each page in a window.
    checks: u32,
    settings: HeatSettings,
}

impl DamonPages {
    /// One that has DAMON and watches nothing yet. `names` says how mapped files may be called; the panel has at most
    /// `pages` pages.
    pub(crate) fn new(
        root: &Root,
        settings: &HeatSettings,
        names: NamePolicy,
        session: Session,
        pages: usize,
    ) -> Self {
        let secret = EpochIds::new(settings.epoch_seed ^ 0x0050_414e_454c).next_id();
        let tiers = Tiers::read(root, settings);
        let groups = PageGroups::new(root, Backend::DamonPages, Census::Sample, settings);
        Self {
            watcher: Watcher::new(session),
            patience: settings.interval().mul_f64(1.0 - WINDOW_SHARE),
            status: Reader::new(root.clone()),
            draws: HashMap::new(),
            secret,
            maps: MapsReader::new(root.clone(), mapping_namer(names)),
            pagemap: PagemapReader::new(root.clone()),
            groups: groups.with_tiers(tiers.labels()),
            placement: Placement::default(),
            tiers,
            panel: Panel::new(secret, pages),
            watched: Vec::new(),
            numbers: HashMap::new(),
            checks: CHECKS_PER_WINDOW,
            settings: settings.clone(),
        }
    }

    fn bytes_read(&self) -> u64 {
        self.status.bytes_read() + self.maps.bytes_read() + self.pagemap.bytes_read()
    }

    /// Looks at the resident pages of a process, or at a draw of them where its mappings span much: how many there are,
    /// which of the watched ones are still there, and offers all to the next panel.
    fn look(&mut self, process: &HeatProcess) -> Result<Visit, Unmeasured> {
        let mappings = self.maps.read(process.key)?;
        let (draw, draw_of_reserved) = self.draws_of(process.key, &mappings);
        let opened = self.pagemap.open(process.key)?;
        let group = (Arc::clone(&process.service), Arc::clone(&process.group));
        let next = self.numbers.len();
        let number = *self.numbers.entry(group).or_insert(next);
        let first = self
            .watched
            .partition_point(|member| member.process < process.key);
        let mut watched = self.watched[first..]
            .iter()
            .take_while(|member| member.process == process.key)
            .peekable();
        let mut visit = Visit {
            mappings: Vec::new(),
            resident_bytes: [0; 3],
            kept: Vec::new(),
        };
        let page_bytes = self.pagemap.page_bytes();
        let panel = &mut self.panel;
        for mapping in &mappings {
            let (kind, range) = (
                mapping.page_mapping.kind,
                mapping.page_mapping.start..mapping.page_mapping.end,
            );
            let draw = if mapping.accessible {
                &draw
            } else {
                &draw_of_reserved
            };
            let pages = draw.pages_per_run();
            self.pagemap.each_drawn(&opened, range, draw, |address, entry| {
                let Some(frame) = entry.pfn() else { return };
                let member = Member {
                    process: process.key,
                    address,
                    frame,
                    anon: !entry.is_file_or_shmem(),
                };
                let kind = if member.anon { PageKind::Anon } else { kind };
                visit.resident_bytes[kind as usize] += (page_bytes * pages).cast_signed();
                while watched.next_if(|old| old.address < address).is_some() {}
                if watched.next_if_eq(&&member).is_some() {
                    visit.kept.push(member);
                }
                panel.offer(number, kind, member, pages);
            })?;
        }
        if draw.pages_per_run() > 1 {
            count_exactly(&mut self.status, process.key.pid, &mut visit.resident_bytes);
        }
        self.pagemap.check_identity(&opened)?;
        self.draws.insert(process.key, draw);
        visit.mappings = mappings;
        Ok(visit)
    }

    /// Which pages of a process are looked at: of what it may touch, and of what it has but reserved, where next to
    /// nothing is resident however much address space it takes.
    fn draws_of(&self, process: ProcessKey, mappings: &[Mapping]) -> (PageDraw, PageDraw) {
        let page_bytes = self.pagemap.page_bytes();
        let span_pages = |accessible: bool| {
            let of_kind = mappings.iter().filter(|mapping| mapping.accessible == accessible);
            of_kind
                .map(|mapping| (mapping.page_mapping.end - mapping.page_mapping.start) / page_bytes)
                .sum()
        };
        let secret = mix(self.secret ^ u64::from(process.pid) ^ process.start_time_ticks.rotate_left(32));
        let before = self.draws.get(&process).copied();
        (
            PageDraw::of(secret, span_pages(true), before),
            PageDraw::of(secret, span_pages(false), None),
        )
    }

    /// Folds what the window says about the watched pages of a process.
    fn fold(
        &mut self,
        process: &HeatProcess,
        visit: &Visit,
        accesses: Option<&HashMap<u64, u32>>,
        end: IntervalEnd,
    ) {
        let observed = accesses.is_some() && self.groups.is_observed(process.key, end) == Some(true);
        let mut reading = self.groups.reading(process, observed);
        let size = PageSize::of_bytes(self.pagemap.page_bytes());
        let mut kept = visit.kept.iter().peekable();
        for mapping in &visit.mappings {
            let inside = |member: &&Member| member.address < mapping.page_mapping.end;
            let mut pages = Vec::new();
            while let Some(member) = kept.next_if(|member| inside(member)) {
                let seen = accesses.map(|accesses| accesses.get(&member.frame));
                // A page next to another of the panel was not watched.
                if seen == Some(None) {
                    continue;
                }
                let checks = seen.flatten().copied().unwrap_or(0);
                pages.push(PageState {
                    address: member.address,
                    size,
                    anon: member.anon,
                    tier: self.placement.tier_of(Some(member.frame)),
                    active: checks > 0,
                    loads: checks,
                    stores: 0,
                });
            }
            reading.mapping(&mapping.page_mapping, &pages);
        }
        for kind in KINDS {
            reading.resident(kind, visit.resident_bytes[kind as usize]);
        }
        self.groups.begin(process.key, end);
    }

    /// The window that has just ended, if it came in time and without an error.
    fn window(&mut self) -> Option<Result<Window, DamonError>> {
        if self.watched.is_empty() {
            return None;
        }
        let window = self.watcher.take(self.patience);
        if window.is_none() {
            // The kernel thread sleeps between checks for as long as it was told, whatever time a check takes.
            self.checks = (self.checks / 2).max(FEWEST_CHECKS);
        }
        window
    }

    /// Begins to watch the panel that was drawn.
    fn watch(&mut self) -> Result<(), DamonError> {
        self.watched = self.panel.finish();
        let frames: Vec<u64> = self.watched.iter().map(|member| member.frame).collect();
        let window = self.settings.interval().mul_f64(WINDOW_SHARE);
        let most = (window.as_millis() / SHORTEST_CHECK.as_millis()) as u32;
        let checks = self.checks.min(most.max(FEWEST_CHECKS));
        match Plan::pages_with(&frames, self.pagemap.page_bytes(), window, checks) {
            Ok(plan) => self.watcher.watch(plan),
            // Nobody has memory, or nobody is listed.
            Err(DamonError::Nothing) => self.watcher.stop(),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl HeatBackend for DamonPages {
    fn name(&self) -> &'static str {
        NAME
    }

    fn collect(&mut self, processes: &[HeatProcess], end: IntervalEnd) -> HeatRound {
        let (cpu_before, bytes_before) = (tierscope_clock::thread_cpu_ns(), self.bytes_read());
        let mut round = HeatRound::default();
        let mut problem = None;
        let window = match self.window() {
            Some(Ok(window)) => Some(window),
            Some(Err(error)) => {
                problem = Some(error);
                None
            }
            None => None,
        };
        let accesses: Option<HashMap<u64, u32>> = window.as_ref().map(|window| {
            let regions = window.regions.iter();
            let page_bytes = self.pagemap.page_bytes();
            regions
                .map(|region| (region.range.start / page_bytes, region.accesses.unwrap_or(0)))
                .collect()
        });
        self.placement = self.tiers.placement();
        for process in processes {
            match self.look(process) {
                Ok(visit) => self.fold(process, &visit, accesses.as_ref(), end),
                Err(reason) => round.skipped.push((process.clone(), reason.to_string())),
            }
        }
        let listed: HashSet<ProcessKey> = processes.iter().map(|process| process.key).collect();
        self.draws.retain(|process, _| listed.contains(process));
        problem = problem.or(self.watch().err());
        let (folded, measured) = self.groups.finish(end);
        (round.folded, round.measured) = (folded, measured);
        if let Some(error) = problem {
            let reason = error.to_string();
            round.measured = 0;
            round.skipped = processes
                .iter()
                .map(|process| (process.clone(), reason.clone()))
                .collect();
        }
        let of_window = window.map_or((0, 0), |window| (window.cpu_ns, window.kernel_cpu_ns));
        round.cpu_ns = tierscope_clock::thread_cpu_ns() - cpu_before + of_window.0;
        round.kernel_cpu_ns = of_window.1;
        round.bytes_read = self.bytes_read() - bytes_before;
        round
    }

    fn miss(&mut self) {
        self.watcher.stop();
        self.watched.clear();
        self.groups.miss();
    }
}

/// Puts the kernel's own counts in the place of what a draw says of resident memory. They lack hugetlb pages: of a
/// process with such the draw's are better.
fn count_exactly(status: &mut Reader, pid: u32, resident_bytes: &mut [i64; 3]) {
    if resident::has_hugetlb(status, pid) {
        return;
    }
    for (kind, bytes) in resident::by_kind(status, pid) {
        resident_bytes[kind as usize] = bytes;
    }
}

/// Watches pages of this process, half of which it touches.
pub(crate) fn probe(root: &Root) -> Result<(), Refusal> {
    const PAGES: usize = 64;
    /// More than the processor keeps translations for: a touch through a kept one would set no bit. They are read and
    /// never written, so that they are the kernel's page of zeros and take no memory.
    const OTHER_PAGES: usize = 8192;
    const WINDOW: Duration = Duration::from_millis(200);
    let session = Session::begin(root, &damon_guard::guard()).map_err(|error| refusal(&error))?;
    let page = root.page_bytes() as usize;
    let mut memory = vec![1_u8; (2 * PAGES + 1) * page];
    let other = vec![0_u8; OTHER_PAGES * page];
    let first = memory.as_ptr().addr().next_multiple_of(page) - memory.as_ptr().addr();
    let unreadable = |reason: Unmeasured| Refusal {
        reason: reason.to_string(),
        hint: "run the agent as root".to_owned(),
    };
    // Every second page, so that none is next to another.
    let places = (0..PAGES).map(|number| first + 2 * number * page);
    let key = process_key(root, std::process::id()).map_err(unreadable)?;
    let mut reader = PagemapReader::new(root.clone());
    let opened = reader.open(key).map_err(unreadable)?;
    let mut frames = HashMap::new();
    for (number, place) in places.clone().enumerate() {
        let address = (memory.as_ptr().addr() + place) as u64;
        let entry = reader.entry(&opened, address).map_err(unreadable)?;
        let frame = entry.pfn().ok_or_else(|| Refusal {
            reason: "the kernel does not show page frame numbers to this process".to_owned(),
            hint: "give the agent CAP_SYS_ADMIN, or run it as root".to_owned(),
        })?;
        frames.insert(frame, number % 2 == 0);
    }
    let watcher = Watcher::new(session);
    let all: Vec<u64> = frames.keys().copied().collect();
    watcher.watch(Plan::pages(&all, root.page_bytes(), WINDOW).map_err(|error| refusal(&error))?);
    let window = loop {
        let touched = places.clone().step_by(2);
        touched.for_each(|place| memory[place] = black_box(memory[place].wrapping_add(1)));
        for page in black_box(&other).chunks(page) {
            black_box(page[0]);
        }
        if let Some(window) = watcher.take(Duration::from_millis(1)) {
            break window.map_err(|error| refusal(&error))?;
        }
    };
    judge(&window, &frames, root.page_bytes())
}

/// Whether the window shows which pages were touched. `frames` says which were.
fn judge(window: &Window, frames: &HashMap<u64, bool>, page_bytes: u64) -> Result<(), Refusal> {
    let (mut found, mut wrong) = (0, 0);
    for region in &window.regions {
        let seen = region.accesses.unwrap_or(0) > 0;
        match frames.get(&(region.range.start / page_bytes)) {
            Some(true) => found += usize::from(seen),
            Some(false) => wrong += usize::from(seen),
            None => {}
        }
    }
    let touched = frames.values().filter(|touched| **touched).count();
    // Pages that the kernel moved in between do not count against it.
    if found * 4 >= touched * 3 && wrong * 8 <= touched {
        return Ok(());
    }
    Err(Refusal {
        reason: format!(
            "DAMON does not follow accesses: {found} of {touched} touched pages found, and {wrong} that were not touched"
        ),
        hint: "use another back end".to_owned(),
    })
}

/// One that has DAMON and has measured nothing yet.
pub(crate) fn make(root: &Root, settings: &HeatSettings, names: &NamePolicy) -> Started {
    let session = Session::begin(root, &damon_guard::guard()).map_err(|error| refusal(&error))?;
    Ok(Box::new(DamonPages::new(
        root,
        settings,
        names.clone(),
        session,
        PANEL_PAGES,
    )))
}

/// Why DAMON does not measure, with what to do.
pub(crate) fn refusal(error: &DamonError) -> Refusal {
    let hint = match error {
        DamonError::NotSupported | DamonError::Lacks { .. } => {
            "use a kernel with CONFIG_DAMON_SYSFS and CONFIG_DAMON_PADDR, or another back end"
        }
        DamonError::Permission { .. } | DamonError::Guard { .. } => "run the agent as root",
        DamonError::InUse { .. } => "end the other use of DAMON, or use another back end",
        DamonError::Module { .. } => "switch the module off, or use another back end",
        _ => "use another back end",
    };
    Refusal {
        reason: error.to_string(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
mod tests;
