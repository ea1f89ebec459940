//! What the host is: processors, nodes, tiers, settings, devices, services, and which collectors it allows.

mod balloon;
pub(crate) mod container_view;
mod hypervisor;
pub(crate) mod memory_order;
pub(crate) mod page_size;
pub(crate) mod probe;
mod tier_order;
mod tree;
mod unmovable;

use tierscope_host::services::Discovered;
use tierscope_procfs::{host, swaps};
use tierscope_rootfs::Reader;
use tierscope_sample::inventory::{CxlDevice, Inventory, Knob, Node, NodePart, Service, SwapDevice};
use tierscope_sysfs::node_classes::read_facts;
use tierscope_sysfs::{cgroup, classify, cxl, devices, knobs, nodes};

use crate::collect::Collector;
use crate::doctor::{self, LinkErrors, file_problems};

pub(crate) use balloon::balloon_pages;
pub(crate) use tree::{NO_SETTING, Tree, noun};

/// Describes the host beneath the collector's root. Reads some hundred small files: once a minute is often enough.
/// Host name and labels may be set by the caller afterwards.
pub fn describe(collector: &mut Collector) -> Inventory {
    let discovered = collector.discovered().clone();
    let (reader, errors) = collector.reader_and_errors();
    describe_with(reader, &discovered, errors)
}

/// Describes the host beneath a reader's root, with services that were found before.
pub fn describe_root(reader: &mut Reader, discovered: &Discovered) -> Inventory {
    describe_with(reader, discovered, &mut LinkErrors::default())
}

fn describe_with(reader: &mut Reader, discovered: &Discovered, errors: &mut LinkErrors) -> Inventory {
    // What was read before this belongs to somebody else's figures.
    let _others = reader.take_problems();
    let cpus = host::cpus(reader).unwrap_or_default();
    let release = host::kernel_release(reader).unwrap_or_default();
    let facts = read_facts(reader);
    let tree = Tree::of(reader, &release);
    let architecture = page_size::architecture(reader, &release);
    let page_size = page_size::read(reader, &release, architecture).map_or(0, |size| size.bytes);
    let mut inventory = Inventory {
        hostname: host::hostname(reader).unwrap_or_default(),
        architecture: architecture.to_owned(),
        kernel_version: host::kernel_version(reader).unwrap_or_default(),
        kernel_release: release,
        cpu_model: cpus.model,
        cpus_online: if cpus.online > 0 {
            cpus.online
        } else {
            count_cpus(&facts.nodes)
        },
        page_size_bytes: page_size,
        huge_page_bytes: page_size::huge_page_bytes(reader),
        dialect: dialect(reader).to_owned(),
        cgroup_version: cgroup::detect(reader).name().to_owned(),
        nodes: facts
            .nodes
            .iter()
            .map(|node| describe_node(reader, &facts, node))
            .collect(),
        knobs: knobs::read(reader)
            .into_iter()
            .map(|knob| describe_knob(knob, &tree))
            .collect(),
        services: describe_services(discovered),
        swaps: read_swaps(reader),
        cxl_devices: cxl::memory(reader).into_iter().map(describe_cxl).collect(),
        rdma_devices: devices::rdma(reader),
        running_as_uid: host::effective_uid(reader, "self").unwrap_or(0),
        unmovable: facts
            .nodes
            .iter()
            .map(|node| unmovable::describe(reader, node.id, page_size))
            .collect(),
        hypervisor: hypervisor::describe(reader, discovered),
        tree: tree.name.clone(),
        ..Inventory::default()
    };
    tier_order::describe(reader, &mut inventory, &tree);
    inventory.collectors = probe::collectors(reader);
    // How often reclaim looks at pages is told by the time since boot: a text that tells none is a problem.
    let _since_boot = host::uptime_ns(reader);
    inventory.problems = file_problems(reader);
    let examined = doctor::examine(reader, &inventory, discovered, errors);
    (inventory.findings, inventory.problems) = examined;
    inventory
}

