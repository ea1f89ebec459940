//! Follows a random sample of the pages of all services between the top tier and slower memory, by address and frame.
//!
//! Reading `/proc/<pid>/pagemap` touches no page and clears no bit, so nobody has to be listed for it. What is counted,
//! and how moves are told from pages that are mapped anew, stands in [`tierscope_sample::page_moves`].

mod choice;

use std::collections::BTreeMap;
use std::sync::Arc;

use tierscope_clock::SECOND_NS;
use tierscope_host::collectors::State;
use tierscope_host::services::Process;
use tierscope_pagetable::mappings::MapsReader;
use tierscope_pagetable::page_draw::{PageDraw, mix};
use tierscope_pagetable::pagemap::{PageEntry, PagemapReader};
use tierscope_pagetable::placement::Placement;
use tierscope_pagetable::process::Unmeasured;
use tierscope_rootfs::{Reader, Root};
use tierscope_sample::counters::Key;
use tierscope_sample::page_group::TierIndex;
use tierscope_sample::page_moves::{FollowedPage, PageMoves, Seen};
use tierscope_sample::vma_fold::ProcessKey;
use tierscope_sysfs::{nodes, tiers};
use tierscope_wire::CollectorCost;

use crate::resident;
use choice::Choice;

/// Name of the collector.
pub const NAME: &str = "page_moves";
/// A look reads one entry of eight bytes a page.
const LOOK_EVERY_NS: i64 = 15 * SECOND_NS;
/// Pages are drawn anew this often: others take the place of those that are gone, and of those that stayed long enough.
const DRAW_EVERY_NS: i64 = 600 * SECOND_NS;
/// A page is followed for about so long, so that no page stands for others for ever.
const STAY_NS: i64 = 7200 * SECOND_NS;
/// Pages looked at for each that is chosen: mappings may be sparse.
const OFFERED_PER_PAGE: u64 = 16;
const TOP: TierIndex = TierIndex(0);
const LOWER: TierIndex = TierIndex(1);

/// Why no pages are followed, and what helps.
type WhyNot = (&'static str, &'static str);

/// Follows pages, and knows what to say of it.
pub struct PageFollower {
    reader: Reader,
    maps: MapsReader,
    pagemap: PagemapReader,
    placement: Placement,
    /// Pages that are followed at once, of all processes together.
    most_pages: u64,
    secret: u64,
    processes: BTreeMap<ProcessKey, Followed>,
    moves: PageMoves,
    looked_ns: Option<i64>,
    drawn_ns: Option<i64>,
    state: State,
    cpu_ns: i64,
    looks: u64,
}

/// A process with followed pages.
#[derive(Debug)]
struct Followed {
    service: Arc<str>,
    draw: PageDraw,
    /// Pages are chosen that come next after it in a random order, and it moves on.
    cursor: u64,
    /// From the cursor to the last chosen page.
    width: u64,
    pages: BTreeMap<u64, FollowedPage>,
}

impl Followed {
    /// How far the cursor moves on in a time, so that each page stays for about [`STAY_NS`].
    fn distance(&self, elapsed_ns: i64) -> u64 {
        let stay_ns = u128::from(STAY_NS.unsigned_abs());
        let elapsed_ns = u128::from(elapsed_ns.unsigned_abs()).min(stay_ns);
        (u128::from(self.width) * elapsed_ns / stay_ns) as u64
    }
}

impl PageFollower {
    /// Follows nobody yet. `secret` decides which pages it will be.
    pub fn new(root: &Root, most_pages: u64, secret: u64) -> Self {
        Self {
            reader: Reader::new(root.clone()),
            maps: MapsReader::new(root.clone(), Box::new(|_| Arc::from(""))),
            pagemap: PagemapReader::new(root.clone()),
            placement: Placement::default(),
            most_pages,
            secret,
            processes: BTreeMap::new(),
            moves: PageMoves::default(),
            looked_ns: None,
            drawn_ns: None,
            state: State::off("no pages have been drawn yet", ""),
            cpu_ns: 0,
            looks: 0,
        }
    }

    /// Draws pages of these processes where that is due, and looks. Gives the counters since the start; none while no page
    /// is followed.
    pub fn collect(&mut self, found: &[Process], now_ns: i64) -> Vec<(Key, Option<i64>)> {
        self.look(now_ns);
        let is_due = self
            .drawn_ns
            .is_none_or(|drawn_ns| now_ns - drawn_ns >= DRAW_EVERY_NS);
        if is_due {
            let cpu_before_ns = tierscope_clock::thread_cpu_ns();
            let elapsed_ns = now_ns - self.drawn_ns.replace(now_ns).unwrap_or(now_ns);
            self.state = match self.draw(found, now_ns, elapsed_ns) {
                Ok(()) => State::on(),
                Err((reason, hint)) => {
                    self.processes.clear();
                    State::off(reason, hint)
                }
            };
            self.cpu_ns += tierscope_clock::thread_cpu_ns() - cpu_before_ns;
        }
        if self.processes.is_empty() {
            Vec::new()
        } else {
            self.moves.values()
        }
    }

