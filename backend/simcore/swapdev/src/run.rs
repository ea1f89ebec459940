//! One run: threads of tenants access pages, fault, and wait for a frame and for the device. Closed loop: a thread that
//! waits asks for nothing else.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::memory::Memory;
use crate::outcome::{Counts, Outcome, TenantOutcome};
use crate::params::{Params, SwapError};
use crate::random::Random;
use crate::store::Store;
use crate::zoned::Writer;

/// Swap-ins and accesses after which a part of a run ends, over the slots of the device.
const SWAP_INS_RATIO: f64 = 2.0;
const ACCESSES_RATIO: f64 = 16.0;

/// A thread: whose it is, and the fault that it waits in.
struct Thread {
    writer: Writer,
    fault: Option<Fault>,
}

#[derive(Clone, Copy)]
struct Fault {
    page: u32,
    store: bool,
    since_ns: u64,
}

struct Run<'a> {
    params: &'a Params,
    store: Store,
    memories: Vec<Memory>,
    threads: Vec<Thread>,
    events: BinaryHeap<Reverse<(u64, u32)>>,
    random: Random,
    counts: Counts,
    seen: Vec<TenantOutcome>,
}

/// Runs until the device is in a steady state, then measures.
pub fn run(params: &Params) -> Result<Outcome, SwapError> {
    params.check()?;
    let mut run = Run::new(params);
    let begins_ns = run.fill()?;
    run.start_threads(begins_ns);
    let from_ns = run.until(params.warm_up_writes_ratio, begins_ns)?;
    let busy_before_ns = run.store.busy_ns();
    run.counts = Counts::default();
    run.seen = vec![TenantOutcome::default(); params.tenants.len()];
    let to_ns = run.until(params.measured_writes_ratio, from_ns)?;
    Ok(run.outcome(to_ns - from_ns, busy_before_ns))
}

impl<'a> Run<'a> {
    fn new(params: &'a Params) -> Self {
        let mut first = 0;
        let mut memories = Vec::new();
        let mut threads = Vec::new();
        for (number, tenant) in params.tenants.iter().enumerate() {
            memories.push(Memory::new(*tenant, first));
            first += tenant.pages;
            threads.extend((0..tenant.threads).map(|thread| Thread {
                writer: Writer {
                    cpu: thread % params.cpus,
                    tenant: number as u32,
                },
                fault: None,
            }));
        }
        Self {
            params,
            store: Store::new(
                params.flash,
                params.backend,
                [params.cpus, params.tenants.len() as u32],
                first as usize,
                params.seed,
            ),
            memories,
            threads,
            events: BinaryHeap::new(),
            random: Random::new(params.seed),
            counts: Counts::default(),
            seen: vec![TenantOutcome::default(); params.tenants.len()],
        }
    }

    /// Brings every page into memory once, tenants in turn, so that what does not fit is on swap. Returns when it ends.
    fn fill(&mut self) -> Result<u64, SwapError> {
        let mut now_ns = 0;
        let mut starts = Vec::new();
        let mut pages = 0;
        for tenant in &self.params.tenants {
            starts.push(pages);
            pages += tenant.pages;
        }
        let most = self.params.tenants.iter().map(|tenant| tenant.pages).max();
        for place in 0..most.unwrap_or(0) {
            for (number, tenant) in self.params.tenants.iter().enumerate() {
                if place >= tenant.pages {
                    continue;
                }
                // As slow as one die, so that nothing waits when the run begins.
                now_ns += self.params.flash.program_ns;
                let writer = Writer {
                    cpu: place % self.params.cpus,
                    tenant: number as u32,
                };
                if self.memories[number].is_full() {
                    self.memories[number].victim();
                    self.evict(writer, now_ns)?;
                }
                self.memories[number].place(starts[number] + place, true);
            }
        }
        Ok(now_ns + self.params.flash.program_ns)
    }

    fn start_threads(&mut self, now_ns: u64) {
        self.events = (0..self.threads.len() as u32)
            .map(|thread| Reverse((now_ns + u64::from(thread), thread)))
            .collect();
    }

