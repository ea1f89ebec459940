//! `once` on recordings of real kernels: every counter of the files is there with its exact value.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a failed unwrap is a failed test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use tierscope_agent::once::{OnceArgs, run};

const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/data/kernel-lab");

/// A few snapshots of a recording, unpacked: the first, one with the costly files of processes, and the last, which
/// was taken after the workload had ended. The whole would take minutes to unpack.
struct Unpacked {
    name: String,
    directory: tempfile::TempDir,
    snapshots: Vec<PathBuf>,
}

fn entries(archive: &Path) -> tar::Archive<zstd::Decoder<'static, std::io::BufReader<File>>> {
    tar::Archive::new(zstd::Decoder::new(File::open(archive).unwrap()).unwrap())
}

/// `<recording>/<unix time>` of an entry.
fn snapshot_of(path: &Path) -> Option<String> {
    let mut parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let (recording, time) = (parts.next()?, parts.next()?);
    time.parse::<u64>().ok().map(|time| format!("{recording}/{time}"))
}

/// A directory in shared memory where there is some: to make and remove thousands of small files takes a disk three
/// times the processor.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

fn unpack(archive: &Path) -> Unpacked {
    let mut names = BTreeSet::new();
    for entry in entries(archive).entries().unwrap() {
        names.extend(snapshot_of(&entry.unwrap().path().unwrap()));
    }
    let names: Vec<String> = names.into_iter().collect();
    let chosen: BTreeSet<&String> = [0, 10, names.len() - 1]
        .into_iter()
        .map(|index| &names[index])
        .collect();
    let directory = in_memory();
    for entry in entries(archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        let wanted = snapshot_of(&entry.path().unwrap()).is_some_and(|name| chosen.contains(&name));
        if wanted {
            entry.unpack_in(directory.path()).unwrap();
        }
    }
    let snapshots = chosen
        .into_iter()
        .map(|name| directory.path().join(name))
        .collect();
    let name = archive
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .trim_end_matches(".tar.zst")
        .to_owned();
    Unpacked {
        name,
        directory,
        snapshots,
    }
}

fn recordings() -> Vec<PathBuf> {
    let mut archives: Vec<PathBuf> = std::fs::read_dir(RECORDINGS)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    archives.retain(|path| path.extension().is_some_and(|extension| extension == "zst"));
    archives.sort();
    archives
}

fn recording(name: &str) -> Unpacked {
    unpack(&Path::new(RECORDINGS).join(format!("{name}.tar.zst")))
}

fn once(root: &Path) -> Value {
    let mut out = Vec::new();
    run(
        &OnceArgs {
            root: root.to_owned(),
            json: true,
        },
        &mut out,
    )
    .unwrap();
    let mut lines = out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let body = serde_json::from_slice(lines.next().unwrap()).unwrap();
    assert!(lines.next().is_none(), "one snapshot gives one line");
    body
}

/// `name value` lines as a plain reading of the text gives them, apart from the parsers under test.
fn lines(file: &Path) -> Vec<(String, i64)> {
    let text = std::fs::read_to_string(file).unwrap();
    let pair = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    text.lines().map(pair).collect()
}

/// `Name: value kB` lines in bytes, without the words `Node N`.
fn sizes(file: &Path) -> Vec<(String, i64)> {
    let text = std::fs::read_to_string(file).unwrap();
    let pair = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        let number: i64 = value.trim().trim_end_matches(" kB").parse().unwrap();
        let name = if name.starts_with("Node ") {
            name.split(' ').nth(2).unwrap()
        } else {
            name
        };
        (
            name.to_owned(),
            if value.ends_with("kB") {
                number * 1024
            } else {
                number
            },
        )
    };
    text.lines().map(pair).collect()
}

fn assert_same(found: &Value, expected: &[(String, i64)], what: &str) {
    assert!(!expected.is_empty(), "{what} is empty");
    for (name, value) in expected {
        assert_eq!(
            found.get(name).and_then(Value::as_i64),
            Some(*value),
            "{what}: {name}"
        );
    }
    let present = found
        .as_object()
        .unwrap()
        .values()
        .filter(|value| !value.is_null())
        .count();
    assert_eq!(
        present,
        expected.len(),
        "{what}: nothing but what the file holds has a value"
    );
}

#[test]
fn every_counter_of_every_recording_is_there_exactly() {
    let archives = recordings();
    assert_eq!(archives.len(), 10);
    for archive in archives {
        let unpacked = unpack(&archive);
        for root in &unpacked.snapshots {
            let body = once(root);
            let what = format!("{} {}", unpacked.name, root.file_name().unwrap().display());
            assert_same(&body["host"]["vmstat"], &lines(&root.join("proc/vmstat")), &what);
            assert_same(
                &body["host"]["meminfo"],
                &sizes(&root.join("proc/meminfo")),
                &what,
            );
            for node in ["0", "1"] {
                let directory = root.join(format!("sys/devices/system/node/node{node}"));
                let found = &body["nodes"][node];
                let what = format!("{what} node {node}");
                assert_same(&found["vmstat"], &lines(&directory.join("vmstat")), &what);
                assert_same(&found["meminfo"], &sizes(&directory.join("meminfo")), &what);
                assert_same(&found["numastat"], &lines(&directory.join("numastat")), &what);
            }
            let group = root.join("sys/fs/cgroup/load");
            let found = &body["cgroups"]["/load"];
            assert_same(&found["memory.stat"], &lines(&group.join("memory.stat")), &what);
            assert_same(
                &found["memory.events"],
                &lines(&group.join("memory.events")),
                &what,
            );
            assert_eq!(body["problems"], serde_json::json!([]), "{what}");
        }
        drop(unpacked.directory);
    }
}

