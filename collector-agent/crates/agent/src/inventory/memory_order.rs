//! Where each node's memory stands beside the host's DRAM, and what the kernel makes of it: the one place that joins
//! classes of memory with the kernel's tiers. Pure: an inventory in.
//!
//! The number of a kernel tier says where pages go, not what is faster: memory without ratings of firmware is put below
//! DRAM when a driver brings it (`mm/memory-tiers.c`, `MEMTIER_DEFAULT_LOWTIER_ADISTANCE`), and beside DRAM otherwise.

use std::collections::BTreeSet;

use tierscope_sample::inventory::{Inventory, Node};

/// HBM of a package, which the kernel ranks below DRAM where firmware gives no ratings, has at most so many bytes a node
/// (Xeon Max: 64 GiB a socket; Knights Landing: 16 GiB).
const MOST_HBM_BYTES: i64 = 64 << 30;

/// How the kernel's order of tiers is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TierOrder {
    /// The kernel prints it.
    Kernel,
    /// The kernel moves pages and prints no tiers (5.15 to 6.0): it demotes from nodes with CPUs to those without.
    Derived,
    /// The kernel has no tiers.
    Absent,
    /// The files do not hold it, so that nothing follows.
    NotInTree,
}

impl TierOrder {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Derived => "derived",
            Self::Absent => "none",
            Self::NotInTree => "not_in_tree",
        }
    }

    /// Of an inventory, those that do not tell among them.
    pub(crate) fn of(inventory: &Inventory) -> Self {
        match inventory.tier_order.as_str() {
            "derived" => Self::Derived,
            "not_in_tree" => Self::NotInTree,
            "none" => Self::Absent,
            _ if inventory.tiers.is_empty() => Self::Absent,
            _ => Self::Kernel,
        }
    }
}

