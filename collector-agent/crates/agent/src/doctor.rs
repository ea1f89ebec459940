//! What stands in the way of good tiering on this host, each with its cause, what to do, and how sure that is.

mod command;
mod rules;

pub use command::{DoctorArgs, run};

use tierscope_procfs::{host, zoneinfo};
use tierscope_rootfs::Reader;
use tierscope_sample::inventory::{Finding, Inventory};
use tierscope_sysfs::knobs;

/// What the rules look at.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    /// The host.
    pub(crate) inventory: &'a Inventory,
    /// Whether this is the running host, whose privileges count.
    pub(crate) live: bool,
    /// Effective capabilities of the agent, where known.
    pub(crate) capabilities: Option<u64>,
    /// Whether the kernel gives pressure stall information.
    pub(crate) has_pressure: bool,
    /// Nodes on which kswapd gave up.
    pub(crate) given_up_nodes: Vec<u32>,
}

impl Facts<'_> {
    /// The value of a setting, or its choice where the value lists several; `None` where the host has none.
    pub(crate) fn knob(&self, path: &str) -> Option<&str> {
        let knob = self.inventory.knobs.iter().find(|knob| knob.path == path)?;
        knob.value.as_deref().map(knobs::selected)
    }

    /// Whether there is a tier to demote to.
    pub(crate) fn has_lower_tier(&self) -> bool {
        self.inventory
            .tiers
            .iter()
            .filter(|tier| !tier.nodes.is_empty())
            .count()
            > 1
    }
}

/// Findings of a host, worst first.
pub fn examine(reader: &mut Reader, inventory: &Inventory) -> Vec<Finding> {
    let facts = Facts {
        inventory,
        live: reader.root().is_live(),
        capabilities: host::effective_capabilities(reader, "self"),
        has_pressure: reader.root().join("/proc/pressure/memory").exists(),
        given_up_nodes: given_up_nodes(reader),
    };
    rules::all(&facts)
}

fn given_up_nodes(reader: &mut Reader) -> Vec<u32> {
    let mut nodes = Vec::new();
    let outcome = zoneinfo::read(reader, |place, name, value| {
        if let (zoneinfo::Place::Zone(node, _), "node_unreclaimable", 1) = (place, name, value) {
            nodes.push(node);
        }
    });
    nodes.dedup();
    // A zoneinfo that cannot be read, or only in part, gives no reason to worry anybody.
    if outcome.is_err() { Vec::new() } else { nodes }
}
