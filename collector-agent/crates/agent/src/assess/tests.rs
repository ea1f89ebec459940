//! Hosts whose state and bounds are known, and recordings of real kernels whose cold memory is known.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{AssessArgs, DONE, NOT_ENOUGH_DATA, NOT_READY, run};
use crate::fake_root::FakeRoot;
use crate::once::{self, OnceArgs};

const MIB: i64 = 1 << 20;

/// A host of 1000 MiB: 400 active, 300 inactive, 100 of the kernel's own, 200 free; one process with 250 MiB.
fn host(reclaim_looks: i64) -> FakeRoot {
    let root = FakeRoot::new();
    let sizes = [
        ("MemTotal", 1000),
        ("MemFree", 200),
        ("Active(anon)", 300),
        ("Inactive(anon)", 200),
        ("Active(file)", 100),
        ("Inactive(file)", 100),
    ];
    let lines: Vec<String> = sizes
        .iter()
        .map(|(name, mib)| format!("{name}: {} kB\n", mib * 1024))
        .collect();
    root.write("proc/meminfo", &lines.concat());
    root.write(
        "proc/vmstat",
        &format!(
            "pgscan_kswapd {reclaim_looks}\npgscan_direct 0\npgrefill 0\npgsteal_kswapd 0\npgsteal_direct 0\n\
                  workingset_refault_anon 0\nworkingset_refault_file 0\n"
        ),
    );
    root.write("proc/uptime", "1000.00 1000.00\n");
    root.write("proc/pressure/memory", &pressure(0));
    root.write("proc/sys/kernel/hostname", "left\n");
    root.write("sys/devices/system/node/online", "0\n");
    root.write("sys/devices/system/node/node0/cpulist", "0-3\n");
    root.write(
        "sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal: 1024000 kB\n",
    );
    root.write("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0\n");
    root.write(
        "proc/7/stat",
        &format!("7 (db) S 1 7 7 0 -1 0 {}\n", "0 ".repeat(44)),
    );
    root.write("proc/7/comm", "db\n");
    root.write("proc/7/cgroup", "0::/db\n");
    root.write("proc/7/statm", "64000 64000 100 1 0 63000 0\n");
    root.write(
        "proc/7/smaps_rollup",
        "00400000-7ffe0000 ---p 00000000 00:00 0 [rollup]\nRss: 256000 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 204800 kB\nReferenced: 102400 kB\n",
    );
    root
}

