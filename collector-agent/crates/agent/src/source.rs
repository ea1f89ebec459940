//! What one collection gives, and who gives it: the border between the loop of `run` and the collectors.

use std::collections::BTreeMap;
use std::sync::Arc;

use tierscope_sample::counters::CounterSample;
use tierscope_sample::fold::{Folded, IntervalEnd};
use tierscope_sample::inventory::{Inventory, Pod};
use tierscope_wire::CollectorCost;

use crate::collect::Gone;
use tierscope_heat::order::{HeatCost, Order};

/// Pods by uid, and the pods whose services are known one by one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FoundPods {
    /// All that is known of each, by uid.
    pub(crate) by_uid: BTreeMap<String, Pod>,
    /// The uid of the only pod of a service.
    pub(crate) of_services: BTreeMap<String, String>,
}

/// Everything that was read at the end of an interval.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Collection {
    /// Raw counters.
    pub(crate) sample: CounterSample,
    /// Files of the host that gave nothing.
    pub(crate) gone: Vec<Gone>,
    /// What the host is now; it travels on change. The same object as the time before says that nothing changed.
    pub(crate) inventory: Arc<Inventory>,
    /// Pods of the node, where it is one of a Kubernetes cluster.
    pub(crate) pods: FoundPods,
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
    /// Services whose heat is measured.
    pub(crate) heat_services: Vec<String>,
    /// Patterns of the heat settings that fit no process.
    pub(crate) warnings: Vec<String>,
}

impl Collection {
    /// What failed in part and why, by collector; `None` where nothing did.
    pub(crate) fn failures(&self) -> Option<String> {
        let failures: Vec<String> = self
            .costs
            .iter()
            .filter(|cost| !cost.last_error.is_empty())
            .map(|cost| format!("{}: {}", cost.name, cost.last_error))
            .collect();
        (!failures.is_empty()).then(|| failures.join("; "))
    }
}

pub(crate) trait Source {
    fn collect(&mut self, end: IntervalEnd, order: &Order) -> Collection;

    /// Looks at what may change between two collections.
    fn look(&mut self) {}

    /// Leaves the host alone at once: nothing of a collector stays in the kernel. The next collection begins anew.
    fn rest(&mut self);
}
