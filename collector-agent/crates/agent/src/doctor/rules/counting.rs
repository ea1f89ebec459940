//! Rules about who else moves or watches memory, and about counters that cannot be right.

use tierscope_sample::inventory::Finding;
use tierscope_sysfs::damon_admin::{Action, Kdamond};

use super::finding::{BALANCING, CERTAIN, DEMOTION, LIKELY, TIERING_BIT, finding};
use crate::doctor::Facts;
use crate::doctor::hazards::{DAMON_MTIER, DamonMoves, says};
use crate::inventory::balloon_pages;

/// Counters of demoted pages, by who demoted them.
const DEMOTED: [&str; 4] = [
    "pgdemote_kswapd",
    "pgdemote_direct",
    "pgdemote_khugepaged",
    "pgdemote_proactive",
];
/// Where anonymous pages that were reclaimed went, if not to a lower tier: swap, or nowhere because they were free.
const LEFT_MEMORY: [&str; 4] = ["pswpout", "zswpout", "swpout_zero", "pglazyfreed"];
/// Pages below which a difference is noise of counters that are read at different moments.
const NOISE_PAGES: i64 = 10_000;

/// Demotions that the kernel did and did not count. Anonymous pages that reclaim took away were swapped, freed by
/// `MADV_FREE`, or demoted; where they exceed all that is counted, demotion counters are wrong. Some kernels with
/// multi-generational LRU do not count demotions at all.
pub(super) fn uncounted_demotion(facts: &Facts<'_>) -> Option<Finding> {
    let stolen = facts.counter("pgsteal_anon")?;
    let demoted = facts.sum(&DEMOTED);
    let explained = demoted + facts.sum(&LEFT_MEMORY);
    let missing = stolen - explained;
    let is_wrong =
        facts.has_lower_tier() && facts.is_on(DEMOTION) && missing > NOISE_PAGES && missing > stolen / 4;
    is_wrong.then(|| {
        let mglru = facts
            .knob("/sys/kernel/mm/lru_gen/enabled")
            .is_some_and(|value| !value.trim_start_matches("0x").trim_start_matches('0').is_empty());
        let why = if mglru {
            ", as kernels do that do not count demotions of the multi-generational LRU"
        } else {
            ""
        };
        let cause = format!(
            "{missing} of {stolen} anonymous pages that reclaim took away were neither swapped nor counted as demoted ({demoted}){why}: \
             tier moves are higher than their counters say"
        );
        let fix = "Update the kernel, or switch to the classic LRU for measurements (`echo 0 > /sys/kernel/mm/lru_gen/enabled`). Until \
                   then judge demotion by memory.numa_stat, and by pgmigrate_success less promotions.";
        finding("demotion-uncounted", "warning", LIKELY, cause, fix)
    })
}

pub(super) fn two_promoters(facts: &Facts<'_>) -> Option<Finding> {
    let mode: u32 = facts.knob(BALANCING)?.parse().ok()?;
    (mode & TIERING_BIT != 0 && facts.damon().promotes).then(|| {
        let mut moving = who_moves(facts, |moves| moves.promotes);
        if moving.is_empty() {
            moving.extend(sample_modules(facts));
        }
        let cause = format!(
            "two parts of the kernel promote pages: NUMA balancing (mode {mode}) and DAMON ({}). {}",
            moving.join(", "),
            says("damon-promotes")
        );
        let fix = format!(
            "Nothing, if both are meant: they do not exclude each other. To leave it to DAMON: `sysctl \
             kernel.numa_balancing={}`; demotion_enabled may stay on for cold pages.",
            mode & !TIERING_BIT
        );
        finding("two-promoters", "info", LIKELY, cause, &fix)
    })
}

/// Kernel threads of DAMON that move memory this way.
fn who_moves(facts: &Facts<'_>, way: impl Fn(DamonMoves) -> bool) -> Vec<String> {
    let lower = &facts.order.demoted_to;
    let moves = |kdamond: &&Kdamond| way(DamonMoves::of_schemes(lower, kdamond.actions.iter()));
    let moving = facts.kdamonds.iter().filter(moves);
    moving
        .map(|kdamond| format!("kdamond {}", kdamond.index))
        .collect()
}

