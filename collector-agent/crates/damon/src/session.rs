//! DAMON in the hands of this agent: taken only when nobody has it, given back whatever happens.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};

use tierscope_rootfs::{Reader, Root};

use crate::DamonError;
use crate::driver::{Driver, Region};
use crate::leftover::{self, HIGHEST_MARK};
use crate::marker::Marker;
use crate::plan::{Plan, Reading};
use crate::tree::{Disk, Files};
use crate::watchdog::{Watchdog, WatchdogCommand};

/// How a session is guarded against the death of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// Directory for the marker file; made when it is not there.
    pub directory: PathBuf,
    /// The process that cleans up after a killed agent; `None` leaves that to the next start.
    pub watchdog: Option<WatchdogCommand>,
}

/// The host's DAMON, configured by this process alone. Dropping it switches DAMON off and takes the configuration away.
#[derive(Debug)]
pub struct Session {
    driver: Driver,
    directory: PathBuf,
    mark: u64,
    /// Whether the kernel's configuration may be ours.
    created: bool,
    reading: Reading,
    /// Ends after the clean-up: fields are dropped after the session itself.
    watchdog: Option<Watchdog>,
}

impl Session {
    /// Whether the session whose marker lies in a directory is one of this process.
    pub fn is_of_this_process(directory: &Path) -> bool {
        Marker::read(directory).is_some_and(|marker| marker.pid == std::process::id())
    }

    /// Takes DAMON. Refused when another program or module has it; what a killed agent left is taken away first.
    pub fn begin(root: &Root, guard: &Guard) -> Result<Self, DamonError> {
        Self::begin_with(Box::new(Disk), root, guard)
    }

    pub(crate) fn begin_with(files: Box<dyn Files>, root: &Root, guard: &Guard) -> Result<Self, DamonError> {
        let driver = Driver::new(files, root.clone());
        driver.count()?;
        if Marker::read(&guard.directory).is_some_and(|marker| marker.is_alive(root)) {
            let user = "another agent with the same directory".to_owned();
            return Err(DamonError::InUse { user });
        }
        leftover::clean_with(&driver, &guard.directory)?;
        let count = driver.count()?;
        if count > 0 {
            let user = driver.describe_user(count);
            return Err(DamonError::InUse { user });
        }
        // Before the marker, so that there is no marker without a watchdog.
        let watchdog = guard.watchdog.as_ref().map(Watchdog::start).transpose()?;
        let mark = 1 + RandomState::new().build_hasher().finish() % HIGHEST_MARK;
        let marker = Marker::of_this_process(root, mark);
        marker
            .write(&guard.directory)
            .map_err(|error| DamonError::Guard {
                what: format!("writing {}", Marker::path(&guard.directory).display()),
                error,
            })?;
        // From here on every way out goes through the clean-up of the session.
        let mut session = Self {
            driver,
            directory: guard.directory.clone(),
            mark,
            created: false,
            reading: Reading::Adaptive,
            watchdog,
        };
        session.driver.make()?;
        session.created = true;
        session.driver.leave_mark(mark)?;
        Ok(session)
    }

    /// Switches DAMON on with a plan, in place of the plan before.
    pub fn start(&mut self, plan: &Plan) -> Result<(), DamonError> {
        self.driver.stop()?;
        self.reading = plan.reading;
        self.driver.start(plan)
    }

    /// Waits for the end of the running aggregation and gives all regions as they are then, by target and address.
    ///
    /// The kernel takes no other command until then, not even to stop: call it shortly before the end.
    pub fn regions(&self) -> Result<Vec<Region>, DamonError> {
        if !self.driver.is_on() {
            return Err(DamonError::NoResult {
                reason: "its kernel thread has ended".to_owned(),
            });
        }
        self.driver.regions(self.reading)
    }

    /// Switches DAMON off until the next start; the host's DAMON stays taken.
    pub fn stop(&self) -> Result<(), DamonError> {
        self.driver.stop()
    }

    /// Processor time of the kernel thread since it was started, nanoseconds; `None` while DAMON is off.
    pub fn kernel_cpu_ns(&self) -> Option<i64> {
        let pid = self.driver.kdamond_pid()?;
        let mut reader = Reader::new(self.driver.root().clone());
        let schedstat = reader.value(&format!("/proc/{pid}/schedstat")).ok()?;
        schedstat.split_ascii_whitespace().next()?.parse().ok()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A program that took the configuration over by force keeps it.
        let is_ours = self
            .driver
            .mark()
            .is_none_or(|mark| mark == self.mark || mark == 0);
        let cleaned = !self.created || !is_ours || self.driver.remove().is_ok();
        if cleaned {
            // A marker that stays is found by the next start.
            let _ = Marker::remove(&self.directory);
        }
        drop(self.watchdog.take());
    }
}
