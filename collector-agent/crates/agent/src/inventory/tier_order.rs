//! The kernel's order of memory tiers: as it prints it, else as it follows from its moves.

use tierscope_procfs::counters;
use tierscope_rootfs::Reader;
use tierscope_sample::inventory::{Inventory, Tier};
use tierscope_sysfs::tiers;

use super::tree::Tree;
use crate::doctor::Moves;
use crate::inventory::container_view;
use crate::inventory::memory_order::{TierOrder, has_memory};

const DEMOTION: &str = "/sys/kernel/mm/numa/demotion_enabled";

/// Fills in the tiers of an inventory that has its nodes and settings.
pub(super) fn describe(reader: &mut Reader, inventory: &mut Inventory, tree: &Tree) {
    let (order, tiers) = read(reader, inventory, tree);
    inventory.tiers = tiers;
    order.name().clone_into(&mut inventory.tier_order);
}

fn read(reader: &mut Reader, inventory: &Inventory, tree: &Tree) -> (TierOrder, Vec<Tier>) {
    let printed = tiers::read(reader).unwrap_or_default();
    if !printed.is_empty() {
        let ranked = (0_u32..).zip(printed).map(|(rank, tier)| Tier {
            kernel_number: tier.number,
            rank,
            nodes: tier.nodes,
        });
        return (TierOrder::Kernel, ranked.collect());
    }
    let mut moves = Moves::default();
    // Without a vmstat nothing is known to move.
    let _absent = counters::vmstat(reader, |name, value| moves.add(name, value));
    let has_setting = inventory
        .knobs
        .iter()
        .any(|knob| knob.path == DEMOTION && knob.value.is_some());
    let moves_pages = moves.sum() > 0;
    if let Some(tiers) = derive(inventory).filter(|_| has_setting || moves_pages) {
        return (TierOrder::Derived, tiers);
    }
    let is_sandbox = container_view::sandbox(&inventory.kernel_version).is_some();
    let order = if tree.holds_tiers_of_its_kernel() && !moves_pages && !is_sandbox {
        TierOrder::Absent
    } else {
        TierOrder::NotInTree
    };
    (order, Vec::new())
}

/// Nodes with CPUs above those without, as kernels order them that print no tiers (5.15 to 6.0, `mm/migrate.c`,
/// `__set_migration_target_nodes`). `None` where all memory is on one side. Memory of GPUs is left out: its driver
/// manages it.
fn derive(inventory: &Inventory) -> Option<Vec<Tier>> {
    let nodes = inventory.nodes.iter().filter(|node| has_memory(node));
    let (with, without): (Vec<_>, Vec<_>) = nodes
        .filter(|node| node.tier_class != "gpu")
        .partition(|node| !node.cpulist.is_empty());
    if with.is_empty() || without.is_empty() {
        return None;
    }
    let tiers = (0_u32..).zip([with, without]).map(|(rank, nodes)| Tier {
        kernel_number: 0,
        rank,
        nodes: nodes.into_iter().map(|node| node.id).collect(),
    });
    Some(tiers.collect())
}