fn pressure(some_us: i64) -> String {
    format!(
        "some avg10=0.00 avg60=0.00 avg300=0.00 total={some_us}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    )
}

fn assess_with(paths: &[PathBuf], root: &Path, require_ready: bool) -> (u8, Value) {
    let mut args = AssessArgs {
        paths: paths.to_vec(),
        root: root.to_owned(),
        json: true,
        require_ready,
    };
    let mut out = Vec::new();
    let status = run(&args, &mut out).unwrap();
    args.json = false;
    assert_eq!(
        run(&args, &mut Vec::new()).unwrap(),
        status,
        "text and JSON end alike"
    );
    (status, serde_json::from_slice(&out).unwrap())
}

fn assess(root: &FakeRoot) -> Value {
    let (status, body) = assess_with(&[], root.root().as_path(), false);
    assert_eq!(status, DONE, "{body}");
    body["hosts"][0].clone()
}

fn interval_mib(host: &Value, figure: &str) -> [i64; 2] {
    let interval = &host["memory"][figure]["interval"];
    ["lo", "hi"].map(|end| interval[end].as_i64().unwrap() / MIB)
}

fn outcome(host: &Value, id: &str) -> String {
    let checks = host["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == id).unwrap();
    check["outcome"].as_str().unwrap().to_owned()
}

#[test]
fn accessed_bits_that_reclaim_clears_rarely_bound_cold_memory_from_below() {
    // 700 MiB are 179,200 pages; 30,000 looks in 1000 s come to each page every 5,973 s, and to 117 MiB since boot.
    let host = assess(&host(30_000));
    assert_eq!(host["state"], "one_tier");
    // 200 MiB are private, and 100 are referenced at most: 100 were not touched since reclaim looked.
    assert_eq!(interval_mib(&host, "cold"), [100, 700]);
    assert_eq!(interval_mib(&host, "active"), [0, 600]);
    // Twice the active memory, or active and the kernel's own 100 MiB.
    assert_eq!(interval_mib(&host, "dram_needed"), [100, 1200]);
    assert_eq!(interval_mib(&host, "dram_saving"), [0, 900]);
    assert_eq!(outcome(&host, "active_at_most_half_of_dram"), "not_known");
    assert_eq!(host["memory"]["cold"]["value"], Value::Null);
    assert_eq!(host["memory"]["processes_read"], 1);
}

#[test]
fn bits_that_reclaim_cannot_have_cleared_bound_nothing() {
    // Reclaim looked at nothing, or at 78 MiB, and 100 MiB of private memory have a clear bit: clear_refs was written.
    for looks in [0, 20_000] {
        let host = assess(&host(looks));
        assert_eq!(interval_mib(&host, "cold"), [0, 700], "{looks}");
        let method = host["memory"]["cold"]["method"].as_str().unwrap();
        assert!(method.starts_with("sizes alone"), "{method}");
    }
}

#[test]
fn a_program_that_clears_accessed_bits_leaves_only_the_sizes() {
    for (comm, cmdline) in [
        (
            "tierscope-agent",
            "/usr/bin/tierscope-agent\0run\0--server\0https://x\0",
        ),
        ("perl", "/usr/bin/perl\0/opt/wss.pl\0-s\x0077\x000.1\0"),
        ("damo", "/usr/bin/python3\0/usr/bin/damo\0record\0"),
        ("memtierd", "memtierd\0-prompt\0"),
    ] {
        let root = host(30_000);
        root.write(
            "proc/8/stat",
            &format!("8 ({comm}) S 1 8 8 0 -1 0 {}\n", "0 ".repeat(44)),
        );
        root.write("proc/8/comm", &format!("{comm}\n"));
        root.write("proc/8/cmdline", cmdline);
        root.write("proc/8/cgroup", "0::/tools\n");
        let host = assess(&root);
        assert_eq!(interval_mib(&host, "cold")[0], 0, "{cmdline:?}");
    }
    let root = host(30_000);
    root.write("proc/9/comm", "kdamond.0\n");
    assert_eq!(
        interval_mib(&assess(&root), "cold")[0],
        0,
        "DAMON whose settings may not be read"
    );
    let root = host(30_000);
    root.write("sys/kernel/mm/lru_gen/enabled", "0x0007\n");
    assert_eq!(interval_mib(&assess(&root), "cold")[0], 0);
}

#[test]
fn accessed_bits_that_reclaim_clears_often_bound_it_from_above() {
    // 700 MiB are 179,200 pages; 17.92 million looks in 1000 s come to each page every 10 s.
    let host = assess(&host(17_920_000));
    // 150 MiB of the process are not referenced, so at most that much of its private memory is cold.
    assert_eq!(interval_mib(&host, "cold"), [0, 650]);
    let method = host["memory"]["cold"]["method"].as_str().unwrap();
    assert!(method.contains("every 10 s"), "{method}");
}

#[test]
fn other_readers_of_accessed_bits_leave_only_the_sizes() {
    let root = host(30_000);
    root.write("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "1\n");
    root.write("sys/kernel/mm/damon/admin/kdamonds/0/state", "on\n");
    let host = assess(&root);
    assert_eq!(interval_mib(&host, "cold"), [0, 700]);
    let method = host["memory"]["cold"]["method"].as_str().unwrap();
    assert!(method.contains("DAMON"), "{method}");
}

#[test]
fn pressure_and_refaults_say_that_memory_is_short() {
    let root = host(0);
    root.write("proc/pressure/memory", &pressure(200_000_000));
    root.write(
        "proc/vmstat",
        "pgscan_kswapd 0\npgsteal_kswapd 20000\nworkingset_refault_anon 10001\nworkingset_refault_file 0\n",
    );
    let host = assess(&root);
    assert_eq!(outcome(&host, "little_pressure"), "fail");
    assert_eq!(outcome(&host, "few_refaults"), "fail");
    root.write(
        "proc/vmstat",
        "pgscan_kswapd 0\npgsteal_kswapd 20000\nworkingset_refault_anon 20001\nworkingset_refault_file 0\n",
    );
    assert_eq!(outcome(&assess(&root), "few_refaults"), "not_known");
    assert!(host["next_step"].as_str().unwrap().len() > 10);
}

/// A node without processors, in the tier of this number.
fn add_slower_node(root: &FakeRoot, tier: u32) {
    root.write("sys/devices/system/node/online", "0-1\n");
    root.write("sys/devices/system/node/node1/cpulist", "\n");
    let sizes = ["Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)"];
    let of = |prefix: &str, total_mib: i64| {
        let lists: Vec<String> = sizes
            .iter()
            .map(|name| format!("{prefix}{name}: 102400 kB\n"))
            .collect();
        let free = format!(
            "{prefix}MemTotal: {} kB\n{prefix}MemFree: 204800 kB\n",
            total_mib * 1024
        );
        free + &lists.concat()
    };
    root.write("proc/meminfo", &of("", 2000));
    root.write("sys/devices/system/node/node0/meminfo", &of("Node 0 ", 1000));
    root.write(
        "sys/devices/system/node/node1/meminfo",
        "Node 1 MemTotal: 1024000 kB\n",
    );
    let nodes = format!("sys/devices/virtual/memory_tiering/memory_tier{tier}/nodelist");
    root.write(&nodes, "1\n");
}

#[test]
fn a_setting_that_the_kernel_does_not_show_is_not_taken_for_on() {
    let root = host(0);
    add_slower_node(&root, 22);
    for (node, latency_ns) in [(0, 90), (1, 270)] {
        let file = format!("sys/devices/system/node/node{node}/access1/initiators/read_latency");
        root.write(&file, &format!("{latency_ns}\n"));
    }
    let outcomes = |host: &Value| ["demotion_on", "promotion_on"].map(|id| outcome(host, id));
    let both = |root: &FakeRoot| outcomes(&assess(root));
    let (status, body) = assess_with(&[], root.root().as_path(), false);
    assert_eq!(
        status, NOT_ENOUGH_DATA,
        "a tree that lacks settings tells nothing of them"
    );
    assert_eq!(outcomes(&body["hosts"][0]), ["not_known", "not_known"]);
    root.write("sys/kernel/mm/numa/demotion_enabled", "true\n");
    root.write("proc/sys/kernel/numa_balancing", "1\n");
    assert_eq!(both(&root), ["pass", "fail"]);
    root.write("sys/kernel/mm/numa/demotion_enabled", "false\n");
    root.write("proc/sys/kernel/numa_balancing", "2\n");
    assert_eq!(both(&root), ["fail", "pass"]);
}

#[test]
fn a_report_without_nodes_of_a_host_that_moves_pages_has_no_memory_that_is_all_dram() {
    let root = FakeRoot::new();
    root.write("version.txt", "sos report: 4.8.2\n");
    root.write("proc/meminfo", "MemTotal: 3678620 kB\nMemFree: 3500000 kB\n");
    root.write("proc/sys/kernel/osrelease", "6.12.95\n");
    let of = |moved: u32| {
        root.write(
            "proc/vmstat",
            &format!("pgdemote_kswapd {moved}\npgpromote_success 0\n"),
        );
        let (_, body) = assess_with(&[], root.root().as_path(), false);
        body["hosts"][0]["memory_reason"].as_str().unwrap().to_owned()
    };
    assert!(
        of(283_433).starts_with("pages were moved between tiers"),
        "{}",
        of(283_433)
    );
    assert!(!of(0).starts_with("pages were moved between tiers"), "{}", of(0));
}

/// A host that tiers: Linux 6.8, a slower node, both settings on.
fn tiering_host() -> FakeRoot {
    let root = host(0);
    add_slower_node(&root, 22);
    for (node, latency_ns) in [(0, 90), (1, 270)] {
        let file = format!("sys/devices/system/node/node{node}/access1/initiators/read_latency");
        root.write(&file, &format!("{latency_ns}\n"));
    }
    root.write("proc/sys/kernel/osrelease", "6.8.0\n");
    root.write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
    root.write("sys/kernel/mm/numa/demotion_enabled", "true\n");
    root.write("proc/sys/kernel/numa_balancing", "2\n");
    root
}

#[test]
fn a_host_that_demotion_can_hang_is_not_ready() {
    let root = tiering_host();
    assert_eq!(assess(&root)["state"], "ready");
    root.write("sys/kernel/mm/lru_gen/enabled", "0x0007\n");
    root.write("sys/kernel/mm/lru_gen/min_ttl_ms", "0\n");
    let hanging = assess(&root);
    assert_eq!(hanging["state"], "unsafe");
    assert_eq!(outcome(&hanging, "demotion_is_safe"), "fail");
    let next = hanging["next_step"].as_str().unwrap();
    assert!(next.contains("min_ttl_ms"), "{next}");
    root.write("sys/kernel/mm/lru_gen/min_ttl_ms", "1000\n");
    assert_eq!(assess(&root)["state"], "ready");
}

#[test]
fn services_that_would_leave_their_cpuset_are_the_first_step() {
    let root = tiering_host();
    root.write("proc/7/status", "Name:\tdb\nMems_allowed_list:\t0\n");
    for demotion in ["true\n", "false\n"] {
        root.write("sys/kernel/mm/numa/demotion_enabled", demotion);
        let strict = assess(&root);
        assert_eq!(strict["state"], "unsafe");
        let next = strict["next_step"].as_str().unwrap();
        assert!(next.contains("db") && next.contains("cpuset"), "{next}");
    }
    root.write("proc/7/status", "Name:\tdb\nMems_allowed_list:\t0-1\n");
    assert_eq!(assess(&root)["state"], "settings");
}

#[test]
fn a_host_that_damon_tiers_has_no_setting_to_mend() {
    let root = tiering_host();
    root.write("sys/kernel/mm/numa/demotion_enabled", "false\n");
    root.write("proc/sys/kernel/numa_balancing", "0\n");
    assert_eq!(assess(&root)["state"], "settings");
    let kdamonds = "sys/kernel/mm/damon/admin/kdamonds";
    root.write(&format!("{kdamonds}/0/state"), "on\n");
    for (scheme, action) in [(0, "migrate_hot\n"), (1, "migrate_cold\n")] {
        root.write(
            &format!("{kdamonds}/0/contexts/0/schemes/{scheme}/action"),
            action,
        );
    }
    let tiered = assess(&root);
    assert_eq!(tiered["state"], "ready");
    assert_eq!(
        ["demotion_on", "promotion_on"].map(|id| outcome(&tiered, id)),
        ["pass", "pass"]
    );
}

#[test]
fn the_cache_of_zfs_gives_way_down_to_its_minimum() {
    let root = host(30_000);
    let cache = |least: i64| {
        let text = format!(
            "9 1 0x01 98 26656 5 9\nname type data\nsize 4 {}\nc_min 4 {least}\n",
            90 * MIB
        );
        root.write("proc/spl/kstat/zfs/arcstats", &text);
        interval_mib(&assess(&root), "dram_needed")
    };
    // Of 100 MiB that no list holds, the cache gives 80 back.
    assert_eq!(cache(10 * MIB), [20, 1200]);
    assert_eq!(cache(90 * MIB), [100, 1200]);
}

#[test]
fn free_huge_pages_and_a_balloon_are_needed_by_no_program() {
    let root = host(30_000);
    let pool = "sys/devices/system/node/node0/hugepages/hugepages-2048kB";
    root.write(&format!("{pool}/nr_hugepages"), "45\n");
    let free = |pages: i64| {
        root.write(&format!("{pool}/free_hugepages"), &format!("{pages}\n"));
        interval_mib(&assess(&root), "dram_needed")
    };
    // Of 100 MiB that no list holds, 90 are reserved as huge pages.
    assert_eq!(free(0), [100, 1200]);
    assert_eq!(free(40), [20, 1200]);
    let root = host(30_000);
    let balloon = |text: &str| {
        let vmstat = std::fs::read_to_string(root.root().join("proc/vmstat")).unwrap();
        root.write("proc/vmstat", &format!("{vmstat}{text}"));
        interval_mib(&assess(&root), "dram_needed")
    };
    // The size of a page follows from the free memory, 200 MiB.
    assert_eq!(balloon("nr_free_pages 51200\n"), [100, 1200]);
    let at_most = balloon("balloon_inflate 30720\nballoon_deflate 10240\n");
    assert_eq!(at_most, [20, 1200], "80 MiB");
}

#[test]
fn sizes_of_a_container_over_those_of_its_host_give_no_figure() {
    let root = host(0);
    root.write(
        "sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal: 1126400 kB\n",
    );
    let (status, body) = assess_with(&[], root.root().as_path(), false);
    assert_eq!(
        (status, &body["hosts"][0]["memory"]),
        (NOT_ENOUGH_DATA, &Value::Null)
    );
    let reason = body["hosts"][0]["memory_reason"].as_str().unwrap();
    assert!(reason.contains("container's view"), "{reason}");
}

#[test]
fn a_slower_node_in_the_tier_of_dram_is_told_first() {
    let root = host(0);
    add_slower_node(&root, 4);
    root.write(
        "sys/devices/virtual/memory_tiering/memory_tier4/nodelist",
        "0-1\n",
    );
    let host = assess(&root);
    assert_eq!(host["state"], "misplaced");
    assert_eq!(outcome(&host, "slower_tier"), "fail");
    let next = host["next_step"].as_str().unwrap();
    assert!(next.contains("HMAT"), "{next}");
}

#[test]
fn a_reading_without_sizes_is_not_enough_and_not_zero() {
    let root = host(0);
    root.write("proc/meminfo", "MemTotal: 1024000 kB\n");
    let (status, body) = assess_with(&[], root.root().as_path(), false);
    assert_eq!(status, NOT_ENOUGH_DATA);
    assert_eq!(
        body["hosts"][0]["memory_reason"],
        "the reading lacks sizes of memory"
    );
    assert_eq!(body["hosts"][0]["state"], "not_known");
    assert_eq!(body["hosts"][0]["memory"], Value::Null);
    assert_eq!(body["fleet"]["hosts_with_memory"], 0);
}

fn exported(root: &FakeRoot) -> Vec<u8> {
    let mut out = Vec::new();
    let args = OnceArgs {
        root: root.root().as_path().to_owned(),
        json: true,
    };
    once::run(&args, &mut out).unwrap();
    out
}

#[test]
fn an_export_of_a_fleet_is_judged_like_its_hosts() {
    let (left, right) = (host(0), host(17_920_000));
    right.write("proc/sys/kernel/hostname", "right\n");
    let export = tempfile::tempdir().unwrap();
    let mut tar = tar::Builder::new(Vec::new());
    for (name, root) in [("a.json", &left), ("b.json", &right)] {
        let text = exported(root);
        std::fs::write(export.path().join(name), &text).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, text.as_slice()).unwrap();
    }
    std::fs::write(export.path().join("notes.txt"), "no reading").unwrap();
    let archive = export.path().join("fleet.tar");
    std::fs::write(&archive, tar.into_inner().unwrap()).unwrap();
    let (_, packed) = assess_with(std::slice::from_ref(&archive), Path::new("/"), false);
    std::fs::remove_file(&archive).unwrap();
    let (status, listed) = assess_with(&[export.path().to_owned()], Path::new("/"), true);
    assert_eq!(status, NOT_READY, "one tier is not ready");
    assert_eq!(listed["passed_over"].as_array().unwrap().len(), 1, "{listed}");
    for body in [&packed, &listed] {
        assert_eq!(body["fleet"]["hosts"], 2);
        assert_eq!(body["fleet"]["by_state"]["one_tier"], 2);
        assert_eq!(body["fleet"]["failed_checks"]["slower_tier"], 2);
        for (place, root) in [(0, &left), (1, &right)] {
            let alone = assess(root);
            for field in ["host", "memory", "checks", "state", "next_step"] {
                assert_eq!(body["hosts"][place][field], alone[field], "{field}");
            }
        }
    }
}

#[test]
fn reports_that_name_no_host_are_told_apart_by_their_path() {
    let directory = tempfile::tempdir().unwrap();
    for node in ["w0", "w1"] {
        let place = directory.path().join(node).join("sysinfo/proc");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("meminfo"), "MemTotal: 1048576 kB\nMemFree: 1024 kB\n").unwrap();
    }
    let (_, told) = assess_with(&[directory.path().to_owned()], Path::new("/"), false);
    let names: Vec<&str> = told["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["host"].as_str().unwrap())
        .collect();
    assert!(names[0].ends_with("w0") && names[1].ends_with("w1"), "{names:?}");
}

#[test]
fn what_is_no_reading_is_refused_with_what_would_do() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        let args = AssessArgs {
            paths: vec![path],
            root: "/".into(),
            json: true,
            require_ready: false,
        };
        format!("{:#}", run(&args, &mut Vec::new()).unwrap_err())
    };
    let other = refused("other.json", "{\"schema\": \"tierscope.doctor/1\"}");
    assert!(other.contains("tierscope.doctor/1"), "{other}");
    let broken = refused("broken.json", "{\"schema\": ");
    assert!(
        broken.contains("broken.json") && broken.contains("once --json"),
        "{broken}"
    );
    let sar = refused("sar.json", "{\"sysstat\": {\"hosts\": []}}");
    assert!(sar.contains("import sysstat"), "{sar}");
    std::fs::remove_file(directory.path().join("sar.json")).unwrap();
    std::fs::write(directory.path().join("basic-environment.txt"), "# uname -a\n").unwrap();
    let args = AssessArgs {
        paths: vec![directory.path().to_owned()],
        root: "/".into(),
        json: true,
        require_ready: false,
    };
    std::fs::remove_file(directory.path().join("other.json")).unwrap();
    std::fs::remove_file(directory.path().join("broken.json")).unwrap();
    let texts = format!("{:#}", run(&args, &mut Vec::new()).unwrap_err());
    assert!(texts.contains("supportconfig"), "{texts}");
    let empty = refused("empty.jsonl", "");
    assert!(
        empty.contains("holds no reading") && empty.contains("recording of snapshots"),
        "{empty}"
    );
}

