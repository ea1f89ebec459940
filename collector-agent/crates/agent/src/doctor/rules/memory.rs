//! Rules about what memory is, by its class, and what the kernel's tiers make of it.

use tierscope_sample::advice::{charter, hazard};
use tierscope_sample::inventory::{Finding, Node};
use tierscope_sysfs::knobs;

use super::finding::{BALANCING, CERTAIN, DEMOTION, LIKELY, TIERING_BIT, finding, numbers};
use crate::doctor::Facts;
use crate::doctor::hazards::{is_zram, says};
use crate::inventory::memory_order::{Lower, TierOrder};
use crate::inventory::noun;

const GIB: f64 = (1_u64 << 30) as f64;
/// What to run where nothing tells.
const MEASURE: &str = "Measure the nodes (`tierscope-agent bench`).";

/// Certain where each of the nodes is certainly what it is taken for.
pub(super) fn certainty(facts: &Facts<'_>, nodes: &[u32]) -> &'static str {
    let is_certain = |id: &u32| {
        let node = facts.inventory.node(*id);
        node.is_some_and(|node| node.tier_certainty == CERTAIN)
    };
    if nodes.iter().all(is_certain) {
        CERTAIN
    } else {
        LIKELY
    }
}

fn gib(bytes: i64) -> String {
    format!("{:.1} GiB", bytes as f64 / GIB)
}

fn size_of(facts: &Facts<'_>, nodes: &[u32]) -> String {
    let sizes = nodes
        .iter()
        .filter_map(|id| facts.inventory.node(*id)?.memory_bytes);
    gib(sizes.fold(0, i64::saturating_add))
}

/// What tells the kinds of these nodes, one after the other.
fn evidence(facts: &Facts<'_>, nodes: &[u32]) -> String {
    let nodes = nodes.iter().filter_map(|id| facts.inventory.node(*id));
    let lines: Vec<String> = nodes
        .map(|node| format!("node {}: {}", node.id, node.tier_evidence))
        .collect();
    lines.join("; ")
}

fn promotes(facts: &Facts<'_>) -> Option<bool> {
    let mode: u32 = facts.knob(BALANCING)?.parse().ok()?;
    Some(mode & TIERING_BIT != 0)
}

pub(super) fn demotes(facts: &Facts<'_>) -> Option<bool> {
    let value = facts.knob(DEMOTION)?;
    Some(matches!(value, "true" | "1"))
}

/// Memory faster than DRAM in a tier below it.
pub(super) fn faster_below(facts: &Facts<'_>) -> Option<Finding> {
    let Lower::Faster(nodes) = facts.order.lower() else {
        return None;
    };
    let is_on = demotes(facts) == Some(true) || promotes(facts) == Some(true);
    let cause = format!(
        "node {} is HBM ({}), faster than DRAM, and the kernel has it in a tier below DRAM: demotion moves cold pages into the scarce \
         fast memory, and promotion takes hot pages out of it ({})",
        numbers(&nodes),
        size_of(facts, &nodes),
        evidence(facts, &nodes)
    );
    let first = if is_on {
        // The other bits stay as they are.
        let mode = facts
            .knob(BALANCING)
            .and_then(|mode| mode.parse().ok())
            .unwrap_or(1_u32)
            & !TIERING_BIT;
        format!(
            "Set demotion off (`echo 0 > /sys/kernel/mm/numa/demotion_enabled`) and kernel.numa_balancing to {mode}."
        )
    } else {
        "Leave demotion and the tiering mode of kernel.numa_balancing off.".to_owned()
    };
    let fix = format!(
        "{first} Place programs in HBM with numactl or memkind. Linux 6.7 and later rank memory by firmware's ratings (HMAT), where \
         firmware gives them."
    );
    let severity = if is_on { "warning" } else { "info" };
    Some(finding(
        "faster-memory-below-dram",
        severity,
        certainty(facts, &nodes),
        cause,
        &fix,
    ))
}

/// Memory faster than DRAM in a tier above it.
pub(super) fn faster_above(facts: &Facts<'_>) -> Option<Finding> {
    let order = &facts.order;
    let above: Vec<u32> = order
        .faster
        .iter()
        .copied()
        .filter(|id| order.above.contains(id))
        .collect();
    (!above.is_empty()).then(|| {
        let cause = format!(
            "node {} is HBM ({}) in a tier above DRAM: the kernel may demote from it into DRAM, and promotes nothing into it, because \
             its top tiers end with the one of the processors",
            numbers(&above),
            size_of(facts, &above)
        );
        let fix = "Place programs in HBM with numactl or memkind.";
        finding("faster-memory-above-dram", "info", certainty(facts, &above), cause, fix)
    })
}

/// A lower tier of which nothing tells what it is.
pub(super) fn lower_not_known(facts: &Facts<'_>) -> Option<Finding> {
    let Lower::NotKnown(nodes) = facts.order.lower() else {
        return None;
    };
    let is_dram = |id: &u32| facts.order.dram.contains(id);
    if nodes.iter().all(is_dram) {
        let cause = format!(
            "the kernel has node {} ({}) below DRAM, and by what its files say it is DRAM too: demotion would gain nothing ({})",
            numbers(&nodes),
            size_of(facts, &nodes),
            evidence(facts, &nodes)
        );
        let fix = format!("Leave demotion and the tiering mode of kernel.numa_balancing off. {MEASURE}");
        return Some(finding("lower-tier-not-known", "info", LIKELY, cause, &fix));
    }
    let cause = format!(
        "the kernel has node {} ({}) below DRAM, and nothing tells whether its memory is slower: it puts memory without ratings there, \
         HBM too ({})",
        numbers(&nodes),
        size_of(facts, &nodes),
        evidence(facts, &nodes)
    );
    let fix = format!(
        "{MEASURE} If it is slower than DRAM, demotion and promotion help: /sys/kernel/mm/numa/demotion_enabled and the bit 2 of \
         kernel.numa_balancing. If it is faster, leave both off."
    );
    Some(finding("lower-tier-not-known", "info", CERTAIN, cause, &fix))
}

/// Memory of GPUs that the kernel shows as nodes.
pub(super) fn gpu_memory(facts: &Facts<'_>) -> Option<Finding> {
    let nodes = &facts.order.gpu;
    let is_target = matches!(facts.order.lower(), Lower::Gpu(_)) && demotes(facts) == Some(true);
    (!nodes.is_empty()).then(|| {
        let target = if is_target { ", and demotion moves cold pages of programs into it" } else { "" };
        let cause = format!(
            "node {} is memory of a GPU ({}), no DRAM of the host{target} ({})",
            numbers(nodes),
            size_of(facts, nodes),
            evidence(facts, nodes)
        );
        let fix = "Leave it to the GPU's programs: leave demotion off, and keep other services on the nodes with CPUs (cpuset.mems, \
                   AllowedMemoryNodes=).";
        let severity = if is_target { "warning" } else { "info" };
        finding("gpu-memory-node", severity, certainty(facts, nodes), cause, fix)
    })
}

/// Memory of devices in one node with DRAM.
pub(super) fn mixed_node(facts: &Facts<'_>) -> Option<Finding> {
    let mixed: Vec<String> = facts.inventory.nodes.iter().filter_map(describe_mixed).collect();
    (!mixed.is_empty()).then(|| {
        let cause = format!(
            "memory of two kinds shares a node: {}. The kernel cannot tell them apart: neither is demoted to the other",
            mixed.join("; ")
        );
        let fix = "Give the device's memory a node of its own: firmware whose SRAT names one (`target_node` of the dax device is that \
                   node), or a newer kernel, which gives CXL regions nodes by their windows. Until then leave it offline, or count \
                   with the slower memory for what lies there.";
        let mut parts = facts.inventory.nodes.iter().flat_map(|node| &node.parts);
        let is_told = parts.all(|part| part.tier_class != "unknown");
        let is_sure = is_told && !facts.inventory.hypervisor.contains("guest");
        finding("mixed-node", "warning", if is_sure { CERTAIN } else { LIKELY }, cause, fix)
    })
}

fn describe_mixed(node: &Node) -> Option<String> {
    let parts: Vec<String> = node
        .parts
        .iter()
        .map(|part| format!("{} {} ({})", gib(part.bytes), part.tier_class, part.evidence))
        .collect();
    let rest = node
        .parts
        .iter()
        .fold(node.memory_bytes?, |rest, part| rest.saturating_sub(part.bytes));
    (!parts.is_empty()).then(|| {
        format!(
            "node {} has {} {} and {}",
            node.id,
            gib(rest),
            node.tier_class,
            parts.join(", ")
        )
    })
}

/// What gives memory that firmware brings online a tier of its own. Kernels without commit cf93be18fa1b (April 2024; Linux
/// 6.11 has it) put all of it in DRAM's, whatever HMAT says.
const BY_FIRMWARE: &str = "Linux 6.11 and later take its tier from HMAT where firmware gives one. On any kernel, firmware can \
                           declare the memory special purpose (EFI_MEMORY_SP): then it is no plain memory at boot, and comes as a dax \
                           device (`daxctl reconfigure-device --mode=system-ram daxX.Y`).";

/// Nodes without CPUs beside DRAM, which the kernel does not demote to.
pub(super) fn cpuless_in_top_tier(facts: &Facts<'_>) -> Option<Finding> {
    // A kernel that was told not to start processors shows nodes of theirs without any.
    if facts.order.tiers != TierOrder::Kernel || facts.cpu_limit.is_some() {
        return None;
    }
    let inventory = facts.inventory;
    let beside = facts.order.left_beside(inventory);
    let first = inventory.node(*beside.first()?)?;
    let number = inventory
        .tiers
        .iter()
        .find(|tier| tier.nodes.contains(&first.id))
        .map(|tier| tier.kernel_number)?;
    let is_slower = beside.iter().all(|id| facts.order.slower.contains(id));
    let cause = format!(
        "node {} has no CPU and is in the same memory tier as DRAM (memory_tier{number}): nothing is demoted to it",
        numbers(&beside)
    );
    let (confidence, fix) = if is_slower {
        (
            certainty(facts, &beside),
            format!("The kernel had no ratings for it. {BY_FIRMWARE}"),
        )
    } else {
        (
            LIKELY,
            format!("{MEASURE} Nothing tells what it is. If it is slower than DRAM: {BY_FIRMWARE}"),
        )
    };
    Some(finding(
        "cpuless-node-in-top-tier",
        "warning",
        confidence,
        cause,
        &fix,
    ))
}

/// Nothing to demote to.
pub(super) fn no_lower_tier(facts: &Facts<'_>) -> Option<Finding> {
    if facts.has_lower_tier() || !facts.order.above.is_empty() || facts.moved_pages() > 0 {
        return None;
    }
    if facts.inventory.topology_problems().next().is_some() {
        return None;
    }
    let (confidence, cause, fix) = match (facts.order.tiers, facts.inventory.tiers.first()) {
        (TierOrder::NotInTree, _) => return None,
        (_, Some(tier)) => (
            CERTAIN,
            format!(
                "the host has one memory tier (memory_tier{}): there is nothing to demote to or promote from",
                tier.kernel_number
            ),
            // What hardware places by itself has a finding of its own.
            if facts.memory_side_caches.is_empty() {
                "Nothing to do. Heat and the size of DRAM can be judged all the same."
            } else {
                "Nothing to do."
            },
        ),
        (_, None) => (
            CERTAIN,
            "the kernel shows no memory tiers (before 6.1, or built without them)".to_owned(),
            "Heat and the size of DRAM can be judged all the same; for tiering use kernel 6.1 or later.",
        ),
    };
    Some(finding("one-tier", "info", confidence, cause, fix))
}

/// Memory whose faster part hardware manages by itself, so that no kernel places pages in it.
pub(super) fn memory_side_cache(facts: &Facts<'_>) -> Option<Finding> {
    let caches: Vec<String> = facts
        .memory_side_caches
        .iter()
        .map(|(node, bytes)| format!("{} in front of node {node}", gib(*bytes)))
        .collect();
    (!caches.is_empty()).then(|| {
        let cause = format!(
            "faster memory is a cache that hardware manages ({}), as with Memory Mode of persistent memory and Flat Memory Mode of CXL: \
             the kernel neither sees which pages are in it nor moves any",
            caches.join(", ")
        );
        let fix = "Take no size of DRAM from these nodes, and no promise of settings: they move nothing between such a cache and the \
                   memory behind it. Where it is mapped directly, `page_alloc.shuffle=1` at boot spreads what contends for it. For \
                   tiering by the kernel, boot with that mode of the firmware off.";
        finding("memory-side-cache", "info", LIKELY, cause, fix)
    })
}

/// Slower memory to DRAM up to which the kernel's documentation calls ratios of movable memory fine; the service has the
/// same limit.
const LARGE_TIER: i64 = 4;
const STRUCT_PAGE_BYTES: i64 = 64;
const MEMMAP_ON_MEMORY: &str = "/sys/module/memory_hotplug/parameters/memmap_on_memory";

/// The kernel's own data about a large slower tier, which lies in DRAM. Tiers play no part in it: kernels without them have it too.
pub(super) fn large_slow_tier(facts: &Facts<'_>) -> Option<Finding> {
    let charter = charter("metadata")?;
    let slower = &facts.order.slower;
    let page_bytes = i64::from(facts.inventory.page_size_bytes);
    let (slow_bytes, dram_bytes) = sizes_of_tiers(facts)?;
    if page_bytes == 0 || !is_large(slow_bytes, dram_bytes) {
        return None;
    }
    let in_dram = if struct_pages_stay_below(facts) {
        "on the memory itself".to_owned()
    } else {
        let struct_bytes = slow_bytes / page_bytes * STRUCT_PAGE_BYTES;
        let percent = 100.0 * struct_bytes as f64 / dram_bytes as f64;
        format!(
            "up to {} of struct pages, {percent:.0} % of DRAM",
            gib(struct_bytes)
        )
    };
    let cause = format!(
        "node {} has {} of slower memory to {} of DRAM: {in_dram}. {}",
        numbers(slower),
        gib(slow_bytes),
        gib(dram_bytes),
        charter.says
    );
    Some(finding(
        "large-slow-tier",
        "info",
        certainty(facts, slower),
        cause,
        charter.fix,
    ))
}

/// Bytes of slower memory and of DRAM.
pub(super) fn sizes_of_tiers(facts: &Facts<'_>) -> Option<(i64, i64)> {
    let bytes_of = |nodes: &[u32]| -> Option<i64> {
        let sizes = nodes.iter().map(|id| facts.inventory.node(*id)?.memory_bytes);
        sizes.sum()
    };
    Some((bytes_of(&facts.order.slower)?, bytes_of(&facts.order.dram)?))
}

/// Whether slower memory is so large that the kernel's own data about it crowds DRAM.
pub(super) const fn is_large(slow_bytes: i64, dram_bytes: i64) -> bool {
    dram_bytes > 0 && slow_bytes / LARGE_TIER > dram_bytes
}

/// Whether the kernel keeps struct pages on the devices whose memory they describe: its parameter, and each device's.
fn struct_pages_stay_below(facts: &Facts<'_>) -> bool {
    let is_set = |value: &str| matches!(value, "force") || knobs::switch(value) == Some(true);
    let of_devices = facts
        .inventory
        .knobs
        .iter()
        .filter(|knob| knob.path.ends_with("/memmap_on_memory"));
    let mut devices = of_devices
        .filter(|knob| knob.path.starts_with("/sys/bus/dax/"))
        .peekable();
    facts.knob(MEMMAP_ON_MEMORY).is_some_and(is_set)
        && devices.peek().is_some()
        && devices.all(|knob| knob.value.as_deref().is_some_and(is_set))
}

/// zswap or zram on a kernel that compresses what lies below into DRAM.
pub(super) fn zswap_placement(facts: &Facts<'_>) -> Option<Finding> {
    let release = &facts.inventory.kernel_release;
    let is_there = hazard("zswap-placement")?.exists_on(release) == Some(true);
    let zswap = facts
        .is_on("/sys/module/zswap/parameters/enabled")
        .then_some("zswap is on");
    let zram = facts
        .inventory
        .swaps
        .iter()
        .any(is_zram)
        .then_some("swap is on zram");
    let used: Vec<&str> = zswap.into_iter().chain(zram).collect();
    (is_there && facts.may_tier() && !used.is_empty()).then(|| {
        let cause = format!(
            "{} with kernel {release}. {}",
            used.join(" and "),
            says("zswap-placement")
        );
        let fix = charter("zswap").map_or("", |charter| charter.fix);
        finding("zswap-placement", "info", LIKELY, cause, fix)
    })
}

/// Files that show a container's share of its host.
pub(super) fn container_view(facts: &Facts<'_>) -> Option<Finding> {
    let cause = facts.contradiction.as_ref()?;
    let fix =
        "Run it on the host, or in a container without lxcfs over /proc. No figure is made from these sizes.";
    Some(finding("container-view", "warning", CERTAIN, cause, fix))
}

/// What a tree of files does not hold, so that nothing is concluded of it.
pub(super) fn not_in_tree(facts: &Facts<'_>) -> Option<Finding> {
    (!facts.lacks.is_empty()).then(|| {
        let inventory = facts.inventory;
        let noun = noun(&inventory.tree);
        let maker = if noun == "report" { format!(" of {}", inventory.tree) } else { String::new() };
        let cause = format!("not in this {noun}{maker}: {}; nothing is concluded of them", facts.lacks.join(", "));
        let fix = "Run `tierscope-agent doctor` on the host, or take a field kit (`tierscope-agent fieldkit`) or `tierscope-agent once \
                   --json` there.";
        finding("not-in-tree", "info", CERTAIN, cause, fix)
    })
}
