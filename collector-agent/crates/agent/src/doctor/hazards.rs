//! Hazards of the charters of advice that a host shows, as the service judges them: what `doctor` must not advise there, and
//! what it names as a risk.

use tierscope_sample::advice::{self, Hazard};
use tierscope_sample::inventory::{Inventory, SwapDevice};
use tierscope_sysfs::damon_admin::{Action, Target};
use tierscope_sysfs::{devices, knobs};

use crate::inventory::memory_order::MemoryOrder;

/// The list of swap areas, where the files of a host may lack it, in words.
pub(super) const SWAP: &str = "swap";
pub(crate) const LRU_GEN: &str = "/sys/kernel/mm/lru_gen/enabled";
pub(crate) const MIN_TTL: &str = "/sys/kernel/mm/lru_gen/min_ttl_ms";
/// A module of the kernel's samples that promotes and demotes by DAMON, and its switch; the second is what it had at first.
pub(crate) const DAMON_MTIER: [(&str, &str); 2] = [
    (
        "damon_sample_mtier",
        "/sys/module/damon_sample_mtier/parameters/enabled",
    ),
    ("mtier", "/sys/module/mtier/parameters/enable"),
];
/// Swap areas that are fuller than this take hardly anything more, in percent; the service has the same limit.
const SWAP_FULL_PERCENT: i64 = 95;
/// The first mainline release whose demotion asks which nodes a group of cgroup v2 may use (commit 7d709f49babc).
const HEEDS_CPUSETS: &str = "6.16";
/// From which kernel on it does so where several nodes lie below: before, the nearest one alone was asked for, and pages
/// went to others (commit 1aceed565ff1).
const HEEDS_CPUSETS_OF_ALL: &str = "7.0";

/// What a hazard is, in whole sentences; "" for a name that no charter has.
pub(crate) fn says(name: &str) -> &'static str {
    advice::hazard(name).map_or("", |hazard| hazard.says)
}

/// Which ways DAMON moves pages between tiers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DamonMoves {
    pub(crate) promotes: bool,
    pub(crate) demotes: bool,
    /// Whether it puts hot pages on slower nodes, for their bandwidth.
    pub(crate) spreads: bool,
}

impl DamonMoves {
    /// By what the schemes that run do, and by the module of the kernel's samples.
    pub(crate) fn of_actions<'a>(
        inventory: &Inventory,
        lower: &[u32],
        actions: impl Iterator<Item = &'a Action>,
    ) -> Self {
        let is_on = |(_, path): &(&str, &str)| matches!(value(inventory, path), Some("Y" | "y" | "1"));
        let both = DAMON_MTIER.iter().any(is_on);
        let moves = Self::of_schemes(lower, actions);
        Self {
            promotes: moves.promotes || both,
            demotes: moves.demotes || both,
            ..moves
        }
    }

    /// By what these schemes do. The node that one moves memory to decides; its action does where that is not told.
    pub(crate) fn of_schemes<'a>(lower: &[u32], actions: impl Iterator<Item = &'a Action>) -> Self {
        let mut moves = Self::default();
        for action in actions {
            let is_down = match action.target {
                Target::Node(node) => lower.contains(&node),
                Target::Several => true,
                Target::NotTold => action.name == "migrate_cold",
            };
            match action.name.as_str() {
                "migrate_hot" if is_down => moves.spreads = true,
                "migrate_cold" if is_down => moves.demotes = true,
                "migrate_hot" | "migrate_cold" => moves.promotes = true,
                _ => {}
            }
        }
        moves
    }

    /// Of an inventory, whose finding on DAMON lists the actions of each scheme.
    pub(crate) fn of(inventory: &Inventory) -> Self {
        let findings = inventory.findings.iter();
        let causes = findings.filter(|finding| finding.id == "damon-in-use");
        let actions: Vec<Action> = causes.flat_map(|finding| actions_of(&finding.cause)).collect();
        Self::of_actions(inventory, &MemoryOrder::of(inventory).demoted_to, actions.iter())
    }
}