/// The load of a recording keeps this many of its pages in DRAM that it never touches again.
struct Recorded {
    name: &'static str,
    state: &'static str,
    cold_mib: i64,
}

/// By the last line of `workload.log` and by what the load does: README of tests/data.
const RECORDED: [Recorded; 2] = [
    // 700 MiB, uniform over 640: what is cold was demoted (pages_n0 = hot_n0).
    Recorded {
        // Demotion is on with multi-generational LRU, no swap and min_ttl_ms 0.
        name: "kernel-lab/04-pingpong",
        state: "unsafe",
        cold_mib: 0,
    },
    // All of it is touched again within seconds, by the 5 % of accesses that go anywhere.
    Recorded {
        name: "kernel-lab-hmat/25-demotion-off",
        state: "settings",
        cold_mib: 0,
    },
];

#[test]
fn recordings_of_real_kernels_have_their_state_and_bounds_that_hold() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data");
    for recorded in RECORDED {
        let path = data.join(format!("{}.tar.zst", recorded.name));
        let args = AssessArgs {
            paths: vec![path],
            root: "/".into(),
            json: true,
            require_ready: false,
        };
        let mut out = Vec::new();
        assert_eq!(run(&args, &mut out).unwrap(), DONE);
        let body: Value = serde_json::from_slice(&out).unwrap();
        let host = &body["hosts"][0];
        assert_eq!(host["state"], recorded.state, "{}: {host:#}", recorded.name);
        let [lo, hi] = interval_mib(host, "cold");
        assert!(
            (lo..=hi).contains(&recorded.cold_mib),
            "{}: {lo} to {hi}",
            recorded.name
        );
        let movable = host["memory"]["movable_bytes"].as_i64().unwrap() / MIB;
        assert!(0 <= lo && lo <= hi && hi <= movable, "{}", recorded.name);
        assert!(
            host["memory"]["slower_bytes"].as_i64().unwrap() > 0,
            "{}",
            recorded.name
        );
    }
}