fn describe_node(reader: &mut Reader, facts: &classify::Facts, node: &nodes::Node) -> Node {
    let ranges = nodes::physical_ranges(reader, node.id);
    let memory = classify::classify(facts, node, &ranges);
    let region = classify::region_of(facts, node, &ranges);
    // Where firmware gives no ratings of the node, the devices that serve it may.
    let ratings = match region {
        Some(region) if node.ratings == nodes::Ratings::default() => region.ratings,
        _ => node.ratings,
    };
    Node {
        id: node.id,
        memory_bytes: node.memory_bytes,
        cpulist: node.cpulist.clone(),
        tier_class: memory.class.name().to_owned(),
        tier_evidence: memory.evidence,
        tier_certainty: memory.certainty.name().to_owned(),
        parts: memory.parts.into_iter().map(describe_part).collect(),
        distances: node.distances.clone(),
        read_latency_ns: ratings.read_latency_ns,
        write_latency_ns: ratings.write_latency_ns,
        read_bandwidth_mib_per_s: ratings.read_bandwidth_mib_per_s,
        write_bandwidth_mib_per_s: ratings.write_bandwidth_mib_per_s,
    }
}

fn describe_part(part: classify::Part) -> NodePart {
    NodePart {
        tier_class: part.class.name().to_owned(),
        bytes: i64::try_from(part.bytes).unwrap_or(i64::MAX),
        evidence: part.evidence,
    }
}

fn describe_knob(knob: knobs::Knob, tree: &Tree) -> Knob {
    Knob {
        unavailable: tree.why_absent(&knob),
        path: knob.path,
        value: knob.value.ok(),
    }
}

fn describe_services(discovered: &Discovered) -> Vec<Service> {
    let describe = |service: &tierscope_host::services::FoundService| Service {
        namespace: service.id.namespace.to_string(),
        name: service.id.name.to_string(),
        rule: service.rule.name().to_owned(),
        processes: service.processes,
        heat_measured: false,
        heat_reason: "not switched on for this service".to_owned(),
    };
    discovered.services.iter().map(describe).collect()
}

fn read_swaps(reader: &mut Reader) -> Vec<SwapDevice> {
    let Ok(Ok(swaps)) = swaps::read(reader) else {
        return Vec::new();
    };
    let describe = |swap: swaps::Swap| {
        let device = devices::block_device(reader, &swap.name);
        SwapDevice {
            kind: if doctor::zram_name(&swap.name) {
                "zram".to_owned()
            } else {
                swap.kind
            },
            size_bytes: swap.size_bytes,
            used_bytes: swap.used_bytes,
            priority: swap.priority,
            zoned: device.zoned,
            discard: device.discard,
            rotational: device.rotational,
            name: if swap.name.starts_with("/dev/") {
                swap.name
            } else {
                "file".to_owned()
            },
        }
    };
    swaps.into_iter().map(describe).collect()
}

fn describe_cxl(device: cxl::Memory) -> CxlDevice {
    let pci = device.pci.unwrap_or_default();
    CxlDevice {
        name: device.name,
        ram_bytes: device.ram_bytes,
        numa_node: device.numa_node,
        serial: device.serial,
        pci_address: pci.address,
        firmware_version: device.firmware_version,
        link_decigigatransfers: pci.current.decigigatransfers,
        link_width: pci.current.width,
        max_link_decigigatransfers: pci.max.decigigatransfers,
        max_link_width: pci.max.width,
        aer_correctable: pci.errors.correctable,
        aer_nonfatal: pci.errors.nonfatal,
        aer_fatal: pci.errors.fatal,
    }
}

/// Which counters the kernel prints, found by name and never by version.
fn dialect(reader: &mut Reader) -> &'static str {
    if reader.root().join("/proc/sys/vm/demote_scale_factor").exists() {
        return "tpp";
    }
    let Ok(text) = reader.read("/proc/vmstat") else {
        return "unknown";
    };
    let has = |name: &str| text.lines().any(|line| line.split(' ').next() == Some(name));
    if has("pgpromote_candidate_demoted") {
        "tpp"
    } else if has("pgpromote_success") || has("pgdemote_kswapd") {
        "mainline"
    } else {
        "unknown"
    }
}

