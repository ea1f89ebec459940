//! `replay` sends what was recorded, raw and whole.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};

use tierscope_opened::{Opened, open};
use tierscope_sample::heat::Backend;
use tierscope_wire::{CounterRow, Origin};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../tests/data")
        .join(name)
}

/// A service that takes everything; gives its address and what it took.
fn serve() -> (String, Receiver<Opened>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, taken) = channel();
    std::thread::spawn(move || {
        let mut layouts = Vec::new();
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            let (is_enrolment, body) = read_request(&stream);
            let text = if is_enrolment {
                r#"{"host_id":"h1","credential":"c1"}"#
            } else {
                let opened = open(&body, &layouts).expect("a batch");
                layouts.extend(opened.content.layouts.clone());
                sender.send(opened).expect("the test listens");
                r#"{"result":"accepted","stored":{"counters":1}}"#
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                text.len()
            );
            (&stream)
                .write_all(format!("{head}{text}").as_bytes())
                .expect("answered");
        }
    });
    (address, taken)
}

fn read_request(stream: &TcpStream) -> (bool, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let (mut is_enrolment, mut length) = (false, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if line.trim().is_empty() {
            break;
        }
        is_enrolment |= line.contains("/v1/agents/enrol");
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body");
    (is_enrolment, body)
}

fn replay(arguments: &[&str], paths: &[PathBuf]) -> Output {
    let done = Command::new(env!("CARGO_BIN_EXE_tierscope-agent"))
        .arg("replay")
        .args(arguments)
        .args(paths)
        .output();
    done.expect("ended")
}

fn replayed(arguments: &[&str], paths: &[PathBuf]) -> Vec<Opened> {
    let (server, received) = serve();
    let directory = tempfile::tempdir().expect("a directory");
    let token = directory.path().join("token");
    std::fs::write(&token, "join\n").expect("written");
    let token = token.to_string_lossy();
    let done = replay(
        &[&["--server", &server, "--join-token-file", &token], arguments].concat(),
        paths,
    );
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    received.try_iter().collect()
}

/// Name and value of each line of a recorded `/proc/vmstat`.
fn vmstat(root: &Path) -> BTreeMap<String, i64> {
    let text = std::fs::read_to_string(root.join("proc/vmstat")).expect("recorded");
    let line = |line: &str| {
        let (name, value) = line.split_once(' ').expect("a name and a value");
        (format!("host|vmstat|{name}"), value.parse().expect("a number"))
    };
    text.lines().map(line).collect()
}

#[test]
fn a_field_kit_arrives_as_an_imported_host_and_ends_now_when_it_is_old() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("kit.tar.zst");
    let tree = tierscope_import::tree::open(&data("kernel-lab/04-pingpong.tar.zst")).expect("readable");
    let root = tree.snapshots[0].root.clone();
    let done = Command::new(env!("CARGO_BIN_EXE_tierscope-agent"))
        .args(["fieldkit", "--seconds", "2", "--root"])
        .arg(&root)
        .arg("--out")
        .arg(&path)
        .output()
        .expect("ended");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let at = |batches: &[Opened]| -> Vec<i64> {
        let rows = batches.iter().flat_map(|batch| &batch.content.counters);
        rows.map(|row| row.end_wall_ns).collect()
    };
    let batches = replayed(
        &["--time", "recorded", "--host", "lab-7"],
        std::slice::from_ref(&path),
    );
    assert!(batches.len() >= 2 && batches.iter().all(|batch| batch.header.origin == Origin::Import));
    assert!(batches.iter().all(|batch| batch.header.host_id != "field-kit"));
    let numbers: Vec<u64> = batches.iter().map(|batch| batch.header.seq).collect();
    assert!(numbers.iter().eq(&(0..batches.len() as u64).collect::<Vec<_>>()));
    let inventory = batches[0].content.inventory.as_ref().expect("what the host is");
    assert_eq!((inventory.hostname.as_str(), inventory.nodes.len()), ("lab-7", 2));
    let first = &batches[0].content.counters[0];
    let vmstat = vmstat(&root);
    assert_eq!(
        first.value("host|vmstat|pgfault"),
        Some(vmstat["host|vmstat|pgfault"])
    );
    let moved = replayed(
        &["--time", "end-now", "--host", "lab-7"],
        std::slice::from_ref(&path),
    );
    let shifts: Vec<i64> = at(&moved)
        .iter()
        .zip(at(&batches))
        .map(|(now, then)| now - then)
        .collect();
    assert!(
        shifts[0] > 0 && shifts.iter().all(|shift| *shift == shifts[0]),
        "{shifts:?}"
    );
    assert_ne!(moved[0].header.stream_id, batches[0].header.stream_id);
}

