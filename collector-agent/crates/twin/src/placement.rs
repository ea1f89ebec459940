//! How a kernel places and moves pages within one step: allocation, reclaim, demotion, promotion.
//!
//! Rules follow `mm/page_alloc.c` (`get_page_from_freelist`), `mm/vmscan.c` (`balance_pgdat`, `demote_folio_list`) and
//! `mm/migrate.c` (`migrate_misplaced_folio`).

use crate::draws::Draws;
use crate::kind::Place;
use crate::laws::KernelWork;
use crate::memory::Memory;
use crate::population::Population;
use crate::reclaim::{Order, Victims};
use crate::tally::Tally;

/// Steps of promotion after a demotion that count as a return are those within this time.
const RETURN_WITHIN_S: f64 = 600.0;
/// Births of all populations take turns in this many rounds, so that none finds DRAM full because of its name.
const ROUNDS: usize = 64;

/// What the settings allow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Reclaim moves pages of DRAM to the slow node.
    pub demotes: bool,
    /// Tiering: kswapd reclaims up to the promo mark.
    pub is_tiering: bool,
    /// `pgpromote_success` counts promotions.
    pub counts_promotions: bool,
    /// `vm.swappiness`.
    pub swappiness: f64,
    /// Share of decided promotions that fail.
    pub failed_share: f64,
}

/// On whose behalf reclaim works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reclaimer {
    Kswapd,
    Direct,
}

/// A kernel at work on the pages of a host, for one step.
#[derive(Debug)]
pub struct Placing<'a> {
    /// Memory of the host.
    pub memory: &'a mut Memory,
    /// Pages of its services.
    pub populations: &'a mut [Population],
    /// Counts by service.
    pub tallies: &'a mut [Tally],
    rules: Rules,
    order: Order,
    in_time_share: f64,
    step: u32,
    interval_s: f64,
    draws: Draws,
    /// Pages that kswapd of each node can still reclaim in this step.
    kswapd_left: &'a mut [u64; 2],
    victims: [Option<Victims>; 2],
    /// DRAM fell below its low mark, or was too full for a promotion.
    is_woken: bool,
    allocations: u64,
}

