//! Rules about devices with memory: links, errors, memory that lies idle or cannot move.

use std::collections::BTreeMap;

use tierscope_sample::advice::charter;
use tierscope_sample::inventory::{Finding, Node, Unmovable};
use tierscope_sysfs::classify;
use tierscope_sysfs::cxl::{Link, Memory, Region};
use tierscope_sysfs::devices::Dax;

use super::finding::{CERTAIN, LIKELY, finding};
use super::memory::{is_large, sizes_of_tiers};
use crate::doctor::Facts;

/// Shares of a node that cannot move above which it is told, and above which it is a warning, in percent.
const UNMOVABLE_PERCENT: i64 = 25;
const UNMOVABLE_WARNING_PERCENT: i64 = 50;
/// A device's memory that is online is less than its size by what the kernel keeps for its own descriptions, 1.6 %, and by
/// the alignment of blocks.
const ONLINE_PERCENT: i64 = 90;

/// What the two ends of a link can do together.
fn best(device: &Memory) -> Option<(Link, Link)> {
    let pci = device.pci.as_ref()?;
    let lower = |a: Option<u32>, b: Option<u32>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let best = Link {
        decigigatransfers: lower(pci.max.decigigatransfers, pci.port_max.decigigatransfers),
        width: lower(pci.max.width, pci.port_max.width),
    };
    Some((pci.current, best))
}

fn is_below(link: Link, best: Link) -> bool {
    let below = |own: Option<u32>, best: Option<u32>| own.zip(best).is_some_and(|(own, best)| own < best);
    below(link.decigigatransfers, best.decigigatransfers) || below(link.width, best.width)
}

fn words(link: Link) -> String {
    let speed = link.decigigatransfers.map_or_else(
        || "unknown speed".to_owned(),
        |tenths| format!("{}.{} GT/s", tenths / 10, tenths % 10),
    );
    let width = link
        .width
        .map_or_else(|| "x?".to_owned(), |width| format!("x{width}"));
    format!("{speed} {width}")
}

/// A link that runs below what both of its ends can do.
pub(super) fn degraded_link(facts: &Facts<'_>) -> Option<Finding> {
    let degraded: Vec<String> = facts
        .devices
        .cxl
        .iter()
        .filter_map(|device| {
            let (current, best) = best(device)?;
            let address = &device.pci.as_ref()?.address;
            is_below(current, best).then(|| {
                format!(
                    "{} ({address}) runs at {}, both ends can do {}",
                    device.name,
                    words(current),
                    words(best)
                )
            })
        })
        .collect();
    (!degraded.is_empty()).then(|| {
        let cause = format!("a CXL link is degraded: {}", degraded.join("; "));
        let fix = "Bandwidth of that memory falls with the link. Reseat the card or its riser, look for link training errors in \
                   dmesg, update the firmware of card and board; then compare again.";
        finding("cxl-link-degraded", "warning", CERTAIN, cause, fix)
    })
}

/// A device that could do more than its slot.
pub(super) fn slow_slot(facts: &Facts<'_>) -> Option<Finding> {
    let limited: Vec<String> = facts
        .devices
        .cxl
        .iter()
        .filter_map(|device| {
            let pci = device.pci.as_ref()?;
            is_below(pci.port_max, pci.max).then(|| {
                format!(
                    "{} can do {}, its slot {}",
                    device.name,
                    words(pci.max),
                    words(pci.port_max)
                )
            })
        })
        .collect();
    (!limited.is_empty()).then(|| {
        let cause = format!("a slot limits a CXL device: {}", limited.join("; "));
        finding(
            "cxl-slot-limits-link",
            "info",
            CERTAIN,
            cause,
            "Nothing, if that is intended. Else move the card to a wider or faster slot.",
        )
    })
}

