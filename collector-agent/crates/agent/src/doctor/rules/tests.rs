//! Each rule fires on its own host and is silent on a healthy one.

mod devices;
mod kernels;
mod memory;
mod tiering;

use std::collections::{BTreeMap, BTreeSet};

use tierscope_sample::inventory::{Inventory, Knob, Node, SwapDevice, Tier};

use super::*;
use crate::doctor::facts::{Devices, Sees};
use crate::inventory::memory_order::MemoryOrder;

fn healthy() -> Inventory {
    let knob = |path: &str, value: &str| Knob {
        path: path.into(),
        value: Some(value.into()),
        unavailable: None,
    };
    let node = |id: u32, cpulist: &str| Node {
        id,
        cpulist: cpulist.into(),
        memory_bytes: Some(1 << 30),
        tier_class: if cpulist.is_empty() { "cxl" } else { "dram" }.into(),
        tier_certainty: CERTAIN.into(),
        ..Node::default()
    };
    Inventory {
        dialect: "mainline".into(),
        cgroup_version: "v2".into(),
        nodes: vec![node(0, "0-3"), node(1, "")],
        tiers: vec![
            Tier {
                kernel_number: 4,
                rank: 0,
                nodes: vec![0],
            },
            Tier {
                kernel_number: 22,
                rank: 1,
                nodes: vec![1],
            },
        ],
        knobs: vec![
            knob(DEMOTION, "true"),
            knob(BALANCING, "2"),
            knob(RATE_LIMIT, "500"),
            knob("/proc/sys/vm/numa_stat", "1"),
            knob("/proc/sys/vm/zone_reclaim_mode", "0"),
            knob(
                "/sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never",
            ),
        ],
        swaps: vec![SwapDevice {
            size_bytes: 100,
            used_bytes: 10,
            ..SwapDevice::default()
        }],
        ..Inventory::default()
    }
}

/// What is known of a recorded host beside its inventory: nothing that gives a finding.
fn facts(inventory: &Inventory) -> Facts<'_> {
    Facts {
        inventory,
        live: false,
        capabilities: None,
        pressure: Pressure::Given,
        memory_controller_is_off: false,
        given_up_nodes: Vec::new(),
        free_pages: BTreeMap::new(),
        devices: Devices::default(),
        vmstat: BTreeMap::new(),
        kdamonds: Vec::new(),
        order: MemoryOrder::of(inventory),
        contradiction: None,
        wrong_count: None,
        cpu_limit: None,
        lacks: Vec::new(),
        clearers: Vec::new(),
        movers: Vec::new(),
        barred: Vec::new(),
        in_pods: BTreeSet::new(),
        bound: Vec::new(),
        passed_over: Vec::new(),
        sees: Sees {
            processes: true,
            policies: true,
        },
        gpu_drivers: Vec::new(),
        memory_side_caches: Vec::new(),
        problems: Vec::new(),
    }
}

fn ids(inventory: &Inventory) -> Vec<String> {
    all(&facts(inventory))
        .into_iter()
        .map(|finding| finding.id)
        .collect()
}

fn set(inventory: &mut Inventory, path: &str, value: &str) {
    for knob in inventory.knobs.iter_mut().filter(|knob| knob.path == path) {
        knob.value = Some(value.to_owned());
    }
}

#[test]
fn a_healthy_host_has_no_finding() {
    assert_eq!(ids(&healthy()), Vec::<String>::new());
}

#[test]
fn a_setting_that_is_off_is_found_only_where_there_is_a_lower_tier() {
    for (path, value, id) in [
        (DEMOTION, "false", "demotion-off"),
        (BALANCING, "1", "promotion-off"),
        (RATE_LIMIT, "65536", "promotion-limit-off"),
        (
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never",
            "huge-pages-always",
        ),
    ] {
        let mut inventory = healthy();
        set(&mut inventory, path, value);
        assert_eq!(ids(&inventory), [id], "{path}");
        inventory.tiers.truncate(1);
        assert_eq!(ids(&inventory), ["one-tier"], "{path} on one tier");
    }
}

