//! Snapshot trees: a directory per sample that mirrors the real paths, named by its time, or one such directory of any
//! name, as a directory or an archive.

pub mod field_kit;
pub(crate) mod form;
mod members;
mod supportconfig;
mod unpack;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

pub use crate::tree_error::{TreeError, TreeProblem};
pub use members::Limits;
pub use supportconfig::NAME as SUPPORTCONFIG;
use unpack::unpack;

/// A file system in memory, where there is one.
const MEMORY_DIRECTORY: &str = "/dev/shm";
/// Most bytes that are unpacked in memory.
const MEMORY_BYTES: u64 = 256 << 20;
/// Most files that are unpacked in memory: each takes a page and more, however small it is.
const MEMORY_FILES: u64 = 50_000;
/// Levels of directories above a root that are looked through.
const ROOT_DEPTH: usize = 6;
/// Files whose times say when a root was collected.
const TIMED: [&str; 4] = ["proc/vmstat", "proc/meminfo", "proc", "sys"];
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";
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

/// Opens a directory (of snapshots, of one recording, or one snapshot) or an archive of such: `.tar`, plain or compressed by
/// gzip, bzip2, xz or zstd, or `.zip`.
pub fn open_with(path: &Path, limits: Limits) -> Result<SnapshotTree, TreeError> {
    let fail = |problem| TreeError {
        path: path.to_owned(),
        problem,
    };
    let metadata = fs::metadata(path).map_err(|error| fail(TreeProblem::Open(error)))?;
    if metadata.is_dir() {
        return read_directory(path, path, None).map_err(fail);
    }
    let unpacked = unpack_to(path, limits).map_err(fail)?;
    let directory = unpacked.path().to_owned();
    read_directory(path, &directory, Some(unpacked)).map_err(fail)
}

/// Unpacks an archive with the default [`Limits`], whatever it holds.
pub fn unpacked(path: &Path) -> Result<TempDir, TreeError> {
    unpack_to(path, Limits::default()).map_err(|problem| TreeError {
        path: path.to_owned(),
        problem,
    })
}