/// Errors of links: those that lost something at any time, and those that rise now.
pub(super) fn link_errors(facts: &Facts<'_>) -> Option<Finding> {
    let fix = "Reseat or replace the card or its riser, and update its firmware; corrected errors cost latency and announce \
               worse.";
    let lost: Vec<String> = facts
        .devices
        .cxl
        .iter()
        .filter_map(|device| {
            let errors = device.pci.as_ref()?.errors;
            let count = errors.nonfatal.unwrap_or(0) + errors.fatal.unwrap_or(0);
            (count > 0).then(|| format!("{} lost {count} transactions or links since boot", device.name))
        })
        .collect();
    let risen: Vec<String> = facts
        .devices
        .risen
        .iter()
        .map(|(name, count)| format!("{name} had {count} errors within the hour"))
        .collect();
    if !risen.is_empty() {
        let cause = format!("errors of a CXL link are rising: {}", risen.join("; "));
        return Some(finding("cxl-errors-rising", "warning", CERTAIN, cause, fix));
    }
    (!lost.is_empty()).then(|| {
        let cause = format!(
            "a CXL link had errors that were not corrected: {}",
            lost.join("; ")
        );
        finding("cxl-errors", "warning", CERTAIN, cause, fix)
    })
}

/// Devices that know what is hot in their memory.
pub(super) fn hotness_unit(facts: &Facts<'_>) -> Option<Finding> {
    let units = &facts.devices.hotness;
    (!units.is_empty()).then(|| {
        let names: Vec<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
        let cause = format!(
            "{} can count which blocks of CXL memory are hot, without cost for programs; this agent finds such units and does not \
             read them",
            names.join(", ")
        );
        let fix = "Nothing. `perf record -a -e <unit>/.../` of the driver's own perf shows the hot list.";
        finding("cxl-hotness-unit", "info", CERTAIN, cause, fix)
    })
}

/// Memory of devices that is not the kernel's.
pub(super) fn idle_memory(facts: &Facts<'_>) -> Option<Finding> {
    let devices = &facts.devices;
    let mut idle = idle_dax(&devices.dax);
    let undriven = devices.undriven.iter();
    idle.extend(undriven.map(|address| format!("{address} is CXL memory without a driver")));
    let undaxed = undaxed(facts);
    idle.extend(
        undaxed
            .iter()
            .map(|(name, bytes)| format!("{} MiB of {name} belong to no dax device", bytes >> 20)),
    );
    let mapped = idle.len();
    for region in devices
        .regions
        .iter()
        .filter(|region| region.committed == Some(false))
    {
        idle.push(format!("{} is not committed", region.name));
    }
    if let Some(bytes) = unmapped_bytes(facts) {
        idle.push(format!("{} MiB of CXL memory are in no region", bytes >> 20));
    }
    (!idle.is_empty()).then(|| {
        let cause = format!("memory of devices is not used as memory: {}", idle.join("; "));
        let first = if idle.len() > mapped {
            "`cxl create-region`, then "
        } else {
            ""
        };
        let mut why = String::new();
        if !devices.undriven.is_empty() {
            why.push_str("`dmesg` says why no driver took the device. ");
        }
        if !undaxed.is_empty() {
            why.push_str(NO_DAX);
        }
        let fix = format!(
            "{why}{first}`daxctl reconfigure-device --mode=system-ram daxX.Y`, if the kernel is to use it: never memory that \
             programs map (famfs, pmem libraries) or that other hosts share."
        );
        finding("device-memory-idle", "warning", LIKELY, cause, &fix)
    })
}

/// Dax devices that are not the kernel's memory. Kernels before 6.2 list memory that firmware sets apart several times, and use it
/// once.
fn idle_dax(devices: &[Dax]) -> Vec<String> {
    let is_kmem = |dax: &Dax| dax.driver.as_deref() == Some("kmem");
    let is_used = |dax: &Dax| {
        let mut used = devices.iter().filter(|other| is_kmem(other));
        is_kmem(dax) || used.any(|other| classify::overlaps(dax, other))
    };
    let shown = devices.iter().filter(|dax| dax.device_path.is_some());
    let describe = |dax: &Dax| match dax.driver.as_deref() {
        Some(driver) => format!("{} is with driver {driver}, for programs that map it", dax.name),
        None => format!("{} has no driver", dax.name),
    };
    shown.filter(|dax| !is_used(dax)).map(describe).collect()
}

/// What makes dax devices of a region (`drivers/dax/cxl.c`).
const NO_DAX: &str = "A region gets its dax device from the module dax_cxl (`modprobe dax_cxl`; a kernel without \
                      CONFIG_DEV_DAX_CXL has none), or from `daxctl create-device -r regionN` where a part of it is free. ";

