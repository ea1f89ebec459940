//! The program itself: killed and started again while its service comes and goes, it delivers every batch once.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tierscope_opened::{Opened, open};
use tierscope_wire::{Content, Origin};
use waiting::wait_for;

#[path = "../../../testing/waiting.rs"]
mod waiting;

/// Longer than any step can take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A service that refuses some batches and takes the others; hands over what it took.
fn serve(listener: TcpListener, taken: Sender<Opened>) {
    std::thread::spawn(move || {
        let (mut layouts, mut batches) = (Vec::new(), 0_u32);
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let Some((line, body)) = read_request(&stream) else {
                continue;
            };
            if line.contains("/v1/agents/enrol") {
                answer(&stream, "201 Created", r#"{"host_id":"h1","credential":"c1"}"#);
            } else if line.contains("/v1/agent/config") {
                answer(
                    &stream,
                    "200 OK",
                    r#"{"interval_seconds":60,"paused":false,"heat":{"enabled":true}}"#,
                );
            } else {
                batches += 1;
                if batches.is_multiple_of(3) {
                    answer(&stream, "503 Service Unavailable", "");
                    continue;
                }
                let opened = open(&body, &layouts).expect("a batch");
                layouts.extend(opened.content.layouts.clone());
                answer(&stream, "200 OK", r#"{"result":"accepted"}"#);
                let _ = taken.send(opened);
            }
        }
    });
}

fn read_request(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if first.is_empty() {
            first = line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, body))
}

fn answer(mut stream: &TcpStream, status: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    // An agent that was killed does not wait for its answer.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn start(server: &str, directory: &Path) -> Child {
    start_with(server, directory, "")
}

fn start_with(server: &str, directory: &Path, settings: &str) -> Child {
    let config = directory.join("agent.toml");
    std::fs::write(&config, settings).expect("written");
    let token = directory.join("token");
    std::fs::write(&token, "join\n").expect("written");
    Command::new(env!("CARGO_BIN_EXE_tierscope-agent"))
        .args(["run", "--server", server, "--interval", "1", "--label", "rack=r1"])
        // DAMON is one per host: other tests use it.
        .args(["--heat-backends", "referenced"])
        .arg("--config")
        .arg(config)
        .arg("--state-dir")
        .arg(directory.join("state"))
        .arg("--join-token-file")
        .arg(token)
        .stdout(Stdio::null())
        .spawn()
        .expect("started")
}

fn receive(taken: &Receiver<Opened>, count: usize) -> Vec<Opened> {
    (0..count)
        .map(|_| taken.recv_timeout(PATIENCE).expect("a batch"))
        .collect()
}

fn terminate(mut child: Child) {
    let done = Command::new("kill")
        .arg(child.id().to_string())
        .status()
        .expect("signalled");
    assert!(done.success());
    assert!(child.wait().expect("ended").success(), "SIGTERM ends it cleanly");
}

fn check_content_of_live_host(content: &Content) {
    let row = &content.counters[0];
    assert!(
        row.layout
            .keys()
            .iter()
            .any(|key| &**key == "host|vmstat|pgfault")
    );
    assert!(row.end_boottime_ns.is_some() && row.values.iter().any(Option::is_some));
    let report = content.self_report.as_ref().expect("a self report");
    assert!(report.rss_bytes > 0 && report.cpu_ns > 0);
}