/// Actions that move memory, in the words of the finding, which are those of [`Action`].
fn actions_of(cause: &str) -> Vec<Action> {
    let mut actions: Vec<Action> = Vec::new();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words: Vec<&str> = cause
        .split(move |letter| !is_letter(letter))
        .filter(|word| !word.is_empty())
        .collect();
    for (place, name) in words.iter().enumerate() {
        if !name.starts_with("migrate_") {
            continue;
        }
        let target = match words.get(place + 1..place + 4) {
            Some(["to", "several", "nodes"]) => Target::Several,
            Some(["to", "node", number]) => number.parse().map_or(Target::NotTold, Target::Node),
            _ => Target::NotTold,
        };
        actions.push(Action {
            name: (*name).to_owned(),
            target,
        });
    }
    actions
}

/// A setting, or its choice where the value lists several.
fn value<'a>(inventory: &'a Inventory, path: &str) -> Option<&'a str> {
    let knob = inventory.knobs.iter().find(|knob| knob.path == path)?;
    knob.value.as_deref().map(knobs::selected)
}

/// Whether the multi-generational LRU is on; `None` where its setting cannot be read. A kernel without the setting has none.
pub(crate) fn multi_generational(inventory: &Inventory) -> Option<bool> {
    if !inventory.knobs.iter().any(|knob| knob.path == LRU_GEN) {
        return Some(false);
    }
    let bits = value(inventory, LRU_GEN)?;
    if matches!(bits, "y" | "Y") {
        return Some(true);
    }
    Some(u32::from_str_radix(bits.trim_start_matches("0x"), 16).ok()? & 1 == 1)
}

/// Whether a swap area is named as one of zram.
pub(crate) fn zram_name(name: &str) -> bool {
    devices::block_name(name).unwrap_or(name).starts_with("zram")
}

/// Whether an area is compressed memory: by its kind, or by its name where the kernel calls it a partition.
pub(crate) fn is_zram(swap: &SwapDevice) -> bool {
    swap.kind == "zram" || zram_name(&swap.name)
}

/// Whether swap takes more; `None` where a tree does not hold its swap areas, or not all of them.
pub(crate) fn swap_has_room(inventory: &Inventory) -> Option<bool> {
    let lacks = |cause: &str| cause.contains(SWAP);
    let mut findings = inventory.findings.iter();
    let mut problems = inventory.problems.iter();
    if findings.any(|finding| finding.id == "not-in-tree" && lacks(&finding.cause))
        || problems.any(|problem| problem.path == "/proc/swaps")
    {
        return None;
    }
    let has_room = |swap: &SwapDevice| {
        let limit_bytes = swap.size_bytes / 100 * SWAP_FULL_PERCENT;
        swap.size_bytes > 0 && swap.used_bytes < limit_bytes
    };
    Some(inventory.swaps.iter().any(has_room))
}

/// Whether demotion can hang this host where `min_ttl_ms` is 0: multi-generational LRU, no room in swap, and a kernel that
/// has the fault. `None` where one of them is not known.
pub(crate) fn hangs_unprotected(inventory: &Inventory, has_room: Option<bool>) -> Option<bool> {
    let on_kernel =
        advice::hazard("mglru-no-swap").map(|hazard: &Hazard| hazard.exists_on(&inventory.kernel_release))?;
    let states = [
        multi_generational(inventory),
        has_room.map(|room| !room),
        on_kernel,
    ];
    if states.contains(&Some(false)) {
        return Some(false);
    }
    states.iter().all(Option::is_some).then_some(true)
}

/// The same with `min_ttl_ms` as it is.
pub(crate) fn hangs(inventory: &Inventory, has_room: Option<bool>) -> Option<bool> {
    let min_ttl_ms: Option<u64> = value(inventory, MIN_TTL).and_then(|value| value.parse().ok());
    if min_ttl_ms.is_some_and(|min_ttl_ms| min_ttl_ms > 0) {
        return Some(false);
    }
    hangs_unprotected(inventory, has_room)
}

