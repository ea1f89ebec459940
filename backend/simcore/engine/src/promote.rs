//! Promotion: which touched pages of the slower tier go up, and in which order.

use crate::hints::{first_access, hint_seconds};
use crate::page::{KINDS, NEVER, PROMOTED, Page, Tier};
use crate::params::{HotPageSelection, Policy};
use crate::state::State;
use crate::victims::{Victim, VictimFilter};

/// Intervals that a page's score looks back on.
const SCORED: u32 = 8;

/// A page that took a hint fault, and whether it was on the active list before this interval. Ordered by time, then by
/// page: bits of the seconds, which order as the numbers do, above 31 bits of the page and one for active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault(u64);

impl Fault {
    pub(crate) fn new(seconds: f32, page: u32, is_active: bool) -> Self {
        let page = u64::from(page) << 1 | u64::from(is_active);
        Self(u64::from(seconds.to_bits()) << 32 | page)
    }

    pub(crate) fn page(self) -> u32 {
        self.0 as u32 >> 1
    }

    fn is_active(self) -> bool {
        self.0 & 1 != 0
    }

    fn seconds(self) -> f64 {
        f64::from(f32::from_bits((self.0 >> 32) as u32))
    }
}

impl State<'_> {
    /// The hint fault of a touched page of the slower tier; None where it was touched since the scan, or too late.
    pub(crate) fn hint(&self, page: u32, accesses: u32, before: Page) -> Option<Fault> {
        let (now, interval_s) = (self.now, self.params.interval_s);
        let scanned = self.scanner.last_at(page, now)?;
        let demoted = self.demoted[page as usize];
        if demoted == now {
            // It came to the slower tier after the scanner did.
            return None;
        }
        let found = hint_seconds(self.params.hint_time, page, now, accesses, interval_s);
        let seconds = if scanned == now {
            found?
        } else {
            // Pages of DRAM are not scanned, and the first touch after a scan took its fault.
            if !before.is_armed(demoted, scanned) {
                return None;
            }
            let since = f64::from(now - scanned) * interval_s;
            found.unwrap_or(interval_s as f32) + since as f32
        };
        Some(Fault::new(seconds, page, before.is_active(now)))
    }

    /// The share of the interval after which a page faults.
    pub(crate) fn fault_part(&self, page: u32, accesses: u32) -> f32 {
        let armed = if self.scanner.last_at(page, self.now) == Some(self.now) {
            self.scanner.armed_part(page)
        } else {
            0.0
        };
        (armed + (1.0 - armed) * first_access(page, self.now, accesses)) as f32
    }

    /// Whether the policy looks for hot pages on the slower tier at all.
    pub(crate) fn has_hints(&self) -> bool {
        matches!(
            self.params.policy,
            Policy::NumaBalancing
                | Policy::HotPageSelection(_)
                | Policy::AutoTiering { .. }
                | Policy::Tpp(_)
        )
    }

    /// Promotes. Returns the candidates, in units, that were counted against the limit.
    ///
    /// `left_s`: seconds of the interval over which faults are spread.
    pub(crate) fn promote(&mut self, faults: &mut Vec<Fault>, left_s: f64) -> u64 {
        self.begin_demotions();
        match self.params.policy {
            Policy::NumaBalancing => self.promote_while_free(faults),
            Policy::HotPageSelection(hot) => return self.promote_hot(faults, hot, left_s),
            Policy::Tpp(tpp) => {
                if tpp.active_lru_filter {
                    self.out.activated += keep_active(faults) as u64;
                }
                if !tpp.decoupled || self.has_order(faults) {
                    sort(faults);
                }
                if tpp.decoupled {
                    self.move_all_up(faults);
                } else {
                    self.promote_while_free(faults);
                }
            }
            Policy::AutoTiering { exchange_units, .. } => self.exchange(faults, exchange_units),
            Policy::AllDram | Policy::FirstTouch | Policy::Interleave(_) => {}
        }
        0
    }

    /// Whether the order of these matters: demotion might find too few victims for all, or lists keep it.
    fn has_order(&self, faults: &[Fault]) -> bool {
        self.kernel_lru.is_some()
            || !self.trace.is_uniform()
            || !self.groups.is_empty()
            || faults.len() as u64 * self.trace.size(0) > self.capacity(Tier::Dram)
    }

    /// As the kernel without tiering mode: only while more than the high watermark is free beyond the page.
    fn promote_while_free(&mut self, faults: &mut [Fault]) {
        sort(faults);
        let high = self.params.memory.watermarks.high as i64;
        for fault in faults.iter() {
            let units = self.trace.size(fault.page());
            if self.free(Tier::Dram) > high + units as i64 {
                self.move_up(fault.page());
            } else {
                self.out.failed_promotions += units;
            }
        }
    }

    /// Puts faults in order, and says after which share of the interval each comes.
    ///
    /// Beside kswapd, by when they come: it frees little between the faults of pages that were armed together and are
    /// used often. Else by how long after they were armed they come, evenly spread.
    fn sort_by_part(&mut self, faults: &mut [Fault]) -> Vec<f32> {
        let mut parts = std::mem::take(&mut self.fault_parts);
        if self.params.kswapd.is_some() {
            let mut timed: Vec<(u32, u32, Fault)> = parts
                .iter()
                .zip(faults.iter())
                .map(|(part, &fault)| (part.to_bits(), fault.page(), fault))
                .collect();
            timed.sort_unstable();
            for (at, (part, _, fault)) in timed.into_iter().enumerate() {
                (parts[at], faults[at]) = (f32::from_bits(part), fault);
            }
        } else {
            sort(faults);
            let all = faults.len() as f64 + 1.0;
            parts.clear();
            parts.extend((1..=faults.len()).map(|at| (at as f64 / all) as f32));
        }
        parts
    }

    /// Hot pages within the limit, earliest first; every touched page while DRAM has plenty free.
    ///
    /// kswapd works between the faults. A hot page that finds no room wakes it, and stays (`numamigrate_isolate_folio`).
    fn promote_hot(&mut self, faults: &mut [Fault], hot: HotPageSelection, left_s: f64) -> u64 {
        self.accessed_s = left_s;
        let mut over_s = 0.0;
        let parts = self.sort_by_part(faults);
        let marks = self.params.memory.watermarks;
        let (plenty, high) = (
            (marks.promo + hot.free_fast_path_units) as i64,
            marks.high as i64,
        );
        let (mut candidates, mut tokens) = (0, hot.tokens(self.params.interval_s));
        for (fault, &part) in faults.iter().zip(&parts) {
            let units = self.trace.size(fault.page());
            let then_s = f64::from(part) * left_s;
            self.part = part;
            self.run_kswapd(then_s - over_s, true);
            over_s = then_s;
            if self.free(Tier::Dram) > plenty {
                self.move_up(fault.page());
                continue;
            }
            if fault.seconds() >= self.threshold_s {
                if self.params.kswapd.is_some() {
                    continue;
                }
                // Those that follow are later still, and DRAM only gets fuller.
                break;
            }
            candidates += units;
            if tokens < units as f64 {
                self.out.limited += units;
                continue;
            }
            tokens -= units as f64;
            if hot.needs_free && self.free(Tier::Dram) <= high + units as i64 {
                self.out.failed_promotions += units;
                self.wake_for_promotion(units);
            } else if self.has_piece(units) {
                self.move_up(fault.page());
            } else {
                // A misplaced large page is not split, and its allocation wakes nobody (`alloc_misplaced_dst_folio`).
                self.out.failed_promotions += units;
            }
        }
        self.part = 1.0;
        self.run_kswapd(left_s - over_s, true);
        self.fault_parts = parts;
        candidates
    }

    /// Promotes into the reserve; when that is used up, exchanges with the coldest page if it is colder, up to a limit.
    fn exchange(&mut self, faults: &mut [Fault], most_units: u64) {
        sort(faults);
        let mut left = most_units as i64;
        self.coldest.begin();
        let mut recent: Option<Recent> = None;
        for fault in faults.iter() {
            let (page, units) = (fault.page(), self.trace.size(fault.page()) as i64);
            if self.free(Tier::Dram) >= units {
                self.move_up(page);
                continue;
            }
            if left < units {
                self.out.failed_promotions += units as u64;
                continue;
            }
            let score = self.pages[page as usize].history().count_ones() as usize;
            let victim = self.next_idle().or_else(|| {
                let recent = recent.get_or_insert_with(|| Recent::of(self));
                recent.next_below(self, score)
            });
            match victim {
                Some(victim) if score > 0 && self.fits_after(victim, units) => {
                    left -= units;
                    self.move_up(page);
                    self.move_down(victim);
                }
                _ => self.out.failed_promotions += units as u64,
            }
        }
    }

    /// Whether a page of so many units fits when the victim has gone, and the victim in the room that the page leaves.
    fn fits_after(&self, victim: Victim, units: i64) -> bool {
        let leaves = self.trace.size(victim.page) as i64;
        self.free(Tier::Dram) + leaves >= units && self.free(Tier::Slow) + units >= leaves
    }

    /// The longest untouched page of DRAM that none of the last 8 intervals touched.
    fn next_idle(&mut self) -> Option<Victim> {
        let wanted = VictimFilter::of_tier(
            self.trace,
            &self.pages,
            &self.inactive,
            Tier::Dram,
            self.now,
        );
        self.coldest
            .next_before((self.now + 1).saturating_sub(SCORED), wanted)
    }

    pub(crate) fn move_up(&mut self, page: u32) {
        self.shift(page, Tier::Slow, Tier::Dram);
        self.pages[page as usize].set(PROMOTED);
        self.promoted.push(page);
        self.scanner.note_promotions();
        self.out.promoted[self.trace.kind(page)] += self.trace.size(page);
    }

    fn move_all_up(&mut self, faults: &[Fault]) {
        if !self.is_plain() {
            for fault in faults {
                self.move_up(fault.page());
            }
            return;
        }
        let mut units = [0; KINDS];
        for fault in faults {
            let state = &mut self.pages[fault.page() as usize];
            state.set_tier(Tier::Dram);
            state.set(PROMOTED);
            units[self.trace.kind(fault.page())] += self.trace.size(fault.page());
        }
        for (kind, units) in units.into_iter().enumerate() {
            self.used[Tier::Slow as usize][kind] -= units;
            self.used[Tier::Dram as usize][kind] += units;
            self.out.promoted[kind] += units;
        }
        self.promoted
            .extend(faults.iter().map(|fault| fault.page()));
        if !faults.is_empty() {
            self.scanner.note_promotions();
        }
    }

    /// Counts the round trips that the interval's promotions end: each demotion once.
    pub(crate) fn settle_promotions(&mut self) {
        for &page in &self.promoted {
            self.pages[page as usize].clear(PROMOTED);
            let demoted = std::mem::replace(&mut self.demoted[page as usize], NEVER);
            if demoted != NEVER {
                let distance = self.now - demoted;
                for (trips, longest) in self
                    .out
                    .round_trips
                    .iter_mut()
                    .zip(self.params.round_trip_intervals)
                {
                    *trips += if distance <= longest {
                        self.trace.size(page)
                    } else {
                        0
                    };
                }
            }
        }
        self.promoted.clear();
        self.lowered.clear();
    }
}