/// What lies in the tiers below the processors' own memory, where the kernel demotes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lower {
    /// Nothing.
    Nothing,
    /// Slower memory; the nodes.
    Slower(Vec<u32>),
    /// Memory faster than DRAM; its nodes.
    Faster(Vec<u32>),
    /// Memory of GPUs; its nodes.
    Gpu(Vec<u32>),
    /// Memory of which nothing tells what it is.
    NotKnown(Vec<u32>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryOrder {
    pub(crate) tiers: TierOrder,
    pub(crate) dram: Vec<u32>,
    /// HBM.
    pub(crate) faster: Vec<u32>,
    /// CXL and persistent memory; and memory of no known class without processors that the kernel ranks below DRAM, unless
    /// it may be HBM: drivers bring nothing else there, and with the size of HBM ruled out it is slower in all likelihood.
    pub(crate) slower: Vec<u32>,
    pub(crate) gpu: Vec<u32>,
    pub(crate) unknown: Vec<u32>,
    /// Nodes that the kernel ranks below those with CPUs.
    pub(crate) demoted_to: Vec<u32>,
    /// Nodes that the kernel ranks above those with CPUs.
    pub(crate) above: Vec<u32>,
}

impl MemoryOrder {
    pub(crate) fn of(inventory: &Inventory) -> Self {
        let nodes = || inventory.nodes.iter().filter(|node| has_memory(node));
        let of_class = |classes: &[&str]| -> Vec<u32> {
            nodes()
                .filter(|node| classes.contains(&node.tier_class.as_str()))
                .map(|node| node.id)
                .collect()
        };
        let (dram, faster, gpu) = (of_class(&["dram"]), of_class(&["hbm"]), of_class(&["gpu"]));
        let mut slower = of_class(&["cxl", "pmem"]);
        let told: BTreeSet<u32> = [&dram, &faster, &slower, &gpu]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let untold: Vec<&Node> = nodes().filter(|node| !told.contains(&node.id)).collect();
        let rank_of = |id: u32| {
            let tier = inventory.tiers.iter().find(|tier| tier.nodes.contains(&id))?;
            Some(tier.rank)
        };
        // The kernel's top tiers end with the slowest one that has CPUs (`mm/memory-tiers.c`, `top_tier_adistance`).
        let with_cpus = || inventory.nodes.iter().filter(|node| !node.cpulist.is_empty());
        let cpu_ranks = || with_cpus().filter_map(|node| rank_of(node.id));
        let (first, last) = (cpu_ranks().min().unwrap_or(0), cpu_ranks().max().unwrap_or(0));
        let ranked = |fits: &dyn Fn(u32) -> bool| -> Vec<u32> {
            nodes()
                .map(|node| node.id)
                .filter(|id| rank_of(*id).is_some_and(fits))
                .collect()
        };
        let demoted_to = ranked(&|rank| rank > last);
        // HBM comes with each package.
        let may_be_hbm = untold.len() >= with_cpus().count()
            && untold
                .iter()
                .all(|node| node.memory_bytes.is_none_or(|bytes| bytes <= MOST_HBM_BYTES));
        let is_slower = |node: &Node| !may_be_hbm && node.cpulist.is_empty() && demoted_to.contains(&node.id);
        let (likely, unknown): (Vec<&Node>, Vec<&Node>) =
            untold.into_iter().partition(|node| is_slower(node));
        slower.extend(likely.iter().map(|node| node.id));
        Self {
            tiers: TierOrder::of(inventory),
            demoted_to,
            above: ranked(&|rank| rank < first),
            dram,
            faster,
            slower,
            gpu,
            unknown: unknown.iter().map(|node| node.id).collect(),
        }
    }

    /// What the kernel demotes to. Faster memory and memory of GPUs among it come first, because they forbid what
    /// slower memory asks for.
    pub(crate) fn lower(&self) -> Lower {
        let among = |nodes: &[u32]| -> Vec<u32> {
            let both = self.demoted_to.iter().filter(|id| nodes.contains(id));
            both.copied().collect()
        };
        let [faster, gpu, slower] = [&self.faster, &self.gpu, &self.slower].map(|nodes| among(nodes));
        if !faster.is_empty() {
            Lower::Faster(faster)
        } else if !gpu.is_empty() {
            Lower::Gpu(gpu)
        } else if !slower.is_empty() {
            Lower::Slower(slower)
        } else if self.demoted_to.is_empty() {
            Lower::Nothing
        } else {
            Lower::NotKnown(self.demoted_to.clone())
        }
    }

    /// Nodes without processors that the kernel does not demote to, and that hold slower memory or nobody knows what.
    pub(crate) fn left_beside(&self, inventory: &Inventory) -> Vec<u32> {
        let candidates = self.slower.iter().chain(&self.unknown).copied();
        let mut beside: Vec<u32> = candidates
            .filter(|id| !self.demoted_to.contains(id) && !self.above.contains(id))
            .filter(|id| inventory.node(*id).is_some_and(|node| node.cpulist.is_empty()))
            .collect();
        beside.sort_unstable();
        beside
    }
}

pub(crate) fn has_memory(node: &Node) -> bool {
    node.memory_bytes.is_none_or(|bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_sample::inventory::Tier;

    fn host(nodes: &[(&str, &str)], tiers: &[&[u32]]) -> Inventory {
        let nodes = (0_u32..).zip(nodes).map(|(id, (class, cpulist))| Node {
            id,
            memory_bytes: Some(1 << 30),
            cpulist: (*cpulist).to_owned(),
            tier_class: (*class).to_owned(),
            ..Node::default()
        });
        let tiers = (0_u32..).zip(tiers).map(|(rank, nodes)| Tier {
            kernel_number: 4 + rank,
            rank,
            nodes: nodes.to_vec(),
        });
        Inventory {
            nodes: nodes.collect(),
            tiers: tiers.collect(),
            ..Inventory::default()
        }
    }

    fn lower(nodes: &[(&str, &str)], tiers: &[&[u32]]) -> Lower {
        MemoryOrder::of(&host(nodes, tiers)).lower()
    }

    #[test]
    fn the_class_says_what_lies_in_a_lower_tier() {
        for (class, expected) in [
            ("cxl", Lower::Slower(vec![1])),
            ("pmem", Lower::Slower(vec![1])),
            ("hbm", Lower::Faster(vec![1])),
            ("gpu", Lower::Gpu(vec![1])),
            ("unknown", Lower::NotKnown(vec![1])),
        ] {
            assert_eq!(lower(&[("dram", "0"), (class, "")], &[&[0], &[1]]), expected);
        }
        let both = [("dram", "0"), ("hbm", ""), ("cxl", "")];
        assert_eq!(lower(&both, &[&[0], &[1, 2]]), Lower::Faster(vec![1]));
        assert_eq!(lower(&both, &[&[1], &[0], &[2]]), Lower::Slower(vec![2]));
    }

    #[test]
    fn memory_of_no_known_class_below_dram_is_slower_unless_it_may_be_hbm() {
        let nodes = [("dram", "0"), ("dram", "1"), ("unknown", "")];
        let mut inventory = host(&nodes, &[&[0, 1], &[2]]);
        let lower = |inventory: &Inventory| MemoryOrder::of(inventory).lower();
        assert_eq!(
            lower(&inventory),
            Lower::Slower(vec![2]),
            "HBM comes with each package"
        );
        inventory.nodes.remove(1);
        assert_eq!(lower(&inventory), Lower::NotKnown(vec![2]));
        inventory.nodes[1].memory_bytes = Some(256 << 30);
        assert_eq!(
            lower(&inventory),
            Lower::Slower(vec![2]),
            "no package has so much HBM"
        );
        inventory.tiers.clear();
        let order = MemoryOrder::of(&inventory);
        assert_eq!(
            (order.lower(), order.unknown),
            (Lower::Nothing, vec![2]),
            "the kernel ranks it nowhere"
        );
    }

    #[test]
    fn the_top_tiers_end_with_the_slowest_that_has_cpus() {
        let order = MemoryOrder::of(&host(
            &[("dram", "0"), ("hbm", ""), ("cxl", "")],
            &[&[1], &[0], &[2]],
        ));
        assert_eq!((order.above, order.demoted_to), (vec![1], vec![2]));
    }

    #[test]
    fn slower_or_unknown_memory_beside_dram_is_left_there() {
        let inventory = host(
            &[
                ("dram", "0"),
                ("cxl", ""),
                ("unknown", ""),
                ("gpu", ""),
                ("hbm", ""),
            ],
            &[&[0, 1, 2, 3, 4]],
        );
        let order = MemoryOrder::of(&inventory);
        assert_eq!(order.left_beside(&inventory), [1, 2]);
        assert_eq!(order.lower(), Lower::Nothing);
    }
}
