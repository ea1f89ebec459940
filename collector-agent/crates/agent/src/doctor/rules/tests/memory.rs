//! Rules about what memory is: advice follows the class, and what is not known is advised on by nobody.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crate::doctor::hazards::SWAP;
use tierscope_sample::inventory::NodePart;
use tierscope_sysfs::cxl::{Memory, Region};
use tierscope_sysfs::devices::Dax;
use tierscope_sysfs::memory_blocks::Blocks;

use super::*;

/// A healthy host whose node without CPUs is of this class, with both settings off.
fn with_lower(class: &str) -> Inventory {
    let mut inventory = healthy();
    inventory.nodes[1].tier_class = class.to_owned();
    set(&mut inventory, DEMOTION, "false");
    set(&mut inventory, BALANCING, "1");
    inventory
}

#[test]
fn only_slower_memory_asks_for_tiering() {
    assert_eq!(ids(&with_lower("pmem")), ["demotion-off", "promotion-off"]);
    assert_eq!(ids(&with_lower("hbm")), ["faster-memory-below-dram"]);
    assert_eq!(ids(&with_lower("gpu")), ["gpu-memory-node"]);
    assert_eq!(ids(&with_lower("unknown")), ["lower-tier-not-known"]);
    for class in ["hbm", "gpu", "unknown"] {
        let inventory = with_lower(class);
        let advice: Vec<String> = all(&facts(&inventory))
            .into_iter()
            .map(|finding| finding.fix)
            .collect();
        assert!(!advice.concat().contains("echo 1"), "{class}: {advice:?}");
    }
}

#[test]
fn tiering_that_is_on_over_faster_memory_is_a_warning() {
    let mut inventory = healthy();
    inventory.nodes[1].tier_class = "hbm".to_owned();
    let findings = all(&facts(&inventory));
    assert_eq!(findings[0].id, "faster-memory-below-dram");
    assert_eq!(findings[0].severity, "warning");
    assert!(findings[0].fix.contains("echo 0"), "{}", findings[0].fix);
    inventory.nodes[1].tier_certainty = "likely".to_owned();
    assert_eq!(all(&facts(&inventory))[0].confidence, LIKELY);
}

#[test]
fn faster_memory_above_dram_is_no_missing_tier() {
    let mut inventory = healthy();
    inventory.nodes[1].tier_class = "hbm".to_owned();
    inventory.tiers.reverse();
    for (rank, tier) in (0_u32..).zip(&mut inventory.tiers) {
        tier.rank = rank;
    }
    assert_eq!(ids(&inventory), ["faster-memory-above-dram"]);
}

#[test]
fn memory_of_a_device_within_a_node_of_cpus_is_found() {
    let mut inventory = healthy();
    inventory.nodes[0].parts = vec![NodePart {
        tier_class: "pmem".into(),
        bytes: 1 << 29,
        evidence: "dax0.0 on an NVDIMM bus feeds the node".into(),
    }];
    let findings = all(&facts(&inventory));
    assert_eq!(findings[0].id, "mixed-node");
    assert!(
        findings[0].cause.contains("0.5 GiB dram and 0.5 GiB pmem"),
        "{}",
        findings[0].cause
    );
}

#[test]
fn processors_that_are_not_started_make_no_slower_memory() {
    let mut inventory = healthy();
    inventory.nodes[1].tier_class = "unknown".to_owned();
    inventory.tiers.truncate(1);
    inventory.tiers[0].nodes = vec![0, 1];
    assert_eq!(ids(&inventory), ["cpuless-node-in-top-tier", "one-tier"]);
    let findings = all(&Facts {
        cpu_limit: Some("nr_cpus=1".to_owned()),
        ..facts(&inventory)
    });
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].id, "one-tier");
}

#[test]
fn counted_moves_forbid_words_of_one_tier() {
    let mut inventory = healthy();
    inventory.tiers.truncate(1);
    inventory.swaps.clear();
    let mut facts = facts(&inventory);
    let ids =
        |facts: &Facts<'_>| -> Vec<String> { all(facts).into_iter().map(|finding| finding.id).collect() };
    assert_eq!(ids(&facts), ["one-tier", "no-swap"]);
    facts.vmstat.insert("pgdemote_kswapd".to_owned(), 9);
    assert_eq!(ids(&facts), Vec::<String>::new());
}