#[test]
fn killed_and_started_again_it_delivers_every_batch_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, taken) = channel();
    serve(listener, sender);
    let mut agent = start(&server, directory.path());
    let mut batches = receive(&taken, 4);
    agent.kill().expect("killed");
    agent.wait().expect("ended");
    let agent = start(&server, directory.path());
    batches.extend(receive(&taken, 4));
    terminate(agent);

    let inventory = batches[0]
        .content
        .inventory
        .as_ref()
        .expect("the first batch says what the host is");
    assert_eq!(inventory.labels, [("rack".to_owned(), "r1".to_owned())]);
    for batch in &batches {
        check_content_of_live_host(&batch.content);
    }
    assert!(
        batches
            .iter()
            .all(|batch| batch.header.origin == Origin::Live && batch.header.host_id == "h1")
    );
    let streams: BTreeSet<_> = batches.iter().map(|batch| batch.header.stream_id).collect();
    assert_eq!(streams.len(), 1, "the stream lives as long as the spool");
    // A batch whose acknowledgement was lost with the process may come twice, with the same number and data.
    let mut ends: Vec<_> = batches
        .iter()
        .map(|batch| (batch.header.seq, batch.content.counters[0].end_wall_ns))
        .collect();
    ends.dedup();
    assert!(
        ends.windows(2)
            .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1),
        "{ends:?}"
    );
    assert!(
        ends.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1),
        "no number is left out: {ends:?}"
    );
    let status = std::fs::read_to_string(directory.path().join("state/status.json")).expect("written");
    assert!(status.contains(r#""state": "stopped""#), "{status}");
}

#[test]
fn a_service_that_never_answers_does_not_hold_up_the_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, hung) = channel();
    std::thread::spawn(move || {
        let mut open_connections = Vec::new();
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            match read_request(&stream) {
                Some((line, _)) if line.contains("/v1/agents/enrol") => {
                    answer(&stream, "201 Created", r#"{"host_id":"h1","credential":"c1"}"#);
                }
                _ => {
                    open_connections.push(stream);
                    let _ = sender.send(());
                }
            }
        }
    });
    let agent = start(&server, directory.path());
    hung.recv_timeout(PATIENCE)
        .expect("a request that is never answered");
    terminate(agent);
}

#[test]
fn without_a_way_to_enrol_it_says_what_to_do() {
    let directory = tempfile::tempdir().expect("a directory");
    let done = Command::new(env!("CARGO_BIN_EXE_tierscope-agent"))
        .args(["run", "--server", "http://127.0.0.1:1", "--state-dir"])
        .arg(directory.path())
        .output()
        .expect("ended");
    assert_eq!(done.status.code(), Some(1));
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(message.contains("tierscope token join"), "{message}");
}

#[test]
fn a_mistake_in_the_settings_is_named_with_its_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("agent.toml");
    std::fs::write(&config, "server = \"http://127.0.0.1:1\"\ninterval_seconds = 7\n").expect("written");
    let done = Command::new(env!("CARGO_BIN_EXE_tierscope-agent"))
        .args(["run", "--config"])
        .arg(&config)
        .output()
        .expect("ended");
    assert_eq!(done.status.code(), Some(1));
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        message.contains("line 2") && message.contains("divisor of 60"),
        "{message}"
    );
}

/// Waits until the status file holds `text`.
fn wait_for_status(directory: &Path, text: &str) -> String {
    let path = directory.join("state/status.json");
    wait_for(|| {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        if status.contains(text) {
            Ok(status)
        } else {
            Err(format!("no {text:?} in {status}"))
        }
    })
}

