//! Sessions on simulated kernels.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tierscope_rootfs::Root;

use crate::DamonError;
use crate::driver::{Driver, UPDATE_US};
use crate::leftover::{Leftover, clean_with, find_with};
use crate::marker::Marker;
use crate::plan::{Intervals, Plan};
use crate::session::{Guard, Session};
use crate::simulated::{Kernel, Layout, NEW, OLD};
use crate::window::Watcher;

const WINDOW: Duration = Duration::from_millis(100);

/// A kernel beneath a directory that also has what the marker is checked against.
fn host(layout: Layout) -> (TempDir, Root, Kernel, Guard) {
    let directory = tempfile::tempdir().unwrap();
    let root = Root::new(directory.path());
    let boot = directory.path().join("proc/sys/kernel/random");
    std::fs::create_dir_all(&boot).unwrap();
    std::fs::write(boot.join("boot_id"), "11-22\n").unwrap();
    let this = directory.path().join(format!("proc/{}", std::process::id()));
    std::fs::create_dir_all(&this).unwrap();
    std::fs::write(this.join("stat"), format!("7 (a) S {} 99 1", "0 ".repeat(18))).unwrap();
    let kernel = Kernel::new(directory.path(), layout);
    let guard = Guard {
        directory: directory.path().join("state"),
        watchdog: None,
    };
    (directory, root, kernel, guard)
}

fn begin(kernel: &Kernel, root: &Root, guard: &Guard) -> Result<Session, DamonError> {
    Session::begin_with(Box::new(kernel.clone()), root, guard)
}

/// The agent that wrote the marker ends.
fn end_agent(directory: &Path) {
    std::fs::remove_dir_all(directory.join(format!("proc/{}", std::process::id()))).unwrap();
}

fn driver(kernel: &Kernel, root: &Root) -> Driver {
    Driver::new(Box::new(kernel.clone()), root.clone())
}

#[test]
fn pages_become_regions_and_give_their_frequency() {
    for (layout, page_bytes) in [(OLD, 4096), (NEW, 4096), (NEW, 16384), (NEW, 65536)] {
        let (_directory, root, kernel, guard) = host(layout);
        let mut session = begin(&kernel, &root, &guard).unwrap();
        session
            .start(&Plan::pages(&[100, 7, 8], page_bytes, WINDOW).unwrap())
            .unwrap();
        assert_eq!(kernel.get("0/contexts/0/operations").unwrap(), "paddr");
        assert_eq!(kernel.get("0/contexts/0/schemes/0/action").unwrap(), "stat");
        let most = kernel.get("0/contexts/0/schemes/0/access_pattern/sz/max");
        assert_eq!(most.unwrap(), u64::MAX.to_string());
        kernel.access(7 * page_bytes, 20, 0);
        let regions = session.regions().unwrap();
        let seen: Vec<_> = regions
            .iter()
            .map(|region| (region.range.start / page_bytes, region.accesses.unwrap()))
            .collect();
        assert_eq!(seen, [(7, 20), (100, 0)]);
        let whole = |region: &crate::driver::Region| region.range.end - region.range.start == page_bytes;
        assert!(regions.iter().all(whole), "{regions:?}");
        session.stop().unwrap();
        assert_eq!(kernel.get("0/state").unwrap(), "off");
        assert!(matches!(session.regions(), Err(DamonError::NoResult { .. })));
        drop(session);
        assert_eq!(
            (kernel.get("nr_kdamonds").unwrap().as_str(), kernel.get("0/state")),
            ("0", None)
        );
        assert!(!Marker::path(&guard.directory).exists());
    }
}

#[test]
fn bytes_that_pass_the_young_filter_need_a_kernel_that_counts_them() {
    let (_directory, root, kernel, guard) = host(NEW);
    let mut session = begin(&kernel, &root, &guard).unwrap();
    session
        .start(&Plan::young(std::slice::from_ref(&(5..9)), 4096, WINDOW).unwrap())
        .unwrap();
    let filter = |file: &str| kernel.get(&format!("0/contexts/0/schemes/0/ops_filters/0/{file}"));
    assert_eq!(
        (filter("type").unwrap(), filter("matching").unwrap()),
        ("young".into(), "N".into())
    );
    kernel.access(5 * 4096, 1, 8192);
    let regions = session.regions().unwrap();
    assert_eq!(
        (regions[0].range.clone(), regions[0].young_bytes),
        (20480..36864, Some(8192))
    );
    drop(session);
    let (_directory, root, kernel, guard) = host(OLD);
    let mut session = begin(&kernel, &root, &guard).unwrap();
    let refused = session
        .start(&Plan::young(std::slice::from_ref(&(5..9)), 4096, WINDOW).unwrap())
        .unwrap_err();
    assert!(matches!(
        refused,
        DamonError::Lacks {
            wanted: "sz_ops_filter_passed",
            ..
        }
    ));
}

