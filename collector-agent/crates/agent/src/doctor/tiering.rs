//! Whether the kernel moves pages between tiers: the one question that most readers have.

use tierscope_sample::inventory::{Inventory, Knob};
use tierscope_sysfs::knobs;

use super::hazards::DamonMoves;
use crate::inventory::memory_order::{Lower, MemoryOrder, TierOrder};
use crate::inventory::{NO_SETTING, noun};

const DEMOTION: &str = "/sys/kernel/mm/numa/demotion_enabled";
const BALANCING: &str = "/proc/sys/kernel/numa_balancing";

/// Pages that the kernel counted as moved between tiers since boot; `None` where it has no such counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    pub(crate) demoted: Option<i64>,
    pub(crate) promoted: Option<i64>,
}

impl Moves {
    /// Adds a counter of `/proc/vmstat`, if it is one of moves.
    pub(crate) fn add(&mut self, name: &str, value: i64) {
        let sum = match name {
            "pgdemote_kswapd"
            | "pgdemote_direct"
            | "pgdemote_khugepaged"
            | "pgdemote_proactive"
            | "pgdemote_anon"
            | "pgdemote_file" => &mut self.demoted,
            "pgpromote_success" | "pgpromote_anon" | "pgpromote_file" => &mut self.promoted,
            _ => return,
        };
        *sum = Some(sum.unwrap_or(0).saturating_add(value));
    }

