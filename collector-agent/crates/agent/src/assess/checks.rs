//! What a host needs for tiering, one named check each.

use serde::Serialize;

use tierscope_sample::page_size;

use super::memory::Memory;
use super::observed::Host;
use crate::doctor::{self, Tiering};
use crate::inventory::memory_order::{Lower, TierOrder};
use crate::inventory::noun;

/// What tells more than files of a host do.
const ASK_THE_HOST: &str =
    "Run `tierscope-agent once --json` on the host, or take a field kit there (`tierscope-agent fieldkit`).";

/// The check whose failure is a state of its own.
pub(super) const DEMOTION_IS_SAFE: &str = "demotion_is_safe";
/// Active memory is at most this share of DRAM.
const ACTIVE_RATIO: f64 = 0.5;
/// Tasks wait for memory for a larger share of the time: the limit of the shipped alert `memory-pressure-high`.
const PRESSURE_RATIO: f64 = 0.10;
/// Of the pages that reclaim takes, a larger share is missed again: memory is short, not idle.
const REFAULT_RATIO: f64 = 0.50;
/// Less reclaimed memory says nothing.
const MIN_RECLAIMED_BYTES: i64 = 40_000_000;

const REFAULTS: [&str; 3] = [
    "workingset_refault_anon",
    "workingset_refault_file",
    "workingset_refault",
];
const RECLAIMED: [&str; 4] = [
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgsteal_khugepaged",
    "pgsteal_proactive",
];

const DEMOTED: [&str; 4] = [
    "pgdemote_kswapd",
    "pgdemote_direct",
    "pgdemote_khugepaged",
    "pgdemote_proactive",
];

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Pass,
    Fail,
    NotKnown,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Check {
    pub(super) id: &'static str,
    pub(super) outcome: Outcome,
    /// What was found, in words.
    pub(super) detail: String,
    /// What to do; empty where it passed.
    pub(super) next_step: String,
    /// Where the limit comes from.
    pub(super) source: &'static str,
    /// The share that was judged, and its limit; `None` where the check judges no share.
    pub(super) ratio: Option<[f64; 2]>,
    pub(super) limit_ratio: Option<f64>,
}

/// All checks, in the order in which they are mended. Without sizes of memory nothing is said of them.
pub(super) fn all(host: &Host, tiering: &Tiering, memory: Option<&Memory>) -> Vec<Check> {
    let mut checks = vec![tiers_known(host), slower_tier(host, tiering)];
    if tiering.lower != Lower::Nothing {
        checks.extend(demotion_is_safe(host, tiering));
        checks.extend([demotion(host, tiering), promotion(host, tiering)]);
    }
    checks.extend(memory_online(host));
    checks.extend(memory.map(active_memory));
    checks.extend([pressure(host), refaults(host)]);
    checks.extend(critical(host));
    checks
}

fn check(id: &'static str, outcome: Outcome, detail: String, next_step: &str, source: &'static str) -> Check {
    let next_step = if outcome == Outcome::Pass { "" } else { next_step };
    Check {
        id,
        outcome,
        detail,
        next_step: next_step.to_owned(),
        source,
        ratio: None,
        limit_ratio: None,
    }
}

/// What `doctor` found under an id: cause and fix.
fn found<'a>(host: &'a Host, id: &str) -> Option<(&'a str, &'a str)> {
    let findings = &host.last().inventory.findings;
    let finding = findings.iter().find(|finding| finding.id == id)?;
    Some((&finding.cause, &finding.fix))
}

fn tiers_known(host: &Host) -> Check {
    const SOURCE: &str = "Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers";
    let inventory = &host.last().inventory;
    let kernel = match inventory.kernel_release.as_str() {
        "" => "the kernel".to_owned(),
        release => format!("kernel {release}"),
    };
    let noun = noun(&inventory.tree);
    let (outcome, detail) = match TierOrder::of(inventory) {
        TierOrder::Kernel => (Outcome::Pass, format!("{kernel} knows memory tiers")),
        TierOrder::Derived => (
            Outcome::Pass,
            format!("{kernel} tiers; this {noun} shows no order of its tiers"),
        ),
        TierOrder::Absent => (Outcome::Fail, format!("{kernel} shows no memory tiers")),
        TierOrder::NotInTree => (
            Outcome::NotKnown,
            format!("the memory tiers of {kernel} are not in this {noun}"),
        ),
    };
    let next = match outcome {
        Outcome::NotKnown => ASK_THE_HOST,
        _ => "Use Linux 6.1 or later with CONFIG_NUMA and CONFIG_MIGRATION.",
    };
    check("kernel_knows_tiers", outcome, detail, next, SOURCE)
}

