//! Files that were padded, cut off, emptied or overwritten: a reading of them gives the host's value, none, or a problem with
//! the file's name, and never another value in silence.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::Value;
use tierscope_import::tree::Snapshot;

use crate::fake_root::FakeRoot;
use crate::once;

/// A host with two tiers, swap, a control group and a process, whose values all differ from each other.
const FILES: [(&str, &str); 41] = [
    (
        "proc/meminfo",
        "MemTotal:       4096000 kB\nMemFree:         512000 kB\nHugepagesize:       2048 kB\n",
    ),
    (
        "proc/vmstat",
        "nr_free_pages 128000\npgpromote_success 2345\npgdemote_kswapd 34567\npswpin 4567\n",
    ),
    ("proc/uptime", "123456.78 234567.89\n"),
    (
        "proc/swaps",
        "Filename Type Size Used Priority\n/dev/sda partition 204800 12344 -2\n",
    ),
    ("proc/stat", "cpu  1234 56 789 1011 12 0 13 0 0 0\nctxt 141516\n"),
    ("proc/buddyinfo", "Node 0, zone   Normal     17     18     19\n"),
    (
        "proc/pressure/memory",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=20212\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=10111\n",
    ),
    (
        "proc/zoneinfo",
        "Node 0, zone   Normal\n  per-node stats\n      nr_inactive_anon 2223\n  pages free     24252\n        min      262\n        \
         protection: (0, 272, 282)\n  pagesets\n    cpu: 0\n              count:    29\n              high:     30\n  node_unreclaimable:  0\n",
    ),
    ("proc/sys/kernel/hostname", "machine-31\n"),
    ("proc/sys/kernel/osrelease", "6.12.32\n"),
    (
        "proc/sys/kernel/random/boot_id",
        "33343536-3738-3940-4142-434445464748\n",
    ),
    ("proc/sys/kernel/numa_balancing", "2\n"),
    (
        "proc/sys/kernel/numa_balancing_promote_rate_limit_MBps",
        "65536\n",
    ),
    ("proc/sys/vm/swappiness", "60\n"),
    (
        "proc/7/stat",
        "7 (db) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 4950 0 0 0\n",
    ),
    ("proc/7/statm", "64000 51000 100 1 0 63000 0\n"),
    ("proc/7/cgroup", "0::/load\n"),
    (
        "proc/7/smaps_rollup",
        "00400000-7ffe0000 ---p 00000000 00:00 0 [rollup]\nRss:              204000 kB\nReferenced:       102400 kB\n",
    ),
    (
        "proc/7/numa_maps",
        "7f0000000000 default anon=52 dirty=52 N0=25 N1=27 kernelpagesize_kB=4\n7f1000000000 default huge anon=53 N0=53 kernelpagesize_kB=2048\n",
    ),
    ("sys/kernel/mm/numa/demotion_enabled", "true\n"),
    ("sys/kernel/mm/lru_gen/enabled", "0x0007\n"),
    ("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0\n"),
    (
        "sys/devices/virtual/memory_tiering/memory_tier22/nodelist",
        "1-2\n",
    ),
    ("sys/devices/system/node/online", "0-2\n"),
    ("sys/devices/system/node/node0/cpulist", "0-15\n"),
    ("sys/devices/system/node/node0/distance", "10 21 22\n"),
    (
        "sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal:       2048000 kB\nNode 0 MemFree:        256000 kB\n",
    ),
    (
        "sys/devices/system/node/node0/vmstat",
        "nr_free_pages 64000\npgpromote_success 1234\n",
    ),
    (
        "sys/devices/system/node/node0/numastat",
        "numa_hit 5455\nnuma_miss 565\n",
    ),
    (
        "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
        "57\n",
    ),
    (
        "sys/devices/system/node/node0/access1/initiators/read_latency",
        "105\n",
    ),
    ("sys/devices/system/node/node1/cpulist", "\n"),
    (
        "sys/devices/system/node/node1/meminfo",
        "Node 1 MemTotal:       1024000 kB\n",
    ),
    ("sys/devices/system/memory/block_size_bytes", "8000000\n"),
    ("sys/bus/cxl/devices/mem0/ram/size", "0x8000000000\n"),
    ("sys/bus/cxl/devices/mem0/numa_node", "1\n"),
    ("sys/block/zram0/disksize", "1073741824\n"),
    (
        "sys/block/zram0/mm_stat",
        "90222592 9176691 10473472 0 10473472 58 59 60 61\n",
    ),
    ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n"),
    ("sys/fs/cgroup/load/memory.current", "629145600\n"),
    ("sys/fs/cgroup/load/memory.stat", "anon 62914560\nfile 6364\n"),
];

/// Files of names, which may be any text.
const NAMES: [&str; 3] = [
    "proc/sys/kernel/hostname",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/random/boot_id",
];

/// What a reading says: values by where they stand, problems, and findings that are certain.
struct Said {
    values: BTreeMap<String, Value>,
    problems: Vec<String>,
    certain: Vec<String>,
    /// Files with problems on which the description and its findings stand.
    described: Vec<String>,
}

