//! Tests of whole collections over made-up hosts.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod sources;

use tierscope_host::names::NamePolicy;

use super::*;
use crate::fake_root::FakeRoot;

const ZONEINFO: &str = "\
Node 0, zone  DMA32
  per-node stats
      pgdemote_kswapd 7
  pages free     10
        min      1
Node 1, zone  Movable
  pages free     20
";

fn host() -> FakeRoot {
    let root = FakeRoot::new();
    root.write(
        "proc/vmstat",
        "nr_free_pages 30\npgpromote_success 5\nvendor_thing 1\n",
    );
    root.write("proc/meminfo", "MemTotal: 8 kB\n");
    root.write(
        "proc/pressure/memory",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n",
    );
    root.write(
        "proc/swaps",
        "Filename Type Size Used Priority\n/dev/a partition 4 1 -2\n/dev/b file 8 1 -3\n",
    );
    root.write("proc/zoneinfo", ZONEINFO);
    root.write("sys/devices/system/node/online", "0-1\n");
    for node in 0..2 {
        let directory = format!("sys/devices/system/node/node{node}");
        root.write(
            &format!("{directory}/vmstat"),
            &format!("nr_free_pages {}\n", node + 10),
        );
        root.write(
            &format!("{directory}/meminfo"),
            &format!("Node {node} MemTotal: 4 kB\n"),
        );
        root.write(&format!("{directory}/numastat"), "numa_hit 3\n");
    }
    root.write("sys/fs/cgroup/cgroup.controllers", "memory\n");
    add_service(&root, 10, "a");
    root
}

fn add_service(root: &FakeRoot, pid: u32, name: &str) {
    let stat = format!("{pid} (p) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0");
    root.write(&format!("proc/{pid}/stat"), &stat);
    root.write(&format!("proc/{pid}/cmdline"), "/usr/bin/p\0");
    root.write(&format!("proc/{pid}/cgroup"), &format!("0::/{name}.service\n"));
    root.write(
        &format!("proc/{pid}/smaps_rollup"),
        "0-1 ---p 0 00:00 0 [rollup]\nRss: 4 kB\n",
    );
    root.write(
        &format!("proc/{pid}/numa_maps"),
        "00400000 default anon=3 N0=1 N1=2 kernelpagesize_kB=4\n",
    );
    let group = format!("sys/fs/cgroup/{name}.service");
    root.write(
        &format!("{group}/memory.stat"),
        "anon 100\npgdemote_kswapd 4\nslab 1\n",
    );
    root.write(&format!("{group}/memory.numa_stat"), "anon N0=60 N1=40\n");
    root.write(&format!("{group}/memory.max"), "max\n");
    root.write(&format!("{group}/memory.low"), "4096\n");
    root.write(
        &format!("{group}/memory.pressure"),
        "some avg10=0.00 total=2\nfull avg10=0.00 total=1\n",
    );
}

fn collector(root: &FakeRoot, config: CollectorConfig) -> Collector {
    Collector::new(root.root(), config, Rules::new(NamePolicy::plain()))
}

fn stamp(seconds: i64) -> Stamp {
    Stamp {
        wall_ns: seconds * 1_000_000_000,
        boottime_ns: None,
        boot_id: "b".into(),
    }
}

/// The value of a key, or the word that there is no such key.
fn value(collected: &Collected, key: &str) -> Result<Option<i64>, &'static str> {
    let values = &collected.sample.values;
    let found = values.iter().find(|(own, _)| own.as_str() == key);
    found.map(|(_, value)| *value).ok_or("no such key")
}

#[test]
fn every_scope_and_source_is_read_with_its_own_key() {
    let root = host();
    let collected = collector(&root, CollectorConfig::default()).collect(stamp(1));
    let expected = [
        ("host|vmstat|pgpromote_success", Some(5)),
        ("host|vmstat|vendor_thing", Some(1)),
        ("host|meminfo|MemTotal", Some(8192)),
        ("host|pressure.memory|some_total_us", Some(9)),
        ("host|swaps|size", Some(12288)),
        ("host|swaps|used", Some(2048)),
        ("node:1|vmstat|nr_free_pages", Some(11)),
        ("node:1|meminfo|MemTotal", Some(4096)),
        ("node:0|numastat|numa_hit", Some(3)),
        ("node:0|zoneinfo|pgdemote_kswapd", Some(7)),
        ("zone:0/DMA32|zoneinfo|free", Some(10)),
        ("zone:1/Movable|zoneinfo|free", Some(20)),
        ("cgroup:/a.service|memory.stat|slab", Some(1)),
        ("cgroup:/a.service|memory.numa_stat|anon[N1]", Some(40)),
        ("cgroup:/a.service|memory.max|max", None),
        ("service:host/a|memory.stat|pgdemote_kswapd", Some(4)),
        ("service:host/a|memory.pressure|some_total_us", Some(2)),
        ("service:host/a|memory.low|low", Some(4096)),
        ("service:host/a|memory.max|max", None),
        ("service:host/a|smaps_rollup|Rss", Some(4096)),
        ("service:host/a|smaps_rollup|processes_read", Some(1)),
        ("service:host/a|numa_maps|anon[N1]", Some(8192)),
        ("host|self|names_dropped", Some(0)),
    ];
    for (key, expected) in expected {
        assert_eq!(value(&collected, key), Ok(expected), "{key}");
    }
    assert!(
        collected.sample.values.is_sorted_by(|a, b| a.0 < b.0),
        "sorted, without repeats"
    );
    assert_eq!(
        value(&collected, "service:host/a|memory.stat|slab"),
        Err("no such key"),
        "services carry names kept for long"
    );
    let gone: Vec<&str> = collected.gone.iter().map(|gone| gone.path.as_str()).collect();
    let expected = [
        "/proc/stat",
        "/proc/pressure/cpu",
        "/proc/pressure/io",
        "/proc/pressure/irq",
        "/sys/kernel/mm/damon/admin/kdamonds",
        "/sys/kernel/mm/transparent_hugepage",
        "/sys/devices/system/memory",
        "/sys/fs/resctrl/mon_data",
        "/proc/buddyinfo",
        "/sys/devices/system/node/node0/hugepages",
        "/sys/devices/system/node/node1/hugepages",
        "/sys/block",
        "/sys/kernel/debug/zswap",
        "/sys/module/damon_stat/parameters",
        "/sys/kernel/debug/lru_gen",
    ];
    assert_eq!(gone, expected, "absence is an answer");
}

