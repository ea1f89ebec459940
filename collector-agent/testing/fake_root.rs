//! A directory that looks like a host, for tests.

use tierscope_rootfs::Root;

/// A temporary directory with kernel files in it.
#[derive(Debug)]
pub(crate) struct FakeRoot(tempfile::TempDir);

#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
impl FakeRoot {
    /// An empty host.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file at its kernel path.
    pub(crate) fn write(&self, kernel_path: &str, content: &str) {
        let path = self.root().join(kernel_path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Its root.
    pub(crate) fn root(&self) -> Root {
        Root::new(self.0.path())
    }
}
