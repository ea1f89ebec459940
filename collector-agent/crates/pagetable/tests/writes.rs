//! Write tracking against processes whose writes are known. Skipped, with the reason printed, where the kernel does not
//! allow it.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use tierscope_pagetable::mappings::MapsReader;
use tierscope_pagetable::process::process_key;
use tierscope_pagetable::soft_dirty::{SoftDirtyError, probe_soft_dirty};
use tierscope_pagetable::uffd::attach::{AttachError, attach};
use tierscope_pagetable::uffd::scan::{ScanError, probe_accessed, probe_present, probe_written};
use tierscope_pagetable::uffd::track::WriteTracker;
use tierscope_rootfs::Root;
use tierscope_sample::vma_fold::ProcessKey;
use toucher::{Memory, PAGE_BYTES, Toucher, is_in_set, skip};
use waiting::wait_for;

mod toucher;
#[path = "../../../testing/waiting.rs"]
mod waiting;

const PAGES: usize = 16_384;
/// Set in the child that tracks: the process that it attaches to.
const TRACKS: &str = "TIERSCOPE_TEST_TRACKS";

/// Whether this kernel tracks writes; prints why not.
fn supported() -> bool {
    match probe_written(&Root::live()) {
        Ok(()) => cfg!(target_arch = "x86_64"),
        Err(error @ (ScanError::NotSupported { .. } | ScanError::Refused { .. })) => {
            skip(error);
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Attaches to a process. One that gets no processor does not stop in time.
fn attach_to(process: ProcessKey) -> WriteTracker {
    wait_for(|| match attach(&Root::live(), process) {
        Err(error) if error.to_string().contains("did not stop") => Err(error.to_string()),
        attached => Ok(attached.unwrap()),
    })
}

fn cover(tracker: &mut WriteTracker, process: ProcessKey) {
    let mut maps = MapsReader::new(Root::live(), Box::new(|name: &str| Arc::from(name)));
    let refused = tracker.cover(&maps.read(process).unwrap());
    assert_eq!(refused, 0);
}

/// Pages of the child's memory that were written since the last call.
fn written(tracker: &mut WriteTracker, toucher: &Toucher, new_counts: bool) -> Vec<usize> {
    let mut pages = Vec::new();
    let result = tracker.written(new_counts, |written| {
        let addresses = written.range.clone().step_by(PAGE_BYTES);
        pages.extend(addresses.filter_map(|address| toucher.page_of(address)));
    });
    result.unwrap();
    pages
}

/// Mappings of a process that a userfaultfd marks.
fn marked_mappings(pid: u32) -> usize {
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let flags = smaps.lines().filter_map(|line| line.strip_prefix("VmFlags: "));
    flags
        .filter(|flags| flags.split(' ').any(|flag| flag == "uw"))
        .count()
}

/// Waits until the kernel has taken all marks away: other tests of this process start programs, which hold copies of all
/// descriptors for a moment.
fn wait_until_unmarked(pid: u32) {
    wait_for(|| match marked_mappings(pid) {
        0 => Ok(()),
        marked => Err(format!("{marked} mappings stay marked")),
    });
}

#[test]
fn exactly_the_written_pages_are_found_and_the_process_goes_on() {
    if !supported() {
        return;
    }
    for memory in [Memory::Anon, Memory::Shmem, Memory::PrivateFile, Memory::ReadFile] {
        let mut toucher = Toucher::start(memory, PAGES);
        let process = toucher.key();
        let mut tracker = attach_to(process);
        cover(&mut tracker, process);
        assert_eq!(
            written(&mut tracker, &toucher, false),
            [0; 0],
            "the tracking begins"
        );
        for seed in [1, 2] {
            toucher.tell(&format!("set {seed}"));
            cover(&mut tracker, process);
            let expected: Vec<usize> = (0..PAGES).filter(|page| is_in_set(seed, *page)).collect();
            assert_eq!(
                written(&mut tracker, &toucher, true),
                expected,
                "{memory:?}, seed {seed}"
            );
            toucher.tell(&format!("read {}", seed + 2));
            assert_eq!(
                written(&mut tracker, &toucher, true),
                [0; 0],
                "{memory:?}: reads are not writes"
            );
        }
        assert!(marked_mappings(toucher.pid()) > 0);
        drop(tracker);
        wait_until_unmarked(toucher.pid());
        toucher.tell("set 5");
    }
}

/// The side of the process that tracks and is killed.
#[test]
#[ignore = "a child process of other tests"]
fn child_tracks_until_it_is_killed() {
    let Ok(pid) = std::env::var(TRACKS) else { return };
    let process = process_key(&Root::live(), pid.parse().unwrap()).unwrap();
    let mut tracker = attach_to(process);
    cover(&mut tracker, process);
    tracker.written(false, |_| {}).unwrap();
    writeln!(std::io::stdout(), "\narmed").unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn start_tracking(pid: u32) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "child_tracks_until_it_is_killed",
            "--nocapture",
        ])
        .env(TRACKS, pid.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "armed"), "the tracker ended");
    child
}

#[test]
fn killing_the_tracker_takes_all_marks_away() {
    if !supported() {
        return;
    }
    let mut toucher = Toucher::start(Memory::Anon, PAGES);
    let mut tracker = start_tracking(toucher.pid());
    assert!(marked_mappings(toucher.pid()) > 0);
    toucher.tell("set 1");
    tracker.kill().unwrap();
    tracker.wait().unwrap();
    wait_until_unmarked(toucher.pid());
    toucher.tell("set 2");
    let status = std::fs::read_to_string(format!("/proc/{}/status", toucher.pid())).unwrap();
    assert!(status.contains("TracerPid:\t0"));
}

#[test]
fn a_process_that_has_its_own_tracker_is_refused() {
    if !supported() {
        return;
    }
    let own = WriteTracker::of_this_process().unwrap();
    let this = process_key(&Root::live(), std::process::id()).unwrap();
    assert!(matches!(attach(&Root::live(), this), Err(AttachError::OwnUse)));
    drop(own);
    let mut toucher = Toucher::start(Memory::Anon, 16);
    let ended = toucher.key();
    toucher.end();
    assert!(matches!(
        attach(&Root::live(), ended),
        Err(AttachError::Process(_))
    ));
}

#[test]
fn pages_in_memory_are_listed() {
    match probe_present(&Root::live()) {
        Err(error @ ScanError::NotSupported { .. }) => skip(error),
        result => result.unwrap(),
    }
}

#[test]
fn read_tracking_works_or_is_not_supported() {
    match probe_accessed(&Root::live()) {
        Err(error @ ScanError::NotSupported { .. }) => {
            assert!(error.to_string().contains("7.3"), "{error}");
            skip(error);
        }
        result => result.unwrap(),
    }
}

#[test]
fn soft_dirty_marks_are_probed_by_writing() {
    // Kernels with the marks show them among the flags of new mappings.
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let has_marks = smaps
        .lines()
        .any(|line| line.starts_with("VmFlags:") && line.split(' ').any(|flag| flag == "sd"));
    let expected = if has_marks {
        Ok(())
    } else {
        Err(SoftDirtyError::NotSupported)
    };
    assert_eq!(probe_soft_dirty(&Root::live()), expected);
}