/// Committed regions of volatile memory of which a part is in no dax device, with the bytes of it; none where nodes may
/// hold that memory without one, as where firmware brought it online, or where dax devices do not say where they hang.
fn undaxed<'f>(facts: &'f Facts<'_>) -> Vec<(&'f str, u64)> {
    let devices = &facts.devices;
    let is_placed = |dax: &Dax| dax.device_path.is_some() || dax.resource.is_some();
    if !devices.dax.iter().all(is_placed) {
        return Vec::new();
    }
    let whole = devices.regions.iter().filter(|region| region.is_whole_memory());
    let committed = whole.filter(|region| region.committed == Some(true));
    let mut found = Vec::new();
    for region in committed {
        let serving = devices.dax.iter().filter(|dax| classify::serves(region, dax));
        let in_dax: u64 = serving.filter_map(|dax| dax.size_bytes).sum();
        let size_bytes = region.size_bytes.unwrap_or(0);
        if in_dax < size_bytes / 100 * ONLINE_PERCENT.unsigned_abs() {
            found.push((region.name.as_str(), size_bytes - in_dax));
        }
    }
    let missing: u64 = found.iter().map(|(_, bytes)| bytes).sum();
    let fed = feeding(facts);
    let without_dax = facts
        .inventory
        .nodes
        .iter()
        .filter(|node| !fed.contains_key(&node.id));
    let in_nodes: i64 = without_dax.map(cxl_bytes).sum();
    if in_nodes.unsigned_abs() >= missing / 100 * ONLINE_PERCENT.unsigned_abs() {
        found.clear();
    }
    found
}

/// Bytes of a node that may be of CXL. Where the memory of processors is more than its modules hold, CXL may be in one pool
/// with it.
fn cxl_bytes(node: &Node) -> i64 {
    let may_be_cxl = match node.tier_class.as_str() {
        "dram" => node.tier_certainty == LIKELY,
        class => ["cxl", "unknown"].contains(&class),
    };
    if may_be_cxl {
        return node.memory_bytes.unwrap_or(0);
    }
    let parts = node.parts.iter().filter(|part| part.tier_class == "cxl");
    parts.map(|part| part.bytes).sum()
}

/// Volatile CXL capacity that no region holds and no node can be, from half a device on: nodes lack what the kernel
/// keeps of them for itself. Firmware that brings CXL memory online as plain memory makes no region of it.
fn unmapped_bytes(facts: &Facts<'_>) -> Option<i64> {
    let devices = &facts.devices;
    let capacities = devices.cxl.iter().filter_map(|device| device.ram_bytes);
    let smallest = capacities.clone().filter(|bytes| *bytes > 0).min()?;
    let whole = devices.regions.iter().filter(|region| region.is_whole_memory());
    let in_regions: u64 = whole.filter_map(|region| region.size_bytes).sum();
    let in_nodes = facts.inventory.nodes.iter().map(cxl_bytes).sum();
    let used = i64::try_from(in_regions).unwrap_or(i64::MAX).max(in_nodes);
    Some(capacities.sum::<i64>().saturating_sub(used)).filter(|idle| *idle > smallest / 2)
}

/// CXL devices whose whole capacity is persistent, which no kernel uses as memory by itself.
pub(super) fn persistent_only(facts: &Facts<'_>) -> Option<Finding> {
    let devices = &facts.devices;
    // A region of it alone is no memory yet, and no file either: the bus of NVDIMMs makes both of it.
    let is_used = devices.dax.iter().any(|dax| {
        let path = dax.device_path.as_deref().unwrap_or_default();
        let of_region = |region: &Region| region.mode == "pmem" && classify::serves(region, dax);
        path.contains("nvdimm-bridge") || devices.regions.iter().any(of_region)
    });
    if devices.has_pmem_disk || is_used {
        return None;
    }
    let persistent: Vec<String> = devices
        .cxl
        .iter()
        .filter(|device| device.ram_bytes.unwrap_or(0) == 0)
        .filter_map(|device| {
            let bytes = device.pmem_bytes.filter(|bytes| *bytes > 0)?;
            Some(format!("{} has {} MiB", device.name, bytes >> 20))
        })
        .collect();
    (!persistent.is_empty()).then(|| {
        let cause = format!(
            "CXL memory is persistent capacity alone, which is no memory of the kernel: {}",
            persistent.join("; ")
        );
        let fix = "Nothing, if it is meant for files. To use it as memory: `cxl create-region -t pmem`, `ndctl create-namespace \
                   -m devdax`, `daxctl reconfigure-device --mode=system-ram daxX.Y`; devices with partitions can be made volatile \
                   (`cxl set-partition -t ram`).";
        finding("cxl-persistent-only", "info", CERTAIN, cause, fix)
    })
}

