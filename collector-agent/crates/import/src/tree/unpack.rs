//! Unpacking of an archive of snapshots from an unknown sender.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::members::{Kind, Limits, Member, check, each};
use crate::tree_error::TreeProblem;

/// Unpacks regular files and directories of a `.tar` (plain, `.gz`, `.bz2`, `.xz`, `.zst`) or `.zip` below `target`, with their
/// times. Links and special files are passed over; a path that leads elsewhere, or more than the limits allow, is an error.
pub(crate) fn unpack(archive: &Path, target: &Path, limits: Limits) -> Result<(), TreeProblem> {
    let mut unpacking = Unpacking {
        target,
        limits,
        total_bytes: 0,
        directories: 0,
        last: PathBuf::new(),
    };
    each(archive, limits, |member| unpacking.take(member))
}

struct Unpacking<'t> {
    target: &'t Path,
    limits: Limits,
    total_bytes: u64,
    directories: u64,
    /// The directory that was made last, so that it need not be looked for again.
    last: PathBuf,
}

impl Unpacking<'_> {
    fn take(&mut self, member: Member<'_>) -> Result<(), TreeProblem> {
        match member.kind {
            Kind::Directory => self.make(&member.path),
            Kind::File => {
                if let Some(parent) = member.path.parent() {
                    self.make(parent)?;
                }
                self.write(member)
            }
            Kind::Other => Ok(()),
        }
    }

    fn make(&mut self, directory: &Path) -> Result<(), TreeProblem> {
        if self.last == directory {
            return Ok(());
        }
        let mut place = self.target.to_owned();
        for part in directory.components() {
            place.push(part);
            match fs::create_dir(&place) {
                Ok(()) => self.directories += 1,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(TreeProblem::Unpack(error)),
            }
            check(
                "directories",
                self.directories,
                self.limits.files.saturating_mul(2),
            )?;
        }
        directory.clone_into(&mut self.last);
        Ok(())
    }

    /// Writes a file. What is announced is checked first, what comes out of the archive is counted.
    fn write(&mut self, member: Member<'_>) -> Result<(), TreeProblem> {
        let Member {
            path,
            size_bytes,
            modified_s,
            content,
            ..
        } = member;
        let limits = self.limits;
        check(
            "bytes",
            self.total_bytes.saturating_add(size_bytes),
            limits.total_bytes,
        )?;
        check("bytes in one file", size_bytes, limits.file_bytes)?;
        let path = self.target.join(path);
        let mut file = File::create(&path).map_err(TreeProblem::Unpack)?;
        let mut content = Damaged {
            inner: content.take(limits.file_bytes.saturating_add(1)),
            is_damaged: false,
        };
        let copied = io::copy(&mut content, &mut file);
        let bytes = match copied {
            Ok(bytes) => bytes,
            Err(error) if content.is_damaged => return Err(TreeProblem::Archive(error)),
            Err(error) => return Err(TreeProblem::Unpack(error)),
        };
        check("bytes in one file", bytes, limits.file_bytes)?;
        self.total_bytes += bytes;
        check("bytes", self.total_bytes, limits.total_bytes)?;
        let modified = modified_s.map(Duration::from_secs);
        if let Some(time) = modified.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since)) {
            // A file system that keeps no such time loses when the snapshot was taken, and nothing else.
            let _ = file.set_modified(time);
        }
        Ok(())
    }
}

/// A reader that knows whether it was the one that failed.
struct Damaged<R> {
    inner: R,
    is_damaged: bool,
}

impl<R: Read> Read for Damaged<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        self.is_damaged |= read.is_err();
        read
    }
}
