//! The exporter as Prometheus meets it: a page over HTTP, of any user, with heat where the settings name whose.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use waiting::wait_for;

#[path = "../../../testing/programs.rs"]
mod programs;
#[path = "../../../testing/waiting.rs"]
mod waiting;

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

/// A program that runs until it is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The agent where any user can start it.
fn agent_for_all(directory: &Path) -> PathBuf {
    let copy = directory.join("tierscope-agent");
    programs::copy_program(env!("CARGO_BIN_EXE_tierscope-agent"), &copy);
    for path in [directory, copy.as_path()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("changed");
    }
    copy
}

/// Starts the exporter at a free port; its address.
fn start(arguments: &[&str]) -> (Program, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tierscope-agent"))
        .args(["exporter", "--listen", "127.0.0.1:0"])
        .args(arguments)
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let stderr = child.stderr.take().expect("a pipe");
    let program = Program(child);
    let said = BufReader::new(stderr)
        .lines()
        .map_while(Result::ok)
        .find(|line| line.contains("figures are at"));
    let said = said.expect("it says where");
    let address = said
        .rsplit_once("http://")
        .and_then(|(_, rest)| rest.strip_suffix("/metrics"))
        .expect("an address");
    (program, address.to_owned())
}

fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("asked");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    body.to_owned()
}

/// Fails unless the text is in Prometheus' format: every sample belongs to the metric announced last, has its own labels
/// and a number; counters end with `_total`. Where `promtool` is installed it judges the names too.
fn check(page: &str) {
    let mut announced = BTreeSet::new();
    let (mut metric, mut kind) = ("", "");
    let mut series = BTreeSet::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            (metric, kind) = rest.split_once(' ').expect("name and type");
            assert!(announced.insert(metric), "{metric} is announced twice");
            assert_eq!(
                kind == "counter",
                metric.ends_with("_total"),
                "{metric} is a {kind}"
            );
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').expect("a sample");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            assert_eq!(name.split('{').next(), Some(metric), "{line}");
            assert!(series.insert(name), "{name} stands twice");
        }
    }
    assert!(!series.is_empty() && !kind.is_empty());
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        let _ = writeln!(std::io::stderr(), "skipped: promtool is not installed");
        return;
    };
    let mut stdin = promtool.stdin.take().expect("a pipe");
    stdin.write_all(page.as_bytes()).expect("given");
    drop(stdin);
    let judged = promtool.wait_with_output().expect("ended");
    let said = [judged.stdout, judged.stderr].concat();
    assert!(
        judged.status.success() && said.is_empty(),
        "{}",
        String::from_utf8_lossy(&said)
    );
}

fn has(page: &str, start: &str) -> bool {
    page.lines().any(|line| line.starts_with(start))
}

#[test]
fn a_directory_that_is_no_root_is_refused_with_the_cause() {
    let directory = tempfile::tempdir().expect("a directory");
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_tierscope-agent"))
        .args(["exporter", "--once", "--root"])
        .arg(directory.path())
        .output()
        .expect("ended");
    let said = String::from_utf8_lossy(&stderr);
    assert!(!status.success() && stdout.is_empty(), "{said}");
    assert!(said.contains("holds neither proc nor sys"), "{said}");
}

#[test]
fn a_user_without_rights_and_without_settings_gets_the_figures_of_the_host() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(agent_for_all(directory.path()));
    command
        .args(["exporter", "--once"])
        .env_remove("HOME")
        .env_remove("XDG_STATE_HOME");
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("ended");
    assert!(
        status.success() && stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&stderr)
    );
    let page = String::from_utf8(stdout).expect("text");
    check(&page);
    for start in [
        "tierscope_node_memory_size_bytes{node=\"0\",",
        "tierscope_vmstat_pswpin_total{scope=\"host\"",
        "tierscope_agent_missing_files{path=\"/sys/kernel/debug/",
        "tierscope_agent_collector_active{collector=\"pebs\",",
    ] {
        assert!(has(&page, start), "{start} in\n{page}");
    }
    assert!(!page.contains("spool"), "nothing is sent, so nothing waits");
    assert!(
        !has(&page, "tierscope_service_heat_bytes"),
        "nobody asked for heat"
    );
}

#[test]
fn many_scrapers_get_pages_with_the_heat_of_a_named_program() {
    let directory = tempfile::tempdir().expect("a directory");
    let link = directory.path().join("shop-cache");
    std::os::unix::fs::symlink("/bin/sleep", &link).expect("linked");
    let program = Command::new(&link).arg("1000").spawn();
    let _program = Program(program.expect("sleep is part of every system"));
    let config = directory.path().join("agent.toml");
    // DAMON is one per host: other tests use it.
    let settings = "interval_seconds = 1\n[heat]\nprograms = [\"shop-cache\"]\nbackends = [\"referenced\"]\n\
                    [guard]\ncpu_max_ratio = 1.0\nmemory_max_ratio = 1.0\n[budget]\ncpu_max_ratio = 1.0\n";
    std::fs::write(&config, settings).expect("written");
    let (exporter, address) = start(&["--config", config.to_str().expect("text")]);

    let page = wait_for(|| {
        let page = scrape(&address);
        if has(&page, "tierscope_service_heat_bytes{") {
            Ok(page)
        } else {
            Err(page)
        }
    });
    check(&page);
    assert!(
        has(&page, "tierscope_agent_heat_backend{name=\"referenced\"} 1"),
        "{page}"
    );
    assert!(has(&page, "tierscope_heat_interval_seconds 1"), "{page}");
    let scrapers: Vec<_> = (0..16)
        .map(|_| {
            let address = address.clone();
            std::thread::spawn(move || check(&scrape(&address)))
        })
        .collect();
    for scraper in scrapers {
        scraper.join().expect("every page is whole");
    }

    let process = rustix::process::Pid::from_child(&exporter.0);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("told");
    let mut exporter = exporter;
    assert!(exporter.0.wait().expect("ended").success());
}
