//! All of a simulation that changes: its pages, and how full each tier is.

use crate::inactive::Inactive;
use crate::kernel_lru::{KernelLru, Look, Moment, Seen};
use crate::metrics::{Interval, SwapEvent};
use crate::page::{KINDS, Kind, MEMORY_TIERS, NEVER, Page, Tier};
use crate::params::{Lru, MOST_UNITS, Params, Policy};
use crate::pieces::Pieces;
use crate::scanner::Scanner;
use crate::tenant::{Group, make_groups};
use crate::trace::Trace;
use crate::victims::{Victim, Victims};

/// A demotion of this interval, with what it changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lowered {
    pub victim: Victim,
    pub before: Page,
    /// When it was demoted before.
    pub demoted: u32,
}

/// Whether kswapd is awake, and the time that it has not spent yet.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Awake {
    pub is_on: bool,
    pub seconds: f64,
    /// Units that it may still free for a large page that needs one piece; 0: none does.
    pub piece_gap: u64,
    /// Units allocated since the kernel last needed a page for itself.
    pub allocated_units: u64,
}

impl Awake {
    pub(crate) fn note_freed(&mut self, units: u64) {
        self.piece_gap = self.piece_gap.saturating_sub(units);
    }

    /// It has done what it was woken for.
    pub(crate) fn sleep(&mut self) {
        (self.is_on, self.seconds, self.piece_gap) = (false, 0.0, 0);
    }
}

/// All of a simulation that changes.
pub(crate) struct State<'t> {
    pub trace: &'t Trace,
    pub params: Params,
    pub pages: Vec<Page>,
    /// Interval of each page's last demotion that no promotion followed yet.
    pub demoted: Vec<u32>,
    /// Units by tier and kind.
    pub used: [[u64; KINDS]; MEMORY_TIERS],
    /// In which pieces DRAM is free, where pages of several sizes need it.
    pub pieces: Pieces,
    pub swap_used: u64,
    pub nowhere_units: u64,
    pub away_units: u64,
    /// Next demotions from DRAM; evictions from DRAM and from the slower tier.
    pub demotable: Victims,
    pub evictable: [Victims; MEMORY_TIERS],
    pub inactive: Inactive,
    /// The kernel's lists of DRAM, where victims are not known exactly.
    pub kernel_lru: Option<KernelLru>,
    /// Share of the interval's accesses that have been.
    pub part: f32,
    /// Seconds of the interval over which its accesses are spread.
    pub accessed_s: f64,
    /// Next exchanges of `AutoTiering`.
    pub coldest: Victims,
    /// Position in the turn of interleaving.
    pub turn: u64,
    /// Part of a unit that offloading owes from the intervals before: small memories give less than one at a time.
    pub offload_owed: f64,
    pub scanner: Scanner,
    pub kswapd: Awake,
    /// `memory.high` of the control group, and how many of its events have been.
    pub group_high_units: Option<u64>,
    pub group_events_done: usize,
    /// Units that were asked for and not reclaimed yet, where that takes time.
    pub group_owed_units: u64,
    /// Tenants, each with its own list of next demotions in place of `demotable`; none: not told apart.
    pub groups: Vec<Group>,
    pub threshold_s: f64,
    /// Candidates since the threshold was last looked at.
    pub threshold_candidates: u64,
    pub now: u32,
    /// The share of the interval after which each of its hint faults comes, where kswapd works beside them.
    pub fault_parts: Vec<f32>,
    /// Pages promoted in this interval, in order of promotion.
    pub promoted: Vec<u32>,
    /// Victims that are looked for together; empty between two searches.
    pub victims: Vec<Victim>,
    /// Demotions of this interval, in order.
    pub lowered: Vec<Lowered>,
    pub out: Interval,
    /// What pages did on swap, where it is asked for.
    pub swap_log: Option<Vec<SwapEvent>>,
}

impl<'t> State<'t> {
    pub(crate) fn new(trace: &'t Trace, params: Params) -> Self {
        let threshold_s = match params.policy {
            Policy::HotPageSelection(hot) => hot.threshold_s,
            _ => 0.0,
        };
        let victims = || Victims::new(trace.intervals());
        Self {
            trace,
            scanner: Scanner::new(params.scan_by_page(), params.scan.size_pages, trace.pages()),
            kswapd: Awake::default(),
            group_high_units: None,
            group_events_done: 0,
            group_owed_units: 0,
            groups: make_groups(&params.tenants, trace.intervals()),
            pages: trace
                .kinds()
                .iter()
                .map(|&kind| Page::unborn(kind))
                .collect(),
            demoted: vec![NEVER; trace.pages()],
            used: [[0; KINDS]; MEMORY_TIERS],
            pieces: Pieces::new(piece_units(trace, &params)),
            swap_used: 0,
            nowhere_units: 0,
            away_units: 0,
            demotable: victims(),
            evictable: [victims(), victims()],
            inactive: Inactive::default(),
            kernel_lru: (params.lru != Lru::Exact)
                .then(|| KernelLru::new(params.lru, trace.pages())),
            part: 0.0,
            accessed_s: params.interval_s,
            coldest: victims(),
            turn: 0,
            offload_owed: 0.0,
            threshold_s,
            threshold_candidates: 0,
            now: 0,
            fault_parts: Vec::new(),
            promoted: Vec::new(),
            victims: Vec::new(),
            lowered: Vec::new(),
            out: Interval::default(),
            swap_log: None,
            params,
        }
    }

