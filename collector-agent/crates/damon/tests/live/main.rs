//! DAMON of the running kernel, on processes whose accesses are known. Skipped, with the reason printed, where the
//! kernel has no DAMON, where another program uses it, and without root.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod killed;
mod touched;
#[path = "../../../../testing/waiting.rs"]
mod waiting;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use tierscope_damon::plan::Plan;
use tierscope_damon::session::{Guard, Session};
use tierscope_damon::{DamonError, leftover};
use tierscope_rootfs::Root;

/// Set in child processes: this binary run again.
const ROLE: &str = "TIERSCOPE_TEST_DAMON";

/// DAMON for one test at a time, over all test programs of the host.
struct Host {
    directory: tempfile::TempDir,
    _lock: File,
}

impl Host {
    /// Takes DAMON for a test; prints why not.
    fn take() -> Option<Self> {
        let skipped = |reason: &str| {
            let _ = writeln!(std::io::stderr(), "skipped: {reason}");
            None
        };
        let lock = File::create("/tmp/tierscope-damon.lock").unwrap();
        lock.lock().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let host = Self {
            directory,
            _lock: lock,
        };
        let thp = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        if thp.contains("[always]") {
            return skipped("huge pages are on, so accesses show in steps of 2 MiB");
        }
        // Any page: what is tried is whether DAMON starts.
        let plan = Plan::pages(&[1 << 12], 4096, Duration::from_millis(100)).unwrap();
        let tried = Session::begin(&Root::live(), &host.guard()).and_then(|mut session| session.start(&plan));
        match tried {
            Ok(()) => Some(host),
            Err(
                error @ (DamonError::NotSupported
                | DamonError::Permission { .. }
                | DamonError::InUse { .. }
                | DamonError::Module { .. }),
            ) => skipped(&error.to_string()),
            Err(error) => panic!("{error}"),
        }
    }

    fn guard(&self) -> Guard {
        Guard {
            directory: self.state(),
            watchdog: None,
        }
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    fn begin(&self) -> Session {
        Session::begin(&Root::live(), &self.guard()).unwrap()
    }

    fn kdamonds() -> String {
        let count = std::fs::read_to_string("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds");
        count.unwrap().trim().to_owned()
    }
}

#[test]
fn a_session_leaves_nothing() {
    let Some(host) = Host::take() else { return };
    let session = host.begin();
    assert_eq!(Host::kdamonds(), "1");
    assert!(host.state().join("damon-session").exists());
    assert_eq!(
        leftover::find(&Root::live(), &host.state()),
        None,
        "its agent runs"
    );
    let second = Session::begin(&Root::live(), &host.guard());
    assert!(matches!(second, Err(DamonError::InUse { .. })));
    drop(session);
    assert_eq!(Host::kdamonds(), "0");
    assert!(!host.state().join("damon-session").exists());
}
