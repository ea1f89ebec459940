//! Rules about demotion and promotion: both are one change, in the order of their charters, and what makes it do harm is named.

use tierscope_sample::advice::{self, KEEP_SYSCTL, KEEP_TMPFILES, charter, keep_file};
use tierscope_sample::inventory::Finding;

use super::finding::{BALANCING, CERTAIN, DEMOTION, LIKELY, RATE_LIMIT, TIERING_BIT, finding, numbers};
use super::hardware::unmovable_percent;
use super::memory::{certainty, demotes};
use crate::doctor::Facts;
use crate::doctor::hazards::{self, MIN_TTL, says};
use crate::doctor::tiering::lacks_balancing;
use crate::inventory::memory_order::{Lower, TierOrder};

/// The bit of `kernel.numa_balancing` that moves pages between nodes of one tier.
const CLASSIC_BIT: u32 = 1;
const KSM_RUN: &str = "/sys/kernel/mm/ksm/run";
/// Where kswapd gave up for want of demotion.
const DEMOTE_FIRST: &str = "turn demotion on (`demotion-off` says how, and what it risks)";
/// The first mainline release in which a reclaim wakes kswapd only where free memory of the node is over its high watermark
/// afterwards (commit dc9fe9b7056a).
const WAKES_WHEN_BALANCED: &str = "7.0";
/// Events since boot below which a host shows no harm by reclaim of its own nodes.
const NOISE_EVENTS: i64 = 10_000;
/// Free memory of the slower nodes above which they have room, in percent: as in the charter of F2.
const ROOM_PERCENT: i64 = 10;
/// A share of a node that cannot move from which on it can be why nothing is reclaimed there, in percent.
const PINNED_PERCENT: i64 = 25;

/// The service knows such a kernel by these words.
const NO_BALANCING: &str = "there is a slower memory tier, and the kernel is built without NUMA balancing, which promotes: hot pages stay there";

fn cannot_promote(facts: &Facts<'_>) -> bool {
    lacks_balancing(facts.inventory, facts.moves()) && !facts.damon().promotes
}

fn mode_of(facts: &Facts<'_>) -> Option<u32> {
    facts.knob(BALANCING)?.parse().ok()
}

/// The command that turns demotion on, and what keeps it.
fn demote() -> String {
    let file = keep_file(KEEP_TMPFILES, "demotion");
    format!("`echo 1 > {DEMOTION}`; to keep it: `w {DEMOTION} - - - - 1` in {file}")
}

/// The command that turns promotion on, and what keeps it; the other bits stay.
fn promote(mode: u32) -> String {
    let (mode, file) = (mode | TIERING_BIT, keep_file(KEEP_SYSCTL, "numa_balancing"));
    format!("`sysctl kernel.numa_balancing={mode}`; to keep it: `kernel.numa_balancing = {mode}` in {file}")
}

fn why_together(rule: &str) -> &'static str {
    charter(rule).map_or("", |charter| charter.together_why)
}

fn protect() -> String {
    format!(
        "`echo 1000 > {MIN_TTL}` (to keep it: `w {MIN_TTL} - - - - 1000` in {})",
        keep_file(KEEP_TMPFILES, "min_ttl_ms")
    )
}

/// The hang of hosts without room in swap, with how it stands with this kernel.
fn hang_text(facts: &Facts<'_>, state: Option<bool>) -> String {
    let release = &facts.inventory.kernel_release;
    let here = match state {
        Some(true) => "This host is one of them.".to_owned(),
        _ if release.is_empty() => "Whether this host is one of them is not known.".to_owned(),
        _ => format!("Whether this host is one of them, with kernel {release}, is not known."),
    };
    format!("{} {here}", says("mglru-no-swap"))
}

fn named(services: &[&str]) -> String {
    let first = services.iter().take(5).copied().collect::<Vec<_>>().join(", ");
    match services.len().saturating_sub(5) {
        0 => first,
        rest => format!("{first} and {rest} more"),
    }
}