#[test]
fn values_of_nodes_and_zones_are_kept_apart() {
    let unpacked = recording("04-pingpong");
    let root = &unpacked.snapshots[1];
    let body = once(root);
    let text = std::fs::read_to_string(root.join("sys/fs/cgroup/load/memory.numa_stat")).unwrap();
    for line in text.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        for word in words {
            let (node, value) = word.split_once('=').unwrap();
            let found = &body["cgroups"]["/load"]["memory.numa_stat"][format!("{name}[{node}]")];
            assert_eq!(found.as_i64(), value.parse().ok(), "{name} {node}");
        }
    }
    // As printed in the recording: /proc/zoneinfo of this snapshot.
    assert_eq!(body["zones"]["0/DMA32"]["free"], 13515);
    assert_eq!(body["zones"]["0/DMA32"]["promo"], 14085);
    assert_eq!(body["zones"]["1/Movable"]["managed"], 753_664);
    assert_eq!(body["zones"]["0/DMA32"]["pagesets_count"], 1589 + 43);
    assert_eq!(body["nodes"]["0"]["zoneinfo"]["pgdemote_kswapd"], 29389);
    assert_eq!(body["nodes"]["1"]["zoneinfo"]["pgdemote_kswapd"], 0);
    assert_eq!(body["host"]["pressure.memory"]["some_total_us"], 4_649_720);
    assert_eq!(body["taken_at_ns"], 1_795_221_511_536_210_000_i64);
}

#[test]
fn processes_and_services_are_named_and_measured() {
    let unpacked = recording("04-pingpong");
    let body = once(&unpacked.snapshots[1]);
    let process = &body["processes"][0];
    assert_eq!(
        (process["pid"].as_u64(), process["exe"].as_str()),
        (Some(182), Some("tierload"))
    );
    assert_eq!(
        (process["service"].as_str(), process["rule"].as_str()),
        (Some("host/load"), Some("cgroup path"))
    );
    assert_eq!(process["smaps_rollup"]["Rss"], 718_392 * 1024);
    assert_eq!(
        body["services"]["host/load"]["smaps_rollup"]["Rss"],
        718_392 * 1024
    );
    assert_eq!(
        body["services"]["host/load"]["memory.stat"]["pgdemote_kswapd"],
        26171
    );
    let on_nodes = &body["services"]["host/load"]["numa_maps"];
    assert!(on_nodes["anon[N0]"].as_i64().unwrap() > on_nodes["anon[N1]"].as_i64().unwrap());
    let text = body.to_string();
    assert!(!text.contains("--hot-mb"), "command lines stay out of the output");
    let after_the_end = once(&unpacked.snapshots[2]);
    assert_eq!(after_the_end["processes"], serde_json::json!([]));
    assert!(
        after_the_end["cgroups"]["/load"]["memory.stat"]["pgdemote_kswapd"]
            .as_i64()
            .unwrap()
            > 0
    );
}

#[test]
fn a_counter_that_a_kernel_lacks_is_null_and_never_zero() {
    let old = once(&recording("12-kernel-6.1").snapshots[1]);
    let is_null = |value: &Value| matches!(value, Value::Null);
    for (object, name) in [
        (&old["host"]["vmstat"], "pgdemote_khugepaged"),
        (&old["host"]["vmstat"], "pgpromote_candidate_nrl"),
        (&old["nodes"]["0"]["vmstat"], "pgdemote_kswapd"),
        (&old["cgroups"]["/load"]["memory.stat"], "pgpromote_success"),
        (&old["zones"]["0/DMA32"], "promo"),
    ] {
        assert!(
            object.as_object().unwrap().get(name).is_some_and(is_null),
            "{name}"
        );
    }
    let new = once(&recording("03-tiering-steady").snapshots[1]);
    assert!(new["host"]["vmstat"]["pgdemote_khugepaged"].is_i64());
    assert!(
        is_null(&new["nodes"]["0"]["vmstat"]["pgscan_kswapd"]),
        "per node from 7.2 only"
    );
}

