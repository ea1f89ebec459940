//! The kinds of evidence, each of which tells a class or nothing.

use super::facts::{Certainty, Class, Facts, Told, extent, overlap};
use crate::devices::Dax;
use crate::guest::POWERVM;
use crate::nodes::Node;

use Certainty::{Certain, Likely};

/// Bandwidth above that of DRAM by this factor is that of HBM, unless its latency is far above, too.
const HBM_BANDWIDTH_FACTOR: u32 = 2;
/// Latencies within this share of each other are similar: 125 of 100.
const SIMILAR_PERCENT: u32 = 125;
/// Wide memory with a latency above this share of DRAM's is not HBM of the package.
const HBM_LATENCY_PERCENT: u32 = 200;
/// A SLIT distance above this from every node with CPUs says "far".
const FAR_DISTANCE: u32 = 20;
/// SLIT distance from the processors of GPU memory on POWER9 (AC922) and on Grace.
const GPU_DISTANCE: u32 = 80;
/// Firmware of Grace gives each GPU eight nodes, one for each instance that it may be split into (MIG); all but one are
/// empty unless it is split.
const GPU_EMPTY_NODES: usize = 7;
/// Firmware of POWER9 numbers the nodes of GPU memory downwards from 255 (`ibm,associativity`); Linux numbers nodes
/// upwards from 0 everywhere else.
const GPU_NODE_IDS: std::ops::RangeInclusive<u32> = 240..=255;

/// Processors with HBM in their package that may be shown as nodes without CPUs, with what their makers call that.
const HBM_BESIDE: [(&str, &str); 2] = [
    ("Xeon(R) CPU Max", "Xeon Max in flat mode"),
    ("Xeon Phi(TM) CPU 72", "Xeon Phi in flat mode"),
];
/// Processors that have no other memory than the HBM of their package.
const HBM_ALONE: [&str; 3] = ["Instinct MI300A", "EPYC 9V64H", A64FX];
/// A processor that prints no model, with its implementer and part as `/proc/cpuinfo` does (`asm/cputype.h`).
pub(crate) const A64FX: &str = "Fujitsu A64FX";

/// What CXL regions, dax devices and CXL windows of firmware say of a node without CPUs.
pub(super) fn of_devices(facts: &Facts, node: &Node, ranges: &[(u64, u64)]) -> Option<Told> {
    let inside = |own: (u64, u64)| ranges.iter().any(|range| overlap(*range, own) > 0);
    let region = facts
        .regions
        .iter()
        .find(|region| extent(region).is_some_and(inside));
    if let Some(region) = region {
        let evidence = format!("its memory lies in CXL {}", region.name);
        return Some((Class::Cxl, Certain, evidence));
    }
    let feeding = facts.dax.iter().filter(|dax| dax.target_node == Some(node.id));
    let by_bus = feeding.map(|dax| of_bus(facts, dax)).find(Option::is_some);
    by_bus.flatten().or_else(|| {
        let window = facts.windows.iter().copied().find(|window| inside(*window));
        window.map(|_| {
            let evidence = "brought online by firmware inside a CXL window (CEDT)";
            (Class::Cxl, Certain, evidence.to_owned())
        })
    })
}