    /// Looks at all followed pages where that is due.
    pub fn look(&mut self, now_ns: i64) {
        let is_early = self
            .looked_ns
            .is_some_and(|looked_ns| now_ns - looked_ns < LOOK_EVERY_NS);
        if is_early || self.processes.is_empty() {
            return;
        }
        self.looked_ns = Some(now_ns);
        let cpu_before_ns = tierscope_clock::thread_cpu_ns();
        let (pagemap, placement, moves) = (&mut self.pagemap, &self.placement, &mut self.moves);
        // A process that has ended, or that may not be looked at any more, has no pages left.
        self.processes.retain(|process, followed| {
            look_at(pagemap, placement, moves, *process, followed, now_ns).is_ok()
        });
        self.moves.end_look();
        self.cpu_ns += tierscope_clock::thread_cpu_ns() - cpu_before_ns;
        self.looks += 1;
    }

    /// Follows nobody any more.
    pub fn stop(&mut self, reason: &str) {
        self.processes.clear();
        self.drawn_ns = None;
        self.state = State::off(reason, "");
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state.clone()
    }

    /// What it took since the time before.
    pub fn cost(&mut self) -> CollectorCost {
        CollectorCost {
            name: NAME.to_owned(),
            cpu_ns: std::mem::take(&mut self.cpu_ns),
            runs: std::mem::take(&mut self.looks),
            ..CollectorCost::default()
        }
    }

    /// Draws pages of all processes together, each with the same chance.
    fn draw(&mut self, found: &[Process], now_ns: i64, elapsed_ns: i64) -> Result<(), WhyNot> {
        self.placement = sides(&mut self.reader)?;
        let mut sizes = Vec::with_capacity(found.len());
        for process in found {
            let bytes: i64 = resident::by_kind(&mut self.reader, process.pid)
                .iter()
                .map(|(_, bytes)| bytes)
                .sum();
            sizes.push(bytes.max(0).unsigned_abs());
        }
        let mut before = std::mem::take(&mut self.processes);
        let mut frames_are_hidden = false;
        let mut denied = None;
        for (process, wanted) in found.iter().zip(shares(&sizes, self.most_pages, self.secret)) {
            if wanted == 0 {
                continue;
            }
            let key = ProcessKey {
                pid: process.pid,
                start_time_ticks: process.start_time,
            };
            let service: Arc<str> = Arc::from(process.service.to_string());
            let known = before.remove(&key).filter(|known| known.service == service);
            match self.draw_of(key, service, known, wanted as usize, (now_ns, elapsed_ns)) {
                Ok(Some(followed)) => {
                    self.processes.insert(key, followed);
                }
                Ok(None) => frames_are_hidden = true,
                Err(reason) => denied = Some(reason),
            }
        }
        let services = self
            .processes
            .values()
            .map(|followed| Arc::clone(&followed.service));
        self.moves.expect(services);
        match denied {
            _ if !self.processes.is_empty() => Ok(()),
            _ if frames_are_hidden => Err((
                "the kernel shows this agent no page frames, without which a move is not told from a page that is mapped anew",
                "run the agent as root, or with CAP_SYS_ADMIN",
            )),
            Some(Unmeasured::Permission { .. }) => Err((
                "the kernel refuses to show pages of other users' processes",
                "run the agent as root, or with CAP_SYS_PTRACE and CAP_SYS_ADMIN",
            )),
            _ => Err(("no process of a service has memory", "")),
        }
    }

    /// So many pages of one process; those that were followed `before` stay for their time. `None` where frames are hidden.
    fn draw_of(
        &mut self,
        process: ProcessKey,
        service: Arc<str>,
        before: Option<Followed>,
        wanted: usize,
        (now_ns, elapsed_ns): (i64, i64),
    ) -> Result<Option<Followed>, Unmeasured> {
        let mappings = self.maps.read(process)?;
        let opened = self.pagemap.open(process)?;
        // Next to nothing is resident of what a process may not touch.
        let ranges: Vec<_> = mappings
            .iter()
            .filter(|mapping| mapping.accessible)
            .map(|mapping| mapping.page_mapping.start..mapping.page_mapping.end)
            .collect();
        let span_pages = pages_of(&ranges, self.pagemap.page_bytes());
        let secret = mix(self.secret ^ u64::from(process.pid) ^ process.start_time_ticks.rotate_left(32));
        let offered = wanted as u64 * OFFERED_PER_PAGE;
        let draw = PageDraw::about(
            secret,
            span_pages,
            offered,
            before.as_ref().map(|before| before.draw),
        );
        let mut before = before;
        let cursor = before.as_ref().map_or(0, |before| {
            before.cursor.wrapping_add(before.distance(elapsed_ns))
        });
        let known = before
            .as_mut()
            .map(|before| std::mem::take(&mut before.pages))
            .unwrap_or_default();
        let was_empty = known.is_empty();
        let mut choice = Choice::new((!secret, cursor), wanted, known);
        let (mut is_any, placement) = (false, &self.placement);
        for range in ranges {
            self.pagemap.each_drawn(&opened, range, &draw, |address, entry| {
                is_any |= entry.is_present();
                if let Some(seen) = see(placement, entry) {
                    choice.offer(address, seen);
                }
            })?;
        }
        self.pagemap.check_identity(&opened)?;
        let (width, pages) = choice.finish(now_ns);
        if is_any && was_empty && pages.is_empty() {
            return Ok(None);
        }
        Ok(Some(Followed {
            service,
            draw,
            cursor,
            width,
            pages,
        }))
    }
}

