//! The rules of `doctor`. Each looks at the facts and gives at most one finding.

mod counting;
mod files;
mod finding;
mod hardware;
mod memory;
mod tiering;

use tierscope_sample::inventory::{Finding, SwapDevice};

use super::Facts;
use super::facts::{CONTROL_GROUPS, PRESSURE, Pressure};
use super::hazards::{LRU_GEN, is_zram, multi_generational};
use crate::inventory::container_view;
use finding::{
    BALANCING, CERTAIN, DEMOTION, LIKELY, RATE_LIMIT, RATE_LIMIT_OFF, SCAN_PERIOD, SYS_PTRACE, TIERING_BIT,
    finding,
};

type Rule = fn(&Facts<'_>) -> Option<Finding>;

const RULES: &[Rule] = &[
    tiering::given_up,
    memory::container_view,
    files::not_understood,
    files::above_memory,
    files::below_zero,
    hardware::degraded_link,
    hardware::link_errors,
    hardware::offline_memory,
    hardware::standby_memory,
    hardware::idle_memory,
    hardware::unmovable,
    counting::uncounted_demotion,
    counting::two_promoters,
    counting::hot_pages_in_a_circle,
    memory::mixed_node,
    memory::faster_below,
    memory::gpu_memory,
    memory::cpuless_in_top_tier,
    tiering::demotion_off,
    tiering::promotion_off,
    tiering::mode_without_tier,
    memory::lower_not_known,
    memory::faster_above,
    cgroup_v1,
    numa_stat_off,
    swap_over_half,
    tiering::demotion_hangs,
    tiering::zone_reclaim,
    rate_limit_off,
    tiering::rate_limit_zero,
    tiering::keeps_anon,
    memory::no_lower_tier,
    memory::memory_side_cache,
    memory::large_slow_tier,
    memory::zswap_placement,
    no_swap,
    no_pressure,
    huge_pages,
    generations,
    hardware::slow_slot,
    hardware::rotational_swap,
    hardware::persistent_only,
    tiering::gpu_driver,
    tiering::barred,
    tiering::bound,
    tiering::passed_over,
    hardware::hotness_unit,
    counting::damon_in_use,
    counting::user_space_mover,
    counting::accessed_bits_cleared,
    counting::unseen_schemes,
    tiering::min_ttl,
    counting::guest,
    counting::ballooned,
    tpp_kernel,
    privileges,
    memory::not_in_tree,
];

/// All findings, worst first.
pub(super) fn all(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().filter_map(|rule| rule(facts)).collect();
    files::lower_certainty(facts, &mut findings);
    let rank = |severity: &str| {
        ["critical", "warning", "info"]
            .iter()
            .position(|name| *name == severity)
    };
    findings.sort_by_key(|finding| rank(&finding.severity));
    findings
}

fn cgroup_v1(facts: &Facts<'_>) -> Option<Finding> {
    let (cause, fix) = match facts.inventory.cgroup_version.as_str() {
        "v1" | "hybrid" => (
            "memory control groups are version 1, which counts no tier moves: none can be attributed to services",
            "Boot with `systemd.unified_cgroup_hierarchy=1`.",
        ),
        "none" if !facts.lacks.contains(&CONTROL_GROUPS) => (
            "no memory control groups are mounted: nothing can be attributed to services by them",
            "Mount cgroup2 at /sys/fs/cgroup, or run a systemd that does.",
        ),
        _ => return memory_controller_off(facts),
    };
    Some(finding("no-cgroup-v2", "warning", CERTAIN, cause, fix))
}

fn memory_controller_off(facts: &Facts<'_>) -> Option<Finding> {
    facts.memory_controller_is_off.then(|| {
        let cause = "the memory controller of control groups is off: nothing can be attributed to services by them";
        let fix = "Boot without `cgroup_disable=memory` (kernels of Raspberry Pi add it by themselves: `cgroup_enable=memory`). In a \
                   container, run the agent on the host, or hand the controller on (`Delegate=memory`).";
        finding("no-memory-controller", "warning", CERTAIN, cause, fix)
    })
}

fn numa_stat_off(facts: &Facts<'_>) -> Option<Finding> {
    (facts.knob("/proc/sys/vm/numa_stat")? == "0").then(|| {
        let cause = "vm.numa_stat is 0: the kernel has zeroed numa_hit, numa_miss and their kin and counts them no more";
        finding("numa-stat-off", "warning", CERTAIN, cause, "`sysctl vm.numa_stat=1`; allocation spill is invisible without it.")
    })
}

/// Swap over the kernel's cut-off (`vm_swap_full`), which counts all areas; zram keeps no copy of a page that came back.
fn swap_over_half(facts: &Facts<'_>) -> Option<Finding> {
    let used_percent = |areas: &[&SwapDevice]| {
        let add = |sum: i64, bytes: i64| sum.saturating_add(bytes);
        let size_bytes = areas.iter().map(|swap| swap.size_bytes).fold(0, add);
        let used_bytes = areas.iter().map(|swap| swap.used_bytes).fold(0, add);
        (size_bytes > 0 && used_bytes > size_bytes / 2).then(|| used_bytes.saturating_mul(100) / size_bytes)
    };
    let areas: Vec<&SwapDevice> = facts.inventory.swaps.iter().collect();
    let devices: Vec<&SwapDevice> = areas.iter().copied().filter(|swap| !is_zram(swap)).collect();
    let (_, percent) = used_percent(&areas).zip(used_percent(&devices))?;
    let cause = format!(
        "{percent} % of swap is used: above half the kernel frees a slot at every swap-in, and writes the page again later"
    );
    let fix = "Add swap space, or commit less memory to the host.";
    Some(finding("swap-over-half", "warning", CERTAIN, cause, fix))
}

fn rate_limit_off(facts: &Facts<'_>) -> Option<Finding> {
    let mode: u32 = facts.knob(BALANCING)?.parse().ok()?;
    let limit_mib_per_s: u64 = facts.knob(RATE_LIMIT)?.parse().ok()?;
    (mode & TIERING_BIT != 0 && limit_mib_per_s >= RATE_LIMIT_OFF && facts.may_tier()).then(|| {
        let cause = format!(
            "the promotion limit is {limit_mib_per_s} MiB/s, which is no limit: the kernel tunes its threshold of hotness by \
             it, so nearly every touched page counts as hot"
        );
        let fix = tiering::set_limit(facts, "200 to 1000 for CXL");
        finding("promotion-limit-off", "info", LIKELY, cause, &fix)
    })
}

fn no_swap(facts: &Facts<'_>) -> Option<Finding> {
    let demotes = facts
        .knob(DEMOTION)
        .is_some_and(|value| matches!(value, "true" | "1"))
        && facts.has_lower_tier();
    let is_none = facts.swap_has_room().is_some() && facts.inventory.swaps.is_empty();
    (is_none && !demotes && facts.moved_pages() == 0).then(|| {
        let cause = "there is no swap, and nothing is demoted: anonymous memory cannot leave DRAM";
        let fix = "Nothing, if that is intended. Else add swap or zram, or a slower tier with demotion.";
        finding("no-swap", "info", CERTAIN, cause, fix)
    })
}

fn no_pressure(facts: &Facts<'_>) -> Option<Finding> {
    // A program that makes a kernel's files up stalls nowhere.
    if facts.lacks.contains(&PRESSURE) || container_view::sandbox(&facts.inventory.kernel_version).is_some() {
        return None;
    }
    let (confidence, cause) = match facts.pressure {
        Pressure::Given => return None,
        Pressure::Absent => (CERTAIN, "the kernel gives no pressure stall information"),
        Pressure::Refused => (
            CERTAIN,
            "the kernel has pressure stall information, and it was off at boot: its files cannot be read",
        ),
        Pressure::Empty => (
            LIKELY,
            "/proc/pressure/memory has no text here, as where pressure stall information was off at boot",
        ),
    };
    let fix = "Boot with `psi=1`, on a kernel built with CONFIG_PSI.";
    Some(finding("no-pressure", "info", confidence, cause, fix))
}

fn huge_pages(facts: &Facts<'_>) -> Option<Finding> {
    let mode = facts.knob("/sys/kernel/mm/transparent_hugepage/enabled")?;
    (mode == "always" && facts.may_tier()).then(|| {
        let cause = "transparent huge pages are `always`: a page of 2 MiB moves whole, so one hot 4 KiB keeps 2 MiB in DRAM";
        let fix = "If the heat map shows few hot parts in hot huge pages and DRAM is short, try `madvise`.";
        finding("huge-pages-always", "info", LIKELY, cause, fix)
    })
}

fn generations(facts: &Facts<'_>) -> Option<Finding> {
    facts.knob(LRU_GEN)?;
    let enabled = multi_generational(facts.inventory)?;
    let cause = if enabled {
        "multi-generational LRU is on: active and inactive lists swap places when a generation ages; only their sum is stable"
    } else {
        "multi-generational LRU is built in and off: the classic lists are in use"
    };
    let fix =
        "Nothing to do. Compare activation and restore counters only between hosts with the same choice.";
    Some(finding(
        if enabled { "mglru-on" } else { "mglru-off" },
        "info",
        CERTAIN,
        cause,
        fix,
    ))
}

fn tpp_kernel(facts: &Facts<'_>) -> Option<Finding> {
    (facts.inventory.dialect == "tpp").then(|| {
        let cause = "the kernel carries the TPP patches: pgpromote_candidate counts decisions there, and counters have no node view";
        finding("tpp-kernel", "info", CERTAIN, cause, "Nothing to do; the ledger of tier moves knows this dialect.")
    })
}

/// What root, or single capabilities, would add on the running host.
fn privileges(facts: &Facts<'_>) -> Option<Finding> {
    let can_look = facts.capabilities.is_some_and(|mask| mask & SYS_PTRACE != 0);
    let debugfs = facts.knob(SCAN_PERIOD).is_some();
    if !facts.live || (can_look && (debugfs || facts.inventory.running_as_uid == 0)) {
        return None;
    }
    let mut lost = Vec::new();
    if !can_look {
        lost.push("memory by node, and heat, of other users' processes (CAP_SYS_PTRACE)");
    }
    if !debugfs {
        lost.push("the settings of the NUMA scanner in /sys/kernel/debug (root)");
    }
    let cause = format!(
        "the agent runs as uid {} with limited rights: all counters are read; what is not: {}",
        facts.inventory.running_as_uid,
        lost.join("; ")
    );
    Some(finding(
        "limited-rights",
        "info",
        CERTAIN,
        cause,
        "Run the agent as root, or grant it these rights, if you want them.",
    ))
}

#[cfg(test)]
mod tests;
