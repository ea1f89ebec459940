//! Each kind of memory by the evidence that tells it, and what stays unknown.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::*;
use crate::cxl::Region;
use crate::devices::Dax;
use crate::nodes::Ratings;

const GIB: i64 = 1 << 30;

fn told(facts: &Facts, node: &Node, ranges: &[(u64, u64)]) -> (Class, Certainty, String) {
    let memory = classify(facts, node, ranges);
    (memory.class, memory.certainty, memory.evidence)
}

fn node(id: u32, cpulist: &str, latency_ns: Option<u32>, bandwidth: Option<u32>) -> Node {
    Node {
        id,
        cpulist: cpulist.to_owned(),
        distances: vec![10, 40],
        ratings: Ratings {
            read_latency_ns: latency_ns,
            read_bandwidth_mib_per_s: bandwidth,
            ..Ratings::default()
        },
        ..Node::default()
    }
}

fn facts(slow: &Node) -> Facts {
    Facts {
        nodes: vec![node(0, "0-1", Some(90), Some(40960)), slow.clone()],
        ..Facts::default()
    }
}

fn dax(path: Option<&str>) -> Dax {
    Dax {
        name: "dax0.0".to_owned(),
        target_node: Some(1),
        resource: Some(0x5_e000_0000),
        size_bytes: Some(1 << 30),
        device_path: path.map(str::to_owned),
        ..Dax::default()
    }
}

#[test]
fn a_region_is_found_by_memory_or_by_the_device_that_feeds_the_node() {
    let slow = node(1, "", None, None);
    let mut facts = facts(&slow);
    facts.regions = vec![Region {
        name: "region0".into(),
        resource: Some(0x5_e000_0000),
        size_bytes: Some(1 << 30),
        ..Region::default()
    }];
    let found = |facts: &Facts, ranges: &[(u64, u64)]| region_of(facts, &slow, ranges).is_some();
    assert!(found(&facts, &[(0x5_e000_0000, 1 << 27)]));
    assert!(!found(&facts, &[(0, 1 << 27)]));
    facts.dax = vec![dax(None)];
    assert!(found(&facts, &[]));
}

#[test]
fn memory_inside_a_cxl_region_is_cxl() {
    let slow = node(1, "", None, None);
    let mut facts = facts(&slow);
    facts.regions = vec![Region {
        name: "region0".into(),
        resource: Some(0x5_e000_0000),
        size_bytes: Some(1 << 30),
        ..Region::default()
    }];
    let (class, certainty, evidence) = told(&facts, &slow, &[(0x5_e000_0000, 1 << 27)]);
    assert_eq!(
        (class, certainty, evidence.as_str()),
        (Class::Cxl, Certainty::Certain, "its memory lies in CXL region0")
    );
    facts.dax = vec![dax(None)];
    let (class, _, evidence) = told(&facts, &slow, &[]);
    assert_eq!(
        (class, evidence.as_str()),
        (Class::Cxl, "dax0.0 in CXL region0 feeds the node")
    );
}

#[test]
fn the_bus_of_a_dax_device_decides() {
    let slow = node(1, "", None, None);
    let mut facts = facts(&slow);
    let class = |facts: &Facts| classify(facts, &slow, &[]).class;
    facts.dax = vec![dax(Some(
        "../../../devices/platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0/dax0.0",
    ))];
    assert_eq!(class(&facts), Class::Cxl);
    facts.dax = vec![dax(Some(
        "../../../devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region0/dax0.0",
    ))];
    assert_eq!(class(&facts), Class::Pmem);
    facts.dax = vec![dax(Some("../../../devices/platform/hmem.0/dax0.0"))];
    assert_eq!(class(&facts), Class::Unknown);
}

#[test]
fn ratings_tell_hbm_from_expansion_memory() {
    for latency_ns in [80, 100, 130] {
        let hbm = node(1, "", Some(latency_ns), Some(400_000));
        assert_eq!(
            classify(&facts(&hbm), &hbm, &[]).class,
            Class::Hbm,
            "{latency_ns}"
        );
    }
    let slow = node(1, "", Some(270), Some(10240));
    let mut with_dax = facts(&slow);
    with_dax.dax = vec![dax(None)];
    let (class, certainty, evidence) = told(&with_dax, &slow, &[]);
    assert_eq!((class, certainty), (Class::Cxl, Certainty::Likely));
    assert!(evidence.contains("270 ns against 90 ns"), "{evidence}");
}

