//! What memory a host has, by what it is, and what of the judged part is in use.

use serde::Serialize;
use tierscope_sample::inventory::Inventory;

use super::observed::Reading;
use crate::inventory::balloon_pages;
use crate::inventory::container_view::{self, MOVABLE};
use crate::inventory::memory_order::MemoryOrder;

/// Sizes of memory at one reading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Stock {
    /// `dram`, or `hbm` where the processors have nothing else; what is said of DRAM is then said of that.
    pub(super) judged_class: &'static str,
    /// DRAM.
    pub(super) dram_bytes: i64,
    /// CXL and persistent memory; 0 where there is none.
    pub(super) slower_bytes: i64,
    /// HBM beside DRAM, memory of GPUs, and memory of which nothing tells what it is; none of it counts as DRAM.
    pub(super) faster_bytes: i64,
    pub(super) gpu_bytes: i64,
    pub(super) unknown_bytes: i64,
    /// Of DRAM: in use.
    pub(super) used_bytes: i64,
    /// Of that: pages on the lists of reclaim, which the kernel can move.
    pub(super) movable_bytes: i64,
    /// Of what is in use and not on those lists: what no program needs. Caches of the kernel that shrink when memory is short
    /// (slab, ZFS), reserved huge pages that are free, and what a balloon holds for the hypervisor.
    pub(super) shrinkable_bytes: i64,
    /// Of the movable pages: on the inactive lists, where reclaim would begin. No measure of coldness.
    pub(super) inactive_bytes: i64,
}

impl Stock {
    /// Of a reading; else why nothing can be said of it.
    pub(super) fn of(at: &Reading) -> Result<Self, String> {
        const NO_SIZES: &str = "the reading lacks sizes of memory";
        let inventory = &at.inventory;
        let view = container_view::not_of_a_host(inventory);
        if let Some(why) = view.or_else(|| container_view::contradiction(at.sizes())?.view()) {
            return Err(why);
        }
        let order = MemoryOrder::of(inventory);
        let base = base_nodes(inventory, &order)?;
        // sos copies the nodes where numactl is installed (`plugins/numa.py`): without them all memory looks like DRAM.
        if !inventory.tree.is_empty() && inventory.nodes.len() < 2 && at.moves().sum() > 0 {
            return Err("pages were moved between tiers, whose nodes are not in the reading: which memory is DRAM is not known".into());
        }
        let size_bytes = |name: &str| at.memory_bytes(base.as_deref(), name);
        let sizes: Option<Vec<i64>> = MOVABLE.iter().map(|name| size_bytes(name)).collect();
        let sizes = sizes.ok_or(NO_SIZES)?;
        let whole_bytes = size_bytes("MemTotal").ok_or(NO_SIZES)?;
        let used_bytes = used_bytes(whole_bytes, size_bytes("MemFree").ok_or(NO_SIZES)?)?;
        // A kernel may count more on its lists than is in use.
        let movable_bytes = sizes.iter().sum::<i64>().min(used_bytes);
        let parts_bytes = |nodes: &[u32], classes: &[&str]| parts_bytes(inventory, nodes, classes);
        let base_ids: Vec<u32> = base.clone().unwrap_or_else(|| ids(inventory));
        let dram_bytes = whole_bytes - parts_bytes(&base_ids, &["cxl", "pmem", "unknown", "gpu"]);
        let other_bytes = |nodes: &[u32]| {
            let others: Vec<u32> = nodes
                .iter()
                .copied()
                .filter(|id| !base_ids.contains(id))
                .collect();
            at.memory_bytes(Some(&others), "MemTotal").unwrap_or(0)
        };
        let slower_bytes = other_bytes(&order.slower) + parts_bytes(&base_ids, &["cxl", "pmem"]);
        let shrinkable_bytes = shrinkable_bytes(
            at,
            base.is_none(),
            size_bytes("SReclaimable")
                .unwrap_or(0)
                .saturating_add(free_huge_bytes(at, &base_ids)),
            used_bytes - movable_bytes,
        );
        Ok(Self {
            judged_class: if order.dram.is_empty() && !order.faster.is_empty() {
                "hbm"
            } else {
                "dram"
            },
            dram_bytes,
            slower_bytes,
            faster_bytes: other_bytes(&order.faster),
            gpu_bytes: other_bytes(&order.gpu) + parts_bytes(&base_ids, &["gpu"]),
            unknown_bytes: other_bytes(&order.unknown) + parts_bytes(&base_ids, &["unknown"]),
            used_bytes,
            movable_bytes,
            shrinkable_bytes,
            inactive_bytes: (sizes[1] + sizes[3]).min(movable_bytes),
        })
    }
}

