//! Rules about devices, counters that cannot be right, and others who move or watch memory.

use tierscope_sample::inventory::Unmovable;
use tierscope_sysfs::cxl::{Errors, Link, Memory, Pci, Region};
use tierscope_sysfs::damon_admin::{Action, Kdamond};
use tierscope_sysfs::devices::Dax;
use tierscope_sysfs::hotness::Instance;
use tierscope_sysfs::memory_blocks::Blocks;

use super::*;

fn link(decigigatransfers: u32, width: u32) -> Link {
    Link {
        decigigatransfers: Some(decigigatransfers),
        width: Some(width),
    }
}

fn device(current: Link, max: Link, port_max: Link, errors: Errors) -> Memory {
    Memory {
        name: "mem0".into(),
        ram_bytes: Some(1 << 30),
        pci: Some(Pci {
            address: "0000:35:00.0".into(),
            current,
            max,
            port_max,
            errors,
        }),
        ..Memory::default()
    }
}

/// Findings of a healthy host with this CXL device, which serves a region.
fn with_device(device: Memory) -> Vec<Finding> {
    let inventory = healthy();
    let region = Region {
        name: "region0".into(),
        committed: Some(true),
        ..Region::default()
    };
    let mut facts = facts(&inventory);
    facts.devices.cxl = vec![device];
    facts.devices.regions = vec![region];
    all(&facts)
}