#[test]
fn a_node_with_cpus_is_dram_and_a_bare_one_is_unknown() {
    let slow = node(1, "", None, None);
    let facts = facts(&slow);
    assert_eq!(classify(&facts, &facts.nodes[0], &[]).class, Class::Dram);
    let (class, certainty, evidence) = told(&facts, &slow, &[]);
    assert_eq!((class, certainty), (Class::Unknown, Certainty::NotKnown));
    assert!(evidence.contains("nothing tells"), "{evidence}");
}

#[test]
fn a_firmware_window_makes_a_bare_node_cxl() {
    let slow = node(1, "", None, None);
    let mut facts = facts(&slow);
    facts.windows = vec![(0x1_0000_0000, 0x1_0000_0000)];
    assert_eq!(
        classify(&facts, &slow, &[(0x1_8000_0000, 0x800_0000)]).class,
        Class::Cxl
    );
}

/// A node without CPUs, with this much memory, at these distances.
fn bare(id: u32, memory_bytes: i64, distances: &[u32]) -> Node {
    Node {
        id,
        memory_bytes: Some(memory_bytes),
        distances: distances.to_vec(),
        ..Node::default()
    }
}

#[test]
fn gpu_memory_is_told_by_its_driver_by_power9_numbers_and_by_the_shape_of_grace() {
    let gpu = bare(1, 95 * GIB, &[80, 10]);
    let mut with_driver = facts(&gpu);
    with_driver.gpus.memory_nodes.insert(1);
    assert_eq!(told(&with_driver, &gpu, &[]).1, Certainty::Certain);
    let power9 = bare(254, 15 * GIB, &[80, 10]);
    let (class, certainty, _) = told(&facts(&power9), &power9, &[]);
    assert_eq!((class, certainty), (Class::Gpu, Certainty::Likely));
    let mut grace = facts(&gpu);
    grace.nodes.extend((2..9).map(|id| bare(id, 0, &[80, 255])));
    assert_eq!(classify(&grace, &gpu, &[]).class, Class::Gpu);
    assert_eq!(classify(&grace, &grace.nodes[2], &[]).class, Class::Unknown);
    grace.nodes.truncate(5);
    assert_eq!(
        classify(&grace, &gpu, &[]).class,
        Class::Unknown,
        "nodes that were hot-removed are empty, too"
    );
}

#[test]
fn hbm_without_ratings_is_told_by_the_processor_alone() {
    let beside = bare(1, 64 * GIB, &[13, 10]);
    let mut facts = facts(&beside);
    facts.nodes[0].ratings = Ratings::default();
    facts.dax = vec![dax(Some("../../../devices/platform/hmem.0/dax0.0"))];
    assert_eq!(
        classify(&facts, &beside, &[]).class,
        Class::Unknown,
        "CXL memory has such distances, too"
    );
    facts.cpu_model = "Intel(R) Xeon(R) CPU Max 9480".to_owned();
    let (class, certainty, evidence) = told(&facts, &beside, &[]);
    assert_eq!((class, certainty), (Class::Hbm, Certainty::Likely));
    assert!(evidence.starts_with("dax0.0 (firmware-declared)"), "{evidence}");
    assert_eq!(classify(&facts, &facts.nodes[0], &[]).class, Class::Dram);
}

#[test]
fn what_a_hypervisor_shows_as_a_slow_device_is_not_certain() {
    let slow = node(1, "", None, None);
    let mut facts = facts(&slow);
    for (path, class) in [
        ("../../../devices/ACPI0012:00/ndbus0/region0/dax0.0", Class::Pmem),
        (
            "../../../devices/ACPI0017:00/root0/decoder0.0/region0/dax_region0/dax0.0",
            Class::Cxl,
        ),
    ] {
        facts.dax = vec![dax(Some(path))];
        facts.guest = None;
        assert_eq!(told(&facts, &slow, &[]).1, Certainty::Certain);
        facts.guest = Some("kvm-guest");
        let (told_class, certainty, evidence) = told(&facts, &slow, &[]);
        assert_eq!((told_class, certainty), (class, Certainty::Likely));
        assert!(
            evidence.ends_with("as the hypervisor of this kvm-guest shows it"),
            "{evidence}"
        );
    }
    let own = node(0, "0-1", None, None);
    assert_eq!(
        told(&facts, &own, &[]).1,
        Certainty::Certain,
        "memory of its processors"
    );
}