fn slower_tier(host: &Host, tiering: &Tiering) -> Check {
    const SOURCE: &str = "mm/memory-tiers.c: demotion goes to a lower tier alone";
    const ID: &str = "slower_tier";
    let of_finding = |outcome: Outcome, id: &str| {
        let (cause, fix) = found(host, id)?;
        Some(check(ID, outcome, cause.to_owned(), fix, SOURCE))
    };
    let told = match tiering.lower {
        Lower::Faster(_) => of_finding(Outcome::Fail, "faster-memory-below-dram"),
        Lower::Gpu(_) => of_finding(Outcome::Fail, "gpu-memory-node"),
        Lower::NotKnown(_) => of_finding(Outcome::NotKnown, "lower-tier-not-known"),
        Lower::Slower(_) => of_finding(Outcome::Fail, "cpuless-node-in-top-tier"),
        Lower::Nothing => of_finding(Outcome::Fail, "cpuless-node-in-top-tier")
            .or_else(|| of_finding(Outcome::Fail, "mixed-node")),
    };
    if let Some(told) = told {
        return told;
    }
    let outcome = match (tiering.state, &tiering.lower) {
        ("unknown", Lower::Nothing) | (_, Lower::NotKnown(_)) => Outcome::NotKnown,
        (_, Lower::Slower(_)) => Outcome::Pass,
        _ => Outcome::Fail,
    };
    let next = match outcome {
        Outcome::NotKnown => ASK_THE_HOST,
        _ => {
            "Bring slower memory online (CXL, persistent memory); `daxctl reconfigure-device --mode=system-ram`."
        }
    };
    check(ID, outcome, tiering.reasons[0].clone(), next, SOURCE)
}

fn demotion(host: &Host, tiering: &Tiering) -> Check {
    let (outcome, next) = setting(host, tiering, tiering.demotes, "demotion-off");
    let source = "Documentation/ABI/testing/sysfs-kernel-mm-numa";
    check("demotion_on", outcome, reason(tiering, "demotion"), next, source)
}

/// What makes demotion do harm on this host; nothing where nothing does. A lower tier that is not slower has checks of its own.
fn demotion_is_safe(host: &Host, tiering: &Tiering) -> Option<Check> {
    let inventory = &host.last().inventory;
    if !matches!(tiering.lower, Lower::Slower(_) | Lower::NotKnown(_)) {
        return None;
    }
    let barring = found(host, "cpuset-bars-slow-tier").filter(|_| !doctor::heeds_cpusets(inventory));
    let hang = inventory
        .findings
        .iter()
        .find(|finding| finding.id == "mglru-no-swap");
    let (outcome, cause, fix, source) = match (barring, hang) {
        (Some((cause, fix)), _) => (
            Outcome::Fail,
            cause,
            format!("{cause}. {fix}"),
            "Documentation/ABI/testing/sysfs-kernel-mm-numa",
        ),
        (None, Some(finding)) => (
            if finding.severity == "warning" {
                Outcome::Fail
            } else {
                Outcome::NotKnown
            },
            finding.cause.as_str(),
            finding.fix.clone(),
            "lore.kernel.org/linux-mm/20251022135735.246203-1-akinobu.mita@gmail.com",
        ),
        (None, None) => return None,
    };
    Some(check(DEMOTION_IS_SAFE, outcome, cause.to_owned(), &fix, source))
}

fn promotion(host: &Host, tiering: &Tiering) -> Check {
    let (outcome, next) = setting(host, tiering, tiering.promotes, "promotion-off");
    let source = "Documentation/admin-guide/sysctl/kernel.rst, numa_balancing";
    check(
        "promotion_on",
        outcome,
        reason(tiering, "promotion"),
        next,
        source,
    )
}