/// Slower memory in a lower tier, and nothing demotes to it.
pub(super) fn demotion_off(facts: &Facts<'_>) -> Option<Finding> {
    let Lower::Slower(nodes) = facts.order.lower() else {
        return None;
    };
    // Of a kernel that cannot promote `promotion-off` says why demotion stays off.
    if demotes(facts)? || facts.damon().demotes || cannot_promote(facts) {
        return None;
    }
    let (mut severity, mut confidence) = ("warning", certainty(facts, &nodes));
    let (mover, unseen) = (other_mover(facts), unseen(facts));
    if mover.is_some() || unseen.is_some() {
        confidence = LIKELY;
    }
    let mut fix: Vec<String> = mover.into_iter().collect();
    if slower_has_room(facts, &facts.order.demoted_to) == Some(false) {
        severity = "info";
        confidence = LIKELY;
        fix.push(format!(
            "Nothing now. {} Once they have room:",
            says("slow-tier-full")
        ));
    }
    if facts.pages_out() {
        fix.push(says("damon-pages-out").to_owned());
    }
    fix.extend(sources_left_out(facts).map(str::to_owned));
    let services = facts.barred_services();
    if !services.is_empty() {
        fix.push(format!(
            "First ask whether these may use node {}: {}. {}",
            numbers(&facts.order.demoted_to),
            named(&services),
            says("strict-cpuset")
        ));
        if !hazards::heeds_cpusets(facts.inventory) {
            confidence = LIKELY;
        }
    }
    fix.extend(unseen);
    let hang = hazards::hangs(facts.inventory, facts.swap_has_room());
    if hang != Some(false) {
        confidence = LIKELY;
        fix.push(format!("Before it: {}. {}", protect(), hang_text(facts, hang)));
    }
    fix.push(format!("{}.", demote()));
    fix.extend(then_promotion(facts));
    let cause = "there is a slower memory tier, and demotion is off: cold pages are evicted or swapped instead of moved";
    Some(finding(
        "demotion-off",
        severity,
        confidence,
        cause,
        &fix.join(" "),
    ))
}

