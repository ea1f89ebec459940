//! The swap traffic of a replay, played to a device: in its order and at its times, again and again until the device
//! is in a steady state. Open loop: what asks does not slow down, so that a device that cannot keep up falls behind.

use crate::compressed::Pool;
use crate::outcome::{Counts, Outcome, TenantOutcome};
use crate::params::{Backend, Flash, SwapError, check, check_backend};
use crate::store::Store;
use crate::zoned::Writer;

/// Events of warm-up and measuring after which a run ends, however little was written.
const MOST_EVENTS: u64 = 2_000_000;
/// One thread frees memory (kswapd, or who writes `memory.reclaim`).
const WRITER: Writer = Writer { cpu: 0, tenant: 0 };

/// What happens to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// It leaves memory: written, unless the device still has a copy.
    Out = 0,
    /// It comes back.
    In = 1,
    /// A copy would be stale: the page was written to, or is gone.
    Stale = 2,
}

/// One step of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Since the beginning of the traffic.
    pub at_ns: u64,
    /// Which page, from 0.
    pub page: u32,
    /// What.
    pub step: Step,
}

/// The traffic, and the device that takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// The device; not used by zram.
    pub flash: Flash,
    /// What is on it.
    pub backend: Backend,
    /// Pages that events name.
    pub pages: u32,
    /// In order of time.
    pub events: Vec<Event>,
    /// Time until it begins again.
    pub pass_ns: u64,
    /// Writes to flash over its size before anything counts.
    pub warm_up_writes_ratio: f64,
    /// Measured: the same, in whole passes, and one at least.
    pub measured_writes_ratio: f64,
    /// Which draw, where pages compress.
    pub seed: u64,
}

/// What came of it. `outcome` has one tenant, whose accesses are its swap-ins.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Of the measured passes.
    pub outcome: Outcome,
    /// Time that these would take on a device that keeps up; `outcome.elapsed_ns` is what they took.
    pub asked_ns: u64,
    /// Whether the flash was written as often as asked before anything counted, or nothing is written any more.
    pub is_settled: bool,
}

struct Player<'a> {
    traffic: &'a Traffic,
    store: Store,
    is_out: Vec<bool>,
    /// Where the next slot of a page in memory is looked for.
    reclaims_at: usize,
    now_ns: u64,
    events: u64,
    counts: Counts,
    seen: TenantOutcome,
}

/// Plays the traffic until the device is in a steady state, then measures.
///
/// A page that is out already, or back already, when a pass begins anew stays where it is.
///
/// # Errors
///
/// A setting that cannot be, and a device without room.
pub fn play(traffic: &Traffic) -> Result<Played, SwapError> {
    traffic.check()?;
    let mut player = Player::new(traffic);
    let (_, is_settled) = player.passes(traffic.warm_up_writes_ratio)?;
    let (begins_ns, busy_before_ns) = (player.now_ns, player.store.busy_ns());
    (player.counts, player.seen) = (Counts::default(), TenantOutcome::default());
    let (passes, _) = player.passes(traffic.measured_writes_ratio)?;
    Ok(Played {
        asked_ns: passes * traffic.pass_ns,
        is_settled,
        outcome: player.outcome(begins_ns, busy_before_ns),
    })
}

impl<'a> Player<'a> {
    fn new(traffic: &'a Traffic) -> Self {
        let pages = traffic.pages as usize;
        Self {
            traffic,
            store: Store::new(traffic.flash, traffic.backend, [1, 1], pages, traffic.seed),
            is_out: vec![false; pages],
            reclaims_at: 0,
            now_ns: 0,
            events: 0,
            counts: Counts::default(),
            seen: TenantOutcome::default(),
        }
    }

    /// Whole passes until the flash was written so many times. How many, and whether that was reached.
    fn passes(&mut self, writes_ratio: f64) -> Result<(u64, bool), SwapError> {
        let slots = u64::from(self.traffic.flash.slots);
        let physical = self.store.physical_slots().unwrap_or(slots) as f64;
        let wanted = self.counts.flash_writes + (writes_ratio * physical) as u64;
        let last = self.events + MOST_EVENTS;
        let mut passes = 0;
        loop {
            let before = self.counts.flash_writes;
            self.pass()?;
            passes += 1;
            let is_idle = passes > 1 && self.counts.flash_writes == before;
            if self.counts.flash_writes >= wanted || is_idle {
                return Ok((passes, true));
            }
            if self.events >= last {
                return Ok((passes, false));
            }
        }
    }

