//! Files of the whole host.

use super::node::{View, stat};
use super::values::Values;
use crate::host::Host;
use crate::laws::PAGE_BYTES;
use crate::tally::Tally;

/// Pages that reclaim looks at in one go (`SWAP_CLUSTER_MAX`).
const RECLAIM_BATCH: u64 = 32;
const PAGE_KIB: u64 = PAGE_BYTES / 1024;

/// One VM event of `/proc/vmstat`; `None` for what is no event but a sum over nodes. On 6.1 demotions are events; their sum
/// over nodes is the same.
pub(super) fn event(tally: &Tally, has_movable: bool, name: &str) -> Option<u64> {
    let sum = |by_kind: &[u64]| by_kind.iter().sum::<u64>();
    let moved = tally.promoted_pages() + tally.demoted();
    let evicted = sum(&tally.evicted_kswapd) + sum(&tally.evicted_direct);
    let (normal, movable) = if has_movable {
        (tally.allocated_dram, tally.allocated_slow)
    } else {
        (tally.allocated_dram + tally.allocated_slow, 0)
    };
    Some(match name {
        "pgalloc_normal" => normal,
        "pgalloc_movable" => movable,
        "pgfree" => sum(&tally.freed_resident) + moved + evicted,
        "allocstall_normal" => tally.scanned_direct / RECLAIM_BATCH,
        "pgfault" => sum(&tally.born) + sum(&tally.refaulted) + tally.hint_faults,
        "pgmajfault" => sum(&tally.refaulted),
        "pswpin" => tally.swapped_in(),
        "pswpout" => tally.swapped_out(),
        "pgpgin" => sum(&tally.refaulted) * PAGE_KIB,
        "pgpgout" => tally.swapped_out() * PAGE_KIB,
        "numa_pte_updates" => tally.marked,
        "numa_hint_faults" => tally.hint_faults,
        "numa_hint_faults_local" => tally.hint_faults_local,
        "numa_pages_migrated" => tally.promoted_pages(),
        "pgmigrate_success" => moved,
        "pgmigrate_fail" => tally.failed,
        _ => return None,
    })
}

/// A line of `/proc/vmstat` that describes the host: thresholds of dirty pages (20 and 10 % of what is available).
pub(super) fn global(views: &[View<'_>], name: &str) -> Option<u64> {
    match name {
        "nr_dirty_threshold" => Some(available(views) / 5),
        "nr_dirty_background_threshold" => Some(available(views) / 10),
        _ => None,
    }
}

/// Pages that could be had without swapping (`si_mem_available`).
fn available(views: &[View<'_>]) -> u64 {
    let low: u64 = views.iter().map(|view| view.node.watermarks.low).sum();
    let free: u64 = views.iter().map(|view| view.node.free()).sum();
    let cache: u64 = views
        .iter()
        .map(|view| view.sizes.listed(false, true) + view.sizes.listed(false, false))
        .sum();
    (free + cache - (cache / 2).min(low)).saturating_sub(low)
}

/// `/proc/meminfo`, KiB.
pub(super) fn meminfo(host: &Host, views: &[View<'_>]) -> Values {
    let of = |name: &str| views.iter().map(|view| stat(view, name)).sum::<u64>();
    let pages = [
        ("MemTotal", host.memory.managed()),
        ("MemFree", of("nr_free_pages")),
        ("MemAvailable", available(views)),
        ("Buffers", 0),
        ("Cached", of("nr_file_pages")),
        ("SwapCached", 0),
        ("Active", of("nr_active_anon") + of("nr_active_file")),
        ("Inactive", of("nr_inactive_anon") + of("nr_inactive_file")),
        ("Active(anon)", of("nr_active_anon")),
        ("Inactive(anon)", of("nr_inactive_anon")),
        ("Active(file)", of("nr_active_file")),
        ("Inactive(file)", of("nr_inactive_file")),
        ("SwapTotal", host.memory.swap),
        ("SwapFree", host.memory.swap - host.memory.swap_used),
        ("AnonPages", of("nr_anon_pages")),
        ("Mapped", of("nr_mapped")),
        ("Shmem", of("nr_shmem")),
        ("SReclaimable", of("nr_slab_reclaimable")),
        ("SUnreclaim", of("nr_slab_unreclaimable")),
        ("PageTables", of("nr_page_table_pages")),
    ];
    pages
        .into_iter()
        .map(|(name, pages)| (name, pages * PAGE_KIB))
        .collect()
}