#[test]
fn nvdimms_and_volumes_that_are_dram_are_no_slower_memory() {
    let slow = node(1, "", None, None);
    let mut facts = facts(&slow);
    facts.dax = vec![dax(Some("../../../devices/ACPI0012:00/ndbus0/region0/dax0.0"))];
    facts.nvdimms_are_dram = true;
    let (class, certainty, _) = told(&facts, &slow, &[]);
    assert_eq!((class, certainty), (Class::Dram, Certainty::Likely));
    facts.dax[0].target_node = Some(0);
    facts.dax[0].driver = Some("kmem".to_owned());
    let own = facts.nodes[0].clone();
    assert_eq!(
        classify(&facts, &own, &[]).parts,
        [],
        "DRAM in a node of DRAM is no part"
    );
    facts.nvdimms_are_dram = false;
    facts.dax = vec![dax(Some(
        "../../../devices/platform/ibm,persistent-memory:ibm,pmemory@44100001/ndbus0/region0/dax0.0",
    ))];
    assert_eq!(told(&facts, &slow, &[]).0, Class::Dram);
}

#[test]
fn a_host_that_has_nothing_but_hbm_has_no_dram() {
    let facts = Facts {
        nodes: vec![node(0, "0-1", None, None)],
        dimms: crate::dimms::Dimms {
            populated: 8,
            hbm: 8,
            ..crate::dimms::Dimms::default()
        },
        ..Facts::default()
    };
    assert_eq!(classify(&facts, &facts.nodes[0], &[]).class, Class::Hbm);
}

#[test]
fn memory_of_devices_within_a_node_of_cpus_is_a_part_of_it() {
    let mut own = node(0, "0-31", None, None);
    own.memory_bytes = Some(318 * GIB);
    let mut facts = Facts {
        nodes: vec![own.clone()],
        ..Facts::default()
    };
    facts.dax = vec![Dax {
        target_node: Some(0),
        driver: Some("kmem".to_owned()),
        size_bytes: Some(126 << 30),
        ..dax(Some("../../../devices/ACPI0012:00/ndbus0/region0/dax0.0"))
    }];
    let memory = classify(&facts, &own, &[]);
    assert_eq!(memory.class, Class::Dram);
    let part = |memory: &Memory| (memory.parts[0].class, memory.parts[0].bytes);
    assert_eq!(part(&memory), (Class::Pmem, 126 << 30));
    facts.dax[0].driver = Some("device_dax".to_owned());
    assert_eq!(classify(&facts, &own, &[]).parts, [], "a program maps it");
    facts.regions = vec![Region {
        name: "region0".into(),
        resource: Some(1 << 40),
        size_bytes: Some(64 << 30),
        ..Region::default()
    }];
    let memory = classify(&facts, &own, &[(0, 254 << 30), (1 << 40, 64 << 30)]);
    assert_eq!(
        (memory.class, part(&memory)),
        (Class::Dram, (Class::Cxl, 64 << 30))
    );
    let all = classify(&facts, &own, &[(1 << 40, 32 << 30)]);
    assert_eq!((all.class, all.parts.len()), (Class::Cxl, 0));
}

#[test]
fn two_kinds_of_devices_in_one_node_are_told_apart() {
    let mut slow = node(1, "", None, None);
    slow.memory_bytes = Some(192 * GIB);
    let mut facts = facts(&slow);
    let feeding = |path: &str, gib: u64| Dax {
        driver: Some("kmem".to_owned()),
        size_bytes: Some(gib << 30),
        resource: None,
        ..dax(Some(path))
    };
    facts.dax = vec![
        feeding(
            "../../../devices/platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0/dax0.0",
            64,
        ),
        feeding("../../../devices/ACPI0012:00/ndbus0/region0/dax1.0", 128),
    ];
    let memory = classify(&facts, &slow, &[]);
    let parts: Vec<(Class, u64)> = memory.parts.iter().map(|part| (part.class, part.bytes)).collect();
    assert_eq!(
        (memory.class, parts),
        (Class::Cxl, vec![(Class::Pmem, 128 << 30)])
    );
}