/// Blocks of memory that are offline, memory of devices of which a part is, and nodes that devices feed and that are not there.
pub(super) fn offline_memory(facts: &Facts<'_>) -> Option<Finding> {
    let (mut offline, mut offline_bytes) = (Vec::new(), 0);
    if let Some(blocks) = facts.devices.blocks {
        let count = blocks.offline.unwrap_or(0);
        if count > 0 && !is_standby(facts) {
            offline_bytes = blocks.block_bytes.map_or(0, |bytes| count.saturating_mul(bytes));
            let size = match offline_bytes {
                0 => String::new(),
                bytes => format!(" ({} MiB)", bytes >> 20),
            };
            offline.push(format!("{count} memory blocks{size} are offline"));
        }
    }
    for (target, (names, fed_bytes)) in feeding(facts) {
        let names = names.join(", ");
        let node = facts.inventory.node(target);
        let online_bytes = node.and_then(|node| node.memory_bytes).unwrap_or(0);
        let is_alone = node.is_some_and(|node| node.cpulist.is_empty());
        if online_bytes == 0 {
            offline.push(format!("{names} feeds node {target}, which has no memory online"));
        } else if is_alone && online_bytes < fed_bytes / 100 * ONLINE_PERCENT {
            offline.push(format!(
                "{names} feeds node {target} with {} MiB, of which {} MiB are online",
                fed_bytes >> 20,
                online_bytes >> 20
            ));
        }
    }
    (!offline.is_empty()).then(|| {
        let movable = "`echo online_movable > /sys/devices/system/memory/memoryN/state` for each block";
        let sizes = sizes_of_tiers(facts).filter(|(slow, dram)| is_large(slow.saturating_add(offline_bytes), *dram));
        let fix = match sizes.and(charter("metadata")) {
            Some(charter) => format!(
                "Not all of it as movable memory: with it, slower memory is more than four times DRAM. {movable} of a part, \
                 `online_kernel` for others, or leave it offline. {}",
                charter.says
            ),
            None => format!(
                "{movable}, or set /sys/devices/system/memory/auto_online_blocks to online_movable before the device comes."
            ),
        };
        finding("memory-offline", "warning", CERTAIN, offline.join("; "), &fix)
    })
}

/// Whether blocks that are offline are memory that a partition may ask for, not memory that lies idle: IBM Z showed all of it
/// as blocks until each had to be configured first.
fn is_standby(facts: &Facts<'_>) -> bool {
    facts.inventory.architecture == "s390x" && !facts.devices.configures_blocks
}

/// Memory that a partition of IBM Z may still get.
pub(super) fn standby_memory(facts: &Facts<'_>) -> Option<Finding> {
    let blocks = facts.devices.blocks?;
    let count = blocks.offline.filter(|count| *count > 0 && is_standby(facts))?;
    let size_mib = blocks
        .block_bytes
        .map_or(0, |bytes| count.saturating_mul(bytes) >> 20);
    let cause = format!(
        "{count} memory blocks ({size_mib} MiB) are offline: on IBM Z that is standby memory of the partition, which it does not have \
         until it is set online"
    );
    let fix = "Nothing, if the partition has enough. Else `chmem -e SIZE`, which takes it from what the machine has left.";
    Some(finding("memory-standby", "info", CERTAIN, cause, fix))
}

/// Devices whose memory is the kernel's, by the node that they feed, with their bytes together.
fn feeding<'f>(facts: &'f Facts<'_>) -> BTreeMap<u32, (Vec<&'f str>, i64)> {
    let mut by_node: BTreeMap<u32, (Vec<&str>, i64)> = BTreeMap::new();
    for dax in facts
        .devices
        .dax
        .iter()
        .filter(|dax| dax.driver.as_deref() == Some("kmem"))
    {
        let Some(target) = dax.target_node else { continue };
        let (names, bytes) = by_node.entry(target).or_default();
        let size_bytes = dax.size_bytes.and_then(|size| i64::try_from(size).ok());
        names.push(&dax.name);
        *bytes = bytes.saturating_add(size_bytes.unwrap_or(0));
    }
    by_node
}

