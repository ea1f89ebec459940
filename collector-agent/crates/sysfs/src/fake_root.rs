//! A directory that looks like a host, for tests.

use tierscope_rootfs::{Reader, Root};

/// A reader over a temporary directory with these files. The directory lives as long as the first value.
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
pub(crate) fn reader(files: &[(&str, &str)]) -> (tempfile::TempDir, Reader) {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let reader = Reader::new(Root::new(directory.path()));
    (directory, reader)
}