fn pages_of(ranges: &[std::ops::Range<u64>], page_bytes: u64) -> u64 {
    ranges
        .iter()
        .map(|range| (range.end - range.start) / page_bytes)
        .sum()
}

/// Looks at the followed pages of one process; those that are gone are followed no more.
fn look_at(
    pagemap: &mut PagemapReader,
    placement: &Placement,
    moves: &mut PageMoves,
    process: ProcessKey,
    followed: &mut Followed,
    now_ns: i64,
) -> Result<(), Unmeasured> {
    let opened = pagemap.open(process)?;
    let mut shown = BTreeMap::new();
    for address in followed.pages.keys() {
        let seen = see(placement, pagemap.entry(&opened, *address)?);
        shown.extend(seen.map(|seen| (*address, seen)));
    }
    pagemap.check_identity(&opened)?;
    followed.pages.retain(|address, page| {
        let seen = shown.get(address);
        if let Some(seen) = seen {
            moves.look(&followed.service, page, *seen, now_ns);
        }
        seen.is_some()
    });
    Ok(())
}

/// What an entry says of its page; `None` where none is in memory, or in no known tier.
fn see(placement: &Placement, entry: PageEntry) -> Option<Seen> {
    let frame = entry.pfn()?;
    Some(Seen {
        is_top: placement.tier_of(Some(frame))? == TOP,
        frame,
        is_anon: !entry.is_file_or_shmem(),
    })
}

/// How many of `pages` fall to each process, by its resident memory: systematic sampling, so that each is within one page
/// of its share and small ones are chosen now and then.
fn shares(sizes: &[u64], pages: u64, secret: u64) -> Vec<u64> {
    let total: u128 = sizes.iter().map(|bytes| u128::from(*bytes)).sum();
    let offset = (u128::from(mix(secret)) * total) >> 64;
    let mut below = 0_u128;
    let mut until = |bytes: u64| {
        below += u128::from(bytes);
        (below * u128::from(pages) + offset) / total.max(1)
    };
    let mut last = 0;
    sizes
        .iter()
        .map(|bytes| {
            let count = until(*bytes);
            (count - std::mem::replace(&mut last, count)) as u64
        })
        .collect()
}

/// Which frames are in the kernel's top tiers and which are in slower memory.
fn sides(reader: &mut Reader) -> Result<Placement, WhyNot> {
    const ONE_TIER: WhyNot = ("the host has one memory tier: no page moves between tiers", "");
    let ids = nodes::ids(reader).unwrap_or_default();
    let with_cpus: Vec<u32> = ids
        .iter()
        .copied()
        .filter(|node| nodes::describe(reader, *node).has_cpu())
        .collect();
    let tiers = tiers::read(reader).unwrap_or_default();
    let has_cpus = |tier: &tiers::Tier| tier.nodes.iter().any(|node| with_cpus.contains(node));
    // The top tiers end with the slowest one that has processors (`mm/memory-tiers.c`, `top_tier_adistance`). Kernels
    // that print no tiers demote from nodes with processors to those without.
    let lower: Vec<u32> = match tiers.iter().rposition(has_cpus) {
        Some(last) => tiers[last + 1..]
            .iter()
            .flat_map(|tier| tier.nodes.clone())
            .collect(),
        None => ids
            .iter()
            .copied()
            .filter(|node| !with_cpus.contains(node))
            .collect(),
    };
    if lower.is_empty() {
        return Err(ONE_TIER);
    }
    let mut ranges = Vec::new();
    for node in &ids {
        let tier = if lower.contains(node) { LOWER } else { TOP };
        let of_node = nodes::physical_ranges(reader, *node);
        ranges.extend(of_node.into_iter().map(|(start, bytes)| (start, bytes, tier)));
    }
    let has = |wanted: TierIndex| ranges.iter().any(|(_, _, tier)| *tier == wanted);
    if has(TOP) && has(LOWER) {
        Ok(Placement::of_ranges(ranges, reader.root().page_bytes()))
    } else {
        Err((
            "the host does not show which memory blocks belong to which node",
            "",
        ))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
