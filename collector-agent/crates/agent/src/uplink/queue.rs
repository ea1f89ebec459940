//! From collections to batches in the queue on disk.

use std::sync::Arc;

use anyhow::Result;
use tierscope_clock::{boottime_ns, process_cpu_ns};
use tierscope_sample::inventory::Inventory;
use tierscope_spool::Stats;
use tierscope_wire::{CollectorCost, Content, CounterRow, Header, LayoutCache, Sealed, Sealer, SelfReport};

use crate::bounds::budget::resident_bytes;
use crate::source::Collection;
use crate::uplink::{Shared, header, lock, spool_status};

/// How the agent keeps within its bounds, for its report of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) budget_state: &'static str,
    pub(crate) budget_reason: String,
    pub(crate) guard_paused_intervals: u64,
}

/// What waits for its batch, in memory.
struct Held {
    content: Content,
    boot_id: Arc<str>,
    /// End of the newest collection.
    end_wall_ns: i64,
    /// The inventories that were sent and seen before: sent again where this may not have been queued.
    before: (Option<Arc<Inventory>>, Option<Arc<Inventory>>),
}

/// Counts of collections since the last report.
#[derive(Default)]
struct Counts {
    counters_dropped: u64,
    services_dropped: u64,
    heat_rung: String,
    samples_taken: u64,
    samples_lost: u64,
    throttles: u64,
}

/// More items than these are not held, however often batches are sent: they take memory.
const MOST_HELD_ITEMS: usize = 20_000;

/// The queueing side of an agent.
#[derive(Default)]
pub(crate) struct Queue {
    layouts: LayoutCache,
    sealer: Sealer,
    sent_inventory: Option<Arc<Inventory>>,
    /// The newest one that was looked at, sent or like the one that was.
    seen_inventory: Option<Arc<Inventory>>,
    /// Boot-time clock and CPU time at the last report.
    reported: Option<(i64, i64)>,
    /// Costs since the last report.
    costs: Vec<CollectorCost>,
    counts: Counts,
    held: Option<Held>,
}

impl Queue {
    /// Holds a collection until the next batch is sealed. Says whether it may go on holding.
    pub(crate) fn hold(&mut self, collection: Collection) -> bool {
        let before = (self.sent_inventory.clone(), self.seen_inventory.clone());
        let (boot_id, end_wall_ns) = (collection.sample.boot_id.clone(), collection.sample.end_wall_ns);
        let content = self.measured(collection);
        let held = self.held.get_or_insert_with(|| Held {
            content: Content::default(),
            boot_id,
            end_wall_ns,
            before,
        });
        held.content.append(content);
        held.end_wall_ns = end_wall_ns;
        held.content.items() < MOST_HELD_ITEMS
    }

    /// Whether something waits for its batch.
    pub(crate) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Seals what is held and appends it to the queue on disk. Gives the compressed bytes. What the disk does not take is
    /// counted as dropped, and the rest is queued all the same.
    pub(crate) fn seal_held(&mut self, shared: &Shared, standing: Standing) -> Result<i64> {
        let Some(mut held) = self.held.take() else {
            return Ok(0);
        };
        let stats = lock(&shared.spool).stats();
        held.content.self_report = Some(self.report(held.end_wall_ns, standing, &stats));
        let queued = self.append(shared, held.content, &held.boot_id);
        if queued.is_err() {
            // An inventory that may not have been queued is sent again.
            (self.sent_inventory, self.seen_inventory) = held.before;
        }
        queued
    }

    /// Seals a content and appends it to the queue on disk; the compressed bytes.
    fn append(&mut self, shared: &Shared, content: Content, boot_id: &str) -> Result<i64> {
        let kept = content
            .counters
            .iter()
            .map(|row| lock(&shared.layouts).keep(&row.layout));
        let mut failure = kept.filter_map(Result::err).last();
        let mut spool = lock(&shared.spool);
        let header = header(
            shared.credential.host_id(),
            spool.stream_id(),
            spool.next_seq(),
            boot_id,
        );
        let mut queued_bytes = 0;
        for batch in self.seal(content, &header)? {
            match spool.append(batch.seq, &batch.body) {
                Ok(()) => queued_bytes += batch.body.len() as i64,
                Err(error) => failure = failure.or(Some(error.into())),
            }
        }
        let queued = spool_status(&spool);
        drop(spool);
        shared.status.update(|status| status.spool = queued);
        match failure {
            Some(error) => Err(error),
            None => Ok(queued_bytes),
        }
    }

