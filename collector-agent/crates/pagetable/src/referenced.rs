//! The heat source that every kernel has: clear the accessed bits of a process, wait, and sum them per mapping.
//!
//! Writing 1 to `/proc/<pid>/clear_refs` clears the accessed bits of all its pages; `Referenced` in smaps then counts
//! the bytes whose bit was set again. The write also ages the pages for reclaim, and the process pays about 0.6 us at
//! the next touch of each page. Rules: docs/method/heat.md, "Mappings".

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tierscope_rootfs::{Missing, Reader, Root};
use tierscope_sample::vma_fold::{ProcessKey, VmaReading};

use crate::smaps::{Namer, SmapsParser};

/// Largest smaps that is read: about 80,000 mappings.
const SMAPS_LIMIT_BYTES: u64 = 64 << 20;

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
    #[error("more mappings than fit in {} MiB of smaps", SMAPS_LIMIT_BYTES >> 20)]
    TooManyMappings,
    /// The kernel has no `clear_refs`.
    #[error("the kernel has no clear_refs: it was built without CONFIG_PROC_PAGE_MONITOR")]
    NotSupported,
    /// A file cannot be read for another reason.
    #[error("{0}")]
    Unreadable(String),
}

/// Reads and clears accessed bits of processes beneath one root.
pub struct ReferencedReader {
    reader: Reader,
    rss_limit_bytes: u64,
    namer: Box<Namer>,
}

impl ReferencedReader {
    /// Processes above `rss_limit_bytes` are left alone; `namer` names files.
    pub fn new(root: Root, rss_limit_bytes: u64, namer: Box<Namer>) -> Self {
        Self {
            reader: Reader::new(root),
            rss_limit_bytes,
            namer,
        }
    }

    /// Bytes read from `/proc` so far.
    pub fn bytes_read(&self) -> u64 {
        self.reader.bytes_read()
    }

    /// The mappings of a process, by address, with the bytes accessed since the last [`ReferencedReader::clear`].
    pub fn read(&mut self, process: ProcessKey) -> Result<Vec<VmaReading>, Unmeasured> {
        self.check_identity(process)?;
        self.check_size(process)?;
        let path = self.path(process, "smaps");
        let mut parser = SmapsParser::new(&*self.namer);
        let read = self
            .reader
            .each_line(&path, SMAPS_LIMIT_BYTES, |line| parser.line(line));
        let vmas = parser.finish();
        let counted = read.map_err(|missing| self.unmeasured(process, missing, Unmeasured::NotSupported))?;
        if counted.cut {
            return Err(Unmeasured::TooManyMappings);
        }
        // The text is that of the process only if the id still is.
        self.check_identity(process)?;
        Ok(vmas)
    }

    /// Clears the accessed bits of a process: its next interval begins.
    pub fn clear(&mut self, process: ProcessKey) -> Result<(), Unmeasured> {
        let path = self.path(process, "clear_refs");
        let opened = OpenOptions::new().write(true).open(&path);
        let mut file = opened.map_err(|error| self.unmeasured_io(process, &error))?;
        // The open file stays with the process that it was opened for; the check says that this is the right one.
        self.check_identity(process)?;
        file.write_all(b"1")
            .map_err(|error| self.unmeasured_io(process, &error))
    }

    fn path(&self, process: ProcessKey, file: &str) -> PathBuf {
        self.reader.root().join(&format!("/proc/{}/{file}", process.pid))
    }

    fn check_identity(&mut self, process: ProcessKey) -> Result<(), Unmeasured> {
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

    /// `VmRSS` of status costs microseconds, where smaps costs some 40 ns for each page.
    fn check_size(&mut self, process: ProcessKey) -> Result<(), Unmeasured> {
        let limit_bytes = self.rss_limit_bytes;
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

    fn unmeasured_io(&mut self, process: ProcessKey, error: &io::Error) -> Unmeasured {
        let permission = error.kind() == io::ErrorKind::PermissionDenied;
        let missing = if permission {
            Missing::Unreadable(String::new())
        } else {
            Missing::from_io(error)
        };
        match missing {
            Missing::Unreadable(_) if permission => self.denied(process),
            missing => self.unmeasured(process, missing, Unmeasured::NotSupported),
        }
    }

    /// What a missing file of a process means; `absent` when the process itself is still there.
    fn unmeasured(&mut self, process: ProcessKey, missing: Missing, absent: Unmeasured) -> Unmeasured {
        match missing {
            Missing::Absent => self.check_identity(process).err().unwrap_or(absent),
            Missing::Unreadable(reason) if reason == "permission denied" => self.denied(process),
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

/// Field 22 of `/proc/<pid>/stat`. The name before it may hold spaces and parentheses, so it ends at the last one.
pub(crate) fn start_time_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn vm_rss_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}