/// Loads of a server as `perf script` prints them, in seconds of their clock.
fn perf_script(directory: &Path) -> PathBuf {
    let local = "1a08001042 |OP LOAD|LVL RAM hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A";
    let cxl = "1200000042 |OP LOAD|LVL CXL hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A";
    let lines = [
        ("1.0", local),
        ("1.5", local),
        ("2.2", local),
        ("2.4", cxl),
        ("3.0", local),
    ];
    let lines = lines
        .map(|(time, source)| format!("server 7/7 {time}: 200 cpu/mem-loads/P: 7f0000001000 {source}\n"));
    let path = directory.join("server.txt");
    std::fs::write(&path, lines.concat()).expect("written");
    path
}

#[test]
fn what_served_the_loads_of_a_perf_recording_arrives_as_counters_of_its_service() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = perf_script(directory.path());
    let batches = replayed(&["--service", "shop/db"], std::slice::from_ref(&path));
    let rows: Vec<&CounterRow> = batches.iter().flat_map(|batch| &batch.content.counters).collect();
    let counts: Vec<_> = rows
        .iter()
        .map(|row| {
            let of = |name: &str| {
                row.value(&format!("service:shop/db|served_loads|loads_{name}"))
                    .expect("sent")
            };
            (of("dram_local"), of("cxl"), of("unknown"))
        })
        .collect();
    assert_eq!(counts, [(0, 0, 0), (1, 0, 0), (3, 1, 0)]);
    let dry = replay(
        &["--dry-run", "--service", "shop/db"],
        std::slice::from_ref(&path),
    );
    let text = String::from_utf8(dry.stdout).expect("text");
    assert!(
        text.contains(
            "what served them: dram_local 4, cxl 1; 20.0 % of those that memory served came from slow"
        ),
        "{text}"
    );
}

#[test]
fn the_ping_pong_recording_arrives_with_its_exact_differences() {
    let path = data("kernel-lab/04-pingpong.tar.zst");
    let batches = replayed(&["--time", "recorded"], std::slice::from_ref(&path));
    let rows: Vec<&CounterRow> = batches.iter().flat_map(|batch| &batch.content.counters).collect();
    let tree = tierscope_import::tree::open(&path).expect("readable");
    assert_eq!(rows.len(), tree.snapshots.len());
    let ends: Vec<_> = rows.iter().map(|row| row.end_wall_ns).collect();
    assert!(
        ends.iter()
            .eq(tree.snapshots.iter().map(|snapshot| &snapshot.wall_ns))
    );
    let (first, last) = (
        vmstat(&tree.snapshots[0].root),
        vmstat(&tree.snapshots[rows.len() - 1].root),
    );
    for (key, last) in &last {
        let sent = [rows[0], rows[rows.len() - 1]].map(|row| row.value(key).expect("sent"));
        assert_eq!(sent[1] - sent[0], last - first[key], "{key}");
    }
    assert!(last["host|vmstat|pgpromote_success"] > first["host|vmstat|pgpromote_success"]);
    assert!(batches.iter().all(|batch| batch.header.origin == Origin::Import));
    let inventory = batches[0]
        .content
        .inventory
        .as_ref()
        .expect("the first batch says what the host is");
    assert_eq!(
        (inventory.hostname.as_str(), inventory.nodes.len()),
        ("04-pingpong", 2)
    );
}

