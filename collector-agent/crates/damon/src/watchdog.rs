//! A small process that outlives a killed agent just long enough to switch DAMON off.
//!
//! It holds the reading end of a pipe whose writing end the agent alone has. When the agent ends, in whatever way, the
//! pipe ends, and the watchdog takes away what the agent left. When both are killed at once (a service manager kills
//! whole groups), the marker stays for the next start and for `doctor`.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tierscope_rootfs::Root;

use crate::leftover::{self, Leftover};
use crate::{DamonError, marker::Marker};

/// How to start the watchdog: a program that calls [`wait_and_clean`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchdogCommand {
    /// The program, such as the agent itself.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// A running watchdog. Dropping it after the marker is gone lets it end without doing anything.
#[derive(Debug)]
pub(crate) struct Watchdog(Child);

impl Watchdog {
    pub(crate) fn start(command: &WatchdogCommand) -> Result<Self, DamonError> {
        let child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Not in the agent's group, so that an interrupt from a terminal does not end it first.
            .process_group(0)
            .spawn();
        child.map(Self).map_err(|error| DamonError::Guard {
            what: format!("starting the watchdog {}", command.program.display()),
            error,
        })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends at once: it has nothing to do but look for the marker.
        let _ = self.0.wait();
    }
}

/// The watchdog's side: waits until the standard input ends, then takes away what the agent left.
pub fn wait_and_clean(root: &Root, directory: &Path) -> Result<Option<Leftover>, DamonError> {
    let mut byte = [0];
    let mut input = io::stdin().lock();
    loop {
        match input.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if !Marker::path(directory).exists() {
        return Ok(None);
    }
    wait_for_the_end(root, directory);
    leftover::clean(root, directory)
}

/// The pipe ends a moment before the process does; on a busy host some seconds.
fn wait_for_the_end(root: &Root, directory: &Path) {
    const TRIES: u32 = 3_000;
    const WAIT: std::time::Duration = std::time::Duration::from_millis(20);
    for _ in 0..TRIES {
        if !Marker::read(directory).is_some_and(|marker| marker.is_alive(root)) {
            return;
        }
        std::thread::sleep(WAIT);
    }
}
