//! An agent that is killed leaves DAMON off, or something that the next one finds.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tierscope_damon::leftover::{clean, find};
use tierscope_damon::plan::{Intervals, Plan};
use tierscope_damon::session::{Guard, Session};
use tierscope_damon::watchdog::{WatchdogCommand, wait_and_clean};
use tierscope_rootfs::Root;

use crate::waiting::wait_for;
use crate::{Host, ROLE};

const DIRECTORY: &str = "TIERSCOPE_TEST_DIRECTORY";
/// Agents that switch DAMON on and off all the time, and such that leave it on.
const BUSY: &str = "busy agent";
const STEADY: &str = "steady agent";

fn this_binary(test: &str) -> Vec<std::ffi::OsString> {
    ["--ignored", "--exact", test, "--nocapture", "--test-threads=1"]
        .map(Into::into)
        .to_vec()
}

/// The watchdog's side; the variables of the agent are inherited.
#[test]
#[ignore = "a child process of other tests"]
fn watchdog() {
    if let (Some(_), Some(directory)) = (std::env::var_os(ROLE), std::env::var_os(DIRECTORY)) {
        wait_and_clean(&Root::live(), Path::new(&directory)).unwrap();
    }
}

/// The agent's side: takes DAMON, and switches it on and off again and again, or on for good. Says when it is on.
#[test]
#[ignore = "a child process of other tests"]
fn agent_that_will_be_killed() {
    let (Some(role), Some(directory)) = (std::env::var_os(ROLE), std::env::var_os(DIRECTORY)) else {
        return;
    };
    if role != BUSY && role != STEADY {
        return;
    }
    let guard = Guard {
        directory: directory.into(),
        watchdog: Some(WatchdogCommand {
            program: std::env::current_exe().unwrap(),
            arguments: this_binary("killed::watchdog"),
        }),
    };
    let intervals = Intervals {
        sample: Duration::from_millis(5),
        aggregation: Duration::from_millis(50),
    };
    let memory = std::iter::once(1 << 24..1 << 28).collect();
    let plan = Plan::physical(memory, intervals, (10, 100)).unwrap();
    loop {
        let mut session = Session::begin(&Root::live(), &guard).unwrap();
        session.start(&plan).unwrap();
        writeln!(std::io::stdout(), "\non").unwrap();
        if role == STEADY {
            loop {
                std::thread::park();
            }
        }
        session.regions().unwrap();
        session.stop().unwrap();
        session.start(&plan).unwrap();
    }
}

struct Agent(Child);

impl Agent {
    fn start(host: &Host, role: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(this_binary("killed::agent_that_will_be_killed"))
            .env(ROLE, role)
            .env(DIRECTORY, host.state())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    fn wait_until_on(&mut self) {
        let mut lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "on"));
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn watchdog(&self) -> Pid {
        let pid = self.0.id();
        let mut children: Vec<i32> = Vec::new();
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
            let list = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap();
            children.extend(
                list.split_ascii_whitespace()
                    .map(|pid| pid.parse::<i32>().unwrap()),
            );
        }
        assert_eq!(children.len(), 1);
        Pid::from_raw(children[0]).unwrap()
    }
}

/// Waits for the watchdog, whose parent has gone.
fn wait_for_clean_up(host: &Host, moment: &str) {
    let marker = host.state().join("damon-session");
    wait_for(|| match (Host::kdamonds().as_str(), marker.exists()) {
        ("0", false) => Ok(()),
        (kdamonds, marker) => Err(format!("killed {moment}: {kdamonds} kdamonds, marker {marker}")),
    });
}

#[test]
fn killing_the_agent_at_any_moment_leaves_damon_off() {
    let Some(host) = Host::take() else { return };
    let mut agent = Agent::start(&host, STEADY);
    agent.wait_until_on();
    agent.kill();
    wait_for_clean_up(&host, "while it is on");
    // Where each moment falls depends on the machine; what is left afterwards does not.
    for milliseconds in (0..60).map(|step| step * 5) {
        let mut agent = Agent::start(&host, BUSY);
        std::thread::sleep(Duration::from_millis(milliseconds));
        agent.kill();
        wait_for_clean_up(&host, &format!("after {milliseconds} ms"));
        assert_eq!(find(&Root::live(), &host.state()), None);
    }
}

#[test]
fn what_is_left_when_the_watchdog_dies_too_is_found_and_cleaned() {
    let Some(host) = Host::take() else { return };
    let mut agent = Agent::start(&host, STEADY);
    agent.wait_until_on();
    kill_process(agent.watchdog(), Signal::KILL).unwrap();
    agent.kill();
    let leftover = find(&Root::live(), &host.state()).unwrap();
    assert!(leftover.configured && leftover.marker.is_some());
    assert_eq!(Host::kdamonds(), "1");
    assert_eq!(clean(&Root::live(), &host.state()).unwrap(), Some(leftover));
    assert_eq!(Host::kdamonds(), "0");
    assert_eq!(find(&Root::live(), &host.state()), None);
    // And without the help of anybody, by the next start.
    let mut agent = Agent::start(&host, STEADY);
    agent.wait_until_on();
    kill_process(agent.watchdog(), Signal::KILL).unwrap();
    agent.kill();
    drop(host.begin());
    assert_eq!(Host::kdamonds(), "0");
}