#[test]
fn tiers_and_classes_come_with_their_evidence() {
    let lab = once(&recording("04-pingpong").snapshots[1]);
    let ranks: BTreeMap<u64, u64> = lab["inventory"]["tiers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tier| {
            (
                tier["rank"].as_u64().unwrap(),
                tier["kernel_number"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(ranks, BTreeMap::from([(0, 4), (1, 54)]));
    let cxl = once(&recording("10-cxl-real").snapshots[1]);
    let node = &cxl["inventory"]["nodes"][1];
    assert_eq!(
        (node["tier_class"].as_str(), node["cpulist"].as_str()),
        (Some("cxl"), Some(""))
    );
    assert!(node["tier_evidence"].as_str().unwrap().contains("CXL region0"));
    assert_eq!(cxl["inventory"]["cxl_devices"][0]["serial"], "0x1234");
    let off = once(&recording("02-default-spill").snapshots[1]);
    let ids: Vec<&str> = off["inventory"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["id"].as_str().unwrap())
        .collect();
    assert!(
        ids.contains(&"demotion-off") && ids.contains(&"promotion-off"),
        "{ids:?}"
    );
}

#[test]
fn slow_sources_of_the_recordings_have_their_printed_values() {
    let unpacked = recording("08-swap");
    let root = &unpacked.snapshots[2];
    let swap = once(root);
    let printed = std::fs::read_to_string(root.join("sys/block/zram0/mm_stat")).unwrap();
    let columns: Vec<i64> = printed
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    assert!(columns[0] > columns[1] && columns[1] > 0, "{printed}");
    assert_eq!(swap["host"]["zram"]["orig_data_size[zram0]"], columns[0]);
    assert_eq!(swap["host"]["zram"]["compr_data_size[zram0]"], columns[1]);
    assert_eq!(swap["nodes"]["1"]["hmat"]["read_latency_ns[access1]"], 270);
    let cxl = once(&recording("10-cxl-real").snapshots[1]);
    assert_eq!(cxl["host"]["cxl"]["region_size[region0]"], 1_i64 << 30);
    assert_eq!(cxl["host"]["cxl"]["region_committed[region0]"], 1);
    assert_eq!(cxl["host"]["dax"]["target_node[dax0.0]"], 1);
    assert_eq!(
        cxl["inventory"]["cxl_devices"][0]["firmware_version"],
        "BWFW VERSION 00"
    );
    let idle = &cxl["host"]["lru_gen"];
    let oldest = idle["anon_idle_3600s[N1]"].as_i64();
    assert!(
        oldest <= idle["anon_idle_60s[N1]"].as_i64() && oldest.is_some(),
        "{idle}"
    );
    assert!(cxl["zones"]["1/Movable"]["free_blocks[10]"].as_i64() > Some(0));
}

#[test]
fn placement_by_groups_agrees_with_the_page_tables() {
    let body = once(&recording("04-pingpong").snapshots[1]);
    let service = &body["services"]["host/load"];
    for (class, node) in [("dram", 0), ("cxl", 1)] {
        let by_groups = service["placement"][format!("anon[{class}]")].as_i64().unwrap();
        let by_tables = service["numa_maps"][format!("anon[N{node}]")].as_i64().unwrap();
        // The workload has shared memory, too, which numa_maps names tmpfs; both files are read at different moments.
        assert!(
            (by_groups - by_tables).abs() * 20 < by_groups.max(by_tables),
            "{class}: {by_groups} {by_tables}"
        );
    }
}

#[test]
fn doctor_knows_a_host_that_tiers_from_one_that_does_not() {
    let state = |name: &str| {
        let unpacked = recording(name);
        let args = tierscope_agent::doctor::DoctorArgs {
            root: unpacked.snapshots[1].clone(),
            json: true,
            clean: false,
            config: None,
            hostname: None,
        };
        let mut out = Vec::new();
        tierscope_agent::doctor::run(&args, &mut out).unwrap();
        let body: Value = serde_json::from_slice(&out).unwrap();
        let ids: Vec<String> = body["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["id"].as_str().unwrap().to_owned())
            .collect();
        (body["tiering"]["state"].as_str().unwrap().to_owned(), ids)
    };
    for name in ["04-pingpong", "08-swap", "10-cxl-real", "12-kernel-6.1"] {
        let (tiering, ids) = state(name);
        assert_eq!(tiering, "on", "{name}");
        assert!(
            !ids.iter().any(|id| id == "demotion-uncounted"),
            "these kernels count their demotions: {name}"
        );
    }
    assert_eq!(state("02-default-spill").0, "off");
}

#[test]
fn a_recording_of_many_snapshots_gives_a_line_for_each() {
    let unpacked = recording("12-kernel-6.1");
    let root = unpacked.directory.path().join("12-kernel-6.1");
    let mut out = Vec::new();
    run(&OnceArgs { root, json: true }, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let times: Vec<i64> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["taken_at_ns"]
                .as_i64()
                .unwrap()
        })
        .collect();
    assert_eq!(times.len(), 3);
    assert!(times.is_sorted());
}

#[test]
fn a_tree_that_holds_nothing_is_refused_with_a_hint() {
    let empty = tempfile::tempdir().unwrap();
    let error = run(
        &OnceArgs {
            root: empty.path().to_owned(),
            json: true,
        },
        &mut Vec::new(),
    )
    .unwrap_err();
    assert!(
        format!("{error:#}").contains("with proc or sys in it"),
        "{error:#}"
    );
}