fn ids_of(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn a_link_is_judged_by_what_both_ends_can_do() {
    let full = link(320, 16);
    let none = Errors::default();
    assert!(with_device(device(full, full, full, none)).is_empty());
    let slow = with_device(device(link(160, 8), full, full, none));
    assert_eq!(ids_of(&slow), ["cxl-link-degraded"]);
    assert!(
        slow[0].cause.contains("16.0 GT/s x8") && slow[0].cause.contains("32.0 GT/s x16"),
        "{}",
        slow[0].cause
    );
    let narrow_slot = with_device(device(link(320, 8), full, link(320, 8), none));
    assert_eq!(
        ids_of(&narrow_slot),
        ["cxl-slot-limits-link"],
        "as good as the slot allows"
    );
    let unknown = Link::default();
    assert!(with_device(device(unknown, full, unknown, none)).is_empty());
}

#[test]
fn errors_that_lost_something_are_told_and_corrected_ones_when_they_rise() {
    let full = link(320, 16);
    let errors = |correctable: u64, nonfatal: u64| Errors {
        correctable: Some(correctable),
        nonfatal: Some(nonfatal),
        fatal: None,
    };
    assert!(with_device(device(full, full, full, errors(9, 0))).is_empty());
    assert_eq!(
        ids_of(&with_device(device(full, full, full, errors(9, 1)))),
        ["cxl-errors"]
    );
    let inventory = healthy();
    let mut facts = facts(&inventory);
    facts.devices.risen = vec![("mem0".into(), 7)];
    let found = all(&facts);
    assert_eq!(ids_of(&found), ["cxl-errors-rising"]);
    assert!(found[0].cause.contains("mem0 had 7"));
}

#[test]
fn memory_that_lies_idle_or_offline_is_found() {
    let inventory = healthy();
    let dax = |driver: Option<&str>, target_node: u32| Dax {
        name: "dax0.0".into(),
        device_path: Some("../../../devices/dax0.0".into()),
        driver: driver.map(str::to_owned),
        target_node: Some(target_node),
        ..Dax::default()
    };
    let with = |change: &dyn Fn(&mut Devices)| {
        let mut facts = facts(&inventory);
        change(&mut facts.devices);
        ids_of(&all(&facts)).join(" ")
    };
    assert_eq!(with(&|devices| devices.dax = vec![dax(Some("kmem"), 1)]), "");
    assert_eq!(
        with(&|devices| devices.dax = vec![dax(Some("device_dax"), 1)]),
        "device-memory-idle"
    );
    assert_eq!(
        with(&|devices| devices.dax = vec![dax(None, 1)]),
        "device-memory-idle"
    );
    assert_eq!(
        with(&|devices| devices.dax = vec![dax(Some("kmem"), 7)]),
        "memory-offline"
    );
    let blocks = |offline: i64| Blocks {
        block_bytes: Some(1 << 27),
        online: Some(8),
        offline: Some(offline),
    };
    assert_eq!(with(&|devices| devices.blocks = Some(blocks(0))), "");
    assert_eq!(
        with(&|devices| devices.blocks = Some(blocks(2))),
        "memory-offline"
    );
    let unmapped = Memory {
        ram_bytes: Some(1 << 30),
        ..Memory::default()
    };
    assert_eq!(
        with(&|devices| devices.cxl = vec![unmapped.clone()]),
        "",
        "node 1 may be it: firmware makes no region of memory that it brings online"
    );
    let idle = |regions: &[Region]| {
        let mut facts = facts(&inventory);
        facts.devices.cxl = vec![unmapped.clone(), unmapped.clone()];
        facts.devices.regions = regions.to_vec();
        facts.devices.dax = regions
            .iter()
            .map(|region| Dax {
                device_path: Some("../../../devices/root0/region0/dax_region0/dax0.0".into()),
                size_bytes: region.size_bytes,
                target_node: None,
                ..dax(Some("kmem"), 1)
            })
            .collect();
        let found = all(&facts).into_iter().map(|finding| finding.cause);
        found.collect::<String>()
    };
    let region = |gib: u64| Region {
        name: "region0".into(),
        size_bytes: Some(gib << 30),
        mode: "ram".into(),
        committed: Some(true),
        ..Region::default()
    };
    let told = "memory of devices is not used as memory: 1024 MiB of CXL memory are in no region";
    assert_eq!(idle(&[]), told);
    assert_eq!(idle(&[region(1)]), told, "the second device");
    assert_eq!(idle(&[region(2)]), "");
}

#[test]
fn memory_that_cannot_move_is_told_by_its_share() {
    let mut inventory = healthy();
    let unmovable = |hugetlb_bytes: i64| Unmovable {
        node: 0,
        hugetlb_bytes: Some(hugetlb_bytes),
        mlocked_bytes: None,
        pinned_pages: Some(0),
    };
    inventory.unmovable = vec![unmovable(200 << 20)];
    assert_eq!(ids(&inventory), Vec::<String>::new());
    for (mib, severity) in [(300, "info"), (600, "warning")] {
        inventory.unmovable = vec![unmovable(mib << 20)];
        let found = all(&facts(&inventory));
        assert_eq!(
            (found[0].id.as_str(), found[0].severity.as_str()),
            ("unmovable-memory", severity)
        );
        assert!(!found[0].fix.contains("by node"), "it is in DRAM");
    }
    inventory.unmovable = vec![Unmovable {
        node: 1,
        ..unmovable(300 << 20)
    }];
    let fix = all(&facts(&inventory))[0].fix.clone();
    assert!(fix.contains("never promoted") && fix.contains("by node"), "{fix}");
}

/// Counters as of the recording `08-swap`: 393,911 anonymous pages reclaimed, 249,724 demoted, 144,187 swapped.
fn swapping_host() -> BTreeMap<String, i64> {
    [
        ("pgsteal_anon", 393_911),
        ("pgdemote_kswapd", 248_753),
        ("pgdemote_direct", 971),
        ("pswpout", 144_187),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

#[test]
fn demotions_that_nobody_counted_are_found_by_the_pages_that_are_missing() {
    let mut inventory = healthy();
    inventory.knobs.push(Knob {
        path: "/sys/kernel/mm/lru_gen/enabled".into(),
        value: Some("0x0007".into()),
        unavailable: None,
    });
    let mut facts = facts(&inventory);
    facts.vmstat = swapping_host();
    assert_eq!(ids_of(&all(&facts)), ["mglru-on"]);
    facts.vmstat.insert("pgdemote_kswapd".into(), 0);
    let found = all(&facts);
    assert_eq!(ids_of(&found), ["demotion-uncounted", "mglru-on"]);
    assert!(
        found[0].cause.contains("multi-generational"),
        "{}",
        found[0].cause
    );
}

#[test]
fn others_who_move_or_watch_memory_are_named() {
    let inventory = healthy();
    let mut facts = facts(&inventory);
    let kdamond = |action: &str| Kdamond {
        index: 0,
        pid: Some(5),
        refresh_ms: Some(1000),
        operations: "paddr".into(),
        actions: vec![Action {
            name: action.into(),
            ..Action::default()
        }],
    };
    facts.kdamonds = vec![kdamond("stat")];
    assert_eq!(ids_of(&all(&facts)), ["damon-in-use"]);
    facts.kdamonds = vec![kdamond("migrate_hot")];
    assert_eq!(ids_of(&all(&facts)), ["two-promoters", "damon-in-use"]);
    for never in [None, Some(0)] {
        facts.kdamonds[0].refresh_ms = never;
        let found = all(&facts);
        assert_eq!(
            ids_of(&found),
            ["two-promoters", "damon-in-use", "damon-schemes-unseen"]
        );
        assert!(found[2].cause.contains("kdamond 0") && found[2].fix.contains("update_schemes_stats"));
    }
    facts.kdamonds = vec![kdamond("stat")];
    assert_eq!(ids_of(&all(&facts)), ["damon-in-use"], "there is nothing to see");
    let mut inventory = healthy();
    inventory.knobs.push(Knob {
        path: "/sys/module/damon_reclaim/parameters/enabled".into(),
        value: Some("Y".into()),
        unavailable: None,
    });
    assert_eq!(ids(&inventory), ["damon-in-use"]);
}

#[test]
fn services_that_may_not_use_the_slower_node_are_named() {
    let inventory = healthy();
    let mut facts = facts(&inventory);
    facts.barred = vec![("host/db".into(), vec![0])];
    assert_eq!(
        ids_of(&all(&facts)),
        Vec::<&str>::new(),
        "the slower node is allowed"
    );
    facts.barred = (0..7).map(|index| (format!("host/s{index}"), vec![1])).collect();
    let found = all(&facts);
    assert_eq!(ids_of(&found), ["cpuset-bars-slow-tier"]);
    assert!(
        found[0].cause.contains("host/s4 and 2 more"),
        "{}",
        found[0].cause
    );
}

#[test]
fn the_kernel_that_is_advised_for_cpusets_is_one_that_heeds_them_here() {
    let mut inventory = healthy();
    inventory.kernel_release = "6.15.2".into();
    let fix_of = |inventory: &Inventory| {
        let mut facts = facts(inventory);
        facts.barred = vec![("host/db".into(), vec![1])];
        all(&facts)[0].fix.clone()
    };
    assert!(fix_of(&inventory).contains("Linux 6.16 or later"));
    inventory.kernel_release = "6.17.1".into();
    inventory.nodes.push(Node {
        id: 2,
        ..inventory.nodes[1].clone()
    });
    inventory.tiers[1].nodes.push(2);
    let fix = fix_of(&inventory);
    assert!(fix.contains("Linux 7.0 or later"), "{fix}");
}

#[test]
fn pods_have_their_nodes_of_the_kubelet() {
    let inventory = healthy();
    let mut facts = facts(&inventory);
    facts.barred = vec![("shop/db".into(), vec![1]), ("host/web".into(), vec![1])];
    let fix_of = |facts: &Facts<'_>| all(facts)[0].fix.clone();
    assert!(!fix_of(&facts).contains("kubelet"));
    facts.in_pods.insert("shop/db".into());
    let fix = fix_of(&facts);
    assert!(
        fix.contains("kubelet") && fix.contains("AllowedMemoryNodes="),
        "{fix}"
    );
    facts.barred.truncate(1);
    let fix = fix_of(&facts);
    assert!(
        fix.contains("Memory Manager") && !fix.contains("AllowedMemoryNodes="),
        "{fix}"
    );
}

#[test]
fn settings_that_surprise_are_told() {
    let mut inventory = healthy();
    inventory.knobs.push(Knob {
        path: "/sys/kernel/mm/lru_gen/min_ttl_ms".into(),
        value: Some("1000".into()),
        unavailable: None,
    });
    assert_eq!(ids(&inventory), ["mglru-min-ttl"]);
    let mut inventory = healthy();
    inventory.swaps[0].rotational = Some(true);
    assert_eq!(ids(&inventory), ["swap-on-disk"]);
    let mut inventory = healthy();
    inventory.hypervisor = "kvm-guest".into();
    assert_eq!(ids(&inventory), ["guest-topology"]);
}

#[test]
fn memory_that_a_balloon_holds_is_told() {
    let mut inventory = healthy();
    inventory.page_size_bytes = 4096;
    let told = |pages: i64| {
        let mut facts = facts(&inventory);
        facts.vmstat = BTreeMap::from([
            ("balloon_inflate".to_owned(), pages),
            ("balloon_deflate".to_owned(), 0),
        ]);
        ids_of(&all(&facts)).join(" ")
    };
    assert_eq!(told(1 << 17), "memory-ballooned", "512 MiB");
    assert_eq!(told(100), "");
}

#[test]
fn a_device_that_counts_hot_blocks_is_named() {
    let inventory = healthy();
    let mut facts = facts(&inventory);
    facts.devices.hotness = vec![Instance {
        name: "cxl_hmu_mem0.0.0".into(),
        device: "mem0".into(),
    }];
    let found = all(&facts);
    assert_eq!(ids_of(&found), ["cxl-hotness-unit"]);
    assert!(found[0].cause.starts_with("cxl_hmu_mem0.0.0 can count"));
}