fn read(changed: &str, content: &[u8]) -> Said {
    let root = FakeRoot::new();
    for (path, text) in FILES {
        root.write_bytes(path, if path == changed { content } else { text.as_bytes() });
    }
    let document = once::document(&Snapshot {
        root: root.root().as_path().to_owned(),
        wall_ns: 1,
        boottime_ns: None,
        boot_id: String::new(),
    })
    .unwrap();
    let mut values = BTreeMap::new();
    for section in ["host", "nodes", "zones", "cgroups", "processes"] {
        flatten(section, &document[section], &mut values);
    }
    let inventory = &document["inventory"];
    for field in [
        "hostname",
        "kernel_release",
        "cpus_online",
        "cgroup_version",
        "nodes",
        "tiers",
        "swaps",
        "knobs",
        "cxl_devices",
    ] {
        flatten(field, &inventory[field], &mut values);
    }
    let findings = inventory["findings"].as_array().unwrap();
    let certain = findings
        .iter()
        .filter(|finding| finding["confidence"] == "certain");
    let described = inventory["problems"].as_array().unwrap().iter();
    Said {
        described: described
            .map(|problem| problem["path"].as_str().unwrap().to_owned())
            .collect(),
        values,
        problems: serde_json::from_value(document["problems"].clone()).unwrap(),
        certain: certain
            .map(|finding| finding["id"].as_str().unwrap().to_owned())
            .collect(),
    }
}

fn flatten(place: &str, value: &Value, values: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&format!("{place}/{name}"), value, values);
            }
        }
        Value::Array(items) => {
            for item in items {
                // By what it is of, because one that is missing would shift the others.
                let name = ["id", "path", "pid", "name", "kernel_number"]
                    .iter()
                    .find_map(|key| item.get(key));
                let name = name.map_or_else(String::new, ToString::to_string);
                flatten(&format!("{place}[{name}]"), item, values);
            }
        }
        value => {
            // Several values in one place are a list of numbers.
            let old = values.get(place).map(ToString::to_string).unwrap_or_default();
            let all = if old.is_empty() {
                value.clone()
            } else {
                Value::from(format!("{old} {value}"))
            };
            values.insert(place.to_owned(), all);
        }
    }
}

/// Whether a place holds no value: null, empty, or a reason for there being none.
fn is_absent(place: &str, value: &Value) -> bool {
    let of_words = ["/unavailable", "/tier_evidence", "/tier_class"];
    value.is_null() || *value == "" || of_words.iter().any(|end| place.ends_with(end))
}

fn whole() -> &'static Said {
    static WHOLE: OnceLock<Said> = OnceLock::new();
    WHOLE.get_or_init(|| read("", b""))
}

fn check(path: &str, content: &[u8]) {
    let whole = whole();
    let said = read(path, content);
    // Of several lines the cut off one gives no value, not even with a problem beside it.
    let is_line_cut = content.contains(&b'\n') && !content.ends_with(b"\n");
    let is_told = !is_line_cut && said.problems.iter().any(|problem| problem.contains(path));
    for (place, value) in &said.values {
        let same = whole.values.get(place) == Some(value);
        let what = String::from_utf8_lossy(content);
        assert!(
            same || is_told || is_absent(place, value),
            "{path} = {what:?}: {place} is {value} in silence"
        );
    }
    let bears = said.described.iter().any(|own| own.ends_with(path));
    if bears && !path.starts_with("proc/7/") && !path.starts_with("proc/pressure") {
        // Those that stand on this file or on none of a process.
        let others = [
            "no-pressure",
            "no-cgroup-v2",
            "mglru-on",
            "file-not-understood",
            "limited-rights",
        ];
        let certain: Vec<_> = said
            .certain
            .iter()
            .filter(|id| !others.contains(&id.as_str()))
            .collect();
        assert!(certain.is_empty(), "{path}: {certain:?}");
    }
}

#[test]
fn padding_and_line_ends_of_other_systems_change_nothing() {
    let whole = whole();
    assert_eq!(whole.problems, Vec::<String>::new());
    for (path, text) in FILES {
        for content in [format!("{text}{}", "\0".repeat(4000)), text.replace('\n', "\r\n")] {
            let said = read(path, content.as_bytes());
            assert_eq!(
                (said.problems, said.values),
                (Vec::new(), whole.values.clone()),
                "{path}"
            );
        }
    }
}

#[test]
fn an_empty_file_gives_no_value() {
    // Where no hierarchy is mounted, the kernel prints no line of groups.
    for (path, _) in FILES.iter().filter(|(path, _)| *path != "proc/7/cgroup") {
        check(path, b"");
        check(path, &[0; 4096]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    // A file that was cut off at the end of a line is a whole file of fewer lines, which nothing tells from another host's.
    #[test]
    fn a_file_that_is_cut_off_within_a_line_gives_no_other_value_in_silence(
        file in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
    ) {
        let (path, text) = FILES[file.index(FILES.len())];
        let cut = &text[..at.index(text.len())];
        prop_assume!(!cut.is_empty() && !cut.ends_with('\n'));
        check(path, cut.as_bytes());
    }

    #[test]
    fn garbage_in_a_line_gives_no_other_value_in_silence(
        file in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        garbage in proptest::sample::select(&["\0", "#", "\u{fffd}", "\x1b[0m", "x\0y"][..]),
    ) {
        let (path, text) = FILES[file.index(FILES.len())];
        prop_assume!(!NAMES.contains(&path));
        let digits: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at).collect();
        if let Some(place) = (!digits.is_empty()).then(|| digits[at.index(digits.len())]) {
            let changed = format!("{}{garbage}{}", &text[..place], &text[place + 1..]);
            check(path, changed.as_bytes());
        }
    }
}
