//! What the rules of `doctor` look at.

use std::collections::{BTreeMap, BTreeSet};

use tierscope_procfs::{counters, host, process, zoneinfo};
use tierscope_rootfs::Reader;
use tierscope_sample::inventory::Inventory;
use tierscope_sysfs::damon_admin::{self, Kdamond};
use tierscope_sysfs::memory_blocks::{self, Blocks};
use tierscope_sysfs::{cxl, devices, hotness, knobs};

use tierscope_host::services::Discovered;

/// What is known of a host.
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
    /// Devices with memory.
    pub(crate) devices: Devices,
    /// Counters of the host since boot.
    pub(crate) vmstat: BTreeMap<String, i64>,
    /// Monitoring threads of DAMON that are on.
    pub(crate) kdamonds: Vec<Kdamond>,
    /// Services that may not use some node with memory, with the nodes that they may not use.
    pub(crate) barred: Vec<(String, Vec<u32>)>,
}

/// Devices with memory, and the blocks in which it comes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Devices {
    /// CXL memory devices with their links.
    pub(crate) cxl: Vec<cxl::Memory>,
    /// CXL regions.
    pub(crate) regions: Vec<cxl::Region>,
    /// dax devices.
    pub(crate) dax: Vec<devices::Dax>,
    /// Memory blocks; `None` where the host shows none.
    pub(crate) blocks: Option<Blocks>,
    /// Monitoring units of CXL devices that count hot blocks by themselves.
    pub(crate) hotness: Vec<hotness::Instance>,
    /// Errors of links that rose while the agent watched: device, and how many.
    pub(crate) risen: Vec<(String, u64)>,
}

impl<'a> Facts<'a> {
    /// Reads what the rules need beneath a root.
    pub(crate) fn read(reader: &mut Reader, inventory: &'a Inventory, discovered: &Discovered) -> Self {
        let mut vmstat = BTreeMap::new();
        // Rules that need a counter say nothing where it is missing.
        let _absent = counters::vmstat(reader, |name, value| {
            vmstat.insert(name.to_owned(), value);
        });
        Self {
            live: reader.root().is_live(),
            capabilities: host::effective_capabilities(reader, "self"),
            has_pressure: reader.root().join("/proc/pressure/memory").exists(),
            given_up_nodes: given_up_nodes(reader),
            devices: Devices {
                cxl: cxl::memory(reader),
                regions: cxl::regions(reader),
                dax: devices::dax(reader),
                blocks: memory_blocks::read(reader).ok(),
                hotness: hotness::instances(reader),
                risen: Vec::new(),
            },
            vmstat,
            kdamonds: damon_admin::running(reader).unwrap_or_default(),
            barred: barred(reader, inventory, discovered),
            inventory,
        }
    }

    /// The value of a setting, or its choice where the value lists several; `None` where the host has none.
    pub(crate) fn knob(&self, path: &str) -> Option<&str> {
        let knob = self.inventory.knobs.iter().find(|knob| knob.path == path)?;
        knob.value.as_deref().map(knobs::selected)
    }

    /// Whether a setting is on: `1`, `Y`, `true`.
    pub(crate) fn is_on(&self, path: &str) -> bool {
        self.knob(path)
            .is_some_and(|value| matches!(value, "1" | "Y" | "y" | "true"))
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

    /// Nodes of the tiers below the fastest.
    pub(crate) fn lower_nodes(&self) -> BTreeSet<u32> {
        let lower = self.inventory.tiers.iter().filter(|tier| tier.rank > 0);
        lower.flat_map(|tier| tier.nodes.iter().copied()).collect()
    }

    /// A counter of the host; `None` where the kernel has none of that name.
    pub(crate) fn counter(&self, name: &str) -> Option<i64> {
        self.vmstat.get(name).copied()
    }

    /// The sum of those of these counters that the kernel has.
    pub(crate) fn sum(&self, names: &[&str]) -> i64 {
        names.iter().filter_map(|name| self.counter(name)).sum()
    }
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

/// Asks one process of each service which nodes its cpuset allows.
fn barred(reader: &mut Reader, inventory: &Inventory, discovered: &Discovered) -> Vec<(String, Vec<u32>)> {
    let with_memory: BTreeSet<u32> = inventory
        .nodes
        .iter()
        .filter(|node| node.memory_bytes.is_some_and(|bytes| bytes > 0))
        .map(|node| node.id)
        .collect();
    if with_memory.len() < 2 {
        return Vec::new();
    }
    let mut asked = BTreeSet::new();
    let mut barred = Vec::new();
    for process in &discovered.processes {
        if !asked.insert(&process.service) {
            continue;
        }
        let Some(allowed) = process::allowed_nodes(reader, process.pid) else {
            continue;
        };
        let missing: Vec<u32> = with_memory
            .iter()
            .copied()
            .filter(|node| !allowed.contains(node))
            .collect();
        if !missing.is_empty() {
            barred.push((process.service.to_string(), missing));
        }
    }
    barred
}