#[test]
fn a_recording_that_is_told_to_end_now_keeps_its_distances() {
    let path = data("kernel-lab/12-kernel-6.1.tar.zst");
    let batches = replayed(&["--time", "end-now"], std::slice::from_ref(&path));
    let rows: Vec<&CounterRow> = batches.iter().flat_map(|batch| &batch.content.counters).collect();
    let tree = tierscope_import::tree::open(&path).expect("readable");
    let shift_ns = rows[0].end_wall_ns - tree.snapshots[0].wall_ns;
    assert!(
        rows.iter()
            .zip(&tree.snapshots)
            .all(|(row, snapshot)| row.end_wall_ns - snapshot.wall_ns == shift_ns)
    );
    let newest = rows[rows.len() - 1];
    assert!(newest.end_wall_ns <= batches[0].header.sealed_wall_ns);
    assert_eq!(
        newest.end_boottime_ns,
        tree.snapshots[rows.len() - 1].boottime_ns,
        "the recorded clock stays"
    );
}

#[test]
fn a_page_trace_arrives_as_heat_of_its_service() {
    let batches = replayed(
        &["--service", "shop/cache"],
        &[data("page-traces/redis-zipf.parquet")],
    );
    let rows: Vec<_> = batches.iter().flat_map(|batch| &batch.content.heat).collect();
    let ends: std::collections::BTreeSet<_> = rows.iter().map(|row| row.end_wall_ns).collect();
    assert_eq!(ends.len(), 120);
    assert!(
        rows.iter()
            .all(|row| &*row.service == "shop/cache" && &*row.group == "redis-zipf")
    );
    assert!(batches.iter().any(|batch| !batch.content.gaps.is_empty()));
    assert!(batches.iter().any(|batch| !batch.content.tile_columns.is_empty()));
    let services = &batches[0]
        .content
        .inventory
        .as_ref()
        .expect("an inventory")
        .services;
    assert!(services[0].heat_measured && services[0].name == "cache");
}

#[test]
fn samples_that_perf_recorded_arrive_as_heat_of_its_processes() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("recording.txt");
    let mut text = b"# printed by perf script\n".to_vec();
    for second in 0..90 {
        for (event, page) in [("cpu/mem-loads,ldlat=30/P", second), ("cpu/mem-stores/P", 200)] {
            let address = 0x7f00_0000_0000_u64 + 4096 * page;
            let access = format!("200 {event}: {address:x} [unknown] (//anon)");
            writeln!(text, "web server 77/78 [001] {second}.25: {access}").expect("a line");
        }
    }
    std::fs::write(&path, text).expect("written");
    let batches = replayed(&["--service", "shop/web"], std::slice::from_ref(&path));
    let rows: Vec<_> = batches.iter().flat_map(|batch| &batch.content.heat).collect();
    assert_eq!(
        rows.len(),
        89,
        "one for each second between the first and the last sample"
    );
    assert!(
        rows.iter()
            .all(|row| row.backend == Backend::Pebs && &*row.group == "web server")
    );
    let newest = rows.iter().max_by_key(|row| row.end_wall_ns).expect("rows");
    let samples = newest.samples.expect("counted");
    assert_eq!((samples.loads, samples.stores), (1, 1));
    assert_eq!(
        (newest.resident_bytes, newest.period_events),
        (91 * 4096, Some(200.0))
    );
    let services = &batches[0]
        .content
        .inventory
        .as_ref()
        .expect("an inventory")
        .services;
    assert_eq!(services[0].rule, "imported recording of perf");
}

#[test]
fn page_faults_that_perf_recorded_are_refused_as_heat() {
    for name in ["perf/page-faults.perf.data", "perf/page-faults.script.txt"] {
        let done = replay(&["--dry-run", "--service", "shop/web"], &[data(name)]);
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{message}");
        assert!(
            message.contains("first touches") && message.contains("perf mem record"),
            "{message}"
        );
    }
}

#[test]
fn a_dry_run_sends_nothing_and_mistakes_say_what_to_do() {
    let path = data("kernel-lab/12-kernel-6.1.tar.zst");
    let dry = replay(&["--dry-run", "--json"], std::slice::from_ref(&path));
    let summary: serde_json::Value = serde_json::from_slice(&dry.stdout).expect("JSON");
    assert_eq!(summary["recordings"][0]["samples"], 32);
    assert!(summary["delivered"].is_null());
    let nameless = replay(&["--dry-run"], &[data("page-traces/sqlite.parquet")]);
    assert_eq!(nameless.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nameless.stderr).contains("--service"));
    let no_server = replay(&[], std::slice::from_ref(&path));
    assert_eq!(no_server.status.code(), Some(2));
}
