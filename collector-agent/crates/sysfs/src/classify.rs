//! Which class of memory a node is, and the evidence for it. Pure: facts in, class and words out.
//!
//! Guests can fake any of these facts, so the evidence always travels with the class. The first rule that fits wins.

use crate::cxl::Region;
use crate::devices::Dax;
use crate::nodes::Node;

/// Class of a node's memory, as the contract names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// High-bandwidth memory.
    Hbm,
    /// Ordinary memory, local to some CPU.
    Dram,
    /// Memory behind CXL.
    Cxl,
    /// Persistent memory used as memory.
    Pmem,
    /// Nothing tells.
    Unknown,
}

impl Class {
    /// The name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hbm => "hbm",
            Self::Dram => "dram",
            Self::Cxl => "cxl",
            Self::Pmem => "pmem",
            Self::Unknown => "unknown",
        }
    }
}

/// What is known of the host's memory devices.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// dax devices.
    pub dax: Vec<Dax>,
    /// CXL regions.
    pub regions: Vec<Region>,
    /// CXL windows of the firmware, as (start, length).
    pub windows: Vec<(u64, u64)>,
    /// The host's nodes.
    pub nodes: Vec<Node>,
}

/// Bandwidth above that of DRAM by this factor, at similar latency, is HBM.
const HBM_BANDWIDTH_FACTOR: u32 = 2;
/// Latencies within this share of each other are similar: 125 of 100.
const SIMILAR_PERCENT: u32 = 125;
/// A SLIT distance above this from every node with CPUs says "far".
const FAR_DISTANCE: u32 = 20;

/// Class and evidence of `node`, whose memory lies in the physical `ranges` (start, length), if those are known.
pub fn classify(facts: &Facts, node: &Node, ranges: &[(u64, u64)]) -> (Class, String) {
    by_region(facts, ranges)
        .or_else(|| by_dax(facts, node))
        .or_else(|| {
            node.has_cpu()
                .then(|| (Class::Dram, format!("the node has CPUs {}", node.cpulist)))
        })
        .or_else(|| by_window(facts, ranges))
        .or_else(|| {
            by_rating(facts, node).map(|(class, why)| (class, format!("no CPU, no dax or CXL device; {why}")))
        })
        .unwrap_or_else(|| by_distance(facts, node))
}

/// The CXL region that serves a node: by the physical `ranges` of its memory, else by the dax device that feeds it.
pub fn region_of<'f>(facts: &'f Facts, node: &Node, ranges: &[(u64, u64)]) -> Option<&'f Region> {
    let fed = facts.dax.iter().filter(|dax| dax.target_node == Some(node.id));
    let by_dax = fed.filter_map(|dax| dax.resource.zip(dax.size_bytes));
    let extents: Vec<(u64, u64)> = ranges.iter().copied().chain(by_dax).collect();
    facts.regions.iter().find(|region| {
        let own = region.resource.zip(region.size_bytes);
        own.is_some_and(|own| extents.iter().any(|extent| overlaps(*extent, own)))
    })
}

fn by_region(facts: &Facts, ranges: &[(u64, u64)]) -> Option<(Class, String)> {
    let region = facts.regions.iter().find(|region| {
        let extent = region.resource.zip(region.size_bytes);
        extent.is_some_and(|extent| ranges.iter().any(|range| overlaps(*range, extent)))
    })?;
    Some((Class::Cxl, format!("its memory lies in CXL {}", region.name)))
}

