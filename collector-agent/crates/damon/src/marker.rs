//! The note that this agent has DAMON configured, left in a file before the first change to the kernel and taken away
//! after the last one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tierscope_rootfs::{Reader, Root};

/// Name of the file in the agent's directory.
const FILE: &str = "damon-session";

/// Who has DAMON configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    /// Boot in which it was written: a restart takes all configuration away.
    pub(crate) boot_id: String,
    /// The agent's process.
    pub(crate) pid: u32,
    /// Its start, ticks since boot, so that another process with its id is told apart.
    pub(crate) start_time_ticks: u64,
    /// What the session added to an interval that means nothing here, so that its configuration is known again.
    pub(crate) mark: u64,
}

impl Marker {
    pub(crate) fn of_this_process(root: &Root, mark: u64) -> Self {
        let pid = std::process::id();
        let start_time_ticks = Process::read(root, pid).map_or(0, |process| process.start_time_ticks);
        Self {
            boot_id: boot_id(root),
            pid,
            start_time_ticks,
            mark,
        }
    }

    pub(crate) fn path(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        let text = format!(
            "boot_id {}\npid {}\nstart_time_ticks {}\nmark {}\n",
            self.boot_id, self.pid, self.start_time_ticks, self.mark
        );
        let path = Self::path(directory);
        let unfinished = path.with_extension("new");
        fs::write(&unfinished, text)?;
        fs::rename(unfinished, path)
    }

    /// The marker in a directory; `None` where there is none, or none that says anything.
    pub(crate) fn read(directory: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(Self::path(directory)).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        };
        Some(Self {
            boot_id: value("boot_id")?.to_owned(),
            pid: value("pid")?.parse().ok()?,
            start_time_ticks: value("start_time_ticks")?.parse().ok()?,
            mark: value("mark")?.parse().ok()?,
        })
    }

    pub(crate) fn remove(directory: &Path) -> io::Result<()> {
        match fs::remove_file(Self::path(directory)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Whether it was written since the host started.
    pub(crate) fn is_of_this_boot(&self, root: &Root) -> bool {
        self.boot_id == boot_id(root)
    }

    /// Whether the agent that wrote it still runs.
    pub(crate) fn is_alive(&self, root: &Root) -> bool {
        self.is_of_this_boot(root)
            && Process::read(root, self.pid)
                .is_some_and(|process| !process.ended && process.start_time_ticks == self.start_time_ticks)
    }
}

fn boot_id(root: &Root) -> String {
    let mut reader = Reader::new(root.clone());
    let id = reader.value("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().to_owned()
}

/// What `/proc/<pid>/stat` says of a process.
struct Process {
    start_time_ticks: u64,
    /// It has ended, and its parent has not asked for its exit status yet.
    ended: bool,
}

impl Process {
    fn read(root: &Root, pid: u32) -> Option<Self> {
        let mut reader = Reader::new(root.clone());
        let stat = reader.read(&format!("/proc/{pid}/stat")).ok()?;
        // The name before the state may hold spaces and parentheses, so it ends at the last one.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        Some(Self {
            ended: matches!(state, "Z" | "X"),
            start_time_ticks: fields.nth(18)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written_and_knows_its_process() {
        let directory = tempfile::tempdir().unwrap();
        let marker = Marker::of_this_process(&Root::live(), 77);
        marker.write(&directory.path().join("a/b")).unwrap();
        let read = Marker::read(&directory.path().join("a/b")).unwrap();
        assert_eq!(read, marker);
        assert!(read.is_alive(&Root::live()));
        let earlier = Marker {
            start_time_ticks: marker.start_time_ticks + 1,
            ..marker.clone()
        };
        assert!(!earlier.is_alive(&Root::live()), "another process has its id");
        let before_restart = Marker {
            boot_id: "other".to_owned(),
            ..marker
        };
        assert!(!before_restart.is_alive(&Root::live()));
    }

    #[test]
    fn a_process_that_waits_for_its_parent_has_ended() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        let ended = || Process::read(&Root::live(), pid).is_none_or(|process| process.ended);
        while !ended() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(Process::read(&Root::live(), pid).is_none());
    }

    #[test]
    fn what_is_no_marker_says_nothing() {
        for text in [
            "",
            "boot_id x\npid 1\n",
            "boot_id x\npid a\nstart_time_ticks 1\nmark 1\n",
        ] {
            assert_eq!(Marker::parse(text), None, "{text}");
        }
        assert_eq!(Marker::read(Path::new("/does/not/exist")), None);
        Marker::remove(Path::new("/does/not/exist")).unwrap();
    }
}
