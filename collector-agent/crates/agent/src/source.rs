//! What one collection gives, and who gives it: the border between the loop of `run` and the collectors.

use std::sync::Arc;

use tierscope_sample::counters::CounterSample;
use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_sample::inventory::Inventory;
use tierscope_wire::CollectorCost;

use crate::heat::backend::Sampling;

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
    /// What the back end of heat was, and what it says of itself.
    pub(crate) heat_cost: HeatCost,
}

/// What measuring heat took in this interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HeatCost {
    /// The back end that measures; `None` while none does.
    pub(crate) backend: Option<&'static str>,
    /// Samples of a hardware sampler.
    pub(crate) sampling: Sampling,
    /// Processor time of kernel threads that work for it, such as kdamond.
    pub(crate) kernel_cpu_ns: i64,
    /// Whether a cheaper back end could take over.
    pub(crate) has_cheaper: bool,
    /// Whether there is anybody to measure.
    pub(crate) listed: bool,
}

/// What the loop asks for at the end of an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    /// Nominal length of the interval.
    pub(crate) interval_seconds: u32,
    /// What is to be done about heat.
    pub(crate) heat: HeatOrder,
}

/// What is to be done about heat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeatOrder {
    /// Measure.
    Measure(HeatScope),
    /// Let the interval pass for this reason: it is missing, not idle.
    Miss(String),
    /// End measuring for this reason, and leave nothing in the kernel.
    Stop(String),
}

/// How much of the heat that the owner's settings allow is measured. All of it by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeatScope {
    /// Services to measure, as `namespace/name`; `None` for all that are listed.
    pub(crate) services: Option<Vec<String>>,
    /// Services whose page samples are sent; `None` for all that are measured.
    pub(crate) sample_services: Option<Vec<String>>,
    /// Heat is measured over so many intervals at a time.
    pub(crate) every: u32,
    /// Whether a cheaper back end than the best one is to be used.
    pub(crate) degraded: bool,
}

impl Default for HeatScope {
    fn default() -> Self {
        Self {
            services: None,
            sample_services: None,
            every: 1,
            degraded: false,
        }
    }
}

/// Reads the host.
pub(crate) trait Source {
    /// Reads everything at the end of an interval.
    fn collect(&mut self, end: IntervalEnd, order: &Order) -> Collection;

    /// Leaves the host alone at once: nothing of a collector stays in the kernel. The next collection begins anew.
    fn rest(&mut self);
}