fn by_dax(facts: &Facts, node: &Node) -> Option<(Class, String)> {
    let dax = facts
        .dax
        .iter()
        .find(|dax| dax.target_node == Some(node.id) && !node.has_cpu())?;
    let name = &dax.name;
    let path = dax.device_path.as_deref().unwrap_or_default();
    if path.contains("region") && (path.contains("/root") || path.contains("cxl")) && !path.contains("ndbus")
    {
        return Some((Class::Cxl, format!("{name} under a CXL region feeds the node")));
    }
    if path.contains("ndbus") || path.contains("nfit") {
        return Some((Class::Pmem, format!("{name} on an NVDIMM bus feeds the node")));
    }
    let extent = dax.resource.zip(dax.size_bytes);
    let region = facts.regions.iter().find(|region| {
        let outer = region.resource.zip(region.size_bytes);
        extent
            .zip(outer)
            .is_some_and(|(extent, outer)| overlaps(extent, outer))
    });
    if let Some(region) = region {
        return Some((
            Class::Cxl,
            format!("{name} in CXL {} feeds the node", region.name),
        ));
    }
    let bus = if path.contains("hmem") {
        "firmware-declared"
    } else {
        "bus not shown"
    };
    match by_rating(facts, node) {
        Some((class, why)) => Some((class, format!("{name} ({bus}) feeds the node; {why}"))),
        None => Some((
            Class::Unknown,
            format!("{name} ({bus}) feeds the node; firmware gives no ratings"),
        )),
    }
}

fn by_window(facts: &Facts, ranges: &[(u64, u64)]) -> Option<(Class, String)> {
    let covered = facts
        .windows
        .iter()
        .any(|window| ranges.iter().any(|range| overlaps(*range, *window)));
    covered.then(|| {
        (
            Class::Cxl,
            "brought online by firmware inside a CXL window (CEDT)".to_owned(),
        )
    })
}

/// Compares the node's ratings with the fastest node that has CPUs.
fn by_rating(facts: &Facts, node: &Node) -> Option<(Class, String)> {
    let with_cpus = || {
        facts
            .nodes
            .iter()
            .filter(|other| other.has_cpu() && other.id != node.id)
    };
    let latency_ns = node.ratings.read_latency_ns?;
    let dram_ns = with_cpus()
        .filter_map(|other| other.ratings.read_latency_ns)
        .min()?;
    let bandwidth = node.ratings.read_bandwidth_mib_per_s;
    let dram_bandwidth = with_cpus()
        .filter_map(|other| other.ratings.read_bandwidth_mib_per_s)
        .max();
    let similar = latency_ns.saturating_mul(100) <= dram_ns.saturating_mul(SIMILAR_PERCENT);
    let wide = bandwidth
        .zip(dram_bandwidth)
        .is_some_and(|(own, dram)| own >= dram.saturating_mul(HBM_BANDWIDTH_FACTOR));
    if similar && wide {
        return Some((
            Class::Hbm,
            format!("firmware rates it {latency_ns} ns like DRAM, with over twice the bandwidth"),
        ));
    }
    if !similar {
        return Some((
            Class::Cxl,
            format!("firmware rates it {latency_ns} ns against {dram_ns} ns of DRAM: taken as CXL"),
        ));
    }
    None
}

fn by_distance(facts: &Facts, node: &Node) -> (Class, String) {
    let nearest = facts
        .nodes
        .iter()
        .zip(&node.distances)
        .filter(|(other, _)| other.has_cpu())
        .map(|(_, distance)| *distance)
        .min();
    let words = match nearest {
        Some(distance) if distance > FAR_DISTANCE => {
            format!("no CPU, far by firmware's distance table ({distance})")
        }
        _ => "no CPU, and nothing tells what its memory is".to_owned(),
    };
    (Class::Unknown, words)
}

