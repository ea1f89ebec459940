//! Field kits of this host and of a recorded one, through the program itself.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tierscope_import::tree::{self, field_kit};
use tierscope_opened::open;
use tierscope_wire::CounterRow;

#[path = "../../../testing/programs.rs"]
mod programs;
#[path = "../../../testing/waiting.rs"]
mod waiting;

const AGENT: &str = env!("CARGO_BIN_EXE_tierscope-agent");

fn kit(arguments: &[&str], path: &Path) -> Output {
    let mut command = Command::new(AGENT);
    command.arg("fieldkit").args(arguments).arg("--out").arg(path);
    command.output().unwrap()
}

/// Name and content of every member.
fn members(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let inflated = zstd::stream::read::Decoder::new(File::open(path).unwrap()).unwrap();
    let mut tar = tar::Archive::new(inflated);
    let read = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (name, content)
    };
    tar.entries().unwrap().map(read).collect()
}

fn json(members: &BTreeMap<String, Vec<u8>>, name: &str) -> Value {
    serde_json::from_slice(&members[name]).unwrap()
}

/// The counters of a kit in order of time.
fn counters(path: &Path) -> Vec<CounterRow> {
    let (mut layouts, mut rows) = (Vec::new(), Vec::new());
    for body in field_kit::open(path).unwrap().unwrap().batches {
        let content = open(&body, &layouts).unwrap().content;
        layouts.extend(content.layouts);
        rows.extend(content.counters);
    }
    rows
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../tests/data")
        .join(name)
}

/// Directories of snapshots, in order of time.
fn snapshots(members: &BTreeMap<String, Vec<u8>>) -> Vec<&str> {
    let recorders = members.keys().filter_map(|name| name.strip_suffix("/_recorder"));
    recorders.collect()
}

#[test]
fn a_kit_of_this_host_holds_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kit.tar.zst");
    let done = kit(&["--seconds", "2", "--perf"], &path);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let members = members(&path);
    let manifest = json(&members, "manifest.json");
    let (rows, taken) = (counters(&path), snapshots(&members));
    assert_eq!(
        (
            manifest["schema"].as_str(),
            manifest["ended_by"].as_str(),
            manifest["live"].as_bool()
        ),
        (Some("tierscope.field-kit/1"), Some("time"), Some(true))
    );
    assert_eq!(manifest["snapshots"].as_u64(), Some(taken.len() as u64));
    assert_eq!(taken.len(), rows.len());
    assert!(rows.len() >= 2, "one at the begin, and one for each interval");
    // Snapshot and batch of a round are read one after the other, and this counter only grows.
    let grown = |text: &[u8]| -> i64 {
        let text = String::from_utf8_lossy(text).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix("pgfault "));
        line.unwrap().parse().unwrap()
    };
    let copied: Vec<i64> = taken
        .iter()
        .map(|time| grown(&members[&format!("{time}/proc/vmstat")]))
        .collect();
    for (row, copied) in rows.iter().zip(&copied) {
        assert!(row.value("host|vmstat|pgfault").unwrap() >= *copied);
    }
    assert!(copied.is_sorted());
    let tree = tree::open(&path).unwrap();
    assert_eq!(tree.snapshots.len(), taken.len());
    assert!(
        tree.snapshots
            .iter()
            .all(|snapshot| snapshot.boottime_ns.is_some())
    );
    assert_eq!(json(&members, "doctor.json")["schema"], "tierscope.doctor/1");
    // What is not there is named with its reason.
    let missing = manifest["missing"].as_array().unwrap();
    let has_samples = members.contains_key("samples/perf.data");
    let is_named = |what: &str| missing.iter().any(|it| it["what"] == what && it["reason"] != "");
    assert_ne!(has_samples, is_named("samples/perf.data"));
    assert!(is_named("heat and page samples"));
}

#[test]
fn names_are_those_that_may_travel() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kit.tar.zst");
    // A program under a private path, whose heat is asked for.
    let program = directory.path().join("secret-customer-tool");
    programs::copy_program("/bin/sleep", &program);
    let mut child = Command::new(&program).arg("600").spawn().unwrap();
    let done = kit(
        &["--seconds", "2", "--program", &format!("pid:{}", child.id())],
        &path,
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let members = members(&path);
    let inventory = json(&members, "inventory.json");
    assert_eq!(inventory["hostname"], "field-kit");
    let texts = String::from_utf8(members["batches/texts.txt"].clone()).unwrap();
    assert!(texts.lines().any(|line| line == "field-kit") && texts.contains("host|vmstat|pgfault"));
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let machine_id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let private = [
        "secret-customer-tool",
        directory.path().to_str().unwrap(),
        machine_id.trim(),
    ];
    for (name, content) in members {
        let mut content = content;
        if name.ends_with(".pb.zst") {
            content = tierscope_wire::inflate(&content).unwrap();
        }
        let text = String::from_utf8_lossy(&content);
        for secret in private.iter().filter(|secret| !secret.is_empty()) {
            assert!(!text.contains(secret), "{secret} in {name}");
        }
        assert!(
            !text.lines().any(|line| line == hostname.trim()),
            "the host's name in {name}"
        );
    }
}