/// Where an early kernel demotes from one node alone to each slower one. Those that print tiers do not, whatever their release.
fn sources_left_out(facts: &Facts<'_>) -> Option<&'static str> {
    let is_there = facts.promotion_nodes() > facts.order.demoted_to.len()
        && facts.order.tiers != TierOrder::Kernel
        && exists_here(facts, "one-source-each");
    is_there.then(|| says("one-source-each"))
}

/// What belongs to demotion, where nothing promotes.
fn then_promotion(facts: &Facts<'_>) -> Option<String> {
    let why = why_together("F2");
    match mode_of(facts) {
        _ if facts.damon().promotes || facts.damon().spreads => None,
        Some(mode) if mode & TIERING_BIT != 0 => None,
        Some(_) if lacks_tiering_mode(facts) => Some(format!("{why} {}", says("no-tiering-mode"))),
        Some(mode) => Some(format!(
            "{why} Then promotion (`promotion-off`): {}.",
            promote(mode)
        )),
        None => Some(why.to_owned()),
    }
}

/// Slower memory in a lower tier, and nothing promotes from it.
pub(super) fn promotion_off(facts: &Facts<'_>) -> Option<Finding> {
    let Lower::Slower(nodes) = facts.order.lower() else {
        return None;
    };
    if facts.damon().promotes || facts.damon().spreads {
        return None;
    }
    let mut confidence = certainty(facts, &nodes);
    if cannot_promote(facts) {
        let fix = format!(
            "Use a kernel with CONFIG_NUMA_BALANCING, or promote by DAMON. Until then keep demotion off. {}",
            says("no-balancing")
        );
        return Some(finding(
            "promotion-off",
            "warning",
            confidence,
            NO_BALANCING,
            &fix,
        ));
    }
    let mode = mode_of(facts)?;
    if mode & TIERING_BIT != 0 {
        return None;
    }
    let cause = format!(
        "there is a slower memory tier, and kernel.numa_balancing is {mode}, without the tiering bit 2: hot pages stay there"
    );
    if lacks_tiering_mode(facts) {
        let fix = format!("{} Use a later one.", says("no-tiering-mode"));
        return Some(finding("promotion-off", "warning", confidence, cause, &fix));
    }
    let mut fix = before_promotion(facts);
    if !fix.is_empty() {
        confidence = LIKELY;
    }
    if demotes(facts) == Some(false) && !facts.damon().demotes {
        fix.push(format!(
            "{} Demotion first (`demotion-off` says how, and what it risks).",
            why_together("F1")
        ));
    }
    fix.push(format!("{}.", promote(mode)));
    let sockets = facts
        .inventory
        .nodes
        .iter()
        .filter(|node| !node.cpulist.is_empty());
    if mode & CLASSIC_BIT == 0 && sockets.count() > 1 {
        fix.push(says("classic-balancing").to_owned());
    }
    Some(finding(
        "promotion-off",
        "warning",
        confidence,
        cause,
        &fix.join(" "),
    ))
}

/// The tiering mode where all memory is in the tier of the processors, which the scanner then walks and skips (commit
/// a1a3a2fc304d, 5.18).
pub(super) fn mode_without_tier(facts: &Facts<'_>) -> Option<Finding> {
    let mode = mode_of(facts)?;
    let is_alone = facts.order.tiers == TierOrder::Kernel
        && !facts.has_lower_tier()
        && facts.order.slower.is_empty()
        && facts.promotion_nodes() > 1;
    (is_alone && mode & TIERING_BIT != 0 && mode & CLASSIC_BIT == 0).then(|| {
        let cause = format!(
            "kernel.numa_balancing is {mode}, and no slower memory is online: the scanner passes over all memory, and nothing moves \
             between the {} nodes with processors either",
            facts.promotion_nodes()
        );
        let fix = "Nothing, if slower memory comes online later. Else `sysctl kernel.numa_balancing=1` to balance between these nodes, \
                   or 0 to leave memory where it is.";
        finding("tiering-mode-without-tier", "info", CERTAIN, cause, fix)
    })
}

/// What to ask, and what promotion does harm to here; nothing where nothing shows.
fn before_promotion(facts: &Facts<'_>) -> Vec<String> {
    let hazards = [
        ("isolated-cpus", facts.isolates_cpus()),
        ("ksm", facts.knob(KSM_RUN) == Some("1")),
        ("gpu-driver", !facts.gpu_drivers.is_empty()),
        (
            "no-promotion-limit",
            facts.knob(RATE_LIMIT).is_none() && exists_here(facts, "no-promotion-limit"),
        ),
        (
            "large-folios",
            facts.uses_large_folios() && exists_here(facts, "large-folios"),
        ),
    ];
    let there = hazards.into_iter().filter(|(_, is_there)| *is_there);
    let asked = other_mover(facts).into_iter().chain(unseen(facts));
    asked
        .chain(there.map(|(hazard, _)| says(hazard).to_owned()))
        .collect()
}

/// Whether the kernel of this host has a hazard, as far as its release tells.
fn exists_here(facts: &Facts<'_>, hazard: &str) -> bool {
    let release = &facts.inventory.kernel_release;
    advice::hazard(hazard).is_some_and(|hazard| hazard.exists_on(release) == Some(true))
}

/// Whether `kernel.numa_balancing` takes 0 and 1 alone. A kernel that has the limit or the tiers of later ones has the mode,
/// and RHEL 9 has it under an older number, not from its first release on.
fn lacks_tiering_mode(facts: &Facts<'_>) -> bool {
    exists_here(facts, "no-tiering-mode")
        && !facts.inventory.kernel_release.contains(".el9")
        && facts.knob(RATE_LIMIT).is_none()
        && facts.order.tiers != TierOrder::Kernel
}

/// What to ask first where something else moves pages already; nothing where nothing shows it.
fn other_mover(facts: &Facts<'_>) -> Option<String> {
    let moves = super::counting::other_moves(facts)?;
    Some(format!(
        "First ask whether something else tiers here (`user-space-mover`): {moves}."
    ))
}

/// What to ask first where nobody saw what services are bound to.
fn unseen(facts: &Facts<'_>) -> Option<String> {
    let (what, hazards) = match (facts.sees.processes, facts.sees.policies) {
        (true, true) => return None,
        (true, false) => ("memory policies of services were read", &["membind"][..]),
        (false, _) => ("processes are listed", &["strict-cpuset", "membind"][..]),
    };
    let risks: Vec<&str> = hazards.iter().map(|hazard| says(hazard)).collect();
    Some(format!(
        "First ask what services are bound to: no {what} here. {}",
        risks.join(" ")
    ))
}

/// What to set the promotion limit to, which each node of DRAM has for itself.
pub(super) fn set_limit(facts: &Facts<'_>, else_mib_per_s: &str) -> String {
    let whole = format!(
        "Set kernel.numa_balancing_promote_rate_limit_MBps to about a tenth of the slow tier's write bandwidth, {else_mib_per_s}"
    );
    match facts.promotion_nodes() {
        0 | 1 => format!("{whole}."),
        nodes => format!("{whole}, divided by {nodes}. {}", says("several-dram-nodes")),
    }
}

/// A limit that lets nothing pass.
pub(super) fn rate_limit_zero(facts: &Facts<'_>) -> Option<Finding> {
    let promotes = mode_of(facts)? & TIERING_BIT != 0;
    (promotes && facts.knob(RATE_LIMIT)? == "0" && facts.may_tier()).then(|| {
        let cause = "the promotion limit is 0 MiB/s: the kernel looks for hot pages and promotes none of them once DRAM is nearly full";
        finding("promotion-limit-zero", "warning", CERTAIN, cause, &set_limit(facts, "200 where that is not known"))
    })
}

/// Swappiness up to which reclaim, and so demotion, leaves anonymous memory alone; the service has the same limit.
const FILE_ONLY: u32 = 1;

/// A swappiness at which reclaim takes file pages alone, so that anonymous ones are not demoted either.
pub(super) fn keeps_anon(facts: &Facts<'_>) -> Option<Finding> {
    let swappiness: u32 = facts.knob("/proc/sys/vm/swappiness")?.parse().ok()?;
    let has_room = slower_has_room(facts, &facts.order.demoted_to) != Some(false);
    (swappiness <= FILE_ONLY && demotes(facts) == Some(true) && facts.may_tier() && has_room).then(|| {
        let cause = format!(
            "vm.swappiness is {swappiness} with demotion on: it also decides what is demoted, and anonymous memory hardly ever is"
        );
        let mut fix = "`sysctl vm.swappiness=60`, if cold anonymous memory is to leave DRAM for the slower tier.".to_owned();
        if matches!(facts.inventory.cgroup_version.as_str(), "v1" | "hybrid") {
            fix = format!("{fix} {}", says("group-swappiness"));
        }
        finding("swappiness-keeps-anon", "info", LIKELY, cause, &fix)
    })
}

/// Demotion is on, and nothing keeps it from hanging the host.
pub(super) fn demotion_hangs(facts: &Facts<'_>) -> Option<Finding> {
    let is_on = facts.has_lower_tier() && demotes(facts) == Some(true);
    let state = hazards::hangs(facts.inventory, facts.swap_has_room());
    let is_there =
        facts.swap_has_room() == Some(false) && hazards::multi_generational(facts.inventory) == Some(true);
    if !is_on || !is_there || state == Some(false) {
        return None;
    }
    let severity = if state == Some(true) { "warning" } else { "info" };
    let fix = format!("{}, or add swap.", protect());
    Some(finding(
        "mglru-no-swap",
        severity,
        LIKELY,
        hang_text(facts, state),
        &fix,
    ))
}

/// A setting that kills programs instead of reclaiming what they need, and that keeps demotion from hanging the host.
pub(super) fn min_ttl(facts: &Facts<'_>) -> Option<Finding> {
    let min_ttl_ms: u64 = facts.knob(MIN_TTL)?.parse().ok()?;
    let inventory = facts.inventory;
    if min_ttl_ms == 0
        || (facts.knob(hazards::LRU_GEN).is_some() && hazards::multi_generational(inventory) == Some(false))
    {
        return None;
    }
    let mut cause = format!(
        "lru_gen/min_ttl_ms is {min_ttl_ms}: the kernel kills a program when it would have to reclaim memory used within that time"
    );
    let demotes_or_should = facts.has_lower_tier() && (demotes(facts) != Some(false) || facts.may_tier());
    // Swap that has room today may be full tomorrow.
    let would_hang = hazards::hangs_unprotected(inventory, facts.swap_has_room().map(|_| false));
    let fix = if demotes_or_should && would_hang != Some(false) {
        cause.push_str(". It also protects from a hang");
        let state = hazards::hangs_unprotected(inventory, facts.swap_has_room());
        let here = match state {
            Some(false) => format!("{} Swap has room here for now.", says("mglru-no-swap")),
            _ => hang_text(facts, state),
        };
        format!("Leave it as it is. {here}")
    } else {
        format!("`echo 0 > {MIN_TTL}` on servers; it protects from nothing here.")
    };
    Some(finding("mglru-min-ttl", "info", CERTAIN, cause, &fix))
}

/// GPUs that work on memory of programs, which NUMA balancing makes wait.
pub(super) fn gpu_driver(facts: &Facts<'_>) -> Option<Finding> {
    (facts.may_tier() && !facts.gpu_drivers.is_empty()).then(|| {
        let cause = format!(
            "GPUs here are driven by {}, which follows the mappings of programs",
            facts.gpu_drivers.join(", ")
        );
        let fix = format!(
            "Nothing, if no program here uses a GPU. Else measure it with kernel.numa_balancing on and off. {}",
            says("gpu-driver")
        );
        finding("gpu-driver", "info", LIKELY, cause, &fix)
    })
}

/// How these services get the nodes that they may not use.
fn allow_nodes(facts: &Facts<'_>, services: &[&str]) -> String {
    let (pods, units): (Vec<&str>, Vec<&str>) = services
        .iter()
        .copied()
        .partition(|service| facts.in_pods.contains(*service));
    let of_units = "add the node to cpuset.mems (AllowedMemoryNodes= of the unit).";
    let of_pods = "The kubelet writes cpuset.mems of pods again: its Memory Manager with policy Static gives guaranteed pods as few nodes \
                   as hold their request. They get the node by policy None, or as pods of another class.";
    match (units.is_empty(), pods.is_empty()) {
        (false, true) => of_units.to_owned(),
        (true, _) => format!("leave it to the kubelet. {of_pods}"),
        (false, false) => format!("{of_units} {of_pods}"),
    }
}

/// Services whose cpuset bars nodes of the lower tiers.
pub(super) fn barred(facts: &Facts<'_>) -> Option<Finding> {
    let services = facts.barred_services();
    (!services.is_empty()).then(|| {
        let nodes = numbers(&facts.order.demoted_to);
        let cause = format!(
            "cpusets keep services away from the slower node {nodes}: {}",
            named(&services)
        );
        let leaves = demotes(facts) == Some(true) && !hazards::heeds_cpusets(facts.inventory);
        let fix = if leaves {
            let since = hazards::heeds_cpusets_since(facts.inventory);
            format!(
                "Demotion is on. Where these services must keep to their nodes, turn it off (`echo 0 > \
                 /sys/kernel/mm/numa/demotion_enabled`), or use cgroup v2 on Linux {since} or later."
            )
        } else {
            "Nothing, if latency demands it.".to_owned()
        };
        let severity = if leaves { "warning" } else { "info" };
        let fix = format!(
            "{fix} Else {} {}",
            allow_nodes(facts, &services),
            says("strict-cpuset")
        );
        finding("cpuset-bars-slow-tier", severity, CERTAIN, cause, &fix)
    })
}

/// Services that a memory policy binds to other nodes than those of the lower tiers.
pub(super) fn bound(facts: &Facts<'_>) -> Option<Finding> {
    let services = facts.bound_services();
    (!services.is_empty()).then(|| {
        let nodes = numbers(&facts.order.demoted_to);
        let cause = format!(
            "memory policies bind services to nodes without the slower node {nodes}: {}",
            named(&services)
        );
        let severity = if demotes(facts) == Some(true) {
            "warning"
        } else {
            "info"
        };
        let fix = format!(
            "{} Use cpuset.mems (AllowedMemoryNodes=) where it has to hold.",
            says("membind")
        );
        finding("membind", severity, LIKELY, cause, &fix)
    })
}

/// Services whose memory NUMA balancing passes over, so that what lies on the slower tier stays there.
pub(super) fn passed_over(facts: &Facts<'_>) -> Option<Finding> {
    let bound = facts.bound_services();
    let others: Vec<String> = facts
        .passed_over
        .iter()
        .filter(|(service, _)| !bound.contains(&service.as_str()))
        .map(|(service, policy)| format!("{service} ({policy})"))
        .collect();
    (facts.may_tier() && !others.is_empty()).then(|| {
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let cause = format!(
            "memory policies keep NUMA balancing from the memory of services: {}",
            named(&others)
        );
        let fix = format!(
            "Nothing, if they are placed on purpose. To have their hot pages promoted, run them without a policy. {}",
            says("membind")
        );
        finding("policy-passed-over", "info", LIKELY, cause, &fix)
    })
}

/// Reclaim of the own node before another one is used: harm only where something shows it.
pub(super) fn zone_reclaim(facts: &Facts<'_>) -> Option<Finding> {
    let mode: u32 = facts.knob("/proc/sys/vm/zone_reclaim_mode")?.parse().ok()?;
    if mode == 0 {
        return None;
    }
    let mut cause = format!(
        "vm.zone_reclaim_mode is {mode}: allocations reclaim their own node before they use another one, tiers included"
    );
    let signs = harm_of_local_reclaim(facts);
    let (severity, fix) = if signs.is_empty() {
        let fix = format!("Nothing. {}", says("no-sign-of-harm"));
        ("info", fix)
    } else {
        cause = format!("{cause}. Since boot: {}", signs.join(", "));
        let fix =
            "`sysctl vm.zone_reclaim_mode=0` unless jobs are bound to nodes and measured to gain from it.";
        (
            if facts.has_lower_tier() { "warning" } else { "info" },
            fix.to_owned(),
        )
    };
    Some(finding("zone-reclaim", severity, LIKELY, cause, &fix))
}

/// What shows that reclaim of the own node costs something; empty where nothing does.
fn harm_of_local_reclaim(facts: &Facts<'_>) -> Vec<String> {
    let sum_of = |prefix: &str| -> i64 {
        let named = facts.vmstat.iter().filter(|(name, _)| name.starts_with(prefix));
        named.map(|(_, value)| *value).fold(0, i64::saturating_add)
    };
    let in_vain = facts.counter("zone_reclaim_failed").unwrap_or(0);
    let in_vain = if in_vain > facts.counter("zone_reclaim_success").unwrap_or(0) {
        in_vain
    } else {
        0
    };
    let mut signs = vec![
        ("allocations stalled", sum_of("allocstall")),
        ("reclaims of the own node in vain", in_vain),
    ];
    if demotes(facts) == Some(false) {
        signs.push(("pages swapped out", facts.counter("pswpout").unwrap_or(0)));
        signs.push(("refaults", sum_of("workingset_refault")));
    }
    let above = signs.into_iter().filter(|(_, count)| *count > NOISE_EVENTS);
    above.map(|(name, count)| format!("{count} {name}")).collect()
}

/// The kernel gave up reclaiming on a node, with the cause that fits what is there.
pub(super) fn given_up(facts: &Facts<'_>) -> Option<Finding> {
    let nodes = &facts.given_up_nodes;
    let first = nodes.first()?;
    let again = reclaim_by_hand(facts, *first);
    let mut reasons = Vec::new();
    let mut steps = Vec::new();
    let pinned = unmovable_percent(facts, nodes);
    if pinned.is_some_and(|percent| percent >= PINNED_PERCENT) {
        reasons.push(format!(
            "{} % of it is locked, pinned or reserved as huge pages",
            pinned.unwrap_or(0)
        ));
        steps.push("free pinned or locked memory, or huge pages, on the node".to_owned());
    }
    let has_room = facts.swap_has_room();
    if has_room == Some(false) {
        let swap = if facts.inventory.swaps.is_empty() {
            "there is no swap"
        } else {
            "swap is full"
        };
        reasons.push(format!("{swap}, so anonymous memory cannot be swapped"));
        steps.extend(without_swap(facts, &mut reasons));
    }
    let why = if reasons.is_empty() {
        "Nothing that was read says why.".to_owned()
    } else {
        format!("What fits: {}.", reasons.join("; "))
    };
    if steps.is_empty() {
        steps.push("look for locked or pinned memory and huge pages there (`doctor` as root), and for programs that take all memory".to_owned());
    }
    let cause = format!(
        "kswapd gave up on node {}: it neither reclaims nor demotes there. {why}",
        numbers(nodes)
    );
    // What is advised is no surer than the finding that it leads to.
    let led_to = steps.iter().any(|step| step == DEMOTE_FIRST);
    let is_sure = !led_to || demotion_off(facts).is_some_and(|off| off.confidence == CERTAIN);
    if !led_to || !demotion_wakes(facts) {
        steps.push(again);
    }
    let mut fix = format!("{}.", steps.join("; "));
    if let Some(letter) = fix.get_mut(0..1) {
        letter.make_ascii_uppercase();
    }
    let confidence = if is_sure { CERTAIN } else { LIKELY };
    Some(finding("kswapd-gave-up", "critical", confidence, cause, &fix))
}

/// Whether kswapd that gave up wakes when demotion is switched on.
fn demotion_wakes(facts: &Facts<'_>) -> bool {
    let release = &facts.inventory.kernel_release;
    advice::hazard("kswapd-gave-up").is_some_and(|hazard| hazard.exists_on(release) == Some(false))
}

/// What wakes kswapd on a node: a reclaim that gets somewhere, and since [`WAKES_WHEN_BALANCED`] one that balances the node.
fn reclaim_by_hand(facts: &Facts<'_>, node: u32) -> String {
    let how = if advice::precedes(&facts.inventory.kernel_release, WAKES_WHEN_BALANCED) == Some(false) {
        format!(
            "by hand until free memory of node {node} is over its high watermark, which alone wakes kswapd"
        )
    } else {
        "once by hand".to_owned()
    };
    format!(
        "then reclaim {how}: `echo 64M > /sys/fs/cgroup/memory.reclaim` (cgroup v2), or \
         `echo 64M > /sys/devices/system/node/node{node}/reclaim` where that file exists"
    )
}

/// What helps where swap takes nothing, with why nothing is demoted.
fn without_swap(facts: &Facts<'_>, reasons: &mut Vec<String>) -> Option<String> {
    const SWAP: &str = "add swap or zram, or commit less memory to the host";
    let Lower::Slower(lower) = facts.order.lower() else {
        return Some(SWAP.to_owned());
    };
    let has_room = slower_has_room(facts, &lower);
    if has_room == Some(false) {
        reasons.push(format!("the slower node {} is full", numbers(&lower)));
        return Some(SWAP.to_owned());
    }
    if demotes(facts) == Some(false) {
        let room = if has_room.is_some() {
            "with room"
        } else {
            "of which the free memory is not known"
        };
        reasons.push(format!(
            "demotion is off, beside the slower node {} {room}",
            numbers(&lower)
        ));
        return Some(DEMOTE_FIRST.to_owned());
    }
    (demotes(facts).is_none()).then(|| SWAP.to_owned())
}

/// Whether the slower nodes have room; `None` where their free memory or size is not known.
fn slower_has_room(facts: &Facts<'_>, nodes: &[u32]) -> Option<bool> {
    let page_bytes = Some(i64::from(facts.inventory.page_size_bytes)).filter(|bytes| *bytes > 0)?;
    let mut room = false;
    for id in nodes {
        let free_bytes = facts.free_pages.get(id)?.saturating_mul(page_bytes);
        let size_bytes = facts.inventory.node(*id)?.memory_bytes?;
        room |= free_bytes > size_bytes / 100 * ROOM_PERCENT;
    }
    Some(room)
}
