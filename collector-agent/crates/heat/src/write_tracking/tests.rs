#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use tierscope_pagetable::process::process_key;
use tierscope_sample::fold::Measured;
use tierscope_sample::heat::Backend;
use tierscope_sample::page_group::{PageGroup, PageGroupOptions, PageState};
use tierscope_sample::service::{RuleKind, ServiceId};

use super::*;
use crate::waiting::wait_for;
use std::io::Write as _;
use std::process::{Child, Command};

const MINUTE_NS: i64 = 60_000_000_000;

fn end(minutes: i64) -> IntervalEnd {
    IntervalEnd {
        wall_ns: minutes * MINUTE_NS,
        boottime_ns: Some(minutes * MINUTE_NS),
    }
}

/// A process that writes to its memory all the time, at a walking pace.
struct Writer(Child);

impl Writer {
    fn start() -> Self {
        let child = Command::new("/bin/sh")
            .args([
                "-c",
                "while :; do a=b$a; [ ${#a} -gt 50000 ] && a=; read -t 0.001 x; done",
            ])
            .stdin(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn();
        let writer = Self(child.unwrap());
        // A process that is just being executed has no memory yet.
        wait_for(
            || match std::fs::read_to_string(format!("/proc/{}/maps", writer.0.id())) {
                Ok(maps) if maps.contains("[vdso]") => Ok(()),
                maps => Err(format!("{maps:?}")),
            },
        );
        writer
    }

    fn heat_process(&self) -> HeatProcess {
        HeatProcess {
            key: process_key(&Root::live(), self.0.id()).unwrap(),
            service: Arc::from("host/writer"),
            group: Arc::from("sh"),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process as the scan of processes finds it.
fn found(process: &HeatProcess) -> Process {
    Process {
        pid: process.key.pid,
        start_time: process.key.start_time_ticks,
        exe: Some("/bin/sh".to_owned()),
        comm: "sh".to_owned(),
        cmdline: "sh".to_owned(),
        cgroup: "/".to_owned(),
        service: ServiceId::new("host", "writer"),
        group: "sh".to_owned(),
        rule: RuleKind::Own,
    }
}

/// A row of 64 MiB of anonymous memory of the process's group, as a back end gives it.
fn rows(process: &HeatProcess) -> Vec<HeatRow> {
    let measured = Measured {
        backend: Backend::AbitWalk,
        granularity: Granularity::Page,
        interval_ns: MINUTE_NS,
        service: Arc::clone(&process.service),
        group: Arc::clone(&process.group),
    };
    let mut group = PageGroup::new(measured, PageGroupOptions::default());
    let mapping = PageMapping {
        start: 0x1000,
        end: 0x1000 + (64 << 20),
        kind: PageKind::Anon,
        name: Arc::from(""),
        device: 0,
        inode: 0,
        offset_bytes: 0,
    };
    let size = PageSize::Small4K;
    let pages: Vec<PageState> = (mapping.start..mapping.end)
        .step_by(4096)
        .map(|address| PageState {
            address,
            size,
            anon: true,
            tier: None,
            active: true,
            loads: 0,
            stores: 0,
        })
        .collect();
    group.process(process.key, true).mapping(&mapping, &pages);
    group.finish(end(1)).rows
}

#[test]
fn rows_of_a_tracked_process_say_what_was_written() {
    if let Err(reason) = find_means(&Root::live()) {
        let _ = writeln!(std::io::stderr(), "skipped: {reason}");
        return;
    }
    let writer = Writer::start();
    let process = writer.heat_process();
    let processes = std::slice::from_ref(&process);
    let mut tracking = WriteTracking::new(Root::live(), &["/bin/*".to_owned()]);
    tracking.list(&[found(&process)]);
    let mut first = rows(&process);
    tracking.collect(processes, end(1), MINUTE_NS, &mut first);
    assert!(tracking.refused.is_empty(), "{:?}", tracking.refused);
    assert!(
        first.iter().all(|row| row.beside.written_bytes.is_none()),
        "it begins now"
    );
    assert!(tracking.state().active);
    // The process runs in between, however long that takes.
    let mut minute = 1;
    let written = wait_for(|| {
        minute += 1;
        let mut next = rows(&process);
        tracking.collect(processes, end(minute), MINUTE_NS, &mut next);
        let written = next[0].beside.written_bytes.unwrap();
        (written[0] > 0)
            .then_some(written)
            .ok_or_else(|| format!("{written:?}"))
    });
    assert!(written[0] <= written[3], "{written:?}");
    let mut late = rows(&process);
    tracking.collect(processes, end(minute + 400), MINUTE_NS, &mut late);
    assert_eq!(
        late[0].beside.written_bytes, None,
        "not the writes of one interval"
    );
    tracking.collect(&[], end(minute + 401), MINUTE_NS, &mut []);
    assert!(tracking.tracked.is_empty(), "let go");
}

#[test]
fn a_recording_cannot_be_tracked() {
    let refusal = probe(&Root::new("/nowhere")).unwrap_err();
    assert!(refusal.hint.contains("CONFIG_MEM_SOFT_DIRTY"));
}

#[test]
fn only_what_the_settings_name_is_tracked() {
    let this = HeatProcess {
        key: process_key(&Root::live(), std::process::id()).unwrap(),
        service: Arc::from("host/writer"),
        group: Arc::from("sh"),
    };
    let mut tracking = WriteTracking::new(Root::live(), &["/usr/bin/redis-*".to_owned()]);
    tracking.list(&[found(&this)]);
    let mut rows = rows(&this);
    tracking.collect(std::slice::from_ref(&this), end(1), MINUTE_NS, &mut rows);
    assert!(tracking.tracked.is_empty() && rows[0].beside.written_bytes.is_none());
    assert!(!tracking.state().active);
    let nobody = WriteTracking::new(Root::live(), &[]);
    assert!(nobody.state().hint.contains("write_tracking = ["));
}

#[test]
fn a_process_that_ended_is_refused_once() {
    let writer = Writer::start();
    let process = writer.heat_process();
    drop(writer);
    let mut tracking = WriteTracking::new(Root::live(), &["/bin/*".to_owned()]);
    tracking.means = Some(Ok(Means::Userfault));
    tracking.list(&[found(&process)]);
    tracking.collect(std::slice::from_ref(&process), end(1), MINUTE_NS, &mut []);
    assert_eq!(tracking.refused.len(), 1);
    assert_eq!(tracking.state().reason, "the process has ended");
}