#[test]
fn processors_that_are_offline_or_not_started_are_no_sign_of_slow_memory() {
    let mut offline = bare(1, GIB, &[20, 10]);
    offline.has_offline_cpus = true;
    assert_eq!(classify(&facts(&offline), &offline, &[]).class, Class::Dram);
    let crash = bare(1, GIB, &[20, 10]);
    let mut facts = facts(&crash);
    facts.nodes[0].ratings = Ratings::default();
    facts.cpu_limit = Some("nr_cpus=1".to_owned());
    facts.gpus.near_nodes.insert(1);
    let (class, _, evidence) = told(&facts, &crash, &[]);
    assert_eq!(class, Class::Unknown);
    assert!(evidence.contains("nr_cpus=1"), "{evidence}");
}

#[test]
fn a_tree_without_lists_of_cpus_has_dram_only_in_its_only_node() {
    let mut facts = Facts {
        nodes: vec![bare(0, GIB, &[10, 20]), bare(1, 0, &[20, 10])],
        ..Facts::default()
    };
    let class = |facts: &Facts| classify(facts, &facts.nodes[0], &[]).class;
    assert_eq!(class(&facts), Class::Dram);
    facts.nodes[1].memory_bytes = Some(GIB);
    assert_eq!(class(&facts), Class::Unknown);
}

#[test]
fn memory_that_is_all_of_the_modules_is_dram_unless_something_else_shows() {
    let cold = bare(1, 16 * GIB, &[16, 10]);
    let mut facts = facts(&cold);
    facts.nodes[0].memory_bytes = Some(16 * GIB);
    facts.nodes[0].ratings = Ratings::default();
    facts.dimms = crate::dimms::Dimms {
        populated: 4,
        volatile_bytes: Some(32 << 30),
        ..crate::dimms::Dimms::default()
    };
    let class = |facts: &Facts| classify(facts, &cold, &[]).class;
    assert_eq!(class(&facts), Class::Dram);
    let changes: [fn(&mut Facts); 6] = [
        |facts| facts.has_cxl = true,
        |facts| facts.guest = Some("kvm-guest"),
        |facts| facts.windows = vec![(1 << 40, 1 << 30)],
        |facts| facts.dax = vec![dax(Some("../../../devices/platform/hmem.0/dax0.0"))],
        |facts| facts.dimms.volatile_bytes = Some(31 << 30),
        |facts| facts.dimms.hbm = 1,
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut other = facts.clone();
        change(&mut other);
        assert_eq!(class(&other), Class::Unknown, "change {number}");
    }
    facts.dimms = crate::dimms::Dimms::default();
    facts.guest = Some(crate::guest::POWERVM);
    assert_eq!(class(&facts), Class::Dram);
}

#[test]
fn special_purpose_memory_of_the_command_line_alone_is_dram() {
    let slow = node(1, "", None, None);
    let mut facts = facts(&slow);
    facts.dax = vec![dax(Some("../../../devices/platform/hmem.0/dax0.0"))];
    let class = |facts: &Facts| classify(facts, &slow, &[]).class;
    assert_eq!(class(&facts), Class::Unknown);
    facts.special_by_command = vec![(0x5_e000_0000, 1 << 30)];
    assert_eq!(class(&facts), Class::Dram);
    facts.windows = vec![(0x5_e000_0000, 1 << 30)];
    assert_eq!(class(&facts), Class::Unknown, "firmware calls it CXL");
    facts.windows.clear();
    facts.special_by_command = vec![(0x15_e000_0000, 1 << 30)];
    assert_eq!(class(&facts), Class::Unknown, "it is elsewhere");
}

#[test]
fn modules_of_a_guest_do_not_bound_its_memory() {
    let mut own = node(0, "0-1", None, None);
    own.memory_bytes = Some(16 * GIB);
    let mut facts = Facts {
        nodes: vec![own.clone()],
        dimms: crate::dimms::Dimms {
            populated: 1,
            volatile_bytes: Some(4 << 30),
            ..crate::dimms::Dimms::default()
        },
        ..Facts::default()
    };
    assert_eq!(told(&facts, &own, &[]).1, Certainty::Likely);
    facts.guest = Some("vmware-guest");
    assert_eq!(told(&facts, &own, &[]).1, Certainty::Certain);
}