#[test]
fn virtual_addresses_are_watched_where_the_kernel_offers_them() {
    let intervals = Intervals {
        sample: Duration::from_millis(5),
        aggregation: WINDOW,
    };
    let plan = Plan::virtual_of(&[77, 78], intervals, (10, 1000)).unwrap();
    let (_directory, root, kernel, guard) = host(OLD);
    let mut session = begin(&kernel, &root, &guard).unwrap();
    session.start(&plan).unwrap();
    assert_eq!(kernel.get("0/contexts/0/operations").unwrap(), "vaddr");
    assert_eq!(kernel.get("0/contexts/0/targets/1/pid_target").unwrap(), "78");
    drop(session);
    let (_directory, root, kernel, guard) = host(NEW);
    let refused = begin(&kernel, &root, &guard).unwrap().start(&plan).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "DAMON of this kernel has no `vaddr` (it has: paddr): choose another source of heat"
    );
}

#[test]
fn memory_as_a_whole_is_watched_in_adaptive_regions() {
    let intervals = Intervals {
        sample: Duration::from_millis(5),
        aggregation: WINDOW,
    };
    let (_directory, root, kernel, guard) = host(NEW);
    let mut session = begin(&kernel, &root, &guard).unwrap();
    let plan = Plan::physical(vec![4096..1 << 30, 1 << 32..1 << 33], intervals, (10, 1000)).unwrap();
    session.start(&plan).unwrap();
    kernel.access(1 << 32, 4, 0);
    let regions = session.regions().unwrap();
    assert_eq!(
        (regions[1].accesses, regions[1].age, regions[1].young_bytes),
        (Some(4), Some(3), None)
    );
    assert_eq!(
        kernel
            .get("0/contexts/0/monitoring_attrs/intervals/sample_us")
            .unwrap(),
        "5000"
    );
}

#[test]
fn what_others_configured_is_left_alone() {
    let (_directory, root, kernel, guard) = host(NEW);
    let others = driver(&kernel, &root);
    others.make().unwrap();
    others.leave_mark(0).unwrap();
    kernel.set("0/state", "on");
    kernel.set("0/contexts/0/schemes/0/action", "pageout");
    let before = kernel.writes().len();
    let refused = begin(&kernel, &root, &guard).unwrap_err().to_string();
    assert!(
        refused.contains("1 kdamond, state on") && refused.contains("actions [pageout]"),
        "{refused}"
    );
    assert!(refused.contains("damo stop"));
    assert_eq!(kernel.writes().len(), before, "nothing was written");
    assert!(!Marker::path(&guard.directory).exists());
}

#[test]
fn a_kernel_without_damon_and_one_whose_module_runs_are_told_apart() {
    let (_directory, root, kernel, guard) = host(NEW);
    let nothing = Session::begin(&root, &guard).unwrap_err();
    assert!(matches!(nothing, DamonError::NotSupported));
    kernel.set_module("damon_stat", "Y");
    let mut session = begin(&kernel, &root, &guard).unwrap();
    kernel.be_busy(u32::MAX);
    let refused = session
        .start(&Plan::pages(&[7], 4096, WINDOW).unwrap())
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("/sys/module/damon_stat/parameters/enabled"),
        "{refused}"
    );
    kernel.be_busy(3);
    session.start(&Plan::pages(&[7], 4096, WINDOW).unwrap()).unwrap();
}