/// Modules of the kernel's samples that tier by DAMON and are on.
fn sample_modules(facts: &Facts<'_>) -> impl Iterator<Item = String> {
    let on = DAMON_MTIER.iter().filter(|(_, path)| facts.is_on(path));
    on.map(|(module, _)| format!("module {module}"))
}

/// DAMON that puts hot pages where NUMA balancing takes them from.
pub(super) fn hot_pages_in_a_circle(facts: &Facts<'_>) -> Option<Finding> {
    let mode: u32 = facts.knob(BALANCING)?.parse().ok()?;
    (mode & TIERING_BIT != 0 && facts.damon().spreads && facts.has_lower_tier()).then(|| {
        let cause = format!(
            "DAMON ({}) and NUMA balancing (mode {mode}) work against each other. {}",
            who_moves(facts, |moves| moves.spreads).join(", "),
            says("damon-spreads")
        );
        let fix = format!(
            "Leave hot pages to one of them: `sysctl kernel.numa_balancing={}`, or end the scheme.",
            mode & !TIERING_BIT
        );
        finding("hot-pages-in-a-circle", "warning", LIKELY, cause, &fix)
    })
}

pub(super) fn damon_in_use(facts: &Facts<'_>) -> Option<Finding> {
    let mut users: Vec<String> = facts
        .kdamonds
        .iter()
        .map(|kdamond| {
            let actions = if kdamond.actions.is_empty() {
                "watches".to_owned()
            } else {
                let actions: Vec<String> = kdamond.actions.iter().map(Action::to_string).collect();
                actions.join(", ")
            };
            format!("kdamond {} ({}, {actions})", kdamond.index, kdamond.operations)
        })
        .collect();
    for module in ["damon_reclaim", "damon_lru_sort", "damon_stat"] {
        if facts.is_on(&format!("/sys/module/{module}/parameters/enabled")) {
            users.push(format!("module {module}"));
        }
    }
    users.extend(sample_modules(facts));
    (!users.is_empty()).then(|| {
        let cause = format!(
            "DAMON is in use: {}. Its kernel threads clear accessed bits, so heat by accessed bits reads too low, and a second user \
             may be refused",
            users.join("; ")
        );
        let mut fix = "Nothing, if it is this agent's own or intended. Else stop it: `echo off > \
                       /sys/kernel/mm/damon/admin/kdamonds/N/state`, or `echo N > /sys/module/<module>/parameters/enabled`."
            .to_owned();
        if facts.pages_out() && facts.may_tier() {
            fix = format!("{fix} {}", says("damon-pages-out"));
        }
        finding("damon-in-use", "info", CERTAIN, cause, &fix)
    })
}

/// Migrations for reasons that the kernel counts apart: NUMA balancing with its promotions, demotion, and compaction with
/// all that makes contiguous memory, which counts the free pages that it takes as well.
const ACCOUNTED_MIGRATIONS: [&str; 2] = ["numa_pages_migrated", "compact_isolated"];

/// Who moves pages between nodes beside the kernel's own tiering, or what shows that somebody does, in words.
pub(super) fn other_moves(facts: &Facts<'_>) -> Option<String> {
    if !facts.movers.is_empty() {
        return Some(format!(
            "{} may move pages between nodes",
            facts.movers.join(", ")
        ));
    }
    let damon = facts.damon();
    let migrated = facts
        .counter("pgmigrate_success")
        .filter(|_| damon == DamonMoves::default())?;
    let accounted = facts
        .sum(&DEMOTED)
        .saturating_add(facts.sum(&ACCOUNTED_MIGRATIONS));
    let missing = migrated.saturating_sub(accounted);
    (missing > NOISE_PAGES && missing > migrated / 2).then(|| {
        format!(
            "{missing} of {migrated} pages migrated since boot are neither of demotion, of NUMA balancing nor of compaction, as with \
             move_pages, migrate_pages or mbind of a program, a changed cpuset, or memory taken offline"
        )
    })
}