/// Nodes of the fastest tier of which much can never leave.
pub(super) fn unmovable(facts: &Facts<'_>) -> Option<Finding> {
    let mut worst_percent = 0;
    let mut reserved_below = false;
    let mut nodes = Vec::new();
    for unmovable in &facts.inventory.unmovable {
        let node = facts.inventory.node(unmovable.node);
        let Some(memory_bytes) = node.and_then(|node| node.memory_bytes).filter(|bytes| *bytes > 0) else {
            continue;
        };
        let percent =
            unmovable_bytes(unmovable, facts.inventory.page_size_bytes).saturating_mul(100) / memory_bytes;
        if percent >= UNMOVABLE_PERCENT {
            worst_percent = worst_percent.max(percent);
            reserved_below |= unmovable.hugetlb_bytes.is_some_and(|bytes| bytes > 0)
                && (facts.order.slower.contains(&unmovable.node)
                    || facts.order.demoted_to.contains(&unmovable.node));
            nodes.push(format!(
                "{percent} % of node {} ({})",
                unmovable.node,
                parts(unmovable, facts.inventory.page_size_bytes)
            ));
        }
    }
    (!nodes.is_empty()).then(|| {
        let severity = if worst_percent >= UNMOVABLE_WARNING_PERCENT && facts.has_lower_tier() {
            "warning"
        } else {
            "info"
        };
        let cause = format!("memory that no tier move can take away: {}", nodes.join("; "));
        let mut fix = "Reserve fewer huge pages (vm.nr_hugepages), lock less (LimitMEMLOCK=), or count this memory out of what tiering \
                       can gain."
            .to_owned();
        if reserved_below {
            fix.push_str(
                " vm.nr_hugepages spreads them over all nodes, and what lies on a slower one is never promoted: reserve them by node \
                 (/sys/devices/system/node/nodeN/hugepages/hugepages-*kB/nr_hugepages).",
            );
        }
        finding("unmovable-memory", severity, CERTAIN, cause, &fix)
    })
}

/// The largest share of one of these nodes that can never leave, in percent; `None` where none tells.
pub(super) fn unmovable_percent(facts: &Facts<'_>, nodes: &[u32]) -> Option<i64> {
    let told = facts
        .inventory
        .unmovable
        .iter()
        .filter(|unmovable| nodes.contains(&unmovable.node));
    told.filter_map(|unmovable| {
        let memory_bytes = facts
            .inventory
            .node(unmovable.node)?
            .memory_bytes
            .filter(|bytes| *bytes > 0)?;
        Some(unmovable_bytes(unmovable, facts.inventory.page_size_bytes).saturating_mul(100) / memory_bytes)
    })
    .max()
}

/// A page that is locked and pinned, or pinned twice, is counted twice: an upper bound.
fn unmovable_bytes(unmovable: &Unmovable, page_size_bytes: u32) -> i64 {
    let known = [
        unmovable.hugetlb_bytes,
        unmovable.mlocked_bytes,
        pinned_bytes(unmovable, page_size_bytes),
    ];
    known.into_iter().flatten().fold(0, i64::saturating_add)
}

/// `None` where the pages are not counted, or their size is not known.
fn pinned_bytes(unmovable: &Unmovable, page_size_bytes: u32) -> Option<i64> {
    let pages = unmovable.pinned_pages.filter(|_| page_size_bytes > 0)?;
    Some(pages.saturating_mul(i64::from(page_size_bytes)))
}

fn parts(unmovable: &Unmovable, page_size_bytes: u32) -> String {
    let mib = |bytes: Option<i64>| bytes.map_or_else(|| "?".to_owned(), |bytes| (bytes >> 20).to_string());
    format!(
        "huge pages {} MiB, locked {} MiB, pinned at most {} MiB",
        mib(unmovable.hugetlb_bytes),
        mib(unmovable.mlocked_bytes),
        mib(pinned_bytes(unmovable, page_size_bytes))
    )
}

/// Swap on a disk that turns.
pub(super) fn rotational_swap(facts: &Facts<'_>) -> Option<Finding> {
    let names: Vec<&str> = facts
        .inventory
        .swaps
        .iter()
        .filter(|swap| swap.rotational == Some(true))
        .map(|swap| swap.name.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        let cause = format!("swap is on a disk that turns ({}): each swap-in waits milliseconds", names.join(", "));
        let fix = "Put swap on flash, zram or zswap; a guest may be told wrongly what its disk is (rotational=1 on a virtual disk).";
        finding("swap-on-disk", "info", LIKELY, cause, fix)
    })
}
