//! Records that the service will never take: kept aside for people to look at, the newest few.

use std::path::{Path, PathBuf};

use crate::disk::Disk;

/// Most rejected records that are kept.
const MAX_FILES: usize = 32;
/// Most bytes of rejected records that are kept.
const MAX_BYTES: u64 = 8 << 20;

/// Keeps a record and the reason. A failure is passed over: the record is counted all the same.
pub(crate) fn keep(disk: &dyn Disk, directory: &Path, seq: u64, payload: &[u8], reason: &str) {
    if disk.create_dir(directory).is_err() {
        return;
    }
    make_room(disk, directory, payload.len() as u64);
    let path = |extension: &str| -> PathBuf { directory.join(format!("{seq:020}.{extension}")) };
    if disk.replace(&path("batch"), payload).is_ok() {
        let _ = disk.replace(&path("reason"), reason.as_bytes());
    }
}

/// Removes the oldest records until one of `new_bytes` fits.
fn make_room(disk: &dyn Disk, directory: &Path, new_bytes: u64) {
    let Ok(mut files) = disk.list(directory) else {
        return;
    };
    files.retain(|(name, _)| {
        Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "batch")
    });
    files.sort();
    let mut total_bytes = files.iter().map(|(_, bytes)| bytes).sum::<u64>() + new_bytes;
    let mut count = files.len() + 1;
    for (name, bytes) in files {
        if count <= MAX_FILES && total_bytes <= MAX_BYTES {
            break;
        }
        let path = directory.join(name);
        let _ = disk.remove(&path);
        let _ = disk.remove(&path.with_extension("reason"));
        count -= 1;
        total_bytes -= bytes;
    }
}