/// One snapshot of a recorded kernel with two tiers, as a root.
fn recorded() -> tree::SnapshotTree {
    tree::open(&data("kernel-lab/04-pingpong.tar.zst")).unwrap()
}

#[test]
fn a_kit_of_a_recorded_host_copies_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kit.tar.zst");
    let recorded = recorded();
    let root = &recorded.snapshots[0].root;
    let done = kit(
        &["--seconds", "1", "--perf", "--root", root.to_str().unwrap()],
        &path,
    );
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let members = members(&path);
    let vmstat = fs::read(root.join("proc/vmstat")).unwrap();
    let taken = snapshots(&members);
    assert_eq!(members[&format!("{}/proc/vmstat", taken[0])], vmstat);
    let text = String::from_utf8(vmstat).unwrap();
    let demoted = text
        .lines()
        .find_map(|line| line.strip_prefix("pgdemote_kswapd "))
        .unwrap();
    assert_eq!(
        counters(&path)[0].value("host|vmstat|pgdemote_kswapd"),
        Some(demoted.parse().unwrap())
    );
    assert_eq!(
        json(&members, "inventory.json")["nodes"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let manifest = json(&members, "manifest.json");
    assert_eq!(manifest["live"], false);
    let samples = manifest["missing"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["what"] == "samples/perf.data");
    assert_eq!(
        samples.unwrap()["reason"],
        "a recording has no processor to sample"
    );
    let processes = members.keys().filter(|name| name.contains("/proc/182/"));
    assert_eq!(processes.count(), 0, "no file of a process");
}

#[test]
fn a_signal_ends_it_with_a_whole_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kit.tar.zst");
    let part = directory.path().join("kit.tar.zst.part");
    let mut child = Command::new(AGENT)
        .args(["fieldkit", "--seconds", "80000", "--out"])
        .arg(&path)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    waiting::wait_for(|| {
        if part.exists() {
            Ok(())
        } else {
            Err("no file yet".to_owned())
        }
    });
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!part.exists());
    let manifest = json(&members(&path), "manifest.json");
    assert_eq!(
        (manifest["ended_by"].as_str(), manifest["snapshots"].as_u64()),
        (Some("signal"), Some(1))
    );
}

#[test]
fn what_does_not_fit_ends_it_with_a_whole_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kit.tar.zst");
    let root = directory.path().join("root/proc");
    fs::create_dir_all(&root).unwrap();
    let line = "pages free 1234567\n";
    fs::write(root.join("zoneinfo"), line.repeat(300_000)).unwrap();
    let root = directory.path().join("root");
    let done = kit(
        &[
            "--seconds",
            "5",
            "--max-mib",
            "4",
            "--root",
            root.to_str().unwrap(),
        ],
        &path,
    );
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let manifest = json(&members(&path), "manifest.json");
    assert_eq!(
        (manifest["ended_by"].as_str(), manifest["snapshots"].as_u64()),
        (Some("size"), Some(0))
    );
    assert!(fs::metadata(&path).unwrap().len() < 4 << 20);
}

#[test]
fn nobody_gets_a_kit_that_says_what_root_would_add() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        let _ = writeln!(std::io::stderr(), "skipped: only root can become somebody else");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let everybody = fs::Permissions::from_mode(0o777);
    fs::set_permissions(directory.path(), everybody).unwrap();
    // Where the program was built may be closed to others.
    let program = directory.path().join("tierscope-agent");
    programs::copy_program(AGENT, &program);
    let path = directory.path().join("kit.tar.zst");
    let done = Command::new(&program)
        .args(["fieldkit", "--seconds", "1", "--out"])
        .arg(&path)
        .current_dir(directory.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let members = members(&path);
    let manifest = json(&members, "manifest.json");
    assert_eq!(manifest["as_root"], false);
    assert!(counters(&path)[0].value("host|vmstat|pgfault").is_some());
    let missing = manifest["missing"].as_array().unwrap();
    let hints = missing
        .iter()
        .filter(|it| it["hint"].as_str().unwrap().contains("root"));
    assert!(hints.count() > 0, "{missing:?}");
}