#[test]
fn groups_of_one_service_are_summed_except_their_stall_times() {
    let root = host();
    add_service(&root, 11, "b");
    let mut collector = collector(&root, CollectorConfig::default());
    let rule = tierscope_sample::service::OwnRule {
        namespace: "shop".into(),
        name: "all".into(),
        exe: Some("/usr/bin/p".into()),
        ..Default::default()
    };
    collector.rules.own = vec![rule];
    let collected = collector.collect(stamp(1));
    assert_eq!(
        value(&collected, "service:shop/all|memory.stat|anon"),
        Ok(Some(200))
    );
    assert_eq!(
        value(&collected, "service:shop/all|memory.numa_stat|anon[N0]"),
        Ok(Some(120))
    );
    assert_eq!(
        value(&collected, "service:shop/all|memory.pressure|some_total_us"),
        Err("no such key")
    );
    assert_eq!(
        value(&collected, "service:shop/all|memory.low|low"),
        Err("no such key"),
        "protections of several groups are none of the service"
    );
    assert_eq!(
        value(&collected, "service:shop/all|smaps_rollup|Rss"),
        Ok(Some(8192))
    );
}

#[test]
fn costly_files_have_a_cadence_and_are_absent_in_between() {
    let root = host();
    let mut collector = collector(&root, CollectorConfig::default());
    let rss = "service:host/a|smaps_rollup|Rss";
    let free = "zone:0/DMA32|zoneinfo|free";
    let anon = "cgroup:/a.service|memory.stat|anon";
    let mut both = |seconds: i64| {
        let collected = collector.collect(stamp(seconds));
        let keys: Vec<_> = collected
            .sample
            .values
            .iter()
            .map(|(key, _)| key.clone())
            .collect();
        let group_read = value(&collected, anon) == Ok(Some(100));
        assert_eq!(
            group_read,
            seconds != 3 && seconds != 7,
            "groups every ten seconds: {seconds}"
        );
        (value(&collected, rss), value(&collected, free), keys)
    };
    let (first_rss, first_free, first_keys) = both(1);
    assert_eq!((first_rss, first_free), (Ok(Some(4096)), Ok(Some(10))));
    let (second_rss, second_free, second_keys) = both(3);
    assert_eq!((second_rss, second_free), (Ok(None), Ok(None)));
    assert_eq!(first_keys, second_keys, "one layout for all of them");
    let (third_rss, third_free, _) = both(7);
    assert_eq!((third_rss, third_free), (Ok(None), Ok(Some(10))));
    let (late_rss, _, _) = both(1802);
    assert_eq!(late_rss, Ok(Some(4096)));
}

#[test]
fn a_group_that_goes_away_leaves_after_a_rescan_and_a_counter_that_comes_is_added() {
    let root = host();
    let mut collector = collector(&root, CollectorConfig::default());
    let key = "cgroup:/a.service|memory.stat|anon";
    assert_eq!(value(&collector.collect(stamp(60)), key), Ok(Some(100)));
    std::fs::remove_dir_all(root.root().join("sys/fs/cgroup/a.service")).unwrap();
    root.write("proc/vmstat", "nr_free_pages 30\npgdemote_proactive 2\n");
    let second = collector.collect(stamp(90));
    assert_eq!(value(&second, key), Ok(None));
    assert_eq!(value(&second, "host|vmstat|pgpromote_success"), Ok(None));
    assert_eq!(value(&second, "host|vmstat|pgdemote_proactive"), Ok(Some(2)));
    let without_group =
        (1..60).find(|minute| value(&collector.collect(stamp(90 + 60 * minute)), key).is_err());
    assert!(without_group.is_some(), "the group is forgotten within the hour");
}

#[test]
fn a_service_that_starts_is_discovered_soon_and_gets_counters_with_the_next_rescan() {
    let root = host();
    let mut collector = collector(&root, CollectorConfig::default());
    let key = "service:host/b|memory.stat|anon";
    collector.collect(stamp(0));
    add_service(&root, 30, "b");
    let soon = collector.collect(stamp(30));
    assert_eq!(collector.discovered().services.len(), 2);
    assert_eq!(value(&soon, key), Err("no such key"));
    assert_eq!(value(&collector.collect(stamp(60)), key), Ok(Some(100)));
}

#[test]
fn where_names_run_out_they_are_counted_and_services_keep_theirs() {
    let root = host();
    for pid in 20..40 {
        add_service(&root, pid, &format!("s{pid}"));
    }
    let config = CollectorConfig {
        max_names: 120,
        ..CollectorConfig::default()
    };
    let collected = collector(&root, config).collect(stamp(1));
    assert!(collected.dropped.names > 0);
    assert!(collected.sample.values.len() <= 120);
    assert_eq!(value(&collected, "host|vmstat|pgpromote_success"), Ok(Some(5)));
    assert_eq!(
        value(&collected, "cgroup:/a.service|memory.stat|slab"),
        Err("no such key"),
        "only names kept for long"
    );
}
