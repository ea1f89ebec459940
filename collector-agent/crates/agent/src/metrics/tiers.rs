//! Memory by node, tier moves and pressure of the host, as read from the kernel.

use tierscope_sample::catalogue::{self, Kind};
use tierscope_sample::inventory::Inventory;
use tierscope_sysfs::damos::Label;

use super::exposition::{Page, plain};
use super::readings::Readings;

/// The file with the kernel's counters of tier moves, and its twins per node.
const SOURCE: &str = "vmstat";
/// Beginnings of the names in it that tell of tiering.
const TIERING_NAMES: [&str; 13] = [
    "pgpromote_",
    "pgdemote_",
    "pgmigrate_",
    "numa_",
    "pswp",
    "promote_",
    "pghot_",
    "kpromoted_",
    "pgscan_",
    "pgsteal_",
    "allocstall_",
    "workingset_",
    "thp_migration_",
];

/// Metrics of a node's memory with their names in `meminfo`, in bytes.
const NODE_MEMORY: [(&str, &str, &str); 11] = [
    ("size", "MemTotal", "Memory of the node that the kernel manages."),
    ("free", "MemFree", "Free memory."),
    ("anon", "AnonPages", "Anonymous memory, mapped."),
    (
        "file",
        "FilePages",
        "Page cache, shared memory and swap cache included.",
    ),
    ("shmem", "Shmem", "Shared memory and tmpfs; it is part of file."),
    (
        "active_anon",
        "Active(anon)",
        "Anonymous and shared memory on the active list.",
    ),
    (
        "inactive_anon",
        "Inactive(anon)",
        "Anonymous and shared memory on the inactive list.",
    ),
    ("active_file", "Active(file)", "Page cache on the active list."),
    (
        "inactive_file",
        "Inactive(file)",
        "Page cache on the inactive list.",
    ),
    (
        "unevictable",
        "Unevictable",
        "Memory that reclaim and demotion leave alone.",
    ),
    ("slab", "Slab", "Memory of the kernel's own objects."),
];

/// Tier moves: direction, who moved, and the counters in pages, by the names of one dialect of the kernel.
pub(super) struct Moves {
    pub(super) dialect: &'static str,
    pub(super) direction: &'static str,
    pub(super) by: &'static str,
    pub(super) counter: &'static str,
    /// `bound` where the kernel counts a huge page as one event.
    trust: &'static str,
}

const fn moves(
    dialect: &'static str,
    direction: &'static str,
    by: &'static str,
    counter: &'static str,
    trust: &'static str,
) -> Moves {
    Moves {
        dialect,
        direction,
        by,
        counter,
        trust,
    }
}

/// As the ledger has them: docs/method/tier-moves.md.
pub(super) const MOVES: [Moves; 9] = [
    moves(
        "mainline",
        "promoted",
        "numa_balancing",
        "pgpromote_success",
        "exact",
    ),
    moves("mainline", "demoted", "kswapd", "pgdemote_kswapd", "exact"),
    moves("mainline", "demoted", "direct", "pgdemote_direct", "exact"),
    moves(
        "mainline",
        "demoted",
        "khugepaged",
        "pgdemote_khugepaged",
        "exact",
    ),
    moves("mainline", "demoted", "proactive", "pgdemote_proactive", "exact"),
    moves("tpp", "promoted", "anon", "pgpromote_anon", "bound"),
    moves("tpp", "promoted", "file", "pgpromote_file", "bound"),
    moves("tpp", "demoted", "anon", "pgdemote_anon", "exact"),
    moves("tpp", "demoted", "file", "pgdemote_file", "exact"),
];

/// Writes all of it. What the kernel does not have is not there.
pub(super) fn write(page: &mut Page, readings: &Readings, inventory: &Inventory) {
    write_nodes(page, readings, inventory);
    write_moves(page, readings, inventory);
    write_damon(page, readings, inventory);
    write_pressure(page, readings);
    write_vmstat(page, readings);
}

fn write_nodes(page: &mut Page, readings: &Readings, inventory: &Inventory) {
    page.metric(
        "tierscope_node_info",
        "gauge",
        "1 for each node: class of its memory, rank of its kernel tier (0 is the fastest), and whether it has processors.",
    );
    for node in &inventory.nodes {
        let tier = inventory.tiers.iter().find(|tier| tier.nodes.contains(&node.id));
        let rank = tier.map(|tier| tier.rank.to_string()).unwrap_or_default();
        let has_cpus = if node.cpulist.is_empty() { "no" } else { "yes" };
        let labels = [
            ("node", node.id.to_string()),
            ("tier", node.tier_class.clone()),
            ("kernel_tier_rank", rank),
            ("cpus", has_cpus.to_owned()),
        ];
        page.sample(&labels.each_ref().map(|(name, text)| (*name, text.as_str())), 1.0);
    }
    for (part, counter, help) in NODE_MEMORY {
        page.metric(&format!("tierscope_node_memory_{part}_bytes"), "gauge", help);
        for node in &inventory.nodes {
            let Some(bytes) = readings.get(&format!("node:{}", node.id), "meminfo", counter) else {
                continue;
            };
            let labels = [
                ("node", &*node.id.to_string()),
                ("tier", node.tier_class.as_str()),
            ];
            page.sample(&labels, bytes as f64);
        }
    }
}

