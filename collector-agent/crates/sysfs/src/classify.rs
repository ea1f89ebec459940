//! Which class of memory a node is, and the evidence for it. Pure: facts in, class and words out.
//!
//! Guests can fake any of these facts, so the evidence always travels with the class, with how sure it is. What a device
//! says of itself comes before what firmware rates, and that before patterns of sizes and distances. The number of a
//! kernel tier is no evidence: the kernel puts memory without ratings below or beside DRAM, whatever it is.

pub(crate) mod evidence;
mod facts;
mod parts;

use crate::cxl::Region;
use crate::devices::Dax;
use crate::nodes::Node;
pub use facts::{Certainty, Class, Facts, Part};
use facts::{extent, overlap};

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

/// What the memory of `node` is, which lies in the physical `ranges` (start, length), if those are known.
pub fn classify(facts: &Facts, node: &Node, ranges: &[(u64, u64)]) -> Memory {
    let mut memory = of_files(facts, node, ranges);
    // A hypervisor backs what it calls a CXL device or an NVDIMM with any memory of its host, DRAM as a rule.
    if let Some(guest) = facts.guest
        && matches!(memory.class, Class::Cxl | Class::Pmem)
        && memory.certainty == Certainty::Certain
    {
        memory.certainty = Certainty::Likely;
        memory.evidence = format!("{}, as the hypervisor of this {guest} shows it", memory.evidence);
    }
    memory
}

fn of_files(facts: &Facts, node: &Node, ranges: &[(u64, u64)]) -> Memory {
    if node.has_cpu() {
        return beside_cpus(facts, node, ranges);
    }
    let unknown_cpus = || {
        let why = "which CPUs the node has cannot be told from its files";
        node.cpus_unknown
            .then(|| (Class::Unknown, Certainty::NotKnown, why.to_owned()))
    };
    let (class, certainty, evidence) = evidence::of_devices(facts, node, ranges)
        .or_else(unknown_cpus)
        .or_else(|| evidence::of_processors(facts, node))
        .or_else(|| evidence::of_partition(facts, node))
        .or_else(|| evidence::of_gpus(facts, node))
        .or_else(|| evidence::of_ratings(facts, node))
        .or_else(|| evidence::of_packages(facts, node))
        .or_else(|| evidence::of_slots(facts, node))
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
    let parts = parts::of_devices(facts, node, ranges);
    if let Some((class, certainty, evidence)) = parts::whole(node, &parts) {
        return Memory {
            class,
            certainty,
            evidence,
            parts: Vec::new(),
        };
    }
    let told = evidence::of_own_package(facts)
        .or_else(|| evidence::of_modules(facts, node))
        .or_else(|| evidence::of_side_cache(facts, node));
    let (class, certainty, evidence) = told.unwrap_or_else(|| {
        let evidence = format!("the node has CPUs {}", node.cpulist);
        (Class::Dram, Certainty::Certain, evidence)
    });
    Memory {
        class,
        certainty,
        evidence,
        parts,
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

/// Whether a dax device is of a region: it hangs below it, or lies within it.
pub fn serves(region: &Region, dax: &Dax) -> bool {
    let path = dax.device_path.as_deref().unwrap_or_default();
    let is_below = path.contains(&format!("/{}/", region.name)) && !path.contains("ndbus");
    let own = dax.resource.zip(dax.size_bytes);
    is_below
        || own
            .zip(extent(region))
            .is_some_and(|(own, outer)| overlap(own, outer) > 0)
}

/// Whether two dax devices are, in part at least, the same memory; not where one does not say where it lies, which only root
/// may read.
pub fn overlaps(own: &Dax, other: &Dax) -> bool {
    let place = |dax: &Dax| dax.resource.zip(dax.size_bytes);
    let both = place(own).zip(place(other));
    both.is_some_and(|(own, other)| overlap(own, other) > 0)
}

#[cfg(test)]
mod tests;
