//! Whether the kernel moves pages between tiers: the one question that most readers have.

use tierscope_sample::inventory::Inventory;
use tierscope_sysfs::knobs;

const DEMOTION: &str = "/sys/kernel/mm/numa/demotion_enabled";
const BALANCING: &str = "/proc/sys/kernel/numa_balancing";

/// The answer, with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tiering {
    /// `on`, `partly`, `off`, `not possible` or `unknown`.
    pub(crate) state: &'static str,
    /// Whether pages are demoted and promoted; `None` where the kernel does not say, or has one tier.
    pub(crate) demotes: Option<bool>,
    pub(crate) promotes: Option<bool>,
    /// Why, in words.
    pub(crate) reasons: Vec<String>,
}

/// Judges by the tiers with memory, and by the settings of both directions.
pub(crate) fn judge(inventory: &Inventory) -> Tiering {
    let has_memory = |id: &u32| {
        let node = inventory.node(*id);
        node.is_some_and(|node| node.memory_bytes.is_none_or(|bytes| bytes > 0))
    };
    let usable = inventory
        .tiers
        .iter()
        .filter(|tier| tier.nodes.iter().any(has_memory));
    let count = usable.count();
    if count < 2 {
        let reason = match count {
            0 => "the kernel shows no memory tiers".to_owned(),
            _ => "one memory tier has memory online".to_owned(),
        };
        return Tiering {
            state: "not possible",
            demotes: None,
            promotes: None,
            reasons: vec![reason],
        };
    }
    let value = |path: &str| {
        let knob = inventory.knobs.iter().find(|knob| knob.path == path);
        knob.and_then(|knob| knob.value.as_deref()).map(knobs::selected)
    };
    let demotes = value(DEMOTION).map(|value| matches!(value, "true" | "1"));
    let promotes = value(BALANCING).and_then(|value| Some(value.parse::<u32>().ok()? & 2 != 0));
    let word = |direction: &str, state: Option<bool>| match state {
        Some(true) => format!("{direction} is on"),
        Some(false) => format!("{direction} is off"),
        None => format!("the kernel does not say whether {direction} is on"),
    };
    Tiering {
        state: match (demotes, promotes) {
            (Some(true), Some(true)) => "on",
            (Some(false), Some(false)) => "off",
            (None, _) | (_, None) => "unknown",
            _ => "partly",
        },
        demotes,
        promotes,
        reasons: vec![
            format!("{count} memory tiers have memory online"),
            word("demotion", demotes),
            word("promotion", promotes),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_sample::inventory::{Knob, Node, Tier};

    fn host(slow_bytes: i64, demotion: &str, balancing: &str) -> Inventory {
        let node = |id: u32, bytes: i64| Node {
            id,
            memory_bytes: Some(bytes),
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
            nodes: vec![node(0, 1 << 30), node(1, slow_bytes)],
            tiers: vec![tier(0), tier(1)],
            knobs: vec![knob(DEMOTION, demotion), knob(BALANCING, balancing)],
            ..Inventory::default()
        }
    }

    #[test]
    fn both_directions_and_memory_in_both_tiers_make_tiering() {
        let state = |inventory: &Inventory| judge(inventory).state;
        assert_eq!(state(&host(1 << 30, "true", "2")), "on");
        assert_eq!(state(&host(1 << 30, "true", "1")), "partly");
        assert_eq!(state(&host(1 << 30, "false", "0")), "off");
        assert_eq!(state(&host(0, "true", "2")), "not possible");
        assert_eq!(state(&Inventory::default()), "not possible");
        let mut silent = host(1 << 30, "true", "2");
        silent.knobs.clear();
        assert_eq!(state(&silent), "unknown");
    }
}