fn overlaps((start, length): (u64, u64), (other_start, other_length): (u64, u64)) -> bool {
    start < other_start.saturating_add(other_length) && other_start < start.saturating_add(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::Ratings;

    fn node(id: u32, cpulist: &str, latency_ns: Option<u32>, bandwidth: Option<u32>) -> Node {
        Node {
            id,
            cpulist: cpulist.to_owned(),
            distances: vec![10, 40],
            ratings: Ratings {
                read_latency_ns: latency_ns,
                read_bandwidth_mib_per_s: bandwidth,
                ..Ratings::default()
            },
            ..Node::default()
        }
    }

    fn facts(slow: &Node) -> Facts {
        Facts {
            nodes: vec![node(0, "0-1", Some(90), Some(40960)), slow.clone()],
            ..Facts::default()
        }
    }

    fn dax(path: Option<&str>) -> Dax {
        Dax {
            name: "dax0.0".to_owned(),
            target_node: Some(1),
            resource: Some(0x5_e000_0000),
            size_bytes: Some(1 << 30),
            device_path: path.map(str::to_owned),
            ..Dax::default()
        }
    }

    #[test]
    fn a_region_is_found_by_memory_or_by_the_device_that_feeds_the_node() {
        let slow = node(1, "", None, None);
        let mut facts = facts(&slow);
        facts.regions = vec![Region {
            name: "region0".into(),
            resource: Some(0x5_e000_0000),
            size_bytes: Some(1 << 30),
            ..Region::default()
        }];
        let found = |facts: &Facts, ranges: &[(u64, u64)]| region_of(facts, &slow, ranges).is_some();
        assert!(found(&facts, &[(0x5_e000_0000, 1 << 27)]));
        assert!(!found(&facts, &[(0, 1 << 27)]));
        facts.dax = vec![dax(None)];
        assert!(found(&facts, &[]));
    }

    #[test]
    fn memory_inside_a_cxl_region_is_cxl() {
        let slow = node(1, "", None, None);
        let mut facts = facts(&slow);
        facts.regions = vec![Region {
            name: "region0".into(),
            resource: Some(0x5_e000_0000),
            size_bytes: Some(1 << 30),
            ..Region::default()
        }];
        let (class, evidence) = classify(&facts, &slow, &[(0x5_e000_0000, 1 << 27)]);
        assert_eq!(
            (class, evidence.as_str()),
            (Class::Cxl, "its memory lies in CXL region0")
        );
        facts.dax = vec![dax(None)];
        let (class, evidence) = classify(&facts, &slow, &[]);
        assert_eq!(
            (class, evidence.as_str()),
            (Class::Cxl, "dax0.0 in CXL region0 feeds the node")
        );
    }

    #[test]
    fn the_bus_of_a_dax_device_decides() {
        let slow = node(1, "", None, None);
        let mut facts = facts(&slow);
        let class = |facts: &Facts| classify(facts, &slow, &[]).0;
        facts.dax = vec![dax(Some(
            "../../../devices/platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0/dax0.0",
        ))];
        assert_eq!(class(&facts), Class::Cxl);
        facts.dax = vec![dax(Some(
            "../../../devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region0/dax0.0",
        ))];
        assert_eq!(class(&facts), Class::Pmem);
        facts.dax = vec![dax(Some("../../../devices/platform/hmem.0/dax0.0"))];
        assert_eq!(class(&facts), Class::Unknown);
    }

    #[test]
    fn ratings_tell_hbm_from_expansion_memory() {
        let hbm = node(1, "", Some(100), Some(400_000));
        assert_eq!(classify(&facts(&hbm), &hbm, &[]).0, Class::Hbm);
        let slow = node(1, "", Some(270), Some(10240));
        let mut with_dax = facts(&slow);
        with_dax.dax = vec![dax(None)];
        let (class, evidence) = classify(&with_dax, &slow, &[]);
        assert_eq!(class, Class::Cxl);
        assert!(evidence.contains("270 ns against 90 ns"), "{evidence}");
    }

    #[test]
    fn a_node_with_cpus_is_dram_and_a_bare_one_is_unknown() {
        let slow = node(1, "", None, None);
        let facts = facts(&slow);
        assert_eq!(classify(&facts, &facts.nodes[0], &[]).0, Class::Dram);
        let (class, evidence) = classify(&facts, &slow, &[]);
        assert_eq!(class, Class::Unknown);
        assert!(evidence.contains("nothing tells"), "{evidence}");
    }

    #[test]
    fn a_firmware_window_makes_a_bare_node_cxl() {
        let slow = node(1, "", None, None);
        let mut facts = facts(&slow);
        facts.windows = vec![(0x1_0000_0000, 0x1_0000_0000)];
        assert_eq!(
            classify(&facts, &slow, &[(0x1_8000_0000, 0x800_0000)]).0,
            Class::Cxl
        );
    }
}