    /// Both directions together.
    pub(crate) fn sum(self) -> i64 {
        self.demoted
            .unwrap_or(0)
            .saturating_add(self.promoted.unwrap_or(0))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tiering {
    /// `on`, `partly`, `off`, `not possible` or `unknown`.
    pub(crate) state: &'static str,
    /// What the kernel demotes to.
    pub(crate) lower: Lower,
    /// Whether pages are demoted and promoted; `None` where the kernel does not say, or has one tier.
    pub(crate) demotes: Option<bool>,
    pub(crate) promotes: Option<bool>,
    /// Why, in words: the tiers, demotion, promotion, as far as they matter.
    pub(crate) reasons: Vec<String>,
}

/// Judges by what lies in the tiers, and by the settings of both directions.
pub(crate) fn judge(inventory: &Inventory, moves: Moves) -> Tiering {
    let order = MemoryOrder::of(inventory);
    let lower = order.lower();
    if let Some(problem) = inventory
        .topology_problems()
        .next()
        .filter(|_| lower == Lower::Nothing)
    {
        return Tiering {
            state: "unknown",
            lower,
            demotes: None,
            promotes: None,
            reasons: vec![format!("{} cannot be read: {}", problem.path, problem.reason)],
        };
    }
    if lower == Lower::Nothing {
        return without_lower_tier(inventory, &order, moves);
    }
    let knob = |path: &str| inventory.knobs.iter().find(|knob| knob.path == path);
    let value = |path: &str| {
        let knob = knob(path);
        knob.and_then(|knob| knob.value.as_deref()).map(knobs::selected)
    };
    let reclaim_demotes = value(DEMOTION).and_then(knobs::switch);
    let has_none = lacks_balancing(inventory, moves);
    let balancing_promotes = value(BALANCING)
        .and_then(|value| Some(value.parse::<u32>().ok()? & 2 != 0))
        .or(has_none.then_some(false));
    let damon = DamonMoves::of(inventory);
    // DAMON moves pages whatever the settings of reclaim and of NUMA balancing are.
    let either = |damon: bool, setting: Option<bool>| if damon { Some(true) } else { setting };
    let demotes = either(damon.demotes, reclaim_demotes);
    let promotes = either(damon.promotes, balancing_promotes);
    let mut reasons = vec![describe_tiers(inventory, &order)];
    reasons.push(match (damon.demotes, reclaim_demotes) {
        (true, Some(true)) => "demotion is on, by DAMON (migrate_cold) and by reclaim".to_owned(),
        (true, _) => "demotion is on, by DAMON (migrate_cold)".to_owned(),
        _ => word("demotion", demotes, knob(DEMOTION), moves.demoted),
    });
    reasons.push(match (damon.promotes, balancing_promotes) {
        (true, Some(true)) => "promotion is on, by DAMON (migrate_hot) and by NUMA balancing".to_owned(),
        (true, _) => "promotion is on, by DAMON (migrate_hot)".to_owned(),
        (false, _) if has_none => "promotion is off: the kernel is built without NUMA balancing".to_owned(),
        _ => word("promotion", promotes, knob(BALANCING), moves.promoted),
    });
    let other = inventory
        .findings
        .iter()
        .find(|finding| finding.id == "user-space-mover");
    reasons.extend(other.map(|finding| finding.cause.clone()));
    Tiering {
        state: state_of(demotes, promotes, other.is_some()),
        lower,
        demotes,
        promotes,
        reasons,
    }
}

/// Whether the kernel is built without NUMA balancing, which promotes: the running one has no setting of it, and one of a
/// tree prints tiers and demotions, and no count of promotions (`CONFIG_NUMA_BALANCING` of `include/linux/mmzone.h`).
pub(crate) fn lacks_balancing(inventory: &Inventory, moves: Moves) -> bool {
    let has_no_setting = inventory.knobs.iter().any(|knob| {
        knob.path == BALANCING && knob.value.is_none() && knob.unavailable.as_deref() == Some(NO_SETTING)
    });
    let counts_no_promotion = moves.demoted.is_some() && moves.promoted.is_none();
    has_no_setting
        && TierOrder::of(inventory) == TierOrder::Kernel
        && (inventory.tree.is_empty() || counts_no_promotion)
}

fn state_of(demotes: Option<bool>, promotes: Option<bool>, other_mover: bool) -> &'static str {
    match (demotes, promotes) {
        (Some(true), Some(true)) => "on",
        _ if other_mover => "unknown",
        (Some(false), Some(false)) => "off",
        (None, _) | (_, None) => "unknown",
        _ => "partly",
    }
}

fn without_lower_tier(inventory: &Inventory, order: &MemoryOrder, moves: Moves) -> Tiering {
    let noun = noun(&inventory.tree);
    let pages = moves.sum();
    let apart = !order.left_beside(inventory).is_empty() || !order.faster.is_empty();
    let (state, reason) = match order.tiers {
        _ if pages > 0 => (
            "unknown",
            format!("{pages} pages were moved between tiers since boot, and this {noun} does not show which"),
        ),
        TierOrder::NotInTree if apart => (
            "unknown",
            format!("the kernel's memory tiers are not in this {noun}"),
        ),
        TierOrder::NotInTree if inventory.nodes.is_empty() => (
            "unknown",
            format!("neither nodes nor memory tiers are in this {noun}"),
        ),
        TierOrder::NotInTree => (
            "not possible",
            "all memory is on nodes with CPUs, as far as this shows".to_owned(),
        ),
        TierOrder::Absent => ("not possible", "the kernel shows no memory tiers".to_owned()),
        TierOrder::Kernel | TierOrder::Derived if !order.above.is_empty() => (
            "not possible",
            "no memory tier below that of the processors has memory online".to_owned(),
        ),
        TierOrder::Kernel | TierOrder::Derived => {
            ("not possible", "one memory tier has memory online".to_owned())
        }
    };
    Tiering {
        state,
        lower: Lower::Nothing,
        demotes: None,
        promotes: None,
        reasons: vec![reason],
    }
}

fn describe_tiers(inventory: &Inventory, order: &MemoryOrder) -> String {
    let with_memory = inventory.tiers.iter().filter(|tier| {
        let mut nodes = tier.nodes.iter().filter_map(|id| inventory.node(*id));
        nodes.any(crate::inventory::memory_order::has_memory)
    });
    match order.tiers {
        TierOrder::Derived => {
            "nodes with CPUs over nodes without: the order of tiers is not printed".to_owned()
        }
        _ => format!("{} memory tiers have memory online", with_memory.count()),
    }
}

fn word(direction: &str, state: Option<bool>, knob: Option<&Knob>, moved: Option<i64>) -> String {
    let moved = match moved {
        Some(pages) if pages > 0 => format!("; {pages} pages since boot"),
        _ => String::new(),
    };
    match state {
        Some(true) => format!("{direction} is on"),
        Some(false) => format!("{direction} is off"),
        None => {
            let why = knob.and_then(|knob| knob.unavailable.as_deref());
            let why = why.unwrap_or("its setting is not shown");
            format!("whether {direction} is on is not known: {why}{moved}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_sample::inventory::{Finding, Node, Tier};

    const SILENT: Moves = Moves {
        demoted: None,
        promoted: None,
    };

    fn host(slow_bytes: i64, demotion: &str, balancing: &str) -> Inventory {
        let node = |id: u32, bytes: i64, cpulist: &str, class: &str| Node {
            id,
            memory_bytes: Some(bytes),
            cpulist: cpulist.to_owned(),
            tier_class: class.to_owned(),
            ..Node::default()
        };
        let tier = |rank: u32| Tier {
            kernel_number: 4 + rank,
            rank,
            nodes: vec![rank],
        };
        let knob = |path: &str, value: &str| Knob {
            path: path.into(),
            value: Some(value.into()),
            unavailable: None,
        };
        Inventory {
            nodes: vec![node(0, 1 << 30, "0-3", "dram"), node(1, slow_bytes, "", "cxl")],
            tiers: vec![tier(0), tier(1)],
            knobs: vec![knob(DEMOTION, demotion), knob(BALANCING, balancing)],
            ..Inventory::default()
        }
    }

    #[test]
    fn both_directions_and_memory_in_both_tiers_make_tiering() {
        let state = |inventory: &Inventory| judge(inventory, SILENT).state;
        assert_eq!(state(&host(1 << 30, "true", "2")), "on");
        assert_eq!(state(&host(1 << 30, "true", "1")), "partly");
        assert_eq!(state(&host(1 << 30, "false", "0")), "off");
        assert_eq!(state(&host(0, "true", "2")), "not possible");
        assert_eq!(state(&Inventory::default()), "not possible");
        let mut silent = host(1 << 30, "true", "2");
        silent.knobs.clear();
        assert_eq!(state(&silent), "unknown");
    }

    #[test]
    fn damon_that_moves_pages_tiers_like_the_settings() {
        let mut inventory = host(1 << 30, "false", "0");
        let damon = |cause: &str| Finding {
            id: "damon-in-use".into(),
            cause: cause.into(),
            ..Finding::default()
        };
        inventory.findings = vec![damon(
            "DAMON is in use: kdamond 0 (paddr, migrate_hot, migrate_cold). Its",
        )];
        let tiering = judge(&inventory, SILENT);
        assert_eq!(tiering.state, "on");
        assert!(tiering.reasons[1].contains("by DAMON"), "{:?}", tiering.reasons);
        inventory.findings = vec![damon("DAMON is in use: kdamond 0 (paddr, migrate_hot). Its")];
        assert_eq!(judge(&inventory, SILENT).state, "partly");
        inventory.findings = vec![damon("DAMON is in use: kdamond 0 (paddr, stat). Its")];
        assert_eq!(judge(&inventory, SILENT).state, "off", "it only watches");
    }

    #[test]
    fn a_program_that_may_move_pages_makes_off_unknown() {
        let mut inventory = host(1 << 30, "false", "0");
        inventory.findings = vec![Finding {
            id: "user-space-mover".into(),
            cause: "memtierd (process 7) may move pages between nodes".into(),
            ..Finding::default()
        }];
        let tiering = judge(&inventory, SILENT);
        assert_eq!((tiering.state, tiering.demotes), ("unknown", Some(false)));
        assert!(
            tiering.reasons[3].starts_with("memtierd"),
            "{:?}",
            tiering.reasons
        );
    }

    #[test]
    fn a_kernel_without_numa_balancing_promotes_nothing() {
        let mut inventory = host(1 << 30, "true", "2");
        inventory.knobs[1].value = None;
        inventory.knobs[1].unavailable = Some(NO_SETTING.to_owned());
        let tiering = judge(&inventory, SILENT);
        assert_eq!((tiering.state, tiering.promotes), ("partly", Some(false)));
        inventory.tree = "tree".to_owned();
        let demoted = Moves {
            demoted: Some(0),
            promoted: None,
        };
        assert_eq!(judge(&inventory, demoted).state, "partly");
        assert_eq!(judge(&inventory, SILENT).state, "unknown", "the tree may lack it");
        let both = Moves {
            promoted: Some(0),
            ..demoted
        };
        assert_eq!(judge(&inventory, both).state, "unknown");
    }

    #[test]
    fn counted_moves_are_never_called_impossible() {
        let moved = Moves {
            demoted: Some(9),
            promoted: Some(4),
        };
        let tiering = judge(&host(0, "true", "2"), moved);
        assert_eq!(tiering.state, "unknown");
        assert!(
            tiering.reasons[0].starts_with("13 pages"),
            "{:?}",
            tiering.reasons
        );
        let mut silent = host(1 << 30, "true", "2");
        silent.knobs.clear();
        let tiering = judge(&silent, moved);
        assert!(tiering.reasons[1].contains("9 pages"), "{:?}", tiering.reasons);
    }

    #[test]
    fn tiers_that_a_tree_does_not_hold_are_not_tiers_that_a_kernel_lacks() {
        let mut inventory = host(1 << 30, "true", "2");
        inventory.tiers.clear();
        inventory.tier_order = TierOrder::NotInTree.name().to_owned();
        inventory.tree = "sos 4.12.1".to_owned();
        let tiering = judge(&inventory, SILENT);
        assert_eq!(tiering.state, "unknown");
        assert!(
            tiering.reasons[0].contains("not in this report"),
            "{:?}",
            tiering.reasons
        );
        inventory.nodes.truncate(1);
        assert_eq!(judge(&inventory, SILENT).state, "not possible");
    }
}