/// How a setting came out, and the fix that `doctor` has for it. What lies in the lower tier decides what is right.
fn setting<'a>(host: &'a Host, tiering: &Tiering, is_on: Option<bool>, finding: &str) -> (Outcome, &'a str) {
    const NOT_THERE: &str =
        "Use a kernel that has the setting: Linux 6.1 or later, with CONFIG_NUMA_BALANCING for promotion.";
    let next = |id: &str, other: &'a str| found(host, id).map_or(other, |(_, fix)| fix);
    match (&tiering.lower, is_on) {
        (Lower::Slower(_) | Lower::Nothing, Some(true)) | (Lower::Faster(_) | Lower::Gpu(_), Some(false)) => {
            (Outcome::Pass, "")
        }
        (Lower::Faster(_), Some(true)) => (Outcome::Fail, next("faster-memory-below-dram", "")),
        (Lower::Gpu(_), Some(true)) => (Outcome::Fail, next("gpu-memory-node", "")),
        (Lower::NotKnown(_), Some(_)) => (Outcome::NotKnown, next("lower-tier-not-known", "")),
        (_, Some(false)) if found(host, "user-space-mover").is_some() => {
            (Outcome::NotKnown, next("user-space-mover", ""))
        }
        (_, Some(false)) => (Outcome::Fail, next(finding, next("promotion-off", NOT_THERE))),
        (_, None) if host.last().inventory.tree.is_empty() => (Outcome::NotKnown, NOT_THERE),
        (_, None) => (Outcome::NotKnown, ASK_THE_HOST),
    }
}

/// Memory of devices that is offline; nothing where `doctor` found none.
fn memory_online(host: &Host) -> Option<Check> {
    let (cause, fix) = found(host, "memory-offline")?;
    let source = "Documentation/admin-guide/mm/memory-hotplug.rst";
    Some(check(
        "memory_online",
        Outcome::Fail,
        cause.to_owned(),
        fix,
        source,
    ))
}

fn reason(tiering: &Tiering, direction: &str) -> String {
    let mut reasons = tiering.reasons.iter();
    reasons
        .find(|reason| reason.contains(direction))
        .cloned()
        .unwrap_or_default()
}

fn active_memory(memory: &Memory) -> Check {
    let share = |bytes: i64| bytes as f64 / memory.stock.dram_bytes.max(1) as f64;
    let ratio = [share(memory.active.interval.lo), share(memory.active.interval.hi)];
    let outcome = if ratio[1] <= ACTIVE_RATIO {
        Outcome::Pass
    } else if ratio[0] > ACTIVE_RATIO {
        Outcome::Fail
    } else {
        Outcome::NotKnown
    };
    let detail = format!(
        "active memory is between {:.0} and {:.0} % of DRAM, at most 50 % is wanted",
        100.0 * ratio[0],
        100.0 * ratio[1]
    );
    let next = match outcome {
        Outcome::NotKnown => "Measure heat: `tierscope up --heat PROGRAM` as root narrows it within minutes.",
        _ => "Give the host more DRAM or less work before a slower tier: what is active has to fit.",
    };
    Check {
        ratio: Some(ratio),
        limit_ratio: Some(ACTIVE_RATIO),
        ..check(
            "active_at_most_half_of_dram",
            outcome,
            detail,
            next,
            "VMware, NVMe Memory Tiering Design and Sizing on VMware Cloud Foundation 9, Part 1 (2025)",
        )
    }
}

/// A share against its limit; above it the check fails.
fn share(
    id: &'static str,
    ratio: f64,
    limit: f64,
    detail: String,
    next: &str,
    source: &'static str,
) -> Check {
    let outcome = if ratio > limit {
        Outcome::Fail
    } else {
        Outcome::Pass
    };
    Check {
        ratio: Some([ratio, ratio]),
        limit_ratio: Some(limit),
        ..check(id, outcome, detail, next, source)
    }
}

fn since(since_boot: bool, seconds: f64) -> String {
    if since_boot {
        "since boot".into()
    } else {
        format!("over {seconds:.0} s")
    }
}