    /// What a batch is to say of a collection: the inventory only where it changed. `spool` is where batches wait.
    pub(crate) fn content(&mut self, collection: Collection, standing: Standing, spool: &Stats) -> Content {
        let end_wall_ns = collection.sample.end_wall_ns;
        let measured = self.measured(collection);
        Content {
            self_report: Some(self.report(end_wall_ns, standing, spool)),
            ..measured
        }
    }

    /// What was measured, without a report of the agent on itself; what that is to say is counted.
    fn measured(&mut self, collection: Collection) -> Content {
        let row = CounterRow::new(&collection.sample, &mut self.layouts);
        let new_inventory = Some(&collection.inventory).filter(|inventory| self.is_new(inventory));
        let inventory = new_inventory.map(|inventory| Inventory::clone(inventory));
        self.add_costs(collection.costs);
        let sampling = &collection.heat_cost.sampling;
        self.counts = Counts {
            counters_dropped: collection.counters_dropped,
            services_dropped: collection.services_dropped,
            heat_rung: collection.heat_cost.backend.unwrap_or_default().to_owned(),
            samples_taken: self.counts.samples_taken + sampling.taken,
            samples_lost: self.counts.samples_lost + sampling.lost,
            throttles: self.counts.throttles + sampling.throttles,
        };
        if inventory.is_some() {
            self.sent_inventory = Some(Arc::clone(&collection.inventory));
        }
        self.seen_inventory = Some(collection.inventory);
        Content {
            inventory,
            counters: vec![row],
            heat: collection.heat.rows,
            gaps: collection.heat.gaps,
            tile_epochs: collection.heat.tile_epochs,
            tile_columns: collection.heat.tile_columns,
            page_samples: collection.heat.page_samples,
            ..Content::default()
        }
    }

    /// Seals a content into batches, numbered from `header.seq` on. A layout goes into the first batch that uses it.
    pub(crate) fn seal(&mut self, content: Content, header: &Header) -> Result<Vec<Sealed>> {
        Ok(self.sealer.seal(content, header)?)
    }

    /// Whether anything changed besides figures that change all the time.
    fn is_new(&self, inventory: &Arc<Inventory>) -> bool {
        let is_seen = self
            .seen_inventory
            .as_ref()
            .is_some_and(|seen| Arc::ptr_eq(seen, inventory));
        let is_like = |sent: &Arc<Inventory>| steady(sent) == steady(inventory);
        !is_seen && !self.sent_inventory.as_ref().is_some_and(is_like)
    }

    fn add_costs(&mut self, costs: Vec<CollectorCost>) {
        for cost in costs {
            match self.costs.iter_mut().find(|known| known.name == cost.name) {
                None => self.costs.push(cost),
                Some(known) => {
                    known.cpu_ns += cost.cpu_ns;
                    known.runs += cost.runs;
                    known.failures += cost.failures;
                    if !cost.last_error.is_empty() {
                        known.last_error = cost.last_error;
                    }
                }
            }
        }
    }

    /// What the agent says of itself: its cost and its counts since the last report.
    fn report(&mut self, end_wall_ns: i64, standing: Standing, spool: &Stats) -> SelfReport {
        let now = (boottime_ns(), process_cpu_ns());
        let (since_ns, cpu_before_ns) = self.reported.replace(now).unwrap_or((now.0, 0));
        let counts = std::mem::take(&mut self.counts);
        SelfReport {
            end_wall_ns,
            window_ns: now.0 - since_ns,
            cpu_ns: now.1 - cpu_before_ns,
            rss_bytes: resident_bytes(),
            spool_bytes: spool.bytes as i64,
            spool_batches: spool.pending_records,
            // One count of what was lost on the way: the status file and `/metrics` tell the causes apart.
            dropped_batches: spool.dropped + spool.damaged + spool.rejected,
            sent_bytes: spool.sent_bytes,
            collectors: std::mem::take(&mut self.costs),
            counters_dropped: counts.counters_dropped,
            services_dropped: counts.services_dropped,
            heat_rung: counts.heat_rung,
            samples_taken: counts.samples_taken,
            samples_lost: counts.samples_lost,
            throttles: counts.throttles,
            budget_state: standing.budget_state.to_owned(),
            budget_reason: standing.budget_reason,
            guard_paused_intervals: standing.guard_paused_intervals,
        }
    }
}

/// The inventory without figures that change all the time.
fn steady(inventory: &Inventory) -> Inventory {
    let mut steady = inventory.clone();
    steady.swaps.iter_mut().for_each(|swap| swap.used_bytes = 0);
    steady
        .services
        .iter_mut()
        .for_each(|service| service.processes = 0);
    steady
}
