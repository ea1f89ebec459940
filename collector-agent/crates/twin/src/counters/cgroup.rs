//! Files of a cgroup, which holds one service.

use super::gauges::{Gauges, Sizes};
use super::names;
use crate::kind::{KINDS, Kind};
use crate::laws::{Dialect, PAGE_BYTES};
use crate::tally::Tally;

#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) gauges: &'a Gauges,
    pub(super) service: usize,
    pub(super) tally: &'a Tally,
    pub(super) nodes: usize,
}

/// One line of `memory.stat`: bytes for sizes, pages for events.
pub(super) fn stat(view: &View<'_>, name: &str) -> u64 {
    let sizes = view.gauges.of_service(view.service);
    size(&sizes, name).map_or_else(|| event(view.tally, name), |pages| pages * PAGE_BYTES)
}

/// The lines of `memory.numa_stat` that say where memory lies; its other lines repeat nodes' counts.
pub(super) fn numa_stat(view: &View<'_>, dialect: Dialect) -> Vec<(&'static str, Vec<u64>)> {
    let by_node: Vec<Sizes> = (0..view.nodes)
        .map(|node| view.gauges.of_service_on(view.service, node))
        .collect();
    names::memory_stat(dialect)
        .filter(|name| size(&Sizes::default(), name).is_some())
        .map(|name| {
            let bytes = by_node
                .iter()
                .map(|sizes| size(sizes, name).unwrap_or_default() * PAGE_BYTES);
            (name, bytes.collect())
        })
        .collect()
}

fn size(sizes: &Sizes, name: &str) -> Option<u64> {
    Some(match name {
        "anon" => sizes.of(Kind::Anon),
        "file" => sizes.cached(),
        "shmem" | "file_mapped" => sizes.of(Kind::Tmpfs),
        "inactive_anon" => sizes.listed(true, false),
        "active_anon" => sizes.listed(true, true),
        "inactive_file" => sizes.listed(false, false),
        "active_file" => sizes.listed(false, true),
        _ => return None,
    })
}

fn event(tally: &Tally, name: &str) -> u64 {
    let sum = |by_kind: &[u64; KINDS]| by_kind.iter().sum::<u64>();
    let backed = |by_kind: &[u64; KINDS]| by_kind[Kind::Anon.index()] + by_kind[Kind::Tmpfs.index()];
    let stolen_kswapd = sum(&tally.demoted_kswapd) + sum(&tally.evicted_kswapd);
    let stolen_direct = sum(&tally.demoted_direct) + sum(&tally.evicted_direct);
    match name {
        "workingset_refault_anon" => backed(&tally.refaulted),
        "workingset_refault_file" => tally.refaulted[Kind::File.index()],
        "pgdemote_kswapd" => sum(&tally.demoted_kswapd),
        "pgdemote_direct" => sum(&tally.demoted_direct),
        "pgpromote_success" => tally.promoted_counted,
        "pgscan" => tally.scanned_kswapd + tally.scanned_direct,
        "pgscan_kswapd" => tally.scanned_kswapd,
        "pgscan_direct" => tally.scanned_direct,
        "pgsteal" => stolen_kswapd + stolen_direct,
        "pgsteal_kswapd" => stolen_kswapd,
        "pgsteal_direct" => stolen_direct,
        "pgfault" => sum(&tally.born) + sum(&tally.refaulted) + tally.hint_faults,
        "pgmajfault" => sum(&tally.refaulted),
        "pswpin" => tally.swapped_in(),
        "pswpout" => tally.swapped_out(),
        "numa_pages_migrated" => tally.promoted_pages(),
        "numa_pte_updates" => tally.marked,
        "numa_hint_faults" => tally.hint_faults,
        _ => 0,
    }
}