/// Drops the faults of inactive pages, without a branch that could not be foreseen; returns how many.
fn keep_active(faults: &mut Vec<Fault>) -> usize {
    let all = faults.len();
    let mut kept = 0;
    for at in 0..all {
        let fault = faults[at];
        faults[kept] = fault;
        kept += usize::from(fault.is_active());
    }
    faults.truncate(kept);
    all - kept
}

fn sort(faults: &mut [Fault]) {
    faults.sort_unstable();
}

/// Pages of DRAM that the last 8 intervals touched, by in how many of them, the coldest first.
struct Recent {
    by_score: [Vec<Victim>; SCORED as usize + 1],
    at: [usize; SCORED as usize + 1],
}

impl Recent {
    fn of(state: &State<'_>) -> Self {
        let mut by_score: [Vec<Victim>; SCORED as usize + 1] = Default::default();
        for interval in (state.now + 1).saturating_sub(SCORED)..=state.now {
            for place in 0.. {
                let Some(page) = state.trace.row_page(interval as usize, place) else {
                    break;
                };
                let found = &state.pages[page as usize];
                if found.tier() == Tier::Dram && found.last() == interval {
                    let score = (found.history() << (state.now - interval)).count_ones() as usize;
                    by_score[score].push(Victim {
                        page,
                        interval,
                        place: place as u32,
                    });
                }
            }
        }
        Self {
            by_score,
            at: [0; SCORED as usize + 1],
        }
    }

    /// The coldest page that scores below this, once.
    fn next_below(&mut self, state: &State<'_>, limit: usize) -> Option<Victim> {
        for score in 0..limit.min(self.by_score.len()) {
            while let Some(&victim) = self.by_score[score].get(self.at[score]) {
                self.at[score] += 1;
                let found = &state.pages[victim.page as usize];
                if found.tier() == Tier::Dram && !found.is(PROMOTED) {
                    return Some(victim);
                }
            }
        }
        None
    }
}