#[test]
fn whatever_write_was_the_last_one_the_next_start_cleans_up() {
    let (mut writes, mut found) = (0, 0);
    loop {
        let (directory, root, kernel, guard) = host(NEW);
        kernel.kill_after(Some(writes));
        let killed = begin(&kernel, &root, &guard).and_then(|mut session| {
            let started = session.start(&Plan::pages(&[7, 100], 4096, WINDOW).unwrap());
            std::mem::forget(session);
            started
        });
        // What the process would have done after its death: put the marker back where an early error took it away.
        if killed.is_err() && !Marker::path(&guard.directory).exists() {
            Marker::of_this_process(&root, 5).write(&guard.directory).unwrap();
        }
        assert_eq!(
            find_with(&driver(&kernel, &root), &guard.directory),
            None,
            "its agent runs"
        );
        end_agent(directory.path());
        kernel.kill_after(None);
        let leftover = find_with(&driver(&kernel, &root), &guard.directory).unwrap();
        found += u32::from(leftover.configured);
        assert_eq!(leftover.running, killed.is_ok());
        assert_eq!(
            clean_with(&driver(&kernel, &root), &guard.directory).unwrap(),
            Some(leftover)
        );
        assert_eq!(kernel.get("nr_kdamonds").unwrap(), "0", "after {writes} writes");
        assert_eq!(find_with(&driver(&kernel, &root), &guard.directory), None);
        if killed.is_ok() {
            break;
        }
        writes += 1;
    }
    assert!(writes > 15 && found > 15, "{writes} writes, {found} found");
}

#[test]
fn a_stale_marker_does_not_make_others_configuration_ours() {
    let (directory, root, kernel, guard) = host(NEW);
    Marker::of_this_process(&root, 5).write(&guard.directory).unwrap();
    end_agent(directory.path());
    let others = driver(&kernel, &root);
    others.make().unwrap();
    others.leave_mark(0).unwrap();
    kernel.set("0/state", "on");
    let leftover = clean_with(&others, &guard.directory).unwrap().unwrap();
    let marker = Some(Marker::path(&guard.directory));
    assert_eq!(
        leftover,
        Leftover {
            marker,
            configured: false,
            running: false
        }
    );
    assert_eq!(kernel.get("0/state").unwrap(), "on");
    assert!(!Marker::path(&guard.directory).exists());
}

#[test]
fn a_configuration_whose_marker_is_lost_is_known_by_its_mark() {
    let (_directory, root, kernel, guard) = host(NEW);
    let killed = driver(&kernel, &root);
    killed.make().unwrap();
    killed.leave_mark(123_456).unwrap();
    kernel.set("0/state", "on");
    let update_us = kernel.get("0/contexts/0/monitoring_attrs/intervals/update_us");
    assert_eq!(update_us.unwrap(), (UPDATE_US + 123_456).to_string());
    let leftover = find_with(&killed, &guard.directory).unwrap();
    assert_eq!(
        leftover,
        Leftover {
            marker: None,
            configured: true,
            running: true
        }
    );
    // The next start needs no help.
    drop(begin(&kernel, &root, &guard).unwrap());
    assert_eq!(kernel.get("nr_kdamonds").unwrap(), "0");
}

#[test]
fn a_watcher_gives_one_result_per_window_and_ends_with_damon_off() {
    let (_directory, root, kernel, guard) = host(NEW);
    let watcher = Watcher::new(begin(&kernel, &root, &guard).unwrap());
    assert!(watcher.take(Duration::ZERO).is_none());
    kernel.access(7 * 4096, 11, 0);
    watcher.watch(Plan::pages(&[7, 100], 4096, WINDOW).unwrap());
    let window = watcher.take(Duration::from_secs(60)).unwrap().unwrap();
    assert_eq!((window.regions[0].accesses, window.checks), (Some(11), 20));
    assert_eq!(
        kernel.get("0/state").unwrap(),
        "off",
        "nothing runs between windows"
    );
    watcher.watch(Plan::pages(&[7], 4096, Duration::from_secs(3600)).unwrap());
    watcher.stop();
    assert!(
        watcher.take(Duration::from_millis(50)).is_none(),
        "a window that was cut short has no result"
    );
    watcher.watch(Plan::pages(&[9], 4096, Duration::from_secs(3600)).unwrap());
    drop(watcher);
    assert_eq!(kernel.get("nr_kdamonds").unwrap(), "0");
    assert!(!Marker::path(&guard.directory).exists());
}
