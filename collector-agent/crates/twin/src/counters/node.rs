//! Files of a node.

use super::gauges::Sizes;
use super::values::Values;
use crate::kind::{KINDS, Kind};
use crate::laws::{Dialect, PAGE_BYTES};
use crate::memory::Node;
use crate::tally::Tally;

/// Pages of page tables: one for each 512 mapped ones.
const MAPPED_PER_TABLE: u64 = 512;
/// Of the kernel's own memory, an eighth each is slab that can and that cannot be reclaimed; the rest has no line.
const SLAB_PART: u64 = 8;

#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) node: &'a Node,
    pub(super) sizes: Sizes,
    /// Counts of the whole host.
    pub(super) tally: &'a Tally,
    pub(super) is_slow: bool,
}

impl View<'_> {
    /// An amount that is charged to the DRAM node: demotions to their source, promotions to their target.
    fn on_dram(&self, amount: u64) -> u64 {
        if self.is_slow { 0 } else { amount }
    }

    /// The node's part of an amount of which `slow` is the slow node's.
    fn part(&self, all: u64, slow: u64) -> u64 {
        if self.is_slow { slow } else { all - slow }
    }

    fn refaulted(&self, kinds: &[Kind]) -> u64 {
        let sum = |by_kind: &[u64; KINDS]| kinds.iter().map(|kind| by_kind[kind.index()]).sum();
        self.part(sum(&self.tally.refaulted), sum(&self.tally.refaulted_slow))
    }

    fn stolen(&self, kinds: &[Kind], kswapd: bool, direct: bool) -> u64 {
        let tally = self.tally;
        let sum = |by_kind: &[u64; KINDS], wanted: bool| -> u64 {
            if wanted {
                kinds.iter().map(|kind| by_kind[kind.index()]).sum()
            } else {
                0
            }
        };
        // Demoted pages count as reclaimed on the node that they leave.
        let demoted = sum(&tally.demoted_kswapd, kswapd) + sum(&tally.demoted_direct, direct);
        let evicted = sum(&tally.evicted_kswapd, kswapd) + sum(&tally.evicted_direct, direct);
        let evicted_slow = sum(&tally.evicted_slow_kswapd, kswapd) + sum(&tally.evicted_slow_direct, direct);
        self.on_dram(demoted) + self.part(evicted, evicted_slow)
    }

    fn scanned(&self, kswapd: bool, direct: bool) -> u64 {
        let tally = self.tally;
        let of = |wanted: bool, all: u64, slow: u64| if wanted { self.part(all, slow) } else { 0 };
        of(kswapd, tally.scanned_kswapd, tally.scanned_slow_kswapd)
            + of(direct, tally.scanned_direct, tally.scanned_slow_direct)
    }
}

const BACKED: [Kind; 2] = [Kind::Anon, Kind::Tmpfs];
const FILE: [Kind; 1] = [Kind::File];