    fn pass(&mut self) -> Result<(), SwapError> {
        let traffic = self.traffic;
        let begins_ns = self.now_ns;
        for event in &traffic.events {
            let asked_ns = begins_ns + event.at_ns;
            self.now_ns = self.now_ns.max(asked_ns);
            let is_out = self.is_out[event.page as usize];
            match event.step {
                Step::Out if !is_out => self.swap_out(event.page)?,
                Step::In if is_out => self.swap_in(event.page, asked_ns),
                Step::Stale => self.forget(event.page),
                Step::Out | Step::In => {}
            }
        }
        self.events += traffic.events.len() as u64;
        self.now_ns = self.now_ns.max(begins_ns + traffic.pass_ns);
        Ok(())
    }

    fn swap_out(&mut self, page: u32) -> Result<(), SwapError> {
        self.is_out[page as usize] = true;
        self.seen.evictions += 1;
        if self.store.has_copy(page) {
            self.store.drop_from_memory(page);
            return Ok(());
        }
        self.seen.swap_outs += 1;
        loop {
            let wait_ns = self.store.wait_for_room(self.now_ns);
            if wait_ns == 0 {
                break;
            }
            self.now_ns += wait_ns;
        }
        loop {
            let written = self
                .store
                .write(page, WRITER, self.now_ns, &mut self.counts);
            if written == Err(SwapError::NoSlot) && self.drop_a_copy() {
                continue;
            }
            self.now_ns += written?;
            return Ok(());
        }
    }

    fn swap_in(&mut self, page: u32, asked_ns: u64) {
        let done_ns = self.store.read(page, self.now_ns, &mut self.counts);
        self.is_out[page as usize] = false;
        self.seen.accesses += 1;
        self.seen.swap_ins += 1;
        self.seen.swap_in_ns.push(done_ns - asked_ns);
    }

    fn forget(&mut self, page: u32) {
        self.store.release(page, self.now_ns, &mut self.counts);
        self.is_out[page as usize] = false;
    }

    /// Frees the slot of a page that is in memory (`__try_to_reclaim_swap`). False where no such page has one.
    fn drop_a_copy(&mut self) -> bool {
        let pages = self.is_out.len();
        for step in 0..pages {
            let page = (self.reclaims_at + step) % pages;
            if !self.is_out[page] && self.store.has_copy(page as u32) {
                self.reclaims_at = page + 1;
                self.store
                    .release(page as u32, self.now_ns, &mut self.counts);
                return true;
            }
        }
        false
    }

    fn outcome(mut self, begins_ns: u64, busy_before_ns: u64) -> Outcome {
        self.seen.swap_in_ns.sort_unstable();
        let elapsed_ns = self.now_ns - begins_ns;
        let busy_ns = (self.store.busy_ns() - busy_before_ns) as f64;
        let all_ns = elapsed_ns.max(1) as f64 * f64::from(self.traffic.flash.dies);
        Outcome {
            elapsed_ns,
            counts: self.counts,
            tenants: vec![self.seen],
            used_ratio: self.store.used_ratio(),
            busy_ratio: self.store.physical_slots().map(|_| busy_ns / all_ns),
            pool_bytes: self.store.pool().map(Pool::bytes),
            pool_pages: self.store.pool().map(Pool::pages),
        }
    }
}

impl Traffic {
    fn check(&self) -> Result<(), SwapError> {
        self.flash.check()?;
        check_backend(self.backend)?;
        let writes = [self.warm_up_writes_ratio, self.measured_writes_ratio];
        let bounded = writes.iter().all(|ratio| *ratio > 0.0 && *ratio <= 100.0);
        check(bounded, "writes", "above 0, at most 100 times the flash")?;
        check(!self.events.is_empty(), "events", "at least one")?;
        let known = self.events.iter().all(|event| event.page < self.pages);
        check(known, "page", "below the number of pages")?;
        let sorted = self.events.is_sorted_by_key(|event| event.at_ns);
        let inside = self.events.iter().all(|event| event.at_ns <= self.pass_ns);
        check(
            sorted && inside && self.pass_ns > 0,
            "at_ns",
            "in order, and within a pass",
        )
    }
}