#[test]
fn what_a_tree_lacks_is_told_once_and_nothing_is_concluded_of_it() {
    let mut inventory = healthy();
    inventory.tiers.clear();
    inventory.swaps.clear();
    inventory.cgroup_version = "none".into();
    inventory.tier_order = "not_in_tree".into();
    inventory.tree = "sos 4.12.1".into();
    let findings = all(&Facts {
        pressure: Pressure::Absent,
        order: MemoryOrder::of(&inventory),
        lacks: vec!["memory tiers", CONTROL_GROUPS, PRESSURE, SWAP],
        ..facts(&inventory)
    });
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].id, "not-in-tree");
    assert!(findings[0].cause.contains("sos 4.12.1"), "{}", findings[0].cause);
}

#[test]
fn memory_of_regions_without_dax_devices_is_told() {
    let mut inventory = healthy();
    inventory.nodes.truncate(1);
    let region = |mode: &str| Region {
        name: "region0".into(),
        mode: mode.into(),
        resource: Some(64 << 30),
        size_bytes: Some(64 << 30),
        committed: Some(true),
        ..Region::default()
    };
    let dax = |gib: u64| Dax {
        name: "dax0.0".into(),
        device_path: Some("../../../devices/root0/decoder0.0/region0/dax_region0/dax0.0".into()),
        size_bytes: Some(gib << 30),
        driver: Some("kmem".into()),
        ..Dax::default()
    };
    let idle = |inventory: &Inventory, mode: &str, dax: &[Dax]| {
        let mut facts = facts(inventory);
        facts.devices.regions = vec![region(mode)];
        facts.devices.dax = dax.to_vec();
        let found = all(&facts)
            .into_iter()
            .find(|finding| finding.id == "device-memory-idle");
        found.map(|finding| finding.cause)
    };
    let cause = idle(&inventory, "ram", &[]).unwrap_or_default();
    assert!(cause.contains("65536 MiB of region0"), "{cause}");
    let cause = idle(&inventory, "ram", &[dax(32)]).unwrap_or_default();
    assert!(cause.contains("32768 MiB of region0"), "{cause}");
    assert_eq!(idle(&inventory, "ram", &[dax(64)]), None);
    assert_eq!(
        idle(&inventory, "pmem", &[]),
        None,
        "that has a finding of its own"
    );
    inventory.nodes.push(Node {
        id: 1,
        memory_bytes: Some(63 << 30),
        tier_class: "cxl".into(),
        ..Node::default()
    });
    assert_eq!(idle(&inventory, "ram", &[]), None, "firmware brought it online");
}

#[test]
fn a_region_of_persistent_capacity_is_no_memory_yet() {
    let inventory = healthy();
    let told = |has_pmem_disk: bool| {
        let mut facts = facts(&inventory);
        facts.devices.has_pmem_disk = has_pmem_disk;
        facts.devices.cxl = vec![Memory {
            name: "mem0".into(),
            ram_bytes: Some(0),
            pmem_bytes: Some(64 << 30),
            ..Memory::default()
        }];
        facts.devices.regions = vec![Region {
            mode: "pmem".into(),
            committed: Some(true),
            ..Region::default()
        }];
        all(&facts)
            .iter()
            .any(|finding| finding.id == "cxl-persistent-only")
    };
    assert!(told(false));
    assert!(!told(true), "it is a disk");
}

#[test]
fn standby_memory_of_a_partition_is_no_memory_that_lies_idle() {
    let mut inventory = healthy();
    let told = |inventory: &Inventory, configures_blocks: bool| {
        let mut facts = facts(inventory);
        facts.devices.configures_blocks = configures_blocks;
        facts.devices.blocks = Some(Blocks {
            block_bytes: Some(1 << 27),
            online: Some(16),
            offline: Some(8),
        });
        let first = all(&facts).swap_remove(0);
        (first.id, first.severity)
    };
    let offline = ("memory-offline".to_owned(), "warning".to_owned());
    assert_eq!(told(&inventory, false), offline);
    inventory.architecture = "s390x".into();
    assert_eq!(
        told(&inventory, false),
        ("memory-standby".to_owned(), "info".to_owned())
    );
    assert_eq!(
        told(&inventory, true),
        offline,
        "it was configured, and is not used"
    );
}