/// Whether demotion leaves pages of a service within its cpuset, but for those that another group brought in: with cgroup v2
/// from [`heeds_cpusets_since`] on.
pub(crate) fn heeds_cpusets(inventory: &Inventory) -> bool {
    let since = heeds_cpusets_since(inventory);
    inventory.cgroup_version == "v2" && advice::precedes(&inventory.kernel_release, since) == Some(false)
}

/// The first mainline release that does so on this host: by how many nodes are below the first tier.
pub(crate) fn heeds_cpusets_since(inventory: &Inventory) -> &'static str {
    let below = inventory.tiers.iter().filter(|tier| tier.rank > 0);
    let several = below.map(|tier| tier.nodes.len()).sum::<usize>() > 1;
    if several {
        HEEDS_CPUSETS_OF_ALL
    } else {
        HEEDS_CPUSETS
    }
}

#[cfg(test)]
mod tests {
    use tierscope_sample::inventory::{Finding, Knob, Tier};

    use super::*;

    fn host(release: &str, lru: &str) -> Inventory {
        let knob = |path: &str, value: &str| Knob {
            path: path.into(),
            value: Some(value.into()),
            unavailable: None,
        };
        Inventory {
            kernel_release: release.into(),
            cgroup_version: "v2".into(),
            knobs: vec![knob(LRU_GEN, lru), knob(MIN_TTL, "0")],
            ..Inventory::default()
        }
    }

    #[test]
    fn demotion_hangs_a_host_of_both_kinds_of_lru_by_swap_kernel_and_protection() {
        let hangs_on = |inventory: &Inventory| hangs(inventory, swap_has_room(inventory));
        assert_eq!(hangs_on(&host("6.8.0", "0x0007")), Some(true));
        assert_eq!(hangs_on(&host("6.8.0", "0x0000")), Some(false), "classic lists");
        assert_eq!(
            hangs_on(&host("7.2.1", "0x0007")),
            None,
            "a kernel of which it is not known"
        );
        assert_eq!(hangs_on(&host("5.19.0", "0x0007")), Some(false));
        let mut swapping = host("6.8.0", "0x0007");
        swapping.swaps = vec![SwapDevice {
            size_bytes: 1 << 30,
            ..SwapDevice::default()
        }];
        assert_eq!(hangs_on(&swapping), Some(false));
        swapping.swaps[0].used_bytes = 1 << 30;
        assert_eq!(hangs_on(&swapping), Some(true), "swap is full");
        let mut protected = host("6.8.0", "0x0007");
        protected.knobs[1].value = Some("1000".into());
        assert_eq!(hangs_on(&protected), Some(false));
        let mut tree = host("6.8.0", "0x0007");
        tree.findings = vec![Finding {
            id: "not-in-tree".into(),
            cause: format!("not in this tree: {SWAP}; nothing"),
            ..Finding::default()
        }];
        assert_eq!(hangs_on(&tree), None, "no list of swap areas is not no swap");
    }

    #[test]
    fn cpusets_are_heeded_by_version_two_from_a_release_on() {
        assert!(heeds_cpusets(&host("6.16.1", "0")));
        assert!(!heeds_cpusets(&host("6.15.9", "0")));
        assert!(!heeds_cpusets(&host("", "0")));
        let several = |release: &str| Inventory {
            tiers: [(0, vec![0, 1]), (1, vec![2, 3])]
                .map(|(rank, nodes)| Tier {
                    rank,
                    nodes,
                    ..Tier::default()
                })
                .to_vec(),
            ..host(release, "0")
        };
        assert!(!heeds_cpusets(&several("6.18.3")));
        assert!(heeds_cpusets(&several("7.0.0")));
        let mut first = host("6.17.0", "0");
        first.cgroup_version = "hybrid".into();
        assert!(!heeds_cpusets(&first));
    }
}