pub(super) fn of_bus(facts: &Facts, dax: &Dax) -> Option<Told> {
    let name = &dax.name;
    let path = dax.device_path.as_deref().unwrap_or_default();
    if path.contains("region") && (path.contains("/root") || path.contains("cxl")) && !path.contains("ndbus")
    {
        let evidence = format!("{name} under a CXL region feeds the node");
        return Some((Class::Cxl, Certain, evidence));
    }
    if path.contains("e820_pmem") {
        let evidence =
            format!("{name} on persistent memory of the firmware's map or of memmap= feeds the node");
        return Some((Class::Pmem, Likely, evidence));
    }
    if path.contains("ibm,pmemory") || path.contains("ibm,persistent-memory") {
        let evidence = format!(
            "{name} on a volume of the hypervisor feeds the node (vPMEM of PowerVM, which lies in DRAM)"
        );
        return Some((Class::Dram, Likely, evidence));
    }
    if facts.nvdimms_are_dram && path.contains("ndbus") {
        let evidence = format!(
            "{name} feeds the node, on NVDIMMs that are DRAM with a battery (NVDIMM-N, interface 0x0101)"
        );
        return Some((Class::Dram, Likely, evidence));
    }
    if path.contains("ndbus") || path.contains("nfit") {
        let evidence = format!("{name} on an NVDIMM bus feeds the node");
        return Some((Class::Pmem, Certain, evidence));
    }
    let own = dax.resource.zip(dax.size_bytes);
    let within = |outer: (u64, u64)| own.is_some_and(|own| overlap(own, outer) > 0);
    let region = facts
        .regions
        .iter()
        .find(|region| extent(region).is_some_and(within));
    if let Some(region) = region {
        let evidence = format!("{name} in CXL {} feeds the node", region.name);
        return Some((Class::Cxl, Certain, evidence));
    }
    let is_commanded = |range: (u64, u64)| own.is_none() || within(range);
    let is_special = path.contains("hmem")
        && facts.special_by_command.iter().copied().any(is_commanded)
        && !facts.windows.iter().copied().any(within);
    is_special.then(|| {
        let evidence = format!(
            "{name} feeds the node, of memory that only the command line calls special purpose (efi_fake_mem=)"
        );
        (Class::Dram, Likely, evidence)
    })
}

/// A dax device whose bus does not tell, and what else is known.
pub(super) fn of_unknown_bus(dax: &Dax, rest: &str) -> Told {
    let evidence = format!("{}{rest}", fed_by(dax));
    (Class::Unknown, Certainty::NotKnown, evidence)
}

fn fed_by(dax: &Dax) -> String {
    let path = dax.device_path.as_deref().unwrap_or_default();
    let bus = if path.contains("hmem") {
        "firmware-declared"
    } else {
        "bus not shown"
    };
    format!("{} ({bus}) feeds the node; ", dax.name)
}

/// What feeds a node, as the beginning of a sentence.
fn beginning(facts: &Facts, node: &Node) -> String {
    let feeding = facts.dax.iter().find(|dax| dax.target_node == Some(node.id));
    feeding.map_or_else(|| "no CPU, no dax or CXL device shown; ".to_owned(), fed_by)
}

/// A node whose processors are offline, or the only one with memory, holds ordinary memory.
pub(super) fn of_processors(facts: &Facts, node: &Node) -> Option<Told> {
    if node.has_offline_cpus {
        let evidence = "its CPUs are offline".to_owned();
        return Some((Class::Dram, Certain, evidence));
    }
    let with_memory = facts
        .nodes
        .iter()
        .filter(|node| node.memory_bytes.is_none_or(|bytes| bytes > 0));
    let is_alone = with_memory.count() == 1;
    let evidence = "the only node with memory".to_owned();
    (is_alone && node.memory_bytes != Some(0)).then_some((Class::Dram, Likely, evidence))
}

/// Memory of a partition of POWER, which may lie beside other chips than the partition's processors do.
pub(super) fn of_partition(facts: &Facts, node: &Node) -> Option<Told> {
    let is_partition = facts.guest == Some(POWERVM) && node.memory_bytes != Some(0);
    let evidence = "no CPU; PowerVM gives a partition DRAM of chips whose processors it has not".to_owned();
    is_partition.then_some((Class::Dram, Likely, evidence))
}