#[test]
fn persistent_capacity_and_half_a_device_are_told() {
    let inventory = healthy();
    let mut facts = facts(&inventory);
    facts.devices.cxl = vec![Memory {
        name: "mem0".into(),
        ram_bytes: Some(0),
        pmem_bytes: Some(64 << 30),
        ..Memory::default()
    }];
    facts.devices.dax = vec![Dax {
        name: "dax0.0".into(),
        target_node: Some(1),
        size_bytes: Some(2 << 30),
        driver: Some("kmem".into()),
        ..Dax::default()
    }];
    let findings = all(&facts);
    let ids: Vec<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["memory-offline", "cxl-persistent-only"]);
    assert!(
        findings[0].cause.contains("2048 MiB, of which 1024 MiB"),
        "{}",
        findings[0].cause
    );
}

#[test]
fn struct_pages_of_a_large_tier_are_told_with_and_without_tiers() {
    let mut inventory = healthy();
    inventory.page_size_bytes = 4096;
    inventory.nodes[1].memory_bytes = Some(8 << 30);
    let cause = |inventory: &Inventory| {
        let findings = all(&facts(inventory)).into_iter();
        findings
            .filter(|finding| finding.id == "large-slow-tier")
            .map(|finding| finding.cause)
            .next()
    };
    let told = cause(&inventory).unwrap();
    assert!(told.contains("0.1 GiB of struct pages, 12 % of DRAM"), "{told}");
    inventory.tiers.clear();
    assert_eq!(cause(&inventory), Some(told));
    for (path, value) in [
        ("/sys/module/memory_hotplug/parameters/memmap_on_memory", "Y"),
        ("/sys/bus/dax/devices/dax0.0/memmap_on_memory", "0"),
    ] {
        inventory.knobs.push(Knob {
            path: path.into(),
            value: Some(value.into()),
            unavailable: None,
        });
    }
    assert!(cause(&inventory).unwrap().contains("12 %"), "the device says no");
    set(
        &mut inventory,
        "/sys/bus/dax/devices/dax0.0/memmap_on_memory",
        "1",
    );
    assert!(!cause(&inventory).unwrap().contains("12 %"));
    inventory.nodes[1].memory_bytes = Some(4 << 30);
    assert_eq!(cause(&inventory), None);
}

#[test]
fn compressed_pages_of_a_lower_tier_are_told_on_kernels_that_misplace_them() {
    let mut inventory = healthy();
    inventory.kernel_release = "6.12.9".into();
    inventory.knobs.push(Knob {
        path: "/sys/module/zswap/parameters/enabled".into(),
        value: Some("Y".into()),
        unavailable: None,
    });
    assert_eq!(ids(&inventory), ["zswap-placement"]);
    set(&mut inventory, "/sys/module/zswap/parameters/enabled", "N");
    assert_eq!(ids(&inventory), Vec::<String>::new());
    inventory.swaps[0].name = "/dev/zram0".into();
    assert_eq!(
        ids(&inventory),
        ["zswap-placement"],
        "zram has its memory from there too"
    );
    inventory.kernel_release = "6.16.0".into();
    assert_eq!(ids(&inventory), Vec::<String>::new());
}

#[test]
fn memory_that_hardware_caches_is_no_dram_of_that_size() {
    let mut inventory = healthy();
    inventory.tiers.truncate(1);
    let mut facts = facts(&inventory);
    facts.memory_side_caches = vec![(0, 128 << 30)];
    let findings = all(&facts);
    let fix_of = |id: &str| {
        findings
            .iter()
            .find(|finding| finding.id == id)
            .map(|finding| finding.fix.as_str())
    };
    assert!(fix_of("memory-side-cache").is_some());
    assert_eq!(fix_of("one-tier"), Some("Nothing to do."));
}

#[test]
fn offline_memory_is_not_all_brought_online_as_movable_where_dram_is_small() {
    for (offline, is_told) in [(1, false), (64, true)] {
        let inventory = healthy();
        let mut facts = facts(&inventory);
        facts.devices.blocks = Some(tierscope_sysfs::memory_blocks::Blocks {
            offline: Some(offline),
            block_bytes: Some(128 << 20),
            ..Default::default()
        });
        let findings = all(&facts);
        let fix = &findings
            .iter()
            .find(|finding| finding.id == "memory-offline")
            .unwrap()
            .fix;
        assert_eq!(fix.contains("online_kernel"), is_told, "{fix}");
    }
}