    pub(crate) fn capacity(&self, tier: Tier) -> u64 {
        match (tier, self.params.policy) {
            (Tier::Dram, Policy::AllDram) => MOST_UNITS,
            (Tier::Dram, _) => self.params.memory.dram_units,
            (Tier::Slow, Policy::AllDram) => 0,
            _ => self.params.memory.slow_units,
        }
    }

    /// Free units; negative while promotions overfill DRAM.
    pub(crate) fn free(&self, tier: Tier) -> i64 {
        self.capacity(tier) as i64 - self.used[tier as usize].iter().sum::<u64>() as i64
    }

    /// Puts a page that lies nowhere on a tier of memory.
    pub(crate) fn enter(&mut self, page: u32, tier: Tier) {
        let units = self.trace.size(page);
        self.used[tier as usize][self.trace.kind(page)] += units;
        if let Some(group) = self.group_of(page) {
            group.out.used[tier as usize] += units;
        }
        self.pages[page as usize].set_tier(tier);
        if tier == Tier::Dram {
            self.note_taken(units);
            self.with_lru(|lru, seen| lru.add(page, seen));
        }
    }

    /// Takes a page off its tier of memory, to lie on `to`.
    pub(crate) fn leave(&mut self, page: u32, to: Tier) {
        let from = self.pages[page as usize].tier() as usize;
        let units = self.trace.size(page);
        self.used[from][self.trace.kind(page)] -= units;
        if let Some(group) = self.group_of(page) {
            group.out.used[from] -= units;
        }
        self.pages[page as usize].set_tier(to);
        if from == Tier::Dram as usize {
            self.note_given(units);
        }
        if let Some(lru) = &mut self.kernel_lru {
            lru.remove(page, self.trace.size(page));
        }
    }

    /// Whether a move changes nothing but its page and how full the tiers are.
    pub(crate) fn is_plain(&self) -> bool {
        self.groups.is_empty() && self.kernel_lru.is_none() && self.pieces.units == 0
    }

    pub(crate) fn shift(&mut self, page: u32, from: Tier, to: Tier) {
        let (units, kind) = (self.trace.size(page), self.trace.kind(page));
        self.used[from as usize][kind] -= units;
        self.used[to as usize][kind] += units;
        if let Some(group) = self.group_of(page) {
            group.out.used[from as usize] -= units;
            group.out.used[to as usize] += units;
        }
        self.pages[page as usize].set_tier(to);
        if let Some(lru) = &mut self.kernel_lru {
            lru.remove(page, units);
        }
        if to == Tier::Dram {
            self.note_taken(units);
            self.with_lru(|lru, seen| lru.add(page, seen));
        } else {
            self.note_given(units);
        }
    }

    /// Does something with the kernel's lists, if there are any.
    pub(crate) fn with_lru<R>(
        &mut self,
        act: impl FnOnce(&mut KernelLru, Seen<'_>) -> R,
    ) -> Option<R> {
        let seen = Seen {
            trace: self.trace,
            pages: &self.pages,
            at: Moment {
                interval: self.now,
                part: self.part,
            },
        };
        self.kernel_lru.as_mut().map(|lru| act(lru, seen))
    }

    /// Looks at one page of the kernel's lists; None where there are none.
    pub(crate) fn look(&mut self) -> Option<Look> {
        self.with_lru(KernelLru::look)
    }

    /// Whether DRAM has room for a page of so many units in one piece.
    pub(crate) fn has_piece(&self, units: u64) -> bool {
        self.pieces.units == 0
            || self
                .pieces
                .holds(units, self.free(Tier::Dram).max(0) as u64)
    }

    pub(crate) fn note_taken(&mut self, units: u64) {
        if self.pieces.units > 0 {
            self.pieces.take(units, self.free(Tier::Dram).max(0) as u64);
        }
    }

    pub(crate) fn note_given(&mut self, units: u64) {
        if self.pieces.units > 0 {
            self.pieces.give(units);
        }
    }

    pub(crate) fn can_evict(&self, kind: usize) -> bool {
        kind == Kind::File as usize || self.params.memory.swap.is_some()
    }
}

/// Units of a piece of DRAM; 0 where pieces need not be told apart.
fn piece_units(trace: &Trace, params: &Params) -> u64 {
    if trace.is_uniform() || params.kswapd.is_none() {
        return 0;
    }
    trace.largest()
}