#[test]
fn a_node_without_cpus_among_dram_is_found() {
    let mut inventory = healthy();
    inventory.tiers = vec![Tier {
        kernel_number: 4,
        rank: 0,
        nodes: vec![0, 1],
    }];
    assert_eq!(ids(&inventory), ["cpuless-node-in-top-tier", "one-tier"]);
}

#[test]
fn other_findings_fire_on_their_own_sign() {
    let mut inventory = healthy();
    inventory.cgroup_version = "hybrid".into();
    assert_eq!(ids(&inventory), ["no-cgroup-v2"]);
    let mut inventory = healthy();
    set(&mut inventory, "/proc/sys/vm/zone_reclaim_mode", "1");
    assert_eq!(ids(&inventory), ["zone-reclaim"]);
    let mut inventory = healthy();
    inventory.swaps[0].used_bytes = 51;
    assert_eq!(ids(&inventory), ["swap-over-half"]);
    let mut inventory = healthy();
    inventory.swaps.clear();
    assert_eq!(
        ids(&inventory),
        Vec::<String>::new(),
        "demotion takes the place of swap"
    );
    set(&mut inventory, DEMOTION, "false");
    assert_eq!(ids(&inventory), ["demotion-off", "no-swap"]);
    let mut inventory = healthy();
    inventory.dialect = "tpp".into();
    assert_eq!(ids(&inventory), ["tpp-kernel"]);
    let mut inventory = healthy();
    set(&mut inventory, "/proc/sys/vm/numa_stat", "0");
    assert_eq!(ids(&inventory), ["numa-stat-off"]);
}

#[test]
fn kswapd_that_gave_up_comes_first() {
    let mut inventory = healthy();
    set(&mut inventory, DEMOTION, "false");
    let facts = Facts {
        pressure: Pressure::Absent,
        given_up_nodes: vec![0],
        ..facts(&inventory)
    };
    let ids: Vec<String> = all(&facts).into_iter().map(|finding| finding.id).collect();
    assert_eq!(ids, ["kswapd-gave-up", "demotion-off", "no-pressure"]);
}

#[test]
fn pressure_that_was_off_at_boot_is_told_as_what_it_is() {
    let inventory = healthy();
    let with = |pressure: Pressure| {
        let found = all(&Facts {
            pressure,
            ..facts(&inventory)
        });
        found
            .first()
            .map(|finding| (finding.id.clone(), finding.confidence.clone()))
    };
    let told = |confidence: &str| Some(("no-pressure".to_owned(), confidence.to_owned()));
    assert_eq!(with(Pressure::Given), None);
    assert_eq!(with(Pressure::Refused), told(CERTAIN));
    assert_eq!(with(Pressure::Empty), told(LIKELY), "or nobody could read it");
}

#[test]
fn a_memory_controller_that_is_off_is_told() {
    let inventory = healthy();
    let found = all(&Facts {
        memory_controller_is_off: true,
        ..facts(&inventory)
    });
    assert_eq!(found[0].id, "no-memory-controller");
}

#[test]
fn limited_rights_are_told_on_the_running_host_only() {
    let mut inventory = healthy();
    inventory.running_as_uid = 1000;
    let facts = |live: bool, capabilities: Option<u64>| Facts {
        live,
        capabilities,
        ..facts(&inventory)
    };
    assert_eq!(all(&facts(false, Some(0))), Vec::new());
    let found = all(&facts(true, Some(0)));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].cause.contains("CAP_SYS_PTRACE") && found[0].cause.contains("debug"),
        "{}",
        found[0].cause
    );
    let with_ptrace = all(&facts(true, Some(SYS_PTRACE)));
    assert!(!with_ptrace[0].cause.contains("CAP_SYS_PTRACE"));
}

#[test]
fn every_finding_has_a_cause_a_fix_and_a_confidence() {
    let inventory = Inventory::default();
    let facts = Facts {
        live: true,
        pressure: Pressure::Absent,
        given_up_nodes: vec![1],
        ..facts(&inventory)
    };
    let findings = all(&facts);
    assert!(findings.len() >= 4);
    for finding in findings {
        assert!(
            !finding.cause.is_empty() && !finding.fix.is_empty(),
            "{}",
            finding.id
        );
        assert!(
            [CERTAIN, LIKELY].contains(&finding.confidence.as_str()),
            "{}",
            finding.id
        );
    }
}
