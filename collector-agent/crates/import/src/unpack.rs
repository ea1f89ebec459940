//! Unpacking of an archive of snapshots from an unknown sender.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crate::tree_error::TreeProblem;

/// Largest zstd window that is accepted, as a power of two: 128 MiB.
const WINDOW_LOG_MAX: u32 = 27;

/// What an archive may hold at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Regular files.
    pub files: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 2_000_000,
            file_bytes: 64 << 20,
            total_bytes: 4 << 30,
        }
    }
}

/// Unpacks regular files and directories of a `.tar.zst` below `target`. Links and special files are passed over; a
/// path that leads elsewhere, or more than the limits allow, is an error.
pub(crate) fn unpack(archive: &Path, target: &Path, limits: Limits) -> Result<(), TreeProblem> {
    let inflated = inflated(File::open(archive).map_err(TreeProblem::Open)?)?;
    // A little more than all files, for the headers.
    let capped = inflated.take(
        limits
            .total_bytes
            .saturating_add(limits.files.saturating_mul(1536)),
    );
    let mut tar = tar::Archive::new(capped);
    let (mut files, mut total_bytes) = (0_u64, 0_u64);
    for entry in tar.entries().map_err(TreeProblem::Archive)? {
        let mut entry = entry.map_err(TreeProblem::Archive)?;
        let path = safe_path(&entry.path().map_err(TreeProblem::Archive)?)?;
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            fs::create_dir_all(target.join(path)).map_err(TreeProblem::Unpack)?;
        } else if kind.is_file() {
            files += 1;
            total_bytes += entry.size();
            check("files", files, limits.files)?;
            check("bytes", total_bytes, limits.total_bytes)?;
            check("bytes in one file", entry.size(), limits.file_bytes)?;
            write(&mut entry, &target.join(path)).map_err(TreeProblem::Unpack)?;
        }
    }
    Ok(())
}

/// The content of a zstd frame, whose window is bounded.
pub(crate) fn inflated(file: File) -> Result<impl Read, TreeProblem> {
    let mut inflated = zstd::stream::read::Decoder::new(file).map_err(TreeProblem::Archive)?;
    inflated
        .window_log_max(WINDOW_LOG_MAX)
        .map_err(TreeProblem::Archive)?;
    Ok(inflated)
}

pub(crate) fn check(what: &'static str, found: u64, limit: u64) -> Result<(), TreeProblem> {
    if found > limit {
        Err(TreeProblem::TooLarge { what, found, limit })
    } else {
        Ok(())
    }
}

/// A path of plain names only.
fn safe_path(path: &Path) -> Result<PathBuf, TreeProblem> {
    let mut safe = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => safe.push(name),
            Component::CurDir => {}
            _ => return Err(TreeProblem::Escapes(path.display().to_string())),
        }
    }
    Ok(safe)
}

fn write(content: &mut impl Read, path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    io::copy(content, &mut File::create(path)?)?;
    Ok(())
}
