//! Snapshot trees: a directory per sample that mirrors the real paths, named by its time, as a directory or `.tar.zst`.

pub mod field_kit;

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

pub use crate::tree_error::{TreeError, TreeProblem};
pub use crate::unpack::Limits;
use crate::unpack::unpack;

/// A file system in memory, where there is one.
const MEMORY_DIRECTORY: &str = "/dev/shm";
/// Most bytes that are unpacked in memory.
const MEMORY_BYTES: u64 = 256 << 20;
/// Nanoseconds of a second.
const SECOND_NS: f64 = 1e9;
/// `_recorder` and the directory's name may differ by this much before the name is believed.
const MAX_CLOCK_DIFFERENCE_NS: i64 = 3_600_000_000_000;

/// One sample: a directory that stands for `/`, and when it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Holds `proc` and `sys`.
    pub root: PathBuf,
    /// `CLOCK_REALTIME` at its end: of `_recorder`, else of the directory's name.
    pub wall_ns: i64,
    /// A clock of the recorded kernel that never steps: `_recorder`'s monotonic clock, `None` without it.
    pub boottime_ns: Option<i64>,
    /// The kernel's boot id where recorded, else an id that stands for it.
    pub boot_id: String,
}

/// Snapshots in order of time.
#[derive(Debug)]
pub struct SnapshotTree {
    /// Name of the recording.
    pub name: String,
    /// At least one.
    pub snapshots: Vec<Snapshot>,
    /// Removed with the tree.
    _unpacked: Option<TempDir>,
}

/// Opens a recording with the default [`Limits`].
pub fn open(path: &Path) -> Result<SnapshotTree, TreeError> {
    open_with(path, Limits::default())
}

/// Opens a directory (of snapshots, of one recording, or one snapshot) or a `.tar.zst` of such.
pub fn open_with(path: &Path, limits: Limits) -> Result<SnapshotTree, TreeError> {
    let fail = |problem| TreeError {
        path: path.to_owned(),
        problem,
    };
    let metadata = fs::metadata(path).map_err(|error| fail(TreeProblem::Open(error)))?;
    if metadata.is_dir() {
        return read_directory(path, path, None).map_err(fail);
    }
    let unpacked = unpack_somewhere(path, limits).map_err(fail)?;
    let directory = unpacked.path().to_owned();
    read_directory(path, &directory, Some(unpacked)).map_err(fail)
}

/// Unpacks in memory where the host offers it, because making thousands of small files on a disk takes seconds; what
/// is too large for that goes to the directory for temporary files.
fn unpack_somewhere(archive: &Path, limits: Limits) -> Result<TempDir, TreeProblem> {
    if let Ok(in_memory) = TempDir::new_in(MEMORY_DIRECTORY) {
        let total_bytes = limits.total_bytes.min(MEMORY_BYTES);
        let unpacked = unpack(
            archive,
            in_memory.path(),
            Limits {
                total_bytes,
                ..limits
            },
        );
        let is_too_large = matches!(
            unpacked,
            Err(TreeProblem::TooLarge { .. } | TreeProblem::Unpack(_))
        );
        if !is_too_large {
            return unpacked.map(|()| in_memory);
        }
    }
    let on_disk = TempDir::new().map_err(TreeProblem::Unpack)?;
    unpack(archive, on_disk.path(), limits).map(|()| on_disk)
}

fn read_directory(
    path: &Path,
    directory: &Path,
    unpacked: Option<TempDir>,
) -> Result<SnapshotTree, TreeProblem> {
    let (base, mut snapshots) = find_snapshots(directory)?;
    snapshots.sort_by_key(|snapshot| snapshot.wall_ns);
    if snapshots.is_empty() {
        return Err(TreeProblem::Empty);
    }
    let inside = base.strip_prefix(directory).ok().and_then(Path::file_name);
    let name = inside
        .or_else(|| path.file_name())
        .unwrap_or_default()
        .to_string_lossy();
    let name = name.trim_end_matches(".tar.zst").to_owned();
    fill_boot_ids(&name, &mut snapshots);
    Ok(SnapshotTree {
        name,
        snapshots,
        _unpacked: unpacked,
    })
}

/// The snapshots of `directory`, or of the only recording in it; with the directory that holds them.
fn find_snapshots(directory: &Path) -> Result<(PathBuf, Vec<Snapshot>), TreeProblem> {
    if let Some(only) = read_snapshot(directory) {
        return Ok((directory.to_owned(), vec![only]));
    }
    let children = subdirectories(directory)?;
    let snapshots: Vec<_> = children.iter().filter_map(|child| read_snapshot(child)).collect();
    match children.as_slice() {
        [recording] if snapshots.is_empty() => {
            let inner = subdirectories(recording)?;
            Ok((
                recording.clone(),
                inner.iter().filter_map(|child| read_snapshot(child)).collect(),
            ))
        }
        _ => Ok((directory.to_owned(), snapshots)),
    }
}

/// Real subdirectories; links are passed over.
fn subdirectories(directory: &Path) -> Result<Vec<PathBuf>, TreeProblem> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(TreeProblem::Open)? {
        let entry = entry.map_err(TreeProblem::Open)?;
        if entry.file_type().map_err(TreeProblem::Open)?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// A directory whose name is a Unix time and that holds `proc` or `sys`.
fn read_snapshot(directory: &Path) -> Option<Snapshot> {
    let seconds: f64 = directory.file_name()?.to_str()?.parse().ok()?;
    let holds_kernel_files = directory.join("proc").is_dir() || directory.join("sys").is_dir();
    if !holds_kernel_files || !seconds.is_finite() || !(0.0..4e9).contains(&seconds) {
        return None;
    }
    let named_ns = (seconds * SECOND_NS) as i64;
    let recorder = fs::read_to_string(directory.join("_recorder")).unwrap_or_default();
    let recorded_ns = recorder_time(&recorder, "realtime_end")
        .filter(|recorded| (recorded - named_ns).abs() < MAX_CLOCK_DIFFERENCE_NS);
    let boot_id = fs::read_to_string(directory.join("proc/sys/kernel/random/boot_id")).unwrap_or_default();
    Some(Snapshot {
        root: directory.to_owned(),
        wall_ns: recorded_ns.unwrap_or(named_ns),
        boottime_ns: recorder_time(&recorder, "monotonic_end"),
        boot_id: boot_id.trim().to_owned(),
    })
}

/// A time of `_recorder`, in nanoseconds: `name seconds.fraction`, read without rounding.
fn recorder_time(text: &str, name: &str) -> Option<i64> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    let (seconds, fraction) = value.trim().split_once('.').unwrap_or((value.trim(), ""));
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    seconds
        .parse::<i64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(digits.parse().ok()?)
}

/// Gives snapshots without a recorded boot id one that is the same in every reading of the recording, and another
/// one after each restart (the clock that never steps went back).
fn fill_boot_ids(name: &str, snapshots: &mut [Snapshot]) {
    let started = snapshots[0].wall_ns - snapshots[0].boottime_ns.unwrap_or(0);
    let (mut boots, mut newest_ns) = (0_u32, i64::MIN);
    for snapshot in snapshots {
        let boottime_ns = snapshot.boottime_ns.unwrap_or(newest_ns);
        boots += u32::from(boottime_ns < newest_ns);
        newest_ns = boottime_ns;
        if snapshot.boot_id.is_empty() {
            let digest = Sha256::digest(format!("{name}\n{started}\n{boots}"));
            let mut id = [0_u8; 16];
            id.copy_from_slice(&digest[..16]);
            snapshot.boot_id = format!("recording-{:032x}", u128::from_be_bytes(id));
        }
    }
}
