//! Which class of memory a node is, and the evidence for it. Pure: facts in, class and words out.
//!
//! Guests can fake any of these facts, so the evidence always travels with the class, with how sure it is. What a device
//! says of itself comes before what firmware rates, and that before patterns of sizes and distances. The number of a
//! kernel tier is no evidence: the kernel puts memory without ratings below or beside DRAM, whatever it is.

mod evidence;
mod parts;

use crate::cxl::Region;
use crate::devices::Dax;
use crate::dimms::Dimms;
use crate::gpus::Gpus;
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
    /// Memory of a GPU that the kernel shows as a node.
    Gpu,
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
            Self::Gpu => "gpu",
            Self::Unknown => "unknown",
        }
    }
}

/// How sure a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// A device or the kernel names it.
    Certain,
    /// Ratings of firmware or a known pattern fit it.
    Likely,
    /// Nothing tells.
    NotKnown,
}

impl Certainty {
    /// The name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::NotKnown => "not_known",
        }
    }
}

/// What the memory of a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The class of the node, or of the larger part of it.
    pub class: Class,
    /// How sure that is.
    pub certainty: Certainty,
    /// What tells it.
    pub evidence: String,
    /// Memory of another class within the node, which the kernel cannot tell from the rest.
    pub parts: Vec<Part>,
}

/// Memory of another class within a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its class.
    pub class: Class,
    /// Its size in bytes.
    pub bytes: u64,
    /// What tells it.
    pub evidence: String,
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
    /// GPUs.
    pub gpus: Gpus,
    /// Memory modules as firmware lists them.
    pub dimms: Dimms,
    /// Model of the processors, "" where unknown.
    pub cpu_model: String,
    /// What keeps the kernel from running all processors, such as `nr_cpus=1`; `None` where nothing does.
    pub cpu_limit: Option<String>,
}

impl Facts {
    /// Nodes with CPUs.
    fn with_cpus(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.has_cpu())
    }
}

/// A class with its certainty and evidence.
type Told = (Class, Certainty, String);

/// What the memory of `node` is, which lies in the physical `ranges` (start, length), if those are known.
pub fn classify(facts: &Facts, node: &Node, ranges: &[(u64, u64)]) -> Memory {
    if node.has_cpu() {
        return beside_cpus(facts, node, ranges);
    }
    let (class, certainty, evidence) = evidence::of_devices(facts, node, ranges)
        .or_else(|| evidence::of_processors(facts, node))
        .or_else(|| evidence::of_gpus(facts, node))
        .or_else(|| evidence::of_ratings(facts, node))
        .or_else(|| evidence::of_packages(facts, node))
        .unwrap_or_else(|| {
            (
                Class::Unknown,
                Certainty::NotKnown,
                evidence::of_nothing(facts, node),
            )
        });
    let others = parts::of_devices(facts, node, ranges).into_iter();
    Memory {
        parts: if certainty == Certainty::Certain {
            others.filter(|part| part.class != class).collect()
        } else {
            Vec::new()
        },
        class,
        certainty,
        evidence,
    }
}

/// Memory of a node with CPUs: DRAM, unless a device says otherwise of all of it or of a part.
fn beside_cpus(facts: &Facts, node: &Node, ranges: &[(u64, u64)]) -> Memory {
    if let Some(region) = parts::region_around(facts, ranges) {
        return Memory {
            class: Class::Cxl,
            certainty: Certainty::Certain,
            evidence: format!("all its memory lies in CXL {region}"),
            parts: Vec::new(),
        };
    }
    let (class, certainty, evidence) = evidence::of_own_package(facts).unwrap_or_else(|| {
        let evidence = format!("the node has CPUs {}", node.cpulist);
        (Class::Dram, Certainty::Certain, evidence)
    });
    Memory {
        class,
        certainty,
        evidence,
        parts: parts::of_devices(facts, node, ranges),
    }
}

/// The CXL region that serves a node: by the physical `ranges` of its memory, else by the dax device that feeds it.
pub fn region_of<'f>(facts: &'f Facts, node: &Node, ranges: &[(u64, u64)]) -> Option<&'f Region> {
    let feeding = facts.dax.iter().filter(|dax| dax.target_node == Some(node.id));
    let by_dax = feeding.filter_map(|dax| dax.resource.zip(dax.size_bytes));
    let extents: Vec<(u64, u64)> = ranges.iter().copied().chain(by_dax).collect();
    facts.regions.iter().find(|region| {
        let own = extent(region);
        own.is_some_and(|own| extents.iter().any(|extent| overlap(*extent, own) > 0))
    })
}

fn extent(region: &Region) -> Option<(u64, u64)> {
    region.resource.zip(region.size_bytes)
}

/// Bytes that two stretches of memory share.
fn overlap((start, length): (u64, u64), (other_start, other_length): (u64, u64)) -> u64 {
    let end = start
        .saturating_add(length)
        .min(other_start.saturating_add(other_length));
    end.saturating_sub(start.max(other_start))
}

#[cfg(test)]
mod tests;