    /// Runs until so many writes to flash over its size, or the bound of swap-ins or accesses. Returns the time.
    fn until(&mut self, writes_ratio: f64, begins_ns: u64) -> Result<u64, SwapError> {
        let slots = f64::from(self.params.flash.slots);
        let physical = self
            .store
            .physical_slots()
            .map_or(slots, |slots| slots as f64);
        let writes = self.counts.flash_writes + (writes_ratio * physical) as u64;
        let swap_ins = (writes_ratio * SWAP_INS_RATIO * slots) as u64;
        let accesses = (writes_ratio * ACCESSES_RATIO * slots) as u64;
        let (mut faulted, mut steps, mut now_ns) = (0, 0, begins_ns);
        while self.counts.flash_writes < writes && faulted < swap_ins && steps < accesses {
            let Some(Reverse((at_ns, thread))) = self.events.pop() else {
                break;
            };
            now_ns = at_ns;
            let (next_ns, came_in) = self.step(thread, at_ns)?;
            steps += 1;
            faulted += u64::from(came_in);
            self.events.push(Reverse((next_ns, thread)));
        }
        Ok(now_ns)
    }

    /// One access, or one attempt to end a fault. Returns when the thread goes on, and whether a page came in.
    fn step(&mut self, number: u32, now_ns: u64) -> Result<(u64, bool), SwapError> {
        let thread = &self.threads[number as usize];
        let (writer, tenant) = (thread.writer, thread.writer.tenant as usize);
        let access_ns = self.params.tenants[tenant].access_ns;
        let fault = thread.fault.unwrap_or_else(|| {
            self.seen[tenant].accesses += 1;
            Fault {
                page: self.memories[tenant].draw(&mut self.random),
                store: self.random.chance(self.params.tenants[tenant].store_ratio),
                since_ns: now_ns,
            }
        });
        self.threads[number as usize].fault = None;
        if self.memories[tenant].is_resident(fault.page) {
            self.touch(tenant, fault, now_ns);
            return Ok((now_ns + access_ns, false));
        }
        let (victim, dirty) = self.memories[tenant].victim();
        if dirty || !self.store.has_copy(victim) {
            let wait_ns = self.store.wait_for_room(now_ns);
            if wait_ns > 0 {
                self.threads[number as usize].fault = Some(fault);
                return Ok((now_ns + wait_ns, false));
            }
        }
        let reclaim_ns = self.evict(writer, now_ns)?;
        let done_ns = self.store.read(fault.page, now_ns, &mut self.counts) + reclaim_ns;
        self.memories[tenant].place(fault.page, false);
        self.touch(tenant, fault, now_ns);
        let seen = &mut self.seen[tenant];
        seen.swap_ins += 1;
        seen.swap_in_ns.push(done_ns - fault.since_ns);
        Ok((done_ns + access_ns, true))
    }

    /// An access to a page in memory: the first store makes its copy stale.
    fn touch(&mut self, tenant: usize, fault: Fault, now_ns: u64) {
        if self.memories[tenant].access(fault.page, fault.store) {
            self.store.release(fault.page, now_ns, &mut self.counts);
        }
    }

    /// The page at the hand leaves memory. Returns the time that its writer spends on reclaim.
    fn evict(&mut self, writer: Writer, now_ns: u64) -> Result<u64, SwapError> {
        let tenant = writer.tenant as usize;
        let (page, dirty) = self.memories[tenant].at_hand();
        self.memories[tenant].evict();
        self.seen[tenant].evictions += 1;
        if !dirty && self.store.has_copy(page) {
            self.store.drop_from_memory(page);
            return Ok(0);
        }
        self.seen[tenant].swap_outs += 1;
        loop {
            let written = self.store.write(page, writer, now_ns, &mut self.counts);
            if written != Err(SwapError::NoSlot) || !self.drop_a_copy(now_ns) {
                return written;
            }
        }
    }

    /// Frees the slot of a page that is in memory (`__try_to_reclaim_swap`). False where no such page has one.
    fn drop_a_copy(&mut self, now_ns: u64) -> bool {
        let mut pages = self.memories.iter().flat_map(Memory::pages);
        let Some(page) = pages.find(|page| self.store.has_copy(*page)) else {
            return false;
        };
        self.store.release(page, now_ns, &mut self.counts);
        true
    }

    fn outcome(mut self, elapsed_ns: u64, busy_before_ns: u64) -> Outcome {
        for tenant in &mut self.seen {
            tenant.swap_in_ns.sort_unstable();
        }
        let busy_ns = (self.store.busy_ns() - busy_before_ns) as f64;
        let all_ns = elapsed_ns.max(1) as f64 * f64::from(self.params.flash.dies);
        Outcome {
            elapsed_ns,
            counts: self.counts,
            tenants: self.seen,
            used_ratio: self.store.used_ratio(),
            busy_ratio: self.store.physical_slots().map(|_| busy_ns / all_ns),
            pool_bytes: self.store.pool().map(crate::compressed::Pool::bytes),
            pool_pages: self.store.pool().map(crate::compressed::Pool::pages),
        }
    }
}