/// Pages that move between nodes without the kernel's tiering.
pub(super) fn user_space_mover(facts: &Facts<'_>) -> Option<Finding> {
    let has_slower = facts.may_tier() || !facts.order.slower.is_empty();
    let moves = other_moves(facts).filter(|_| has_slower)?;
    let cause = format!(
        "{moves}: the kernel counts such moves in pgmigrate_success alone, neither as demotion nor as promotion"
    );
    let fix = format!(
        "Ask what it moves, and leave demotion and promotion of the kernel off where it is to tier. {}",
        says("user-space-mover")
    );
    Some(finding("user-space-mover", "info", LIKELY, cause, &fix))
}

/// Share of the memory of a guest that a balloon holds above which it is told, in percent.
const BALLOON_PERCENT: i64 = 5;

/// Memory that the hypervisor took back by a balloon.
pub(super) fn ballooned(facts: &Facts<'_>) -> Option<Finding> {
    let pages = balloon_pages(|name| facts.counter(name), &facts.inventory.knobs)?;
    let page_bytes = Some(i64::from(facts.inventory.page_size_bytes)).filter(|bytes| *bytes > 0)?;
    let bytes = pages.saturating_mul(page_bytes);
    let nodes = facts.inventory.nodes.iter().filter_map(|node| node.memory_bytes);
    let all_bytes = nodes.fold(0, i64::saturating_add);
    (all_bytes > 0 && bytes > all_bytes / 100 * BALLOON_PERCENT).then(|| {
        let cause = format!(
            "the hypervisor holds {:.1} GiB of this guest by a balloon: no program has that memory, and where its driver leaves it in \
             MemTotal it reads as in use",
            bytes as f64 / f64::from(1 << 30)
        );
        let fix = "Count it out of what is used. If memory is short here, ask whoever runs the hypervisor: its host is short of memory.";
        finding("memory-ballooned", "info", LIKELY, cause, fix)
    })
}

/// Programs that clear accessed bits, so that a clear one says nothing of how long a page was idle.
pub(super) fn accessed_bits_cleared(facts: &Facts<'_>) -> Option<Finding> {
    (!facts.clearers.is_empty()).then(|| {
        let cause = format!(
            "accessed bits may be cleared by {}: `Referenced` of /proc/PID/smaps says what was touched since then, not since reclaim \
             last looked",
            facts.clearers.join(", ")
        );
        let fix = "Nothing, if it measures heat: ask it. `assess` gives no lower bound of cold memory meanwhile.";
        finding("accessed-bits-cleared", "info", LIKELY, cause, fix)
    })
}

/// Schemes of DAMON whose work nobody can see.
pub(super) fn unseen_schemes(facts: &Facts<'_>) -> Option<Finding> {
    let unseen: Vec<String> = facts
        .kdamonds
        .iter()
        .filter(|kdamond| kdamond.refresh_ms.unwrap_or(0) == 0)
        .filter(|kdamond| kdamond.actions.iter().any(|action| action.name != "stat"))
        .map(|kdamond| kdamond.index.to_string())
        .collect();
    (!unseen.is_empty()).then(|| {
        let cause = format!(
            "kdamond {} has schemes of which the kernel does not refresh the statistics: what they moved is known only while somebody \
             else refreshes them",
            unseen.join(", ")
        );
        let fix = "`echo 1000 > /sys/kernel/mm/damon/admin/kdamonds/N/refresh_ms` where the kernel has that file; else write \
                   `update_schemes_stats` into its `state` every minute. Nothing, if the tool that set DAMON up does so.";
        finding("damon-schemes-unseen", "info", CERTAIN, cause, fix)
    })
}

/// A guest, whose nodes and tiers are what somebody said they are.
pub(super) fn guest(facts: &Facts<'_>) -> Option<Finding> {
    let kind = &facts.inventory.hypervisor;
    (kind.contains("guest") && facts.has_lower_tier()).then(|| {
        let cause = format!("this host is a virtual machine ({kind}): its nodes, distances and ratings are what the hypervisor says, and its \
             memory may itself be tiered below");
        finding("guest-topology", "info", CERTAIN, cause, "Measure the nodes (`tierscope-agent bench`) before you trust their classes.")
    })
}
