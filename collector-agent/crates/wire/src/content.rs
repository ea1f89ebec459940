//! What a batch carries, before it is encoded, and how it is split when it is too large.

use std::mem::take;
use std::sync::Arc;

use tierscope_sample::heat::{GapRow, HeatRow};
use tierscope_sample::inventory::Inventory;
use tierscope_sample::page_sample::PageSample;
use tierscope_sample::tiles::{TileColumn, TileEpoch};

use crate::{CounterRow, Layout, proto};

/// The data of a batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Content {
    /// What the host is; sent on change.
    pub inventory: Option<Inventory>,
    /// Layouts to send although they were sent before (the service asked for them).
    pub layouts: Vec<Arc<Layout>>,
    /// Counters in order of time.
    pub counters: Vec<CounterRow>,
    /// Heat rows.
    pub heat: Vec<HeatRow>,
    /// Reuse gaps.
    pub gaps: Vec<GapRow>,
    /// Row lists of tiles.
    pub tile_epochs: Vec<TileEpoch>,
    /// Columns of tiles; their epochs travel in this batch or an earlier one.
    pub tile_columns: Vec<TileColumn>,
    /// Sampled pages with their activity.
    pub page_samples: Vec<PageSample>,
    /// What the agent knows of itself.
    pub self_report: Option<SelfReport>,
}

/// The agent's own cost since its last report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "each field is described in contract/proto/tierscope/v1/batch.proto"
)]
pub struct SelfReport {
    pub end_wall_ns: i64,
    pub window_ns: i64,
    pub cpu_ns: i64,
    pub rss_bytes: i64,
    pub spool_bytes: i64,
    pub spool_batches: u64,
    pub dropped_batches: u64,
    pub sent_bytes: u64,
    pub counters_dropped: u64,
    pub services_dropped: u64,
    pub collectors: Vec<CollectorCost>,
    pub budget_state: String,
    pub heat_rung: String,
    pub budget_reason: String,
    pub guard_paused_intervals: u64,
    pub samples_taken: u64,
    pub samples_lost: u64,
    pub throttles: u64,
}

/// Cost of one collector in the window of a [`SelfReport`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "see the contract")]
pub struct CollectorCost {
    pub name: String,
    pub cpu_ns: i64,
    pub runs: u64,
    pub failures: u64,
    pub last_error: String,
}

impl Content {
    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes what was collected later: its inventory and self report replace those that are there.
    pub fn append(&mut self, later: Self) {
        self.inventory = later.inventory.or_else(|| self.inventory.take());
        self.self_report = later.self_report.or_else(|| self.self_report.take());
        self.layouts.extend(later.layouts);
        self.counters.extend(later.counters);
        self.heat.extend(later.heat);
        self.gaps.extend(later.gaps);
        self.tile_epochs.extend(later.tile_epochs);
        self.tile_columns.extend(later.tile_columns);
        self.page_samples.extend(later.page_samples);
    }

    /// Number of items that can travel apart.
    pub fn items(&self) -> usize {
        usize::from(self.inventory.is_some())
            + usize::from(self.self_report.is_some())
            + self.layouts.len()
            + self.counters.len()
            + self.heat.len()
            + self.gaps.len()
            + self.tile_epochs.len()
            + self.tile_columns.len()
            + self.page_samples.len()
    }

    /// The kind of the only item, for messages.
    pub(crate) fn kind_of_first(&self) -> &'static str {
        let kinds = [
            (self.inventory.is_some(), "inventory"),
            (!self.layouts.is_empty(), "layout"),
            (!self.counters.is_empty(), "counter sample"),
            (!self.heat.is_empty(), "heat row"),
            (!self.gaps.is_empty(), "gap row"),
            (!self.tile_epochs.is_empty(), "tile epoch"),
            (!self.tile_columns.is_empty(), "tile column"),
            (!self.page_samples.is_empty(), "page sample"),
        ];
        kinds
            .iter()
            .find(|(holds, _)| *holds)
            .map_or("self report", |(_, kind)| kind)
    }

    /// Splits off the second half, keeping the order of time and epochs before their columns; each half is
    /// smaller than the whole when there are two items or more.
    pub(crate) fn split(&mut self) -> Self {
        let longest = [
            self.layouts.len(),
            self.counters.len(),
            self.heat.len(),
            self.gaps.len(),
            self.tile_epochs.len(),
            self.tile_columns.len(),
            self.page_samples.len(),
        ];
        if longest.into_iter().all(|length| length < 2) {
            return self.split_off_kinds();
        }
        Self {
            layouts: second_half(&mut self.layouts),
            counters: second_half(&mut self.counters),
            heat: second_half(&mut self.heat),
            gaps: second_half(&mut self.gaps),
            tile_epochs: second_half(&mut self.tile_epochs),
            tile_columns: second_half(&mut self.tile_columns),
            page_samples: second_half(&mut self.page_samples),
            ..Self::default()
        }
    }

    /// At most one item of each kind is left: keeps the first kind that is there.
    fn split_off_kinds(&mut self) -> Self {
        let mut rest = take(self);
        self.inventory = rest.inventory.take();
        if self.inventory.is_none() {
            self.layouts = take(&mut rest.layouts);
        }
        if self.items() == 0 {
            self.counters = take(&mut rest.counters);
        }
        if self.items() == 0 {
            self.tile_epochs = take(&mut rest.tile_epochs);
        }
        if self.items() == 0 {
            self.heat = take(&mut rest.heat);
        }
        if self.items() == 0 {
            self.gaps = take(&mut rest.gaps);
        }
        if self.items() == 0 {
            self.page_samples = take(&mut rest.page_samples);
        }
        rest
    }
}

fn second_half<T>(items: &mut Vec<T>) -> Vec<T> {
    items.split_off(items.len().div_ceil(2))
}

impl SelfReport {
    pub(crate) fn to_proto(&self) -> proto::SelfReport {
        let cost = |cost: &CollectorCost| proto::CollectorCost {
            name: cost.name.clone(),
            cpu_ns: cost.cpu_ns,
            runs: cost.runs,
            failures: cost.failures,
            last_error: cost.last_error.clone(),
        };
        proto::SelfReport {
            end_wall_ns: self.end_wall_ns,
            window_ns: self.window_ns,
            cpu_ns: self.cpu_ns,
            rss_bytes: self.rss_bytes,
            spool_bytes: self.spool_bytes,
            spool_batches: self.spool_batches,
            dropped_batches: self.dropped_batches,
            sent_bytes: self.sent_bytes,
            counters_dropped: self.counters_dropped,
            services_dropped: self.services_dropped,
            collectors: self.collectors.iter().map(cost).collect(),
            budget_state: self.budget_state.clone(),
            heat_rung: self.heat_rung.clone(),
            budget_reason: self.budget_reason.clone(),
            guard_paused_intervals: self.guard_paused_intervals,
            samples_taken: self.samples_taken,
            samples_lost: self.samples_lost,
            throttles: self.throttles,
        }
    }
}
