//! What advice says follows what the kernel of the host can do.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::tiering::{find, host, of};
use super::*;
use crate::doctor::hazards::says;
use crate::inventory::memory_order::TierOrder;

#[test]
fn what_wakes_kswapd_follows_the_kernel() {
    let fix_of = |release: &str, demotion: &str, full: bool| {
        let mut inventory = host(release, demotion, "2", "1000");
        inventory.page_size_bytes = 4096;
        let mut facts = facts(&inventory);
        facts.given_up_nodes = vec![0];
        facts.free_pages = [(0, 10), (1, if full { 5 } else { (1 << 30) / 4096 })].into();
        find(&facts, "kswapd-gave-up").unwrap().fix
    };
    assert!(fix_of("6.17.9", "false", false).contains("once by hand"));
    let awake = fix_of("6.18.1", "false", false);
    assert!(
        awake.starts_with("Turn demotion on") && !awake.contains("by hand"),
        "{awake}"
    );
    assert!(
        fix_of("6.18.1", "true", true).contains("once by hand"),
        "swap wakes nobody"
    );
    assert!(fix_of("7.0.3", "true", true).contains("high watermark"));
}

#[test]
fn early_kernels_that_demote_from_one_node_to_each_are_told_so() {
    let with = |release: &str, order: TierOrder, sockets: bool| {
        let mut inventory = healthy();
        inventory.kernel_release = release.into();
        inventory.tier_order = order.name().to_owned();
        set(&mut inventory, DEMOTION, "false");
        let other = Node {
            id: 2,
            cpulist: "4-7".into(),
            ..inventory.nodes[0].clone()
        };
        inventory.nodes.extend(sockets.then_some(other));
        inventory.tiers[0].nodes.extend(sockets.then_some(2));
        let fix = of(&inventory, "demotion-off").fix;
        fix.contains(says("one-source-each"))
    };
    assert!(with("5.19.17", TierOrder::Derived, true));
    assert!(!with("5.19.17", TierOrder::Derived, false));
    assert!(!with("6.1.3", TierOrder::Kernel, true));
    assert!(
        !with("5.14.0-427.el9.x86_64", TierOrder::Kernel, true),
        "tiers are there"
    );
}

#[test]
fn a_kernel_without_the_tiering_mode_is_not_told_to_set_it() {
    let with = |release: &str| {
        let mut inventory = healthy();
        inventory.kernel_release = release.into();
        inventory.tier_order = TierOrder::Derived.name().to_owned();
        inventory.knobs.retain(|knob| knob.path != RATE_LIMIT);
        set(&mut inventory, DEMOTION, "false");
        set(&mut inventory, BALANCING, "1");
        ["demotion-off", "promotion-off"].map(|id| of(&inventory, id).fix)
    };
    for fix in with("5.15.0-91-generic") {
        assert!(
            fix.contains(says("no-tiering-mode")) && !fix.contains("sysctl"),
            "{fix}"
        );
    }
    for release in ["5.18.0", "5.14.0-162.6.1.el9_1.x86_64", ""] {
        assert!(
            with(release).iter().all(|fix| fix.contains("numa_balancing=3`")),
            "{release}"
        );
    }
}

#[test]
fn the_tiering_mode_without_a_slower_tier_balances_nothing() {
    let with = |mode: &str, sockets: bool| {
        let mut inventory = healthy();
        inventory.tier_order = TierOrder::Kernel.name().to_owned();
        inventory.tiers.truncate(1);
        set(&mut inventory, BALANCING, mode);
        if sockets {
            inventory.nodes[1] = Node {
                id: 1,
                cpulist: "4-7".into(),
                ..inventory.nodes[0].clone()
            };
            inventory.tiers[0].nodes.push(1);
        } else {
            inventory.nodes.truncate(1);
        }
        find(&facts(&inventory), "tiering-mode-without-tier").is_some()
    };
    assert!(with("2", true));
    assert!(!with("3", true), "bit 1 balances");
    assert!(!with("1", true) && !with("0", true));
    assert!(!with("2", false), "there is nothing to balance");
}
