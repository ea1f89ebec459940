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
}

impl Queue {
    /// Seals a collection and appends it to the queue on disk. Gives the compressed bytes. What the disk does not take is
    /// counted as dropped, and the rest is queued all the same.
    pub(crate) fn add(&mut self, shared: &Shared, collection: Collection, standing: Standing) -> Result<i64> {
        let boot_id = collection.sample.boot_id.clone();
        let before = (self.sent_inventory.clone(), self.seen_inventory.clone());
        let stats = lock(&shared.spool).stats();
        let content = self.content(collection, standing, &stats);
        let queued = self.append(shared, content, &boot_id);
        if queued.is_err() {
            // An inventory that may not have been queued is sent again.
            (self.sent_inventory, self.seen_inventory) = before;
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
        let row = CounterRow::new(&collection.sample, &mut self.layouts);
        let new_inventory = Some(&collection.inventory).filter(|inventory| self.is_new(inventory));
        let inventory = new_inventory.map(|inventory| Inventory::clone(inventory));
        self.add_costs(collection.costs);
        let report = SelfReport {
            counters_dropped: collection.counters_dropped,
            services_dropped: collection.services_dropped,
            budget_state: standing.budget_state.to_owned(),
            budget_reason: standing.budget_reason,
            heat_rung: collection.heat_cost.backend.unwrap_or_default().to_owned(),
            guard_paused_intervals: standing.guard_paused_intervals,
            samples_taken: collection.heat_cost.sampling.taken,
            samples_lost: collection.heat_cost.sampling.lost,
            throttles: collection.heat_cost.sampling.throttles,
            ..self.report(collection.sample.end_wall_ns, spool)
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
            self_report: Some(report),
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

    /// The agent's own cost since the last report.
    fn report(&mut self, end_wall_ns: i64, spool: &Stats) -> SelfReport {
        let now = (boottime_ns(), process_cpu_ns());
        let (since_ns, cpu_before_ns) = self.reported.replace(now).unwrap_or((now.0, 0));
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
            ..SelfReport::default()
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
