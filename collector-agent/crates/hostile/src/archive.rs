//! Archives of snapshots, and files of which nobody knows what they are.

use std::io::Write as _;

use tempfile::NamedTempFile;
use tierscope_import::recognise;
use tierscope_import::tree::{self, Limits};

/// Small, so that what is within them is unpacked in no time.
const LIMITS: Limits = Limits {
    files: 64,
    file_bytes: 1 << 16,
    total_bytes: 1 << 18,
};

fn written(bytes: &[u8]) -> Option<NamedTempFile> {
    let mut file = NamedTempFile::new().ok()?;
    file.write_all(bytes).ok()?;
    Some(file)
}

/// An archive in any form, unpacked within limits.
pub(crate) fn archive(bytes: &[u8]) {
    let Some(file) = written(bytes) else { return };
    if let Ok(tree) = tree::open_with(file.path(), LIMITS) {
        assert!(!tree.snapshots.is_empty());
    }
    let _ = tree::field_kit::open(file.path());
}

/// A file of any kind.
pub(crate) fn recognise(bytes: &[u8]) {
    if let Some(file) = written(bytes) {
        let _ = recognise::recognise(file.path());
    }
}