/// Unpacks in memory where the host offers it, because making thousands of small files on a disk takes seconds; what
/// is too large for that goes to the directory for temporary files.
fn unpack_to(archive: &Path, limits: Limits) -> Result<TempDir, TreeProblem> {
    if let Ok(in_memory) = TempDir::new_in(MEMORY_DIRECTORY) {
        let unpacked = unpack(
            archive,
            in_memory.path(),
            Limits {
                total_bytes: limits.total_bytes.min(MEMORY_BYTES),
                files: limits.files.min(MEMORY_FILES),
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
    let (base, mut snapshots, unpacked) = match find_snapshots(directory, unpacked.is_some()) {
        Err(TreeProblem::Empty) => read_report(directory)?,
        found => {
            let (base, snapshots) = found?;
            (base, snapshots, unpacked)
        }
    };
    snapshots.sort_by_key(|snapshot| snapshot.wall_ns);
    if snapshots.is_empty() {
        return Err(TreeProblem::Empty);
    }
    let inside = base.strip_prefix(directory).ok().and_then(Path::file_name);
    let name = inside
        .or_else(|| path.file_name())
        .unwrap_or_default()
        .to_string_lossy();
    let mut name = name.into_owned();
    for end in [
        ".zst", ".xz", ".gz", ".bz2", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".zip",
    ] {
        name.truncate(name.trim_end_matches(end).len());
    }
    fill_boot_ids(&name, &mut snapshots);
    Ok(SnapshotTree {
        name,
        snapshots,
        _unpacked: unpacked,
    })
}

/// The host of a report of supportconfig, whose text files hold those of the kernel; with the directory of the report.
fn read_report(directory: &Path) -> Result<(PathBuf, Vec<Snapshot>, Option<TempDir>), TreeProblem> {
    let report = supportconfig::report_in(directory).ok_or(TreeProblem::Empty)?;
    let root = TempDir::new().map_err(TreeProblem::Unpack)?;
    if supportconfig::write_root(&report, root.path()).map_err(TreeProblem::Unpack)? == 0 {
        return Err(TreeProblem::Empty);
    }
    let snapshot = snapshot_of_root(root.path());
    Ok((report, vec![snapshot], Some(root)))
}

/// The snapshots of `directory`, or of the only recording in it, or the only root in it; with the directory that holds them.
/// A root beside other things is one of an archive alone: in a directory they are somebody's other files.
fn find_snapshots(directory: &Path, is_archive: bool) -> Result<(PathBuf, Vec<Snapshot>), TreeProblem> {
    if let Some(only) = read_snapshot(directory) {
        return Ok((directory.to_owned(), vec![only]));
    }
    let children = subdirectories(directory)?;
    let snapshots: Vec<_> = children.iter().filter_map(|child| read_snapshot(child)).collect();
    if !snapshots.is_empty() {
        return Ok((directory.to_owned(), snapshots));
    }
    if let [recording] = children.as_slice() {
        let inner = subdirectories(recording)?;
        let snapshots: Vec<_> = inner.iter().filter_map(|child| read_snapshot(child)).collect();
        if !snapshots.is_empty() {
            return Ok((recording.clone(), snapshots));
        }
    }
    if !is_archive && fs::read_dir(directory).map_err(TreeProblem::Open)?.count() != 1 {
        return Err(TreeProblem::Empty);
    }
    match roots(directory, ROOT_DEPTH)?.as_slice() {
        [] => Err(TreeProblem::Empty),
        [root] => Ok((root.clone(), vec![snapshot_of_root(root)])),
        several => Err(TreeProblem::SeveralRoots(several.len())),
    }
}

/// Directories with `proc` or `sys` in them; none below another.
fn roots(directory: &Path, depth: usize) -> Result<Vec<PathBuf>, TreeProblem> {
    if holds_a_root(directory) {
        return Ok(vec![directory.to_owned()]);
    }
    let mut found = Vec::new();
    if depth > 0 {
        for child in subdirectories(directory)? {
            found.extend(roots(&child, depth - 1)?);
        }
    }
    Ok(found)
}

/// Whether a directory itself stands for `/`.
pub fn holds_a_root(path: &Path) -> bool {
    path.join("proc").is_dir() || path.join("sys").is_dir()
}

/// A directory that stands for `/` and is not named by its time: it was collected when its files were written.
pub fn snapshot_of_root(root: &Path) -> Snapshot {
    let modified = |file: &&str| {
        fs::metadata(root.join(file))
            .and_then(|data| data.modified())
            .ok()
    };
    let since_epoch = TIMED
        .iter()
        .find_map(modified)
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let uptime = text_of(&root.join("proc/uptime"));
    Snapshot {
        root: root.to_owned(),
        wall_ns: since_epoch.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(0)),
        boottime_ns: uptime.split_ascii_whitespace().next().and_then(seconds_as_ns),
        boot_id: without_padding(&text_of(&root.join(BOOT_ID))).to_owned(),
    }
}

/// The text of a plain file. Of anything else it is empty: what nobody writes into a named pipe would be waited for.
fn text_of(path: &Path) -> String {
    let text = path.is_file().then(|| fs::read_to_string(path));
    text.and_then(Result::ok).unwrap_or_default()
}

fn without_padding(text: &str) -> &str {
    text.trim_matches(|letter: char| letter == '\0' || letter.is_whitespace())
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
    if !holds_a_root(directory) || !seconds.is_finite() || !(0.0..4e9).contains(&seconds) {
        return None;
    }
    let named_ns = (seconds * SECOND_NS) as i64;
    let recorder = text_of(&directory.join("_recorder"));
    let recorded_ns = recorder_time(&recorder, "realtime_end")
        .filter(|recorded| (recorded - named_ns).abs() < MAX_CLOCK_DIFFERENCE_NS);
    let boot_id = text_of(&directory.join(BOOT_ID));
    Some(Snapshot {
        root: directory.to_owned(),
        wall_ns: recorded_ns.unwrap_or(named_ns),
        boottime_ns: recorder_time(&recorder, "monotonic_end"),
        boot_id: without_padding(&boot_id).to_owned(),
    })
}

/// A time of `_recorder`, in nanoseconds: `name seconds.fraction`, read without rounding.
fn recorder_time(text: &str, name: &str) -> Option<i64> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    seconds_as_ns(value.trim())
}

fn seconds_as_ns(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
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
