//! Files of one process in `/proc`, read only while its id is still that of the process that was meant.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tierscope_rootfs::{Counted, DENIED, Missing, Reader, Root};
use tierscope_sample::vma_fold::ProcessKey;

/// Why the heat of a process is not measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unmeasured {
    /// It ended, or another process has its id now.
    #[error("the process has ended")]
    Gone,
    /// The kernel refuses.
    #[error("permission denied: the process belongs to uid {owner_uid}; run as that user or as root")]
    Permission {
        /// Owner of the process's files in `/proc`.
        owner_uid: u32,
    },
    /// It is larger than the limit for the cost of a scan.
    #[error(
        "resident memory of {rss_bytes} bytes is above the limit of {limit_bytes}; raise the limit to measure it"
    )]
    TooLarge {
        /// Its resident memory.
        rss_bytes: u64,
        /// The limit in force.
        limit_bytes: u64,
    },
    /// It has more mappings than are read.
    #[error("more mappings than fit in {} MiB of text", TEXT_LIMIT_BYTES >> 20)]
    TooManyMappings,
    /// The kernel has no `clear_refs`.
    #[error("the kernel has no clear_refs: it was built without CONFIG_PROC_PAGE_MONITOR")]
    NotSupported,
    /// A file cannot be read for another reason.
    #[error("{0}")]
    Unreadable(String),
}

/// Largest maps or smaps that is read: about 80,000 mappings of smaps.
const TEXT_LIMIT_BYTES: u64 = 64 << 20;

/// Opens and reads files of processes beneath one root.
#[derive(Debug)]
pub(crate) struct ProcessFiles {
    reader: Reader,
}

impl ProcessFiles {
    pub(crate) fn new(root: Root) -> Self {
        Self {
            reader: Reader::new(root),
        }
    }

    /// Bytes of text read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.reader.bytes_read()
    }

    fn path(&self, process: ProcessKey, file: &str) -> PathBuf {
        self.reader.root().join(&format!("/proc/{}/{file}", process.pid))
    }

    /// Opens a file of a process. The open file stays with that process, whatever becomes of its id.
    pub(crate) fn open(
        &mut self,
        process: ProcessKey,
        file: &str,
        options: &OpenOptions,
    ) -> Result<File, Unmeasured> {
        let opened = options.open(self.path(process, file));
        let opened = opened.map_err(|error| self.unmeasured_io(process, &error))?;
        self.check_identity(process)?;
        Ok(opened)
    }

    /// Hands out the lines of a file of a process.
    pub(crate) fn each_line(
        &mut self,
        process: ProcessKey,
        file: &str,
        line: impl FnMut(&str),
    ) -> Result<(), Unmeasured> {
        self.check_identity(process)?;
        let path = self.path(process, file);
        let read = self.reader.each_line(&path, TEXT_LIMIT_BYTES, line);
        let Counted { cut, .. } =
            read.map_err(|missing| self.unmeasured(process, missing, Unmeasured::NotSupported))?;
        if cut {
            return Err(Unmeasured::TooManyMappings);
        }
        // The text is that of the process only if the id still is.
        self.check_identity(process)
    }

    /// Fails unless the id belongs to the process that began at its start time.
    pub(crate) fn check_identity(&mut self, process: ProcessKey) -> Result<(), Unmeasured> {
        let stat = self.reader.read(&format!("/proc/{}/stat", process.pid));
        let stat = match stat {
            Ok(text) => text,
            Err(Missing::Absent) => return Err(Unmeasured::Gone),
            Err(Missing::Unreadable(reason)) => return Err(Unmeasured::Unreadable(reason)),
        };
        if start_time_ticks(stat) == Some(process.start_time_ticks) {
            Ok(())
        } else {
            Err(Unmeasured::Gone)
        }
    }

    /// Fails above the limit. `VmRSS` of status costs microseconds, where reading a page's bits costs some 10 ns.
    pub(crate) fn check_size(&mut self, process: ProcessKey, limit_bytes: u64) -> Result<(), Unmeasured> {
        let status = self.reader.read(&format!("/proc/{}/status", process.pid));
        let Ok(status) = status else { return Ok(()) };
        match vm_rss_bytes(status) {
            Some(rss_bytes) if rss_bytes > limit_bytes => Err(Unmeasured::TooLarge {
                rss_bytes,
                limit_bytes,
            }),
            _ => Ok(()),
        }
    }

    /// What a failed call on a file of a process means.
    pub(crate) fn unmeasured_io(&mut self, process: ProcessKey, error: &io::Error) -> Unmeasured {
        if error.kind() == io::ErrorKind::PermissionDenied {
            self.denied(process)
        } else {
            self.unmeasured(process, Missing::from_io(error), Unmeasured::NotSupported)
        }
    }

    /// What a missing file of a process means; `absent` when the process itself is still there.
    fn unmeasured(&mut self, process: ProcessKey, missing: Missing, absent: Unmeasured) -> Unmeasured {
        match missing {
            Missing::Absent => self.check_identity(process).err().unwrap_or(absent),
            Missing::Unreadable(reason) if reason == DENIED => self.denied(process),
            Missing::Unreadable(reason) => Unmeasured::Unreadable(reason),
        }
    }

    /// `clear_refs` may be written by the owner of the process and by root, smaps read by whoever may trace it.
    fn denied(&self, process: ProcessKey) -> Unmeasured {
        let owner = File::open(self.path(process, "stat")).and_then(|file| file.metadata());
        owner.map_or(Unmeasured::Gone, |owner| Unmeasured::Permission {
            owner_uid: owner.uid(),
        })
    }
}

/// The key of a running process.
pub fn process_key(root: &Root, pid: u32) -> Result<ProcessKey, Unmeasured> {
    let mut reader = Reader::new(root.clone());
    let stat = reader.read(&format!("/proc/{pid}/stat"));
    let start_time_ticks = stat.ok().and_then(start_time_ticks).ok_or(Unmeasured::Gone)?;
    Ok(ProcessKey {
        pid,
        start_time_ticks,
    })
}

/// Field 22 of `/proc/<pid>/stat`. The name before it may hold spaces and parentheses, so it ends at the last one.
fn start_time_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn vm_rss_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}