#[test]
fn a_file_pauses_everything_and_its_removal_lets_it_go_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, taken) = channel();
    serve(listener, sender);
    let pause = directory.path().join("state/pause");
    std::fs::create_dir_all(directory.path().join("state")).expect("made");
    std::fs::write(&pause, "").expect("written");
    let agent = start(&server, directory.path());
    let status = wait_for_status(directory.path(), r#""state": "paused""#);
    assert!(
        status.contains("remove it to go on") && status.contains(r#""last_collected_at": null"#),
        "{status}"
    );
    assert!(taken.try_recv().is_err(), "nothing is sent");
    std::fs::remove_file(&pause).expect("removed");
    receive(&taken, 1);
    let status = wait_for_status(directory.path(), r#""paused_by": null"#);
    assert!(status.contains(r#""state": "within""#), "the budget: {status}");
    terminate(agent);
}

#[test]
fn settings_are_checked_without_starting_anything() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("agent.toml");
    let key = directory.path().join("names.key");
    let state = directory.path().join("state");
    let text =
        format!("server = \"http://127.0.0.1:1\"\nstate_dir = {state:?}\n[names]\nkey_file = {key:?}\n");
    std::fs::write(&config, text).expect("written");
    let check = || {
        let done = Command::new(env!("CARGO_BIN_EXE_tierscope-agent"))
            .args(["run", "--check-config", "--config"])
            .arg(&config)
            .output()
            .expect("ended");
        (
            done.status.code(),
            String::from_utf8_lossy(&done.stderr).into_owned(),
        )
    };
    let (code, message) = check();
    assert!(code == Some(1) && message.contains("names.key"), "{message}");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, mode).expect("changed");
    assert_eq!(check(), (Some(0), String::new()));
    assert!(!state.exists(), "nothing was started");
}

#[test]
fn prometheus_gets_the_agents_health_and_the_counters_of_tier_moves() {
    let directory = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, taken) = channel();
    serve(listener, sender);
    let agent = start_with(&server, directory.path(), "metrics_listen = \"127.0.0.1:0\"\n");
    receive(&taken, 1);
    // A batch may be on its way before the agent says that it runs.
    wait_for_status(directory.path(), r#""state": "running""#);
    let status = wait_for_status(directory.path(), r#""metrics_listen": "127.0.0.1:"#);
    let address = status
        .split(r#""metrics_listen": ""#)
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("asked");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("answered");
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    assert!(
        page.contains("tierscope_agent_state{state=\"running\"} 1"),
        "{page}"
    );
    let moved = page
        .lines()
        .find(|line| line.starts_with("tierscope_vmstat_pswpin_total{scope=\"host\""));
    assert!(moved.is_some(), "{page}");
    terminate(agent);
}

/// A program that runs until it is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_named_program_is_measured_and_a_name_that_fits_nobody_is_said_everywhere() {
    let directory = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, taken) = channel();
    serve(listener, sender);
    // Called by a link, as packages do: the kernel gives the path behind it.
    let link = directory.path().join("shop-cache");
    std::os::unix::fs::symlink("/bin/sleep", &link).expect("linked");
    let program = Command::new(&link).arg("1000").spawn();
    let _program = Program(program.expect("sleep is part of every system"));
    let settings = "[heat]\nprograms = [\"shop-cache\", \"shop-cahce\"]\n[guard]\ncpu_max_ratio = 1.0\n";
    let agent = start_with(&server, directory.path(), settings);

    let status = wait_for_status(directory.path(), "shop-cahce");
    assert!(
        status.contains("\"heat_warnings\": [") && !status.contains("shop-cache"),
        "{status}"
    );
    wait_for_status(directory.path(), r#""heat_rung": "referenced""#);
    let told = std::iter::from_fn(|| taken.recv_timeout(PATIENCE).ok())
        .filter_map(|batch| batch.content.inventory)
        .find(|inventory| {
            let mut findings = inventory.findings.iter();
            findings.any(|finding| finding.id == "heat-pattern-fits-nobody")
        });
    let inventory = told.expect("the service is told");
    let mut findings = inventory.findings.iter();
    let finding = findings.find(|finding| finding.id == "heat-pattern-fits-nobody");
    assert!(
        finding.is_some_and(|finding| finding.cause.contains("shop-cahce")),
        "{finding:?}"
    );
    terminate(agent);
}

#[test]
fn a_program_that_asks_by_its_variable_is_measured_and_others_are_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, taken) = channel();
    serve(listener, sender);
    let sleep = |name: &str, value: &str| {
        let link = directory.path().join(name);
        std::os::unix::fs::symlink("/bin/sleep", &link).expect("linked");
        let program = Command::new(&link)
            .arg("1000")
            .env("TIERSCOPE_TEST_HEAT", value)
            .spawn();
        Program(program.expect("sleep is part of every system"))
    };
    let _asks = sleep("asks", "1");
    let _does_not = sleep("does-not", "0");
    let settings = "[[services]]\nname = \"asks\"\nexe = \"*/sleep\"\ncmdline = \"*asks *\"\n\
                    [[services]]\nname = \"does-not\"\nexe = \"*/sleep\"\ncmdline = \"*does-not *\"\n\
                    [heat]\nopt_in_variable = \"TIERSCOPE_TEST_HEAT\"\n[guard]\ncpu_max_ratio = 1.0\n";
    let agent = start_with(&server, directory.path(), settings);
    let rows = std::iter::from_fn(|| taken.recv_timeout(PATIENCE).ok())
        .map(|batch| batch.content.heat)
        .find(|heat| !heat.is_empty());
    let rows = rows.expect("heat arrives");
    let services: std::collections::BTreeSet<String> =
        rows.iter().map(|row| row.service.to_string()).collect();
    assert_eq!(services.into_iter().collect::<Vec<_>>(), ["host/asks"]);
    terminate(agent);
}