/// What is in use; else why that is not known.
fn used_bytes(whole_bytes: i64, free_bytes: i64) -> Result<i64, String> {
    if free_bytes > container_view::most_of(whole_bytes) {
        return Err("the kernel counts more free memory than there is".to_owned());
    }
    Ok((whole_bytes - free_bytes).max(0))
}

/// Nodes of the memory that is judged: DRAM, or HBM where the processors have nothing else. `None` where that is all
/// memory of the host, whose own sizes then serve.
fn base_nodes(inventory: &Inventory, order: &MemoryOrder) -> Result<Option<Vec<u32>>, String> {
    let of_cpus = |id: &u32| inventory.node(*id).is_some_and(|node| !node.cpulist.is_empty());
    let base: Vec<u32> = if order.dram.is_empty() {
        order.faster.iter().copied().filter(of_cpus).collect()
    } else {
        order.dram.clone()
    };
    let others = [&order.faster, &order.slower, &order.gpu, &order.unknown];
    let is_all = others
        .iter()
        .all(|nodes| nodes.iter().all(|id| base.contains(id)));
    if is_all {
        return Ok(None);
    }
    if base.is_empty() {
        let why: Vec<&str> = inventory
            .nodes
            .iter()
            .map(|node| node.tier_evidence.as_str())
            .collect();
        return Err(format!("which memory is DRAM is not known: {}", why.join("; ")));
    }
    Ok(Some(base))
}

fn ids(inventory: &Inventory) -> Vec<u32> {
    inventory.nodes.iter().map(|node| node.id).collect()
}

/// Memory of these classes within nodes of another one.
fn parts_bytes(inventory: &Inventory, nodes: &[u32], classes: &[&str]) -> i64 {
    let nodes = nodes.iter().filter_map(|id| inventory.node(*id));
    let parts = nodes.flat_map(|node| &node.parts);
    let of_class = parts.filter(|part| classes.contains(&part.tier_class.as_str()));
    of_class.fold(0, |sum, part| sum.saturating_add(part.bytes))
}

/// Bytes in use that could be given back though no list of reclaim holds them: `told_bytes`; the cache of ZFS down to its
/// minimum; and what a balloon holds. The last two do not say on which node they lie, so that they count only where one kind
/// of memory holds all of them. A driver may have taken its balloon out of `MemTotal` already: a bound from below errs
/// downwards then.
fn shrinkable_bytes(at: &Reading, is_all: bool, told_bytes: i64, most: i64) -> i64 {
    if !is_all {
        return told_bytes.clamp(0, most.max(0));
    }
    let arc = |name: &str| at.value("arcstats", name);
    let arc_bytes = arc("size")
        .zip(arc("c_min"))
        .map_or(0, |(size, least)| (size - least).max(0));
    let pages = balloon_pages(|name| at.value("vmstat", name), &at.inventory.knobs).unwrap_or(0);
    let balloon_bytes = pages.saturating_mul(i64::from(at.inventory.page_size_bytes));
    told_bytes
        .saturating_add(arc_bytes)
        .saturating_add(balloon_bytes)
        .clamp(0, most.max(0))
}

/// Reserved huge pages of these nodes that are free and promised to nobody. Promises count for the host and for one size:
/// all of them are taken off here.
fn free_huge_bytes(at: &Reading, nodes: &[u32]) -> i64 {
    let free = nodes.iter().map(|id| at.free_huge_bytes(*id));
    let free_bytes = free.fold(0, i64::saturating_add);
    let promised = at
        .value("meminfo", "HugePages_Rsvd")
        .zip(at.value("meminfo", "Hugepagesize"));
    let promised_bytes = promised.map_or(0, |(pages, bytes)| pages.saturating_mul(bytes));
    (free_bytes - promised_bytes).max(0)
}
