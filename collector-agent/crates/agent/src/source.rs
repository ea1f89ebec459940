//! What one collection gives, and who gives it: the border between the loop of `run` and the collectors.

use std::sync::Arc;

use tierscope_sample::counters::CounterSample;
use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_sample::inventory::Inventory;
use tierscope_wire::CollectorCost;

/// Everything that was read at the end of an interval.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Collection {
    /// Raw counters.
    pub(crate) sample: CounterSample,
    /// What the host is now; it travels on change. The same object as the time before says that nothing changed.
    pub(crate) inventory: Arc<Inventory>,
    /// Heat of the interval; empty where none is measured.
    pub(crate) heat: Folded,
    /// Counter names beyond the limit.
    pub(crate) counters_dropped: u64,
    /// Services beyond the limit.
    pub(crate) services_dropped: u64,
    /// Cost of each collector, this time.
    pub(crate) costs: Vec<CollectorCost>,
}

/// Reads the host.
pub(crate) trait Source {
    /// Reads everything at the end of an interval of nominally `interval_seconds`; `heat` says whether heat may be
    /// measured.
    fn collect(&mut self, end: IntervalEnd, interval_seconds: u32, heat: bool) -> Collection;
}