fn count_cpus(nodes: &[nodes::Node]) -> u32 {
    let count = |node: &nodes::Node| tierscope_rootfs::text::list(&node.cpulist).map_or(0, |cpus| cpus.len());
    u32::try_from(nodes.iter().map(count).sum::<usize>()).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    #[test]
    fn a_host_with_a_slow_node_is_described() {
        let root = FakeRoot::new();
        root.write("proc/vmstat", "pgpromote_success 1\n");
        root.write("proc/uptime", "1.00 1.00\n");
        root.write("proc/sys/kernel/osrelease", "6.12.95+deb12-amd64\n");
        root.write(
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/zram0 partition 4 2 100\n/home/ann/swap file 4 0 -2\n",
        );
        root.write("sys/devices/system/node/online", "0-1\n");
        root.write("sys/devices/system/node/node0/cpulist", "0-3\n");
        root.write("sys/devices/system/node/node1/cpulist", "\n");
        root.write("sys/devices/virtual/memory_tiering/memory_tier22/nodelist", "1\n");
        root.write("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0\n");
        let inventory = describe_root(&mut Reader::new(root.root()), &Discovered::default());
        assert_eq!(inventory.architecture, "x86_64");
        assert_eq!(inventory.cpus_online, 4);
        assert_eq!(inventory.dialect, "mainline");
        assert_eq!(inventory.cgroup_version, "none");
        let ranks: Vec<(u32, u32)> = inventory
            .tiers
            .iter()
            .map(|tier| (tier.kernel_number, tier.rank))
            .collect();
        assert_eq!(ranks, [(4, 0), (22, 1)]);
        assert_eq!(inventory.nodes[0].tier_class, "dram");
        assert_eq!(inventory.nodes[1].tier_class, "unknown");
        assert_eq!(
            (inventory.swaps[0].kind.as_str(), inventory.swaps[0].used_bytes),
            ("zram", 2048)
        );
        assert_eq!(inventory.swaps[1].name, "file", "paths in homes stay on the host");
        let why_absent = |name: &str| {
            let mut knobs = inventory.knobs.iter();
            let knob = knobs.find(|knob| knob.path.ends_with(name)).unwrap();
            assert_eq!(knob.value, None);
            knob.unavailable.clone().unwrap()
        };
        assert_eq!(why_absent("/defrag_mode"), "this kernel has no such setting");
        assert_eq!(
            why_absent("/demotion_enabled"),
            "not in this tree",
            "a kernel that prints tiers has it"
        );
    }

    #[test]
    fn a_node_without_ratings_has_those_of_the_region_that_serves_it() {
        let root = FakeRoot::new();
        root.write("sys/devices/system/node/online", "0-1\n");
        root.write("sys/devices/system/node/node0/cpulist", "0\n");
        root.write("sys/devices/system/node/node1/cpulist", "\n");
        root.write("sys/bus/dax/devices/dax0.0/target_node", "1\n");
        root.write("sys/bus/dax/devices/dax0.0/resource", "0x100000000\n");
        root.write("sys/bus/dax/devices/dax0.0/size", "1073741824\n");
        root.write("sys/bus/cxl/devices/region0/resource", "0x100000000\n");
        root.write("sys/bus/cxl/devices/region0/size", "1073741824\n");
        root.write("sys/bus/cxl/devices/region0/access1/read_latency", "255\n");
        let describe = || describe_root(&mut Reader::new(root.root()), &Discovered::default());
        let inventory = describe();
        assert_eq!(inventory.nodes[1].read_latency_ns, Some(255));
        assert_eq!(inventory.nodes[0].read_latency_ns, None);
        root.write(
            "sys/devices/system/node/node1/access0/initiators/read_latency",
            "270\n",
        );
        assert_eq!(
            describe().nodes[1].read_latency_ns,
            Some(270),
            "firmware's own word"
        );
    }

    #[test]
    fn tpp_kernels_are_known_by_their_names() {
        let root = FakeRoot::new();
        root.write(
            "proc/vmstat",
            "pgpromote_candidate 1\npgpromote_candidate_demoted 1\n",
        );
        assert_eq!(dialect(&mut Reader::new(root.root())), "tpp");
        let other = FakeRoot::new();
        other.write("proc/vmstat", "pgfault 1\n");
        assert_eq!(dialect(&mut Reader::new(other.root())), "unknown");
    }
}