impl<'a> Placing<'a> {
    /// Begins, within a step, with what kswapd of each node can still reclaim in it.
    pub fn new(
        (memory, populations, tallies): (&'a mut Memory, &'a mut [Population], &'a mut [Tally]),
        kswapd_left: &'a mut [u64; 2],
        rules: Rules,
        work: &KernelWork,
        (step, interval_s): (u32, f64),
        draws: Draws,
    ) -> Self {
        let order = Order {
            resolution_s: work.lru_resolution_s,
            swappiness: rules.swappiness,
            takes_swap_backed: memory.swap > 0,
        };
        Self {
            memory,
            populations,
            tallies,
            rules,
            order,
            in_time_share: work.kswapd_in_time_share,
            step,
            interval_s,
            draws,
            kswapd_left,
            victims: [None, None],
            is_woken: false,
            allocations: 0,
        }
    }

    /// Finds memory for a page that has none, in DRAM if possible; `None` where nothing is left.
    pub fn allocate(&mut self, population: usize, unit: usize) -> Option<Place> {
        self.allocations += 1;
        let place = self.find_room();
        let tally = &mut self.tallies[self.populations[population].service];
        match place {
            Some(place) => {
                if place == Place::Slow {
                    tally.missed += self.memory.unit;
                }
                self.settle(population, unit, place);
            }
            None => tally.alloc_failed += self.memory.unit,
        }
        place
    }

    fn find_room(&mut self) -> Option<Place> {
        let marks = self.memory.dram.watermarks;
        if self.memory.dram_has_room(marks.low) {
            return Some(Place::Dram);
        }
        self.is_woken = true;
        let in_time = self.draws.named("kswapd").uniform(self.allocations) < self.in_time_share;
        if self.rules.demotes && in_time && self.reclaim_dram(Reclaimer::Kswapd) {
            return Some(Place::Dram);
        }
        if self.memory.slow_has_room() {
            return Some(Place::Slow);
        }
        // Every node is below its low mark: kswapd works on all of them, and if that is not enough, the task itself.
        if self.reclaim_dram(Reclaimer::Kswapd) || self.memory.dram_has_room(marks.min) {
            return Some(Place::Dram);
        }
        self.reclaim_dram(Reclaimer::Direct).then_some(Place::Dram)
    }

    /// Puts a page that is in no memory on a node with room.
    fn settle(&mut self, population: usize, unit: usize, place: Place) {
        let pages = self.memory.unit;
        let was_out = self.populations[population].place(unit) == Place::Out;
        if was_out && self.populations[population].kind.is_swap_backed() {
            self.memory.swap_used -= pages;
        }
        self.populations[population].put(unit, place);
        self.occupy(self.populations[population].service, place);
    }

    fn occupy(&mut self, service: usize, place: Place) {
        let (pages, tally) = (self.memory.unit, &mut self.tallies[service]);
        if place == Place::Dram {
            self.memory.dram.used += pages;
            tally.allocated_dram += pages;
        } else if let Some(slow) = &mut self.memory.slow {
            slow.used += pages;
            tally.allocated_slow += pages;
        }
    }

    fn vacate(&mut self, place: Place) {
        let pages = self.memory.unit;
        match (place, &mut self.memory.slow) {
            (Place::Dram, _) => self.memory.dram.used -= pages,
            (Place::Slow, Some(slow)) => slow.used -= pages,
            _ => {}
        }
    }

    /// Frees a page, wherever it is.
    pub fn free(&mut self, population: usize, unit: usize) {
        let owner = &mut self.populations[population];
        let (place, kind, service) = (owner.place(unit), owner.kind, owner.service);
        owner.put(unit, Place::Absent);
        let pages = self.memory.unit;
        if place == Place::Out && kind.is_swap_backed() {
            self.memory.swap_used -= pages;
        }
        self.vacate(place);
        let tally = &mut self.tallies[service];
        tally.freed[kind.index()] += pages;
        if place != Place::Out {
            tally.freed_resident[kind.index()] += pages;
        }
    }

    /// Frees some pages of a population, here and there from `start` on.
    pub fn free_some(&mut self, population: usize, pages: usize, start: usize) {
        let mut next = start;
        for _ in 0..pages {
            let owner = &self.populations[population];
            let Some(unit) = owner.find(next % owner.len(), |place| place != Place::Absent) else {
                return;
            };
            self.free(population, unit);
            next = unit.wrapping_mul(7919).wrapping_add(start) ^ unit;
        }
    }

    /// Allocates up to what is wanted, all populations in turn.
    pub fn give_birth(&mut self, wanted: &[usize]) {
        let missing: Vec<usize> = wanted
            .iter()
            .zip(self.populations.iter())
            .map(|(wanted, population)| wanted.saturating_sub(population.allocated()))
            .collect();
        let mut done = vec![0; missing.len()];
        for round in 1..=ROUNDS {
            for (index, missing) in missing.iter().enumerate() {
                while done[index] < missing * round / ROUNDS {
                    done[index] += 1;
                    let population = &mut self.populations[index];
                    let has_free = population.allocated() < population.len();
                    let freed = if has_free {
                        population.find(0, |place| place == Place::Absent)
                    } else {
                        None
                    };
                    let unit = population.allocate(self.step, freed);
                    if self.allocate(index, unit).is_some() {
                        let (kind, pages) = (self.populations[index].kind.index(), self.memory.unit);
                        self.tallies[self.populations[index].service].born[kind] += pages;
                    }
                }
            }
        }
    }

    /// Moves a page of the slow node to DRAM, if DRAM has more free than its high mark (`migrate_balanced_pgdat`).
    pub fn promote(&mut self, population: usize, unit: usize) -> bool {
        let pages = self.memory.unit;
        let service = self.populations[population].service;
        let high = self.memory.dram.watermarks.high;
        if !self.memory.dram_has_room(high) {
            // A refusal wakes kswapd in tiering mode alone; it works while later pages are decided.
            self.is_woken |= self.rules.is_tiering;
            let draws = self.draws.named("promoting").branch(population as u64);
            let in_time = self.rules.is_tiering && draws.uniform(unit as u64) < self.in_time_share;
            if !(in_time && self.reclaim_dram(Reclaimer::Kswapd) && self.memory.dram_has_room(high)) {
                self.tallies[service].refused += pages;
                return false;
            }
        }
        let draw = self
            .draws
            .named("failing")
            .branch(population as u64)
            .uniform(unit as u64);
        if draw < self.rules.failed_share {
            self.tallies[service].failed += pages;
            return false;
        }
        self.vacate(Place::Slow);
        self.populations[population].put(unit, Place::Dram);
        self.occupy(service, Place::Dram);
        let (kind, since) = (
            self.populations[population].kind,
            self.populations[population].note_promotion(unit, self.step),
        );
        let tally = &mut self.tallies[service];
        tally.promoted[kind.index()] += pages;
        if self.rules.counts_promotions {
            tally.promoted_counted += pages;
        }
        if since.is_some_and(|steps| f64::from(steps) * self.interval_s <= RETURN_WITHIN_S) {
            tally.returned += pages;
        }
        true
    }

    /// Lets kswapd finish: DRAM up to its high mark (tiering: promo), the slow node up to its high mark.
    pub fn balance(&mut self) {
        let marks = self.memory.dram.watermarks;
        let target = if self.rules.is_tiering {
            marks.promo
        } else {
            marks.high
        };
        if self.is_woken || self.memory.dram.free() < marks.low {
            while self.memory.dram.free() < target && self.reclaim_dram(Reclaimer::Kswapd) {}
        }
        if self
            .memory
            .slow
            .is_some_and(|slow| slow.free() < slow.watermarks.low)
        {
            while self
                .memory
                .slow
                .is_some_and(|slow| slow.free() < slow.watermarks.high)
                && self.reclaim_slow(Reclaimer::Kswapd)
            {}
        }
    }

    /// Takes one page off DRAM: to the slow node where that is allowed and has room, else out of memory.
    fn reclaim_dram(&mut self, by: Reclaimer) -> bool {
        let Some((population, unit)) = self.take_victim(Place::Dram, by) else {
            return false;
        };
        if self.rules.demotes && (self.memory.slow_has_room() || self.reclaim_slow(by)) {
            self.demote(population, unit, by);
            return true;
        }
        self.evict(population, unit, by)
    }

    fn reclaim_slow(&mut self, by: Reclaimer) -> bool {
        let victim = self.take_victim(Place::Slow, by);
        victim.is_some_and(|(population, unit)| self.evict(population, unit, by))
    }

    fn take_victim(&mut self, place: Place, by: Reclaimer) -> Option<(usize, usize)> {
        let node = usize::from(place == Place::Slow);
        let pages = self.memory.unit;
        if by == Reclaimer::Kswapd {
            self.kswapd_left[node] = self.kswapd_left[node].checked_sub(pages)?;
        }
        let order = Order {
            // Demotion needs no swap, so with it anonymous pages can leave DRAM.
            takes_swap_backed: self.order.takes_swap_backed || (self.rules.demotes && place == Place::Dram),
            ..self.order
        };
        let most = (2 * self.kswapd_left[node] / pages) as usize + 1024;
        let (populations, step, draws) = (&*self.populations, self.step, self.draws.named("victims"));
        let victims = self.victims[node]
            .get_or_insert_with(|| Victims::choose(populations, place, &order, (step, draws), most));
        loop {
            let (population, unit) = victims.take()?;
            if self.populations[population].place(unit) == place {
                let tally = &mut self.tallies[self.populations[population].service];
                let (scanned, scanned_slow) = match by {
                    Reclaimer::Kswapd => (&mut tally.scanned_kswapd, &mut tally.scanned_slow_kswapd),
                    Reclaimer::Direct => (&mut tally.scanned_direct, &mut tally.scanned_slow_direct),
                };
                *scanned += pages;
                *scanned_slow += pages * u64::from(place == Place::Slow);
                return Some((population, unit));
            }
        }
    }

    fn demote(&mut self, population: usize, unit: usize, by: Reclaimer) {
        self.vacate(Place::Dram);
        let owner = &mut self.populations[population];
        owner.put(unit, Place::Slow);
        owner.note_demotion(unit, self.step);
        let (service, kind) = (owner.service, owner.kind);
        self.occupy(service, Place::Slow);
        let tally = &mut self.tallies[service];
        match by {
            Reclaimer::Kswapd => tally.demoted_kswapd[kind.index()] += self.memory.unit,
            Reclaimer::Direct => tally.demoted_direct[kind.index()] += self.memory.unit,
        }
    }

    /// Drops a page of a file, or swaps out another, if swap has room.
    fn evict(&mut self, population: usize, unit: usize, by: Reclaimer) -> bool {
        let owner = &mut self.populations[population];
        let (place, kind, service) = (owner.place(unit), owner.kind, owner.service);
        if kind.is_swap_backed() {
            if !self.memory.swap_has_room() {
                return false;
            }
            self.memory.swap_used += self.memory.unit;
        }
        owner.put(unit, Place::Out);
        self.vacate(place);
        let tally = &mut self.tallies[service];
        let (evicted, evicted_slow) = match by {
            Reclaimer::Kswapd => (&mut tally.evicted_kswapd, &mut tally.evicted_slow_kswapd),
            Reclaimer::Direct => (&mut tally.evicted_direct, &mut tally.evicted_slow_direct),
        };
        evicted[kind.index()] += self.memory.unit;
        evicted_slow[kind.index()] += self.memory.unit * u64::from(place == Place::Slow);
        true
    }
}
