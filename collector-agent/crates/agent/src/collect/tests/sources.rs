//! Sources at slow cadences, placement of services, and rounds over processes.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Generations of the whole host and of one service's group.
const LRU_GEN: &str = "\
memcg     1 /
 node     0
          3     700000       100           8 
          4     650000        20           0 
memcg     2 /a.service
 node     1
          0     90000      10           1 
          1     70000      20           2 
          2     1000       30           3 
";

/// A host with DRAM on node 0 and CXL memory on node 1.
fn tiered_host() -> FakeRoot {
    let root = host();
    root.write("sys/devices/system/node/node0/cpulist", "0\n");
    root.write("sys/devices/system/node/node1/cpulist", "\n");
    root.write("sys/bus/dax/devices/dax0.0/target_node", "1\n");
    root.write("sys/bus/dax/devices/dax0.0/resource", "0x100000000\n");
    root.write("sys/bus/dax/devices/dax0.0/size", "1073741824\n");
    root.write("sys/bus/cxl/devices/region0/resource", "0x100000000\n");
    root.write("sys/bus/cxl/devices/region0/size", "0x40000000\n");
    root.write("sys/bus/cxl/devices/region0/commit", "1\n");
    root
}

const SLOW_FILES: &[(&str, &str)] = &[
    ("proc/buddyinfo", "Node 0, zone DMA32 5 6 7\n"),
    ("proc/pressure/irq", "full avg10=0.00 total=3\n"),
    ("sys/kernel/debug/lru_gen", LRU_GEN),
    ("sys/kernel/debug/zswap/stored_pages", "9\n"),
    ("sys/block/zram0/disksize", "4096\n"),
    ("sys/block/zram0/mm_stat", "40 30 20 0 20 0 0\n"),
    (
        "sys/devices/system/node/node1/access1/initiators/read_latency",
        "270\n",
    ),
    (
        "sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages",
        "4\n",
    ),
    ("sys/bus/event_source/devices/cxl_hmu_mem0.0.0/type", "40\n"),
    ("sys/bus/event_source/devices/cxl_hmu_mem0.0.1/type", "41\n"),
    ("sys/devices/system/memory/block_size_bytes", "8000000\n"),
    ("sys/devices/system/memory/memory0/state", "offline\n"),
    ("sys/module/damon_stat/parameters/enabled", "Y\n"),
    (
        "sys/module/damon_stat/parameters/estimated_memory_bandwidth",
        "77\n",
    ),
    (
        "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
        "always [inherit] never\n",
    ),
    (
        "sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/split",
        "2\n",
    ),
    ("sys/devices/system/cpu/cpu0/cache/index3/level", "3\n"),
    ("sys/devices/system/cpu/cpu0/cache/index3/id", "0\n"),
    ("sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "1000\n"),
    (
        "sys/fs/resctrl/mon_data/mon_L3_00/mbm_local_bytes",
        "Unavailable\n",
    ),
];

/// What the slow sources of [`slow_host`] give.
const SLOW_VALUES: [(&str, Option<i64>); 17] = [
    ("zone:0/DMA32|buddyinfo|free_blocks[2]", Some(7)),
    ("host|pressure.irq|full_total_us", Some(3)),
    ("host|lru_gen|anon_idle_600s[N0]", Some(100)),
    ("host|lru_gen|file_idle_60s[N1]", Some(1)),
    ("service:host/a|lru_gen|anon_idle_60s[N1]", Some(10)),
    ("host|zswap|stored_pages", Some(9)),
    ("host|zram|compr_data_size[zram0]", Some(30)),
    ("node:1|hmat|read_latency_ns[access1]", Some(270)),
    ("node:1|hugepages|nr_hugepages[2048kB]", Some(4)),
    ("host|memory_blocks|offline", Some(1)),
    ("host|damon_stat|estimated_memory_bandwidth", Some(77)),
    ("host|cxl_hmu|instances[mem0]", Some(2)),
    ("host|thp_stats|split[64kB]", Some(2)),
    ("host|dax|target_node[dax0.0]", Some(1)),
    ("host|cxl|region_committed[region0]", Some(1)),
    ("node:0|resctrl|mbm_total_bytes", Some(1000)),
    ("node:0|resctrl|mbm_local_bytes", None),
];

fn slow_host() -> FakeRoot {
    let root = tiered_host();
    for (path, content) in SLOW_FILES {
        root.write(path, content);
    }
    root
}

#[test]
fn slow_sources_are_read_each_under_its_own_key() {
    let collected = collector(&slow_host(), CollectorConfig::default()).collect(stamp(1));
    for (key, expected) in SLOW_VALUES {
        assert_eq!(value(&collected, key), Ok(expected), "{key}");
    }
}

#[test]
fn slow_sources_are_absent_in_between_with_one_layout() {
    let root = slow_host();
    let mut collector = collector(&root, CollectorConfig::default());
    let keys = |collected: &Collected| -> Vec<_> {
        let values = collected.sample.values.iter();
        values.map(|(key, _)| key.clone()).collect()
    };
    let first = keys(&collector.collect(stamp(1)));
    // Seconds, and whether the sources of a minute, of bandwidth and of rare reading are due.
    for (seconds, minute, bandwidth, rare) in [
        (5, false, false, false),
        (12, false, true, false),
        (70, true, true, false),
        (602, true, true, true),
    ] {
        let next = collector.collect(stamp(seconds));
        assert_eq!(keys(&next), first, "one layout at {seconds} s");
        let there = |key: &str| value(&next, key).is_ok_and(|value| value.is_some());
        assert_eq!(there("host|lru_gen|anon_idle_600s[N0]"), minute, "{seconds}");
        assert_eq!(
            there("service:host/a|lru_gen|anon_idle_60s[N1]"),
            minute,
            "{seconds}"
        );
        assert_eq!(there("node:0|resctrl|mbm_total_bytes"), bandwidth, "{seconds}");
        assert_eq!(there("node:1|hmat|read_latency_ns[access1]"), rare, "{seconds}");
    }
}

#[test]
fn every_new_name_is_in_the_catalogue() {
    use tierscope_sample::catalogue;
    for (source, name) in [
        ("buddyinfo", "free_blocks[2]"),
        ("lru_gen", "anon_idle_3600s[N0]"),
        ("zram", "orig_data_size[zram0]"),
        ("thp_stats", "nr_anon[64kB]"),
        ("hugepages", "free_hugepages[2048kB]"),
        ("damon_stat", "memory_idle_ms[p50]"),
        ("resctrl", "mbm_local_bytes"),
        ("hmat", "write_bandwidth_mib_per_s[access0]"),
        ("memory_side_cache", "size[index1]"),
        ("cxl", "aer_correctable[mem0]"),
        ("dax", "is_system_ram[dax0.0]"),
        ("placement", "anon[cxl]"),
        ("io.stat", "rbytes"),
        ("memory.zswap.writeback", "writeback"),
        ("memory.oom_control", "oom_kill"),
        ("numa_maps", "processes_too_large"),
    ] {
        assert!(catalogue::find(source, name).is_some(), "{source}|{name}");
    }
}

#[test]
fn a_service_is_placed_by_its_groups_without_counting_shared_memory_twice() {
    let root = tiered_host();
    root.write(
        "sys/fs/cgroup/a.service/memory.numa_stat",
        "anon N0=60 N1=40\nfile N0=30 N1=10\nshmem N0=5 N1=10\nswapcached N0=1 N1=0\n",
    );
    let collected = collector(&root, CollectorConfig::default()).collect(stamp(1));
    for (key, expected) in [
        ("anon[dram]", 60),
        ("anon[cxl]", 40),
        ("file[dram]", 24),
        ("file[cxl]", 0),
        ("tmpfs[dram]", 5),
        ("tmpfs[cxl]", 10),
    ] {
        let key = format!("service:host/a|placement|{key}");
        assert_eq!(value(&collected, &key), Ok(Some(expected)), "{key}");
    }
}

#[test]
fn a_service_without_groups_of_its_own_is_placed_by_its_processes() {
    let root = tiered_host();
    root.write("proc/10/cgroup", "0::/\n");
    std::fs::remove_dir_all(root.root().join("sys/fs/cgroup/a.service")).unwrap();
    let collected = collector(&root, CollectorConfig::default()).collect(stamp(1));
    assert_eq!(
        value(&collected, "service:host/p|placement|anon[dram]"),
        Ok(Some(4096))
    );
    assert_eq!(
        value(&collected, "service:host/p|placement|anon[cxl]"),
        Ok(Some(8192))
    );
}

#[test]
fn a_host_with_one_class_of_memory_has_no_placement() {
    let root = host();
    std::fs::remove_dir_all(root.root().join("sys/devices/system/node/node1")).unwrap();
    root.write("sys/devices/system/node/online", "0\n");
    root.write("sys/devices/system/node/node0/cpulist", "0\n");
    let collected = collector(&root, CollectorConfig::default()).collect(stamp(1));
    for key in ["placement|anon[dram]", "numa_maps|anon[N0]"] {
        let key = format!("service:host/a|{key}");
        assert_eq!(value(&collected, &key), Err("no such key"));
    }
    assert_eq!(
        value(&collected, "service:host/a|smaps_rollup|Rss"),
        Ok(Some(4096))
    );
}

/// Makes a process that holds `mib` MiB, on a kernel with pages of 4 KiB.
fn grow(root: &FakeRoot, pid: u32, mib: i64) {
    root.write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    root.write(
        &format!("proc/{pid}/statm"),
        &format!("999999999 {} 0 0 0 0 0\n", mib * 256),
    );
}

#[test]
fn a_round_over_large_processes_is_spread_over_its_period() {
    let root = host();
    for (pid, name) in [(10, "a"), (20, "b"), (30, "c"), (31, "c")] {
        add_service(&root, pid, name);
        root.write(&format!("proc/{pid}/cgroup"), &format!("0::/{name}.service\n"));
        grow(&root, pid, 2048);
    }
    let mut collector = collector(&root, CollectorConfig::default());
    let mut read_at: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for seconds in (0..4200).step_by(180) {
        let collected = collector.collect(stamp(seconds + 1));
        for service in ["a", "b", "c"] {
            let key = format!("service:host/{service}|smaps_rollup|processes_read");
            if let Ok(Some(count)) = value(&collected, &key) {
                assert_eq!(count, if service == "c" { 2 } else { 1 }, "whole sums alone");
                read_at.entry(service).or_default().push(seconds);
            }
        }
    }
    let rounds: Vec<usize> = read_at.values().map(Vec::len).collect();
    assert_eq!(
        rounds,
        [2, 2, 2],
        "each service once in each round of 30 minutes: {read_at:?}"
    );
    let firsts: BTreeSet<i64> = read_at.values().map(|times| times[0]).collect();
    assert_eq!(
        firsts.len(),
        3,
        "services are read at different times: {read_at:?}"
    );
    assert!(firsts.iter().all(|seconds| *seconds <= 1800), "{read_at:?}");
}

#[test]
fn a_process_that_is_too_large_is_counted_and_leaves_room_for_others() {
    let root = host();
    add_service(&root, 20, "b");
    grow(&root, 10, 100 << 10);
    grow(&root, 20, 10);
    let collected = collector(&root, CollectorConfig::default()).collect(stamp(1));
    let of = |service: &str, name: &str| value(&collected, &format!("service:host/{service}|{name}"));
    assert_eq!(of("a", "numa_maps|processes_too_large"), Ok(Some(1)));
    assert_eq!(of("a", "smaps_rollup|Rss"), Err("no such key"));
    assert_eq!(of("b", "smaps_rollup|Rss"), Ok(Some(4096)));
}

/// A kernel thread with two schemes, which moves cold memory to node 1.
fn with_schemes(root: &FakeRoot, refresh_ms: &str) {
    let base = "sys/kernel/mm/damon/admin/kdamonds/0";
    root.write(&format!("{base}/state"), "on\n");
    root.write(&format!("{base}/refresh_ms"), refresh_ms);
    for (scheme, action) in [("0", "migrate_cold"), ("1", "pageout")] {
        let directory = format!("{base}/contexts/0/schemes/{scheme}");
        root.write(&format!("{directory}/action"), action);
        root.write(&format!("{directory}/target_nid"), "1\n");
        root.write(&format!("{directory}/stats/sz_applied"), "4096\n");
    }
}

const MOVED: &str = "host|damos|sz_applied[k0.c0.s0.migrate_cold.N1]";
const RECLAIMED: &str = "host|damos|sz_applied[k0.c0.s1.pageout]";
const APPLIED: &str = "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/stats/sz_applied";

#[test]
fn statistics_of_schemes_that_the_kernel_refreshes_have_values_even_when_nothing_moves() {
    let root = host();
    with_schemes(&root, "1000\n");
    let mut collector = collector(&root, CollectorConfig::default());
    for second in [1, 11, 10_000] {
        let collected = collector.collect(stamp(second));
        assert_eq!(value(&collected, MOVED), Ok(Some(4096)), "{second}");
        let refreshed = "host|damos|stats_refreshed[k0.c0.s1.pageout]";
        assert_eq!(value(&collected, refreshed), Ok(Some(1)));
    }
    root.write("sys/kernel/mm/damon/admin/kdamonds/0/state", "off\n");
    let collected = collector.collect(stamp(10_010));
    assert_eq!(value(&collected, MOVED), Err("no such key"));
}

#[test]
fn statistics_that_nobody_refreshes_are_absent_and_come_back_when_they_change() {
    let root = host();
    with_schemes(&root, "0\n");
    let mut collector = collector(&root, CollectorConfig::default());
    assert_eq!(value(&collector.collect(stamp(0)), MOVED), Ok(None));
    root.write(APPLIED, "8192\n");
    let changed = collector.collect(stamp(60));
    assert_eq!(value(&changed, MOVED), Ok(Some(8192)));
    assert_eq!(value(&changed, RECLAIMED), Ok(None), "each scheme has its own");
    assert_eq!(value(&collector.collect(stamp(660)), MOVED), Ok(Some(8192)));
    assert_eq!(value(&collector.collect(stamp(670)), MOVED), Ok(None), "too old");
    let refreshed = "host|damos|stats_refreshed[k0.c0.s0.migrate_cold.N1]";
    assert_eq!(value(&collector.collect(stamp(680)), refreshed), Ok(Some(0)));
}

#[test]
fn a_scheme_that_is_replaced_leaves_no_name_behind() {
    let root = host();
    with_schemes(&root, "1000\n");
    let mut collector = collector(&root, CollectorConfig::default());
    collector.collect(stamp(1));
    let action = "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/action";
    root.write(action, "migrate_hot\n");
    let between = collector.collect(stamp(2));
    assert_eq!(value(&between, MOVED), Ok(None), "not read each second");
    let collected = collector.collect(stamp(11));
    assert_eq!(value(&collected, MOVED), Err("no such key"));
    let now = "host|damos|sz_applied[k0.c0.s0.migrate_hot.N1]";
    assert_eq!(value(&collected, now), Ok(Some(4096)));
    assert_eq!(value(&collected, RECLAIMED), Ok(Some(4096)));
}