/// Memory of GPUs: what their driver says, and the shapes in which firmware shows it.
pub(super) fn of_gpus(facts: &Facts, node: &Node) -> Option<Told> {
    if facts.gpus.memory_nodes.contains(&node.id) {
        let evidence = "the GPU's driver says that it is the GPU's (numa_status)".to_owned();
        return Some((Class::Gpu, Certain, evidence));
    }
    if facts.gpus.near_nodes.contains(&node.id) && facts.cpu_limit.is_none() {
        let evidence = "a GPU hangs on this node, and no CPU".to_owned();
        return Some((Class::Gpu, Likely, evidence));
    }
    if node.memory_bytes == Some(0) {
        return None;
    }
    if GPU_NODE_IDS.contains(&node.id) {
        let evidence = format!(
            "no CPU, and a number ({}) that firmware of POWER9 gives to GPU memory",
            node.id
        );
        return Some((Class::Gpu, Likely, evidence));
    }
    let nearest = nearest_cpus(facts, node)?;
    let empty = |other: &Node| !other.has_cpu() && other.memory_bytes == Some(0);
    let empty_nodes = facts.nodes.iter().filter(|other| empty(other)).count();
    let is_grace = nearest >= GPU_DISTANCE && (empty_nodes >= GPU_EMPTY_NODES || facts.gpus.has_nvidia);
    let evidence = format!(
        "no CPU, at distance {nearest} beside empty nodes or an NVIDIA GPU, as GPU memory on Grace is shown"
    );
    is_grace.then_some((Class::Gpu, Likely, evidence))
}

/// Compares the node's ratings with the fastest node that has CPUs.
pub(super) fn of_ratings(facts: &Facts, node: &Node) -> Option<Told> {
    let latency_ns = node.ratings.read_latency_ns?;
    let dram_ns = facts
        .with_cpus()
        .filter_map(|other| other.ratings.read_latency_ns)
        .min()?;
    let bandwidth = node.ratings.read_bandwidth_mib_per_s;
    let dram_bandwidth = facts
        .with_cpus()
        .filter_map(|other| other.ratings.read_bandwidth_mib_per_s)
        .max();
    let within = |percent: u32| {
        u64::from(latency_ns).saturating_mul(100) <= u64::from(dram_ns).saturating_mul(u64::from(percent))
    };
    let wide = bandwidth
        .zip(dram_bandwidth)
        .is_some_and(|(own, dram)| own >= dram.saturating_mul(HBM_BANDWIDTH_FACTOR));
    let start = beginning(facts, node);
    if wide && within(HBM_LATENCY_PERCENT) {
        let evidence = format!(
            "{start}firmware rates it {latency_ns} ns against {dram_ns} ns of DRAM, with over twice the bandwidth"
        );
        return Some((Class::Hbm, Likely, evidence));
    }
    if !within(SIMILAR_PERCENT) {
        let evidence =
            format!("{start}firmware rates it {latency_ns} ns against {dram_ns} ns of DRAM: taken as CXL");
        return Some((Class::Cxl, Likely, evidence));
    }
    None
}

/// Processors that are sold with HBM beside DRAM.
pub(super) fn of_packages(facts: &Facts, node: &Node) -> Option<Told> {
    let (_, mode) = HBM_BESIDE
        .iter()
        .find(|(model, _)| facts.cpu_model.contains(model))?;
    let evidence = format!("{}as HBM of a {mode} is shown", beginning(facts, node));
    Some((Class::Hbm, Likely, evidence))
}

/// Processors, or hosts by their list of memory modules, that have nothing but HBM.
pub(super) fn of_own_package(facts: &Facts) -> Option<Told> {
    if HBM_ALONE.iter().any(|model| facts.cpu_model.contains(model)) {
        let evidence = format!("{} has no other memory than its HBM", facts.cpu_model);
        return Some((Class::Hbm, Certain, evidence));
    }
    let evidence = "all memory modules that firmware lists (SMBIOS) are HBM".to_owned();
    facts.dimms.all_hbm().then_some((Class::Hbm, Certain, evidence))
}