/// One line of a node's `vmstat`; 0 for what does not happen on the twin.
pub(super) fn stat(view: &View<'_>, name: &str) -> u64 {
    let (node, sizes, tally) = (view.node, &view.sizes, view.tally);
    match name {
        "nr_free_pages" => node.free(),
        "nr_free_pages_blocks" => node.free() / 512 * 512,
        "nr_inactive_anon" | "nr_zone_inactive_anon" => sizes.listed(true, false),
        "nr_active_anon" | "nr_zone_active_anon" => sizes.listed(true, true),
        "nr_inactive_file" | "nr_zone_inactive_file" => sizes.listed(false, false),
        "nr_active_file" | "nr_zone_active_file" => sizes.listed(false, true),
        "nr_anon_pages" => sizes.of(Kind::Anon),
        "nr_file_pages" => sizes.cached(),
        "nr_shmem" | "nr_mapped" => sizes.of(Kind::Tmpfs),
        "nr_slab_reclaimable" | "nr_slab_unreclaimable" => node.kernel / SLAB_PART,
        "nr_page_table_pages" => view.on_dram(node.used / MAPPED_PER_TABLE),
        "numa_hit" if view.is_slow => tally.allocated_slow - tally.missed,
        "numa_hit" => tally.allocated_dram,
        "numa_miss" if view.is_slow => tally.missed,
        "numa_foreign" => view.on_dram(tally.missed),
        "numa_local" => view.on_dram(tally.allocated_dram),
        "numa_other" if view.is_slow => tally.allocated_slow,
        "workingset_refault_anon" => view.refaulted(&BACKED),
        "workingset_refault_file" => view.refaulted(&FILE),
        "pgpromote_success" => view.on_dram(tally.promoted_counted),
        "pgpromote_candidate" => view.on_dram(tally.candidates),
        "pgpromote_candidate_nrl" => view.on_dram(tally.candidates_free),
        "pgdemote_kswapd" => view.on_dram(tally.demoted_kswapd.iter().sum()),
        "pgdemote_direct" => view.on_dram(tally.demoted_direct.iter().sum()),
        "pgsteal_kswapd" => view.stolen(&Kind::ALL, true, false),
        "pgsteal_direct" => view.stolen(&Kind::ALL, false, true),
        "pgsteal_anon" => view.stolen(&BACKED, true, true),
        // All that is looked at of files is taken, as it is clean.
        "pgsteal_file" | "pgscan_file" => view.stolen(&FILE, true, true),
        "pgscan_kswapd" => view.scanned(true, false),
        "pgscan_direct" => view.scanned(false, true),
        // What is looked at in vain is swap-backed: there is nowhere to put it.
        "pgscan_anon" => view.scanned(true, true) - view.stolen(&FILE, true, true),
        _ => 0,
    }
}

/// A node's `numastat`, which has names of its own.
pub(super) fn numastat(view: &View<'_>) -> Values {
    let of = |name: &str| stat(view, name);
    vec![
        ("numa_hit", of("numa_hit")),
        ("numa_miss", of("numa_miss")),
        ("numa_foreign", of("numa_foreign")),
        ("interleave_hit", 0),
        ("local_node", of("numa_local")),
        ("other_node", of("numa_other")),
    ]
}

/// A node's `meminfo`, KiB.
pub(super) fn meminfo(view: &View<'_>) -> Values {
    let (node, sizes) = (view.node, &view.sizes);
    let pages = [
        ("MemTotal", node.managed),
        ("MemFree", node.free()),
        ("MemUsed", node.managed - node.free()),
        ("Active", sizes.listed(true, true) + sizes.listed(false, true)),
        ("Inactive", sizes.listed(true, false) + sizes.listed(false, false)),
        ("Active(anon)", sizes.listed(true, true)),
        ("Inactive(anon)", sizes.listed(true, false)),
        ("Active(file)", sizes.listed(false, true)),
        ("Inactive(file)", sizes.listed(false, false)),
        ("FilePages", sizes.cached()),
        ("AnonPages", sizes.of(Kind::Anon)),
        ("Shmem", sizes.of(Kind::Tmpfs)),
        ("SReclaimable", node.kernel / SLAB_PART),
        ("SUnreclaim", node.kernel / SLAB_PART),
    ];
    pages
        .into_iter()
        .map(|(name, pages)| (name, pages * PAGE_BYTES / 1024))
        .collect()
}

/// What `/proc/zoneinfo` says of the node's zone. 6.1 prints no `promo`.
pub(super) fn zoneinfo(node: &Node, dialect: Dialect) -> Values {
    let marks = node.watermarks;
    let mut values = vec![
        ("free", node.free()),
        ("min", marks.min),
        ("low", marks.low),
        ("high", marks.high),
    ];
    if dialect != Dialect::V6_1 {
        values.push(("promo", marks.promo));
    }
    values.extend([
        ("spanned", node.managed),
        ("present", node.managed),
        ("managed", node.managed),
    ]);
    values
}
