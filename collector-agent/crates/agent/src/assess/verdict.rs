//! Whether a host is ready for tiering, and what it would gain.

use std::collections::BTreeSet;

use serde::Serialize;

use super::checks::{self, Check, DEMOTION_IS_SAFE, Outcome};
use super::memory::{self, Memory};
use super::observed::Host;
use crate::doctor::{self, Tiering};
use crate::inventory::memory_order::Lower;

/// What a host is, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// Tiers, settings and every check are right.
    Ready,
    /// The kernel tiers, but a check failed.
    Strained,
    /// There are tiers, and a setting is not right.
    Settings,
    /// There are tiers, and demotion does harm as the host is set up.
    Unsafe,
    /// The kernel tiers, and nothing tells whether its lower tier is slower.
    Unproven,
    /// A slower node is there, in the same tier as DRAM.
    Misplaced,
    /// Faster memory is in a tier below DRAM.
    FasterBelow,
    /// There is no slower memory.
    OneTier,
    /// The kernel knows no tiers.
    Kernel,
    /// The reading lacks what it takes.
    NotKnown,
}

impl State {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Ready => "ready: the kernel tiers, and nothing stands in the way",
            Self::Strained => "tiers already, and a check failed",
            Self::Settings => "has the memory, and a setting is not right",
            Self::Unsafe => "has the memory, and demotion does harm here as the host is set up",
            Self::Unproven => "has a lower tier, and nothing tells whether its memory is slower than DRAM",
            Self::FasterBelow => "has faster memory in a tier below DRAM: leave tiering off",
            Self::Misplaced => "has slower memory, but in the same tier as DRAM: nothing is moved",
            Self::OneTier => "has one memory tier",
            Self::Kernel => "its kernel knows no memory tiers",
            Self::NotKnown => "not known",
        }
    }
}

/// What is said of a host.
#[derive(Debug, Serialize)]
pub(super) struct Assessment {
    pub(super) host: String,
    pub(super) source: String,
    pub(super) kernel_release: String,
    pub(super) readings: usize,
    pub(super) first_taken_at_ns: i64,
    pub(super) last_taken_at_ns: i64,
    pub(super) state: State,
    pub(super) tiering: &'static str,
    /// `None` where nothing can be said of it.
    pub(super) memory: Option<Memory>,
    /// Why; "" where it is given.
    pub(super) memory_reason: String,
    pub(super) checks: Vec<Check>,
    /// Files that could not be understood, or that may be cut off; nothing that stands on them is certain.
    pub(super) problems: BTreeSet<String>,
    pub(super) next_step: String,
}

pub(super) fn assess(host: &Host) -> Assessment {
    let inventory = &host.last().inventory;
    let tiering = doctor::judge(inventory, host.last().moves());
    let (memory, memory_reason) = match memory::judge(host) {
        Ok(memory) => (Some(memory), String::new()),
        Err(why) => (None, why),
    };
    let checks = checks::all(host, &tiering, memory.as_ref());
    let failed = |id: &str| {
        let mut named = checks.iter().filter(|check| check.id == id);
        named.any(|check| check.outcome == Outcome::Fail)
    };
    let misplaced = inventory
        .findings
        .iter()
        .any(|finding| finding.id == "cpuless-node-in-top-tier");
    let settings_are_absent = tiering.demotes.is_none() || tiering.promotes.is_none();
    let state = match tiering.state {
        _ if memory.is_none() => State::NotKnown,
        _ if failed("kernel_knows_tiers") => State::Kernel,
        "not possible" if misplaced => State::Misplaced,
        "not possible" => State::OneTier,
        // Settings that files of a host do not hold are no settings that are wrong.
        "unknown" if !inventory.tree.is_empty() && settings_are_absent => State::NotKnown,
        _ => match tiering.lower {
            Lower::Nothing => State::NotKnown,
            Lower::Gpu(_) => State::OneTier,
            Lower::Faster(_) => State::FasterBelow,
            Lower::NotKnown(_) => State::Unproven,
            Lower::Slower(_) if failed(DEMOTION_IS_SAFE) => State::Unsafe,
            Lower::Slower(_) => settled(&tiering, &checks),
        },
    };
    let mut unreadable = host.fullest().inventory.topology_problems();
    let next_step = match unreadable.next() {
        Some(problem) if memory.is_none() => format!(
            "Collect {} again: it cannot be read ({}), and nodes and tiers stand on it.",
            problem.path, problem.reason
        ),
        _ => next_step(state, &checks),
    };
    Assessment {
        host: host.name.clone(),
        source: host.source.clone(),
        kernel_release: inventory.kernel_release.clone(),
        readings: host.readings.len(),
        first_taken_at_ns: host.readings[0].taken_at_ns,
        last_taken_at_ns: host.last().taken_at_ns,
        state,
        tiering: tiering.state,
        memory,
        memory_reason,
        checks,
        problems: host.problems().map(str::to_owned).collect(),
        next_step,
    }
}

/// The state of a host with slower memory in a lower tier.
fn settled(tiering: &Tiering, checks: &[Check]) -> State {
    match tiering.state {
        "on" if checks.iter().any(|check| check.outcome == Outcome::Fail) => State::Strained,
        "on" => State::Ready,
        _ => State::Settings,
    }
}

/// The first thing to do: what mends the first failed check, and where there is nothing to mend, what tells more.
fn next_step(state: State, checks: &[Check]) -> String {
    let open = |outcome: Outcome| checks.iter().find(|check| check.outcome == outcome);
    let unless_hardware = |check: &&Check| !matches!(check.id, "slower_tier" | "kernel_knows_tiers");
    let step = match state {
        State::NotKnown => Some(
            "Give a reading of the host itself: `tierscope-agent once --json` there, or a field kit (`tierscope-agent fieldkit`).",
        ),
        // Whether to buy slower memory is decided by what the host does with the memory that it has.
        State::OneTier => checks
            .iter()
            .filter(unless_hardware)
            .find(|check| check.outcome != Outcome::Pass)
            .map(|check| check.next_step.as_str()),
        _ => open(Outcome::Fail)
            .or_else(|| open(Outcome::NotKnown))
            .map(|check| check.next_step.as_str()),
    };
    let measure = "Measure heat for a day (`tierscope up --heat PROGRAM`), then `tierscope recommend` names a DRAM:CXL ratio.";
    step.unwrap_or(measure).to_owned()
}
