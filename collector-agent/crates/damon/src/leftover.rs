//! What a killed agent left of its configuration of DAMON: found by its marker or its mark, and taken away.

use std::path::{Path, PathBuf};

use tierscope_rootfs::Root;

use crate::DamonError;
use crate::driver::Driver;
use crate::marker::Marker;
use crate::tree::Disk;

/// Marks are from 1 to here: less than a second, in microseconds.
pub(crate) const HIGHEST_MARK: u64 = 999_999;

/// What an agent that no longer runs left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The marker file; `None` when it is lost and the configuration itself shows the mark.
    pub marker: Option<PathBuf>,
    /// The kernel's configuration is ours and still there.
    pub configured: bool,
    /// DAMON runs: a kernel thread works for nobody.
    pub running: bool,
}

/// Looks for what a killed agent left; `directory` is where agents keep their marker. `None` when there is nothing, or
/// when the agent that made it still runs.
pub fn find(root: &Root, directory: &Path) -> Option<Leftover> {
    find_with(&Driver::new(Box::new(Disk), root.clone()), directory)
}

/// Takes away what [`find`] finds, kernel first, marker last. Gives what it was.
pub fn clean(root: &Root, directory: &Path) -> Result<Option<Leftover>, DamonError> {
    clean_with(&Driver::new(Box::new(Disk), root.clone()), directory)
}

pub(crate) fn find_with(driver: &Driver, directory: &Path) -> Option<Leftover> {
    let path = Marker::path(directory);
    let marker = Marker::read(directory);
    if marker
        .as_ref()
        .is_some_and(|marker| marker.is_alive(driver.root()))
    {
        return None;
    }
    let has_marker = path.exists();
    let configured = driver.count().is_ok_and(|count| count == 1);
    let running = configured && driver.is_on();
    let mark = driver.mark().filter(|mark| (1..=HIGHEST_MARK).contains(mark));
    let is_ours = match (&marker, mark) {
        (Some(marker), mark) if marker.is_of_this_boot(driver.root()) => {
            // Killed before the mark was written, the configuration is empty and off.
            mark == Some(marker.mark) || (mark.is_none() && !running)
        }
        (_, mark) => mark.is_some(),
    };
    let configured = configured && is_ours;
    (has_marker || configured).then_some(Leftover {
        marker: has_marker.then_some(path),
        configured,
        running: running && configured,
    })
}

pub(crate) fn clean_with(driver: &Driver, directory: &Path) -> Result<Option<Leftover>, DamonError> {
    let found = find_with(driver, directory);
    if let Some(leftover) = &found {
        if leftover.configured {
            driver.remove()?;
        }
        Marker::remove(directory).map_err(|error| DamonError::Guard {
            what: format!("removing {}", Marker::path(directory).display()),
            error,
        })?;
    }
    Ok(found)
}