/// Nodes without CPUs of a host whose modules of DRAM hold all the memory that the kernel has, and on which nothing else
/// shows: firmware may disable the processors beside some of it.
pub(super) fn of_slots(facts: &Facts, node: &Node) -> Option<Told> {
    let others =
        facts.has_cxl || facts.guest.is_some() || !facts.regions.is_empty() || !facts.windows.is_empty();
    let is_fed = facts.dax.iter().any(|dax| dax.target_node == Some(node.id));
    let sizes = facts.nodes.iter().map(|node| node.memory_bytes);
    let memory_bytes: i64 = sizes.sum::<Option<i64>>()?;
    let dram_bytes = facts.dimms.all_dram()?;
    let holds_all = u64::try_from(memory_bytes).is_ok_and(|bytes| bytes <= dram_bytes);
    let evidence = format!(
        "no CPU, no other memory shown; firmware lists {} GiB of DRAM, which hold all that the kernel has",
        dram_bytes >> 30
    );
    (holds_all && !others && !is_fed && node.memory_bytes != Some(0)).then_some((
        Class::Dram,
        Likely,
        evidence,
    ))
}

/// Nodes with CPUs of a host whose modules cannot hold all the memory that the kernel has there.
pub(super) fn of_modules(facts: &Facts, node: &Node) -> Option<Told> {
    let sizes = facts
        .nodes
        .iter()
        .filter(|node| node.has_cpu())
        .map(|node| node.memory_bytes);
    // A hypervisor lists modules of its own making, and none for memory that it adds later.
    if facts.guest.is_some() {
        return None;
    }
    let memory_bytes: i64 = sizes.sum::<Option<i64>>()?;
    let dram_bytes = facts.dimms.dram_below(u64::try_from(memory_bytes).ok()?)?;
    let (beside, rest) = if facts.dimms.non_volatile > 0 {
        (
            " beside persistent memory",
            "DRAM may be a cache before it (Memory Mode), and the size that of persistent memory",
        )
    } else {
        (
            "",
            "the rest is other memory, such as CXL that firmware put into the same nodes (Flat Memory Mode)",
        )
    };
    let evidence = format!(
        "the node has CPUs {}; firmware lists {} GiB of DRAM{beside}, less than the kernel has here: {rest}",
        node.cpulist,
        dram_bytes >> 30
    );
    Some((Class::Dram, Likely, evidence))
}

/// A node with CPUs before whose memory firmware tells of a cache: of HBM where the package has some (cache mode), else of
/// DRAM, as before persistent memory (Memory Mode).
pub(super) fn of_side_cache(facts: &Facts, node: &Node) -> Option<Told> {
    let has_hbm = HBM_BESIDE
        .iter()
        .any(|(model, _)| facts.cpu_model.contains(model));
    let evidence = format!(
        "the node has CPUs {}; firmware tells of a cache of {} GiB before its memory, which may be persistent memory (Memory Mode)",
        node.cpulist,
        node.side_cache_bytes >> 30
    );
    (node.side_cache_bytes > 0 && !has_hbm).then_some((Class::Dram, Likely, evidence))
}

/// What is to be said where nothing tells.
pub(super) fn of_nothing(facts: &Facts, node: &Node) -> String {
    if node.memory_bytes == Some(0) {
        return "no CPU, and no memory".to_owned();
    }
    if facts.with_cpus().next().is_none() {
        return "no node shows its CPUs here".to_owned();
    }
    let start = beginning(facts, node);
    let distance = match nearest_cpus(facts, node) {
        Some(distance) if distance > FAR_DISTANCE => {
            format!("far by firmware's distance table ({distance}), which tells no kind")
        }
        _ => "nothing tells what its memory is".to_owned(),
    };
    let limit = facts.cpu_limit.as_ref().map_or_else(String::new, |limit| {
        format!("; this kernel runs with {limit}, so that it may be DRAM of processors that are not started")
    });
    format!("{start}{distance}{limit}")
}

/// Least distance from a node with CPUs, as firmware says.
fn nearest_cpus(facts: &Facts, node: &Node) -> Option<u32> {
    let measured = facts.nodes.iter().zip(&node.distances);
    measured
        .filter(|(other, _)| other.has_cpu())
        .map(|(_, distance)| *distance)
        .min()
}