/// Why nothing is known of how a counter grew, and what to do: the time is missing, or the counter, which a tree may lack
/// though its kernel has it.
fn not_grown<'a>(host: &Host, is_counted: bool, what: &str, next: &'a str) -> (String, &'a str) {
    let tree = &host.last().inventory.tree;
    if is_counted && !host.last().has_uptime() {
        let detail = format!(
            "how long the host was up when its {what} was read is not in this {}",
            noun(tree)
        );
        return (detail, ASK_THE_HOST);
    }
    if tree.is_empty() {
        (format!("the kernel gives no {what}"), next)
    } else {
        (format!("{what} is not in this {}", noun(tree)), ASK_THE_HOST)
    }
}

fn pressure(host: &Host) -> Check {
    const ID: &str = "little_pressure";
    const SOURCE: &str = "Documentation/accounting/psi.rst; the limit of the alert memory-pressure-high";
    let Some(waited) = host.growth("pressure.memory", &["some_total_us"]) else {
        let is_counted = host.last().value("pressure.memory", "some_total_us").is_some();
        let (detail, next) = not_grown(
            host,
            is_counted,
            "pressure stall information",
            "Boot with `psi=1`.",
        );
        return check(ID, Outcome::NotKnown, detail, next, SOURCE);
    };
    let ratio = waited.per_s() / 1e6;
    let detail = format!(
        "tasks waited for memory for {:.1} % of the time {}",
        100.0 * ratio,
        since(waited.since_boot, waited.seconds)
    );
    let demoted = host
        .growth("vmstat", &DEMOTED)
        .is_some_and(|demoted| demoted.count > 0);
    if ratio > PRESSURE_RATIO && demoted {
        let detail = format!("{detail}, but the kernel's own thread counts as waiting while it demotes");
        let next = "Look at `memory.pressure` of the services' control groups instead.";
        return check(ID, Outcome::NotKnown, detail, next, SOURCE);
    }
    let next = "Memory is short: a slower tier adds room here, it saves no DRAM.";
    share(ID, ratio, PRESSURE_RATIO, detail, next, SOURCE)
}

fn refaults(host: &Host) -> Check {
    const ID: &str = "few_refaults";
    const SOURCE: &str = "mm/workingset.c; the limit is an assumption of Tierscope";
    let grown = host
        .growth("vmstat", &RECLAIMED)
        .zip(host.growth("vmstat", &REFAULTS));
    let Some((reclaimed, refaulted)) = grown else {
        let last = host.last();
        let is_counted = last.sum("vmstat", &RECLAIMED).is_some() && last.sum("vmstat", &REFAULTS).is_some();
        let (detail, next) = not_grown(host, is_counted, "count of refaults", "Use Linux 5.9 or later.");
        return check(ID, Outcome::NotKnown, detail, next, SOURCE);
    };
    let when = since(reclaimed.since_boot, reclaimed.seconds);
    let page_bytes = match host.last().inventory.page_size_bytes {
        0 => page_size::MODEL_BYTES as i64,
        known => i64::from(known),
    };
    if reclaimed.count.saturating_mul(page_bytes) < MIN_RECLAIMED_BYTES {
        let detail = format!(
            "{} pages were reclaimed {when}: memory is not short",
            reclaimed.count
        );
        return check(ID, Outcome::Pass, detail, "", SOURCE);
    }
    let ratio = refaulted.count as f64 / reclaimed.count as f64;
    let detail = format!(
        "{} refaults of {} reclaimed pages {when}",
        refaulted.count, reclaimed.count
    );
    if ratio > 1.0 {
        let detail = format!("{detail}: pages are evicted that reclaim does not count");
        let next = "Look for DAMON_RECLAIM and writers of `memory.reclaim`, which evict pages on purpose.";
        return check(ID, Outcome::NotKnown, detail, next, SOURCE);
    }
    let next = "What is reclaimed is missed again: a slower tier adds room here, it saves no DRAM.";
    share(ID, ratio, REFAULT_RATIO, detail, next, SOURCE)
}

/// What `doctor` calls critical, each as a check that failed.
fn critical(host: &Host) -> impl Iterator<Item = Check> {
    let findings = &host.last().inventory.findings;
    findings
        .iter()
        .filter(|finding| finding.severity == "critical")
        .map(|finding| {
            let detail = format!("{}: {}", finding.id, finding.cause);
            check(
                "nothing_critical",
                Outcome::Fail,
                detail,
                &finding.fix,
                "tierscope-agent doctor",
            )
        })
}