fn write_moves(page: &mut Page, readings: &Readings, inventory: &Inventory) {
    let page_bytes = f64::from(inventory.page_size_bytes);
    if inventory.page_size_bytes == 0 {
        return;
    }
    page.metric(
        "tierscope_tier_moves_bytes_total",
        "counter",
        "Memory that the kernel moved between tiers since boot, by who moved it. A bound counts each huge page as one page.",
    );
    for moves in MOVES.iter().filter(|moves| moves.dialect == inventory.dialect) {
        let Some(pages) = readings.get("host", SOURCE, moves.counter) else {
            continue;
        };
        let labels = [
            ("direction", moves.direction),
            ("by", moves.by),
            ("dialect", moves.dialect),
            ("trust", moves.trust),
        ];
        page.sample(&labels, pages as f64 * page_bytes);
    }
}

/// What schemes of DAMON did, by the names of their counters: `sz_applied[k0.c0.s1.migrate_cold.N1]`.
fn write_damon(page: &mut Page, readings: &Readings, inventory: &Inventory) {
    for (counter, metric, help) in [
        (
            "sz_applied[",
            "tierscope_damon_scheme_applied_bytes_total",
            "Memory to which a scheme of DAMON applied its action since its kernel thread started.",
        ),
        (
            "sz_tried[",
            "tierscope_damon_scheme_tried_bytes_total",
            "Memory to which a scheme of DAMON tried to apply its action since its kernel thread started.",
        ),
    ] {
        page.metric(metric, "counter", help);
        for (_, source, name, bytes) in readings.iter() {
            let label = name
                .strip_prefix(counter)
                .and_then(|rest| Label::parse(rest.strip_suffix(']')?));
            let (Some(label), "damos") = (label, source) else {
                continue;
            };
            let [kdamond, context, scheme] = label.place.map(|number| number.to_string());
            let target = label.target_node.map(|id| id.to_string()).unwrap_or_default();
            let node = label.target_node.and_then(|id| inventory.node(id));
            let labels = [
                ("kdamond", kdamond.as_str()),
                ("context", &context),
                ("scheme", &scheme),
                ("action", label.action),
                ("node", &target),
                ("tier", node.map_or("", |node| &node.tier_class)),
            ];
            page.sample(&labels, bytes as f64);
        }
    }
}

fn write_pressure(page: &mut Page, readings: &Readings) {
    page.metric(
        "tierscope_pressure_stalled_seconds_total",
        "counter",
        "Time in which some, or all, tasks waited for the resource (pressure stall information).",
    );
    let found =
        readings
            .iter()
            .filter(|(scope, ..)| *scope == "host")
            .filter_map(|(_, source, name, value)| {
                let resource = source.strip_prefix("pressure.")?;
                Some((resource, name.strip_suffix("_total_us")?, value))
            });
    for (resource, tasks, stalled_us) in found {
        let labels = [("resource", resource), ("tasks", tasks)];
        page.sample(&labels, stalled_us as f64 / 1e6);
    }
}

/// The kernel's own numbers under the kernel's own names. Samples of one metric stand together, as the format asks.
fn write_vmstat(page: &mut Page, readings: &Readings) {
    let mut samples: Vec<(&str, &str, i64)> = readings
        .iter()
        .filter(|(_, source, name, _)| {
            *source == SOURCE && TIERING_NAMES.iter().any(|start| name.starts_with(start))
        })
        .map(|(scope, _, name, value)| (name, scope, value))
        .collect();
    samples.sort_unstable();
    for samples in samples.chunk_by(|one, next| one.0 == next.0) {
        let (name, ..) = samples[0];
        let is_counter = catalogue::find(SOURCE, name).is_some_and(|metric| metric.kind == Kind::Counter);
        let (kind, ending) = if is_counter {
            ("counter", "_total")
        } else {
            ("gauge", "")
        };
        let metric = format!("tierscope_{SOURCE}_{}{ending}", plain(name));
        page.metric(&metric, kind, "As the kernel counts it; see docs/metrics.md.");
        for (_, scope, value) in samples {
            let (scope, node) = scope.split_once(':').unwrap_or((scope, ""));
            page.sample(&[("scope", scope), ("node", node)], *value as f64);
        }
    }
}
